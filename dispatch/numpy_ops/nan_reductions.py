"""Rows that leave nan out: `np.nanmax`, `np.nanprod`, `np.nanvar`, `np.nancumsum` and their kin; nansum and nanmean are in `statistics`.

A nan is replaced by what changes nothing. Of nothing but nan the largest value and the variance are nan, and so are their derivatives.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import OpOverload
from ..layers.autograd import pullbacks
from ..layers.jvp import pushforwards
from ..operators.registry import ops
from . import cumulative, reduction, statistics
from .data_checks import warned
from .families import composite
from .indexing import as_number, where
from .pointwise import (
    conjugate,
    divide,
    equal,
    isnan,
    less_equal,
    logical_and,
    logical_not,
    maximum,
    multiply,
    subtract,
)
from .pointwise_more import root
from .result_layouts import plain
from .shape import real

Rule = Callable[..., Any]


def inexact(x: Any) -> bool:
    """Return whether there may be a nan."""
    return bool(x.dtype.kind in "fc")


def instead(x: Any, value: Any) -> Any:
    """Return the array with a value in place of nan, laid out as the copy is to which NumPy writes."""
    if not inexact(x):
        return x
    x = ops.np.copy(x)
    return where(isnan(x), ops.np.full_like(x, value), x)


none_but_nan = warned("none_but_nan", "All-NaN slice encountered")
none_free = warned("none_free", "Degrees of freedom <= 0 for slice.")

# -- the largest and the smallest ----------------------------------------------------------------------------------------------


def _chosen(x: Any, out: Any, mask: Any, axis: Any, keepdims: Any) -> tuple[Any, Any]:
    """Return which elements are the largest that count, and how many of each result, at least 1."""
    chosen = equal(x, reduction.kept(out, x.shape, axis, keepdims))
    if mask is not None:
        chosen = logical_and(chosen, mask)
    return chosen, maximum(reduction.sum(chosen, plain(axis), np.intp, keepdims=True), 1)


def shared(g: Any, x: Any, out: Any, axis: Any, keepdims: Any, mask: Any = None) -> Any:
    """Compute the pullback: those that equal the value share the gradient; of nothing but nan none does, and all have 0."""
    chosen, count = _chosen(x, out, mask, axis, keepdims)
    return where(chosen, divide(reduction.kept(g, x.shape, axis, keepdims), count), 0.0)


def pushed(t: Any, x: Any, out: Any, axis: Any, keepdims: Any, mask: Any = None) -> Any:
    """Compute the pushforward: the mean of the tangents of those that equal the value; 0 of nothing but nan."""
    chosen, count = _chosen(x, out, mask, axis, keepdims)
    return reduction.sum(where(chosen, divide(t, count), 0.0), plain(axis), keepdims=keepdims)


def extreme(name: str, op: OpOverload, end: float, function: Rule) -> OpOverload:
    """Make the row of a largest or smallest value; `end` is beyond all others."""

    def decomposed(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        if not inexact(x):
            return op(x, axis, keepdims=keepdims)
        worst = complex(end, end) if x.dtype.kind == "c" else end
        found = op(instead(x, worst), axis, keepdims=keepdims)
        none = none_but_nan(statistics.all(isnan(x), axis, keepdims=keepdims))
        nan = complex(np.nan, np.nan) if x.dtype.kind == "c" else np.nan
        return as_number(where(none, ops.np.full_like(found, nan), found))

    return composite(f"{name}(Tensor x, int[1]? axis=None, *, bool keepdims=False) -> Tensor", decomposed, numpy=lambda x, axis, *, keepdims: function(x, axis, keepdims=keepdims),
                     autograd=pullbacks(x=lambda g, x, out, axis, keepdims: shared(g, x, out, axis, keepdims)),
                     jvp=pushforwards(x=lambda t, x, out, axis, keepdims: pushed(t, x, out, axis, keepdims)))  # fmt: skip


nanmax = extreme("nanmax", reduction.max, -np.inf, np.nanmax)
nanmin = extreme("nanmin", reduction.min, np.inf, np.nanmin)


# -- sums and products ---------------------------------------------------------------------------------------------------------

TYPED = "(Tensor x, int[1]? axis=None, ScalarType? dtype=None, *, bool keepdims=False) -> Tensor"
ALONG = "(Tensor x, int? axis=None, ScalarType? dtype=None) -> Tensor"

nanprod = composite("nanprod" + TYPED, lambda x, axis=None, dtype=None, *, keepdims=False: statistics.prod(instead(x, 1), axis, dtype, keepdims=keepdims))
nancumsum = composite("nancumsum" + ALONG, lambda x, axis=None, dtype=None: cumulative.cumsum(instead(x, 0), axis, dtype))
nancumprod = composite("nancumprod" + ALONG, lambda x, axis=None, dtype=None: cumulative.cumprod(instead(x, 1), axis, dtype))

# -- variance ------------------------------------------------------------------------------------------------------------------


def nan_variance(
    x: Any, there: Any, mean: Any = None, axis: Any = None, dtype: Any = None, ddof: Any = 0, *, keepdims: bool = False, deviation: bool = False
) -> Any:
    """Return the variance, or the standard deviation, of the elements that are `there`. NumPy's own steps."""
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        np.nanvar(np.zeros(1, x.dtype), dtype=dtype)  # raises NumPy's own error
    if mean is None:
        count = reduction.sum(there, axis, np.intp, keepdims=True)
        total = reduction.sum(where(there, x, ops.np.zeros_like(x)), axis, dtype, keepdims=True)
        mean = ops.np.astype(divide(total, where(count, count, 1)), total.dtype)
    away = where(there, subtract(x, mean), 0.0)
    if away.dtype.kind == "c" and x.dtype.kind == "f":
        away = real(away)
    away = ops.np.astype(away, x.dtype) if away.dtype != x.dtype and x.dtype.kind == away.dtype.kind else away
    away = real(multiply(away, conjugate(away))) if away.dtype.kind == "c" else multiply(away, away)
    total = reduction.sum(away, axis, dtype, keepdims=keepdims)
    free = subtract(reduction.sum(there, axis, np.intp, keepdims=keepdims), ddof)
    none = none_free(less_equal(free, 0))
    found = divide(total, where(none, 1, free))
    found = found if found.dtype == total.dtype else ops.np.astype(found, total.dtype)
    return as_number(where(none, np.nan, root(where(none, 1.0, found)) if deviation else found))


def _nanvar(x: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, *, keepdims: bool = False) -> Any:
    if not inexact(x):
        return statistics.var(x, axis, dtype, ddof, keepdims=keepdims)
    return nan_variance(x, logical_not(isnan(x)), None, axis, dtype, ddof, keepdims=keepdims)


def _nanstd(x: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, *, keepdims: bool = False) -> Any:
    if not inexact(x):
        return statistics.std(x, axis, dtype, ddof, keepdims=keepdims)
    return nan_variance(x, logical_not(isnan(x)), None, axis, dtype, ddof, keepdims=keepdims, deviation=True)


nanvar = composite("nanvar" + statistics.SPREAD, _nanvar, numpy=lambda x, axis, dtype, ddof, *, keepdims: np.nanvar(x, axis, dtype, None, ddof, keepdims))
nanstd = composite("nanstd" + statistics.SPREAD, _nanstd, numpy=lambda x, axis, dtype, ddof, *, keepdims: np.nanstd(x, axis, dtype, None, ddof, keepdims))
