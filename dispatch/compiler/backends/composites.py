"""Replaces composite calls by the calls that they are made of, where an engine takes all of these and not the call itself."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...core import DispatchKey
from ...core.pytree import leaves, mapped
from ...errors import DispatchError
from ...graph import Graph, Metadata, Node, is_pinned
from ...graph.alias_analysis import may_be_view
from ...graph.subgraph import Subgraph
from ..trace_function import make_fx


def opened(graph: Graph, claims: Callable[[Node], bool]) -> Graph:
    """Return the graph with the parts of composite calls, such as `np.roll`, in place of those that an engine does not take."""

    def inlined(new: Graph, node: Node, args: tuple[Any, ...]) -> Any:
        if any(type(x) is Subgraph for x in args):
            made = new.like(node, mapped(lambda x: Subgraph(opened(x.graph, claims)) if type(x) is Subgraph else x, args))
            if not claims(made):
                made.args = args
            return made
        own = None if node.op is None or is_pinned(node) or claims(node) else _parts(node, claims)
        if own is None:
            return new.like(node, args)
        given = [x for x in leaves(args) if type(x) is Node]
        there: dict[Node, Node] = dict(zip(own.inputs, given, strict=True))
        for part in own.nodes:
            if part.kind == "constant":
                there[part] = new.constant(own.constants[part.name], part.value, part.name)
            elif part.kind != "placeholder":
                there[part] = new.like(part, mapped(lambda x: there[x] if type(x) is Node else x, part.args))
                there[part].source = node.source
        return there[own.outputs]

    return graph.rebuilt(inlined)


def _parts(node: Node, claims: Callable[[Node], bool]) -> Graph | None:
    """Return the graph of a composite call, if its calls are all claimed; else None."""
    op = node.op
    assert op is not None
    found = op.table.live(DispatchKey.CompositeImplicit)
    planned = [x.value for x in leaves(node.args) if type(x) is Node]
    if found is None or type(node.value) is not Metadata or any(type(x) is not Metadata or x.device != "cpu" for x in planned):
        return None
    names = op.arguments.keyword_names

    def traced(*arrays: Any) -> Any:
        queue = iter(arrays)
        args = mapped(lambda x: next(queue) if type(x) is Node else x, node.args)
        count = len(args) - len(names)
        return found.rule(*args[:count], **dict(zip(names, args[count:], strict=True)))

    hollow = [as_strided(np.empty(1, x.dtype), x.shape, x.strides) for x in planned]  # a trace with fakes reads no element
    try:
        graph = opened(make_fx(traced, "fake")(*hollow), claims)
    except DispatchError:  # it asks for data
        return None
    out = graph.outputs
    if type(out) is not Node or out.kind != "call" or out.value != node.value:
        return None
    if may_be_view(out.op) and not may_be_view(op):
        return None
    taken = all(x.kind in ("placeholder", "constant") or (x.kind == "call" and claims(x)) for x in graph.nodes)
    return graph if taken else None
