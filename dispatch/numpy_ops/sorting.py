"""Rows that sort, search, and select along an axis. Rows that return indices have no gradient."""

from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..core import OpOverload
from ..layers.autograd import CONSTANT
from ..layers.fake import FakeTensor, fake_tensor
from ..layers.jvp import pushforwards
from ..operators.registry import ops
from ..operators.views import ARRAY
from ..symbolic import SymInt, guesses, is_zero
from .cumulative import along, back, last
from .families import complete, composite, in_front, row, undispatched
from .indexing import as_number, getitem, where
from .linalg.matmul import item_shape
from .pointwise import equal, isnan, less, less_equal, logical_and, logical_not, logical_or, multiply
from .reduction import mean, unchanged
from .reduction import sum as total
from .result_layouts import fake_like, plain
from .shape import expand_dims, reshape

Shape = tuple[int, ...]
INDEX = np.dtype(np.intp)
MANY = 1000  # floats, up to which a stable order takes no longer than another
MOST = 1 << 17  # floats, up to which 46 bits or more beside the place leave two of a hundred such vectors with elements as one
LARGEST = np.iinfo(np.int64).max

# -- order -----------------------------------------------------------------------------------------------------------------


def _places(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return INDEX


def in_c_order(x: FakeTensor, dtype: np.dtype[Any]) -> FakeTensor:
    """Return the fake of a new array in C order."""
    return fake_tensor(x.shape, dtype, None, x.device, x.mode)


_NUMPY_ARGSORT, _NUMPY_SORT = undispatched(np.argsort), undispatched(np.sort)


def _argsort(x: Any, axis: int | None = -1, kind: Any = None, descending: bool = False) -> Any:
    if descending:  # NumPy 2.5, which takes no kind beside it
        return _NUMPY_ARGSORT(x, axis, stable=kind == "stable", descending=True)
    return np.argsort(x, axis, kind)


argsort = along("argsort(Tensor x, int? axis=-1, str? kind=None, bool descending=False) -> Tensor", _argsort, _places, in_c_order, None)


def _sort(x: Any, axis: int | None = -1, kind: Any = None, descending: bool = False) -> Any:
    if descending:
        return _NUMPY_SORT(x, axis, stable=kind == "stable", descending=True)
    return _NUMPY_SORT(x, axis, kind)


def _ranked(x: Any, in_order: Any) -> Any:
    """Sort a vector's float64 patterns with its places in their last bits; None where such bits had told two elements apart.

    np.argsort follows an index for each comparison, and a stable one takes twice as long again; np.sort of integers does neither.
    """
    n = x.size
    places = (1 << (n - 1).bit_length()) - 1
    keys = np.add(x, 0.0, dtype=np.float64).view(np.int64)  # a zero has one pattern, as one is not below the other
    if in_order[0] < 0:
        keys ^= (keys >> 63) & LARGEST  # the patterns of negative numbers go down
    keys &= ~places
    keys |= np.arange(n)
    keys.sort()
    keys &= places
    return keys if np.count_nonzero(x.take(keys) == in_order) == n else None


def _order(x: Any, in_order: Any) -> Any:
    if type(in_order) is np.ndarray and in_order.size > MANY and in_order.dtype.kind == "f":
        if in_order.size <= MOST and in_order.dtype.itemsize <= 8 and (found := _ranked(x, in_order)) is not None:
            return found
        if not np.count_nonzero(in_order[1:] == in_order[:-1]) and not np.isnan(in_order[-1]):
            return np.argsort(x)  # where none are equal there is one order
    return np.argsort(x, -1, "stable")


# The places of a vector's elements in order, equal ones as they stand; `in_order` has the elements in order.
stable_order = composite(
    "stable_order(Tensor x, Tensor in_order) -> Tensor", lambda x, in_order: argsort(x, -1, "stable"), numpy=_order
)


def _put_back(x: Any, order: Any) -> Any:
    made = np.empty(x.shape, x.dtype)
    if order.ndim == 1:
        made[order] = x
    else:
        np.put_along_axis(made, order, x, -1)
    return made


# What np.take_along_axis(y, order, -1) is `x` of, an order having each place once: the order of an order undoes it.
put_back = composite(
    "put_back(Tensor x, Tensor order) -> Tensor",
    lambda x, order: take_along_axis(x, argsort(order, -1), -1),
    numpy=_put_back,
)


def _sort_pullback(g: Any, x: Any, out: Any, axis: Any, descending: bool) -> Any:
    if len(x.shape) == 1 and not descending:
        return put_back(g, stable_order(x, out))
    order = argsort(last(x, axis), -1, "stable", descending)
    return back(put_back(last(g, axis), order), x.shape, axis)


sort = along("sort(Tensor x, int? axis=-1, str? kind=None, bool descending=False) -> Tensor", _sort, unchanged, fake_like, _sort_pullback)


def _sort_pushforward(t: Any, x: Any, axis: Any, descending: bool) -> Any:
    found = take_along_axis(last(t, axis), argsort(last(x, axis), -1, "stable", descending), -1)
    return found if axis is None else back(found, x.shape, axis)


complete(sort, jvp=pushforwards(x=_sort_pushforward))


def _median(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if isinstance(axis, (tuple, list)) and len(axis) != 1:
        ndim = len(x.shape)
        axes = [normalize_axis_index(i, ndim) for i in axis]
        kept = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
        rest = tuple([n for i, n in enumerate(x.shape) if i not in axes])
        x = reshape(ops.np.moveaxis(x, axes, tuple(range(ndim - len(axes), ndim))), (*rest, prod([x.shape[i] for i in axes])))
        found = _median(x, -1)
        return reshape(found, kept) if keepdims else found
    axis = axis[0] if isinstance(axis, (tuple, list)) else axis
    if axis is not None:
        normalize_axis_index(axis, len(x.shape))
    in_order = last(sort(x, axis), 0 if axis is None else axis)
    n = in_order.shape[-1]
    found = mean(getitem(in_order, (Ellipsis, slice((n - 1) // 2, n // 2 + 1))), -1)
    if x.dtype.kind in "fc" and not is_zero(n):  # a nan is in the last place, and is the median
        largest = getitem(in_order, (Ellipsis, -1))
        if x.dtype.kind == "f":
            factor = where(isnan(largest), np.nan, 1.0)  # a constant: the derivative is nan, too, as that of a largest value
            found = multiply(found, ops.np.astype(factor, found.dtype))
        else:
            found = as_number(where(isnan(largest), largest, found))
    if not keepdims:
        return found
    if not x.shape:  # np.median puts the axes back by an index with an Ellipsis, which makes an array of a number
        return getitem(found, (Ellipsis,))
    return reshape(found, (1,) * len(x.shape)) if axis is None else expand_dims(found, axis)


median = composite(
    "median(Tensor x, int[1]? axis=None, *, bool keepdims=False) -> Tensor",
    _median,
    numpy=lambda x, axis, *, keepdims: np.median(x, plain(axis), keepdims=keepdims),
)

# -- places ----------------------------------------------------------------------------------------------------------------


def place(name: str) -> OpOverload:
    """Make a row that returns the index of the largest or smallest element."""
    kernel = getattr(np, name)

    def numpy(x: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
        return kernel(x, axis, keepdims=keepdims)

    def fake(x: Any, axis: Any, keepdims: Any) -> Any:
        if not isinstance(x, FakeTensor):
            return numpy(x, axis, keepdims=keepdims)
        if axis is not None and x.shape:
            axis = normalize_axis_index(axis, len(x.shape))
        if is_zero(x.size if axis is None or not x.shape else x.shape[axis]) or not x.shape:
            numpy(np.broadcast_to(0.0, guesses(x.shape)), axis)  # raises NumPy's own error: the largest of nothing, or no such axis
        shape = [1 if i == axis or axis is None else n for i, n in enumerate(x.shape) if keepdims or i != axis]
        return fake_tensor(tuple(shape) if keepdims or axis is not None else (), INDEX, None, x.device, x.mode)

    def vmap(info: Any, in_dims: Any, x: Any, axis: Any, keepdims: Any) -> tuple[Any, int]:
        x = in_front(x, in_dims[0])
        item = x.shape[1:]
        if axis is not None and item:
            return op(x, 1 + normalize_axis_index(axis, len(item)), keepdims=keepdims), 0
        if axis is not None:
            numpy(np.zeros(()), axis)  # raises NumPy's own error where there is no such axis
        found = op(reshape(x, (x.shape[0], prod(x.shape[1:]))), 1)
        return reshape(found, (x.shape[0], *(1,) * len(item))) if keepdims else found, 0

    op: OpOverload = row(
        f"{name}(Tensor x, int? axis=None, *, bool keepdims=False) -> Tensor", numpy=numpy, fake=fake, autograd=CONSTANT
    )
    return complete(op, vmap=vmap)


argmax = place("argmax")
argmin = place("argmin")


def _searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    return np.searchsorted(a, v, side)  # type: ignore[call-overload]


def _fake_searchsorted(a: Any, v: Any, side: Any) -> Any:
    np.searchsorted(np.zeros((1,) * len(a.shape)), 0.0, side)  # raises NumPy's own error
    like = v if isinstance(v, FakeTensor) else a
    return fake_tensor(tuple(getattr(v, "shape", ())), INDEX, None, like.device, like.mode)


def _complex_below(a: Any, v: Any, side: str) -> Any:
    """Whether complex numbers sort before others: first those without a nan, then by which part is one, and then by the parts that are none."""
    keys = []
    for x in (a, v):
        parts = (ops.np.real(x), ops.np.imag(x)) if hasattr(x, "dtype") else (np.real(x), np.imag(x))
        keys.append([*map(isnan, parts), *[where(isnan(part), 0, part) for part in parts]])
    below: Any = side == "right"
    for x, y in zip(*map(reversed, keys), strict=True):
        below = logical_or(less(x, y), logical_and(equal(x, y), below))
    return below


def _batched_searchsorted(info: Any, in_dims: Any, a: Any, v: Any, side: Any) -> tuple[Any, int]:
    np.searchsorted(np.zeros((1,) * len(item_shape(a, in_dims[0]))), 0.0, side)  # raises NumPy's own error
    if in_dims[0] is None:
        return searchsorted(a, v, side), in_dims[1]
    # each item has its own bins, whose elements below the value are counted
    a = in_front(a, in_dims[0])
    v = in_front(v, in_dims[1]) if in_dims[1] is not None else v
    ndim = len(item_shape(v, None if in_dims[1] is None else 0))
    a = reshape(a, (a.shape[0], *(1,) * ndim, a.shape[1]))
    v = expand_dims(v, -1) if hasattr(v, "shape") else v
    if np.result_type(a, v).kind == "c":
        below = _complex_below(a, v, side)
    else:
        below = (less if side == "left" else less_equal)(a, v)
        if (v if hasattr(v, "dtype") else np.asarray(v)).dtype.kind == "f":  # a nan goes behind all numbers, and to the right of its like
            below = logical_or(below, logical_and(isnan(v), logical_not(isnan(a))) if side == "left" else isnan(v))
    return ops.np.copy(total(below, -1, INDEX), "C"), 0  # NumPy lays it out anew, whatever the order of v


searchsorted: OpOverload = row(
    "searchsorted(Tensor a, Tensor v, str side='left') -> Tensor",
    numpy=_searchsorted,
    fake=_fake_searchsorted,
    autograd=CONSTANT,
    vmap=_batched_searchsorted,
)

# -- elements along an axis ------------------------------------------------------------------------------------------------


def _take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    ndim = len(x.shape)
    at = normalize_axis_index(axis, ndim)
    if len(indices.shape) != ndim or indices.dtype.kind not in "iu":
        places = np.zeros((1,) * len(indices.shape), indices.dtype)
        np.take_along_axis(np.zeros((1,) * ndim), places, axis)  # raises NumPy's own error
    index: list[Any] = []
    arrays = []
    for i, n in enumerate(x.shape):
        if i == at or type(n) is SymInt:
            index.append(ARRAY)
            arrays.append(indices if i == at else reshape(ops.np.arange(n), (-1,) + (1,) * (ndim - i - 1)))
        else:
            index.append(np.arange(n).reshape((-1,) + (1,) * (ndim - i - 1)))  # constants: they stay in the index
    return getitem(x, tuple(index), arrays)


take_along_axis = composite("take_along_axis(Tensor x, Tensor indices, int? axis=-1) -> Tensor", _take_along_axis)
