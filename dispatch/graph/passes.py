"""Passes: functions from a graph to a smaller graph that returns the same.

A pass returns a new graph and does not change its argument. The results are the same to the last bit, and there are no more
nodes than before. A call that writes, returns nothing, draws random numbers, has an effect or takes a handle stays, and such
calls keep their order.

Each pass changes a copy by an edit, which asks an analysis of what shares memory. Passes that `apply` runs one after the other
have the copy and the analysis in common, and so have the edits of one `change`: dropping and merging calls makes no value share
more memory than before.

It has more than 350 lines because the passes ask the same of a node: what it writes, and whether it may raise.
"""

import warnings
from collections.abc import Callable
from math import prod
from typing import Any, TypeVar, cast

import numpy as np

from ..core import DispatchKey, OpOverload
from ..core.collector import collector_paused
from ..core.pytree import items_of, leaves
from ..core.wrong_calls import clear
from ..errors import GraphError, kind_of
from ..schema.tags import Tag
from .alias_analysis import AliasAnalysis, is_data, may_be_view
from .body import Body
from .literals import Writer, is_open
from .metadata import Metadata
from .node import Node, key_of, maker, nodes_in, standing
from .operator_facts import CANNOT_RAISE

G = TypeVar("G", bound=Body)
Only = Callable[[OpOverload], bool] | None
MOST_BYTES = 1 << 20  # of one array that folding may add to a graph, which is kept and saved as long as the graph is


@clear
@collector_paused()
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
    given: Any = graph
    if not isinstance(given, Body):
        raise GraphError(f"apply takes the graph first, and was given {kind_of(given)}. Write apply(graph, dead_code).")
    functions: Any = passes
    for each in functions:
        if not callable(each):
            some = "apply(graph, *passes)" if isinstance(each, (list, tuple)) else "apply(graph, dead_code)"
            raise GraphError(f"apply takes passes, which are functions, and was given {kind_of(each)}. Write {some}.")
    at = 0
    while at < len(passes):
        edits = _edits(passes[at:])
        made: Any = _edited(graph, *edits) if edits else passes[at](graph)
        if not isinstance(made, Body):
            who = getattr(passes[at], "__name__", "pass")
            raise GraphError(f"apply: the pass {who} returned {kind_of(made)}. A pass returns the graph that it made.")
        graph = cast("G", made)
        graph.lint()
        at += max(len(edits), 1)
    return graph


Edit = Callable[[Any, AliasAnalysis], None]


def _edits(passes: tuple[Callable[..., Any], ...]) -> list[Edit]:
    """Return what the passes of this module do that come first, as far as these go."""
    known: list[tuple[Any, Edit]] = [(dead_code, drop_dead), (common_subexpressions, merge_alike), (constant_folding, fold)]
    found = []
    for each in passes:
        edit = next((edit for own, edit in known if own is each), None)
        if edit is None:
            break
        found.append(edit)
    return found


def _edited(graph: G, *edits: Edit) -> G:
    """Return a copy of a graph with some changes."""
    new = graph.copy()
    change(new, *edits)
    return new


def change(graph: Body, *edits: Edit) -> None:
    """Make edits in a graph itself, one after the other, with one analysis of what shares memory."""
    aliases = AliasAnalysis(graph)
    for edit in edits:
        edit(graph, aliases)


@clear
def dead_code(graph: G) -> G:
    """Remove the nodes that nothing uses. Inputs stay, and so do nodes that a size is read from.

    A call that may raise stays, such as `inv`, a read by an array of indices, and an operator of a user's: the function would
    raise too, though it does not use the result.

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
    return _edited(graph, drop_dead)


def drop_dead(graph: Body, aliases: AliasAnalysis) -> None:
    """The edit of `dead_code`."""
    live = {*nodes_in(graph.outputs), *[node for node, _ in graph.symbols.values()]}
    kept = []
    for node in reversed(graph.nodes):
        if node in live or node.kind == "placeholder" or aliases.is_pinned(node) or may_raise(node):
            kept.append(node)
            live.update(nodes_in(node.args))
    graph.keep(kept[::-1])


def may_raise(node: Node) -> bool:
    """Whether a call may raise of other data than the trace's. NumPy's ufuncs do not, but for integers to negative powers."""
    op = node.op
    if op is None or op in CANNOT_RAISE:
        return op is not None and op.schema.is_view and _by_an_array(node)
    found = op.table.source(int(DispatchKey.CPU))
    kernel = None if found is None else found.rule
    if not isinstance(kernel, np.ufunc) or kernel.signature is not None or getattr(np, kernel.__name__, None) is not kernel:
        return True  # the loop of another's ufunc may be Python's
    return kernel is np.power and not (type(node.value) is Metadata and node.value.dtype.kind in "fc")


def _by_an_array(node: Node) -> bool:
    """Whether a view is taken by an array of indices, or, of an array with open lengths, by a list: either may be too far."""
    if len(list(nodes_in(node.args))) > 1:
        return True
    shape = getattr(getattr(node.args[0], "value", None), "shape", ())
    return any(type(n) is not int for n in shape) and any(
        type(part) is list and part for x in node.args[1:] for part in (x if isinstance(x, tuple) else (x,))
    )


@clear
def common_subexpressions(graph: G, only: Only = None) -> G:
    """Merge calls, items and constants that compute the same.

    Two calls are merged only if the graph writes to no memory of their arguments between them, never writes to the memory of
    their results, and does not return both results: the caller would get one array in place of two.

    Parameters
    ----------
    graph : Graph
    only : callable, optional
        Says of which operators two calls may become one.

    Returns
    -------
    Graph

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> common_subexpressions(dispatch.make_fx(lambda x: np.sin(x) * np.sin(x))(np.ones(3))).nodes
    [x, sin, multiply]
    """
    return _edited(graph, lambda new, aliases: merge_alike(new, aliases, only))


def merge_alike(graph: Body, aliases: AliasAnalysis, only: Only = None) -> None:
    """The edit of `common_subexpressions`."""
    versions: dict[Node, int] = {}  # how often each class of memory was written so far
    found: dict[tuple[Any, ...], Node] = {}  # what was computed
    stands: dict[Node, Node] = {}  # for a node that is left out, the earlier one
    alike = _alike(graph)
    products = _Products(graph, aliases)
    spell = Writer(opaque=lambda x: f"object({id(x)})").spell
    apart = set() if only is None else {op for op in {node.op for node in graph.nodes} if op is not None and not only(op)}
    for node in graph.nodes:
        if stands:
            node.args = standing(node.args, stands, every=False)
        for written in aliases.writes(node) if aliases.written_by else ():
            versions[written] = versions.get(written, 0) + 1
        if node.op in apart:
            continue
        earlier = _earlier(graph, node, aliases, versions, found, alike, spell)
        if earlier is not None and products.let_merge(earlier, node):
            aliases.merge(earlier, node)
            stands[node] = earlier
    if stands:
        graph.leave_out(stands)


def _earlier(
    graph: Body, node: Node, aliases: AliasAnalysis, versions: dict[Node, int], found: dict[tuple[Any, ...], Node],
    alike: set[Node], spell: Callable[[Any], str],
) -> Node | None:  # fmt: skip
    """Return the node that may stand for a node, which computes the same; None where there is none."""
    if node.kind == "placeholder" or (node.kind == "constant" and node not in alike):
        return None
    if aliases.is_pinned(node) or Tag.nondeterministic_bitwise in _tags(node) or not is_data(node.value):
        return None
    state: Any = None
    if versions:
        classes = {aliases.of(x) for x in nodes_in(node.args) if aliases.is_written(x)}
        state = frozenset([(x, versions[x]) for x in classes if x in versions]) or None
    array = spell(graph.constants[node.name]) if node.kind == "constant" else None
    earlier = found.setdefault((node.kind, node.op, key_of(node.args, spell), array, state), node)
    return None if earlier is node or (node.kind != "item" and not _may_merge(aliases, earlier, node)) else earlier


def _may_merge(aliases: AliasAnalysis, x: Node, y: Node) -> bool:
    return not (aliases.is_written(x) or aliases.is_written(y) or (aliases.is_seen(x) and aliases.is_seen(y)))


class _Products:
    """For each class of memory the calls, by number, that take several matrices together and go not from element to element.

    BLAS rounds the product of a matrix with itself, `a @ a.T`, otherwise than that of two equal ones.
    """

    def __init__(self, graph: Body, aliases: AliasAnalysis) -> None:
        self.aliases = aliases
        self.taking: dict[Node, set[int]] = {}
        described = {node: x for node in graph.nodes if type(x := node.value) is Metadata}
        matrices = {node for node, x in described.items() if len(x.shape) > 1 and x.dtype.kind in "fc"}
        for number, node in enumerate(graph.nodes if matrices else ()):
            if node.op is not None and Tag.pointwise not in node.op.tags:
                taken = [x for x in nodes_in(node.args) if x in matrices]
                for x in taken if len(taken) > 1 else ():
                    self.taking.setdefault(aliases.of(x), set()).add(number)

    def let_merge(self, x: Node, y: Node) -> bool:
        """Say whether two equal arrays meet in no product; then they are about to be one, and count as one."""
        if not self.taking:
            return True
        one, other = self.aliases.of(x), self.aliases.of(y)
        if one is other or other not in self.taking:
            return True
        few, many = sorted([self.taking.get(one, set()), self.taking[other]], key=len)
        if not few.isdisjoint(many):
            return False
        many |= few  # into the larger, so that no number is moved often
        self.taking[one] = many
        return True


def _alike(graph: Body) -> set[Node]:
    """Return the constants whose type, shape, dtype and strides another constant has too."""
    groups: dict[tuple[Any, ...], list[Node]] = {}
    for node in graph.nodes:
        if node.kind == "constant" and isinstance(x := graph.constants[node.name], (np.ndarray, np.generic)):
            groups.setdefault((type(x), x.shape, x.dtype.str, x.strides), []).append(node)
    return {node for group in groups.values() if len(group) > 1 for node in group}


@clear
def constant_folding(graph: G, most_bytes: int = MOST_BYTES, only: Only = None) -> G:
    """Replace calls whose arguments are all constants by their results, which the operators compute now.

    A call stays if it depends on a symbolic size; if its memory is written; if it returns anything but arrays, more than
    `most_bytes` of them, or other shapes and dtypes than in the trace; if it may differ from call to call; if it warns or
    raises, so that it does so when the graph runs.

    Parameters
    ----------
    graph : Graph
    most_bytes : int
        The size of the largest result that becomes a constant.
    only : callable, optional
        Says which operators may be called now.

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
    return _edited(graph, lambda new, aliases: fold(new, aliases, most_bytes, only))


def fold(graph: Body, aliases: AliasAnalysis, most_bytes: int = MOST_BYTES, only: Only = None) -> None:
    """The edit of `constant_folding`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what warns does so in each run of the graph
        known = _computable(graph, aliases, most_bytes, only)
    if all(node.kind == "constant" for node in known):
        return
    needed = {*nodes_in(graph.outputs), *[node for node, _ in graph.symbols.values()]}
    used = {x for node in graph.nodes for x in nodes_in(node.args)}
    kept = []
    for node in reversed(graph.nodes):
        if node in known and node not in needed and (node in used or node.kind != "constant"):
            continue
        kept.append(node)
        if node in known and _may_be_kept(node, known[node], aliases):
            node.kind, node.op, node.args, node.source = "constant", None, (), None
            graph.constants[node.name] = known[node]
        needed.update(nodes_in(node.args))
    graph.keep(kept[::-1])


def _computable(graph: Body, aliases: AliasAnalysis, most_bytes: int, only: Only) -> dict[Node, Any]:
    """Return the values that are known already; of a call with several outputs all of them."""
    known: dict[Node, Any] = {}
    for node in graph.nodes:
        if node.kind == "constant":
            if not aliases.is_written(node):
                known[node] = graph.constants[node.name]
        elif node.kind == "item":
            if node.args[0] in known:
                known[node] = items_of(known[node.args[0]])[node.args[1]]  # type: ignore[index]
        elif node.op is not None and _may_fold(node, known, aliases, most_bytes) and (only is None or only(node.op)):
            out = _computed(node.op, standing(node.args, known))
            if _is_as_traced(out, node.value):
                known[node] = out
    return known


def _may_fold(node: Node, known: dict[Node, Any], aliases: AliasAnalysis, most_bytes: int) -> bool:
    for x in nodes_in(node.args):
        if x not in known:
            return False
    if aliases.is_pinned(node) or aliases.is_written(node):
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
