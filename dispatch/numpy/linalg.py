"""`dispatch.numpy.linalg`: `numpy.linalg` for Tensors in any argument."""

from typing import Any

import numpy as np

from .functions import looked_up

NAMES: list[str] = np.linalg.__all__


def __getattr__(name: str) -> Any:
    return looked_up(np.linalg, name, NAMES, globals())


def __dir__() -> list[str]:
    return NAMES
