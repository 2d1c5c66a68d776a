"""Backwards that take all cotangents at once: `register_autograd(backward, batched=True)`.

A backward of plain code, SciPy's say, cannot take batched values. So the tape calls it through an operator of its own,
`pull_all`. Under a vmap over the cotangents, the batching rule of `pull_all` moves the batch to the front and calls the
backward once, with arrays. Every other layer runs the backward itself, so that one written with operators can be
differentiated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ...core import DispatchKey, OpOverload, is_array
from ...core.pytree import items_of, leaves, mapped, rebuilt
from ...errors import ConversionError, GradientError, kind_of
from ...operators.prims import broadcast_to, moveaxis, select, stack
from ...operators.registry import build
from ...schema.schema import Schema
from .context import Context, nothing_saved, saved_of
from .user_rules import unset


@dataclass(slots=True)
class Place:
    """Stands in a container for an array that is passed beside it."""

    number: int


@dataclass(slots=True)
class Call:
    """A call of a backward without its arrays."""

    op: OpOverload
    backward: Callable[..., Any]
    needs_input_grad: tuple[Any, ...]
    cotangents: Any
    saved: Any
    attributes: dict[str, Any]


class Handed:
    """The `ctx` of a batched backward: what the context kept, with plain arrays."""

    def __init__(self, call: Call, arrays: Any, residual: Any) -> None:
        self.__dict__.update({name: put_back(x, arrays) for name, x in call.attributes.items()})
        self.needs_input_grad = call.needs_input_grad
        self.residual = residual
        self._saved = call.op, put_back(call.saved, arrays)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given."""
        op, saved = self._saved
        if saved is None:
            raise nothing_saved(op)
        found: tuple[Any, ...] = saved
        return found


def at_once(op: OpOverload, backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a backward of one cotangent, made of a backward of many."""

    def pull_one(ctx: Context, *grads: Any) -> Any:
        flowing: list[Any] = []
        kept: list[Any] = []
        cotangents = taken_out(grads, flowing)
        saved, attributes = taken_out(saved_of(ctx), kept), taken_out(dict(vars(ctx)), kept)
        call = Call(op, backward, ctx.needs_input_grad, cotangents, saved, attributes)
        return pull_all(call, flowing, kept, ctx.residual, 0)

    return pull_one


def taken_out(x: Any, found: list[Any]) -> Any:
    """Return a container with a `Place` for each of its arrays, and add the arrays to `found`."""

    def place(leaf: Any) -> Any:
        if not is_array(leaf):
            return leaf
        found.append(leaf)
        return Place(len(found) - 1)

    return mapped(place, x)


def put_back(x: Any, arrays: Any) -> Any:
    """Return the container that `taken_out` was given, with these arrays in their places."""
    return mapped(lambda leaf: arrays[leaf.number] if type(leaf) is Place else leaf, x)


def _pull_all(call: Call, cotangents: Any, kept: Any, residual: Any, leading: int) -> Any:
    """Run the backward. The cotangents have `leading` first axes, which the backward gets as one."""
    batch = tuple(cotangents[0].shape[:leading])
    count = prod(batch)
    merged = [np.reshape(g, (count, *g.shape[leading:])) for g in cotangents] if leading != 1 else list(cotangents)
    if count == 0:  # of no cotangents at all, plain code may make anything: it is called with one
        merged = [np.zeros_like(g, shape=(1, *g.shape[1:])) for g in merged]
    handed = Handed(call, kept, residual)
    try:
        grads = call.backward(handed, *put_back(call.cotangents, merged))
    except AttributeError as error:
        if error.obj is handed and error.name:
            raise unset(call.op, "backward", error.name, call.attributes) from error
        raise

    def split(x: Any) -> Any:
        if x is None:
            return None
        shape = getattr(x, "shape", None)
        if not shape or shape[0] != max(count, 1):
            raise _unbatched(call.op, max(count, 1), x)
        if leading == 0:
            return select(x, 0, 0)
        return np.reshape(x[:count], (*batch, *shape[1:])) if leading > 1 or not count else x

    return mapped(split, grads)


pull_all = build(
    Schema.parse("tape::pull_all(Any call, Tensor[] cotangents, Tensor[] kept, Residual residual, int leading) -> Any")
)
pull_all.register_at(DispatchKey.CompositeImplicit, _pull_all)


def batching_rule(info: Any, in_dims: Any, call: Call, cotangents: Any, kept: Any, residual: Any, leading: int) -> Any:
    """Compute a batch by one call for all cotangents; by one for each item if what was kept has items too."""
    size = info.batch_size
    _, flowing, keeping, of_residual, _ = in_dims
    if keeping is None and of_residual is None:
        dims = flowing or [None] * len(cotangents)
        fronted = [
            broadcast_to(g, (size, *g.shape)) if dim is None else moveaxis(g, dim, 0)
            for g, dim in zip(cotangents, dims, strict=True)
        ]
        return pull_all(call, fronted, kept, residual, leading + 1), 0
    results = [
        pull_all(call, _item(cotangents, flowing, i), _item(kept, keeping, i), _kept_item(residual, of_residual, i), leading)
        for i in range(size)
    ]
    columns = zip(*map(leaves, results), strict=True)
    return mapped(lambda _: _stacked(next(columns)), results[0]), 0


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


def opaque(op: OpOverload, error: ConversionError, *, batched: bool) -> ConversionError:
    """Return the error for a backward of plain code that got a value of a transform."""
    if error.operator:  # a rule that was called in this one has said it
        return error
    advice = (
        ""
        if batched
        else (
            "for batches of cotangents register it with batched=True, or pass chunk_size=1 to jacrev; for second derivatives "
        )
    )
    return ConversionError(
        f"{op.name}: its backward is plain code, and under vmap or jacrev, or where it is differentiated itself, it gets "
        f"values of that transform. Write it with NumPy's functions and operators; {advice}make what it calls an operator "
        f"with a derivative. The code met this: {error}",
        operator=op.name,
    )
