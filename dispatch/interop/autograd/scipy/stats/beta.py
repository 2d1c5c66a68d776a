"""autograd.scipy.stats.beta: the beta distribution."""

from typing import Any

import numpy as np
import scipy.stats
from scipy.special import betainc, betaln, xlog1py, xlogy

from .distributions import of, standard, supported

__all__ = ["cdf", "logpdf", "pdf"]

of_beta = of(scipy.stats.beta)


@of_beta
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of the density."""
    y, inside, _ = standard(x, loc, scale, 0.0, 1.0, 0.5)
    value = xlog1py(b - 1.0, -y) + xlogy(a - 1.0, y) - betaln(a, b) - np.log(scale)
    return supported(inside, (a > 0) & (b > 0) & (scale > 0), value, -np.inf)


@of_beta
def pdf(x: Any, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the density."""
    return np.exp(logpdf(x, a, b, loc, scale))


@of_beta
def cdf(x: Any, a: Any, b: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the distribution function."""
    y, inside, at = standard(x, loc, scale, 0.0, 1.0, 0.5)
    return supported(inside, (a > 0) & (b > 0) & (scale > 0), betainc(a, b, y), np.where(at > 1, 1.0, 0.0))


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.beta, name)
