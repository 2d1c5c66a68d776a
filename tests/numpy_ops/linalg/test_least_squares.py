"""Least squares: what NumPy gives for each rank, in every layer; normal equations as the oracle."""

from typing import Any

import numpy as np
import pytest
from samples import maker

import dispatch
from dispatch import FakeTensorMode, make_fx, vmap
from dispatch.errors import BatchingError, DataDependentError
from dispatch.graph import dead_code

A = maker("f8")((5, 2)) + np.eye(5, 2)
B = maker("f8", 1)((5, 3))
THIN = np.ones((5, 2))  # of rank 1


def test_a_solution_is_that_of_the_normal_equations():
    weights = maker("f8", 2)((2, 3))
    for at in (0, 1):
        found = dispatch.grad(lambda a, b: np.sum(weights * np.linalg.lstsq(a, b)[0]), at)(A, B)
        expected = dispatch.grad(lambda a, b: np.sum(weights * np.linalg.solve(a.T @ a, a.T @ b)), at)(A, B)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_residuals_are_the_squares_that_are_left():
    for at in (0, 1):
        found = dispatch.grad(lambda a, b: np.sum(np.linalg.lstsq(a, b)[1]), at)(A, B)
        expected = dispatch.grad(lambda a, b: np.sum((a @ np.linalg.solve(a.T @ a, a.T @ b) - b) ** 2), at)(A, B)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_each_rank_has_numpys_results():
    for a in (A, THIN):
        for b in (B, B[:, 0]):
            expected = np.linalg.lstsq(a, b)
            found = np.linalg.lstsq(dispatch.tensor(a, requires_grad=True), b)
            assert type(found) is tuple
            assert type(found[2]) is type(expected[2])
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_array_equal(dispatch.detach(x), y)
                assert np.shape(x) == np.shape(y)


def test_a_matrix_of_less_than_full_rank_has_the_derivative_of_its_shortest_solution():
    b = dispatch.tensor(B[:, 0], requires_grad=True)
    np.testing.assert_allclose(dispatch.jacrev(lambda b: np.linalg.lstsq(THIN, b)[0])(B[:, 0]), np.linalg.pinv(THIN))
    x, residuals, rank, _ = np.linalg.lstsq(dispatch.tensor(THIN, requires_grad=True), b)
    assert (residuals.shape, rank) == ((0,), 1)
    assert np.sum(x).shape == ()


def test_a_batch_has_residuals_where_every_item_has():
    f = lambda a: np.linalg.lstsq(a, B)
    for items in ([A, 2 * A], [THIN, 2 * THIN]):
        for found, *expected in zip(vmap(f)(np.stack(items)), *map(f, items), strict=True):
            np.testing.assert_allclose(found, np.stack(expected), atol=1e-12)
    with pytest.raises(BatchingError) as caught:
        vmap(f)(np.stack([A, THIN]))
    assert str(caught.value).startswith(
        "np.linalg.lstsq: of 2 matrices in a batch, 1 have the rank 2, and NumPy gives residuals of these alone, which make no batch. "
        "Write np.linalg.pinv(a) @ b for the solutions."
    )


def test_without_data_the_rank_is_taken_to_be_full_and_a_graph_checks_it():
    x, residuals, rank, s = fakes()
    assert [v.shape for v in (x, residuals, rank, s)] == [(2, 3), (3,), (), (2,)]
    graph = make_fx(lambda a: np.linalg.lstsq(a, B)[1], "fake")(A)
    np.testing.assert_array_equal(graph(2 * A), np.linalg.lstsq(2 * A, B)[1])
    with pytest.raises(DataDependentError, match="np::settled: the graph was recorded where data made a result"):
        graph(THIN)
    solution = dead_code(make_fx(lambda a: np.linalg.lstsq(a, B)[0], "fake")(A))
    np.testing.assert_array_equal(solution(THIN), np.linalg.lstsq(THIN, B)[0])


def fakes():
    with FakeTensorMode() as mode:
        return np.linalg.lstsq(mode.from_array(A), mode.from_array(B))


@pytest.mark.parametrize("rcond", [None, -1, 0.5, 1e-3])
def test_a_cutoff_counts_in_the_derivative(rcond):
    a = np.array([[2.0, 0.0], [0.0, 0.1], [0.0, 0.0]])
    for f in (lambda b: np.linalg.lstsq(a, b, rcond)[0],):
        np.testing.assert_allclose(dispatch.jacrev(f)(B[:3, 0]), np.stack([f(e) for e in np.eye(3)], 1))


@pytest.mark.parametrize("cutoff", [1e-14, 1e-3, 0.6, 0.9])
def test_a_cutoff_that_leaves_out_more_than_zeros_has_the_derivative_of_what_it_leaves(cutoff: float) -> None:
    """The formula of a constant rank holds where what is left out is 0, and gave another gradient in silence."""
    random = np.random.default_rng(0)
    a, b, c = random.normal(size=(4, 3)), random.normal(size=(4, 2)), random.normal(size=(3, 3))
    hermitian = c + c.T
    functions = {
        "pinv": (lambda x: np.linalg.pinv(x, rcond=cutoff), a), "of columns": (lambda x: np.linalg.pinv(x, rtol=cutoff), a.T),
        "complex": (lambda x: np.linalg.pinv(x, rcond=cutoff), a + 1j * random.normal(size=(4, 3))),
        "hermitian": (lambda x: np.linalg.pinv((x + x.T) / 2, rcond=cutoff, hermitian=True), hermitian),
        "equal singular values": (lambda x: np.linalg.pinv(x, rcond=cutoff), np.eye(3)[:, :2]),
        "stack": (lambda x: np.linalg.pinv(x, rcond=np.array([cutoff, 0.5])), np.stack([a, a[::-1] + 1])),
        "lstsq": (lambda x: np.linalg.lstsq(x, b, rcond=cutoff)[0], a), "by b": (lambda x: np.linalg.lstsq(a, x, rcond=cutoff)[0], b),
        "lstsq of a row": (lambda x: np.linalg.lstsq(x, b[:3, 0], rcond=cutoff)[0], a.T),
    }  # fmt: skip
    for name, (f, x) in functions.items():

        def loss(x: Any, f: Any = f) -> Any:
            y = f(x)
            return np.sum(np.real(y * (1 + 2j)) * np.arange(1.0, 1 + y.size).reshape(y.shape))

        t = random.normal(size=x.shape) + (1j * random.normal(size=x.shape) if np.iscomplexobj(x) else 0)
        if name == "equal singular values":
            t = t * 1e-3  # which keeps them together
        expected = (loss(x + 1e-6 * t) - loss(x - 1e-6 * t)) / 2e-6
        gradient = dispatch.grad(loss)(x)
        near: Any = {"rtol": 1e-5, "atol": 1e-6, "err_msg": name}
        np.testing.assert_allclose(np.sum(np.real(np.conj(gradient) * t)), expected, **near)
        np.testing.assert_allclose(dispatch.jvp(loss, (x,), (t,))[1], expected, **near)
        np.testing.assert_allclose(dispatch.vmap(dispatch.grad(loss))(np.stack([x, x]))[1], gradient, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(dispatch.make_fx(dispatch.grad(loss))(x)(x), gradient, rtol=1e-9, atol=1e-9)
