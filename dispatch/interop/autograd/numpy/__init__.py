"""autograd.numpy: `dispatch.numpy`, whose functions take lists of values too, but for what autograd has otherwise.

    >>> from dispatch.interop.autograd import grad
    >>> import dispatch.interop.autograd.numpy as np
    >>> float(grad(lambda x: np.sum(np.array([x, 2 * x]) ** 2))(1.0))
    10.0
"""

from typing import Any

import numpy as np

from .... import numpy
from ....core import Tensor
from ....core.source import not_there
from ....errors import did_you_mean
from ....numpy.functions import REMOVED
from ....numpy_ops.protocols import detach
from . import fft, linalg, random
from .numpy_wrapper import make_diagonal, where

__all__ = ["fft", "linalg", "make_diagonal", "random", "where"]


def of_values(dtype: Any) -> Any:
    """Make a class of integers whose call takes values of transforms, as constants: `np.int64(x)`."""

    class Integers(dtype):  # type: ignore[misc]
        def __new__(cls, value: Any = 0, *args: Any) -> Any:
            return detach(value).astype(dtype) if isinstance(value, Tensor) else dtype(value, *args)

    Integers.__name__ = Integers.__qualname__ = dtype.__name__
    return Integers


def __getattr__(name: str) -> Any:
    if (found := getattr(numpy if name in numpy.__all__ else np, name, None)) is None:
        gone = f" NumPy 2 has it no more: {REMOVED[name]}" if name in REMOVED else ""
        raise not_there(__name__, name, gone or did_you_mean(name, __dir__()))
    if isinstance(found, type) and issubclass(found, np.integer) and found is not np.integer:
        found = of_values(found)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*dir(np), *__all__})
