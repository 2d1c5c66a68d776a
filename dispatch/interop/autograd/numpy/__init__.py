"""autograd.numpy: NumPy itself, whose functions take values of transforms, but for those that NumPy hands to nobody."""

from typing import Any

import numpy as np

from ....core import Tensor
from ....numpy_ops.protocols import detach
from . import fft, linalg, random
from .arrays import array, asarray, c_, full, make_diagonal, of_lists, r_, where

__all__ = ["array", "asarray", "c_", "fft", "full", "linalg", "make_diagonal", "r_", "random", "where"]

OF_LISTS = frozenset("append average mean median prod std sum var".split())  # of lists with values of transforms too


def of_values(dtype: Any) -> Any:
    """Make a class of integers whose call takes values of transforms, as constants: `np.int64(x)`."""

    class Integers(dtype):  # type: ignore[misc]
        def __new__(cls, value: Any = 0, *args: Any) -> Any:
            return detach(value).astype(dtype) if isinstance(value, Tensor) else dtype(value, *args)

    Integers.__name__ = Integers.__qualname__ = dtype.__name__
    return Integers


def __getattr__(name: str) -> Any:
    found = getattr(np, name)
    if name in OF_LISTS:
        found = globals()[name] = of_lists(found)
    elif isinstance(found, type) and issubclass(found, np.integer) and found is not np.integer:
        found = globals()[name] = of_values(found)
    return found


def __dir__() -> list[str]:
    return sorted({*dir(np), *__all__})
