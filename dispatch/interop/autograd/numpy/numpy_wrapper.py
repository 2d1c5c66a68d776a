"""What autograd's NumPy has otherwise than ours: `where` of Python's values, and a function that NumPy lacks."""

from typing import Any

import numpy as np

__all__ = ["make_diagonal", "where"]


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return `numpy.where(condition, x, y)`; of Python's values and one truth value, one of these, as autograd does.

    Examples
    --------
    >>> where(True, 1, 2), where(condition=[True, False], x=1.0, y=np.zeros(2))
    (1, array([1., 0.]))
    """
    if x is None and y is None:
        return np.where(condition)
    if isinstance(condition, (bool, np.bool_)) and not (hasattr(x, "dtype") or hasattr(y, "dtype")):
        return x if condition else y
    return np.where(condition, x, y)


def make_diagonal(D: Any, offset: int = 0, axis1: int = -1, axis2: int = -2) -> Any:
    """Return matrices with the vectors of the last axis on their diagonals.

    Examples
    --------
    >>> make_diagonal(np.array([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal has offset=0, axis1=-1 and axis2=-2 only, as autograd's.")
    return np.where(np.eye(np.shape(D)[-1], dtype=bool), np.expand_dims(D, -1), 0)
