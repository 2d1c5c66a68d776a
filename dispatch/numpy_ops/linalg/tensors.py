"""`np.linalg.tensorsolve` and `np.linalg.tensorinv`: systems of equations between arrays of several axes, by `solve` and `inv`."""

from math import prod
from typing import Any

import numpy as np

from ...symbolic import guesses
from .. import numpy_functions
from ..row_arguments import as_item, as_value
from ..shape import reshape, transpose
from .solve import inv, solve


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """`np.linalg.tensorsolve`."""
    a, b = as_item(as_value(a)), as_item(as_value(b))
    ndim = len(a.shape)
    if axes is not None:
        order = list(range(ndim))
        for axis in axes:
            order.remove(axis)
            order.insert(ndim, axis)
        a = transpose(a, tuple(order))
    shape = a.shape[-(ndim - len(b.shape)) :]
    n = prod(shape)
    if prod(a.shape) != n**2:
        np.linalg.tensorsolve(np.broadcast_to(0.0, guesses(a.shape)), np.broadcast_to(0.0, guesses(b.shape)))  # raises NumPy's own error
    return reshape(solve(reshape(a, (n, n)), reshape(b, (-1,))), shape)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """`np.linalg.tensorinv`."""
    a = as_item(as_value(a))
    if ind <= 0:
        np.linalg.tensorinv(np.eye(1), ind)  # raises NumPy's own error
    shape = a.shape
    return reshape(inv(reshape(a, (prod(shape[ind:]), -1))), (*shape[ind:], *shape[:ind]))


FUNCTIONS: dict[Any, Any] = {np.linalg.tensorsolve: tensorsolve, np.linalg.tensorinv: tensorinv}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
