"""Traces the functions of a loop or a branch to graphs, with what they close over as inputs.

A body is traced once, on values that have a shape and a dtype and no data, whatever transforms its arguments belong to. An
array that it closes over, plain or a value of a transform around it, becomes an input of the graph when it is first used, and
an argument of the operator: so every layer sees it as it sees any argument, and it gets its gradient, its batch, its node.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..core import (
    DispatchKey,
    ModeGuard,
    Tensor,
    Without,
    active_mode,
    active_modes,
    check_data,
    check_open,
    device_of,
    level_of_rank,
    wrap,
)
from ..core.closures import changed_variable, contents_of
from ..core.pytree import leaves, mapped
from ..core.source import where
from ..errors import ConversionError, TracingError
from ..graph import Graph, Node, common_subexpressions, constant_folding, dead_code
from ..graph.subgraph import Subgraph
from ..layers.fake import FakeTensor, FakeTensorMode, fake_tensor
from ..layers.functionalize.run import FUNCTIONALIZE, Functional
from ..layers.trace import TRACE, Trace, TracedTensor, metadata
from ..layers.trace.trace import copied, same_bytes
from ..layers.trace.variable_names import name_of
from ..operators.rule_operators import runs_as_ours
from ..symbolic import ShapeEnv, SymInt
from .words import captured_changed, result_refused, variable_changed, varies, write_refused

FAKE = int(DispatchKey.FAKE)
NUMBERS = (bool, int, float, complex)


class Like(NamedTuple):
    """An array of which only the layout matters."""

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]


def item_like(x: Any) -> Any:
    """The layout of an item of an array."""
    return Like(tuple(x.shape[1:]), x.dtype)


class Function(NamedTuple):
    """A function of a loop or a branch, with what it is called with.

    `like` has arrays, or layouts of them; `call(f, values)` calls the function with values in their places, and `names` are
    what its inputs are called.
    """

    f: Callable[..., Any]
    like: Sequence[Any]
    names: Sequence[str]
    call: Callable[[Sequence[Any]], Any]


class Traced(NamedTuple):
    """What a function became: a graph of flat inputs and outputs, and the container of its outputs, with None for arrays."""

    body: Subgraph
    outputs: list[Any]  # the metadata of each
    like: Any


class Capturing(Trace):
    """A trace in which an array from outside becomes an input, not a constant."""

    __slots__ = ("found",)

    def __init__(self, graph: Graph, lift: Callable[[Any], Any], env: Any) -> None:
        super().__init__(graph, lift, env)
        self.found: dict[int, tuple[Any, Any, Any, Node]] = {}  # by id: the array, its content, what stands for it, its node

    def constant(self, x: Any) -> tuple[Any, Node]:
        """What stands for an array from outside, and its node."""
        known = self.found.get(id(x))
        if known is None:
            if isinstance(x, Tensor):
                check_open(x)
            else:
                check_data(x)
                self.check_shown(x)
            below = self.lift(x)
            node = self.graph.placeholder(name_of(x) or "captured", metadata(below))
            self.read_sizes(node, below)
            seen = None if isinstance(x, Tensor) else copied(x)
            known = self.found[id(x)] = x, seen, below, node
        return known[2], known[3]

    def changed(self) -> str | None:
        """The name of an array from outside that has changed since it was first used; None where none has."""
        for x, seen, _, node in self.found.values():
            if seen is not None and not same_bytes(seen, x):
                return node.name
        return None


def trace(who: str, *functions: Function) -> tuple[list[Traced], list[Any]]:
    """Trace functions of users, which share what they close over. Return what they became, and those arrays.

    The inputs of each graph are its arguments, then all that any of them closes over. Each is run twice, and raises where the
    two runs differ: what it draws, counts or reads from a clock would be the same in all steps.
    """
    outermost = active_mode(TRACE) is None
    traced, captures = _traced(who, functions)
    if outermost:  # a trace around this one says for itself what it keeps of one run
        again, others = _traced(who, functions)
        for function, one, other in zip(functions, traced, again, strict=True):
            same = one.body == other.body and one.like == other.like
            if not same or len(captures) != len(others) or not all(map(_is_same, captures, others)):
                raise varies(who, function.f)
    return traced, captures


def _is_same(x: Any, y: Any) -> bool:
    """Whether what two runs close over is the same array, or, where each makes one, the same numbers."""
    if x is y:
        return True
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        return False
    return bool(x.shape == y.shape and x.dtype == y.dtype and same_bytes(x, y))


def _traced(who: str, functions: Sequence[Function]) -> tuple[list[Traced], list[Any]]:
    """Run each function once."""
    made: list[tuple[Any, ...]] = []
    captures: dict[int, Any] = {}
    with below([x for function in functions for x in function.like]) as mode:
        for function in functions:
            graph = Graph()
            tracing = Capturing(graph, lambda x: stand_in(x, mode), mode.shape_env)
            with tracing.level, tracing.begin():
                inside, nodes = _entered(tracing, function.like, function.names, mode)
                out = _functional(who, function, inside, nodes)
                flat = [_left(who, x, tracing) for x in leaves(out) if x is not None]
            if (name := tracing.changed()) is not None:
                raise captured_changed(who, function.f, name)
            graph.outputs = flat
            _settle(graph, mode)
            for key, found in tracing.found.items():
                captures.setdefault(key, found[0])
            made.append((graph, nodes, out, tracing))
        return [_closed(graph, nodes, out, own, captures, mode) for graph, nodes, out, own in made], list(captures.values())


def derive(f: Callable[..., Any], like: Sequence[Any], name: str = "x") -> Subgraph:
    """Trace a function of ours, which closes over nothing, takes arrays and returns a list of them."""
    graph = Graph()
    with below(like) as mode:
        tracing = Trace(graph, lambda x: stand_in(x, mode), mode.shape_env)
        with tracing.level, tracing.begin():
            inside, nodes = _entered(tracing, like, [name] * len(like), mode)
            graph.outputs = [_left(name, x, tracing) for x in f(*inside)]
        _settle(graph, mode)
    graph.inputs = tuple(nodes)
    return Subgraph(small(graph))


def small(graph: Graph) -> Graph:
    """The graph without what is computed twice, always, or for nothing; a user's kernel runs as often as the code calls it."""
    made = dead_code(constant_folding(common_subexpressions(graph, runs_as_ours), only=runs_as_ours))
    made.outputs = list(made.outputs)
    return made


@contextmanager
def below(values: Sequence[Any]) -> Iterator[FakeTensorMode]:
    """Turn on a mode of fakes, that of a transform around us where there is one, with the modes of all transforms off."""
    guard = active_mode(FAKE)
    given = guard.mode if guard is not None else next((mode for x in values if (mode := _mode_of(x)) is not None), None)
    with ExitStack() as stack:
        for each in active_modes():
            if level_of_rank(each.rank):
                stack.enter_context(Without(each))
        mode = given or FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv(), static_shapes=True)
        yield stack.enter_context(mode)


def _mode_of(x: Any) -> Any:
    while isinstance(x, Tensor) and x.value is not None:
        x = x.value
    return x.mode if isinstance(x, FakeTensor) else None


def stand_in(x: Any, mode: FakeTensorMode) -> FakeTensor:
    """A fake of the layout of a value; one without axes is a number, as NumPy has results without axes."""
    shape = tuple(x.shape)
    strides = tuple(x.strides) if isinstance(x, np.ndarray) else None
    return fake_tensor(shape, np.dtype(x.dtype), strides, "cpu", mode, None, shape == ())


def _entered(tracing: Trace, like: Sequence[Any], names: Sequence[str], mode: Any) -> tuple[list[Any], list[Node]]:
    inside, nodes = [], []
    for x, name in zip(like, names, strict=True):
        below = stand_in(x, mode)
        node = tracing.graph.placeholder(name, metadata(below))
        tracing.read_sizes(node, below)
        nodes.append(node)
        inside.append(wrap(TracedTensor, below, tracing.level, node))
    return inside, nodes


def _functional(who: str, function: Function, inside: list[Any], nodes: list[Node]) -> Any:
    """Call a function, its writes as values; raise where it writes to what it is given or closes over."""
    state = Functional()
    with state.level as level:
        args = [state.root(x) for x in inside]
        before = contents_of(function.f)
        with ModeGuard(FUNCTIONALIZE, state, level), advising(function.f):
            out = function.call(args)
        given = {id(x): node.name for x, node in zip(inside, nodes, strict=True)}
        for outside, root in state.roots.values():
            if root.value is not outside:
                name = given.get(id(outside)) or name_of(outside) or "an array that it closes over"
                raise write_refused(who, function.f, repr(name) if name.isidentifier() else name)
        if (changed := changed_variable(before, contents_of(function.f))) is not None:
            raise variable_changed(who, function.f, changed)
        return mapped(state.left, out)


@contextmanager
def advising(f: Callable[..., Any]) -> Iterator[None]:
    """Say in the refusal of a read of data that a body is traced, and what to write where it indexes a plain array."""
    try:
        yield
    except (ConversionError, TracingError) as error:
        error.add_note(
            f"The {where(f)} is traced: it is run once for all steps, on values without data. An array that is no value of a "
            "transform cannot be indexed by one: write dispatch.numpy.take(table, i, axis=0), or scan the array."
        )
        raise


def _left(who: str, x: Any, tracing: Trace) -> Node:
    """A result as the graph has it."""
    if type(x) in NUMBERS:
        x = np.asarray(x)[()]
        return tracing.graph.constant(x, metadata(x), "number")
    if not isinstance(x, Tensor) and device_of(x) is None:
        if type(x) is SymInt:
            raise TracingError(f"{who}: a result is the size {x}, which is no array. Write np.full((), {x}).")
        raise result_refused(who, x)
    node: Node = tracing.taken(x)[1]
    return node


def _settle(graph: Graph, mode: Any) -> None:
    """Give a graph the conditions on sizes of a trace of its own; those of a trace around it belong to that."""
    env = mode.shape_env
    if env is not None and graph.symbols and mode.static_shapes:
        graph.guards, graph.checks = list(env.guards), list(env.checks)


def _closed(graph: Graph, nodes: list[Node], out: Any, tracing: Capturing, captures: dict[int, Any], mode: Any) -> Traced:
    inputs = list(nodes)
    for key, x in captures.items():
        known = tracing.found.get(key)
        inputs.append(known[3] if known is not None else graph.placeholder("unused", metadata(stand_in(x, mode))))
    graph.inputs = tuple(inputs)
    made = small(graph)
    like = mapped(lambda x: None if x is None else 0, out)
    return Traced(Subgraph(made), [node.value for node in made.outputs], like)
