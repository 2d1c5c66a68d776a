"""`samples`: makes arguments for an operator from its schema."""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..core import OpOverload
from ..errors import ArgumentError
from ..operators.register import resolve
from ..schema.schema import Argument
from ..schema.types import INT, Base, ListOf, OptionalOf, TupleOf, Type, UnionOf
from .cases import bind
from .kernel_runs import run, written_arrays

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


class Sample(NamedTuple):
    """Arguments of an operator.

    Attributes
    ----------
    args : tuple
    kwargs : dict
    what : str
        The shapes of its arrays, as text.

    Examples
    --------
    >>> Sample((np.ones(3), 2.0), {}, "(3,)").what
    '(3,)'
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    what: str


def samples(op: OpOverload | str, seed: int = 0) -> Iterator[Sample]:
    """Make arguments for an operator from its schema: of several guesses those that its kernel accepts.

    Arrays come in one shape, in shapes that broadcast, in shapes for a matrix product, square and 0-d, of pairwise
    distinct sizes where not square, of float64 or of the dtype that the hint names, of integers or bools where floats
    are refused. Other arguments take their defaults, or small values of their type.

    Parameters
    ----------
    op : OpOverload or str
    seed : int
        Seed of the random values.

    Yields
    ------
    Sample

    Raises
    ------
    ArgumentError
        If an argument without a default has a type that no value can be made for.

    Examples
    --------
    >>> import dispatch
    >>> [sample.what for sample in samples("np::matmul")][:2]
    ['(3,), (3,)', '(2, 3), (3, 4)']
    """
    op = resolve(op)
    random = np.random.default_rng(seed)
    plain = [[None] if a.type.has_tensor else _choices(op, a) for a in op.schema.arguments]
    seen: set[str] = set()
    for dtype in DTYPES:
        for shapes, chosen in product(SHAPES, product(*plain)):
            queue = [shapes[i % len(shapes)] for i in range(2 * len(chosen))]
            full = [
                _array_argument(a, a.type, queue, random, dtype) if a.type.has_tensor else value
                for a, value in zip(op.schema.arguments, chosen, strict=True)
            ]
            count = op.arguments.positional
            args, keywords = tuple(full[:count]), dict(zip(op.arguments.keyword_names, full[count:], strict=True))
            case = bind(op, args, keywords)
            what = ", ".join(str(x.shape) for x in case.arrays)
            key = f"{what} {chosen}"
            if key not in seen and run(case, written_arrays(case), readonly=False).error is None:
                seen.add(key)
                yield Sample(args, keywords, what)
        if seen:
            return


def _array_argument(a: Argument, kind: Type, shapes: list[Shape], random: "np.random.Generator", dtype: Any) -> Any:
    if isinstance(kind, OptionalOf):
        return _array_argument(a, kind.element, shapes, random, dtype)
    if isinstance(kind, ListOf):
        count = kind.size or 2
        return [_array_argument(a, kind.element, shapes, random, dtype) for _ in range(count)]
    if isinstance(kind, UnionOf):
        member = next(member for member in kind.members if member.has_tensor)
        return _array_argument(a, member, shapes, random, dtype)
    if isinstance(kind, TupleOf):
        return tuple(_array_argument(a, member, shapes, random, dtype) for member in kind.parts)
    dtype = a.dtype or np.dtype(dtype)
    values = random.uniform(0.25, 2.0, shapes.pop(0)) * (
        1 if dtype.kind in "fc" else 8
    )  # away from zero, where logarithms and quotients end
    if "F" in a.layout:
        return np.asarray(values.astype(dtype), order="F")
    return np.asarray(values).astype(dtype)


_SMALL: dict[str, list[Any]] = {
    "int": [0, 1], "float": [0.5], "complex": [0.5 + 0.25j], "bool": [False, True], "Scalar": [0.5], "Device": ["cpu"],
    "ScalarType": [np.dtype(np.float64)], "None": [None],
}  # fmt: skip


def _choices(op: OpOverload, a: Argument) -> list[Any]:
    """Return the values to try for an argument without arrays: its default, or small ones."""
    if a.has_default:
        return [a.default]
    found = _small(a.type)
    if found is None:
        raise ArgumentError(
            f"samples: nothing can be made for argument {a.name!r} of {op.name}, of type {a.type}. "
            "Give it a default, or pass opcheck arguments of your own.",
            operator=op.name,
            argument=a.name,
        )
    return found


def _small(kind: Type) -> list[Any] | None:
    if isinstance(kind, OptionalOf):
        return [None]
    if isinstance(kind, ListOf):
        inside = _small(kind.element)
        if kind.element == INT and kind.size in {None, 1}:
            return [[0, 1], [1], []] if kind.size is None else [[-1], [0]]  # axes, or a shape to take on
        return None if inside is None else [[inside[i % len(inside)] for i in range(kind.size or 2)]]
    if isinstance(kind, UnionOf):
        return [value for member in kind.members for value in _small(member) or ()] or None
    return _SMALL.get(kind.name) if isinstance(kind, Base) else None
