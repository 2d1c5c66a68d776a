"""The form `finite_difference=`: central differences, for operators without a better derivative.

`(f(x + h) - f(x - h)) / 2h` is off by `h^2 f''' / 6` and by a rounding error of `eps |f| / h`. The step `h = eps^(1/3)`, times
the size of `x` where that is above 1, balances the two and leaves about two thirds of the digits (W. H. Press et al.,
"Numerical Recipes", section 5.7). A second difference of such values would leave none, so the second derivative raises.
"""

from typing import Any

import numpy as np

from ...core import OpOverload
from ...core.array_memory import inexact_layout
from ...core.pytree import items_of, leaves, rebuilt
from ...errors import DefinitionError, GradientError, kind_of
from ...layers.autograd import Rule
from ...layers.autograd.derivative_sources import Form
from ...layers.autograd.residuals import is_differentiated
from ...operators.prims import astype
from .by_columns import gradients, outputs_of


def make(op: OpOverload, given: Any, rule: Rule | None) -> Form:
    """Make the form `finite_difference=`."""
    if given is not True and not (isinstance(given, (int, float)) and given > 0):
        what = "a step that is not positive" if isinstance(given, (int, float)) else kind_of(given)
        raise DefinitionError(
            f"{op.name}: finite_difference= is True or a positive step, and {what} was given.", operator=op.name
        )
    fixed = None if given is True else float(given)

    def along(args: tuple[Any, ...], tangents: tuple[Any, ...], h: Any) -> Any:
        """Return the derivative in one direction."""
        ahead = outputs_of(op, op.whole(*[_moved(x, t, h) for x, t in zip(args, tangents, strict=True)]))
        behind = outputs_of(op, op.whole(*[_moved(x, t, -h) for x, t in zip(args, tangents, strict=True)]))
        return _quotient(ahead, behind, 2 * h)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.given = inputs

    def backward(ctx: Any, *grads: Any) -> Any:
        args = ctx.given
        _check_once(op, (args, grads))

        def column(path: tuple[int, ...], unit: Any) -> Any:
            x = args
            for i in path:
                x = (items_of(x) or ())[i]
            if fixed is not None:
                _check_step(op, fixed, x)
            h = fixed or _step(x.dtype) * np.maximum(1.0, np.max(np.abs(x) * (unit != 0)))
            return along(args, _alone(args, path, unit), h)

        return gradients(op, args, ctx.needs_input_grad, grads, column)

    def jvp(tangents: Any, output: Any, *args: Any) -> Any:
        _check_once(op, (args, tangents))
        moving = [t for t in leaves(tangents) if t is not None and t.size]
        if not moving:
            return None
        steepest = np.max(np.stack([np.max(np.abs(t)) for t in moving]))
        for x in leaves(args) if fixed is not None else ():
            _check_step(op, fixed, x)
        largest = np.max(np.stack([np.max(np.abs(x)) for x in leaves(args) if inexact_layout(x) is not None and x.size]))
        h = fixed or max(_step(t.dtype) for t in moving) * np.maximum(1.0, largest)
        # The step is the largest move of an element, whatever the length of the tangent; one that is zero moves nothing.
        return along(args, tangents, h / np.where(steepest == 0, 1.0, steepest))

    return Form(Rule(backward, setup_context, batched=True), jvp, None)


def _check_step(op: OpOverload, step: Any, x: Any) -> None:
    """Raise where a step is lost beside the values that it is added to: each difference would be zero."""
    if not isinstance(x, np.ndarray) or inexact_layout(x) is None or not x.size:
        return
    least = np.spacing(np.abs(x).max())
    if step < least:
        raise GradientError(
            f"{op.name}: finite_difference={step:g} is a step that {x.dtype} cannot add to values of up to "
            f"{np.abs(x).max():g}, where the next number is {least:.1g} away: the derivative would be zero. Write "
            "finite_difference=True for a step that fits, or cast to float64.",
            operator=op.name,
        )


def _step(dtype: np.dtype[Any]) -> float:
    eps: float = np.finfo(dtype).eps
    return float(eps ** (1 / 3))


def _moved(x: Any, t: Any, h: Any) -> Any:
    items = items_of(x)
    if items is not None:
        parts = items_of(t) or [None] * len(items)
        return rebuilt(x, [_moved(item, part, h) for item, part in zip(items, parts, strict=True)])
    return x if t is None else astype(x + h * t, x.dtype)


def _quotient(ahead: Any, behind: Any, width: Any) -> Any:
    items = items_of(ahead)
    if items is not None:
        pairs = zip(items, items_of(behind) or (), strict=True)
        return rebuilt(ahead, [_quotient(a, b, width) for a, b in pairs])
    return None if inexact_layout(ahead) is None else (ahead - behind) / width


def _alone(x: Any, path: tuple[int, ...], unit: Any) -> Any:
    """Return the direction in which only one array moves."""
    if not path:
        return unit
    items = items_of(x) or ()
    return [_alone(item, path[1:], unit) if i == path[0] else None for i, item in enumerate(items)]


def _check_once(op: OpOverload, values: Any) -> None:
    if is_differentiated(values):
        raise GradientError(
            f"a second derivative was asked of {op.name}, whose derivative is made of finite differences: differences of those "
            "would be noise. Give it a backward, a jacobian or a jvp rule for second derivatives.",
            operator=op.name,
        )
