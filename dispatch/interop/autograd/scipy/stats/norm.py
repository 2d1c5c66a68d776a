"""autograd.scipy.stats.norm: the normal distribution."""

from typing import Any

import numpy as np
import scipy.stats
from scipy.special import log_ndtr, ndtr

from .distributions import of

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

of_norm = of(scipy.stats.norm)
LOG_ROOT = np.log(2 * np.pi) / 2


def _scale(scale: Any) -> Any:
    """The scale, nan where it is not positive."""
    return np.where(scale > 0, scale, np.nan)


@of_norm
def logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of the density.

    Examples
    --------
    >>> from dispatch.interop.autograd import grad
    >>> grad(logpdf)(2.0)
    np.float64(-2.0)
    """
    scale = _scale(scale)
    return ((x - loc) / scale) ** 2 * -0.5 - LOG_ROOT - np.log(scale)


@of_norm
def pdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the density."""
    scale = _scale(scale)
    return np.exp(((x - loc) / scale) ** 2 * -0.5) / (scale * (2 * np.pi) ** 0.5)


@of_norm
def cdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the distribution function."""
    return ndtr((x - loc) / _scale(scale))


@of_norm
def logcdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of the distribution function."""
    return log_ndtr((x - loc) / _scale(scale))


@of_norm
def sf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return one less the distribution function."""
    return ndtr((loc - x) / _scale(scale))


@of_norm
def logsf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Return the logarithm of one less the distribution function."""
    return log_ndtr((loc - x) / _scale(scale))


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.norm, name)
