"""`dispatch.numpy.linalg` is `numpy.linalg`: NumPy hands each of its functions over, by every argument that may be a Tensor."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.linalg import *  # noqa: F403

__all__ = list(np.linalg.__all__)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    return getattr(np.linalg, name)


def __dir__() -> list[str]:
    return __all__
