"""autograd.numpy: NumPy itself, whose functions take values of transforms, but for those that NumPy hands to nobody."""

from typing import Any

import numpy as np

from ....core import Tensor
from ....core.pytree import leaves
from ....operators.registry import ops
from . import fft, linalg, random

__all__ = ["array", "asarray", "fft", "full", "linalg", "random"]


def array(A: Any, *args: Any, **keywords: Any) -> Any:
    """Return `numpy.array(A)`; of lists and tuples with values of transforms in them, a value of these.

    Examples
    --------
    >>> from dispatch.interop.autograd import grad
    >>> grad(lambda x: np.sum(array([x, 2 * x]) ** 2))(1.0)
    np.float64(10.0)
    """
    if isinstance(A, Tensor) or (isinstance(A, (list, tuple)) and any(isinstance(x, Tensor) for x in leaves(A))):
        made = np.copy(A) if isinstance(A, Tensor) else np.stack([array(x) for x in A])
        dtype = args[0] if args else keywords.get("dtype")
        return made if dtype is None else made.astype(dtype)
    return np.array(A, *args, **keywords)


def asarray(a: Any, *args: Any, **keywords: Any) -> Any:
    """Return `numpy.asarray(a)`; a value of a transform as it is, and of lists with such what `array` returns."""
    if isinstance(a, Tensor):
        dtype = args[0] if args else keywords.get("dtype")
        return a if dtype is None else a.astype(dtype)
    return (array if isinstance(a, (list, tuple)) else np.asarray)(a, *args, **keywords)


def full(shape: Any, fill_value: Any, dtype: Any = None, *args: Any, **keywords: Any) -> Any:
    """Return `numpy.full(shape, fill_value)`, also where the number is a value of a transform."""
    if isinstance(fill_value, Tensor):
        return ops.np.full(shape, fill_value, dtype)
    return np.full(shape, fill_value, dtype, *args, **keywords)


def __getattr__(name: str) -> Any:
    return getattr(np, name)


def __dir__() -> list[str]:
    return sorted({*dir(np), *__all__})
