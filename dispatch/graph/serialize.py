"""Writes graphs as text and reads them: one line for each node. A digest in each line tells which line is damaged.

    graph(1)                                              the version of the format
    operator('np::sin(Tensor x) -> Tensor', 'dispatch')   an operator that is called: its schema, and the module that defines it
    line('file.py', 12, 'f')                              the line of code that made the calls below; line() if it is unknown
    x = placeholder(array('float64', (3,)))
    constant = constant(array(...), data('float64', (2,), 'AAAA...'))
    sin = call('np::sin', (x,), array('float64', (3,)))   operator, arguments, result
    svd_0 = item(svd, 0, array(...))
    symbol('s0', x, 0)                                    a size, the node that it is read from, and the axis
    guard('s0 > 5', 'file.py', 12, 'f')                   a condition on sizes; check(...) is one that depends on data
    note('versions', {'numpy': '2.4.0'})                  a note of the user's: a name and a value
    inputs(x, {'y': y})                                   the arguments that the function was called with
    outputs(sin)                                          what it returned
    end()

A line ends with "  # " and eight hexadecimal digits, the CRC-32 of the line before it, a line feed, and itself. See
docs/graphs.md; literals.py has the values.
"""

import ast
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from ..core import OpOverload
from ..core.collector import collector_paused
from ..core.source import Line
from ..errors import GraphError, how_many
from ..operators.rule_operators import known_or_made, origin_of_name
from .array_literals import Unwritable
from .body import Body
from .literals import Reader, Writer
from .node import Node, nodes_in
from .shape_guards import condition_of
from .usual_lines import usual_call

VERSION = 1
MARK, LINE_FEED = "  # ", "\n"
Statement = tuple[str, str, Callable[[], list[Any]]]  # name or "", word, and what reads its values


# -- writing ---------------------------------------------------------------------------------------------------------------


def written(body: Body) -> str:
    """Return the text of a graph, or raise if it is inconsistent, or an operator or a value in it cannot be written."""
    body.lint()
    writer = Writer()
    lines = list(_nodes(body, writer))
    lines += [f"symbol({name!r}, {node.name}, {axis})" for name, (node, axis) in body.symbols.items()]
    lines += [f"guard({str(x)!r}, {x.line.file!r}, {x.line.number}, {x.line.function!r})" for x in body.guards]
    lines += [f"check({str(x)!r}, {x.line.file!r}, {x.line.number}, {x.line.function!r}, {x.message!r})" for x in body.checks]
    rest = [("note", note) for note in body.notes.items()]
    for word, values in (*rest, ("inputs", body.inputs), ("outputs", (body.outputs,))):
        try:
            lines.append(f"{word}{_call(writer, *values)}")
        except Unwritable as error:
            part = f"note {values[0]!r} holds" if word == "note" else f"{word} hold"
            raise GraphError(f"the graph cannot be saved: its {part} {error}, which has no text.") from None
    operators = writer.operators | {node.op.name: node.op for node in body.nodes if node.op is not None}
    head = [f"graph({VERSION})"]
    for name, op in sorted(operators.items()):
        if known_or_made(name) is not op:
            raise GraphError(f"the graph cannot be saved: the operator {name} is known to nobody by its name. Define it.")
        found = origin_of_name(op)
        module = getattr(op if found is None else found[0], "defined_in", None) or ("", "")
        head.append(f"operator{_call(writer, str(op.schema), module[0])}")
    return signed([*head, *lines, "end()"])


def signed(lines: list[str]) -> str:
    """Return lines with a digest at the end of each."""
    return "".join(f"{line}{MARK}{digest(before, line)}\n" for before, line in zip(["", *lines], lines, strict=False))


def digest(before: str, line: str) -> str:
    """Return the digest of a line and of the line before it."""
    return f"{zlib.crc32((before + LINE_FEED + line).encode('utf-8', 'backslashreplace')):08x}"


def _nodes(body: Body, writer: Writer) -> Iterator[str]:
    source: Line | None = None
    described = Writer(opaque=_opaque)
    for node in body.nodes:
        if node.op is not None and node.source != source:
            source = node.source
            yield f"line{_call(writer, *(source or ()))}"
        value = described.spell(node.value)
        if node.kind == "call":
            assert node.op is not None
            args = [_argument(node, i, writer) for i in range(len(node.args))]
            tuple_of = f"({', '.join(args)}{',' * (len(args) == 1)})"
            yield f"{node.name} = call({node.op.name!r}, {tuple_of}, {value})"
        elif node.kind == "item":
            yield f"{node.name} = item({node.args[0].name}, {node.args[1]}, {value})"
        elif node.kind == "constant":
            try:
                yield f"{node.name} = constant({value}, {writer.spell(body.constants[node.name])})"
            except Unwritable as error:
                raise GraphError(f"the graph cannot be saved: the constant {node.name} is {error}, without a text.") from None
        else:
            yield f"{node.name} = placeholder({value})"


def _argument(node: Node, number: int, writer: Writer) -> str:
    try:
        return writer.spell(node.args[number])
    except Unwritable as error:
        assert node.op is not None
        name = node.op.schema.arguments[number].name
        raise GraphError(
            f"the graph cannot be saved: argument {name!r} of the node {node.name} ({node.op.name}) is {error}, which has no "
            "text. Register its class with dispatch.graph.register_value.",
            operator=node.op.name,
            argument=name,
        ) from None


def _opaque(x: Any) -> str:
    return f"opaque({f'{type(x).__module__}.{type(x).__qualname__}'!r})"


def _call(writer: Writer, *values: Any) -> str:
    return f"({', '.join(map(writer.spell, values))})"


# -- reading ---------------------------------------------------------------------------------------------------------------


@collector_paused()
def read(text: str, body: Body, name: str = "") -> None:
    """Fill an empty graph from a text; an error names the file and the number of the line."""
    reader = _GraphReader(body)
    number, before = 1, ""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    try:
        for number, whole in enumerate(lines or [""], 1):
            line, mark, found = whole.rpartition(MARK)
            if not mark:
                if len(lines) == 1 and not name and line == "" and whole and "(" not in whole:
                    raise GraphError(f"this is no text of a graph, but one line, {whole!r}. Of a file write Graph.load(path)")
                raise GraphError("it has no digest, '  # ' and eight digits at its end: it was cut, or this is no graph")
            if found != digest(before, line):
                raise GraphError("its digest does not fit it and the line before: it was changed, or a line between is missing")
            reader.line(line, last=number == len(lines))
            before = line
    except Exception as error:  # whatever a line says, a file is refused by one class of exception
        fault = str(error).rstrip(".")
        if not isinstance(error, GraphError):
            fault = f"it has no meaning ({type(error).__name__}: {fault})"
        raise GraphError(f"{name + ', ' if name else ''}line {reader.at or number}: {fault}.") from None


class _GraphReader:
    """A graph that is being read, line by line."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.nodes: dict[str, Node] = {}
        self.operators: dict[str, OpOverload] = {}
        self.missing: list[str] = []
        self.first_missing = 0
        self.at = 0  # the line at fault, where that is not the one that is read
        self.number = 0
        self.ended: set[str] = set()
        self.source: Line | None = None
        self.reader = Reader(self.nodes, self.operators)
        self.lines: dict[str, list[Any]] = {}  # by the text of a statement line(...)

    def line(self, text: str, last: bool) -> None:
        self.number += 1
        name, word, values_of = self._usual(text) or self._parsed(text)
        verb = getattr(self, f"{'node' if name else 'say'}_{word}", None)
        if verb is None:
            raise GraphError(f"there is no statement {word + '(...)' if not name else f'x = {word}(...)'}")
        if (self.number == 1) != (word == "graph"):
            raise GraphError("the first line, and no other, is graph(version)")
        if word not in ("graph", "operator") and self.missing:
            self.at = self.first_missing
            raise GraphError(f"there is no operator {'; '.join(self.missing)}. Import what defines it, and load again")
        if self.ended and word != "end" and (word in self.ended or word != "outputs"):
            raise GraphError(f"{word}(...) is out of place")
        if name in self.nodes:
            raise GraphError(f"two nodes are named {name!r}")
        values = values_of()
        if name:
            self.nodes[name] = verb(name, *values)
        else:
            verb(*values)
        if last != (word == "end"):
            raise GraphError("there are lines behind end()" if not last else "the text ends here, and end() is missing")

    def _parsed(self, text: str) -> Statement:
        """Return any statement."""
        match ast.parse(text).body:
            case [ast.Expr(value=ast.Call(func=ast.Name(id=word), args=args, keywords=[]))]:
                name = ""
            case [ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=word), args=args, keywords=[]))]:
                pass
            case _:
                raise GraphError("it is no statement of a graph, as in x = placeholder(...)")
        return name, word, lambda: [self.reader.read(arg) for arg in args]

    def _usual(self, text: str) -> Statement | None:
        """Return a statement of one of the forms that most lines have, which are read in a quarter of the time; else None."""
        if text.startswith("line("):
            if text not in self.lines:
                name, word, values_of = self._parsed(text)
                if name or word != "line":
                    return None
                self.lines[text] = values_of()
            return "", "line", lambda: self.lines[text]
        return usual_call(text, self.reader)

    def say_graph(self, version: int) -> None:
        if version != VERSION:
            raise GraphError(f"it is of version {version}, and version {VERSION} can be read")

    def say_operator(self, schema: str, module: str) -> None:
        name = schema.partition("(")[0]
        op = known_or_made(name)
        if op is None:
            self.missing.append(f"{name} (defined in {module or 'no module'})")
            self.first_missing = self.first_missing or self.number
        elif str(op.schema) != schema:
            raise GraphError(f"the operator has another schema now, {op.schema}; the graph was saved with {schema}")
        else:
            self.operators[name] = op

    def say_line(self, *parts: Any) -> None:
        found: Any = Line(*parts) if parts else None
        if found is not None and list(map(type, found)) != [str, int, str]:
            raise GraphError("a line is a file, a number and a function")
        self.source = found

    def say_symbol(self, name: str, node: Node, axis: int | None) -> None:
        given: Any = node
        if type(name) is not str or type(given) is not Node or not (axis is None or type(axis) is int):
            raise GraphError("a symbol is a name, a node and an axis")
        self.body.symbols[name] = node, axis

    def say_guard(self, text: str, *line: Any) -> None:
        self.body.guards.append(condition_of(text, line))

    def say_check(self, text: str, file: str, number: int, function: str, message: str) -> None:
        self.body.checks.append(condition_of(text, (file, number, function), message))

    def say_note(self, name: str, value: Any) -> None:
        if type(name) is not str or any(nodes_in(value)):
            raise GraphError("a note is a name and a value without nodes")
        self.body.notes[name] = value

    def say_inputs(self, *values: Any) -> None:
        self.body.inputs = values
        self.ended.add("inputs")

    def say_outputs(self, value: Any) -> None:
        if not self.ended:
            raise GraphError("inputs(...) is missing before it")
        self.body.outputs = value
        self.ended.add("outputs")

    def say_end(self) -> None:
        if self.ended != {"inputs", "outputs"}:
            raise GraphError("inputs(...) or outputs(...) is missing before it")
        self.body.lint()

    def node_placeholder(self, name: str, value: Any) -> Node:
        return self.body.add("placeholder", name, None, (), value, None)

    def node_constant(self, name: str, value: Any, array: Any) -> Node:
        node = self.body.add("constant", name, None, (), value, None)
        self.body.constants[name] = array
        return node

    def node_call(self, name: str, operator: str, args: Any, value: Any) -> Node:
        op = self.operators.get(operator)
        if op is None:
            raise GraphError(f"no line before it is about the operator {operator}")
        if type(args) is not tuple or len(args) != (count := len(op.schema.arguments)):
            raise GraphError(f"{operator} takes {how_many(count, 'argument')}")
        return self.body.add("call", name, op, args, value, self.source)

    def node_item(self, name: str, of: Any, number: Any, value: Any) -> Node:
        if type(of) is not Node or type(number) is not int:
            raise GraphError("an item is a node and a number")
        return self.body.add("item", name, None, (of, number), value, of.source)


# -- equality --------------------------------------------------------------------------------------------------------------


def outline(body: Body) -> list[str]:
    """Return the text of a graph without names and lines; it is equal for graphs that do the same."""
    number = {node: f"n{i}" for i, node in enumerate(body.nodes)}
    writer = Writer(lambda node: number.get(node, f"?{id(node)}"), lambda x: f"object({id(x)})")
    described = Writer(writer.name, _opaque)
    lines = []
    for node in body.nodes:
        array = writer.spell(body.constants.get(node.name)) if node.kind == "constant" else ""
        op = "" if node.op is None else str(id(node.op))
        lines.append(f"{node.kind} {op} {writer.spell(node.args)} {described.spell(node.value)} {array}")
    symbols = [f"{name} {writer.spell(node)} {axis}" for name, (node, axis) in body.symbols.items()]
    symbols += [f"{type(x).__name__} {x}" for x in (*body.guards, *body.checks)]
    return [*lines, *symbols, writer.spell(body.inputs), writer.spell(body.outputs)]
