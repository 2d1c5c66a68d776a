"""Lifetimes: which nodes of a graph may share memory, and when that is read.

Two nodes may share memory where a schema says so, by its aliases, and where it does not say what happens: an operator with a
handle, with effects, or whose result is no array may hold on to what it is given.
"""

from typing import Any

from ..core import OpOverload
from ..operators.functional_variant import origin_of
from .alias_analysis import is_data, is_noticed
from .body import Body
from .node import Node, nodes_in

NEVER = 1 << 60  # no node of the graph is the last to read it: whoever holds inputs, constants or outputs may


class Lifetimes:
    """When the values of a graph are read.

    Attributes
    ----------
    order : dict
        The place of each node.
    users : dict
        By node, the nodes that are made of it.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: np.sin(np.cos(x)[1:]) + 1)(np.ones(3))
    >>> lifetimes = Lifetimes(graph)
    >>> [(node, lifetimes.last_read(node)) for node in graph.nodes if lifetimes.last_read(node) != NEVER]
    [(cos, 3), (getitem, 3), (sin, 4)]
    """

    def __init__(self, graph: Body) -> None:
        self.order = {node: i for i, node in enumerate(graph.nodes)}
        self.users: dict[Node, list[Node]] = {node: [] for node in graph.nodes}
        self._owners: dict[Node, Node] = {}  # of a node one that it shares memory with; who is none here owns its own
        self._reads: dict[Node, list[int]] = {}
        for node in graph.nodes:
            for x in nodes_in(node.args):
                self.users[x].append(node)
            self._share(node)
        for node in graph.nodes:
            self._note(node)
        for node in nodes_in(graph.outputs):
            self.reads(node).append(NEVER)

    def owner(self, node: Node) -> Node:
        """The same for all nodes that may share memory."""
        owners = self._owners
        while (higher := owners.get(node)) is not None:
            owners[node] = owners.get(higher, higher)
            node = higher
        return node

    def reads(self, node: Node) -> list[int]:
        """The places of the nodes that read the memory of a node, or `NEVER`."""
        return self._reads.setdefault(self.owner(node), [])

    def last_read(self, node: Node) -> int:
        """The place of the last node that reads the memory of a node; -1 where none does, `NEVER` where others may."""
        return max(self.reads(node), default=-1)

    def count(self, node: Node, x: Any) -> int:
        """How often the memory of a node is given in some arguments."""
        return sum(self.owner(other) is self.owner(node) for other in nodes_in(x))

    def _join(self, node: Node, other: Node) -> None:
        a, b = self.owner(node), self.owner(other)
        if a is not b:
            self._owners[a] = b

    def _share(self, node: Node) -> None:
        """Note what a node shares memory with."""
        op = maker(node).op
        if node.kind == "item" and (op is None or origin_of(op) is None):  # each new value of a functional form is a copy
            self._join(node, node.args[0])
        if node.op is not None and may_be_view(node.op):
            for argument, x in zip(node.op.schema.arguments, node.args, strict=True):
                for other in nodes_in(x) if argument.alias is not None else ():
                    self._join(node, other)

    def _note(self, node: Node) -> None:
        """Note what a node reads."""
        if node.kind in ("placeholder", "constant"):
            self.reads(node).append(NEVER)
        if node.op is None:
            return
        kept = not is_data(node.value) or is_noticed(node, node.op)
        for x in (node, *nodes_in(node.args)) if kept else nodes_in(node.args):
            self.reads(x).append(NEVER if kept else self.order[node])


def maker(node: Node) -> Node:
    """The call, or the input, that a value comes from through items."""
    while node.kind == "item":
        node = node.args[0]
    return node


def may_be_view(op: OpOverload) -> bool:
    """Whether what an operator returns may share memory with its arguments."""
    return any(result.alias is not None for result in op.schema.returns)
