"""Condition numbers, ranks, systems between arrays of several axes, where the table of rows says nothing."""

import numpy as np
import pytest
from samples import maker, square

import dispatch
from dispatch import make_fx, ops, vmap

la = np.linalg
ORDERS = [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"]


@pytest.mark.parametrize("p", ORDERS, ids=str)
def test_a_singular_matrix_has_numpys_condition_and_no_derivative(p):
    for x in (np.zeros((2, 2)), np.ones((2, 2)), np.array([[np.nan, 1.0], [1.0, 1.0]])):
        with np.errstate(all="ignore"):
            try:
                expected = la.cond(x, p)
            except la.LinAlgError:
                with pytest.raises(la.LinAlgError):
                    dispatch.jvp(lambda x: la.cond(x, p), (x,), (x,))
                continue
            value, tangent = dispatch.jvp(lambda x: la.cond(x, p), (x,), (x[::-1] + 1.0,))
            np.testing.assert_allclose(value, expected, rtol=1e-12 if expected < 1e15 else 10)
            np.testing.assert_allclose(vmap(lambda x: la.cond(x, p))(x[None])[0], expected)
            np.testing.assert_allclose(make_fx(lambda x: la.cond(x, p), "fake")(np.eye(2))(x), expected)
        assert np.isnan(tangent) or expected > 1e15 or p == -2


def test_a_rank_is_a_whole_number_in_every_layer():
    x = np.stack([np.eye(3), np.diag([1.0, 2.0, 1e-20]), np.ones((3, 3))])
    assert type(la.matrix_rank(dispatch.tensor(x[0], requires_grad=True))) is type(la.matrix_rank(x[0]))
    assert type(la.matrix_rank(dispatch.tensor(x[0, 0], requires_grad=True))) is int
    np.testing.assert_array_equal(vmap(la.matrix_rank)(x), [3, 2, 1])
    np.testing.assert_array_equal(vmap(la.matrix_rank, in_dims=1)(x[:, 0].T), [1, 1, 1])
    np.testing.assert_array_equal(vmap(ops.np.linalg_matrix_rank, in_dims=(None, 0))(x[1], np.array([0.5, 1.5, 9.0])), [2, 1, 0])
    np.testing.assert_array_equal(vmap(lambda a, tol: la.matrix_rank(a, rtol=tol))(x, np.array([0.5, 0.9, 0.1])), [3, 1, 1])
    np.testing.assert_array_equal(make_fx(la.matrix_rank, "fake")(x)(x), [3, 2, 1])
    for tol in (np.array([0.5]), np.array([[0.5], [9.0]])):  # more axes than the matrices
        np.testing.assert_array_equal(vmap(lambda a, tol=tol: la.matrix_rank(a, tol=tol))(x), [la.matrix_rank(a, tol=tol) for a in x])
    assert not dispatch.grad(lambda x: np.sum(x * 0.0) + la.matrix_rank(x))(x[0]).any()


def test_one_cutoff_for_each_item_of_a_batch():
    x, cutoffs = square(maker("f8"), 3), np.array([1e-3, 0.5, 0.9])
    for found in (vmap(la.pinv)(x, cutoffs), la.pinv(dispatch.tensor(x, requires_grad=True), cutoffs), la.pinv(x, cutoffs)):
        np.testing.assert_allclose(dispatch.detach(found), np.stack([la.pinv(*item) for item in zip(x, cutoffs, strict=True)]))
    found = vmap(ops.np.linalg_pinv, in_dims=(None, 0))(x[0], cutoffs)
    np.testing.assert_allclose(found, np.stack([la.pinv(x[0], c) for c in cutoffs]))


@pytest.mark.parametrize("kind", ["f8", "c16"])
def test_systems_between_arrays_are_those_of_their_matrices(kind):
    make = maker(kind)
    a, b = square(make, n=6).reshape(2, 3, 6), make((2, 3))
    weights = make((6,))
    loss = lambda x: np.sum(np.real(weights * x.reshape(-1)))
    np.testing.assert_allclose(
        dispatch.grad(lambda a: loss(la.tensorsolve(a, b)))(a), dispatch.grad(lambda a: loss(la.solve(a.reshape(6, 6), b.reshape(6))))(a)
    )

    found = la.tensorinv(dispatch.tensor(a, requires_grad=True))
    np.testing.assert_allclose(dispatch.detach(found), la.tensorinv(a))
    np.testing.assert_allclose(np.tensordot(dispatch.detach(found), b), la.tensorsolve(a, b))
    by_axes = np.moveaxis(a.reshape(2, 3, 2, 3), 2, 0)  # the axes that a solution has come first
    np.testing.assert_allclose(dispatch.detach(la.tensorsolve(dispatch.tensor(by_axes, requires_grad=True), b, axes=(0,))), la.tensorsolve(by_axes, b, axes=(0,)))


def test_cofactors_of_a_stack_are_those_of_each_matrix_also_where_one_is_singular_and_one_has_a_nan():
    stack = np.array([[[1.0, 2.0], [1.0, 2.0]], [[np.nan, 1.0], [1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]]])
    slope = dispatch.grad(np.linalg.det)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(dispatch.vmap(slope)(stack), [slope(x) for x in stack], equal_nan=True)
