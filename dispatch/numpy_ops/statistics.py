"""More reductions: products, all and any, variances, medians and averages."""

from math import prod as product_of
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..autodiff.rules.partials import conjugated
from ..core import OpOverload
from ..core.array_memory import is_complex
from ..layers.autograd import CONSTANT, pullbacks
from ..layers.jvp import pushforwards
from ..operators.prims import define, moveaxis
from ..operators.registry import ops
from ..schema.tags import Tag
from ..symbolic import SymInt, agreeing, guesses, is_zero, larger
from .cumulative import others
from .data_checks import checked, warned
from .families import batched_reduction, complete, composite, fake_reduction, reduction, undispatched
from .indexing import as_number, where
from .pointwise import add, divide, divide_no_nan, isnan, logical_not, multiply, not_equal, square, subtract
from .pointwise_more import root
from .reduction import kept, max, mean, min, sum, summed
from .result_layouts import axes_of, check_axis, plain
from .shape import imag, real, reshape, transpose

Shape = tuple[int, ...]

# -- rows ------------------------------------------------------------------------------------------------------------------


def _prod_pullback(g: Any, x: Any, out: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
    x = x if dtype is None else ops.np.astype(x, dtype)  # the factors, whose derivatives are real where these are
    if len(x.shape) == 1 and not isinstance(axis, (tuple, list)):  # the usual case, and no axes are left
        return multiply(others(conjugated(x), conjugated(out)), g)
    axes = axes_of(plain(axis), len(x.shape))
    ends = tuple(range(len(x.shape) - len(axes), len(x.shape)))
    moved = moveaxis(x, axes, ends)
    rest = moved.shape[: len(x.shape) - len(axes)]
    flat = others(reshape(conjugated(moved), (*rest, product_of([x.shape[i] for i in axes]))))
    around = moveaxis(reshape(flat, moved.shape), ends, axes)
    return multiply(kept(g, x.shape, axis, keepdims), around)


prod = reduction(
    "prod(Tensor x, int[1]? axis=None, ScalarType? dtype=None, *, bool keepdims=False) -> Tensor",
    np.multiply.reduce,
    summed,
    _prod_pullback,
)


def truth(name: str, ufunc: np.ufunc) -> OpOverload:
    """Make a row of `all` or `any`."""

    def numpy(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return ufunc.reduce(np.asanyarray(x), axis, np.dtype(bool), keepdims=keepdims)

    op = define(f"np::{name}(Tensor x, int[1]? axis=None, *, bool keepdims=False) -> Tensor", numpy, (Tag.reduction,))
    fake = fake_reduction(numpy, lambda dtype: np.dtype(bool))
    return complete(op, fake=fake, autograd=CONSTANT, vmap=batched_reduction(op))


all = truth("all", np.logical_and)
any = truth("any", np.logical_or)

# -- composites ------------------------------------------------------------------------------------------------------------


def counted(x: Any, axis: Any) -> int:
    """Return how many elements are reduced into each result. Unlike a sum, these rows know no axis of a 0-d array."""
    check_axis(axis, len(x.shape))
    return product_of([x.shape[i] for i in axes_of(plain(axis), len(x.shape))])


def _var(x: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, *, keepdims: bool = False) -> Any:
    if dtype is None and x.dtype.kind in "iub":
        dtype = np.float64
    count = counted(x, axis)
    # np.var's own steps
    total = sum(x, axis, dtype, keepdims=True)
    middle = divide(total, np.nan if is_zero(count) else count)
    middle = middle if middle.dtype == total.dtype else ops.np.astype(middle, total.dtype)
    away = subtract(x, middle)
    if away.dtype.kind == "c":
        away = add(square(real(away)), square(imag(away)))
    else:
        away = square(away)
    free = count - ddof
    total = sum(away, axis, dtype, keepdims=keepdims)
    found = divide(total, larger(free, 0) if type(free) is SymInt else free if free > 0 else 0.0)
    return found if found.dtype == total.dtype else ops.np.astype(found, total.dtype)


def _of_one(x: Any, axis: Any, ddof: Any) -> bool:
    """Whether a deviation is of one number, and so 0, as its variance is: of that all derivatives are 0, and of a root of it nan."""
    count = counted(x, axis)
    return type(count) is int and count == 1 and ddof == 0


def root_in_place(x: Any) -> Any:
    """Return the root in the dtype that a variance has: NumPy rounds a number's, and refuses that of an array of integers."""
    if x.dtype.kind not in "biu":
        return root(x)
    if x.shape:
        np.sqrt(np.ones(1, x.dtype), out=np.ones(1, x.dtype))  # raises NumPy's own error
    return ops.np.astype(root(x), x.dtype)


def _std(x: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, *, keepdims: bool = False) -> Any:
    found = _var(x, axis, dtype, ddof, keepdims=keepdims)
    unlike = x.dtype.kind == "c" and dtype is not None and np.dtype(dtype).kind != "c"  # the mean is of the real parts alone
    if _of_one(x, axis, ddof) and not unlike:
        return found
    return root_in_place(found)


def _pulled_away(g: Any, x: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any) -> Any:
    """Compute `g 2 (x - mean) / (n - ddof)`; that the mean moves, too, changes nothing of it."""
    free = counted(x, axis) - ddof
    each = divide(multiply(g, 2), larger(free, 0) if type(free) is SymInt else free if free > 0 else 0.0)
    return multiply(subtract(x, mean(x, axis, dtype, keepdims=True)), kept(each, x.shape, axis, keepdims))


def _pushed_away(t: Any, x: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any) -> Any:
    """Compute `2 Re <x - mean, t> / (n - ddof)`."""
    free = counted(x, axis) - ddof
    along = multiply(conjugated(subtract(x, mean(x, axis, dtype, keepdims=True))), t)
    along = sum(real(along) if is_complex(along) else along, axis, keepdims=keepdims)
    return divide(multiply(along, 2), larger(free, 0) if type(free) is SymInt else free if free > 0 else 0.0)


def _std_pushforward(t: Any, x: Any, out: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any) -> Any:
    found = _pushed_away(t, x, axis, dtype, ddof, keepdims)
    return found if _of_one(x, axis, ddof) else multiply(found, divide_no_nan(0.5, out))


def _std_pullback(g: Any, x: Any, out: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any) -> Any:
    return _pulled_away(g if _of_one(x, axis, ddof) else multiply(g, divide_no_nan(0.5, out)), x, axis, dtype, ddof, keepdims)


_NUMPY_VAR, _NUMPY_STD = undispatched(np.var), undispatched(np.std)
SPREAD = "(Tensor x, int[1]? axis=None, ScalarType? dtype=None, Scalar ddof=0, *, bool keepdims=False) -> Tensor"
def _kernel_of_var(x: Any, axis: Any, dtype: Any, ddof: Any, *, keepdims: bool) -> Any:
    """Return `np.var`; of all elements by the ufuncs that NumPy calls, without what it asks between them: 4 us for 7."""
    if axis is not None or dtype is not None or keepdims or type(ddof) is not int or type(x) is not np.ndarray or not x.ndim > 0:
        return _NUMPY_VAR(x, axis, dtype, None, ddof, keepdims)
    free = x.size - ddof
    if free <= 0 or x.dtype not in (np.float64, np.float32):
        return _NUMPY_VAR(x, axis, dtype, None, ddof, keepdims)
    middle = np.add.reduce(x, None, keepdims=True)
    away = x - np.true_divide(middle, x.size, out=middle)
    found = np.add.reduce(np.square(away, out=away), None)
    return found / free


var = composite(
    "var" + SPREAD,
    _var,
    numpy=_kernel_of_var,
    autograd=pullbacks(x=_pulled_away),
    jvp=pushforwards(x=_pushed_away),
)
std = composite(
    "std" + SPREAD,
    _std,
    numpy=lambda x, axis, dtype, ddof, *, keepdims: _NUMPY_STD(x, axis, dtype, None, ddof, keepdims),
    autograd=pullbacks(x=_std_pullback),
    jvp=pushforwards(x=_std_pushforward),
)


def _check_weights(total: Any) -> None:
    if np.any(total == 0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")  # np.average's own


checked_weights = checked("checked_weights", _check_weights)  # the sum of some weights itself, which is not 0


def _average(x: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return mean(x, axis, keepdims=keepdims)
    dtype = np.result_type(x.dtype, weights.dtype, *([np.float64] if x.dtype.kind in "iub" else []))
    axes = None if axis is None else normalize_axis_tuple(plain(axis), len(x.shape), "axis")
    if not agreeing([weights.shape, x.shape]):
        if axes is None or not agreeing([weights.shape, tuple([x.shape[i] for i in axes])]):
            np.average(np.broadcast_to(1.0, guesses(x.shape)), axis, np.broadcast_to(1.0, guesses(weights.shape)))  # raises NumPy's own error
        among = axes or ()
        weights = transpose(weights, tuple(np.argsort(among).tolist())) if len(among) > 1 else weights
        weights = reshape(weights, tuple([n if i in among else 1 for i, n in enumerate(x.shape)]))
    scale = checked_weights(sum(weights, axes, dtype, keepdims=keepdims))
    x, weights = [a if a.dtype == dtype else ops.np.astype(a, dtype) for a in (x, weights)]
    return divide(sum(multiply(x, weights), axes, dtype, keepdims=keepdims), scale)


average = composite(
    "average(Tensor x, int[1]? axis=None, Tensor? weights=None, *, bool keepdims=False) -> Tensor",
    _average,
    numpy=lambda x, axis, weights, *, keepdims: np.average(x, axis, weights, keepdims=keepdims),
)


def _ptp(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return subtract(max(x, axis, keepdims=keepdims), min(x, axis, keepdims=keepdims))


def _count_nonzero(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return sum(not_equal(x, 0), axis, np.intp, keepdims=keepdims)


def without_nans(x: Any) -> Any:
    """Replace nan by 0."""
    return where(isnan(x), ops.np.zeros_like(x), x) if x.dtype.kind in "fc" else x


def _nansum(x: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    return sum(without_nans(x), axis, dtype, keepdims=keepdims)


none_to_average = warned("none_to_average", "Mean of empty slice")


def _nanmean(x: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    if x.dtype.kind not in "fc":
        return mean(x, axis, dtype, keepdims=keepdims)
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        np.nanmean(np.zeros(1, x.dtype), dtype=dtype)  # raises NumPy's own error
    count = sum(logical_not(isnan(x)), axis, np.intp, keepdims=keepdims)
    found = sum(without_nans(x), axis, dtype, keepdims=keepdims)
    none = none_to_average(logical_not(count))  # where a quotient has the tangent 0 / 0, and a gradient of 0
    lost = complex(np.nan, np.nan) if found.dtype.kind == "c" else np.nan
    return as_number(where(none, lost, ops.np.astype(divide(found, where(none, 1, count)), found.dtype)))


REDUCED = "(Tensor x, int[1]? axis=None, *, bool keepdims=False) -> Tensor"
ptp = composite("ptp" + REDUCED, _ptp, numpy=lambda x, axis, *, keepdims: np.ptp(x, axis, keepdims=keepdims))
count_nonzero = composite(
    "count_nonzero" + REDUCED,
    _count_nonzero,
    numpy=lambda x, axis, *, keepdims: np.asarray(np.count_nonzero(x, axis, keepdims=keepdims))[()],  # which is a number of Python's
)
TYPED = "(Tensor x, int[1]? axis=None, ScalarType? dtype=None, *, bool keepdims=False) -> Tensor"
nansum = composite("nansum" + TYPED, _nansum, numpy=lambda x, axis, dtype, *, keepdims: np.nansum(x, axis, dtype, keepdims=keepdims))
nanmean = composite("nanmean" + TYPED, _nanmean, numpy=lambda x, axis, dtype, *, keepdims: np.nanmean(x, axis, dtype, keepdims=keepdims))
