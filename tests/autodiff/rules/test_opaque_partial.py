"""Partial derivatives that call code of arrays alone: as they are, or as one operator, `f.partial_rule`."""

import numpy as np
import pytest
from making import define, said

import dispatch
from dispatch import grad, jvp, make_fx, vmap
from dispatch.errors import GradientError, NoRuleError

X = np.array([0.5, 1.0, 2.0])
Y = np.array([[1.0], [3.0]])
XS = np.stack([X, 2 * X, 1 - X])


def product(opaque=None):
    """x**2 * y, with partials that call other code."""
    op = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x**2 * y)
    op.register_fake(lambda x, y: x + y)
    op.register_autograd(
        elementwise=(lambda x, y: 2 * np.asarray(x) * np.asarray(y), lambda x: np.asarray(x) ** 2), opaque=opaque
    )
    return op


def summed(op):
    return lambda x, y: np.sum(op(x, y) * np.array([1.0, 2.0, 3.0]))


def plain(x, y):
    return x**2 * y


@pytest.mark.parametrize("opaque", [None, True])
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: grad(summed(f), (0, 1))(X, Y),
        lambda f: jvp(f, (X, Y), (X, Y)),
        lambda f: vmap(grad(summed(f), (0, 1)), (0, None))(XS, Y),
        lambda f: vmap(lambda x: jvp(f, (x, Y), (x, Y))[1])(XS),
        lambda f: (dispatch.jacrev(f)(X, Y), dispatch.jacfwd(f)(X, Y)),
        *(lambda f, m=m: make_fx(grad(summed(f), (0, 1)), tracing_mode=m)(X, Y)(2 * X, Y) for m in ("real", "fake", "symbolic")),
    ],
)
def test_partials_that_call_a_library_work_under_every_transform(transform, opaque):
    op = product(opaque)
    for found, expected in zip(transform(op), transform(plain), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_the_next_derivative_names_what_is_missing_and_takes_what_is_registered():
    op = define("(Tensor x) -> Tensor", lambda x: x**3)
    op.register_autograd(elementwise=lambda x: 3 * np.asarray(x) ** 2)
    f = lambda x: np.sum(grad(lambda x: np.sum(op(x)))(x))
    assert f"{op.schema.name}.partial_rule.register_autograd(backward, setup_context=...)" in said(lambda: grad(f)(X), NoRuleError)
    assert op.kernels.rows[1][1] == "autograd rule, opaque under AUTOGRAD"

    def setup(ctx, inputs, output):
        (ctx.x,) = inputs[2]

    op.partial_rule.register_autograd(lambda ctx, g: (None, None, [6 * ctx.x * g]), setup_context=setup)
    np.testing.assert_allclose(grad(f)(X), 6 * X)


def test_a_complex_partial_of_real_values_is_refused():
    op = define("(Tensor x) -> Tensor", lambda x: x**3)
    op.register_autograd(elementwise=lambda x: 3j * np.asarray(x) ** 2, opaque=True)
    assert "partial derivative by 'x' is complex128, and of what it reads it is float64" in said(
        lambda: vmap(grad(lambda x: np.sum(op(x))))(XS), GradientError
    )


def test_a_ufunc_with_a_partial_that_calls_a_library():
    special = pytest.importorskip("scipy.special", reason="SciPy is not installed (extra `test`)")
    for opaque in (None, True):
        op = dispatch.library.from_ufunc(
            special.j1, f"partials::j1_{opaque}", derivative=lambda x: special.jvp(1, np.asarray(x)), opaque=opaque
        )
        np.testing.assert_allclose(vmap(grad(lambda x, op=op: np.sum(op(x))))(XS), special.jvp(1, XS))


def test_what_has_no_partial_function_has_no_such_operator():
    op = define("(Tensor x) -> Tensor", lambda x: 3 * x)
    op.register_autograd(elementwise=3.0)
    assert not hasattr(op, "partial_rule")
