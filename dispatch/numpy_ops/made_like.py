"""NumPy's makers of arrays from no array, which meet our values by `like=`: `np.eye(3, like=x)`, `np.fromfunction`, `np.fromiter`.

What they make are NumPy's arrays, of constants; where the data are followed, so is the result. Under a mode, what rows make is the mode's.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..core import Tensor
from . import diagonals, flags, numpy_functions
from .array_making import array

Function = Callable[..., Any]


def _eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
    """`np.eye`."""
    flags.check_device(device)
    if order not in ("C", "F"):
        np.empty(0, order=order)  # type: ignore[call-overload] # raises NumPy's own error
    return flags.in_order(diagonals.eye(N, M, k, dtype), "K" if order == "C" else "F")


def _identity(n: int, dtype: Any = None, *, like: Any = None) -> Any:
    """`np.identity`."""
    return diagonals.identity(n, dtype)


def _tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, like: Any = None) -> Any:
    """`np.tri`."""
    return diagonals.tri(N, M, k, dtype)


def _fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """`np.fromiter`, of Tensors too."""
    items = list(iter)
    if not any(isinstance(x, Tensor) for x in items):
        return np.fromiter(items, dtype, count)
    if count > len(items) or count < -1:
        np.fromiter([], dtype, 1)  # raises NumPy's own error
    return array(items if count < 0 else items[:count], dtype)


def without_like(function: Any) -> Function:
    """Return a function of NumPy's that has no data of ours: what it calls may have."""
    return lambda *args, like=None, **keywords: function(*args, **keywords)


FUNCTIONS: dict[Any, Function] = {
    np.eye: _eye, np.identity: _identity, np.tri: _tri, np.fromiter: _fromiter,
    np.fromfunction: without_like(np.fromfunction), np.frombuffer: without_like(np.frombuffer), np.fromstring: without_like(np.fromstring),
}  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
