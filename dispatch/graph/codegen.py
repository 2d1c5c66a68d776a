"""Writes a graph as a Python function, one line for each node.

    def f(x):
        # solver.py:12, in step: y = np.sin(x) * 2
        sin = np.sin(x)  # float64[3]
        multiply = np.multiply(sin, 2)  # float64[3]
        return multiply

A value without an expression, such as a large constant or a handle, is looked up in the dict `objects`, which comes with the
code.
"""

import keyword
import re
from enum import Enum
from itertools import count
from operator import attrgetter
from typing import Any

import numpy as np

from ..core import DispatchKey, OpOverload
from ..core.pytree import field_names, fields_of, is_dataclass, items_of, leaves, made_of, paths, steps
from ..core.source import Line
from ..errors import GraphError
from ..operators.registry import ops
from ..operators.rule_operators import origin_of_name
from .array_literals import Unwritable, dtype_text
from .body import Body
from .literals import BY_CLASS, TYPES, Writer, find_class, is_known
from .metadata import Metadata
from .node import Node
from .operator_facts import SPELLINGS

MOST_ELEMENTS = 32  # of a constant that is written out
RESERVED = frozenset({"np", "ops", "objects", "float", "complex", "slice", "f", *TYPES})

class Code(Writer):
    """The Python code of a graph: `exec(code.text, code.scope)` runs it."""

    def __init__(self, body: Body, function: str = "f", around: "Code | None" = None) -> None:
        self.names: dict[Node, str] = {}
        super().__init__(self.names.__getitem__)
        self.body, self.function = body, function
        self.objects: dict[str, Any] = {} if around is None else around.objects
        self.imports: dict[str, str] = {} if around is None else around.imports  # name -> the line that imports it
        self.taken: set[str] = set(RESERVED) | {node.name for node in body.nodes} | (set() if around is None else around.taken)
        self.inner: list[str] = []  # the lines of the functions that the next statement names
        for node in body.nodes:
            self.names[node] = self._free(node.name) if node.name in RESERVED or keyword.iskeyword(node.name) else node.name
        self.lines = lines = self._lines()
        for used, line in (("np", "import numpy as np"), ("ops", "from dispatch import ops")):
            if any(f"{used}." in part for part in lines):
                self.imports[used] = line
        note = ["# Run it with the arrays and objects it names: exec(graph.code, graph.scope)"] if self.objects else []
        head = [*note, *self.imports.values()]
        self.text = "\n".join([*head, *["", ""] * bool(head), *lines, ""])

    @property
    def scope(self) -> dict[str, Any]:
        return {"objects": self.objects} if self.objects else {}

    def _lines(self) -> list[str]:
        parameters, unpacked = self._inputs()
        lines = [f"def {self.function}({', '.join(parameters)}):", *unpacked]
        source: Line | None = None
        for node in self.body.nodes:
            if node.source is not None and node.source != source:
                source = node.source
                lines.append(f"    # {source}")
            statement = "" if node.kind == "placeholder" else self.statement(node)
            kind = brief(node.value)
            comment = f"  # {kind}" if kind and statement.startswith(f"{self.names[node]} = ") else ""
            lines += [f"    {line}" for line in self.inner]
            self.inner.clear()
            lines += [f"    {statement}{comment}"] * bool(statement)
            lines += self._sizes(node)
        lines.append(f"    return {self.spell(self.body.outputs)}")
        return lines

    def _inputs(self) -> tuple[list[str], list[str]]:
        parameters, unpacked = [], []
        for number, x in enumerate(self.body.inputs):
            if type(x) is Node:
                parameters.append(self.names[x])
                continue
            name = self._free(_stem(x) or f"arg{number}")
            parameters.append(name)
            if items_of(x) is None and is_known(x):
                unpacked.append(f"    # {name} is {self.spell(x)}")
            unpacked += [f"    {self.names[node]} = {name}{path}" for node, path in _paths(x)]
        return parameters, unpacked

    def _sizes(self, node: Node) -> list[str]:
        symbols = self.body.symbols.items()
        of_node = [(name, axis) for name, (of, axis) in symbols if of is node]
        return [f"    {name} = {self.names[node]}{'' if axis is None else f'.shape[{axis}]'}" for name, axis in of_node]

    def statement(self, node: Node) -> str:
        """Return the line of a node."""
        name = self.names[node]
        if node.kind == "constant":
            return f"{name} = {self._constant(node)}"
        if node.kind == "item":
            of, number = node.args
            items = items_of(of.value) if type(of.value) is not Metadata else None
            step = steps(of.value)[number] if items is not None and number < len(items) else f"[{number}]"
            return f"{name} = {self.names[of]}{step}"
        spelling = SPELLINGS.get(node.op.name) if node.op is not None else None
        if spelling is not None and (text := spelling(self, node)) is not None:
            return f"{name} {text}" if text.startswith("=") else text
        call = self._call(node)
        return f"{name} = {call}" if node.op is None or node.op.schema.returns else call

    def _call(self, node: Node) -> str:
        op: Any = node.op
        kernel = op.table.live(DispatchKey.CPU)
        function = getattr(np, op.schema.name, None)
        if kernel is not None and kernel.rule is function and function is not None and not op.schema.kwarg_only:
            return f"np.{op.schema.name}({', '.join(map(self.spell, node.args))})"
        if op.schema.has_residual:
            return f"{self.operator(op)}.whole({', '.join(map(self.spell, node.args))})"
        words, by_name = [], False
        for argument, x in zip(op.schema.arguments, node.args, strict=True):
            if argument.has_default and not argument.positional_only:
                by_name = True
                if type(x) is type(argument.default) and self.spell(x) == self.spell(argument.default):
                    continue
            words.append(f"{argument.name}={self.spell(x)}" if by_name or argument.kwarg_only else self.spell(x))
        return f"{self.operator(op)}({', '.join(words)})"

    def operator(self, op: OpOverload) -> str:
        """Return an operator as an expression."""
        path = f"{op.schema.namespace}.{op.schema.name}"
        paths = [path, f"{path}.{op.schema.overload or 'default'}"]
        if (goes_by := origin_of_name(op)) is not None:  # a functional form, or the operator of a rule
            origin, form = goes_by
            paths += [f"{path}.{form}", f"{path}.{origin.schema.overload or 'default'}.{form}"]
        for found in paths:
            try:
                if attrgetter(found)(ops) is op:
                    return f"ops.{found}"
            except AttributeError:
                continue
        return self.object(op.schema.name, op)

    def _constant(self, node: Node) -> str:
        x = self.body.constants[node.name]
        if isinstance(x, np.generic):
            return self.spell(x)
        plain = type(x) is np.ndarray and x.dtype.kind in "biuf" and x.dtype.isnative and x.dtype.itemsize <= 8
        if plain and 0 < x.size <= MOST_ELEMENTS and x.flags.c_contiguous and np.isfinite(x).all():
            return f"np.array({x.tolist()!r}, {x.dtype.name!r})"
        order = "order='K'" if isinstance(x, np.ndarray) else ""
        return f"{self.object(node.name, x)}.copy({order})"

    def object(self, name: str, x: Any) -> str:
        """Add a value to the dict `objects` and return the expression that looks it up."""
        for known, other in self.objects.items():
            if other is x:
                return f"objects[{known!r}]"
        number, made = 0, name
        while made in self.objects:
            number += 1
            made = f"{name}_{number}"
        self.objects[made] = x
        return f"objects[{made!r}]"

    def word(self, x: Any) -> str:
        """Return any other value as an expression."""
        cls = type(x)
        if cls is complex or cls is slice:
            return super().word(x)
        value = BY_CLASS.get(cls)
        if value is not None and value.body is not None:
            name = next(name for n in count(1) if (name := f"body_{n}") not in self.taken)
            self.taken.add(name)
            self.inner += Code(value.body(x), name, self).lines
            return name
        if value is not None and value.spell is not None:
            return value.spell(x)
        return self._expression(x) or self.object(cls.__name__.lower(), x)

    def _expression(self, x: Any) -> str | None:
        cls = type(x)
        if isinstance(x, np.dtype):
            try:
                return f"np.dtype({dtype_text(x)!r})"
            except Unwritable:
                return None
        if isinstance(x, (np.bool_, np.integer, np.floating)):
            exact = x.dtype.kind in "biu" or (x.dtype.itemsize <= 8 and np.isfinite(x))
            return f"np.{cls.__name__}({x.item()!r})" if exact else None
        if isinstance(x, type):
            known = f"np.{x.__name__}" if issubclass(x, np.generic) else x.__name__
            return known if TYPES.get(known) is x else None
        if isinstance(x, Enum):
            found = self._class(cls)
            return f"{found}.{x.name}" if found and x.name in cls.__members__ else None
        items, names = items_of(x), field_names(cls)
        if items is None or names is None:
            return None
        fields = fields_of(x) if is_dataclass(type(x)) else ()
        if hasattr(x, "__post_init__") or not all(field.init for field in fields):
            made = self.object("made_of", made_of)  # as every layer makes one, without its __init__
            return f"{made}({self._class(cls) or self.object(cls.__name__, cls)}, {self.spell(list(items))})"
        pairs = [f"{name}={self.spell(item)}" for name, item in zip(names, items, strict=True)]
        return f"{self._class(cls) or self.object(cls.__name__, cls)}({', '.join(pairs)})"

    def _class(self, cls: type) -> str | None:
        name = f"{cls.__module__}.{cls.__qualname__}"
        outer = cls.__qualname__.partition(".")[0]
        line = f"from {cls.__module__} import {outer}"
        try:
            found = find_class(name)
        except GraphError:
            return None
        if found is not cls or cls.__module__ == "__main__" or (outer in self.taken and self.imports.get(outer) != line):
            return None
        self.imports[outer] = line
        self.taken.add(outer)
        return cls.__qualname__

    def _free(self, name: str) -> str:
        while name in self.taken or keyword.iskeyword(name):
            name += "_"
        self.taken.add(name)
        return name


def brief(value: Any) -> str:
    """Return the value of a node in short, `float64[2, 3]`; an empty text for what is no array."""
    if type(value) is Metadata:
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    items = items_of(value)
    return "" if not items else f"({', '.join(brief(item) or '...' for item in items)})"


def _paths(x: Any) -> list[tuple[Node, str]]:
    """Return the nodes in a container, each with the expression that reaches it."""
    return [(node, path) for node, path in zip(leaves(x), paths(x), strict=True) if type(node) is Node]


def _stem(x: Any) -> str:
    """Return the name of the parameter after which `make_fx` named the nodes of a container."""
    for node, path in _paths(x):
        suffix = "".join(f"_{word}" for word in re.findall(r"\w+", path))
        if suffix and node.name.endswith(suffix):
            return node.name.removesuffix(suffix)
    return ""
