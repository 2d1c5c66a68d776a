"""The operators behind loops and branches, their kernels and shape rules.

    control_flow::scan        a body run for each item of arrays
    control_flow::while_loop  a body run while a condition holds
    control_flow::cond        one of two branches; of a batch of conditions, both, and a choice

Their arguments are flat: graphs, lists of arrays, numbers. Each graph takes its arguments and then all captures. `keep` asks
for the carry before each step, which a gradient needs; see reverse.py. With `join`, the
length of the results' first axis, the results of the steps are strung together along that, in place of a new one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiler.dynamic_shapes import dynamic_program
from ..compiler.lowering import program
from ..core import DispatchKey, OpOverload, active_mode
from ..graph import Graph, Metadata, reinplace
from ..graph.subgraph import Subgraph
from ..operators.registry import add, build
from ..schema.schema import Schema
from .steps import scan_program, while_program
from .tracing import FAKE, Like, below, item_like, stand_in
from .words import carry_changed, condition_refused, unbounded


def _define(text: str) -> OpOverload:
    schema = Schema.parse(text)
    op = build(schema)
    vars(op).update(__name__=schema.name, __qualname__=schema.name)
    return add(op, __name__, schema.full_name)


scan = _define(
    "control_flow::scan(Any body, Tensor[] carry, Tensor[] xs, Tensor[] captures, SymInt length, bool reverse, "
    "SymInt checkpoint, bool keep, SymInt join=0) -> (Tensor[], Tensor[], Tensor[])"
)
while_loop = _define(
    "control_flow::while_loop(Any test, Any body, Tensor[] carry, Tensor[] captures, int? max_steps, bool keep) "
    "-> (Tensor[], Tensor, Tensor[])"
)
cond = _define("control_flow::cond(Tensor pred, Any true, Any false, Tensor[] operands) -> Tensor[]")


def runner(body: Any) -> Callable[..., Any]:
    """What runs a graph on plain arrays, made once; a function, from printed code, is its own."""
    if type(body) is not Subgraph:
        found: Callable[..., Any] = body
        return found
    if body.run is None:
        body.run = dynamic_program(body.graph) if body.graph.symbols else program(reinplace(body.graph))
    return body.run


def layouts_of(body: Any, args: list[Any]) -> list[Like]:
    """The layouts of what a body gives for arguments like these."""
    if type(body) is Subgraph and not body.graph.symbols:
        found = [node.value for node in body.graph.outputs]
        if all(type(x) is Metadata for x in found):
            return [Like(x.shape, x.dtype) for x in found]
    with below([]) as mode:
        return [Like(tuple(x.shape), x.dtype) for x in body(*[stand_in(x, mode) for x in args])]


def own(made: list[Any], given: Any) -> list[Any]:
    """Arrays as a kernel may return them: in C order, and none is an argument, shows the memory of another, or stands twice.

    One without axes is a number.
    """
    seen, found = set(map(id, given)), []
    for x in made:
        x = x[()] if isinstance(x, np.ndarray) and not x.shape else x
        owns = isinstance(x, np.ndarray) and x.flags.owndata and x.flags.writeable and x.flags.c_contiguous
        kept = not isinstance(x, np.ndarray) or (owns and id(x) not in seen)
        seen.add(id(x))
        found.append((x if isinstance(x, np.generic) else np.asarray(x)) if kept else x.copy())
    return found


def count_of_kept(length: Any, checkpoint: Any) -> Any:
    """How many carries are kept."""
    return length if checkpoint == 1 else -(-length // checkpoint)


# -- kernels ---------------------------------------------------------------------------------------------------------------


def _scan(
    body: Any, carry: Any, xs: Any, captures: Any, length: Any, reverse: Any, checkpoint: Any, keep: Any, join: Any
) -> Any:
    likes = layouts_of(body, [*carry, *map(item_like, xs), *captures])[len(carry) :]
    if join:
        made = [np.empty((length * join, *like.shape[1:]), like.dtype) for like in likes]
    else:
        made = [np.empty((length, *like.shape), like.dtype) for like in likes]
    ys = [y.reshape((length, *like.shape)) for y, like in zip(made, likes, strict=True)]
    count = count_of_kept(length, checkpoint)
    kept = [np.empty((count, *x.shape), x.dtype) for x in carry] if keep else []
    last = scan_program(
        runner(body), list(carry), list(xs), list(captures), length, reverse, ys, kept if keep else None, checkpoint
    )
    return own(last, (*carry, *xs, *captures)), made, kept


def _while(test: Any, body: Any, carry: Any, captures: Any, max_steps: Any, keep: Any) -> Any:
    kept: list[Any] = []
    if keep and max_steps is None:
        kept = [[] for _ in carry]
    elif keep:
        kept = [np.zeros((max_steps, *x.shape), x.dtype) for x in carry]
    most = -1 if max_steps is None else max_steps
    last, count = while_program(
        "while_loop", runner(test), runner(body), list(carry), list(captures), most, kept if keep else None
    )
    if keep and max_steps is None:
        kept = [np.stack(k) if k else np.empty((0, *x.shape), x.dtype) for k, x in zip(kept, carry, strict=True)]
    return own(last, (*carry, *captures)), np.asarray(count), kept


def _cond(pred: Any, true: Any, false: Any, operands: Any) -> Any:
    if not pred.shape:
        return own(list(runner(true if pred else false)(*operands)), operands)
    with np.errstate(all="ignore"):  # of a branch that an item does not take nobody wants to hear
        pairs = list(zip(runner(true)(*operands), runner(false)(*operands), strict=True))
    return [np.where(widened(pred, np.ndim(x)), x, y) for x, y in pairs]


def widened(pred: Any, ndim: int) -> Any:
    """Conditions of leading axes, with an axis more for each that values have behind these."""
    return pred.reshape(pred.shape + (1,) * (ndim - len(pred.shape)))


def shapes_from(body: Any, args: list[Any]) -> list[Any]:
    """What a body gives for fakes, without data of its own: the size of a constant is a number, not one that may be any."""
    guard = active_mode(FAKE)
    if type(body) is not Subgraph or not body.graph.constants or guard is None:
        found: list[Any] = body(*args)
        return found
    known = Graph()
    for name in ("nodes", "inputs", "outputs", "symbols", "guards", "checks"):
        setattr(known, name, getattr(body.graph, name))
    known.constants = {name: stand_in(x, guard.mode) for name, x in body.graph.constants.items()}
    return list(known(*args))


# -- shape rules -----------------------------------------------------------------------------------------------------------



def _fits(who: str, carry: Any, out: Any) -> None:
    for i, (x, y) in enumerate(zip(carry, out, strict=True)):
        if tuple(x.shape) != tuple(y.shape) or x.dtype != y.dtype:
            raise carry_changed(who, i, x, y, list(carry))


def _fake_scan(
    body: Any, carry: Any, xs: Any, captures: Any, length: Any, reverse: Any, checkpoint: Any, keep: Any, join: Any
) -> Any:
    out = shapes_from(body, [*carry, *[np.zeros_like(x, shape=x.shape[1:]) for x in xs], *captures])
    last, ys = out[: len(carry)], out[len(carry) :]
    _fits("scan", carry, last)
    count = count_of_kept(length, checkpoint)
    return (
        [np.zeros_like(x, shape=x.shape) for x in last],
        [np.zeros_like(y, shape=(length * join, *y.shape[1:]) if join else (length, *y.shape)) for y in ys],
        [np.zeros_like(x, shape=(count, *x.shape)) for x in carry] if keep else [],
    )


def _fake_while(test: Any, body: Any, carry: Any, captures: Any, max_steps: Any, keep: Any) -> Any:
    if keep and max_steps is None:
        raise unbounded("while_loop")
    (truth,) = shapes_from(test, [*carry, *captures])
    if truth.dtype != bool or truth.shape != ():
        raise condition_refused("while_loop", truth)
    _fits("while_loop", carry, shapes_from(body, [*carry, *captures]))
    kept = [np.zeros_like(x, shape=(max_steps, *x.shape)) for x in carry] if keep else []
    return [np.zeros_like(x, shape=x.shape) for x in carry], np.zeros_like(truth, dtype=np.int64), kept


def _fake_cond(pred: Any, true: Any, false: Any, operands: Any) -> Any:
    return [np.zeros_like(x, shape=x.shape) for x in shapes_from(true, operands)]


for _op, _kernel, _fake in ((scan, _scan, _fake_scan), (while_loop, _while, _fake_while), (cond, _cond, _fake_cond)):
    _op.register_at(DispatchKey.CPU, _kernel)
    _op.register_fake(_fake)
