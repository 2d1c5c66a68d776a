"""autograd.numpy.linalg: numpy.linalg itself."""

from typing import Any

import numpy.linalg


def __getattr__(name: str) -> Any:
    return getattr(numpy.linalg, name)


def __dir__() -> list[str]:
    return dir(numpy.linalg)
