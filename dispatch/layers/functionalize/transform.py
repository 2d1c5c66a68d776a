"""`functionalize`: a function without writes except to its arguments, at the end."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from ...core import active_modes
from ...core.wrong_calls import check_takes, clear
from ...errors import DispatchError, check_function
from ..second_tries import other_ways
from .run import Functional

P = ParamSpec("P")
R = TypeVar("R")


@clear
def functionalize(f: Callable[P, R]) -> Callable[P, R]:
    """Return a function that does what `f` does, with operators that return new values in place of operators that write.

    An argument that `f` writes to is written once, when `f` has returned; if `f` raises, it is not. Afterwards all arrays have
    the values that `f` would give them, and results that are arguments or views of arguments still are.

    Parameters
    ----------
    f : callable
        Takes arrays, also in containers.

    Returns
    -------
    callable
        Takes the arguments of `f`.

    Raises
    ------
    MutationError
        From a call: if `f` writes to an argument that shares memory with another; or writes a value of another transform
        to a plain array that is no argument.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> def f(x, y):
    ...     y[0] = x[1]
    ...     y *= 2
    ...     return y[1:]
    >>> graph = dispatch.make_fx(dispatch.functionalize(f))(np.ones(3), np.ones(3))
    >>> [node.op.name for node in graph.nodes if node.op and node.op.schema.is_mutable]  # the one write at the end
    ['np::setitem_']
    >>> y = np.ones(3)
    >>> dispatch.functionalize(f)(np.arange(3.0), y), y
    (array([2., 2.]), array([2., 2., 2.]))
    """
    check_function(f, "functionalize")

    @wraps(f)
    def functional(*args: P.args, **keywords: P.kwargs) -> R:
        first = Functional()
        try:
            return first.run(f, args, keywords)  # type: ignore[no-any-return]
        except (DispatchError, TypeError, AttributeError) as error:
            # in a trace around it, which has recorded some calls, the trace tries it again
            repeatable = isinstance(error, DispatchError) and first.repeatable and not active_modes()
            for g in other_ways(f, args, keywords) if repeatable else ():
                again = Functional()
                try:
                    return again.run(g, args, keywords)  # type: ignore[no-any-return]
                except Exception:  # the first says it better
                    if not again.repeatable:
                        raise
            if isinstance(error, (TypeError, AttributeError)):
                check_takes("functionalize", f, args, keywords)
            raise

    return functional
