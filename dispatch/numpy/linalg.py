"""`dispatch.numpy.linalg` is `numpy.linalg`: NumPy hands each of its functions over, by every argument that may be a Tensor."""

from typing import Any

import numpy as np

__all__ = list(np.linalg.__all__)


def __getattr__(name: str) -> Any:
    return getattr(np.linalg, name)


def __dir__() -> list[str]:
    return __all__
