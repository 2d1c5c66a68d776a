"""autograd.wrap_util: from an operation on functions of one argument to one on functions of several."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from .differential_operators import Argnum, unary

Function = Callable[..., Any]


def unary_to_nary(unary_operator: Function) -> Function:
    """Make of `operator(fun, x)` what takes `(fun, argnum)` and then the arguments of `fun`.

    Examples
    --------
    >>> @unary_to_nary
    ... def slope(fun, x):
    ...     return fun(x + 1) - fun(x)
    >>> slope(lambda x, y: x * y, 1)(5, 3)
    5
    """

    @wraps(unary_operator)
    def nary_operator(fun: Function, argnum: Argnum = 0, *options: Any, **named: Any) -> Function:
        @wraps(fun)
        def nary(*args: Any, **keywords: Any) -> Any:
            f, x = unary(fun, argnum, args, keywords)
            return unary_operator(f, x, *options, **named)

        return nary

    return nary_operator
