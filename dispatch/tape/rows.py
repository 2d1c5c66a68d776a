"""Rows' derivatives: a pullback for each argument, which names what it reads.

Its parameters are `g` (the gradient that comes in), `out` (the result), an argument, or an argument's `_shape` and `_dtype`.
What no pullback reads is not kept. Which pullbacks run depends on which arguments are tracked; for each such set a plan is
made once: the edges, what to save, and how each parameter is found again.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..core import OpOverload, freeze, layout_of, split, wrap
from ..errors import DefinitionError
from ..layer import Kernel, parameter_names
from .modes import is_quiet
from .node import Node, edges_of
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

    edges: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    values: tuple[int, ...]  # arguments whose value is saved
    layouts: tuple[int, ...]  # arguments of which shape and dtype are saved
    out: bool
    guarded: bool  # a saved value may be a plain array
    pull: Callable[[Node, Any, bool], Any]


def row_kernel(op: OpOverload, rule: Pullbacks) -> Kernel:
    whole = op.whole
    plans: dict[int, Plan] = {}
    names = op.arguments.names

    def kernel(*args: Any, **keywords: Any) -> Any:
        like, values, data, own = split((*args, *keywords.values()) if keywords else args)
        out = whole(*values)
        if is_quiet(like.level.number) or out.dtype.kind not in "fc":
            return out
        plan = plans.get(own) or plans.setdefault(own, _plan(op, rule, own))
        node = Node.__new__(Node)
        node.op = op
        node.level = like.level
        node.edges = plan.edges(data)
        if not node.edges:
            return out
        node.rule = plan.pull
        node.shape, node.dtype = layout_of(out)
        node.saved = (
            [protect(values[i]) if data[i] is None else values[i] for i in plan.values]
            if plan.guarded
            else [values[i] for i in plan.values],
            [data[i] for i in plan.values],
            [_layout(values[i]) for i in plan.layouts],
            out if plan.out else None,
        )
        return wrap(TrackedTensor, freeze(out), like, node)

    def _plan(op: OpOverload, rule: Pullbacks, own: int) -> Plan:
        tracked = [i for i in range(len(names)) if own >> i & 1 and names[i] in rule.by_argument]
        functions = [rule.by_argument[names[i]].function for i in tracked]
        reads = [rule.by_argument[names[i]].reads for i in tracked]
        every = {name for names in reads for name in names}
        values = tuple(i for i, name in enumerate(names) if name in every)
        layouts = tuple(i for i, name in enumerate(names) if f"{name}_shape" in every or f"{name}_dtype" in every)
        sources = [[_source(op, name, values, layouts) for name in read] for read in reads]
        lists = any(op.schema.arguments[i].type.parts for i in tracked)
        if lists:
            pick = lambda data: tuple(edges_of([data[i] for i in tracked]))  # noqa: E731 - one of three shapes of one thing
        elif len(tracked) == 1:
            pick = lambda data, i=tracked[0]: (data[i],)  # noqa: E731
        else:
            pick = itemgetter(*tracked) if tracked else lambda data: ()
        guarded = any(not own >> i & 1 or op.schema.arguments[i].type.parts for i in values)
        return Plan(pick, values, layouts, "out" in every, guarded, _pull(functions, sources, tracked, lists))

    return kernel


def _pull(functions: list[Callable[..., Any]], sources: list[list[Any]], tracked: list[int], lists: bool) -> Callable[..., Any]:
    def pull(node: Node, g: Any, create_graph: bool) -> Any:
        values, data, layouts, out = node.saved
        if create_graph:
            values = [_rewrapped(value, edge, node) for value, edge in zip(values, data, strict=True)]
            out = wrap(TrackedTensor, out, node.level, node) if out is not None else None
        found = (g, values, layouts, out)
        grads = [
            function(*[found[place] if k is None else _part(found[place][k], part) for place, k, part in wanted])
            for function, wanted in zip(functions, sources, strict=True)
        ]
        return [grad for item in grads for grad in (item if type(item) is list else [item])] if lists else grads

    return pull


def _part(x: Any, part: int | None) -> Any:
    if part is None:
        return x
    return [item[part] for item in x] if type(x) is list else x[part]


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
    return layout_of(x) if hasattr(x, "dtype") else ((), np.result_type(x))


def _reads(function: Callable[..., Any]) -> tuple[str, ...]:
    read = parameter_names(function)
    if read is None:
        raise DefinitionError("a pullback names what it reads; *args and **kwargs name nothing.")
    return read


def _source(op: OpOverload, name: str, values: tuple[int, ...], layouts: tuple[int, ...]) -> tuple[int, int | None, int | None]:
    """Where a pullback's parameter is found: which of (g, values, layouts, out), at which place, which half of a layout."""
    names = op.arguments.names
    if name == "g":
        return 0, None, None
    if name == "out":
        return 3, None, None
    if name in names:
        return 1, values.index(names.index(name)), None
    argument, _, half = name.rpartition("_")
    if argument in names and half in ("shape", "dtype"):
        return 2, layouts.index(names.index(argument)), ("shape", "dtype").index(half)
    raise DefinitionError(
        f"{op.name}: a pullback reads {name!r}. It may read g, out, an argument ({', '.join(names)}), or an argument's "
        "_shape or _dtype.",
        operator=op.name,
    )
