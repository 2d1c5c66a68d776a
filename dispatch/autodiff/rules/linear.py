"""The form `linear=`: the operator is linear in some arguments, and so is its own derivative.

`op(x + t) = op(x) + op(t)`, in all the named arguments together, while the others stay the same. The gradient is the transpose:
the backward that was given beside it, or one made of the operator's values on unit arrays, a call for each element. Both run
the kernel on values of their own; before the first of these `op(-2 x)` is compared with `-2 op(x)`.
"""

from typing import Any

import numpy as np

from ...core import OpOverload, Tensor, is_array, split
from ...core.array_memory import inexact_layout
from ...core.pytree import items_of, leaves, mapped, rebuilt
from ...dispatcher.layer import Kernel
from ...errors import DefinitionError, GradientError, did_you_mean, kind_of
from ...layers.autograd import Rule
from ...layers.autograd.derivative_sources import Form
from ...schema.tags import Tag
from .argument_selection import array_names
from .by_columns import check_needs, gradients, outputs_of

__all__ = ["make", "where_held"]


def make(op: OpOverload, given: Any, rule: Rule | None) -> Form:
    """Make the form `linear=`."""
    names = array_names(op)
    if given is not True and not isinstance(given, (str, list, tuple, set, frozenset)):
        said = f"{op.name}: linear= names the arrays in which it is linear, in a tuple, or is True for all"
        raise DefinitionError(f"{said}, and was given {kind_of(given)}.", operator=op.name)
    linear = tuple(names) if given is True else (given,) if isinstance(given, str) else tuple(given)
    for name in linear:
        if not isinstance(name, str):
            raise DefinitionError(f"{op.name}: linear= names arrays, and {kind_of(name)} is among them.", operator=op.name)
        if name not in names:
            raise DefinitionError(
                f"{op.name}: linear= names {name!r}, and the operator's arrays are {', '.join(names)}."
                f"{did_you_mean(name, names)} Name those in which it is linear, or True for all.",
                operator=op.name,
            )
    held = frozenset(names) - frozenset(linear)
    moving = [a.name in linear for a in op.schema.arguments]

    held_to: list[bool] = []

    def push(tangents: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        if not held_to and _is_plain(args) and Tag.random not in op.tags:
            _hold(op, moving, args)
            held_to.append(True)  # behind it: what is not linear raises at each derivative
        along = [_tangent(x, t) if moves else x for x, t, moves in zip(args, tangents, moving, strict=True)]
        return outputs_of(op, op.whole(*along))

    def jvp(tangents: Any, output: Any, *args: Any) -> Any:
        return mapped(lambda x: None if inexact_layout(x) is None else x, push(tangents, args))

    return Form(_transposed(op, held, push) if rule is None else rule, jvp, None if rule is None else rule.backward, held)


def _is_plain(args: tuple[Any, ...]) -> bool:
    """Whether arguments are arrays of NumPy, and no values of a transform."""
    return all(type(x) is np.ndarray or not is_array(x) for x in leaves(args))


def _hold(op: OpOverload, moving: list[bool], args: tuple[Any, ...]) -> None:
    """Raise where an operator is not homogeneous in the arrays in which it is said to be linear."""

    def times(factor: float) -> list[Any]:
        def made(x: Any) -> Any:
            if inexact_layout(x) is None:
                return _tangent(x, None)
            return (factor * np.linspace(0.5, 1.5, x.size)).reshape(x.shape).astype(x.dtype)  # no two are equal

        given = [mapped(made, x) if moves else x for x, moves in zip(args, moving, strict=True)]
        return [x for x in leaves(outputs_of(op, op.whole(*given))) if inexact_layout(x) is not None]

    with np.errstate(all="ignore"):
        for once, twice in zip(times(1.0), times(-2.0), strict=True):
            if isinstance(once, Tensor):  # of a mode that is on, with no data
                continue
            most = np.abs(once).max(initial=0.0)
            if np.abs(twice + 2 * once).max(initial=0.0) > 1e-2 * most:  # false where either is no number
                named = ", ".join(name for name, moves in zip(op.arguments.names, moving, strict=True) if moves)
                raise GradientError(
                    f"{op.name}: linear= says that it is linear in {named}, and for -2 times the same values its kernel gives "
                    "something else than -2 times the result. Register its backward, elementwise= or a jvp rule in its place.",
                    operator=op.name,
                )


def _tangent(x: Any, t: Any) -> Any:
    """Return a tangent that the operator takes: zeros for an argument that has none, an integer say."""
    items = items_of(x)
    if items is not None:
        return rebuilt(x, [_tangent(item, part) for item, part in zip(items, items_of(t) or (), strict=True)])
    return np.zeros_like(x) if t is None and hasattr(x, "shape") else type(x)(0) if t is None and x is not None else t


def _transposed(op: OpOverload, held: frozenset[str], push: Any) -> Rule:
    """Return the rule of the gradient, made of the operator's values."""

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.given = inputs

    def backward(ctx: Any, *grads: Any) -> Any:
        check_needs(op, ctx.needs_input_grad, held, "linear=")
        args = ctx.given
        nothing = mapped(lambda x: np.zeros(x.shape, x.dtype) if inexact_layout(x) is not None else None, args)

        def column(path: tuple[int, ...], unit: Any) -> Any:
            return push(_with(nothing, path, unit), args)

        return gradients(op, args, ctx.needs_input_grad, grads, column)

    return Rule(backward, setup_context, batched=True)


def _with(x: Any, path: tuple[int, ...], value: Any) -> Any:
    """Return a container with another value at one place."""
    if not path:
        return value
    items = list(items_of(x) or ())
    items[path[0]] = _with(items[path[0]], path[1:], value)
    return rebuilt(x, items)


def where_held(op: OpOverload, held: frozenset[str], kernel: Kernel, general: Kernel) -> Kernel:
    """Return the kernel of forward mode: `general` if an argument has a tangent in which the operator is not linear."""
    mask = sum(1 << i for i, name in enumerate(op.arguments.names) if name in held)

    def choosing(*args: Any) -> Any:
        return (general if split(args)[3] & mask else kernel)(*args)

    return choosing
