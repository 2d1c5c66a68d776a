"""Users' jvp rules, as they are or called as one operator: `solve.jvp_rule`. See layers/opaque_rules.py.

    ns::solve.jvp_rule(Any rest, Tensor[] tangents, Tensor[] arrays, Residual residual) -> Tensor[]

`tangents` are those of the arguments; `arrays` the output and the arguments; `rest` says in plain data where these belong, and
has what is no array; `residual` is what the operator kept, and what another did and is an argument of this. It gives a
tangent for each output that can have one, of its shape and dtype, zeros where the rule gave None.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core import Level, OpOverload, Tensor, wrap
from ...core.array_memory import inexact_layout, unwritable
from ...core.pytree import leaves, mapped, unflatten
from ...dispatcher.layer import find_layer
from ...dispatcher.rule_parameters import by_position
from ...operators.functional_variant import origin_of
from ...operators.rule_operators import make
from ..derivatives import zeros
from ..opaque_rules import UserRule, apart, attempted, fresh, handed, together
from .tangents import with_tangents
from .tensor import DualTensor

WORD = "jvp_rule"
SCHEMA = "(Any rest, Tensor[] tangents, Tensor[] arrays, Residual residual) -> Tensor[]"


def attempting(op: OpOverload, rule: UserRule) -> Callable[..., Any]:
    """A user's rule, every argument by position, which is called as one operator where it is opaque."""
    function = by_position(op, rule.__wrapped__, leading=2)

    def as_one(tangents: tuple[Any, ...], output: Any, *args: Any) -> Any:
        outputs, residual = _without_residuals(op, output, args)
        flowing, *of_tangents = apart(tangents)
        arrays, *of_arrays = apart((outputs, [None if i in handed(op) else x for i, x in enumerate(args)]))
        rest = {"tangents": of_tangents, "arrays": of_arrays}
        found = iter(operator_of(op, rule)(rest, flowing, arrays, residual))
        made = [None if inexact_layout(x) is None else next(found) for x in leaves(outputs)]
        of_outputs = unflatten(outputs, made)
        return of_outputs if len(outputs) > 1 else of_outputs[0]

    return partial(attempted, rule.opacity, op, "jvp rule", function, as_one)


def operator_of(op: OpOverload, rule: UserRule) -> OpOverload:
    """The operator of a rule, made when it is first needed."""
    return rule.opacity.operator_made_by(lambda: _made(op, rule))


def _without_residuals(op: OpOverload, output: Any, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any]]:
    """The outputs, always a tuple, and the residuals: what the operator kept, and what it was handed."""
    outputs = tuple(output) if len(op.schema.returns) > 1 else (output,)
    kept = op.outputs.residual
    return outputs[: len(outputs) - kept], [*outputs[len(outputs) - kept :], *[args[i] for i in handed(op)]]


def _made(op: OpOverload, rule: UserRule) -> OpOverload:
    named, function, places = origin_of(op) or op, by_position(op, rule.__wrapped__, leading=2), handed(op)

    def kernel(rest: Any, tangents: Any, arrays: Any, residual: Any) -> Any:
        outputs, args = together(arrays, *rest["arrays"])
        output = (*outputs, residual[0]) if op.outputs.residual else outputs
        output = output if len(op.schema.returns) > 1 else output[0]
        for i, x in zip(places, residual[op.outputs.residual :], strict=True):
            args[i] = x
        flowing = together([unwritable(t) for t in tangents], *rest["tangents"])
        return list(fresh(_tangents(op, output, function(flowing, output, *args)), (tangents, arrays)))

    def fake(rest: Any, tangents: Any, arrays: Any, residual: Any) -> Any:
        outputs, _ = together(arrays, *rest["arrays"])
        found = [(x, layout) for x in leaves(outputs) if (layout := inexact_layout(x)) is not None]
        return [np.zeros_like(x, dtype=dtype, shape=shape, order="C") for x, (shape, dtype) in found]

    made = make(named, WORD, SCHEMA, kernel, fake, f"The jvp rule of {named.name}, called as one operator.")
    if rule.opacity.declared:  # a loop that nobody asked for warns
        made.register(find_layer("vmap"), "sequential")
    return made


def _tangents(op: OpOverload, output: Any, found: Any) -> list[Any]:
    """What a rule gave for plain outputs, as one array for each that can have a tangent."""
    with Level("tangent") as level:
        like: Any = wrap(DualTensor, np.zeros(()), level)
        # Views of the outputs, since a wrapper makes what it holds read-only.
        out = with_tangents(op, like, mapped(lambda x: x[...] if isinstance(x, np.ndarray) else x, output), found)
        flat = leaves(_without_residuals(op, out, tuple([None] * op.arguments.count))[0])
        made = []
        for x in flat:
            if isinstance(x, Tensor):
                made.append(x.kept)
            elif (layout := inexact_layout(x)) is not None:
                made.append(zeros(layout, x))
        return made
