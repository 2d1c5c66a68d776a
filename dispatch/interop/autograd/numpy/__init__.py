"""autograd.numpy: NumPy itself, whose functions take values of transforms, but for those that NumPy hands to nobody.

Examples
--------
>>> from dispatch.interop.autograd import grad
>>> grad(lambda x: np.sum(array([x, 2 * x]) ** 2))(1.0)
np.float64(10.0)
"""

from typing import Any

import numpy as np

from ....numpy_ops.handing_over import handed_over
from . import fft, linalg, random

__all__ = ["array", "asarray", "fft", "full", "linalg", "random"]

array, asarray, full = handed_over(np.array), handed_over(np.asarray), handed_over(np.full)


def __getattr__(name: str) -> Any:
    return getattr(np, name)


def __dir__() -> list[str]:
    return sorted({*dir(np), *__all__})
