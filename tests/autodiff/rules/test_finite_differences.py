"""Central differences: steps, dtypes, several outputs, and what cannot be asked of them."""

import making
import numpy as np
import pytest

from dispatch import grad
from dispatch.autodiff.rules.implicit import pulled_back, pushed_forward
from dispatch.errors import DefinitionError, GradientError

said, define = making.said, making.define
A = np.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-8), (np.float32, 1e-3), (np.float16, 0.1)])
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_the_step_fits_the_dtype_and_the_size_of_the_argument(dtype, tolerance, size):
    op = define("(Tensor x) -> Tensor", lambda x: (x / x.dtype.type(size)) ** 2)
    op.register_autograd(finite_difference=True)
    x = (A * size).astype(dtype)
    found = grad(lambda x: np.sum(op(x)))(x)
    assert found.dtype == dtype
    assert np.allclose(found * size, 2 * A, rtol=tolerance)
    assert np.allclose(pushed_forward(op, [x], [x]), 2 * A**2, rtol=10 * tolerance)


def test_complex_values():
    z = A + 1j * A[::-1]
    op = define("(Tensor z) -> Tensor", lambda z: z**2)
    op.register_autograd(finite_difference=True)
    assert np.allclose(grad(lambda z: np.sum(np.real(op(z))))(z), np.conjugate(2 * z))
    assert np.allclose(pushed_forward(op, [z], [1j * z]), 2j * z * z)
    bent = define("(Tensor z) -> Tensor", lambda z: np.abs(z) ** 2)
    bent.register_autograd(finite_difference=True)
    assert np.allclose(grad(lambda z: np.sum(bent(z)))(z), 2 * z)


def test_several_outputs_lists_and_integers():
    op = define("(Tensor[] xs, Tensor n) -> (Tensor, Tensor, Tensor)", lambda xs, n: (xs[0] * xs[1], n + 1, np.sum(xs[0]) * n))
    op.register_autograd(finite_difference=True)
    n = np.arange(3)
    f = lambda x, y: sum((np.sum(z * A) for z in (op([x, y], n)[0], op([x, y], n)[2])), np.zeros(()))
    gx, gy = grad(f, (0, 1))(A, A + 1)
    assert np.allclose(gx, (A + 1) * A + np.sum(n * A))
    assert np.allclose(gy, A * A)
    assert np.allclose(pushed_forward(f, [A, A + 1], [A, A]), np.sum(gx * A + gy * A))


def test_a_tangent_of_zeros_and_an_empty_argument():
    op = define("(Tensor x) -> Tensor", lambda x: x**2)
    op.register_autograd(finite_difference=True)
    assert np.array_equal(pushed_forward(op, [A], [np.zeros(3)]), np.zeros(3))
    assert pulled_back(op, [np.zeros(0)], np.zeros(0))[0].shape == (0,)


def test_a_step_of_a_user_is_the_step():
    seen = []
    op = define("(Tensor x) -> Tensor", lambda x: seen.append(x.copy()) or x * 2)
    op.register_autograd(finite_difference=0.25)
    grad(lambda x: np.sum(op(x)))(A)
    assert np.allclose(np.max(np.abs(np.array(seen[1:]) - A), axis=1), 0.25)
    seen.clear()
    pushed_forward(op, [A], [np.array([0.0, 8.0, -4.0])])
    assert np.allclose(np.array(seen[1:]) - A, [[0, 0.25, -0.125], [0, -0.25, 0.125]])


@pytest.mark.parametrize(
    ("given", "what"), [(-1.0, "a step that is not positive"), (0.0, "a step that is not positive"), ("text", "a str")]
)
def test_what_is_no_step(given, what):
    op = define("(Tensor x) -> Tensor", lambda x: x)
    assert said(lambda: op.register_autograd(finite_difference=given), DefinitionError) == (
        f"{op.name}: finite_difference= is True or a positive step, and {what} was given."
    )


@pytest.mark.parametrize(("dtype", "step", "size"), [(np.float32, 1e-10, 1.0), (np.float16, 1e-4, 1.0), (np.float64, 1e-10, 1e9)])
def test_a_step_that_the_values_swallow_is_refused(dtype, step, size):
    op = define("(Tensor x) -> Tensor", lambda x: x**2)
    op.register_autograd(finite_difference=step)
    x = (A * size).astype(dtype)
    for run in (lambda: grad(lambda x: np.sum(op(x)))(x), lambda: pushed_forward(op, [x], [x])):
        assert said(run, GradientError) == (
            f"{op.name}: finite_difference={step:g} is a step that {np.dtype(dtype)} cannot add to values of up to {x.max():g}, where the "
            f"next number is {np.spacing(x.max()):.1g} away: the derivative would be zero. Write finite_difference=True for a step that "
            "fits, or cast to float64."
        )
