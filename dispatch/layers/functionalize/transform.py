"""The transform: `functionalize`."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ...core import ModeGuard
from ...core.pytree import mapped
from .run import FUNCTIONALIZE, Functional


def functionalize(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that does what `f` does, without writes: operators that write run their functional form.

    The arguments that `f` writes to are written once each, when it has run; results that are arguments or views of them still
    are. It leaves the same values in the same arrays as `f`, but where `f` raises: then nothing has been written.

    Parameters
    ----------
    f : callable
        Of arrays, in containers too.

    Returns
    -------
    callable
        Takes the arguments of `f`.

    Raises
    ------
    MutationError
        Inside `f`, if a write cannot be done on values: to an argument that shares memory with another, or of what another
        transform follows to a plain array that the function was not given.

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
