"""Symbolic sizes of a graph: reads them from arguments, checks the guards of the trace, writes and reads them as text."""

import re
from collections.abc import Iterator
from typing import Any

from ..core.pytree import leaves
from ..core.source import Line
from ..errors import CheckError, GraphError, how_many
from ..symbolic import Check, Guard, ShapeEnv, SymInt, parse
from .body import Body
from .literals import register_value
from .metadata import Metadata
from .node import Node, nodes_in

SYMBOL = re.compile(r"[a-z]\d{1,6}")
NOTE = "symbolic"  # of a graph that was traced with symbolic sizes and has none: its lengths, all 0 or 1, are checked too


class Symbols:
    """The symbols of one text; each is made when it first occurs."""

    def __init__(self) -> None:
        self.env = ShapeEnv()

    def __contains__(self, name: str) -> bool:
        return SYMBOL.fullmatch(name) is not None

    def __iter__(self) -> Any:
        return iter(self.env.symbols)

    def __getitem__(self, name: str) -> SymInt:
        found = self.env.symbols.get(name)
        return self.env.new_symbol(name, low=-(2**62)) if found is None else found


def size_of(text: Any) -> Any:
    """Return the size that a text describes."""
    if type(text) is not str:
        raise GraphError("a size is a text, as in size('2*s0')")
    return parse(text, Symbols())  # type: ignore[arg-type]


def condition_of(text: Any, line: tuple[Any, ...], message: Any = None) -> Guard | None:
    """Return a guard, or a check if there is a message; None for a condition that always holds."""
    if type(text) is not str or list(map(type, line)) != [str, int, str]:
        raise GraphError("a condition is a text, a file, a number and a function")
    found = size_of(text)
    if isinstance(found, (bool, int, SymInt)):
        raise GraphError(f"{text!r} is no condition on sizes")
    return Guard(found, Line(*line)) if message is None else Check(found, Line(*line), str(message))


def sizes_in(x: Any) -> Iterator[SymInt]:
    """Yield the symbolic sizes in a value, also in containers and slices.

    Parameters
    ----------
    x : object

    Yields
    ------
    SymInt

    Examples
    --------
    >>> from dispatch.symbolic import ShapeEnv
    >>> n = ShapeEnv().new_size(5)
    >>> list(sizes_in((slice(0, n), [n + 1, 3])))
    [s0, s0 + 1]
    """
    for leaf in leaves(x):
        for part in (leaf.start, leaf.stop, leaf.step) if type(leaf) is slice else (leaf,):
            if type(part) is SymInt:
                yield part


def size_at(x: Any, axis: int | None) -> int:
    """Return the number of a symbol: the length of an axis of a value, or the value itself."""
    found: int = x if axis is None else x.shape[axis]
    return found


def is_checked(body: Body) -> bool:
    """Whether the lengths of a graph's arguments are compared with those of its trace."""
    return bool(body.symbols) or NOTE in body.notes


def sizes_of_inputs(body: Body, values: dict[Node, Any]) -> dict[str, int]:
    """Return the numbers of the symbols that the arguments of a graph determine; raise if a guard fails, with its line."""
    places = {name: place for name, place in body.symbols.items() if place[0].kind == "placeholder"}
    sizes = {}
    for name, (node, axis) in places.items():
        x = values[node]
        if axis is not None and len(x.shape) != len(node.value.shape):
            raise _another(node, f"has {how_many(len(node.value.shape), 'axis')}", f"of shape {tuple(x.shape)}")
        if axis is None and type(x) is not int:
            raise _another(node, "is an int", type(x).__name__)
        sizes[name] = size_at(x, axis)
    for node in nodes_in(body.inputs):
        if type(node.value) is Metadata:
            _check_shape(node, values[node], sizes, [axis for at, axis in places.values() if at is node])
    for name, (node, axis) in places.items():
        if sizes[name] < 2:
            said = str(node) if axis is None else f"{node}.shape[{axis}]"
            raise GraphError(
                f"the graph holds where {said} > 1, and it is {sizes[name]}: NumPy treats 0 and 1 unlike other sizes. Trace "
                "once more with such arguments."
            )
    for guard in body.guards:
        if not guard.evaluate(sizes):
            raise GraphError(
                f"the graph holds where {guard}, which it rests on since {guard.line}. Here "
                f"{_listed(guard.names, places, sizes)}. Trace once more with such arguments."
            )
    return sizes


def _check_shape(node: Node, x: Any, sizes: dict[str, int], read: list[int | None]) -> None:
    """Raise if the shape of an argument differs from the trace on an axis that no symbol is read from."""
    shape, expected = tuple(x.shape), node.value.shape
    if len(shape) != len(expected):
        raise _another(node, f"has {how_many(len(expected), 'axis')}", f"of shape {shape}")
    for axis, (n, wanted) in enumerate(zip(shape, expected, strict=True)):
        if axis not in read and n != (wanted.evaluate(sizes) if type(wanted) is SymInt else wanted):
            raise _another(node, f".shape[{axis}] == {wanted}", f"of shape {shape}")


def _another(node: Node, expected: str, given: str) -> GraphError:
    said = f"{node}{expected}" if expected.startswith(".") else f"{node} {expected}"
    return GraphError(f"the graph holds where {said}, and {node} was given {given}. Trace once more with such arguments.")


def _listed(names: tuple[str, ...], places: dict[str, Any], sizes: dict[str, int]) -> str:
    said = []
    for name in names:
        node, axis = places[name]
        said.append(f"{name} = {node}{'' if axis is None else f'.shape[{axis}]'} is {sizes[name]}")
    return " and ".join(said)


def run_checks(body: Body, sizes: dict[str, int], done: set[int]) -> None:
    """Test each check as soon as the sizes in it are known; raise a CheckError for one that does not hold."""
    for number, check in enumerate(body.checks):
        if number not in done and all(name in sizes for name in check.names):
            done.add(number)
            if not check.evaluate(sizes):
                raise CheckError(check.message)


register_value(SymInt, "size", lambda x: (x.text,), size_of, spell=lambda x: x.text, at=lambda x, sizes: x.evaluate(sizes))
