"""The bools of Python in a graph: what `np.allclose` and `np.array_equal` give.

NumPy computes with such a bool beside an array as with one of its own, and Python with two of them otherwise: True + True is 2.
So a graph returns one, and hands it to an operator only beside an array.
"""

from typing import Any

import numpy as np

from ..core import DispatchKey, Tensor
from ..dispatcher.layer import find_layer
from ..errors import TracingError
from ..graph import Graph, Metadata, Node, nodes_in
from ..graph.node import standing
from ..layers.autograd import CONSTANT
from ..layers.fake import fake_tensor
from ..operators.registry import note_own_rules
from .graph_operators import define

# What an array has too, and does otherwise: True.conjugate() is 1. The other two are calls of the graph, which are looked at.
METHODS = frozenset(dir(bool)) - frozenset(dir(object)) - {"real", "imag"}
POWERS = frozenset({"power", "scalar_power", "float_power"})  # NumPy asks a number of Python's what power it is


def _bool(x: Any) -> bool:
    return bool(x)


def _fake(x: Any) -> Any:
    return fake_tensor((), np.dtype(bool), None, x.device, x.mode)


python_bool = define("python_bool::of(Tensor x) -> bool", _bool, _fake)
for _layer in ("autograd", "jvp"):
    find_layer(_layer).attach(python_bool, CONSTANT)
note_own_rules(python_bool)


def is_python_bool(x: Any) -> bool:
    """Return whether a value in a trace stands for a bool of Python's."""
    while isinstance(x, Tensor) and x.key != DispatchKey.TRACE:
        x = x.value
    return isinstance(x, Tensor) and _gives_one(x.kept)


def check_python_bools(graph: Graph) -> None:
    """Raise where a graph computes with a bool of Python's and no array; let each other call read NumPy's own.

    Parameters
    ----------
    graph : Graph

    Raises
    ------
    TracingError
    """
    if not any(map(_gives_one, graph.nodes)):
        return
    for node in graph.nodes:
        args = list(nodes_in(node.args))
        if not any(map(_gives_one, args)):
            continue
        if not any(map(_is_of_numpy, args)) or (node.op is not None and node.op.schema.name in POWERS):
            at = "" if node.source is None else f" in {node.source}"
            raise TracingError(
                f"{node} computes with Python's bool{at}, which np.allclose and np.array_equal give, as Python does: a graph "
                "has NumPy's bools, of which True + True is True. Write np.all(np.isclose(a, b)) or np.all(a == b)."
            )
        node.args = standing(node.args, {x: x.args[0] for x in args if _gives_one(x)}, every=False)


def _gives_one(node: Any) -> bool:
    return type(node) is Node and node.op is python_bool


def _is_of_numpy(node: Node) -> bool:
    return type(node.value) is Metadata and not _gives_one(node)
