"""The graph that a backward walks: a node for each recorded call, an edge for each value that went in.

An edge points at what made the value: the node itself where the operator has one output, an `Output` of it where it has
several, a `Leaf` where the value was given. All three know the `layout`, shape and dtype, that a gradient must have.
A node never refers to the wrapper of its own output: the wrapper refers to the node, and a cycle would keep both alive.
"""

from collections.abc import Callable
from typing import Any

from ...core import Level, OpOverload
from ...errors import GradientError
from ..derivatives import Layout
from .hooks import Handle, check_hook, hooked
from .record import End, Record
from .visualize import dot, kept_bytes, layouts_of


class Leaf(End):
    """The end of the graph: a value that was given, and the gradient that arrives for it.

    Attributes
    ----------
    layout : tuple
        Shape and dtype of the value.
    grad : object
    hooks : object
        A function of the whole gradient; see hooks.py.
    """

    __slots__ = ()

    layout: Layout

    @property
    def next_functions(self) -> tuple[()]:
        """None: a leaf is made of nothing."""
        return ()

    def name(self) -> str:
        """What torch calls what stands at a leaf."""
        return "AccumulateGrad"

    def label(self) -> str:
        """What a picture says of it."""
        return f"leaf\n{layouts_of(self)}"

    def __repr__(self) -> str:
        return f"<{self.name()}>"


class Node(Record):
    """One recorded call.

    `rule(node, grad, create_graph)` gives a gradient, or None, for each of `edges`; `grad` is a dict by number where the
    operator has several outputs. Fields are set by the layer's kernel, in one step where it can.

    `order` counts down: a node's is smaller than that of every node it was made of, whichever thread made them, so a heap
    that gives the smallest first walks back in an order in which every gradient that flows into a node has arrived before
    it runs.
    """

    __slots__ = ("place",)

    op: OpOverload
    level: Level
    inputs: tuple[Any, ...]  # for each argument its edge, None where it is not tracked, a list for a list
    edges: "tuple[Edge | None, ...]"  # the same tuple, or where an argument is a list, the edges alone
    rule: "Callable[[Any, Any, bool], Any]"
    saved: Any
    layout: Layout
    place: str  # the user's line that called it, unset but under anomaly mode
    order: int

    def name(self) -> str:
        """The operator's name and `Backward`."""
        return f"{self.op.schema.name}Backward"

    @property
    def next_functions(self) -> "tuple[tuple[Node | Leaf | None, int], ...]":
        """For each argument, items of lists one by one, what made it, and which output of that it is; None of a constant."""
        return tuple(_function(edge) for edge in _flat(self.inputs))

    @property
    def nbytes(self) -> int:
        """How many bytes of arrays the node keeps for its backward; see `dispatch.autograd.nbytes` for a whole tape."""
        return kept_bytes([self])

    def register_hook(self, hook: Callable[[Any, Any], Any]) -> Handle:
        """Call `hook(grad_inputs, grad_outputs)` each time after the node's backward has run.

        Parameters
        ----------
        hook : callable
            Gets two tuples: the gradients of the inputs that the backward gave, None where there is none, and those of the
            outputs that it was given. Returns other gradients of the inputs, or None.

        Returns
        -------
        Handle

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * x
        >>> handle = y.grad_fn.register_hook(lambda grads, given: print(grads, given))
        >>> y.backward(np.array([1.0, 10.0]))
        (array([ 1., 20.]), array([ 1., 20.])) (array([ 1., 10.]),)
        """
        check_hook(hook)
        return Handle(hooked(self).after, hook)

    def register_prehook(self, hook: Callable[[Any], Any]) -> Handle:
        """Call `hook(grad_outputs)` each time before the node's backward runs.

        Parameters
        ----------
        hook : callable
            Gets a tuple of the gradients of the node's outputs. Returns others in their place, or None.

        Returns
        -------
        Handle
        """
        check_hook(hook)
        return Handle(hooked(self).before, hook)

    def to_dot(self) -> str:
        r"""The graph that leads to this node, as text in the DOT language; of a picture `dot -Tsvg` makes an image.

        Examples
        --------
        >>> import dispatch
        >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
        >>> print((2 * x).grad_fn.to_dot())
        digraph {
            node [shape=box, fontname=monospace]
            n0 [label="np::multiply\n(2,) float64"]
            n1 [label="leaf\n(2,) float64"]
            n1 -> n0
        }
        """
        return dot(self)

    def label(self) -> str:
        """What a picture says of it."""
        return f"{self.op.name}\n{layouts_of(self)}"

    def __repr__(self) -> str:
        return f"<{self.name()}>"


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


def _function(edge: Any) -> tuple[Any, int]:
    return (edge.node, edge.number) if isinstance(edge, Output) else (edge, 0)


def _flat(data: Any) -> list[Any]:
    """The edges of each argument, lists opened, None for constants."""
    return [edge for item in data for edge in (_flat(item) if type(item) is list else (item,))]


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
