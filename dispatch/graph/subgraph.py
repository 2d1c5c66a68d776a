"""Subgraph: a graph that an operator is given, and runs: the body of a loop, the branch of a condition."""

from collections.abc import Callable
from typing import Any

from .graph import Graph
from .literals import register_value


class Subgraph:
    """A graph as an argument of an operator. It takes arrays, one after the other, returns a list of arrays, and never changes.

    Attributes
    ----------
    graph : Graph
    run : callable or None
        What runs it on plain arrays, once somebody has made that.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> body = Subgraph(dispatch.make_fx(lambda x: [x * 2])(np.ones(3)))
    >>> body(np.ones(2))
    [array([2., 2.])]
    """

    __slots__ = ("_lines", "graph", "run")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.run: Callable[..., Any] | None = None
        self._lines: tuple[str, ...] | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of the graph as text: a line feed in a text would be escaped again at each depth of graphs in graphs."""
        if self._lines is None:
            self._lines = tuple(self.graph.dumps().split("\n"))
        return self._lines

    def __call__(self, *args: Any) -> list[Any]:
        """Run the graph node by node, on values of any transform."""
        found: list[Any] = self.graph(*args)
        return found

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Subgraph) and self.graph == other.graph)

    __hash__ = object.__hash__

    def __reduce__(self) -> Any:
        return _read, self.lines

    def __repr__(self) -> str:
        return f"Subgraph({self.graph!r})"


def _read(*lines: str) -> Subgraph:
    return Subgraph(Graph.loads("\n".join(lines)))


register_value(Subgraph, "graph", lambda x: x.lines, _read, body=lambda x: x.graph)
