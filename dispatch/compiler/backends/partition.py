"""What a graph is to another engine: a part that computes, which the engine runs, and the rest, which runs here.

An engine has no arrays to write to and none that others hold. So from the first call on that writes to an argument, the graph
is replayed on NumPy's arrays; a function without writes has nothing there but its results, put into their containers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.pytree import items_of, mapped
from ...errors import TracingError, kind_of
from ...graph import Graph, Metadata, Node, nodes_in
from ..lowering import program


class Parts(NamedTuple):
    """A graph, taken apart.

    Attributes
    ----------
    inputs : list of Node
    computed : list of Node
        What the engine runs: constants, calls and items, in order.
    wanted : list of Node
        What is asked of it.
    finish : callable
        Takes the inputs, then what was wanted, as NumPy has them, and gives what the graph returns.
    """

    inputs: list[Node]
    computed: list[Node]
    wanted: list[Node]
    finish: Callable[..., Any]


def parts(graph: Graph, engine: str) -> Parts:
    """Take a graph apart for an engine that computes with arrays of static shapes.

    Raises
    ------
    TracingError
        If a value between the two is no array.
    """
    inputs = list(nodes_in(graph.inputs))
    nodes = [node for node in graph.nodes if node.kind != "placeholder"]
    first = next((i for i, node in enumerate(nodes) if node.op is not None and node.op.schema.is_mutable), len(nodes))
    computed, after = nodes[:first], nodes[first:]
    for node in computed:
        if (stranger := _no_array(node.value)) is not None:
            raise TracingError(
                f"backend {engine!r}: {node} gives more than arrays, {kind_of(stranger)}, and an engine has "
                "nothing else. Use 'replay'."
            )
    used = dict.fromkeys([*nodes_in([node.args for node in after]), *nodes_in(graph.outputs)])
    own = set(computed)
    wanted = [x for x in used if x in own]
    rest = Graph()
    there: dict[Node, Node] = {x: rest.placeholder(x.name, x.value) for x in [*inputs, *wanted]}
    rest.inputs = tuple(there.values())
    for node in after:
        there[node] = rest.like(node, mapped(lambda x: there[x] if type(x) is Node else x, node.args))
    rest.constants = {there[node].name: graph.constants[node.name] for node in after if node.kind == "constant"}
    rest.outputs = mapped(lambda x: there[x] if type(x) is Node else x, graph.outputs)
    return Parts(inputs, computed, wanted, program(rest))


def _no_array(value: Any) -> Any:
    """What a node gives that is no array; None where there is nothing else."""
    if value is None or type(value) is Metadata:
        return None
    items = items_of(value)
    return value if items is None else next((x for x in map(_no_array, items) if x is not None), None)


def is_as_planned(out: Any, planned: Any, dtype_of: Callable[[Any], Any]) -> bool:
    """Whether what an engine gives has the shape and dtype that the operator gives."""
    if type(planned) is not Metadata:
        same = isinstance(out, (list, tuple)) and len(out) == len(planned)
        return same and all(is_as_planned(x, y, dtype_of) for x, y in zip(out, planned, strict=True))
    return tuple(getattr(out, "shape", (None,))) == planned.shape and dtype_of(out) == planned.dtype


def indexed(x: Any, index: Any, arrays: Any) -> Any:
    """`x[index]`, with arrays in the places that a row left for them."""
    return x[placed(index, arrays)]


def placed(index: Any, arrays: Any) -> Any:
    """An index with arrays in the places that a row left for them."""
    queue = iter(arrays)
    plain = (int, slice, type(None), type(Ellipsis), list, np.ndarray, np.generic)
    items = index if isinstance(index, tuple) else (index,)
    return tuple([i if isinstance(i, plain) else next(queue) for i in items]) if arrays else index


def scalar(x: Any) -> Any:
    """An array without axes as a NumPy scalar, which NumPy's functions give."""
    return x if x.ndim else x[()]
