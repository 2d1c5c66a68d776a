"""autograd.scipy.stats.chi2: the chi-squared distribution, a gamma distribution of half the degrees of freedom and scale 2."""

from typing import Any

import scipy.stats

from . import gamma
from .distributions import of

__all__ = ["cdf", "logpdf", "pdf"]

of_chi2 = of(scipy.stats.chi2)


@of_chi2
def logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of the density."""
    return gamma.logpdf(x, df / 2, loc, scale * 2)


@of_chi2
def pdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the density."""
    return gamma.pdf(x, df / 2, loc, scale * 2)


@of_chi2
def cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the distribution function."""
    return gamma.cdf(x, df / 2, loc, scale * 2)


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.chi2, name)
