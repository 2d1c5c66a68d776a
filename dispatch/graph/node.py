"""Node, one value of a graph, and Metadata, an array without its data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core import OpOverload
from ..core.pytree import items_of
from ..core.source import Line

Kind = Literal["placeholder", "constant", "call", "item"]


class Metadata(NamedTuple):
    """The shape, dtype, strides and device of an array.

    Attributes
    ----------
    shape : tuple of int or SymInt
    dtype : dtype
    strides : tuple of int or SymInt
        In bytes, as NumPy's.
    device : str

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.make_fx(np.sin)(np.ones(3)).nodes[0].value
    Metadata(shape=(3,), dtype=dtype('float64'), strides=(8,), device='cpu')
    """

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]
    strides: tuple[Any, ...]
    device: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """Replaces, in a loaded graph, a value that cannot be written as text, such as a residual.

    Attributes
    ----------
    cls : str
        The name of the class of that value.

    Examples
    --------
    >>> Opaque("mylib.Factors")
    Opaque(cls='mylib.Factors')
    """

    cls: str


class Node:
    """One value of a graph.

    Attributes
    ----------
    kind : {"placeholder", "constant", "call", "item"}
        An input; an array that belongs to the graph; the result of a call; one item of the result of another node.
    name : str
        A Python identifier, unique in the graph.
    op : OpOverload or None
        The operator, called as `op.whole`: all arguments by position, and a residual is returned too.
    args : tuple
        Of a call, every argument in schema order, with nodes for values, also inside lists, tuples, dicts and records. Of an
        item, the node it belongs to and its number.
    value : Metadata, container of these, or object
        The result: the metadata of an array; any other value as it was in the trace.
    source : Line or None
        The line of user code that made the call.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x, sin = dispatch.make_fx(np.sin)(np.ones(3)).nodes
    >>> sin.kind, sin.op.name, sin.args
    ('call', 'np::sin', (x,))
    """

    __slots__ = ("args", "kind", "name", "op", "source", "value")

    def __init__(
        self, kind: Kind, name: str, op: OpOverload | None, args: tuple[Any, ...], value: Any, source: Line | None = None
    ) -> None:
        self.kind, self.name, self.op, self.args, self.value, self.source = kind, name, op, args, value, source

    def __repr__(self) -> str:
        return self.name


def maker(node: Node) -> Node:
    """Return the call that an item comes from, through any number of items; any other node is returned itself."""
    while node.kind == "item":
        node = node.args[0]
    return node


def nodes_in(x: Any) -> Iterator[Node]:
    """Yield the nodes in a value, also in containers, as often as they occur.

    Parameters
    ----------
    x : Node, container of nodes, or object

    Yields
    ------
    Node

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: {"square": x * x})(np.ones(3))
    >>> list(nodes_in(graph.outputs)), list(nodes_in(graph.nodes[1].args))
    ([multiply], [x, x])
    """
    if type(x) is Node:
        yield x
    elif (items := items_of(x)) is not None:
        for item in items:
            yield from nodes_in(item)
