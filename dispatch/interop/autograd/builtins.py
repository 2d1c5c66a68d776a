"""autograd.builtins: the containers that autograd replaces. A list of traced values is a list here: these are Python's own."""

import builtins
from builtins import dict, list, tuple  # noqa: A004, UP029  autograd's names
from typing import Any

import numpy as np

from ...core import Tensor

__all__ = ["dict", "isinstance", "list", "tuple", "type"]


def isinstance(x: Any, A: Any) -> bool:  # noqa: A001  autograd's name
    """Return whether a value is of a class; of a transform's value, whether the array or number is that it stands for.

    Examples
    --------
    >>> from dispatch.interop.autograd import grad
    >>> grad(lambda x: x**2 if isinstance(x, float) else x)(3.0)
    np.float64(6.0)
    """
    return builtins.isinstance(x, A) or (builtins.isinstance(x, Tensor) and issubclass(type(x), A))


def type(x: Any) -> Any:  # noqa: A001  autograd's name
    """Return the class of a value; of a transform's value, that of the array or number that it stands for."""
    if not builtins.isinstance(x, Tensor):
        return builtins.type(x)
    return np.ndarray if x.shape else x.dtype.type
