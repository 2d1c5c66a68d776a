"""Partial derivatives: what they may be, complex values, and what they say nothing of."""

import making
import numpy as np
import pytest

import dispatch
from dispatch import DispatchKey, Tag, grad
from dispatch.autodiff.rules.implicit import pushed_forward
from dispatch.errors import DefinitionError, GradientError, NoRuleError
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

said, define = making.said, making.define
A = np.array([0.5, 1.0, 2.0])
Z = A + 1j * A[::-1]


def test_complex_values_in_torchs_convention():
    op = define("(Tensor z) -> Tensor", lambda z: z**3)
    op.register_autograd(elementwise=lambda z: 3 * z**2)
    w = np.array([1 + 2j, -1j, 0.5])
    assert np.allclose(grad(lambda z: np.sum(np.real(op(z) * w)))(Z), np.conjugate(w * 3 * Z**2))
    assert np.allclose(pushed_forward(op, [Z], [w]), 3 * Z**2 * w)


@pytest.mark.torch
def test_complex_values_are_torchs():
    import torch

    op = define("(Tensor x, Tensor z) -> Tensor", lambda x, z: x * np.exp(z))
    op.register_autograd(elementwise=(lambda z: np.exp(z), lambda out: out))
    x, z = torch.tensor(A, requires_grad=True), torch.tensor(Z, requires_grad=True)
    (x * torch.exp(z)).imag.sum().backward()
    ours = grad(lambda x, z: np.sum(np.imag(op(x, z))), (0, 1))(A, Z)
    assert np.allclose(ours[0], x.grad.numpy())
    assert ours[0].dtype == np.float64
    assert np.allclose(ours[1], z.grad.numpy())


def test_a_complex_number():
    op = define("(Tensor z) -> Tensor", lambda z: 2j * z)
    op.register_autograd(elementwise=2j)
    assert np.allclose(grad(lambda z: np.sum(np.real(op(z))))(Z), np.full(3, -2j))


def test_none_is_no_derivative_and_a_missing_name_raises():
    op = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x * np.floor(y))
    op.register_autograd(elementwise={"x": lambda y: np.floor(y), "y": None})
    x, y = making.leaf(A), making.leaf(A + 0.5)
    np.sum(op(x, y)).backward()
    assert np.array_equal(x.grad, np.floor(A + 0.5))
    assert y.grad is None
    op.register_autograd(elementwise={"x": lambda y: np.floor(y)})
    message = (
        f"a derivative by argument 'y' was asked of {op.name}, and its elementwise= does not name it. Add it; or pass "
        "dispatch.detach(...) of the argument, where a constant is meant."
    )
    assert said(lambda: grad(lambda y: np.sum(op(A, y)))(A), NoRuleError) == message
    assert said(lambda: pushed_forward(lambda y: op(A, y), [A], [A]), NoRuleError) == message
    assert np.array_equal(grad(lambda x: np.sum(op(x, A)))(A), np.floor(A))


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("(Tensor x, Tensor y) -> Tensor", 1.0, "elementwise= is one for each array, and one was given for 2 (x, y). Give a tuple of one for each, or a dict by name; None for an array without a derivative."),
        ("(Tensor x) -> Tensor", (1.0, 2.0), "elementwise= is one for each array, and 2 were given for 1 (x). Give a tuple of one for each, or a dict by name; None for an array without a derivative."),
        ("(Tensor x, float c) -> Tensor", {"c": 1.0}, "elementwise= names 'c', and the operator's arrays are x. Name those."),
        ("(Tensor x) -> Tensor", "x", "the partial derivative by 'x' is a function or a number, and a str was given."),
        ("(Tensor x) -> Tensor", lambda y: y, "the partial derivative by 'x' reads 'y'. It names what it reads: x, out."),
        ("(Tensor x) -> Tensor", lambda *args: 1, "the partial derivative by 'x' reads '*args'. It names what it reads: x, out."),
        ("(Tensor x) -> (Tensor, Tensor)", 1.0, "elementwise= is for operators that return one array. Give a backward."),
        ("(Tensor[] xs) -> Tensor", 1.0, "argument 'xs' is Tensor[], and elementwise= is for arguments that are arrays. Give a backward."),
    ],
)  # fmt: skip
def test_what_does_not_fit(text, given, message):
    op = define(text, lambda *args: None)
    start = f"{op.name} returns (Tensor, Tensor), and " if "(Tensor, Tensor)" in text else f"{op.name}: "
    assert said(lambda: op.register_autograd(elementwise=given), DefinitionError) == start + message


def test_nothing_is_kept_that_no_partial_reads():
    op = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: 2 * x + y)
    op.register_autograd(elementwise=(2.0, 1.0))
    assert dispatch.autograd.nbytes(op(making.leaf(A), making.leaf(A))) == 0


# -- that the operator works element by element --------------------------------------------------------------------------------

MIXES = {
    "a running sum": np.cumsum,
    "a running sum from the end": lambda x: np.cumsum(x[::-1])[::-1],
    "shares of the sum": lambda x: x / np.sum(x),
    "a sort": np.sort,
    "the other order": lambda x: x[::-1],
    "a shift": lambda x: np.roll(x, 1),
    "differences": lambda x: np.diff(x, prepend=0.0),
    "shares of the largest": lambda x: x / np.max(x),
    "a mean beside it": lambda x: x - np.mean(x),
}
SOUND = {
    "a power": lambda x: x**2,
    "a share of how many there are": lambda x: x / x.size,
    "nan outside of its domain": np.arcsin,
    "nan everywhere": lambda x: x * np.nan,
    "zero": np.zeros_like,
}
DERIVATIVES = [lambda op: grad(lambda x: np.sum(op(x)))(A), lambda op: dispatch.jvp(op, (A,), (np.ones_like(A),))]


@pytest.mark.parametrize("partial", [1.0, lambda x: np.ones_like(x), lambda out: out * 0 + 1])
@pytest.mark.parametrize("name", MIXES)
def test_a_kernel_that_mixes_elements_is_refused_at_each_derivative(name, partial):
    op = define("(Tensor x) -> Tensor", lambda x: np.ascontiguousarray(MIXES[name](x)) + 0.0)
    op.register_autograd(elementwise=partial)
    for derivative in DERIVATIVES * 2:
        assert said(lambda run=derivative: run(op), GradientError) == (
            f"{op.name}: elementwise= says that an element of the result depends on the elements at its place alone, and its kernel "
            "gives another one where those beside it change. Register its backward: register_autograd(backward)."
        )


@pytest.mark.parametrize("name", SOUND)
def test_one_that_does_not_is_differentiated(name):
    op = define("(Tensor x) -> Tensor", lambda x: np.array(SOUND[name](x)))
    op.register_autograd(elementwise=lambda x: 2 * x)
    with np.errstate(invalid="ignore"):
        for derivative in DERIVATIVES:
            derivative(op)


def test_it_is_asked_once_and_with_what_the_schema_says():
    seen = []

    def kernel(x, n, *, w=None, k=2.0):
        seen.append((x.dtype, n, None if w is None else w.shape, k))
        return x * k

    op = define("(Tensor x, int n=3, *, Tensor? w=None, float k=2.0) -> Tensor", kernel)
    op.register_autograd(elementwise={"x": lambda k: k, "w": None})
    for _ in range(2):
        assert np.array_equal(grad(lambda x: np.sum(op(x)))(A), np.full(3, 2.0))
    assert seen == [(A.dtype, 3, None, 2.0), *[(A.dtype, 3, (4,), 2.0)] * 2, (A.dtype, 3, None, 2.0)]


@pytest.mark.parametrize("why", ["it draws", "it takes matrices alone", "a number that nobody knows"])
def test_of_what_cannot_be_asked_nothing_is_said(why):
    def kernel(x, n=None):
        if why == "it takes matrices alone" and x.ndim != 2:
            raise ValueError("a matrix")
        return x * 2.0

    text = "(Tensor x, int n) -> Tensor" if why == "a number that nobody knows" else "(Tensor x) -> Tensor"
    op = build(Schema.parse(text, name="elementwisetests::asked"), (Tag.random,) if why == "it draws" else ())
    op.register_at(DispatchKey.CPU, kernel)
    op.register_autograd(elementwise={"x": 2.0})
    x = A.reshape(1, 3)
    assert np.array_equal(grad(lambda x: np.sum(op(x, 4) if "int" in text else op(x)))(x), np.full((1, 3), 2.0))


def test_no_kernel_runs_for_it_while_a_mode_is_on():
    runs = []
    op = define("(Tensor x) -> Tensor", lambda x: runs.append(x) or np.cumsum(x), fake=np.empty_like)
    op.register_autograd(elementwise=1.0)
    with dispatch.FakeTensorMode() as mode:
        assert grad(lambda x: np.sum(op(x)))(mode.from_array(A)).shape == A.shape
    dispatch.make_fx(grad(lambda x: np.sum(op(x))), "fake")(A)
    assert runs == []
    for derivative in DERIVATIVES:
        with pytest.raises(GradientError, match="elementwise= says"):
            derivative(op)
