"""Computes the gradients at chosen values: runs only the nodes on the way to them."""

from collections.abc import Sequence
from math import inf
from typing import Any

from ...core import Level
from .backward_graph import Edge, Leaf, Node, Output
from .engine import run_backward
from .gradient_hooks import Hooked

Key = Leaf | tuple[Node, int | None]


def gradients_at(
    wanted: Sequence[Edge], roots: Sequence[Edge | None], seeds: Any, level: Level, keep: bool, create_graph: bool
) -> list[Any]:
    """Run backward to some values only, like `run_backward`. A value that no gradient reaches gets None."""
    nodes, reached = _reached(roots)
    if reached == set(wanted):  # nothing leads elsewhere, as mostly
        gradients: dict[Any, Any] = run_backward(roots, seeds, level, keep, create_graph)
        return [gradients.get(edge) for edge in wanted]
    keys = [key_of(edge) for edge in wanted]
    leaves = {key for key in keys if isinstance(key, Leaf)}
    found: dict[Any, Any] = {}
    only = _plan(nodes, leaves, keys, found)
    starts = [_kept(edge, leaves, only) for edge in roots]
    found.update(run_backward(starts, seeds, level, keep, create_graph, only))
    return [found.get(key) for key in keys]


def _reached(roots: Sequence[Edge | None]) -> tuple[list[Node], set[Leaf]]:
    """Return the nodes and the leaves that the roots were computed from."""
    nodes: dict[Node, None] = {}
    leaves: set[Leaf] = set()
    waiting = list(roots)
    while waiting:
        edge: Any = waiting.pop()
        if type(edge) is Leaf:
            leaves.add(edge)
        elif edge is not None:
            node = edge.node if type(edge) is Output else edge
            if node not in nodes:
                nodes[node] = None
                waiting += node.edges
    return list(nodes), leaves


def _plan(
    nodes: list[Node], leaves: set[Leaf], keys: Sequence[Key], found: dict[Any, Any]
) -> dict[Node, tuple[Any, Any]]:
    """Return, for each node on the way to the wanted values, its edges (None for one that leads elsewhere) and its rule."""
    numbers: dict[Node, list[int | None]] = {}
    for key in keys:
        if not isinstance(key, Leaf):
            numbers.setdefault(key[0], []).append(key[1])
    only: dict[Node, tuple[Any, Any]] = {}
    nodes.sort(key=lambda node: node.order, reverse=True)  # the oldest first: what a node was made of is known before it
    oldest = max([node.order for node in numbers], default=-inf)
    for node in nodes:
        edges: Any = tuple([_kept(edge, leaves, only) for edge in node.edges])
        # Of a node that has let go of its edges, or whose derivative raises, nobody knows where it leads: to what is wanted,
        # if that is older. Its rule then says what is missing.
        cut = not node.edges and (bool(leaves) or node.order < oldest)
        goes_on = cut or any(edge is not None for edge in edges)
        if node in numbers:
            only[node] = edges if goes_on else (), _meeting(numbers[node], goes_on, found)
        elif goes_on:
            only[node] = edges, node.rule
    return only


def _kept(edge: Edge | None, leaves: set[Leaf], only: dict[Node, Any]) -> Edge | None:
    """Return an edge if it leads to what is wanted, otherwise None."""
    if edge is None or isinstance(edge, Leaf):
        return edge if edge in leaves else None
    return edge if (edge.node if isinstance(edge, Output) else edge) in only else None


def _meeting(numbers: list[int | None], goes_on: bool, found: dict[Any, Any]) -> Any:
    """Return the rule of a node whose gradient is wanted. It runs only if more is wanted beyond the node."""

    def meeting(node: Node, grad: Any, create_graph: bool) -> Any:
        rule = node.rule
        if isinstance(rule, Hooked):
            grad, rule = rule.arrived(node, grad), rule.run
        for number in numbers:
            found[node, number] = grad if number is None else grad.get(number)
        return rule(node, grad, create_graph) if goes_on else ()

    return meeting


def key_of(edge: Edge) -> Key:
    """Return what tells a value from others: the leaf, or the node and the number of its output."""
    if isinstance(edge, Leaf):
        return edge
    return (edge.node, edge.number) if isinstance(edge, Output) else (edge, None)
