"""autograd.scipy.stats.dirichlet: the Dirichlet distribution."""

from typing import Any

import numpy as np
import scipy.stats
from scipy.special import gammaln, xlogy

from .distributions import of

__all__ = ["logpdf", "pdf"]

of_dirichlet = of(scipy.stats.dirichlet)


@of_dirichlet
def logpdf(x: Any, alpha: Any) -> Any:
    """Return the logarithm of the density.

    That the numbers of a traced `x` sum to one is not looked at: these may be no data yet.
    """
    alpha = np.where(alpha > 0, alpha, np.nan)
    if np.shape(x)[0] + 1 == np.shape(alpha)[0]:  # SciPy: the last number is what is left
        x = np.append(x, 1 - np.sum(x, axis=0, keepdims=True), axis=0)
    norm = np.sum(gammaln(alpha)) - gammaln(np.sum(alpha))
    return np.sum(np.transpose(xlogy(alpha - 1, np.transpose(x))), axis=0) - norm


@of_dirichlet
def pdf(x: Any, alpha: Any) -> Any:
    """Return the density."""
    return np.exp(logpdf(x, alpha))


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.dirichlet, name)
