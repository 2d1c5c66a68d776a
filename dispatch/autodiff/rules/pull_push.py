"""A function of arrays that is made of operators, differentiated in both directions."""

from collections.abc import Callable
from typing import Any

from ...core import Level, Tensor, wrap
from ...core.array_memory import inexact_layout
from ...layers.autograd import run_backward, track, zeros
from ...layers.jvp import DualTensor
from ...layers.jvp import zeros as no_tangent

Function = Callable[..., Any]


def pulled_back(f: Function, values: list[Any], cotangent: Any) -> list[Any]:
    """The gradient of each value under a cotangent of `f(*values)`: zeros where nothing depends; None for integers."""
    with Level("pullback") as level:
        inside = [x if inexact_layout(x) is None else track(x, level) for x in values]
        out = f(*inside)
        found = {}
        if isinstance(out, Tensor) and out.level is level:
            found = run_backward((out.data,), (cotangent,), level, False, False)
        return [
            None if x is value else found[x.data] if x.data in found else zeros(x.data.layout, value)
            for x, value in zip(inside, values, strict=True)
        ]


def pushed_forward(f: Function, values: list[Any], tangents: list[Any]) -> Any:
    """The tangent of `f(*values)` under tangents of the values, None for those without."""
    with Level("pushforward") as level:
        out = f(*[x if t is None else wrap(DualTensor, x, level, t) for x, t in zip(values, tangents, strict=True)])
        if isinstance(out, Tensor) and out.level is level:
            return out.data
        return no_tangent((out.shape, out.dtype), out)
