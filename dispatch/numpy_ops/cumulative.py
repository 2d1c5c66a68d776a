"""Rows of running sums, products and differences along one axis: `np.cumsum`, `np.cumprod`, `np.diff`."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..autodiff.rules.partials import conjugated
from ..core import OpOverload
from ..layers.autograd import CONSTANT, pullbacks
from ..layers.fake import FakeTensor, fake_tensor
from ..operators.prims import define, moveaxis
from ..operators.registry import ops
from ..symbolic import larger
from .families import complete, composite, in_front, linear, undispatched
from .indexing import getitem, scatter_add
from .pointwise import add, multiply, not_equal, subtract
from .reduction import summed
from .result_layouts import elementwise
from .shape import concatenate, reshape

Shape = tuple[int, ...]
Rule = Callable[..., Any]

REVERSED = (Ellipsis, slice(None, None, -1))


def along(text: str, kernel: Rule, dtype_of: Rule, laid_out: Rule, pullback: Rule | None) -> OpOverload:
    """Make a row that runs along one axis, or along all elements in C order for `axis=None`.

    `dtype_of` returns the default dtype of the result, `laid_out` its fake. `pullback` sees the axis as the last one.
    """
    op = define(f"np::{text}", kernel)
    typed = "dtype" in op.arguments.names

    def fake(x: Any, axis: Any, *options: Any) -> Any:
        if not isinstance(x, FakeTensor):
            x = fake_tensor((), np.asarray(x).dtype)
        dtype = dtype_of(x.dtype) if not typed or options[0] is None else np.dtype(options[0])
        dtype = dtype.newbyteorder("=") if typed else dtype  # of what is computed, and not moved
        if axis is None or not x.shape:
            kernel(np.zeros((1,) * len(x.shape)), axis)  # raises NumPy's own error where there is no such axis
            return fake_tensor((x.size,), dtype, None, x.device, x.mode)
        normalize_axis_index(axis, len(x.shape))
        return laid_out(x, dtype)

    def vmap(info: Any, in_dims: Any, x: Any, axis: Any, *options: Any) -> tuple[Any, int]:
        x = in_front(x, in_dims[0])
        if axis is None or len(x.shape) == 1:
            kernel(np.zeros((1,) * (len(x.shape) - 1)), axis)  # raises NumPy's own error where there is no such axis
            return op(reshape(x, (x.shape[0], prod(x.shape[1:]))), 1, *options), 0
        return op(x, 1 + normalize_axis_index(axis, len(x.shape) - 1), *options), 0

    return complete(op, fake=fake, vmap=vmap, autograd=CONSTANT if pullback is None else pullbacks(x=pullback))


def last(x: Any, axis: int | None) -> Any:
    """Return an array with the axis of the row moved to the end."""
    return reshape(x, (-1,)) if axis is None or not x.shape else moveaxis(x, axis, -1)


def back(x: Any, shape: Shape, axis: int | None) -> Any:
    """Undo `last`."""
    return reshape(x, shape) if axis is None or not shape else moveaxis(x, -1, axis)


def running(x: FakeTensor, dtype: np.dtype[Any]) -> FakeTensor:
    """Return the fake result of a ufunc's `accumulate`."""
    return elementwise(dtype, [x])


# -- sums ------------------------------------------------------------------------------------------------------------------


def _cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    if type(x) is np.ndarray and dtype is None and (x.ndim == 1 if axis is None else x.ndim):
        return np.add.accumulate(x, axis or 0)  # what np.cumsum comes to, a microsecond later
    return np.cumsum(x, axis, dtype)


def _cumsum_pullback(g: Any, x_shape: Shape, axis: Any) -> Any:
    found = getitem(cumsum(getitem(last(g, axis), REVERSED), -1), REVERSED)
    return back(found, x_shape, axis)


cumsum = along("cumsum(Tensor x, int? axis=None, ScalarType? dtype=None) -> Tensor", _cumsum, summed, running, _cumsum_pullback)
complete(cumsum, jvp=linear("x"))

# -- products --------------------------------------------------------------------------------------------------------------


def before(x: Any) -> Any:
    """Return the product of all elements before each, along the last axis."""
    first = getitem(x, (Ellipsis, slice(1)))
    return concatenate([ops.np.ones_like(first), cumprod(getitem(x, (Ellipsis, slice(-1))), -1)], -1) if x.shape[-1] else x


def _others(x: Any, product: Any = None) -> Any:
    return multiply(before(x), getitem(before(getitem(x, REVERSED)), REVERSED))


def _divided(x: Any, product: Any) -> Any:
    total = np.multiply.reduce(x, -1, keepdims=True) if product is None else product
    size = np.abs(total)
    if size.size and size.dtype.kind == "f" and np.finfo(size.dtype).tiny <= size.min() and size.max() < np.inf:
        return total / x  # a fifth of the time; of a product that is 0 or nan, or that overflows, it would say too little
    return _others(x)


# The product of all elements but each, along the last axis; `product` is that of all elements, where it is known.
others = composite("product_of_others(Tensor x, Tensor? product=None) -> Tensor", _others, numpy=_divided)


def recurrence(g: Any, x: Any, new: Any = None) -> Any:
    """Solve `s[i] = g[i] + x[i + 1] s[i + 1]` along the last axis, by doubling: k steps for 2 ** k elements.

    `new` says at which places it ends: nothing, no nan either, goes from such a place to the one before.
    """
    n = g.shape[-1]
    x, step = _after(x, 1), 1  # of step elements after each, the product; there is none for the last ones
    on = None if new is None else ~new[1:]  # whether all of them go on
    while step < n:
        coming = multiply(x, _after(g, step))
        coming = coming if on is None else replaced(coming, ~on, 0)
        g = concatenate([add(_but(g, step), coming), _after(g, n - step)], -1)
        x, on = multiply(_but(x, step), _after(x, step)), None if on is None else on[:-step] & on[step:]
        step *= 2
    return g


def replaced(x: Any, chosen: Any, value: Any) -> Any:
    """Return an array with a number at some places along the last axis, which do not depend on data."""
    return ops.np.setitem(x, (Ellipsis, np.flatnonzero(chosen)), value, []) if chosen.any() else x


def _after(x: Any, count: int) -> Any:
    return getitem(x, (Ellipsis, slice(count, None)))


def _but(x: Any, count: int) -> Any:
    """Return all elements but some at the end."""
    return getitem(x, (Ellipsis, slice(0, -count)))


def _cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return np.cumprod(x, axis, dtype)


def _cumprod_pullback(g: Any, x: Any, axis: Any, dtype: Any) -> Any:
    x = x if dtype is None else ops.np.astype(x, dtype)  # the factors, whose derivatives are real where these are
    factors = conjugated(last(x, axis))
    return back(multiply(before(factors), recurrence(last(g, axis), factors)), x.shape, axis)


cumprod = along(
    "cumprod(Tensor x, int? axis=None, ScalarType? dtype=None) -> Tensor", _cumprod, summed, running, _cumprod_pullback
)

# -- differences -----------------------------------------------------------------------------------------------------------


def _diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    if n == 0:
        return x
    if n < 0 or not x.shape:
        np.diff(np.zeros((1,) * len(x.shape)), n, axis)  # raises NumPy's own error
    ahead = (slice(None),) * normalize_axis_index(axis, len(x.shape))
    subtracted = not_equal if x.dtype.kind == "b" else subtract
    for _ in range(n):
        x = subtracted(getitem(x, (*ahead, slice(1, None))), getitem(x, (*ahead, slice(-1))))
    return x


def _diff_pullback(g: Any, x_shape: Shape, n: int, axis: int) -> Any:
    at = normalize_axis_index(axis, len(x_shape))
    ahead, before, behind = (slice(None),) * at, x_shape[:at], x_shape[at + 1 :]
    for left in reversed(range(n)):
        shape = (*before, larger(x_shape[at] - left, 0), *behind)  # 0 where there are too few elements for a difference
        g = subtract(scatter_add(g, (*ahead, slice(1, None)), shape), scatter_add(g, (*ahead, slice(0, -1)), shape))
    return g


def _trapezoid(y: Any, x: Any = None, dx: Any = None, axis: int = -1) -> Any:
    ahead = (slice(None),) * normalize_axis_index(axis, len(y.shape))
    pairs = add(getitem(y, (*ahead, slice(1, None))), getitem(y, (*ahead, slice(-1))))
    if x is not None:
        dx = diff(x, 1, axis if len(x.shape) > 1 else -1)
        if len(dx.shape) == 1:
            dx = reshape(dx, (-1,) + (1,) * (len(y.shape) - len(ahead) - 1))
    return ops.np.sum(ops.np.divide(pairs if dx is None else multiply(dx, pairs), 2.0), axis)


diff = composite(
    "diff(Tensor(a) x, int n=1, int axis=-1) -> Tensor(a)",
    _diff,
    numpy=undispatched(np.diff),
    autograd=pullbacks(x=_diff_pullback),
    jvp=linear("x"),
)
trapezoid = composite(
    "trapezoid(Tensor y, Tensor? x=None, Tensor? dx=None, int axis=-1) -> Tensor",
    _trapezoid,
    numpy=lambda y, x, dx, axis: np.trapezoid(y, x, 1.0 if dx is None else dx, axis),
)
