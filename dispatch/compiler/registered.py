"""The rules of operators that a trace may run, and what these refer to: a graph holds what they gave.

A trace runs kernels of NumPy's arrays as nodes of the graph, and each run of the graph calls them again. Everything else that
is registered for an operator runs while the trace is made: shape rules, derivatives, batching rules, and composite operators,
which are traced in their parts. Such a rule is a function that the trace reads like any other. What it can reach is found by
the walk of `reached.py` and compared at each call: places and values, and arrays by their bytes, since a rule runs as it is, on
no copy, and what it reads is in the graph as it was. What is registered is compared, too: another rule is another trace.

The rules of transforms count where code names a transform, or a value of one is given. One that refers to what cannot be
compared, or that may change what it refers to, is called as one operator, as if it had been registered with `opaque=True`: it
is a node of the graph then, and each run calls it. What cannot be called so, a shape rule say, is refused before anything runs.
A kernel may change what it likes but what the function or a rule reads. More than 350 lines, for all that is registered is held
against one walk.
"""

import enum
import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..core import DispatchKey, OpOverload, Registration, Tensor, changes_of_all, live_fallbacks
from ..dispatcher.layer import Layer
from ..errors import TracingError
from ..graph import Graph
from ..graph.subgraph import Subgraph
from ..layers.mode import Rule as ClassRule
from ..layers.opaque_rules import Opacity
from ..operators.namespaces import defined_now
from ..operators.rule_operators import is_kernel, is_ours, owner_of
from ..schema.schema import Schema
from .conditions import BYTES, DICT, ITEM, ITEMS, READ, Conditions
from .reached import CHANGING, Code, Guard, Reached, Slot, contents, instance_dict, slots_of
from .trusted import PACKAGE, is_listed, is_listed_class, is_listed_function, is_plain

CODE = (types.FunctionType, types.ModuleType, type)
CONTAINERS = (DICT, ITEMS, READ)
# Whoever names one of these may change what no name in its code says.
BY_ANY_NAME = frozenset(
    "getattr setattr delattr vars globals locals exec eval methodcaller heapq heappush heappop heapreplace heappushpop heapify "
    "insort insort_left insort_right shuffle setitem delitem iadd".split()
)
WRITERS = frozenset("out copyto put place putmask fill_diagonal put_along_axis at shuffle setflags data ctypes".split())
CHANGES = frozenset().union(*CHANGING.values())
OF_TRACES = (DispatchKey.FAKE, DispatchKey.TRACE, DispatchKey.FUNCTIONALIZE)  # what a trace passes, and no call of arrays does
TRANSFORMS = (DispatchKey.AUTOGRAD, DispatchKey.JVP, DispatchKey.VMAP, DispatchKey.Autograd)
BY_NAME = (Layer, Opacity, Schema, enum.Enum, Graph, Subgraph, inspect.Signature)
Words = tuple[frozenset[str], frozenset[str]]  # of operators and of their namespaces


def _package(x: Any) -> str:
    while isinstance(x, functools.partial):
        x = x.func
    name = x.__name__ if isinstance(x, types.ModuleType) else getattr(x, "__module__", None)
    return name.partition(".")[0] if isinstance(name, str) else ""


class ReachedByRule(Reached):
    """What a rule can reach, beside what cannot be compared: all that its code names is known, whatever becomes of the rule.

    Attributes
    ----------
    refused : str
        The first of the refusals; "" for none.
    asking : frozenset
        The modules whose code names `.flags`.
    unread : frozenset
        The packages, not the listed ones, whose code is named and not read.
    beyond : list
        The variables of that code.
    """

    refused = ""
    asking: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()

    def __init__(self, *roots: Any) -> None:
        self._packages = {_package(x) for x in roots}
        self.beyond: list[Any] = []
        super().__init__(*roots, of_rule=True)

    @property
    def own_code_alone(self) -> bool:
        """Whether only code of the packages of the roots is read: once something is refused, other code says no more."""
        return bool(self.refused)

    def visit(self, x: Any, path: str) -> None:
        if isinstance(x, CODE) and self.own_code_alone and _package(x) not in self._packages:
            if not is_listed(x.__name__ if isinstance(x, types.ModuleType) else x.__module__):
                self.unread |= {_package(x)}
                self.beyond.append(x.__globals__ if isinstance(x, types.FunctionType) else vars(x))
            return
        try:
            super().visit(x, path)
        except TracingError as error:
            self.refused = self.refused or str(error)

    def _check_rules_code(self, f: Any, code: Code, path: str) -> None:
        if "flags" in code.attributes:
            self.asking |= {f.__module__}
        super()._check_rules_code(f, code, path)

    def _check_rule(self) -> None:
        try:
            super()._check_rule()
        except TracingError as error:
            self.refused = self.refused or str(error)


class ReachedByKernel(ReachedByRule):
    """What a kernel can reach, which runs beside the graph as it runs beside the function, and may change what it likes.

    Attributes
    ----------
    hidden : str
        What keeps its code from being read: it may change anything then. "" for nothing.
    """

    hidden = ""

    @property
    def own_code_alone(self) -> bool:
        return True

    def visit(self, x: Any, path: str) -> None:
        if type(x) is memoryview:
            self.hidden = self.hidden or f"it refers to {path}, a memoryview"
        super().visit(x, path)

    def _function(self, f: types.FunctionType, path: str) -> None:
        try:
            super()._function(f, path)
        except TracingError as error:  # of its code alone: what it refers to is refused where that is visited
            self.hidden = self.hidden or str(error).removesuffix(". Pass what is needed of it as an argument.")
            raise

    def _imports(self, names: frozenset[str], path: str) -> None:
        self.unread |= {name.partition(".")[0] for name in names if not is_listed(name)} - self._packages

    def _check_rules_code(self, f: Any, code: Code, path: str) -> None:
        if words := BY_ANY_NAME & (code.globals | code.attributes):
            self._refuse(f"{path} names {min(words)}, by which it may change what its code does not name")

    def _check_rule(self) -> None:
        pass

    @property
    def held(self) -> list[np.ndarray]:
        """The arrays that it may write to, or what owns their memory: what is in a list it may only keep there."""
        writes = not (self.changes | self.names).isdisjoint(CHANGING[np.ndarray] | WRITERS)
        found = [x for key, x in self.arrays.items() if isinstance(x, np.ndarray) and (writes or "[" not in self.where[key])]
        found = [x for x in found if x.flags.writeable]
        owners = [x.base if type(x.base) is np.ndarray and x.base.flags.writeable else x for x in found]
        return list({id(x): x for x in owners}.values())

    @property
    def does_more(self) -> bool:
        """Whether it may do more than return something."""
        known = [CHANGING.get(cls, CHANGES) for cls in self.changeable.values()]
        return bool(self.refused or self.stored or self.outside or any(not self.changes.isdisjoint(x) for x in known))

    def changed(self, other: Reached) -> str | None:
        """Return where something stands that other code reads and the kernel may change; None where there is nothing."""
        if self.hidden:
            return f"anything ({self.hidden})"
        if shared := self.unread & {_package(x if isinstance(x, CODE) else type(x)) for x in other.seen.values()}:
            return f"what is in {min(shared)}"
        beyond = [x for variables in self.beyond for x in variables.values()]
        arrays = [*self.held, *[x for x in beyond if type(x) is np.ndarray]]
        for x in other.arrays.values():
            if any(np.may_share_memory(x, y) for y in arrays):
                return other.where[id(x)]
        if shown := set(map(id, beyond)) & {id(guard.holder) for guard in other.guards if guard.kind in CONTAINERS}:
            return next(guard.path for guard in other.guards if id(guard.holder) in shown)
        holders = {id(guard.holder) for guard in self.guards}
        own: dict[int, bool] = {}  # whether the kernel changes it as a container, by methods or items that it assigns to
        for guard in self.guards:
            if guard.kind in CONTAINERS:
                cls = self.changeable.get(guard.path)
                own[id(guard.holder)] = cls is not None and not self.changes.isdisjoint(CHANGING.get(cls, CHANGES))
        for guard in other.guards:
            place = id(guard.holder), guard.name if guard.kind == ITEM else None
            name = guard.name.member.__name__ if type(guard.name) is Slot else guard.name
            names = {x for x in (name if type(name) is tuple else (name,)) if type(x) is str}
            if place in self.outside or own.get(place[0]) or (place[0] in holders and names & self.stored):
                return guard.path
        return None


class Rule(NamedTuple):
    """A rule of a user's, by the operator that it is for, and what it can reach."""

    name: str
    reached: Reached


class Rules:
    """What is registered for the operators that a function can reach.

    Attributes
    ----------
    names : set of str
        The attributes that the code of the rules reads.
    as_one : list of Opacity
        Of the rules that a trace has to call as one operator.
    held : list of ndarray
        What kernels refer to and may write to.
    doing_more : dict
        By id, the operators of which a kernel may do more than return something.
    """

    def __init__(self, reached: Reached, wrapped: bool) -> None:
        self.names: set[str] = set()
        self.as_one: list[Opacity] = []
        self.held: list[np.ndarray] = []
        self.doing_more: dict[int, OpOverload] = {}
        self._classes = reached.seen
        self._rules: list[Rule] = []
        self._transforms = reached.transforms or wrapped
        self._late: list[tuple[OpOverload | None, Registration]] = []  # of transforms, which no code has named so far
        self._covered: dict[int, OpOverload] = {}
        self._waiting = list(reached.operators.values())
        self._words: list[Words] = []
        self._look_up(reached)
        for registration in changes_to_ours():
            if registration.key in OF_TRACES:
                raise TracingError(
                    f"a rule of yours is registered at {registration.key} for operators of {PACKAGE}: a trace would run it, "
                    "and NumPy's functions do not. Register it for an operator of your own."
                )
            if not is_kernel(registration):
                self._registration(None, registration)
        while self._waiting or (self._late and self._transforms):
            while self._late and self._transforms:
                self._rule(*self._late.pop())
            if self._waiting:
                self._operator(owner_of(self._waiting.pop()))
        self._registered = Registered(list(self._covered.values()), self._words)
        self._check_apart(reached)
        self._check_kernels(reached)

    @property
    def any(self) -> bool:
        """Whether there are rules of users' that a trace may run."""
        return bool(self._rules)

    def guards(self, exact: bool) -> tuple[list[Guard], list[np.ndarray]]:
        """Return what each call compares, and the arrays whose bytes are among that.

        What rules refer to is compared by itself, for nothing of it is bound to an input: the graph has it as it was.
        """
        found = [Guard(READ, self._registered, Registered.stands, HOLDS, "")]
        inner, arrays = [], dict[int, np.ndarray]()
        for rule in self._rules:
            inner += rule.reached.guards
            arrays |= rule.reached.arrays
        inner += [Guard(BYTES, x, (x.dtype, x.shape, x.strides), x.tobytes(), "an array") for x in arrays.values()]
        if inner:
            places = sorted({guard.path for guard in inner})
            conditions = Conditions([], (), [], inner, {}, exact=exact)
            found.append(Guard(READ, conditions, _hold, HOLDS, f"what rules refer to: {', '.join(places)}"))
        return found, list(arrays.values())

    def _check_apart(self, reached: Reached) -> None:
        """Raise where code may change what a rule refers to: it would change a copy, and the rule reads the original."""
        for rule in self._rules:
            path = _changed(reached, rule.reached.guards)
            if path is not None:
                raise TracingError(
                    f"it may change {path}, to which a rule of {rule.name} refers. Pass what is needed of it to the "
                    "operator as an argument."
                )

    def _check_kernels(self, reached: Reached) -> None:
        """Raise where a kernel may change what code of the trace refers to: that is read once, before any kernel runs."""
        for op in self._covered.values():
            rules = [registration.rule for registration in op.table.all() if is_kernel(registration)]
            roots = [x for rule in rules for x, _ in _parts(rule, {}) if not isinstance(x, OpOverload)]
            kernel = ReachedByKernel(*roots)
            self.held += kernel.held
            self.doing_more |= {id(op): op} if kernel.does_more else {}
            for other in (reached, *[rule.reached for rule in self._rules]):
                path = kernel.changed(other)
                if path is not None:
                    raise TracingError(
                        f"a kernel of {op.name} may change {path or 'self'}, to which it refers: a graph has that as it was "
                        "before the kernel ran. Return it from the operator."
                    )

    # -- the walk ------------------------------------------------------------------------------------------------------------

    def _look_up(self, reached: Reached) -> None:
        """Add the operators that code may look up: `ops.ns.name` names both words."""
        if reached.namespaces is not None:
            self._words.append((frozenset(reached.names), frozenset(reached.names | reached.namespaces)))
            self._waiting += _named(*self._words[-1])

    def _operator(self, op: OpOverload) -> None:
        if id(op) not in self._covered and not is_ours(op):
            self._covered[id(op)] = op
            for registration in op.table.all():
                if not is_kernel(registration):
                    self._registration(op, registration)

    def _registration(self, op: OpOverload | None, registration: Registration) -> None:
        if registration.key in TRANSFORMS:
            self._late.append((op, registration))
        else:
            self._rule(op, registration)

    def _rule(self, op: OpOverload | None, registration: Registration) -> None:
        given = registration.rule
        if isinstance(given, ClassRule) and id(given.cls) not in self._classes:
            return  # no value of the class comes to it
        name = "all operators" if op is None else op.name
        parts: dict[Opacity | None, list[Any]] = {}
        for part, opacity in _parts(given, {}):
            parts.setdefault(opacity, []).append(part)
        for opacity, found in parts.items():
            self._waiting += [x for x in found if isinstance(x, OpOverload)]
            roots = [x for x in found if not isinstance(x, OpOverload)]
            if opacity is not None and opacity.operator is not None and owner_of(opacity.operator) is opacity.operator:
                self._waiting.append(opacity.operator)
            if roots and (opacity is None or opacity.declared is not True):
                self._walk(name, roots, opacity, registration.key == DispatchKey.FAKE)

    def _walk(self, name: str, roots: list[Any], opacity: Opacity | None, is_fake: bool) -> None:
        reached = ReachedByRule(*roots)
        said = reached.refused.removesuffix(" Pass what is needed of it as an argument.")
        as_one = opacity is not None and opacity.declared is None
        if not is_fake:  # what a shape rule is given is never an array
            word = reached.names_memory()
            if said and as_one:  # then it gets arrays, of which `.flags` alone says something else: a graph protects none
                word = "flags" if reached.asking & {getattr(x, "__module__", None) for x in roots} else ""
            if word:
                _refuse(name, f"it names .{word}, which says something else of what a rule is given there than of an array.")
            if reached.asks_class and not said:
                what = "and that of a traced value is another than that of an array."
                said = f"{reached.asks_class} asks for the class of a value, {what}"
        if said and opacity is not None and as_one:
            self.as_one.append(opacity)
            return
        if said:
            _refuse(name, said)
        self._rules.append(Rule(name, reached))
        self._transforms = self._transforms or reached.transforms
        self.names |= reached.names
        self._waiting += reached.operators.values()
        self._look_up(reached)


def _refuse(name: str, said: str) -> NoReturn:
    raise TracingError(f"of a rule of {name}, which runs while a trace is made: {said} Pass what is needed to the operator.")


def _inside_ours(x: Any) -> Any:
    """Return the object of a method of this package, or the function in a cache of one; None of anything else."""
    inner = x.__wrapped__ if type(x) is CACHED else x.__self__ if type(x) is types.MethodType else None
    function: Any = getattr(inner if type(x) is CACHED else x, "__func__", inner)
    ours = type(function) is types.FunctionType and str(function.__module__).partition(".")[0] == PACKAGE
    return inner if ours and is_listed_function(function) else None


CACHED: Any = type(functools.lru_cache(len))


def _parts(x: Any, seen: dict[int, Any], opacity: Opacity | None = None) -> Iterator[tuple[Any, Opacity | None]]:
    """Yield what in a rule is a user's, and operators; each with what says whether it is called as one operator."""
    cls = type(x)
    if id(x) in seen or is_plain(x) or isinstance(x, BY_NAME):
        return
    seen[id(x)] = x
    if isinstance(x, OpOverload):
        yield x, opacity
    elif cls in (tuple, dict):  # the second one has rules by the names of arguments
        for part in x if cls is tuple else x.values():
            yield from _parts(part, seen, opacity)
    elif cls in (list, set, frozenset):  # of a rule that this package makes of hints, say: then nothing in it is a user's
        if any([part for item in x for part in _parts(item, seen, opacity)]):
            yield x, opacity
    elif (inner := _inside_ours(x)) is not None:
        yield from _parts(inner, seen, opacity)
    elif cls is types.FunctionType and is_listed_function(x):
        for part in (*map(contents, x.__closure__ or ()), *(x.__defaults__ or ())):
            yield from _parts(part, seen, opacity)
    elif isinstance(x, type) or cls is types.FunctionType or cls.__name__ == "cython_function_or_method":
        if not is_listed(x.__module__) or cls is types.FunctionType:
            yield x, opacity
    elif cls.__module__.partition(".")[0] == PACKAGE and is_listed_class(cls) and not isinstance(x, Tensor):
        fields = {str(i): part for i, part in enumerate(x)} if isinstance(x, tuple) else {}
        fields |= instance_dict(x) or {}
        fields |= {slot.__name__: Slot(slot)(x) for slot in slots_of(cls, True)}
        own = getattr(x, "opacity", None) or opacity
        for name, part in fields.items():  # a setup_context is called as it is
            yield from _parts(part, seen, None if name == "setup_context" else own)
    elif cls.__name__ != "_ArrayFunctionDispatcher" and not (
        cls is types.BuiltinFunctionType and isinstance(x.__self__, (types.ModuleType, type, types.NoneType))
    ):
        yield x, opacity


def _changed(code: Reached, guards: list[Guard]) -> str | None:
    """Return where something stands that other code refers to and some code may change; None where there is nothing."""
    changes = bool(code.stored or code.changes & CHANGES)
    functions = {id(vars(x)) for x in code.seen.values() if type(x) is types.FunctionType}
    own = {id(guard.holder) for guard in code.guards if guard.kind in CONTAINERS} - functions if changes else set()
    for guard in guards:
        place = id(guard.holder), guard.name if guard.kind == ITEM else None
        if place in code.outside or (guard.kind in CONTAINERS and place[0] in own):
            return guard.path
    return None


HOLDS = (True,)


def _hold(conditions: Conditions) -> tuple[bool]:
    return (conditions.inputs((), {}) is not None,)


class Registered:
    """What is registered for some operators, for those of this package by users, and for all; which operators words name."""

    def __init__(self, operators: list[OpOverload], words: list[Words]) -> None:
        self._operators, self._words = operators, words
        self._before = self._found()
        self._looked = -1, HOLDS

    def stands(self) -> tuple[bool]:
        """Return whether it is what it was; it is looked at again once anything was registered."""
        count = changes_of_all[0]
        if self._looked[0] != count:
            pairs = zip(self._found(), self._before, strict=True)
            self._looked = count, (all([len(x) == len(y) and all(map(_is, x, y)) for x, y in pairs]),)
        return self._looked[1]

    def _found(self) -> tuple[list[Any], ...]:
        own: list[Any] = []
        for op in self._operators:
            table = op.table  # a composite is not taken apart once there is a kernel
            own += [op.definition, table.has_backend(), *[x for x in table.all() if not is_kernel(x)]]
        return own, changes_to_ours(), [op for words in self._words for op in _named(*words)]


def _is(x: Any, y: Any) -> bool:
    return x is y


class _Changes:
    """What users have registered for operators of this package, kernels too, and for every operator."""

    def __init__(self) -> None:
        self._counted: tuple[int, list[Registration]] = (-1, [])
        self._by_operator: dict[int, tuple[OpOverload, int, list[Registration]]] = {}  # of those of this package

    def __call__(self) -> list[Registration]:
        """Return what is registered now; it is looked for again once anything was."""
        count = changes_of_all[0]
        if self._counted[0] != count:
            self._counted = count, [*self._find(), *live_fallbacks()]
        return self._counted[1]

    def _find(self) -> Iterator[Registration]:
        for op in defined_now():
            known = self._by_operator.get(id(op))
            if known is None and not is_ours(op):
                continue
            table = op.table
            if known is None or known[:2] != (op, table.changes):
                own = vars(op).get("own_rules", ())  # not all are noted there, and none while its row is loaded
                found = [x for x in table.all() if x not in own and _is_of_users(x)]
                known = self._by_operator[id(op)] = op, table.changes, found
            yield from known[2]


changes_to_ours = _Changes()


def operators_in(graph: Graph) -> set[OpOverload]:
    """Return the operators that a graph calls, in the bodies of loops and branches too."""
    found = {node.op for node in graph.nodes if node.op is not None}
    inner = [x.graph for node in graph.nodes for x in node.args if type(x) is Subgraph]
    return found.union(*map(operators_in, inner))


def check_kernels(graph: Graph) -> None:
    """Raise where a user's kernel would compute what NumPy's function computes: with arrays, that asks no operator."""
    changes = changes_to_ours()
    for op in operators_in(graph) if changes else ():
        for each in (op, owner_of(op)):
            if is_ours(each) and each.table.source(DispatchKey.CPU) in changes:
                raise TracingError(
                    f"a kernel of yours is registered for {each.name}: a graph would call it, and NumPy's function does not. "
                    "Register it for an operator of your own."
                )


def _is_of_users(registration: Registration) -> bool:
    return any(not isinstance(x, OpOverload) for x, _ in _parts(registration.rule, {}))


def _named(names: frozenset[str], spaces: frozenset[str]) -> list[OpOverload]:
    return [op for op in defined_now() if op.schema.name in names and op.schema.namespace in spaces]
