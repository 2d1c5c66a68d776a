"""Registering: every verb takes an operator or its name, and is a decorator too."""

import numpy as np
import pytest

from dispatch import custom_op, library, ops
from dispatch.dispatcher.operator_hooks import documented
from dispatch.errors import ArgumentError, OperatorNotFoundError
from dispatch.operators.register import register_fake, register_vmap, resolve

A = np.arange(3.0)


def double(x: np.ndarray) -> np.ndarray:
    """Twice an array."""
    return x * 2


@pytest.fixture
def plus():
    return custom_op("registrationtests::plus", lambda x, n=1.0: x + n, mutates_args=(), schema="(Tensor x, float n=1.0) -> Tensor")


def fake(x, n):
    return np.empty_like(x)


def batched(info, in_dims, x, n):
    return x + n, in_dims[0]


def backward(ctx, g):
    return g, None


def test_a_kernel_for_any_device_stands_behind_those_for_one(plus):
    plus.register_kernel("cpu", lambda x, n: x * 10)
    plus.register_kernel(None, lambda x, n: x * 20)
    assert np.array_equal(plus(A), A * 10)


def test_what_an_operator_is():
    assert resolve(ops.np.sin) is ops.np.sin
    assert resolve("np::sin") is ops.np.sin
    with pytest.raises(ArgumentError) as caught:
        register_fake(double, fake)
    assert str(caught.value) == "an operator or its name, 'ns::name', is asked for, and a function was given. Make one of it: custom_op(\"mylib::double\", f, mutates_args=())."
    with pytest.raises(OperatorNotFoundError, match=r"there is no operator np::sine. Did you mean 'sin"):
        register_vmap("np::sine", fake)


def test_a_kernel_that_registers_another_for_its_own_operator_runs_to_its_end():
    @custom_op("registrationtests::selfish", mutates_args=(), device_types="cpu")
    def selfish(x: np.ndarray) -> np.ndarray:
        selfish.register_kernel("cpu", lambda x: x + 2)
        return x + 1

    assert np.array_equal(selfish(A), A + 1)
    assert np.array_equal(selfish(A), A + 2)


@pytest.mark.parametrize("layer", sorted(documented.keys() - {"kernel", "dispatch", "samples"}))  # which take more, or no rule
def test_a_verb_above_a_rule_without_its_operator_names_itself(layer):
    verb = getattr(library, f"register_{layer}")
    with pytest.raises(ArgumentError) as caught:
        verb(lambda x: x)
    assert str(caught.value) == (
        "an operator or its name, 'ns::name', is asked for, and a function was given. Above a rule write "
        f'@dispatch.register_{layer}("mylib::f"), with the name of its operator, or @f.register_{layer}.'
    )
