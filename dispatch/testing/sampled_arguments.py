"""`samples`: makes arguments for an operator from its schema and hints, or asks the function that it registered.

It has more than 350 lines: how each type of a schema is guessed stands in one place.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from itertools import count, islice, product
from typing import Any, NamedTuple

import numpy as np

from ..core import OpOverload
from ..core.pytree import leaves
from ..core.wrong_attributes import Fields
from ..core.wrong_calls import clear, clear_tuple
from ..dispatcher.printing import brief
from ..errors import ArgumentError, check_int, did_you_mean, kind_of
from ..operators.register import SampleFunction, resolve
from ..schema.bounds import Bounds
from ..schema.dimensions import ArrayHint, Bindings, Each, Places, Tree, integers_of
from ..schema.opaque_types import find_class
from ..schema.schema import Argument
from ..schema.types import INT, Base, ClassType, DictOf, ListOf, LiteralOf, OptionalOf, TupleOf, Type, UnionOf
from .cases import arrays_in, bind, choices_of, is_array
from .child_process import Say
from .kernel_runs import past_first_call, run, written_arrays

Shape = tuple[int, ...]
DTYPES = (np.float64, np.int64, np.bool_)  # of the arrays, until a kernel accepts one
# Shapes to try for the arrays of a call, in turn, and over again from the front where there are more arrays. Sizes
# differ pairwise, for square inputs hide swapped axes.
SHAPES: tuple[tuple[Shape, ...], ...] = (
    ((2, 3),),
    ((3,),),
    ((),),
    ((2, 3), (3, 4), (4, 5)),
    ((2, 3), (3,), (2, 1)),
    ((3, 3), (3, 2)),
    ((3, 3),),
    ((2, 3, 4),),
    ((4, 2, 3), (2, 3)),
)
LENGTHS = (3, 2, 4, 5, 7, 6, 8)  # of the axes that hints name, each another, beginning further on from plan to plan
FEW, MANY = 0.25, 2.0  # the values lie between: away from zero, where logarithms and quotients end
MOST_TEXT = 30  # of a value in the name of a sample
WHOLE = 8  # times as much for integers


@clear_tuple
class Sample(NamedTuple):
    """Arguments of an operator.

    Attributes
    ----------
    args : tuple
    kwargs : dict
    what : str
        The shapes of its arrays, and the other values that are not defaults, as text.
    fixed : tuple of str
    gradients : str
        As in `opcheck`.

    Examples
    --------
    >>> Sample((np.ones(3), 2.0), {}, "(3,)").what
    '(3,)'
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    what: str = ""
    fixed: tuple[str, ...] = ()
    gradients: str = "compare"


Sample.__getattr__, Sample.__setattr__ = Fields.__getattr__, Fields.__setattr__  # type: ignore[method-assign, assignment, attr-defined]


@clear
def samples(op: OpOverload | str, seed: int = 0) -> Iterator[Sample]:
    """Make arguments for an operator: its own samples, or from its schema and hints of several guesses what its kernel accepts.

    Arrays have the axes and dtypes that their hints name (`Float64[np.ndarray, "m n"]`), each name a size of its own. Others
    come in one shape, in shapes that broadcast, in shapes for a matrix product, square and 0-d, of pairwise distinct sizes
    where not square, of float64, or of integers or bools where floats are refused. Values lie in the range that a hint names,
    `Annotated[float, Interval(gt=0, le=1)]` or `Annotated[int, range(1, 9)]`. Other arguments take their defaults, the values
    of a `Literal` or an enumeration in turn, or small values of their type.

    Parameters
    ----------
    op : OpOverload or str
        If it has a sample function, `op.register_samples`, that is asked instead.
    seed : int
        Seed of the random values.

    Yields
    ------
    Sample

    Raises
    ------
    ArgumentError
        If an argument without a default has a type that no value can be made for, the kernel accepts no guess, or a sample
        function gives no sample.

    Examples
    --------
    >>> import dispatch
    >>> [sample.what for sample in samples("np::matmul")][:2]
    ['(3,), (3,)', '(2, 3), (3, 4)']
    """
    if check_int(seed, "samples: seed") < 0:
        raise ArgumentError(f"samples: seed is an int from 0 up, and was given {seed}.")
    return made(resolve(op), seed)


def made(op: OpOverload, seed: int = 0, say: Say | None = None) -> Iterator[Sample]:
    """Make the samples of an operator; `say` is told of each call of its kernel before it is made."""
    random = np.random.default_rng(seed)
    own = sample_function(op)
    if own is None:
        yield from _from_schema(op, random, {}, say)
        return
    made = own.function(random)
    if not isinstance(made, Iterable) or isinstance(made, (str, Mapping, np.ndarray, Sample)) or (
        isinstance(made, tuple) and not all(isinstance(x, (tuple, Mapping, Sample)) for x in made)
    ):
        said = f"{op.name}: the sample function returned {kind_of(made)}, and it gives any number of samples"
        raise ArgumentError(f"{said}: write `yield` in place of `return`, once for each.")
    for given in made:
        found = _read(op, own, given, random)
        yield found._replace(what=found.what or _described(op, found.args, found.kwargs))


def sample_function(op: OpOverload) -> SampleFunction | None:
    """Return what `op.register_samples` was given, or None."""
    found: SampleFunction | None = vars(op).get("sample_function")
    return found


def _read(op: OpOverload, own: SampleFunction, given: Any, random: "np.random.Generator") -> Sample:
    """Read what a sample function yields."""
    if isinstance(given, Sample):
        return given
    if isinstance(given, tuple):
        return Sample(given, {}, "", own.fixed, own.gradients)
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"{op.name}: a sample is a tuple, the arguments by position, or a dict of arguments by name, and its sample "
            f"function gave {kind_of(given)}. Write `yield x,` for one argument x."
        )
    for name in given:
        if name not in op.arguments.names:
            close = did_you_mean(str(name), op.arguments.names)
            raise ArgumentError(f"{op.name} has no argument {name!r}, which its sample function gives.{close}")
    for found in islice(_from_schema(op, random, given, None), 1):
        return found._replace(fixed=own.fixed, gradients=own.gradients)
    named = ", ".join(given)
    raise ArgumentError(f"{op.name}: its kernel accepts nothing made from its schema beside the {named} of a sample.")


def _from_schema(
    op: OpOverload, random: "np.random.Generator", given: Mapping[str, Any], say: Say | None
) -> Iterator[Sample]:
    """Guess, and yield what the kernel accepts; beside arguments that are given the others take their defaults."""
    arguments = op.schema.arguments
    if given:
        given = {a.name: a.default for a in arguments if a.has_default} | dict(given)
        if len(given) == len(arguments):
            yield sample_of(op, [given[a.name] for a in arguments])
            return
    plain = [[given[a.name]] if a.name in given else [None] if a.type.has_tensor else choices(op, a) for a in arguments]
    seen: set[str] = set()
    first: tuple[str, Exception | None] | None = None  # what was tried, and what it raised
    combined = list(product(*plain))
    # every shape and every choice soon, and in the end each with each
    soon = [(i % len(SHAPES), i % len(combined)) for i in range(max(len(SHAPES), len(combined)))]
    pairs = dict.fromkeys([*soon, *product(range(len(SHAPES)), range(len(combined)))])
    for dtype in DTYPES:
        for number, choice in pairs:
            maker = Maker(random, number, np.dtype(dtype), dict(zip(op.arguments.names, combined[choice], strict=True)))
            full = [maker.argument(a) if a.type.has_tensor and a.name not in given else maker.chosen[a.name] for a in arguments]
            sample = sample_of(op, full)
            key = f"{[x.shape for x in arrays_in(tuple(full))]} {choice}"
            if key not in seen:
                error = refusal(op, sample, say)
                first = first or (sample.what, error)
                if error is None:
                    seen.add(key)
                    yield sample
        if seen:
            return
    if first is not None and not given:
        what, error = first
        raise ArgumentError(
            f"{op.name}: its kernel accepts none of the arguments that were made from its schema. The first, {what}, raised "
            f"{type(error).__name__}: {error}. Give it samples: @{op.schema.name}.register_samples.",
            operator=op.name,
        ) from error


def refusal(op: OpOverload, sample: Sample, say: Say | None = None) -> Exception | None:
    """What the kernel raises on a sample, which it gets in copies."""
    case = bind(op, sample.args, sample.kwargs)._replace(say=say)
    past_first_call(op)
    return run(case, written_arrays(case), readonly=False).error


def sample_of(op: OpOverload, full: list[Any]) -> Sample:
    """Return the sample of all arguments in schema order."""
    count = op.arguments.positional
    args, keywords = tuple(full[:count]), dict(zip(op.arguments.keyword_names, full[count:], strict=True))
    return Sample(args, keywords, _described(op, args, keywords))


def _described(op: OpOverload, args: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    """Return the shapes of the arrays, and what of the other values is no default."""
    given = dict(zip(op.arguments.names, args, strict=False)) | keywords
    shapes = [str(x.shape) for a in op.schema.arguments for x in arrays_in(given.get(a.name))]
    others = []
    for a in op.schema.arguments:
        value = given.get(a.name, a.default)
        if not any(map(is_array, leaves(value))) and not (a.has_default and value == a.default):
            plain = all(isinstance(x, (str, bytes, int, float, complex, type(None))) for x in leaves(value))
            text = str(value) if isinstance(value, Enum) else repr(value)
            plain = (plain or isinstance(value, Enum)) and len(text) < MOST_TEXT
            others.append(f"{a.name}={text if plain else brief(value)}")
    return ", ".join(shapes + others)


class Maker:
    """Makes the arrays of one call, so that all names of axes mean the same in it.

    `number` says which of SHAPES the arrays have whose hints name no axes. `chosen` has the arguments without arrays.
    """

    def __init__(self, random: "np.random.Generator", number: int, dtype: "np.dtype[Any]", chosen: dict[str, Any]) -> None:
        self.random, self.number, self.dtype, self.chosen = random, number, dtype, chosen
        self.bindings = Bindings()
        self._made = count()
        self._shapes = (SHAPES[number][i % len(SHAPES[number])] for i in count())

    def length(self) -> int:
        """The length of an axis, another each time."""
        return LENGTHS[(next(self._made) + self.number) % len(LENGTHS)]

    def batch(self) -> Shape:
        """The lengths of an entry that stands for any number of axes."""
        return () if self.number % 2 == 0 else (self.length(),)

    def numbers(self, shape: Shape, dtype: "np.dtype[Any]", bounds: Bounds) -> Any:
        """The values of an array."""
        times = 1 if dtype.kind in "fc" else WHOLE
        return self.random.uniform(*bounds.ends(FEW * times, MANY * times), shape)

    def argument(self, a: Argument) -> Any:
        """Make an argument that holds arrays."""
        return self._value(a, a.type, a.dimensions, a.dtype)

    def _value(self, a: Argument, kind: Type, tree: Tree, dtype: Any) -> Any:
        if isinstance(kind, OptionalOf):
            return self._value(a, kind.element, tree, dtype)
        if isinstance(kind, (ListOf, DictOf)):
            element = tree.element if isinstance(tree, Each) else tree
            inside = kind.element if isinstance(kind, ListOf) else kind.value
            made = [self._value(a, inside, element, dtype) for _ in range((isinstance(kind, ListOf) and kind.size) or 2)]
            return made if isinstance(kind, ListOf) else dict(zip(("a", "b") if kind.key != INT else (0, 1), made, strict=True))
        if isinstance(kind, UnionOf):
            return self._value(a, next(member for member in kind.members if member.has_tensor), tree, dtype)
        if isinstance(kind, TupleOf):
            trees = tree.members if isinstance(tree, Places) else (tree,) * len(kind.parts)
            return tuple(self._value(a, member, part, dtype) for member, part in zip(kind.parts, trees, strict=True))
        if isinstance(kind, ClassType):
            return find_class(kind)(**{field.name: self._value(a, field.type, None, field.dtype) for field in kind.fields})
        if not kind.has_tensor:
            return (_small(kind, None) or [None])[0]
        return self._array(a, tree if isinstance(tree, ArrayHint) else None, dtype)

    def _array(self, a: Argument, hint: ArrayHint | None, dtype: Any) -> Any:
        dtype = dtype or _fitting(self.dtype, None if hint is None else hint.classes)
        shape = next(self._shapes) if hint is None or hint.says_nothing else self._shape(hint)
        values = self.numbers(shape, dtype, a.bounds or Bounds())
        return np.asarray(values, order="F" if "F" in a.layout else "C").astype(dtype, order="K")

    def _shape(self, hint: ArrayHint) -> Shape:
        """A shape that a hint describes; each name that has no size yet gets one."""
        named = sorted({name for d in hint.dimensions for name in d.reads if not name.startswith("*")})
        for name in named:
            if name not in self.bindings.sizes:
                self.bindings.sizes[name] = self.length()
        integers = {name: self.chosen[name] for name in integers_of(hint)}
        found: list[int] = []
        for dimension in hint.dimensions:
            if dimension.many:
                if not dimension.name:
                    found += self.batch()
                else:
                    known = self.bindings.batches.get(dimension.name)
                    found += self.bindings.batches.setdefault(dimension.name, self.batch()) if known is None else known
            else:
                size = self.bindings.size(dimension, integers)
                found.append(self.length() if size is None else max(int(size), 0))
        return tuple(found)


def _fitting(dtype: "np.dtype[Any]", classes: frozenset[type] | None) -> "np.dtype[Any]":
    """Return a dtype, or the first of the usual ones that a hint allows."""
    usual = (dtype.type, np.float64, np.int64, np.bool_, np.complex128)
    return dtype if classes is None else np.dtype(next((cls for cls in usual if cls in classes), min(classes, key=str)))


_SMALL: dict[str, list[Any]] = {
    "int": [0, 1], "float": [0.5], "complex": [0.5 + 0.25j], "bool": [False, True], "Scalar": [0.5], "Device": ["cpu"],
    "ScalarType": [np.dtype(np.float64)], "None": [None],
}  # fmt: skip


def choices(op: OpOverload, a: Argument) -> list[Any]:
    """Return the values to try for an argument without arrays: its default, all of a choice, or small ones."""
    found = _small(a.type, a.bounds)
    if a.has_default:
        kind = a.type.element if isinstance(a.type, OptionalOf) else a.type
        others = found if found is not None and _is_choice(kind) else []
        return [a.default, *(value for value in others if value != a.default)]
    if not found:
        raise ArgumentError(
            f"samples: nothing can be made for argument {a.name!r} of {op.name}, of type {a.type}. "
            f"Give it a default, or the operator its samples: @{op.schema.name}.register_samples.",
            operator=op.name,
            argument=a.name,
        )
    return found


def _is_choice(kind: Type) -> bool:
    return not isinstance(kind, OptionalOf) and choices_of(kind) is not None


def _small(kind: Type, bounds: Bounds | None) -> list[Any] | None:
    if isinstance(kind, OptionalOf):
        found = _small(kind.element, bounds) if _is_choice(kind.element) else None
        return [None, *(found or ())]
    if isinstance(kind, (LiteralOf, ClassType)):
        return choices_of(kind)
    if isinstance(kind, ListOf):
        inside = _small(kind.element, bounds)
        if kind.element == INT and kind.size in {None, 1} and bounds is None:
            return [[0, 1], [1], []] if kind.size is None else [[-1], [0]]  # axes, or a shape to take on
        return inside and [[inside[i % len(inside)] for i in range(kind.size or 2)]]
    if isinstance(kind, DictOf):
        inside = _small(kind.value, bounds)
        return inside and [{"a" if kind.key != INT else 0: inside[0]}]
    if isinstance(kind, TupleOf):
        parts = [_small(part, bounds) for part in kind.parts]
        return [tuple(part[0] for part in parts if part)] if all(parts) else None
    if isinstance(kind, UnionOf):
        return [value for member in kind.members for value in _small(member, bounds) or ()] or None
    if not isinstance(kind, Base) or kind.name not in _SMALL:
        return None
    if bounds is None or kind.name not in ("int", "float", "Scalar"):
        return _SMALL[kind.name]
    low, high = bounds.ends(FEW, MANY)
    return list(bounds.integers()) if kind.name == "int" else [(low + high) / 2]
