"""Node, one value of a graph, and Metadata, what is known of an array without its data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core import OpOverload
from ..core.pytree import items_of
from ..core.source import Line

Kind = Literal["placeholder", "constant", "call", "item"]


class Metadata(NamedTuple):
    """What is known of an array without its data.

    Attributes
    ----------
    shape : tuple of int or SymInt
    dtype : dtype
    strides : tuple of int or SymInt
        In bytes, as NumPy's.
    device : str
    """

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]
    strides: tuple[Any, ...]
    device: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """What stands in a loaded graph for what a node gives that is no array and has no text, a residual say: its class."""

    cls: str


class Node:
    """One value of a graph.

    Attributes
    ----------
    kind : {"placeholder", "constant", "call", "item"}
        An input; an array of the graph's own; what an operator gives; one of several outputs of a call, or of a list.
    name : str
        A Python identifier, no two alike in one graph.
    op : OpOverload or None
        What is called, as `op.whole`: everything by position, a residual comes back too.
    args : tuple
        Of a call every argument, in schema order, with nodes for values, inside lists, tuples, dicts and records too. Of an
        item the node it is one of, and its number.
    value : Metadata, container of these, or object
        What it gives: of an array its metadata; what is no array as it was when it was traced.
    source : Line or None
        The line of the user's code that it comes from.
    """

    __slots__ = ("args", "kind", "name", "op", "source", "value")

    def __init__(
        self, kind: Kind, name: str, op: OpOverload | None, args: tuple[Any, ...], value: Any, source: Line | None = None
    ) -> None:
        self.kind, self.name, self.op, self.args, self.value, self.source = kind, name, op, args, value, source

    def __repr__(self) -> str:
        return self.name


def maker(node: Node) -> Node:
    """The call that an item comes from, through any number of items; every other node itself."""
    while node.kind == "item":
        node = node.args[0]
    return node


def nodes_in(x: Any) -> Iterator[Node]:
    """The nodes in a value, in containers too, as often as they stand there.

    Examples
    --------
    >>> x = Node("placeholder", "x", None, (), None)
    >>> list(nodes_in((x, [3, {"a": x}])))
    [x, x]
    """
    if type(x) is Node:
        yield x
    elif (items := items_of(x)) is not None:
        for item in items:
            yield from nodes_in(item)
