"""functools.singledispatch: the kernel looked up by the type of the first argument."""

import functools
from functools import partial

import numpy as np

from bench.timing import Case
from bench.workload import Function, added, plain

label = "functools.singledispatch"


def operator(name: str, kernel: Function) -> Function:
    """A generic function with the kernel registered for arrays."""

    def refuse(first: object, *rest: object, **options: object) -> object:
        raise NotImplementedError(name)

    generic = functools.singledispatch(refuse)
    generic.register(np.ndarray, kernel)
    return generic


def cases() -> dict[str, Case]:
    """The plain calls, save those that give the first array by keyword: singledispatch wants one by position."""
    ones = partial(np.ones, 3)
    able = plain(operator, np.ndarray, ones) | added(operator("add", np.add), np.add, ones)
    del able["2 arrays by keyword"]
    return able
