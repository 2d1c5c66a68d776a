"""What a compiled function keeps: an entry for each kind of call."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..graph import Graph, Sharing, nodes_in
from .capture import Recording

LIMIT = 8  # traces of one function, as torch's recompile_limit


class Entry:
    """What is known for calls of one key.

    Attributes
    ----------
    recording : Recording or None
        None where such calls run the function itself.
    run : callable or None
        What the backend made of the graph.
    reason : str
        Why they do.
    hits : int
        How often it was found.
    """

    __slots__ = ("bits", "hits", "reason", "recording", "run", "shapes", "written")

    def __init__(self, recording: Recording | None, run: Callable[..., Any] | None, reason: str = "") -> None:
        self.recording, self.run, self.reason, self.hits = recording, run, reason, 0
        self.bits: Any = None  # of calls with open sizes: the floats that the graph holds
        self.shapes: Any = None  # and the shapes of those that run as they are
        self.written = () if recording is None else _written_inputs(recording.graph)


def _written_inputs(graph: Graph) -> tuple[int, ...]:
    """Which inputs a graph writes to."""
    sharing = Sharing(graph, apart=True)
    return tuple([i for i, x in enumerate(nodes_in(graph.inputs)) if sharing.is_written(x)])


class ByGuards(NamedTuple):
    """Calls of one key for which there are graphs with open sizes: each where its guards hold."""

    entries: list[Entry]


class ByFloats(NamedTuple):
    """Calls of one key whose graphs hold their Python floats: an entry for each of these."""

    entries: dict[Any, Entry]
