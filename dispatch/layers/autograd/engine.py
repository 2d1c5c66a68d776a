"""The walk back: from results to leaves, each node once, when every gradient that flows into it has arrived.

A heap gives the newest node first, and a node is older than all that was made of its value. Nothing recurses, so a tape may
be a million calls long, and what a node saved is let go right after its rule has run.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush, heapreplace
from typing import Any

from ...core import Level, Setting, active_mode, setting
from ...core.array_memory import has_layout
from ...dispatcher.observer import OBSERVE
from ...errors import DispatchError
from ...operators.prims import add
from .anomaly import checked
from .cotangents import fitted
from .grad_mode import AUTOGRAD, GROUND_ONLY, quiet_with
from .node import Edge, Leaf, Node, Output, released
from .record import show


def run_backward(  # noqa: C901 - one frame: a function for each arrival costs 60 ns a gradient
    roots: Sequence[Edge | None],
    seeds: Any,
    level: Level,
    keep: bool,
    create_graph: bool,
    only: Mapping[Node, tuple[Any, Any]] | None = None,
) -> dict[Leaf, Any]:
    """Carry gradients from the roots to the leaves.

    Parameters
    ----------
    roots : sequence of Edge
    seeds : sequence
        The gradient each root begins with.
    level : Level
        Whose tape this is. Unless `create_graph`, its values count as constants meanwhile; those of other levels record on.
    keep : bool
        Keep what nodes saved for another backward.
    create_graph : bool
        Hand tracked values to the rules, so that the gradients are recorded at this level too.
    only : mapping, optional
        The edges and the rule that count in place of a node's own. Of the roots and these edges, those that are to get no
        gradient are None, so that each node which is reached is in it.

    Returns
    -------
    dict
        The gradient of each leaf that one arrived for.
    """
    leaves: dict[Leaf, Any] = {}
    waiting: list[tuple[int, Node]] = []  # a heap of the nodes that a gradient has arrived for, but the newest
    grads: dict[Node, Any] = {}  # theirs
    newest: Node | None = None  # kept out of both, which a chain of calls then never touches
    grad: Any = None
    node: Any = None
    edges, results = roots, seeds
    usual = not create_graph and setting(AUTOGRAD) is None and not level.number
    if active_mode(OBSERVE) is not None:
        only = checked(only)
    with Setting(AUTOGRAD, GROUND_ONLY if usual else quiet_with(level.number, recording=create_graph)):
        while True:
            i = -1
            for edge in edges:
                i += 1
                result = results[i]
                if result is None or edge is None:
                    continue
                if not has_layout(result, edge.layout):
                    result = fitted(node, edges, edge, result)
                target: Any = edge
                if type(edge) is Leaf:
                    leaves[edge] = add(leaves[edge], result) if edge in leaves else result
                    continue
                if type(edge) is Output:
                    target = edge.node
                    found = grad if target is newest else grads.get(target)
                    if found is not None:
                        found[edge.number] = add(found[edge.number], result) if edge.number in found else result
                        continue
                    result = {edge.number: result}
                if target is newest:
                    grad = add(grad, result)
                elif waiting and target in grads:
                    grads[target] = add(grads[target], result)
                elif newest is None:
                    newest, grad = target, result
                elif target.order < newest.order:
                    heappush(waiting, (newest.order, newest))
                    grads[newest] = grad
                    newest, grad = target, result
                else:
                    heappush(waiting, (target.order, target))
                    grads[target] = result
            if newest is None:
                if not waiting:
                    break
                node = heappop(waiting)[1]
                grad = grads.pop(node)
            elif waiting and waiting[0][0] < newest.order:
                grads[newest] = grad
                node = heapreplace(waiting, (newest.order, newest))[1]
                grad = grads.pop(node)
            else:
                node = newest
            newest = results = result = None  # the rule runs with nothing alive that it does not need
            edges, rule = node.edges, node.rule
            if only is not None:
                edges, rule = only[node]
            if create_graph:
                show((node, *edges))
            try:
                results = rule(node, grad, create_graph)
            except Exception as error:
                _add_note(error, node)
                raise
            if not keep and edges:
                node.let_go(released)
                if type(node) is not Node and node.simple is not None:
                    node.forget()
        for leaf, result in leaves.items():
            if leaf.hooks is not None:
                leaves[leaf] = leaf.hooks(result)
        return leaves


def _add_note(error: Exception, node: Node) -> None:
    """Say in whose backward an exception was raised, where its own text does not; under anomaly mode, where that was called."""
    place = getattr(node, "place", "")
    if place:
        error.add_note(f"in the backward of {node.op.name}, which was called in {place}")
    elif not isinstance(error, DispatchError) or not error.operator:
        error.add_note(f"in the backward of {node.op.name}")
