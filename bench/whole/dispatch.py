"""Ours: the pages of the gallery as they stand."""

from typing import Any

import dispatch
from bench.whole import Run, page

label = "dispatch"


def digits(parameters: Any, x: Any, y: Any) -> Run:
    """The last value and gradient of one for each batch."""
    step = dispatch.value_and_grad(page("digits").loss)

    def run() -> Any:
        for pictures, labels in zip(x, y, strict=True):
            found = step(parameters, pictures, labels)
        return found

    return run


def gaussian_process(parameters: Any, x: Any, y: Any) -> Run:
    """The value and gradient at one point."""
    step = dispatch.value_and_grad(page("gaussian_process").negative_log_likelihood)
    return lambda: step(parameters, x, y)


def lorenz(parameters: Any, start: Any, observed: Any) -> Run:
    """The value and gradient at one point."""
    step = dispatch.value_and_grad(page("lorenz").misfit)
    return lambda: step(parameters, start, observed)
