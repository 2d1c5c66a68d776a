"""Defining operators: what is taken, what is refused, and that a refused definition leaves nothing behind."""

import functools

import numpy as np
import pytest

from dispatch import OpOverload, Tag, custom_op, ops
from dispatch.errors import DefinitionError, HintError, OperatorNotFoundError, SchemaError

A = np.arange(3.0)


def double(x: np.ndarray) -> np.ndarray:
    """Twice an array."""
    return x * 2


def refused(error, *args, **options):
    with pytest.raises(error) as caught:
        custom_op(*args, **options)
    return str(caught.value)


# -- what is taken ---------------------------------------------------------------------------------------------------------


def test_a_decorator_and_a_function_are_the_same():
    decorated = custom_op("registrationtests::decorated", mutates_args=())(double)
    called = custom_op("registrationtests::called", double, mutates_args=())
    for op in (decorated, called):
        assert isinstance(op, OpOverload)
        assert np.array_equal(op(A), double(A))
        assert op.__wrapped__ is double
        assert (op.__name__, op.__qualname__, op.__doc__, op.__module__) == ("double", "double", "Twice an array.", __name__)
        assert str(op.schema).endswith("(Tensor x) -> Tensor")


def test_a_function_that_is_no_plain_function():
    class Kernel:
        def __call__(self, x: np.ndarray) -> np.ndarray:
            return x * 3

        def method(self, x: np.ndarray) -> np.ndarray:
            return x * 4

    assert np.array_equal(custom_op("registrationtests::object", Kernel(), mutates_args=())(A), A * 3)
    assert np.array_equal(custom_op("registrationtests::method", Kernel().method, mutates_args=())(A), A * 4)

    @functools.wraps(double)
    def wrapper(*args, **keywords):
        return double(*args, **keywords) + 1

    assert np.array_equal(custom_op("registrationtests::wrapped", wrapper, mutates_args=())(A), A * 2 + 1)
    ufunc = custom_op("registrationtests::ufunc", np.hypot, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")
    assert np.array_equal(ufunc(A, A), np.hypot(A, A))


# -- what is refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "two::many::colons", "::name", "ns::", "a b::c", "ns::na-me", "1ns::f"])
def test_a_name_that_is_none(name):
    said = refused((SchemaError, DefinitionError), name, double, mutates_args=())
    assert "cannot name" in said or "'namespace::name'" in said


def test_a_kernel_that_is_no_function():
    said = refused(DefinitionError, "registrationtests::no", 3, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert said == "registrationtests::no: a kernel is a function, and an int was given."


WRONG = [
    ("plain", double, {}),
    ("registrationtests::nothing", lambda x: x, {}),
    ("registrationtests::nothing", double, {"schema": "(Tensor y) -> Tensor"}),
    ("registrationtests::nothing", double, {"schema": "(Tensor x -> Tensor"}),
    ("registrationtests::nothing", double, {"schema": "(Tensor(a!) x) -> Tensor"}),
    ("registrationtests::nothing", double, {"tags": Tag.inplace}),
    ("registrationtests::nothing", double, {"device_types": "gpu"}),
    ("registrationtests::nothing", double, {"mutates_args": ("q",)}),
    ("registrationtests::nothing", 3, {"schema": "(Tensor x) -> Tensor"}),
]


@pytest.mark.parametrize(("name", "function", "options"), WRONG)
def test_a_definition_that_is_refused_leaves_nothing_behind(name, function, options):
    with pytest.raises((DefinitionError, SchemaError, HintError)):
        custom_op(name, function, **{"mutates_args": (), **options})
    with pytest.raises(OperatorNotFoundError):
        ops.registrationtests.nothing
