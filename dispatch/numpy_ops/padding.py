"""The row `np.pad`: what stands around an array is a constant, elements of it, or computed from these.

An axis is padded after another, so that a corner is made of what pads the axis before.
"""

from math import copysign
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..core import Tensor
from ..errors import UnsupportedError
from ..operators.prims import astype
from ..operators.registry import ops
from ..operators.views import ARRAY
from ..symbolic import SymInt
from . import numpy_functions, reduction, sorting
from .families import attach_plain_forms, composite
from .flags import in_order, named_order, refused
from .indexing import getitem, scatter_add
from .numpy_functions import spelled
from .plain_forms import OPTIONS
from .pointwise import multiply, subtract
from .pointwise_more import round as rounded
from .rearranging import along, linspace
from .result_layouts import plain
from .row_arguments import as_value
from .shape import concatenate

CHOOSING = ("edge", "reflect", "symmetric", "wrap")  # modes that repeat elements, wherever they are
STATISTICS: dict[str, Any] = {"maximum": reduction.max, "minimum": reduction.min, "mean": reduction.mean, "median": sorting.median}


def _pad(
    x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0, end_values: Any = 0, stat_length: Any = None, reflect_type: str = "even"
) -> Any:
    ndim = len(x.shape)
    if isinstance(pad_width, dict):
        at = {normalize_axis_index(axis, ndim): width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(at.get(axis, 0), 2) for axis in range(ndim)]
    asked = np.asarray(pad_width)
    if asked.dtype.kind not in "iO" or (asked.size and asked.min() < 0):  # of objects where a size is symbolic
        np.pad(np.zeros((1,) * ndim), asked)  # raises NumPy's own error
    widths = np.broadcast_to(asked.astype(int), (ndim, 2)).tolist()
    if not ndim:
        return ops.np.copy(x)
    if mode in CHOOSING and not (reflect_type == "odd" and mode in ("reflect", "symmetric")):
        for axis, width in enumerate(widths):
            if type(x.shape[axis]) is SymInt:
                x = _framed(x, axis, width, mode) if any(width) else x
                continue
            places = np.pad(np.arange(x.shape[axis]), width, mode)  # type: ignore[call-overload]
            x = getitem(x, along(axis, ndim, places)) if any(width) else x
        return x if any(map(any, widths)) else ops.np.copy(x)
    if mode == "constant" and isinstance(constant_values, (int, float)) and not constant_values and copysign(1, constant_values) > 0:
        inside = tuple([slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True)])
        shape = tuple([before + n + after for n, (before, after) in zip(x.shape, widths, strict=True)])
        return scatter_add(x, inside, shape)
    values = {"constant": constant_values, "linear_ramp": end_values}.get(mode, 0)
    if isinstance(values, Tensor):
        both = ops.np.broadcast_to(values, (ndim, 2))
        pairs = [[getitem(both, (axis, side)) for side in (0, 1)] for axis in range(ndim)]
    else:
        both = np.broadcast_to(np.asarray(values), (ndim, 2))
        pairs = _held(both, x.dtype) if mode == "constant" else both.tolist()
    lengths = [[None, None]] * ndim if stat_length is None else np.broadcast_to(np.asarray(stat_length, int), (ndim, 2)).tolist()
    for axis, (width, pair, counted) in enumerate(zip(widths, pairs, lengths, strict=True)):
        if mode in ("constant", "empty"):
            sides = [_filled(x, axis, n, value) for n, value in zip(width, pair, strict=True)]
        elif not any(width):
            continue
        elif type(x.shape[axis]) is not SymInt and not x.shape[axis]:
            np.pad(np.zeros(0), 1, "edge")  # raises NumPy's own error
        elif mode in STATISTICS:
            sides = _statistics(x, axis, width, counted, STATISTICS[mode])
        elif mode == "linear_ramp":
            sides = _ramps(x, axis, width, pair)
        else:
            x = _reflected(x, axis, width, mode == "symmetric")
            continue
        x = concatenate([sides[0], x, sides[1]], axis)
    return x if mode in ("constant", "empty") or any(map(any, widths)) else ops.np.copy(x)


def _filled(x: Any, axis: int, n: Any, value: Any) -> Any:
    """Return an array of one number, of the shape of the array but along an axis."""
    return ops.np.full_like(x, value, None, (*x.shape[:axis], n, *x.shape[axis + 1 :]))


def _repeated(x: Any, axis: int, n: Any) -> Any:
    """Return an array that is 1 along an axis with that axis repeated."""
    return ops.np.broadcast_to(x, (*x.shape[:axis], n, *x.shape[axis + 1 :]))


def _part(x: Any, axis: int, *ends: Any) -> Any:
    return getitem(x, along(axis, len(x.shape), slice(*ends)))


def _statistics(x: Any, axis: int, width: Any, lengths: Any, function: Any) -> list[Any]:
    """Return both sides, of what a function makes of the elements at each end."""
    n = x.shape[axis]
    lengths = [n if count is None or n < count else count for count in lengths]
    if 0 in lengths and function in (reduction.max, reduction.min):
        np.pad(np.zeros(1), 1, "maximum", stat_length=0)  # raises NumPy's own error
    sides = []
    for part, repeat in zip((_part(x, axis, None, lengths[0]), _part(x, axis, n - lengths[1], None)), width, strict=True):
        found = function(part, axis, keepdims=True)
        found = rounded(found) if x.dtype.kind in "iu" else found
        sides.append(_repeated(found if found.dtype == x.dtype else astype(found, x.dtype), axis, repeat))
    return sides


def _ramps(x: Any, axis: int, width: Any, pair: Any) -> list[Any]:
    """Return both sides, numbers with equal differences from an end to the element at the edge."""
    edges = [getitem(x, along(axis, len(x.shape), i)) for i in (0, -1)]
    left, right = [linspace(value, edge, n, False, x.dtype, axis) for value, edge, n in zip(pair, edges, width, strict=True)]
    return [left, _part(right, axis, None, None, -1)]


def _reflected(x: Any, axis: int, width: Any, with_edge: bool) -> Any:
    """Pad by a rotation about each edge, by as much as there is at a time."""
    period, (left, right) = int(x.shape[axis]), width
    if period == 1:
        return concatenate([_repeated(x, axis, left), x, _repeated(x, axis, right)], axis)
    while left > 0 or right > 0:
        n = int(x.shape[axis])
        most = n // period * period if with_edge else (n - 1) // (period - 1) * (period - 1)
        first = 0 if with_edge else 1
        parts = [x]
        if left:
            count = min(most, left)
            turned = _part(_part(x, axis, first, first + count), axis, None, None, -1)
            parts = [_opposite(turned, _part(x, axis, None, 1)), x]
            left -= count
        if right:
            count = min(most, right)
            turned = _part(_part(x, axis, n - first - count, n - first), axis, None, None, -1)
            parts.append(_opposite(turned, _part(x, axis, n - 1, None)))
            right -= count
        x = concatenate(parts, axis)
    return x


def _opposite(x: Any, edge: Any) -> Any:
    """Return what lies on the other side of an edge. Of truth values NumPy computes numbers, which it writes as truth values."""
    found = subtract(multiply(2, edge), x)
    return found if found.dtype == x.dtype else astype(found, x.dtype)


def _held(values: Any, dtype: Any) -> list[list[Any]]:
    """Return numbers as an array of a dtype holds them, to which np.pad assigns each by itself."""
    held = np.empty((1, 1), dtype)
    found: list[list[Any]] = []
    for row in values:
        found.append([])
        for value in row:
            held[:] = value
            found[-1].append(held[0, 0])
    return found


def _framed(x: Any, axis: int, width: list[int], mode: str) -> Any:
    """Pad both ends of an axis of symbolic length with elements of the array."""
    n, (before, after) = x.shape[axis], width
    least = max(before, after)
    if mode != "edge" and not n >= least + (mode == "reflect"):
        raise UnsupportedError(
            f"np::pad: mode {mode!r} goes around an axis of size {n} more than once, which takes a number. "
            "Pad in steps, or trace with numbers.", operator="np::pad",
        )  # fmt: skip
    numbers = ops.np.arange
    first, last = {
        "edge": (ops.np.zeros(before, int), ops.np.full(after, -1)),
        "wrap": (numbers(-before, 0), numbers(after)),
        "reflect": (numbers(before, 0, -1), numbers(-2, -2 - after, -1)),
        "symmetric": (numbers(before - 1, -1, -1), numbers(-1, -1 - after, -1)),
    }[mode]
    return getitem(x, along(axis, len(x.shape), ARRAY), [concatenate([first, numbers(n), last], 0)])


def _padded(x: Any, pad_width: Any, mode: str, constant_values: Any, end_values: Any, stat_length: Any, reflect_type: str) -> Any:
    given = {"constant_values": constant_values, "end_values": end_values, "stat_length": stat_length, "reflect_type": reflect_type}
    option = OPTIONS.get(mode)
    return np.pad(x, pad_width, mode, **({} if option is None else {option: given[option]}))  # type: ignore[call-overload]


def _padded_few(x: Any, pad_width: Any, mode: str, *options: Any) -> Any:
    """Return an array laid out as np.pad lays out what it makes of `x`, a stand-in of a few elements."""
    if mode in CHOOSING or mode in ("constant", "empty"):
        return _padded(x, pad_width, mode, *options)
    return np.pad(x, pad_width)


pad = composite(
    "pad(Tensor x, Any pad_width, str mode='constant', Any constant_values=0, Any end_values=0, Any stat_length=None, "
    "str reflect_type='even') -> Tensor",
    _pad,
    numpy=_padded,
    laid_out=_padded_few,
)
_, with_row = numpy_functions.of_numbers(spelled(np.pad, "array:x pad_width mode constant_values end_values stat_length reflect_type", pad))


def _numpy_pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """`np.pad`."""
    if callable(mode):
        raise refused("np.pad", "mode", mode, "It would write to parts of an array: np.concatenate them.")
    if mode not in (*CHOOSING, *STATISTICS, "constant", "empty", "linear_ramp") or not kwargs.keys() <= {OPTIONS.get(mode)}:
        np.pad(np.zeros(1), 1, mode, **kwargs)  # raises NumPy's own error
    if mode in ("constant", "linear_ramp"):
        kwargs = {option: as_value(value) for option, value in kwargs.items()}
        if any(isinstance(value, Tensor) for value in kwargs.values()):  # which the row's schema has no place for: its function runs
            x = as_value(array)
            found = _pad(x, plain(pad_width), mode, **kwargs)
            return in_order(found, "F") if named_order("A", "C", x) == "F" else found  # as NumPy lays it out
    return with_row(array, pad_width, mode, **kwargs)


FUNCTIONS: dict[Any, Any] = {np.pad: _numpy_pad}


def install() -> None:
    """Put the function into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(pad)
