"""Guards backwards that read a residual, and finds values that another transform differentiates.

How a residual depends on the arguments was not recorded. So while a backward that reads one is recorded itself, the numbers in
it raise when their derivative is asked.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import DispatchKey, Level, Tensor, device_of, key_of_rank, rank_of, wrap
from ...core.array_memory import inexact_layout
from ...core.pytree import leaves, mapped
from ...errors import GradientError
from .backward_graph import Leaf, Node
from .context import Context, secret_levels
from .grad_mode import AUTOGRAD, in_recorded_rule
from .record import new_node
from .tensor import TrackedTensor

NOTHING: frozenset[int] = frozenset()
TRACKED = frozenset({AUTOGRAD})
DIFFERENTIATING = frozenset({int(DispatchKey.JVP), AUTOGRAD})


def levels_of(values: tuple[Any, ...], level: Level) -> tuple[Level, ...]:
    """Return the levels at which arguments, or values inside them, are differentiated, the outermost wrapper's last."""
    found = {level.number: level}
    for x in leaves(values):
        while isinstance(x, Tensor):
            if key_of_rank(x.rank) in DIFFERENTIATING:
                found[x.level.number] = x.level
            x = x.value
    return tuple(found[number] for number in sorted(found))


def is_differentiated(values: tuple[Any, ...]) -> bool:
    """Return whether a transform differentiates these values: then a backward that reads them is a part of its function."""
    for x in leaves(values):
        while isinstance(x, Tensor):
            if key_of_rank(x.rank) in DIFFERENTIATING:
                return True
            x = x.value
    return False


def secret_keys(ctx: Context) -> frozenset[int]:
    """The keys of values that a backward which is recorded gets beside those that it was given: numbers of a residual."""
    return TRACKED if recorded_levels(ctx) else NOTHING


def recorded_levels(ctx: Context) -> list[Level]:
    """The levels that record the backward which runs, and that its residual depends on in secret."""
    return [level for level in secret_levels(ctx) if in_recorded_rule(level.number)]


def secrets(ctx: Context) -> list[Any]:
    """For each such level a value that stands for what the residual depends on: whoever computes with it has a history."""
    return [_unknown_at(ctx, level, np.zeros(())) for level in recorded_levels(ctx)]


def reading_residuals(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return the backward of an operator with a residual, safe under a second derivative.

    While it is recorded itself, the derivative of a number in the residual raises, and the gradients are tracked even if they
    are constants. An operator may take both; other code is refused them.
    """

    def reading(ctx: Context, *grads: Any) -> Any:
        levels = recorded_levels(ctx)
        if not levels:
            return backward(ctx, *grads)
        residual = ctx.residual
        ctx.residual = mapped(lambda x: _unknown(ctx, levels, x), residual)
        try:
            return backward(ctx, *mapped(lambda g: _tracked(levels, g), grads))
        finally:
            ctx.residual = residual

    return reading


def _unknown(ctx: Context, levels: list[Level], x: Any) -> Any:
    if isinstance(x, (float, complex)):
        x = np.asarray(x)
    if (isinstance(x, (Tensor, np.generic)) or device_of(x) is not None) and inexact_layout(x) is not None:
        for level in levels:
            x = _unknown_at(ctx, level, x)
    return x


def _unknown_at(ctx: Context, level: Level, x: Any) -> Any:
    """Return a value of a level whose derivative raises. If a later transform has wrapped it, the value inside is replaced."""
    if isinstance(x, Tensor) and x.rank >= rank_of(level.number, AUTOGRAD):
        return wrap(type(x), _unknown_at(ctx, level, x.value), x.level, x.kept)
    node = new_node(Node, ctx.op, level, _unrecorded, (), None, None, (x.shape, x.dtype))
    return wrap(TrackedTensor, x, level, node)


def _tracked(levels: list[Level], grad: Any) -> Any:
    """Return a gradient as a value of some levels, to which no gradient flows."""
    layout = inexact_layout(grad)
    if layout is None:
        return grad
    for level in levels:
        if not isinstance(grad, Tensor) or grad.rank < rank_of(level.number, AUTOGRAD):
            grad = wrap(TrackedTensor, grad, level, Leaf(layout))
    return grad


def _unrecorded(node: Node, grad: Any, create_graph: bool) -> Any:
    raise GradientError(
        f"a second derivative was asked of {node.op.name}, whose backward computes with numbers of its residual: how those "
        "depend on the arguments was not recorded, and would be lost in silence. Return them as outputs, or give them to an "
        "operator that takes the residual and the arguments and has a derivative of its own.",
        operator=node.op.name,
    )
