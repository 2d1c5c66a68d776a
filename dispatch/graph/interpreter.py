"""Runs a graph node by node, and releases each value after its last use."""

from typing import Any

import numpy as np

from ..core.pytree import field_names, items_of, mapped
from ..errors import GraphError, kind_of, were_given
from .alias_analysis import AliasAnalysis
from .array_literals import Unwritable
from .body import Body
from .literals import Writer, evaluated
from .liveness import last_uses
from .metadata import Metadata
from .node import Node
from .shape_guards import is_checked, run_checks, size_at, sizes_of_inputs

NUMBERS = frozenset({int, float, complex})
STATIC = frozenset({int, float, bool, str, type(None), complex, type(Ellipsis)})


def run(body: Body, args: tuple[Any, ...]) -> Any:
    """Run a graph and return its outputs."""
    values: dict[Node, Any] = {}
    sizes: dict[str, int] = {}

    def given(x: Any) -> Any:
        if type(x) is not Node:
            return evaluated(x, sizes) if sizes else x
        if x not in values:
            body.lint()  # which says what is amiss with the nodes
        return values[x]

    bind(body.inputs, args, values)
    aliases = AliasAnalysis(body) if body.constants else None
    done = last_uses(body)
    if is_checked(body):
        sizes |= sizes_of_inputs(body, values)
    tested: set[int] = set()
    read: dict[Node, list[tuple[str, int | None]]] = {}
    for name, (node, axis) in body.symbols.items():
        if name not in sizes:
            read.setdefault(node, []).append((name, axis))
    for node in body.nodes:
        if node.kind == "call":
            assert node.op is not None
            values[node] = node.op.whole(*[x if type(x) in STATIC else mapped(given, x) for x in node.args])
        elif node.kind == "item":
            values[node] = items_of(given(node.args[0]))[node.args[1]]  # type: ignore[index]
        elif node.kind == "constant":
            changes = aliases is not None and (aliases.is_written(node) or aliases.is_seen(node))
            if node.name not in body.constants:
                body.lint()
            values[node] = lent(body.constants[node.name], changes)
        for name, axis in read.get(node, ()):
            sizes[name] = size_at(values[node], axis)
            run_checks(body, sizes, tested)
        for gone in done.get(node, ()):
            del values[gone]
    return mapped(given, body.outputs)


def holds(body: Body, args: tuple[Any, ...]) -> bool:
    """Return whether a graph can run with these arguments."""
    values: dict[Node, Any] = {}
    try:
        bind(body.inputs, args, values)
        if is_checked(body):
            sizes_of_inputs(body, values)
    except GraphError:
        return False
    return True


def note_shapes(body: Body, args: tuple[Any, ...], error: Exception) -> None:
    """Say in a note of an exception of a run which arguments have other shapes than those that were traced."""
    values: dict[Node, Any] = {}
    if isinstance(error, GraphError):
        return
    bind(body.inputs, args, values)
    for node, x in values.items():
        shape = getattr(node.value, "shape", None)
        if shape is not None and all(type(n) is int for n in shape) and shape != getattr(x, "shape", shape):
            error.add_note(
                f"the graph was traced with shape {shape} for {node.name}, and {x.shape} was given. A shape that the function "
                "wrote or computed is a number in it: trace once more, or make_fx(f, tracing_mode='symbolic')."
            )


def lent(x: Any, changes: bool) -> Any:
    """Return a constant for one run: a copy where the run may write to it or return it, else a read-only view."""
    if not isinstance(x, np.ndarray):
        return x if isinstance(x, np.generic) else x.copy()
    if changes:
        return x.copy(order="K")
    view = x.view()
    view.flags.writeable = False
    return view


def bind(expected: Any, given: Any, values: dict[Node, Any], what: str = "arguments") -> None:
    """Assign the arguments to the input nodes; raise if their structure or a value that is no array differs."""
    if type(expected) is Node:
        values[expected] = _array(given, expected.value) if type(given) in NUMBERS else given
        return
    items, parts = items_of(expected), items_of(given)
    if items is None or parts is None or not _is_alike(expected, given):
        if items is not None or parts is not None or not _is_same(expected, given):
            shown = _named(given) if type(given) is type(expected) else kind_of(given)
            shown = "another" if shown == _named(expected) else shown
            constant = " What is no array is a constant of a graph: trace once more, with what is given."
            advice = constant if items is None and parts is None else ""
            raise GraphError(f"the graph was made with {_named(expected)} in its arguments, and {shown} was given.{advice}")
        return
    if isinstance(expected, dict):
        if set(expected) != set(given):
            raise GraphError(f"the graph was made with the keys {list(expected)}, and {list(given)} were given.")
        parts = tuple(given[key] for key in expected)
    if len(items) != len(parts):
        some = what if len(items) != 1 else what.replace("s", "", 1)
        if what == "arguments" and all(type(item) is Node for item in items):
            some += f" ({', '.join(item.name for item in items)})" * bool(items)
        raise GraphError(f"the graph was made with {len(items)} {some}, and {were_given(len(parts))}.")
    for item, part in zip(items, parts, strict=True):
        bind(item, part, values, "items in one of its arguments")


def _array(x: Any, about: Any) -> Any:
    """Return a Python number as a 0-d array, where the graph was traced with one."""
    return np.asarray(x, about.dtype) if type(about) is Metadata and not about.shape else x


def _is_alike(x: Any, y: Any) -> bool:
    """Whether two containers have the same kind of items; a list and a tuple have."""
    return isinstance(x, dict) == isinstance(y, dict) and field_names(type(x)) == field_names(type(y))


def _is_same(x: Any, y: Any) -> bool:
    """Whether two values have the same type and the same text, so that nan equals nan and 0.0 differs from -0.0."""
    if x is y or type(x) is not type(y):
        return x is y
    try:
        writer = Writer()
        return writer.spell(x) == writer.spell(y)
    except Unwritable:
        return bool(x == y)


def _named(x: Any) -> str:
    return repr(x) if type(x) in STATIC or type(x) is slice else kind_of(x)
