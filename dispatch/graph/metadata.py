"""Metadata, an array without its data, and Opaque, which replaces what a file cannot keep."""

from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from ..core import OpOverload
from ..core.wrong_attributes import no_attribute, not_set
from ..errors import GraphError, kind_of
from ..schema.types import Spelled

Kind = Literal["placeholder", "constant", "call", "item"]
# Attributes of torch.fx's nodes that these have not, and what to write in their place.
NODES_ELSEWHERE = {
    "all_input_nodes": "list(nodes_in(node.args)), with nodes_in of dispatch.graph",
    "dtype": "node.value.dtype",
    "kwargs": "node.args, which holds every argument by position",
    "meta": "node.value, the shape and dtype of the result; node.source, the line that made the call",
    "replace_all_uses_with": "graph.replace_all_uses_with(node, other)",
    "shape": "node.value.shape",
    "target": "node.op",
    "type": "node.value",
    "users": "graph.users(node)",
}


def settable(node: object, name: str, value: object) -> str:
    """Return the name of an attribute of a node that may be set to a value; raise for another, and for what is no operator."""
    if not hasattr(type(node), name):
        raise not_set(node, name, NODES_ELSEWHERE)
    if name == "op" and not (value is None or isinstance(value, OpOverload)):
        said = f"a node's op is an operator, and {kind_of(value)} was given."
        raise GraphError(f"{said} Write node.op = dispatch.ops.np.multiply.")
    return name


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

    def __getattr__(self, name: str) -> NoReturn:
        raise no_attribute(self, name, {"ndim": "len(x.shape)", "numel": "math.prod(x.shape)", "size": "math.prod(x.shape)"})


class Opaque(Spelled):
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

    __slots__ = ("cls",)

    cls: str

    def __init__(self, cls: str) -> None:
        self._set(cls)

    def __str__(self) -> str:
        return self.cls

    def __repr__(self) -> str:
        return f"Opaque(cls={self.cls!r})"
