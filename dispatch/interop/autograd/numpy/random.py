"""autograd.numpy.random: numpy.random itself."""

from typing import Any

import numpy.random


def __getattr__(name: str) -> Any:
    return getattr(numpy.random, name)


def __dir__() -> list[str]:
    return dir(numpy.random)
