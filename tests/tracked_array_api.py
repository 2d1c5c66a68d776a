"""`dispatch.numpy` as a module whose creation functions return tracked values, for tests that know the array API standard alone.

The standard's own tests (github.com/data-apis/array-api-tests) take it by name, and this file as a plugin of pytest, from a checkout of theirs:

    PYTHONPATH=.../dispatch:.../dispatch/tests ARRAY_API_TESTS_MODULE=tracked_array_api python -m pytest -p tracked_array_api array_api_tests

Integers and bools have no derivative, and stay NumPy's. Those tests read every element by `float(x[i])`, and so does hypothesis where it
makes an array; a tape refuses that, and says to write `x.item()`. While a test runs, a tracked value gives that number: nothing else is
other than users have it.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
import pytest

import dispatch
import dispatch.numpy as dnp
from dispatch.layers.autograd.tensor import TrackedTensor

CREATION = "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like"


def tracked(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(tracked(item) for item in x)
    return dispatch.tensor(x, requires_grad=True) if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc" else x


def creating(f: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(f)
    def made(*args: Any, **keywords: Any) -> Any:
        return tracked(f(*args, **keywords))

    return made


globals().update({name: creating(getattr(dnp, name)) for name in CREATION.split()})


def __getattr__(name: str) -> Any:
    return getattr(dnp, name)


def __dir__() -> list[str]:
    return sorted({*dir(dnp), *globals()})  # pytest looks for its hook here


@contextmanager
def numbers_by_item() -> Iterator[None]:
    """A block in which `float(x)`, `int(x)` and `complex(x)` give `x.item()`."""
    kept = {number: getattr(TrackedTensor, f"__{number.__name__}__") for number in (float, int, complex)}
    for number in kept:
        setattr(TrackedTensor, f"__{number.__name__}__", lambda x, number=number: number(x.item()))
    try:
        yield
    finally:
        for number, method in kept.items():
            setattr(TrackedTensor, f"__{number.__name__}__", method)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    with numbers_by_item():
        return (yield)


xp = sys.modules[__name__]
