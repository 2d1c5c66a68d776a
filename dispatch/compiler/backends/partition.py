"""Divides a graph into the parts that an engine computes and the parts that run here, one after the other.

An engine takes the calls that its backend claims. It does not write to NumPy arrays and knows no views, so all other calls run
here: those that write, draw or have an effect, in their order, and views that code outside the engine gets to see. A call runs
in the earliest part that has its arguments.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...core.pytree import items_of, mapped
from ...graph import AliasAnalysis, Graph, Metadata, Node, is_pinned, nodes_in
from ...graph.alias_analysis import may_be_view
from ...graph.node import maker

Claims = Callable[[Node], bool]


class Part(NamedTuple):
    """Calls that run together: a graph from the values of `inputs` to those of `outputs`, nodes of the divided graph."""

    engine: bool
    graph: Graph
    inputs: list[Node]
    outputs: list[Node]


def divided(graph: Graph, claims: Claims) -> list[Part]:
    """Return the parts of a graph in their order; the outputs of the last one, which runs here, are those of the graph."""
    taken, here = _sides(graph, claims)
    stages_taken, stages_here = _stages(graph, taken, here)
    last = max([0, *stages_taken.values(), *stages_here.values()])
    groups: dict[tuple[int, bool], list[Node]] = {(last, True): []}  # at equal stages the engine comes first
    for stages, ours in ((stages_taken, False), (stages_here, True)):
        for node, stage in stages.items():
            groups.setdefault((stage, ours), []).append(node)
    made = [(not ours, groups[stage, ours]) for stage, ours in sorted(groups)]
    wanted = set(nodes_in(graph.outputs))
    found: list[Part] = []
    for i, (engine, nodes) in reversed(list(enumerate(made))):
        outputs = [node for node in nodes if node in wanted and node.kind != "constant" and not (engine and node in here)]
        part = _part(graph, engine, nodes, outputs if i + 1 < len(made) else None)
        wanted.difference_update(outputs)
        wanted.update(part.inputs)
        found.append(part)
    return found[::-1]


def _sides(graph: Graph, claims: Claims) -> tuple[set[Node], set[Node]]:
    """Return the nodes that the engine computes and those that run here; a view may be among both."""
    aliases = AliasAnalysis(graph, apart=True)
    taken: set[Node] = set()
    for node in graph.nodes:
        if node.kind == "item":
            if maker(node) in taken:
                taken.add(node)
            continue
        if node.op is not None and not is_pinned(node) and _is_of_arrays(node.value):
            hides_writes = may_be_view(node.op) and aliases.is_written(node)  # an engine has a copy in place of the view
            if claims(node) and not hides_writes:
                taken.add(node)
    here: set[Node] = set()
    seen = set(nodes_in(graph.outputs))  # by code outside the engine
    for node in reversed(graph.nodes):
        if node.kind in ("call", "item") and (node not in taken or (node in seen and may_be_view(maker(node).op))):
            here.add(node)
            seen.update(nodes_in(node.args))
    used: set[Node] = set()
    for node in reversed(graph.nodes):
        if node in taken and (node in used or (node in seen and node not in here)):
            used.update(nodes_in(node.args))
        else:
            taken.discard(node)
    return taken, here


def refusal(node: Node, claims: Claims) -> str:
    """Return why a call runs here, as what an engine does."""
    assert node.op is not None
    if is_pinned(node):
        return "takes no call that writes, draws or has an effect"
    if not _is_of_arrays(node.value):
        return "takes what gives arrays of the CPU alone"
    if not claims(node):
        return "does not compute it as NumPy does, of these dtypes and arguments"
    return "makes no views, and this one is seen outside of it, or written to"


def _stages(graph: Graph, taken: set[Node], here: set[Node]) -> tuple[dict[Node, int], dict[Node, int]]:
    """Return the number of the part of each node. A call that writes comes after all before it, and before all after it."""
    by_engine: dict[Node, int] = {}
    by_us: dict[Node, int] = {}
    first_engine = first_here = pinned = latest = 0
    for node in graph.nodes:
        args = list(nodes_in(node.args))
        if node in taken:
            ready = [by_engine[x] if x in by_engine else by_us[x] + 1 for x in args if x in by_engine or x in by_us]
            by_engine[node] = max([first_engine, *ready])
            latest = max(latest, by_engine[node])
        if node in here:
            ready = [by_us[x] if x in by_us else by_engine[x] for x in args if x in by_us or x in by_engine]
            stage = max([first_here, *ready])
            if is_pinned(node):
                stage = pinned = max(stage, pinned)
            if node.op is not None and node.op.schema.is_mutable:
                stage = pinned = first_here = max(stage, latest)
                first_engine = stage + 1
            by_us[node] = stage
            latest = max(latest, stage)
    return by_engine, by_us


def _part(graph: Graph, engine: bool, nodes: Sequence[Node], outputs: list[Node] | None) -> Part:
    """Return some nodes as a graph; what it reads of others is an input. None stands for the outputs of the whole graph."""
    made = Graph()
    own = set(nodes)
    used = nodes_in([[node.args for node in nodes], graph.outputs if outputs is None else []])
    read = dict.fromkeys(x for x in used if x not in own)
    inputs = [x for x in read if x.kind != "constant"]
    there: dict[Node, Node] = {x: made.placeholder(x.name, x.value) for x in inputs}
    for x in read:
        if x.kind == "constant":
            there[x] = made.constant(graph.constants[x.name], x.value, x.name)

    def moved(x: Any) -> Any:
        return there[x] if type(x) is Node else x

    for node in nodes:
        there[node] = made.like(node, mapped(moved, node.args))
    made.inputs = tuple([there[x] for x in inputs])
    made.outputs = mapped(moved, graph.outputs) if outputs is None else tuple([there[x] for x in outputs])
    return Part(engine, made, inputs, [] if outputs is None else outputs)


def _is_of_arrays(value: Any) -> bool:
    """Whether the value of a node is a CPU array, or a list or tuple of such."""
    if type(value) is Metadata:
        return value.device == "cpu" and value.dtype.isnative
    items = items_of(value)
    return isinstance(value, (list, tuple)) and items is not None and all(map(_is_of_arrays, items))


def joined(graph: Graph, parts: Sequence[tuple[Part, list[Callable[..., Any]]]]) -> Callable[..., Any]:
    """Return a function that runs the parts of a graph; each has a list with its function, which may be replaced by another.

    The function of a part takes arrays by position and returns those of its outputs; that of the last part returns the
    outputs of the graph.
    """
    inputs = list(nodes_in(graph.inputs))
    numbers = {node: i for i, node in enumerate([*inputs, *[x for part, _ in parts for x in part.outputs]])}
    last_read = {x: i for i, (part, _) in enumerate(parts) for x in part.inputs}
    steps = []
    for i, (part, run) in enumerate(parts[:-1]):
        dying = [numbers[x] for x in (*part.inputs, *part.outputs) if last_read.get(x, i) == i]
        steps.append((run, [numbers[x] for x in part.inputs], [numbers[x] for x in part.outputs], dying))
    finish, read = parts[-1][1], [numbers[x] for x in parts[-1][0].inputs]
    empty = [None] * (len(numbers) - len(inputs))

    def replayed(*values: Any) -> Any:
        slots = [*values, *empty]
        for run, given, made, dying in steps:
            for i, x in zip(made, run[0](*[slots[i] for i in given]), strict=True):
                slots[i] = x
            for i in dying:
                slots[i] = None
        return finish[0](*[slots[i] for i in read])

    return replayed
