"""Rows' derivatives: a pullback for each argument, which names what it reads.

Its parameters are `g` (the gradient that comes in), `out` (the result), an argument, or an argument's `_shape` and `_dtype`.
What no pullback reads is not kept. Which pullbacks run depends on which arguments are tracked; for each such set a plan is
made once: the edges, what to save, and how each parameter is found again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core import OpOverload, descend, wrap
from ..errors import DefinitionError
from ..layer import Kernel, parameter_names
from ..memory import inexact_layout
from .node import Node, edges_of, next_order, picking
from .saving import protect
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


class Plan(NamedTuple):
    """What to record when a certain set of arguments is tracked."""

    lists: bool  # a tracked argument is a list
    values: Callable[[tuple[Any, ...]], Any] | None  # None: every argument, as it is
    layouts: tuple[int, ...]  # arguments of which shape and dtype are saved, those that no edge tells
    out: bool
    pull: Callable[[Node, Any, bool], Any] | None  # None: no pullback for any of the tracked arguments


def row_kernel(op: OpOverload, rule: Pullbacks, whole: Callable[..., Any]) -> Kernel:
    """The kernel that records an operator of the tables; `whole` runs it one floor down."""
    plans: dict[int, Plan] = {}

    def kernel(*args: Any) -> Any:
        out, like, values, data, own, quiet = descend(whole, args)
        level = like.level
        if quiet is not None and quiet.covers(level.number):
            return out
        layout = inexact_layout(out)
        if layout is None:
            return out
        lists, keep, layouts, keeps_out, pull = plans.get(own) or plans.setdefault(own, plan_for(op, rule, own))
        if pull is None:
            return out
        node = Node()
        node.op = op
        node.level = level
        node.layout = layout
        node.order = next_order()
        node.rule = pull
        node.inputs = data
        node.edges = edges_of(data) if lists else data
        node.saved = (
            values if keep is None else keep(values),
            [_layout(values[i]) for i in layouts] if layouts else None,
            out if keeps_out else None,
        )
        return wrap(TrackedTensor, out, like, node, True)

    return kernel


def plan_for(op: OpOverload, rule: Pullbacks, own: int) -> Plan:
    """The plan for one set of tracked arguments, bit i of `own` for argument i."""
    names = op.arguments.names
    tracked = [i for i in range(len(names)) if own >> i & 1 and names[i] in rule.by_argument]
    if not tracked:
        return Plan(False, None, (), False, None)
    wanted = [rule.by_argument[names[i]] for i in tracked]
    read = {name for pullback in wanted for name in pullback.reads}
    values = [i for i, name in enumerate(names) if name in read]
    parts = [op.schema.arguments[i].type.parts for i in range(len(names))]
    layouts = tuple(
        i for i, name in enumerate(names) if read & {f"{name}_shape", f"{name}_dtype"} and (parts[i] or not own >> i & 1)
    )
    lists = any(parts[i] for i in tracked)
    # An argument that is not tracked, or a list, may hold a plain array that the caller can write to.
    guarded = [i for i in values if op.schema.arguments[i].type.has_tensor and (not own >> i & 1 or parts[i])]
    # One function for each set, written out: generic unpacking would cost as much as the rule.
    scope: dict[str, Any] = {f"f{i}": pullback.function for i, pullback in zip(tracked, wanted, strict=True)}
    scope |= {"tracked_again": _tracked_again, "numbers": values, "flat": _flat}
    calls = ["None"] * len(names)
    for i, pullback in zip(tracked, wanted, strict=True):
        calls[i] = f"f{i}({', '.join(_source(op, name, values, layouts, own) for name in pullback.reads)})"
    results = f"({', '.join(calls)},)"
    exec(PULL.format(results=f"flat({results}, data)" if lists else results), scope)
    pull = scope["pull"]
    return Plan(
        lists,
        None if values == list(range(len(names))) and not guarded else _keeping(values, guarded),
        layouts,
        "out" in read,
        pull,
    )


def _keeping(values: list[int], guarded: list[int]) -> Callable[[tuple[Any, ...]], Any]:
    if not guarded:
        return picking(values) if values else lambda args: ()
    return lambda args: [protect(args[i]) if i in guarded else args[i] for i in values]


PULL = """
def pull(node, g, create_graph):
    values, layouts, out = node.saved
    data = node.inputs
    if create_graph:
        values, out = tracked_again(node, numbers)
    return {results}
"""


def _tracked_again(node: Node, numbers: list[int]) -> tuple[list[Any], Any]:
    """The saved values and the result with their history, for a backward that is itself recorded."""
    values, _, out = node.saved
    tracked = [_rewrapped(x, node.inputs[i], node) for i, x in zip(numbers, values, strict=True)]
    return tracked, None if out is None else wrap(TrackedTensor, out, node.level, node)


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


def _rewrapped(value: Any, edge: Any, node: Node) -> Any:
    """A saved value with its history, as it went in."""
    if edge is None:
        return value
    if type(edge) is list:
        return [_rewrapped(item, e, node) for item, e in zip(value, edge, strict=True)]
    return wrap(TrackedTensor, value, node.level, edge)


def _layout(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [_layout(item) for item in x]
    return (x.shape, x.dtype) if hasattr(x, "dtype") else ((), np.result_type(x))


def _reads(function: Callable[..., Any]) -> tuple[str, ...]:
    read = parameter_names(function)
    if read is None:
        raise DefinitionError("a pullback names what it reads; *args and **kwargs name nothing.")
    return read


def _source(op: OpOverload, name: str, values: list[int], layouts: tuple[int, ...], own: int) -> str:
    """The expression that finds a pullback's parameter among what was saved."""
    names = op.arguments.names
    if name in ("g", "out"):
        return name
    if name in names:
        return f"values[{values.index(names.index(name))}]"
    argument, _, half = name.rpartition("_")
    if argument not in names or half not in ("shape", "dtype"):
        raise DefinitionError(
            f"{op.name}: a pullback reads {name!r}. It may read g, out, an argument ({', '.join(names)}), or an argument's "
            "_shape or _dtype.",
            operator=op.name,
        )
    i, part = names.index(argument), ("shape", "dtype").index(half)
    if i not in layouts:
        return f"data[{i}].layout[{part}]"
    listed = bool(op.schema.arguments[i].type.parts)
    return f"[x[{part}] for x in layouts[{layouts.index(i)}]]" if listed else f"layouts[{layouts.index(i)}][{part}]"
