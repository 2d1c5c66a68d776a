"""autograd.scipy.stats.gamma: the gamma distribution."""

from typing import Any

import numpy as np
import scipy.stats
from scipy.special import gammainc, gammaln, xlogy

from .distributions import of, standard, supported

__all__ = ["cdf", "logpdf", "pdf"]

of_gamma = of(scipy.stats.gamma)


@of_gamma
def logpdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of the density."""
    y, inside, _ = standard(x, loc, scale, 0.0, np.inf, 1.0)
    value = xlogy(a - 1.0, y) - y - gammaln(a) - np.log(scale)
    return supported(inside, (a > 0) & (scale > 0), value, -np.inf)


@of_gamma
def pdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the density."""
    return np.exp(logpdf(x, a, loc, scale))


@of_gamma
def cdf(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the distribution function."""
    y, inside, _ = standard(x, loc, scale, 0.0, np.inf, 1.0)
    return supported(inside, (a > 0) & (scale > 0), gammainc(a, y), 0.0)


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.gamma, name)
