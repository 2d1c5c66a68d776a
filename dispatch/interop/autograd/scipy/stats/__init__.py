"""autograd.scipy.stats: densities and distribution functions with derivatives; SciPy's own for the rest."""

from typing import Any

import scipy.stats

from . import beta, chi2, dirichlet, gamma, multivariate_normal, norm, poisson, t

__all__ = ["beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"]


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats, name)
