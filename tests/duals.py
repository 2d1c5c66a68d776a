"""Forward mode as tests drive it: values of a level of their own, with tangents, through a function and out again."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatch.core import Level, wrap
from dispatch.core.pytree import items_of, mapped, rebuilt
from dispatch.layers.jvp import DualTensor


def push(f: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Value and tangent of `f(*primals)`, which moves as `tangents` say; None for a tangent is a constant, in and out."""
    with Level("jvp") as level:
        out = f(*[_into(x, t, level) for x, t in zip(primals, tangents, strict=True)])
        own = [lambda x, level=level: isinstance(x, DualTensor) and x.level is level]
        return (
            mapped(lambda x: x.value if own[0](x) else x, out),
            mapped(lambda x: x.tangent if own[0](x) else None, out),
        )


def _into(x: Any, t: Any, level: Level) -> Any:
    if t is None:
        return x
    if items_of(x) is not None:
        return rebuilt(x, [_into(a, b, level) for a, b in zip(items_of(x), items_of(t), strict=True)])
    return wrap(DualTensor, np.asarray(x) if isinstance(x, float) else x, level, t)


def tangent(f: Callable[..., Any], x: Any, t: Any) -> Any:
    """The tangent alone, of a function of one argument."""
    return push(f, (x,), (t,))[1]


def slope(f: Callable[[Any], Any], x: Any, t: Any, step: float = 1e-6) -> Any:
    """The derivative of a function in a direction, by central differences."""
    return (np.asarray(f(x + step * t)) - np.asarray(f(x - step * t))) / (2 * step)
