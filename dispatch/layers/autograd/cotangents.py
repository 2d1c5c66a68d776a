"""Gradients as a rule may give them, made what the engine carries on: of the shape and dtype of the value they are of."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import Tensor
from ...errors import GradientError, kind_of
from ...operators.prims import add, astype, sum_to


def zeros(layout: Any, like: Any) -> Any:
    """A gradient of zeros: an array, or of the kind of a wrapper, so that fakes meet fakes."""
    shape, dtype = layout
    return np.zeros_like(like, dtype=dtype, shape=shape) if isinstance(like, Tensor) else np.zeros(shape, dtype)


def added(grad: Any, other: Any) -> Any:
    """The sum of two gradients, in an array that nobody else holds."""
    total = add(grad, other)
    return np.array(total) if isinstance(total, np.generic) else total


def fitted(node: Any, edges: Sequence[Any], target: Any, grad: Any) -> Any:
    """A gradient summed and cast to the shape and dtype of its input, where broadcasting explains the difference."""
    shape, dtype = target.layout
    if not isinstance(grad, (np.ndarray, np.generic, Tensor)):
        if isinstance(grad, (int, float, complex)):
            grad = np.asarray(grad, dtype)
        else:
            raise GradientError(
                f"{node.op.name}: its backward gave {kind_of(grad)} for {input_of(node, edges, target)}. "
                "Return an array, or None where there is no gradient.",
                operator=node.op.name,
            )
    given = grad.shape
    if len(given) != len(shape) or given != shape:  # their lengths first: tuples compare items of these, which may be symbols
        extra = len(given) - len(shape)
        if extra < 0 or any(n not in (1, m) for n, m in zip(shape, grad.shape[extra:], strict=True)):
            raise GradientError(
                f"{node.op.name}: its backward gave a gradient of shape {grad.shape} for {input_of(node, edges, target)}, "
                f"which has shape {shape}. A gradient has the shape of its input, or one that broadcasting makes of it.",
                operator=node.op.name,
            )
        grad = sum_to(grad, shape)
    if grad.dtype != dtype:
        grad = astype(grad, dtype)
    return grad


def input_of(node: Any, edges: Sequence[Any], target: Any) -> str:
    """Which argument an edge stands for, in words; of lists the edges do not tell."""
    arguments = node.op.schema.arguments
    if len(edges) != len(arguments) or any(a.type.parts and a.type.has_tensor for a in arguments):
        return "a tracked input"
    return f"argument {arguments[edges.index(target)].name!r}"
