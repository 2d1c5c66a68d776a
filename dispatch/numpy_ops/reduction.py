"""Rows that reduce axes: sum, mean, max, min.

Their kernels call the ufunc's `reduce` directly, which saves the microsecond that NumPy's functions take to get there.
"""

from math import prod
from typing import Any

import numpy as np

from ..layers.jvp import pushforwards
from ..operators.prims import broadcast_to
from ..operators.registry import ops
from ..symbolic import larger
from .families import linear, reduction
from .indexing import zero_unless_nan
from .pointwise import divide, equal, maximum
from .result_layouts import axes_of, check_axis, plain, reduced
from .shape import reshape

Shape = tuple[int, ...]

# -- kernels ---------------------------------------------------------------------------------------------------------------


def _mean(x: Any, axis: Any, dtype: Any, *, keepdims: Any) -> Any:
    # np.mean's own steps: integers are added up as float64, half precision as float32, and the quotient is cast
    x = np.asanyarray(x)
    if axis is not None and not x.ndim:
        check_axis(axis, 0)
    half = x.dtype == np.float16 and dtype is None
    inner = dtype or ("f8" if x.dtype.kind in "iub" else "f4" if half else None)
    total = np.add.reduce(x, axis, inner, keepdims=keepdims)
    count = np.intp(x.size // (total.size or 1))
    if not count:
        return np.mean(x, axis, dtype, keepdims=keepdims)  # which warns
    if isinstance(total, np.ndarray):
        mean = np.true_divide(total, count, out=total, casting="unsafe")
    else:
        mean = total.dtype.type(total / count)
    return x.dtype.type(mean) if half else mean


# -- dtypes ----------------------------------------------------------------------------------------------------------------


def summed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a sum: small integers are added up in the platform's integer, as NumPy does."""
    if dtype.kind == "b" or (dtype.kind == "i" and dtype.itemsize < np.dtype(np.int_).itemsize):
        return np.dtype(np.int_)
    return np.dtype(np.uint) if dtype.kind == "u" and dtype.itemsize < np.dtype(np.uint).itemsize else dtype


def averaged(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a mean: that of integers is a float64."""
    return np.dtype(np.float64) if dtype.kind in "iub" else dtype


def unchanged(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a largest or smallest value, and of sorted ones."""
    return dtype


# -- gradients -------------------------------------------------------------------------------------------------------------


def kept(x: Any, shape: Shape, axis: Any, keepdims: Any) -> Any:
    """Return a result, or its gradient, with axes of length 1 in place of the reduced ones; one number broadcasts as it is."""
    return x if keepdims or axis is None else reshape(x, reduced(shape, plain(axis), True))


def spread(g: Any, x_shape: Shape, axis: Any, keepdims: Any) -> Any:
    """Compute the pullback of a sum: every element that was added gets its gradient."""
    return broadcast_to(g if axis is None else kept(g, x_shape, axis, keepdims), x_shape)


def spread_mean(g: Any, x_shape: Shape, axis: Any, keepdims: Any) -> Any:
    """Compute the pullback of a mean."""
    count = prod([x_shape[i] for i in axes_of(plain(axis), len(x_shape))])
    return spread(divide(g, larger(count, 1)), x_shape, axis, keepdims)


def shared(g: Any, x: Any, out: Any, axis: Any, keepdims: Any) -> Any:
    """Compute the pullback of a largest or smallest value: those that equal it share the gradient, as torch's amax has it.

    Where the value is nan no element equals it, and every gradient is nan.
    """
    g, out = [kept(y, x.shape, axis, keepdims) for y in (g, out)]
    chosen = equal(x, out)
    count = maximum(sum(chosen, plain(axis), g.dtype, keepdims=True), 1)  # NumPy would warn of 0 / 0
    return zero_unless_nan(chosen, divide(g, count), out)


def pushed(t: Any, x: Any, out: Any, axis: Any, keepdims: Any) -> Any:
    """Compute the pushforward of a largest or smallest value: the mean of the tangents of those that equal it."""
    chosen = equal(x, kept(out, x.shape, axis, keepdims))
    total = sum(ops.np.where(chosen, t, 0.0), plain(axis), keepdims=keepdims)
    count = sum(chosen, plain(axis), t.dtype, keepdims=keepdims)
    return zero_unless_nan(count, divide(total, maximum(count, 1)), out)


# A table reads by its columns.
# fmt: off

#                 schema                                                        kernel             dtype      gradient, tangent
sum  = reduction("sum(Tensor x, int[1]? axis=None, ScalarType? dtype=None, *, bool keepdims=False) -> Tensor",
                                                                                np.add.reduce,     summed,    spread,      linear("x"))
mean = reduction("mean(Tensor x, int[1]? axis=None, ScalarType? dtype=None, *, bool keepdims=False) -> Tensor",
                                                                                _mean,             averaged,  spread_mean, linear("x"), strict=True)
max  = reduction("max(Tensor x, int[1]? axis=None, *, bool keepdims=False) -> Tensor",
                                                                                np.maximum.reduce, unchanged, shared,      pushforwards(x=pushed))
min  = reduction("min(Tensor x, int[1]? axis=None, *, bool keepdims=False) -> Tensor",
                                                                                np.minimum.reduce, unchanged, shared,      pushforwards(x=pushed))
# fmt: on
