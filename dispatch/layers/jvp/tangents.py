"""Tangents as rules get them, and as they give them: made where there is none, and fitted to the outputs they are of."""

from typing import Any

import numpy as np

from ...core import OpOverload, Tensor, wrap
from ...core.array_memory import has_layout, inexact_layout
from ...core.pytree import field_names, items_of, rebuilt
from ...dispatcher.printing import describe_value
from ...errors import EscapedValueError, GradientError, kind_of
from ...operators.prims import add, astype, broadcast_to
from .tensor import DualTensor

Layout = tuple[tuple[int, ...], np.dtype[Any]]


def tangent_of(x: Any, t: Any) -> Any:
    """The tangent of an argument as rules see it: zeros where it has none, None where it can have none, in containers too."""
    if t is not None and type(t) is not list:
        return t
    items = items_of(x)
    if items is not None:
        given = [None] * len(items) if t is None else t
        return rebuilt(x, [tangent_of(item, g) for item, g in zip(items, given, strict=True)])
    layout = inexact_layout(x)
    return None if layout is None else zeros(layout, x)


def zeros(layout: Layout, like: Any) -> Any:
    """A tangent of zeros: an array, or of the kind of a wrapper, so that fakes meet fakes."""
    shape, dtype = layout
    return np.zeros_like(like, dtype=dtype, shape=shape) if isinstance(like, Tensor) else np.zeros(shape, dtype)


def added(x: Any, y: Any) -> Any:
    """The sum of two tangents, or of two tuples or lists of them; None is zero."""
    if x is None or y is None:
        return y if x is None else x
    if items_of(x) is not None:
        return rebuilt(x, [added(a, b) for a, b in zip(items_of(x) or (), items_of(y) or (), strict=True)])
    return add(x, y)


def with_tangents(op: OpOverload, like: Any, out: Any, tangents: Any) -> Any:
    """The outputs of an operator with the tangents that a rule gave for them.

    Parameters
    ----------
    op : OpOverload
    like : DualTensor
        Whose level and rank the outputs take.
    out : object
        What `op.whole` returned.
    tangents : object
        The tangent of the output; of several outputs a tuple of them. None where there is none.
    """
    count = len(op.schema.returns) - op.outputs.residual
    several = type(out) in (tuple, list) and len(op.schema.returns) > 1
    outputs = list(out)[:count] if several else [out]
    if tangents is None:
        return out
    if count == 1:
        tangents = (tangents,)
    elif not isinstance(tangents, (tuple, list)) or len(tangents) != count:
        some = f"{len(tangents)} tangents" if isinstance(tangents, (tuple, list)) else kind_of(tangents)
        raise GradientError(
            f"{op.name}: its jvp rule returned {some}, and the operator has {count} outputs. Return a tuple of one for each, "
            "None for those without.",
            operator=op.name,
        )
    made = []
    for i, (x, t) in enumerate(zip(outputs, tangents, strict=True)):
        made.append(_dual(op, like, x, t, "its output" if count == 1 else f"output {i}"))
    return (*made, *out[count:]) if several else made[0]


def _dual(op: OpOverload, like: Any, x: Any, t: Any, what: str) -> Any:
    if t is None:
        return x
    items = items_of(x)
    if items is not None:
        parts = _parts(t, x)
        if parts is None or len(parts) != len(items):
            raise GradientError(
                f"{op.name}: its jvp rule returned {describe_value(t)} for {what}, which is {describe_value(x)}. "
                "Return the same of tangents, None for those without.",
                operator=op.name,
            )
        return rebuilt(x, [_dual(op, like, item, part, f"a part of {what}") for item, part in zip(items, parts, strict=True)])
    layout = inexact_layout(x)
    if layout is None:
        raise GradientError(
            f"{op.name}: its jvp rule returned a tangent for {what}, which is {describe_value(x)} and has none: only "
            "floating-point and complex values do. Return None for it.",
            operator=op.name,
        )
    if not isinstance(t, np.ndarray) or not has_layout(t, layout):
        t = fitted(op, like, t, layout, what)
    return wrap(DualTensor, x, like, t, True)


def _parts(t: Any, like: Any) -> Any:
    """The tangents of the parts of a container, in their order; None where `t` is none that fits."""
    fields = field_names(type(like))
    keys = tuple(like) if isinstance(like, dict) else fields
    if isinstance(t, dict):
        return None if keys is None or not set(keys).issuperset(t) else [t.get(key) for key in keys]
    return items_of(t) if isinstance(t, (list, tuple) if fields is None and keys is None else type(like)) else None


def fitted(op: OpOverload, like: Any, t: Any, layout: Any, what: str) -> Any:
    """A tangent of the shape and dtype of its output, where broadcasting and a cast explain the difference."""
    shape, dtype = layout
    if isinstance(t, Tensor):
        if t.rank >= like.rank:
            raise EscapedValueError(
                f"{op.name}: its jvp rule returned a {type(t).__name__} of {t.level!r}, which stands above the tangents it was "
                "given. Compute the tangent of what the rule is given, not of values from outside.",
                operator=op.name,
            )
    elif isinstance(t, (int, float, complex)) and not isinstance(t, np.generic):
        t = np.asarray(t, dtype if isinstance(t, bool) or dtype.kind == "c" or not isinstance(t, complex) else None)
    elif not isinstance(t, (np.ndarray, np.generic)):
        raise GradientError(
            f"{op.name}: its jvp rule returned {kind_of(t)} for {what}. Return an array, or None where there is no tangent.",
            operator=op.name,
        )
    given = t.shape
    if len(given) != len(shape) or given != shape:  # their lengths first: tuples compare items of these, which may be symbols
        missing = len(shape) - len(given)
        if missing < 0 or any(n not in (1, m) for n, m in zip(t.shape, shape[missing:], strict=True)):
            raise GradientError(
                f"{op.name}: its jvp rule returned a tangent of shape {t.shape} for {what}, which has shape {shape}. A tangent "
                "has the shape of its output, or one that broadcasts to it.",
                operator=op.name,
            )
        t = broadcast_to(t, shape)
    return t if t.dtype == dtype else astype(t, dtype)
