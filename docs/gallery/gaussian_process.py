"""A Gaussian process: the marginal likelihood with its gradient, maximised by SciPy.

Three parameters say how a smooth function is thought to vary: over what length, how much, and how noisy it is
measured. How likely the data are under them is one formula with a Cholesky factor in it (Rasmussen and Williams,
Gaussian Processes for Machine Learning, algorithm 2.1); its gradient is nobody's work any more.

Run this page with `python docs/gallery/gaussian_process.py`; it needs SciPy.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

import numpy as np
from scipy.optimize import minimize

import dispatch

# %% The data


def measured(n=120, seed=0):
    """Noisy values of a smooth function at n random places."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3.0, 3.0, n))
    return x, np.sin(2 * x) + 0.3 * x + 0.2 * rng.normal(size=n)


x, y = measured()

# %% The likelihood


def covariance(parameters, a, b):
    """How much the function's values at a and b have in common: (n,), (m,) -> (n, m)."""
    length, height = np.exp(parameters[0]), np.exp(parameters[1])
    distance = (a[:, None] - b[None, :]) / length
    return height**2 * np.exp(-0.5 * distance**2)


def negative_log_likelihood(parameters, x, y):
    """-log p(y | x), for the logarithms of length, height and noise."""
    n = len(x)
    k = covariance(parameters, x, x) + np.exp(2 * parameters[2]) * np.eye(n)
    factor = np.linalg.cholesky(k)
    whitened = np.linalg.solve(factor, y)
    return 0.5 * np.sum(whitened**2) + np.sum(np.log(np.diag(factor))) + 0.5 * n * np.log(2 * np.pi)


# %% The fit
#
# SciPy asks for value and gradient in one call, which is what `value_and_grad` gives.

value_and_gradient = dispatch.value_and_grad(negative_log_likelihood)


def fitted(start, x, y):
    """The parameters under which the data are likeliest, near `start`."""
    return minimize(value_and_gradient, start, args=(x, y), jac=True, method="L-BFGS-B")


if __name__ == "__main__" or __name__.startswith("gallery"):
    found = fitted(np.log([1.0, 1.0, 0.5]), x, y)
    length, height, noise = np.exp(found.x)
    print(f"length {length:.2f}, height {height:.2f}, noise {noise:.2f}, after {found.nfev} evaluations")

    # %% How sure is that?
    #
    # At the optimum the inverse of the Hessian is the covariance of the estimates.

    curvature = dispatch.hessian(negative_log_likelihood)(found.x, x, y)
    for name, sd in zip(("length", "height", "noise"), np.sqrt(np.diag(np.linalg.inv(curvature))), strict=True):
        print(f"{name} is known to {sd:.0%}")
