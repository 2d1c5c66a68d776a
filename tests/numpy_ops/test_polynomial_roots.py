"""Roots of polynomials and what has them: what NumPy leaves out, and the derivatives by it; items of a batch that differ in it."""

import numpy as np
import pytest
from samples import maker

import dispatch
from dispatch import vmap
from dispatch.errors import BatchingError

P = np.array([2.0, -3.0, -11.0, 6.0])


@pytest.mark.parametrize("p", [P, P + 0j, np.array([1.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0, 2.0, -3.0]), np.array([1.0, -3.0, 2.0, 0.0])], ids=str)
def test_a_root_follows_the_coefficients_so_that_the_value_stays_0(p):
    value, moved = dispatch.jvp(np.roots, (p,), (np.ones_like(p),))
    np.testing.assert_array_equal(value, np.roots(p))
    np.testing.assert_allclose(np.polyval(np.ones_like(p), value) + np.polyval(np.polyder(p), value) * moved, 0, atol=1e-10)
    rows = dispatch.jacrev(lambda p: np.real(np.roots(p)))(p)
    np.testing.assert_allclose(np.real(np.sum(rows, -1)), np.real(moved), atol=1e-12)


def test_vietas_formulas():
    np.testing.assert_allclose(dispatch.grad(lambda p: np.sum(np.roots(p)))(P), [-3 / 4, -1 / 2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(dispatch.grad(lambda p: np.prod(np.roots(p)))(P), [6 / 4, 0, 0, -1 / 2], atol=1e-12)
    second = dispatch.hessian(lambda p: np.sum(np.roots(p)))(P)  # of -p[1] / p[0]
    np.testing.assert_allclose(second[:2, :2], [[2 * 3 / 8, 1 / 4], [1 / 4, 0]], atol=1e-9)


def test_roots_and_coefficients_are_inverse():
    z = np.array([0.5, -1.0, 3.0])
    for points in (z, z + 1j, np.array([1 + 2j, 1 - 2j, 0.5])):
        np.testing.assert_allclose(dispatch.detach(np.poly(dispatch.tensor(points, requires_grad=True))), np.poly(points))
        assert dispatch.detach(np.poly(dispatch.tensor(points, requires_grad=True))).dtype == np.poly(points).dtype
    there = dispatch.jacfwd(np.poly)(z)
    back = dispatch.jacfwd(lambda p: np.sort(np.roots(p)))(np.poly(z))[:, :]
    np.testing.assert_allclose(back @ there, np.eye(3)[np.argsort(z)], atol=1e-10)
    a = maker("f8")((3, 3))
    np.testing.assert_allclose(dispatch.grad(lambda a: np.poly(a)[-1].real)(a), dispatch.grad(lambda a: -np.linalg.det(a))(a), atol=1e-10)


FUNCTIONS = {
    "np::roots": (np.roots, [P, P + 1, P - 1], [P, np.array([0.0, 1.0, 2.0, 3.0])], "2 to 3"),
    "np::polymul": (lambda p: np.polymul(p, p[:2]), [P, P + 1, P - 1], [P, np.array([0.0, 1.0, 2.0, 3.0])], "3 to 5"),
    "np::polynomial_remainder": (lambda p: np.polydiv(p, p[1:3])[1], [P, P + 0.5, P - 1], [P, np.array([2.0, 2.0, 4.0, 0.0])], "1 to 1"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_items_that_agree_make_a_batch_and_others_are_refused(name):
    f, alike, unlike, sizes = FUNCTIONS[name]
    np.testing.assert_allclose(vmap(f)(np.stack(alike)), np.stack([f(p) for p in alike]), atol=1e-12)
    loss = lambda p: np.sum(np.abs(f(p)) ** 2)
    np.testing.assert_allclose(vmap(dispatch.grad(loss))(np.stack(alike)), np.stack([dispatch.grad(loss)(p) for p in alike]), rtol=1e-7)
    through = lambda x: np.sum(np.abs(vmap(f)(x)) ** 2)
    found = dispatch.grad(through)(np.stack(alike))
    np.testing.assert_allclose(found, np.stack([dispatch.grad(loss)(p) for p in alike]), rtol=1e-7)
    moved = dispatch.jvp(through, (np.stack(alike),), (np.ones((3, 4)),))[1]
    np.testing.assert_allclose(moved, np.sum(found), rtol=1e-7)
    if len({len(f(p)) for p in unlike}) > 1:
        with pytest.raises(BatchingError, match=f"{name}: the items of a batch have {sizes} coefficients or roots without leading zeros, which make no batch."):
            vmap(f)(np.stack(unlike))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_batch_of_batches_and_a_batch_of_stand_ins_are_loops(name):
    f, alike, *_ = FUNCTIONS[name]
    x = np.stack([alike, alike[::-1]]) + 0j  # whether roots of real coefficients are real is for the data to say
    rows = [[f(p) for p in row] for row in x]
    for g, given, expected in ((vmap(f), x[0], rows[0]), (vmap(vmap(f)), x, rows)):
        np.testing.assert_allclose(g(given), expected, atol=1e-12)
        for mode in ("fake", "symbolic"):
            np.testing.assert_array_equal(dispatch.make_fx(g, mode)(given)(given), g(given))


def test_an_outer_batch_of_one_factor_meets_an_inner_of_the_other():
    a, b = maker("f8")((2, 4)), maker("f8")((3, 2))
    product = vmap(vmap(np.polymul, in_dims=(None, 0)), in_dims=(0, None))
    np.testing.assert_allclose(product(a, b), [[np.polymul(x, y) for y in b] for x in a], atol=1e-12)
    np.testing.assert_array_equal(dispatch.make_fx(product, "fake")(a, b)(a, b), product(a, b))


@pytest.mark.parametrize("call", [
    lambda x: np.roots(x), lambda x: np.poly(x), lambda x: np.polymul(x, x), lambda x: np.vander(x), lambda x: np.polyfit(x[0], x, 1), lambda x: np.polyfit(x, x[0], 1),
    lambda x: np.polyfit(x[0], x[0], -1), lambda x: np.polyfit(x[0], x[0], 1, w=x), lambda x: np.polyder(x[0], -1), lambda x: np.polyint(x[0], -1),
    lambda x: np.polyint(x[0], 3, [1.0, 2.0]), lambda x: np.vander(x[0], -1), lambda x: np.polyfit(x[:0, 0], x[:0, 0], 1),
])  # fmt: skip
def test_what_numpy_refuses_is_refused_in_its_words(call):
    x = maker("f8")((2, 3))
    with pytest.raises((ValueError, TypeError)) as expected:
        call(x)
    with pytest.raises(type(expected.value)) as found:
        call(dispatch.tensor(x, requires_grad=True))
    assert str(found.value).startswith(str(expected.value))
    with pytest.raises(type(expected.value)):
        vmap(call)(x[None])
