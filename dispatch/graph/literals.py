"""Writes the values in a graph as text, much as Python would, and reads them back without running code.

    None  True  3  0.5  'text'  b'bytes'  ...  [x, 1]  (x,)  {'a': x}        as in Python; a bare word is a node
    word(...)                                                               a value of a registered class

`register_value` gives a class its word, the function that takes a value apart, and the one that makes it again. The reader
finds words in that table, and classes in modules that are imported already. It imports, evaluates and calls nothing else.
"""

import ast
import math
import sys
from collections.abc import Callable, Mapping
from enum import Enum, EnumMeta
from typing import Any, NamedTuple

import numpy as np

from ..core import OpOverload
from ..core.pytree import field_names, items_of, made_of, register_record
from ..errors import GraphError
from ..operators.views import ARRAY, Look, Place
from .array_literals import Unwritable, array_of, data_of, described, dtype_of, dtype_text, metadata_of, raw_bytes, scalar_of
from .metadata import Metadata, Opaque
from .node import Node

PLAIN = frozenset({type(None), bool, str, bytes})


class Value(NamedTuple):
    """How values of a class are written and read; see `register_value`."""

    word: str
    take: Callable[[Any], tuple[Any, ...]]
    put: Callable[..., Any]
    spell: Callable[[Any], str] | None
    at: Callable[[Any, Mapping[str, int]], Any] | None
    body: Callable[[Any], Any] | None


BY_CLASS: dict[type, Value] = {}
BY_WORD: dict[str, Value] = {}


def register_value(
    cls: type,
    word: str,
    take: Callable[[Any], tuple[Any, ...]],
    put: Callable[..., Any],
    *,
    spell: Callable[[Any], str] | None = None,
    at: Callable[[Any, Mapping[str, int]], Any] | None = None,
    body: Callable[[Any], Any] | None = None,
) -> None:
    """Let graphs write and read values of a class. Passes treat such values as constants that never change.

    Parameters
    ----------
    cls : type
        This class itself, not its subclasses.
    word : str
        The word before the parentheses.
    take : callable
        `take(x)` returns a tuple of values that can be written.
    put : callable
        `put(*taken)` makes the value again. A file may contain anything, so it must check what it gets, and may raise.
    spell : callable, optional
        `spell(x)` returns the value as a Python expression for printed code, which may use `np`, `ops` and the symbols of
        the graph.
    at : callable, optional
        `at(x, sizes)` returns the number of a symbolic value; `sizes` has the number of each symbol by name.
    body : callable, optional
        `body(x)` returns the graph that the value is; printed code has it as a function.

    Raises
    ------
    GraphError
        If the word is no identifier, or belongs to another class.

    Examples
    --------
    >>> from fractions import Fraction
    >>> register_value(Fraction, "fraction", lambda x: (x.numerator, x.denominator), Fraction)
    >>> Writer().spell([Fraction(1, 3)])
    '[fraction(1, 3)]'
    >>> Reader().value("[fraction(1, 3)]")
    [Fraction(1, 3)]
    """
    known = BY_WORD.get(word)
    taken = word in FAMILIES or (known is not None and BY_CLASS.get(cls) is not known)
    if taken or not word.isidentifier():
        said = "is the word of another class" if taken else "is no name"
        raise GraphError(f"register_value({cls.__qualname__}): {word!r} {said}. Give it a word of its own.")
    BY_CLASS[cls] = BY_WORD[word] = Value(word, take, put, spell, at, body)


class Writer:
    """Writes values as text.

    `name` returns the word for a node, by default its name. `opaque` returns the text of a value that cannot be written; by
    default such a value raises `Unwritable`. `operators` has the operators that occurred, by name.
    """

    def __init__(
        self, name: Callable[[Node], str] = lambda node: node.name, opaque: Callable[[Any], str] | None = None
    ) -> None:
        self.name, self.opaque = name, opaque
        self.operators: dict[str, OpOverload] = {}

    def spell(self, x: Any) -> str:
        """Return the text of a value."""
        cls = type(x)
        if cls is Node:
            return self.name(x)
        if cls in PLAIN:
            return repr(x)
        if cls is int:
            return repr(x) if abs(x) < 1 << 64 else hex(x)  # decimals of thousands of digits are refused by Python
        if cls is float:
            return repr(x) if math.isfinite(x) else f"float('{'-' if math.isnan(x) and math.copysign(1.0, x) < 0 else ''}{x}')"
        if x is Ellipsis:
            return "..."
        if cls is list:
            return f"[{', '.join(map(self.spell, x))}]"
        if cls is tuple:
            return f"({', '.join(map(self.spell, x))}{',' * (len(x) == 1)})"
        if cls is dict:
            return f"{{{', '.join(f'{self.spell(key)}: {self.spell(item)}' for key, item in x.items())}}}"
        return self.operator(x) if cls is OpOverload else self.word(x)

    def operator(self, op: OpOverload) -> str:
        """Return the text of an operator."""
        self.operators[op.name] = op
        return f"op({op.name!r})"

    def word(self, x: Any) -> str:
        """Return the text of a value that Python has no literal for."""
        try:
            word, taken = _taken(x)
        except Unwritable:
            if self.opaque is None:
                raise
            return self.opaque(x)
        return f"{word}({', '.join(map(self.spell, taken))})"


def is_known(x: Any) -> bool:
    """Return whether a value never changes and is fully described by its text; containers are not asked about."""
    cls = type(x)
    if cls in PLAIN or cls in (int, float, OpOverload) or x is Ellipsis:
        return True
    if cls in BY_CLASS:
        return cls is not Opaque
    return isinstance(x, (np.generic, np.dtype, Enum)) or (isinstance(x, type) and x in KNOWN_TYPES)


def is_open(x: Any) -> bool:
    """Return whether a value contains symbolic sizes, which are numbers only when the graph runs."""
    if type(x) is slice:
        return is_open(x.start) or is_open(x.stop) or is_open(x.step)
    value = BY_CLASS.get(type(x))
    return value is not None and value.at is not None


def evaluated(x: Any, sizes: Mapping[str, int]) -> Any:
    """Return a value with numbers in place of its symbolic sizes."""
    if not is_open(x):
        return x
    if type(x) is slice:
        return slice(*[evaluated(part, sizes) for part in (x.start, x.stop, x.step)])
    return BY_CLASS[type(x)].at(x, sizes)  # type: ignore[misc]


def _taken(x: Any) -> tuple[str, tuple[Any, ...]]:
    cls = type(x)
    if (value := BY_CLASS.get(cls)) is not None:
        return value.word, value.take(x)
    if isinstance(x, np.dtype):
        return "dtype", (dtype_text(x),)
    if isinstance(x, np.generic):
        return "scalar", (dtype_text(x.dtype), raw_bytes(x).hex())
    if isinstance(x, Enum):
        name = x.name
        if type(name) is str and cls.__members__.get(name) is x:
            return "enum", (_findable(cls, x), name)
    elif isinstance(x, type):
        if TYPES.get(name := f"np.{x.__name__}" if issubclass(x, np.generic) else x.__name__) is x:
            return "type", (name,)
    elif field_names(cls) is not None and (items := items_of(x)) is not None:
        return "record", (_findable(cls, x), *items)
    raise Unwritable(x)


# -- reading ---------------------------------------------------------------------------------------------------------------


class Reader:
    """Reads values. The text may come from anybody, so reading raises on errors and never runs code.

    `nodes` has the nodes that bare words name, `operators` the operators by name.
    """

    def __init__(self, nodes: Mapping[str, Node] | None = None, operators: Mapping[str, OpOverload] | None = None) -> None:
        self.nodes = {} if nodes is None else nodes
        self.operators = {} if operators is None else operators
        self._known: dict[str, Any] = {}

    def value(self, text: str) -> Any:
        """Return the value of a text."""
        return self.read(ast.parse(text, mode="eval").body)

    def known(self, text: str) -> Any:
        """Return what `value` does; a value that never changes is read once."""
        found = self._known.get(text)
        if found is None:
            found = self.value(text)
            if type(found) in (Metadata, slice, complex) or isinstance(found, np.dtype):
                self._known[text] = found
        return found

    def read(self, tree: ast.expr) -> Any:
        """Return the value of a parsed expression."""
        match tree:
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return -number
            case ast.List(elts=items):
                return [self.read(item) for item in items]
            case ast.Tuple(elts=items):
                return tuple([self.read(item) for item in items])
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return {self.read(key): self.read(item) for key, item in zip(keys, values, strict=True) if key is not None}
            case ast.Name(id=name):
                if name not in self.nodes:
                    raise GraphError(f"no node before it is named {name!r}")
                return self.nodes[name]
            case ast.Call(func=ast.Name(id=word), args=args, keywords=[]):
                return self.called(word, [self.read(item) for item in args])
        raise GraphError(f"{ast.unparse(tree)[:60]!r} is no value")

    def called(self, word: str, args: list[Any]) -> Any:
        """Return the value that a word with values in parentheses writes."""
        if word == "op" and len(args) == 1 and type(args[0]) is str:
            if args[0] not in self.operators:
                raise GraphError(f"no line before it is about the operator {args[0]}")
            return self.operators[args[0]]
        if word not in BY_WORD and word not in FAMILIES:
            raise GraphError(f"there is no word {word!r}")
        put = FAMILIES[word] if word in FAMILIES else BY_WORD[word].put
        return put(*args)


def find_class(name: str) -> type:
    """Return a class by its full name, from the dictionaries of imported modules and classes, so that no code runs."""
    words = name.split(".")
    for i in range(len(words) - 1, 0, -1):
        found: object = sys.modules.get(".".join(words[:i]))
        for word in words[i:]:
            found = getattr(found, "__dict__", {}).get(word)
        if isinstance(found, type):
            return found
    raise GraphError(f"the class {name} is not known. Import its module first")


def _findable(cls: type, x: Any) -> str:
    name = f"{cls.__module__}.{cls.__qualname__}"
    try:
        found: type | None = find_class(name)
    except GraphError:
        found = None
    if found is not cls:
        raise Unwritable(x, ", a class that cannot be found by its name")
    return name


def _type(name: str) -> type:
    if name not in TYPES:
        raise GraphError(f"{name!r} is no type of numbers or text")
    return TYPES[name]


def _member(name: str, member: str) -> Enum:
    cls = find_class(name)
    if not isinstance(cls, EnumMeta):
        raise GraphError(f"{name} is no enumeration")
    if member not in cls.__members__:
        raise GraphError(f"{name} has no member {member!r}")
    made: Enum = cls.__members__[member]
    return made


def _record(name: str, *items: Any) -> Any:
    cls: Any = find_class(name)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        if len(items) != len(cls._fields):
            raise GraphError(f"{name} has {len(cls._fields)} fields, and {len(items)} are written")
        return tuple.__new__(cls, items)
    names = field_names(cls)
    if not names or len(items) != len(names) or cls.__new__ is not object.__new__ or issubclass(cls, tuple):
        raise GraphError(f"{name} is no record of {len(items)} fields")
    register_record(cls)
    return made_of(cls, list(items))


def _float(text: str) -> float:
    if text not in ("nan", "-nan", "inf", "-inf"):
        raise GraphError(f"float({text!r}) is written as a number")
    return float(text)


def _look(op: Any, place: Any, part: Any, number: Any, args: Any) -> Look:
    numbers = all(type(n) is int for n in (place, part, number))
    if not (type(op) is OpOverload and numbers and type(args) is tuple and 0 <= place < len(args)):
        raise GraphError("a look is an operator, three numbers, and a tuple of arguments")
    return Look(op, args, place, part, number)


TYPES: dict[str, type] = {cls.__name__: cls for cls in (bool, int, float, complex, str, bytes, object)}
TYPES |= {f"np.{cls.__name__}": cls for cls in np.sctypeDict.values()}
KNOWN_TYPES = frozenset(TYPES.values())
# Words that write values of many classes, or some values of one.
FAMILIES: dict[str, Callable[..., Any]] = {
    "dtype": dtype_of, "enum": _member, "float": _float, "record": _record, "scalar": scalar_of, "type": _type,
}  # fmt: skip

register_value(complex, "complex", lambda x: (x.real, x.imag), complex)
register_value(slice, "slice", lambda x: (x.start, x.stop, x.step), slice)
register_value(np.ndarray, "data", data_of, array_of)
register_value(Metadata, "array", described, metadata_of)
register_value(Opaque, "opaque", lambda x: (x.cls,), Opaque)
register_value(Place, "place", lambda x: (), lambda: ARRAY)
register_value(Look, "look", lambda x: (x.op, x.place, x.part, x.number, x.args), _look)
