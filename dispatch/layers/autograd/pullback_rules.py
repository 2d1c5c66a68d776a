"""Makes the kernel that records a row of its pullbacks, one for each argument.

The parameters of a pullback name what it reads: `g`, the gradient of the result; `out`, the result; an argument, or an
argument's `_shape` and `_dtype`; for a list, `_needed`: of which items a gradient is wanted. Of several results `g` and `out`
are tuples, and the gradient of one is None where none came in: nothing is computed for it. What no pullback reads is not
kept. Which pullbacks run depends on which arguments are tracked: for each such set a plan is made once, which says what to
save and where each parameter is found.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core import OpOverload, wrap
from ...dispatcher.layer import Kernel
from ...dispatcher.rule_parameters import parameter_names
from ...errors import DefinitionError
from .backward_graph import Node, NodeOfSeveral, Output
from .kernels import Plan
from .kernels import row_kernel as compiled
from .tensor import TrackedTensor


class Pullback(NamedTuple):
    """A function that computes the gradient of an argument from that of the result, and the names of what it reads."""

    reads: tuple[str, ...]
    function: Callable[..., Any]


class Pullbacks(NamedTuple):
    """The rule of a row: a pullback for each argument that has a derivative."""

    by_argument: dict[str, Pullback]


def pullbacks(**by_argument: Callable[..., Any]) -> Pullbacks:
    """A row's derivative: `pullbacks(x=lambda g, y: multiply(g, y), y=lambda g, x: multiply(g, x))`."""
    return Pullbacks({name: Pullback(_reads(function), function) for name, function in by_argument.items()})


def row_kernel(op: OpOverload, rule: Pullbacks, whole: Callable[..., Any]) -> Kernel:
    """Return the kernel that records an operator of the tables. `whole` runs the operator on the unwrapped values."""
    return compiled(lambda own: plan_for(op, rule, own), op, whole)


# How one thing is saved: see Plan. The rule is written out for each set of tracked arguments, since generic unpacking would
# cost as much as the pullbacks.
VALUE, PROTECTED, LIST, LAYOUT, OUT = range(5)
PULL = """
def pull(node, saved, g, create_graph):
    {names} = saved{gradients}
    if create_graph:
        data = node.inputs
        {again}
    return {results}
"""


def plan_for(op: OpOverload, rule: Pullbacks, own: int) -> Plan:
    """Return what to record for one set of tracked arguments: bit i of `own` for argument i."""
    names, schema, single = op.arguments.names, op.schema.arguments, len(op.schema.returns) == 1
    tracked = [i for i in range(len(names)) if own >> i & 1 and names[i] in rule.by_argument]
    if not tracked:
        return Plan(None, (), False, len(names), _layout)
    kept: dict[str, tuple[int, int]] = {}  # what is saved: its name in `pull`, its kind, and of which argument it is
    again: list[str] = []
    calls = ["None"] * len(names)
    scope: dict[str, Any] = {"__name__": __name__, "tracked": _tracked, "all_tracked": _all_tracked, "flat": _flat}
    for i in tracked:
        reads, scope[f"f{i}"] = rule.by_argument[names[i]]
        calls[i] = f"f{i}({', '.join([_source(op, name, own, kept) for name in reads])})"
    for name in kept:
        if name == "out":
            again.append("out = tracked(out, node, node)" if single else "out = all_tracked(out, node)")
        elif name[0] == "x" and own >> int(name[1:]) & 1:
            again.append(f"{name} = tracked({name}, data[{name[1:]}], node)")
    results = f"({', '.join(calls)},)"
    lists = any(schema[i].type.parts for i in tracked)
    if len(kept) == len(names) and all(kind == VALUE for kind, _ in kept.values()):
        kept = dict(sorted(kept.items(), key=lambda item: item[1]))  # the arguments as they are, without another tuple
    exec(
        PULL.format(
            names=", ".join(kept) or "_",
            gradients="" if single else f"; g = ({', '.join([f'g.get({i})' for i in range(len(op.schema.returns))])},)",
            again="; ".join(again) or "pass",
            results=f"flat({results}, node.inputs)" if lists else results,
        ),
        scope,
    )
    return Plan(scope["pull"], list(kept.values()), lists, len(names), _layout)


def _source(op: OpOverload, name: str, own: int, kept: dict[str, tuple[int, int]]) -> str:
    """Return the expression for what a pullback reads, and note in `kept` what has to be saved for it."""
    names, schema = op.arguments.names, op.schema.arguments
    if name == "g":
        return name
    if name == "out":
        kept[name] = OUT, 0
        return name
    if name in names:
        i = names.index(name)
        # An argument that is not tracked, or a list, may hold a plain array that the caller can write to.
        guarded = schema[i].type.has_tensor and not own >> i & 1
        kept[f"x{i}"] = LIST if schema[i].type.parts else PROTECTED if guarded else VALUE, i
        return f"x{i}"
    argument, _, half = name.rpartition("_")
    if argument not in names or half not in ("shape", "dtype", "needed"):
        raise DefinitionError(
            f"{op.name}: a pullback reads {name!r}. It may read g, out, an argument ({', '.join(names)}), or an argument's "
            "_shape, _dtype or _needed.",
            operator=op.name,
        )
    i, part = names.index(argument), ("shape", "dtype", "needed").index(half)
    listed = bool(schema[i].type.parts)
    if half == "needed":
        return f"[edge is not None for edge in node.inputs[{i}]]"
    if own >> i & 1 and not listed:
        return f"node.layout_at({i})[{part}]"
    kept[f"l{i}"] = LAYOUT, i
    return f"[x[{part}] for x in l{i}]" if listed else f"l{i}[{part}]"


def _tracked(value: Any, edge: Any, node: Node) -> Any:
    """Return a saved value with its history, for a backward that is itself recorded."""
    if edge is None:
        return value
    if type(edge) is list:
        return [_tracked(item, e, node) for item, e in zip(value, edge, strict=True)]
    return wrap(TrackedTensor, value, node.level, edge)


def _all_tracked(values: tuple[Any, ...], node: NodeOfSeveral) -> tuple[Any, ...]:
    """Return the saved results of a row with several, with their history."""
    layouts = node.layouts
    return tuple([
        value if layout is None else wrap(TrackedTensor, value, node.level, Output(node, i, layout))
        for i, (value, layout) in enumerate(zip(values, layouts, strict=True))
    ])


def _flat(grads: tuple[Any, ...], data: tuple[Any, ...]) -> list[Any]:
    """Return the gradients in the order of the edges; for a list those of its tracked arrays."""
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
