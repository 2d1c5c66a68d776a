"""The graph that a backward walks: a node for each recorded call, an edge for each value that went in.

An edge points at what made the value: the node itself where the operator has one output, an `Output` of it where it has
several, a `Leaf` where the value was given. All three have `edges`, `shape` and `dtype`, which is everything the walk asks.
A node never refers to the wrapper of its own output: the wrapper refers to the node, and a cycle would keep both alive.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Level, OpOverload
from ..errors import GradientError

Layout = tuple[tuple[int, ...], np.dtype[Any]]


class Leaf:
    """The end of the graph: a value that was given, and the gradient that arrives for it."""

    __slots__ = ("__weakref__", "dtype", "edges", "grad", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.edges: tuple[Edge, ...] = ()
        self.grad: Any = None


class Node:
    """One recorded call.

    `rule(node, grad, create_graph)` gives a gradient, or None, for each of `edges`; `grad` is a list where the operator has
    several outputs. Fields are set by the layer's kernel, without a constructor, which would cost 200 ns a call.
    """

    __slots__ = ("__weakref__", "dtype", "edges", "level", "op", "rule", "saved", "shape")

    op: OpOverload
    level: Level
    edges: "tuple[Edge, ...]"
    rule: "Callable[[Any, Any, bool], Any]"
    saved: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def release(self) -> None:
        """Let go of what was saved and of the nodes before; a second backward then says so."""
        self.edges = ()
        self.saved = None
        self.rule = released

    @property
    def name(self) -> str:
        """The operator's name and `Backward`."""
        return f"{self.op.schema.name}Backward"

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Output:
    """One output of a node that has several."""

    __slots__ = ("__weakref__", "dtype", "edges", "number", "shape")

    def __init__(self, node: Node, number: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.edges: tuple[Edge, ...] = (node,)
        self.number = number
        self.shape = shape
        self.dtype = dtype


Edge = Leaf | Node | Output


def released(node: Node, grad: Any, create_graph: bool) -> Any:
    raise GradientError(
        f"backward reaches {node.op.name} a second time, and what it saved was let go after the first. "
        "Pass retain_graph=True to the first backward.",
        operator=node.op.name,
    )


def edges_of(data: Any) -> list[Any]:
    """The edges among what was kept beside the arguments, lists flattened."""
    found = []
    for item in data:
        if item is not None:
            if type(item) is list:
                found += edges_of(item)
            else:
                found.append(item)
    return found
