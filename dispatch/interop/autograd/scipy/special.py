"""autograd.scipy.special: SciPy's ufuncs, which take values of transforms themselves, and its functions that do not."""

from typing import Any

import scipy.special

from ....numpy_ops.row_arguments import call
from ....operators.registry import ops

__all__ = ["log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax"]

rows = ops.scipy_special


def polygamma(n: Any, x: Any) -> Any:
    """Return the derivative of order `n` of psi, as `scipy.special.polygamma`.

    Examples
    --------
    >>> from dispatch.interop.autograd import grad
    >>> float(grad(lambda x: polygamma(0, x))(2.0) - polygamma(1, 2.0))
    0.0
    """
    return call(rows.polygamma, n, x)


def logsumexp(x: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """Return the logarithm of the sum of exponentials, each times `b`, as `scipy.special.logsumexp`.

    Examples
    --------
    >>> import numpy as np
    >>> from dispatch.interop.autograd import grad
    >>> grad(logsumexp)(np.zeros(4))
    array([0.25, 0.25, 0.25, 0.25])
    """
    return call(rows.logsumexp, x, axis, b, keepdims=keepdims)


def softmax(x: Any, axis: Any = None) -> Any:
    """Return the exponentials divided by their sum, as `scipy.special.softmax`."""
    return call(rows.softmax, x, axis)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """Return the logarithm of `softmax`, as `scipy.special.log_softmax`."""
    return call(rows.log_softmax, x, axis)


def multigammaln(a: Any, d: int) -> Any:
    """Return the logarithm of the gamma function of `d` dimensions, as `scipy.special.multigammaln`."""
    return call(rows.multigammaln, a, d)


def __getattr__(name: str) -> Any:
    return getattr(scipy.special, name)
