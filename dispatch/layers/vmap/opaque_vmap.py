"""Users' batching rules that are called as one operator: `solve.vmap_rule`. See layers/opaque_rules.py.

    ns::solve.vmap_rule(Any rest, Tensor[] arrays, Residual residual) -> Tensor[]

`arrays` are those among the operator's arguments; `rest` says in plain data where they belong, where the batch is in each, and
how large it is. It gives the outputs with the batch in front. Their shapes are those that the operator's fake rule says of
an item. A derivative needs no rule of its own: it is that of the operator, item by item.

An operator that writes, or returns something else than single arrays, is looped over instead.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import DispatchKey, Level, OpOverload, Tensor, rank_of, rebuilt, unwrap, wrap
from ...core.pytree import items_of, mapped
from ...dispatcher.rule_parameters import by_position
from ...operators.functional_variant import origin_of
from ...operators.prims import broadcast_to, moveaxis
from ...operators.rule_operators import make
from ...schema.types import TENSOR
from ..opaque_rules import UserRule, apart, fresh, handed, together
from .batched_outputs import rule_output
from .fallback_loop import looped
from .randomness import drawing
from .tensor import Batch, BatchedTensor

WORD = "vmap_rule"


def is_possible(op: OpOverload) -> bool:
    """Whether the outputs are so that they can be told before a rule runs."""
    outputs = op.schema.returns[: len(op.schema.returns) - op.outputs.residual]
    return not op.schema.is_mutable and bool(outputs) and all(r.type == TENSOR and r.alias is None for r in outputs)


def as_one(op: OpOverload, rule: UserRule) -> Callable[..., Any]:
    """A rule by way of its operator."""

    def run(info: Batch, in_dims: Any, *args: Any) -> Any:
        residual = [args[i] for i in handed(op)]
        arrays, *of_arrays = apart([None if i in handed(op) else x for i, x in enumerate(args)])
        rest = {"batch_size": info.batch_size, "randomness": info.randomness, "in_dims": in_dims, "arrays": of_arrays}
        found = operator_of(op, rule).whole(rest, arrays, residual)
        if not op.outputs.residual:
            return (found[0], 0) if len(found) == 1 else (tuple(found), 0)
        outputs, kept = found
        value, dim = kept if kept is not None else (None, None)
        return (*outputs, value), (*[0] * len(outputs), dim)

    return run


def by_loop(op: OpOverload) -> Callable[..., Any]:
    """The loop in the form of a rule, for an operator of whose rule no operator can be made."""
    loop = looped(op, asked=False)

    def run(info: Batch, in_dims: Any, *args: Any) -> Any:
        with Level(WORD, info) as level:
            out = loop(*[_wrapped(x, dim, level) for x, dim in zip(args, in_dims, strict=True)])
            return unwrap(out, rank_of(level.number, DispatchKey.VMAP)), mapped(lambda x: _axis(x, level), out)

    return run


def _axis(x: Any, level: Level) -> int | None:
    return int(x.kept) if isinstance(x, Tensor) and x.level is level else None


def operator_of(op: OpOverload, rule: UserRule) -> OpOverload:
    """The operator of a rule, made when it is first needed."""
    return rule.opacity.operator_made_by(lambda: _made(op, rule))


def vmap_rule(op: OpOverload) -> OpOverload | None:
    """`op.vmap_rule`: the operator of the batching rule that a user gave, None where there is none, or it is looped over."""
    registration = op.table.source(DispatchKey.VMAP)
    rule = None if registration is None else registration.rule
    return operator_of(op, rule) if isinstance(rule, UserRule) and is_possible(op) else None


def _arguments(op: OpOverload, rest: Any, arrays: Any, residual: Any) -> list[Any]:
    args: list[Any] = together(arrays, *rest["arrays"])
    for i, x in zip(handed(op), residual, strict=True):
        args[i] = x
    return args


def _made(op: OpOverload, rule: UserRule) -> OpOverload:
    named, function = origin_of(op) or op, by_position(op, rule.__wrapped__, leading=2)
    loop = drawing(op, looped(op, asked=True))
    count = len(op.schema.returns) - op.outputs.residual

    def given(rest: Any, outputs: list[Any]) -> Any:
        """The outputs, wrapped where they have the batch, as the operator gives them."""
        made = [_fronted(x, rest["batch_size"]) for x in outputs[:count]]
        if not op.outputs.residual:
            return made
        kept = outputs[-1]
        return made, (kept.value, kept.kept) if isinstance(kept, Tensor) else (kept, None)

    def kernel(rest: Any, arrays: Any, residual: Any) -> Any:
        info = Batch(rest["batch_size"], rest["randomness"])
        found = function(info, rest["in_dims"], *_arguments(op, rest, arrays, residual))
        with Level(WORD, info) as level:
            like: Any = wrap(BatchedTensor, np.zeros(info.batch_size), level, 0)
            out = rule_output(op, like, found, arrays)
            made = given(rest, list(out) if len(op.schema.returns) > 1 else [out])
        if not op.outputs.residual:
            return list(fresh(made, arrays))
        return list(fresh(made[0], arrays)), made[1]

    def by_items(rest: Any, arrays: Any, residual: Any) -> Any:
        args = _arguments(op, rest, arrays, residual)
        with Level(WORD, Batch(rest["batch_size"], rest["randomness"])) as level:
            out = loop(*[_wrapped(x, dim, level) for x, dim in zip(args, rest["in_dims"], strict=True)])
            return given(rest, list(out) if len(op.schema.returns) > 1 else [out])

    def fake(rest: Any, arrays: Any, residual: Any) -> Any:
        args = _arguments(op, rest, arrays, residual)
        out = op.whole(*[_item(x, dim) for x, dim in zip(args, rest["in_dims"], strict=True)])
        outputs = list(out)[:count] if len(op.schema.returns) > 1 else [out]
        made = [np.zeros_like(x, shape=(rest["batch_size"], *x.shape)) for x in outputs]
        return (made, None) if op.outputs.residual else made

    returns = "(Tensor[], Residual)" if op.outputs.residual else "Tensor[]"
    schema = f"(Any rest, Tensor[] arrays, Residual residual) -> {returns}"
    made = make(named, WORD, schema, kernel, fake, f"The vmap rule of {named.name}, called as one operator.")
    for key in (DispatchKey.AUTOGRAD, DispatchKey.JVP):
        made.register_at(key, by_items)
    made.register_at(DispatchKey.VMAP, looped(made, asked=bool(rule.opacity.declared)))
    return made


def _fronted(x: Any, size: int) -> Any:
    """An output with the batch in front."""
    if not isinstance(x, BatchedTensor):
        return broadcast_to(np.asarray(x) if not hasattr(x, "shape") else x, (size, *np.shape(x)))
    return moveaxis(x.value, x.dim, 0) if x.dim else x.value


def _wrapped(x: Any, dim: Any, level: Level) -> Any:
    if dim is None:
        return x
    if isinstance(dim, list):
        return rebuilt(x, [_wrapped(item, d, level) for item, d in zip(items_of(x) or (), dim, strict=True)])
    return wrap(BatchedTensor, x, level, dim)


def _item(x: Any, dim: Any) -> Any:
    """An array like one item of an argument."""
    if dim is None:
        return x
    if isinstance(dim, list):
        return rebuilt(x, [_item(item, d) for item, d in zip(items_of(x) or (), dim, strict=True)])
    return np.zeros_like(x, shape=(*x.shape[:dim], *x.shape[dim + 1 :]))
