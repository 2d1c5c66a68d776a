"""Python functions applied along axes: `np.apply_along_axis`, `np.apply_over_axes`. They get Tensors, in NumPy's order of calls."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..operators.prims import astype, broadcast_to, moveaxis, stack
from . import numpy_functions
from .indexing import getitem
from .row_arguments import as_item, as_value
from .shape import copy, expand_dims, reshape, transpose

Function = Callable[..., Any]


def _apply_along_axis(func1d: Function, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """`np.apply_along_axis`: one call a line, whose results are stacked."""
    arr = as_item(as_value(arr))
    axis = normalize_axis_index(axis, len(arr.shape))
    lines = moveaxis(arr, axis, -1)
    stacked = tuple([int(n) for n in lines.shape[:-1]])
    if 0 in stacked:
        np.apply_along_axis(np.sum, -1, np.zeros((0, 1)))  # raises NumPy's own error
    found = [as_item(as_value(func1d(getitem(lines, (*place, Ellipsis)), *args, **kwargs))) for place in np.ndindex(*stacked)]
    first = found[0]
    fitting = [x if x.shape == first.shape else broadcast_to(x, first.shape) for x in found]
    fitting = [x if x.dtype == first.dtype else astype(x, first.dtype) for x in fitting]
    if not stacked:
        return copy(first)
    made = reshape(stack(fitting), (*stacked, *first.shape))
    made = made if made.dtype == first.dtype else astype(made, first.dtype)  # in another byte order
    places = range(len(made.shape))
    behind = len(made.shape) - len(first.shape)
    return transpose(made, (*places[:axis], *places[behind:], *places[axis:behind]))


def _apply_over_axes(func: Function, a: Any, axes: Any) -> Any:
    """`np.apply_over_axes`."""
    value = as_item(as_value(a))
    ndim = len(value.shape)
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        axis = axis + ndim if axis < 0 else axis
        found = func(value, axis)
        if np.ndim(found) != np.ndim(value):
            found = expand_dims(found, axis)
            if np.ndim(found) != np.ndim(value):
                np.apply_over_axes(lambda x, axis: x[0, 0], np.zeros((1, 1, 1)), 0)  # raises NumPy's own error
        value = found
    return value


FUNCTIONS: dict[Any, Any] = {np.apply_along_axis: _apply_along_axis, np.apply_over_axes: _apply_over_axes}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
