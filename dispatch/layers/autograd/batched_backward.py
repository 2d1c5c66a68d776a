"""Backwards that take all cotangents at once: `register_autograd(backward, batched=True)`.

A backward of plain code, SciPy's say, cannot take batched values. So the tape calls it through an operator of its own,
`pull_all`. Under a vmap over the cotangents, the batching rule of `pull_all` moves the batch to the front and calls the
backward once, with arrays. Every other layer runs the backward itself, so that one written with operators can be
differentiated.
"""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...core import DispatchKey, OpOverload, share_memory
from ...core.array_memory import unwritable
from ...core.pytree import items_of, leaves, mapped, rebuilt
from ...dispatcher.layer import find_layer
from ...errors import ConversionError, GradientError, kind_of
from ...operators.prims import broadcast_to, moveaxis, select, stack
from ...operators.registry import build
from ...schema.schema import Schema
from ..opaque_rules import apart, together
from .backward_graph import edges_of
from .context import Context, nothing_saved, saved_of, skeletons_of
from .user_rules import unset


class Call(NamedTuple):
    """A call of a backward without its arrays."""

    op: OpOverload
    backward: Callable[..., Any]
    rest: dict[str, Any]  # plain data, as `rest_of` makes it


class Handed:
    """What a backward gets as `ctx` where it is called by way of an operator: what the context kept, with unwrapped arrays."""

    def __init__(self, call: Call, kept: Any, residual: Any) -> None:
        at, tree = call.rest["kept"]
        saved, attributes = together(kept[: len(at)], at, tree)
        self.__dict__.update(attributes)
        self.needs_input_grad = call.rest["needs_input_grad"]
        self.residual = residual
        self._saved = call.op, saved

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given."""
        op, saved = self._saved
        if saved is None:
            raise nothing_saved(op)
        found: tuple[Any, ...] = saved
        return found


def rest_of(ctx: Context, grads: tuple[Any, ...]) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """The arrays among the gradients, those among what the context kept, and where each of them belongs."""
    flowing, *of_grads = apart(grads)
    kept, *of_kept = apart((saved_of(ctx), dict(vars(ctx))))
    rest = {
        "needs_input_grad": ctx.needs_input_grad,
        "layouts": [edge.layout for edge in edges_of(ctx.edges)],
        "skeletons": skeletons_of(ctx),
        "grads": of_grads,
        "kept": of_kept,
    }
    return flowing, kept, rest


def handed(call: Call, kept: Any, residual: Any, grads: Any) -> Any:
    """What a backward gives that is handed what its context kept, and gradients, which it cannot write to."""
    ctx = Handed(call, kept, residual)
    try:
        return call.backward(ctx, *mapped(unwritable, grads))
    except AttributeError as error:
        if error.obj is ctx and error.name:
            raise unset(call.op, "backward", error.name, call.rest["kept"][1][1]) from error
        raise


def at_once(op: OpOverload, backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a backward of one cotangent, made of a backward of many."""

    def pull_one(ctx: Context, *grads: Any) -> Any:
        flowing, kept, rest = rest_of(ctx, grads)
        return pull_all(Call(op, backward, rest), flowing, kept, ctx.residual, 0)

    return pull_one


def _pull_all(call: Call, cotangents: Any, kept: Any, residual: Any, leading: int) -> Any:
    """Run the backward. The cotangents have `leading` first axes, which the backward gets as one."""
    batch = tuple(cotangents[0].shape[:leading])
    count = prod(batch)
    merged = [np.reshape(g, (count, *g.shape[leading:])) for g in cotangents] if leading != 1 else list(cotangents)
    if count == 0:  # of no cotangents at all, plain code may make anything: it is called with one
        merged = [np.zeros_like(g, shape=(1, *g.shape[1:])) for g in merged]
    grads = handed(call, kept, residual, together(merged, *call.rest["grads"]))

    def split(x: Any) -> Any:
        if x is None:
            return None
        shape = getattr(x, "shape", None)
        if not shape or shape[0] != max(count, 1):
            raise _unbatched(call.op, max(count, 1), x)
        if leading == 0:
            return select(x, 0, 0)
        return np.reshape(x[:count], (*batch, *shape[1:])) if leading > 1 or not count else x

    seen = [x for x in (*cotangents, *leaves(kept)) if isinstance(x, np.ndarray)]

    def own(x: Any) -> Any:
        """What came in may go out, as without `batched=True`: an operator returns it in a copy."""
        if not isinstance(x, np.ndarray):
            return x
        x = x.copy(order="K") if any([share_memory(x, y) for y in seen]) else x
        seen.append(x)
        return x

    return mapped(own, mapped(split, grads))


pull_all = build(
    Schema.parse("tape::pull_all(Any rest, Tensor[] grads, Tensor[] kept, Residual residual, int leading) -> Any")
)
pull_all.register_at(DispatchKey.CompositeImplicit, _pull_all)


def batching_rule_of(pull: OpOverload) -> Callable[..., Any]:
    """The rule for batches of what takes any number of cotangents: one call for all; one for each item of what was kept."""

    def rule(info: Any, in_dims: Any, rest: Any, grads: Any, kept: Any, residual: Any, leading: int) -> Any:
        size = info.batch_size
        _, flowing, keeping, of_residual, _ = in_dims
        if keeping is None and of_residual is None:
            dims = flowing or [None] * len(grads)
            fronted = [
                broadcast_to(g, (size, *g.shape)) if dim is None else moveaxis(g, dim, 0)
                for g, dim in zip(grads, dims, strict=True)
            ]
            return pull(rest, fronted, kept, residual, leading + 1), 0
        results = [
            pull(rest, _item(grads, flowing, i), _item(kept, keeping, i), _kept_item(residual, of_residual, i), leading)
            for i in range(size)
        ]
        columns = zip(*map(leaves, results), strict=True)
        return mapped(lambda _: _stacked(next(columns)), results[0]), 0

    return rule


def _item(values: Any, dims: Any, i: int) -> list[Any]:
    dims = dims or [None] * len(values)
    return [x if dim is None else select(x, dim, i) for x, dim in zip(values, dims, strict=True)]


def _kept_item(residual: Any, dims: Any, i: int) -> Any:
    """Return the residual of one item: from its arrays, which have an axis for items, and from lists of other objects."""
    if dims is None:
        return residual
    if isinstance(dims, list):
        return rebuilt(residual, [_kept_item(x, dim, i) for x, dim in zip(items_of(residual) or (), dims, strict=True)])
    return residual[i] if isinstance(residual, list) else select(residual, dims, i)


def _stacked(column: tuple[Any, ...]) -> Any:
    return None if column[0] is None else stack(list(column), 0)


def _unbatched(op: OpOverload, count: int, x: Any) -> GradientError:
    what = f"one of shape {x.shape}" if hasattr(x, "shape") else kind_of(x)
    return GradientError(
        f"{op.name}: its backward was registered with batched=True and got {count} cotangents along a leading axis, and "
        f"returned {what}. Return gradients with the same leading axis, None for those without.",
        operator=op.name,
    )


def refused(op: OpOverload, error: ConversionError, *, batched: bool) -> ConversionError:
    """What to say where a backward that is not to be called as one operator asked a value of a transform for its array."""
    if error.operator:  # a rule that was called in this one has said it
        return error
    advice = "" if batched else "for batches of cotangents register it with batched=True; for second derivatives "
    return ConversionError(
        f"{op.name}: its backward was registered with opaque=False, and under vmap or jacrev, or where it is differentiated "
        "itself, it gets values of that transform. Leave opaque= out, so that it is called as one operator; or write it with "
        f"NumPy's functions and operators; {advice}make what it calls an operator with a derivative. The code met this: "
        f"{error}",
        operator=op.name,
    )


find_layer("vmap").attach(pull_all, batching_rule_of(pull_all))
