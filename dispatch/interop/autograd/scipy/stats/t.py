"""autograd.scipy.stats.t: Student's t distribution."""

from typing import Any

import numpy as np
import scipy.stats
from scipy.special import gammaln, stdtr

from .distributions import of

__all__ = ["cdf", "logcdf", "logpdf", "pdf"]

of_t = of(scipy.stats.t)


@of_t
def logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of the density."""
    df, scale = np.where(df > 0, df, np.nan), np.where(scale > 0, scale, np.nan)
    y = (x - loc) / scale
    least = gammaln((df + 1) / 2) - gammaln(df / 2) - np.log(df * np.pi) / 2
    return least - (df + 1) / 2 * np.log1p(y**2 / df) - np.log(scale)


@of_t
def pdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the density."""
    return np.exp(logpdf(x, df, loc, scale))


@of_t
def cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the distribution function."""
    return stdtr(np.where(df > 0, df, np.nan), (x - loc) / np.where(scale > 0, scale, np.nan))


@of_t
def logcdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of the distribution function."""
    return np.log(cdf(x, df, loc, scale))


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.t, name)
