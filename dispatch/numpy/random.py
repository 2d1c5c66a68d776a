"""numpy.random."""
from typing import Any

import numpy as np


def __getattr__(name: str) -> Any:
    return getattr(np.random, name)
