"""Functions whose parameters in the array API standard NumPy lacks. They take NumPy's, too.

Each passes on what NumPy has, so that a call of NumPy's does what NumPy does; `argsort` alone keeps the order of equal elements
unless it is told otherwise, since the standard says so.
"""

import sys
from typing import Any

import numpy as np

from ..core import Tensor
from ..core.wrong_calls import clear, named_dtype
from ..errors import ArgumentError, check_flag, kind_of
from ..numpy_ops.handing_over import handed_over
from .functions import FUNCTIONS

numpy_clip, numpy_diff, numpy_sort = handed_over(np.clip), handed_over(np.diff), handed_over(np.sort)
numpy_argsort, numpy_astype, ravel = handed_over(np.argsort), handed_over(np.astype), handed_over(np.ravel)
__array_api_version__ = getattr(np, "__array_api_version__", "2022.12")  # NumPy 2.0 does not say


def namespace() -> Any:
    """Return the module that `x.__array_namespace__()` gives."""
    return sys.modules[__package__]


def clip(x: Any, min: Any = None, max: Any = None, out: Any = None, **keywords: Any) -> Any:
    """Return the elements, and the nearer bound in place of those that lie outside.

    Parameters
    ----------
    x : array_like
    min, max : array_like, optional
        The bounds, of one dtype with `x`; None is no bound.
    out, **keywords
        As `numpy.clip` has them; `a_min` and `a_max` are the bounds, too.

    Returns
    -------
    ndarray or Tensor

    Examples
    --------
    >>> import dispatch.numpy as dnp
    >>> dnp.clip(dnp.asarray([0.0, 2.0, 4.0]), min=1.0)
    array([1., 2., 4.])
    """
    low, high = keywords.pop("a_min", min), keywords.pop("a_max", max)
    return numpy_clip(x, low, high, out, **keywords)


@clear
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Return an array with another dtype.

    Parameters
    ----------
    x : array
        NumPy's or ours; another library's does it by its own method, as xarray asks of this namespace.
    dtype : dtype
    copy : bool
        Whether the result is a copy also where the dtype is the same.
    device : {"cpu", None}

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> astype(np.array([1.5]), np.int64)
    array([1])
    """
    if isinstance(x, (np.ndarray, Tensor)):
        dtype, copy = named_dtype("astype", dtype), check_flag(copy, "astype: copy")
        return numpy_astype(x, dtype, copy=copy) if device is None else numpy_astype(x, dtype, copy=copy, device=device)
    if not hasattr(x, "astype"):
        raise ArgumentError(f"astype: x is an array, and was given {kind_of(x)}. Write asarray(x, dtype=...).")
    return x.astype(named_dtype("astype", dtype), copy=copy)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the differences of neighbours along an axis.

    Parameters
    ----------
    x : array_like
    n : int
        How many times.
    axis : int
    prepend, append : array_like, optional
        What is put before and behind `x` along the axis first.

    Returns
    -------
    ndarray or Tensor

    Examples
    --------
    >>> import dispatch.numpy as dnp
    >>> dnp.diff(dnp.asarray([1.0, 4.0, 9.0]), append=dnp.asarray([16.0]))
    array([3., 5., 7.])
    """
    ends = {name: value for name, value in (("prepend", prepend), ("append", append)) if value is not None}
    return numpy_diff(x, n, axis, **ends)


def sort(
    x: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None, descending: bool = False
) -> Any:
    """Return the elements in order along an axis.

    Parameters
    ----------
    x : array_like
    axis : int, optional
        None flattens first.
    kind, order, stable
        As `numpy.sort` has them.
    descending : bool
        The greatest first.

    Returns
    -------
    ndarray or Tensor

    Examples
    --------
    >>> import dispatch.numpy as dnp
    >>> dnp.sort(dnp.asarray([2.0, 1.0, 3.0]), descending=True)
    array([3., 2., 1.])
    """
    found = numpy_sort(x, axis, kind, order, stable=stable)
    return np.flip(found, -1 if axis is None else axis) if descending else found


def argsort(
    x: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None, descending: bool = False
) -> Any:
    """Return the indices that put the elements in order along an axis.

    Parameters
    ----------
    x : array_like
    axis : int, optional
        None flattens first.
    kind, order
        As `numpy.argsort` has them.
    stable : bool, optional
        Whether equal elements keep their order. They do unless this is False or a `kind` is named.
    descending : bool
        The greatest first. Equal elements keep their order then, too.

    Returns
    -------
    ndarray or Tensor
        Of integers.

    Examples
    --------
    >>> import dispatch.numpy as dnp
    >>> dnp.argsort(dnp.asarray([2.0, 1.0, 3.0, 1.0]), descending=True)
    array([2, 0, 1, 3])
    """
    if kind is None and order is None and stable is None:
        stable = True
    if not descending:
        return numpy_argsort(x, axis, kind, order, stable=stable)
    x, axis = (ravel(x), -1) if axis is None else (FUNCTIONS["asarray"](x), axis)
    found = np.flip(np.argsort(np.flip(x, axis), axis, kind, order, stable=stable), axis)
    return found.shape[axis] - 1 - found if found.ndim else found


def dtype_of(x: Any) -> Any:
    """Return the dtype of an array; what is none as it is."""
    return x.dtype if isinstance(x, (np.ndarray, np.generic, Tensor)) else x


class finfo:  # noqa: N801  NumPy's name
    """What numbers a floating-point dtype has.

    Parameters
    ----------
    type : dtype, ndarray or Tensor
        Of a complex dtype the parts count.

    Attributes
    ----------
    bits : int
    eps, max, min, smallest_normal : float
        Of Python, as the standard has them; every further attribute is that of `numpy.finfo`.
    dtype : dtype

    Examples
    --------
    >>> import dispatch.numpy as dnp
    >>> dnp.finfo(dnp.float64).eps
    2.220446049250313e-16
    """

    def __init__(self, type: Any, /) -> None:
        self._of = np.finfo(dtype_of(type))
        self.bits, self.dtype = int(self._of.bits), self._of.dtype
        self.eps, self.max, self.min = float(self._of.eps), float(self._of.max), float(self._of.min)
        self.smallest_normal = float(self._of.smallest_normal)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def __repr__(self) -> str:
        return repr(self._of)


class iinfo(np.iinfo):  # noqa: N801  NumPy's name
    """What numbers an integer dtype has: `numpy.iinfo`, of arrays too.

    Parameters
    ----------
    type : dtype, ndarray or Tensor

    Examples
    --------
    >>> import dispatch.numpy as dnp
    >>> dnp.iinfo(dnp.asarray([1, 2], dtype=dnp.int8)).max
    127
    """

    def __init__(self, type: Any, /) -> None:
        super().__init__(dtype_of(type))
