"""Arguments for every row of `dispatch.ops.np`: derived from its schema where that says enough, else written here.

A case is a tuple of arguments, arrays and all. What takes nothing but arrays, and what reduces, is derived; a row that
does anything else has an entry in ODD, a function from `make(shape)` to its cases; `test_table.py` fails without one.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dispatch import ops
from dispatch.core import OpOverload
from dispatch.tables import ARRAY
from dispatch.tags import Tag
from dispatch.views import Family, Look, View

Case = tuple[Any, ...]
Make = Callable[..., Any]

DTYPES = {dtype.name: dtype for dtype in map(np.dtype, ("f8", "f4", "i8", "c16"))}
SHAPES: list[tuple[int, ...]] = [(), (3,), (2, 3), (3, 1), (0, 3), (2, 3, 4)]
PAIRS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((0, 3), (1, 3)), ((3, 1, 2), (4, 1))]


def maker(dtype: Any, seed: int = 0) -> Make:
    """A function that makes arrays of a dtype: positive, away from corners and ties, new ones at each call."""
    random = np.random.default_rng(seed)

    def make(shape: tuple[int, ...] = (2, 3), kind: Any = dtype) -> Any:
        kind = np.dtype(kind)
        if kind.kind == "b":
            return np.asarray(random.random(shape) < 0.5)
        if kind.kind in "iu":
            return np.asarray(random.integers(1, 5, shape), kind)
        values = np.asarray(random.uniform(0.6, 2.4, shape))
        return np.asarray(values + 1j * random.uniform(0.3, 1.2, shape) if kind.kind == "c" else values, kind)

    return make


def laid_out(a: Any) -> Iterator[Any]:
    """The same values under other strides: Fortran's, backwards, every other element, repeated, transposed."""
    yield a
    if a.ndim:
        yield np.asarray(a, order="F")
        yield np.flip(np.flip(a).copy())
        yield np.repeat(a, 2, axis=-1)[..., ::2]
        yield np.swapaxes(np.swapaxes(a, 0, -1).copy(), 0, -1)
        yield np.broadcast_to(a[..., :1], a.shape) if a.size else a


def cases(op: OpOverload, make: Make) -> list[Case]:
    """The cases of a row.

    Raises
    ------
    LookupError
        If nothing can be derived from the schema and ODD has no entry.
    """
    name = op.schema.name
    if name in ODD:
        return ODD[name](make)
    kinds = [str(a.type) for a in op.schema.arguments]
    if Tag.reduction in op.tags:
        rest = [(None,)] * (len(kinds) - 3)
        axes: list[tuple[tuple[int, ...], Any]] = [(shape, None) for shape in SHAPES]
        axes += [((3,), 0), ((2, 3), -1), ((2, 3), (0, 1)), ((2, 3, 4), (0, -1)), ((2, 3), ())]
        return [(make(shape), axis, *[x for (x,) in rest], keep) for shape, axis in axes for keep in (False, True)]
    if kinds == ["Tensor"]:
        return [(make(shape),) for shape in SHAPES]
    if kinds == ["Tensor", "Tensor"]:
        return [(make(a), make(b)) for a, b in PAIRS] + [(make((2, 3)), 2), (3, make((2,)))]
    raise LookupError(
        f"{op.schema}: nothing is derived for these arguments. Write its cases into ODD, in tests/samples.py."
    )


def whole(make: Make) -> list[Case]:
    """For bits: whole numbers and truth values, whatever is made elsewhere."""
    return [(make((2, 3), "i8"), make((3,), "i8")), (make((3,), "?"), make((3,), "?")), (make((2, 3)), make((2, 3)))]


def likes(make: Make) -> list[Case]:
    shapes = [make(shape) for shape in SHAPES]
    return [(x, None, None) for x in shapes] + [
        (make((2, 3)), "f4", None),
        (make((2, 3)), None, (3, 2)),
        (make((3,)), None, 2),
    ]


def shaped(make: Make) -> list[Case]:
    return [((2, 3), None), (3, None), ((), np.float32), ([2, 0], int), ((2,), complex)]


I = np.array([0, 1, 1])
MASK = np.array([[True, False, True], [False, True, True]])
INDICES: list[tuple[tuple[int, ...], Any, list[Any]]] = [
    ((3,), 1, []),
    ((3,), slice(None, None, -1), []),
    ((2, 3), (Ellipsis, 0), []),
    ((2, 3), (None, slice(1, 2)), []),
    ((2, 3), Ellipsis, []),
    ((0, 3), slice(None), []),
    ((2, 3), [1, 0], []),
    ((2, 3), [], []),
    ((3,), (ARRAY,), [I]),
    ((2, 3), (slice(None), ARRAY), [I]),
    ((2, 3), (slice(None), ARRAY), [np.array(1)]),
    ((2, 3), (ARRAY, ARRAY), [np.array([[0], [1]]), I]),
    ((2, 3, 4), (ARRAY, slice(None), ARRAY), [np.array([0, 1]), np.array([[1], [0]])]),
    ((2, 3, 4), (slice(None), ARRAY, slice(1, None, 2)), [np.asfortranarray(I[:, None] + 0 * I)]),
    ((2, 3, 4), (0, slice(None), ARRAY), [I]),
    ((2, 3, 4), (slice(None), ARRAY, Ellipsis, ARRAY), [I, I]),
    ((2, 3, 4), (slice(None), None, ARRAY), [I]),
    ((2, 3, 4), (Ellipsis, ARRAY, 1), [I]),
    ((2, 3), ([True, False],), []),
]
MASKED = [((2, 3), (ARRAY,), [MASK]), ((2, 3), (slice(None), ARRAY), [MASK[0]]), ((2, 3, 4), (ARRAY, 0), [MASK])]
PRODUCTS = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 2, 3), (3, 2)), ((2, 3), (2, 3, 4)),
    ((2, 1, 2, 3), (3, 3, 2)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,)), ((2, 0), (0, 3)), ((0, 3), (3, 2)),
]  # fmt: skip


def indexed(x: Any, index: Any, arrays: list[Any]) -> Any:
    """What NumPy makes of an index in the form that `getitem` takes."""
    queue = iter(arrays)
    return x[tuple([next(queue) if i is ARRAY else i for i in index]) if isinstance(index, tuple) else index]


def turned(make: Make, arrays: list[Any]) -> list[Any]:
    """Index arrays with their places changed, so that the items of a batch differ."""
    return [np.roll(i, make((), "i8")) for i in arrays]


def written(make: Make) -> list[Case]:
    """Values for each of the indices, whole ones and ones that broadcast; where an element is met twice, the last one stays."""
    cases: list[Case] = []
    for shape, index, arrays in INDICES:
        place = np.shape(indexed(np.zeros(shape), index, arrays))
        cases += [(make(shape), index, make(some), turned(make, arrays)) for some in {place, place[1:]}]
    return [*cases, (make((2, 3)), 1, 2, []), (make((2, 3)), slice(1), make((1, 1, 1, 3)), []), (make(()), Ellipsis, make(()), [])]


def looks(make: Make) -> list[Case]:
    """Views, and values of their shape."""
    views: list[tuple[tuple[int, ...], Any, Case]] = [
        ((3,), ops.np.getitem, (slice(None, None, -2), ())), ((2, 3), ops.np.transpose, (None,)), ((2, 3), ops.np.reshape, ((6,),)),
        ((2, 3, 4), ops.np.moveaxis, (0, -1)), ((2, 3), ops.np.select_index, (1, 2)), ((2, 3), ops.np.real, ()), ((0, 3), ops.np.squeeze, (None,)),
    ]  # fmt: skip
    found = []
    for shape, op, args in views:
        seen = np.asarray(op(make(shape), *args))
        found.append((make(shape), make(seen.shape, seen.dtype), Look(View(Family(), None, op, (None, *args), 0, -1, 0), 0)))
    return found


def joined(make: Make) -> list[Case]:
    return [
        ([make((2, 3)), make((1, 3))], 0),
        ((make((2, 3)), make((2, 1)), make((2, 2))), -1),
        ([make((2, 3)), make((3,))], None),
        ([make((0, 3)), make((2, 3))], 0),
        ([make((2, 3, 2))], 1),
    ]


ODD: dict[str, Callable[[Make], list[Case]]] = {
    "bitwise_and": whole,
    "bitwise_or": whole,
    "bitwise_xor": whole,
    "invert": lambda make: [(x,) for x, _ in whole(make)],
    "where": lambda make: [
        (make((2, 3), "?"), make((2, 3)), make((2, 3))),
        (make((3,), "?"), make((2, 1)), 0),
        (make((2, 1), "?"), 1.5, make((3,))),
        (make((), "?"), make(()), make((0, 2))),
    ],
    "matmul": lambda make: [(make(a), make(b)) for a, b in PRODUCTS],
    "getitem": lambda make: [(make(shape), index, turned(make, arrays)) for shape, index, arrays in INDICES],
    "scatter_add": lambda make: [
        (make(np.shape(indexed(np.zeros(shape), index, arrays))), index, shape, turned(make, arrays))
        for shape, index, arrays in INDICES
    ],
    "setitem": written,
    "view_scatter": looks,
    "take": lambda make: [
        (make((2, 3)), np.array([[1, 0], [2, 2]]), 1), (make((3,)), np.array([2, 0]), None), (make((2, 3)), 1, 0),
        (make((2, 3)), np.array(4), None), (make((2, 3)), np.array([], int), -1),
    ],
    "dot": lambda make: [
        (make((2, 3)), make((3,))), (make(()), make((3,))), (make((2, 3)), make((3, 2))), (2.0, make((2,))),
        (make((2, 3)), make((4, 3, 2))), (make((2, 2, 3)), make((3,))),
    ],
    "select_index": lambda make: [(make((3,)), 0, 1), (make((2, 3)), 1, 0), (make((2, 3, 4)), -2, 2)],
    "reshape": lambda make: [
        (make((2, 3)), (3, 2)), (make((2, 3)), -1), (make((2, 3, 4)), (2, -1)), (make(()), (1, 1)), (make((3, 1)), [3]),
        (make((0, 3)), (3, 0)), (make((2, 3, 4)), (2, 3, 1, 4)), (make((2, 3, 4)), (6, 4)),
    ],
    "transpose": lambda make: [
        *[(make(shape), None) for shape in SHAPES], (make((2, 3, 4)), (1, -1, 0)), (make((3,)), 0),
    ],
    "swapaxes": lambda make: [(make((2, 3)), 0, 1), (make((2, 3, 4)), -1, 0), (make((3,)), 0, 0)],
    "moveaxis": lambda make: [(make((2, 3, 4)), 0, -1), (make((2, 3, 4)), (0, 1), [1, 2]), (make((2, 3)), 1, 1)],
    "broadcast_to": lambda make: [
        (make((3,)), (2, 3)), (make(()), 2), (make((2, 1)), [4, 2, 3]), (make((1,)), (0,)), (make(()), ()),
    ],
    "sum_to": lambda make: [
        (make((2, 3)), (3,)), (make((2, 3)), (2, 1)), (make((2, 3)), (2, 3)), (make((4, 2, 3)), (1, 3)),
        (make((3,)), ()),
    ],
    "expand_dims": lambda make: [(make((2, 3)), 0), (make((2, 3)), -1), (make((3,)), (0, 2)), (make(()), [0, 1])],
    "squeeze": lambda make: [
        (make((3, 1)), None), (make((1, 2, 1)), -1), (make((1, 2, 1)), (0, 2)), (make((2,)), None),
    ],
    "concatenate": joined,
    "stack": lambda make: [
        ([make((2, 3)), make((2, 3))], 0), ((make((2,)), make((2,)), make((2,))), -1), ([make(()), make(())], 0),
        ([make((0, 2))], 1),
    ],
    "astype": lambda make: [(make((2, 3)), dtype) for dtype in (np.float64, "f4", complex, np.dtype("i4"))],
    "empty": shaped,
    "zeros": shaped,
    "ones": shaped,
    "full": lambda make: [
        ((2, 3), make((3,)), None), ((2, 3), make(()), "c16"), (4, 2, None), ((2, 2), make((2, 1)), None),
    ],
    "arange": lambda make: [(5, None, 1, None), (2, 9, 3, None), (0.5, 2.2, 0.4, None), (3, 0, 1, "f4")],
    "empty_like": likes,
    "zeros_like": likes,
    "ones_like": likes,
    "full_like": lambda make: [
        (make((2, 3)), make((3,)), None, None), (make((2, 3)), 2, None, None), (make(()), make(()), None, None),
        (make((3, 2)), make((2, 1)), "c16", (2, 3)),
    ],
}  # fmt: skip
