"""Code: what it looks like; test_random_graphs.py and test_rows.py run it."""

import dataclasses
import enum
from collections import namedtuple

import numpy as np
import pytest
from making import define
from random_graphs import HANDLE, pair, push, scale, watched

import dispatch
from dispatch import grad, make_fx, ops
from dispatch.core.pytree import register_record
from dispatch.graph import Graph, Metadata

X = np.array([0.3, 1.2])
Point = namedtuple("Point", "x y")
VALUE = Metadata((2,), np.dtype(float), (8,), "cpu")


class Mode(enum.Enum):
    FAST = 1


@dataclasses.dataclass
class State:
    x: object
    n: int = 1


@dataclasses.dataclass
class Checked:
    x: object

    def __post_init__(self):
        raise AssertionError  # a record is put together without it


register_record(State)
register_record(Checked)


def lines(graph):
    """The lines of the function, without what the user wrote."""
    return [line for line in str(graph).splitlines() if not line.startswith("    # ")]


def run(graph, *args):
    scope = graph.scope
    exec(graph.code, scope)
    return scope["f"](*args)


def test_it_reads_as_it_was_written(capsys):
    def step(x, other):
        y = np.sin(x) * 2
        return {"y": y, "rest": (other["a"][0] + y, 3)}

    graph = make_fx(step)(X, {"a": [X]})
    place = graph.nodes[2].source.place
    text = graph.print_readable()
    assert capsys.readouterr().out == text == graph.code
    assert graph.print_readable(print_output=False) == text
    assert capsys.readouterr().out == ""
    assert text.splitlines() == [
        "import numpy as np",
        "",
        "",
        "def f(x, other):",
        "    other_a_0 = other['a'][0]",
        f"    # {place}, in step: y = np.sin(x) * 2",
        "    sin = np.sin(x)  # float64[2]",
        "    multiply = np.multiply(sin, 2)  # float64[2]",
        f"    # {graph.nodes[-1].source.place}, in step: return " + '{"y": y, "rest": (other["a"][0] + y, 3)}',
        "    add = np.add(other_a_0, multiply)  # float64[2]",
        "    return {'y': multiply, 'rest': (add, 3)}",
    ]


def test_calls_say_what_is_not_the_default():
    graph = make_fx(lambda x: scale(scale(x), shift=1.0) + scale(x, 3.0) + np.sum(x, keepdims=True))(X)
    assert [line.partition("  #")[0] for line in lines(graph)[1:-1]] == [
        "    scale = ops.random_graphs.scale(x)",
        "    scale_1 = ops.random_graphs.scale(scale, shift=1.0)",
        "    scale_2 = ops.random_graphs.scale(x, k=3.0)",
        "    add = np.add(scale_1, scale_2)",
        "    sum = ops.np.sum(x, keepdims=True)",
        "    add_1 = np.add(add, sum)",
    ]


def test_reading_and_writing_by_index():
    def f(x, i):
        x[0] = x[1:, None, i]
        x[..., ::-1] += 1.0
        return x[0, 1], x[np.array([0]), :]

    text = str(make_fx(f)(np.ones((2, 2)), np.array([0])))
    for part in (" = x[1:, None, i]", "    x[0] = ", " = x[..., ::-1]", " = x[0, 1]", "[...] = add", " = x[constant, :]"):
        assert part in text


def test_an_array_without_axes_is_no_index_in_python():
    graph = make_fx(lambda x, i: x[i])(X, np.array(1))
    assert "ops.np.getitem(x, (objects['place'],), arrays=[i])" in graph.code
    assert run(graph, X, np.array(1)) == X[1]


def test_several_results():
    def f(x):
        a, b = pair(x)
        return a * b, np.split(x, 2)[1]

    graph = make_fx(f)(X)
    assert "    pair = ops.random_graphs.pair(x)  # (float64[2], float64[2])" in lines(graph)
    assert "    pair_1 = pair[1]  # float64[2]" in lines(graph)
    named = define("(Tensor x) -> Dict(str, Tensor)", lambda x: {"a b": x + 1})
    graph = make_fx(lambda x: named(x)["a b"])(X)
    assert any("['a b']" in line for line in lines(graph))
    np.testing.assert_array_equal(run(graph, X), graph(X))


def test_small_constants_are_written_out_and_others_are_objects():
    small, large = np.array([1.0, -0.0]), np.ones((40, 2))
    graph = make_fx(lambda x: (x * small, large, np.float32(2), x * np.array([np.nan, 1])))(X)
    text = graph.code
    assert text.startswith("# Run it with the arrays and objects it names: exec(graph.code, graph.scope)\nimport numpy as np\n")
    assert "small = np.array([1.0, -0.0], 'float64')  # float64[2]" in text
    assert "= objects['large'].copy(order='K')" in text
    assert "np.float32(2.0)" in text
    assert list(graph.scope["objects"]) == ["constant", "large"]  # the product with a nan, and the large one
    first, second = run(graph, X), run(graph, X)
    assert first[1] is not second[1]
    assert first[1].strides == graph.constants["large"].strides
    np.testing.assert_array_equal(first[3], graph(X)[3])


def test_handles_and_private_operators_are_objects():
    private = define("(Tensor x) -> Tensor", np.cos)
    graph, _ = watched(lambda: make_fx(lambda x: push(HANDLE, private(x)))(X))
    name = private.schema.name
    assert graph.scope == {"objects": {name: private, "handle": HANDLE}}
    assert f"objects['{name}'](x)" in graph.code
    assert "ops.random_graphs.push(objects['handle'], " in graph.code
    assert make_fx(np.sin)(X).scope == {}


def test_values_of_every_kind():
    values = {
        "a": (1, True, None, "é", b"x", ..., 1.5, -0.0, float("inf"), complex(1, -0.0), slice(1, None), [], (), {}),
        "b": (np.dtype(">f4"), np.float32, float, np.float64(0.1), np.int8(-3), np.bool_(True), Mode.FAST, State(1), Point(1, 2)),
        "c": (ops.np.sin, np.complex64(1), np.float64("nan"), np.dtype("f8", metadata={"a": 1}), np.matrix, Checked, {1}),
    }
    checked = object.__new__(Checked)
    checked.x = 5
    graph = Graph()
    x = graph.placeholder("x", VALUE)
    graph.inputs, graph.outputs = (x,), (values, checked)
    text = graph.code
    found, again = run(graph, X)
    assert repr(found) == repr(values)
    assert (type(again), again.x) == (Checked, 5)
    for part in ("Mode.FAST", "State(x=1, n=1)", "Point(x=1, y=2)", "np.dtype('>f4')", "float('inf')", "ops.np.sin"):
        assert part in text
    assert f"from {__name__} import State" in text


def test_classes_that_cannot_be_imported_are_objects():
    Local = namedtuple("Local", "x")
    graph = make_fx(lambda x: Local(x))(X)
    assert "objects['Local'](x=x)" in graph.code
    assert run(graph, X) == graph(X)


def test_names_that_the_code_needs_are_left_to_it():
    def f(np, ops, objects, float, lambda_):
        return np * ops + objects * float + lambda_

    graph = make_fx(f)(X, X, X, X, X)
    assert lines(graph)[0] == "def f(np_, ops_, objects_, float_, lambda_):"
    np.testing.assert_array_equal(run(graph, X, X, X, X, X), f(X, X, X, X, X))


def test_overloads_residuals_and_functional_forms():
    lib = dispatch.library.Library("printing", "DEF")
    try:
        for text in ("two(Tensor x) -> Tensor", "two.scaled(Tensor x, float k) -> Tensor", "kept(Tensor x) -> (Tensor, Residual)"):
            lib.define(text)
        lib.define("bump(Tensor(a!) x) -> ()")
        lib.impl("two", np.sin, "CPU")
        lib.impl("two.scaled", lambda x, k: x * k, "CPU")
        lib.impl("kept", lambda x: (x + 1, object()), "CPU")
        lib.impl("bump", lambda x: x.__iadd__(1) and None, "CPU")
        op = ops.printing
        graph = Graph()
        x = graph.placeholder("x", VALUE)
        calls = [
            graph.call(op.two.default, (x,), VALUE),
            graph.call(op.two.scaled, (x, 2.0), VALUE),
            graph.call(op.kept, (x,), (VALUE, object())),
            graph.call(op.bump.functional, (x,), VALUE),
        ]
        graph.inputs, graph.outputs = (x,), calls
        for part in ("ops.printing.two.default(x)", "ops.printing.two.scaled(x, 2.0)", "ops.printing.kept.whole(x)"):
            assert part in graph.code
        assert "ops.printing.bump.functional(x)" in graph.code
    finally:
        lib.destroy()


def test_what_the_graph_was_made_with_is_a_comment():
    graph = make_fx(lambda x, n, o: x * n)(X, 2, HANDLE)
    assert str(graph).splitlines()[:2] == ["def f(x, arg1, arg2):", "    # arg1 is 2"]
    np.testing.assert_array_equal(run(graph, X, 2, None), X * 2)


def test_gradients_run_as_code():
    f = grad(lambda x: np.sum(np.tanh(x) * np.where(x > 0, x, 0.0)[::-1]))
    np.testing.assert_array_equal(run(make_fx(f)(X), X), f(X))


@pytest.mark.parametrize("count", [1, 40])
def test_repr_is_short(count):
    graph = Graph()
    for _ in range(count):
        graph.placeholder("x", VALUE)
    assert len(repr(graph)) < 120
    assert repr(graph).startswith(f"<graph of {count} nodes: x")
