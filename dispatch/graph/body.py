"""Body: the list of nodes of a graph, with methods to build, change and check it.

It has more than 350 lines because all of these keep the names of nodes, the constants by these names and the outputs in step.
"""

import keyword
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn, Self, get_args

from ..core import OpOverload
from ..core.pytree import items_of, mapped
from ..core.source import Line
from ..core.wrong_attributes import Attributes
from ..core.wrong_calls import clear
from ..errors import GraphError, check_word, did_you_mean, how_many, kind_of
from ..operators.namespaces import defined_now
from .metadata import Kind, Metadata
from .node import Node, nodes_in, standing


class Body(Attributes):
    """The nodes of a graph in order, its inputs and its outputs. See `Graph`."""

    __slots__ = ("_before", "_names", "checks", "constants", "guards", "inputs", "nodes", "notes", "outputs", "symbols")

    _elsewhere: ClassVar[dict[str, str]] = {
        "call_function": "graph.call(op, args, value)", "create_node": "graph.call(op, args, value)",
        "eliminate_dead_code": "dispatch.graph.dead_code(graph)", "find": "graph.find_nodes(op=op)", "forward": "graph(x)",
        "get_attr": "graph.constant(array, value)", "graph": "the graph itself: make_fx returns one, and no module around it",
        "inserting_after": "graph.inserting_before(node)",
        "jaxpr": "print(graph)", "output": "graph.outputs", "print_tabular": "graph.print_readable()",
        "python_code": "graph.code", "recompile": "nothing: a call runs the graph as it is", "run": "graph(x)",
    }  # fmt: skip
    _no_block = "`with graph.inserting_before(node):`"

    def __iter__(self) -> NoReturn:
        raise GraphError("a graph is no list of its nodes. Write for node in graph.nodes, and len(graph.nodes).")

    def __getitem__(self, place: object) -> NoReturn:
        raise GraphError(f"a graph is no list of its nodes, and was asked for [{place!r}]. Write graph.nodes[i].")

    def __init__(self, *given: object) -> None:
        if given:
            raise GraphError(f"a graph is made by make_fx(f)(x) or Graph.load(file), and {kind_of(given[0])} was given.")
        self.nodes: list[Node] = []
        self.inputs: tuple[Any, ...] = ()
        self.outputs: Any = None
        self.constants: dict[str, Any] = {}
        self.symbols: dict[str, tuple[Node, int | None]] = {}
        self.guards: list[Any] = []
        self.checks: list[Any] = []
        self.notes: dict[str, Any] = {}
        self._names: dict[str, int] = {}  # each name that is taken: the last number that was put behind it
        self._before: Node | None = None  # what nodes are added before, where that is not at the end

    # -- building ------------------------------------------------------------------------------------------------------

    def add(self, kind: Kind, name: str, op: OpOverload | None, args: tuple[Any, ...], value: Any, source: Line | None) -> Node:
        """Add a node at the end, or where `inserting_before` says, and return it. A name that is taken gets a number."""
        names = self._names
        if name in names:
            name = self._numbered(name)
        names[name] = 0
        node = Node(kind, name, op, args, value, source)
        if self._before is None:
            self.nodes.append(node)
        else:
            self.nodes.insert(self._place(self._before), node)
        return node

    def _numbered(self, name: str) -> str:
        number = self._names[name] + 1
        while (made := f"{name}_{number}") in self._names:
            number += 1
        self._names[name] = number
        return made

    def placeholder(self, name: str, value: Any) -> Node:
        """Add an input and return its node. A name that is no Python identifier is changed into one."""
        return self.add("placeholder", _identifier(name), None, (), value, None)

    def constant(self, array: Any, value: Any, name: str = "constant") -> Node:
        """Add an array that belongs to the graph and return its node. The array is not copied: pass a copy if it may change."""
        node = self.add("constant", _identifier(name), None, (), value, None)
        self.constants[node.name] = array
        return node

    def call(self, op: OpOverload, args: tuple[Any, ...], value: Any = ..., source: Line | None = None) -> Node:
        """Add a call of an operator and return its node. `args` are all its arguments, in schema order."""
        if value is ...:
            raise GraphError("call takes what the result is like, too. Write graph.call(op, args, node.value) of another node.")
        if not isinstance(op, OpOverload):
            raise GraphError(f"call adds a call of an operator, dispatch.ops.np.sin say, and was given {kind_of(op)}.")
        return self.add("call", op.schema.name, op, args, value, source)

    def item(self, node: Node, number: int, value: Any) -> Node:
        """Add a node for output `number` of a call with several outputs, or for item `number` of a list, and return it."""
        return self.add("item", f"{node.name}_{number}", None, (node, number), value, node.source)

    @property
    def held(self) -> list[Node]:
        """The calls that returned a number. The graph keeps the number of the trace, whatever arguments it runs with."""
        return [node for node in self.nodes if node.kind == "call" and any(nodes_in(node.args)) and _has_number(node.value)]

    # -- changing ------------------------------------------------------------------------------------------------------

    @clear
    def users(self, node: Node) -> list[Node]:
        """Return the nodes that take a node as an argument, in order. The outputs of the graph are not among them."""
        return [other for other in self.nodes if node in nodes_in(other.args)]

    @clear
    def find_nodes(self, *, op: OpOverload | str | None = None, kind: Kind | None = None) -> list[Node]:
        """Return the nodes of a kind, or the calls of an operator, which may be given by name.

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> graph = dispatch.make_fx(lambda x: np.sin(np.sin(x) * x))(np.ones(3))
        >>> graph.find_nodes(op="np::sin"), graph.find_nodes(kind="placeholder")
        ([sin, sin_1], [x])
        """
        if kind is not None:
            check_word(kind, "find_nodes: kind", get_args(Kind), GraphError)
        if op is not None and not isinstance(op, (str, OpOverload)):
            raise GraphError(f"find_nodes: op is an operator or its name, 'np::sin' say, and was given {kind_of(op)}.")
        found = self.nodes if kind is None else [node for node in self.nodes if node.kind == kind]
        if op is None:
            return list(found)
        name = op if isinstance(op, str) else op.name
        called = sorted({node.op.name for node in self.nodes if node.op is not None})
        if name not in called and isinstance(op, str) and all(name != each.name for each in defined_now()):
            near = did_you_mean(name, called) or f" The graph calls {', '.join(called) or 'none'}."
            raise GraphError(f"find_nodes: there is no operator {name!r}.{near}")
        return [node for node in found if node.op is not None and node.op.name == name]

    @clear
    @contextmanager
    def inserting_before(self, node: Node) -> Iterator[None]:
        """Return a `with` block that inserts new nodes right before a node.

        Raises
        ------
        GraphError
            If the node is none of this graph.
        """
        self._place(node)
        outer, self._before = self._before, node
        try:
            yield
        finally:
            self._before = outer

    @clear
    def replace_all_uses_with(self, node: Node, other: Any) -> list[Node]:
        """Replace a node by another node or a plain value: in arguments, in outputs, and where sizes are read.

        The arguments of `other` stay as they are, so that `other` may take `node` as an argument.

        Returns
        -------
        list of Node
            The nodes whose arguments changed.
        """
        self._place(node)

        def instead(x: Any) -> Any:
            return other if x is node else x

        changed = [user for user in self.users(node) if user is not other]
        for user in changed:
            user.args = mapped(instead, user.args)
        self.outputs = mapped(instead, self.outputs)
        self.symbols = {name: (instead(of), axis) for name, (of, axis) in self.symbols.items()}
        return changed

    @clear
    def erase_node(self, node: Node) -> None:
        """Remove a node from the graph.

        Raises
        ------
        GraphError
            If it is none of this graph, or something still needs it.
        """
        place = self._place(node)
        if users := [user.name for user in self.users(node)]:
            raise GraphError(f"the node {node} is used by {', '.join(users)}. Call replace_all_uses_with, or erase them first.")
        for held, what in ((self.inputs, "inputs"), (self.outputs, "outputs"), (list(self.symbols.values()), "symbols")):
            if node in nodes_in(held):
                raise GraphError(f"the node {node} is one of the graph's {what}. Change `graph.{what}` first.")
        del self.nodes[place]
        self.constants.pop(node.name, None)

    def cut(self, count: int) -> set[Node]:
        """Remove all nodes but the first `count`, with what is known of them, and return those; nothing else may need them."""
        del self.nodes[count:]
        left = set(self.nodes)
        names = {node.name for node in left}
        self.constants = {name: x for name, x in self.constants.items() if name in names}
        self.symbols = {name: (node, axis) for name, (node, axis) in self.symbols.items() if node in left}
        self._names = dict.fromkeys(names, 0)
        return left

    def keep(self, kept: list[Node]) -> None:
        """Remove all nodes but some of the graph's, with the constants among them; nothing else may need these."""
        if len(kept) < len(self.nodes):
            self.nodes, self.constants = kept, _of_nodes(self.constants, kept)

    def leave_out(self, stands: dict[Node, Any], kept: list[Node] | None = None) -> None:
        """Remove nodes, with others in place of them in the outputs; the arguments are for the caller to exchange.

        Parameters
        ----------
        stands : dict
            For each node that anything outside of arguments may name, the node that stays in its place.
        kept : list of Node, optional
            What stays, if that is not all but these.
        """
        self.outputs = standing(self.outputs, stands, every=False)
        self.symbols = {name: (stands.get(node, node), axis) for name, (node, axis) in self.symbols.items()}
        self.keep([node for node in self.nodes if node not in stands] if kept is None else kept)

    def name_anew(self) -> None:
        """Give each node a name of its own, as `add` does: the first of two of one name keeps it, an item has its call's."""
        self._names = names = {}
        constants = {}
        for node in self.nodes:
            own = node.name
            name = own or f"{node.args[0].name}_{node.args[1]}"
            if name in names:
                name = self._numbered(name)
            names[name], node.name = 0, name
            if node.kind == "constant":
                constants[name] = self.constants[own]
        self.constants = constants

    def _place(self, node: Node) -> int:
        given: object = node
        if not isinstance(given, Node):
            raise GraphError(f"a node of the graph is asked for, one of graph.nodes, and {kind_of(given)} was given.")
        try:
            return self.nodes.index(node)
        except ValueError:
            raise GraphError(f"the node {node!r} is none of this graph.") from None

    @clear
    def copy(self) -> Self:
        """Return a copy with new nodes of the same names. Arrays and other values are shared."""
        new = type(self)()
        there: dict[Node, Node] = {}
        for node in self.nodes:
            args = standing(node.args, there)
            there[node] = Node(node.kind, node.name, node.op, args, node.value, node.source)
        new.nodes, new.constants, new._names = list(there.values()), dict(self.constants), dict(self._names)  # noqa: SLF001
        self._finish(new, there)
        return new

    def _finish(self, new: Self, stands: dict[Node, Any]) -> None:
        """Give a graph that was made of this one what is no node."""
        new.inputs, new.outputs = standing(self.inputs, stands), standing(self.outputs, stands)
        new.symbols = {name: (stands[node], axis) for name, (node, axis) in self.symbols.items()}
        new.guards, new.checks, new.notes = list(self.guards), list(self.checks), dict(self.notes)

    def like(self, node: Node, args: tuple[Any, ...]) -> Node:
        """Add a copy of a node of another graph, with arguments of this graph, and return it."""
        if self._before is not None:
            return self.add(node.kind, node.name, node.op, args, node.value, node.source)
        name, names = node.name, self._names  # as `add` does it, without its call: graphs are copied node by node
        if name in names:
            name = self._numbered(name)
        names[name] = 0
        made = Node(node.kind, name, node.op, args, node.value, node.source)
        self.nodes.append(made)
        return made

    def rebuilt(self, rule: Callable[[Self, Node, tuple[Any, ...]], Any]) -> Self:
        """Return a new graph, made by a function that says for each node what replaces it.

        Parameters
        ----------
        rule : callable
            `rule(new, node, args)` gets the new graph, a node of this graph, and the arguments of the node in the new graph.
            It may add nodes to `new`, and returns what replaces the node: a node of `new` (`new.like(node, args)` copies the
            old one), a plain value, or a container where the value of the node is one.

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> graph = dispatch.make_fx(lambda x: np.sin(x) * 2)(np.ones(3))
        >>> def cosines(new, node, args):
        ...     if node.op is dispatch.ops.np.sin:
        ...         return new.call(dispatch.ops.np.cos, args, node.value, node.source)
        ...     return new.like(node, args)
        >>> graph.rebuilt(cosines).nodes
        [x, cos, multiply]
        """
        new = type(self)()
        stands: dict[Node, Any] = {}
        missing: set[Node] = set()
        for node in self.nodes:
            args = standing(node.args, stands)
            if node.kind == "item" and (items := items_of(args[0])) is not None:
                stands[node] = items[args[1]]
                continue
            made = stands[node] = rule(new, node, args)
            if made is None and node.value is not None:
                missing.add(node)
            elif made is node:
                raise GraphError(f"rebuilt: the rule returned {node.name!r} of the old graph. Return new.like(node, args).")
            if node.kind == "constant" and type(made) is Node and made.kind == "constant":
                new.constants.setdefault(made.name, self.constants[node.name])
        taken = [self.outputs, *(node.args for node in self.nodes)] if missing else []
        for node in nodes_in(taken):
            if node in missing:
                said = f"rebuilt: the rule returned None for {node.name!r}, which others take."
                raise GraphError(f"{said} Return a node, new.like(node, args) say.")
        self._finish(new, stands)
        return new

    @clear
    def lint(self) -> None:
        """Check that the graph is consistent.

        Raises
        ------
        GraphError
            If it is not: for example two nodes have one name, or a node comes before its arguments.
        """
        for fault in faults(self):
            raise GraphError(f"the graph is inconsistent: {fault}.")


def _of_nodes(constants: dict[str, Any], nodes: list[Node]) -> dict[str, Any]:
    """Return the constants that belong to some nodes."""
    names = {node.name for node in nodes} if constants else ()
    return {name: x for name, x in constants.items() if name in names}


def faults(body: Body) -> Iterator[str]:
    """Yield the faults of a graph as phrases, in the order of its nodes."""
    before: set[Node] = set()
    names: set[str] = set()
    inputs, everything = set(nodes_in(body.inputs)), set(body.nodes)
    for node in body.nodes:
        name = node.name
        if node in before:
            yield f"node {name!r} stands in it twice"
        elif name in names:
            yield f"two nodes are named {name!r}"
        if not name.isidentifier() or keyword.iskeyword(name):
            yield f"node {name!r} has no name that Python could write"
        for other in nodes_in(node.args):
            if other not in before:
                where = "comes after it" if other in everything else "is not in the graph"
                yield f"node {name!r} is made of {other.name!r}, which {where}"
        if fault := _fault_of(body, node):
            yield f"node {name!r} {fault}"
        if node.kind == "placeholder" and node not in inputs:
            yield f"node {name!r} is a placeholder, and no input"
        before.add(node)
        names.add(name)
    constants = {node.name for node in body.nodes if node.kind == "constant"}
    yield from (f"the array {name!r} of its constants belongs to no node" for name in body.constants if name not in constants)
    for node in inputs:
        if node not in before or node.kind != "placeholder":
            yield f"its input {node.name!r} is no placeholder of it"
    for held, word in ((body.outputs, "output"), ([node for node, _ in body.symbols.values()], "source of a size")):
        yield from (f"its {word} {node.name!r} is not in the graph" for node in nodes_in(held) if node not in before)


def _fault_of(body: Body, node: Node) -> str:
    """Return what is wrong with one node; an empty text where nothing is."""
    kind, op = node.kind, node.op
    if (kind == "call") != (op is not None):
        return f"is a {kind} {'without' if op is None else 'with'} an operator"
    if op is not None and len(node.args) != (count := len(op.schema.arguments)):
        return f"has {how_many(len(node.args), 'argument')}, and {op.name} takes {count}"
    if kind == "item" and not (len(node.args) == 2 and type(node.args[0]) is Node and type(node.args[1]) is int):
        return "is an item, and its arguments are no node and number"
    return "is a constant without an array" if kind == "constant" and node.name not in body.constants else ""


def _identifier(name: str) -> str:
    """Return a name as a Python identifier, in the normal form in which Python reads names."""
    name = unicodedata.normalize("NFKC", name)
    if not name.isidentifier():
        name = re.sub(r"\W", "_", name, flags=re.ASCII) if name else "_"
        name = name if name.isidentifier() else f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def _has_number(x: Any) -> bool:
    items = None if type(x) is Metadata else items_of(x)
    return type(x) in (int, float, bool, complex) if items is None else any(map(_has_number, items))
