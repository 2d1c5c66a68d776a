"""What the distributions share: SciPy computes of plain numbers, and a formula of values of transforms."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .....core import Tensor

Function = Callable[..., Any]


def of(distribution: Any) -> Callable[[Function], Function]:
    """Make a function that calls SciPy's method of the same name, and the formula only where a value of a transform is given.

    Examples
    --------
    >>> import scipy.stats
    >>> @of(scipy.stats.norm)
    ... def logpdf(x, loc=0.0, scale=1.0):
    ...     return -(((x - loc) / scale) ** 2) / 2 - np.log(scale) - np.log(2 * np.pi) / 2
    >>> float(logpdf(0.0) - scipy.stats.norm.logpdf(0.0))
    0.0
    """

    def decorate(formula: Function) -> Function:
        plain = getattr(distribution, formula.__name__)

        @wraps(formula)
        def called(*args: Any, **keywords: Any) -> Any:
            tracked = any(isinstance(x, Tensor) for x in (*args, *keywords.values()))
            return (formula if tracked else plain)(*args, **keywords)

        return called

    return decorate


def standard(x: Any, loc: Any, scale: Any, low: float, high: float, inner: float) -> tuple[Any, Any, Any]:
    """Return `(x - loc) / scale` with `inner` outside of the support; where it is inside; all of it."""
    y = (x - loc) / scale
    inside = (y >= low) & (y <= high)
    return np.where(inside, y, inner), inside, y


def supported(inside: Any, valid: Any, value: Any, outside: Any) -> Any:
    """Return a value where the argument is in the support, and nan where a parameter is none."""
    return np.where(valid, np.where(inside, value, outside), np.nan)
