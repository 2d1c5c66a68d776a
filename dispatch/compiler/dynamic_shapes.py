"""Makes programs of graphs with symbolic sizes. Each size that the graph computes becomes an input of the program."""

from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np

from ..core.pytree import mapped
from ..errors import GraphError
from ..graph import Graph, Metadata, Node, nodes_in
from ..graph.literals import evaluated, is_open
from ..graph.shape_guards import is_checked, sizes_in, sizes_of_inputs
from .lowering import KNOWN, in_place, program
from .trusted import dtype_text


def open_layout(x: np.ndarray) -> tuple[Any, ...]:
    """Return what symbolic sizes leave fixed of an array: lengths 0 and 1, the order of strides, but no other number.

    Examples
    --------
    >>> open_layout(np.zeros((3, 1))) == open_layout(np.zeros((5, 1)))
    True
    """
    long = [i for i, n in enumerate(x.shape) if n > 1]
    order = tuple(sorted(long, key=lambda i: (-x.strides[i], i)))
    dense = x.flags.c_contiguous or x.flags.f_contiguous
    said = x.dtype.char if x.dtype.names is None else dtype_text(x.dtype)
    return x.dtype, said, tuple([min(n, 2) for n in x.shape]), order, dense or x.strides


def fits(graph: Graph, values: Sequence[Any]) -> bool:
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

    Sizes that depend on data are known only during the run; a graph that computes with one runs node by node.
    """
    by_data = {name for name, (node, _) in graph.symbols.items() if node.kind != "placeholder"}
    if by_data and (graph.checks or not by_data.isdisjoint(_names_in_calls(graph))):
        flat = graph.copy()
        flat.inputs = tuple(nodes_in(flat.inputs))
        return flat
    opened, sizes = with_sizes(in_place(graph), by_data)
    run, inputs = program(opened), list(nodes_in(graph.inputs))
    if len(by_data) == len(graph.symbols) and not is_checked(opened):
        return run

    def replayed(*values: Any) -> Any:
        known = _sizes(graph, inputs, values)
        return run(*values, *[evaluated(x, known) for x in sizes])

    return replayed


def _names_in_calls(graph: Graph) -> set[str]:
    """Return the symbols in what the calls of a graph are given, and in what it returns."""
    given = [graph.outputs, *[node.args for node in graph.nodes]]
    return {name for x in given for size in sizes_in(x) for name in size.names}


def with_sizes(graph: Graph, by_data: Set[str] = frozenset()) -> tuple[Graph, list[Any]]:
    """Return the graph with one more input for each symbolic size or slice in its arguments, and these values.

    So have the sizes that a custom operator's fake rule promises of its results, which a run holds the kernel to; but for those
    that data decide, whose symbols are `by_data`.
    """
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

    def promised(x: Any) -> Any:
        if type(x) is tuple or type(x) is list:
            return type(x)([promised(item) for item in x])
        if type(x) is not Metadata or any([name in by_data for n in x.shape for size in sizes_in(n) for name in size.names]):
            return x
        return x._replace(shape=tuple([n if type(n) is int else promise(n) for n in x.shape]))

    def promise(n: Any) -> Node:  # one of its own: what calls are given is let go of after the last of them
        found = nodes.get(f"promised {n}")
        if found is None:
            found = nodes[f"promised {n}"] = Node("placeholder", str(n), None, (), None)
            sizes.append(n)
        return found

    for node in made.nodes:
        node.args = mapped(known, node.args)
        if node.op is not None and node.op.schema.namespace not in KNOWN:
            node.value = promised(node.value)
    made.outputs = mapped(known, made.outputs)
    made.nodes[:0] = nodes.values()
    made.inputs = (*made.inputs, *nodes.values())
    made.symbols = {}
    return made, sizes
