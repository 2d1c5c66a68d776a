"""Eigenvalues of any matrices, where the table of rows says nothing: the form of NumPy's results, and what no dtype tells."""

import numpy as np
import pytest
from samples import apart, maker

import dispatch
from dispatch import ops


def is_complex_always() -> bool:
    return np.linalg.eigvals(np.eye(2)).dtype.kind == "c"


by_data = pytest.mark.skipif(is_complex_always(), reason="since NumPy 2.5 eigenvalues are complex, whatever the data are")


def test_numpys_named_tuple_comes_back_with_what_it_gives() -> None:
    x = apart(maker("f8"))
    found = np.linalg.eig(dispatch.tensor(x, requires_grad=True))
    assert type(found) is type(np.linalg.eig(x))
    assert found.eigenvectors.dtype == np.linalg.eig(x).eigenvectors.dtype
    assert ops.np.linalg_eig(x)[0].dtype == np.complex128


@pytest.mark.skipif(not is_complex_always(), reason="before NumPy 2.5 it depends on the data")
@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "i8"])
def test_a_graph_of_fakes_takes_matrices_of_any_eigenvalues(kind: str) -> None:
    turned, x = np.array([[1, 2], [-2, 1]], kind), np.array([[2, 1], [1, 2]], kind)
    for f in (np.linalg.eigvals, lambda a: np.linalg.eig(a).eigenvectors):
        graph = dispatch.make_fx(f, "fake")(x)
        for a in (x, turned):
            assert (graph(a).dtype, graph(a).tobytes()) == (f(a).dtype, f(a).tobytes())


@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "c16"])
def test_the_gradient_of_a_real_matrix_is_real(kind: str) -> None:
    for x in (apart(maker(kind)), np.array([[1, 2], [-2, 1]], kind)):
        for f in (np.linalg.eigvals, lambda a: np.abs(np.linalg.eig(a)[1]), ops.np.linalg_eigvals):
            assert dispatch.grad(lambda a, f=f: np.sum(np.abs(f(a)) ** 2))(x).dtype == x.dtype


@by_data
def test_the_eigenvalues_of_a_triangle_are_its_diagonal() -> None:
    x = np.triu(apart(maker("f8")))
    np.testing.assert_allclose(dispatch.jacrev(np.linalg.eigvals)(x), [np.where(np.eye(3)[i][:, None] * np.eye(3)[i], 1.0, j) for i, j in enumerate(lower(x))], atol=1e-12)


def lower(x):
    """What is beside the diagonal in the gradient of each eigenvalue of a triangle, by first-order perturbation."""
    w, v = np.linalg.eig(x)
    u = np.linalg.inv(v)
    for i in range(len(w)):
        yield np.outer(u[i], v[:, i])


@by_data
def test_a_trace_is_the_sum_and_a_determinant_the_product() -> None:
    x = apart(maker("f8"), 2)
    np.testing.assert_allclose(dispatch.grad(lambda a: np.sum(np.linalg.eigvals(a)))(x), np.broadcast_to(np.eye(3), x.shape), atol=1e-12)
    np.testing.assert_allclose(dispatch.grad(lambda a: np.sum(np.prod(np.linalg.eigvals(a), -1)))(x), dispatch.grad(lambda a: np.sum(np.linalg.det(a)))(x))
