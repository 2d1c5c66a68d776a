"""Turns a graph into a `Program`: gives each value a slot, and says after which call the slot is released."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import OpOverload
from ..core.collector import collector_paused
from ..core.program import Program, Slot
from ..core.pytree import mapped
from ..core.runs import MOST_CALLS
from ..errors import FakeTensorError, GraphError
from ..graph import AliasAnalysis, Graph, Metadata, Node, nodes_in
from ..graph.body import Body
from ..graph.codegen import brief
from ..graph.interpreter import lent
from ..graph.liveness import last_uses
from ..graph.passes import may_raise
from ..graph.plain_calls import PlainCalls
from ..graph.reinplace_pass import reinplaced
from ..schema.tags import Tag

Layout = tuple[Any, ...]
PLAIN = frozenset({int, float, bool, str, type(None), complex, slice, type(Ellipsis), np.dtype, OpOverload})  # no containers
Form = tuple[list[Layout | None], Layout | None, list[int], tuple[Any, ...] | None]
# Namespaces whose kernels are ours; what is drawn is put back.
KNOWN = frozenset({"np", "error_state", "generator", "python_bool"})
NO_FORM: Form = ([], None, [], None)


@collector_paused()
def program(graph: Graph) -> Program:
    """Return the program of a graph, which the core runs: from the arrays of the input nodes, in order, to the outputs."""
    nodes = _in_rows([node for node in graph.nodes if node.kind in ("call", "item")])
    lowering = _Lowering(graph, nodes)
    inputs = list(nodes_in(graph.inputs))
    planned = tuple([lowering.enter(x).layouts[x] for x in inputs])
    values = lowering.constants([node for node in graph.nodes if node.kind == "constant"])

    def describe(i: int) -> str:
        line = nodes[i].source
        return f"in node {nodes[i]} of the graph" + ("" if line is None else f", of {line}")

    def broken(i: int, found: Any) -> FakeTensorError:
        op, value = nodes[i].op, nodes[i].value
        arrays = np.ndarray, np.generic
        given = mapped(lambda x: Metadata(x.shape, x.dtype, (), "cpu") if isinstance(x, arrays) else x, found)
        return FakeTensorError(
            f"{'' if op is None else op.name}: its fake rule says {brief(value)}, and the kernel returned {brief(given)}. The "
            "program was made with what the rule says. Mend the rule; dispatch.library.opcheck shows where it differs from the "
            "kernel."
        )

    first, wanted = len(lowering.slots), set(nodes_in(graph.outputs))
    slots = dict(lowering.slots) | {node: Slot(first + i) for i, node in enumerate(nodes) if node in wanted}
    outputs = mapped(lambda x: slots[x] if type(x) is Node else x, graph.outputs)
    return Program(first + len(nodes), planned, values, _Calls(lowering, nodes), outputs, describe, broken)


def _in_rows(nodes: list[Node]) -> list[Node]:
    """Return calls with views before the elementwise calls that they stand between, which are made together, block by block.

    Between such calls nothing is written, and a view that cannot raise may as well be taken before them. A row is no longer
    than a run, so that few views are held at once.
    """
    kinds: dict[Any, str] = {None: ""}
    found: list[Node] = []
    views: list[Node] = []
    row: dict[Node, None] = {}
    for node in nodes:
        kind = kinds.get(node.op)
        if kind is None and node.op is not None:
            kind = kinds[node.op] = _kind(node.op)
        if kind == "elementwise":
            if len(row) == MOST_CALLS:
                found += [*views, *row]
                views, row = [], {}
            row[node] = None
        elif row and kind == "view" and not may_raise(node) and not any([x in row for x in nodes_in(node.args)]):
            views.append(node)
        else:
            found += [*views, *row, node]
            views, row = [], {}
    return [*found, *views, *row]


def _kind(op: OpOverload) -> str:
    """Return what an operator of NumPy's is in a row of calls: elementwise, a view, or an end of it."""
    if op.schema.namespace != "np" or op.schema.is_mutable:
        return ""
    return "elementwise" if Tag.pointwise in op.tags else "view" if op.schema.is_view else ""


def in_place(graph: Graph) -> Graph:
    """Return `reinplace(graph)`, but with the writes to inputs left at its end where a call after the first may raise.

    Then nothing has happened yet where the graph raises, and the function itself can say what does.
    """
    done = reinplaced(graph)
    return done if done is graph or is_repeatable(done) or not is_repeatable(graph) else reinplaced(graph, inputs=False)


def is_repeatable(graph: Graph, aliases: AliasAnalysis | None = None) -> bool:
    """Whether nothing has happened yet where a graph raises: no call that may raise comes after one that writes to an input.

    A custom operator's kernel is not looked into: it may do something else than to return values. `aliases` is an analysis
    with inputs apart, where there is one already.
    """
    if not all([op is None or op.schema.namespace in KNOWN for op in {node.op for node in graph.nodes}]):
        return False
    aliases = AliasAnalysis(graph, apart=True) if aliases is None else aliases
    inputs = {aliases.of(x) for x in nodes_in(graph.inputs)}
    writing = {node for node in aliases.written_by if not inputs.isdisjoint(aliases.writes(node))}
    written = False
    for node in graph.nodes if writing else ():
        if written and node.op is not None and not _is_whole_write(node) and may_raise(node):
            return False
        written = written or node in writing
    return True


def _is_whole_write(node: Node) -> bool:
    """Whether a call writes one array to another of the same dtype and shape."""
    values = [x.value for x in nodes_in(node.args)]
    if node.op is None or not node.op.schema.is_mutable or len(values) != 2:
        return False
    x, y = values
    return type(x) is Metadata and type(y) is Metadata and x.dtype == y.dtype and x.shape == y.shape


class _Calls(Sequence[tuple[Any, ...]]):
    """The calls of a program, each made when it is asked for, in order: all at once would take a fifth of the memory."""

    def __init__(self, lowering: "_Lowering", nodes: list[Node]) -> None:
        self.lowering, self.nodes = lowering, nodes

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, i: Any) -> Any:
        return self.lowering.call(self.nodes[i])


class _Lowering:
    """A program in the making: the slot and the layout of each value that there is so far."""

    def __init__(self, graph: Graph, nodes: list[Node]) -> None:
        order = Body()
        order.nodes, order.outputs = nodes, graph.outputs
        self.graph, self.done, self.plain_calls = graph, last_uses(order), PlainCalls()
        self.slots: dict[Node, Slot] = {}
        self.layouts: dict[Node, Layout | None] = {}
        self._alike: dict[Layout, Layout] = {}  # most values have one of a few
        self._takes: dict[int, bool] = {}  # by the id of one of these: whether an array of it may take a result

    def enter(self, node: Node) -> "_Lowering":
        """Give a value a slot."""
        if node not in self.slots:
            self.slots[node] = Slot(len(self.slots))
            self.layouts[node] = self._layout(node)
        return self

    def _layout(self, node: Node) -> Layout | None:
        """Return the layout of a value: one object for all that are equal."""
        found = layout(node.value)
        return None if found is None else self._alike.setdefault(found, found)

    def constants(self, nodes: list[Node]) -> list[tuple[int, Any, bool]]:
        """Return slot and value of each constant, and whether a run gets a copy: where it may write to it, or return it."""
        aliases = AliasAnalysis(self.graph) if nodes else None
        found = []
        for x in nodes:
            changes = aliases is not None and (aliases.is_written(x) or aliases.is_seen(x))
            found.append((self.enter(x).slots[x].number, lent(self.graph.constants[x.name], False), changes))
        return found

    def call(self, node: Node) -> tuple[Any, ...]:
        """Return a call, or an item, as `Program` takes it."""
        slots = self.slots
        args = self._lowered(node.args, node)
        released = self.done.get(node, ())
        dying = [x for x in released if x is not node]
        found = self._layout(node)
        layouts, result, written, form = NO_FORM if node.op is None else self._form(node, args, found, dying)
        if node not in slots:
            slots[node], self.layouts[node] = Slot(len(slots)), found
        return (
            node.op.whole if node.op is not None else None,
            args,
            -1 if node in released else slots[node].number,
            layouts,
            result,
            written,
            [slots[x].number for x in dying],
            form,
            None if node.op is None or node.op.schema.namespace in KNOWN else self._promised(node.value),
        )

    def _promised(self, value: Any) -> Any:
        """Return what a run may expect of a result, by the value of its node, as `Program` takes it.

        That is, in lists as the value's own, for each array of the CPU its dtype and shape, in which a size may be a slot, or
        None where data decide it; None for anything else.
        """
        if type(value) is tuple or type(value) is list:
            found = [self._promised(x) for x in value]
            return None if all([x is None for x in found]) else found
        if type(value) is not Metadata or value.device != "cpu":
            return None
        return value.dtype, tuple([n if type(n) is int else self.slots[n] if type(n) is Node else None for n in value.shape])

    def _lowered(self, args: tuple[Any, ...], at: Node) -> tuple[Any, ...]:
        """Return arguments with slots in place of nodes."""
        try:
            return tuple([x if type(x) in PLAIN else self.slots[x] if type(x) is Node else self._within(x) for x in args])
        except KeyError as error:
            x = error.args[0]
            raise GraphError(f"the node {at} reads {x}, which comes after it or is not in the graph.") from None

    def _within(self, x: Any) -> Any:
        """Return a container with slots in place of nodes."""
        return mapped(lambda part: self.slots[part] if type(part) is Node else part, x)

    def _form(self, node: Node, lowered: tuple[Any, ...], made: Layout | None, dying: list[Node]) -> Form:
        """Return the plain form of a call, and what a ufunc needs to write its result to an array that dies."""
        known = self.layouts
        for x in nodes_in(node.args):
            if known[x] is None:
                return NO_FORM
        found = self.plain_calls.of(node)
        if found is None:
            return NO_FORM
        kernel, function, args, names = found
        layouts = [known[x] if type(x) is Node else None for x in args]
        lowered = lowered if args is node.args else self._lowered(args, node)
        form = kernel, function, lowered, names, tuple([None if x is None else x[0] for x in layouts])
        if type(function) is not np.ufunc or function.nout != 1 or function.signature is not None or names:
            return [], None, [], form
        if made is None or not self._may_take(made):
            return [], None, [], form
        return layouts, made, [i for i, x in enumerate(layouts) if x is made and args[i] in dying], form

    def _may_take(self, made: Layout) -> bool:
        """Whether an array of a layout may take a result; one complex number is multiplied with other rounding in place."""
        found = self._takes.get(id(made))
        if found is None:
            dtype, shape, _ = made
            alone = dtype.kind == "c" and all([n == 1 for n in shape])
            found = self._takes[id(made)] = bool(shape) and 0 not in shape and not dtype.hasobject and not alone
        return found


def layout(value: Any) -> Layout | None:
    """Return dtype, shape and strides of a CPU array; None for any other value and for symbolic sizes."""
    if type(value) is not Metadata or value.device != "cpu":
        return None
    for n in value.shape:
        if type(n) is not int:
            return None
    for n in value.strides:
        if type(n) is not int:
            return None
    return value.dtype, value.shape, value.strides
