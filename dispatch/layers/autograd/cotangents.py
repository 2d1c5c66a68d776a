"""Gives the gradients that rules return the shape and dtype of the values that they belong to."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dispatcher.conversion_advice import advice_for
from ...errors import GradientError, kind_of
from ...operators.prims import add
from ..derivatives import fitted as of_layout

NUMBERS = "biufc"  # kinds of dtypes


def added(grad: Any, other: Any) -> Any:
    """Return the sum of two gradients, in an array that nobody else holds."""
    total = add(grad, other)
    return np.array(total) if isinstance(total, np.generic) else total


def fitted(node: Any, edges: Sequence[Any], target: Any, grad: Any) -> Any:
    """Return a gradient summed and cast to the shape and dtype of its input, if broadcasting explains the difference."""
    of = getattr(grad, "dtype", None)
    if of is not None and not isinstance(of, np.dtype):
        advice = advice_for(grad, "g", hinted=False)
        raise GradientError(
            f"{node.op.name}: its backward gave {kind_of(grad)} for {input_of(node, edges, target)}.{advice}",
            operator=node.op.name,
        )
    if of is not None and of.kind not in NUMBERS and hasattr(type(node), "save_for_backward"):
        raise GradientError(
            f"{node.op.name}: its backward gave an array of dtype {of} for {input_of(node, edges, target)}. A gradient is of "
            f"numbers: write astype({target.layout[1].name!r}) there.",
            operator=node.op.name,
        )
    made = of_layout(grad, target.layout, summed=True)
    if made is not None:
        written = hasattr(type(node), "save_for_backward")  # by a user: in a row's formula the real part is what is meant
        if written and target.layout[1].kind != "c" and _dtype_of(grad).kind == "c":
            raise GradientError(
                f"{node.op.name}: its backward gave a complex gradient for {input_of(node, edges, target)}, which is real. The "
                "imaginary part would be lost in silence: write .real where it has no meaning.",
                operator=node.op.name,
            )
        return made
    if not hasattr(grad, "shape"):
        number = isinstance(grad, (int, float, complex, list))
        remedy = "Return np.asarray(...) of it." if number else "Return an array, or None where there is no gradient."
        if callable(grad):
            remedy = "Return the gradient itself, not a function of g."
        if isinstance(grad, dict):
            remedy = f"Return a tuple, with one for each of ({', '.join(node.op.arguments.names)})."
        if grad is node:
            remedy = "The first parameter of a backward is ctx: backward(ctx, g)."
        raise GradientError(
            f"{node.op.name}: its backward gave {kind_of(grad)} for {input_of(node, edges, target)}. {remedy}",
            operator=node.op.name,
        )
    raise GradientError(
        f"{node.op.name}: its backward gave a gradient of shape {grad.shape} for {input_of(node, edges, target)}, "
        f"which has shape {target.layout[0]}. A gradient has the shape of its input, or one that broadcasting makes of it.",
        operator=node.op.name,
    )


def _dtype_of(grad: Any) -> np.dtype[Any]:
    return grad.dtype if hasattr(grad, "dtype") else np.result_type(grad)


def input_of(node: Any, edges: Sequence[Any], target: Any) -> str:
    """Describe the argument that an edge belongs to; edges do not tell which item of a list."""
    arguments = node.op.schema.arguments
    if len(edges) != len(arguments) or any(a.type.parts and a.type.has_tensor for a in arguments):
        return "a tracked input"
    return f"argument {arguments[edges.index(target)].name!r}"


def complex_beginning() -> GradientError:
    """What to raise where a backward begins at a complex value without a gradient."""
    return GradientError(
        "backward begins at a complex value, and only a real one has an obvious gradient to begin with. Take its .real or "
        "np.abs(...), or pass gradient=."
    )


def none_kept() -> None:
    """Warn that the gradient of a value was read that keeps none, as torch does."""
    said = "x.grad was read of the result of an operator, which keeps none, so it is None."
    write = "Write x.retain_grad() before the backward; of a parameter that is updated, `with no_grad(): w -= rate * w.grad`."
    warnings.warn(f"{said} {write}", RuntimeWarning, stacklevel=2)
