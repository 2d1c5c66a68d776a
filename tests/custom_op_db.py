"""Eleven operators over NumPy, each with a shape rule, a gradient and a batching rule: what the contract is held against.

Their names and schemas are those of torch's custom_op_db. `ENTRIES` lists them with samples of their arguments; floating-point
arrays among those are what is differentiated.
"""

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

import dispatch
from dispatch import Tag, custom_op
from dispatch.errors import BatchingError
from dispatch.library import get_ctx


def leading(x, dim, size):
    """An argument of a batching rule, the batch its first axis: moved there, or repeated."""
    return np.broadcast_to(x, (size, *x.shape)) if dim is None else np.moveaxis(x, dim, 0)


def behind(dim, rank):
    """An axis of an item, counted in the batch that has one axis before it."""
    return dim % rank + 1


# -- NumpyCube: two outputs, the second the first's derivative ---------------------------------------------------------------


@custom_op("db::numpy_cube", mutates_args=(), tags=Tag.pointwise)
def numpy_cube(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x**3, 3 * x**2


@numpy_cube.register_fake
def _(x):
    return np.empty_like(x), np.empty_like(x)


def _keep_cube(ctx, inputs, output):
    ctx.save_for_backward(inputs[0], output[1])


@numpy_cube.register_autograd(setup_context=_keep_cube)
def _(ctx, g, g_slope):
    x, slope = ctx.saved_tensors
    return numpy_mul(g, slope) + numpy_mul_scalar(numpy_mul(g_slope, x), scalar=6.0)


@numpy_cube.register_vmap
def _(info, in_dims, x):
    return numpy_cube(x), (in_dims[0], in_dims[0])


# -- NumpyMul: two arguments, either or both in a batch ----------------------------------------------------------------------


@custom_op("db::numpy_mul", mutates_args=(), tags=Tag.pointwise)
def numpy_mul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.multiply(x, y)


@numpy_mul.register_fake
def _(x, y):
    return x * y


def _keep_both(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


@numpy_mul.register_autograd(setup_context=_keep_both)
def _(ctx, g):
    x, y = ctx.saved_tensors
    return (
        numpy_mul(g, y) if ctx.needs_input_grad[0] else None,
        numpy_mul(g, x) if ctx.needs_input_grad[1] else None,
    )


@numpy_mul.register_vmap
def _(info, in_dims, x, y):
    x, y = leading(x, in_dims[0], info.batch_size), leading(y, in_dims[1], info.batch_size)
    rank = max(x.ndim, y.ndim)
    x, y = (np.reshape(a, (a.shape[0], *(1,) * (rank - a.ndim), *a.shape[1:])) for a in (x, y))
    return numpy_mul(x, y), 0


# -- NumpyMulScalar: a keyword-only number -----------------------------------------------------------------------------------


@custom_op("db::numpy_mul_scalar", mutates_args=(), tags=Tag.pointwise)
def numpy_mul_scalar(x: np.ndarray, *, scalar: float) -> np.ndarray:
    return np.multiply(x, scalar)


@numpy_mul_scalar.register_fake
def _(x, *, scalar):
    return x * scalar


def _keep_scalar(ctx, inputs, output):
    ctx.scalar = inputs[1]


@numpy_mul_scalar.register_autograd(setup_context=_keep_scalar)
def _(ctx, g):
    return numpy_mul_scalar(g, scalar=ctx.scalar), None


@numpy_mul_scalar.register_vmap
def _(info, in_dims, x, *, scalar):
    return numpy_mul_scalar(x, scalar=scalar), in_dims[0]


# -- NumpySort: outputs without a gradient beside one that has it ------------------------------------------------------------


@custom_op("db::numpy_sort", mutates_args=())
def numpy_sort(x: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order = np.argsort(x, axis=dim, kind="stable")
    return np.take_along_axis(x, order, dim).copy(), order.copy(), np.argsort(order, axis=dim).copy()


@numpy_sort.register_fake
def _(x, dim):
    return np.empty(x.shape, x.dtype), np.empty(x.shape, np.intp), np.empty(x.shape, np.intp)


def _keep_order(ctx, inputs, output):
    _, order, inverse = output
    ctx.mark_non_differentiable(order, inverse)
    ctx.save_for_backward(order, inverse)
    ctx.dim = inputs[1]


@numpy_sort.register_autograd(setup_context=_keep_order)
def _(ctx, g, g_order, g_inverse):
    order, inverse = ctx.saved_tensors
    return numpy_take(g, inverse, order, ctx.dim), None


@numpy_sort.register_vmap
def _(info, in_dims, x, dim):
    x = np.moveaxis(x, in_dims[0], 0)
    return numpy_sort(x, behind(dim, x.ndim - 1)), (0, 0, 0)


# -- NumpyTake: a permutation along an axis, and its inverse -----------------------------------------------------------------


@custom_op("db::numpy_take", mutates_args=())
def numpy_take(x: np.ndarray, ind: np.ndarray, ind_inv: np.ndarray, dim: int) -> np.ndarray:
    return np.take_along_axis(x, ind, dim).copy()


@numpy_take.register_fake
def _(x, ind, ind_inv, dim):
    return np.empty(ind.shape, x.dtype)


def _keep_indices(ctx, inputs, output):
    ctx.save_for_backward(inputs[1], inputs[2])
    ctx.dim = inputs[3]


@numpy_take.register_autograd(setup_context=_keep_indices)
def _(ctx, g):
    ind, ind_inv = ctx.saved_tensors
    return numpy_take(g, ind_inv, ind, ctx.dim), None, None, None


@numpy_take.register_vmap
def _(info, in_dims, x, ind, ind_inv, dim):
    x, ind, ind_inv = (leading(a, d, info.batch_size) for a, d in zip((x, ind, ind_inv), in_dims, strict=False))
    return numpy_take(x, ind, ind_inv, behind(dim, x.ndim - 1)), 0


# -- NumpyNonzero and NumpyNMS: shapes that depend on data; indices carry no gradient, so that there is none to register -----


def _each(op, info, in_dims, args):
    """A batch of an operator of unknown output shape, where the items turn out to have one."""
    args = [x if dim is None else np.moveaxis(x, dim, 0) for x, dim in zip(args, in_dims, strict=True)]
    found = [op(*[x if dim is None else x[i] for x, dim in zip(args, in_dims, strict=True)]) for i in range(info.batch_size)]
    if len({x.shape for x in found}) > 1:
        raise BatchingError(f"{op.name}: how many indices there are differs from item to item, so that they make no batch.")
    return np.stack(found), 0


@custom_op("db::numpy_nonzero", mutates_args=(), tags=Tag.dynamic_output_shape)
def numpy_nonzero(x: np.ndarray) -> np.ndarray:
    return np.stack(np.nonzero(x), axis=1)


@numpy_nonzero.register_fake
def _(x):
    return np.empty_like(x, shape=(get_ctx().new_dynamic_size(), x.ndim), dtype=np.intp)


@numpy_nonzero.register_vmap
def _(info, in_dims, x):
    return _each(numpy_nonzero, info, in_dims, (x,))


@custom_op("db::numpy_nms", mutates_args=(), tags=Tag.dynamic_output_shape)
def numpy_nms(boxes: np.ndarray, scores: np.ndarray, iou_threshold: Number) -> np.ndarray:
    """The boxes, (x1, y1, x2, y2) each, that no better one overlaps by more than a threshold; the best first."""
    if boxes.shape != (len(scores), 4):
        raise ValueError(f"boxes have shape {boxes.shape}, and scores {scores.shape}")
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order = np.argsort(-scores, kind="stable")
    kept = []
    while order.size:
        best, order = order[0], order[1:]
        kept.append(best)
        low = np.maximum(boxes[best, :2], boxes[order, :2])
        high = np.minimum(boxes[best, 2:], boxes[order, 2:])
        shared = np.prod(np.clip(high - low, 0, None), axis=1)
        order = order[shared <= iou_threshold * (areas[best] + areas[order] - shared)]
    return np.array(kept, np.intp)


@numpy_nms.register_fake
def _(boxes, scores, iou_threshold):
    return np.empty_like(scores, shape=(get_ctx().new_dynamic_size(),), dtype=np.intp)


@numpy_nms.register_vmap
def _(info, in_dims, boxes, scores, iou_threshold):
    return _each(numpy_nms, info, in_dims, (boxes, scores, iou_threshold))


# -- NumpyViewCopy: a list of ints -------------------------------------------------------------------------------------------


@custom_op("db::numpy_view_copy", mutates_args=())
def numpy_view_copy(x: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    return np.reshape(x, tuple(shape)).copy()


@numpy_view_copy.register_fake
def _(x, shape):
    return np.empty(np.reshape(x, tuple(shape)).shape, x.dtype)


def _keep_shape(ctx, inputs, output):
    ctx.shape = inputs[0].shape


@numpy_view_copy.register_autograd(setup_context=_keep_shape)
def _(ctx, g):
    return numpy_view_copy(g, ctx.shape), None


@numpy_view_copy.register_vmap
def _(info, in_dims, x, shape):
    x = np.moveaxis(x, in_dims[0], 0)
    item = np.reshape(np.empty(x.shape[1:]), tuple(shape)).shape  # a -1 stands for what is left of an item, not of the batch
    return numpy_view_copy(x, (info.batch_size, *item)), 0


# -- NumpyCat: a list of arrays ----------------------------------------------------------------------------------------------


@custom_op("db::numpy_cat", mutates_args=())
def numpy_cat(xs: Sequence[np.ndarray], dim: int) -> np.ndarray:
    return np.concatenate(xs, axis=dim).copy()


@numpy_cat.register_fake
def _(xs, dim):
    shape = list(xs[0].shape)
    shape[dim] = sum(x.shape[dim] for x in xs)
    return np.empty(tuple(shape), np.result_type(*(x.dtype for x in xs)))


def _keep_lengths(ctx, inputs, output):
    xs, ctx.dim = inputs
    ctx.lengths = [x.shape[ctx.dim] for x in xs]


@numpy_cat.register_autograd(setup_context=_keep_lengths)
def _(ctx, g):
    sections = np.cumsum(ctx.lengths)[:-1].tolist()
    return numpy_split_copy(g, sections, ctx.dim), None


@numpy_cat.register_vmap
def _(info, in_dims, xs, dim):
    xs = [leading(x, d, info.batch_size) for x, d in zip(xs, in_dims[0], strict=True)]
    return numpy_cat(xs, behind(dim, xs[0].ndim - 1)), 0


# -- NumpySplitCopy and NumpySplitCopyWithInt: lists of arrays as outputs ----------------------------------------------------


@custom_op("db::numpy_split_copy", mutates_args=())
def numpy_split_copy(x: np.ndarray, sections: Sequence[int], dim: int) -> list[np.ndarray]:
    return [part.copy() for part in np.split(x, sections, axis=dim)]


def _parts(x, sections, dim):
    edges = [slice(start, stop).indices(x.shape[dim]) for start, stop in zip([0, *sections], [*sections, None], strict=True)]
    shape = list(x.shape)
    made = []
    for start, stop, _ in edges:
        shape[dim] = max(stop - start, 0)
        made.append(np.empty(tuple(shape), x.dtype))
    return made


@numpy_split_copy.register_fake
def _(x, sections, dim):
    return _parts(x, sections, dim)


def _keep_dim(ctx, inputs, output):
    ctx.dim = inputs[2]


@numpy_split_copy.register_autograd(setup_context=_keep_dim)
def _(ctx, grads):
    return numpy_cat(grads, ctx.dim), None, None


@numpy_split_copy.register_vmap
def _(info, in_dims, x, sections, dim):
    x = np.moveaxis(x, in_dims[0], 0)
    return numpy_split_copy(x, sections, behind(dim, x.ndim - 1)), 0


@custom_op("db::numpy_split_copy_with_int", mutates_args=())
def numpy_split_copy_with_int(x: np.ndarray, sections: Sequence[int], dim: int) -> tuple[list[np.ndarray], int]:
    parts = [part.copy() for part in np.split(x, sections, axis=dim)]
    return parts, len(parts)


@numpy_split_copy_with_int.register_fake
def _(x, sections, dim):
    return _parts(x, sections, dim), len(sections) + 1


@numpy_split_copy_with_int.register_autograd(setup_context=_keep_dim)
def _(ctx, grads, count):
    return numpy_cat(grads, ctx.dim), None, None


@numpy_split_copy_with_int.register_vmap
def _(info, in_dims, x, sections, dim):
    x = np.moveaxis(x, in_dims[0], 0)
    parts, count = numpy_split_copy_with_int(x, sections, behind(dim, x.ndim - 1))
    return (parts, count), (0, None)


# -- samples -----------------------------------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = {}  # noqa: RUF012 - of a named tuple, and nobody writes to it

    def mapped(self, f: Callable[[np.ndarray], Any]) -> "Sample":
        """The same call with a function of every floating-point array in place of the array."""

        def of(x):
            if isinstance(x, list):
                return [of(item) for item in x]
            return f(x) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x

        return Sample(tuple(map(of, self.args)), self.kwargs)

    def tracked(self) -> "Sample":
        return self.mapped(lambda x: dispatch.tensor(x, requires_grad=True))

    @property
    def floats(self) -> list[np.ndarray]:
        """The arrays that `mapped` replaces, in its order."""
        found = []
        self.mapped(found.append)
        return found

    def with_floats(self, arrays: Sequence[Any]) -> "Sample":
        """The same call with other floating-point arrays."""
        left = iter(arrays)
        return self.mapped(lambda x: next(left))


class Entry(NamedTuple):
    """One operator of the list."""

    op: Any
    samples: tuple[Sample, ...]
    differentiable: bool = True


def _values(*shape, seed=0):
    """Numbers that are all different and none near 0, in no order."""
    count = int(np.prod(shape))
    return np.random.default_rng(seed + count).permutation(np.linspace(0.3, 2.1, count)).reshape(shape)


def _permutation(*shape, dim):
    order = np.argsort(_values(*shape, seed=7), axis=dim)
    return order, np.argsort(order, axis=dim)


_BOXES = np.array([[0, 0, 2, 2], [0.1, 0.1, 2, 2.2], [3, 3, 4, 5], [3.1, 3, 4, 5.5], [8, 1, 9, 3]], float)

ENTRIES = [
    Entry(numpy_cube, (Sample((_values(3, 4),)), Sample((_values(2, 1, 5),)), Sample((_values(),)))),
    Entry(
        numpy_mul,
        (
            Sample((_values(3, 4), _values(3, 4, seed=1))),
            Sample((_values(2, 5), _values(5))),
            Sample((_values(), _values(3, 2))),
        ),
    ),
    Entry(numpy_mul_scalar, (Sample((_values(3, 4),), {"scalar": 3.14}), Sample((_values(5),), {"scalar": -1.0}))),
    Entry(numpy_sort, (Sample((_values(3, 5), 0)), Sample((_values(3, 5), -1)), Sample((_values(2, 4, 3), 1)))),
    Entry(
        numpy_take,
        (
            Sample((_values(4, 5), *_permutation(4, 5, dim=0), 0)),
            Sample((_values(2, 4, 3), *_permutation(2, 4, 3, dim=1), -2)),
        ),
    ),
    Entry(
        numpy_nonzero,
        (Sample((np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]),)), Sample((np.arange(7) % 3,))),
        differentiable=False,
    ),
    Entry(
        numpy_nms,
        (Sample((_BOXES, _values(5), 0.3)), Sample((_BOXES[:3], _values(3), 1))),
        differentiable=False,
    ),
    Entry(numpy_view_copy, (Sample((_values(3, 4), [2, 6])), Sample((_values(2, 3, 5), (5, -1))), Sample((_values(6), [6])))),
    Entry(
        numpy_cat,
        (
            Sample(([_values(2, 3), _values(5, 3), _values(1, 3)], 0)),
            Sample(([_values(2, 3, 4), _values(2, 3, 1)], -1)),
            Sample(([_values(7)], 0)),
        ),
    ),
    Entry(
        numpy_split_copy,
        (Sample((_values(3, 7), [2, 3], 1)), Sample((_values(5, 2, 3), [1], -3)), Sample((_values(4), [], 0))),
    ),
    Entry(numpy_split_copy_with_int, (Sample((_values(3, 7), [2, 5], -1)), Sample((_values(5, 2), [2], 0)))),
]
