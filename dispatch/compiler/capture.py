"""A function traced for one kind of call, twice: where something comes out differently, the function is not compiled."""

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
from ..schema.tags import Tag
from ..symbolic import SymInt
from .cache_key import Signature, changed
from .closure_guards import Captured
from .trace_function import make_fx


class Recording(NamedTuple):
    """A function as a graph, for calls of one signature.

    Attributes
    ----------
    graph : Graph
        Its inputs are the arrays of the call, then the arrays that the function captured.
    live : tuple of ndarray
        The captured ones, which the graph reads as they are when it runs.
    floats : bool
        Whether Python floats are inputs; else the graph holds those of the call.
    watched : list
        What the function refers to; see `Captured`.
    """

    graph: Graph
    live: tuple[Any, ...]
    floats: bool
    watched: list[tuple[Any, Any, Any]]


def recorded(
    f: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], signature: Signature, dynamic: bool = False
) -> Recording:
    """Trace `f` for calls like this one; no kernel runs.

    Raises
    ------
    TracingError
        If two traces differ, or `f` changes what it refers to.
    Exception
        What `f` raises.
    """
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
    if not signature.wrapped:  # else a gradient would be summed in another order
        first_passes = () if dynamic else (known_by_layout,)
        graph = apply(graph, *first_passes, common_subexpressions, constant_folding, dead_code)
    return Recording(graph, live, bool(floats) or not signature.floats, captured.watched)


class _Traced(NamedTuple):
    graph: Graph
    constants: list[tuple[Any, Node]]


def _two_traces(trace: Callable[..., "_Traced"], signature: Signature) -> tuple[_Traced, _Traced, dict[Node, Any]]:
    """Two traces, and which nodes of the first stand for floats of the call.

    A float is an input where the trace with an input in its place is the trace with its value, node for node; else a value.
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
    """`f` with its keywords behind the other arguments."""
    if not names:
        return f
    return lambda *values: f(*values[:count], **dict(zip(names, values[count:], strict=True)))


def _trace(f: Callable[..., Any], values: tuple[Any, ...], dynamic: bool, loose: bool = False) -> _Traced:
    """One trace; with `dynamic` sizes are open, with `loose` Python floats are inputs."""
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
                raise TracingError(
                    f"it computes with a {type(x).__name__} that it was not given. Pass it as an argument."
                )
    return _Traced(graph, found[0].captured())


def _stand_in(x: Any, loose: bool) -> Any:
    """What a trace is given in place of a value: an array of the same layout."""
    if isinstance(x, Tensor):
        return np.empty(x.shape, x.dtype)
    if loose and type(x) is float:
        return np.float64(x)
    return Fixed(x) if type(x) in (float, complex, int) else x


class Fixed:
    """A number that is no input of a trace."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _plain(x: Any) -> Any:
    return x.value if type(x) is Fixed else x


@contextmanager
def _generators_restored(generators: list[Any]) -> Iterator[None]:
    """Leave the generators that a function may draw from as they were before it was traced."""
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
    """What two traces differ in, in words; nothing where they are one."""
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
    """Whether two nodes give the same kind of thing; what is no array, a residual say, is another each time."""
    if type(x) is not type(y):
        return False
    if type(x) is Metadata:
        return x.dtype == y.dtype and x.device == y.device and str((x.shape, x.strides)) == str((y.shape, y.strides))
    items, others = items_of(x), items_of(y)
    return items is None or others is None or (len(items) == len(others) and all(map(_alike_values, items, others)))


def _used(graph: Graph, constant: Node) -> str:
    """The line that first uses a constant."""
    for node in graph.nodes:
        if node.source is not None and any(x is constant for x in leaves(node.args)):
            return _at(node)
    return ""


def _plain_value(value: Any) -> Any:
    """A number or a text in what a node gives; None where there is none."""
    if type(value) is Metadata:
        return None
    if (items := items_of(value)) is not None:
        return next((x for x in map(_plain_value, items) if x is not None), None)
    return value if isinstance(value, (bool, int, float, complex, str, bytes)) else None


def _at(node: Node) -> str:
    """The line of a node, in words."""
    return "" if node.source is None else f" in {node.source}"


def _with_live_inputs(first: _Traced, second: _Traced) -> tuple[Graph, tuple[Any, ...]]:
    """The graph with captured arrays for inputs: those that both traces met as the same object; others were made in the trace.

    A view that the function takes of a captured array is another object each time; it is an input too, by the view that
    the trace met, which shows what the array holds later.
    """
    graph = first.graph
    live: dict[Node, Any] = {}
    for (x, node), (other, _) in zip(first.constants, second.constants, strict=True):
        if x is other or (_owner(x) is not x and _owner(x) is _owner(other)):
            live[node] = x
    for node in live:
        node.kind = "placeholder"
        del graph.constants[node.name]
    graph.inputs = (*graph.inputs, *live)
    return graph, tuple(live.values())


def _owner(x: Any) -> Any:
    while isinstance(x, np.ndarray) and x.base is not None:
        x = x.base
    return x


def known_by_layout(graph: Graph) -> Graph:
    """A graph with constants for what operators make of layouts alone: `ones_like(x)`, where the sizes of `x` are no symbols.

    The seed of a gradient is one; folding then has the steps of the gradient that depend on no data.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: np.ones_like(x) * x)(np.ones(3))
    >>> graph.nodes, known_by_layout(graph).nodes
    ([x, ones_like, multiply], [x, ones_like, multiply])
    >>> known_by_layout(graph).constants
    {'ones_like': array([1., 1., 1.])}
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
