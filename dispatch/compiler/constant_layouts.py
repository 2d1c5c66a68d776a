"""Arrays made after another, of which only shape, dtype and strides are read: known when those are."""

from math import prod
from typing import Any

import numpy as np

from ..graph import Graph, Metadata, Node, nodes_in
from ..graph.passes import MOST_BYTES
from ..schema.tags import Tag


def known_by_layout(graph: Graph) -> Graph:
    """A graph with constants for what operators make of layouts alone: `ones_like(x)`, where the sizes of `x` are no symbols.

    The seed of a gradient is one; folding then has the steps of the gradient that depend on no data.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: np.ones_like(x) * x)(np.ones(3))
    >>> graph.nodes, known_by_layout(graph).nodes
    ([x, ones_like, multiply], [x, ones_like, multiply])
    >>> known_by_layout(graph).constants
    {'ones_like': array([1., 1., 1.])}
    """

    def known(new: Graph, node: Node, args: tuple[Any, ...]) -> Node:
        if node.op is not None and Tag.metadata in node.op.tags and _is_small(node.value):
            first, *rest = node.args
            if type(first) is Node and _is_small(first.value) and not any(True for _ in nodes_in(rest)):
                value = node.op.whole(np.empty(first.value.shape, first.value.dtype), *rest)
                if isinstance(value, np.ndarray) and (value.shape, value.strides) == (node.value.shape, node.value.strides):
                    return new.constant(value, node.value, node.name)
        return new.like(node, args)

    return graph.rebuilt(known)


def _is_small(value: Any) -> bool:
    if type(value) is not Metadata or value.device != "cpu" or any(type(n) is not int for n in value.shape):
        return False
    return bool(prod(value.shape) * value.dtype.itemsize <= MOST_BYTES)
