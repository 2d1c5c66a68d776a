"""Says when the values of a graph are used for the last time: the value itself, and the memory that it may share."""

from .alias_analysis import AliasAnalysis
from .body import Body
from .node import Node, nodes_in

NEVER = 1 << 60  # the last read of memory that code outside the graph may read at any time


def last_uses(body: Body) -> dict[Node, list[Node]]:
    """Return for each node the nodes whose values nothing needs after it. Outputs are never among them."""
    done: dict[Node, list[Node]] = {}
    seen = set(nodes_in(body.outputs))
    for node in reversed(body.nodes):
        for x in {node: None, **dict.fromkeys(nodes_in(node.args))}:
            if x not in seen:
                seen.add(x)
                done.setdefault(node, []).append(x)
    return done


class Lifetimes:
    """When the memory of the values of a graph is read.

    `order` has the place of each node, `users` the nodes that take it as an argument; `aliases` tells which values may share
    memory, inputs apart.
    """

    def __init__(self, graph: Body) -> None:
        self.order = {node: i for i, node in enumerate(graph.nodes)}
        self.users: dict[Node, list[Node]] = {node: [] for node in graph.nodes}
        self.aliases = AliasAnalysis(graph, apart=True)
        self._reads: dict[Node, list[int]] = {}
        for i, node in enumerate(graph.nodes):
            for x in nodes_in(node.args):
                self.users[x].append(node)
                if node.op is not None:
                    self.reads(x).append(i)
            if node.kind in ("placeholder", "constant") or self.aliases.is_seen(node):
                self.reads(node).append(NEVER)

    def reads(self, node: Node) -> list[int]:
        """Return the places of the nodes that read the memory of a node, and `NEVER` if code outside may read it."""
        return self._reads.setdefault(self.aliases.of(node), [])

    def last_read(self, node: Node) -> int:
        """Return the place of the last node that reads the memory of a node: -1 if none does, `NEVER` if code outside may."""
        return max(self.reads(node), default=-1)
