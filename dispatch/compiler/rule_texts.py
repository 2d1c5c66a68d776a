"""Writes what is registered for operators as text: what a trace rests on beside the code that it walks.

A trace asks operators for shape rules, derivatives and batching rules, and runs composite operators in their parts. The rules
of this package change with its version. A rule of a user's is code as any other: it is walked, and written by its fingerprint.
A kernel is no part of this: a graph calls it by the operator's name, so that the one of the process runs.
"""

import enum
import functools
import inspect
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core import DispatchKey, OpOverload, Registration, Tensor, live_fallbacks
from ..dispatcher.layer import Layer
from ..errors import TracingError
from ..graph import Graph
from ..graph.subgraph import Subgraph
from ..layers.mode import Rule as ClassRule
from ..layers.opaque_rules import Opacity
from ..operators.namespaces import defined_now, known
from ..operators.rule_operators import is_kernel, is_ours, owner_of
from ..schema.schema import Schema
from .fingerprint import Fingerprint, Text, Unkeyed
from .reached import Reached, contents, instance_dict
from .trusted import is_listed, is_listed_class, is_listed_function, is_plain, version_of

BY_NAME = (Layer, Schema, DispatchKey, enum.Enum, Opacity)


class RuleText:
    """The text of a rule, and `roots`, what in it is a user's."""

    def __init__(self, rule: Any) -> None:
        self.roots: list[Any] = []
        self._seen: dict[int, Any] = {}
        self.text = self._text(rule)

    def _text(self, x: Any) -> Text:  # noqa: C901  one case for each kind of value
        cls = type(x)
        if cls in (str, int, bool, float, types.NoneType):
            return repr(x)
        if id(x) in self._seen:
            return "again"
        self._seen[id(x)] = x
        if is_plain(x) or isinstance(x, BY_NAME):
            return repr(x) if not isinstance(x, (Layer, Opacity)) else cls.__qualname__
        if cls is OpOverload:
            if is_ours(x):
                return "operator", x.name
            self.roots.append(x)
        elif isinstance(x, (Graph, Subgraph)):
            return "graph", (x if isinstance(x, Graph) else x.graph).dumps()
        elif cls in (tuple, list):
            return tuple(map(self._text, x))
        elif cls is dict:
            return tuple([(self._text(k), self._text(v)) for k, v in x.items()])
        elif cls in (set, frozenset):
            return tuple(sorted(repr(self._text(item)) for item in x))
        elif cls is types.FunctionType and is_listed_function(x):
            inner = [contents(cell) for cell in x.__closure__ or ()]
            return x.__module__, version_of(x.__module__), x.__qualname__, *map(self._text, inner + list(x.__defaults__ or ()))
        elif cls is types.MethodType:
            return "method", self._text(x.__func__), self._text(x.__self__)
        elif cls is types.BuiltinFunctionType and not isinstance(x.__self__, (types.ModuleType, types.NoneType)):
            return "method", x.__name__, self._text(x.__self__)
        elif cls is functools.partial:
            return "partial", self._text(x.func), self._text(x.args), self._text(x.keywords)
        elif isinstance(x, type) and is_listed_class(x):
            return x.__module__, x.__qualname__
        elif cls is inspect.Signature:
            return str(x)
        elif cls.__name__ == "cython_function_or_method" and is_listed(x.__module__):
            return x.__module__, version_of(x.__module__), x.__qualname__
        elif is_listed_class(cls) and not isinstance(x, (np.ndarray, Tensor, types.FunctionType, type)):
            return cls.__qualname__, *self._fields(x)
        else:
            self.roots.append(x)
        return "root", len(self.roots)

    def _fields(self, x: Any) -> Iterable[Text]:
        """An object of a listed class."""
        if isinstance(x, tuple):
            yield from map(self._text, tuple(x))
        for name, value in (instance_dict(x) or {}).items():
            yield name, self._text(value)
        for base in type(x).__mro__:
            for name, member in vars(base).items():
                if type(member) is types.MemberDescriptorType and base.__flags__ & 1 << 9:
                    yield name, self._text(getattr(x, name, None))
        yield getattr(x, "__module__", ""), getattr(x, "__name__", "")


class RuleTexts:
    """What is registered, as far as a trace may ask for it.

    Attributes
    ----------
    parts : list
        The texts.
    covered : set of str
        The operators of users whose rules are among them.
    """

    def __init__(self, found: Fingerprint, names: set[str]) -> None:
        self.parts: list[Text] = []
        self.covered: set[str] = set()
        self._walks = [found]
        self._waiting = list(found.operators.values())
        self._for_classes: list[tuple[str, Registration]] = []
        self._add_named(found, names)
        for op in sorted(filter(is_ours, defined_now()), key=lambda op: op.name):
            self._changes(op)
        for registration in live_fallbacks():
            self._registration("every operator", registration)
        while self._waiting or self._rules_for_classes():
            if self._waiting:
                self._operator(self._waiting.pop())

    def _add_named(self, found: Fingerprint, names: set[str]) -> None:
        """Have the operators written that code may look up: `ops.ns.name` names both words."""
        spaces = names | found.namespaces
        named = [op for op in defined_now() if op.schema.name in names and op.schema.namespace in spaces]
        self._waiting += sorted(named, key=lambda op: op.name)

    def _changes(self, op: OpOverload) -> None:
        """Write what users have registered for an operator of this package."""
        own = vars(op).get("own_rules", ())
        for registration in op.table.all():
            if registration not in own and not is_kernel(registration):
                self._registration(op.name, registration)

    def _operator(self, op: OpOverload) -> None:
        """Write what users have registered for one of theirs, but kernels."""
        op = owner_of(op)
        if is_ours(op) or op.name in self.covered:
            return
        self.covered.add(op.name)
        overloads = op.overloads() if known(op.name) is op else ()
        self.parts.append((op.name, str(op.schema), sorted(map(str, op.tags)), *overloads))
        for registration in op.table.all():
            if not is_kernel(registration):
                self._registration(op.name, registration)

    def _registration(self, name: str, registration: Registration) -> None:
        if isinstance(registration.rule, ClassRule):
            self._for_classes.append((name, registration))
        else:
            self._rule(name, registration)

    def _rules_for_classes(self) -> bool:
        """Write the rules for classes that a walk has met, for no other value comes to them; return whether there was one."""
        waiting, self._for_classes = self._for_classes, []
        met: list[tuple[str, Registration]] = []
        for waits in waiting:
            cls = waits[1].rule.cls
            known_of = is_listed_class(cls) or any([walk.met(cls) for walk in self._walks])
            (met if known_of else self._for_classes).append(waits)
        for name, registration in met:
            self._rule(name, registration)
        return bool(met)

    def _rule(self, name: str, registration: Registration) -> None:
        found = RuleText(registration.rule)
        self.parts.append((name, int(registration.key), found.text))
        operators = [x for x in found.roots if isinstance(x, OpOverload)]
        self._waiting += operators
        self.parts.append(tuple([op.name for op in operators]))
        others = [x for x in found.roots if not isinstance(x, OpOverload)]
        if not others:
            return
        try:
            reached = Reached(*others)
            made = Fingerprint(exact=reached.tells_apart)
            self._walks.append(made)
            self.parts.append(tuple(map(made.value, others)))
            made.walk(reached)
        except (TracingError, Unkeyed) as error:
            raise Unkeyed(f"of what is registered for {name}: {error}") from None
        self.parts += made.parts
        self._waiting += made.operators.values()
        self._add_named(made, reached.names)
