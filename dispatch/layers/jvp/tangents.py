"""Prepares tangents for rules, with zeros where there is none, and joins the tangents that rules return to the outputs."""

from typing import Any

import numpy as np

from ...core import OpOverload, Tensor, wrap
from ...core.array_memory import has_layout, inexact_layout, is_complex
from ...core.pytree import items_of, rebuilt
from ...dispatcher.printing import describe_value
from ...errors import EscapedValueError, GradientError, how_many, kind_of
from ...operators.prims import add
from ..derivatives import fitted as of_layout
from ..derivatives import parts_like, zeros
from .tensor import DualTensor


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


def added(x: Any, y: Any) -> Any:
    """The sum of two tangents, or of two tuples or lists of them; None is zero."""
    if x is None or y is None:
        return y if x is None else x
    if items_of(x) is not None:
        return rebuilt(x, [added(a, b) for a, b in zip(items_of(x) or (), items_of(y) or (), strict=True)])
    return add(x, y)


def with_tangents(op: OpOverload, like: Any, out: Any, tangents: Any, *, by_row: bool = False) -> Any:
    """The outputs of an operator, `op.whole`, with the tangents that a rule gave for them, at the level and rank of `like`.

    There is one tangent for one output, a tuple of them for several, and None where there is none. In a row's formula the real
    part of a complex tangent is what is meant, where the output is real; of a user's rule it is an error.
    """
    count = len(op.schema.returns) - op.outputs.residual
    several = type(out) in (tuple, list) and len(op.schema.returns) > 1
    outputs = list(out)[:count] if several else [out]
    if tangents is None:
        return out
    if count == 1:
        tangents = (tangents,)
    elif not isinstance(tangents, (tuple, list)) or len(tangents) != count:
        some = how_many(len(tangents), "tangent") if isinstance(tangents, (tuple, list)) else kind_of(tangents)
        raise GradientError(
            f"{op.name}: its jvp rule returned {some}, and the operator has {how_many(count, 'output')}. Return a tuple of "
            "one for each, None for those without.",
            operator=op.name,
        )
    made = []
    for i, (x, t) in enumerate(zip(outputs, tangents, strict=True)):
        made.append(with_tangent(op, like, x, t, "its output" if count == 1 else f"output {i}", by_row))
    return (*made, *out[count:]) if several else made[0]


def with_tangent(op: OpOverload, like: Any, x: Any, t: Any, what: str, by_row: bool) -> Any:
    """One output of an operator with the tangent that a rule gave for it."""
    if t is None:
        return x
    items = items_of(x)
    if items is not None:
        parts = parts_like(t, x)
        if parts is None or len(parts) != len(items):
            raise GradientError(
                f"{op.name}: its jvp rule returned {describe_value(t)} for {what}, which is {describe_value(x)}. "
                "Return the same of tangents, None for those without.",
                operator=op.name,
            )
        what = f"a part of {what}"
        return rebuilt(x, [with_tangent(op, like, item, part, what, by_row) for item, part in zip(items, parts, strict=True)])
    layout = inexact_layout(x)
    if layout is None:
        raise GradientError(
            f"{op.name}: its jvp rule returned a tangent for {what}, which is {describe_value(x)} and has none: only "
            "floating-point and complex values do. Return None for it.",
            operator=op.name,
        )
    return dual(op, like, x, t, layout, what, by_row)


def dual(
    op: OpOverload, like: Any, x: Any, t: Any, layout: Any, what: str = "its output", by_row: bool = True
) -> DualTensor:
    """An output and the tangent that a rule gave for it, completed by a broadcast and a cast where these explain it."""
    if not isinstance(t, (np.ndarray, np.float64)) or not has_layout(t, layout):
        t = _fitted(op, like, t, layout, what, by_row)
    made: DualTensor = wrap(DualTensor, x, like, t, True)
    return made


def _fitted(op: OpOverload, like: Any, t: Any, layout: Any, what: str, by_row: bool) -> Any:
    if isinstance(t, Tensor) and t.rank >= like.rank:
        raise EscapedValueError(
            f"{op.name}: its jvp rule returned a {type(t).__name__} of {t.level!r}, which stands above the tangents it was "
            "given. Compute the tangent of what the rule is given, not of values from outside.",
            operator=op.name,
        )
    made = of_layout(t, layout, summed=False)
    if made is not None:
        if not by_row and layout[1].kind != "c" and is_complex(t):
            raise GradientError(
                f"{op.name}: its jvp rule gave a complex tangent for {what}, which is real. The imaginary part would be lost "
                "in silence: write .real where it has no meaning.",
                operator=op.name,
            )
        return made
    if not hasattr(t, "shape"):
        raise GradientError(
            f"{op.name}: its jvp rule returned {kind_of(t)} for {what}. Return an array, or None where there is no tangent"
            f"{'; the rule is given the tangents as a tuple, one for each argument: tangents[0]' * isinstance(t, tuple)}.",
            operator=op.name,
        )
    names, taken = op.arguments.names, ""
    if len(t.shape) > len(layout[0]) and t.shape[0] == len(names):  # NumPy has made an array of the tuple
        taken = f" Its first argument is a tuple, tangents, with one for each of ({', '.join(names)}), None for what has none."
    raise GradientError(
        f"{op.name}: its jvp rule returned a tangent of shape {t.shape} for {what}, which has shape {layout[0]}. A tangent "
        f"has the shape of its output, or one that broadcasts to it.{taken}",
        operator=op.name,
    )
