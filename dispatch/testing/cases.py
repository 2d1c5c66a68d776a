"""`Case`: an operator and one set of arguments, flattened so that a check can replace the arrays."""

import re
from collections.abc import Callable, Collection, Iterator
from enum import Enum
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from ..core import DispatchKey, OpOverload, Tensor
from ..core.pytree import leaves, mapped, paths
from ..core.source import where
from ..dispatcher.call_errors import refused
from ..dispatcher.printing import brief, describe_value
from ..errors import ArgumentError, how_many
from ..layers.autograd import Pullbacks, TrackedTensor
from ..layers.autograd.derivative_sources import Form
from ..operators.functional_variant import origin_of
from ..schema.opaque_types import find_class
from ..schema.types import FLOAT, INT, ClassType, LiteralOf, OptionalOf, Type

Array = np.ndarray[Any, Any]
Arguments = tuple[Any, ...]
AXIS = re.compile(r"(\w+_)?(axis|dim)\d*")
MOST_CHOICES = 4  # other values of one argument that are tried: each is some runs of the kernel
MOST_PAIRS = 6  # of options that are changed at once: all of four
GIVEN: dict[Type, int | float] = {INT: 2, FLOAT: 1.5}  # in place of None: a length; an amount


class Options(NamedTuple):
    """How the checks look: see `opcheck`."""

    rtol: float | None = None
    atol: float | None = None
    eps: float | None = None
    gradients: str = "compare"
    fixed: frozenset[str] = frozenset()
    timeout: float = 20.0

    def patience(self, most: float) -> float:
        """Return seconds for calls in a copy of the child, which says nothing meanwhile: well below `timeout`."""
        return min(most, self.timeout / 3)


class Case(NamedTuple):
    """One call of an operator: all arguments in schema order, with plain arrays.

    `tracked` has the indices, in the order of `arrays_in`, of the arrays that were given as tracked values. `what` says how the
    case differs from the user's sample: `" in Fortran order"`; it is empty for the sample itself. `say` is told of each call
    before it is made.
    """

    op: OpOverload
    args: Arguments
    tracked: tuple[int, ...] = ()
    what: str = ""
    say: Callable[[str], object] | None = None

    @property
    def name(self) -> str:
        """The operator's full name."""
        return str(self.op.name)

    @property
    def arrays(self) -> list[Array]:
        """Every array among the arguments, those in lists too."""
        return arrays_in(self.args)

    @property
    def labels(self) -> list[str]:
        """A label for each of `arrays`: `'x'`, `'xs'[2]`."""
        return labels_of(self.op.arguments.names, self.args)

    def places(self, names: Collection[str]) -> frozenset[int]:
        """Return the places in `arrays` of the arrays in some arguments."""
        owners = [n for n, x in zip(self.op.arguments.names, self.args, strict=True) for _ in arrays_in(x)]
        return frozenset(i for i, name in enumerate(owners) if name in names)

    @property
    def bounded(self) -> frozenset[int]:
        """The places in `arrays` of those whose hint names a range of values."""
        return self.places([a.name for a in self.op.schema.arguments if a.bounds is not None])

    @property
    def integers(self) -> frozenset[int]:
        """The places in `arrays` of integers beside other arrays: indices, pointers and counts, which only the sample knows."""
        found = frozenset(i for i, x in enumerate(self.arrays) if x.dtype.kind in "iu")
        return found if len(found) < len(self.arrays) else frozenset()

    def with_args(self, args: Arguments, what: str = "") -> "Case":
        """The same operator with other arguments."""
        return self._replace(args=args, what=what or self.what)

    def left_out(self, kept: Collection[str] = ()) -> Iterator["Case"]:
        """Return the case without each of the arguments that may be None and have arrays, those in `kept` aside."""
        first = 0
        for i, (argument, x) in enumerate(zip(self.op.schema.arguments, self.args, strict=True)):
            here = range(first, first := first + len(arrays_in(x)))
            if here and isinstance(argument.type, OptionalOf) and argument.name not in kept:
                args = (*self.args[:i], None, *self.args[i + 1 :])
                tracked = tuple(k - len(here) * (k >= first) for k in self.tracked if k not in here)
                yield self._replace(args=args, tracked=tracked, what=f" on the sample without '{argument.name}'")

    def longer_lists(self, kept: Collection[str] = ()) -> Iterator["Case"]:
        """Return the case with one array more in each list of arrays, a copy of its last and tracked as that.

        Lists in `kept` stay, those that are written to, and those beside which another argument has as many items or an axis as
        long: weights, say.
        """
        end = 0
        written = {a.name for a in self.op.schema.arguments if a.is_write}
        for i, (name, xs) in enumerate(zip(self.op.arguments.names, self.args, strict=True)):
            end += len(arrays_in(xs))
            if name not in kept and name not in written and type(xs) in (list, tuple) and xs and all(map(is_array, xs)):
                if any(len(xs) in _lengths(x) for x in self.args if x is not xs):
                    continue
                args = (*self.args[:i], type(xs)([*xs, xs[-1].copy()]), *self.args[i + 1 :])
                tracked = tuple(k + (k >= end) for k in self.tracked)
                tracked = tuple(sorted({*tracked, end})) if end - 1 in self.tracked else tracked
                yield self._replace(args=args, tracked=tracked, what=f" on the sample with one array more in '{name}'")

    def given_numbers(self, kept: Collection[str] = ()) -> Iterator["Case"]:
        """Return the case with 2 for each argument of None that may be an int, axes aside, and 1.5 where it may be a float."""
        for i, (argument, x) in enumerate(zip(self.op.schema.arguments, self.args, strict=True)):
            given = GIVEN.get(argument.type.element) if isinstance(argument.type, OptionalOf) else None
            if x is None and given is not None and argument.name not in kept and not AXIS.fullmatch(argument.name):
                args = (*self.args[:i], given, *self.args[i + 1 :])
                yield self._replace(args=args, what=f" on the sample with '{argument.name}' of {given}")

    def two_options(self, kept: Collection[str] = ()) -> Iterator["Case"]:
        """Return the case with two options changed at once, the first pairs of them: flags, choices, and what may be None."""
        changed: list[tuple[int, str, Any]] = []
        for i, (argument, x) in enumerate(zip(self.op.schema.arguments, self.args, strict=True)):
            others = [not x] if type(x) is bool else [y for y in choices_of(argument.type) or () if y is not x and y != x]
            if not others and x is not None and isinstance(argument.type, OptionalOf) and not arrays_in(x):
                others = [None]
            changed += [(i, argument.name, other) for other in others[:1] if argument.name not in kept]
        for (i, first, a), (k, second, b) in islice(combinations(changed, 2), MOST_PAIRS):
            args = (*self.args[:i], a, *self.args[i + 1 : k], b, *self.args[k + 1 :])
            said = f"'{first}' as {brief_choice(a)} and '{second}' as {brief_choice(b)}"
            yield self._replace(args=args, what=f" on the sample with {said}")

    def nones(self, kept: Collection[str] = ()) -> Iterator["Case"]:
        """Return the case with None for each argument that may be None and has no arrays: an axis, say."""
        for i, (argument, x) in enumerate(zip(self.op.schema.arguments, self.args, strict=True)):
            if x is not None and not arrays_in(x) and isinstance(argument.type, OptionalOf) and argument.name not in kept:
                args = (*self.args[:i], None, *self.args[i + 1 :])
                yield self._replace(args=args, what=f" on the sample without '{argument.name}'")

    def branches(self, kept: Collection[str] = ()) -> Iterator["Case"]:
        """Return the case without each argument that may be None, and with other values of each that is a choice.

        The choices are those of a `Literal` or an enumeration, those in `kept` aside.
        """
        yield from self.left_out(kept)
        for i, (argument, x) in enumerate(zip(self.op.schema.arguments, self.args, strict=True)):
            others = [other for other in choices_of(argument.type) or () if other is not x and other != x]
            for other in others[:MOST_CHOICES] if argument.name not in kept else ():
                args = (*self.args[:i], other, *self.args[i + 1 :])
                yield self._replace(args=args, what=f" on the sample with '{argument.name}' as {brief_choice(other)}")

    def with_arrays(self, arrays: list[Any]) -> Arguments:
        """The arguments with other arrays in place of `arrays`."""
        return put_arrays(self.args, arrays)

    def call(self, args: Arguments) -> list[Any]:
        """Run the operator on the whole tuple of arguments and return its outputs as a list."""
        if self.say is not None:
            self.say(f"{self.what} ({self.given()})")
        count = self.op.arguments.positional
        named = dict(zip(self.op.arguments.keyword_names, args[count:], strict=True))
        return self.outputs(self.op(*args[:count], **named))

    def outputs(self, result: Any) -> list[Any]:
        """Return the outputs of a call as a list, without a residual; a NumPy scalar becomes a 0-d array."""
        count = self.op.outputs.count
        found = [] if count == 0 else [result] if count == 1 else list(result)
        pairs = zip(found, self.op.schema.returns, strict=False)
        return [without_scalars(x) if returned.type.has_tensor else x for x, returned in pairs]

    def given(self) -> str:
        """Describe the arguments in brief: `x: float64[3, 4], factor: float`."""
        return ", ".join(f"{name}: {brief(x)}" for name, x in zip(self.op.arguments.names, self.args, strict=True))

    def rule(self, key: DispatchKey) -> Any:
        """Return the rule registered at a key, or None."""
        registration = self.op.table.source(key)
        if registration is None and key == DispatchKey.AUTOGRAD and (origin := origin_of(self.op)) is not None:
            registration = origin.table.source(key)
        return None if registration is None else registration.rule

    def place(self, key: DispatchKey) -> str:
        """Return where the rule at a key is written: `file.py:12`."""
        rule = self.rule(key)
        if isinstance(rule, Pullbacks):
            rule = next((pullback.function for pullback in rule.by_argument.values()), rule)
        source = getattr(rule, "backward", None) or getattr(rule, "function", None)
        return "register_autograd" if not callable(source) and isinstance(rule, Form) else where(source or rule)

    @property
    def kernel(self) -> str:
        """`kernel file.py:12`."""
        return f"kernel {self.place(DispatchKey.CPU)}"


def _lengths(x: Any) -> tuple[int, ...]:
    """The lengths of an array or of a list."""
    return x.shape if is_array(x) else (len(x),) if type(x) in (list, tuple) else ()


def choices_of(kind: Type) -> list[Any] | None:
    """Return the values of a `Literal` or an enumeration, or None for another type."""
    if isinstance(kind, OptionalOf):
        return choices_of(kind.element)
    if isinstance(kind, LiteralOf):
        return list(kind.choices)
    if isinstance(kind, ClassType) and issubclass(cls := find_class(kind), Enum):
        return list(cls)
    return None


def brief_choice(value: Any) -> str:
    """Return a choice as text: `'same'`, `Mode.NEAREST`."""
    return str(value) if isinstance(value, Enum) else repr(value)


def one_call(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Case:
    """Make the case of a call, as `bind`; where several calls were given it is said that one is checked."""
    try:
        return bind(op, args, kwargs)
    except ArgumentError:
        if not args or not all(isinstance(x, tuple) for x in args):
            raise
    some = f"{how_many(len(args), 'tuple')} {'was' if len(args) == 1 else 'were'} given in its place"
    raise ArgumentError(
        f"opcheck checks one call of {op.name}, and args is a tuple of its arguments: {some}. Write opcheck(op, args) for each."
    )


def bind(op: OpOverload, args: Arguments, keywords: dict[str, Any]) -> Case:
    """Make the case of a call; arguments that do not fit raise the operator's own error."""
    arguments = op.arguments
    given = dict(zip(arguments.names, args, strict=False))
    if len(args) > arguments.positional or any(name in given or name not in arguments.names for name in keywords):
        raise refused(op.definition, args, keywords)
    given |= keywords
    full = []
    for name, default, check in zip(arguments.names, arguments.defaults, arguments.checks, strict=True):
        value = given.get(name, *default) if name in given or default else None
        if (name not in given and not default) or not check(value):
            raise refused(op.definition, args, keywords)
        full.append(value)
    tracked, plain = [], []
    for place, x in enumerate(arrays_in(tuple(full))):
        if isinstance(x, TrackedTensor) and not isinstance(x.value, Tensor):
            tracked.append(place)
        elif isinstance(x, Tensor):
            raise ArgumentError(
                f"opcheck of {op.name} was given {describe_value(x)}. Give it plain arrays, or "
                "dispatch.tensor(a, requires_grad=True) where the gradient is to be checked, outside every transform.",
                operator=op.name,
            )
        plain.append(x.value if isinstance(x, TrackedTensor) else x)
    return Case(op, put_arrays(tuple(full), plain), tuple(tracked))


_ARRAYS = (np.ndarray, Tensor)
_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))  # what most other arguments are


def is_array(x: Any) -> bool:
    """Whether a value is an array that checks replace; NumPy scalars cannot be written to and count as numbers."""
    return isinstance(x, _ARRAYS)


def arrays_in(x: Any) -> list[Any]:
    """Return every array in a value, in order, inside lists, tuples, dicts and records too."""
    if isinstance(x, _ARRAYS) or type(x) in _PLAIN:
        return [x] if isinstance(x, _ARRAYS) else []
    return [leaf for leaf in leaves(x) if isinstance(leaf, _ARRAYS)]


def map_arrays(f: Callable[[Any], Any], x: Any) -> Any:
    """Replace every array in a value by `f` of it."""
    if isinstance(x, _ARRAYS) or type(x) in _PLAIN:
        return f(x) if isinstance(x, _ARRAYS) else x
    return mapped(lambda leaf: f(leaf) if is_array(leaf) else leaf, x)


def without_scalars(x: Any) -> Any:
    """Replace NumPy scalars in a value by 0-d arrays."""
    return x if is_array(x) else mapped(lambda leaf: np.asarray(leaf) if isinstance(leaf, np.generic) else leaf, x)


def put_arrays(args: Arguments, arrays: list[Any]) -> Arguments:
    """Replace the arrays in the arguments, in the order of `arrays_in`."""
    queue = iter(arrays)
    return tuple([next(queue) if isinstance(x, _ARRAYS) else map_arrays(lambda _: next(queue), x) for x in args])


def labels_of(names: tuple[str, ...], args: Arguments) -> list[str]:
    """Return a label for each array in the arguments, in the order of `arrays_in`."""
    return [f"'{name}'{path}" for name, x in zip(names, args, strict=True) for path in _paths(x)]


def _paths(x: Any) -> list[str]:
    return [""] if is_array(x) else [path for path, leaf in zip(paths(x), leaves(x), strict=True) if is_array(leaf)]


def named_outputs(outputs: list[Any]) -> list[tuple[str, Any]]:
    """Return every array in the outputs with its name: `output 0`, `output 1[2]`."""
    paths = [f"output {i}{path}" for i, x in enumerate(outputs) for path in _paths(x)]
    return list(zip(paths, arrays_in(outputs), strict=True))


def another(name: str) -> str:
    """Return the words for a result that should be the same: `another output 0`, `another value of its argument 'x'`."""
    return f"another {name}" if name.startswith("output") else f"another value of {name}"
