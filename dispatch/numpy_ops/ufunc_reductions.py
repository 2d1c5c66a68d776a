"""The rows behind `reduce`, `accumulate` and `reduceat` of every ufunc that has a row.

    ufunc_reduce(x, ufunc, axis, dtype, keepdims=)     np.hypot.reduce(x, axis, dtype, keepdims=); `ufunc` names its operator, "np::hypot"
    ufunc_reduce_where(x, ufunc, mask, initial, ...)   with `where=` and `initial=`
    ufunc_accumulate(x, ufunc, axis, dtype, starts)    np.hypot.accumulate(x, axis, dtype); with `starts`, anew from each of these places
    ufunc_reduceat(x, ufunc, indices, axis, dtype)     np.hypot.reduceat(x, indices, axis, dtype)

The kernels are NumPy's methods. One rule gives the derivatives of all four. A running result is `r[i] = f(r[i - 1], x[i])`; so, with the
partial derivatives `a[i]` and `b[i]` of f there, which the ufunc's own rule computes for all places in one call,

    forwards    dr[i] = a[i] dr[i - 1] + b[i] dx[i]
    backwards    s[i] = g[i] + a[i + 1] s[i + 1],  and the gradient of x[i] is b[i] s[i]

are linear recurrences, which `cumulative.recurrence` solves by doubling: log2(n) steps on whole arrays. Of a reduction the last result
alone counts, and `s[i]` is the product of all `a` behind it. WEIGHTS spares this to ufuncs whose derivative by each element is known. More than
350 lines, because the four share the parts of that rule.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..autodiff.reverse_mode import vjp
from ..autodiff.rules.partials import conjugated
from ..core import OpOverload
from ..layers.autograd import pullbacks
from ..layers.fake import FakeTensor, fake_tensor
from ..layers.jvp import pushforwards
from ..operators import prims
from ..operators.registry import ops
from ..symbolic import guesses
from .cumulative import REVERSED, back, before, last, recurrence, replaced
from .families import in_front, kernel_of, row
from .indexing import getitem, scatter_add, where
from .masked import fitting
from .numpy_functions import ufunc_of_row
from .pointwise import divide_no_nan, equal, exp, logical_not, multiply
from .pointwise_more import exp2, isinf
from .reduction import kept
from .result_layouts import REMEMBERED, axes_of_ufunc, elementwise, fake_reduced, reducing_dtype
from .shape import concatenate, reshape
from .sorting import argsort, take_along_axis

Rule = Callable[..., Any]
LEFT_OUT: Any = np._NoValue  # noqa: SLF001 - how NumPy spells an initial that was not given


# -- ufuncs ----------------------------------------------------------------------------------------------------------------


def named(name: str) -> OpOverload:
    """Return the operator of a ufunc by its name, `np::hypot`."""
    namespace, _, word = name.partition("::")
    op: OpOverload = getattr(getattr(ops, namespace), word)
    return op


def ufunc_of(name: str) -> Any:
    """Return a ufunc by the name of its operator, which may have got another kernel."""
    op = named(name)
    found = kernel_of(op)
    if isinstance(found, np.ufunc):
        return found
    return ufunc_of_row(op) or vars(op)["__wrapped__"]


@lru_cache(REMEMBERED, typed=True)
def loop_dtype(name: str, x: np.dtype[Any], dtype: Any, out: Any = None) -> np.dtype[Any]:
    """Return the dtype in which a method of a ufunc computes, by the name of its operator; NumPy's own error where there is none."""
    return reducing_dtype(ufunc_of(name), x, dtype, out)


@lru_cache(REMEMBERED)
def forgets(name: str, dtype: np.dtype[Any]) -> bool:
    """Whether NumPy's `reduce` of a vector is wrong: f(x[0], x[-1]).

    The loops of np.power and np.arctan2 for AVX512 forget the running result (NumPy 2.4); those of `accumulate`, and of arrays that are
    reduced along another axis than the last, are right. So a few numbers are tried, once for each ufunc and dtype.
    """
    f, few = ufunc_of(name), np.linspace(1.1, 1.7, 9).astype(dtype)
    try:
        with np.errstate(all="ignore"):
            found, right = f.reduce(few), f.accumulate(few)[-1]
    except TypeError:
        return False
    return bool(abs(found - right) > 0.1) if found.dtype.kind in "fc" else False


def cast(x: Any, dtype: Any) -> Any:
    """Return an array of a dtype; the array itself where it is of that."""
    return x if x.dtype == dtype else prims.astype(x, dtype)


# -- derivatives -----------------------------------------------------------------------------------------------------------


def shared(x: Any, out: Any, total: Rule) -> Any:
    """Return the derivative of a largest or smallest element: those that equal it share it. Of nan it is 0 / 0."""
    chosen = equal(x, out)
    return prims.multiply(cast(chosen, x.dtype), ops.np.reciprocal(total(cast(chosen, x.dtype))))


def part_of_sum(power: Rule) -> Rule:
    """Return the derivative of a logarithm of a sum; at an infinity it is 1 by the one element that is infinite, and nan by several."""

    def weight(x: Any, out: Any, total: Rule) -> Any:
        infinite, chosen = isinf(out), equal(x, out)
        found = power(ops.np.subtract(where(infinite, 0.0, x), where(infinite, 0.0, out)))
        alone = equal(total(cast(chosen, x.dtype)), 1.0)
        return where(infinite, where(chosen, where(alone, 1.0, np.nan), 0.0), found)

    return weight


# By operator, of a reduction the derivative by each element, from the elements, the result and a function that returns their sum.
WEIGHTS: dict[str, Rule] = {
    "np::add": lambda x, out, total: ops.np.ones_like(x),
    "np::maximum": shared,
    "np::minimum": shared,
    "np::fmax": shared,
    "np::fmin": shared,
    "np::hypot": lambda x, out, total: divide_no_nan(x, out),
    "np::logaddexp": part_of_sum(exp),
    "np::logaddexp2": part_of_sum(exp2),
}


def part(x: Any, start: Any, stop: Any) -> Any:
    """Return a slice along the last axis."""
    return getitem(x, (Ellipsis, slice(start, stop)))


def begun(starts: Any, n: int) -> Any:
    """Return at which of n places a running result begins anew; None where at the first alone."""
    if starts is None:
        return None
    found = np.zeros(n, bool)
    found[list(starts)] = True
    return found


def steps(x: Any, r: Any, name: str, new: Any) -> tuple[Any, Any]:
    """Return the conjugates of `a` and `b` along the last axis; where a result begins anew they are 0 and 1."""
    old, element = part(r, 0, -1), part(x, 1, None)
    if new is not None:  # constants in their place, so that no derivative is taken of what was never computed
        old, element = [replaced(y, new[1:], 1) for y in (old, element)]
    out, pull = vjp(named(name), old, element)
    a, b = pull(ops.np.ones_like(out))
    if new is not None:
        a, b = replaced(a, new[1:], 0), replaced(b, new[1:], 1)
    one = ops.np.ones_like(part(x, 0, 1))
    return concatenate([one, a], -1), concatenate([one, b], -1)


def behind(a: Any, new: Any = None) -> Any:
    """Return the product of all elements behind each, along the last axis; up to where a result begins anew."""
    if new is None:
        return getitem(before(getitem(a, REVERSED)), REVERSED)
    on, step = ~new[1:], 1
    found = concatenate([replaced(part(a, 1, None), ~on, 1), ops.np.ones_like(part(a, 0, 1))], -1)
    while step < len(new):  # by doubling: of step elements behind each
        more = replaced(part(found, step, None), ~on, 1)
        found, on = concatenate([multiply(part(found, 0, -step), more), part(found, -step, None)], -1), on[:-step] & on[step:]
        step *= 2
    return found


def _pulled(g: Any, x: Any, out: Any, ufunc: str, axis: int, dtype: Any, starts: Any) -> Any:
    x_shape = x.shape
    x, r, g = last(cast(x, out.dtype), axis), last(out, axis), last(g, axis)
    new = begun(starts, x.shape[-1])
    a, b = steps(x, r, ufunc, new)
    return back(multiply(b, recurrence(g, a, new)), x_shape, axis)


def _pushed(t: Any, x: Any, out: Any, ufunc: str, axis: int, dtype: Any, starts: Any) -> Any:
    x_shape = x.shape
    x, r, t = last(cast(x, out.dtype), axis), last(out, axis), last(cast(t, out.dtype), axis)
    new = begun(starts, x.shape[-1])
    a, b = [conjugated(y) for y in steps(x, r, ufunc, new)]
    # from the end: a[i + 1] stands behind i, and here a[i] has to
    turned = concatenate([part(a, 0, 1), part(getitem(a, REVERSED), 0, -1)], -1)
    anew = None if new is None else np.concatenate([new[:1], new[:0:-1]])
    return back(getitem(recurrence(getitem(multiply(b, t), REVERSED), turned, anew), REVERSED), x_shape, axis)


def weights(x: Any, out: Any, ufunc: str, axis: Any) -> Any:
    """Return the conjugate of the derivative of a reduction by each element; `out` has the reduced axes, of length 1."""
    if ufunc in WEIGHTS:
        return conjugated(WEIGHTS[ufunc](x, out, lambda y: ops.np.sum(y, axis, keepdims=True)))
    axes, ends = moved_axes(axis, len(x.shape))
    moved = prims.moveaxis(x, axes, ends)
    flat = in_a_row(x, axes, ends)
    if ufunc_of(ufunc).identity is None:
        a, b = steps(flat, ufunc_accumulate(flat, ufunc, -1), ufunc, None)
    else:  # with which NumPy begins; that of SciPy's ufuncs is 0 by accident, and owens_t(0, x) is not x
        flat = begun_with(flat, ufunc, None)
        a, b = [part(y, 1, None) for y in steps(flat, ufunc_accumulate(flat, ufunc, -1), ufunc, None)]
    return prims.moveaxis(reshape(multiply(behind(a), b), moved.shape), ends, axes)


def moved_axes(axis: Any, ndim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of a reduction, and the last axes, as many."""
    axes = axes_of_ufunc(axis, ndim)
    return axes, tuple(range(ndim - len(axes), ndim))


def in_a_row(x: Any, axes: tuple[int, ...], ends: tuple[int, ...]) -> Any:
    """Return an array with some of its axes as one, the last."""
    moved = prims.moveaxis(x, axes, ends)
    return reshape(moved, (*moved.shape[: len(x.shape) - len(axes)], prod([x.shape[i] for i in axes])))


def _pulled_reduction(g: Any, x: Any, out: Any, ufunc: str, axis: Any, dtype: Any, keepdims: Any) -> Any:
    x = cast(x, out.dtype)
    return multiply(kept(g, x.shape, axis, keepdims), weights(x, kept(out, x.shape, axis, keepdims), ufunc, axis))


def _pushed_reduction(t: Any, x: Any, out: Any, ufunc: str, axis: Any, dtype: Any, keepdims: Any) -> Any:
    x, t = cast(x, out.dtype), cast(t, out.dtype)
    found = multiply(t, conjugated(weights(x, kept(out, x.shape, axis, keepdims), ufunc, axis)))
    return ops.np.sum(found, axis, keepdims=keepdims)


# -- reduce and accumulate ---------------------------------------------------------------------------------------------------


def _reduce(x: Any, ufunc: str, axis: Any = 0, dtype: Any = None, *, keepdims: bool = False) -> Any:
    f, x = ufunc_of(ufunc), np.asanyarray(x)
    axes = axes_of_ufunc(axis, x.ndim)
    if len(axes) != 1 or x.shape[axes[0]] < 3 or not forgets(ufunc, loop_dtype(ufunc, x.dtype, dtype)):
        return f.reduce(x, axis, dtype, keepdims=keepdims)
    ahead = (slice(None),) * axes[0]
    made = f.reduce(x[(*ahead, slice(1))], axes[0], dtype, keepdims=keepdims)
    return filled(made, f.accumulate(x, axes[0], dtype)[(*ahead, slice(-1, None) if keepdims else -1)])


def filled(made: Any, found: Any) -> Any:
    """Return an array that lies as NumPy has it, with the elements of another; or the number."""
    if not isinstance(made, np.ndarray):
        return found
    made[...] = found
    return made


def _fake_reduce(x: Any, ufunc: str, axis: Any, dtype: Any, keepdims: Any, initial: Any = LEFT_OUT) -> Any:
    if not isinstance(x, FakeTensor):
        x = fake_tensor((), np.asarray(x).dtype)
    axes = axes_of_ufunc(axis, len(x.shape))
    small = np.ones([min(n, 1) if i in axes else 1 for i, n in enumerate(guesses(x.shape))], x.dtype)
    if 0 in small.shape or len(axes) > 1:
        ufunc_of(ufunc).reduce(small, axis, dtype, initial=initial)  # raises NumPy's own error
    return fake_reduced(x, loop_dtype(ufunc, x.dtype, dtype), axes, keepdims)


def _batched_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    return tuple([1 + i for i in axes_of_ufunc(axis, ndim)])


def _batched_reduce(info: Any, in_dims: Any, x: Any, ufunc: str, axis: Any, dtype: Any, keepdims: Any) -> tuple[Any, int]:
    x = in_front(x, in_dims[0])
    return ufunc_reduce(x, ufunc, _batched_axes(axis, len(x.shape) - 1), dtype, keepdims=keepdims), 0


ufunc_reduce: OpOverload = row(
    "ufunc_reduce(Tensor x, str ufunc, int[1]? axis=0, ScalarType? dtype=None, *, bool keepdims=False) -> Tensor",
    numpy=_reduce,
    fake=_fake_reduce,
    autograd=pullbacks(x=_pulled_reduction),
    jvp=pushforwards(x=_pushed_reduction),
    vmap=_batched_reduce,
)


def _accumulate(x: Any, ufunc: str, axis: int = 0, dtype: Any = None, starts: Any = None) -> Any:
    run = ufunc_of(ufunc).accumulate
    if starts is None:
        return run(x, axis, dtype)
    made = np.empty_like(x, loop_dtype(ufunc, x.dtype, dtype))
    moved, into = np.moveaxis(x, axis, 0), np.moveaxis(made, axis, 0)
    for start, stop in pairwise([*starts, len(moved)]):
        run(moved[start:stop], 0, dtype, into[start:stop])
    return made


def _fake_accumulate(x: Any, ufunc: str, axis: int, dtype: Any, starts: Any) -> Any:
    if not isinstance(x, FakeTensor) or not x.shape:
        ufunc_of(ufunc).accumulate(np.ones(()))  # raises NumPy's own error
    normalize_axis_index(axis, len(x.shape))
    return elementwise(loop_dtype(ufunc, x.dtype, dtype), [x])


def _batched_accumulate(info: Any, in_dims: Any, x: Any, ufunc: str, axis: int, dtype: Any, starts: Any) -> tuple[Any, int]:
    x = in_front(x, in_dims[0])
    if len(x.shape) == 1:
        ufunc_of(ufunc).accumulate(np.ones(()))  # raises NumPy's own error
    return ufunc_accumulate(x, ufunc, 1 + normalize_axis_index(axis, len(x.shape) - 1), dtype, starts), 0


ufunc_accumulate: OpOverload = row(
    "ufunc_accumulate(Tensor x, str ufunc, int axis=0, ScalarType? dtype=None, int[]? starts=None) -> Tensor",
    numpy=_accumulate,
    fake=_fake_accumulate,
    autograd=pullbacks(x=_pulled),
    jvp=pushforwards(x=_pushed),
    vmap=_batched_accumulate,
)

# -- chosen elements -----------------------------------------------------------------------------------------------------------


def packed(x: Any, mask: Any, axis: Any) -> tuple[Any, Any, Any]:
    """Return the reduced axes as one, the last, with the chosen elements first, in their order: of each element, whether it is one, and its place.

    A 1 takes the place of each other element: it is computed with, and its result does not count.
    """
    axes, ends = moved_axes(axis, len(x.shape))
    x = in_a_row(x, axes, ends)
    if mask is None:
        return x, None, None
    mask = in_a_row(mask, axes, ends)
    order = argsort(logical_not(mask), -1, "stable")
    chosen = take_along_axis(mask, order, -1)
    return where(chosen, take_along_axis(x, order, -1), x.dtype.type(1)), chosen, order


def begun_with(x: Any, ufunc: str, initial: Any) -> Any:
    """Return elements behind the one that a reduction begins with."""
    begin = ufunc_of(ufunc).identity if initial is None else initial
    return concatenate([ops.np.full_like(x, begin, None, (*x.shape[:-1], 1)), x], -1)


def weights_where(x: Any, ufunc: str, mask: Any, initial: Any, axis: Any) -> Any:
    """Return the conjugate of the derivative of a reduction by each element: of one that was left out, 0."""
    axes, ends = moved_axes(axis, len(x.shape))
    mask = mask if mask is None else prims.broadcast_to(mask, x.shape)
    flat, chosen, order = packed(x, mask, axis)
    row = begun_with(flat, ufunc, initial)
    a, b = [part(y, 1, None) for y in steps(row, ufunc_accumulate(row, ufunc, -1), ufunc, None)]
    if chosen is not None:
        a, b = where(chosen, a, x.dtype.type(1)), where(chosen, b, x.dtype.type(0))
    found = multiply(behind(a), b)
    if order is not None:
        found = take_along_axis(found, argsort(order, -1), -1)
    return prims.moveaxis(reshape(found, prims.moveaxis(x, axes, ends).shape), ends, axes)


def _pulled_where(g: Any, x: Any, ufunc: str, mask: Any, initial: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
    return multiply(kept(g, x.shape, axis, keepdims), weights_where(cast(x, loop_dtype(ufunc, x.dtype, dtype)), ufunc, mask, initial, axis))


def _pushed_where(t: Any, x: Any, ufunc: str, mask: Any, initial: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
    kind = loop_dtype(ufunc, x.dtype, dtype)
    found = multiply(cast(t, kind), conjugated(weights_where(cast(x, kind), ufunc, mask, initial, axis)))
    return ops.np.sum(found, axis, keepdims=keepdims)


def _check_chosen(x: Any, ufunc: Any, mask: Any, initial: Any, axis: Any, dtype: Any) -> None:
    if mask is not None:
        fitting(x, mask)
    ones = np.ones((1,) * max(1, len(x.shape)), x.dtype)
    options = {} if initial is None else {"initial": initial}
    ufunc.reduce(ones, axis, dtype, where=True if mask is None else np.ones((), bool), **options)  # raises NumPy's own error


def _reduce_where(x: Any, ufunc: str, mask: Any = None, initial: Any = None, axis: Any = 0, dtype: Any = None, *, keepdims: bool = False) -> Any:
    x, f = np.asanyarray(x), ufunc_of(ufunc)
    options = {name: value for name, value in (("where", mask), ("initial", initial)) if value is not None}
    made = f.reduce(x, axis, dtype, keepdims=keepdims, **options)
    if not forgets(ufunc, loop_dtype(ufunc, x.dtype, dtype)):
        return made
    flat, chosen, _ = packed(x, None if mask is None else np.broadcast_to(mask, x.shape), axis)
    count = np.full((*flat.shape[:-1], 1), flat.shape[-1]) if chosen is None else np.sum(chosen, -1, keepdims=True)
    running = f.accumulate(begun_with(flat, ufunc, initial), -1, loop_dtype(ufunc, x.dtype, dtype))
    found = np.take_along_axis(running, count, -1)[..., 0]
    return filled(made, found.reshape(np.shape(made)) if keepdims else found[()])


def _fake_reduce_where(x: Any, ufunc: str, mask: Any, initial: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
    if not isinstance(x, FakeTensor):
        x = fake_tensor(np.shape(x), np.asarray(x).dtype)
    _check_chosen(x, ufunc_of(ufunc), mask, initial, axis, dtype)
    return _fake_reduce(x, ufunc, axis, dtype, keepdims, LEFT_OUT if initial is None else initial)


def _batched_reduce_where(
    info: Any, in_dims: Any, x: Any, ufunc: str, mask: Any, initial: Any, axis: Any, dtype: Any, keepdims: Any
) -> tuple[Any, int]:
    ndim = len(x.shape) - (in_dims[0] is not None)
    if in_dims[0] is None:
        x = prims.broadcast_to(x, (info.batch_size, *x.shape))
    else:
        x = in_front(x, in_dims[0])
    if mask is not None and in_dims[2] is not None:
        mask = in_front(mask, in_dims[2])
        mask = reshape(mask, (mask.shape[0], *(1,) * (ndim + 1 - len(mask.shape)), *mask.shape[1:]))
    return ufunc_reduce_where(x, ufunc, mask, initial, _batched_axes(axis, ndim), dtype, keepdims=keepdims), 0


ufunc_reduce_where: OpOverload = row(
    "ufunc_reduce_where(Tensor x, str ufunc, Tensor? mask=None, Scalar? initial=None, int[1]? axis=0, ScalarType? dtype=None, *, "
    "bool keepdims=False) -> Tensor",
    numpy=_reduce_where,
    fake=_fake_reduce_where,
    autograd=pullbacks(x=_pulled_where),
    jvp=pushforwards(x=_pushed_where),
    vmap=_batched_reduce_where,
)

# -- reduceat --------------------------------------------------------------------------------------------------------------------


def segments(indices: Any, n: Any) -> tuple[Any, Any, Any]:
    """Return the elements of all segments in order, the number of each one's segment, and where among them a segment begins."""
    first = np.asarray(indices, np.intp)
    after = np.append(first[1:], int(n))
    length = np.maximum(after - first, 1)
    starts = np.cumsum(length) - length
    number = np.repeat(np.arange(len(first)), length)
    return np.arange(len(number)) - np.repeat(starts - first, length), number, starts.tolist()


def _of_segments(x: Any, out: Any, ufunc: str, indices: Any, axis: int) -> tuple[Any, ...]:
    """Return the conjugate of the derivative of each segment's result by its elements, and these elements' places."""
    x = last(cast(x, out.dtype), axis)
    places, number, starts = segments(indices, x.shape[-1])
    y = gathered(x, places)
    if ufunc in WEIGHTS:

        def total(v: Any) -> Any:
            return gathered(ufunc_reduceat(v, "np::add", starts, -1), number)

        found = conjugated(WEIGHTS[ufunc](y, gathered(last(out, axis), number), total))
    else:
        new = begun(starts, len(number))
        a, b = steps(y, ufunc_accumulate(y, ufunc, -1, None, starts), ufunc, new)
        found = multiply(b, behind(a, new))
    return found, places, number, starts


def gathered(x: Any, places: Any) -> Any:
    """Return elements along the last axis."""
    return getitem(x, (Ellipsis, places))


def _pulled_segments(g: Any, x: Any, out: Any, ufunc: str, indices: Any, axis: int) -> Any:
    found, places, number, _ = _of_segments(x, out, ufunc, indices, axis)
    found = multiply(found, gathered(last(g, axis), number))
    shape = last(x, axis).shape
    return back(scatter_add(found, (Ellipsis, places), shape), x.shape, axis)


def _pushed_segments(t: Any, x: Any, out: Any, ufunc: str, indices: Any, axis: int) -> Any:
    found, places, _, starts = _of_segments(x, out, ufunc, indices, axis)
    found = multiply(conjugated(found), gathered(last(cast(t, out.dtype), axis), places))
    return prims.moveaxis(ufunc_reduceat(found, "np::add", starts, -1), -1, axis)


def _reduceat(x: Any, ufunc: str, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    f, indices = ufunc_of(ufunc), np.asarray(indices, np.intp)
    made = f.reduceat(x, indices, axis, dtype)
    if not made.size or not forgets(ufunc, loop_dtype(ufunc, x.dtype, dtype)):
        return made
    places, _, starts = segments(indices, x.shape[axis])
    running = _accumulate(np.take(x, places, axis), ufunc, axis, dtype, starts)
    return filled(made, np.take(running, np.array([*starts[1:], len(places)]) - 1, axis))


def _fake_reduceat(x: Any, ufunc: str, indices: Any, axis: int, dtype: Any) -> Any:
    if not isinstance(x, FakeTensor) or not x.shape:
        ufunc_of(ufunc).reduceat(np.ones(()), [0])  # raises NumPy's own error
    axis = normalize_axis_index(axis, len(x.shape))
    if any(i < 0 or i >= x.shape[axis] for i in indices):
        ufunc_of(ufunc).reduceat(np.ones(guesses((x.shape[axis],)), x.dtype), np.asarray(indices, np.intp))  # raises NumPy's own error
    # NumPy walks the result along the index on this axis, and along the array on the others
    one = fake_tensor((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype, x.strides, x.device, x.mode)
    index = fake_tensor((len(indices), *(1,) * (len(x.shape) - axis - 1)), np.dtype(np.intp), None, x.device, x.mode)
    return elementwise(loop_dtype(ufunc, x.dtype, dtype), [one, index])


def _batched_reduceat(info: Any, in_dims: Any, x: Any, ufunc: str, indices: Any, axis: int, dtype: Any) -> tuple[Any, int]:
    x = in_front(x, in_dims[0])
    if len(x.shape) == 1:
        ufunc_of(ufunc).reduceat(np.ones(()), [0])  # raises NumPy's own error
    return ufunc_reduceat(x, ufunc, indices, 1 + normalize_axis_index(axis, len(x.shape) - 1), dtype), 0


ufunc_reduceat: OpOverload = row(
    "ufunc_reduceat(Tensor x, str ufunc, int[] indices, int axis=0, ScalarType? dtype=None) -> Tensor",
    numpy=_reduceat,
    fake=_fake_reduceat,
    autograd=pullbacks(x=_pulled_segments),
    jvp=pushforwards(x=_pushed_segments),
    vmap=_batched_reduceat,
)


def install() -> None:
    """Nothing is put into tables: the rows are found by their names."""
