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


def of_two(backward, setup=None):
    """The message of a gradient of an operator of two arguments whose rules are these."""

    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x * y

    op = custom_op("wrongcontexts::product", product, mutates_args=())
    op.register_autograd(backward, setup_context=setup)
    with pytest.raises(GradientError) as caught:
        grad(lambda x: op(x, x).sum())(np.ones(2))
    return str(caught.value)


def too_few(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def too_many(ctx, inputs, output):
    _x, _y, _z = inputs


def one_output(ctx, inputs, output):
    _a, _b, _c = output


def by_name(ctx, inputs, output):
    ctx.x = inputs.x


def called(ctx, inputs, output):
    ctx.x = inputs()


@pytest.mark.parametrize(
    ("setup", "python"),
    [
        (too_few, "too many values to unpack (expected 1"),
        (too_many, "not enough values to unpack (expected 3, got 2)"),
        (one_output, "unpack (expected 3"),
        (by_name, "'tuple' object has no attribute 'x'"),
        (called, "'tuple' object is not callable"),
    ],
)
def test_a_setup_context_that_takes_its_tuples_apart_wrongly_is_told_what_they_hold(setup, python):
    said = of_two(lambda ctx, g: (g, g), setup)
    assert said.startswith("wrongcontexts::product: its setup_context failed in test_wrong_contexts.py:")
    assert python in said
    assert said.endswith("; inputs is a tuple of 2 arguments, (x, y), output the one output itself. Write x, y = inputs.")


def keeps_both(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def three_of_two(ctx, g):
    x, y, _z = ctx.saved_tensors
    return g * y, g * x


def a_call(ctx, g):
    x, y = ctx.saved_tensors()
    return g * y, g * x


@pytest.mark.parametrize(
    ("backward", "setup", "advice"),
    [
        (three_of_two, keeps_both, "2 arrays. Write x, y = ctx.saved_tensors."),
        (a_call, keeps_both, "2 arrays. Write x, y = ctx.saved_tensors, without a call."),
    ],
)  # fmt: skip
def test_a_backward_is_told_how_many_arrays_were_saved(backward, setup, advice):
    said = of_two(backward, setup)
    assert said.startswith("wrongcontexts::product: its backward failed in test_wrong_contexts.py:")
    assert said.endswith(f"; ctx.saved_tensors is a tuple of what setup_context saved, {advice}")


def test_needs_input_grad_is_no_method():
    said = of_two(lambda ctx, g: (g, g) if ctx.needs_input_grad() else None, keeps_both)
    assert said.endswith("ctx.needs_input_grad is a tuple of 2, one for each argument (x, y). Write ctx.needs_input_grad[0], without a call.")


def test_a_place_that_is_not_there_is_told():
    said = of_two(lambda ctx, g: (g * ctx.saved_tensors[2], g), keeps_both)
    assert said.endswith("ctx.saved_tensors is a tuple of what setup_context saved, 2 arrays. Write x, y = ctx.saved_tensors.")
    said = of_two(lambda ctx, g: (g if ctx.needs_input_grad[2] else None, g), keeps_both)
    assert said.endswith("ctx.needs_input_grad is a tuple of 2, one for each argument (x, y). Write ctx.needs_input_grad[0], by its place.")
    said = of_two(lambda ctx, g: (g, g), lambda ctx, inputs, output: setattr(ctx, "k", inputs[2]))
    assert said.endswith("inputs is a tuple of 2 arguments, (x, y), output the one output itself. Write x, y = inputs.")


def test_another_error_of_a_rule_is_left_as_it_is():
    def backward(ctx, g):
        a, b, c = (1, 2)  # noqa: F841  an error of its own
        return g

    def double(x: np.ndarray) -> np.ndarray:
        return x * 2.0

    op = custom_op("wrongcontexts::own", double, mutates_args=())
    op.register_autograd(backward)
    with pytest.raises(ValueError, match="not enough values to unpack") as caught:
        grad(lambda x: op(x).sum())(np.ones(2))
    assert not isinstance(caught.value, GradientError)


def test_a_residual_that_the_schema_does_not_have_is_named():
    def backward(ctx, g):
        return g * ctx.residual

    assert failing(backward) == (
        f"wrongcontexts::double: its backward reads ctx.residual in test_wrong_contexts.py:{backward.__code__.co_firstlineno + 1}, "
        "and its schema has no Residual. Hint one as the last result, -> tuple[np.ndarray, Residual], and return it from the "
        "kernel; or save it, setup_context=...."
    )


@pytest.mark.parametrize("of", [list, tuple])
def test_a_list_is_saved_only_where_the_operator_has_one(of):
    said = of_two(lambda ctx, g: (g, g), lambda ctx, inputs, output: ctx.save_for_backward(of(inputs)))
    assert said == (
        f"wrongcontexts::product: ctx.save_for_backward takes the arrays one by one, and was given a {of.__name__} of 2. Write "
        "ctx.save_for_backward(x, y), or save_for_backward(*arrays) of a list."
    )

    def total(xs: list[np.ndarray]) -> np.ndarray:
        return xs[0] * xs[1]

    op = custom_op("wrongcontexts::total", total, mutates_args=())
    op.register_autograd(
        lambda ctx, g: [g * x for x in reversed(ctx.saved_tensors[0])],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(of(inputs[0])),
    )
    np.testing.assert_array_equal(grad(lambda x: op([x, x * x]).sum())(np.array([1.0, 2.0])), [3.0, 12.0])

    def unpacks(ctx, g):
        x, y = ctx.saved_tensors
        return [g * y, g * x]

    op.register_autograd(unpacks, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(of(inputs[0])))
    with pytest.raises(GradientError) as caught:
        grad(lambda x: op([x, x]).sum())(np.ones(2))
    assert str(caught.value).endswith(
        "1 array. Write x, = ctx.saved_tensors; or save them one by one, ctx.save_for_backward(a, b), where that was one list."
    )
