"""The format of files: what is written is read again, and whatever else is refused with the line at fault."""

import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import define, said
from random_graphs import HANDLE, arguments, fill_, log, pair, push, watched

import dispatch
from dispatch import Graph, grad, make_fx, ops
from dispatch.errors import GraphError
from dispatch.graph import Opaque, dumps, loads
from dispatch.graph.serialize import digest, signed
from dispatch.operators.rule_operators import known_or_made

X = np.array([0.3, 1.2])
C = np.array([[1.0, -0.0], [np.nan, 2.5]], order="F")


def f(x, y):
    """A little of everything."""
    a, b = pair(ops.np.sin(x[::-1]) * 0.25)
    fill_(a, y)
    return {"a": log(a) + C.ravel(), "b": [b, None, -3], "s": np.take(y, np.array([0, 1]), axis=0)}


GRAPH, _ = watched(lambda: make_fx(f)(*arguments()))
TEXT = GRAPH.dumps()


def bodies(text):
    """The lines without their digests."""
    return [line.rpartition("  # ")[0] for line in text.splitlines()]


def forged(change, text=TEXT):
    """A text whose digests fit, after `change(lines)`."""
    lines = bodies(text)
    return signed(change(lines) or lines)


def replaced(pattern, by, text=TEXT):
    found = forged(lambda lines: [re.sub(pattern, by, line) for line in lines], text)
    assert found != text
    return found


def refusal(text):
    return said(lambda: loads(text), GraphError)


def test_a_graph_is_lines_of_python():
    graph = make_fx(lambda x, n: {"y": np.multiply(np.sin(x), n)})(X, 2)
    number = graph.nodes[1].source.number
    assert bodies(dumps(graph)) == [
        "graph(1)",
        "operator('np::multiply(Tensor x, Tensor y) -> Tensor', 'dispatch.operators.prims')",
        "operator('np::sin(Tensor x) -> Tensor', 'dispatch.operators.prims')",
        "x = placeholder(array('float64', (2,)))",
        f"line({__file__!r}, {number}, '<lambda>')",
        "sin = call('np::sin', (x,), array('float64', (2,)))",
        "multiply = call('np::multiply', (sin, 2), array('float64', (2,)))",
        "inputs(x, 2)",
        "outputs({'y': multiply})",
        "end()",
    ]
    assert loads(dumps(graph)).nodes[1].source == graph.nodes[1].source


def test_a_line_ends_with_the_digest_of_it_and_the_one_before():
    first, second = TEXT.splitlines()[:2]
    assert first == "graph(1)  # " + digest("", "graph(1)")
    assert second.endswith(digest("graph(1)", bodies(TEXT)[1]))


def test_files_are_paths_or_open(tmp_path):
    path = tmp_path / "a.graph"
    GRAPH.save(path)
    assert path.read_bytes() == TEXT.encode()
    assert Graph.load(str(path)) == GRAPH
    with path.open("rb") as file:
        assert Graph.load(file) == GRAPH
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    assert Graph.load(path) == GRAPH
    out = io.StringIO()
    GRAPH.save(out)
    assert Graph.load(io.StringIO(out.getvalue())) == GRAPH


def test_the_file_is_named(tmp_path):
    path = tmp_path / "a.graph"
    path.write_bytes(TEXT.replace("placeholder", "plac\xffholder", 1).encode("latin-1"))
    assert said(lambda: Graph.load(path), GraphError).startswith("a.graph, line ")


# -- damage ----------------------------------------------------------------------------------------------------------------


@st.composite
def damages(draw):
    """A damaged text, and the numbers of the lines that may be at fault."""
    lines = TEXT.splitlines(keepends=True)
    kind = draw(st.sampled_from(["flip", "delete", "insert", "cut", "drop line", "repeat line", "swap lines", "join"]))
    if kind in ("flip", "delete", "insert", "cut"):
        at = draw(st.integers(0, len(TEXT) - 1))
        letter = draw(st.characters(exclude_categories=()) | st.sampled_from("\n\r#()'\\0"))
        new = {"flip": letter, "delete": "", "insert": letter + TEXT[at], "cut": ""}[kind]
        text = TEXT[:at] + new + ("" if kind == "cut" else TEXT[at + 1 :])
        number = TEXT.count("\n", 0, at) + 1
        return text, {number - 1, number, number + 1}
    i = draw(st.integers(0, len(lines) - 2))
    if kind == "drop line":
        del lines[i]
    elif kind == "repeat line":
        lines.insert(i, lines[i])
    elif kind == "swap lines":
        lines[i], lines[i + 1] = lines[i + 1], lines[i]
    else:
        lines[i] = lines[i].rstrip("\n")
    return "".join(lines), {i, i + 1, i + 2}


@given(damages())
@settings(deadline=None, max_examples=1000)
def test_a_damaged_file_is_refused_with_the_line_at_fault(damage):
    text, numbers = damage
    try:
        graph = loads(text)
    except GraphError as error:
        found = re.match(r"line (\d+): ", str(error))
        assert found, error
        assert int(found[1]) in numbers
    else:
        assert graph == GRAPH


@given(st.integers(0, len(bodies(TEXT)) - 1), st.data())
@settings(deadline=None, max_examples=1000)
def test_a_forged_file_is_refused_with_a_line_or_is_a_graph(number, data):
    lines = bodies(TEXT)
    line = lines[number]
    at = data.draw(st.integers(0, len(line)))
    new = data.draw(st.text(max_size=3) | st.sampled_from(["(", "[" * 300, "9" * 5000, "x", "-", "**", "'", "\\", "lambda: 0", "\0"]))
    cut = data.draw(st.integers(0, 5))
    text = signed([*lines[:number], line[:at] + new + line[at + cut :], *lines[number + 1 :]])
    try:
        graph = loads(text)
    except GraphError as error:
        assert re.match(r"line \d+: ", str(error))
    else:
        graph.lint()


@given(st.text())
def test_any_other_text_is_refused(text):
    assert re.match(r"line \d+: ", refusal(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: it has no digest, '  # ' and eight digits at its end: it was cut, or this is no graph."),
        (TEXT[:-40], "line {last}: it has no digest, '  # ' and eight digits at its end: it was cut, or this is no graph."),
        (TEXT.replace("0.25", "0.26", 1), "its digest does not fit it and the line before: it was changed, or a line between is missing."),
        (forged(lambda lines: lines[:-1]), "line {last}: the text ends here, and end() is missing."),
        (forged(lambda lines: [*lines, "end()"]), "line {end}: there are lines behind end()."),
        (forged(lambda lines: lines[1:]), "line 1: the first line, and no other, is graph(version)."),
        (forged(lambda lines: [lines[0], *lines]), "line 2: the first line, and no other, is graph(version)."),
        (replaced(r"graph\(1\)", "graph(2)"), "line 1: it is of version 2, and version 1 can be read."),
        (replaced("^end", "ende"), "line {end}: there is no statement ende(...)."),
        (replaced("placeholder", "place"), "there is no statement x = place(...)."),
        (replaced(r"^x = placeholder.*", "x.y = 3"), "it is no statement of a graph, as in x = placeholder(...)."),
        (replaced(r"^x = .*", "x = __import__('os')"), "there is no statement x = __import__(...)."),
        (replaced(r"^y = placeholder.*", "x = placeholder(None)"), "two nodes are named 'x'."),
        (replaced(r"array\('float64', \(4,\)\)\)$", "array('float64', 4))"), "a shape and its strides are tuples of one length"),
        (replaced(r"^inputs.*", "inputs(x)"), "the graph is inconsistent: node 'y' is a placeholder, and no input."),
        (replaced(r"^inputs.*", "end()"), "inputs(...) or outputs(...) is missing before it."),
        (forged(lambda lines: [x for x in lines if not x.startswith("inputs")]), "inputs(...) is missing before it."),
        (forged(lambda lines: [*lines[:-1], "inputs()", "end()"]), "inputs(...) is out of place."),
        (replaced(r"^line\(.*", "line(3)"), "it has no meaning (TypeError: "),
        (replaced(r"^line\(.*", "line(3, 3, 3)"), "a line is a file, a number and a function."),
        (replaced(r"^inputs.*", "symbol('s0', 3, 0)"), "a symbol is a name, a node and an axis."),
        (replaced(r"^operator\('random_graphs::fill_.*", "line()"), "no line before it is about the operator random_graphs::fill_."),
    ],
)
def test_what_is_wrong_is_said(text, words):
    last = len(text.splitlines())
    assert words.format(last=last, end=len(bodies(TEXT))) in refusal(text)


def test_calls_and_items_are_held_to_what_they_are():
    text = dumps(make_fx(np.linalg.eigh)(np.eye(2)))
    assert "np::linalg_eigh takes 2 arguments." in refusal(replaced(r"\(a, 'L'\)", "(a,)", text))
    assert "an item is a node and a number." in refusal(replaced(r"item\(linalg_eigh, 1", "item(linalg_eigh, 1.0", text))
    assert "no node before it is named 'b'." in refusal(replaced(r"\(a, 'L'\)", "(b, 'L')", text))


# -- operators -------------------------------------------------------------------------------------------------------------


def test_operators_that_are_not_there_are_all_named():
    text = TEXT.replace("random_graphs::fill_", "random_graphs::gone").replace("np::multiply", "elsewhere::multiply")
    text = forged(lambda lines: None, text)
    message = refusal(text)
    number = next(i for i, line in enumerate(text.splitlines(), 1) if "elsewhere::multiply" in line)
    assert message == (
        f"line {number}: there is no operator elsewhere::multiply (defined in dispatch.operators.prims); random_graphs::gone (defined in "
        "random_graphs). Import what defines it, and load again."
    )


def test_an_operator_with_another_schema_is_refused():
    text = replaced(r"sin\(Tensor x\)", "sin(Tensor y)", dumps(make_fx(np.sin)(X)))
    assert refusal(text) == (
        "line 2: the operator has another schema now, np::sin(Tensor x) -> Tensor; the graph was saved with "
        "np::sin(Tensor y) -> Tensor."
    )


def test_an_operator_that_is_known_to_nobody_is_not_saved():
    op = define("(Tensor x) -> Tensor", np.cos)
    graph = make_fx(lambda x: op(x))(X)
    assert said(graph.dumps, GraphError) == (
        f"the graph cannot be saved: the operator {op.name} is known to nobody by its name. Define it."
    )


def test_functional_forms_are_found_by_way_of_their_operators():
    op = dispatch.custom_op("graph_text::bump", lambda x: x.__iadd__(1) and None, mutates_args=("x",), schema="(Tensor(a!) x) -> ()")
    form = op.functional
    assert known_or_made(form.name) is form
    assert known_or_made("graph_text::gone.functional") is None
    graph = Graph()
    x = graph.placeholder("x", None)
    graph.inputs, graph.outputs = (x,), graph.call(form, (x,), None)
    assert loads(dumps(graph)) == graph


# -- values ----------------------------------------------------------------------------------------------------------------


def test_what_has_no_text_is_named():
    graph, _ = watched(lambda: make_fx(lambda x: push(HANDLE, x))(X))
    assert said(graph.dumps, GraphError) == (
        "the graph cannot be saved: argument 'handle' of the node push (random_graphs::push) is a Handle, which has no text. "
        "Register its class with dispatch.graph.register_value."
    )
    with pytest.raises(GraphError) as caught:
        graph.dumps()
    assert (caught.value.operator, caught.value.argument) == ("random_graphs::push", "handle")
    assert said(make_fx(lambda x, h: x)(X, HANDLE).dumps, GraphError) == (
        "the graph cannot be saved: its inputs hold a Handle, which has no text."
    )
    assert said(make_fx(lambda x: (x, HANDLE))(X).dumps, GraphError) == (
        "the graph cannot be saved: its outputs hold a Handle, which has no text."
    )
    graph = make_fx(lambda x: np.sin(x))(X)
    graph.constant(np.array([HANDLE]), None)
    assert said(graph.dumps, GraphError) == (
        "the graph cannot be saved: the constant constant is an ndarray of Python objects, without a text."
    )


def test_a_graph_that_is_inconsistent_is_not_saved():
    graph = GRAPH.copy()
    graph.inputs = ()
    assert "the graph is inconsistent" in said(graph.dumps, GraphError)


def test_what_a_node_gives_that_has_no_text_is_known_by_its_class():
    graph = GRAPH.copy()
    graph.nodes[-1].value = HANDLE
    loaded = loads(dumps(graph))
    assert loaded.nodes[-1].value == Opaque("random_graphs.Handle")
    assert loaded == graph


def test_gradients_are_saved():
    f = grad(lambda x: np.sum(np.where(x[1:] > 0, x[1:], 0) * x[:-1]))
    graph = make_fx(f)(np.arange(4.0))
    np.testing.assert_array_equal(loads(dumps(graph))(np.arange(4.0)), f(np.arange(4.0)))


# -- equality --------------------------------------------------------------------------------------------------------------


def test_names_and_lines_do_not_count():
    graph, other = make_fx(lambda x: np.sin(x))(X), make_fx(lambda y: np.sin(y))(X)
    assert graph == other
    assert hash(graph) != hash(other)
    assert len({graph, graph, other}) == 2


@pytest.mark.parametrize(
    "f", [lambda x: np.cos(x), lambda x: (np.sin(x),), lambda x: np.sin(x) + 0.0, lambda x: x], ids=["op", "out", "more", "less"]
)
def test_what_differs_is_another_graph(f):
    assert make_fx(lambda x: np.sin(x))(X) != make_fx(f)(X)


def test_constants_and_numbers_count():
    def graph(k):
        return make_fx(lambda x: x * k)(X)

    assert graph(1.0) != graph(1)
    assert graph(0.0) != graph(-0.0)
    assert graph(float("nan")) == graph(float("nan"))
    assert graph(np.array([1.0, 2.0])) == graph(np.array([1.0, 2.0]))
    assert graph(np.array([1.0, 2.0])) != graph(np.array([1.0, 3.0]))
    assert graph(1.0) != 3
    np.testing.assert_array_equal(graph(2.0)(arguments()[0][:2]), arguments()[0][:2] * 2)
