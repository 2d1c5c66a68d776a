"""The walk back: from results to leaves, each node once, when every gradient that flows into it has arrived.

Two passes over the graph, both loops: the first counts how many edges point at each node, the second runs a node when its
count is used up. Nothing recurses, so a tape may be a million calls long, and what a node saved is let go right after its
rule has run.
"""

from typing import Any

import numpy as np

from ..core import DispatchKey, Level, Setting, Tensor, has_layout
from ..errors import GradientError
from ..prims import add, astype, sum_to
from .modes import Quiet, quiet_now
from .node import Edge, Leaf, Node, Output


def run_backward(roots: list[tuple[Edge, Any]], level: Level, *, keep: bool, create_graph: bool) -> dict[Leaf, Any]:
    """Carry gradients from the roots to the leaves.

    Parameters
    ----------
    roots : list of (edge, gradient)
    level : Level
        Whose tape this is. Unless `create_graph`, its values count as constants meanwhile; those of other levels record on.
    keep : bool
        Keep what nodes saved for another backward.
    create_graph : bool
        Hand tracked values to the rules, so that the gradients are recorded at this level too.

    Returns
    -------
    dict
        The gradient of each leaf that one arrived for: an array nobody else holds, or a Tensor.
    """
    before = quiet_now()
    now = before.without(level.number) if create_graph else before.also(level.number)
    with Setting(DispatchKey.AUTOGRAD, now):
        return _walk(roots, keep, create_graph)


def _count(roots: list[tuple[Edge, Any]]) -> dict[Edge, int]:
    """How many edges point at each node that can be reached, roots counted once for being roots."""
    counts: dict[Edge, int] = {}
    stack: list[Edge] = []
    for root, _ in roots:
        if root not in counts:
            counts[root] = 0
            stack.append(root)
    while stack:
        for edge in stack.pop().edges:
            if edge in counts:
                counts[edge] += 1
            else:
                counts[edge] = 1
                stack.append(edge)
    return counts


def _walk(roots: list[tuple[Edge, Any]], keep: bool, create_graph: bool) -> dict[Leaf, Any]:
    counts = _count(roots)
    grads: dict[Edge, Any] = {}
    for root, grad in roots:
        grads[root] = add(grads[root], grad) if root in grads else grad
    given = {id(grad) for grad in grads.values()}
    ready = [root for root in grads if not counts[root]]
    leaves: dict[Leaf, Any] = {}
    while ready:
        node = ready.pop()
        grad = grads.pop(node, None)
        if isinstance(node, Leaf):
            if grad is not None:
                leaves[node] = _own(grad, given)
            continue
        edges = node.edges
        if isinstance(node, Output):
            (target,) = edges
            if grad is not None:
                grads.setdefault(target, {})[node.number] = grad
            counts[target] -= 1
            if not counts[target]:
                ready.append(target)
            continue
        results = node.rule(node, grad, create_graph) if grad is not None else (None,) * len(edges)
        for k, (target, result) in enumerate(zip(edges, results, strict=True)):
            if result is not None:
                if not has_layout(result, target.shape, target.dtype):
                    result = _fitted(node, k, result, target)
                grads[target] = add(grads[target], result) if target in grads else result
            counts[target] -= 1
            if not counts[target]:
                ready.append(target)
        if not keep:
            node.release()
    return leaves


def _own(grad: Any, given: set[int]) -> Any:
    """A gradient as its leaf keeps it: an array that nobody else holds and that can be written to."""
    if isinstance(grad, np.ndarray) and not (grad.flags.owndata and grad.flags.writeable and id(grad) not in given):
        grad = grad.copy()
    given.add(id(grad))
    return grad


def _fitted(node: Node, k: int, grad: Any, target: Edge) -> Any:
    """A gradient summed and cast to the shape and dtype of its input, where broadcasting explains the difference."""
    if not isinstance(grad, (np.ndarray, np.generic, Tensor)):
        if isinstance(grad, (int, float, complex)):
            grad = np.asarray(grad, target.dtype)
        else:
            raise GradientError(
                f"{node.op.name}: its backward gave a {type(grad).__name__} for {_input(node, k)}. "
                "Return an array, or None where there is no gradient.",
                operator=node.op.name,
            )
    if grad.shape != target.shape:
        extra = len(grad.shape) - len(target.shape)
        if extra < 0 or any(n not in (1, m) for n, m in zip(target.shape, grad.shape[extra:], strict=True)):
            raise GradientError(
                f"{node.op.name}: its backward gave a gradient of shape {grad.shape} for {_input(node, k)}, which has shape "
                f"{target.shape}. A gradient has the shape of its input, or one that broadcasting makes of it.",
                operator=node.op.name,
            )
        grad = sum_to(grad, target.shape)
    if grad.dtype != target.dtype:
        grad = astype(grad, target.dtype)
    return grad


def _input(node: Node, k: int) -> str:
    tracked = getattr(node, "inputs", ())
    names = [name for name, edge in zip(node.op.arguments.names, tracked, strict=False) if edge is not None]
    return f"argument {names[k]!r}" if k < len(names) else f"tracked input {k}"
