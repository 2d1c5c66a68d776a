"""Divides a graph into the part that another engine computes and the part that runs here.

An engine cannot write to NumPy arrays. So the engine runs the calls before the first one that writes to an argument, and that
call and the rest run here, on NumPy arrays. Without writes, the rest only puts the results into their containers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.pytree import items_of, mapped
from ...errors import TracingError, kind_of
from ...graph import Graph, Metadata, Node, nodes_in
from ..lowering import program


class Parts(NamedTuple):
    """The two parts of a graph.

    The engine runs the nodes `computed` and returns the values of the nodes `wanted`. `finish(inputs, values)` computes the
    outputs of the graph here, with NumPy arrays.
    """

    inputs: list[Node]
    computed: list[Node]
    wanted: list[Node]
    finish: Callable[..., Any]


def parts(graph: Graph, engine: str) -> Parts:
    """Divide a graph for an engine with static shapes; raise if a value that the engine would compute is no array."""
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
    """Return something in the value of a node that is no array; None if there is nothing else."""
    if value is None or type(value) is Metadata:
        return None
    items = items_of(value)
    return value if items is None else next((x for x in map(_no_array, items) if x is not None), None)


def is_as_planned(out: Any, planned: Any, dtype_of: Callable[[Any], Any]) -> bool:
    """Return whether a result of an engine has the shape and dtype that the operator returns."""
    if type(planned) is not Metadata:
        same = isinstance(out, (list, tuple)) and len(out) == len(planned)
        return same and all(is_as_planned(x, y, dtype_of) for x, y in zip(out, planned, strict=True))
    return tuple(getattr(out, "shape", (None,))) == planned.shape and dtype_of(out) == planned.dtype


def indexed(x: Any, index: Any, arrays: Any) -> Any:
    """Return `x[index]`, with `arrays` in the places that the operator left for them."""
    return x[placed(index, arrays)]


def placed(index: Any, arrays: Any, *values: type) -> Any:
    """Return an index with `arrays` in the places that the operator left for them; `values` are the engine's own arrays."""
    queue = iter(arrays)
    plain = (int, slice, type(None), type(Ellipsis), list, np.ndarray, np.generic, *values)
    items = index if isinstance(index, tuple) else (index,)
    return tuple([i if isinstance(i, plain) else next(queue) for i in items]) if arrays else index


def scalar(x: Any) -> Any:
    """Return an array without axes as a NumPy scalar, as NumPy functions do."""
    return x if x.ndim else x[()]
