"""Calls of NumPy's functions, generated: every function of the table, with dtypes, layouts and each keyword of its signature.

A `Call` makes its arguments anew each time, the same ones, so that NumPy and the row both start from untouched arrays.
"""

from collections.abc import Callable, Iterator
from functools import cache
from inspect import Parameter, signature
from itertools import count
from typing import Any, NamedTuple
from warnings import catch_warnings

import numpy as np

Shape = tuple[int, ...]

DTYPES = ["?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", ">f8", ">i4"]
LAYOUTS = ["C", "F", "backwards", "every other", "repeated", "transposed"]
REALS = [0.5, -1.25, np.nan, 2.0, -0.0, 0.5, np.inf, 3.5, -np.inf, 1.0, 7.25, -2.0, 0.0, 2.5, -1.0]
WHOLE = [3, 1, 0, 2, 5, 1, 7, 100, 2, 4]


class Arrays:
    """Makes the arrays of one call: `a(2, 3)` of its dtype and layout, each with other elements."""

    def __init__(self, dtype: str, layout: str, tame: bool) -> None:
        self.dtype, self.layout, self.tame = np.dtype(dtype), layout, tame
        self.made: list[Any] = []

    def __call__(self, *shape: int, dtype: Any = None, layout: str | None = None) -> Any:
        kind = self.dtype if dtype is None else np.dtype(dtype)
        x = laid_out(elements(shape, kind, len(self.made), self.tame).copy(), layout or self.layout)
        self.made.append(x)
        return x


@cache  # a hundred thousand arrays are made, of two thousand kinds
def elements(shape: Shape, dtype: np.dtype[Any], seed: int, tame: bool) -> Any:
    n = int(np.prod(shape))
    if dtype.kind in "fc":
        values = [v for v in REALS if not tame or (np.isfinite(v) and v)]
    else:
        values = [v for v in WHOLE if not tame or v] + ([-3, -1, -90] if dtype.kind == "i" and not tame else [])
    step = 3 + 2 * seed
    flat = np.array([values[(seed + step * i + i // len(values)) % len(values)] for i in range(n)])
    if dtype.kind == "c":
        flat = flat + 1j * flat[::-1] if tame else np.array([complex(x, y) for x, y in zip(flat, flat[::-1], strict=True)])
    with np.errstate(all="ignore"):
        return flat.astype(dtype).reshape(shape)


def laid_out(x: Any, layout: str) -> Any:
    """The same elements, laid out otherwise; repeated ones are alike along the last axis."""
    if not x.ndim or layout == "C":
        return x
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "backwards":
        return np.flip(np.flip(x).copy())
    if layout == "every other":
        return np.repeat(x, 2, axis=-1)[..., ::2]
    if layout == "repeated":
        return np.broadcast_to(x[..., :1], x.shape) if x.size else x
    return np.swapaxes(np.swapaxes(x, 0, -1).copy(), 0, -1)


class Call(NamedTuple):
    """One call: `function(*args, **keywords)`, with what makes the arguments."""

    name: str
    function: Callable[..., Any]
    make: Callable[[Arrays], tuple[tuple[Any, ...], dict[str, Any]]]
    dtype: str
    layout: str
    tame: bool
    flags: tuple[str, ...]

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
        arrays = Arrays(self.dtype, self.layout, self.tame)
        with np.errstate(all="ignore"):
            args, keywords = self.make(arrays)
        return args, keywords, arrays.made

    def __str__(self) -> str:
        args, keywords, _ = self.arguments()
        return f"{self.name}({', '.join([*map(told, args), *[f'{k}={told(v)}' for k, v in keywords.items()]])})  # {self.layout}"


def told(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"{x.dtype.str}{list(x.shape)}"
    if isinstance(x, (list, tuple)):
        return f"[{', '.join(map(told, x))}]"
    return repr(x)


# -- the arguments of functions that take other things than one array ------------------------------------------------------------

Make = Callable[[Arrays], Any]
ONE: list[Make] = [lambda a, s=s: (a(*s),) for s in [(2, 3), (3,), (), (0, 3), (1,), (1, 3), (2, 3, 4), (2, 0)]]  # type: ignore[misc]
TWO: list[Make] = [
    lambda a, s=s, t=t: (a(*s), a(*t))  # type: ignore[misc]
    for s, t in [((2, 3), (2, 3)), ((2, 3), (3,)), ((), (2, 3)), ((2, 1), (1, 3)), ((), ()), ((0, 3), (1, 3)), ((3,), (2,)), ((1,), ())]
]
MIXED: list[Make] = [
    lambda a: (a(2, 3), 2), lambda a: (2.5, a(2, 3)), lambda a: (a(), 1), lambda a: (a(2, 3), a(3, dtype="f4")), lambda a: (a(3), a(3, dtype="i2")),
    lambda a: (a(2, 3), np.float64(1.5)), lambda a: (a(3), True), lambda a: (a(3), 1j), lambda a: (a(3), a(dtype="f8")), lambda a: (a(2, 3), a(2, 3, layout="C")),
]  # fmt: skip


def shaped(*groups: Any) -> list[Make]:
    return [lambda a, g=g: tuple([a(*s) for s in g]) for g in groups]  # type: ignore[misc]


def with_rest(*pairs: Any) -> list[Make]:
    """Each pair is a shape and the arguments after the array."""
    return [lambda a, s=s, rest=rest: (a(*s), *rest) for s, *rest in pairs]  # type: ignore[misc]


def listed(*groups: Any) -> list[Make]:
    return [lambda a, g=g: ([a(*s) for s in g],) for g in groups]  # type: ignore[misc]


def places(*values: Any) -> Any:
    return np.array(values, np.intp)


SQUARE = [lambda a, s=s: (a(*s) + (9 * np.eye(s[-1])).astype(a.dtype),) for s in [(3, 3), (2, 3, 3), (1, 1), (0, 2, 2)]] + shaped([(2, 3)], [(3,)])  # type: ignore[misc]
DIFFERING = np.array([[1, 2, 0], [0, 3, 1], [2, 0, 2]])
LINALG: dict[Any, list[Make]] = {
    np.linalg.solve: [lambda a: (SQUARE[0](a)[0], a(3)), lambda a: (SQUARE[0](a)[0], a(3, 2)), lambda a: (SQUARE[1](a)[0], a(3, 2)), lambda a: (a(3, 3), a(2))],
    np.linalg.inv: SQUARE, np.linalg.pinv: SQUARE, np.linalg.det: SQUARE, np.linalg.slogdet: SQUARE, np.linalg.eigvalsh: SQUARE, np.linalg.eigh: SQUARE,
    np.linalg.cholesky: [lambda a: ((lambda x: x @ x.conj().T + np.eye(3).astype(x.dtype))(a(3, 3).astype(np.result_type(a.dtype, "f4"))),)],
    np.linalg.matrix_power: [lambda a, n=n: (SQUARE[0](a)[0], n) for n in (0, 1, 2, 3, 5, -1)] + with_rest([(2, 3), 2], [(2, 3, 3), 3]),  # type: ignore[misc]
    np.linalg.svd: [SQUARE[0], *shaped([(3, 3)], [(2, 3)], [(3, 2)], [(2, 3, 2)], [(3,)])], np.linalg.svdvals: shaped([(2, 3)], [(3, 2)], [(2, 2, 3)]),
    np.linalg.qr: shaped([(3, 2)], [(3, 3)], [(2, 3)], [(2, 3, 2)], [(3,)]),
    np.linalg.eig: [*SQUARE, lambda a: (DIFFERING.astype(a.dtype),)], np.linalg.eigvals: [*SQUARE, lambda a: (DIFFERING.astype(a.dtype),)],
    np.linalg.lstsq: [*shaped([(4, 2), (4,)], [(4, 2), (4, 3)], [(2, 4), (2,)], [(3, 3), (3,)], [(4, 2), (3,)], [(3,), (3,)], [(2, 3, 2), (3,)], [(4, 2), (4, 0)], [(4, 2), ()]),
        lambda a: (np.broadcast_to(a(4, 1), (4, 2)), a(4, 2)), lambda a: (a(4, 2), a(4, dtype="f4")), lambda a: (a(3, 2), [1.0, 2.0, 4.0])],
    np.linalg.cond: SQUARE + shaped([(3, 2)]) + [lambda a: (np.zeros((2, 2), a.dtype),), lambda a: (np.ones((2, 2), a.dtype),)],
    np.linalg.matrix_rank: SQUARE + shaped([(3, 2)], [()], [(2, 2, 3)]) + [lambda a: (a(3, 2), 0.5), lambda a: (a(2, 3, 2), np.array([0.5, 9.0]))],
    np.linalg.tensorsolve: [lambda a: (SQUARE[0](a)[0].reshape(3, 1, 3), a(3, 1)), lambda a: (SQUARE[0](a)[0].reshape(1, 3, 3), a(1, 3)), *shaped([(2, 3), (2,)])],
    np.linalg.tensorinv: [lambda a: (SQUARE[0](a)[0].reshape(3, 1, 3),), lambda a: (SQUARE[0](a)[0].reshape(1, 3, 3, 1),), *shaped([(2, 3)])],
    np.linalg.norm: shaped([(2, 3)], [(3,)], [()], [(0, 3)], [(2, 3, 4)]),
    np.linalg.vector_norm: shaped([(2, 3)], [(3,)], [()], [(0, 3)], [(2, 3, 4)]),
    np.linalg.matrix_norm: shaped([(2, 3)], [(2, 2, 3)], [(3,)]),
    np.linalg.multi_dot: listed([(2, 3), (3, 4)], [(2, 3), (3, 4), (4, 2)], [(3,), (3, 2), (2,)], [(2, 3), (1, 4), (4, 2)], [(2, 3), (3, 2), (2, 2), (2, 4)], [(2, 3)]),
    np.linalg.matmul: shaped([(2, 3), (3, 2)]), np.linalg.outer: shaped([(2,), (3,)], [(2, 2), (3,)]),
    np.linalg.tensordot: shaped([(2, 3), (2, 3)]), np.linalg.vecdot: shaped([(2, 3), (3,)], [(3,), (3,)]), np.linalg.cross: shaped([(2, 3), (3,)], [(3,), (3,)], [(2,), (2,)]),
    np.linalg.diagonal: shaped([(2, 3)], [(2, 2, 3)]), np.linalg.trace: shaped([(2, 3)], [(2, 2, 3)]), np.linalg.matrix_transpose: shaped([(2, 3)], [(3,)]),
}  # fmt: skip
SETS: list[Make] = [*shaped([(5,), (7,)], [(2, 3), (4,)], [(0,), (3,)], [(0,), (0,)], [(), (3,)]), lambda a: (a(5), a(3, dtype="f4")), lambda a: ([1, 2, 3], a(7))]
SPACES: list[Make] = [lambda a: (a(), a()), lambda a: (a(2), a(3, 1)), lambda a: (1.0, a(2)), lambda a: (a(2), 3), lambda a: (a(2), 3, 0), lambda a: (a(2), 3, 1), lambda a: (a(2), 3, 4), lambda a: (a(2), [1, 2], 4)]
EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 2)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)), ("ii", (1, 4)), ("ij->", (2, 3)),
    ("i,i->i", (3,), (3,)), ("i,j->ij", (2,), (3,)), ("ij,ij->j", (2, 3), (2, 3)), ("...i,ij->...j", (2, 2, 3), (3, 2)), ("ij,kj,lk->il", (2, 3), (2, 3), (4, 2)),
    ("i,i", (3,), (3,)), ("i,i", (0,), (0,)), ("ij", (2, 3)), ("...", (2, 3)), ("i->", (3,)), ("i...->...", (2, 3)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("i,->i", (3,), ()), ("iij,j->i", (2, 2, 3), (3,)),
    ("i,i", (3,), (1,)), ("ij,jk", (2, 3), (2, 3)),
]  # fmt: skip
CALLS: dict[Any, list[Make]] = LINALG | {
    np.reshape: with_rest([(2, 3), (3, 2)], [(2, 3), -1], [(2, 3), (2, 3)], [(), (1, 1)], [(0, 3), (3, 0)], [(2, 3), (4, 2)], [(2, 3, 4), (6, 4)], [(1,), ()]),
    np.swapaxes: with_rest([(2, 3), 0, 1], [(2, 3, 4), -1, 0], [(3,), 0, 1]),
    np.moveaxis: with_rest([(2, 3, 4), 0, -1], [(2, 3, 4), (0, 1), [1, 2]], [(2, 3), 1, 1]),
    np.broadcast_to: with_rest([(3,), (2, 3)], [(), 2], [(2, 1), [4, 2, 3]], [(), ()], [(2,), (3,)]),
    np.expand_dims: with_rest([(2, 3), 0], [(2, 3), -1], [(3,), (0, 2)], [(), 0]),
    np.concatenate: [*listed([(2, 3), (1, 3)], [(3,), (2,)], [(2, 3)], [(), ()], [(0, 3), (2, 3)]), lambda a: ([a(2, 3), a(1, 3, dtype="f4")],)],
    np.stack: [*listed([(2, 3), (2, 3)], [(), ()], [(2,), (3,)]), lambda a: ([a(2, 3), a(2, 3, dtype="f4")],)],
    np.where: [lambda a: (a(2, 3, dtype="?"), a(2, 3), a(3)), lambda a: (a(2, 3), a(2, 3), 0), lambda a: (a(dtype="?"), a(), a()), lambda a: (a(2, 3, dtype="?"), 1.5, a(3)),
               lambda a: (a(2, 3),), lambda a: (a(3, dtype="?"), a(3), a(3, dtype="f4"))],
    np.full_like: with_rest([(2, 3), 2], [(2, 3), 2.5], [(), 1]),
    np.empty: [lambda a: ((2, 3),)], np.zeros: [lambda a: ((2, 3),), lambda a: (3,), lambda a: ((),)], np.ones: [lambda a: ((2, 3),), lambda a: ((),)],
    np.full: [lambda a: ((2, 3), a(3)), lambda a: ((2,), a()), lambda a: ((2, 3), 2)],
    np.dot: shaped([(2, 3), (3,)], [(3,), (3,)], [(2, 3), (3, 2)], [(), (3,)], [(2, 3), (4, 3, 2)], [(2, 3), (2,)], [(), ()]),
    np.einsum: [lambda a, t=t, s=s: (t, *[a(*x) for x in s]) for t, *s in EINSUMS] + [lambda a: (a(2, 3), [0, 1], a(3, 2), [1, 2], [0, 2]), lambda a: ("ij,jk", a(2, 3), a(3, 2, dtype="f8")), lambda a: ("ij->i", a(2, 3)), lambda a: (a(2, 3), [0, 1])],  # type: ignore[misc]
    np.einsum_path: [lambda a: ("ij,jk", a(2, 3), a(3, 2))],
    np.tensordot: [*shaped([(2, 3), (2, 3)]), lambda a: (a(2, 3), a(4, 3), ((1,), (1,))), lambda a: (a(3, 2), a(2, 3), (0, -1)), lambda a: (a(2), a(3), 0), lambda a: (a(2, 3), a(2, 3), 1)],
    np.inner: shaped([(2, 3), (3,)], [(3,), (3,)], [(), (2,)], [(2, 3), (4, 3)], [(3,), (2,)]),
    np.outer: shaped([(2,), (3,)], [(2, 2), (3,)], [(), (3,)]), np.vdot: shaped([(3,), (3,)], [(2, 3), (2, 3)], [(), ()], [(3,), (2,)]),
    np.kron: shaped([(2, 3), (2, 2)], [(3,), (2, 2)], [(), (3,)], [(2,), (3,)]), np.cross: shaped([(2, 3), (3,)], [(3,), (3,)], [(2,), (2,)], [(2, 3), (2, 3)]),
    np.diag: shaped([(2, 3)], [(3,)], [()], [(2, 2, 2)]), np.diagflat: shaped([(2, 2)], [(3,)], [()]),
    np.searchsorted: [lambda a: (np.sort(a(5)), a(2, 3)), lambda a: (np.sort(a(5)), a()), lambda a: (np.sort(a(5)), 1), lambda a: (np.sort(a(5)), a(2, dtype="f4"))],
    np.take_along_axis: [lambda a: (a(2, 3), places([0, 2], [1, 1]), 1), lambda a: (a(2, 3), places(3, 0, -1), None), lambda a: (a(2, 3), places([5]), 1)],
    np.take: [lambda a: (a(2, 3), places([1, 0], [2, 2])), lambda a: (a(3), 1), lambda a: (a(2, 3), places(0)), lambda a: (a(3), [2, -1]), lambda a: (a(3), 7), lambda a: (a(2, 3), 1, 0), lambda a: (a(2, 3), np.array(1), 1), lambda a: (a(3), places())],
    np.compress: [lambda a: ([True, False, True], a(3)), lambda a: (a(3, dtype="?"), a(2, 3), 1), lambda a: ([0, 1], a(2, 3), 0), lambda a: ([True], a(2, 3))],
    np.extract: [lambda a: (a(2, 3, dtype="?"), a(2, 3)), lambda a: ([1, 0, 1], a(3))],
    np.average: shaped([(2, 3)], [(3,)], [()], [(0, 3)], [(2, 3, 4)]),
    np.clip: [*with_rest([(2, 3), 1, 2], [(3,), None, 2], [(), 0, 1], [(3,), 0.5, None], [(3,), 2, 1]), lambda a: (a(2, 3), a(3), None), lambda a: (a(2, 3), a(3), a(2, 1)), lambda a: (a(3),)],
    np.isclose: TWO + MIXED, np.allclose: TWO + MIXED[:3], np.array_equal: TWO,
    np.vstack: listed([(3,), (2, 3)], [(), ()], [(2, 3)]), np.hstack: listed([(3,), (2,)], [(2, 1), (2, 3)], [(), ()]), np.dstack: listed([(3,), (3,)], [(2, 3), (2, 3)], [()]),
    np.column_stack: listed([(3,), (3, 2)], [(2,), (2,)], [(), ()]), np.append: [*shaped([(2, 3), (2,)], [(3,), ()]), lambda a: (a(2, 3), a(1, 3), 0)],
    np.delete: with_rest([(2, 3), 1], [(2, 3), [0, 2], 1], [(3,), slice(1, 2)], [(2, 3), -1, 0], [(3,), 5], [(3,), [], 0], [(3,), [True, False, False]]),
    np.split: with_rest([(4, 3), 2], [(3,), [1]], [(6,), [2, 4]], [(3,), 2], [(4, 4), 2, 1]), np.array_split: with_rest([(5, 2), 3], [(3,), (1, 2)], [(3,), 0]),
    np.vsplit: with_rest([(4, 3), 2], [(3,), 3]), np.hsplit: with_rest([(4,), 2], [(2, 4), [1]], [(), 1]), np.dsplit: with_rest([(1, 2, 4), 2], [(2, 4), 2]),
    np.broadcast_arrays: shaped([(2, 1), (3,)], [(), (2,)], [(3,)]), np.meshgrid: shaped([(2,), (3,)], [(2,)], [(2,), (3,), (2,)], [(), (2,)]),
    np.tile: with_rest([(2, 3), 2], [(3,), (2, 2)], [(2, 3), (2, 1)], [(), (2,)], [(3,), 1], [(2, 3), 0], [(), ()]),
    np.repeat: with_rest([(2, 3), 2], [(2, 3), 3, 1], [(2, 3), [1, 2], 0], [(), 2], [(3,), [1, 2]], [(2, 3), 0]),
    np.roll: with_rest([(2, 3), 1], [(2, 3), -1, 1], [(2, 3), (1, 2), (0, 1)], [(3,), 4, 0], [(2, 3), (1, 2)], [(), 1], [(0, 3), 1, 0]),
    np.rollaxis: with_rest([(2, 3, 4), 2], [(2, 3, 4), 0, 3], [(2, 3), 1, 5]), np.rot90: with_rest(*[[(2, 3), k] for k in (0, 1, 2, 3)], [(3,), 1]),
    np.flip: ONE, np.fliplr: shaped([(2, 3)], [(3,)]), np.flipud: shaped([(2, 3)], [(3,)], [()]),
    np.pad: [*with_rest([(2, 3), 1], [(3,), (1, 2)], [(2, 3), ((0, 1), (2, 0))], [(3,), 0], [(0, 3), 1], [(2, 3), {0: 1}], [(3,), 1, "maximum"], [(2, 3), 2, "minimum"], [(3,), 1.5], [(3,), -1], [(2, 3), 1, "mean"], [(3,), 2, "linear_ramp"], [(5,), 1, "median"])],
    np.linspace: [lambda a: (a(), a()), lambda a: (a(2), a(3, 1)), lambda a: (1.0, a(2)), lambda a: (a(2), 3), lambda a: (a(2), 3, 0), lambda a: (a(2), 3, 1), lambda a: (a(2), 3, 4)],
    np.astype: [lambda a, t=t: (a(2, 3), t) for t in ("f8", "f4", "i4", "c16", "?", ">f8", "u1")] + [lambda a: (a(), "f8"), lambda a: (a(3), float)],  # type: ignore[misc]
    np.size: ONE, np.ndim: ONE, np.shape: ONE, np.result_type: TWO + MIXED, np.diff: ONE, np.trapezoid: ONE + TWO[:2],
    np.eye: [lambda a: (3,), lambda a: (2, 3, 1), lambda a: (2, None, -1)], np.identity: [lambda a: (3,)], np.tri: [lambda a: (3,), lambda a: (2, 4, 1)],
    np.fromiter: [lambda a: (list(a(3)), a.dtype), lambda a: (iter(a(3)), "f4"), lambda a: (a(3), a.dtype, 2), lambda a: ([], "f8"), lambda a: (a(2), "f8", 3)],
    np.frombuffer: [lambda a: (a(3).tobytes(), a.dtype)], np.fromstring: [lambda a: ("1 2", a.dtype)], np.fromfunction: [lambda a: (np.add, (2, 3))],
    np.array: ONE, np.asarray: ONE, np.asanyarray: ONE,
    np.copyto: [lambda a: (a(2, 3, layout="C"), a(3)), lambda a: (a(2, 3, layout="C"), 1), lambda a: (a(3, dtype="f4", layout="C"), a(3)), lambda a: (a(layout="C"), a())],
    np.put: [lambda a: (a(2, 3, layout="C"), [0, 4], a(2)), lambda a: (a(2, 3, layout="F"), [0, 1, 4], a(2)), lambda a: (a(3, layout="C"), [], []), lambda a: (a(3, layout="C"), 1, 2), lambda a: (a(3, layout="C"), [7], 2), lambda a: (a(3, layout="C"), [], 2)],
    np.put_along_axis: [lambda a: (a(2, 3, layout="C"), places([0, 2], [1, 1]), a(2, 2), 1), lambda a: (a(2, 3, layout="C"), places([0, 2, 1]), 2, 0), lambda a: (a(3, layout="C"), places(1), 2, None)],
    np.fill_diagonal: [lambda a: (a(3, 3, layout="C"), a(3)), lambda a: (a(2, 3, layout="C"), 1), lambda a: (a(3, 3, layout="F"), a(2)), lambda a: (a(3, layout="C"), 1), lambda a: (a(5, 2, layout="C"), 1)],
    np.select: [lambda a: ([a(2, 3, dtype="?"), a(3, dtype="?")], [a(2, 3), a(2, 1)]), lambda a: ([a(3, dtype="?")], [a(3)]), lambda a: ([a(dtype="?")], [a()]), lambda a: ([a(3, dtype="?")], [a(3, dtype="f4")]),
                lambda a: ([a(3)], [a(3)]), lambda a: ([], []), lambda a: ([a(3, dtype="?")], [a(3), a(3)]), lambda a: ([a(2, 1, dtype="?"), a(3, dtype="?")], [a(4, 1, 1), 2]), lambda a: ([[True, False]], [a(2)]),
                lambda a: ([a(2, 3, dtype="?")], [1.5]), lambda a: ([a(2, 3, dtype="?")], [True]), lambda a: ((a(2, 3, dtype="?"),), (a(2, 3, layout="F"),)), lambda a: ([a(0, dtype="?")], [a(0)])],
    np.choose: [lambda a: (places([0, 1, 0], [1, 1, 0]), [a(2, 3), a(3)]), lambda a: (places(2, 0), a(3, 2)), lambda a: (1, [a(3), a(3)]), lambda a: (places(3, -1), [a(2), a(2)]), lambda a: ([0, 1], [a(2), a(3, 1, dtype="f4")]),
                lambda a: (places(0, 1), [1, 2]), lambda a: (a(2, dtype="?"), [a(2), 5]), lambda a: (places(0), []), lambda a: (np.array(1), [a(), a()]), lambda a: (a(2), [a(2), a(2)])],
    np.piecewise: [lambda a: (a(2, 3), [a(2, 3, dtype="?")], [1, 2]), lambda a: (a(5), [a(5, dtype="?"), a(5, dtype="?")], [lambda x: x + x, 3]), lambda a: (a(5), a(5, dtype="?"), [np.negative, np.positive]),
                   lambda a: (a(), [a(dtype="?"), True], [np.square, 2, lambda x: x]), lambda a: (a(3), [[True, False, True], [False, True, False]], [lambda x: x[::-1], 2, 1.5]), lambda a: (a(3), [a(3, dtype="?")], [1, 2, 3]),
                   lambda a: (a(3), [a(3, dtype="?")], [lambda x, y: x * y, 1], 2), lambda a: (a(), a(dtype="?"), [1, 2]), lambda a: (a(0), [a(0, dtype="?")], [lambda x: x.max()])],
    **dict.fromkeys([np.partition, np.argpartition], with_rest([(2, 3), 1], [(5,), 2], [(5,), (1, 3)], [(5,), [4, 0]], [(5,), -1], [(3,), 3], [(), 0], [(0, 3), 1], [(2, 3, 4), 2], [(3,), 1.0], [(5,), np.array([1, 2])], [(2, 3), []])),
    np.lexsort: [lambda a: ((a(3), a(3)),), lambda a: (a(2, 3),), lambda a: ((a(2, 3), a(2, 3)),), lambda a: ((a(3), a(3, dtype="i4")),), lambda a: (a(2, 2, 3),), *listed([(3,), (3,)], [(3,)], [(2,), (3,)], [(), ()]), lambda a: ([],)],
    np.lib.stride_tricks.sliding_window_view: with_rest([(5,), 3], [(2, 3), (2, 2)], [(2, 3), 2, 1], [(2, 3), 2], [(3,), 4], [(3,), -1], [(5,), (2, 2), (0, 0)], [(2, 3), [1, 3]], [(), ()], [(5,), 0], [(2, 3, 4), (2, 2), (-1, 0)]),
    np.block: [lambda a: ([[a(2, 3), a(2, 2)], [a(1, 5)]],), lambda a: ([a(3), a(2)],), lambda a: (a(2, 3),), lambda a: ([[1.5, a(2)], [a(3)]],), lambda a: ([a(2, 2), a(3)],), lambda a: ([a(2), [a(2)]],), lambda a: ([a(2), ()],),
               lambda a: ([],), lambda a: ([[a(2, 3)], [a(1, 4)]],), lambda a: ([[[a(2)]], [[a()] * 2]],), lambda a: ([a(), 2],), lambda a: ([[a(2, 3), a(2, 1, dtype="f4")]],)],
    np.insert: [*with_rest([(2, 3), 1, 2], [(2, 3), [0, 2], 1], [(3,), slice(0, 2), [1, 2]], [(2, 3), -1, 2], [(3,), 5, 1], [(3,), -5, 1], [(3,), [], 1], [(3,), [True, False, True], 2], [(3,), [[1]], 1], [(3,), 1.0, 1], [(3,), [1.0, 2.0], 1], [(3,), [7, 1], 1], [(), 0, 1],
                            [(3,), np.array([True, False, False]), 1], [(3,), np.array(1), 1], [(3,), [2, 1, 1], [5, 6, 7]], [(3,), slice(None, None, -1), 1]),
                *[lambda a, at=at, s=s, axis=axis: (a(2, 3), at, a(*s), axis) for at, s, axis in [(1, (3,), 0), (1, (2,), 1), ([1], (2, 1), 1), ([0, 2], (2, 2), 1), ([0, 2], (2,), 1), (1, (2, 2), 1), ([1], (2, 3), 0), (0, (2, 3), 0), (1, (3,), 2), (1, (5,), 0), ([2, 0], (3,), 0)]],
                lambda a: (a(3), 1, a(2)), lambda a: (a(3), [1, 1], a(2)), lambda a: (a(3), 1, a(1, dtype="f8")), lambda a: (a(3), (0, 1), 1.5)],
    np.resize: with_rest([(2, 3), (3, 4)], [(2, 3), 4], [(3,), (2,)], [(), (2, 2)], [(0, 3), (2, 2)], [(3,), 0], [(3,), -1], [(2, 3), (2, 3)], [(2, 3, 4), [5, 5]], [(3,), ()], [(3,), np.int64(4)]),
    **dict.fromkeys([np.logspace, np.geomspace], SPACES),
    np.apply_along_axis: [lambda a, f=f, axis=axis, s=s: (f, axis, a(*s)) for f in (np.sum, np.cumsum, np.negative, lambda x: np.outer(x, x), lambda x: 1.5, lambda x: x[::-1]) for axis, s in [(0, (2, 3)), (1, (2, 3)), (-1, (3,)), (1, (2, 3, 4)), (0, (0, 3)), (1, (0, 3)), (2, (2, 3))]],
    np.apply_over_axes: [lambda a, axes=axes: (np.sum, a(2, 3, 4), axes) for axes in (0, [0, 2], (-1,), [0, -1], [])] + [lambda a: (np.cumsum, a(2, 3), [0, 1]), lambda a: (lambda x, axis: x[0, 0], a(2, 3, 4), 0)],
    np.ravel_multi_index: [lambda a: ((places(0, 1), places(2, 1)), (2, 3)), lambda a: (places([0, 1], [2, 1]), (2, 3)), lambda a: ((1, 2), (2, 3)), lambda a: ((places([0], [1]), places(0, 2)), (2, 3)), lambda a: ((5, 1), (2, 3)), lambda a: ((a(2), a(2)), (200, 200)), lambda a: ((1,), (2, 3)),
                           lambda a: ((places(7, -1), places(2, 1)), (2, 3), ("clip", "wrap")), lambda a: ([1, 2], (2, 3))],
    np.unravel_index: [lambda a: (places(1, 5), (2, 3)), lambda a: (4, (2, 3)), lambda a: (places([1, 2], [0, 5]), (2, 3)), lambda a: (places(9), (2, 3)), lambda a: ([1, 2], (2, 3)), lambda a: (a(2), (20, 20)), lambda a: (places(2), 5), lambda a: (np.asfortranarray(places([1, 2], [0, 5])), (2, 3)), lambda a: (np.array(3), (2, 3))],
    np.diag_indices_from: shaped([(3, 3)], [(2, 3)], [(2, 2, 2)], [(3,)]), **dict.fromkeys([np.tril_indices_from, np.triu_indices_from], shaped([(3, 3)], [(2, 3)], [(2, 2, 2)], [(3,)])),
    np.ix_: [lambda a: (places(0, 2), places(1)), lambda a: (a(3),), lambda a: ([1, 2], [True, False, True]), lambda a: ([], [1]), lambda a: (a(2, 3),), lambda a: (a(3, dtype="?"), a(0))],
    np.place: [lambda a: (a(2, 3, layout="C"), a(2, 3, dtype="?"), a(2)), lambda a: (a(2, 3, layout="C"), a(2, 3, dtype="?"), a(7)), lambda a: (a(3, layout="C"), [True, False, True], a(1))],
    np.putmask: [lambda a: (a(2, 3, layout="C"), a(2, 3, dtype="?"), a(2, 3)), lambda a: (a(2, 3, layout="C"), a(2, 3, dtype="?"), a(2)), lambda a: (a(3, layout="C"), [True, False, True], a(1))],
    **dict.fromkeys([np.intersect1d, np.setxor1d, np.setdiff1d, np.union1d], SETS),
    np.isin: [*shaped([(2, 3), (4,)], [(5,), (2, 3)], [(), (3,)], [(0,), (3,)], [(3,), (0,)], [(3,), ()]), lambda a: (a(5), a(3, dtype="f4")), lambda a: (a(5), [1, 2]), lambda a: (2, a(5)), lambda a: (a(3), 1)],
    np.unique: [*ONE, lambda a: (a(9, 2),)],
    np.trim_zeros: [lambda a: (np.pad(a(3), 2),), lambda a: (np.zeros_like(a(3)),), lambda a: (a(0),), lambda a: (np.pad(a(4), 2)[::-1],)]
    + ([lambda a: (np.pad(a(2, 2), ((1, 0), (2, 1))),), lambda a: (a(),), lambda a: (np.pad(a(2, 2), 1)[::-1],)] if "axis" in signature(np.trim_zeros).parameters else []),
}  # fmt: skip
POLYNOMIALS: dict[Any, list[Make]] = {
    np.vander: [*shaped([(3,)], [(0,)], [(2, 3)]), *with_rest([(3,), 2], [(3,), 0], [(3,), -1], [(3,), 4, True])],
    np.polyval: [*shaped([(3,), (2, 3)], [(3,), ()], [(3, 2), (2,)], [(0,), (3,)], [(), (3,)], [(1,), (3,)]), lambda a: (a(3), 2), lambda a: ([1, 2.5], a(2, 3)), lambda a: (a(3), 1.5),
        lambda a: (a(3), a(2, dtype="f4")), lambda a: (np.poly1d([1, 2]), a(3)), lambda a: (a(3), np.poly1d([1, 2]))],
    **{key: [*shaped([(3,), (3,)], [(3,), (2,)], [(1,), (4,)], [(), (3,)]), lambda a: (a(3), [1, 2.5]), lambda a: (a(3), a(2, dtype="f4")), lambda a: (np.poly1d([1, 2]), [3, 4, 5.0]), lambda a: ([0, 0, 1, 2], a(3))] for key in (np.polyadd, np.polysub, np.polymul)},
    np.polydiv: [*shaped([(4,), (2,)], [(2,), (3,)], [(3,), (1,)], [(3,), (3,)]), lambda a: (a(4), [1, 2.5]), lambda a: (np.poly1d([1, 2, 1]), np.poly1d([1, 1]))],
    np.polyder: [*shaped([(4,)], [(1,)], [(4, 2)]), *with_rest([(4,), 2], [(4,), 0], [(2,), 5], [(4,), -1]), lambda a: (np.poly1d([1, 2, 1]),)],
    np.polyint: [*shaped([(4,)], [(1,)]), *with_rest([(4,), 2], [(4,), 0], [(4,), 2, [1, 2.5]], [(4,), 2, 3], [(4,), -1], [(4,), 3, [1, 2]]), lambda a: (np.poly1d([1, 2, 1]),), lambda a: (a(4), 2, a(2))],
    np.polyfit: [lambda a, s=s, d=d: (np.arange(5.0) + a(5) * 0, a(*s), d) for s, d in [((5,), 1), ((5, 2), 2), ((5,), 0), ((5,), -1), ((4,), 1), ((), 1), ((5,), 5)]] + shaped([(5, 2), (5,)], [(5,), (5,), ()]),  # type: ignore[misc]
    np.roots: [*shaped([(4,)], [(1,)], [(2, 2)]), lambda a: (a.dtype.type([1, 6, 11, 6]),), lambda a: ([0, *a(3), 0],), lambda a: (np.zeros(3, a.dtype),), lambda a: (a.dtype.type([1, 0, 1]),)],
    np.poly: [*shaped([(3,)], [(0,)], [(2, 2)], [(2, 3)]), lambda a: (np.array([1 + 1j, 1 - 1j]).astype(np.result_type(a.dtype, "c8")),)],
    np.polynomial.polynomial.polyval2d: [*shaped([(3,), (3,), (2, 4)], [(), (), (2, 4)], [(3,), (2,), (2, 4)], [(2, 2), (2, 2), (2, 3)]), lambda a: (a(3), [1, 2, 3], a(2, 2)), lambda a: (1.5, 2, a(2, 3))],
    np.polynomial.polynomial.polygrid2d: [*shaped([(3,), (2,), (2, 4)], [(), (3,), (2, 4)], [(2, 2), (3,), (2, 3)]), lambda a: ([1, 2], a(3), a(2, 2)), lambda a: (1.5, 2, a(2, 3))],
}  # fmt: skip
CALLS |= POLYNOMIALS
CALLS |= {key: [*ONE, lambda a: (-a(3),) if a.dtype.kind not in "bu" else (a(3),), lambda a: (-2,), lambda a: (0.5,), lambda a: ([1, -2],)] for key in [np.emath.sqrt, np.emath.log, np.emath.log2, np.emath.log10, np.emath.arccos, np.emath.arcsin, np.emath.arctanh]}
CALLS |= {np.emath.logn: [*TWO[:6], *MIXED[:2], lambda a: (-2, a(3))], np.emath.power: [*TWO[:6], *MIXED[:2], lambda a: (a(3), -2), lambda a: (-2, a(3)), lambda a: (a(3), [-1, 2, 0.5])]}
FFTS = [getattr(np.fft, way + name) for name in ("fft", "fft2", "fftn") for way in ("", "i", "r", "ir")] + [np.fft.hfft, np.fft.ihfft]
CALLS |= dict.fromkeys(FFTS, shaped([(2, 3)], [(3,)], [()], [(2, 3, 4)], [(0, 3)]))  # of (3, 0) and n NumPy's irfft gives what memory held
QS: list[Any] = [0.3, 1, np.array([0.1, 0.75]), np.array([[0.2], [0.9]]), [0, 1], np.float32(0.3), 1.5]
OF_PARTS: list[Make] = [lambda a, s=s, q=q: (a(*s), q) for s, q in zip([(2, 3), (5,), (2, 3, 4), (4,), (2, 3), (3, 2), (3,)], QS, strict=True)]  # type: ignore[misc]
OF_PARTS += [lambda a: (a(), 0.5), lambda a: (a(0, 3), 0.5), lambda a: (a(1), 0), lambda a: (a(3), -0.1)]
OF_HUNDRED: list[Make] = [lambda a, make=make: (make(a)[0], [100 * q for q in q] if isinstance(q := make(a)[1], list) else 100 * q) for make in OF_PARTS]  # type: ignore[misc]
CALLS |= {
    np.quantile: OF_PARTS, np.nanquantile: OF_PARTS, np.percentile: OF_HUNDRED, np.nanpercentile: OF_HUNDRED,
    **dict.fromkeys([np.cov, np.corrcoef], shaped([(2, 3)], [(3,)], [()], [(0, 3)], [(2, 0)], [(2, 3), (2, 3)], [(3,), (3,)], [(2, 3), (3,)], [(2, 3, 1)], [(3, 1)])),
    **{function: [*shaped([(5,), (3,)], [(3,), (5,)], [(4,), (4,)], [(1,), (3,)], [(), (3,)], [(2, 3), (2,)], [(0,), (3,)]), lambda a: ([1, 2, 3.5], a(2)), lambda a: (a(4), a(3, dtype="f4"))] for function in (np.convolve, np.correlate)},
    np.gradient: [*shaped([(4,)], [(4, 3)], [(2, 3, 4)], [()], [(1,)], [(0, 3)]), *with_rest([(4,), 2.0], [(4, 3), 2, np.float32(0.5)], [(5,), np.array([0, 1, 3, 4.5, 7])], [(5,), np.arange(5)], [(4, 3), [0, 1, 2.5, 3], [1, 2, 4]], [(4, 3), 1, 2, 3],
        [(5,), np.arange(4)], [(4,), np.ones((2, 2))], [(3, 4), 0.5, np.array([0, 0.5, 2, 3], "f4")])],
    np.histogram: shaped([(2, 3)], [(7,)], [(3,)], [()], [(0, 3)]), np.histogram_bin_edges: shaped([(2, 3)], [(7,)], [()], [(0,)]),
    np.histogram2d: shaped([(7,), (7,)], [(3,), (3,)], [(3,), (2,)]), np.histogramdd: [*shaped([(5, 2)], [(4, 3)], [(4,)]), lambda a: ([a(5), a(5)],)],
    np.bincount: [lambda a: (np.array([0, 2, 1, 2]), a(4)), *shaped([(5,)], [(3,)], [(2, 3)], [()], [(0,)]), lambda a: ([1, 4, 1],)],
    np.digitize: [lambda a: (a(2, 3), np.sort(a(4))), lambda a: (a(3), np.array([3.0, 2, 1])), lambda a: (1.5, np.arange(4)), lambda a: (a(), [1, 2]), lambda a: (a(3), [1, 3, 2]), lambda a: (a(0, 3), a(1)), lambda a: (a(3), a(2, 2))],
    np.interp: [lambda a: (a(2, 3), np.sort(a(5)), a(5)), lambda a: (a(), np.sort(a(4)), a(4, dtype="f8")), lambda a: (1.5, np.arange(3.0), a(3)), lambda a: (a(0, 3), np.arange(3), a(3, dtype="c16")),
                lambda a: (a(3), np.array([1.0]), a(1)), lambda a: (a(3), np.arange(3.0), a(2)), lambda a: (a(3), a(2, 3), a(2, 3)), lambda a: ([0.5, 2], [0, 1, 3], [4.0, 2, 1]), lambda a: (a(3), a(0), a(0))],
}  # fmt: skip
if hasattr(np, "unstack"):
    CALLS[np.unstack] = ONE
TAME = set(LINALG) | set(POLYNOMIALS) | {np.histogram, np.histogram_bin_edges, np.histogram2d, np.histogramdd}  # of numbers that are finite and not 0

# -- keywords --------------------------------------------------------------------------------------------------------------------


def mask(a: Arrays) -> Any:
    return np.array([True, False, True])


KEYWORDS: dict[str, list[Any]] = {
    "axis": [0, -1, None, (0, 1), [0, 1], (), 5, (0, 0), np.int64(0)],
    "n": [2, 0, -1, 5], "s": [(2, 4), None, (3,)], "norm": ["ortho", "forward", "backward", None, "other"],
    "axes": [None, (1, 0), (0,), 1, [0, 1]],
    "axis1": [1], "axis2": [0], "axisa": [0], "axisb": [0], "axisc": [0], "start": [1],
    "dtype": ["f4", "f8", "i8", "i2", "c16", "?", ">f8", None],
    "keepdims": [True, False, np.True_],
    "initial": [0, 3, 1.5, None],
    "where": [mask, True, False],
    "order": ["C", "F", "A", "K"],
    "subok": [True, False],
    "copy": [True, False, None],
    "kind": ["quicksort", "stable", "heapsort", "introselect"],
    "stable": [True, False, None],
    "side": ["left", "right"],
    "sorter": [lambda a: places(*range(5)), lambda a: places(4, 3, 2, 1, 0)],
    "casting": ["same_kind", "unsafe", "no", "equiv", "safe"],
    "device": ["cpu", None, "gpu"],
    "shape": [(3, 2), 4, None, ()],
    "ddof": [1, 0.5, 7], "correction": [1], "mean": [lambda a: np.float64(1.5)],
    "weights": [lambda a: np.array([1.0, 2.0, 0.5]), lambda a: np.zeros(3), lambda a: a(2, 3), lambda a: np.ones(2)],
    "returned": [True],
    "overwrite_input": [True], "prepend": [1, lambda a: a(2, 1)], "append": [0], "decimals": [1, -1, 0, 2],
    "deg": [True], "nan": [1.5, 2], "posinf": [9.0], "neginf": [-9], "rtol": [0.5], "atol": [1.0], "equal_nan": [True],
    "indexing": ["ij", "xy", "ab"], "sparse": [True], "k": [1, -1, 2], "offset": [1, -1, 5], "ord": [1, 2, 0, 3, -1, -2, np.inf, -np.inf, 0.5, "fro", "nuc", None],
    # of np.pad, np.take and np.linalg.qr
    "method": ["linear", "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased", "lower", "higher",
               "midpoint", "nearest", "none"],
    "y": [lambda a: a(2, 3)], "rowvar": [False, True], "fweights": [np.array([1, 2, 3]), np.array([1.5, 1, 2]), np.array([1, 2])], "aweights": [np.array([0.5, 2, 1]), np.array([-1, 1, 1])],
    "edge_order": [2, 1, 3], "discont": [1.0, None, 4], "to_end": [1, lambda a: a(2), 1j], "to_begin": [lambda a: a(2, 2), 7], "include_initial": [True, False], "right": [True, -1, None],
    "bins": [3, 1, 0, 2.5, "auto", "sqrt", "none", np.array([0.0, 1, 2.5]), [2, 1], [2, 3], ((0, 1, 2), (0, 2))], "range": [(0, 2), (1, 1), (2, 1), (0.0, np.inf), [(0, 3), (0.5, 4)]], "density": [True, False], "minlength": [4, 0, -1, 200],
    "left": [1.5, None, 2j], "period": [2.0, 3, -1.5, 0],
    "mode": ["edge", "reflect", "wrap", "symmetric", "constant", "mean", "linear_ramp", "maximum", "empty", "raise", "clip", "reduced", "complete", "r", "raw", "economic", "full", "f", "valid", "same"],
    "num": [5, 1, 0], "endpoint": [False], "retstep": [True], "return_index": [True], "return_inverse": [True], "return_counts": [True], "sorted": [True, False],
    "base": [2.0, 3, lambda a: a(2)], "writeable": [True],
    "tol": [0.5, 1e-9, lambda a: np.array([0.5])], "p": [1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc", 3], "ind": [1, 2, 0], "N": [2, 0, None], "increasing": [True], "m": [2, 0], "full": [True], "w": [lambda a: np.array([1.0, 2.0, 0.5, 1.0, 3.0]), lambda a: np.ones(2)], "cov": [True, "unscaled"],
    "UPLO": ["L", "U"], "upper": [True], "assume_unique": [True], "return_indices": [True], "invert": [True], "trim": ["f", "b", "bf", "FB", "x"], "default": [2, 2.5, lambda a: a(3), lambda a: a(), True], "full_matrices": [False, True], "compute_uv": [False], "hermitian": [True, False], "rcond": [1e-3, None, -1, 0.5], "optimize": [True, False, "greedy"],
    "dx": [2.0, 1, np.float32(2)], "wrap": [True], "constant_values": [1, (1, 2)], "ndmin": [3], "reps": [2], "min": [1], "max": [2], "like": [], "x": [], "fill_value": [], "a_min": [], "a_max": [], "bias": [True],
}  # fmt: skip
OUT = [lambda out: out.copy(), lambda out: out.astype("c16"), lambda out: out.astype("f4"), lambda out: np.empty((7, *out.shape), out.dtype)]


def keywords_of(function: Any) -> list[str]:
    try:
        found = signature(function).parameters.values()
    except ValueError:
        return []
    return [p.name for p in found if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY) and p.default is not Parameter.empty]


def flagged(make: Make, name: str, value: Any) -> Any:
    def with_flag(a: Arrays) -> Any:
        args = make(a)
        return args, {name: value(a) if callable(value) and not isinstance(value, type) else value}

    return with_flag


def with_out(function: Any, make: Make, change: Any) -> Any:
    def with_flag(a: Arrays) -> Any:
        args = make(a)
        try:
            with np.errstate(all="ignore"), catch_warnings(action="ignore"):
                out = change(np.array(function(*args)))
        except Exception:
            out = np.zeros(())
        a.made.append(out)
        return args, {"out": out}

    return with_flag


def plain(make: Make) -> Any:
    return lambda a: (make(a), {})


def calls_of(name: str, function: Any, every: bool) -> Iterator[Call]:
    """The calls of one function: without keywords in all dtypes, and each value of each keyword with dtypes and layouts in turn."""
    ufunc = isinstance(function, np.ufunc)
    makes = CALLS.get(function) or (shaped([(2, 3), (3,), (2, 1)]) if ufunc and function.nin == 3 else shaped([(2, 3)], [(3,)], [()], [(0, 3)]) if ufunc and function.nin == 1 else TWO + MIXED if ufunc else ONE)
    if name in ("np.matvec", "np.vecmat"):
        makes = shaped([(2, 3), (3,)], [(3,), (3, 2)], [(4, 2, 3), (3,)], [(2, 3), (4, 3)], [(2, 3), (2, 3)], [(), (3,)], [(4, 3), (4, 3, 2)], [(2, 0), (0,)])
    if function in (np.matmul, np.vecdot):
        makes = shaped([(2, 3), (3, 2)], [(3,), (3,)], [(2, 3), (3,)], [(3,), (3, 2)], [(2, 2, 3), (3, 2)], [(2, 0), (0, 3)], [(2, 3), (2, 3)], [(), (3,)])
    turn, tame = count(), function in TAME
    for i, make in enumerate(makes):
        for j, dtype in enumerate(DTYPES):
            for layout in LAYOUTS if every else {"C", LAYOUTS[(i + j) % len(LAYOUTS)]}:
                yield Call(name, function, plain(make), dtype, layout, tame, ())
    names = ["where", "dtype", "casting", "order", "subok"] if ufunc else [k for k in keywords_of(function) if k != "out"]
    for keyword in names:
        for value in KEYWORDS.get(keyword, ["MISSING"]):
            if ufunc and keyword == "where":
                continue  # without out= the others are whatever was there
            for make in makes:
                many = DTYPES if every else [DTYPES[(next(turn) * 5) % len(DTYPES)] for _ in range(2)]
                for dtype in many:
                    layout = LAYOUTS[next(turn) % len(LAYOUTS)]
                    yield Call(name, function, flagged(make, keyword, value), dtype, layout, tame, (keyword,))
    if ufunc or "out" in keywords_of(function):
        for change in OUT:
            for make in makes:
                dtype = DTYPES[(next(turn) * 5) % len(DTYPES)]
                yield Call(name, function, with_out(function, make, change), dtype, "C", tame, ("out",))
