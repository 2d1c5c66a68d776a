"""Reductions of chosen elements: the rows behind `where=`, `initial=` and `mean=` of np.sum, np.max, np.var and their kin.

Their kernels are NumPy's functions with those parameters. The layers see them as reductions of arrays in which the elements that do
not count are replaced by what changes nothing; the tape has rules of its own for sums, means and variances, so that their values have
NumPy's bits. The file has more than 350 lines, because a variance and its kin are one computation with and without a mean or a mask.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import OpOverload
from ..layers.autograd import pullbacks
from ..layers.jvp import pushforwards
from ..operators.registry import ops
from ..operators.views import is_number
from ..symbolic import guesses, has_zero, larger, same
from . import nan_reductions, reduction, statistics
from .families import composite
from .indexing import as_number, where
from .pointwise import (
    add,
    divide,
    divide_no_nan,
    equal,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    negative,
    square,
    subtract,
)
from .pointwise_more import fmax, fmin
from .result_layouts import axes_of, broadcast_shape, check_broadcast_is_known, plain, reduced
from .shape import imag, real

Function = Callable[..., Any]


def _options(mask: Any, initial: Any = None, **more: Any) -> dict[str, Any]:
    """Return NumPy's keywords; one that was left out is not among them."""
    given = {"where": mask, "initial": initial, **more}
    return {name: value for name, value in given.items() if value is not None}


def fitting(x: Any, mask: Any) -> Any:
    """Return the mask, which fits the array; NumPy's own error where it would make it larger."""
    if not same(broadcast_shape((x.shape, mask.shape)), x.shape) or mask.dtype.kind != "b":
        check_broadcast_is_known((x.shape, mask.shape))
        np.add.reduce(np.broadcast_to(0.0, guesses(x.shape)), None, where=np.broadcast_to(np.zeros((), mask.dtype), guesses(mask.shape)))
    return mask


def folding(name: str, op: OpOverload, neutral: Function, join: Function, function: Function, typed: bool, **closed: Any) -> OpOverload:
    """Make a row of a sum, a product, a largest or smallest value; `neutral(x)` replaces what does not count.

    A sum and a product may be `typed`; a largest value may not, and needs `initial` where elements are left out.
    `closed` has rules for layers, under which a value has the bits of NumPy's own sum, which leaves out what does not count.
    """

    def decomposed(
        x: Any, mask: Any = None, initial: Any = None, axis: Any = None, dtype: Any = None, *, keepdims: bool = False
    ) -> Any:
        given = x
        if mask is not None:
            if not typed and initial is None:
                function(np.zeros(1), where=np.ones(1, bool))  # raises NumPy's own error
            x = where(fitting(x, mask), x, neutral(x))
        if not typed and has_zero(tuple([x.shape[i] for i in axes_of(plain(axis), len(x.shape))])):
            return as_number(ops.np.full_like(x, initial, None, reduced(x.shape, plain(axis), keepdims)))
        found = op(x, axis, dtype, keepdims=keepdims) if typed else op(x, axis, keepdims=keepdims)
        if initial is None:
            return found
        found = join(found, found.dtype.type(initial))  # NumPy casts it first: of truth values -5 is True
        if join in (fmax, fmin) and not given.shape and is_number(given) and nan_reductions.inexact(given):
            lost = isnan(given) if mask is None else logical_or(isnan(given), logical_not(statistics.any(mask)))
            return as_number(where(lost, found.dtype.type(np.nan), found))  # of a number NumPy asks whether all that counts is nan
        return found

    def kernel(x: Any, mask: Any, initial: Any, axis: Any, dtype: Any, *, keepdims: bool) -> Any:
        return function(x, axis, keepdims=keepdims, **({"dtype": dtype} if typed else {}), **_options(mask, initial))

    return composite(
        f"{name}(Tensor x, Tensor? mask=None, Scalar? initial=None, int[1]? axis=None, ScalarType? dtype=None, *, "
        "bool keepdims=False) -> Tensor",
        decomposed,
        numpy=kernel,
        **closed,
    )


def _zeros(x: Any) -> Any:
    return ops.np.zeros_like(x)


def _ones(x: Any) -> Any:
    return ops.np.ones_like(x)


def _end(x: Any, sign: int) -> Any:
    """Return an array of the value that is below all others of a dtype, or above them, so that it ties with none that counts."""
    kind = x.dtype.kind
    if kind == "b":
        return ops.np.full_like(x, sign > 0)
    if kind in "iu":
        limits = np.iinfo(x.dtype)
        return ops.np.full_like(x, limits.max if sign > 0 else limits.min)
    return ops.np.full_like(x, complex(sign * np.inf, sign * np.inf) if kind == "c" else sign * np.inf)


def _lowest(x: Any) -> Any:
    return _end(x, -1)


def _highest(x: Any) -> Any:
    return _end(x, 1)


def _nan_or_lowest(x: Any) -> Any:
    return ops.np.full_like(x, np.nan) if nan_reductions.inexact(x) else _lowest(x)


def _nan_or_highest(x: Any) -> Any:
    return ops.np.full_like(x, np.nan) if nan_reductions.inexact(x) else _highest(x)


def _only(x: Any, mask: Any) -> Any:
    """Return a gradient or a tangent where an element counts, and 0 elsewhere."""
    return x if mask is None else where(mask, x, 0.0)


def _no_nan(x: Any, mask: Any) -> Any:
    """Return the mask of what counts and is no nan."""
    if not nan_reductions.inexact(x):
        return mask
    there = logical_not(isnan(x))
    return there if mask is None else logical_and(there, mask)


def _spread_sum(g: Any, x_shape: Any, mask: Any, axis: Any, keepdims: Any) -> Any:
    return _only(reduction.spread(g, x_shape, axis, keepdims), mask)


def _spread_nansum(g: Any, x: Any, mask: Any, axis: Any, keepdims: Any) -> Any:
    return _only(reduction.spread(g, x.shape, axis, keepdims), _no_nan(x, mask))


def _extreme(name: str, op: OpOverload, neutral: Function, join: Function, function: Function, *, leaves_nan_out: bool = False) -> OpOverload:
    """Make the row of a largest or smallest value: of 0.0 and -0.0 that is one which NumPy's own loop says."""

    def slope(g: Any, out: Any, initial: Any) -> Any:
        """Return a gradient or a tangent, half of it where the elements tie with `initial`."""
        return g if initial is None else multiply(g, where(equal(out, out.dtype.type(initial)), out.dtype.type(0.5), out.dtype.type(1)))

    def pulled(g: Any, x: Any, out: Any, mask: Any, initial: Any, axis: Any, keepdims: Any) -> Any:
        found = nan_reductions.shared(slope(g, out, initial), x, out, axis, keepdims, mask)
        if leaves_nan_out:
            return found
        lost = reduction.kept(isnan(out), x.shape, axis, keepdims)
        return where(lost if mask is None else logical_and(lost, mask), out.dtype.type(np.nan), found)

    def pushed(t: Any, x: Any, out: Any, mask: Any, initial: Any, axis: Any, keepdims: Any) -> Any:
        found = slope(nan_reductions.pushed(t, x, out, axis, keepdims, mask), out, initial)
        return found if leaves_nan_out else where(isnan(out), out.dtype.type(np.nan), found)

    return folding(name, op, neutral, join, function, False, autograd=pullbacks(x=pulled), jvp=pushforwards(x=pushed))


sum_where = folding(
    "sum_where", reduction.sum, _zeros, add, np.sum, True,
    autograd=pullbacks(x=_spread_sum),
    jvp=pushforwards(x=lambda t, mask, axis, dtype, keepdims: sum_where(t, mask, None, axis, dtype, keepdims=keepdims)),
)  # fmt: skip
prod_where = folding("prod_where", statistics.prod, _ones, multiply, np.prod, True)
nansum_where = folding(
    "nansum_where", statistics.nansum, _zeros, add, np.nansum, True,
    autograd=pullbacks(x=_spread_nansum),
    jvp=pushforwards(x=lambda t, x, mask, axis, dtype, keepdims: sum_where(t, _no_nan(x, mask), None, axis, dtype, keepdims=keepdims)),
)  # fmt: skip
nanprod_where = folding("nanprod_where", nan_reductions.nanprod, _ones, multiply, np.nanprod, True)
max_where = _extreme("max_where", reduction.max, _lowest, maximum, np.max)
min_where = _extreme("min_where", reduction.min, _highest, minimum, np.min)
nanmax_where = _extreme("nanmax_where", nan_reductions.nanmax, _nan_or_lowest, fmax, np.nanmax, leaves_nan_out=True)
nanmin_where = _extreme("nanmin_where", nan_reductions.nanmin, _nan_or_highest, fmin, np.nanmin, leaves_nan_out=True)

TRUTH = "(Tensor x, Tensor mask, int[1]? axis=None, *, bool keepdims=False) -> Tensor"
all_where = composite(
    "all_where" + TRUTH,
    lambda x, mask, axis=None, *, keepdims=False: statistics.all(logical_or(x, logical_not(fitting(x, mask))), axis, keepdims=keepdims),
    numpy=lambda x, mask, axis, *, keepdims: np.all(x, axis, keepdims=keepdims, where=mask),
)
any_where = composite(
    "any_where" + TRUTH,
    lambda x, mask, axis=None, *, keepdims=False: statistics.any(logical_and(x, fitting(x, mask)), axis, keepdims=keepdims),
    numpy=lambda x, mask, axis, *, keepdims: np.any(x, axis, keepdims=keepdims, where=mask),
)


def _count(x: Any, mask: Any, axis: Any, keepdims: bool) -> Any:
    """Return how many elements are chosen."""
    if mask is None:
        return statistics.counted(x, axis)
    return reduction.sum(ops.np.broadcast_to(fitting(x, mask), x.shape), axis, np.intp, keepdims=keepdims)


with np.errstate(invalid="ignore"):
    NOTHING = complex(np.complex128(0) / 0)  # the processor's own nan, whose sign np.signbit tells


def _mean_where(x: Any, mask: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    if dtype is None and x.dtype.kind in "iub":
        dtype = np.float64
    inner = np.float32 if dtype is None and x.dtype == np.float16 else dtype
    total = sum_where(x, mask, None, axis, inner, keepdims=keepdims)
    count = _count(x, mask, axis, keepdims)
    none = statistics.none_to_average(logical_not(count))  # where a quotient has the tangent 0 / 0, and a gradient of 0
    lost = NOTHING if total.dtype.kind == "c" else NOTHING.real
    found = as_number(where(none, lost, divide(total, where(none, 1, count))))
    return ops.np.astype(found, x.dtype if inner is not dtype else total.dtype)


def _nanmean_where(x: Any, mask: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    if x.dtype.kind in "fc" and dtype is not None and np.dtype(dtype).kind not in "fc":
        np.nanmean(np.zeros(1, x.dtype), dtype=dtype)  # raises NumPy's own error
    there = logical_and(logical_not(isnan(x)), mask) if x.dtype.kind in "fc" else mask
    return _mean_where(x, ops.np.broadcast_to(there, x.shape), axis, dtype, keepdims=keepdims)


def mean_into(out: Any, x: Any, mask: Any = None, axis: Any = None, dtype: None = None, *, keepdims: bool = False) -> Any:
    """Return the mean of half precision as `np.mean(x, out=out)` has it: the sum is rounded to `out`, and divided there."""
    total = ops.np.astype(sum_where(x, mask, None, axis, np.float32, keepdims=keepdims), out.dtype)
    wide = np.result_type(out.dtype, np.float64)
    quotient = divide(ops.np.astype(total, wide), _count(x, mask, axis, keepdims))
    return quotient if out.dtype == wide else ops.np.astype(quotient, out.dtype)


AVERAGED = "(Tensor x, Tensor mask, int[1]? axis=None, ScalarType? dtype=None, *, bool keepdims=False) -> Tensor"


def _spread_mean(g: Any, x: Any, mask: Any, axis: Any, keepdims: Any) -> Any:
    """Compute the pullback of a mean: 0 of none that count."""
    g = divide(g, maximum(_count(x, mask, axis, keepdims), 1))
    return _only(reduction.spread(g, x.shape, axis, keepdims), mask)


def _sum_of_chosen(x: Any, mask: Any, axis: Any, dtype: Any, *, keepdims: bool) -> Any:
    """Return an array laid out as a mean: NumPy divides the sum in place."""
    return np.sum(x, axis, keepdims=keepdims, where=mask)


mean_where = composite(
    "mean_where" + AVERAGED,
    _mean_where,
    numpy=lambda x, mask, axis, dtype, *, keepdims: np.mean(x, axis, dtype, keepdims=keepdims, where=mask),
    laid_out=_sum_of_chosen,
    autograd=pullbacks(x=_spread_mean),
)
nanmean_where = composite(
    "nanmean_where" + AVERAGED,
    _nanmean_where,
    numpy=lambda x, mask, axis, dtype, *, keepdims: np.nanmean(x, axis, dtype, keepdims=keepdims, where=mask),
    laid_out=_sum_of_chosen,
    autograd=pullbacks(x=lambda g, x, mask, axis, keepdims: _spread_mean(g, x, ops.np.broadcast_to(_no_nan(x, mask), x.shape), axis, keepdims)),
)


def _spread_where(deviation: bool) -> Function:
    """Return the variance of what counts, or its root; of nothing both are nan, whose tangent is 0 as its gradient is."""

    def spread(
        x: Any, mask: Any = None, mean: Any = None, axis: Any = None, dtype: Any = None, ddof: Any = 0, *, keepdims: bool = False
    ) -> Any:
        if dtype is None and x.dtype.kind in "iub":
            dtype = np.float64
        if mean is None:
            total = sum_where(x, mask, None, axis, dtype, keepdims=True)
            mean = ops.np.astype(divide(total, _count(x, mask, axis, True)), total.dtype)
        away = subtract(x, mean)
        if mask is not None:  # before it is squared, so that the slope of an infinity that does not count is no nan
            away = where(fitting(x, mask), away, 0.0)
        if away.dtype.kind == "c" and x.dtype.kind not in "iuf":  # NumPy squares numbers that were real as they are
            away = add(square(real(away)), square(imag(away)))
        else:
            away = square(away)
        total = sum_where(away, mask, None, axis, dtype, keepdims=keepdims)
        count = _count(x, mask, axis, keepdims)
        free = maximum(subtract(count, ddof), 0) if hasattr(count, "shape") else larger(count - ddof, 0)
        none = None if mask is None or total.dtype.kind != "f" else statistics.none_to_average(logical_not(count))
        found = divide(total, free if none is None else where(none, 1, free))
        found = found if found.dtype == total.dtype else ops.np.astype(found, total.dtype)
        found = statistics.root_in_place(found) if deviation else found
        return found if none is None else as_number(where(none, NOTHING.real, found))

    return spread


SPREAD = (
    "(Tensor x, Tensor? mask=None, Tensor? mean=None, int[1]? axis=None, ScalarType? dtype=None, Scalar ddof=0, *, "
    "bool keepdims=False) -> Tensor"
)


def _by_deviations(g: Any, x: Any, mask: Any, mean: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any) -> Any:
    """Compute `g 2 (x - mean) / (n - ddof)` of what counts; that a mean of these elements moves, too, changes nothing of it."""
    if mean is None:
        mean = ops.np.mean(x, axis, dtype, keepdims=True) if mask is None else mean_where(x, mask, axis, dtype, keepdims=True)
    count = _count(x, mask, axis, keepdims)
    each = divide(multiply(g, 2), maximum(subtract(count, ddof), 0) if hasattr(count, "shape") else larger(count - ddof, 0))
    away = _only(subtract(x, mean), mask)
    return _only(multiply(away, reduction.kept(each, away.shape, axis, keepdims)), mask)  # a mean may have more axes than x


def _by_mean(g: Any, x: Any, mask: Any, mean: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any) -> Any:
    return negative(_by_deviations(g, x, mask, mean, axis, dtype, ddof, keepdims))  # added up by the tape


def _of_deviation(rule: Function) -> Function:
    """Return the pullback of a deviation, from that of a variance; 0 where all elements are equal."""

    def pullback(g: Any, out: Any, x: Any, mask: Any, mean: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any) -> Any:
        return rule(multiply(g, divide_no_nan(0.5, out)), x, mask, mean, axis, dtype, ddof, keepdims)

    return pullback


def _sum_of_squares(x: Any, mask: Any, mean: Any, axis: Any, dtype: Any, ddof: Any, *, keepdims: bool) -> Any:
    """Return an array laid out as a variance."""
    return np.sum(x if mean is None else x - mean, axis, keepdims=keepdims, where=True if mask is None else mask)


var_where = composite(
    "var_where" + SPREAD,
    _spread_where(False),
    laid_out=_sum_of_squares,
    numpy=lambda x, mask, mean, axis, dtype, ddof, *, keepdims: np.var(
        x, axis, dtype, ddof=ddof, keepdims=keepdims, **_options(mask, mean=mean)
    ),
    autograd=pullbacks(x=_by_deviations, mean=_by_mean),
)
std_where = composite(
    "std_where" + SPREAD,
    _spread_where(True),
    laid_out=_sum_of_squares,
    numpy=lambda x, mask, mean, axis, dtype, ddof, *, keepdims: np.std(
        x, axis, dtype, ddof=ddof, keepdims=keepdims, **_options(mask, mean=mean)
    ),
    autograd=pullbacks(x=_of_deviation(_by_deviations), mean=_of_deviation(_by_mean)),
)


def nan_spread(name: str, function: Function, of_whole: OpOverload, deviation: bool) -> OpOverload:
    """Make the row of the variance or the deviation of chosen elements that are no nan."""

    def decomposed(x: Any, mask: Any = None, mean: Any = None, axis: Any = None, dtype: Any = None, ddof: Any = 0, *, keepdims: bool = False) -> Any:
        if not nan_reductions.inexact(x):
            return of_whole(x, mask, mean, axis, dtype, ddof, keepdims=keepdims)
        if hasattr(mean, "shape") and not same(broadcast_shape((x.shape, mean.shape)), x.shape):
            check_broadcast_is_known((x.shape, mean.shape))
            np.subtract(0.0, np.broadcast_to(0.0, guesses(mean.shape)), out=np.empty(guesses(x.shape)))  # raises NumPy's own error
        there = logical_not(isnan(x))
        there = there if mask is None else logical_and(there, fitting(x, mask))
        return nan_reductions.nan_variance(x, there, mean, axis, dtype, ddof, keepdims=keepdims, deviation=deviation)

    def kernel(x: Any, mask: Any, mean: Any, axis: Any, dtype: Any, ddof: Any, *, keepdims: bool) -> Any:
        return function(x, axis, dtype, ddof=ddof, keepdims=keepdims, **_options(mask, mean=mean))

    return composite(name + SPREAD, decomposed, numpy=kernel)


nanvar_where = nan_spread("nanvar_where", np.nanvar, var_where, False)
nanstd_where = nan_spread("nanstd_where", np.nanstd, std_where, True)

CHOOSING: dict[OpOverload, OpOverload] = {
    reduction.sum: sum_where, statistics.prod: prod_where, statistics.nansum: nansum_where, reduction.max: max_where,
    reduction.min: min_where, statistics.all: all_where, statistics.any: any_where, reduction.mean: mean_where,
    statistics.nanmean: nanmean_where, statistics.var: var_where, statistics.std: std_where, nan_reductions.nanprod: nanprod_where,
    nan_reductions.nanmax: nanmax_where, nan_reductions.nanmin: nanmin_where, nan_reductions.nanvar: nanvar_where,
    nan_reductions.nanstd: nanstd_where,
}  # fmt: skip
