"""`dispatch.numpy.fft`: `numpy.fft` for Tensors in any argument; `fftfreq` and `rfftfreq` have the standard's `dtype=`."""

from typing import Any

import numpy as np

from ..core import Tensor
from ..symbolic import SymInt
from .functions import looked_up

NAMES: list[str] = np.fft.__all__


def fftfreq(n: int, d: Any = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """Return the frequencies of a transform of `n` points, as `numpy.fft.fftfreq` does.

    Parameters
    ----------
    n : int
    d : float or Tensor
        The distance of two points; the frequencies follow it.
    dtype : dtype, optional
        Of the result, float64 by default.
    device : {"cpu"}, optional

    Returns
    -------
    ndarray or Tensor

    Examples
    --------
    >>> import dispatch.numpy as dnp
    >>> dnp.fft.fftfreq(4, d=0.5)
    array([ 0. ,  0.5, -1. , -0.5])
    """
    return of_spacing(np.fft.fftfreq, n, d, dtype, device)


def rfftfreq(n: int, d: Any = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """Return the frequencies of a real transform of `n` points, as `numpy.fft.rfftfreq` does.

    Parameters
    ----------
    n : int
    d : float or Tensor
        The distance of two points; the frequencies follow it.
    dtype : dtype, optional
        Of the result, float64 by default.
    device : {"cpu"}, optional

    Returns
    -------
    ndarray or Tensor

    Examples
    --------
    >>> import dispatch.numpy as dnp
    >>> dnp.fft.rfftfreq(4, d=0.5)
    array([0. , 0.5, 1. ])
    """
    return of_spacing(np.fft.rfftfreq, n, d, dtype, device)


def of_spacing(function: Any, n: Any, d: Any, dtype: Any, device: Any) -> Any:
    """Return the frequencies; NumPy multiplies integers by `1 / (n * d)`, and so does this for a Tensor."""
    n = int(n) if isinstance(n, SymInt) else n  # NumPy looks whether it is an int
    if isinstance(d, Tensor):
        found = np.round(function(n, 1.0 / n, device=device)) * (1.0 / (n * d))
    else:
        found = function(n, d, device=device)
    return found if dtype is None else found.astype(dtype)


def __getattr__(name: str) -> Any:
    return looked_up(np.fft, name, NAMES, globals())


def __dir__() -> list[str]:
    return NAMES
