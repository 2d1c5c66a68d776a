"""Forward mode of loops and branches: a body of values and tangents, which run together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autodiff.forward_mode import jvp
from ..core import DispatchKey, split
from ..core.array_memory import inexact_layout
from ..layers.jvp.tangents import with_tangents
from .operators import cond, scan, while_loop
from .tracing import derive, item_like


class Moving:
    """The arrays of one argument and their tangents, and how they stand in the arguments of a body: values, then tangents.

    With `whole` every array that can move has a tangent, as that of a carry has from the second step on.
    """

    def __init__(self, values: Any, data: Any, *, whole: bool = False) -> None:
        self.values = list(values)
        self.tangents = list(data) if data is not None else [None] * len(self.values)
        if whole:
            pairs = zip(self.values, self.tangents, strict=True)
            self.tangents = [np.zeros_like(x) if t is None and is_inexact(x) else t for x, t in pairs]
        self.both = [*self.values, *[t for t in self.tangents if t is not None]]

    def apart(self, given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The values, and the tangents or None, of arrays like `both`."""
        tangents = iter(given[len(self.values) :])
        return list(given[: len(self.values)]), [None if t is None else next(tangents) for t in self.tangents]


def is_inexact(x: Any) -> bool:
    """Whether an array can have a tangent or a gradient."""
    return inexact_layout(x) is not None


def pushed(body: Any, *groups: tuple[list[Any], list[Any]]) -> tuple[list[Any], list[Any]]:
    """What a body gives, and the tangents of what can have any."""
    primals = tuple([x for values, _ in groups for x in values])
    tangents = tuple([t for _, moves in groups for t in moves])
    if all(t is None for t in tangents):
        out = list(body(*primals))
        return out, [np.zeros_like(x) for x in out if is_inexact(x)]
    out, moved = jvp(body, primals, tangents)
    return out, [t for t in moved if t is not None]


def beside(outs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The tangents in the places of the values that have any, None for the others."""
    given = iter(tangents)
    return [next(given) if is_inexact(x) else None for x in outs]


def push_scan(*args: Any) -> Any:
    """The kernel of `scan` on values with tangents."""
    like, values, data, *_ = split(args)
    body, options = values[0], values[4:]
    carry, xs, captures = Moving(values[1], data[1], whole=True), Moving(values[2], data[2]), Moving(values[3], data[3])
    m, m2, n2 = len(carry.values), len(carry.both), len(xs.both)
    results = 0

    def step(*x: Any) -> list[Any]:
        nonlocal results
        out, moved = pushed(body, carry.apart(x[:m2]), xs.apart(x[m2 : m2 + n2]), captures.apart(x[m2 + n2 :]))
        results = len(out)
        return [*out[:m], *moved[: m2 - m], *out[m:], *moved[m2 - m :]]

    joint = derive(step, [*carry.both, *map(item_like, xs.both), *captures.both])
    last, ys, kept = scan(joint, carry.both, xs.both, captures.both, *options)
    outs, moved = (last[:m], ys[: results - m], kept[:m]), (last[m:], ys[results - m :], kept[m:])
    return with_tangents(scan, like, outs, tuple(map(beside, outs, moved)))


def push_while(*args: Any) -> Any:
    """The kernel of `while_loop` on values with tangents."""
    like, values, data, *_ = split(args)
    test, body, max_steps, keep = values[0], values[1], *values[4:]
    carry, captures = Moving(values[2], data[2], whole=True), Moving(values[3], data[3])
    m, m2 = len(carry.values), len(carry.both)

    def step(*x: Any) -> list[Any]:
        out, moved = pushed(body, carry.apart(x[:m2]), captures.apart(x[m2:]))
        return [*out, *moved]

    given = [*carry.both, *captures.both]
    going = derive(lambda *x: test(*x[:m], *captures.apart(x[m2:])[0]), given)
    last, count, kept = while_loop(going, derive(step, given), carry.both, captures.both, max_steps, keep)
    tangents = beside(last[:m], last[m:]), None, beside(kept[:m], kept[m:])
    return with_tangents(while_loop, like, (last[:m], count, kept[:m]), tangents)


def push_cond(*args: Any) -> Any:
    """The kernel of `cond` on values with tangents."""
    like, values, data, *_ = split(args)
    pred, true, false = values[:3]
    operands, results = Moving(values[3], data[3]), 0

    def moving(branch: Any) -> Any:
        def both(*x: Any) -> list[Any]:
            nonlocal results
            out, moved = pushed(branch, operands.apart(x))
            results = len(out)
            return [*out, *moved]

        return derive(both, operands.both)

    out = cond(pred, moving(true), moving(false), operands.both)
    return with_tangents(cond, like, out[:results], beside(out[:results], out[results:]))


def install() -> None:
    """Register the kernels."""
    for op, kernel in ((scan, push_scan), (while_loop, push_while), (cond, push_cond)):
        op.register_at(DispatchKey.JVP, kernel)
