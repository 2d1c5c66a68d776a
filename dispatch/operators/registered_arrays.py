"""Finds the functions that compute on arrays of a registered class: by NumPy's protocols, else in the class's own namespace.

A class with `__array_function__` (and `__array_ufunc__` for ufuncs) is handed NumPy's functions. One without is asked for its
namespace, `x.__array_namespace__()`, in which functions have the names of the array API standard. Which of the two is decided
by the class alone, never by whether a call succeeds.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..core import is_of_registered_class
from ..errors import NoKernelError, UnsupportedError

Function = Callable[..., Any]
STANDARD_NAMES = {  # of the array API, where NumPy's own name is another
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj", "concatenate": "concat", "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift", "power": "pow", "right_shift": "bitwise_right_shift", "transpose": "permute_dims",
}  # fmt: skip


def function_for(x: Any, function: Function) -> Function:
    """Return the function that does to arrays of the class of `x` what one of NumPy's does to NumPy's.

    Raises
    ------
    NoKernelError
        If the class has neither NumPy's protocol for the function nor a namespace with one of its name.
    """
    cls = type(x)
    protocol = "__array_ufunc__" if isinstance(function, np.ufunc) else "__array_function__"
    if getattr(cls, protocol, None) is not None:
        return function
    name = function.__name__
    if hasattr(cls, "__array_namespace__"):
        module = getattr(function, "__module__", "numpy").rpartition("numpy")[2].lstrip(".")  # ufuncs have one since NumPy 2.2
        namespace = x.__array_namespace__()
        found = getattr(getattr(namespace, module, namespace) if module else namespace, STANDARD_NAMES.get(name, name), None)
        if found is not None:
            return found  # type: ignore[no-any-return]
        lacks = f"its namespace {getattr(namespace, '__name__', namespace)!s} has no {STANDARD_NAMES.get(name, name)}"
    else:
        lacks = f"it has neither {protocol} nor __array_namespace__"
    raise NoKernelError(
        f"np::{name} was called with a {cls.__qualname__}, and no function computes it: {lacks}. Register a kernel for its "
        f"device: dispatch.register_kernel('np::{name}', device, function)."
    )


def filled(like: Any, value: float, shape: tuple[int, ...], dtype: Any) -> Any:
    """Make an array of the class of `like`, of a shape and dtype, that holds one value."""
    if getattr(type(like), "__array_function__", None) is not None:
        return np.full_like(like, value, dtype=dtype, shape=shape)
    return like.__array_namespace__().full(shape, value, dtype=dtype)


def converted(x: np.ndarray[Any, Any], like: Any) -> Any:
    """Make an array of the class of `like` of one of NumPy's."""
    if getattr(type(like), "__array_function__", None) is not None:
        return np.asarray(x, like=like)
    return like.__array_namespace__().asarray(x)


def check_writable(x: Any) -> None:
    """Raise UnsupportedError if the arrays of the class of `x` cannot be written to."""
    if not hasattr(type(x), "__setitem__"):
        raise UnsupportedError(
            f"a write was asked of a {type(x).__name__}, and its class has no __setitem__. Compute the whole instead: "
            "np.where(mask, new, x), np.concatenate([...])."
        )


def is_fixed(x: Any) -> bool:
    """Whether `x` is an array of a registered class whose arrays nobody can write to."""
    return is_of_registered_class(x) and not hasattr(type(x), "__setitem__")


def replaced(x: Any, places: np.ndarray[Any, Any], value: Any) -> Any:
    """Make a copy of `x` with other elements at some places, counted in C order; of a class whose arrays nobody can write to.

    Where a place is named twice, the last element stays.
    """
    if is_of_registered_class(value):
        more = len(value.shape) - places.ndim  # axes of one element, which an assignment leaves out
        if more > 0 and value.shape[:more] == (1,) * more:
            value = function_for(x, np.reshape)(value, value.shape[more:])
        value = function_for(x, np.broadcast_to)(value, places.shape)
        value = function_for(x, np.reshape)(value if value.dtype == x.dtype else value.astype(x.dtype), (places.size,))
    else:
        value = filled(x, value, (places.size,), x.dtype)
    sources = np.arange(prod(x.shape))
    sources[places.ravel()] = len(sources) + np.arange(places.size)
    both = function_for(x, np.concatenate)([function_for(x, np.reshape)(x, (len(sources),)), value])
    return function_for(x, np.reshape)(function_for(x, np.take)(both, converted(sources, x), axis=0), x.shape)
