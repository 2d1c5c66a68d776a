"""autograd.misc.tracers: a function recorded once."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ....compiler.trace_function import make_fx
from ....core import Tensor
from ....core.pytree import mapped

Function = Callable[..., Any]


def const_graph(fun: Function, *args: Any, **keywords: Any) -> Function:
    """Return a function of the further arguments of `fun`: called first, it records `fun`, and then runs what was recorded.

    Examples
    --------
    >>> import numpy as np
    >>> f = const_graph(lambda x, y: np.sin(x) * y, 0.0)
    >>> float(f(2.0)), float(f(3.0))
    (0.0, 0.0)
    """
    graphs: list[Any] = []

    @wraps(fun)
    def recorded(*rest: Any) -> Any:
        if graphs:
            return graphs[0](*rest)
        seen: list[Any] = []

        def traced(*values: Any) -> Any:
            seen.append(fun(*args, *values, **keywords))
            return seen[0]

        graphs.append(make_fx(traced)(*rest))
        return mapped(lambda x: x.value if isinstance(x, Tensor) else x, seen[0])

    return recorded
