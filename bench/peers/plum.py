"""plum: the kernel looked up by the types of all positional arguments."""

from functools import partial
from typing import Any

import numpy as np
from plum import Dispatcher

from bench.timing import Case
from bench.workload import Function, added, plain

label = "plum"


def operator(name: str, kernel: Function) -> Any:
    """A function with the kernel as its one method; without the hint of what comes back, which costs a call 3.5 us."""
    del kernel.__annotations__["return"]
    return Dispatcher()(kernel)


def addition(x0: np.ndarray, x1: np.ndarray) -> Any:
    """np.add with hints: plum reads its types there, and a ufunc has none."""
    return np.add(x0, x1)


def cases() -> dict[str, Case]:
    """The plain calls, save those plum cannot resolve: it looks at positional arguments alone."""
    ones = partial(np.ones, 3)
    able = plain(operator, np.ndarray, ones) | added(operator("addition", addition), addition, ones)
    del able["2 arrays by keyword"]
    return able
