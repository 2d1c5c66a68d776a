"""autograd.scipy.stats.multivariate_normal: the normal distribution of vectors."""

from typing import Any

import numpy as np
import scipy.stats

from .....core import Tensor
from .....errors import UnsupportedError
from .distributions import of

__all__ = ["entropy", "logpdf", "pdf"]

of_normal = of(scipy.stats.multivariate_normal)


def _covariance(cov: Any, size: int) -> Any:
    """A number stands for a multiple of the unit matrix, a vector for a diagonal one."""
    if np.ndim(cov) == 0:
        return cov * np.eye(size)
    return np.diag(cov) if np.ndim(cov) == 1 else cov


@of_normal
def logpdf(x: Any, mean: Any = 0.0, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """Return the logarithm of the density; one number for each vector of `x`."""
    size = (np.shape(mean) or np.shape(cov) or (1,))[-1]
    found = np.shape(x) if size == 1 and np.ndim(x) < 2 else np.shape(x)[:-1]
    apart, cov = np.reshape(x, (-1, size)) - mean, _covariance(cov, size)
    return np.squeeze(np.reshape((_of_singular if allow_singular else _of_regular)(apart, cov), found))


def _of_regular(apart: Any, cov: Any) -> Any:
    low = np.linalg.cholesky(cov)
    solved = np.linalg.solve(low, np.transpose(apart))
    least = np.shape(cov)[-1] * np.log(2 * np.pi) + 2 * np.sum(np.log(np.diagonal(low)))
    return -0.5 * (least + np.sum(solved**2, axis=0))


def _of_singular(apart: Any, cov: Any) -> Any:
    """The density on the vectors that the covariance spans, as SciPy has it; -inf elsewhere."""
    if isinstance(cov, Tensor):
        raise UnsupportedError(
            "multivariate_normal: allow_singular=True has no derivative by the covariance: a rank is no smooth function. Leave "
            "it out where the covariance is regular."
        )
    values, vectors = np.linalg.eigh(cov)
    least = 1e6 * np.finfo(values.dtype).eps * np.max(np.abs(values))  # scipy.stats: what counts as 0
    spanned = values > least
    along, across = vectors[:, spanned] / np.sqrt(values[spanned]), vectors[:, ~spanned]
    least_log = np.sum(spanned) * np.log(2 * np.pi) + np.sum(np.log(values[spanned]))
    inside = np.all(np.abs(apart @ across) <= 1e3 * least, axis=-1)
    return np.where(inside, -0.5 * (least_log + np.sum((apart @ along) ** 2, axis=-1)), -np.inf)


@of_normal
def pdf(x: Any, mean: Any = 0.0, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    """Return the density; one number for each vector of `x`."""
    return np.exp(logpdf(x, mean, cov, allow_singular))


@of_normal
def entropy(mean: Any = None, cov: Any = 1.0) -> Any:
    """Return the differential entropy, which does not depend on the mean."""
    size = (np.shape(mean) or np.shape(cov) or (1,))[-1]
    return 0.5 * (size * (np.log(2 * np.pi) + 1) + np.linalg.slogdet(_covariance(cov, size))[1])


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats.multivariate_normal, name)
