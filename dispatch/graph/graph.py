"""Graph: nodes in the order in which they ran, what goes in, and what comes out."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..containers import items_of, mapped
from ..core import OpOverload
from ..errors import GraphError, kind_of
from ..where import Line
from .node import Kind, Node


class Graph:
    """What a function did, as a list of operator calls.

    Attributes
    ----------
    nodes : list of Node
        In the order in which they ran; a node comes after those it is made of.
    inputs : tuple
        The arguments that the function was called with: nodes for arrays, in containers as they came; what is no array as
        it was, and a call of the graph has to give the same.
    outputs : object
        What the function returned, nodes for arrays.
    constants : dict
        The arrays of the graph's own, by the names of their nodes.
    held : list of Node
        Calls that gave a number: what is computed of it holds for what it was, whatever the graph is called with.
    symbols : dict
        Where each symbol of its sizes is read: a node and an axis.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: np.sin(x) + 1)(np.zeros(3))
    >>> graph(np.array([0.0, 1.0]))
    array([1.        , 1.84147098])
    """

    __slots__ = ("_names", "constants", "held", "inputs", "nodes", "outputs", "symbols")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: tuple[Any, ...] = ()
        self.outputs: Any = None
        self.constants: dict[str, Any] = {}
        self.held: list[Node] = []
        self.symbols: dict[str, tuple[Node, int]] = {}
        self._names: dict[str, int] = {}

    # -- building ------------------------------------------------------------------------------------------------------

    def add(self, kind: Kind, name: str, op: OpOverload | None, args: tuple[Any, ...], value: Any, source: Line | None) -> Node:
        """A new last node; its name gets a number where it is taken."""
        taken = self._names.get(name)
        self._names[name] = 0 if taken is None else taken + 1
        node = Node(kind, name if taken is None else f"{name}_{taken + 1}", op, args, value, source)
        self.nodes.append(node)
        return node

    def placeholder(self, name: str, value: Any) -> Node:
        return self.add("placeholder", name, None, (), value, None)

    def constant(self, array: Any, value: Any, name: str = "constant") -> Node:
        """A node for an array of the graph's own, which is kept as it is: copy what may be written later."""
        node = self.add("constant", name, None, (), value, None)
        self.constants[node.name] = array
        return node

    def call(self, op: OpOverload, args: tuple[Any, ...], value: Any, source: Line | None = None) -> Node:
        return self.add("call", op.name.partition("::")[2].partition(".")[0], op, args, value, source)

    def item(self, node: Node, number: int, value: Any) -> Node:
        """Output `number` of a call with several, or item `number` of a list that it returned."""
        return self.add("item", f"{node.name}_{number}", None, (node, number), value, node.source)

    # -- running -------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        """Run the graph: every operator is called again, with these arguments.

        Raises
        ------
        GraphError
            If the arguments have another structure than those the graph was made of, or differ in what is no array.
        """
        values: dict[Node, Any] = {}
        _bind(self.inputs, args, values, "arguments")

        def given(x: Any) -> Any:
            return values[x] if type(x) is Node else x

        for node in self.nodes:
            if node.kind == "call":
                assert node.op is not None
                values[node] = node.op.whole(*[mapped(given, x) for x in node.args])
            elif node.kind == "item":
                items: Any = items_of(values[node.args[0]])
                values[node] = items[node.args[1]]
            elif node.kind == "constant":
                values[node] = self.constants[node.name].copy()
        return mapped(given, self.outputs)


def _bind(expected: Any, given: Any, values: dict[Node, Any], path: str) -> None:
    """Give each node of the inputs its value."""
    if type(expected) is Node:
        values[expected] = np.asarray(given) if type(given) in (float, complex) else given
        return
    items, parts = items_of(expected), items_of(given)
    if items is None or parts is None:
        if items is not None or parts is not None or type(expected) is not type(given) or expected != given:
            raise GraphError(f"the graph was made with {expected!r} in its {path}, and {kind_of(given)} was given.")
        return
    if len(items) != len(parts):
        raise GraphError(f"the graph was made with {len(items)} {path}, and {len(parts)} were given.")
    for item, part in zip(items, parts, strict=True):
        _bind(item, part, values, path)


Pass = Callable[[Graph], Graph]
