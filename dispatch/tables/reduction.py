"""Rows that reduce axes: sum, mean, max, min.

Their kernels call the ufunc's own `reduce`, which is what NumPy's functions of these names do a microsecond later.
"""

from math import prod
from typing import Any

import numpy as np

from ..operators import ops
from ..prims import broadcast_to
from .families import reduction
from .layouts import axes_of, plain, reduced
from .pointwise import divide, equal

Shape = tuple[int, ...]

# -- kernels ---------------------------------------------------------------------------------------------------------------


# NumPy's stubs say that some of what `reduce` takes goes by keyword only; by position it costs 40 ns less.
_add: Any = np.add.reduce
_maximum: Any = np.maximum.reduce
_minimum: Any = np.minimum.reduce


def _sum(x: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
    return _add(x, tuple(axis) if type(axis) is list else axis, dtype, None, keepdims)


def _mean(x: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
    x = np.asanyarray(x)
    kind = x.dtype.kind
    # np.mean's own precautions: integers are added up as float64, half precision as float32
    inner = dtype or ("f8" if kind in "iub" else "f4" if x.dtype == np.float16 else None)
    total = _add(x, tuple(axis) if type(axis) is list else axis, inner, None, keepdims)
    mean = total / (x.size // (total.size or 1))
    wanted = total.dtype if dtype or kind in "iub" else x.dtype
    return mean if mean.dtype == wanted else mean.astype(wanted)


def _max(x: Any, axis: Any, keepdims: Any) -> Any:
    return _maximum(x, tuple(axis) if type(axis) is list else axis, None, None, keepdims)


def _min(x: Any, axis: Any, keepdims: Any) -> Any:
    return _minimum(x, tuple(axis) if type(axis) is list else axis, None, None, keepdims)


# -- gradients -------------------------------------------------------------------------------------------------------------


def kept(x: Any, shape: Shape, axis: Any, keepdims: Any) -> Any:
    """A result, or its gradient, with axes of length 1 where some were reduced."""
    return x if keepdims else ops.np.reshape(x, reduced(shape, plain(axis), True))


def spread(g: Any, x_shape: Shape, axis: Any, keepdims: Any) -> Any:
    """The pullback of a sum: every element that went into it gets its gradient."""
    return broadcast_to(g if axis is None else kept(g, x_shape, axis, keepdims), x_shape)


def spread_mean(g: Any, x_shape: Shape, axis: Any, keepdims: Any) -> Any:
    """The pullback of a mean."""
    count = prod([x_shape[i] for i in axes_of(plain(axis), len(x_shape))])
    return spread(divide(g, count or 1), x_shape, axis, keepdims)


def shared(g: Any, x: Any, out: Any, axis: Any, keepdims: Any) -> Any:
    """The pullback of a largest or smallest value: those that equal it share the gradient, as torch's amax has it."""
    chosen = equal(x, kept(out, x.shape, axis, keepdims))
    count = sum(chosen, axis, g.dtype, True)
    return ops.np.where(chosen, divide(kept(g, x.shape, axis, keepdims), count), 0.0)


# A table reads by its columns.
# fmt: off

#                 schema                                                                                       kernel  gradient in x
sum  = reduction("sum(Tensor x, int[1]? axis=None, ScalarType? dtype=None, bool keepdims=False) -> Tensor",  _sum,  spread)
mean = reduction("mean(Tensor x, int[1]? axis=None, ScalarType? dtype=None, bool keepdims=False) -> Tensor", _mean, spread_mean)
max  = reduction("max(Tensor x, int[1]? axis=None, bool keepdims=False) -> Tensor",                          _max,  shared)
min  = reduction("min(Tensor x, int[1]? axis=None, bool keepdims=False) -> Tensor",                          _min,  shared)
# fmt: on
