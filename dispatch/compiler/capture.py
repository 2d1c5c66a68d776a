"""Traces a function for one kind of call. It traces twice, and raises if the two traces differ."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..core import Tensor, active_mode
from ..core.pytree import items_of, leaves, mapped
from ..errors import TracingError, kind_of
from ..graph import Graph, Metadata, Node, apply, common_subexpressions, constant_folding, dead_code, nodes_in
from ..graph.passes import MOST_BYTES
from ..layers.functionalize import functionalize
from ..layers.trace import TRACE
from ..operators.views import owner_of
from ..schema.tags import Tag
from ..symbolic import SymInt
from .cache_key import Signature, changed
from .closure_guards import Captured, Elements
from .trace_function import make_fx


class FunctionGraph(NamedTuple):
    """The trace of a function for one kind of call.

    The inputs of `graph` are the arrays of the call, then the captured arrays, `live`, which the graph reads when it runs. If
    not `floats`, the graph contains the Python floats of the call. `watched` has the values that the function refers to.
    """

    graph: Graph
    live: tuple[Any, ...]
    floats: bool
    watched: list[tuple[Any, Any, Any]]


def capture_graph(
    f: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], signature: Signature, dynamic: bool = False
) -> FunctionGraph:
    """Trace `f` for calls like this one, without running a kernel; raise if the two traces differ."""
    if signature.foreign is not None:
        raise TracingError(
            f"an argument is {signature.foreign.__name__}, a class with operations of its own, which a graph would leave out. "
            "Pass np.asarray(x)."
        )
    captured = Captured(f, *signature.others)
    call = _positional(f, tuple(keywords), len(args))
    values = (*args, *keywords.values())
    held = captured.bytes()
    with _generators_restored(captured.generators):
        first, second, floats = _two_traces(partial(_trace, call, values, dynamic), signature)
    if (i := changed(captured.watched)) >= 0:
        raise TracingError(f"it changes {list(captured.names())[i]!r} when it runs, which a graph would leave out.")
    if held != captured.bytes():
        raise TracingError(
            "it writes to an array that it was not given, which a graph would leave out. Pass it as an argument."
        )
    if said := _difference(first, second, floats):
        raise TracingError(said)
    for node in first.graph.nodes:
        if node.kind == "call" and any(True for _ in nodes_in(node.args)) and (value := _plain_value(node.value)) is not None:
            raise TracingError(
                f"{node} gives {kind_of(value)}{_at(node)}, and a graph would keep what it is for these arrays. Let the "
                "operator return an array of it."
            )
    graph, live = _with_live_inputs(first, second)
    captured.watched += [(Elements(x), "elements of a mask", x.tobytes()) for x in live if x.dtype == bool]
    if not signature.wrapped:  # else a gradient would be summed in another order
        first_passes = () if dynamic else (known_by_layout,)
        graph = apply(graph, *first_passes, common_subexpressions, constant_folding, dead_code)
    return FunctionGraph(graph, live, bool(floats) or not signature.floats, captured.watched)


class _Traced(NamedTuple):
    graph: Graph
    constants: list[tuple[Any, Node]]


def _two_traces(trace: Callable[..., "_Traced"], signature: Signature) -> tuple[_Traced, _Traced, dict[Node, Any]]:
    """Return two traces, and the input nodes of the first that are floats of the call.

    Floats become inputs if the trace that has them as inputs equals, node for node, the trace that has their values.
    """
    if not signature.floats:
        return trace(), trace(), {}
    second = trace()
    with suppress(Exception):  # it asks the float for what an input has not: the second trace says whether that is all
        first = trace(loose=True)
        given = zip(nodes_in(first.graph.inputs), signature.values, strict=True)
        floats = {node: x for node, x in given if type(x) is float}
        if not _difference(first, second, floats):
            return first, second, floats
    return second, trace(), {}


def _positional(f: Callable[..., Any], names: tuple[str, ...], count: int) -> Callable[..., Any]:
    """Return `f` as a function that takes its keyword arguments by position, after the others."""
    if not names:
        return f
    return lambda *values: f(*values[:count], **dict(zip(names, values[count:], strict=True)))


def _trace(f: Callable[..., Any], values: tuple[Any, ...], dynamic: bool, loose: bool = False) -> _Traced:
    """Return one trace. With `dynamic` sizes are symbols; with `loose` Python floats are inputs."""
    found: list[Any] = []

    def watched(*args: Any) -> Any:
        args = mapped(_plain, args)
        guard = active_mode(TRACE)
        assert guard is not None
        found.append(guard.mode)
        return f(*args)

    watched.__wrapped__ = f  # type: ignore[attr-defined]
    graph = make_fx(functionalize(watched), "symbolic" if dynamic else "fake")(*mapped(lambda x: _stand_in(x, loose), values))
    graph.inputs = mapped(_plain, graph.inputs)
    for node in graph.nodes:
        for x in leaves(node.args):
            if isinstance(x, Tensor):
                raise TracingError(f"it computes with a {type(x).__name__} that it was not given. Pass it as an argument.")
    return _Traced(graph, found[0].captured())


def _stand_in(x: Any, loose: bool) -> Any:
    """Return the value that a trace gets in place of an argument: an array of the same layout, or a number that stays fixed."""
    if isinstance(x, Tensor):
        return np.empty(x.shape, x.dtype)
    if loose and type(x) is float:
        return np.float64(x)
    return Fixed(x) if type(x) in (float, complex, int) else x


class Fixed:
    """Wraps a number that is not to become an input of the trace."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _plain(x: Any) -> Any:
    return x.value if type(x) is Fixed else x


@contextmanager
def _generators_restored(generators: list[Any]) -> Iterator[None]:
    """Restore the state of the random generators that a function may draw from."""
    own = [getattr(x, "bit_generator", None) or x._bit_generator for x in generators]  # noqa: SLF001  RandomState has no other
    before = [x.state for x in own]
    legacy, python = np.random.get_state(), random.getstate()  # noqa: NPY002  whoever draws from it finds it as it was
    try:
        yield
    finally:
        np.random.set_state(legacy)  # noqa: NPY002
        random.setstate(python)
        for x, state in zip(own, before, strict=True):
            x.state = state


def _difference(first: _Traced, second: _Traced, floats: dict[Node, Any]) -> str:
    """Return a message about the first difference of two traces; an empty text if there is none."""
    partner: dict[Node, Any] = {}

    def alike(x: Any, y: Any) -> bool:
        if type(x) is Node:
            if x in floats:
                return alike(floats[x], y)
            return type(y) is Node and partner.get(x) is y
        if type(x) is not type(y):
            return False
        items, others = items_of(x), items_of(y)
        if items is not None and others is not None:
            same = len(items) == len(others) and (not isinstance(x, dict) or list(x) == list(y))
            return same and all(map(alike, items, others))
        if type(x) is slice:
            return all(map(alike, (x.start, x.stop, x.step), (y.start, y.stop, y.step)))
        if type(x) is SymInt:
            return str(x) == str(y)
        if type(x) is float:
            return str(x) == str(y)  # which tells every float from every other, but for one nan from another
        return x is y or bool(x == y)

    ones = [node for node in first.graph.nodes if node not in floats]
    others = second.graph.nodes
    for x, y in zip(ones, others, strict=False):
        same = x.kind == y.kind and x.op is y.op and alike(x.args, y.args) and _alike_values(x.value, y.value)
        if same and x.kind == "constant":
            a, b = first.graph.constants[x.name], second.graph.constants[y.name]
            same = a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        if not same:
            what = f"a constant{_used(first.graph, x)}" if x.kind == "constant" else f"node {x}{_at(x)}"
            return (
                f"{what} differs from one run to the next, as what is drawn from a generator, read from a clock or from a file "
                "does. Pass it as an argument, or compute it with an operator."
            )
        partner[x] = y
    if len(ones) != len(others) or not alike(first.graph.outputs, second.graph.outputs):
        return "it computes something else from one run to the next. Pass what decides as an argument."
    return ""


def _alike_values(x: Any, y: Any) -> bool:
    """Whether two values have the same layout. Values that are no arrays, such as residuals, are not compared."""
    if type(x) is not type(y):
        return False
    if type(x) is Metadata:
        return x.dtype == y.dtype and x.device == y.device and str((x.shape, x.strides)) == str((y.shape, y.strides))
    items, others = items_of(x), items_of(y)
    return items is None or others is None or (len(items) == len(others) and all(map(_alike_values, items, others)))


def _used(graph: Graph, constant: Node) -> str:
    """Return the line that first uses a constant, as part of a message."""
    for node in graph.nodes:
        if node.source is not None and any(x is constant for x in leaves(node.args)):
            return _at(node)
    return ""


def _plain_value(value: Any) -> Any:
    """Return a number or a text in the value of a node; None if there is none."""
    if type(value) is Metadata:
        return None
    if (items := items_of(value)) is not None:
        return next((x for x in map(_plain_value, items) if x is not None), None)
    return value if isinstance(value, (bool, int, float, complex, str, bytes)) else None


def _at(node: Node) -> str:
    """Return the line of a node as part of a message."""
    return "" if node.source is None else f" in {node.source}"


def _with_live_inputs(first: _Traced, second: _Traced) -> tuple[Graph, tuple[Any, ...]]:
    """Return the graph with the captured arrays as inputs, and these arrays.

    An array is captured if both traces met the same object; else the trace made it. A view of a captured array is a new object
    in each trace. It becomes an input too, because the view that the trace met shows later writes to the array.
    """
    graph = first.graph
    live: dict[Node, Any] = {}
    for (x, node), (other, _) in zip(first.constants, second.constants, strict=True):
        if x is other or (owner_of(x) is not x and owner_of(x) is owner_of(other)):
            live[node] = x
    for node in live:
        node.kind = "placeholder"
        del graph.constants[node.name]
    graph.inputs = (*graph.inputs, *live)
    return graph, tuple(live.values())


def known_by_layout(graph: Graph) -> Graph:
    """Return the graph with constants in place of calls that read only a layout, such as `ones_like(x)`.

    The seed of a gradient is such a call. `constant_folding` then computes the steps of the gradient that depend on no data.
    """

    def known(new: Graph, node: Node, args: tuple[Any, ...]) -> Node:
        if node.op is not None and Tag.metadata in node.op.tags and _is_small(node.value):
            first, *rest = node.args
            if type(first) is Node and _is_small(first.value) and not any(True for _ in nodes_in(rest)):
                value = node.op.whole(np.empty(first.value.shape, first.value.dtype), *rest)
                if isinstance(value, np.ndarray) and (value.shape, value.strides) == (node.value.shape, node.value.strides):
                    return new.constant(value, node.value, node.name)
        return new.like(node, args)

    return graph.rebuilt(known)


def _is_small(value: Any) -> bool:
    if type(value) is not Metadata or value.device != "cpu" or any(type(n) is not int for n in value.shape):
        return False
    return bool(prod(value.shape) * value.dtype.itemsize <= MOST_BYTES)
