"""Whole bases: what turns in them has no derivative, and the space that they span has one; the other forms of svd and qr."""

import numpy as np
import pytest
from samples import definite, maker

import dispatch
from dispatch import make_fx, vmap
from dispatch.errors import GradientError

la = np.linalg
X = maker("f8")((4, 2)) + np.eye(4, 2)
SAID = (
    "{}: the result depends on which vectors complete the basis, and any do, so that it has no derivative. Write a loss of the space "
    "that they span, such as of u @ u.T for the last columns u; or leave them out."
)
BASES = {
    "np.linalg.svd with full_matrices=True": (lambda x: la.svd(x).U, X),
    "np.linalg.svd with full_matrices=True ": (lambda x: la.svd(x).Vh.T, X.T.copy()),
    'np.linalg.qr with mode="complete"': (lambda x: la.qr(x, mode="complete").Q, X),
}
every_basis = pytest.mark.parametrize("name", BASES)


@every_basis
def test_a_loss_that_changes_while_vectors_turn_is_refused(name):
    basis, x = BASES[name]
    loss = lambda x: np.sum(basis(x)[:, 2:] * np.arange(8.0).reshape(4, 2))
    with pytest.raises(GradientError) as caught:
        dispatch.grad(loss)(x)
    assert str(caught.value).startswith(SAID.format(name.strip()))
    graph = make_fx(dispatch.grad(loss), "fake")(x)  # a fake has no data that tell
    with pytest.raises(GradientError):
        graph(x)


@every_basis
def test_a_loss_of_the_space_has_the_derivative_of_the_other_projector(name):
    basis, x = BASES[name]
    weights = maker("f8", 3)((4, 4))
    projector = lambda u: np.sum(weights * (u @ u.T))
    loss = lambda x: projector(basis(x)[:, 2:])
    other = lambda x: -projector(basis(x)[:, :2])
    np.testing.assert_allclose(dispatch.grad(loss)(x), dispatch.grad(other)(x), atol=1e-12)
    np.testing.assert_allclose(make_fx(dispatch.grad(loss))(x)(x * 1.5), dispatch.grad(loss)(x * 1.5), atol=1e-12)
    np.testing.assert_allclose(vmap(dispatch.grad(loss))(x[None])[0], dispatch.grad(loss)(x), atol=1e-12)
    np.testing.assert_allclose(dispatch.jvp(loss, (x,), (x[::-1] * 1.0,))[1], np.sum(dispatch.grad(loss)(x) * x[::-1]), atol=1e-12)


@every_basis
def test_vectors_that_are_determined_have_their_derivative(name):
    basis, x = BASES[name]
    reduced = (lambda x: la.qr(x).Q) if "qr" in name else (lambda x: la.svd(x, full_matrices=False).U) if x.shape[0] > 2 else lambda x: la.svd(x, full_matrices=False).Vh.T
    found = dispatch.grad(lambda x: np.sum(basis(x)[:, :2] ** 3))(x)
    np.testing.assert_allclose(found, dispatch.grad(lambda x: np.sum(reduced(x) ** 3))(x), atol=1e-12)


SHAPES_OF_RAW = [(4, 3), (3, 3), (2, 4), (1, 1), (3, 1), (1, 3), (5, 2), (2, 4, 3)]


def central(f, x, step=1e-6):
    """The gradient by differences, along the real axis and the imaginary one."""
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            change = np.zeros_like(x)
            change[i] = step * unit
            found[i] += unit * (f(x + change) - f(x - change)) / (2 * step)
    return found


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("shape", SHAPES_OF_RAW)
def test_the_reflections_of_lapack_have_their_derivative(shape, dtype):
    make = maker(dtype)
    x = make(shape) * 1.0 + np.eye(*shape[-2:]) * 3 + np.arange(shape[-1])
    results = la.qr(x, "raw")
    weights = [make(result.shape) + i for i, result in enumerate(results)]
    taped = la.qr(dispatch.tensor(x, requires_grad=True), mode="raw")
    for made, expected in zip(taped, results, strict=True):
        np.testing.assert_array_equal(dispatch.detach(made), expected)
    for chosen in ([0], [1], [0, 1]):

        def loss(x, chosen=chosen):
            results = la.qr(x, "raw")
            return sum([np.sum(np.real(np.conj(weights[i]) * results[i])) for i in chosen])

        gradient = dispatch.grad(loss)(x)
        np.testing.assert_allclose(gradient, central(loss, x), atol=1e-6, rtol=1e-6)
        t = np.random.default_rng(1).normal(size=shape).astype(dtype)
        np.testing.assert_allclose(dispatch.jvp(loss, (x,), (t,))[1], np.sum(np.real(np.conj(gradient) * t)), atol=1e-9)
        np.testing.assert_allclose(vmap(dispatch.grad(loss))(x[None])[0], gradient, atol=1e-12)
        if dtype == "f8":
            slope = lambda x: np.sum(dispatch.grad(loss)(x) * t)  # noqa: B023
            np.testing.assert_allclose(dispatch.grad(slope)(x), central(slope, x), atol=2e-5, rtol=1e-5)


def test_reflections_that_jump_have_no_derivative():
    x = np.triu(X[:3, :3])
    with pytest.raises(la.LinAlgError, match=r"Singular matrix\n.*\n.*in the backward of np::linalg_raw_qr"):
        dispatch.grad(lambda x: np.sum(la.qr(x, "raw")[0]))(x)


@pytest.mark.parametrize("old", ["full", "f", "economic", "e"])
def test_old_names_of_modes_warn_as_numpy_does(old):
    with pytest.warns(DeprecationWarning, match="deprecated"):
        expected = la.qr(X, old)
    with pytest.warns(DeprecationWarning, match="deprecated"):
        found = la.qr(dispatch.tensor(X, requires_grad=True), old)
    for made, value in zip(found, expected, strict=True):
        np.testing.assert_array_equal(dispatch.detach(made), value)


@pytest.mark.parametrize("kind", ["f8", "c16"])
def test_singular_values_of_a_hermitian_matrix_are_those_of_any(kind):
    x = definite(maker(kind)) - 9 * np.eye(3)
    whole = lambda a: (a + np.conj(a.T)) / 2
    for f in (lambda a, **how: la.svd(whole(a), compute_uv=False, **how), lambda a, **how: np.abs(la.svd(whole(a), **how).U) ** 2):
        np.testing.assert_allclose(f(x, hermitian=True), f(x), atol=1e-12)
        weights = maker("f8", 4)(f(x).shape)
        np.testing.assert_allclose(dispatch.grad(lambda a, f=f, weights=weights: np.sum(weights * f(a, hermitian=True)))(x), dispatch.grad(lambda a, f=f, weights=weights: np.sum(weights * f(a)))(x), atol=1e-10)
        np.testing.assert_allclose(vmap(lambda a, f=f: f(a, hermitian=True))(x[None])[0], f(x), atol=1e-12)
