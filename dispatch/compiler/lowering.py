"""Turns a graph into a `Program`: gives each value a slot, and says after which call the slot is released."""

from typing import Any

from ..core import Program, Slot
from ..core.pytree import mapped
from ..errors import GraphError
from ..graph import AliasAnalysis, Graph, Metadata, Node, nodes_in
from ..graph.interpreter import lent
from ..graph.liveness import last_uses

Layout = tuple[Any, ...]


def program(graph: Graph) -> Program:
    """Return the program of a graph, which the core runs: from the arrays of the input nodes, in order, to the outputs."""
    inputs = list(nodes_in(graph.inputs))
    calls = [node for node in graph.nodes if node.kind in ("call", "item")]
    constants = [node for node in graph.nodes if node.kind == "constant"]
    slots = {node: Slot(i) for i, node in enumerate(dict.fromkeys([*inputs, *constants, *calls]))}
    done = last_uses(graph)
    aliases = AliasAnalysis(graph) if constants else None

    def lowered(x: Any, at: Node) -> Any:
        if type(x) is not Node:
            return x
        if x not in slots or slots[x].number >= slots[at].number:
            raise GraphError(f"the node {at} reads {x}, which comes after it or is not in the graph.")
        return slots[x]

    made = []
    for node in calls:
        args = tuple([mapped(lambda x, at=node: lowered(x, at), x) for x in node.args])  # type: ignore[misc]
        dying = [x for x in done.get(node, ()) if x is not node]
        written = _written(node, dying)
        made.append(
            (
                node.op.whole if node.op is not None else None,
                args,
                -1 if node in done.get(node, ()) else slots[node].number,
                [layout(x.value) if type(x) is Node else None for x in node.args] if written else [],
                layout(node.value) if written else None,
                written,
                [slots[x].number for x in dying],
            )
        )

    def describe(i: int) -> str:
        line = calls[i].source
        return f"in node {calls[i]} of the graph" + ("" if line is None else f", of {line}")

    values = []
    for x in constants:
        changes = aliases is not None and (aliases.is_written(x) or aliases.is_seen(x))
        values.append((slots[x].number, lent(graph.constants[x.name], False), changes))
    outputs = mapped(lambda x: slots[x] if type(x) is Node else x, graph.outputs)
    return Program(len(slots), tuple([layout(x.value) for x in inputs]), values, made, outputs, describe)


def layout(value: Any) -> Layout | None:
    """Return dtype, shape and strides of a CPU array; None for any other value and for symbolic sizes."""
    if type(value) is not Metadata or value.device != "cpu":
        return None
    if any([type(n) is not int for n in (*value.shape, *value.strides)]):
        return None
    return value.dtype, value.shape, value.strides


def _written(node: Node, dying: list[Node]) -> list[int]:
    """Return the arguments whose memory may take the result: they are used here last and have its layout."""
    planned = layout(node.value)
    if node.op is None or planned is None or not planned[1] or 0 in planned[1] or planned[0].hasobject:
        return []
    return [i for i, x in enumerate(node.args) if type(x) is Node and x in dying and layout(x.value) == planned]
