"""The graph that a backward walks: a node for each recorded call, an edge for each value that went in.

An edge points at what made the value: the node itself where the operator has one output, an `Output` of it where it has
several, a `Leaf` where the value was given. All three know the `layout`, shape and dtype, that a gradient must have.
A node never refers to the wrapper of its own output: the wrapper refers to the node, and a cycle would keep both alive.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Level, OpOverload, Tensor
from ..errors import GradientError
from ..history import Record, hide

Layout = tuple[tuple[int, ...], np.dtype[Any]]


class Leaf:
    """The end of the graph: a value that was given, and the gradient that arrives for it."""

    __slots__ = ("__weakref__", "grad", "layout")

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.grad: Any = None
        hide(self)  # until it is walked by a backward that makes a graph, and so may get a gradient that leads back here


class Node(Record):
    """One recorded call.

    `rule(node, grad, create_graph)` gives a gradient, or None, for each of `edges`; `grad` is a dict by number where the
    operator has several outputs. Fields are set by the layer's kernel, in one step where it can.

    `order` counts down: a node's is smaller than that of every node it was made of, whichever thread made them, so a heap
    that gives the smallest first walks back in an order in which every gradient that flows into a node has arrived before
    it runs.
    """

    __slots__ = ()

    op: OpOverload
    level: Level
    inputs: tuple[Any, ...]  # for each argument its edge, None where it is not tracked, a list for a list
    edges: "tuple[Edge | None, ...]"  # the same tuple, or where an argument is a list, the edges alone
    rule: "Callable[[Any, Any, bool], Any]"
    saved: Any
    layout: Layout
    order: int

    @property
    def name(self) -> str:
        """The operator's name and `Backward`."""
        return f"{self.op.schema.name}Backward"

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Output:
    """One output of a node that has several."""

    __slots__ = ("__weakref__", "layout", "node", "number")

    def __init__(self, node: Node, number: int, layout: Layout) -> None:
        self.node = node
        self.number = number
        self.layout = layout


Edge = Leaf | Node | Output


def released(node: Node, grad: Any, create_graph: bool) -> Any:
    """Refuse a second backward: the rule of a node that has let go of what it saved."""
    raise GradientError(
        f"backward reaches {node.op.name} a second time, and what it saved was let go after the first. "
        "Pass retain_graph=True to the first backward.",
        operator=node.op.name,
    )


def edges_of(data: Any) -> tuple[Any, ...]:
    """The edges among what was kept beside the arguments, lists flattened."""
    found: list[Any] = []
    for item in data:
        if item is not None:
            if type(item) is list:
                found += edges_of(item)
            else:
                found.append(item)
    return tuple(found)


def zeros(layout: Layout, like: Any) -> Any:
    """A gradient of zeros: an array, or of the kind of a wrapper, so that fakes meet fakes."""
    shape, dtype = layout
    return np.zeros_like(like, dtype=dtype, shape=shape) if isinstance(like, Tensor) else np.zeros(shape, dtype)
