"""Answers which calls of a graph must stay and in which order, and which values may share memory.

Passes ask here before they drop, merge, fold or move a call, and before they let one write in place. The answers come from
schemas, tags and the values that are passed. Where these do not decide, the answer is the careful one.
"""

from collections.abc import Iterable
from typing import Any

from ..core import OpOverload
from ..core.pytree import leaves
from ..operators.functional_variant import origin_of
from ..schema.tags import Tag
from ..schema.types import Alias
from .body import Body
from .literals import is_known
from .node import Metadata, Node, maker, nodes_in

EFFECTS = frozenset({Tag.effect, Tag.random, Tag.maybe_aliasing_or_mutating})


def is_pinned(node: Node) -> bool:
    """Return whether a call must stay in a graph, once and in its order.

    It must if it writes, returns nothing, draws random numbers, has an effect, or takes an object that is neither an array nor
    a constant: with such an object, a handle for example, it may do anything.

    Parameters
    ----------
    node : Node

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: np.copyto(x, np.sin(x)))(np.ones(3))
    >>> [node for node in graph.nodes if is_pinned(node)]
    [setitem_]
    """
    op = node.op
    return op is not None and (op.schema.is_mutable or not op.schema.returns or has_effect(node, op))


def has_effect(node: Node, op: OpOverload) -> bool:
    """Whether a call may do more than write to its arguments and return."""
    if not EFFECTS.isdisjoint(op.tags):
        return True
    return not all(is_data(x.value) if type(x) is Node else is_known(x) for x in leaves(node.args))


def is_data(value: Any) -> bool:
    """Whether the value of a node consists of arrays and constants alone; the metadata of an array counts as constants."""
    return type(value) is Metadata or all(map(is_known, leaves(value)))


def may_be_view(op: OpOverload | None) -> bool:
    """Whether what an operator returns may share memory with its arguments."""
    return op is not None and _OpAliases(op).is_view


class _OpAliases:
    """What the schema and the tags of an operator say about shared memory.

    `everything`: it may share memory in ways that its schema does not name. `is_view`: a result may share memory with an
    argument. `is_copy`: it is a functional form, whose outputs are fresh copies.
    """

    def __init__(self, op: OpOverload) -> None:
        arguments, returns = op.schema.arguments, op.schema.returns
        aliases = [(i, a.alias) for i, a in enumerate(arguments) if a.alias is not None]
        results = [r.alias for r in returns if r.alias is not None]
        vague = Tag.maybe_aliasing_or_mutating in op.tags
        self.everything = vague or any([_is_open(alias) for alias in (*[alias for _, alias in aliases], *results)])
        self.is_view = self.everything or bool(results)
        self.is_copy = not self.is_view and origin_of(op) is not None
        self._writes_all = vague
        self._shared = [i for i, _ in aliases] if self.is_view else []
        self._written = [i for i, _ in aliases if arguments[i].is_write]

    def shared(self, node: Node) -> list[Node]:
        """Return the arguments of a call that its results may share memory with, or be."""
        return self._nodes(node, self.everything, self._shared)

    def written(self, node: Node) -> list[Node]:
        """Return the arguments that a call may write to."""
        return self._nodes(node, self._writes_all, self._written)

    @staticmethod
    def _nodes(node: Node, every: bool, places: list[int]) -> list[Node]:
        if every:
            return list(nodes_in(node.args))
        return [x for i in places for x in nodes_in(node.args[i])]


class AliasAnalysis:
    """Tells which values of a graph may share memory, which memory the graph writes to, and which is visible outside it.

    Values that may share memory form one class. All outputs of a call belong to the class of the call. Where the graph writes
    anything, all inputs form one class, because a caller may pass one array twice.

    Parameters
    ----------
    body : Body
    apart : bool, optional
        Each input is a class of its own, and so is each new value of a functional form, which is a fresh copy. It holds for
        graphs made by `functionalize`, which refuses a write to an input that overlaps another.

    Attributes
    ----------
    written_by : dict
        For each call that writes, the arguments that it may write to.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: np.sin(x.T) + x)(np.ones((2, 2)))
    >>> graph.nodes
    [x, transpose, sin, add]
    >>> x, transpose, sin, add = graph.nodes
    >>> aliases = AliasAnalysis(graph)
    >>> aliases.of(x) is aliases.of(transpose), aliases.of(x) is aliases.of(sin), aliases.is_seen(add)
    (True, False, True)
    """

    def __init__(self, body: Body, apart: bool = False) -> None:
        self._above: dict[Node, Node] = {}  # from a node to another of its class; the last one stands for the class
        written: list[Node] = []
        seen: list[Node] = list(nodes_in(body.outputs))
        self.written_by: dict[Node, list[Node]] = {}
        known: dict[OpOverload, _OpAliases] = {}
        for node in body.nodes:
            if node.kind == "item":
                call = maker(node)
                if not (apart and call.op is not None and known[call.op].is_copy):
                    self._join([node, node.args[0]])
            elif node.op is not None:
                aliases = known.get(node.op)
                if aliases is None:
                    aliases = known[node.op] = _OpAliases(node.op)
                if aliases.is_view:
                    self._join([node, *aliases.shared(node)])
                if writes := aliases.written(node):
                    self.written_by[node] = writes
                    written += writes
                if not is_data(node.value) or has_effect(node, node.op):  # an object may hold what it was made of
                    seen += (node, *nodes_in(node.args))
                elif not (node.op.schema.returns or node.op.schema.is_mutable):
                    seen += nodes_in(node.args)
        if written and not apart:
            self._join([node for node in body.nodes if node.kind == "placeholder"])
        self._written_classes = set(map(self.of, written))
        self._seen_classes = set(map(self.of, seen))

    def of(self, node: Node) -> Node:
        """Return the node that stands for the class of a node: the same one for all values that may share memory.

        Parameters
        ----------
        node : Node

        Returns
        -------
        Node
        """
        above = self._above
        while (higher := above.get(node, node)) is not node:
            above[node] = above.get(higher, higher)
            node = higher
        return node

    def is_written(self, node: Node) -> bool:
        """Return whether the graph may write to the memory of a value.

        Parameters
        ----------
        node : Node

        Returns
        -------
        bool
        """
        return self.of(node) in self._written_classes

    def is_seen(self, node: Node) -> bool:
        """Return whether code outside the graph may have the memory of a value: it is returned, or a call may keep it.

        Parameters
        ----------
        node : Node

        Returns
        -------
        bool
        """
        return self.of(node) in self._seen_classes

    def merge(self, x: Node, y: Node) -> None:
        """Let one value stand for two. Neither may be written.

        Parameters
        ----------
        x, y : Node
        """
        seen = self.is_seen(x) or self.is_seen(y)
        self._join([x, y])
        if seen:
            self._seen_classes.add(self.of(x))

    def writes(self, node: Node) -> set[Node]:
        """Return the classes that a call writes to, each by the node that stands for it.

        Parameters
        ----------
        node : Node

        Returns
        -------
        set of Node
        """
        return set(map(self.of, self.written_by.get(node, ())))

    def count(self, node: Node, x: Any) -> int:
        """Return how often the memory of a value occurs in some arguments.

        Parameters
        ----------
        node : Node
        x : object
            Arguments of a call, also in containers.

        Returns
        -------
        int
        """
        return sum(self.of(other) is self.of(node) for other in nodes_in(x))

    def _join(self, nodes: Iterable[Node]) -> None:
        first: Node | None = None
        for node in nodes:
            if first is None:
                first = self.of(node)
            else:
                self._above[self.of(node)] = first


def _is_open(alias: Alias | None) -> bool:
    """Whether an alias set contains everything."""
    return alias is not None and "*" in alias.before | alias.after
