"""Passes: functions from a graph to a smaller graph that returns the same.

A pass returns a new graph and does not change its argument. The results are the same to the last bit, and there are no more
nodes than before. A call that writes, returns nothing, draws random numbers, has an effect or takes a handle stays, and such
calls keep their order.
"""

from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy as np

from ..core import OpOverload
from ..core.pytree import items_of, leaves, mapped
from ..schema.tags import Tag
from .alias_analysis import AliasAnalysis, is_data, is_pinned, may_be_view
from .body import Body
from .literals import Writer, is_open
from .node import Metadata, Node, maker, nodes_in

G = TypeVar("G", bound=Body)
MOST_BYTES = 1 << 20  # of one array that folding may add to a graph, which is kept and saved as long as the graph is


def apply(graph: G, *passes: Callable[[G], G]) -> G:
    """Run passes one after the other, and `lint` the result of each.

    Parameters
    ----------
    graph : Graph
    *passes : callable
        Each takes a graph and returns one.

    Returns
    -------
    Graph

    Raises
    ------
    GraphError
        If the result of a pass is inconsistent.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> def f(x):
    ...     np.cos(x)
    ...     return np.sin(x) * np.sin(x)
    >>> apply(dispatch.make_fx(f)(np.ones(3)), common_subexpressions, dead_code).nodes
    [x, sin, multiply]
    """
    for each in passes:
        graph = each(graph)
        graph.lint()
    return graph


def dead_code(graph: G) -> G:
    """Remove the nodes that nothing uses. Inputs stay, and so do nodes that a size is read from.

    A call that would raise, such as `inv` of a singular matrix, is removed too if its result is not used.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    Graph

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> def f(x):
    ...     np.cos(x)
    ...     return np.sin(x)
    >>> dead_code(dispatch.make_fx(f)(np.ones(3))).nodes
    [x, sin]
    """
    live = {*nodes_in(graph.outputs), *[node for node, _ in graph.symbols.values()]}
    for node in reversed(graph.nodes):
        if node in live or node.kind == "placeholder" or is_pinned(node):
            live.add(node)
            live.update(nodes_in(node.args))
    return graph.rebuilt(lambda new, node, args: new.like(node, args) if node in live else None)


def common_subexpressions(graph: G) -> G:
    """Merge calls, items and constants that compute the same.

    Two calls are merged only if the graph writes to no memory of their arguments between them, never writes to the memory of
    their results, and does not return both results: the caller would get one array in place of two.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    Graph

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> common_subexpressions(dispatch.make_fx(lambda x: np.sin(x) * np.sin(x))(np.ones(3))).nodes
    [x, sin, multiply]
    """
    aliases = AliasAnalysis(graph)
    versions: dict[Node, int] = {}  # how often each class of memory was written so far
    found: dict[tuple[Any, ...], tuple[Node, Node]] = {}  # what was computed: where, and its node in the new graph
    alike = _alike(graph)
    writer = Writer(opaque=lambda x: f"object({id(x)})")

    def merged(new: G, node: Node, args: tuple[Any, ...]) -> Node:
        for written in aliases.writes(node):
            versions[written] = versions.get(written, 0) + 1
        if node.kind == "placeholder" or (node.kind == "constant" and node not in alike):
            return new.like(node, args)
        if is_pinned(node) or Tag.nondeterministic_bitwise in _tags(node) or not is_data(node.value):
            return new.like(node, args)
        classes = {aliases.of(x) for x in nodes_in(node.args) if aliases.is_written(x)}
        state = frozenset([(x, versions.get(x, 0)) for x in classes])
        array = graph.constants[node.name] if node.kind == "constant" else None
        key = node.kind, node.op, writer.spell((args, array)), state
        if (earlier := found.get(key)) is None:
            found[key] = node, new.like(node, args)
        elif node.kind != "item" and not _may_merge(aliases, earlier[0], node):
            return new.like(node, args)
        else:
            aliases.merge(earlier[0], node)
        return found[key][1]

    return graph.rebuilt(merged)


def _may_merge(aliases: AliasAnalysis, x: Node, y: Node) -> bool:
    return not (aliases.is_written(x) or aliases.is_written(y) or (aliases.is_seen(x) and aliases.is_seen(y)))


def _alike(graph: Body) -> set[Node]:
    """Return the constants whose type, shape, dtype and strides another constant has too."""
    groups: dict[tuple[Any, ...], list[Node]] = {}
    for node in graph.nodes:
        if node.kind == "constant" and isinstance(x := graph.constants[node.name], (np.ndarray, np.generic)):
            groups.setdefault((type(x), x.shape, x.dtype.str, x.strides), []).append(node)
    return {node for group in groups.values() if len(group) > 1 for node in group}


def constant_folding(graph: G, most_bytes: int = MOST_BYTES) -> G:
    """Replace calls whose arguments are all constants by their results, which the operators compute now.

    A call stays if it depends on a symbolic size; if its memory is written; if it returns anything but arrays, more than
    `most_bytes` of them, or other shapes and dtypes than in the trace; if it may differ from call to call; if it warns or
    raises, so that it does so when the graph runs.

    Parameters
    ----------
    graph : Graph
    most_bytes : int
        The size of the largest result that becomes a constant.

    Returns
    -------
    Graph

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: x * dispatch.ops.np.sqrt(np.full(3, 4.0)))(np.ones(3))
    >>> graph.nodes, constant_folding(graph).nodes
    ([x, constant, sqrt, multiply], [x, sqrt, multiply])
    """
    aliases = AliasAnalysis(graph)
    known: dict[Node, Any] = {}  # values that are known already; of a call with several outputs all of them
    for node in graph.nodes:
        if node.kind == "constant" and not aliases.is_written(node):
            known[node] = graph.constants[node.name]
        elif node.kind == "item" and node.args[0] in known:
            known[node] = items_of(known[node.args[0]])[node.args[1]]  # type: ignore[index]
        elif node.op is not None and _may_fold(node, known, aliases, most_bytes):
            out = _computed(node.op, mapped(lambda x: known[x] if type(x) is Node else x, node.args))
            if _is_as_traced(out, node.value):
                known[node] = out
    needed = {*nodes_in(graph.outputs), *[node for node, _ in graph.symbols.values()]}
    used = {x for node in graph.nodes for x in nodes_in(node.args)}
    made: set[Node] = set()  # of those that are known, what becomes a constant
    for node in reversed(graph.nodes):
        if node in known and node not in needed and (node in used or node.kind != "constant"):
            continue
        needed.add(node)
        if node in known and _may_be_kept(node, known[node], aliases):
            made.add(node)
        else:
            needed.update(nodes_in(node.args))

    def folded(new: G, node: Node, args: tuple[Any, ...]) -> Any:
        if node in made:
            return new.constant(known[node], node.value, node.name)
        return new.like(node, args) if node in needed else None

    return graph.rebuilt(folded)


def _may_fold(node: Node, known: dict[Node, Any], aliases: AliasAnalysis, most_bytes: int) -> bool:
    if not all(x in known for x in nodes_in(node.args)) or is_pinned(node) or aliases.is_written(node):
        return False
    if Tag.nondeterministic_bitwise in _tags(node) or any(map(is_open, leaves((node.args, node.value)))):
        return False
    return all(x.device == "cpu" and prod(x.shape) * x.dtype.itemsize <= most_bytes for x in _described(node.value))


def _computed(op: OpOverload, args: tuple[Any, ...]) -> Any:
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            return op.whole(*args)
    except Exception:  # whatever it is, it is for the graph to raise when it runs
        return None


def _is_as_traced(out: Any, value: Any) -> bool:
    """Whether a result consists of arrays, with the shapes and dtypes of the trace."""
    found, expected = list(leaves(out)), _described(value)
    return len(found) == len(expected) and all(
        isinstance(x, (np.ndarray, np.generic)) and (x.shape, x.dtype) == (y.shape, y.dtype)
        for x, y in zip(found, expected, strict=True)
    )


def _may_be_kept(node: Node, x: Any, aliases: AliasAnalysis) -> bool:
    """Whether a computed value may become a constant of the graph; it must have no gaps, since a file keeps none.

    A value made from no array stays a call, which costs less. So does one that shares memory with a returned array.
    """
    if isinstance(x, np.ndarray):
        axes = np.argsort([-abs(step) for step in x.strides], kind="stable")
        if not x.transpose(axes).flags.c_contiguous:
            return False
    elif not isinstance(x, np.generic):
        return False
    call = maker(node)
    made_of_arrays = any(True for _ in nodes_in(call.args))
    return made_of_arrays and not (aliases.is_seen(node) and may_be_view(call.op))


def _described(value: Any) -> list[Metadata]:
    """Return the metadata of the arrays in the value of a node."""
    if type(value) is Metadata:
        return [value]
    return [x for item in items_of(value) or () for x in _described(item)]


def _tags(node: Node) -> list[Any]:
    return [] if node.op is None else node.op.tags
