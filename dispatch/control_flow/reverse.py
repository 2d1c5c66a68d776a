"""Reverse mode of loops and branches.

A loop is run with the carry before each step kept; the backward is a loop in the other direction, whose body is the pullback of
the body at the kept carry. With checkpoints every k steps only each k-th carry is kept: the backward goes from segment to
segment, and runs each once more to have its carries. A backward is made of the same operators, so that it has all rules itself.

    g_carry, g_captures = 0, 0
    for i in reversed(range(n)):
        g_carry, g_x[i], g = pullback(body at carry[i], x[i], captures)(g_carry, g_y[i])
        g_captures += g
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autodiff.reverse_mode import vjp
from ..core import DispatchKey
from ..dispatcher.layer import find_layer
from .forward import is_inexact
from .operators import cond, scan, while_loop
from .tracing import Like, derive, item_like


class Pulled:
    """Which arguments of a body are given gradients, all that can have one of the carry and those asked for of the others."""

    def __init__(self, carry: Sequence[Any], xs: Sequence[Any], captures: Sequence[Any], needs: Any) -> None:
        self.groups = [list(carry), list(xs), list(captures)]
        self.asked = [
            [is_inexact(x) for x in carry],
            [need and is_inexact(x) for x, need in zip(xs, each(needs[1], xs), strict=True)],
            [need and is_inexact(x) for x, need in zip(captures, each(needs[2], captures), strict=True)],
        ]

    def chosen(self, group: int) -> list[Any]:
        """The arrays of a group that are given gradients."""
        return [x for x, asked in zip(self.groups[group], self.asked[group], strict=True) if asked]

    def filled(self, group: int, grads: Sequence[Any]) -> list[Any]:
        """Gradients in the places of the arrays of a group, None for the others."""
        given = iter(grads)
        return [next(given) if asked else None for asked in self.asked[group]]

    def pull(self, body: Any, values: Sequence[Any], seeds: Callable[[list[Any]], list[Any]]) -> list[list[Any]]:
        """The gradients of the arguments of a body, by group; `seeds` gives those of its results, None where there is none."""
        flags = [asked for group in self.asked for asked in group]
        used: list[int] = []
        cotangents: list[Any] = []

        def inexact(*active: Any) -> list[Any]:
            given = iter(active)
            out = body(*[next(given) if flag else x for x, flag in zip(values, flags, strict=True)])
            found = seeds(out)
            used[:] = [i for i, g in enumerate(found) if g is not None and is_inexact(out[i])]
            cotangents[:] = [found[i] for i in used]
            return [out[i] for i in used]

        active = [x for x, flag in zip(values, flags, strict=True) if flag]
        _, pullback = vjp(inexact, *active)
        grads = iter(pullback(list(cotangents)) if used else [np.zeros_like(x) for x in active])
        return [[next(grads) for asked in group if asked] for group in self.asked]


def each(needs: Any, values: Sequence[Any]) -> list[bool]:
    """Whether each of some values needs a gradient."""
    return list(needs) if isinstance(needs, (list, tuple)) else [bool(needs)] * len(values)


def present(grads: Any, count: int) -> list[Any]:
    """The gradients of a list of results, None where there is none."""
    return [None] * count if grads is None else list(grads)


def zeros_like(x: Any, shape: Any) -> Any:
    """Zeros of the dtype and the transforms of an array."""
    return np.zeros_like(x, shape=tuple(shape))


# -- scan ------------------------------------------------------------------------------------------------------------------


def keep_scan(ctx: Any, inputs: Any, output: Any) -> None:
    """Keep what the backward of a scan reads."""
    body, carry, xs, captures, length, reverse, checkpoint, _, join = inputs
    ctx.set_materialize_grads(False)
    ctx.counts = len(carry), len(xs), len(captures), len(output[1])
    ctx.plain = body, length, reverse, checkpoint, join
    ctx.save_for_backward(*xs, *captures, *output[2])


def pull_scan(ctx: Any, g_last: Any, g_ys: Any, g_kept: Any) -> Any:
    """The backward of a scan."""
    m, n_xs, n_captures, n_ys = ctx.counts
    body, length, reverse, checkpoint, join = ctx.plain
    saved = list(ctx.saved_tensors)
    xs, captures, kept = saved[:n_xs], saved[n_xs : n_xs + n_captures], saved[n_xs + n_captures :]
    needs = [x or False for x in ctx.needs_input_grad[1:4]]
    pulled = Pulled(list(map(item_like, kept)), list(map(item_like, xs)), captures, needs)
    ends = [
        zeros_like(k, k.shape[1:]) if g is None else g
        for g, k, asked in zip(present(g_last, m), kept, pulled.asked[0], strict=True)
        if asked
    ]
    sums = [np.zeros_like(x) for x in pulled.chosen(2)]
    g_ys = present(g_ys, n_ys)
    if join:
        g_ys = [None if g is None else g.reshape((length, join, *g.shape[1:])) for g in g_ys]
    flows = g_ys, present(g_kept, m)
    run = pull_steps if checkpoint == 1 else pull_segments
    carry, g_xs = run(pulled, body, [*ends, *sums], kept, xs, flows, captures, length, reverse, checkpoint)
    return (
        None,
        pulled.filled(0, carry[: len(ends)]),
        pulled.filled(1, g_xs),
        pulled.filled(2, carry[len(ends) :]),
        None,
        None,
        None,
        None,
        None,
    )


def pull_steps(
    pulled: Pulled, body: Any, carry: Any, kept: Any, xs: Any, flows: Any, captures: Any, length: Any, reverse: bool, _: Any
) -> Any:
    """The backward of steps whose carries are all kept: a scan in the other direction."""
    given_ys, given_kept = [[g for g in flow if g is not None] for flow in flows]
    m, n_carry, n_xs = len(kept), sum(pulled.asked[0]), len(xs)
    rows = [*kept, *xs, *given_ys, *given_kept]

    def step(*x: Any) -> list[Any]:
        ct, sums, row, caps = x[:n_carry], x[n_carry : len(carry)], x[len(carry) :][: len(rows)], x[len(carry) + len(rows) :]
        values, flowing = [*row[: m + n_xs], *caps], iter(row[m + n_xs :])
        g_y = [None if g is None else next(flowing) for g in flows[0]]
        g_k = [None if g is None else next(flowing) for g in flows[1]]
        by_carry, by_xs, by_captures = pulled.pull(body, values, lambda out: [*pulled.filled(0, ct), *g_y])
        more = [g for g, asked in zip(g_k, pulled.asked[0], strict=True) if asked]
        by_carry = [g if k is None else g + k for g, k in zip(by_carry, more, strict=True)]
        return [*by_carry, *[s + g for s, g in zip(sums, by_captures, strict=True)], *by_xs]

    made = derive(step, [*carry, *map(item_like, rows), *captures], "g")
    last, g_xs, _ = scan(made, carry, rows, captures, length, not reverse, 1, False)
    return last, g_xs


def pull_segments(
    pulled: Pulled, body: Any, carry: Any, kept: Any, xs: Any, flows: Any, captures: Any, length: Any, reverse: bool, k: int
) -> Any:
    """The backward of steps of which each k-th carry is kept: of the last few, then a scan over the segments before."""
    m, n_xs, whole = len(kept), len(xs), length // k
    end = whole * k
    parts: list[list[Any]] = []
    given_ys, given_kept = [[g for g in flow if g is not None] for flow in flows]

    def segment(carry: Any, starts: Any, xs: Any, g_ys: Any, g_kept: Any, captures: Any, length: Any) -> Any:
        """The backward of one segment from the carry at its start, whose gradient `g_kept` is."""
        _, _, inner = scan(body, starts, xs, captures, length, False, 1, True)
        carry, g_xs = pull_steps(pulled, body, carry, inner, xs, (g_ys, [None] * m), captures, length, False, 1)
        count = sum(pulled.asked[0])
        more = [g for g, asked in zip(g_kept, pulled.asked[0], strict=True) if asked]
        return [*[g if e is None else g + e for g, e in zip(carry[:count], more, strict=True)], *carry[count:]], g_xs

    if end < length:
        g_y, g_k = [None if g is None else g[end:] for g in flows[0]], [None if g is None else g[whole] for g in flows[1]]
        carry, g_tail = segment(carry, [x[whole] for x in kept], [x[end:] for x in xs], g_y, g_k, captures, length - end)
        parts.append(g_tail)
    if whole:
        cut = [x[:end].reshape((whole, k, *x.shape[1:])) for x in (*xs, *given_ys)]
        rows = [*[x[:whole] for x in kept], *cut, *[x[:whole] for x in given_kept]]

        def step(*x: Any) -> list[Any]:
            carry_, row, caps = x[: len(carry)], list(x[len(carry) :][: len(rows)]), x[len(carry) + len(rows) :]
            flowing = iter(row[m + n_xs :])
            g_y = [None if g is None else next(flowing) for g in flows[0]]
            g_k = [None if g is None else next(flowing) for g in flows[1]]
            carry_, g_xs = segment(list(carry_), row[:m], row[m : m + n_xs], g_y, g_k, list(caps), k)
            return [*carry_, *g_xs]

        made = derive(step, [*carry, *map(item_like, rows), *captures], "g")
        carry, g_xs, _ = scan(made, carry, rows, captures, whole, True, 1, False, k)
        parts.insert(0, g_xs)
    if len(parts) < 2:
        return carry, parts[0] if parts else [np.zeros_like(x) for x in xs]
    return carry, [np.concatenate(each) for each in zip(*parts, strict=True)]


# -- while_loop ------------------------------------------------------------------------------------------------------------


def keep_while(ctx: Any, inputs: Any, output: Any) -> None:
    """Keep what the backward of a while loop reads."""
    _, body, carry, captures, _, _ = inputs
    ctx.set_materialize_grads(False)
    ctx.counts, ctx.plain = (len(carry), len(captures)), body
    ctx.save_for_backward(*captures, *output[2], output[1])


def pull_while(ctx: Any, g_last: Any, g_count: Any, g_kept: Any) -> Any:
    """The backward of a while loop: a scan over the kept carries, which does nothing for those of no step."""
    m, n_captures = ctx.counts
    body, saved = ctx.plain, list(ctx.saved_tensors)
    captures, kept, count = saved[:n_captures], saved[n_captures:-1], saved[-1]
    likes = list(map(item_like, kept))
    needs = ctx.needs_input_grad
    pulled = Pulled(likes, [], captures, [True, [], needs[3] or False])
    ends = [
        zeros_like(k, k.shape[1:]) if g is None else g
        for g, k, asked in zip(present(g_last, m), kept, pulled.asked[0], strict=True)
        if asked
    ]
    carry = [*ends, *[np.zeros_like(x) for x in pulled.chosen(2)]]
    given = [g for g in present(g_kept, m) if g is not None]
    length = kept[0].shape[0] if kept else 0
    steps = np.arange(length) < count
    rows = [steps, *kept, *given]
    flags = [g is not None for g in present(g_kept, m)]

    def pull(*x: Any) -> list[Any]:
        ct, sums = x[: len(ends)], x[len(ends) : len(carry)]
        values, extra, caps = x[len(carry) :][:m], iter(x[len(carry) + m :][: len(given)]), x[len(carry) + m + len(given) :]
        by_carry, _, by_captures = pulled.pull(body, [*values, *caps], lambda out: pulled.filled(0, ct))
        more = [next(extra) if flag else None for flag in flags]
        chosen = [g for g, asked in zip(more, pulled.asked[0], strict=True) if asked]
        by_carry = [g if k is None else g + k for g, k in zip(by_carry, chosen, strict=True)]
        return [*by_carry, *[s + g for s, g in zip(sums, by_captures, strict=True)]]

    operands = [*carry, *map(item_like, rows[1:]), *captures]
    pulling = derive(pull, operands, "g")
    resting = derive(lambda *x: list(x[: len(carry)]), operands, "g")

    def step(*x: Any) -> list[Any]:
        going, rest = x[len(carry)], [*x[: len(carry)], *x[len(carry) + 1 :]]
        found: list[Any] = cond(going, pulling, resting, rest)
        return found

    made = derive(step, [*carry, Like((), np.dtype(bool)), *operands[len(carry) :]], "g")
    last, _, _ = scan(made, carry, rows, captures, length, True, 1, False)
    return None, None, pulled.filled(0, last[: len(ends)]), pulled.filled(2, last[len(ends) :]), None, None


# -- cond ------------------------------------------------------------------------------------------------------------------


def keep_cond(ctx: Any, inputs: Any, output: Any) -> None:
    """Keep what the backward of a branch reads."""
    pred, true, false, operands = inputs
    ctx.set_materialize_grads(False)
    ctx.plain = true, false
    ctx.save_for_backward(pred, *operands)


def pull_cond(ctx: Any, grads: Any) -> Any:
    """The backward of a branch: a branch of the two pullbacks."""
    (pred, *operands), branches = ctx.saved_tensors, ctx.plain
    pulled = Pulled([], [], operands, [[], [], ctx.needs_input_grad[3] or False])
    given = [g for g in grads if g is not None]

    def pulling(branch: Any) -> Any:
        def step(*x: Any) -> list[Any]:
            flowing = iter(x[: len(given)])
            seeds = [None if g is None else next(flowing) for g in grads]
            return pulled.pull(branch, x[len(given) :], lambda out: seeds)[2]

        return derive(step, [*given, *operands], "g")

    made = cond(pred, *map(pulling, branches), [*given, *operands])
    return None, None, None, pulled.filled(2, made)


# -- kernels ---------------------------------------------------------------------------------------------------------------


def keeping(op: Any, place: int, setup: Callable[..., None], backward: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel that records a loop, with its carries kept."""
    layer = find_layer("autograd")
    recorded = layer.lower(op, layer.rule(backward, setup_context=setup, opaque=False))

    def kernel(*args: Any) -> Any:
        if args[place]:
            return recorded(*args)
        out = op(*args[:place], True, *args[place + 1 :])
        return (*out[:-1], [])

    return kernel


def install() -> None:
    """Register the kernels."""
    for op, setup, backward in ((scan, keep_scan, pull_scan), (while_loop, keep_while, pull_while)):
        place = op.arguments.names.index("keep")
        op.register_at(DispatchKey.AUTOGRAD, keeping(op, place, setup, backward))
    cond.register_autograd(pull_cond, setup_context=keep_cond, opaque=False)
