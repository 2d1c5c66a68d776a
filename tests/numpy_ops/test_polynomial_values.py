"""Polynomials where the table of rows says nothing: fits with each of their results, poly1d, several variables."""

import numpy as np
import pytest
from samples import maker

import dispatch
from dispatch import FakeTensorMode, make_fx, vmap
from dispatch.errors import ConversionError, UnsupportedError

X, Y = np.linspace(-1.0, 2.0, 6), maker("f8")((6,))
W = maker("f8", 1)((6,))


def by_normal_equations(x, y, w):
    a = np.stack([x**2, x, x**0], 1) * w[:, None]
    return np.linalg.solve(a.T @ a, a.T @ (y * w))


def test_a_fit_is_the_solution_of_the_normal_equations():
    weights = np.array([0.5, -1.0, 2.0])
    for at in range(3):
        found = dispatch.grad(lambda x, y, w: np.sum(weights * np.polyfit(x, y, 2, w=w)), at)(X, Y, W)
        expected = dispatch.grad(lambda x, y, w: np.sum(weights * by_normal_equations(x, y, w)), at)(X, Y, W)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("how", [{"full": True}, {"cov": True}, {"cov": "unscaled"}, {"w": W, "cov": True}, {"rcond": 1e-3, "full": True}], ids=str)
@pytest.mark.parametrize("y", [Y, np.stack([Y, Y[::-1]], 1)], ids=["one", "two"])
def test_every_result_of_a_fit_is_numpys_in_each_layer(how, y):
    expected = np.polyfit(X, y, 1, **how)
    f = lambda y: np.polyfit(X, y, 1, **how)
    tracked = f(dispatch.tensor(y, requires_grad=True))
    batched = vmap(f, in_dims=-1, out_dims=-1)(np.stack([y, y], -1)) if how != {"rcond": 1e-3, "full": True} and "full" not in how else None
    assert len(tracked) == len(expected)
    for i, value in enumerate(expected):
        np.testing.assert_array_equal(dispatch.detach(tracked[i]), value)
        if batched is not None:
            np.testing.assert_allclose(batched[i][..., 1], value, rtol=1e-12)
    c, t = dispatch.jvp(lambda y: f(y)[0], (y,), (y[::-1] * 1.0,))
    np.testing.assert_allclose(t, np.polyfit(X, y[::-1], 1, w=how.get("w")))  # a fit is linear in its values
    graph = make_fx(lambda y: f(y)[0], "fake")(y)
    np.testing.assert_allclose(graph(2 * y), 2 * c)


def test_a_fit_of_less_than_full_rank_warns_as_numpy_does():
    x = np.ones(4)
    for y in (x, dispatch.tensor(x, requires_grad=True)):
        with pytest.warns(np.exceptions.RankWarning, match="Polyfit may be poorly conditioned"):
            np.polyfit(x, y, 1)
    with pytest.raises(ValueError, match="the number of data points must exceed order to scale the covariance matrix"):
        np.polyfit(X[:2], dispatch.tensor(Y[:2], requires_grad=True), 1, cov=True)


@pytest.mark.parametrize("name", ["polyval", "polyadd", "polysub", "polymul", "polydiv"])
def test_a_poly1d_cannot_hold_what_is_tracked(name):
    f, p, t = getattr(np, name), np.poly1d([1.0, 2.0]), dispatch.tensor([2.0, 3.0], requires_grad=True)
    said = f"np.{name} of a poly1d is one, and a poly1d holds an array, which cannot hold what a Tensor tracks. Write p.coeffs for the poly1d p."
    with pytest.raises(UnsupportedError) as caught:
        f(t, p)
    assert str(caught.value) == said
    np.testing.assert_array_equal(dispatch.detach(np.polyval(p, t)), np.polyval(p, np.array([2.0, 3.0])))


def test_coefficients_in_a_list_may_be_tracked_one_by_one():
    slope = dispatch.grad(lambda a: np.polyval([a, 2.0, a], a * 0 + 3.0))
    assert slope(1.5) == 10.0
    assert np.array_equal(dispatch.grad(lambda x: np.polyadd([x[0], 1.0], x)[0])(np.array([2.0, 3.0])), [2.0, 0.0])


def test_one_polynomial_is_evaluated_by_a_closed_rule():
    x, p = maker("f8")((4,)), maker("f8", 1)((5,))
    graph = make_fx(dispatch.grad(lambda x: np.sum(np.polyval(p, x))))(x)
    assert len([node for node in graph.nodes if "polyval" in str(getattr(node, "target", ""))]) <= 2
    np.testing.assert_allclose(graph(x), np.polyval(np.polyder(p), x))
    np.testing.assert_allclose(dispatch.jacrev(lambda p: np.polyval(p, x))(p), np.vander(x, 5))
    np.testing.assert_allclose(dispatch.hessian(lambda x: np.sum(np.polyval(p, x)))(x), np.diag(np.polyval(np.polyder(p, 2), x)))


@pytest.mark.parametrize("dims", [(0, None), (None, 0), (0, 0), (1, 1)], ids=str)
def test_batches_of_polynomials_and_of_points(dims):
    p, x = maker("f8")((3, 3)), maker("f8", 1)((3, 3))
    found = vmap(np.polyval, dims)(p, x)
    items = [np.polyval(p if dims[0] is None else np.take(p, i, dims[0]), x if dims[1] is None else np.take(x, i, dims[1])) for i in range(3)]
    np.testing.assert_allclose(found, np.stack(items))
    empty = vmap(np.polyval, (0, None))(np.ones((4, 0)), dispatch.tensor(x[0], requires_grad=True).detach())
    assert empty.shape == (4, 3)


def test_polynomials_of_several_variables_are_sums_over_powers():
    from_numpy = np.polynomial.polynomial
    x, y, c = maker("f8")((4,)), maker("f8", 1)((4,)), maker("f8", 2)((3, 2))
    powers = np.einsum("ki,kj->kij", np.vander(x, 3, increasing=True), np.vander(y, 2, increasing=True))
    np.testing.assert_allclose(dispatch.jacrev(lambda c: from_numpy.polyval2d(x, y, c))(c), powers)
    grid = np.einsum("ki,lj->klij", np.vander(x, 3, increasing=True), np.vander(y, 2, increasing=True))
    np.testing.assert_allclose(dispatch.jacrev(lambda c: from_numpy.polygrid2d(x, y, c))(c), grid)
    with pytest.raises(ValueError, match=r"^x, y are incompatible$"):
        from_numpy.polyval2d(dispatch.tensor(x, requires_grad=True), y[:2], c)
    with FakeTensorMode() as mode:
        assert from_numpy.polygrid2d(mode.from_array(x), mode.from_array(y[:2]), mode.from_array(c)).shape == (4, 2)


@pytest.mark.skipif(not hasattr(np.polynomial.polynomial, "polyvalnd"), reason="NumPy 2.5")
def test_polynomials_of_any_number_of_variables_are_sums_over_powers():
    f = np.polynomial.polynomial.polyvalnd
    pts, c = [maker("f8", seed)((4,)) for seed in range(4)], maker("f8", 5)((3, 2, 4, 2))
    powers = [np.vander(x, n, increasing=True) for x, n in zip(pts, c.shape, strict=True)]
    for n in (1, 2, 3, 4):
        summed = np.einsum(*[part for i in range(n) for part in (powers[i], [9, i])], [9, *range(n)])
        at = (slice(None),) * n + (0,) * (4 - n)
        np.testing.assert_allclose(dispatch.jacrev(lambda c, n=n: f(pts[:n], c))(c[at]), summed)
        np.testing.assert_allclose(dispatch.make_fx(lambda c, *pts: f(pts, c), "fake")(c[at], *pts[:n])(c[at], *pts[:n]), f(pts[:n], c[at]))
        if n > 1:
            names = {2: "x, y", 3: "x, y, z"}.get(n, "ordinates")
            for x in (pts[0][:2], dispatch.tensor(pts[0][:2], requires_grad=True)):
                with pytest.raises(ValueError, match=f"^{names} are incompatible$"):
                    f([x, *pts[1:n]], c[at])



def test_what_numpy_does_not_hand_over_says_what_to_write():
    with pytest.raises(ConversionError, match="a NumPy array was asked of a tracked value"):
        np.polynomial.polynomial.polyval(1.0, dispatch.tensor([1.0, 2.0], requires_grad=True))


def test_lengths_of_an_open_size_and_a_number_agree() -> None:
    f = lambda y: np.polyfit(np.arange(3.0), np.ravel(y)[:3], 1)
    y = np.array([[1.0, 2.0, 4.0]])
    np.testing.assert_allclose(dispatch.make_fx(f, "symbolic")(y)(y), f(y))


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "f4"])
def test_coefficients_of_any_dtype_have_a_slope(dtype: str) -> None:
    p, x = np.array([1, 1, 0, 1], dtype), np.array([2.0, -0.5])
    value, tangent = dispatch.jvp(lambda x: np.polyval(p, x), (x,), (np.ones(2),))
    np.testing.assert_array_equal(value, np.polyval(p, x))
    np.testing.assert_allclose(tangent, 3 * x**2 + 2 * x)
    np.testing.assert_allclose(dispatch.grad(lambda x: np.sum(np.polyval(p, x)))(x), 3 * x**2 + 2 * x)
