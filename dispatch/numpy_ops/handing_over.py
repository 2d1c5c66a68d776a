"""`handed_over`: makes a function of NumPy's call `__array_function__` for any of its arguments.

NumPy looks for that method on some arguments of a function only: on none of `np.array`, and not on `initial` of `np.sum`. A function
made here looks on all of its arguments, and on what lists and tuples among them hold.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..core import Tensor, first_wrapper
from ..core.wrong_calls import does_not_take, named_dtype, unfit

Function = Callable[..., Any]


def handed_over(function: Function) -> Function:
    """Return a function that does what NumPy's does, and takes Tensors in every place.

    Parameters
    ----------
    function : callable
        Of NumPy. On other values it is called as it is, and no row is loaded for that.

    Returns
    -------
    callable
        With the signature and the docstring of NumPy's.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> array = handed_over(np.array)
    >>> dispatch.grad(lambda x: np.sum(array([x, 2.0]) ** 2))(3.0)
    array(6.)
    >>> array([3.0, 2.0])
    array([3., 2.])
    """

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        found = first_wrapper(args)
        if found is None and keywords:
            found = first_wrapper(keywords)
        try:
            return function(*args, **keywords) if found is None else hand_over(found, function, args, keywords)
        except TypeError:
            if "dtype" in keywords:
                named_dtype(function.__name__, keywords["dtype"])  # which says of one that is none what to write
            if does_not_take(function, args, keywords):
                raise unfit(function, args, keywords) from None
            raise

    return call


def hand_over(to: Tensor, function: Function, args: Any, keywords: Any) -> Any:
    """Call what stands for a function of NumPy, as NumPy does where it finds a Tensor."""
    return to.__array_function__(function, (type(to),), args, keywords)
