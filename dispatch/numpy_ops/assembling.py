"""Arrays put together of others: `np.block`, `np.insert`, `np.resize`."""

from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..operators.prims import astype, broadcast_to, moveaxis
from ..operators.registry import ops
from ..operators.views import ARRAY
from ..symbolic import SymInt, guard_or_false, guesses, has_zero, is_one, larger
from . import flags, numpy_functions
from .families import attach_plain_forms, composite
from .indexing import getitem
from .numpy_functions import spelled
from .pointwise import remainder
from .rearranging import along, plain_places
from .result_layouts import INTEGERS, as_shape
from .row_arguments import as_item, call
from .shape import concatenate, copy, ravel, reshape
from .symbolic_layouts import check_index

# -- blocks ----------------------------------------------------------------------------------------------------------------

LARGE = 2 * 512 * 512  # elements, times the depth of the lists: beyond, np.block lays the result out by a rule of its own


def _block(arrays: Any) -> Any:
    """`np.block`, by its own steps."""
    depths = set(_depths(arrays))
    if len(depths) != 1 or None in depths:
        np.block(_numbers(arrays))  # raises NumPy's own error
    depth = depths.pop()
    parts = list(_leaves(arrays))
    found = _joined(arrays, depth or 0, max(depth or 0, *[len(x.shape) for x in parts]))
    if not depth:
        return copy(found, "C")
    if depth * sum([prod(guesses(x.shape)) for x in parts]) > LARGE:
        lying = [flags.lying(x).flags for x in parts]
        order = "F" if all(x.f_contiguous for x in lying) and not all(x.c_contiguous for x in lying) else "C"
        lies = flags.lying(found).flags
        return found if (lies.f_contiguous if order == "F" else lies.c_contiguous) else copy(found, order)
    return found


def _depths(arrays: Any) -> list[int | None]:
    """Return how deep in lists each array is; None for what is no array: an empty list, a tuple."""
    if isinstance(arrays, tuple) or (isinstance(arrays, list) and not arrays):
        return [None]
    if not isinstance(arrays, list):
        return [0]
    return [None if n is None else n + 1 for x in arrays for n in _depths(x)]


def _leaves(arrays: Any) -> Any:
    if isinstance(arrays, list):
        for x in arrays:
            yield from _leaves(x)
    else:
        yield as_item(arrays)


def _numbers(arrays: Any) -> Any:
    return type(arrays)([_numbers(x) for x in arrays]) if isinstance(arrays, (list, tuple)) else 0


def _joined(arrays: Any, depth: int, ndim: int) -> Any:
    if depth:
        return concatenate([_joined(x, depth - 1, ndim) for x in arrays], -depth)
    x = as_item(arrays)
    return reshape(x, (*[1] * (ndim - len(x.shape)), *x.shape)) if len(x.shape) < ndim else x


# -- inserted --------------------------------------------------------------------------------------------------------------


def _insert(x: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    if axis is None:
        x, at = reshape(x, (-1,)), 0
    else:
        at = normalize_axis_index(axis, len(x.shape))
    n, ndim = x.shape[at], len(x.shape)
    places = np.arange(*obj.indices(guesses((n,))[0])) if isinstance(obj, slice) else np.array(plain_places(obj))
    places = np.flatnonzero(places) if places.dtype == bool and places.ndim == 1 else places
    if places.ndim > 1 or not (places.dtype.kind in "iu" or (not places.size and not isinstance(obj, np.ndarray))):
        np.insert(np.zeros(3), obj, 0)  # raises NumPy's own error
    if not hasattr(values, "shape"):
        values = ops.np.full_like(x, np.array(values, x.dtype)[()], None, ())  # the cast refuses 1j in an array of ints
    values = values if values.dtype == x.dtype else astype(values, x.dtype)
    rest = (*x.shape[:at], None, *x.shape[at + 1 :])
    if places.size == 1:
        count = len(places.shape)
        if len(values.shape) < ndim:
            values = reshape(values, (*[1] * (ndim - len(values.shape)), *values.shape))
        if not count:
            values = moveaxis(values, 0, at)
        values = _spread(values, tuple([values.shape[at] if m is None else m for m in rest]))
        place = places.item()
        if place > 0 and type(n) is SymInt:
            check_index(x.shape, at, place - 1)
        elif not -n <= place <= n:
            np.insert(np.zeros(guesses((n,))), obj, 0)  # raises NumPy's own error
        place = place if place >= 0 else place + n
        parts = [getitem(x, along(at, ndim, slice(None, place))), values, getitem(x, along(at, ndim, slice(place, None)))]
        return concatenate(parts, at)
    n = int(n)  # each of several places is a number
    places = np.where(places < 0, places + n, places).astype(np.intp)
    places[places.argsort(kind="stable")] += np.arange(len(places))
    old = np.ones(n + len(places), bool)
    old[places] = False  # raises NumPy's own error
    order = np.empty(len(old), np.intp)
    order[old], order[places] = np.arange(np.count_nonzero(old)), n + np.arange(len(places))
    values = _spread(values, tuple([len(places) if m is None else m for m in rest]))
    return getitem(concatenate([x, values], at), along(at, ndim, order))


def _spread(values: Any, shape: tuple[Any, ...]) -> Any:
    """Return values broadcast to a shape as where they are written: leading axes of length 1 pass, however many there are."""
    more = len(values.shape) - len(shape)
    if more > 0 and all(map(is_one, values.shape[:more])):
        values = reshape(values, values.shape[more:])
    return broadcast_to(values, shape)


def _inserted_in_few(x: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Return an array laid out as what np.insert makes of `x`, a stand-in of a few elements."""
    return np.empty((2,) * x.ndim, x.dtype, "F" if x.flags.fnc else "C") if axis is not None else np.ravel(x)


insert = composite(
    "insert(Tensor x, Any obj, Tensor values, int? axis=None) -> Tensor",
    _insert,
    numpy=lambda x, obj, values, axis: np.insert(x, plain_places(obj), values, axis),
    laid_out=_inserted_in_few,
)


def _numpy_insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """`np.insert`. An array of places says how large the result is, and is a list of numbers, no data."""
    if isinstance(obj, np.ndarray) and obj.ndim < 2 and obj.dtype.kind in "iub" and obj.size:
        obj = (np.flatnonzero(obj) if obj.dtype == bool and obj.ndim else obj).tolist()
    return call(insert, arr, obj, values, axis)


# -- over again ------------------------------------------------------------------------------------------------------------


def _resize(x: Any, new_shape: Any) -> Any:
    shape: tuple[Any, ...] = as_shape(new_shape)
    if any([isinstance(n, INTEGERS) and n < 0 for n in shape]):
        np.resize(np.zeros(1), new_shape)  # raises NumPy's own error
    n, size = prod(x.shape), prod(shape)
    if has_zero((n, size)):
        return ops.np.zeros_like(ravel(x), None, shape)
    flat = reshape(x if x.dtype.isnative else astype(x, x.dtype.newbyteorder("=")), (-1,))
    if type(n) is SymInt and not guard_or_false(n > 0):  # as many as data say: of none of them NumPy makes zeros
        flat, n = concatenate([flat, ops.np.zeros((1,), flat.dtype)]), larger(n, 1)
    return reshape(getitem(flat, (ARRAY,), [remainder(ops.np.arange(size), n)]), shape)


resize = composite("resize(Tensor x, int[1] new_shape) -> Tensor", _resize, numpy=lambda x, new_shape: np.resize(x, new_shape))

FUNCTIONS: dict[Any, Any] = dict([
    (np.block, _block),
    (np.insert, _numpy_insert),
    spelled(np.resize, "a:x new_shape", resize),
])  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
    numpy_functions.SPELLED.setdefault(insert, (np.insert, {"arr": "x", "obj": "obj", "values": "values", "axis": "axis"}))

attach_plain_forms(insert, resize)
