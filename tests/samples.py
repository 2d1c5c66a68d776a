"""Arguments for every row of `dispatch.ops.np`: derived from its schema where that says enough, else written here.

A case is a tuple of arguments, arrays and all. What takes nothing but arrays, and what reduces, is derived; a row that
does anything else has an entry in ODD, a function from `make(shape)` to its cases; `tests/numpy_ops/test_table.py` fails without one.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dispatch import ops
from dispatch.core import OpOverload
from dispatch.operators.views import ARRAY, Look
from dispatch.schema.tags import Tag

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


def square(make: Make, *stack: int, n: int = 3, kind: Any = None) -> Any:
    """Matrices far from singular."""
    x = make((*stack, n, n))
    return np.asarray(x + 4 * np.eye(n, dtype=x.dtype), x.dtype)


def definite(make: Make, *stack: int, n: int = 3) -> Any:
    """Hermitian matrices whose eigenvalues are positive and differ."""
    x = make((*stack, n, n))
    return np.asarray((x + np.swapaxes(x, -1, -2).conj()) / 2 + np.diag(np.arange(4, 4 + 3 * n, 3)), x.dtype)


def apart(make: Make, *stack: int, n: int = 3) -> Any:
    """Matrices whose eigenvalues are real and differ: far from symmetric, but near a diagonal of numbers far apart."""
    x = make((*stack, n, n))
    return np.asarray(x + np.diag(np.arange(4, 4 + 9 * n, 9)).astype(x.dtype), x.dtype)


def oblong_apart(make: Make, *shape: int) -> Any:
    """Matrices of full rank whose singular values differ."""
    x = make(shape)
    return np.asarray(x + np.eye(*shape[-2:], dtype=x.dtype) * np.arange(4, 4 + 5 * shape[-1], 5, x.dtype), x.dtype)


def by_two(make: Make, n: int) -> Any:
    """Coefficients of which the first is 2, by which a division does not round."""
    x = make((n,))
    x[0] = 2
    return x


def unlike(make: Make, n: int) -> Any:
    """Coefficients of a polynomial whose roots differ."""
    return make((n,)) * np.arange(1, n + 1).astype(make(()).dtype)


def squares(make: Make) -> list[Case]:
    return [(square(make),), (square(make, 2),), (square(make, 2, 2, n=2),), (square(make, 0),), (square(make, n=1),)]


def narrow(make: Make, shape: tuple[int, ...]) -> Any:
    """Elements between -1 and 1."""
    x = make(shape)
    return np.asarray(x / 3 if x.dtype.kind in "fc" else x * 0, x.dtype)


def alongs(make: Make, *rest: Any) -> list[Case]:
    axes: list[tuple[tuple[int, ...], Any]] = [((4,), 0), ((2, 3), None), ((2, 3), 0), ((2, 3, 4), -2), ((), None),
        ((0, 3), 0), ((1, 3), 1)]
    return [(make(shape), axis, *rest) for shape, axis in axes]


def places(make: Make) -> list[Case]:
    return [(make(shape), axis, keep) for shape, axis in [((4,), None), ((2, 3), 0), ((2, 3, 4), -1), ((2, 3), None),
        ((), None), ((0, 3), 0)] for keep in (False, True)]


def reduced(make: Make) -> list[Case]:
    axes: list[tuple[tuple[int, ...], Any]] = [((2, 3), None), ((3,), 0), ((2, 3, 4), (0, -1)), ((), None)]
    return [(make(shape), axis, None, keep) for shape, axis in axes for keep in (False, True)]


def spreads(make: Make) -> list[Case]:
    return [
        (make((5,)), None, None, 0, False), (make((2, 3)), 0, None, 1, True), (make((2, 3, 4)), (0, -1), None, 1, False),
            (make((2, 3)), -1, None, 0.5, False),
        (make((0, 3)), 0, None, 0, False), (make((3, 3)), 1, "f8" if make(()).dtype.kind != "c" else None, 0, False),
    ]  # fmt: skip


def transforms(make: Make, *lengths: int) -> list[Case]:
    """Each scale, more points and fewer, another axis."""
    even, odd, fewer, more = lengths
    return [(make((even,)), None, -1, None), (make((2, odd)), None, -1, "ortho"), (make((even, 2)), None, 0, "forward"),
            (make((odd,)), fewer, 0, "backward"), (make((2, even)), more, 1, "ortho"), (make((3, odd, 2)), more + 1, -2, None), (make((0, even)), None, -1, None)]


def definites(*options: Any) -> Callable[[Make], list[Case]]:
    return lambda make: [
        (definite(make), *options), (definite(make, 2, n=2), *options), (definite(make, 2, 2, n=2), *options),
            (definite(make, 0), *options),
    ]  # fmt: skip


def oblong(make: Make) -> list[Case]:
    return [(make((3, 2)) + np.eye(3, 2, dtype=make(()).dtype),), (make((2, 3)),),
        (make((2, 2, 2)) + np.eye(2, dtype=make(()).dtype),), (make((0, 2, 3)),)]


EINSUMS: list[tuple[Any, ...]] = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 2)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("ij->ji", (2, 3)),
        ("ii->i", (3, 3)),
    ("ii", (3, 3)), ("ij->", (2, 3)), ("i,i->i", (3,), (3,)), ("i,j->ij", (2,), (3,)), ("ij,ij->j", (2, 3), (2, 3)),
        ("...i,ij->...j", (2, 2, 3), (3, 2)),
    ("...,...->...", (2, 1), (3,)), ("ij,kj,lk->il", (2, 3), (2, 3), (4, 2)), ("iij,j->i", (2, 2, 3), (3,)), ("i,->i", (3,),
        ()), ("iii->i", (2, 2, 2)),
    ("ab,bc,cd", (2, 2), (2, 3), (3, 2)), ("i...->...", (2, 3)), ("ij,ij,ij->i", (2, 3), (2, 3), (2, 3)), ("ij,k->k", (2, 3),
        (2,)), ("bi,bj->ij", (0, 2), (0, 3)),
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
        found.append((make(shape), make(seen.shape, seen.dtype), Look(op, (None, *args))))
    return found


def joined(make: Make) -> list[Case]:
    return [
        ([make((2, 3)), make((1, 3))], 0),
        ((make((2, 3)), make((2, 1)), make((2, 2))), -1),
        ([make((2, 3)), make((3,))], None),
        ([make((0, 3)), make((2, 3))], 0),
        ([make((2, 3, 2))], 1),
    ]


def real(make: Make, *shape: int) -> Any:
    """Real elements, of whatever dtype others are."""
    return make(shape, "f8") if make(()).dtype.kind == "c" else make(shape)


def interpolated(make: Make) -> list[Case]:
    """Points in a table and beyond its ends."""
    table = np.array([0.7, 1.3, 2.9, 4.1]) + int(make((), "i8")) / 8
    return [(real(make, 2, 3) * 2, table, make((4,)), None, None), (real(make), table, make((4,)), None, make(())), (2 * real(make, 5), table, make((4,)), make(()), make(())),
            (real(make, 3), table[:1], make((1,)), make(()), None), (1.5, table, make((4,)), None, None), (real(make, 0, 3), table, make((4,)), None, None)]


def quantiles(make: Make) -> list[Case]:
    """Each method, q of each shape, and weights."""
    weights = np.abs(real(make, 4)) + 1 if real(make).dtype.kind == "f" else real(make, 4)
    methods = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"]
    return [(make((5,)), 0.3, None, "linear", None, False), (make((4, 3)), np.array([0.2, 0.55]), 0, "hazen", None, False), (make((2, 3, 4)), np.array(0.41), (0, 2), "linear", None, True),
            (make((2, 5)), np.array([[0.1], [0.83]]), 1, "weibull", None, True), (make((4,)), 0.4, None, "inverted_cdf", weights, False), (make((3, 4)), np.array([0.3, 0.8]), 1, "inverted_cdf", weights, False),
            (make(()), 0.5, None, "linear", None, False), (make((2, 0)), 0.5, 0, "linear", None, False), *[(make((5,)), np.array([0.37, 0.72]), 0, method, None, False) for method in methods]]


def differences(make: Make) -> list[Case]:
    return [(make((5,)), 0.5, 0, 1), (make((4, 3)), np.array(1.5), 0, 2), (make((2, 3, 4)), np.array(0.75), -1, 1), (make((2,)), 2.0, 0, 1), (make((3, 2)), 1.0, 0, 2), (make((0, 3)), 1.0, 1, 1), (make((2,)), 1.0, 0, 1), (make((4, 2, 3)), 1.0, -3, 1)]


def uneven(make: Make) -> list[Case]:
    """Values at points that lie unevenly, of other distances for each item."""
    points = np.array([0.25, 1.0, 3.0, 3.5, 5.0]) * (1 + int(make((), "i8")) / 8)
    return [(make((5,)), points, 0, 1), (make((2, 5)), points, 1, 2), (make((4, 3)), points[:4], 0, 1), (make((3,)), points[:3], 0, 2)]


def sequences(*modes: str) -> Callable[[Make], list[Case]]:
    return lambda make: [(make((n,)), make((m,)), mode) for n, m in [(5, 3), (2, 5), (4, 4), (5, 2)] for mode in modes] + [(make((3,)), make((1,)), modes[0])]


def binned(make: Make) -> list[Case]:
    """Elements and edges, some of them without, some on the last edge."""
    edges = np.array([0.7, 1.05, 1.6, 2.2]) + int(make((), "i8")) / 32
    even = np.linspace(0.65, 2.3, 5)
    return [(real(make, 5), edges, None, False), (real(make, 5), edges, make((5,)), False), (real(make, 4), even, make((4,)), True), (real(make, 3), even, None, True), (real(make, 0), edges, make((0,)), False)]


ODD: dict[str, Callable[[Make], list[Case]]] = {
    **dict.fromkeys(["equal_differences", "spread_differences"], differences),
    "gradient": lambda make: [(make((3, 4)), [1.0, 1.0], [0, 1], 1), (make((3, 2, 4)), [0.5, 2], [2, 0], 2), (make((2, 3)), [1, 1.0], [1, 0], 1)],
    "differences_at": uneven,
    "unwrap": lambda make: [(3 * real(make, 5) - 4, None, 0, 2 * np.pi), (9 * real(make, 2, 3), 1.0, -1, np.array(3.5)), (5 * real(make, 3, 2), np.array(2.0), 0, 3.0), (real(make, 0, 3), None, 0, 2.0)],
    "convolve": sequences("full", "same", "valid"),
    "correlate": sequences("valid", "same", "full"),
    "overlapping": lambda make: [(make((5,)), make((3,))), (make((2, 5)), make((3,))), (make((2,)), make((3, 4)))],
    "sliding": lambda make: [(make((5,)), make((3,))), (make((2, 5)), make((3,))), (make((2, 5)), make((2, 2))), (make((4,)), make((3, 4)))],
    "counts": lambda make: [(make((5,), "i8"), None, 5, True), (make((2, 3), "i8"), real(make, 2, 3), 5, True), (make((3,), "i8"), real(make, 2, 3), 5, True), (make((2, 3), "i8"), real(make, 3), 6, True)],
    "bincount": lambda make: [(make((5,), "i8"), None, 5), (make((5,), "i8"), real(make, 5), 6), (make((3,), "i8"), real(make, 3), 7)],
    "digitize": lambda make: [(real(make, 2, 3), np.array([0.8, 1.3, 2.1]) + int(make((), "i8")) / 32, False), (real(make, 4), np.array([2.1, 1.3]) + int(make((), "i8")) / 32, True), (1.5, real(make, 1), False)],
    "digitize_each": lambda make: [(real(make, 2, 3), np.array([[0.8, 1.3], [2.1, 1.3]]), False), (real(make, 2), np.array([[0.8], [1.3]]), True)],
    "histogram_counts": binned,
    "histogram": lambda make: [(real(make, 5), 3, None, None, False), (real(make, 2, 3), 4, (0.5, 2), real(make, 2, 3), False), (real(make, 4), 3, (0, 3), None, True)],
    "histogram_bin_edges": lambda make: [(real(make, 5), 3, None), (real(make, 2, 3), 4, (0.5, 2))],
    "histogramdd": lambda make: [(real(make, 5, 2), 3, None, None, False), (real(make, 4, 3), (2, 3, 2), None, real(make, 4), False), (real(make, 5, 2), [3, 2], None, None, True)],
    "histogram2d": lambda make: [(real(make, 5), real(make, 5), 3, None, None, False), (real(make, 4), real(make, 4), [2, 3], None, real(make, 4), True)],
    "number_of_bins": lambda make: [(real(make, 5), "sqrt", None, None), (real(make, 5), "fd", np.array(0.5), np.array(2.5))],
    "checked_fweights": lambda make: [(np.array([1, 2]),)], "checked_aweights": lambda make: [(np.array([0.5, 2.0]),)],
    **dict.fromkeys(["none_but_nan", "none_free", "none_to_average", "poorly_conditioned"], lambda make: [(np.array([False, False]),)]),
    "checked_range": lambda make: [(np.array([1.0, 2.0]),)], "discarding_imaginary": lambda make: [(real(make, 3),)],
    "checked_edges": lambda make: [(np.array([1, 1]),)],
    "checked_spacing": lambda make: [(np.array([1.0]),)],
    "interp": interpolated,
    **dict.fromkeys(["quantile", "nanquantile"], quantiles),
    "nanmedian": lambda make: ODD["median"](make),
    "nanargmax": places, "nanargmin": places,
    "scaled": lambda make: [(make((2, 3)), make(())), (make((4, 1, 3)), make((4, 1, 1))), (make((3,)), np.array(0.0))],
    "lerp": lambda make: [(real(make, 2, 3), real(make, 3), np.array([0.25, 0.5, 0.75]), False), (real(make, 3), real(make, 3), np.array([0.125, 0.875, 0.25]), True), (real(make), real(make), np.array(0.75), False)],
    **dict.fromkeys(["quantile_places", "quantile_part"], lambda make: [(5, np.array([0.3, 0.8, 0.05]), "linear"), (np.array([[3], [5]]), np.array([0.33, 0.84]), "hazen"), (4, 0.7, "weibull"), (4, np.array(0.6), "midpoint"),
        (4, np.array([0.2, 0.6]), "nearest")]),
    "checked_quantiles": lambda make: [(np.array([0.25, 0.5]),)],
    "checked_percentiles": lambda make: [(np.array([0.25, 0.5]),)],
    "checked_counting_weights": lambda make: [(np.abs(real(make, 3)),)],
    "checked_total": lambda make: [(np.array([1.5, 2.0]),)],
    "checked_period": lambda make: [(make(()),)],
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
    **dict.fromkeys(("add_at", "subtract_at"), lambda make: [
        (make(shape), index, make(np.shape(indexed(np.zeros(shape), index, arrays))), turned(make, arrays))
        for shape, index, arrays in INDICES
    ]),
    "setitem": written,
    "view_scatter": looks,
    "clone": lambda make: [(make(shape),) for shape in SHAPES] + [(make((2, 3, 4)),)],
    "take": lambda make: [
        (make((2, 3)), np.array([[1, 0], [2, 2]]), 1), (make((3,)), np.array([2, 0]), None), (make((2, 3)), 1, 0),
        (make((2, 3)), np.array(4), None), (make((2, 3)), np.array([], int), -1),
    ],
    "dot": lambda make: [
        (make((2, 3)), make((3,))), (make(()), make((3,))), (make((2, 3)), make((3, 2))), (2.0, make((2,))),
        (make((2, 3)), make((4, 3, 2))), (make((2, 2, 3)), make((3,))),
    ],
    "memory_view": lambda make: [(x, x.dtype, (3, 2), (x.itemsize, 3 * x.itemsize), 0) for x in [make((2, 3))]] + [(x, x.dtype, (3,), (-x.itemsize,), 3 * x.itemsize) for x in [make((4,))]],
    "select_index": lambda make: [(make((3,)), 0, 1), (make((2, 3)), 1, 0), (make((2, 3, 4)), -2, 2)],
    "reshape": lambda make: [
        (make((2, 3)), (3, 2)), (make((2, 3)), -1), (make((2, 3, 4)), (2, -1)), (make(()), (1, 1)), (make((3, 1)), [3]),
        (make((0, 3)), (3, 0)), (make((2, 3, 4)), (2, 3, 1, 4)), (make((2, 3, 4)), (6, 4)),
    ],
    "ravel_from": lambda make: [
        *[(make(shape), 0) for shape in SHAPES], (make((2, 3, 4)), 1), (make((2, 3, 4))[:, ::-1], 1), (make((3,))[::-1], 0),
        (make((2, 3)).T, 0), (make((2, 3)).T, 1), (make((2, 1, 3))[::-1], 2), (make((2, 3)), 2),
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
    **dict.fromkeys(["gcd", "lcm"], lambda make: whole(make)[:1]),
    "bitwise_count": lambda make: [(make((2, 3), "i8"),), (make((3,), "i8"),)],
    "isnat": lambda make: [(make((2, 3), "i8").astype("m8[s]"),)],
    "ldexp": lambda make: [(make(a), make(b, "i8")) for a, b in PAIRS] + [(make((2, 3)), 2)],
    "ufunc_reduce": lambda make: [
        (make(shape), f"np::{name}", axis, None, keep)
        for name, shape, axis in [
            ("subtract", (4,), 0), ("subtract", (2, 3, 4), 1), ("divide", (2, 3), -1), ("multiply", (2, 3), (0, 1)), ("divide", (3, 1), 1),
            ("add", (2, 3, 4), (0, -1)), ("multiply", (), None), ("float_power", (0, 3), 1),
        ]
        for keep in (False, True)
    ],
    "ufunc_reduce_where": lambda make: [
        (make((2, 3)), "np::subtract", np.array([True, False, True]), 2, 1, None, False), (make((2, 3)), "np::divide", MASK, 1, 0, None, True),
        (make((2, 3, 4)), "np::subtract", None, 1, 1, None, False), (make((2, 3)), "np::multiply", MASK, None, None, None, False),
    ],
    "ufunc_accumulate": lambda make: [
        *[(make(shape), f"np::{name}", axis, None, None) for name, shape, axis in [
            ("subtract", (4,), 0), ("divide", (2, 3, 4), 1), ("multiply", (2, 3), -1), ("add", (1, 3), 0), ("subtract", (0, 3), 1)]],
        (make((5,)), "np::divide", 0, None, [0, 1, 4]), (make((2, 4)), "np::subtract", 1, "c16", [0, 2]),
    ],
    "ufunc_reduceat": lambda make: [
        (make((5,)), "np::subtract", [0, 3, 1], 0, None), (make((2, 3, 4)), "np::divide", [0, 2], 1, None), (make((2, 3)), "np::add", [2, 0, 0, 1], -1, None),
        (make((4, 2)), "np::multiply", [1, 3], 0, "c16"), (make((2, 3)), "np::subtract", [], 1, None),
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
    "linalg_solve": lambda make: [
        (square(make), make((3,))), (square(make), make((3, 2))), (square(make, 2), make((3,))),
        (square(make, 2), make((3, 1))), (square(make), make((2, 3, 2))), (square(make, 2, 1), make((2, 3, 1))),
            (square(make, 0), make((3, 0))),
    ],
    "linalg_inv": squares,
    "linalg_inv_lower": squares,
    "linalg_det": squares,
    "linalg_cofactors": squares,
    "linalg_slogdet": squares,
    "linalg_pinv": lambda make: [*[(x, None, False) for (x,) in oblong(make)], (square(make), 1e-10, False), (square(make, 2), np.array([1e-10, 1e-9]), False)],
    "linalg_lstsq": lambda make: [
        (make((5, 3)) + 2 * np.eye(5, 3, dtype=make(()).dtype), make((5, 2)), None), (square(make), make((3, 1)), 1e-10), (make((3, 5)), make((3, 2)), -1.0),
        (square(make, 2), make((3, 4)), None), (make((4, 2)) + np.eye(4, 2, dtype=make(()).dtype), make((2, 4, 2)), None),
    ],
    "linalg_solved": lambda make: [(square(make), make((3,)), 1e-10), (make((3, 5)), make((3, 2)), -1.0), (make((3, 5)), make((3,)), None)],  # no rank decides of residuals
    "linalg_residuals": lambda make: [(abs(make((2,))), np.array(3, np.intc), 3), (abs(make((2, 3))), np.array([4, 4], np.intc), 4)],
    "linalg_eig": lambda make: [(apart(make), False), (apart(make, 2), False), (apart(make, 0), False)],
    "linalg_eigvals": lambda make: [(apart(make), False), (apart(make, 2), False), (apart(make, 0), False)],
    "linalg_full_svd": lambda make: [(oblong_apart(make, 4, 2),), (oblong_apart(make, 2, 4),), (oblong_apart(make, 2, 3, 2),)],
    "linalg_full_qr": lambda make: [(oblong_apart(make, 4, 2),), (oblong_apart(make, 2, 4),), (oblong_apart(make, 2, 3, 2),)],
    "linalg_tall_full_qr": lambda make: [(oblong_apart(make, 4, 2),), (oblong_apart(make, 2, 3, 2),)],
    "linalg_raw_qr": oblong,
    "linalg_not_turning": lambda make: [(make((3, 2)) * 0, make((3, 2)) * 0, "np.linalg.svd"), (make((2, 3, 1)) * 0, make((2, 3, 1)) * 0, "np.linalg.svd")],
    "linalg_inverse": squares,
    "linalg_cond": lambda make: [(square(make), p) for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc")] + [(oblong_apart(make, 2, 3), None), (square(make, 2), 1), (oblong_apart(make, 2, 3, 2), -2)],
    "linalg_matrix_rank": lambda make: [
        (square(make), None, False, None), (oblong_apart(make, 2, 3, 2), np.array([0.5, 9.0]), False, None), (definite(make), None, True, 0.5), (make((3,)), None, False, None),
        (square(make, 2), 0.1, False, None), (make(()), None, False, None),
    ],
    "vander": lambda make: [(make((4,)), None, False), (make((3,)), 2, True), (make((3,)), 5, False), (make((2,)), 1, False), (make((2,)), 0, True), (make((0,)), 3, False)],
    "polyval": lambda make: [
        (make((4,)), make((2, 3))), (make((1,)), make((3,))), (make((3,)), make(())), (make((4, 3)), make((2, 3))), (make((3, 2, 1)), make((4,))), (make((0,)), make((3,))), (make((3,)), 2),
    ],
    "roots": lambda make: [(unlike(make, 4), False), (make((3,)), False), (make((1,)), False)],
    "poly_from_roots": lambda make: [(make((3,)),), (make((1,)),)],
    "poly_real_if_paired": lambda make: [(make((3,)), np.array([1 + 2j, 1 - 2j])), (make((2, 3)), np.array([1.0, 2j]))],
    "polymul": lambda make: [(make((3,)), make((2,))), (make((1,)), make((4,)))],
    "polydiv": lambda make: [(make((5,)), by_two(make, 3)), (make((2,)), by_two(make, 3)), (make((3,)), by_two(make, 1)), (make((3,)), by_two(make, 3))],
    "polynomial_remainder": lambda make: [(make((3,)),), (make((1,)),)],
    "complex_below_0": lambda make: [(make((2, 3)), "np.emath.sqrt"), (0 - make((3,)), "np.emath.sqrt"), (make(()), "np.emath.sqrt")],
    "complex_beyond_1": lambda make: [(narrow(make, (2, 3)), "np.emath.arccos"), (make((3,)) + 2, "np.emath.arccos")],
    "float_below_0": lambda make: [(make((2, 3)), "np.emath.power"), (0 - make((3,)), "np.emath.power")],
    "settled": lambda make: [(make(shape), shape, make(()).dtype) for shape in SHAPES],
    "matvec": lambda make: [(make(a), make(b)) for a, b in [((2, 3), (3,)), ((4, 2, 3), (3,)), ((2, 3), (4, 3)), ((4, 1, 2, 3), (5, 3)), ((2, 0), (0,)), ((2, 3), (2,))]],
    "vecmat": lambda make: [(make(a), make(b)) for a, b in [((3,), (3, 2)), ((4, 3), (3, 2)), ((3,), (4, 3, 2)), ((5, 3), (4, 1, 3, 2)), ((0,), (0, 2)), ((2,), (3, 2))]],
    "linalg_matrix_power": lambda make: [(square(make), n) for n in (0, 1, 2, 5, -2)] + [(square(make, 2), 3)],
    "linalg_cholesky": lambda make: [*definites(False)(make), (definite(make), True), (definite(make, 2), True)],
    "linalg_eigh": lambda make: [*definites("L")(make), (definite(make), "U")],
    "linalg_eigvalsh": lambda make: [*definites("L")(make), (definite(make), "U")],
    "linalg_svd": oblong,
    "linalg_svdvals": oblong,
    "linalg_qr": oblong,
    "linalg_tall_qr": lambda make: [case for case in oblong(make) if case[0].shape[-2] >= case[0].shape[-1]],
    "copy": lambda make: [(make(shape), "K") for shape in SHAPES] + [(make((2, 3, 4)), order) for order in "CF"],
    **dict.fromkeys(
        ["sum_where", "prod_where", "nansum_where", "nanprod_where"],
        lambda make: [
            (make((2, 3)), np.array([True, False, True]), None, 1, None, False), (make((2, 3)), MASK, 2, None, None, True),
            (make((2, 3, 4)), None, 1, (0, 2), None, False),
        ],
    ),
    **dict.fromkeys(
        ["max_where", "min_where", "nanmax_where", "nanmin_where"],
        lambda make: [
            (make((2, 3)), np.array([True, False, True]), 2, 1, None, False), (make((2, 3)), MASK, 1, None, None, True),
            (make((0, 3)), None, 1, 0, None, False),
        ],
    ),
    **dict.fromkeys(["all_where", "any_where"], lambda make: [(make((2, 3)), MASK, 0, False), (make((2, 3)), MASK[0], None, True)]),
    **dict.fromkeys(
        ["mean_where", "nanmean_where"], lambda make: [(make((2, 3)), MASK[0], 1, None, False), (make((2, 3)), MASK, None, None, True)]
    ),
    **dict.fromkeys(
        ["var_where", "std_where", "nanvar_where", "nanstd_where"],
        lambda make: [
            (make((2, 3)), MASK[0], None, 1, None, 0, False), (make((2, 3)), MASK, None, None, None, 1, True),
            (make((2, 3)), None, make((2, 1)), 1, None, 0, True),
        ],
    ),
    "writeable_diagonal": lambda make: [(make((2, 3)), 0, 1), (make((2, 3, 4)), 2, -2), (make((3, 3)), 0, 1)],
    "checked_weights": lambda make: [(make(shape),) for shape in SHAPES],
    "share": lambda make: [(MASK, np.array([True, False, False]), make((2, 3))), (MASK, MASK, make((2, 3)))],
    "zero_unless": lambda make: [(MASK, make((2, 3))), (MASK[0], make((2, 3)))],
    "zero_unless_nan": lambda make: [(MASK, make((2, 3)), make((2, 3))), (MASK[0], make((2, 3)), make((2, 3)))],
    "product_of_others": lambda make: [(make(shape), None) for shape in SHAPES if shape],
    "stable_order": lambda make: [(make((3,)), make((3,)))],
    "put_back": lambda make: [(make((3,)), np.array([2, 0, 1])), (make((2, 3)), np.array([[2, 0, 1], [0, 2, 1]]))],
    "sum_of_few": lambda make: [(make((2, 3)),), (make((3,)),), (make((2, 0)),), (make((0, 2)),), (make((3, 2, 2)),)],
    "linalg_svdvals_pulled": lambda make: [(make((2,)), make((3, 2))), (make((4, 2)), make((4, 2, 3)))],
    "diagonal": lambda make: [
        (make((2, 3)), 0, 0, 1), (make((2, 3)), 1, 0, 1), (make((3, 2)), -1, 1, 0), (make((2, 3, 4)), 2, -1, 0),
        (make((2, 3)), 5, 0, 1), (make((0, 3)), 0, 0, 1),
    ],
    "diag": lambda make: [(make((3,)), 0), (make((2,)), -1), (make((2, 3)), 1), (make((0,)), 2), (make(()), 0)],
    "diagflat": lambda make: [(make((2, 2)), 0), (make(()), 1)],
    "trace": lambda make: [(make((2, 3)), 0, 0, 1, None), (make((2, 3, 4)), 1, 2, 0, None), (make((3, 3)), 0, 0, 1, "c16")],
    "tril": lambda make: [(make((2, 3)), 0), (make((2, 3, 4)), 1), (make((3,)), -1), (make(()), 0), (make((0, 2)), 0)],
    "triu": lambda make: [(make((2, 3)), 0), (make((2, 3, 4)), 1), (make((3,)), -1), (make(()), 0), (make((0, 2)), 0)],
    "eye": lambda make: [(3, None, 0, None), (2, 3, -1, "f4")],
    "tri": lambda make: [(3, None, 0, None), (2, 3, -1, "f4")],
    "identity": lambda make: [(2, None), (3, "i4")],
    **dict.fromkeys(["arcsin", "arccos", "arctanh"], lambda make: [(narrow(make, shape),) for shape in SHAPES]),
    "arccosh": lambda make: [(make(shape) + make(()).dtype.type(1),) for shape in SHAPES],
    **dict.fromkeys(["left_shift", "right_shift"], lambda make: whole(make)[:1]),
    "clip": lambda make: [
        (make((2, 3)), 1, 2), (make((2, 3)), None, make((3,))), (make((2, 3)), make((2, 1)), None),
            (make((3,)), make(()), make((2, 3))),
        (make((2, 3)), None, 1.5), (make(()), 1.0, None), (make((0, 3)), make((1, 3)), 2),
    ],
    "root": lambda make: [(make(shape), n) for shape in SHAPES for n in (2.0, 3.0)],
    "round": lambda make: [(make((2, 3)), 0), (make((3,)), 1), (make((3,)), -1)],
    "angle": lambda make: [(make((2, 3)), False), (make((3,)), True)],
    "nan_to_num": lambda make: [(make((2, 3)), 0.0, None, None), (make((3,)), 1.0, 2.0, -2.0)],
    "isclose": lambda make: [(make((2, 3)), make((3,)), 0.1, 1e-8, False), (make((3,)), make(()), 0.5, 0.0, True)],
    "einsum": lambda make: [
        (text, [make(shape) for shape in shapes], False) for text, *shapes in EINSUMS
    ],
    "einsum_with": lambda make: [
        ("ij,jk->ik", [make((2, 3)), make((3, 2))], False, None, "F", "safe"), ("ij->i", [make((2, 3))], False, np.complex128, "K", "safe"),
        ("i,i,j->j", [make((3,)), make((3,)), make((2,))], True, None, "A", "same_kind"),
    ],
    "tensordot": lambda make: [
        (make((2, 3, 4)), make((3, 4, 2)), 2), (make((2, 3)), make((4, 3)), ((1,), (1,))), (make((3, 2)), make((2, 3)),
            (0, -1)),
        (make((2,)), make((3,)), 0),
    ],
    "inner": lambda make: [(make((2, 3)), make((3,))), (make((3,)), make((4, 2, 3))), (make(()), make((2,))),
        (make((2,)), 2.0)],
    "outer": lambda make: [(make((2,)), make((3,))), (make((2, 2)), make((3,))), (make(()), 2.0)],
    "vdot": lambda make: [(make((3,)), make((3,))), (make((2, 2)), make((2, 2)))],
    "vecdot": lambda make: [(make((2, 3)), make((3,)), -1), (make((3, 2)), make((3, 2)), 0)],
    "kron": lambda make: [(make((2, 3)), make((2, 2))), (make((3,)), make((2, 2))), (make(()), make((3,))),
        (make((2, 1, 2)), make((2,)))],
    "cross": lambda make: [
        (make((3,)), make((3,)), -1, -1, -1, None), (make((2, 3)), make((3,)), -1, -1, 0, None),
            (make((3, 2)), make((3, 2)), -1, -1, -1, 0),
    ],
    "linalg_multi_dot": lambda make: [
        ([make((2, 3)), make((3, 4)), make((4, 2))],), ([make((3,)), make((3, 2)), make((2,))],),
            ([make((2, 3)), make((3, 2))],),
    ],
    "linalg_norm": lambda make: [
        (make((2, 3)), None, None, False), (make((3,)), None, None, True), (make((2, 3)), None, 1, False),
            (make((2, 3, 4)), None, (0, 2), True),
        *[(make((2, 3)), order, -1, False) for order in (1, 2, np.inf, -np.inf, 0, 3)],
        *[(make((3, 2)), order, None, False) for order in (1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc")],
        (make((2, 3, 2)), "nuc", (2, 0), True), (make((2, 3)), "fro", (0, 1), True), (make((2, 3, 2)), 2, (0, 1), True),
    ],
    "linalg_vector_norm": lambda make: [(make((2, 3)), None, 2, False), (make((2, 3)), 0, 3, True), (make((2, 3)),
        (0, 1), 1, False)],
    "linalg_matrix_norm": lambda make: [(make((2, 3)), "fro", False), (make((2, 2, 3)), "nuc", True), (make((2, 3)), 1, False)],
    "cumsum": lambda make: alongs(make, None),
    "cumprod": lambda make: [*alongs(make, None), (make((3,)) * np.asarray([1, 0, 1], make(()).dtype), 0, None)],
    "diff": lambda make: [(make((4,)), 1, -1), (make((4, 3)), 2, 0), (make((2, 3)), 0, 1), (make((2, 3)), 5, 1)],
    "trapezoid": lambda make: [
        (make((4,)), None, None, -1), (make((2, 4)), make((4,)), None, -1), (make((4, 2)), make((4,)), None, 0),
            (make((4, 2)), None, make(()), 0),
    ],
    "sort": lambda make: alongs(make, None),
    "argsort": lambda make: alongs(make, "stable"),
    "median": lambda make: [
        (make((5,)), None, False), (make((2, 3)), None, True), (make((4, 3)), 0, False), (make((2, 3)), -1, True),
            (make((2, 3, 4)), (0, 2), False),
        (make((2, 3, 4)), (0, 2), True),
    ],
    "argmax": lambda make: places(make),
    "argmin": lambda make: places(make),
    "searchsorted": lambda make: [
        (np.sort(make((4,))), make((2, 3)), "left"), (np.sort(make((4,))), make(()), "right"),
            (np.sort(make((3,))), 1.5, "left"),
    ],
    "take_along_axis": lambda make: [
        (make((2, 3)), turned(make, [np.array([[0, 2], [1, 1]])])[0], -1), (make((2, 3)), turned(make,
            [np.array([[1, 0, 1]])])[0], 0),
        (make((2, 2)), np.array([3, 0]), None), (make((2, 3, 4)), turned(make, [np.array([[[2, 0, 1]]])])[0] % 3, 2),
    ],
    "compress": lambda make: [(make((3,), "?"), make((3, 2)), 0), (make((2,), "?"), make((3, 4)), 1), (make((6,), "?"), make((2, 3)), None)],
    "extract": lambda make: [(make((2, 3), "?"), make((2, 3))), (make((3,), "?"), make((3,)))],
    "unique": lambda make: [(make((5,)), None, True, True), (make((2, 3)), None, False, True), (make((4, 3)), 1, True, True)],
    **dict.fromkeys(["unique_all", "unique_places"], lambda make: [(make((5,)), None, False), (make((2, 3)), None, True), (make((4, 3)), -1, True)]),
    **dict.fromkeys(
        ["intersect1d", "setdiff1d", "setxor1d"],
        lambda make: [(make((5,)), make((4,)), False), (make((2, 3)), make((3,)), False), (make((3,)), make((4,)), True)],
    ),
    "value_places": lambda make: [(make((5,)), None, True, False), (make((2, 3)), None, False, True), (make((4, 3)), -1, True, True)],
    "isin": lambda make: [
        (make((2, 3)), make((4,)), False, False, None), (make((3,)), make((2, 3)), False, True, None), (make(()), make((3,)), False, False, "sort"),
        (2, make((3,)), False, False, None), (make((3,)), 2, True, False, None),
    ],
    "repeat": lambda make: [(make((2, 3)), 2, None), (make((2, 3)), 3, 1), (make((2, 3)), [1, 2], 0), (make(()), 2, None),
        (make((2, 3)), [2], -1)],
    "tile": lambda make: [(make((2, 3)), 2), (make((3,)), (2, 2)), (make((2, 3)), (2, 1)), (make(()), (2,)),
        (make((2, 1, 2)), 3), (make((2, 3)), 1), (make((3, 2)), (1, 1, 1))],
    "flip": lambda make: [(make((2, 3)), None), (make((2, 3)), 0), (make((2, 3, 4)), (0, -1)), (make((3,)), -1)],
    "fliplr": lambda make: [(make((2, 3)),), (make((2, 3, 4)),)],
    "flipud": lambda make: [(make((3,)),), (make((2, 3)),)],
    "roll": lambda make: [(make((2, 3)), 1, None), (make((2, 3)), -1, 1), (make((2, 3)), (1, 2), (0, 1)),
        (make((0, 3)), 2, 0), (make((3,)), 4, 0)],
    "rollaxis": lambda make: [(make((2, 3, 4)), 2, 0), (make((2, 3, 4)), 0, 3), (make((2, 3)), -1, -2)],
    "rot90": lambda make: [*[(make((2, 3)), k, (0, 1)) for k in (0, 1, 2, 3)], (make((2, 3, 4)), -1, (1, 2))],
    "pad": lambda make: [
        (make((2, 3)), 1, "constant", 0), (make((3,)), (1, 2), "constant", 1.5 if make(()).dtype.kind == "f" else 1),
            (make((2, 3)), ((0, 1), (2, 0)), "edge", 0),
        (make((2, 3)), 1, "reflect", 0), (make((3,)), (2, 2), "wrap", 0), (make((2, 3)), (1, 0), "symmetric", 0),
        (make((2, 3)), 1, "mean", 0), (make((3,)), (1, 2), "maximum", 0, 0, 2), (make((2, 3)), ((0, 1), (2, 0)), "median", 0), (make((3, 2)), 1, "minimum", 0, 0, ((2, 1), (1, 2))),
        (make((2, 3)), (2, 1), "linear_ramp", 0, 1), (make((3,)), (4, 3), "reflect", 0, 0, None, "odd"), (make((2, 3)), 1, "symmetric", 0, 0, None, "odd"), (make((1, 3)), 2, "reflect", 0, 0, None, "odd"),
    ],
    "linspace": lambda make: [
        (make(()), make(()), 4, True, None, 0), (make((2,)), make((3, 1)), 3, False, None, 0),
            (1.0, make((2,)), 1, True, None, 0), (make((2,)), 3, 4, True, "c16" if make(()).dtype.kind == "c" else "f8", -1),
        (make((2,)), make((2,)), 0, True, None, 0),
    ],
    **dict.fromkeys(["atleast_1d", "atleast_2d", "atleast_3d"], lambda make: [(make(shape),) for shape in [*SHAPES,
        (1, 2, 1, 2)]]),
    "broadcast_arrays": lambda make: [([make((2, 1)), make((3,))],), ([make(()), make((2,))],)],
    "meshgrid": lambda make: [
        ([make((2,)), make((3,))], "xy", False, True), ([make((2,)), make((3,)), make((2,))], "ij", False, True),
            ([make((2,)), make((3,))], "xy", True, False),
    ],
    "vstack": lambda make: [([make((3,)), make((2, 3))],), ([make(()), make(())],)],
    "hstack": lambda make: [([make((3,)), make((2,))],), ([make((2, 1)), make((2, 3))],)],
    "dstack": lambda make: [([make((3,)), make((3,))],), ([make((2, 3)), make((2, 3))],)],
    "column_stack": lambda make: [([make((3,)), make((3, 2))],), ([make((2,)), make((2,))],)],
    "append": lambda make: [(make((2, 3)), make((2,)), None), (make((2, 3)), make((1, 3)), 0)],
    "delete": lambda make: [(make((2, 3)), 1, None), (make((2, 3)), [0, 2], 1), (make((3,)), slice(1, 2), 0)],
    "split": lambda make: [(make((4, 3)), 2, 0), (make((2, 3)), [1], 1), (make((6,)), [2, 4], -1), (make((3, 2)), 2, 0)],
    "array_split": lambda make: [(make((5, 2)), 3, 0), (make((2, 3)), (1, 2), 1)],
    "vsplit": lambda make: [(make((4, 3)), 2)],
    "hsplit": lambda make: [(make((4,)), 2), (make((2, 4)), [1])],
    "dsplit": lambda make: [(make((1, 2, 4)), 2)],
    "unstack": lambda make: [(make((2, 3)), 0), (make((2, 3)), -1)],
    "insert": lambda make: [
        (make((2, 3)), 1, make(()), None), (make((2, 3)), [0, 2], make((2, 2)), 1), (make((3,)), slice(0, 2), make((2,)), 0), (make((2, 3)), 1, make((2,)), 1),
        (make((2, 3)), [1], make((2, 1)), 1), (make((2, 3)), -1, make((3,)), 0),
    ],
    "resize": lambda make: [(make((2, 3)), (3, 4)), (make((3,)), 2), (make((2, 3)), (0, 2)), (make(()), (2, 2)), (make((2, 3)), (2, 3))],
    "geomspace": lambda make: [
        (make(()), make(()), 4, True, None, 0), (make((2,)), make((3, 1)), 3, False, None, 0), (make((2,)), make((2,)), 1, True, None, 0),
        (make((2,)), 3, 4, True, "c16" if make(()).dtype.kind == "c" else "f8", -1), (make((2,)), make((2,)), 0, True, None, 0),
    ],
    "checked_end": lambda make: [(make(shape),) for shape in SHAPES],
    "ravel_multi_index": lambda make: [
        ([make((3,), "i8"), make((2, 3), "i8")], (5, 6), "raise", "C"), ([make((), "i8"), make((3,), "i8"), make((3,), "i8")], (2, 3, 5), ("wrap", "clip", "raise"), "F"),
        ([make((3,), "i8")], (5,), "raise", "C"),
    ],
    "unravel_index": lambda make: [(make((2, 3), "i8"), (3, 4), "C"), (make((), "i8"), (2, 3), "F"), (make((3,), "i8"), 5, "C")],
    "sliding_window_view": lambda make: [
        (make((5,)), 3, None), (make((4, 3)), (2, 2), None), (make((3, 5)), 4, 1), (make((5, 3)), (2, 3), (0, -1)), (make((5,)), (2, 3), (0, 0)), (make((2, 3)), (2, 3), None), (make((2, 3)), 1, 0),
    ],
    "select": lambda make: [
        ([make((2, 3), "?"), make((3,), "?")], [make((2, 3)), make((2, 1))], make((3,))), ([make((3,), "?")], [make((2, 3))], 0), ([make((), "?")], [make(())], make(())),
    ],
    "choose": lambda make: [
        (make((2, 3), "i8") % 3, [make((2, 3)), make((3,)), make((2, 1))], "raise"), (make((3,), "i8"), [make((3,)), make((2, 3))], "wrap"),
        (make((3,), "i8") - 2, [make((3,)), make(()), make((3,))], "clip"), (make((), "i8") % 2, [make((3,)), make((3,))], "raise"),
    ],
    **dict.fromkeys(["partition", "argpartition"], lambda make: [
        (make((5,)), 2, -1, "introselect"), (make((4, 3)), (0, 2), 0, "introselect"),
        (make((2, 3, 4)), -1, -2, "introselect"), (make((2, 3)), 3, None, "introselect"), (make((1, 3)), [1], 1, "introselect"),
    ]),
    "lexsort": lambda make: [([make((4,)), make((4,))], -1), ([make((2, 3)), make((2, 3)), make((2, 3))], 0), ([make((2, 3, 4))], -2)],
    **dict.fromkeys(["fft_fft", "fft_ifft", "fft_ihfft", "fft_rfft"], lambda make: transforms(make, 4, 5, 2, 7)),
    **dict.fromkeys(["fft_irfft", "fft_hfft"], lambda make: transforms(make, 4, 5, 3, 8)),
    **dict.fromkeys([f"fft_{way}fft{n}" for n in "2n" for way in ("", "i", "r", "ir")], lambda make: [
        (make((3, 4)), None, (-2, -1), None), (make((3, 4)), (2, 6), (0, 1), "ortho"), (make((2, 3, 5)), None, (2, 0), "forward"),
        (make((3, 4)), (3, -1), (1, 0), "backward"),
    ]),
    **dict.fromkeys(["fft_fftshift", "fft_ifftshift"], lambda make: [(make((5,)), None), (make((4, 3)), None), (make((2, 3, 4)), (0, 2)), (make((3, 5)), 1)]),
    "prod": lambda make: [
        (make((2, 3)), None, None, False), (make((2, 3)), 0, None, True), (make((2, 3, 2)), (0, -1), None, False),
            (make((0, 3)), 0, None, False),
        (make((3,)) * np.asarray([1, 0, 1], make(()).dtype), None, None, False), (make(()), None, None, False),
            (make((2, 3)), (), None, False),
    ],
    **dict.fromkeys(["ptp", "count_nonzero"], lambda make: [(x, axis, keep) for x, axis, _, keep in reduced(make)]),
    **dict.fromkeys(["nansum", "nanmean", "nanprod"], lambda make: reduced(make)),
    **dict.fromkeys(["nanmax", "nanmin"], lambda make: [(x, axis, keep) for x, axis, _, keep in reduced(make)]),
    **dict.fromkeys(["nancumsum", "nancumprod"], lambda make: alongs(make, None)),
    **dict.fromkeys(["nanvar", "nanstd"], lambda make: [case for case in spreads(make) if case[0].size]),
    "var": spreads,
    "std": spreads,
    "average": lambda make: [(make((2, 3)), None, None, False), (make((2, 3)), 1, make((3,)), False),
        (make((2, 3)), 0, make((2, 3)), True), (make((2, 3)), None, make((2, 3)), False)],
    "full_like": lambda make: [
        (make((2, 3)), make((3,)), None, None), (make((2, 3)), 2, None, None), (make(()), make(()), None, None),
        (make((3, 2)), make((2, 1)), "c16", (2, 3)),
    ],
}  # fmt: skip


def padding(mode: str, values: Any = 0, ends: Any = 0, lengths: Any = None, kind: str = "even") -> dict[str, Any]:
    """The options of `np.pad` that a mode has."""
    option = {"constant": {"constant_values": values}, "linear_ramp": {"end_values": ends}, "reflect": {"reflect_type": kind}, "symmetric": {"reflect_type": kind}}
    return option.get(mode, {"stat_length": lengths} if mode in ("mean", "median", "maximum", "minimum") else {})


def hermitian(x: Any) -> Any:
    """The Hermitian part of matrices: what NumPy's functions of a Hermitian matrix read."""
    np_ = ops.np
    return np_.multiply(np_.add(x, np_.swapaxes(np_.conjugate(x), -1, -2)), 0.5)


HERMITIAN = {"linalg_cholesky", "linalg_eigh", "linalg_eigvalsh"}


def unphased(u: Any, *others: Any) -> Any:
    """What no phase changes of vectors in columns, and of further vectors in rows that go with them."""
    parts = [ops.np.matmul(ops.np.getitem(u, (Ellipsis, slice(1))), ops.np.getitem(x,
        (Ellipsis, slice(1), slice(None)))) for x in others]
    return [ops.np.square(ops.np.absolute(u)), *parts]


def before(x: Any, n: int) -> Any:
    """The first columns."""
    return ops.np.getitem(x, (Ellipsis, slice(n)))


def after(x: Any, n: int) -> Any:
    """The columns from one on."""
    return ops.np.getitem(x, (Ellipsis, slice(n, None)))


def projector(u: Any) -> Any:
    """The projector onto what columns of length 1 span."""
    return ops.np.matmul(u, ops.np.swapaxes(ops.np.conjugate(u), -1, -2))


def bare(name: str, out: Any) -> list[Any]:
    """The results of a row as a list of arrays, without what is arbitrary in them: the phase of vectors."""
    if name == "linalg_eigh":
        w, v = out
        return [w, *unphased(v, ops.np.swapaxes(ops.np.conjugate(v), -1, -2))]
    if name == "linalg_eig":
        w, v = out
        return [w, *unphased(v, ops.np.swapaxes(ops.np.conjugate(v), -1, -2))]
    if name == "linalg_svd":
        u, s, vh = out
        return [s, *unphased(u, vh)]
    if name == "linalg_full_svd":
        u, s, vh = out
        u_2, v_2 = after(u, s.shape[-1]), after(ops.np.swapaxes(vh, -1, -2), s.shape[-1])
        return [s, *unphased(before(u, s.shape[-1]), vh), projector(u_2), projector(v_2)]
    if name in ("linalg_full_qr", "linalg_tall_full_qr"):
        q, r = out
        n = r.shape[-1]
        return [before(q, n), r, projector(after(q, n))]
    return list(out) if isinstance(out, (list, tuple)) else [out]


def numpys(op: OpOverload) -> Callable[..., Any] | None:
    """NumPy's function of a row's name, taking the row's cases; None for a row that NumPy has no function for."""
    name = op.schema.name
    if name in OWN or name in NUMPYS:
        return NUMPYS.get(name)
    function = getattr(getattr(np, part), rest) if (part := name.partition("_")[0]) in ("linalg", "fft") and (rest := name.partition("_")[2]) else getattr(np, name)
    count = op.arguments.positional
    return lambda *case: function(*case[:count], **dict(zip(op.arguments.keyword_names, case[count:], strict=True)))


OWN = {  # what the layers need, and NumPy has under no name
    "checked_end", "none_but_nan", "none_free", "none_to_average", "poorly_conditioned", "discarding_imaginary",
    "unique_places", "value_places",
    "poly_from_roots", "poly_real_if_paired", "polynomial_remainder", "complex_below_0", "complex_beyond_1", "float_below_0",
    "ufunc_reduce_where", "fraction", "whole", "mantissa", "exponent", "i1",
    "getitem", "scatter_add", "select_index", "sum_to", "clone", "detach", "memory_view", "empty", "empty_like", "linalg_tall_qr",
    "setitem", "view_scatter", "writeable_diagonal", "checked_weights", "ravel_from", "product_of_others", "stable_order", "put_back", "sum_of_few", "linalg_svdvals_pulled", "share", "zero_unless", "zero_unless_nan", "add_at", "subtract_at", "divide_no_nan", "root", "linalg_cofactors", "linalg_inverse", "linalg_inf_for_nan", "settled", "linalg_residuals", "linalg_not_turning", "linalg_tall_full_qr", "linalg_raw_qr", "sum_where", "prod_where", "nansum_where", "max_where", "min_where",
    "all_where", "any_where", "mean_where", "nanmean_where", "var_where", "std_where", "nanprod_where", "nanmax_where", "nanmin_where", "nanvar_where", "nanstd_where",  # their kernels are NumPy's functions of other names
    "equal_differences", "spread_differences", "differences_at", "sliding", "overlapping", "counts", "histogram_counts", "number_of_bins", "checked_fweights", "checked_aweights", "digitize_each", "checked_range", "checked_edges", "checked_spacing", "checked_period", "scaled", "lerp", "quantile_places", "quantile_part", "checked_quantiles", "checked_percentiles", "checked_counting_weights", "checked_total",
}  # fmt: skip


def _polydiv_whole(u: Any, v: Any) -> Any:
    """np.polydiv, with the zeros that it leaves out in front of the remainder."""
    q, r = np.polydiv(u, v)
    return q, np.concatenate([np.zeros(len(u) - len(r), r.dtype), r])


def accumulated(ufunc: Any, x: Any, axis: int, dtype: Any, starts: Any) -> Any:
    parts = np.split(x, (starts or [0])[1:], axis)
    return np.concatenate([ufunc.accumulate(part, axis, dtype) for part in parts], axis) if starts else ufunc.accumulate(x, axis, dtype)


NUMPYS: dict[str, Callable[..., Any]] = {
    "astype": lambda x, dtype: (x.real if np.dtype(dtype).kind != "c" else x).astype(dtype),
    "average": lambda x, axis, weights, keep: np.average(x, axis, weights, keepdims=keep),
    "arange": lambda start, stop, step, dtype: np.arange(start, stop, step, dtype),
    "equal_differences": lambda x, step, axis, edge: np.gradient(x, step, axis=axis, edge_order=edge),
    "differences_at": lambda x, points, axis, edge: np.gradient(x, points, axis=axis, edge_order=edge),
    "unwrap": lambda x, discont, axis, period: np.unwrap(x, discont, axis, period=period),
    "gradient": lambda x, steps, axes, edge: list(np.gradient(x, *steps, axis=axes, edge_order=edge)),
    "linalg_solved": np.linalg.lstsq,
    "histogram": lambda a, bins, given, weights, density: np.histogram(a, bins, given, density, weights),
    "histogram2d": lambda x, y, bins, given, weights, density: np.histogram2d(x, y, bins, given, density, weights),
    "histogramdd": lambda a, bins, given, weights, density: [x for part in np.histogramdd(a, bins, given, density, weights) for x in (part if isinstance(part, (list, tuple)) else [part])],
    "histogram_counts": lambda x, edges, weights, uniform: np.histogram(x, edges, weights=weights)[0],
    "quantile": lambda x, q, axis, method, weights, keep: np.quantile(x, q, axis, method=method, weights=weights, keepdims=keep),
    "nanquantile": lambda x, q, axis, method, weights, keep: np.nanquantile(x, q, axis, method=method, weights=None if weights is None else np.broadcast_to(weights, x.shape), keepdims=keep),
    "interp": lambda x, xp, fp, left, right: np.interp(x, xp, fp, *[a[()] if isinstance(a, np.ndarray) else a for a in (left, right)]),
    "broadcast_arrays": lambda arrays: np.broadcast_arrays(*arrays),
    "einsum": lambda text, operands, optimize: np.einsum(text, *operands),
    "einsum_with": lambda text, operands, optimize, dtype, order, casting: np.einsum(text, *operands, optimize=optimize, dtype=dtype, order=order, casting=casting),
    "eye": lambda n, m, k, dtype: np.eye(n, m, k, dtype or float),
    "identity": lambda n, dtype: np.identity(n, dtype or float),
    "full_like": lambda x, fill, dtype, shape: np.full_like(x, fill, dtype, shape=shape),
    "zeros_like": lambda x, dtype, shape: np.zeros_like(x, dtype, shape=shape),
    "ones_like": lambda x, dtype, shape: np.ones_like(x, dtype, shape=shape),
    "linalg_svd": lambda x: np.linalg.svd(x, full_matrices=False),
    "linalg_svdvals": lambda x: np.linalg.svd(x, compute_uv=False),
    "linalg_inv_lower": lambda x: np.linalg.inv(np.tril(x)),
    "linalg_pinv": np.linalg.pinv,
    "linalg_lstsq": lambda a, b, rcond: _lstsq(a, b, rcond) if a.ndim == b.ndim == 2 else _stack_lstsq(a, b, rcond),
    "linalg_eig": lambda x, real: [part.astype(np.result_type(part.dtype, 1j)) for part in np.linalg.eig(x)],
    "linalg_eigvals": lambda x, real: (w := np.linalg.eigvals(x)).astype(np.result_type(w.dtype, 1j)),
    "roots": lambda p, real: (r := np.roots(p)).astype(np.result_type(r.dtype, 1j)),
    "polydiv": _polydiv_whole,
    "linalg_full_svd": np.linalg.svd,
    "linalg_full_qr": lambda x: np.linalg.qr(x, "complete"),
    "linalg_multi_dot": lambda arrays: np.linalg.multi_dot(arrays),
    "linalg_vector_norm": lambda x, axis, order, keep: np.linalg.vector_norm(x, axis=axis, ord=order, keepdims=keep),
    "linalg_matrix_norm": lambda x, order, keep: np.linalg.matrix_norm(x, ord=order, keepdims=keep),
    "linspace": lambda a, b, n, end, dtype, axis: np.linspace(a, b, n, end, False, dtype, axis),
    "meshgrid": lambda arrays, indexing, sparse, copy=True: np.meshgrid(*arrays, indexing=indexing, sparse=sparse, copy=copy),
    "nan_to_num": lambda x, nan, above, below: np.nan_to_num(x, nan=nan, posinf=above, neginf=below),
    "nansum": lambda x, axis, dtype, keep: np.nansum(x, axis, dtype, keepdims=keep),
    "nanmean": lambda x, axis, dtype, keep: np.nanmean(x, axis, dtype, keepdims=keep),
    "nanprod": lambda x, axis, dtype, keep: np.nanprod(x, axis, dtype, keepdims=keep),
    "nanvar": lambda x, axis, dtype, ddof, keep: np.nanvar(x, axis, dtype, ddof=ddof, keepdims=keep),
    "nanstd": lambda x, axis, dtype, ddof, keep: np.nanstd(x, axis, dtype, ddof=ddof, keepdims=keep),
    "sliding_window_view": np.lib.stride_tricks.sliding_window_view,
    "select": lambda conditions, choices, default: np.select(conditions, choices, default),
    "choose": lambda a, choices, mode: np.choose(a, choices, mode=mode),
    "pad": lambda x, width, mode, *options: np.pad(x, width, mode, **padding(mode, *options)),
    "prod": lambda x, axis, dtype, keep: np.prod(x, axis, dtype, keepdims=keep),
    "mean": lambda x, axis, dtype, keep: np.mean(x, axis, dtype, keepdims=keep),
    "tri": lambda n, m, k, dtype: np.tri(n, m, k, dtype or float),
    "unique": lambda x, axis, equal_nan, in_order: np.unique(x, axis=axis, equal_nan=equal_nan, **({} if in_order else {"sorted": False})),
    "unique_all": lambda x, axis, equal_nan: np.unique(x, True, True, True, axis, equal_nan=equal_nan),
    "trapezoid": lambda y, x, dx, axis: np.trapezoid(y, x, 1.0 if dx is None else dx, axis),
    "ufunc_reduce": lambda x, name, axis, dtype, keep: getattr(np, name[4:]).reduce(x, axis, dtype, keepdims=keep),
    "ufunc_accumulate": lambda x, name, axis, dtype, starts: accumulated(getattr(np, name[4:]), x, axis, dtype, starts),
    "ufunc_reduceat": lambda x, name, indices, axis, dtype: getattr(np, name[4:]).reduceat(x, np.array(indices, int), axis, dtype),
    "unstack": lambda x, axis: [np.take(x, i, axis) for i in range(x.shape[axis])],
    "var": lambda x, axis, dtype, ddof, keep: np.var(x, axis, dtype, ddof=ddof, keepdims=keep),
    "std": lambda x, axis, dtype, ddof, keep: np.std(x, axis, dtype, ddof=ddof, keepdims=keep),
    "vecdot": lambda x, y, axis: np.vecdot(x, y, axis=axis),
    "scalar_multiply": np.multiply,
    "scalar_power": np.power,
    "scalar_divide": np.divide,
    "scalar_absolute": np.absolute,
}


def _lstsq(a: Any, b: Any, rcond: Any) -> Any:
    """What np.linalg.lstsq gives, with 0 for residuals that it leaves out."""
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
    return x, residuals if residuals.size else np.zeros(b.shape[1:], residuals.dtype), rank, s


def _stack_lstsq(a: Any, b: Any, rcond: Any) -> Any:
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = [np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, b)]
    return [np.stack(column) for column in zip(*[_lstsq(*item, rcond) for item in zip(a, b, strict=True)], strict=True)]
