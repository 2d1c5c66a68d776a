"""autograd.scipy: values are SciPy's, also of traced arguments and outside the support, and derivatives those of the values."""

import importlib

import numpy as np
import pytest

scipy = pytest.importorskip("scipy", reason="SciPy is not installed (extra `scipy`)")
for part in ("integrate", "linalg", "signal", "special", "stats"):
    importlib.import_module(f"scipy.{part}")

import dispatch  # noqa: E402
from dispatch.errors import ArgumentError, UnsupportedError  # noqa: E402
from dispatch.interop.autograd import grad, jacobian  # noqa: E402
from dispatch.interop.autograd.scipy import integrate, linalg, signal, special, stats  # noqa: E402
from dispatch.interop.autograd.test_util import check_grads  # noqa: E402

RNG = np.random.default_rng(3)
POINTS = np.array([-0.5, 0.0, 0.25, 0.75, 1.0, 2.0, 3.5])
SPD = np.array([[2.0, 0.5, 0.0], [0.5, 1.5, 0.25], [0.0, 0.25, 1.0]])
METHODS = {  # the parameters of a distribution, and those by which nothing is known of the derivative of its cdf
    "norm": (("pdf", "cdf", "logpdf", "logcdf", "sf", "logsf"), (0.25, 1.5), ()),
    "t": (("pdf", "cdf", "logpdf", "logcdf"), (3.5, 0.25, 1.5), (1,)),
    "beta": (("pdf", "cdf", "logpdf"), (1.5, 2.5), (1, 2)),
    "gamma": (("pdf", "cdf", "logpdf"), (2.5,), (1,)),
    "chi2": (("pdf", "cdf", "logpdf"), (3.0,), (1,)),
    "poisson": (("pmf", "cdf", "logpmf"), (2.25,), ()),
}
CASES = [(name, method) for name, (methods, _, _) in METHODS.items() for method in methods]
tensor = dispatch.tensor


def value(x):
    return x.detach() if isinstance(x, dispatch.Tensor) else x


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_distribution_has_scipys_values_and_their_derivatives(name, method):
    _, parameters, unknown = METHODS[name]
    ours, scipys = getattr(getattr(stats, name), method), getattr(getattr(scipy.stats, name), method)
    expected = scipys(POINTS, *parameters)
    assert np.array_equal(ours(POINTS, *parameters), expected, equal_nan=True)
    tracked = ours(tensor(POINTS, requires_grad=True), *parameters)
    np.testing.assert_allclose(value(tracked), expected, rtol=1e-13, atol=1e-15)
    wrong = ours(POINTS, *[tensor(-p, requires_grad=True) for p in parameters[:-1]], tensor(-parameters[-1], requires_grad=True))
    np.testing.assert_array_equal(np.isnan(wrong.detach()), np.isnan(scipys(POINTS, *[-p for p in parameters])))
    inside = np.array([1.0, 2.0, 4.0]) if name == "poisson" else np.array([0.2, 0.6, 0.9])
    for i in range(len(parameters) + 1):
        if (name, i) == ("poisson", 0):
            continue
        args = [inside, *parameters]
        if method in ("cdf", "logcdf") and i in unknown:
            with pytest.raises(UnsupportedError, match="has no derivative by its argument"):
                jacobian(ours, i)(*args)
        else:
            check_grads(ours, i, order=2)(*args)


@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf"])
def test_outside_the_support_a_density_is_zero_and_so_is_its_gradient(method):
    for name in ("beta", "gamma", "chi2"):
        f = getattr(getattr(stats, name), method)
        assert grad(f)(-0.5, *METHODS[name][1]) == 0


def test_the_normal_distribution_of_vectors_has_scipys_values_and_their_derivatives():
    normal, mean, points = stats.multivariate_normal, np.array([0.1, -0.2, 0.3]), RNG.normal(size=(4, 3))
    for x, m, cov in [(points, mean, SPD), (points[0], mean, SPD), (points, 0.0 * mean, 2.0), (points, mean, np.array([1.0, 2.0, 0.5])), (POINTS, 0.25, 1.5)]:
        for name in ("pdf", "logpdf"):
            ours, scipys = getattr(normal, name), getattr(scipy.stats.multivariate_normal, name)
            assert np.array_equal(ours(x, m, cov), scipys(x, m, cov))
            np.testing.assert_allclose(ours(tensor(x, requires_grad=True), m, cov).detach(), scipys(x, m, cov), rtol=1e-12)
            for i in (0, 1):
                check_grads(ours, i)(x, m, cov)
    np.testing.assert_allclose(normal.entropy(mean, tensor(SPD, requires_grad=True)).detach(), scipy.stats.multivariate_normal.entropy(mean, SPD))
    check_grads(lambda s: normal.logpdf(points, mean, s + s.T))(SPD)
    check_grads(lambda s: normal.entropy(mean, s + s.T))(SPD)
    flat = np.diag([1.0, 1.0, 0.0])
    x = np.array([[0.5, 0.25, 0.0], [0.5, 0.25, 1.0]])
    found = normal.logpdf(tensor(x, requires_grad=True), np.zeros(3), flat, allow_singular=True)
    np.testing.assert_allclose(found.detach(), scipy.stats.multivariate_normal.logpdf(x, np.zeros(3), flat, allow_singular=True))
    with pytest.raises(UnsupportedError, match=r"multivariate_normal: allow_singular=True has no derivative by the covariance"):
        grad(lambda c: normal.logpdf(x[0], np.zeros(3), c, True))(SPD)


def test_the_dirichlet_distribution_has_scipys_values_and_their_derivatives():
    alpha, x = np.array([1.5, 2.0, 3.5]), np.array([0.2, 0.3, 0.5])
    for name in ("pdf", "logpdf"):
        ours, scipys = getattr(stats.dirichlet, name), getattr(scipy.stats.dirichlet, name)
        for at in (x, x[:2]):
            np.testing.assert_allclose(ours(at, tensor(alpha, requires_grad=True)).detach(), scipys(at, alpha), rtol=1e-12)
        check_grads(lambda x, alpha, ours=ours: ours(x / np.sum(x) if np.ndim(x) else x, alpha), (0, 1))(x, alpha)
    assert stats.dirichlet.rvs(alpha, random_state=0).shape == (1, 3)
    assert stats.uniform is scipy.stats.uniform


X = RNG.normal(size=(2, 3, 4))
B = np.exp(RNG.normal(size=(2, 3, 4)))
SPECIAL = {
    "polygamma": [lambda f, x: f(0, x), lambda f, x: f(2, x), lambda f, x: f(np.array([[0], [1], [3]]), x[:1, :, :1])],
    "logsumexp": [lambda f, x: f(x), lambda f, x: f(x, axis=1), lambda f, x: f(x, (0, 2), keepdims=True), lambda f, x: f(x, 1, b=B), lambda f, x: f(x[0], b=B)],
    "softmax": [lambda f, x: f(x), lambda f, x: f(x, axis=1), lambda f, x: f(x, axis=(0, -1))],
    "log_softmax": [lambda f, x: f(x), lambda f, x: f(x, axis=1), lambda f, x: f(x, axis=(0, -1))],
    "multigammaln": [lambda f, x: f(x + 2.0, 1), lambda f, x: f(x[0, 0] + 2.0, 3)],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_a_function_that_is_no_ufunc_has_scipys_values_and_derivatives_in_every_layer(name):
    ours, scipys = getattr(special, name), getattr(scipy.special, name)
    x = np.abs(X) + 0.5
    for call in SPECIAL[name]:
        f, expected = lambda x, call=call: call(ours, x), call(scipys, x)
        assert np.array_equal(f(x), expected)
        np.testing.assert_allclose(f(tensor(x, requires_grad=True)).detach(), expected, rtol=1e-12, atol=1e-14)
        check_grads(f, order=2)(x)
        batch = np.stack([x, x + 0.25])
        np.testing.assert_allclose(dispatch.vmap(f)(batch), np.stack([call(scipys, item) for item in batch]), rtol=1e-12, atol=1e-14)
        assert dispatch.eval_shape(f, x).shape == np.shape(expected)
        assert np.array_equal(dispatch.make_fx(f)(x)(x), expected)


def test_infinite_values_are_left_out_of_a_sum_of_exponentials():
    x = np.array([1.0, -np.inf, 2.0])
    np.testing.assert_allclose(grad(special.logsumexp)(x), scipy.special.softmax(x), rtol=1e-14)
    assert special.logsumexp(tensor(np.full(2, -np.inf), requires_grad=True)).detach() == -np.inf


def test_the_solvers_have_derivatives():
    a = np.array([[2.0, 0.3, -0.5], [0.0, 1.5, 0.7], [0.0, 0.0, 1.2]])
    for b in (np.array([1.0, 2.0, 3.0]), RNG.normal(size=(3, 2))):
        for trans, lower, unit in [(0, False, False), ("T", False, False), (1, True, False), (0, True, True), (1, False, True)]:
            f = lambda a, b, trans=trans, lower=lower, unit=unit: linalg.solve_triangular(a, b, trans, lower, unit)
            check_grads(f, (0, 1), modes=["rev"])(a + a.T, b)
    check_grads(linalg.solve_banded, (1, 2), modes=["rev"])((1, 2), RNG.normal(size=(4, 5)) + 3, RNG.normal(size=(5, 2)))
    check_grads(linalg.solve_banded, (1, 2), modes=["rev"])((2, 0), RNG.normal(size=(3, 4)) + 3, RNG.normal(size=4))
    check_grads(linalg.solve_sylvester, (0, 1, 2))(SPD, SPD.T + 1, X[0, :, :3])
    check_grads(lambda x: linalg.sqrtm(x @ x.T + np.eye(3)))(SPD)
    assert linalg.expm is scipy.linalg.expm
    with pytest.raises(UnsupportedError, match=r"solve_triangular: trans='C' has no derivative"):
        grad(lambda b: np.sum(linalg.solve_triangular(a, b, "C")))(np.ones(3))


def full(x, y, mode):
    return scipy.signal.convolve(x, y, mode)


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_a_convolution_is_scipys_along_all_axes_and_a_loop_over_the_others(mode):
    for shapes in [((5,), (3,)), ((3,), (5,)), ((4, 6), (2, 3)), ((2, 3), (4, 6))]:
        x, y = [RNG.normal(size=s) for s in shapes]
        np.testing.assert_allclose(signal.convolve(x, y, mode=mode), full(x, y, mode), atol=1e-12)
        check_grads(signal.convolve, (0, 1))(x, y, mode=mode)
    x, y = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(3, 4, 2))
    expected = np.array([[sum(full(x[i, :, k], y[k, :, j], mode) for k in range(3)) for j in range(2)] for i in range(2)])
    np.testing.assert_allclose(signal.convolve(x, y, axes=([1], [1]), dot_axes=([2], [0]), mode=mode), expected, atol=1e-12)
    check_grads(signal.convolve, (0, 1), order=1)(x, y, axes=([1], [1]), dot_axes=([2], [0]), mode=mode)


def test_a_convolution_refuses_what_scipy_refuses():
    with pytest.raises(ArgumentError, match=r"convolve was given mode='other'\. It is 'full', 'valid' or 'same'\."):
        signal.convolve(X[0], X[0], mode="other")
    with pytest.raises(ArgumentError, match=r"convolve: mode='valid' of sizes \[\(2, 3\), \(3, 2\)\], of which neither array has the larger ones"):
        signal.convolve(X[0, :2, :3], X[0, :3, :2], mode="valid")
    assert signal.fftconvolve is scipy.signal.fftconvolve


def test_the_solution_of_a_differential_equation_has_a_gradient():
    def slope(y, t, a, b):
        return -y * a + np.sin(t) * b

    y0, times, args = np.array([1.0, -0.5]), np.linspace(0.1, 0.4, 4), (np.array([0.5, 1.5]), 0.25)
    assert np.array_equal(integrate.odeint(slope, y0, times, args), scipy.integrate.odeint(slope, y0, times, args))
    check_grads(lambda y0, t, args: integrate.odeint(slope, y0, t, args, rtol=1e-12, atol=1e-12), (0, 1, 2), modes=["rev"], order=1)(y0, times, args)
    assert integrate.quad is scipy.integrate.quad
