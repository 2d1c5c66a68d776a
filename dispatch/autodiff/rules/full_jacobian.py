"""The form `jacobian=`: the Jacobian is an array of shape `output.shape + input.shape`, called `J` here.

The tangent is `J t`, the gradient `J^H g`.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...core import OpOverload
from ...core.array_memory import inexact_layout, is_complex
from ...dispatcher.rule_parameters import by_position, check_parameters
from ...errors import GradientError, kind_of
from ...layers.autograd import Rule
from ...layers.autograd.derivative_sources import Form
from ...operators.registry import ops
from .argument_selection import by_argument, check_function, check_single, without_derivative
from .by_columns import outputs_of


def make(op: OpOverload, given: Callable[..., Any], rule: Rule | None) -> Form:
    """Make the form `jacobian=`."""
    check_single(op, "jacobian")
    check_function(op, "jacobian=", given)
    check_parameters(op, given, what="jacobian")
    function = by_position(op, given)
    names = op.arguments.names

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.given = inputs

    def backward(ctx: Any, g: Any) -> Any:
        args = ctx.given
        found = matrices(op, function(*args), args, g.shape)
        row = np.reshape(g, (g.size,))

        def pulled(x: Any, J: Any) -> Any:
            grad = np.reshape(ops.np.matmul(row, np.conjugate(J)), x.shape)
            # Of a real argument and a complex output the real part is what is meant; where both are real, the tape refuses it.
            return np.real(grad) if is_complex(row) and not is_complex(x) else grad

        return tuple(
            [
                pulled(x, found[name]) if needed and name in found else None
                for name, x, needed in zip(names, args, ctx.needs_input_grad, strict=True)
            ]
        )

    def jvp(tangents: Any, output: Any, *args: Any) -> Any:
        shape = outputs_of(op, output).shape
        found = matrices(op, function(*args), args, shape)
        total: Any = None
        for name, t in zip(names, tangents, strict=True):
            if t is not None and name in found:
                term = ops.np.matmul(found[name], np.reshape(t, (t.size,)))
                total = term if total is None else ops.np.add(total, term)
        return None if total is None else np.reshape(total, shape)

    return Form(Rule(backward, setup_context), jvp, given)


def matrices(op: OpOverload, given: Any, args: tuple[Any, ...], shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the Jacobians as matrices, for the arguments that have one."""
    found = by_argument(op, given, "what jacobian= returns", GradientError)
    made = {}
    for name, x in zip(op.arguments.names, args, strict=True):
        if inexact_layout(x) is None:
            continue
        if name not in found:
            raise without_derivative(op, name, "jacobian=")
        J = found[name]
        if J is None:
            continue
        wanted = (*shape, *x.shape)
        if getattr(J, "shape", None) != wanted:
            got = f"has shape {J.shape}" if hasattr(J, "shape") else f"is {kind_of(J)}"
            raise GradientError(
                f"{op.name}: its Jacobian by {name!r} {got}, and the output has shape {shape} and the argument {x.shape}. "
                f"A Jacobian has the shape of the output and then of the argument, {wanted}.",
                operator=op.name,
                argument=name,
            )
        made[name] = np.reshape(J, (prod(shape), prod(x.shape)))
    return made
