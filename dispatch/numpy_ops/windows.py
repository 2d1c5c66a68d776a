"""The row of `np.lib.stride_tricks.sliding_window_view`: every window of an array, as a view.

The windows share memory, so the gradient of an element is the sum over the windows that it is in. The k-th elements of all windows, m of
them along an axis of n, are the elements from k on: their gradients are added up shifted by k. Written as rows of n + 1 numbers, m gradients
and zeros behind them, and read as rows of n, row k is shifted by k; the sum of the rows is the gradient.
"""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view as kernel

from ..core.array_memory import strided
from ..errors import UnsupportedError
from ..graph.operator_facts import CANNOT_RAISE
from ..operators.prims import moveaxis
from ..operators.registry import ops
from ..operators.views import READ_ONLY_VIEWS
from ..symbolic import guesses, sure
from . import numpy_functions
from .families import view
from .indexing import getitem
from .numpy_functions import call_row
from .reduction import sum as total
from .result_layouts import INTEGERS, as_shape, plain
from .shape import concatenate, reshape
from .symbolic_layouts import Seen


def _windows(x: Any, window_shape: Any, axis: Any = None) -> Any:
    x = np.asarray(x)
    seen = _opened(x, plain(window_shape), plain(axis))
    if len(seen.shape) > 64:
        kernel(x, window_shape, axis)  # raises NumPy's own error
    return strided(x, seen.shape, seen.strides)


def _axes(ndim: int, window_shape: Any, axis: Any) -> tuple[int, ...]:
    return tuple(range(ndim)) if axis is None else normalize_axis_tuple(plain(axis), ndim, allow_duplicate=True)


def _adjoint(g: Any, x_shape: Any, window_shape: Any, axis: Any) -> Any:
    axes, lengths = _axes(len(x_shape), window_shape, axis), as_shape(window_shape)
    for at, length in zip(reversed(axes), reversed(lengths), strict=True):  # the last axis of what is left are the last windows
        g = moveaxis(_shifted_sum(moveaxis(g, (at, -1), (-1, -2)), length), -1, at)
    return g


def _shifted_sum(g: Any, length: Any) -> Any:
    """Return the sum over the second to last axis, row k of it shifted by k."""
    *rest, _, m = g.shape
    n = m + length - 1
    zeros = ops.np.zeros_like(g, None, (*rest, length, length))
    flat = reshape(concatenate([g, zeros], -1), (*rest, length * (n + 1)))
    return total(reshape(getitem(flat, (Ellipsis, slice(0, length * n))), (*rest, length, n)), -2)


def _batched(shape: Any, window_shape: Any, axis: Any) -> tuple[Any, ...]:
    axes = _axes(len(shape) - 1, window_shape, axis)
    if len(axes) != len(as_shape(window_shape)):
        kernel(np.empty((1,) * (len(shape) - 1)), window_shape, axis)  # raises NumPy's own error
    return as_shape(window_shape), tuple([1 + i for i in axes])


def _opened(layout: Any, window_shape: Any, axis: Any) -> Seen:
    lengths, axes = as_shape(window_shape), _axes(len(layout.shape), window_shape, axis)
    shape = list(layout.shape)
    wrong = len(axes) != len(lengths)
    for at, length in zip(axes, lengths, strict=False):
        wrong = wrong or length < 0 or not sure(shape[at] >= length)
        shape[at] = shape[at] - length + 1
    if wrong:
        kernel(np.empty(guesses(layout.shape), "V0"), window_shape, axis)  # raises NumPy's own error
    return Seen((*shape, *lengths), (*layout.strides, *[layout.strides[i] for i in axes]), layout.dtype)


sliding_window_view = view(
    "sliding_window_view(Tensor(a) x, int[1] window_shape, int[1]? axis=None) -> Tensor(a)",
    _windows,
    adjoint=_adjoint,
    batched=_batched,
    opened=_opened,
)


def _sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False) -> Any:
    """`np.lib.stride_tricks.sliding_window_view`."""
    if writeable:
        raise UnsupportedError(
            "np.lib.stride_tricks.sliding_window_view: writeable=True has no row, because a write to one window shows in the others. "
            "Leave it out, and write to the array."
        )
    window_shape = window_shape if isinstance(window_shape, INTEGERS) else tuple(window_shape)
    return call_row("np.lib.stride_tricks.sliding_window_view", sliding_window_view, {"x": x, "window_shape": window_shape, "axis": axis}, {})


FUNCTIONS: dict[Any, Any] = {kernel: _sliding_window_view}


def install() -> None:
    """Put the function into the table."""
    READ_ONLY_VIEWS.add(sliding_window_view)
    CANNOT_RAISE.add(sliding_window_view)
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
    numpy_functions.SPELLED.setdefault(sliding_window_view, (kernel, {"x": "x", "window_shape": "window_shape", "axis": "axis"}))
