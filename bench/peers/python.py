"""One more Python function around the kernel: the least a wrapper written in Python can cost."""

import inspect
from functools import partial
from typing import Any

import numpy as np

from bench.timing import Case
from bench.workload import Function, added, plain

label = "a Python function"


def operator(name: str, kernel: Function) -> Any:
    """A function of the kernel's own signature that calls it."""
    signature = inspect.signature(kernel)
    handed_on = ", ".join(signature.parameters)
    declared = ", ".join(
        one if parameter.default is parameter.empty else f"{one}={parameter.default!r}"
        for one, parameter in signature.parameters.items()
    )
    scope = {"kernel": kernel}
    exec(f"def {name}({declared}):\n    return kernel({handed_on})", scope)
    return scope[name]


def cases() -> dict[str, Case]:
    """The plain calls."""
    ones = partial(np.ones, 3)

    def add(x0: np.ndarray, x1: np.ndarray) -> Any:
        return np.add(x0, x1)

    return plain(operator, np.ndarray, ones) | added(add, np.add, ones)
