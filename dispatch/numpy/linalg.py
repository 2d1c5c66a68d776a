"""`dispatch.numpy.linalg` is `numpy.linalg`, whose functions are asked for all their arguments."""

from typing import Any

import numpy as np

from .functions import looked_up

NAMES: list[str] = np.linalg.__all__


def __getattr__(name: str) -> Any:
    return looked_up(np.linalg, name, NAMES, globals())


def __dir__() -> list[str]:
    return NAMES
