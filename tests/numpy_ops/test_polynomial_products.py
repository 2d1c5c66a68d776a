"""Products and quotients of polynomials: what NumPy leaves out, and the derivatives by it."""

import numpy as np
import pytest
from samples import maker

import dispatch
from dispatch import FakeTensorMode, make_fx
from dispatch.errors import DataDependentError, UnsupportedError
from dispatch.symbolic import ShapeEnv

P = np.array([2.0, -3.0, -11.0, 6.0])


def test_a_leading_zero_is_left_out_and_counts_in_the_derivative():
    a, b, small = np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0]), 1e-7
    moved = np.convolve(a + np.array([small, 0, 0]), b)
    found = dispatch.jacrev(lambda a: np.polymul(a, b))(a)
    np.testing.assert_allclose(found[:, 0], (moved[1:] - np.polymul(a, b)) / small, atol=1e-6)
    np.testing.assert_allclose(dispatch.jacfwd(lambda a: np.polymul(a, b))(a), found)


def test_a_quotient_times_the_divisor_is_the_dividend_less_the_remainder():
    u, v = maker("f8")((6,)), maker("f8", 1)((3,))

    def rebuilt(u, v):
        q, r = np.polydiv(u, v)
        return np.polyadd(np.polymul(q, v), r)

    np.testing.assert_allclose(dispatch.jacrev(rebuilt)(u, v), np.eye(6), atol=1e-10)
    np.testing.assert_allclose(dispatch.jacrev(rebuilt, 1)(u, v), np.zeros((6, 3)), atol=1e-10)


def test_sizes_that_data_decide_are_symbols_or_refused_by_name():
    graph = make_fx(lambda u, v: np.polydiv(u, v), "symbolic")(P, P[1:3])
    for made, expected in zip(graph(P, P[1:3]), np.polydiv(P, P[1:3]), strict=True):
        np.testing.assert_allclose(made, expected, atol=1e-12)
    for p in (P, np.array([0.0, 1.0, 2.0])):
        np.testing.assert_array_equal(make_fx(np.polymul, "fake")(p, P)(p, P), np.polymul(p, P))
    with FakeTensorMode() as mode, pytest.raises(DataDependentError) as caught:
        np.polymul(mode.from_array(P), mode.from_array(P))
    assert str(caught.value).startswith(
        "np.polymul: how many leading zeros there are, which are left out, depends on the data, which a fake has not. "
        "Write np.convolve(a1, a2), which keeps them; or call it on real arrays, outside the mode."
    )
    real = make_fx(np.polymul)(P, P)
    with pytest.raises(DataDependentError, match="np::settled: the graph was recorded where data made a result"):
        real(np.array([0.0, 1.0, 2.0, 3.0]), P)


@pytest.mark.parametrize("axes", [(3, 1), (1, 2), (2, 2)])
def test_polynomials_of_several_axes_are_not_divided(axes: tuple[int, int]) -> None:
    """NumPy takes them where its loop makes no turn, and cuts what is left along its first axis."""
    u, v = (np.arange(1.0, 3.0).reshape((1,) * (n - 1) + (2,)) for n in axes)
    said = rf"^np\.polydiv: a polynomial has one axis, and the two here have {axes[0]} and {axes[1]}\. Divide one by one at a time\."
    for way in (dispatch.functionalize(np.polydiv), make_fx(np.polydiv, "real"), make_fx(np.polydiv, "fake")):
        with pytest.raises(UnsupportedError, match=said):
            way(u, v)


@pytest.mark.parametrize("shapes", [(0, 3), (3, 0), (0, 0)])
def test_of_no_coefficients_a_product_is_that_of_zero(shapes: tuple[int, int]) -> None:
    x, y = (np.arange(1.0, n + 1) for n in shapes)
    expected = np.polymul(x, y)
    for found in (make_fx(np.polymul, "fake")(x, y)(x, y), dispatch.jvp(np.polymul, (x, y), (x, y))[0], *dispatch.vmap(np.polymul)(np.stack([x, x]), np.stack([y, y]))):
        np.testing.assert_array_equal(found, expected)
    by_x, by_y = dispatch.grad(lambda x, y: np.sum(np.polymul(x, y)), argnums=(0, 1))(x, y)
    np.testing.assert_array_equal(by_x, np.zeros(shapes[0]))
    np.testing.assert_array_equal(by_y, np.zeros(shapes[1]))


@pytest.mark.parametrize("shape", [(3, 3, 2), (2, 2)])
def test_a_quotient_of_a_product_of_sizes_has_as_many_coefficients_as_steps(shape):
    """The steps ask for the number of coefficients, which is then no expression that each step makes longer."""
    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    f = lambda x, v: dispatch.ops.np.polydiv(x.reshape(-1), v)
    for v in (np.array([1.0, 2.0]), np.array([2.0, 1.0, 0.5])):
        with FakeTensorMode(shape_env=ShapeEnv()) as mode:
            found = [part.shape for part in f(mode.from_array(x), mode.from_array(v, static_shapes=True))]
        wanted = [part.shape for part in f(x, v)]
        assert found == wanted
        assert [type(n) for (n,) in found] == [int, int]
        for got, part in zip(make_fx(f, "symbolic")(x, v)(x, v), f(x, v), strict=True):
            np.testing.assert_array_equal(got, part)
