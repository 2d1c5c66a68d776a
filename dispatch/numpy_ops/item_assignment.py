"""Rows that write to an array by index, and their functional forms.

    setitem_(x, index, value, arrays)      x[index] = value
    setitem(x, index, value, arrays)       its functional form: a copy of x with that write
    view_scatter(x, value, look)           a copy of x in which a view of it is value; see operators/views.py

`index` and `arrays` are those of `getitem`. Every other way to write, such as augmented assignment and `out=`, computes the new values with a row and
writes them with `setitem_`. Where an index meets an element twice, the last value stays and gets the gradient.
"""

from math import prod
from typing import Any

import numpy as np

from ..core import DispatchKey, OpOverload, is_of_registered_class
from ..core.pytree import leaves
from ..dispatcher.call_errors import INDICES
from ..errors import BatchingError, UnsupportedError
from ..layers.autograd import pullbacks
from ..layers.fake import FakeTensor
from ..operators.functional_variant import Instead, instead, make, on_copies_of, set_functional, set_instead
from ..operators.prims import broadcast_to, define, moveaxis, sum_to
from ..operators.registered_arrays import is_fixed, replaced
from ..operators.registry import add as make_known
from ..operators.views import ARRAY, Look, owner_of, places_shown, scattered, view_scatter
from ..symbolic import agree, guesses, has_zero, is_one
from .composite_layouts import item_layout, without_axis
from .creation import arange, full
from .families import complete, in_front
from .index_parsing import Reading, as_array, check_places, indexed, is_advanced, is_mask, placed, read, spelled, without_masks
from .indexing import check_item, getitem, item_of, moved, numbered, where, with_batch
from .pointwise import equal
from .result_layouts import check_broadcast_is_known, layout_of
from .shape import fake_clone, reshape

Shape = tuple[int, ...]


def _setitem(x: Any, index: Any, value: Any, arrays: Any = ()) -> None:
    x[placed(index, arrays)] = value


def _fake_setitem(x: Any, index: Any, value: Any, arrays: Any) -> None:
    items = placed(index, arrays)
    check_places(x.shape, items)
    if any(is_mask(i) and isinstance(i, FakeTensor) for i in arrays):
        return  # how many elements a mask selects depends on its data, and the shape of `x` does not
    shape = indexed(layout_of(x), tuple([spelled(i) for i in without_masks(items)])).shape
    _check_fits(getattr(value, "shape", ()), shape, len(x.shape), items)


def _check_fits(given: Shape, shape: Shape, ndim: int, index: Any) -> None:
    """Raise where a value of a shape cannot be written to what an index of an array of `ndim` axes selects."""
    items = [as_array(i) for i in (index if isinstance(index, tuple) else (index,))]
    whole = len(items) == 1 and is_mask(items[0]) and len(items[0].shape) == ndim
    if whole and len(given) > 1:
        np.empty((0,) * ndim)[np.empty((0,) * ndim, bool)] = np.empty((0,) * len(given))  # raises NumPy's own error
    while len(given) > len(shape) and is_one(given[0]):
        given = given[1:]
    fits = all([n is m or is_one(n) or agree(n, m) for n, m in zip(given[::-1], shape[::-1], strict=False)])
    # of a value with more axes NumPy asks no more where an index array selects nothing
    longer = len(given) > len(shape) and not (any(map(is_advanced, items)) and not whole and has_zero(shape))
    if longer or not fits:
        check_broadcast_is_known((given, shape))
        words = f"could not broadcast input array from shape {given} into shape {shape}"  # NumPy's own
        raise ValueError(words.replace(", ", ","))


# -- gradients -------------------------------------------------------------------------------------------------------------


def _taken(g: Any, index: Any, value_shape: Shape, arrays: Any) -> Any:
    """Return the gradient of the values that were written; where several were written to one element, the last one gets it."""
    found = getitem(g, index, arrays)
    if _may_repeat(index, arrays):
        numbers = reshape(arange(prod(found.shape)), found.shape)
        places = setitem(full(g.shape, -1), index, numbers, arrays)
        found = where(equal(getitem(places, index, arrays), numbers), found, 0)
    if len(value_shape) > len(found.shape):  # leading axes of length 1, which NumPy lets pass
        found = reshape(sum_to(found, value_shape[len(value_shape) - len(found.shape) :]), value_shape)
    return found


def _may_repeat(index: Any, arrays: Any) -> bool:
    """Whether an index may have an element twice: it may with an array of numbers, but not with a mask."""
    items = placed(index, arrays)
    for i in items if isinstance(items, tuple) else (items,):
        i = as_array(i)
        if hasattr(i, "shape") and i.shape not in ((), (1,)) and not is_mask(i):
            return True
    return False


# -- batches ---------------------------------------------------------------------------------------------------------------


def _in_batch(info: Any, in_dims: Any, x: Any, index: Any, value: Any, arrays: Any) -> tuple[Any, ...]:
    """Return index, value and arrays of the same write for a whole batch, which `x` has in front."""
    dims = in_dims[3] or [None] * len(arrays)
    index = index if isinstance(index, tuple) else (index,)
    found = read(index, [item_of(i, dim) for i, dim in zip(arrays, dims, strict=True)], len(x.shape) - 1)
    alone = in_dims[3] is None
    at = in_dims[2]
    given = len(getattr(value, "shape", ()))
    if at is None and given and (given > _ndim(found) or (not found.together if alone else found.position)):
        value, at = reshape(value, (1, *value.shape)), 0  # its axes will be more than an item's, or in another order
    if at is not None:
        ndim = _ndim(found)
        if len(value.shape) - 1 > ndim:
            layout = without_axis(item_layout(x), 0)
            items = placed(index, [i if dim is None else without_axis(item_layout(i), dim) for i, dim in zip(arrays, dims, strict=True)])
            shape = indexed(layout, tuple([spelled(i) for i in without_masks(items)])).shape
            _check_fits(value.shape[:at] + value.shape[at + 1 :], shape, len(layout.shape), items)
        value = _spread(value, at, ndim)
    if alone:
        value = moveaxis(value, 0, found.width) if at is not None and not found.together else value
        return (slice(None), *index), value, arrays
    value = moved(value, found, found.position + 1, 1) if at is not None else value
    return (ARRAY, *index), value, [numbered(info, found.width), *with_batch(info, "np::setitem_", arrays, dims, found.width)]


def _ndim(found: Reading) -> int:
    """Return the number of axes of the result of an index."""
    return found.width + sum(i is None or isinstance(i, slice) for i in found.items)


def _spread(value: Any, dim: int, ndim: int) -> Any:
    """Reshape a batch of values to `ndim` axes behind the batch."""
    value = in_front(value, dim)
    batch, *item = value.shape
    if len(item) == ndim:
        return value
    return reshape(value, (batch, *(1,) * (ndim - len(item)), *item[max(0, len(item) - ndim) :]))


def _masked(in_dims: Any, index: Any, value: Any, arrays: Any) -> bool:
    """Whether the index is a mask that differs from item to item, and nothing else."""
    alone = index is ARRAY or (isinstance(index, tuple) and len(index) == 1 and index[0] is ARRAY)
    return alone and in_dims[3] is not None and in_dims[3][0] is not None and is_mask(arrays[0])


def _chosen(in_dims: Any, x: Any, value: Any, mask: Any) -> Any:
    """Return `x` with `value` where a mask, which differs from item to item, is true."""
    mask = in_front(mask, in_dims[3][0])
    item, selected = x.shape[1:], mask.shape[1:]
    if len(selected) > len(item) or not all(map(agree, selected, item)):
        np.empty(guesses(item), bool)[np.zeros(guesses(selected), bool)]  # raises NumPy's own error, but of a mask of nothing
        return x
    behind = len(x.shape) - len(mask.shape)
    shape = getattr(value, "shape", ())
    if len(shape) - (in_dims[2] is not None) > behind:
        raise BatchingError(
            "np::setitem_: a mask that differs from item to item selects different numbers of elements, and a value for each "
            "of them was given. Write y = np.where(mask, new, y), with a value for every element."
        )
    if in_dims[2] is not None:
        value = _spread(value, in_dims[2], len(x.shape) - 1)
    elif not hasattr(value, "dtype"):
        value = np.asarray(value, x.dtype)  # a number of Python's has to fit
    return where(reshape(mask, (*mask.shape, *(1,) * behind)), value, x)


def _batched_setitem_(info: Any, in_dims: Any, x: Any, index: Any, value: Any, arrays: Any) -> tuple[None, None]:
    if in_dims[0] is None:
        raise BatchingError(
            f"x[...] = ... would write a value that differs from item to item into one array of shape {x.shape} that all items "
            f"share. Write {instead(setitem_)}."
        )
    x = in_front(x, in_dims[0])
    if _masked(in_dims, index, value, arrays):
        setitem_(x, Ellipsis, _chosen(in_dims, x, value, arrays[0]))
    else:
        try:
            setitem_(x, *_in_batch(info, in_dims, x, index, value, arrays))
        except IndexError:
            check_item(x, index, arrays)
            raise
    return None, None


def _batched_setitem(info: Any, in_dims: Any, x: Any, index: Any, value: Any, arrays: Any) -> tuple[Any, int]:
    x = broadcast_to(x, (info.batch_size, *x.shape)) if in_dims[0] is None else in_front(x, in_dims[0])
    if _masked(in_dims, index, value, arrays):
        return setitem(x, Ellipsis, _chosen(in_dims, x, value, arrays[0])), 0
    try:
        return setitem(x, *_in_batch(info, in_dims, x, index, value, arrays)), 0
    except IndexError:
        check_item(x, index, arrays)
        raise


def _batched_view_scatter(x: Any, value: Any, look: Look) -> Any:
    """Write to a copy of a batch as to that of an array; of a registered class, to the elements shown."""
    places = places_shown(x, look) if is_of_registered_class(owner_of(x)) else None
    if places is None:
        return scattered(x, value, look)
    if getattr(value, "shape", ()):
        value = reshape(broadcast_to(value, places.shape), (-1,))
    return reshape(setitem(reshape(x, (-1,)), (places.ravel(),), value), x.shape)


def _in_places(x: Any, index: Any, value: Any, arrays: Any = ()) -> Any:
    """`setitem` of any device; of a class whose arrays nobody can write to, elements are taken from both."""
    if not is_fixed(x):
        return on_copies_of(setitem)(x, index, value, arrays)
    index = placed(index, arrays) if arrays else index
    if any(is_of_registered_class(i) for i in leaves(index)):
        raise UnsupportedError(
            f"np::setitem was asked for of a {type(x).__name__} with an index of a class whose values are not known here. "
            "Index with NumPy's arrays.",
            operator="np::setitem",
        )
    return replaced(x, np.asarray(np.arange(prod(x.shape)).reshape(x.shape)[index]), value)


# -- the rows --------------------------------------------------------------------------------------------------------------

setitem_: OpOverload = define("np::setitem_(Tensor(a!) x, Any index, Tensor value, Tensor[] arrays=[]) -> ()", _setitem)
setitem: OpOverload = make_known(make(setitem_, "np::setitem"), __name__, "np::setitem")
set_functional(setitem_, setitem)
set_instead(
    setitem_,
    Instead(
        leaf="to a copy, `y = x.copy()`",
        plain="to an array made of such a value, `y = np.zeros_like(value, shape=...)`, or np.stack the pieces",
    ),
)
complete(
    setitem_,
    fake=_fake_setitem,
    autograd=pullbacks(
        x=lambda g, index, arrays: setitem(g, index, 0, arrays),
        value=lambda g, index, value_shape, arrays: _taken(g, index, value_shape, arrays),
    ),
    vmap=_batched_setitem_,
    jvp=lambda tangents, output, x, index, value, arrays: setitem(
        tangents[0], index, 0 if tangents[2] is None else tangents[2], arrays
    ),
)
complete(setitem, fake=on_copies_of(setitem), vmap=_batched_setitem)
setitem.register_at(DispatchKey.CompositeExplicit, _in_places)
for _op in (setitem, setitem_):
    vars(_op)[INDICES] = 1, 3
view_scatter.register_at(DispatchKey.VMAP, _batched_view_scatter)
complete(
    view_scatter,
    fake=lambda x, value, look: fake_clone(x),
    autograd=pullbacks(x=lambda g, look: view_scatter(g, 0, look), value=lambda g, look: look.at(g)),
    jvp=lambda tangents, output, x, value, look: view_scatter(tangents[0], 0 if tangents[1] is None else tangents[1], look),
)
