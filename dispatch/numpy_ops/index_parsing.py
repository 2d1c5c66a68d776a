"""Parses indices as NumPy does, and computes the layout of the result.

Arrays that the layers must see, such as tracked or batched ones, are listed apart, with `ARRAY` in their places in the index.
"""

from functools import lru_cache
from math import prod
from operator import index as number_of
from types import EllipsisType, NoneType
from typing import Any, NamedTuple

import numpy as np

from ..core import Tensor
from ..errors import DataDependentError
from ..layers.fake import FakeTensor, counted, fake_tensor
from ..operators.views import ARRAY, Place
from ..symbolic import SymInt, agree, broadcast, guesses, is_open, layout_is_open
from .result_layouts import REMEMBERED, Layout, hollow, order_of, seen, small
from .symbolic_layouts import check_index, dense, sliced

Shape = tuple[int, ...]


def placed(index: Any, arrays: Any) -> Any:
    """Return the index as NumPy takes it, with the arrays in their places."""
    if not arrays:
        return index
    queue = iter(arrays)
    return tuple([next(queue) if i is ARRAY else i for i in (index if isinstance(index, tuple) else (index,))])


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
    items = [as_array(i) for i in placed(index if isinstance(index, tuple) else (index,), arrays)]
    rest: list[Any] = [slice(None)] * (ndim - sum(map(_consumes, items)))
    dots = [k for k, i in enumerate(items) if i is Ellipsis]
    if len(dots) > 1:
        hollow(())[..., ...]  # raises NumPy's own error
    if dots:
        items[dots[0] : dots[0] + 1] = rest or [Ellipsis]
    else:
        items += rest
    if not any(map(is_advanced, items)):
        return Reading(items, [], True, 0, 0)
    advanced = [k for k, i in enumerate(items) if not (i is None or i is Ellipsis or isinstance(i, slice))]
    together = advanced[-1] - advanced[0] == len(advanced) - 1
    position = sum(i is not Ellipsis for i in items[: advanced[0]]) if together else 0
    return Reading(items, advanced, together, position, max(_width(items[k]) for k in advanced))


# What NumPy reads as it stands; of anything else it asks a number, or makes an array.
AS_IT_STANDS = (int, slice, NoneType, EllipsisType, np.ndarray, np.generic, Tensor, SymInt, Place)


def as_array(i: Any) -> Any:
    """Return an item of an index with a list, or what else NumPy makes one of, made an array; an empty one is one of integers."""
    if isinstance(i, AS_IT_STANDS) or hasattr(i, "dtype"):
        return i
    if hasattr(i, "__index__"):
        return number_of(i)
    made = np.asarray(i)
    if made.size and made.dtype.kind not in "biu":
        hollow((1,))[i]  # raises NumPy's own error
    return made if made.size else made.astype(np.intp)


def is_mask(i: Any) -> bool:
    """Whether an item is an array of truth values."""
    return hasattr(i, "dtype") and i.dtype.kind == "b"


def is_advanced(i: Any) -> bool:
    """Whether an item makes the index an advanced one: an array with axes, or a truth value."""
    return isinstance(i, bool) or is_mask(i) or (hasattr(i, "dtype") and len(i.shape) > 0)


def _consumes(i: Any) -> int:
    """Return how many axes of the array an item of an index selects from."""
    if i is None or i is Ellipsis or isinstance(i, bool):
        return 0
    return len(i.shape) if is_mask(i) else 1


def _width(i: Any) -> int:
    """Return how many axes an array of an index has in the result; a mask has one, because it is a list of places."""
    return 1 if isinstance(i, bool) or is_mask(i) else len(getattr(i, "shape", ()))


# -- layouts -----------------------------------------------------------------------------------------------------------


class Slice(NamedTuple):
    """A slice that can be hashed."""

    start: Any
    stop: Any
    step: Any


class Truth(NamedTuple):
    """A truth value that is not taken for the number it equals."""

    value: bool


def without_masks(index: Any) -> list[Any]:
    """Return an index with the places where masks are True instead of the masks."""
    found: list[Any] = []
    for i in map(as_array, index if isinstance(index, tuple) else (index,)):
        if is_mask(i) and isinstance(i, FakeTensor) and i.constant is not None:
            i = i.constant
        if is_mask(i) and isinstance(i, FakeTensor):
            if not i.shape:
                raise DataDependentError(
                    "np::getitem: whether an index of a truth value without axes selects depends on its data, which a fake has not. "
                    "Write np.where(condition, x, other), which keeps the shape.",
                    operator="np::getitem",
                )
            found += [fake_tensor((count_of("np::getitem", i, "a mask of shape {} selects"),), np.dtype(np.intp))] * len(i.shape)
        else:
            found += i.nonzero() if is_mask(i) and len(i.shape) else [bool(i) if is_mask(i) else i]
    return found


def count_of(name: str, x: Any, words: str = "it finds in an array of shape {}") -> Any:
    """Return how many elements of a fake are not 0: a size that depends on data, the same for the same fake."""
    if isinstance(x, FakeTensor) and x.constant is not None:
        return int(np.count_nonzero(x.constant))
    env = getattr(getattr(x, "mode", None), "shape_env", None)
    if env is None:
        raise DataDependentError(
            f"{name}: how many elements {words.format(getattr(x, 'shape', ()))} depends on its data, which a fake has not. "
            "Write np.where(mask, x, other), which keeps the shape; or give the mode symbolic sizes, "
            "FakeTensorMode(shape_env=ShapeEnv()).",
            operator=name,
        )
    return counted(x, lambda: env.new_dynamic_size(min=0, max=prod(x.shape)))


def check_places(shape: Shape, index: Any) -> None:
    """Raise NumPy's IndexError for a mask whose axes are not those of the array that it stands at, and for a list out of range."""
    if not any([isinstance(i, (list, np.ndarray)) or is_mask(i) for i in (index if isinstance(index, tuple) else (index,))]):
        return
    axis = 0
    for i in read(index, (), len(shape)).items:
        if is_mask(i):
            there = shape[axis : axis + len(i.shape)]
            if not all(map(agree, i.shape, there)):
                np.empty((1,) * axis + guesses(there), "V0")[(slice(None),) * axis + (np.zeros(guesses(i.shape), bool),)]
        elif isinstance(i, np.ndarray) and i.shape and i.size and axis < len(shape):
            n: Any = shape[axis]
            for k in (int(i.max()), int(i.min())):
                if isinstance(n, int) and not -n <= k < n:
                    np.empty((1,) * axis + (n,), "V0")[(slice(None),) * axis + (np.array([k]),)]
        axis += _consumes(i)


def spelled(i: Any) -> Any:
    """Return what the result's layout depends on in an item of an index: of an array its layout, not its elements."""
    if type(i) is slice:
        ends = (i.start, i.stop, i.step)
        if not all([k is None or hasattr(k, "__index__") for k in ends]):
            hollow((1,))[i]  # raises NumPy's own error
        return Slice(*[k if k is None or isinstance(k, (int, SymInt)) else number_of(k) for k in ends])
    if isinstance(i, bool):
        return Truth(i)
    if hasattr(i, "shape"):
        if i.dtype.kind not in "iu":
            hollow((1,))[i if isinstance(i, np.generic) else np.zeros((0,) * len(i.shape), i.dtype)]  # raises NumPy's own error
        return Layout(i.shape, i.strides, np.dtype(np.intp)) if i.shape else 0 if isinstance(i, FakeTensor) else int(i)
    return i


def indexed(layout: Layout, words: tuple[Any, ...]) -> Layout:
    """Return the layout of the result of an index."""
    if layout_is_open(layout) or any(map(_is_open, words)):
        return _indexed_open(layout, words)
    return _indexed(layout, words)


def _is_open(word: Any) -> bool:
    """Whether an item of an index has a symbol in it."""
    return layout_is_open(word) if isinstance(word, Layout) else is_open(word if isinstance(word, Slice) else (word,))


def _indexed_open(layout: Layout, words: tuple[Any, ...]) -> Layout:
    """Return the layout of the result of an index with symbolic sizes."""
    index = [slice(*i) if isinstance(i, Slice) else i.value if isinstance(i, Truth) else i for i in words]
    found = read(tuple(index), (), len(layout.shape))
    if sum(map(_consumes, index)) > len(layout.shape):
        hollow((1,) * len(layout.shape))[tuple([0 if _consumes(i) else i for i in index])]  # raises NumPy's own error
    axes = [(n, stride) for n, stride in zip(layout.shape, layout.strides, strict=True)]
    left: list[tuple[Any, Any]] = []  # what slices leave, and the axes of arrays as they are
    others: list[tuple[Any, Any]] = []  # what slices leave and new axes
    at = 0
    for i in found.items:
        if i is None:
            others.append((1, 0))
        if not _consumes(i):
            continue
        n, stride = axes[at]
        if isinstance(i, slice):
            n, stride = sliced(n, stride, i)
            others.append((n, stride))
        elif not hasattr(i, "shape"):
            check_index(layout.shape, at, i)
        left.append((n, stride))
        at += 1
    shape, strides = tuple([n for n, _ in others]), tuple([stride for _, stride in others])
    if not found.advanced:
        return Layout(shape, strides, layout.dtype)
    shapes = [(int(i),) if isinstance(i, bool) else getattr(i, "shape", ()) for i in map(found.items.__getitem__, found.advanced)]
    together = broadcast(shapes)
    if together is None:
        return _indexed(*_guessed((layout, words)))  # which raises
    shape = (*shape[: found.position], *together, *shape[found.position :])
    lengths, steps = [guesses(part) for part in zip(*left, strict=True)] if left else ((), ())
    if 0 in lengths:  # a mask of nothing selects nothing
        return Layout(shape, dense(shape, layout.dtype.itemsize, range(len(shape))[::-1]), layout.dtype)
    few = small(Layout(lengths, steps, layout.dtype))[tuple([_small_item(_guessed(i)) for i in found.items])]
    return Layout(shape, dense(shape, layout.dtype.itemsize, order_of(few)), layout.dtype)


def _guessed(x: Any) -> Any:
    """Replace symbolic sizes in a layout or an index by their values in this run."""
    if isinstance(x, tuple):
        items = [_guessed(item) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    return x.guess if isinstance(x, SymInt) else x


@lru_cache(REMEMBERED)
def _indexed(layout: Layout, words: tuple[Any, ...]) -> Layout:
    index = [slice(*i) if isinstance(i, Slice) else i.value if isinstance(i, Truth) else i for i in words]
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
        (int(i),) if isinstance(i, bool) else getattr(i, "shape", ()) for i in map(found.items.__getitem__, found.advanced)
    ]
    try:
        together = np.broadcast_shapes(*shapes)
    except ValueError:
        places = [np.broadcast_to(np.intp(0), shape) for shape in shapes]
        hollow((1,) * len(places))[tuple(places)]  # raises NumPy's own error
        raise
    shape = (*others[: found.position], *together, *others[found.position :])
    few = small(Layout(sliced.shape, sliced.strides, layout.dtype))[tuple(map(_small_item, found.items))]
    return Layout(shape, dense(shape, layout.dtype.itemsize, order_of(few)), layout.dtype)


def _small_item(i: Any) -> Any:
    """Return an item of an index for a small array: a number becomes 0, since any place has the same layout."""
    if isinstance(i, Layout):
        return small(i)
    return slice(None) if isinstance(i, slice) else 0 if type(i) is int else i
