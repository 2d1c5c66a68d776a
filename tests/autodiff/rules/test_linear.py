"""Operators that are linear: by themselves on tangents, transposed on gradients."""

import making
import numpy as np
import pytest

from dispatch import custom_op, grad, vmap
from dispatch.autodiff.rules.implicit import pulled_back, pushed_forward
from dispatch.errors import DefinitionError, GradientError, NoRuleError
from dispatch.library import Tag

said, define = making.said, making.define
A = np.array([0.5, 1.0, 2.0])
MATRIX = np.array([[3.0, 0.5, -0.2], [0.1, 2.0, 0.7], [0.3, -0.4, 4.0]])
Z = A + 1j * A[::-1]


@pytest.mark.parametrize(
    "f", [np.real, np.imag, np.conjugate, lambda z: (2 - 1j) * z[::-1]], ids=["real", "imag", "conj", "complex"]
)
def test_linear_in_the_real_sense_is_enough(f):
    op = define("(Tensor z) -> Tensor", lambda z: f(z).copy())
    op.register_autograd(linear=True)
    w = f(Z) * (3 + 1j)
    g = pulled_back(op, [Z], w)[0]
    for t in (Z, 1j * Z, np.ones(3) + 0j):
        pushed = pushed_forward(op, [Z], [t])
        assert np.allclose(pushed, f(t))
        assert np.isclose(np.sum(np.real(np.conjugate(w) * pushed)), np.sum(np.real(np.conjugate(g) * t)))


@pytest.mark.torch
@pytest.mark.parametrize("name", ["real", "imag", "conj"])
def test_gradients_of_complex_values_are_torchs(name):
    import torch

    op = define("(Tensor z) -> Tensor", lambda z: getattr(np, name)(z).copy())
    op.register_autograd(linear=True)
    z = torch.tensor(Z, requires_grad=True)
    y = getattr(torch, name)(z)
    y = torch.view_as_real(y.resolve_conj())[..., 1] if y.is_complex() else y
    (y * torch.tensor(A)).sum().backward()
    ours = grad(lambda z: np.sum((lambda y: np.imag(y) if y.dtype.kind == "c" else y)(op(z)) * A))(Z)
    assert np.allclose(ours, z.grad.resolve_conj().numpy())


def test_lists_optional_arrays_and_integers():
    op = define(
        "(Tensor[] xs, Tensor? y, Tensor n) -> Tensor", lambda xs, y, n: xs[0] * 2 + xs[1] + (0 if y is None else y) + 0 * n
    )
    op.register_autograd(linear=["xs", "y"])
    n = np.array([1, 2, 3])
    f = lambda x: np.sum(op([x, A * x], None, n) * A)
    assert np.allclose(grad(f)(A), (2 + A) * A)
    assert np.allclose(pushed_forward(f, [A], [A]), np.sum((2 + A) * A * A))
    h = lambda y: op([A, A], y, n)
    assert np.allclose(pushed_forward(h, [A], [A]), A)
    assert np.allclose(pulled_back(h, [A], A)[0], A)


def test_a_constant_argument_moves_by_zero():
    op = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x + 3 * y)
    op.register_autograd(linear=True)
    assert np.allclose(pushed_forward(lambda y: op(A, y), [A], [A]), 3 * A)


def test_an_argument_that_is_held_has_no_derivative():
    op = define("(Tensor A, Tensor x) -> Tensor", lambda A, x: A @ x)
    op.register_autograd(linear="x")
    assert np.allclose(grad(lambda x: np.sum(op(MATRIX, x)))(A), MATRIX.sum(0))
    message = (
        f"a derivative by argument 'A' was asked of {op.name}, and its linear= does not name it. Add it; or pass "
        "dispatch.detach(...) of the argument, where a constant is meant."
    )
    assert said(lambda: grad(lambda m: np.sum(op(m, A)))(MATRIX), NoRuleError) == message
    assert said(lambda: pushed_forward(lambda m: op(m, A), [MATRIX], [MATRIX]), NoRuleError) == message


def test_tangents_of_linear_arguments_are_one_call_and_held_ones_go_by_the_backward():
    calls = []

    def kernel(A, x):
        calls.append(1)
        return A @ x

    op = define("(Tensor A, Tensor x) -> Tensor", kernel)
    op.register_autograd(
        lambda ctx, g: (np.reshape(g, (-1, 1)) * ctx.saved_tensors[1], ctx.saved_tensors[0].T @ g),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        linear="x",
    )
    for more in (2 + 2, 2):  # before the first derivative it is held to being linear
        calls.clear()
        assert np.allclose(pushed_forward(lambda x: op(MATRIX, x), [A], [A]), MATRIX @ A)
        assert len(calls) == more
    assert np.allclose(pushed_forward(op, [MATRIX, A], [MATRIX, A]), 2 * MATRIX @ A)


def test_the_transpose_takes_one_call_an_element_whatever_the_cotangents():
    calls = []
    op = define("(Tensor x) -> Tensor", lambda x: calls.append(1) or MATRIX @ x)
    op.register_autograd(linear=True)
    for more in (1 + 2 + 3, 1 + 3):  # before the first derivative it is held to being linear
        calls.clear()
        assert np.allclose(vmap(lambda g: pulled_back(op, [A], g)[0])(np.eye(3)), MATRIX)
        assert len(calls) == more


NOT_LINEAR = {
    "square": lambda x: x * x, "affine": lambda x: x + 1, "rectified": lambda x: np.maximum(x, 0), "product": lambda x: x[0] * x[1:],
    "size": np.abs, "sorted": lambda x: np.sort(x), "norm": lambda x: np.linalg.norm(x, keepdims=True),
}  # fmt: skip


@pytest.mark.parametrize("kernel", NOT_LINEAR.values(), ids=NOT_LINEAR)
@pytest.mark.parametrize("derivative", [lambda op: grad(lambda x: np.sum(op(x)))(A), lambda op: pushed_forward(op, [A], [A])])
def test_what_is_not_linear_is_refused_at_every_derivative(kernel, derivative):
    op = define("(Tensor x) -> Tensor", lambda x: kernel(x))
    op.register_autograd(linear=True)
    for _ in range(2):  # at each derivative, and not at the first alone
        with pytest.raises(GradientError) as caught:
            derivative(op)
    assert str(caught.value) == (
        f"{op.name}: linear= says that it is linear in x, and for -2 times the same values its kernel gives something else than -2 "
        "times the result. Register its backward, elementwise= or a jvp rule in its place."
    )
    assert not hasattr(caught.value, "__notes__")


def test_what_draws_is_not_held_to_being_linear():
    rng = np.random.default_rng(0)
    op = custom_op(
        "linear::drawn", lambda x: x * rng.uniform(size=x.shape), mutates_args=(), schema="(Tensor x) -> Tensor", tags=Tag.random
    )
    op.register_autograd(linear=True)
    assert (grad(lambda x: np.sum(op(x)))(A) > 0).all()


def test_nothing_to_transpose():
    op = define("(Tensor x) -> Tensor", lambda x: x * 2)
    op.register_autograd(linear=True)
    assert grad(lambda x: np.sum(op(x)))(np.zeros((0, 2))).shape == (0, 2)


def test_a_name_that_is_none():
    op = define("(Tensor matrix, Tensor x, float c) -> Tensor", lambda matrix, x, c: x)
    assert said(lambda: op.register_autograd(linear="matrx"), DefinitionError) == (
        f"{op.name}: linear= names 'matrx', and the operator's arrays are matrix, x. Did you mean 'matrix'? Name those in which "
        "it is linear, or True for all."
    )
    assert said(lambda: op.register_autograd(linear=["c"]), DefinitionError).startswith(f"{op.name}: linear= names 'c', and")
