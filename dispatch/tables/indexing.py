"""Rows that read elements by index, their adjoint, and the choice between two arrays.

    getitem(x, index, arrays)              x[index]
    scatter_add(x, index, shape, arrays)   zeros of this shape, with x added at `index`; elements met twice are added twice

`index` is anything NumPy takes. Arrays in it that the layers have to see, a tracked or batched one say, are given in
`arrays`, with `ARRAY` in their places: `x[:, i]` is `getitem(x, (slice(None), ARRAY), [i])`.
"""

from functools import lru_cache
from operator import index as index_of
from typing import Any, NamedTuple

import numpy as np

from ..core import OpOverload
from ..errors import BatchingError, DataDependentError
from ..fake import FakeTensor, fake_tensor
from ..prims import broadcast_to, moveaxis
from ..tape import pullbacks
from .creation import arange
from .families import aligned, in_front, row
from .layouts import REMEMBERED, Layout, broadcast_shape, dense, elementwise, hollow, order_of, seen, small
from .shape import reshape

Shape = tuple[int, ...]


class Place:
    """Where an array of the list `arrays` stands in an index."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ARRAY"


ARRAY = Place()


def _index(index: Any, arrays: Any) -> Any:
    """The index as NumPy takes it: the arrays in their places."""
    if not arrays:
        return index
    queue = iter(arrays)
    return tuple([next(queue) if i is ARRAY else i for i in (index if isinstance(index, tuple) else (index,))])


def _getitem(x: Any, index: Any, arrays: Any = ()) -> Any:
    x = x if isinstance(x, np.ndarray) else np.asanyarray(x)
    # a 0-d array counts as the number it is, so that a rule knows from its shape that the result is a view
    return x[
        _index(index, [i if getattr(i, "shape", ()) or _is_mask(i) else index_of(i) for i in arrays])
        if arrays
        else index
    ]


def _scatter_add(x: Any, index: Any, shape: Any, arrays: Any = ()) -> Any:
    made = np.zeros(shape, np.result_type(x))
    index = _index(index, arrays)
    if _is_basic(index):
        made[index] = x  # no element is met twice
    else:
        np.add.at(made, index, x)
    return made


def _is_basic(index: Any) -> bool:
    """Whether an index is made of numbers, slices, None and Ellipsis alone, so that it gives a view."""
    return all(
        i is None or i is Ellipsis or (isinstance(i, (int, slice, np.integer)) and not isinstance(i, bool))
        for i in (index if isinstance(index, tuple) else (index,))
    )


# -- how an index reads ----------------------------------------------------------------------------------------------------


class Reading(NamedTuple):
    """An index against an array of some number of axes.

    `items` has one entry for each axis of the array and each new one: a number, a slice, None, an array, or an Ellipsis that
    stands for no axis but still separates. Where one is an array, the numbers count as arrays too: `advanced` says at which
    places they are. If those stand `together`, their axes come at `position` of the result, else in front. They have `width`
    axes.
    """

    items: list[Any]
    advanced: list[int]
    together: bool
    position: int
    width: int


class Item(NamedTuple):
    """What is read of an array in an index."""

    shape: Shape
    dtype: Any


def read(index: Any, arrays: Any, ndim: int) -> Reading:
    """Read an index as NumPy does."""
    items = [_as_array(i) for i in _index(index if isinstance(index, tuple) else (index,), arrays)]
    rest: list[Any] = [slice(None)] * (ndim - sum(map(_consumes, items)))
    dots = [k for k, i in enumerate(items) if i is Ellipsis]
    if len(dots) > 1:
        hollow(())[..., ...]  # raises in NumPy's own words
    if dots:
        items[dots[0] : dots[0] + 1] = rest or [Ellipsis]
    else:
        items += rest
    if not any(map(_is_advanced, items)):
        return Reading(items, [], True, 0, 0)
    advanced = [k for k, i in enumerate(items) if not (i is None or i is Ellipsis or isinstance(i, slice))]
    together = advanced[-1] - advanced[0] == len(advanced) - 1
    position = sum(i is not Ellipsis for i in items[: advanced[0]]) if together else 0
    return Reading(items, advanced, together, position, max(_width(items[k]) for k in advanced))


def _as_array(i: Any) -> Any:
    if isinstance(i, list):
        made = np.asarray(i)
        return made if made.size else made.astype(np.intp)
    return i


def _is_mask(i: Any) -> bool:
    return hasattr(i, "dtype") and i.dtype.kind == "b"


def _is_advanced(i: Any) -> bool:
    """Whether an item makes the index an advanced one: an array with axes, or a truth value."""
    return isinstance(i, bool) or _is_mask(i) or (hasattr(i, "dtype") and len(i.shape) > 0)


def _consumes(i: Any) -> int:
    """How many axes of the array an item of an index speaks about."""
    if i is None or i is Ellipsis or isinstance(i, bool):
        return 0
    return len(i.shape) if _is_mask(i) else 1


def _width(i: Any) -> int:
    """How many axes an array of an index has in the result; a mask one, for it stands for a list of places."""
    return 1 if isinstance(i, bool) or _is_mask(i) else len(getattr(i, "shape", ()))


# -- shapes ----------------------------------------------------------------------------------------------------------------


class Slice(NamedTuple):
    """A slice that can be remembered."""

    start: Any
    stop: Any
    step: Any


class Truth(NamedTuple):
    """A truth value that is not taken for the number it equals."""

    value: bool


def _fake_getitem(x: Any, index: Any, arrays: Any) -> Any:
    if not isinstance(x, FakeTensor):
        return _getitem(x, index, arrays)
    spelled = tuple([_spelled(i) for i in _without_masks(_index(index, arrays))])
    found = indexed(Layout(x.shape, x.strides, x.dtype), spelled)
    return fake_tensor(found.shape, x.dtype, found.strides, x.device, x.mode)


def _without_masks(index: Any) -> list[Any]:
    """An index whose masks are lists of the places where they are True."""
    found: list[Any] = []
    for i in map(_as_array, index if isinstance(index, tuple) else (index,)):
        if _is_mask(i) and isinstance(i, FakeTensor):
            raise DataDependentError(
                f"np::getitem: how many elements a mask of shape {i.shape} selects depends on its data, which a fake has not. "
                "Write np.where(mask, x, other), which keeps the shape.",
                operator="np::getitem",
            )
        found += i.nonzero() if _is_mask(i) and len(i.shape) else [bool(i) if _is_mask(i) else i]
    return found


def _spelled(i: Any) -> Any:
    """What a layout depends on in an item of an index: not the elements of an array, nor a number that is a fake."""
    if type(i) is slice:
        return Slice(i.start, i.stop, i.step)
    if isinstance(i, bool):
        return Truth(i)
    if hasattr(i, "shape"):
        return Layout(i.shape, i.strides, np.dtype(np.intp)) if i.shape else 0 if isinstance(i, FakeTensor) else int(i)
    return i


@lru_cache(REMEMBERED)
def indexed(layout: Layout, spelled: tuple[Any, ...]) -> Layout:
    """The layout of what an index gives."""
    index = [slice(*i) if isinstance(i, Slice) else i.value if isinstance(i, Truth) else i for i in spelled]
    found = read(tuple(index), (), len(layout.shape))
    whole = seen(layout)
    # What is out of range NumPy says itself, of the view that is left when the arrays are taken out.
    view = whole[tuple([slice(None) if isinstance(i, Layout) else i for i in found.items if not isinstance(i, bool)])]
    if not found.advanced:
        return Layout(view.shape, view.strides, layout.dtype)
    sliced = whole[tuple([i if isinstance(i, slice) else slice(None) for i in found.items if _consumes(i)])]
    lengths = iter(sliced.shape)
    others = []
    for i in found.items:
        n = next(lengths) if _consumes(i) else 1
        if i is None or isinstance(i, slice):
            others.append(n)
    shapes = [
        (int(i),) if isinstance(i, bool) else getattr(i, "shape", ())
        for i in map(found.items.__getitem__, found.advanced)
    ]
    shape = (*others[: found.position], *broadcast_shape(tuple(shapes)), *others[found.position :])
    few = small(Layout(sliced.shape, sliced.strides, layout.dtype))[tuple(map(_small_item, found.items))]
    return Layout(shape, dense(shape, layout.dtype.itemsize, order_of(few)), layout.dtype)


def _small_item(i: Any) -> Any:
    """An item of an index for an array of few elements: whatever is chosen, the first will do."""
    if isinstance(i, Layout):
        return small(i)
    return slice(None) if isinstance(i, slice) else 0 if type(i) is int else i


def _fake_scatter_add(x: Any, index: Any, shape: Any, arrays: Any) -> FakeTensor:
    first = x if isinstance(x, FakeTensor) else next(i for i in arrays if isinstance(i, FakeTensor))
    return fake_tensor(tuple(shape), x.dtype, None, first.device, first.mode)


# -- batches ---------------------------------------------------------------------------------------------------------------


def _item_of(i: Any, dim: int | None) -> Item:
    shape = getattr(i, "shape", ())
    return Item(shape if dim is None else shape[:dim] + shape[dim + 1 :], getattr(i, "dtype", np.dtype(np.intp)))


def _in_batch(info: Any, op: str, arrays: Any, dims: Any, width: int) -> list[Any]:
    """Arrays of an index that differ from item to item, with the batch before the axes they have together."""
    found = []
    for i, dim in zip(arrays, dims, strict=True):
        if dim is not None:
            if _is_mask(i):
                raise BatchingError(
                    f"{op}: a mask that differs from item to item selects different numbers of elements, which make no batch. "
                    "Write np.where(mask, x, other), which keeps the shape."
                )
            i = in_front(i, dim)
            i = reshape(i, (info.batch_size, *(1,) * (width - len(i.shape) + 1), *i.shape[1:]))
        found.append(i)
    return found


def _numbered(info: Any, width: int) -> Any:
    """The number of each item, as an index that goes along with the items' own."""
    return reshape(arange(info.batch_size), (info.batch_size, *(1,) * width))


def _batched_getitem(info: Any, in_dims: Any, x: Any, index: Any, arrays: Any) -> tuple[Any, int]:
    dims = in_dims[2] or [None] * len(arrays)
    index = index if isinstance(index, tuple) else (index,)
    ndim = len(x.shape) - (in_dims[0] is not None)
    found = read(index, [_item_of(i, dim) for i, dim in zip(arrays, dims, strict=True)], ndim)
    x = in_front(x, in_dims[0])
    if in_dims[2] is None:
        return getitem(x, (slice(None), *index), arrays), 0 if found.together else found.width
    arrays = _in_batch(info, "np::getitem", arrays, dims, found.width)
    if in_dims[0] is None:
        return getitem(x, index, arrays), read(index, arrays, ndim).position
    out = getitem(x, (ARRAY, *index), [_numbered(info, found.width), *arrays])
    return _moved(out, found, 1, found.position + 1), 0


def _batched_scatter_add(info: Any, in_dims: Any, x: Any, index: Any, shape: Any, arrays: Any) -> tuple[Any, int]:
    dims = in_dims[3] or [None] * len(arrays)
    index = index if isinstance(index, tuple) else (index,)
    found = read(index, [_item_of(i, dim) for i, dim in zip(arrays, dims, strict=True)], len(shape))
    if in_dims[0] is None:
        x = broadcast_to(x, (info.batch_size, *x.shape))
    x = in_front(x, in_dims[0])
    whole = (info.batch_size, *shape)
    if in_dims[3] is None:
        x = x if found.together else moveaxis(x, 0, found.width)
        return scatter_add(x, (slice(None), *index), whole, arrays), 0
    x = _moved(x, found, found.position + 1, 1)
    arrays = _in_batch(info, "np::scatter_add", arrays, dims, found.width)
    return scatter_add(x, (ARRAY, *index), whole, [_numbered(info, found.width), *arrays]), 0


def _moved(x: Any, found: Reading, source: int, destination: int) -> Any:
    """The axes of an index's arrays moved from one place to another."""
    if source == destination or not found.width:
        return x
    return moveaxis(x, tuple(range(source, source + found.width)), tuple(range(destination, destination + found.width)))


# -- the rows --------------------------------------------------------------------------------------------------------------

getitem: OpOverload = row(
    "getitem(Tensor(a) x, Any index, Tensor[] arrays=[]) -> Tensor(a)",
    numpy=_getitem,
    fake=_fake_getitem,
    autograd=pullbacks(x=lambda g, x_shape, index, arrays: scatter_add(g, index, x_shape, arrays)),
    vmap=_batched_getitem,
)
scatter_add: OpOverload = row(
    "scatter_add(Tensor x, Any index, int[] shape, Tensor[] arrays=[]) -> Tensor",
    numpy=_scatter_add,
    fake=_fake_scatter_add,
    autograd=pullbacks(x=lambda g, index, arrays: getitem(g, index, arrays)),
    vmap=_batched_scatter_add,
)


def _fake_where(condition: Any, x: Any, y: Any) -> FakeTensor:
    dtype = np.result_type(*[i.dtype if isinstance(i, FakeTensor) else i for i in (x, y)])
    return elementwise(dtype, [i for i in (condition, x, y) if isinstance(i, FakeTensor)])


where: OpOverload = row(
    "where(Tensor condition, Tensor x, Tensor y) -> Tensor",
    numpy=np.where,
    fake=_fake_where,
    autograd=pullbacks(x=lambda g, condition: where(condition, g, 0), y=lambda g, condition: where(condition, 0, g)),
    vmap=lambda info, in_dims, condition, x, y: (where(*aligned(in_dims, (condition, x, y))), 0),
)
