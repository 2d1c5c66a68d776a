"""What a user's rule takes off the tape has no second derivative: it raises, and is never a wrong number."""

import numpy as np
import pytest
from making import leaf, recorded, said

import dispatch
from dispatch import Residual, autograd, custom_op, grad, hessian, jvp, vmap
from dispatch.errors import GradientError, NoRuleError

A = np.array([0.5, 1.0, 2.0])


def twice(op):
    return grad(lambda x: np.sum(grad(lambda x: np.sum(op(x)))(x)))(A)


def by_create_graph(op):
    x = leaf(A)
    (first,) = autograd.grad(np.sum(op(x)), x, create_graph=True)
    return autograd.grad(np.sum(first), x)[0]


def pushed(op):
    return jvp(grad(lambda x: np.sum(op(x))), (A,), (np.ones_like(A),))[1]


def summed_hessian(op):
    return hessian(lambda x: np.sum(op(x)))(A).sum(0)


SECOND = {"grad of grad": twice, "create_graph": by_create_graph, "jvp of grad": pushed, "hessian": summed_hessian}
second = pytest.mark.parametrize("second", SECOND.values(), ids=SECOND)


# pytorch#58509: sinh that keeps exp(x) and exp(-x) for its backward. There the second derivative is a wrong number.


@custom_op("twicetests::sinh", mutates_args=())
def sinh(x: np.ndarray) -> tuple[np.ndarray, Residual]:
    up, down = np.exp(x), np.exp(-x)
    return (up - down) / 2, (up, down)


@sinh.register_autograd
def sinh_backward(ctx, g):
    up, down = ctx.residual
    return g * (up + down) / 2


@second
def test_numbers_of_a_residual(second):
    assert np.allclose(grad(lambda x: np.sum(sinh(x)))(A), np.cosh(A))
    assert said(lambda: second(sinh), GradientError) == (
        "a second derivative was asked of twicetests::sinh, whose backward computes with numbers of its residual: how those depend "
        "on the arguments was not recorded, and would be lost in silence. Return them as outputs, or give them to an operator that "
        "takes the residual and the arguments and has a derivative of its own."
    )


def test_numbers_of_a_residual_between_batches():
    op = recorded(
        "(Tensor x) -> (Tensor, Residual)",
        lambda x: (np.sinh(x), np.exp(x)),
        lambda ctx, g: g * (ctx.residual + 1 / ctx.residual) / 2,
    )

    def f(x):
        return np.sum(grad(lambda x: np.sum(vmap(op)(x)))(x))

    assert np.allclose(grad(lambda x: np.sum(vmap(op)(x)))(A), np.cosh(A))
    assert said(lambda: grad(f)(A), GradientError).startswith(f"a second derivative was asked of {op.name}")


@second
def test_as_outputs_they_are_differentiated(second):
    op = recorded(
        "(Tensor x) -> (Tensor, Tensor, Tensor)",
        lambda x: ((np.exp(x) - np.exp(-x)) / 2, np.exp(x), np.exp(-x)),
        lambda ctx, g, gu, gd: g * (ctx.saved_tensors[0] + ctx.saved_tensors[1]) / 2 + gu * ctx.saved_tensors[0] - gd * ctx.saved_tensors[1],
        lambda ctx, inputs, output: ctx.save_for_backward(*output[1:]),
    )
    assert np.allclose(second(lambda x: op(x)[0]), np.sinh(A))


@second
def test_an_operator_may_take_the_numbers_of_a_residual(second):
    kept = []
    cosh = recorded(
        "(Residual found, Tensor x, Tensor g) -> Tensor",
        lambda found, x, g: kept.append([type(item) for item in found]) or g * (found[0] + found[1]) / 2,
        lambda ctx, g: (None, g * ctx.g * sinh(ctx.x), cosh(ctx.found, ctx.x, g)),
        lambda ctx, inputs, output: ctx.__dict__.update(found=inputs[0], x=inputs[1], g=inputs[2]),
    )
    op = recorded(
        "(Tensor x) -> (Tensor, Residual)",
        lambda x: (np.sinh(x), (np.exp(x), np.exp(-x))),
        lambda ctx, g: cosh(ctx.residual, ctx.saved_tensors[0], g),
        lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    assert np.allclose(second(op), np.sinh(A))
    assert all(kinds == [np.ndarray, np.ndarray] for kinds in kept)


class Handle:
    """A residual that computes by itself, outside the operators."""

    def __init__(self, x):
        self.x = x

    def pull(self, g):
        return np.asarray(g) * np.cosh(self.x)


@second
def test_a_residual_that_computes_outside_the_operators(second):
    op = recorded("(Tensor x) -> (Tensor, Residual)", lambda x: (np.sinh(x), Handle(x)), lambda ctx, g: ctx.residual.pull(g))
    assert np.allclose(grad(lambda x: np.sum(op(x)))(A), np.cosh(A))
    assert f"{op.schema.name}.backward_rule.register_autograd(backward, setup_context=...)" in said(lambda: second(op), NoRuleError)


# What setup_context takes off the tape.


def squared(keep):
    def setup(ctx, inputs, output):
        ctx.x = keep(*inputs)

    return recorded("(Tensor x) -> Tensor", lambda x: x * x, lambda ctx, g: g * ctx.x * 2, setup)


TAKEN = {
    "detach": dispatch.detach,
    "method": lambda x: x.detach(),
    "a kernel on it": lambda x: np.sqrt(np.asarray(dispatch.detach(x)) ** 2),
    "value": lambda x: x.value,
    "in a list": lambda x: [x.value][0],
}


@second
@pytest.mark.parametrize("keep", TAKEN.values(), ids=TAKEN)
def test_arrays_that_setup_context_takes_off_the_tape(keep, second):
    op = squared(keep)
    assert np.array_equal(grad(lambda x: np.sum(op(x)))(A), 2 * A)
    assert said(lambda: second(op), GradientError) == (
        f"a second derivative was asked of {op.name}, whose setup_context took a tracked value off the tape, by x.item(), x.value "
        "or dispatch.detach(x): the derivative of that would be lost in silence. Keep the value itself: ctx.save_for_backward(x)."
    )


@second
def test_what_stays_on_the_tape_is_differentiated(second):
    constant = np.array([1.0, 2.0, 3.0])
    for keep in (lambda x: x, lambda x: np.sqrt(x * x), lambda x: x * (constant / constant)):
        assert np.allclose(second(squared(keep)), 2)
    weighted = recorded(
        "(Tensor x) -> Tensor",
        lambda x: x * x * constant,
        lambda ctx, g: 2 * g * ctx.saved_tensors[0] * ctx.weights,
        lambda ctx, inputs, output: (ctx.save_for_backward(*inputs), setattr(ctx, "weights", constant)),
    )
    assert np.allclose(second(weighted), 2 * constant)


# Numbers that a backward takes.


def test_a_number_that_a_recorded_backward_takes():
    op = recorded(
        "(Tensor x) -> Tensor",
        lambda x: x * x,
        lambda ctx, g: 2 * g * ctx.saved_tensors[0].item(),
        lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    assert grad(op)(3.0) == 6.0
    message = (
        "x.item() was asked of a tracked value in a backward that is differentiated again: the derivative of that number would be "
        "lost in silence. Compute with the array; where a constant is meant, write dispatch.detach(x)."
    )
    x = leaf(3.0)
    for second in (lambda: grad(grad(op))(3.0), lambda: autograd.grad(op(x), x, create_graph=True)):
        with pytest.raises(GradientError) as caught:
            second()
        assert str(caught.value) == message
        assert caught.value.__notes__ == [f"in the backward of {op.name}"]


def test_a_rule_called_in_a_backward_may_take_numbers_for_its_own():
    inner = recorded(
        "(Tensor x) -> Tensor",
        lambda x: x * x,
        lambda ctx, g: g * (2 * ctx.x),
        lambda ctx, inputs, output: setattr(ctx, "x", inputs[0].item()),
    )
    cubed = recorded(
        "(Tensor x) -> Tensor",
        lambda x: x**3,
        lambda ctx, g: 3 * g * inner(ctx.saved_tensors[0]),
        lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    assert grad(grad(cubed))(2.0) == 12.0
    assert said(lambda: grad(grad(grad(cubed)))(2.0), GradientError).startswith(f"a second derivative was asked of {inner.name}")


def test_an_exception_in_setup_context_names_the_operator():
    op = recorded("(Tensor x) -> Tensor", lambda x: x * 1, lambda ctx, g: g, lambda ctx, inputs, output: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        op(leaf(A))
    assert caught.value.__notes__ == [f"in the setup_context of {op.name}"]
