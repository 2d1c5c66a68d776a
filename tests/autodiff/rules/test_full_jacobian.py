"""Jacobians as arrays: their shapes, complex values, and what is missing."""

import making
import numpy as np
import pytest

from dispatch import grad
from dispatch.autodiff.rules.implicit import pushed_forward
from dispatch.errors import DefinitionError, GradientError, NoRuleError

said, define = making.said, making.define
A = np.array([0.5, 1.0, 2.0])
Z = A + 1j * A[::-1]


def test_complex_values_in_torchs_convention():
    op = define("(Tensor z) -> Tensor", lambda z: z**2)
    op.register_autograd(jacobian=lambda z: 2 * z * np.eye(3))
    assert np.allclose(grad(lambda z: np.sum(np.real(op(z) * Z)))(Z), np.conjugate(2 * Z * Z))
    assert np.allclose(pushed_forward(op, [Z], [Z]), 2 * Z * Z)


def test_none_in_a_dict_is_no_derivative():
    op = define("(Tensor x, Tensor n) -> Tensor", lambda x, n: x * np.floor(n))
    op.register_autograd(jacobian=lambda x, n: {"x": np.eye(3) * np.floor(n), "n": None})
    x, n = making.leaf(A), making.leaf(A)
    np.sum(op(x, n)).backward()
    assert np.array_equal(x.grad, np.floor(A))
    assert n.grad is None
    assert np.array_equal(pushed_forward(op, [A, A], [A, A]), np.floor(A) * A)


def test_integers_have_none_and_need_none():
    op = define("(Tensor x, Tensor n) -> Tensor", lambda x, n: x * n)
    op.register_autograd(jacobian=lambda x, n: {"x": np.eye(3) * n})
    assert np.array_equal(grad(lambda x: np.sum(op(x, np.arange(3))))(A), [0, 1, 2])


def test_an_argument_of_no_jacobian():
    op = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x * y)
    op.register_autograd(jacobian=lambda x, y: {"x": np.eye(3) * y})
    assert said(lambda: grad(lambda x: np.sum(op(x, A)))(A), NoRuleError) == (
        f"a derivative by argument 'y' was asked of {op.name}, and its jacobian= does not name it. Add it; or pass "
        "dispatch.detach(...) of the argument, where a constant is meant."
    )


def test_a_residual_stays_inside():
    op = define("(Tensor x) -> (Tensor, Residual)", lambda x: (x**2, "kept"))
    op.register_autograd(jacobian=lambda x: 2 * x * np.eye(3))
    assert np.array_equal(grad(lambda x: np.sum(op(x)))(A), 2 * A)
    assert np.array_equal(pushed_forward(op, [A], [A]), 2 * A * A)


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        (lambda x: x, "its Jacobian by 'x' has shape (3,), and the output has shape (2,) and the argument (3,). A Jacobian has the shape of the output and then of the argument, (2, 3)."),
        (lambda x: np.ones((3, 2)), "its Jacobian by 'x' has shape (3, 2), and the output has shape (2,) and the argument (3,). A Jacobian has the shape of the output and then of the argument, (2, 3)."),
        (lambda x: "text", "its Jacobian by 'x' is a str, and the output has shape (2,) and the argument (3,). A Jacobian has the shape of the output and then of the argument, (2, 3)."),
        (lambda x: {"y": x}, "what jacobian= returns names 'y', and the operator's arrays are x. Name those."),
        (lambda x: (x, x), "what jacobian= returns is one for each array, and 2 were given for 1 (x). Give a tuple of one for each, or a dict by name; None for an array without a derivative."),
    ],
)  # fmt: skip
def test_a_jacobian_that_does_not_fit(gives, message):
    op = define("(Tensor x) -> Tensor", lambda x: x[:2] * 2)
    op.register_autograd(jacobian=gives)
    for ask in (lambda: grad(lambda x: np.sum(op(x)))(A), lambda: pushed_forward(op, [A], [A])):
        assert said(ask, GradientError) == f"{op.name}: {message}"


def test_it_is_a_function_of_the_arguments():
    op = define("(Tensor x) -> Tensor", lambda x: x * 2)
    assert said(lambda: op.register_autograd(jacobian=np.eye(3)), DefinitionError) == (
        f"{op.name}: jacobian= is a function, and an ndarray was given."
    )
    assert said(lambda: op.register_autograd(jacobian=lambda y, z: y), DefinitionError) == (
        f"{op.name}: the jacobian takes (y, z), and the operator (x). Rules bind by parameter name: give the rule the operator's own "
        "names, in its order."
    )
