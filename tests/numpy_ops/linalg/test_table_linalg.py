"""Linear algebra beyond the laws that `tests/numpy_ops/test_table.py` holds every row to: torch's gradients, and what is said of a misuse."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import numpy as np
import pytest
from samples import definite, maker, square

import dispatch
from dispatch import FakeTensorMode, vmap
from dispatch.errors import UnsupportedError

la = np.linalg


def weighted(parts: Any, seed: int = 3) -> list[Any]:
    """Fixed weights for the parts of a result, complex ones for complex parts."""
    return [maker("c16" if np.iscomplexobj(x) else "f8", seed)(np.shape(x)) for x in parts]


def hermitian(x: Any) -> Any:
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


WIDE = (2, 3)
# name: what makes the argument, and a function of it, in NumPy's words, that gives a list of arrays
PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], list[Any]], Callable[[Any, Any], list[Any]]]] = {
    "solve": (square, lambda a: [la.solve(a, a[:2].T)], lambda t, a: [t.linalg.solve(a, a[:2].mT)]),
    "inv": (square, lambda a: [la.inv(a)], lambda t, a: [t.linalg.inv(a)]),
    "det": (square, lambda a: [la.det(a)], lambda t, a: [t.linalg.det(a)]),
    "slogdet": (square, lambda a: list(la.slogdet(a)), lambda t, a: list(t.linalg.slogdet(a))),
    "eigvalsh": (definite, lambda a: [la.eigvalsh(a)], lambda t, a: [t.linalg.eigvalsh(a)]),
    "svdvals": (lambda make: make(WIDE), lambda a: [la.svdvals(a)], lambda t, a: [t.linalg.svdvals(a)]),
    "qr": (lambda make: make((3, 2)), lambda a: list(la.qr(a)), lambda t, a: list(t.linalg.qr(a))),
    "wide qr": (lambda make: make(WIDE), lambda a: list(la.qr(a)), lambda t, a: list(t.linalg.qr(a))),
    "pinv": (lambda make: make(WIDE), lambda a: [la.pinv(a)], lambda t, a: [t.linalg.pinv(a)]),
    "matrix_power": (square, lambda a: [la.matrix_power(a, -3)], lambda t, a: [t.linalg.matrix_power(a, -3)]),
    "norm": (lambda make: make(WIDE), lambda a: [la.norm(a)], lambda t, a: [t.linalg.norm(a)]),
    "nuc": (lambda make: make(WIDE), lambda a: [la.norm(a, "nuc")], lambda t, a: [t.linalg.norm(a, "nuc")]),
    "inf": (lambda make: make(WIDE), lambda a: [la.norm(a, np.inf)], lambda t, a: [t.linalg.norm(a, float("inf"))]),
    "cumprod": (
        lambda make: make((4,)) * np.array([1, 0, 1, 0]),
        lambda a: [np.cumprod(a)],
        lambda t, a: [t.cumprod(a, 0)],
    ),
    "prod": (lambda make: make((4,)) * np.array([1, 1, 0, 1]), lambda a: [np.prod(a)], lambda t, a: [t.prod(a)]),
    "einsum": (
        lambda make: make((3, 3)),
        lambda a: [np.einsum("ij,kj,ii->k", a, a, a)],
        lambda t, a: [t.einsum("ij,kj,ii->k", a, a, a)],
    ),
}
# Functions of a Hermitian matrix: torch's gradients have a part that no change of one feels, and these ask for the rest.
for upper in (False, True):
    PROGRAMS[f"cholesky {upper=}"] = (
        definite,
        lambda a, upper=upper: [la.cholesky(hermitian(a), upper=upper)],
        lambda t, a, upper=upper: [t.linalg.cholesky((a + a.mH) / 2, upper=upper)],
    )
PROGRAMS["eigh"] = (
    definite,
    lambda a: [la.eigh(hermitian(a))[0], np.abs(la.eigh(hermitian(a))[1]) ** 2],
    lambda t, a: [t.linalg.eigh((a + a.mH) / 2)[0], t.linalg.eigh((a + a.mH) / 2)[1].abs() ** 2],
)
PROGRAMS["eig"] = (
    square,
    lambda a: [(f := la.eig(a + 0j))[0], np.abs(f[1]) ** 2, f[1][:, :1] @ np.conj(f[1][:, :1].T)],
    lambda t, a: [(f := t.linalg.eig(a + 0j))[0], f[1].abs() ** 2, f[1][:, :1] @ f[1][:, :1].mH],
)
PROGRAMS["eigvals"] = (square, lambda a: [la.eigvals(a + 0j)], lambda t, a: [t.linalg.eigvals(a + 0j)])
PROGRAMS["lstsq"] = (
    lambda make: make((4, 2)),
    lambda a: [(f := la.lstsq(a, a[:, :1] ** 2))[0], f[1], f[3]],
    lambda t, a: [(f := t.linalg.lstsq(a, a[:, :1] ** 2, driver="gelsd"))[0], ((a @ f[0] - a[:, :1] ** 2).abs() ** 2).sum(0), t.linalg.svdvals(a)],
)
PROGRAMS["wide lstsq"] = (lambda make: make(WIDE), lambda a: [la.lstsq(a, a[:, 1])[0]], lambda t, a: [t.linalg.pinv(a) @ a[:, 1]])
for p in (None, -2, 1, np.inf, "fro", "nuc"):  # torch's own writes to what it keeps
    PROGRAMS[f"cond {p}"] = (
        square,
        lambda a, p=p: [la.cond(a, p)],
        lambda t, a, p=p: [t.linalg.norm(a, 2 if p is None else p) * t.linalg.norm(t.linalg.inv(a), 2 if p is None else p)],
    )
PROGRAMS["complete qr"] = (
    lambda make: make((4, 2)),
    lambda a: [(f := la.qr(a, mode="complete")).Q[:, :2], f.R[:2], f.Q[:, 2:] @ np.conj(f.Q[:, 2:].T)],
    lambda t, a: [(f := t.linalg.qr(a)).Q, f.R, t.eye(4) - f.Q @ f.Q.mH],
)
PROGRAMS["full svd"] = (
    lambda make: make((2, 4)),
    lambda a: [(f := la.svd(a)).S, np.abs(f.Vh[:2]) ** 2, np.conj(f.Vh[2:].T) @ f.Vh[2:]],
    lambda t, a: [(f := t.linalg.svd(a, full_matrices=False)).S, f.Vh.abs() ** 2, t.eye(4) - f.Vh.mH @ f.Vh],
)
PROGRAMS["pinv of a Hermitian"] = (definite, lambda a: [la.pinv(hermitian(a), hermitian=True)], lambda t, a: [t.linalg.pinv((a + a.mH) / 2, hermitian=True)])
PROGRAMS["svd"] = (
    lambda make: make((3, 2)),
    lambda a: [(f := la.svd(a, full_matrices=False)).S, np.abs(f.U) ** 2, f.U[:, :1] @ f.Vh[:1]],
    lambda t, a: [(f := t.linalg.svd(a, full_matrices=False)).S, f.U.abs() ** 2, f.U[:, :1] @ f.Vh[:1]],
)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_torchs(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    made, ours, theirs = PROGRAMS[name]
    x = np.asarray(made(maker(dtype)), dtype)
    weights = weighted(ours(x))

    def loss(x: Any) -> Any:
        return sum(np.sum(np.real(y * np.conj(w))) for y, w in zip(ours(x), weights, strict=True))

    tracked = torch.tensor(x, requires_grad=True)
    found = theirs(torch, tracked)
    for mine, other in zip(ours(x), found, strict=True):
        np.testing.assert_allclose(mine, other.detach().numpy(), rtol=1e-10, atol=1e-10)
    total = sum((y * torch.tensor(w).conj()).real.sum() for y, w in zip(found, weights, strict=True))
    (expected,) = torch.autograd.grad(total, tracked)
    np.testing.assert_allclose(dispatch.grad(loss)(x), expected.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.torch
def test_ties_and_corners_are_torchs() -> None:
    torch = pytest.importorskip("torch")
    x = np.array([0.0, 1.0, 2.0, 3.0, -1.0])
    tracked = torch.tensor(x, requires_grad=True)

    def theirs(y: Any) -> Any:
        return torch.autograd.grad(y.sum(), tracked)[0].numpy()

    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(np.clip(x, 0, 2)))(x), theirs(tracked.clamp(0, 2)))
    np.testing.assert_array_equal(
        dispatch.grad(lambda x: np.sum(np.clip(0.0 * x + 1, x, 2)))(x),
        theirs(torch.clamp(tracked * 0 + 1, tracked, torch.tensor(2.0))),
    )
    np.testing.assert_array_equal(
        dispatch.grad(lambda x: np.sum(np.clip(0.0 * x + 1, 0, x)))(x),
        theirs(torch.clamp(tracked * 0 + 1, torch.tensor(0.0), tracked)),
    )
    zero, flat = np.zeros(3), torch.zeros(3, requires_grad=True)
    (expected,) = torch.autograd.grad(torch.linalg.norm(flat), flat)
    np.testing.assert_array_equal(dispatch.grad(la.norm)(zero), expected.numpy())


def test_equal_eigenvalues_have_a_gradient() -> None:
    np.testing.assert_allclose(dispatch.grad(lambda a: np.sum(la.eigvalsh(a) ** 2))(np.eye(3)), 2 * np.eye(3), atol=1e-15)


def test_a_gradient_of_a_function_of_a_hermitian_matrix_is_hermitian() -> None:
    a = definite(maker("c16"))
    for f in (la.cholesky, la.eigvalsh, lambda a: la.eigh(a)[0]):
        g = dispatch.grad(lambda a, f=f: np.sum(np.real(f(a)) ** 2))(a)
        np.testing.assert_allclose(g, g.conj().T, atol=1e-14)


def test_a_marginal_likelihood_has_its_closed_gradient() -> None:
    make = maker("f8")
    x, y = make((8,)) * 3, make((8,))

    def kernel(scale: Any) -> Any:
        return np.exp(-0.5 * (x[:, None] - x[None]) ** 2 / scale**2) + 0.1 * np.eye(8)

    def likelihood(scale: Any) -> Any:
        k = kernel(scale)
        factor = la.cholesky(k)
        return 0.5 * y @ la.solve(k, y) + np.sum(np.log(np.diagonal(factor)))

    k, scale = kernel(1.3), 1.3
    slope = np.exp(-0.5 * (x[:, None] - x[None]) ** 2 / scale**2) * (x[:, None] - x[None]) ** 2 / scale**3
    alpha = la.solve(k, y)
    expected = 0.5 * (np.trace(la.inv(k) @ slope) - alpha @ slope @ alpha)
    np.testing.assert_allclose(dispatch.grad(likelihood)(1.3), expected, rtol=1e-10)
    np.testing.assert_allclose(
        dispatch.grad(lambda s: likelihood(s) * 0 + 0.5 * la.slogdet(kernel(s))[1] + 0.5 * y @ la.solve(kernel(s), y))(1.3),
        expected,
        rtol=1e-10,
    )


def test_right_hand_sides_of_one_matrix_are_solved_together() -> None:
    make = maker("f8")
    a, b = square(make), make((5, 3))
    with dispatch.log_calls(file := StringIO()):
        found = vmap(lambda b: la.solve(a, b))(b)
    np.testing.assert_allclose(found, la.solve(a, b.T).T)
    assert "(float64[3, 3], float64[3, 5]) -> float64[3, 5]" in file.getvalue()


def refused(call: Callable[[], Any], error: type[Exception] = UnsupportedError) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_numpys_named_tuples_come_back() -> None:
    x = dispatch.tensor(definite(maker("f8")), requires_grad=True)
    assert la.eigh(x).eigenvectors.shape == (3, 3)
    assert la.slogdet(x).logabsdet.shape == ()
    assert la.qr(x).R.shape == (3, 3)


def test_products_that_are_not_read_are_refused() -> None:
    x = dispatch.tensor(np.ones((2, 2)), requires_grad=True)
    assert refused(lambda: np.cross(x, x)) == (
        "np::cross: the vectors have 2 and 2 components, and a cross product is of 3. "
        "Write x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0] for two."
    )


MISFITS: list[Callable[[Any], Any]] = [
    lambda x: la.inv(x), lambda x: la.det(x), lambda x: la.cholesky(x), lambda x: la.eigh(x), lambda x: la.svd(x[0]),
    lambda x: la.solve(x, x), lambda x: la.solve(x @ x.T, x.T), lambda x: la.matrix_power(x, 2), lambda x: la.norm(x, 5),
    lambda x: la.norm(x[None]), lambda x: la.norm(x[None], 2), lambda x: la.norm(x[0], "fro"), lambda x: np.trace(x[0]),
    lambda x: np.einsum("ij,jk", x, x), lambda x: np.einsum("i", x), lambda x: np.einsum("ij->k", x),
    lambda x: np.einsum("ij", x, x), lambda x: np.tensordot(x, x, 1), lambda x: np.inner(x, x.T), lambda x: np.diag(x[None]),
    lambda x: la.eig(x), lambda x: la.eigvals(x[0]), lambda x: la.lstsq(x, x.T), lambda x: la.lstsq(x[0], x), lambda x: la.lstsq(x[None], x), lambda x: la.qr(x[0]),
    lambda x: la.qr(x, "thin"), lambda x: la.qr(x[0], "raw"), lambda x: la.svd(x[0], hermitian=True), lambda x: la.svd(x, hermitian=True), lambda x: la.pinv(x, hermitian=True),
    lambda x: la.pinv(x[0]), lambda x: la.pinv(x, 0.5, rtol=0.5), lambda x: la.matrix_rank(x, 0.5, rtol=0.5), lambda x: la.matrix_rank(x, hermitian=True), lambda x: la.cond(x[0]),
    lambda x: la.cond(x, 1), lambda x: la.cond(x[:0]), lambda x: la.cond(x, 7), lambda x: la.tensorinv(x), lambda x: la.tensorinv(x, 0), lambda x: la.tensorsolve(x, x[0]), lambda x: la.multi_dot([x]), lambda x: np.diagonal(x, 0, 0, 2), lambda x: np.diagonal(x, 0, 1, 1),
]  # fmt: skip


@pytest.mark.parametrize("call", MISFITS, ids=range(len(MISFITS)))
def test_shapes_that_do_not_fit_are_numpys_own_errors(call: Callable[[Any], Any]) -> None:
    x = maker("f8")(WIDE)
    try:
        call(x)
    except Exception as error:
        with pytest.raises(type(error)) as tracked:
            call(dispatch.tensor(x, requires_grad=True))
        with FakeTensorMode() as mode, pytest.raises(type(error)) as fake:
            call(mode.from_array(x))
        with pytest.raises(type(error)):
            vmap(call)(x[None])
        assert str(tracked.value) == str(fake.value) == str(error)
    else:
        found = call(dispatch.tensor(x, requires_grad=True))
        np.testing.assert_allclose(dispatch.detach(found), call(x))


@pytest.mark.parametrize("text", ["i,j->", "ij,j->i", "ij,ik->jk", "i,i->", "i,j->j", "ij,jk,k->i"])
def test_a_sum_of_nothing_is_0_whatever_it_is_multiplied_by(text):
    terms = text.partition("->")[0].split(",")
    for letter in set("".join(terms)) - set(text.partition("->")[2]):
        for broadcasts in (False, True):
            sizes = dict.fromkeys("ijk", 1 if broadcasts else 2)
            shapes = [tuple(0 if name == letter and not (broadcasts and i) else sizes[name] for name in term) for i, term in enumerate(terms)]
            given = [np.full(shape, np.nan) for shape in shapes]
            f = lambda *given: np.einsum(text, *given)
            expected = f(*given)
            if np.isnan(expected).any():
                continue  # the first operand has no such axis
            for found in (dispatch.jvp(f, tuple(given), tuple(given))[0], dispatch.vjp(f, *given)[0], dispatch.make_fx(f, "fake")(*given)(*given)):
                assert np.array_equal(found, expected)
                assert np.shape(found) == np.shape(expected)
            gradients = dispatch.grad(lambda *given, f=f: np.sum(f(*given)), argnums=tuple(range(len(given))))(*given)
            assert not any(np.any(x) for x in gradients)


@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (0,), (0, 0)], ids=str)
@pytest.mark.parametrize("order", [None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc", 0, 3], ids=str)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_norm_of_nothing_is_numpys(order, shape):
    try:
        np.linalg.norm(np.empty((2, 0)), 1)
    except ValueError:
        pytest.skip("this NumPy has no norms of nothing; newer ones have, and so do the layers")
    for axis in (None, 0, -1, (0, 1)):
        for keepdims in (False, True):
            f = lambda x, axis=axis, keepdims=keepdims: np.linalg.norm(x, order, axis, keepdims)
            x = np.empty(shape)
            try:
                expected = f(x)
            except (ValueError, np.linalg.LinAlgError):
                with pytest.raises((ValueError, np.linalg.LinAlgError)):
                    dispatch.jvp(f, (x,), (x,))
                continue
            for found in (dispatch.jvp(f, (x,), (x,))[0], vmap(f)(np.stack([x, x]))[1], dispatch.make_fx(f, "fake")(x)(x)):
                assert np.array_equal(found, expected)
                assert np.shape(found) == np.shape(expected)


@pytest.mark.parametrize("n", range(-5, 12))
def test_a_power_is_rounded_as_numpys(n):
    x = np.random.default_rng(8).standard_normal((4, 4)).astype(np.float32)
    found = np.linalg.matrix_power(dispatch.tensor(x, requires_grad=True), n)
    assert np.array_equal(dispatch.detach(found), np.linalg.matrix_power(x, n))
