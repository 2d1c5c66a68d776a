"""Arrays of lists with values of transforms in them, which NumPy hands to nobody."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ....core import Tensor
from ....core.pytree import leaves
from ....operators.registry import ops

__all__ = ["array", "asarray", "c_", "full", "make_diagonal", "of_lists", "r_", "where"]


def has_values(x: Any) -> bool:
    """Return whether a list or tuple has values of transforms in it."""
    return isinstance(x, (list, tuple)) and any(isinstance(leaf, Tensor) for leaf in leaves(x))


def array(A: Any, *args: Any, **keywords: Any) -> Any:
    """Return `numpy.array(A)`; of lists and tuples with values of transforms in them, a value of these.

    Examples
    --------
    >>> from dispatch.interop.autograd import grad
    >>> grad(lambda x: np.sum(array([x, 2 * x]) ** 2))(1.0)
    np.float64(10.0)
    """
    if isinstance(A, Tensor) or has_values(A):
        made = np.copy(A) if isinstance(A, Tensor) else np.stack([array(x) for x in A])
        dtype = args[0] if args else keywords.get("dtype")
        return made if dtype is None else made.astype(dtype)
    return np.array(A, *args, **keywords)


def asarray(a: Any, *args: Any, **keywords: Any) -> Any:
    """Return `numpy.asarray(a)`; a value of a transform as it is, and of lists with such what `array` returns."""
    if isinstance(a, Tensor):
        dtype = args[0] if args else keywords.get("dtype")
        return a if dtype is None else a.astype(dtype)
    return (array if isinstance(a, (list, tuple)) else np.asarray)(a, *args, **keywords)


def full(shape: Any, fill_value: Any, dtype: Any = None, *args: Any, **keywords: Any) -> Any:
    """Return `numpy.full(shape, fill_value)`, also where the number is a value of a transform."""
    if isinstance(fill_value, Tensor):
        return ops.np.full(shape, fill_value, dtype)
    return np.full(shape, fill_value, dtype, *args, **keywords)


def of_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of NumPy take lists with values of transforms in them for its arrays.

    Examples
    --------
    >>> from dispatch.interop.autograd import grad
    >>> grad(lambda x: of_lists(np.mean)([x, 3 * x]))(1.0)
    np.float64(2.0)
    """

    @wraps(function)
    def called(*args: Any, **keywords: Any) -> Any:
        return function(*[array(x) if has_values(x) else x for x in args], **keywords)

    return called


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


class Joined:
    """`np.r_` and `np.c_` of values of transforms too.

    NumPy's own joins the numbers of all elements, and these then say which elements the result has.
    """

    def __init__(self, joining: Any) -> None:
        self._joining = joining

    def __getitem__(self, items: Any) -> Any:
        given = items if isinstance(items, tuple) else (items,)
        if not any(isinstance(x, Tensor) for x in given):
            return self._joining[items]
        values: list[Any] = []
        numbers: list[Any] = []
        for x in given:
            if isinstance(x, str):
                numbers.append(x)
                continue
            values.append(np.r_[x] if isinstance(x, slice) else x)
            start, size = sum(np.size(v) for v in values[:-1]), np.size(values[-1])
            numbers.append(np.arange(start, start + size).reshape(np.shape(values[-1])))
        dtype = np.result_type(*[v.dtype if hasattr(v, "dtype") else v for v in values])
        flat = np.concatenate([np.ravel(v).astype(dtype) for v in values])
        return flat[self._joining[tuple(numbers)]]


r_, c_ = Joined(np.r_), Joined(np.c_)
