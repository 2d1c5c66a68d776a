"""Computes shapes and strides of views with symbolic sizes, where `result_layouts.py` cannot run NumPy.

The order of the axes still comes from NumPy, run on an array whose axes have distinct lengths. The rules for lengths are written here,
and ask no question about a size that NumPy would not ask.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.lib.stride_tricks import as_strided

from ..symbolic import SymBool, SymInt, agree, contiguous, guesses, has_zero, is_one, larger, same, smaller, sure

Shape = tuple[Any, ...]


class Seen(NamedTuple):
    """A view: its shape and strides, its dtype, and whether it is one."""

    shape: Shape
    strides: Shape
    dtype: np.dtype[Any]
    shared: bool = True


def rearranged(kernel: Callable[..., Any], layout: Any, *args: Any) -> Seen:
    """Return the view made by a kernel that moves axes, or adds or drops axes of length 1."""
    lengths = [n if type(n) is int and n < 2 else i + 2 for i, n in enumerate(layout.shape)]
    one = np.zeros((), layout.dtype)
    found = kernel(as_strided(one, lengths, [0] * len(lengths), writeable=False), *args)
    sources = [lengths.index(n) if n > 1 else None for n in found.shape]  # no two are the same
    shape = tuple([n if i is None else layout.shape[i] for n, i in zip(found.shape, sources, strict=True)])
    if not isinstance(found, np.ndarray) or found.base is None:
        flags = as_strided(one, guesses(layout.shape), guesses(layout.strides)).flags
        order = range(len(shape)) if flags.f_contiguous and not flags.c_contiguous else range(len(shape))[::-1]
        return Seen(shape, dense(shape, found.dtype.itemsize, order), found.dtype, False)
    strides: list[Any] = []
    inner = found.dtype.itemsize
    for n, i in zip(reversed(shape), reversed(sources), strict=True):
        strides.append(inner if i is None else layout.strides[i])
        inner = strides[-1] * n
    return Seen(shape, tuple(reversed(strides)), found.dtype)


def dense(shape: Shape, itemsize: int, order: Sequence[int]) -> Shape:
    """Return the strides of a new array with this memory order of its axes."""
    if has_zero(shape):
        return contiguous(shape, itemsize)
    strides, step = [0] * len(shape), itemsize
    for axis in order:
        strides[axis] = step
        step *= larger(shape[axis], 1)
    return tuple(strides)


def broadcast_to(layout: Any, shape: Any) -> Seen:
    """Return the view of a broadcast shape."""
    shape = tuple(shape) if isinstance(shape, (tuple, list, range)) else (shape,)
    extra = len(shape) - len(layout.shape)
    strides = [0] * max(extra, 0)
    fits = extra >= 0
    for n, stride, m in zip(layout.shape, layout.strides, shape[max(extra, 0) :], strict=False):
        alike = n is m
        spread = not alike and is_one(n)
        fits = fits and (alike or spread or agree(n, m))
        strides.append(0 if spread else stride)
    if not fits:
        np.broadcast_to(np.empty(guesses(layout.shape), "V0"), guesses(shape))  # raises NumPy's own error
    return Seen(shape, tuple(strides), layout.dtype)


def select(layout: Any, axis: int, index: Any) -> Seen:
    """Return the view of one place along an axis."""
    at = normalize_axis_index(axis, len(layout.shape))
    check_index(layout.shape, at, index)
    rest = layout.shape[:at] + layout.shape[at + 1 :]
    return Seen(rest, layout.strides[:at] + layout.strides[at + 1 :], layout.dtype, len(rest) > 0)


def check_index(shape: Shape, axis: int, index: Any) -> None:
    """Raise NumPy's IndexError for a number beyond an axis."""
    n = shape[axis]
    if not (sure(index < n) and sure(-n <= index)):
        np.empty(guesses(shape), "V0")[(slice(None),) * axis + guesses((index,))]


def diagonal(layout: Any, offset: int, axis1: int, axis2: int) -> Seen:
    """Return the view of a diagonal of two axes, as the last axis."""
    ndim = len(layout.shape)
    first, second = [normalize_axis_index(i, ndim, name) for i, name in ((axis1, "axis1"), (axis2, "axis2"))]
    if first == second:
        np.diagonal(np.empty((1,) * ndim), offset, axis1, axis2)  # raises NumPy's own error
    m, n = layout.shape[first], layout.shape[second]
    length = larger(smaller(m + min(offset, 0), n - max(offset, 0)), 0)
    rest = [i for i in range(ndim) if i not in (first, second)]
    shape = (*[layout.shape[i] for i in rest], length)
    return Seen(shape, (*[layout.strides[i] for i in rest], layout.strides[first] + layout.strides[second]), layout.dtype)


# -- reshaped --------------------------------------------------------------------------------------------------------------


def filled(shape: Shape, wanted: Any) -> Shape:
    """Return the shape of `reshape(wanted)`, with -1 computed. A shape that does not fit raises NumPy's own error."""
    new = tuple(wanted) if isinstance(wanted, (tuple, list, range)) else (wanted,)
    places = [i for i, n in enumerate(new) if type(n) is int and n == -1]
    if not places:
        if not agree(prod(shape), prod(new)):
            _refused(shape, new)
        return new
    given, known = list(shape), []
    for n in [n for i, n in enumerate(new) if i != places[0]]:  # what stands on both sides need not be divided by
        at = next((i for i, m in enumerate(given) if m is n and type(n) is SymInt), None)
        if at is None:
            known.append(n)
        else:
            del given[at]
    total, by = prod(given), prod(known)
    if len(places) > 1 or not sure(by != 0) or not agree(total % by, 0):
        _refused(shape, new)
    return tuple([total // by if i == places[0] else n for i, n in enumerate(new)])


def _refused(shape: Shape, new: Shape) -> None:
    """Raise what NumPy says of a shape that does not fit; its numbers are those of this run."""
    np.empty(guesses(shape), "V0").reshape(guesses(new))
    raise ValueError(f"cannot reshape array of shape {shape} into shape {new}")


def reshaped(layout: Any, new: Shape) -> Shape | None:
    """Return the strides of a view of another shape, or None where a reshape copies.

    It groups old and new axes that hold as many elements, as NumPy does; the old ones must lie in memory as one axis would.
    """
    itemsize = layout.dtype.itemsize
    if has_zero(layout.shape) or same(layout.strides, contiguous(layout.shape, itemsize)):
        return contiguous(new, itemsize)
    old = [(n, s) for n, s in zip(layout.shape, layout.strides, strict=True) if guesses((n,)) != (1,) or not is_one(n)]
    strides: list[Any] = [itemsize] * len(new)
    apart: list[tuple[Any, Any]] = []  # the numbers of elements that are no groups, since they differ
    i = k = 0
    while i < len(old) and k < len(new):
        i_end, k_end = i + 1, k + 1
        while (m := prod(guesses([n for n, _ in old[i:i_end]]))) != (n := prod(guesses(new[k:k_end]))):
            if (i_end if m < n else k_end) == (len(old) if m < n else len(new)):
                i_end, k_end = len(old), len(new)  # what is left holds as many elements, whatever was guessed of a size of data
                break
            apart.append((old[i:i_end], new[k:k_end]))
            i_end, k_end = (i_end + 1, k_end) if m < n else (i_end, k_end + 1)
        for (_, outer), (length, inner) in zip(old[i : i_end - 1], old[i + 1 : i_end], strict=True):
            if guesses((outer,)) != guesses((length * inner,)) or not agree(outer, length * inner):
                for n, _ in old[i:i_end]:
                    is_one(n)  # then its stride does not count: a guard says that it is not
                for some, others in apart:
                    _stay_apart(prod([n for n, _ in some]), prod(others))
                return None
        if not agree(prod([n for n, _ in old[i:i_end]]), prod(new[k:k_end])):
            return None
        step = old[i_end - 1][1]
        for axis in range(k_end - 1, k - 1, -1):
            strides[axis], step = step, step * new[axis]
        i, k = i_end, k_end
    for axis in range(k, len(new)):  # axes of length 1
        strides[axis] = strides[k - 1] if k else itemsize
    return tuple(strides)


def _stay_apart(a: Any, b: Any) -> None:
    """Hold that axes of so many elements are no group, as which they would be viewed. Of none there is nothing to view."""
    differ = a != b
    of_data = isinstance(differ, SymBool) and differ.hint is None
    sure(differ | (a == 0) if of_data else differ)


# -- sliced ----------------------------------------------------------------------------------------------------------------


def sliced(n: Any, stride: Any, index: Any) -> tuple[Any, Any]:
    """Return the length and the stride of a sliced axis."""
    return bounds(n, index)[1], stride if index.step is None else stride * index.step


def bounds(n: Any, index: Any) -> tuple[Any, Any]:
    """Return the start and the length of a slice of an axis."""
    step = 1 if index.step is None else index.step
    if not sure(step != 0):
        slice(None, None, 0).indices(1)  # raises in Python's words
    if step > 0:
        start, stop = _clamped(index.start, n, 0, 0, n), _clamped(index.stop, n, n, 0, n)
        length = (stop - start + (step - 1)) // step
    else:
        start, stop = _clamped(index.start, n, n - 1, -1, n - 1), _clamped(index.stop, n, -1, -1, n - 1)
        length = (start - stop + (-step - 1)) // -step
    return start, larger(length, 0)


def _clamped(at: Any, n: Any, otherwise: Any, low: Any, high: Any) -> Any:
    """Return an end of a slice, counted from the front and clipped as Python does."""
    if at is None:
        return otherwise
    return larger(at + n, low) if at < 0 else smaller(at, high)
