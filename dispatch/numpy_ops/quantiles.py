"""Order statistics: `np.quantile`, `np.percentile`, and with `np.nanmedian` and `np.nanargmax` those that leave nan out.

A quantile lies between two elements in order, in a part of the way, gamma, that the method gives by Hyndman and Fan [1]_. The derivative
goes to these two elements, and by q it is the slope between them; at an element that of the interval after it, and of a method that
chooses elements it is 0. Which elements they are is a constant: an index, found by sorting. More than 350 lines, because the 13 methods
and the weights are told here in NumPy's own steps, for one number of elements and for one of each row.

.. [1] Hyndman, Fan: Sample quantiles in statistical packages. The American Statistician 50 (1996), 361-365.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..core import OpOverload
from ..errors import UnsupportedError
from ..layers.autograd import CONSTANT, pullbacks
from ..layers.fake import FakeTensor, fake_tensor
from ..layers.jvp import pushforwards
from ..operators.prims import astype, broadcast_to, moveaxis
from ..operators.registry import ops
from ..operators.views import ARRAY
from ..symbolic import SymInt, agreeing, guesses, is_zero
from . import cumulative, numpy_functions, sorting
from .assignment import result_into
from .data_checks import checked
from .families import aligned, attach_plain_forms, composite, row
from .flags import NO_VALUE
from .indexing import as_number, getitem, where
from .nan_reductions import inexact, none_but_nan
from .numpy_functions import spelled
from .pointwise import (
    add,
    divide,
    equal,
    floor_divide,
    isnan,
    less,
    logical_not,
    maximum,
    minimum,
    multiply,
    subtract,
)
from .reduction import sum
from .result_layouts import broadcast_shape, elementwise, plain
from .row_arguments import as_item, as_value, call
from .shape import reshape, transpose
from .sorting import INDEX, argsort, take_along_axis
from .statistics import any

Rule = Callable[..., Any]

# -- between two elements ------------------------------------------------------------------------------------------------------


def _lerp(a: Any, b: Any, part: Any, weak: bool = False) -> Any:
    # np.quantile's own steps
    a, b = np.asarray(a), np.asarray(b)
    length = b - a
    before, after = part, 1 - part
    if weak:
        ends = length.dtype
        kind = ends if ends.kind == "f" else np.dtype(np.float64)
        before, after = [np.asarray(x).astype(kind) for x in (before, after)]
    found = np.where(np.asarray(part) >= 0.5, b - length * after, a + length * before)
    return found if found.ndim else found[()]


def _fake_lerp(a: Any, b: Any, part: Any, weak: bool) -> Any:
    fakes = [x for x in (a, b, part) if isinstance(x, FakeTensor)]
    kinds = [x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype for x in (a, b, part)]
    ends = np.result_type(*kinds[:2])
    if ends.kind == "b":
        np.subtract(np.zeros(1, bool), np.zeros(1, bool))  # raises NumPy's own error
    if not weak:
        return elementwise(np.result_type(*kinds), fakes)
    return elementwise(ends if ends.kind == "f" else np.result_type(ends, np.float64), fakes)


lerp: OpOverload = row(
    "lerp(Tensor a, Tensor b, Tensor part, bool weak=False) -> Tensor",
    numpy=_lerp,
    fake=_fake_lerp,
    autograd=pullbacks(
        a=lambda g, part: multiply(g, subtract(1, part)), b=lambda g, part: multiply(g, part), part=lambda g, a, b: multiply(g, subtract(b, a))
    ),
    jvp=pushforwards(
        a=lambda t, part, out: astype(multiply(t, subtract(1, part)), out.dtype),
        b=lambda t, part, out: astype(multiply(t, part), out.dtype),
        part=lambda t, a, b, out: astype(multiply(t, subtract(b, a)), out.dtype),
    ),
    vmap=lambda info, in_dims, a, b, part, weak: (lerp(*aligned(in_dims[:3], (a, b, part)), weak), 0),
)

# -- which elements --------------------------------------------------------------------------------------------------------------


def _chosen(place: Any, before: Rule) -> Any:
    """Return the place before or after, as an index."""
    low = np.floor(place)
    return np.maximum(np.where(before(place - low, place), low, low + 1).astype(INDEX), 0)


def _even(part: Any, place: Any) -> Any:
    return (part == 0) & (np.floor(place) % 2 == 1)


def _between(alpha: float, beta: float) -> tuple[Rule, Rule, float]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1, lambda part, place: part, 1 - alpha - beta


# By method: the place among n sorted elements, from 0, that a q has; what is made of the part of the way between two elements, None of
# an index; the derivative of that by q, less n, None where it is 0. NumPy's own steps.
METHODS: dict[str, tuple[Rule, Rule | None, float | None]] = {
    "inverted_cdf": (lambda n, q: _chosen(n * q - 1, lambda part, place: part == 0), None, None),
    "averaged_inverted_cdf": (lambda n, q: n * q - 1, lambda part, place: np.where(part == 0, 0.5, 1.0), None),
    "closest_observation": (lambda n, q: _chosen(n * q - 1 - 0.5, _even), None, None),
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": (lambda n, q: (n - 1) * q, lambda part, place: part, -1),
    "median_unbiased": _between(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _between(3 / 8.0, 3 / 8.0),
    "lower": (lambda n, q: np.floor((n - 1) * q).astype(INDEX), None, None),
    "higher": (lambda n, q: np.ceil((n - 1) * q).astype(INDEX), None, None),
    "midpoint": (lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)), lambda part, place: np.where(place % 1 == 0, 0.0, 0.5), None),
    "nearest": (lambda n, q: np.around((n - 1) * q).astype(INDEX), None, None),
}


def is_index(q: Any, method: str) -> bool:
    """Whether a place is that of one element, by what is known without data."""
    whole = q.dtype.kind in "iub" if hasattr(q, "dtype") else type(q) is int
    return METHODS[method][1] is None or (method == "linear" and whole)


def _place(n: Any, q: Any, method: str) -> Any:
    q = np.asarray(q)
    if isinstance(n, (np.ndarray, np.generic)):
        n = n.astype(q.dtype) if q.dtype.kind == "f" else n  # promoted like the number that NumPy has here
    return np.array(METHODS[method][0](n, q), order="C")


def _places(n: Any, q: Any, method: str) -> Any:
    place = _place(n, q, method)
    if is_index(np.asarray(q), method):
        return np.minimum(place, n - 1), np.minimum(place, n - 1)
    low = np.floor(place)
    return tuple([np.where(place < 0, 0, np.where(place >= n - 1, n - 1, i)).astype(INDEX) for i in (low, low + 1)])


def _part(n: Any, q: Any, method: str) -> Any:
    place, fix = _place(n, q, method), METHODS[method][1]
    if fix is None:
        return np.zeros_like(place)
    previous = np.where(place < 0, 0, np.where(place >= n - 1, -1, np.floor(place))).astype(INDEX)
    return np.asarray(fix(place - previous, place), place.dtype)


def _shape_of(n: Any, q: Any) -> Any:
    return broadcast_shape((tuple(getattr(n, "shape", ())), tuple(getattr(q, "shape", ()))))


def _fake_new(n: Any, q: Any, dtype: Any) -> FakeTensor:
    like = next((x for x in (n, q) if isinstance(x, FakeTensor)), None)
    return fake_tensor(_shape_of(n, q), dtype) if like is None else fake_tensor(_shape_of(n, q), dtype, None, like.device, like.mode)


def _fake_part(n: Any, q: Any, method: str) -> FakeTensor:
    return _fake_new(n, q, _place(1, np.zeros(1, q.dtype if hasattr(q, "dtype") else type(q)), method).dtype)


def _scaled(g: Any, n: Any, method: str) -> Any:
    less = METHODS[method][2]
    return multiply(g, 0.0) if less is None else add(multiply(g, n), multiply(g, less)) if less else multiply(g, n)


# The two elements between which a quantile of n lies, and the part of the way; n is a number, or one for each row.
quantile_places: OpOverload = row(
    "quantile_places(Tensor n, Tensor q, str method) -> (Tensor, Tensor)",
    numpy=_places,
    fake=lambda n, q, method: (_fake_new(n, q, INDEX), _fake_new(n, q, INDEX)),
    autograd=CONSTANT,
    vmap=lambda info, in_dims, n, q, method: (quantile_places(*aligned(in_dims[:2], (n, q)), method), (0, 0)),
)
quantile_part: OpOverload = row(
    "quantile_part(Tensor n, Tensor q, str method) -> Tensor",
    numpy=_part,
    fake=_fake_part,
    autograd=pullbacks(q=lambda g, n, method: _scaled(g, n, method)),
    jvp=pushforwards(q=lambda t, n, method, out: astype(_scaled(t, n, method), out.dtype)),
    vmap=lambda info, in_dims, n, q, method: (quantile_part(*aligned(in_dims[:2], (n, q)), method), 0),
)


# -- checks ----------------------------------------------------------------------------------------------------------------------


def _in_range(words: str) -> Rule:
    def check(q: Any) -> None:
        if not np.all((q >= 0) & (q <= 1)):
            raise ValueError(words)  # NumPy's own

    return check


def _not_negative(weights: Any) -> None:
    if np.any(weights < 0):
        raise ValueError("Weights must be non-negative.")  # np.quantile's own


def _some(total: Any) -> None:
    if not np.all(np.isfinite(total) & (total != 0)):
        raise ValueError("Weights included NaN, inf or were all zero.")  # np.quantile's own


_check_quantiles = _in_range("Quantiles must be in the range [0, 1]")
checked_quantiles = checked("checked_quantiles", _check_quantiles)
_check_percentiles = _in_range("Percentiles must be in the range [0, 100]")
checked_percentiles = checked("checked_percentiles", _check_percentiles)
checked_counting_weights = checked("checked_counting_weights", _not_negative)
checked_total = checked("checked_total", _some)

# -- quantiles ---------------------------------------------------------------------------------------------------------------------


def _merged(x: Any, axes: Any) -> Any:
    """Return an array with some axes as one at the end."""
    ndim = len(x.shape)
    if len(axes) == 1:
        return moveaxis(x, axes[0], -1) if axes[0] != ndim - 1 else x
    rest = [i for i in range(ndim) if i not in axes]
    moved = moveaxis(x, rest, list(range(len(rest)))) if rest else x
    return reshape(moved, (*[x.shape[i] for i in rest], prod([x.shape[i] for i in axes])))


def _picked(x: Any, order: Any, place: Any) -> Any:
    """Return the elements at places in order: at the same ones in all rows, or at those of each row."""
    if len(x.shape) == 1:
        return getitem(x, (ARRAY,), [getitem(order, (ARRAY,), [place])])
    if len(place.shape) < len(x.shape):
        place = place if place.shape else reshape(place, (1,))
        return take_along_axis(x, getitem(order, (Ellipsis, ARRAY), [place]), -1)
    return take_along_axis(x, take_along_axis(order, place, -1), -1)


# NumPy gives an array of no axes where there are weights.
WEIGHTED_IS_ARRAY = isinstance(np.quantile(np.zeros(1), 0.5, weights=np.ones(1), method="inverted_cdf"), np.ndarray)


def _quantile_of(x: Any, q: Any, axis: Any, method: str, weights: Any, keepdims: bool, *, leaving: bool) -> Any:
    """Return quantiles; `leaving` says that nan is left out."""
    x, weights = _as_array(x), _as_array(weights)
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")  # np.quantile's own
    weak = type(q) in (int, float)
    if weak:
        _check_quantiles(np.asarray(q))
    else:
        q = checked_quantiles(_as_array(q))
    asked = () if weak else q.shape
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")  # np.quantile's own
    if leaving and True in map(is_zero, x.shape):
        return ops.np.nanmean(x, axis, keepdims=keepdims)  # whatever q and the method are
    if method not in METHODS or len(asked) > 2:
        np.quantile(np.zeros(1), np.zeros((1,) * len(asked)), method=method)  # type: ignore[call-overload] # raises NumPy's own error
    axes, kept, rest = _parted(x, axis)
    if leaving and len(asked) == 2 and len(axes) != 1 and rest:
        raise UnsupportedError(
            "np.nanquantile: of q with two axes and an array along several NumPy puts the axes of the result in a wrong order. "
            "Write np.nanquantile(x, q.ravel(), axis), and give the result the shape of q in front."
        )
    weights = None if weights is None else _merged(_beside(x, weights, None if axis is None else axes), axes)
    x = _merged(x, axes)
    n = x.shape[-1]
    if is_zero(n):
        np.quantile(np.empty(0), 0.5)  # raises NumPy's own error
    order = argsort(x, -1, "stable")
    flat = reshape(q, (-1,)) if len(asked) == 2 else q
    nans = isnan(x) if inexact(x) else None
    count = n if nans is None or not leaving else sum(logical_not(nans), -1, INDEX, keepdims=bool(rest))
    if weights is not None:
        found = _picked(x, order, _weighted_place(weights, nans if leaving else None, order, flat, count))
    else:
        first, second = quantile_places(count, flat, method)
        found = _picked(x, order, first)
        if not is_index(q, method):
            found = lerp(found, _picked(x, order, second), quantile_part(count, flat, method), weak)
    if nans is not None:
        found = _lost(found, none_but_nan(equal(count, 0)) if leaving else any(nans, -1, keepdims=bool(rest)))
    if rest:
        found = moveaxis(found, -1, 0)
    if len(asked) != 1 or keepdims:
        found = reshape(found, (*asked, *(kept if keepdims else rest)))
    if found.shape:
        return found
    return getitem(found, Ellipsis) if keepdims or (weights is not None and WEIGHTED_IS_ARRAY) else as_number(found)


def _as_array(x: Any) -> Any:
    """Return a number of Python's as an array without axes, a fake among fakes."""
    return ops.np.full((), x) if isinstance(x, (bool, int, float, complex)) else x


def _lost(x: Any, none: Any) -> Any:
    """Return an array with nan where there is no value: a constant factor, so that the derivative is nan, too."""
    return multiply(x, astype(where(none, np.nan, 1.0), x.dtype))


def _parted(x: Any, axis: Any) -> tuple[tuple[int, ...], Any, Any]:
    """Return the axes that are reduced, the shape that keeps them, and the shape without them."""
    ndim = len(x.shape)
    axes = tuple(range(ndim)) if axis is None else normalize_axis_tuple(plain(axis), ndim)
    kept = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
    return axes, kept, tuple([n for i, n in enumerate(x.shape) if i not in axes])


def _beside(x: Any, weights: Any, axes: Any) -> Any:
    """Return weights in the shape of the array; NumPy's own error where they do not fit."""
    weights = checked_counting_weights(weights)
    if not agreeing([weights.shape, x.shape]):
        if axes is None or not agreeing([weights.shape, tuple([x.shape[i] for i in axes])]):
            np.quantile(np.zeros(guesses(x.shape)), 0.5, axes, weights=np.ones(guesses(weights.shape)), method="inverted_cdf")  # raises NumPy's own error
        weights = transpose(weights, tuple(np.argsort(axes).tolist())) if len(axes) > 1 else weights
        weights = reshape(weights, tuple([n if i in axes else 1 for i, n in enumerate(x.shape)]))
        weights = broadcast_to(weights, x.shape)
    return weights


def _weighted_place(weights: Any, nans: Any, order: Any, q: Any, count: Any) -> Any:
    """Return the first place at which the sum of the weights reaches a part of all."""
    weights = weights if nans is None else where(nans, 0, weights)
    sums = cumulative.cumsum(take_along_axis(weights, order, -1), -1, np.float64)
    total = getitem(sums, (Ellipsis, slice(-1, None)))
    share = divide(sums, checked_total(total if nans is None else where(equal(count, 0), 1.0, total)))
    ndim = len(getattr(q, "shape", ()))
    share = astype(share, q.dtype) if hasattr(q, "dtype") and q.dtype.kind == "f" else share
    share = where(equal(share, 0), -1, share)  # what has no weight is not the quantile of 0
    share = reshape(share, (*share.shape, *(1,) * ndim))
    place = sum(less(share, q), -1 - ndim, INDEX, keepdims=not ndim and len(order.shape) > 1)
    return minimum(place, count - 1 if isinstance(count, (int, SymInt)) else subtract(count, 1))


TEXT = "(Tensor x, Tensor q, int[1]? axis=None, str method='linear', Tensor? weights=None, *, bool keepdims=False) -> Tensor"


def _of_elements(x: Any, weights: Any, axis: Any) -> Any:
    """Return weights along some axes in the shape of the array, without a row: a shape rule runs it on arrays too."""
    axes = () if axis is None else normalize_axis_tuple(plain(axis), x.ndim)
    if weights.shape == x.shape or weights.shape != tuple([x.shape[i] for i in axes]):
        return weights
    along = np.transpose(weights, np.argsort(axes).tolist()) if len(axes) > 1 else weights
    return np.broadcast_to(along.reshape([n if i in axes else 1 for i, n in enumerate(x.shape)]), x.shape)


def _kernel(function: Rule) -> Rule:
    def numpy(x: Any, q: Any, axis: Any, method: Any, weights: Any, *, keepdims: Any) -> Any:
        if weights is not None and function is np.nanquantile:  # which takes no fewer than elements
            weights = _of_elements(x, weights, axis)
        return function(x, q, axis, method=method, weights=weights, keepdims=keepdims)

    return numpy


def _quantile(x: Any, q: Any, axis: Any = None, method: str = "linear", weights: Any = None, *, keepdims: bool = False) -> Any:
    return _quantile_of(x, q, axis, method, weights, keepdims, leaving=False)


def _nanquantile(x: Any, q: Any, axis: Any = None, method: str = "linear", weights: Any = None, *, keepdims: bool = False) -> Any:
    return _quantile_of(x, q, axis, method, weights, keepdims, leaving=True)


def _like(function: Rule) -> Rule:
    """Return the kernel for arrays of a few elements that tell a layout: weights of 0 it would refuse."""
    run = _kernel(function)

    def numpy(x: Any, q: Any, axis: Any, method: Any, weights: Any, *, keepdims: Any) -> Any:
        return run(x, q, axis, method, None if weights is None else np.ones_like(weights), keepdims=keepdims)

    return numpy


quantile = composite("quantile" + TEXT, _quantile, numpy=_kernel(np.quantile), laid_out=_like(np.quantile))
nanquantile = composite("nanquantile" + TEXT, _nanquantile, numpy=_kernel(np.nanquantile), laid_out=_like(np.nanquantile))


def _of(op: OpOverload, function: Rule, *, percent: bool) -> Rule:
    """Return one of NumPy's four functions of a row."""
    spelling = f"np.{function.__name__}"

    def entry(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = False,
        *, weights: Any = None,
    ) -> Any:  # fmt: skip
        q = as_value(q)
        if percent and type(q) in (int, float):
            q = q / 100
            _check_percentiles(np.asarray(q))
        elif percent:
            q = checked_percentiles(divide(as_item(q), 100))
        found = call(op, a, q, axis, method, None if weights is None else as_item(as_value(weights)), keepdims=False if keepdims is NO_VALUE else keepdims)
        return found if out is None else result_into(spelling, found, out)

    return entry


# -- without nan ---------------------------------------------------------------------------------------------------------------------


def _nanmedian(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if True in map(is_zero, x.shape):
        return ops.np.nanmean(x, axis, keepdims=keepdims)
    if not inexact(x):
        return sorting.median(x, axis, keepdims=keepdims)
    axes, kept, rest = _parted(x, axis)
    x = _merged(x, axes)
    count = sum(logical_not(isnan(x)), -1, INDEX, keepdims=bool(rest))
    order = argsort(x, -1, "stable")
    places = [floor_divide(maximum(i, 0), 2) for i in (subtract(count, 1), count)]
    low, high = [_picked(x, order, place) for place in places]
    one = equal(*places)  # the middle one itself, for twice it may be beyond all numbers; what NumPy adds begins with 0.0
    halves = divide(add(*[where(one, 0.0, x) for x in (low, high)]), 2.0)
    found = _lost(add(where(one, low, halves), 0.0), none_but_nan(equal(count, 0)))
    found = reshape(found, kept if keepdims else rest)
    return found if found.shape else getitem(found, Ellipsis) if keepdims else as_number(found)


nanmedian = composite(
    "nanmedian(Tensor x, int[1]? axis=None, *, bool keepdims=False) -> Tensor",
    _nanmedian,
    numpy=lambda x, axis, *, keepdims: np.nanmedian(x, axis, keepdims=keepdims),
    laid_out=True,
)
nanargmax = sorting.place("nanargmax")
nanargmin = sorting.place("nanargmin")

FUNCTIONS: dict[Any, Any] = dict([
    (np.quantile, _of(quantile, np.quantile, percent=False)),
    (np.percentile, _of(quantile, np.percentile, percent=True)),
    (np.nanquantile, _of(nanquantile, np.nanquantile, percent=False)),
    (np.nanpercentile, _of(nanquantile, np.nanpercentile, percent=True)),
    spelled(np.nanmedian, "a:x axis out overwrite_input keepdims", nanmedian),
    spelled(np.nanargmax, "a:x axis out keepdims", nanargmax),
    spelled(np.nanargmin, "a:x axis out keepdims", nanargmin),
])  # fmt: skip
for op, function in ((quantile, np.quantile), (nanquantile, np.nanquantile)):
    spelled(function, "a:x q axis out overwrite_input method keepdims weights", op)


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(nanargmax, nanargmin, nanmedian, nanquantile, quantile)
