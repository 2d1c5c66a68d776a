"""The cache of a compiled function: an entry for each kind of call."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..graph import AliasAnalysis, Graph, nodes_in
from .capture import FunctionGraph

LIMIT = 8  # traces of one function, as torch's recompile_limit


class Entry:
    """How a compiled function runs calls of one kind.

    `run` runs the graph of `traced`; both are None if such calls run the function itself, for `reason`. `hits` counts the
    calls.
    """

    __slots__ = ("bits", "hits", "reason", "run", "shapes", "traced", "written")

    def __init__(self, traced: FunctionGraph | None, run: Callable[..., Any] | None, reason: str = "") -> None:
        self.traced, self.run, self.reason, self.hits = traced, run, reason, 0
        self.bits: Any = None  # for graphs with symbolic sizes: the floats that the graph contains
        self.shapes: Any = None  # and the shapes of calls that run the function itself
        self.written = () if traced is None else _written_inputs(traced.graph)


def _written_inputs(graph: Graph) -> tuple[int, ...]:
    """Return the numbers of the inputs that a graph writes to."""
    aliases = AliasAnalysis(graph, apart=True)
    return tuple([i for i, x in enumerate(nodes_in(graph.inputs)) if aliases.is_written(x)])


class ByGuards(NamedTuple):
    """The graphs with symbolic sizes for one kind of call; each is right where its guards hold."""

    entries: list[Entry]


class ByFloats(NamedTuple):
    """The graphs of one kind of call that contain the Python floats of the call; one for each set of floats."""

    entries: dict[Any, Entry]
