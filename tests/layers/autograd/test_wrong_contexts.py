"""A ctx says what it is where it is used as a dict, and in the backward as in setup_context."""

import numpy as np
import pytest

from dispatch import custom_op, grad
from dispatch.errors import GradientError
from dispatch.layers.autograd.wrong_contexts import DOES, OWN


def failing(backward, setup=None):
    """The message of a gradient whose rules are these."""

    def double(x: np.ndarray) -> np.ndarray:
        return x * 2.0

    op = custom_op("wrongcontexts::double", double, mutates_args=())
    op.register_autograd(backward, setup_context=setup)
    with pytest.raises(GradientError) as caught:
        grad(lambda x: op(x).sum())(np.ones(2))
    return str(caught.value)


@pytest.mark.parametrize("word", DOES)
def test_what_setup_context_calls_is_refused_in_a_backward(word):
    def backward(ctx, g):
        getattr(ctx, word)(g)
        return g

    assert failing(backward) == (
        f"wrongcontexts::double: its backward called ctx.{word}, which {DOES[word]}, and the backward is running. Call it in "
        "setup_context: register_autograd(backward, setup_context=...)."
    )


@pytest.mark.parametrize("name", OWN)
def test_what_the_tape_gives_is_not_set(name):
    said = failing(lambda ctx, g: g, lambda ctx, inputs, output: setattr(ctx, name, ()))
    assert said == f"wrongcontexts::double: ctx.{name} was set, which the tape gives: {OWN[name]}."


def test_a_context_is_no_dict():
    rest = (
        "setup_context(ctx, inputs, output) writes ctx.x = value, and ctx.save_for_backward(x) for arrays; backward(ctx, g) reads "
        "ctx.x and ctx.saved_tensors."
    )
    said = failing(lambda ctx, g: g * ctx["x"])
    assert said == f"wrongcontexts::double: ctx[...] was asked for, and ctx holds attributes. {rest}"
    said = failing(lambda ctx, g: g, lambda ctx, inputs, output: ctx.__setitem__("x", inputs[0]))
    assert said == f"wrongcontexts::double: ctx[...] was set, and ctx holds attributes. {rest}"


@pytest.mark.parametrize("returned", [lambda inputs: inputs[0], lambda inputs: (inputs[0], 1), lambda inputs: {"x": inputs[0]}])
def test_arrays_that_a_setup_context_returns_go_nowhere(returned):
    said = failing(lambda ctx, g: g, lambda ctx, inputs, output: returned(inputs))
    assert said.startswith("wrongcontexts::double: its setup_context returned a")
    assert said.endswith(
        ", and what it returns goes nowhere. Keep arrays by ctx.save_for_backward(x, y), and read them in the backward as "
        "ctx.saved_tensors."
    )


def test_what_else_a_setup_context_returns_is_nobodys_business():
    def double(x: np.ndarray) -> np.ndarray:
        return x * 2.0

    op = custom_op("wrongcontexts::double", double, mutates_args=())
    op.register_autograd(lambda ctx, g: g * ctx.factor, setup_context=lambda ctx, inputs, output: (setattr(ctx, "factor", 2.0), 1))
    np.testing.assert_array_equal(grad(lambda x: op(x).sum())(np.ones(2)), [2.0, 2.0])
