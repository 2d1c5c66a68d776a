"""HIPS autograd: the pages of the gallery, with its own NumPy."""

from typing import Any

import autograd.numpy as anp
from autograd import value_and_grad

from bench.whole import Run, page

label = "HIPS autograd"


def digits(parameters: Any, x: Any, y: Any) -> Run:
    """The last value and gradient of one for each batch."""
    step = value_and_grad(page("digits", anp).loss)

    def run() -> Any:
        for pictures, labels in zip(x, y, strict=True):
            found = step(parameters, pictures, labels)
        return found

    return run


def gaussian_process(parameters: Any, x: Any, y: Any) -> Run:
    """The value and gradient at one point."""
    step = value_and_grad(page("gaussian_process", anp).negative_log_likelihood)
    return lambda: step(parameters, x, y)


def lorenz(parameters: Any, start: Any, observed: Any) -> Run:
    """The value and gradient at one point."""
    step = value_and_grad(page("lorenz", anp).misfit)
    return lambda: step(parameters, start, observed)
