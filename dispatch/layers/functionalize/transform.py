"""`functionalize`: a function without writes except to its arguments, at the end."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ...core import ModeGuard
from ...core.pytree import mapped
from .run import FUNCTIONALIZE, Functional


def functionalize(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does what `f` does, with functional forms in place of operators that write.

    Each argument that `f` writes to is written once, when `f` has run. Results that are arguments or views of arguments still
    are. The arrays contain the same values in the end as after `f`. If `f` raises, nothing is written.

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
        Inside `f`, for a write to an argument that shares memory with another, or of a value of another transform to a plain
        array that is no argument.

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

    @wraps(f)
    def functional(*args: Any, **keywords: Any) -> Any:
        state = Functional()
        with state.level as level:
            args, keywords = state.entered(args), state.entered(keywords)
            with ModeGuard(FUNCTIONALIZE, state, level):
                out = f(*args, **keywords)
            state.write_back()
            return mapped(state.left, out)

    return functional
