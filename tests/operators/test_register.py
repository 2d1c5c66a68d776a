"""Registering: every verb takes an operator or its name, and is a decorator too."""

import numpy as np
import pytest

import dispatch
from dispatch import custom_op, ops
from dispatch.errors import ArgumentError, OperatorNotFoundError
from dispatch.operators.register import register_autograd, register_fake, register_kernel, register_vmap, resolve

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


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("decorating", [False, True])
def test_every_verb_takes_the_operator_or_its_name_and_is_a_decorator_too(plus, by_name, decorating):
    op = plus.name if by_name else plus
    verbs = [
        (register_kernel, (op, "cpu"), lambda x, n: x + n + 100),
        (register_fake, (op,), fake),
        (register_vmap, (op,), batched),
    ]
    for verb, first, rule in verbs:
        assert (verb(*first)(rule) if decorating else verb(*first, rule)) is rule
    assert register_autograd(op, backward) is backward
    assert plus(A)[0] == 101.0
    assert {r.key.name for r in plus.table.all()} == {"CompositeExplicit", "CPU", "FAKE", "AUTOGRAD", "VMAP"}
    assert dispatch.vmap(plus)(A)[0] == 1.0
    with dispatch.FakeTensorMode() as mode:
        assert plus(mode.from_array(A)).shape == (3,)
    assert np.array_equal(dispatch.grad(lambda x: plus(x).sum())(A), np.ones(3))


def test_the_verbs_on_the_operator_are_the_same(plus):
    assert plus.register_kernel("cpu")(double) is double
    assert plus.register_kernel(["cpu", "cuda"], double) is double
    assert plus.register_fake(fake) is fake
    assert plus.register_vmap(batched) is batched
    assert plus.register_autograd(backward, setup_context=lambda ctx, inputs, output: None) is backward


def test_a_kernel_for_any_device_stands_behind_those_for_one(plus):
    plus.register_kernel("cpu", lambda x, n: x * 10)
    plus.register_kernel(None, lambda x, n: x * 20)
    assert np.array_equal(plus(A), A * 10)


def test_what_an_operator_is():
    assert resolve(ops.np.sin) is ops.np.sin
    assert resolve("np::sin") is ops.np.sin
    with pytest.raises(ArgumentError) as caught:
        register_fake(double, fake)
    assert str(caught.value) == "an operator or its name, 'ns::name', is asked for, and a function was given."
    with pytest.raises(OperatorNotFoundError, match=r"there is no operator np::sine. Did you mean 'sin"):
        register_vmap("np::sine", fake)


def test_a_kernel_that_registers_another_for_its_own_operator_runs_to_its_end():
    @custom_op("registrationtests::selfish", mutates_args=(), device_types="cpu")
    def selfish(x: np.ndarray) -> np.ndarray:
        selfish.register_kernel("cpu", lambda x: x + 2)
        return x + 1

    assert np.array_equal(selfish(A), A + 1)
    assert np.array_equal(selfish(A), A + 2)
