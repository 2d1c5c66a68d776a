"""Fifteen operators of every kind, which the conformance suite runs in every framework; worker processes import this module.

Eleven are those of torch's custom_op_db, two are pages of the gallery, and two are here: one of a signature, and one of a list of
arrays and a dataclass. `CASES` has them with samples of their arguments.
"""

import io
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from custom_op_db import ENTRIES

from dispatch import custom_op

sys.path.append(str(Path(__file__).parents[1] / "docs" / "gallery"))  # a worker process gets the path of the one that starts it
with redirect_stdout(io.StringIO()):  # a page prints what it shows
    from photograph import crop
    from solver import solve

# -- a signature: one item in the kernel, loops around it --------------------------------------------------------------------


@custom_op("conformance::bilinear", mutates_args=(), signature="(m,n),(m),(n)->()")
def bilinear(a: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The form x a y of one matrix and two vectors."""
    return np.asarray(x @ a @ y)


def _keep_all(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


@bilinear.register_autograd(setup_context=_keep_all)
def _(ctx, g):
    a, x, y = ctx.saved_tensors
    g = g[..., None]
    for_a = (g * x)[..., :, None] * y[..., None, :]
    for_x = g * np.matmul(a, y[..., None])[..., 0]
    for_y = g * np.matmul(np.swapaxes(a, -1, -2), x[..., None])[..., 0]
    return tuple([_summed(found, of.shape) for found, of in zip((for_a, for_x, for_y), ctx.saved_tensors, strict=True)])


def _summed(g, shape):
    """A gradient, summed over the loop axes that its array has not."""
    return np.sum(g, axis=tuple(range(g.ndim - len(shape))))


# -- a list of arrays and a dataclass ----------------------------------------------------------------------------------------


@dataclass
class Spring:
    """A spring between two masses: how stiff, and how long."""

    stiffness: np.ndarray
    length: np.ndarray


@custom_op("conformance::stretch", mutates_args=())
def stretch(ends: list[np.ndarray], spring: Spring, power: int = 2) -> np.ndarray:
    """The energy of springs from each point to the next."""
    first, second = ends
    return spring.stiffness * (second - first - spring.length) ** power


@stretch.register_fake
def _(ends, spring, power):
    return np.empty_like(spring.stiffness * ends[0])


def _keep_ends(ctx, inputs, output):
    ends, spring, ctx.power = inputs
    ctx.save_for_backward(*ends, spring.stiffness, spring.length)


@stretch.register_autograd(setup_context=_keep_ends)
def _(ctx, g):
    first, second, stiffness, length = ctx.saved_tensors
    gap = second - first - length
    slope = g * stiffness * ctx.power * gap ** (ctx.power - 1)
    return [-slope, slope], Spring(g * gap**ctx.power, -slope), None


@stretch.register_vmap
def _(info, in_dims, ends, spring, power):
    (first, second), (stiffness, length) = in_dims[:2]
    lead = lambda x, dim: np.broadcast_to(x, (info.batch_size, *x.shape)) if dim is None else np.moveaxis(x, dim, 0)
    held = Spring(lead(spring.stiffness, stiffness), lead(spring.length, length))
    return stretch([lead(ends[0], first), lead(ends[1], second)], held, power), 0


# -- the cases ---------------------------------------------------------------------------------------------------------------


class Slot:
    """Stands among the arguments of a call where a floating-point array goes."""

    def __init__(self, number: int) -> None:
        self.number = number


def rebuilt(x: Any, f: Callable[[Any], Any]) -> Any:
    """An argument with a function of its leaves in their places; plain Python, so that torch.compile can look into it."""
    if isinstance(x, (list, tuple)):
        return type(x)([rebuilt(y, f) for y in x])
    if isinstance(x, Spring):
        return Spring(rebuilt(x.stiffness, f), rebuilt(x.length, f))
    return f(x)


class Call:
    """The arguments of one call, with a slot for each floating-point array.

    `loops` says how many axes of those, from the front, the operator loops over; `axes` what the others are called, by a letter each.
    """

    def __init__(
        self, args: tuple[Any, ...], keywords: dict[str, Any] | None = None, loops: int = 0, axes: Sequence[str] | None = None
    ) -> None:
        self.floats: list[np.ndarray] = []
        self.keywords, self.loops, self.axes = keywords or {}, loops, axes
        self.args = rebuilt(args, self._taken)

    def _taken(self, x: Any) -> Any:
        if not (isinstance(x, np.ndarray) and x.dtype.kind == "f"):
            return x
        self.floats.append(x)
        return Slot(len(self.floats) - 1)

    def with_floats(self, floats: Sequence[Any]) -> tuple[Any, ...]:
        """The positional arguments, with arrays in the slots."""
        return rebuilt(self.args, lambda x: floats[x.number] if isinstance(x, Slot) else x)

    def with_integers(self, f: Callable[[np.ndarray], Any]) -> "Call":
        """The same call, a function of each array of integers in its place."""
        made = Call((), self.keywords, self.loops, self.axes)
        made.floats = self.floats
        made.args = rebuilt(self.args, lambda x: f(x) if isinstance(x, np.ndarray) else x)
        return made


class Case(NamedTuple):
    """One operator: what kind it is of, and samples of calls."""

    name: str
    kind: str
    op: Any
    calls: tuple[Call, ...]
    differentiable: bool = True


KINDS = {
    "numpy_cube": "two results",
    "numpy_mul": "two arrays that broadcast",
    "numpy_mul_scalar": "a keyword-only number",
    "numpy_sort": "integers beside floats in its results",
    "numpy_take": "integer arrays among its arguments",
    "numpy_nonzero": "a shape that depends on data",
    "numpy_nms": "a shape that depends on data, of two arrays",
    "numpy_view_copy": "a list of numbers",
    "numpy_cat": "a list of arrays",
    "numpy_split_copy": "a list of arrays as its result",
    "numpy_split_copy_with_int": "the same, and a number",
}

_random = np.random.default_rng(0)
_matrices = _random.normal(size=(3, 4, 4)) + 4 * np.eye(4)
_vectors = _random.normal(size=(3, 4))
_points = [np.sort(_random.normal(size=(2, 5)), axis=-1) for _ in range(2)]
_spring = Spring(_random.uniform(1, 2, size=(2, 5)), _random.uniform(size=(2, 5)))

CASES = (
    *[
        Case(e.op.schema.name, KINDS[e.op.schema.name], e.op, tuple([Call(s.args, s.kwargs) for s in e.samples]), e.differentiable)
        for e in ENTRIES
    ],
    Case("lu::solve", "a residual: factors kept for the backward", solve, (Call((_matrices[0], _vectors[0])), Call((_matrices, _vectors)))),
    Case("photo::crop", "a result that is not in C order", crop, (Call((_random.normal(size=(3, 7, 9)), (2, 1, 7, 5)),),)),
    Case("bilinear", "`signature=`", bilinear, (
        Call((_matrices[0], _vectors[0], _vectors[1]), axes=("mn", "m", "n")),
        Call((_matrices, _vectors, _vectors[::-1].copy()), loops=1, axes=("mn", "m", "n")),
    )),
    Case("stretch", "a list of arrays and a dataclass", stretch, (Call((_points, _spring)), Call((_points, _spring, 3)))),
)  # fmt: skip
