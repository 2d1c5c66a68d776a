"""autograd.scipy.stats.poisson: the Poisson distribution."""

from typing import Any

import numpy as np
import scipy.stats
from scipy.special import gammaln, pdtr, xlogy

from .distributions import of, standard, supported

__all__ = ["cdf", "logpmf", "pmf"]

of_poisson = of(scipy.stats.poisson)


@of_poisson
def logpmf(k: Any, mu: Any, loc: Any = 0.0) -> Any:
    """Return the logarithm of the probability of a whole number."""
    y, inside, _ = standard(k, loc, 1.0, 0.0, np.inf, 1.0)
    value = xlogy(y, mu) - gammaln(y + 1) - mu
    return supported(inside & (y == np.floor(y)), mu >= 0, value, -np.inf)


@of_poisson
def pmf(k: Any, mu: Any, loc: Any = 0.0) -> Any:
    """Return the probability of a whole number."""
    return np.exp(logpmf(k, mu, loc))


@of_poisson
def cdf(k: Any, mu: Any, loc: Any = 0.0) -> Any:
    """Return the distribution function."""
    y, inside, _ = standard(k, loc, 1.0, 0.0, np.inf, 1.0)
    return supported(inside, mu >= 0, pdtr(np.floor(y), mu), 0.0)


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.poisson, name)
