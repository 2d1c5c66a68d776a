"""Rows' derivatives: a pullback for each argument, which names what it reads.

Its parameters are `g` (the gradient that comes in), `out` (the result), an argument, or an argument's `_shape` and `_dtype`.
What no pullback reads is not kept. Which pullbacks run depends on which arguments are tracked; for each such set a plan is
made once: the edges, what to save, and how each parameter is found again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core import OpOverload, descend, wrap
from ...dispatcher.layer import Kernel, parameter_names
from ...errors import DefinitionError
from .node import Node, edges_of
from .record import recorded
from .saved_tensors import protect
from .tensor import TrackedTensor


class Pullback(NamedTuple):
    """A function that carries a gradient from a result to an argument, and the names of what it is given."""

    reads: tuple[str, ...]
    function: Callable[..., Any]


class Pullbacks(NamedTuple):
    """The rule of a row: a pullback for each argument that has a derivative."""

    by_argument: dict[str, Pullback]


def pullbacks(**by_argument: Callable[..., Any]) -> Pullbacks:
    """A row's derivative: `pullbacks(x=lambda g, y: multiply(g, y), y=lambda g, x: multiply(g, x))`."""
    return Pullbacks({name: Pullback(_reads(function), function) for name, function in by_argument.items()})


# What to record when a certain set of arguments is tracked: the node's rule, None where no tracked argument has a pullback;
# what makes `saved` of the arguments and the result, None where it is every argument, as it is; and whether a tracked argument
# is a list. A plain tuple, which Python takes apart in a third of the time of a named one.
Plan = tuple[Callable[[Node, Any, bool], Any] | None, Callable[[tuple[Any, ...], Any], Any] | None, bool]


def row_kernel(op: OpOverload, rule: Pullbacks, whole: Callable[..., Any]) -> Kernel:
    """The kernel that records an operator of the tables; `whole` runs it one floor down."""
    plans: dict[int, Plan] = {}

    def kernel(*args: Any) -> Any:
        out, like, values, data, own, quiet = descend(whole, args)
        if quiet is not None and quiet.covers(like.level.number):
            return out
        pull, save, lists = plans.get(own) or plans.setdefault(own, plan_for(op, rule, own))
        if pull is None:
            return out
        saved = values if save is None else save(values, out)
        return recorded(Node, TrackedTensor, op, pull, out, like, data, edges_of(data) if lists else None, saved)

    return kernel


# Both are written out for each set of tracked arguments: generic packing and unpacking would cost as much as the rules.
SAVE = """
def save(values, out):
    return ({saved})
"""
PULL = """
def pull(node, g, create_graph):
    {names} = node.saved
    if create_graph:
        data = node.inputs
        {again}
    return {results}
"""


def plan_for(op: OpOverload, rule: Pullbacks, own: int) -> Plan:
    """The plan for one set of tracked arguments, bit i of `own` for argument i."""
    names, schema = op.arguments.names, op.schema.arguments
    tracked = [i for i in range(len(names)) if own >> i & 1 and names[i] in rule.by_argument]
    if not tracked:
        return None, None, False
    kept: dict[str, str] = {}  # what is saved: its name in `pull`, and how `save` finds it
    again: list[str] = []
    calls = ["None"] * len(names)
    scope: dict[str, Any] = {"__name__": __name__, "protect": protect, "tracked": _tracked, "flat": _flat, "layout": _layout}
    for i in tracked:
        reads, scope[f"f{i}"] = rule.by_argument[names[i]]
        calls[i] = f"f{i}({', '.join([_source(op, name, own, kept) for name in reads])})"
    for name in kept:
        if name == "out":
            again.append("out = tracked(out, node, node)")
        elif name[0] == "x" and own >> int(name[1:]) & 1:
            again.append(f"{name} = tracked({name}, data[{name[1:]}], node)")
    results = f"({', '.join(calls)},)"
    lists = any(schema[i].type.parts for i in tracked)
    everything = [f"values[{i}]" for i in range(len(names))]
    if len(kept) > 1 and sorted(kept.values()) == everything:
        kept = dict(sorted(kept.items(), key=lambda item: item[1]))
    exec(SAVE.format(saved=", ".join(kept.values()) or "None"), scope)  # of one thing no tuple
    exec(
        PULL.format(
            names=", ".join(kept) or "_",
            again="; ".join(again) or "pass",
            results=f"flat({results}, node.inputs)" if lists else results,
        ),
        scope,
    )
    return scope["pull"], None if len(kept) > 1 and list(kept.values()) == everything else scope["save"], lists


def _source(op: OpOverload, name: str, own: int, kept: dict[str, str]) -> str:
    """The expression for what a pullback reads; what has to be saved for that is noted in `kept`."""
    names, schema = op.arguments.names, op.schema.arguments
    if name == "g":
        return name
    if name == "out":
        kept[name] = name
        return name
    if name in names:
        i = names.index(name)
        # An argument that is not tracked, or a list, may hold a plain array that the caller can write to.
        guarded = schema[i].type.has_tensor and (not own >> i & 1 or bool(schema[i].type.parts))
        kept[f"x{i}"] = f"protect(values[{i}])" if guarded else f"values[{i}]"
        if schema[i].type.parts:  # no list where there is nothing in it: one object less for the collector to look at
            kept[f"x{i}"] = f"() if type(values[{i}]) is list and not values[{i}] else {kept[f'x{i}']}"
        return f"x{i}"
    argument, _, half = name.rpartition("_")
    if argument not in names or half not in ("shape", "dtype"):
        raise DefinitionError(
            f"{op.name}: a pullback reads {name!r}. It may read g, out, an argument ({', '.join(names)}), or an argument's "
            "_shape or _dtype.",
            operator=op.name,
        )
    i, part = names.index(argument), ("shape", "dtype").index(half)
    listed = bool(schema[i].type.parts)
    if own >> i & 1 and not listed:
        return f"node.inputs[{i}].layout[{part}]"
    kept[f"l{i}"] = f"layout(values[{i}])"
    return f"[x[{part}] for x in l{i}]" if listed else f"l{i}[{part}]"


def _tracked(value: Any, edge: Any, node: Node) -> Any:
    """A saved value with its history, as it went in or came out, for a backward that is itself recorded."""
    if edge is None:
        return value
    if type(edge) is list:
        return [_tracked(item, e, node) for item, e in zip(value, edge, strict=True)]
    return wrap(TrackedTensor, value, node.level, edge)


def _flat(grads: tuple[Any, ...], data: tuple[Any, ...]) -> list[Any]:
    """The gradients in the order of the edges: of a list those of its tracked arrays, one after the other."""
    found: list[Any] = []
    for grad, edge in zip(grads, data, strict=True):
        if type(edge) is list:
            parts = [None] * len(edge) if grad is None else grad
            found += [g for g, part in zip(parts, edge, strict=True) if part is not None]
        elif edge is not None:
            found.append(grad)
    return found


def _layout(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [_layout(item) for item in x]
    return (x.shape, x.dtype) if hasattr(x, "dtype") else ((), np.result_type(x))


def _reads(function: Callable[..., Any]) -> tuple[str, ...]:
    read = parameter_names(function)
    if read is None:
        raise DefinitionError("a pullback names what it reads; *args and **kwargs name nothing.")
    return read
