"""Counts: `np.bincount`, `np.digitize`, `np.histogram` and its kin.

In which bin an element lies is a constant to derivatives, and so is a count. A sum of weights has a derivative by the weights; edges
that are made of the smallest and the largest element have one by these, and a density has one by its edges.

More than 350 lines, because how a histogram reads its bins is told here, for each way to give them.
"""

from math import prod
from operator import index
from typing import Any

import numpy as np

from ..core import OpOverload, Tensor
from ..errors import BatchingError, DataDependentError
from ..layers.autograd import CONSTANT, pullbacks
from ..layers.fake import FakeTensor, counted, fake_tensor
from ..layers.jvp import pushforwards
from ..operators.prims import astype, broadcast_to, stack
from ..operators.registry import ops
from ..operators.views import ARRAY
from ..symbolic import agreeing, guesses, has_zero, is_zero, sure
from . import creation, numpy_functions
from .cumulative import diff
from .data_checks import checked
from .data_dependent import of_data
from .families import aligned, attach_plain_forms, composite, in_front, row, undispatched
from .indexing import getitem, where
from .numpy_functions import spelled
from .pointwise import (
    add,
    divide,
    equal,
    isnan,
    less_equal,
    logical_or,
    multiply,
    subtract,
)
from .rearranging import linspace
from .reduction import max, min, sum
from .result_layouts import broadcast_shape
from .row_arguments import as_item, as_places, as_value, call
from .shape import concatenate, expand_dims, imag, ravel, real, reshape, transpose
from .sorting import INDEX, searchsorted, take_along_axis

# -- counts of whole numbers -----------------------------------------------------------------------------------------------------


def _counts(x: Any, weights: Any, length: int, *, fixed: bool) -> Any:
    x = np.asarray(x)
    if x.ndim == 1 and (weights is None or np.shape(weights) == x.shape):
        found = np.bincount(x, weights, length)
        if fixed and len(found) > length:
            raise _too_many(len(found), length)
        return found
    if not x.size or x.dtype.kind not in "iub" or x.min() < 0 or not np.can_cast(x.dtype, INDEX):
        np.bincount(x.ravel())  # raises NumPy's own error
    x = x.astype(INDEX, copy=False)
    largest = int(x.max()) if x.size else -1
    if fixed and largest >= length:
        raise _too_many(largest + 1, length)
    length = length if fixed else largest + 1 if largest >= length else length
    if weights is not None:
        x = np.broadcast_to(x, np.broadcast_shapes(x.shape, np.shape(weights)))
    rows = prod(x.shape[:-1])
    flat = (x.reshape(rows, -1) + length * np.arange(rows)[:, None]).ravel() if rows != 1 else x.ravel()
    given = None if weights is None else np.broadcast_to(weights, x.shape).ravel()
    return np.bincount(flat, given, rows * length).reshape(*x.shape[:-1], length)


def _too_many(count: int, length: int) -> BatchingError:
    return BatchingError(
        f"np::bincount: an element of a batch is {count - 1}, and minlength={length}: its item has more counts than others, which make no "
        f"batch. Give minlength={count}, or more.",
        operator="np::bincount",
    )


def _fake_counts(x: Any, weights: Any, length: Any, fixed: bool) -> Any:
    like = x if isinstance(x, FakeTensor) else weights
    if not isinstance(like, FakeTensor):
        return _counts(x, weights, length, fixed=fixed)  # numbers only
    _check_weights(weights)
    shape = broadcast_shape(tuple([tuple(getattr(a, "shape", ())) for a in (x, weights)]))
    nothing = has_zero(shape)  # is counted in whole numbers, whatever the weights are
    length = length if fixed or nothing else _length("np::bincount", like, length)
    return fake_tensor((*shape[:-1], length), INDEX if weights is None or nothing else np.dtype(np.float64), None, like.device, like.mode)


def _check_weights(weights: Any) -> None:
    if hasattr(weights, "dtype") and not np.can_cast(weights.dtype, np.float64):
        np.bincount([0], np.zeros(1, weights.dtype))  # raises NumPy's own error


def _length(name: str, x: FakeTensor, least: Any) -> Any:
    if x.mode is None or x.mode.shape_env is None:
        raise DataDependentError(
            f"{name}: how many counts it gives of an array of shape {x.shape} depends on its largest element, and a fake has no data. "
            "Give the mode symbolic sizes, FakeTensorMode(shape_env=ShapeEnv()), or call it on real arrays, outside the mode.",
            operator=name,
        )
    return counted(x, lambda: x.mode.shape_env.new_dynamic_size(min=least if type(least) is int else 0), (name, str(least)))


def _batched_counts(info: Any, in_dims: Any, x: Any, weights: Any, length: Any, fixed: bool) -> tuple[Any, int]:
    if in_dims[0] is not None and not fixed:
        raise ragged(info)
    return counts(*aligned(in_dims[:2], (x, weights)), length, fixed), 0


def ragged(info: Any) -> BatchingError:
    """Return the error for a batch of which each item has its own number of counts."""
    return BatchingError(
        f"np::bincount: each of the {info.batch_size} items of a batch gives as many counts as its largest element says, which make no "
        "batch. Give minlength=, larger than every element.",
        operator="np::bincount",
    )


def _at(g: Any, x: Any) -> Any:
    if len(x.shape) == 1:
        return getitem(g, (Ellipsis, ARRAY), [x])
    return take_along_axis(g, broadcast_to(x, (*broadcast_shape((x.shape[:-1], g.shape[:-1])), x.shape[-1])), -1)


# Counts of each row, as many as the largest element says, or a fixed number.
counts: OpOverload = row(
    "counts(Tensor x, Tensor? weights, SymInt length, bool fixed=False) -> Tensor",
    numpy=lambda x, weights, length, fixed=False: _counts(x, weights, length, fixed=fixed),
    fake=_fake_counts,
    autograd=pullbacks(weights=lambda g, x: _at(g, x)),
    jvp=pushforwards(weights=lambda t, x, length, fixed: counts(x, t, length, fixed)),
    vmap=_batched_counts,
)


def _bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    return np.bincount(x, weights, minlength)


def _fake_bincount(x: Any, weights: Any, minlength: Any) -> Any:
    _check_weights(weights)
    if len(x.shape) != 1 or not np.can_cast(x.dtype, INDEX) or (weights is not None and not agreeing([x.shape, weights.shape])):
        np.bincount(np.zeros(guesses(x.shape), x.dtype), None if weights is None else np.zeros(guesses(weights.shape)))  # raises NumPy's own error
    return _fake_counts(x, weights, minlength, False)


def _batched_bincount(info: Any, in_dims: Any, x: Any, weights: Any, minlength: Any) -> tuple[Any, int]:
    if in_dims[0] is not None and is_zero(minlength):
        raise ragged(info)
    shapes = [a if a is None else (*a.shape[:dim], *a.shape[dim + 1 :]) if dim is not None else a.shape for a, dim in ((x, in_dims[0]), (weights, in_dims[1]))]
    given = [shape for shape in shapes if shape is not None]
    if len(given[0]) != 1 or not agreeing(given):
        np.bincount(*[np.zeros(guesses(shape), INDEX) for shape in given])  # raises NumPy's own error
    return _batched_counts(info, in_dims, x, weights, minlength, in_dims[0] is not None)


bincount: OpOverload = row(
    "bincount(Tensor x, Tensor? weights=None, SymInt minlength=0) -> Tensor",
    numpy=_bincount,
    fake=_fake_bincount,
    autograd=pullbacks(weights=lambda g, x: getitem(g, (ARRAY,), [x])),
    jvp=pushforwards(weights=lambda t, x, minlength: bincount(x, t, minlength)),
    vmap=_batched_bincount,
)

# -- bins of elements ------------------------------------------------------------------------------------------------------------


def _digitize(x: Any, bins: Any, right: bool = False) -> Any:
    return np.digitize(x, bins, right)


def _fake_digitize(x: Any, bins: Any, right: bool, axes: int = 1) -> FakeTensor:
    if len(bins.shape) != axes or getattr(x, "dtype", np.dtype(float)).kind == "c":
        np.digitize(np.zeros(1, getattr(x, "dtype", float)), np.zeros((1,) * (len(bins.shape) - axes + 1)))  # raises NumPy's own error
    like = x if isinstance(x, FakeTensor) else bins
    return fake_tensor(tuple(getattr(x, "shape", ())), INDEX, None, like.device, like.mode)


def _batched_digitize(info: Any, in_dims: Any, x: Any, bins: Any, right: bool) -> tuple[Any, int]:
    if in_dims[1] is None:
        return digitize(x, bins, right), in_dims[0]
    return digitize_each(_for_each(info, x, in_dims[0]), in_front(bins, in_dims[1]), right), 0


def _for_each(info: Any, a: Any, dim: int | None) -> Any:
    """Return an array with the batch as its first axis: one that has none for each item."""
    if dim is not None:
        return in_front(a, dim)
    like = a if hasattr(a, "shape") else np.asarray(a)
    return add(creation.zeros((info.batch_size, *(1,) * len(like.shape)), like.dtype), a)


digitize: OpOverload = row(
    "digitize(Tensor x, Tensor bins, bool right=False) -> Tensor", numpy=_digitize, fake=_fake_digitize, autograd=CONSTANT, vmap=_batched_digitize
)


def _digitize_each(x: Any, bins: Any, right: bool = False) -> Any:
    found = np.empty(x.shape, INDEX)
    for i, (item, of_item) in enumerate(zip(x, bins, strict=True)):  # NumPy's own search, which says where a nan among bins leads
        found[i] = np.digitize(item, of_item, right)
    return found


def _batched_each(info: Any, in_dims: Any, x: Any, bins: Any, right: bool) -> tuple[Any, int]:
    x, bins = _for_each(info, x, in_dims[0]), _for_each(info, bins, in_dims[1])
    flat = [reshape(a, (a.shape[0] * a.shape[1], *a.shape[2:])) for a in (x, bins)]
    return reshape(digitize_each(*flat, right), x.shape), 0


# Of each item of a batch by bins of its own.
digitize_each: OpOverload = row(
    "digitize_each(Tensor x, Tensor bins, bool right=False) -> Tensor",
    numpy=_digitize_each,
    fake=lambda x, bins, right: _fake_digitize(x, bins, right, 2),
    autograd=CONSTANT,
    vmap=_batched_each,
)

# -- histograms ------------------------------------------------------------------------------------------------------------------


def _histogram_counts(x: Any, edges: Any, weights: Any = None, uniform: bool = False) -> Any:
    if np.ndim(edges) != 1:
        raise ValueError("`bins` must be 1d, when an array")  # np.histogram's own
    if uniform:
        return np.histogram(x, len(edges) - 1, (edges[0], edges[-1]), weights=weights)[0]
    return np.histogram(x, edges, weights=weights)[0]


def _fake_histogram_counts(x: Any, edges: Any, weights: Any, uniform: bool) -> FakeTensor:
    like = next(a for a in (x, edges, weights) if isinstance(a, FakeTensor))
    return fake_tensor((edges.shape[0] - 1,), INDEX if weights is None else weights.dtype if hasattr(weights, "dtype") else np.asarray(weights).dtype, None, like.device, like.mode)


def bins_of(x: Any, edges: Any) -> Any:
    """Return the bin of each element, and behind the last one of all that are in none."""
    n = edges.shape[-1] - 1
    if len(edges.shape) == 1:
        count, last = searchsorted(edges, x, "right"), getitem(edges, n)
    else:
        below = less_equal(expand_dims(edges, -2), expand_dims(x, -1))
        below = logical_or(below, isnan(expand_dims(x, -1))) if x.dtype.kind == "f" else below
        count, last = sum(below, -1, INDEX), getitem(edges, (Ellipsis, slice(n, n + 1)))
    return where(equal(x, last), n - 1, where(equal(count, 0), n, subtract(count, 1)))


def _by_weights(g: Any, x: Any, edges: Any) -> Any:
    none = ops.np.zeros_like(g, None, (1,))
    return getitem(concatenate([g, none], 0), (ARRAY,), [bins_of(x, edges)])


def _batched_histogram(info: Any, in_dims: Any, x: Any, edges: Any, weights: Any, uniform: bool) -> tuple[Any, int]:
    x, edges, weights = [a if dim is None else in_front(a, dim) for a, dim in ((x, in_dims[0]), (edges, in_dims[1]), (weights, in_dims[2]))]
    n = edges.shape[-1] - 1
    if uniform and "c" in (x.dtype.kind, edges.dtype.kind):
        raise BatchingError(
            "np.histogram of complex numbers: NumPy finds bins of one width by real parts alone, which a batch does not. Give the "
            "edges, bins=np.linspace(low, high, n + 1), or take x.real.",
            operator="np::histogram_counts",
        )
    if weights is not None and not np.can_cast(weights.dtype, np.complex128):
        raise BatchingError(
            f"np.histogram of weights of dtype {weights.dtype}: a batch adds them by np.bincount, which adds float64 alone. Give weights.astype(float).",
            operator="np::histogram_counts",
        )
    places = bins_of(x, edges)
    if weights is None:
        found = counts(places, None, n + 1, True)
    elif weights.dtype.kind == "c":
        parts = [counts(places, part(weights), n + 1, True) for part in (real, imag)]
        found = astype(add(parts[0], multiply(parts[1], 1j)), weights.dtype)
    else:
        found = astype(counts(places, weights, n + 1, True), weights.dtype)
    return getitem(found, (Ellipsis, slice(0, n))), 0


# How many elements lie in each bin, or the sum of their weights; `uniform` says that all bins are equally wide, which NumPy counts otherwise.
histogram_counts: OpOverload = row(
    "histogram_counts(Tensor x, Tensor edges, Tensor? weights=None, bool uniform=False) -> Tensor",
    numpy=_histogram_counts,
    fake=_fake_histogram_counts,
    autograd=pullbacks(weights=_by_weights),
    jvp=pushforwards(weights=lambda t, x, edges, uniform: histogram_counts(x, edges, t, uniform)),
    vmap=_batched_histogram,
)


def _number(x: Any, bins: str, low: Any = None, high: Any = None) -> Any:
    return np.asarray(len(np.histogram_bin_edges(x, bins, None if low is None else (low, high))) - 1)


def _fake_number(x: Any, bins: Any, low: Any, high: Any) -> Any:
    like = next((a for a in (x, low, high) if isinstance(a, FakeTensor)), None)
    return _number(x, bins, low, high) if like is None else fake_tensor((), INDEX, None, like.device, like.mode)


number_of_bins: OpOverload = of_data(
    "number_of_bins(Tensor x, str bins, Tensor? low=None, Tensor? high=None) -> Tensor",
    _number,
    _fake_number,
    autograd=CONSTANT,
)


def _finite(ends: Any) -> None:
    if not np.all(np.isfinite(ends)):
        raise ValueError("range is not finite: an element is inf or nan, or an end that was given")
    if np.any(ends[..., 0] > ends[..., 1]):
        raise ValueError("max must be larger than min in range parameter.")  # np.histogram's own


def _rising(words: str, *, strictly: bool = False) -> Any:
    def check(edges: Any) -> None:
        if np.any(edges[..., :-1] >= edges[..., 1:] if strictly else edges[..., :-1] > edges[..., 1:]):
            raise ValueError(words)

    return check


checked_range = checked("checked_range", _finite)
checked_edges = checked("checked_edges", _rising("`bins` must increase monotonically, when an array"))
checked_spacing = checked("checked_spacing", _rising("Too many bins for data range. Cannot create finite-sized bins.", strictly=True))


def _ends(a: Any, given: Any) -> tuple[Any, Any]:
    """Return the first and the last edge: the range, or the smallest and the largest element; half a unit aside where they are equal."""
    if given is not None:
        low, high = given
        if not isinstance(low, Tensor) and not isinstance(high, Tensor):
            if not (np.isfinite(low) and np.isfinite(high) and low <= high):
                np.histogram_bin_edges(np.zeros(0), 1, (low, high))  # raises NumPy's own error
            return (low - 0.5, high + 0.5) if low == high else (low, high)
    elif is_zero(a.shape[0]):
        return 0, 1
    else:
        sure(a.shape[0] != 0)  # of a size that depends on data it is a check
        low, high = min(a), max(a)
        if isinstance(a, np.ndarray) and not (np.isfinite(low) and np.isfinite(high)):
            np.histogram_bin_edges(a, 1)  # raises NumPy's own error
    kind = np.result_type(*[x.dtype if hasattr(x, "dtype") else x for x in (low, high)])
    kind = np.result_type(kind, np.float64) if kind.kind in "iub" else kind
    ends = checked_range(ops.np.stack([astype(x if hasattr(x, "dtype") else as_item(x), kind) for x in (low, high)]))
    low, high = getitem(ends, 0), getitem(ends, 1)
    alike = equal(low, high)
    return where(alike, subtract(low, 0.5), low), where(alike, add(high, 0.5), high)


def _edges(a: Any, bins: Any, given: Any, weights: Any) -> tuple[Any, bool]:
    """Return the edges of a histogram of one axis, and whether NumPy takes them for equally spaced."""
    if isinstance(bins, str):
        np.histogram_bin_edges(np.zeros(1), bins, weights=None if weights is None else np.zeros(1))  # raises NumPy's own error
        bins = int(number_of_bins(a, bins, *(given or (None, None))))
    bins = as_value(bins)
    if len(np.shape(bins)) > 1:
        np.histogram(np.zeros(1), np.zeros((1,) * len(bins.shape)))  # raises NumPy's own error
    if np.shape(bins):
        return checked_edges(bins), False
    try:
        n = index(bins)
    except TypeError as error:
        raise TypeError("`bins` must be an integer, a string, or an array") from error  # np.histogram's own
    if n < 1:
        raise ValueError("`bins` must be positive, when an integer")  # np.histogram's own
    low, high = _ends(a, given)
    kind = np.result_type(*[x.dtype if hasattr(x, "dtype") else x for x in (low, high)], a.dtype)
    kind = np.result_type(kind, float) if kind.kind in "iub" else kind
    return checked_spacing(linspace(low, high, n + 1, True, kind)), True


def _given(a: Any, weights: Any) -> tuple[Any, Any]:
    """Return elements and their weights as arrays."""
    return as_item(as_value(a)), None if weights is None else as_item(as_value(weights))


def _elements(a: Any, weights: Any) -> tuple[Any, Any]:
    """Return the elements in a row, with their weights; each is an array of any class, or a number."""
    a, weights = [x if x is None or hasattr(x, "dtype") else np.asarray(x) for x in (a, weights)]
    a = astype(a, np.uint8) if a.dtype.kind == "b" else a
    if weights is None:
        return ravel(a), None
    if not agreeing([a.shape, weights.shape]):
        raise ValueError("weights should have the same shape as a.")  # np.histogram's own
    return ravel(a), ravel(weights)


def _histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None) -> Any:
    a, _ = _elements(a, None)
    return _as_given(bins, _edges(a, bins, range, None)[0])


def _as_given(bins: Any, edges: Any) -> Any:
    """Return the edges of a histogram as NumPy does: an array that was given is itself."""
    return bins if isinstance(bins, (Tensor, np.ndarray)) and bins.shape else edges


def _histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, *, density: bool = False) -> Any:
    a, weights = _elements(a, weights)
    edges, uniform = _edges(a, bins, range, weights)
    found = call(histogram_counts, a, edges, weights, uniform)
    if density:
        widths = diff(edges)
        found = divide(divide(found, widths if widths.dtype == float else astype(widths, float)), sum(found))
    return found, _as_given(bins, edges)


# One node of a graph each, of bins that are told by numbers of Python's; of others a graph has the rows that they are made of.
bin_edges = composite(
    "histogram_bin_edges(Tensor a, Any bins=10, Any range=None) -> Tensor", _histogram_bin_edges,
    numpy=lambda a, bins, given: np.histogram_bin_edges(a, bins, given),
)  # fmt: skip
counted_in_bins = composite(
    "histogram(Tensor a, Any bins=10, Any range=None, Tensor? weights=None, *, bool density=False) -> (Tensor, Tensor)", _histogram,
    numpy=lambda a, bins, given, weights, *, density: np.histogram(a, bins, given, density, weights),
)  # fmt: skip


def _is_told(a: Any, bins: Any, given: Any, weights: Any) -> bool:
    """Whether bins of one width are told by numbers of Python's, of an array that has any; weights are real."""
    if given is not None and not (type(given) in (list, tuple) and len(given) == 2 and all([type(x) in (int, float) for x in given])):
        return False
    return type(bins) is int and bins >= 1 and _are_real(a, weights) and bool(a.shape)


def _are_real(*given: Any) -> bool:
    """Whether arrays, one of which is a Tensor, hold real numbers of the machine's byte order; None may stand among them."""
    arrays = [x for x in given if x is not None]
    return any([isinstance(x, Tensor) for x in arrays]) and all([x.dtype.kind in "fiu" and x.dtype.isnative for x in arrays])


def _are_told(ndim: int, bins: Any, given: Any) -> bool:
    """Whether numbers of bins along several axes are of Python's, one for all or one for each; of ranges too a graph has constants."""
    counts = bins if type(bins) in (list, tuple) else [bins] * ndim
    return given is None and len(counts) == ndim and all([type(n) is int and n >= 1 for n in counts])


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """`np.histogram_bin_edges`."""
    a, weights = _given(a, weights)
    if weights is None and _is_told(a, bins, range, None):
        return bin_edges(a, bins, range)
    a, weights = _elements(a, weights)
    return _edges(a, bins, range, weights)[0]


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """`np.histogram`."""
    a, weights = _given(a, weights)
    whole = counted_in_bins if _is_told(a, bins, range, weights) else _histogram
    return whole(a, bins, range, weights, density=bool(density))


def _columns(sample: Any) -> Any:
    """Return samples in rows; of a list of coordinates each is a column."""
    if not isinstance(sample, (list, tuple)) and len(np.shape(sample)) == 2:
        return as_item(sample)
    sample = as_item(as_value(sample))
    return transpose(sample if len(sample.shape) > 1 else reshape(sample, (1, -1)))


def _edges_along(axis: int, x: Any, bins: Any, given: Any) -> Any:
    """Return the edges along one axis of several."""
    if len(np.shape(bins)) > 1:
        raise ValueError(f"`bins[{axis}]` must be a scalar or 1d array")  # np.histogramdd's own
    if np.shape(bins):
        return checked_edges(bins)
    if bins < 1:
        raise ValueError(f"`bins[{axis}]` must be positive, when an integer")  # np.histogramdd's own
    try:
        n = index(bins)
    except TypeError as error:
        raise TypeError(f"`bins[{axis}]` must be an integer, when a scalar") from error  # np.histogramdd's own
    return linspace(*_ends(x, given), n + 1)


def _histogramdd(sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, *, density: bool = False) -> Any:
    """Return counts, and the edges along each axis."""
    if len(np.shape(sample)) != 2:
        sample = _columns(sample)
    ndim = sample.shape[1]
    try:
        given = len(bins)
    except TypeError:
        bins, given = [bins] * ndim, ndim
    if given != ndim:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")  # np.histogramdd's own
    if range is not None and len(range) != ndim:
        raise ValueError("range argument must have one entry per dimension")  # np.histogramdd's own
    columns = [getitem(sample, (slice(None), i)) for i, _ in enumerate(bins)]
    edges = [_edges_along(i, x, as_value(bins[i]), None if range is None else range[i]) for i, x in enumerate(columns)]
    sizes = [x.shape[0] + 1 for x in edges]
    np.ravel_multi_index((0,) * ndim, guesses(sizes))  # raises NumPy's own error where there are too many bins
    place: Any = 0
    for x, along, size in zip(columns, edges, sizes, strict=True):
        at = subtract(searchsorted(along, x, "right"), equal(x, getitem(along, -1)))  # the last edge is inside
        place = add(multiply(place, size), at)
    found = reshape(counts(place, weights, prod(sizes), True), tuple(sizes))
    found = found if found.dtype == float else astype(found, float)
    found = getitem(found, (slice(1, -1),) * ndim)
    if density:
        total = sum(found)
        for i, along in enumerate(edges):
            found = divide(found, reshape(diff(along), tuple([-1 if i == j else 1 for j, _ in enumerate(edges)])))
        found = divide(found, total)
    return [found, *edges]


def _histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, *, density: bool = False) -> Any:
    """Return counts, and the edges along both axes."""
    try:
        given = len(bins)
    except TypeError:
        given = 1
    sample = transpose(stack([x, y])) if np.shape(x) and np.shape(y) else _columns([x, y])
    return tuple(_histogramdd(sample, bins if given in (1, 2) else [bins, bins], range, weights, density=density))


def _numpys_boxes(sample: Any, bins: Any, given: Any, weights: Any, *, density: bool) -> Any:
    found, edges = NUMPYS(sample, bins, given, density, weights)
    return [found, *edges]


NUMPYS, NUMPYS_OF_TWO = undispatched(np.histogramdd), undispatched(np.histogram2d)
# One node of a graph each, as a histogram of one axis is.
counted_in_boxes = composite(
    "histogramdd(Tensor sample, Any bins=10, Any range=None, Tensor? weights=None, *, bool density=False) -> Tensor[]", _histogramdd,
    numpy=_numpys_boxes,
)  # fmt: skip
counted_in_fields = composite(
    "histogram2d(Tensor x, Tensor y, Any bins=10, Any range=None, Tensor? weights=None, *, bool density=False) -> (Tensor, Tensor, Tensor)", _histogram2d,
    numpy=lambda x, y, bins, given, weights, *, density: NUMPYS_OF_TWO(x, y, bins, given, density, weights),
)  # fmt: skip


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """`np.histogramdd`."""
    sample = _columns(sample)
    weights = None if weights is None else as_item(as_value(weights))
    whole = counted_in_boxes if _are_told(sample.shape[1], bins, range) and _are_real(sample, weights) else _histogramdd
    found, *edges = whole(sample, bins, range, weights, density=bool(density))
    return found, edges


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """`np.histogram2d`."""
    x, y = as_item(as_value(x)), as_item(as_value(y))
    if not agreeing([x.shape[:1], y.shape[:1]]):
        raise ValueError("x and y must have the same length.")  # np.histogram2d's own
    weights = None if weights is None else as_item(as_value(weights))
    told = _are_told(2, bins, range) and len(x.shape) == len(y.shape) == 1 and _are_real(x, y, weights)
    return (counted_in_fields if told else _histogram2d)(x, y, bins, range, weights, density=bool(density))


_, digitized = spelled(np.digitize, "x bins right", digitize)

_, of_bins = spelled(np.bincount, "x weights minlength", bincount)


def bincounted(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """`np.bincount`. How many counts an array without a derivative gives is known, of a fake and in a graph too."""
    bins = as_places(x)
    if isinstance(weights, Tensor) and type(minlength) is int and type(bins) is np.ndarray and bins.ndim == 1 and bins.size:
        countable = bins.dtype.kind in "iu" and np.can_cast(bins.dtype, INDEX) and bins.min() >= 0
        if countable and agreeing([bins.shape, weights.shape]):
            largest = int(bins.max())
            return counts(bins, weights, largest + 1 if largest >= minlength else minlength, True)
    return of_bins(bins, weights=weights, minlength=minlength)


FUNCTIONS: dict[Any, Any] = {
    np.bincount: bincounted,
    np.digitize: lambda x, bins, right=False: digitized(x, bins, bool(right)),
    np.histogram: histogram, np.histogram_bin_edges: histogram_bin_edges, np.histogramdd: histogramdd, np.histogram2d: histogram2d,
}  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
    numpy_functions.spell(np.histogram_bin_edges, "a bins range", bin_edges)
    numpy_functions.spell(np.histogram, "a bins range density weights", counted_in_bins)
    numpy_functions.spell(np.histogram2d, "x y bins range density weights", counted_in_fields)

attach_plain_forms(bincount, digitize, counted_in_bins, bin_edges, counted_in_fields)
