"""The walk back: from results to leaves, each node once, when every gradient that flows into it has arrived.

A heap gives the newest node first, and a node is older than all that was made of its value. Nothing recurses, so a tape may
be a million calls long, and what a node saved is let go right after its rule has run.
"""

from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace
from typing import Any

import numpy as np

from ..core import Level, Setting, Tensor, setting
from ..errors import DispatchError, GradientError, kind_of
from ..history import show
from ..memory import has_layout
from ..prims import add, astype, sum_to
from .modes import AUTOGRAD, GROUND_ONLY, quiet_with
from .node import Edge, Leaf, Node, Output, released


def run_backward(  # noqa: C901 - one frame: a function for each arrival costs 60 ns a gradient
    roots: Sequence[Edge | None], seeds: Any, level: Level, keep: bool, create_graph: bool
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
    with Setting(AUTOGRAD, GROUND_ONLY if usual else quiet_with(level.number, recording=create_graph)):
        while True:
            i = -1
            for edge in edges:
                i += 1
                result = results[i]
                if result is None or edge is None:
                    continue
                if not has_layout(result, edge.layout):
                    result = _fitted(node, edges, edge, result)
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
                    return leaves
                node = heappop(waiting)[1]
                grad = grads.pop(node)
            elif waiting and waiting[0][0] < newest.order:
                grads[newest] = grad
                node = heapreplace(waiting, (newest.order, newest))[1]
                grad = grads.pop(node)
            else:
                node = newest
            newest = results = result = None  # the rule runs with nothing alive that it does not need
            edges = node.edges
            if create_graph:
                show((node, *edges))
            try:
                results = node.rule(node, grad, create_graph)
            except DispatchError:
                raise
            except Exception as error:
                error.add_note(f"in the backward of {node.op.name}")
                raise
            if not keep:
                node.let_go(released)
                if type(node) is not Node and node.simple is not None:
                    node.forget()


def _fitted(node: Node, edges: Sequence[Edge | None], target: Edge, grad: Any) -> Any:
    """A gradient summed and cast to the shape and dtype of its input, where broadcasting explains the difference."""
    shape, dtype = target.layout
    if not isinstance(grad, (np.ndarray, np.generic, Tensor)):
        if isinstance(grad, (int, float, complex)):
            grad = np.asarray(grad, dtype)
        else:
            raise GradientError(
                f"{node.op.name}: its backward gave {kind_of(grad)} for {_input(node, edges, target)}. "
                "Return an array, or None where there is no gradient.",
                operator=node.op.name,
            )
    if grad.shape != shape:
        extra = len(grad.shape) - len(shape)
        if extra < 0 or any(n not in (1, m) for n, m in zip(shape, grad.shape[extra:], strict=True)):
            raise GradientError(
                f"{node.op.name}: its backward gave a gradient of shape {grad.shape} for {_input(node, edges, target)}, which "
                f"has shape {shape}. A gradient has the shape of its input, or one that broadcasting makes of it.",
                operator=node.op.name,
            )
        grad = sum_to(grad, shape)
    if grad.dtype != dtype:
        grad = astype(grad, dtype)
    return grad


def _input(node: Node, edges: Sequence[Edge | None], target: Edge) -> str:
    """Which argument an edge stands for, in words; of lists the edges do not tell."""
    arguments = node.op.schema.arguments
    if len(edges) != len(arguments) or any(a.type.parts and a.type.has_tensor for a in arguments):
        return "a tracked input"
    return f"argument {arguments[edges.index(target)].name!r}"
