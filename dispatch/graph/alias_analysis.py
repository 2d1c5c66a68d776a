"""What calls do besides returning, and which values of a graph may share memory.

A pass asks here before it drops, merges, folds or moves a call. The answers come from schemas, tags and the values that are
handed over; where these leave it open, the answer is the careful one.
"""

from collections.abc import Iterable
from typing import Any

from ..core import OpOverload
from ..core.pytree import leaves
from ..schema.tags import Tag
from ..schema.types import Alias
from .body import Body
from .literals import is_known
from .node import Node, nodes_in

EFFECTS = frozenset({Tag.effect, Tag.random, Tag.maybe_aliasing_or_mutating})


def is_pinned(node: Node) -> bool:
    """Whether a call has to stay, once and in its order.

    It does where it writes, returns nothing, draws, has an effect, or takes an object that is neither array nor constant, a
    handle say, with which it may do anything.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: np.copyto(x, np.sin(x)))(np.ones(3))
    >>> [node for node in graph.nodes if is_pinned(node)]
    [setitem_]
    """
    op = node.op
    return op is not None and (op.schema.is_mutable or not op.schema.returns or is_noticed(node, op))


def is_noticed(node: Node, op: OpOverload) -> bool:
    """Whether a call may be noticed by other ways than what it writes and returns."""
    if not EFFECTS.isdisjoint(op.tags):
        return True
    return not all(is_data(x.value) if type(x) is Node else is_known(x) for x in leaves(node.args))


def is_data(value: Any) -> bool:
    """Whether what a node gives is made of arrays and constants alone; the metadata of an array is made of constants too."""
    return all(map(is_known, leaves(value)))


class Sharing:
    """Which values of a graph may share memory, which memory is written while it runs, and which is seen outside of it.

    Values that may share memory belong to one class. Where anything is written, all inputs belong to one: a caller may give
    one array twice.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: np.sin(x.T) + x)(np.ones((2, 2)))
    >>> graph.nodes
    [x, transpose, sin, add]
    >>> x, transpose, sin, add = graph.nodes
    >>> sharing = Sharing(graph)
    >>> sharing.of(x) is sharing.of(transpose), sharing.of(x) is sharing.of(sin), sharing.is_seen(add)
    (True, False, True)
    """

    def __init__(self, body: Body) -> None:
        self._above: dict[Node, Node] = {}  # each node: one of its class, in the end the one that stands for it
        written: list[Node] = []
        seen: list[Node] = list(nodes_in(body.outputs))
        self._writes: dict[Node, list[Node]] = {}
        for node in body.nodes:
            if node.kind == "item":
                self._join([node, node.args[0]])
            elif node.op is not None:
                self._join([node, *self._shared(node, node.op)])
                if writes := self._written(node, node.op):
                    self._writes[node] = writes
                    written += writes
                silent = not (node.op.schema.returns or node.op.schema.is_mutable)
                if silent or not is_data(node.value) or is_noticed(node, node.op):  # an object may hold what it is made of
                    seen += nodes_in(node.args)
        if written:
            self._join([node for node in body.nodes if node.kind == "placeholder"])
        self._written_classes = set(map(self.of, written))
        self._seen_classes = set(map(self.of, seen))

    def of(self, node: Node) -> Node:
        """The node that stands for all that may share memory with one."""
        above = self._above
        while (higher := above.get(node, node)) is not node:
            above[node] = above.get(higher, higher)
            node = higher
        return node

    def is_written(self, node: Node) -> bool:
        """Whether the memory of a value may be written while the graph runs."""
        return self.of(node) in self._written_classes

    def is_seen(self, node: Node) -> bool:
        """Whether the memory of a value may be known outside: returned, or handed to somebody who might keep it."""
        return self.of(node) in self._seen_classes

    @staticmethod
    def is_view(node: Node) -> bool:
        """Whether what a call gives may share memory with its arguments."""
        return node.op is not None and any(True for _ in Sharing._shared(node, node.op))

    def merge(self, x: Node, y: Node) -> None:
        """Let one value stand for two, of which neither is written."""
        seen = self.is_seen(x) or self.is_seen(y)
        self._join([x, y])
        if seen:
            self._seen_classes.add(self.of(x))

    def writes(self, node: Node) -> set[Node]:
        """What a call writes to, as `of` gives it."""
        return set(map(self.of, self._writes.get(node, ())))

    def _join(self, nodes: Iterable[Node]) -> None:
        first: Node | None = None
        for node in nodes:
            if first is None:
                first = self.of(node)
            else:
                self._above[self.of(node)] = first

    @staticmethod
    def _shared(node: Node, op: OpOverload) -> list[Node]:
        """The arguments that the results of a call may share memory with, or be."""
        schema = op.schema
        if Tag.maybe_aliasing_or_mutating in op.tags or any(_is_open(x.alias) for x in (*schema.arguments, *schema.returns)):
            return list(nodes_in(node.args))
        if all(result.alias is None for result in schema.returns):
            return []
        return [x for a, value in zip(schema.arguments, node.args, strict=True) if a.alias is not None for x in nodes_in(value)]

    @staticmethod
    def _written(node: Node, op: OpOverload) -> list[Node]:
        if Tag.maybe_aliasing_or_mutating in op.tags:
            return list(nodes_in(node.args))
        return [x for a, value in zip(op.schema.arguments, node.args, strict=True) if a.is_write for x in nodes_in(value)]


def _is_open(alias: Alias | None) -> bool:
    """Whether an alias set is everything there is."""
    return alias is not None and "*" in alias.before | alias.after
