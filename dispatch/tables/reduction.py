"""Rows that reduce axes: sum, mean, max, min.

Their kernels call the ufunc's own `reduce`, which is what NumPy's functions of these names do a microsecond later.
"""

from math import prod
from typing import Any

import numpy as np

from ..fake import FakeTensor
from ..operators import ops
from ..prims import broadcast_to, sum_to
from ..tape import pullbacks
from .families import complete, in_front, kernel_of, reduction
from .layouts import axes_of, fake_result, plain, reduced
from .pointwise import divide, equal

# -- kernels ---------------------------------------------------------------------------------------------------------------


def _sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return np.add.reduce(x, tuple(axis) if type(axis) is list else axis, dtype, None, keepdims)


def _mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    x = np.asanyarray(x)
    kind = x.dtype.kind
    # np.mean's own precautions: integers are added up as float64, half precision as float32
    inner = dtype or ("f8" if kind in "iub" else "f4" if x.dtype == np.float16 else None)
    total = np.add.reduce(x, tuple(axis) if type(axis) is list else axis, inner, None, keepdims)
    mean = total / (x.size // (total.size or 1))
    wanted = total.dtype if dtype or kind in "iub" else x.dtype
    return mean if mean.dtype == wanted else mean.astype(wanted)


def _max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.maximum.reduce(x, tuple(axis) if type(axis) is list else axis, None, None, keepdims)


def _min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.minimum.reduce(x, tuple(axis) if type(axis) is list else axis, None, None, keepdims)


# -- gradients -------------------------------------------------------------------------------------------------------------


def kept(x: Any, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """A result, or its gradient, with axes of length 1 where some were reduced."""
    return x if keepdims else ops.np.reshape(x, reduced(shape, plain(axis), True))


def spread(g: Any, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """The pullback of a sum: every element that went into it gets its gradient."""
    return broadcast_to(g if axis is None else kept(g, shape, axis, keepdims), shape)


def spread_mean(g: Any, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """The pullback of a mean."""
    count = prod([shape[i] for i in axes_of(plain(axis), len(shape))])
    return spread(divide(g, count or 1), shape, axis, keepdims)


def shared(g: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    """The pullback of a largest or smallest value: those that equal it share the gradient, as torch's amax has it."""
    chosen = equal(x, kept(out, x.shape, axis, keepdims))
    count = sum(chosen, axis, g.dtype, True)
    return ops.np.where(chosen, divide(kept(g, x.shape, axis, keepdims), count), 0.0)


# fmt: off - a table reads by its columns
sum  = reduction("sum(Tensor x, int[1]? axis=None, ScalarType? dtype=None, bool keepdims=False) -> Tensor", _sum,
                 lambda g, x_shape, axis, keepdims: spread(g, x_shape, axis, keepdims))
mean = reduction("mean(Tensor x, int[1]? axis=None, ScalarType? dtype=None, bool keepdims=False) -> Tensor", _mean,
                 lambda g, x_shape, axis, keepdims: spread_mean(g, x_shape, axis, keepdims))
max  = reduction("max(Tensor x, int[1]? axis=None, bool keepdims=False) -> Tensor", _max,
                 lambda g, x, out, axis, keepdims: shared(g, x, out, axis, keepdims))
min  = reduction("min(Tensor x, int[1]? axis=None, bool keepdims=False) -> Tensor", _min,
                 lambda g, x, out, axis, keepdims: shared(g, x, out, axis, keepdims))
# fmt: on

# -- the sum that undoes broadcasting --------------------------------------------------------------------------------------


def _fake_sum_to(x: FakeTensor, shape: Any) -> FakeTensor:
    shape = tuple(shape)
    if shape == x.shape:
        return x
    return fake_result(kernel_of(sum_to), shape, x, x, tuple([n if n < 2 else 2 for n in shape]))


def _batched_sum_to(info: Any, in_dims: Any, x: Any, shape: Any) -> tuple[Any, int]:
    x = in_front(x, in_dims[0])
    between = (1,) * (len(x.shape) - 1 - len(shape))
    out = sum_to(x, (x.shape[0], *between, *shape))
    return (ops.np.reshape(out, (x.shape[0], *shape)) if between else out), 0


complete(
    sum_to,
    fake=_fake_sum_to,
    autograd=pullbacks(x=lambda g, x_shape: broadcast_to(g, x_shape)),
    vmap=_batched_sum_to,
)
