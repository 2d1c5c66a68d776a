"""autograd.numpy.fft: numpy.fft itself."""

from typing import Any

import numpy.fft


def __getattr__(name: str) -> Any:
    return getattr(numpy.fft, name)


def __dir__() -> list[str]:
    return dir(numpy.fft)
