"""Rows that read elements by index, the adjoint of that, and `np.where`.

    getitem(x, index, arrays)              x[index]
    scatter_add(x, index, shape, arrays)   zeros of this shape, with x added at `index`; repeated elements are added up

`index` is anything NumPy takes. Arrays in it that the layers must see, such as tracked or batched ones, are given in
`arrays`, with `ARRAY` in their places: `x[:, i]` is `getitem(x, (slice(None), ARRAY), [i])`. The file has more than 350 lines because
what reads, what adds and their batches are one reading of an index.
"""

from math import prod
from operator import index as number_of
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..core import OpOverload, Tensor
from ..dispatcher.call_errors import INDICES
from ..errors import BatchingError
from ..layers.autograd import pullbacks
from ..layers.fake import FakeTensor, fake_tensor
from ..layers.jvp import pushforwards
from ..operators.prims import astype, broadcast_to, moveaxis
from ..operators.registry import ops
from ..operators.views import ARRAY
from ..symbolic import SymInt, agree, guesses, has_zero, is_one
from .creation import arange, zeros_like
from .families import aligned, composite, in_front, laid_alike, linear, row, undispatched
from .index_parsing import Item, Reading, Truth, check_places, count_of, indexed, is_mask, placed, read, spelled, without_masks
from .pointwise import nan_where_nan, negative
from .result_layouts import Layout, elementwise, fake_like, weak
from .shape import copy, reshape

Shape = tuple[int, ...]


ALONE = (ARRAY,)  # the index that is one array
choose, _NUMPY_TAKE = undispatched(np.where), undispatched(np.take)

# -- kernels -----------------------------------------------------------------------------------------------------------


def _getitem(x: Any, index: Any, arrays: Any = ()) -> Any:
    x = x if isinstance(x, np.ndarray) else np.asanyarray(x)
    if index is ALONE and len(getattr(arrays[0], "shape", ())):  # the commonest of these
        return x[arrays[0]]
    # a 0-d array counts as the number it is, so that a rule knows from its shape that the result is a view
    return x[placed(index, [i if getattr(i, "shape", ()) or is_mask(i) else number_of(i) for i in arrays]) if arrays else index]


def _scatter_add(x: Any, index: Any, shape: Any, arrays: Any = ()) -> Any:
    made = np.zeros(shape, x.dtype if isinstance(x, (np.ndarray, np.generic)) else np.result_type(x))
    if type(index) is int:  # the commonest, spared the closer look
        made[index] = x
        return made
    index = placed(index, arrays)
    if is_basic(index) or (type(index) is tuple and len(index) == 1 and is_mask(index[0])):
        made[index] = x  # no element is met twice
    else:
        np.add.at(made, index, x)
    return made


def is_basic(index: Any) -> bool:
    """Whether an index is made of numbers, slices, None and Ellipsis alone, so that it gives a view."""
    return all(
        i is None or i is Ellipsis or (isinstance(i, (int, slice, np.integer, SymInt)) and not isinstance(i, bool))
        for i in (index if isinstance(index, tuple) else (index,))
    )


# -- shapes ------------------------------------------------------------------------------------------------------------


def _fake_getitem(x: Any, index: Any, arrays: Any) -> Any:
    if not isinstance(x, FakeTensor):
        return _getitem(x, index, arrays)
    items = placed(index, arrays)
    check_places(x.shape, items)
    layout = Layout(x.shape, x.strides, x.dtype)
    alone = items[0] if isinstance(items, tuple) and len(items) == 1 else items
    if is_mask(alone) and isinstance(alone, FakeTensor) and not alone.shape and alone.constant is None:
        n = count_of("np::getitem", alone, "a truth value of shape {} selects")
        found = indexed(layout, (Truth(True),))  # which selects all, in front of which an axis of one comes
        return fake_tensor((n, *x.shape), x.dtype, found.strides, x.device, x.mode)
    found = indexed(layout, tuple([spelled(i) for i in without_masks(items)]))
    base = x if _is_view(x, items) else None
    number = base is None and not found.shape  # which NumPy gives in the machine's byte order, whatever that of the array
    return fake_tensor(found.shape, x.dtype.newbyteorder("=") if number else x.dtype, found.strides, x.device, x.mode, base)


def _is_view(x: FakeTensor, index: Any) -> bool:
    """Whether an index gives a view: it is basic, an array without axes a number in it, and no number for each axis."""
    items = index if isinstance(index, tuple) else (index,)
    items = tuple([0 if getattr(i, "shape", None) == () and not is_mask(i) else i for i in items])
    return is_basic(items) and not (len(items) == len(x.shape) and all(isinstance(i, (int, np.integer, SymInt)) for i in items))


def _fake_scatter_add(x: Any, index: Any, shape: Any, arrays: Any) -> FakeTensor:
    if not isinstance(x, FakeTensor):
        return fake_tensor(tuple(shape), np.result_type(x))
    return fake_tensor(tuple(shape), x.dtype, None, x.device, x.mode)


# -- batches ---------------------------------------------------------------------------------------------------------------


def item_of(i: Any, dim: int | None) -> Item:
    """Return shape and dtype of one item of an array in an index."""
    shape = getattr(i, "shape", ())
    return Item(shape if dim is None else shape[:dim] + shape[dim + 1 :], getattr(i, "dtype", np.dtype(np.intp)))


def with_batch(info: Any, op: str, arrays: Any, dims: Any, width: int) -> list[Any]:
    """Return the arrays of an index with the batch in front of their common axes."""
    found = []
    for i, dim in zip(arrays, dims, strict=True):
        if dim is not None:
            if is_mask(i):
                raise BatchingError(
                    f"{op}: a mask that differs from item to item selects different numbers of elements, which make no batch. "
                    "Write np.where(mask, x, other), which keeps the shape; x[...] = np.where(mask, x * c, x) for x[mask] *= c."
                )
            i = in_front(i, dim)
            i = reshape(i, (info.batch_size, *(1,) * (width - len(i.shape) + 1), *i.shape[1:]))
        found.append(i)
    return found


def numbered(info: Any, width: int) -> Any:
    """Return the number of each item, as an index that broadcasts with the items' own."""
    return reshape(arange(info.batch_size), (info.batch_size, *(1,) * width))


def check_item(x: Any, index: Any, arrays: Any) -> None:
    """Raise NumPy's IndexError for an item of `x`, which has the batch in front, where nothing but arrays of NumPy is an index."""
    if not any(isinstance(i, Tensor) for i in arrays):
        np.empty(guesses(x.shape[1:]), "V0")[placed(index, arrays)]


def _batched_getitem(info: Any, in_dims: Any, x: Any, index: Any, arrays: Any) -> tuple[Any, int]:
    dims = in_dims[2] or [None] * len(arrays)
    index = index if isinstance(index, tuple) else (index,)
    ndim = len(x.shape) - (in_dims[0] is not None)
    found = read(index, [item_of(i, dim) for i, dim in zip(arrays, dims, strict=True)], ndim)
    x = in_front(x, in_dims[0])
    if in_dims[2] is None and not (found.advanced and in_dims[0] is not None):
        try:
            out = getitem(x, (slice(None), *index), arrays)
        except IndexError:
            check_item(x, index, arrays)
            raise
        if not found.advanced and not any(i is None or i is Ellipsis or isinstance(i, slice) for i in (*index, *found.items)):
            out = copy(out) if out.dtype.isnative else astype(out, out.dtype.newbyteorder("="))  # a number: no view, and never swapped
        return out, 0 if found.together else found.width
    arrays = with_batch(info, "np::getitem", arrays, dims, found.width)
    if in_dims[0] is None:
        return getitem(x, index, arrays), read(index, arrays, ndim).position
    # With the batch an array too, an item lies in memory as NumPy's would, so that what is a view of it is one.
    try:
        out = getitem(x, (ARRAY, *index), [numbered(info, found.width), *arrays])
    except IndexError:
        check_item(x, index, arrays)
        raise
    return moved(out, found, 1, found.position + 1), 0


def _batched_scatter_add(info: Any, in_dims: Any, x: Any, index: Any, shape: Any, arrays: Any) -> tuple[Any, int]:
    dims = in_dims[3] or [None] * len(arrays)
    index = index if isinstance(index, tuple) else (index,)
    found = read(index, [item_of(i, dim) for i, dim in zip(arrays, dims, strict=True)], len(shape))
    if in_dims[0] is None:
        x = broadcast_to(x, (info.batch_size, *x.shape))
    x = in_front(x, in_dims[0])
    whole = (info.batch_size, *shape)
    if in_dims[3] is None:
        x = x if found.together else moveaxis(x, 0, found.width)
        return scatter_add(x, (slice(None), *index), whole, arrays), 0
    x = moved(x, found, found.position + 1, 1)
    arrays = with_batch(info, "np::scatter_add", arrays, dims, found.width)
    return scatter_add(x, (ARRAY, *index), whole, [numbered(info, found.width), *arrays]), 0


def _batched_at(info: Any, in_dims: Any, op: OpOverload, x: Any, index: Any, value: Any, arrays: Any) -> tuple[Any, int]:
    dims = in_dims[3] or [None] * len(arrays)
    index = index if isinstance(index, tuple) else (index,)
    ndim = len(x.shape) - (in_dims[0] is not None)
    found = read(index, [item_of(i, dim) for i, dim in zip(arrays, dims, strict=True)], ndim)
    x, value = [
        broadcast_to(y, (info.batch_size, *y.shape)) if dim is None else in_front(y, dim)
        for y, dim in ((x, in_dims[0]), (value, in_dims[2]))
    ]
    if in_dims[3] is None:
        value = value if found.together else moveaxis(value, 0, found.width)
        return op(x, (slice(None), *index), value, arrays), 0
    value = moved(value, found, found.position + 1, 1)
    arrays = with_batch(info, op.name, arrays, dims, found.width)
    return op(x, (ARRAY, *index), value, [numbered(info, found.width), *arrays]), 0


def moved(x: Any, found: Reading, source: int, destination: int) -> Any:
    """Move the axes of an index's arrays from one place to another."""
    if source == destination or not found.width:
        return x
    return moveaxis(x, tuple(range(source, source + found.width)), tuple(range(destination, destination + found.width)))


# -- the rows --------------------------------------------------------------------------------------------------------------

getitem: OpOverload = row(
    "getitem(Tensor(a) x, Any index, Tensor[] arrays=[]) -> Tensor(a)",
    numpy=_getitem,
    fake=_fake_getitem,
    autograd=pullbacks(x=lambda g, x_shape, index, arrays: scatter_add(g, index, x_shape, arrays)),
    jvp=linear("x"),
    vmap=_batched_getitem,
)
scatter_add: OpOverload = row(
    "scatter_add(Tensor x, Any index, int[] shape, Tensor[] arrays=[]) -> Tensor",
    numpy=_scatter_add,
    fake=_fake_scatter_add,
    autograd=pullbacks(x=lambda g, index, arrays: getitem(g, index, arrays)),
    jvp=linear("x"),
    vmap=_batched_scatter_add,
)


# An index says where: one that NumPy holds goes with elements that are elsewhere.
vars(getitem)[INDICES] = 1, 2
vars(scatter_add)[INDICES] = 1, 3

# -- ufuncs at an index ----------------------------------------------------------------------------------------------------


def _at(name: str, ufunc: np.ufunc, pulled: Any) -> OpOverload:
    """Make the row of a copy of `x` after `np.add.at(x, index, value)`, with a value for every element that the index meets.

    NumPy adds one after the other to what is there, which rounds otherwise than a sum of the values that is added at once.
    """

    def kernel(x: Any, index: Any, value: Any, arrays: Any = ()) -> Any:
        made = np.array(x)
        ufunc.at(made, placed(index, arrays), value)
        return made

    def fake(x: Any, index: Any, value: Any, arrays: Any) -> FakeTensor:
        met = _fake_getitem(x, index, arrays).shape
        given = getattr(value, "shape", ())
        if len(given) > len(met) or not all(is_one(n) or agree(n, m) for n, m in zip(given[::-1], met[::-1], strict=False)):
            raise ValueError("array is not broadcastable to correct shape")  # NumPy's own words
        return fake_like(x, x.dtype)

    def push(tangents: Any, output: Any, x: Any, index: Any, value: Any, arrays: Any) -> Any:
        t = zeros_like(x) if tangents[0] is None else tangents[0]
        return t if tangents[2] is None else op(t, index, tangents[2], arrays)

    op: OpOverload = row(
        f"{name}(Tensor x, Any index, Tensor value, Tensor[] arrays=[]) -> Tensor",
        numpy=kernel,
        fake=fake,
        autograd=pullbacks(x=lambda g: g, value=lambda g, index, arrays: pulled(getitem(g, index, arrays))),
        jvp=push,
        vmap=lambda info, in_dims, *args: _batched_at(info, in_dims, op, *args),
    )
    return op


add_at = _at("add_at", np.add, lambda g: g)
subtract_at = _at("subtract_at", np.subtract, negative)


def _fake_where(condition: Any, x: Any, y: Any) -> Any:
    fakes = [i for i in (condition, x, y) if isinstance(i, FakeTensor)]
    if not fakes:
        return np.where(condition, x, y)  # numbers only
    dtype = np.result_type(*[i.dtype if isinstance(i, FakeTensor) else weak(i) for i in (x, y)])
    return elementwise(dtype, fakes)


where: OpOverload = row(
    "where(Tensor condition, Tensor x, Tensor y) -> Tensor",
    numpy=choose,
    fake=_fake_where,
    autograd=pullbacks(x=lambda g, condition: zero_unless(condition, g), y=lambda g, condition: where(condition, 0, g)),
    jvp=pushforwards(x=lambda t, condition: where(condition, t, 0), y=lambda t, condition: where(condition, 0, t)),
    vmap=lambda info, in_dims, condition, x, y: (where(*laid_alike(in_dims, aligned(in_dims, (condition, x, y)))), 0),
)


FEW = 500  # elements, from which on np.where takes longer than a product: it branches at each


def _zero_unless(condition: Any, x: Any) -> Any:
    large = type(condition) is np.ndarray and condition.size > FEW and condition.dtype == bool
    numbers = large and isinstance(x, (np.ndarray, np.generic)) and x.dtype != bool
    if numbers and np.count_nonzero(np.isfinite(x)) == x.size:
        return np.multiply(x, condition)
    return choose(condition, x, 0)


def _zero_unless_nan(condition: Any, x: Any, out: Any) -> Any:
    found, none = _zero_unless(condition, x), np.isnan(out)
    found = found if found.dtype.kind in "fc" else found.astype(np.float64)
    if np.count_nonzero(none):
        np.copyto(found, np.nan, where=none)
    return found


# What a gradient or tangent is multiplied by a truth value for, with 0 also for inf and nan.
zero_unless = composite(
    "zero_unless(Tensor condition, Tensor x) -> Tensor", lambda condition, x: where(condition, x, 0), numpy=_zero_unless
)

# The same, and nan where a result is nan, of which no comparison holds.
zero_unless_nan = composite(
    "zero_unless_nan(Tensor condition, Tensor x, Tensor out) -> Tensor",
    lambda condition, x, out: nan_where_nan(out, where(condition, x, 0)),
    numpy=_zero_unless_nan,
    laid_out=True,
)


def _take(x: Any, indices: Any, axis: int | None = None) -> Any:
    if axis is None or (not x.shape and axis in (0, -1)):  # which NumPy lets an array without axes have
        x, axis = reshape(x, (-1,)), 0
    if is_mask(indices):  # np.take takes truth values for the numbers 0 and 1
        indices = astype(indices, np.intp)
    at, shape = normalize_axis_index(axis, len(x.shape)), getattr(indices, "shape", ())
    if has_zero((*x.shape[:at], *x.shape[at + 1 :])):  # np.take looks at no index where there is nothing to take
        return ops.np.copy(reshape(x, (*x.shape[:at], *shape, *x.shape[at + 1 :])))
    found = getitem(x, (*(slice(None),) * at, ARRAY), [indices])
    return ops.np.copy(found) if found.shape and not shape else found  # np.take gives no views


def as_number(x: Any) -> Any:
    """Return a result of one element as NumPy does where it gives a scalar."""
    return x if x.shape else getitem(x, ())


def _take_pullback(g: Any, x_shape: Shape, indices: Any, axis: int | None) -> Any:
    shape, axis = ((prod(x_shape),), 0) if axis is None or not x_shape else (x_shape, axis)
    if is_mask(indices):
        indices = astype(indices, np.intp)
    found = scatter_add(g, (*(slice(None),) * normalize_axis_index(axis, len(shape)), ARRAY), shape, [indices])
    return found if shape is x_shape else reshape(found, x_shape)


def _taken(x: Any, indices: Any, axis: int | None = None) -> Any:
    return _NUMPY_TAKE(x, indices, axis)


def _taken_of_few(x: Any, indices: Any, axis: int | None = None) -> Any:
    return np.take(x, indices, axis, mode="clip")  # a number is the index that it is, and x is a stand-in of a few elements


take = composite(
    "take(Tensor x, Tensor indices, int? axis=None) -> Tensor",
    _take,
    numpy=_taken,
    laid_out=_taken_of_few,
    autograd=pullbacks(x=_take_pullback),
    jvp=linear("x"),
)
vars(take)[INDICES] = (1,)
for _op in (where, zero_unless, zero_unless_nan):
    vars(_op)[INDICES] = (0,)
