"""What the entries of the contract begin with: a namespace nobody has, a library in it, arrays of a second device."""

import itertools

import numpy as np
import pytest

import dispatch
from dispatch.library import Library, register_array_type

numbers = itertools.count()


class Remote:
    """An array that lives elsewhere."""

    def __init__(self, values):
        self.values = np.asarray(values)

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)


register_array_type(Remote, device="remote")


@pytest.fixture
def ns():
    return f"contract{next(numbers)}"


@pytest.fixture
def lib(ns):
    with Library(ns, "FRAGMENT") as made:
        yield made


@pytest.fixture
def ops(ns):
    """The operators of the namespace, looked up when they are asked for."""

    class Ours:
        def __getattr__(self, name):
            return getattr(getattr(dispatch.ops, ns), name)

    return Ours()


@pytest.fixture
def remote():
    return Remote
