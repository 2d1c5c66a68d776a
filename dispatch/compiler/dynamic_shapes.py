"""Makes programs of graphs with symbolic sizes. Each size that the graph computes becomes an input of the program."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.pytree import mapped
from ..errors import GraphError
from ..graph import Graph, Node, nodes_in, reinplace
from ..graph.literals import evaluated, is_open
from ..graph.shape_guards import sizes_of_inputs
from .cache_key import Signature
from .lowering import program


def open_key(signature: Signature) -> tuple[Any, ...]:
    """Return the key of a call for symbolic sizes: it has lengths 0 and 1, and the order of strides, but no other number."""
    key: list[Any] = []
    arrays = iter([x for x in signature.values if type(x) is np.ndarray])
    for part in signature.parts:
        if type(part) is bytes and key and isinstance(key[-1], np.dtype):  # a layout
            x = next(arrays)
            long = [i for i, n in enumerate(x.shape) if n > 1]
            order = tuple(sorted(long, key=lambda i, x=x: (-x.strides[i], i)))  # type: ignore[misc]
            dense = x.flags.c_contiguous or x.flags.f_contiguous
            key.append((tuple([min(n, 2) for n in x.shape]), order, dense or x.strides))
        else:
            key.append(part)
    return tuple(key)


def shapes_of(signature: Signature) -> list[Any]:
    """Return the shapes of the arrays of a call."""
    return [getattr(x, "shape", None) for x in signature.values]


def fits(graph: Graph, values: list[Any]) -> bool:
    """Return whether the guards of a graph hold for its inputs."""
    try:
        _sizes(graph, list(nodes_in(graph.inputs)), values)
    except GraphError:
        return False
    return True


def _sizes(graph: Graph, inputs: list[Node], values: Sequence[Any]) -> dict[str, int]:
    """Return the numbers of the symbols of a graph for its inputs. A float counts as an array without axes."""
    given = [np.asarray(x) if type(x) is float else x for x in values]
    return sizes_of_inputs(graph, dict(zip(inputs, given, strict=True)))


def dynamic_program(graph: Graph) -> Callable[..., Any]:
    """Return a function that runs a graph with symbolic sizes, and raises `GraphError` if a guard does not hold.

    Sizes that depend on data are known only during the run; such a graph runs node by node.
    """
    if any(node.kind != "placeholder" for node, _ in graph.symbols.values()):
        flat = graph.copy()
        flat.inputs = tuple(nodes_in(flat.inputs))
        return flat
    opened, sizes = with_sizes(reinplace(graph))
    run, inputs = program(opened), list(nodes_in(graph.inputs))

    def replayed(*values: Any) -> Any:
        known = _sizes(graph, inputs, values)
        return run(*values, *[evaluated(x, known) for x in sizes])

    return replayed


def with_sizes(graph: Graph) -> tuple[Graph, list[Any]]:
    """Return the graph with one more input for each symbolic size or slice in its arguments, and these values."""
    nodes: dict[str, Node] = {}
    sizes: list[Any] = []
    made = graph.copy()

    def known(x: Any) -> Any:
        if type(x) is Node or not is_open(x):
            return x
        text = str(x)
        if text not in nodes:
            nodes[text] = Node("placeholder", f"size_{len(sizes)}", None, (), None)
            sizes.append(x)
        return nodes[text]

    for node in made.nodes:
        node.args = mapped(known, node.args)
    made.outputs = mapped(known, made.outputs)
    made.nodes[:0] = nodes.values()
    made.inputs = (*made.inputs, *nodes.values())
    made.symbols = {}
    return made, sizes
