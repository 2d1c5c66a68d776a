"""Batches of loops and branches: a body that runs all items at once.

A carry is batched if it is at the start, or becomes so in a step. A condition that is one for all items stays one; where it
differs from item to item, both branches run for all and each item gets its own, and a loop goes on until the last item is done,
while those that are done keep their carry.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import Level, wrap
from ..dispatcher.layer import find_layer
from ..graph.subgraph import Subgraph
from ..layers.vmap.tensor import BatchedTensor
from ..operators.prims import broadcast_to, moveaxis
from .operators import cond, scan, while_loop
from .tracing import Like, derive, item_like


def fronted(xs: Sequence[Any], dims: Any, to: int = 0) -> tuple[list[Any], list[bool]]:
    """Arrays with the batch as the axis `to`, and which have it."""
    dims = dims if isinstance(dims, (list, tuple)) else [dims] * len(xs)
    made = [x if d is None or d == to else moveaxis(x, d, to) for x, d in zip(xs, dims, strict=True)]
    return made, [d is not None for d in dims]


def batched(
    info: Any, body: Any, like: Sequence[Any], flags: Sequence[bool], out: Sequence[bool], axis: int = 0
) -> tuple[Subgraph, list[bool]]:
    """A body of arrays with the batch in front, where `flags` say so, and which of its results have it in front.

    `out` says which of the results have it in any case; of those behind, each that does, as the axis `axis`.
    """
    found: list[bool] = []

    def run(*args: Any) -> list[Any]:
        with Level("vmap", info) as level:
            inside = [wrap(BatchedTensor, x, level, 0) if flag else x for x, flag in zip(args, flags, strict=True)]
            made = []
            found.clear()
            for i, x in enumerate(body(*inside)):
                is_batched = isinstance(x, BatchedTensor) and x.level is level
                has = is_batched or (i < len(out) and out[i])
                found.append(has)
                if is_batched:
                    to = axis if i >= len(out) else 0
                    made.append(moveaxis(x.value, x.kept, to) if x.kept != to else x.value)
                else:
                    made.append(broadcast_to(x, (info.batch_size, *x.shape)) if has else x)
            return made

    return derive(run, like), found


def batch(info: Any, xs: list[Any], flags: Sequence[bool], wanted: Sequence[bool]) -> list[Any]:
    """Arrays with the batch in front, where it is wanted."""
    each = zip(xs, flags, wanted, strict=True)
    return [broadcast_to(x, (info.batch_size, *x.shape)) if want and not has else x for x, has, want in each]


def _dims(flags: Sequence[bool], axis: int = 0) -> list[int | None]:
    return [axis if flag else None for flag in flags]


def batch_scan(
    info: Any,
    in_dims: Any,
    body: Any,
    carry: Any,
    xs: Any,
    captures: Any,
    length: Any,
    reverse: Any,
    checkpoint: Any,
    keep: Any,
    join: Any,
) -> Any:
    """The batching rule of `scan`."""
    carry, has = fronted(carry, in_dims[1])
    xs, of_xs = fronted(xs, in_dims[2], 1)
    captures, of_captures = fronted(captures, in_dims[3])
    wanted = has
    while True:
        given = batch(info, carry, has, wanted)
        flags = [*wanted, *of_xs, *of_captures]
        made, found = batched(info, body, [*given, *map(item_like, xs), *captures], flags, wanted, int(bool(join)))
        if found[: len(carry)] == wanted:
            break
        wanted = found[: len(carry)]
    out = scan(made, given, xs, captures, length, reverse, checkpoint, keep, join)
    return out, (_dims(wanted), _dims(found[len(carry) :], 1), _dims(wanted, 1) if keep else [])


def batch_while(
    info: Any, in_dims: Any, test: Any, body: Any, carry: Any, captures: Any, max_steps: Any, keep: Any
) -> Any:
    """The batching rule of `while_loop`."""
    carry, has = fronted(carry, in_dims[2])
    captures, of_captures = fronted(captures, in_dims[3])
    wanted = has
    while True:
        given = batch(info, carry, has, wanted)
        like, flags = [*given, *captures], [*wanted, *of_captures]
        going, truth = batched(info, test, like, flags, [])
        if truth[0]:
            return _masked(info, test, body, carry, has, captures, of_captures, max_steps, keep)
        made, found = batched(info, body, like, flags, wanted)
        if found == wanted:
            break
        wanted = found
    out = while_loop(going, made, given, captures, max_steps, keep)
    return out, (_dims(wanted), None, _dims(wanted, 1) if keep else [])


def _masked(
    info: Any, test: Any, body: Any, carry: Any, has: Any, captures: Any, of_captures: Any, max_steps: Any, keep: Any
) -> Any:
    """A loop that goes on while the condition of any item holds; before the carry it has the number of steps of each item."""
    every = [True] * len(carry)
    carry = batch(info, carry, has, every)
    captures = batch(info, captures, of_captures, [True] * len(captures))
    like = [*carry, *captures]
    flags = [True] * len(like)
    going, _ = batched(info, test, like, flags, [True])
    moving, _ = batched(info, body, like, flags, every)
    counts = np.zeros((info.batch_size,), np.int64)
    n = len(carry)
    operands = [Like((info.batch_size,), np.dtype(np.int64)), *like]
    moved = derive(lambda count, *x: [count + 1, *moving(*x)], operands)
    resting = derive(lambda *x: list(x[: n + 1]), operands)

    def step(*x: Any) -> list[Any]:
        found: list[Any] = cond(going(*x[1:])[0], moved, resting, list(x))
        return found

    any_going = derive(lambda *x: [np.any(going(*x[1:])[0])], operands)
    last, _, kept = while_loop(any_going, derive(step, operands), [counts, *carry], captures, max_steps, keep)
    return (last[1:], last[0], kept[1:]), (_dims(every), 0, _dims(every, 1) if keep else [])


def batch_cond(info: Any, in_dims: Any, pred: Any, true: Any, false: Any, operands: Any) -> Any:
    """The batching rule of `cond`: of a batch of conditions, both branches run for all items, and each gets its own."""
    operands, has = fronted(operands, in_dims[3])
    if in_dims[0] is not None or pred.shape:
        given = batch(info, operands, has, [True] * len(operands))
        flags = [True] * len(given)
        branches = [batched(info, branch, given, flags, _all(branch, given))[0] for branch in (true, false)]
        if in_dims[0] is None:
            pred = broadcast_to(pred, (info.batch_size, *pred.shape))
        elif in_dims[0]:
            pred = moveaxis(pred, in_dims[0], 0)
        out = cond(pred, *branches, given)
        return out, _dims([True] * len(out))
    first, of_true = batched(info, true, operands, has, [])
    second, of_false = batched(info, false, operands, has, [])
    if of_true != of_false:
        both = [a or b for a, b in zip(of_true, of_false, strict=True)]
        (first, of_true), (second, _) = (batched(info, branch, operands, has, both) for branch in (true, false))
    out = cond(pred, first, second, operands)
    return out, _dims(of_true)


def _all(branch: Any, like: Sequence[Any]) -> list[bool]:
    count = len(branch.graph.outputs) if type(branch) is Subgraph else len(branch(*like))
    return [True] * count


def install() -> None:
    """Register the rules."""
    for op, rule in ((scan, batch_scan), (while_loop, batch_while), (cond, batch_cond)):
        op.register(find_layer("vmap"), rule)
