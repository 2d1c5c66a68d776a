"""The loops and branches of dispatch.control_flow as Python's own, and programs that are written with either.

A program takes what loops with, `by`, and a vector; `OURS` and `UNROLLED` are what it may be given.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import dispatch
from dispatch import control_flow
from dispatch.core import Tensor
from dispatch.core.pytree import leaves, unflatten


def _items(xs: Any, i: int) -> Any:
    return unflatten(xs, [None if x is None else x[i] for x in leaves(xs)])


def _stacked(ys: list[Any]) -> Any:
    columns = zip(*[leaves(y) for y in ys], strict=True)
    return unflatten(ys[0], [None if c[0] is None else np.stack(c) for c in columns])


def scan(f, init, xs=None, length=None, *, reverse=False, checkpoint=False):
    n = length if xs is None else next(len(x) for x in leaves(xs) if x is not None)
    carry, ys = init, []
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, _items(xs, i))
        ys.append(y)
    return carry, _stacked(ys[::-1] if reverse else ys)


def fori_loop(lower, upper, body, init):
    carry = init
    for i in range(lower, upper):
        carry = body(np.int64(i), carry)
    return carry


def while_loop(cond, body, init, *, max_steps=None):
    """A loop whose condition may be a batch: those that are done keep their carry."""
    carry, count = init, 0
    while True:
        going = cond(carry)
        if not bool(np.any(_plain(going))):
            return carry
        new = body(carry)
        carry = unflatten(carry, [np.where(going, x, y) for x, y in zip(leaves(new), leaves(carry), strict=True)])
        count += 1


def cond(pred, true, false, *operands):
    chosen = zip(leaves(true(*operands)), leaves(false(*operands)), strict=True)
    return unflatten(true(*operands), [np.where(pred, x, y) for x, y in chosen])


def map(f, xs):  # noqa: A001
    return scan(lambda carry, x: (None, f(x)), None, xs)[1]


def _plain(x: Any) -> Any:
    while isinstance(x, Tensor):
        x = x.value
    return x


OURS = SimpleNamespace(
    scan=dispatch.scan, fori_loop=dispatch.fori_loop, while_loop=dispatch.while_loop, cond=dispatch.cond, map=control_flow.map
)
UNROLLED = SimpleNamespace(scan=scan, fori_loop=fori_loop, while_loop=while_loop, cond=cond, map=map)

A = np.array([[0.3, -0.2, 0.1], [0.1, 0.4, -0.3], [0.2, 0.1, 0.3]])
XS = np.array([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7], [0.2, 0.9, 1.1], [-0.4, 0.8, 0.6]])


def of_closure(by, x):
    """Everything that varies is closed over."""
    return by.scan(lambda c, row: (np.sin(c * x) + row, None), np.zeros(3), XS)[0]


def of_carry(by, x):
    """What varies is in the carry."""
    return by.scan(lambda c, row: (np.tanh(A @ c) * row + c, np.sum(c * row)), x, XS)[1]


def of_items(by, x):
    """What varies is scanned, in a container, beside an array that does not."""
    f = lambda c, item: (c * item["x"] + np.sum(item["row"]), (c, item["x"] * c))
    last, ys = by.scan(f, 1.0, {"x": x, "row": XS[:3]})
    return ys[0] * ys[1] + last


def backwards(by, x):
    """From the last item to the first; the carry is a tuple with a counter."""
    f = lambda c, row: ((c[0] * row + x, c[1] + 1), c[0] * x + c[1])
    (last, count), ys = by.scan(f, (x * x, 0), XS, reverse=True)
    return last * count + np.sum(ys * XS, 0)


def checkpointed(by, x):
    """Each second carry is kept, and one step is left over."""
    f = lambda c, i: (np.sin(c) + x * i, c * c)
    last, ys = by.scan(f, x, np.linspace(0.1, 1.0, 5), checkpoint=2)
    return last + np.sum(ys * np.arange(5.0)[:, None], 0)


def checkpointed_backwards(by, x):
    f = lambda c, i: (np.sin(c) + x * i, c * c)
    last, ys = by.scan(f, x, np.linspace(0.1, 1.0, 4), reverse=True, checkpoint=True)
    return last + np.sum(ys * np.arange(4.0)[:, None], 0)


def checkpointed_items(by, x):
    """Checkpoints of a loop over what varies."""
    last, ys = by.scan(lambda c, t: (np.sin(c) * t + c, c * t), x[0], np.concatenate([x, x * x]), checkpoint=4)
    return last * x + np.sum(ys)


def counted(by, x):
    """A loop over numbers that index."""
    return by.fori_loop(0, 3, lambda i, c: c * x[i] + np.cos(c), x * x)


def until(by, x):
    """A loop as long as a number says, which differs from item to item of a batch."""
    f = lambda c: (c[0] * 1.5 + np.sin(x), c[1] + 1)
    return by.while_loop(lambda c: np.sum(c[0] * c[0]) < 40.0, f, (x, 0), max_steps=12)[0]


def until_count(by, x):
    """A loop of a number of steps that is one for all items of a batch."""
    return by.while_loop(lambda c: c["n"] < 3, lambda c: {"x": c["x"] * x + 1.0, "n": c["n"] + 1}, {"x": x, "n": 0}, max_steps=4)["x"]


def chosen(by, x):
    """A branch by a number, which differs from item to item of a batch."""
    return by.cond(np.sum(x) > 3.05, lambda y: np.sin(y) * x, lambda y: y**3 + 1.0, x * 2.0)


def chosen_for_all(by, x):
    """A branch that is one for all."""
    return by.cond(np.asarray(XS[0, 0] > 0.0), lambda y: {"a": y * x, "b": x}, lambda y: {"a": y, "b": y}, x * 2.0)["a"]


def each(by, x):
    return by.map(lambda row: np.sum(np.sin(row * x)), XS)[:3] * x


def nested(by, x):
    """Loops and branches in a loop."""

    def step(c, row):
        inner = by.fori_loop(0, 2, lambda i, y: y * row + np.sin(x), c)
        inner = by.cond(np.sum(inner) > 0.0, lambda y: np.tanh(y), lambda y: y * 0.5, inner)
        last = by.while_loop(lambda y: np.sum(y) < 0.5, lambda y: y + x * x, inner, max_steps=8)
        return last, np.sum(last)

    last, ys = by.scan(step, x * 0.1, XS, checkpoint=2)
    return last * np.sum(ys)


def branch_of_loops(by, x):
    """Loops in branches."""
    f = lambda y: by.scan(lambda c, row: (np.sin(c) * row + y, None), y, XS)[0]
    return by.cond(np.sum(x) > 3.05, f, lambda y: by.fori_loop(0, 2, lambda i, c: c * y, y), x)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    f.__name__: f
    for f in (
        of_closure, of_carry, of_items, backwards, checkpointed, checkpointed_backwards, checkpointed_items, counted, until, until_count, chosen,
        chosen_for_all, each, nested, branch_of_loops,
    )
}  # fmt: skip
