"""Sizes that are open until a graph runs: where they are read, what they are held to, how they are saved."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dispatch
from dispatch import Graph, grad, make_fx
from dispatch.errors import CheckError, GraphError
from dispatch.graph.shape_guards import condition_of, size_of

X = np.arange(1.0, 13.0).reshape(3, 4).copy()


def traced(f, *args):
    graph = make_fx(f, "symbolic")(*args)
    graph.lint()
    return graph


def places(graph):
    return {name: (node.name, axis) for name, (node, axis) in graph.symbols.items()}


def front(x, n):
    return x[:n] * x.shape[0] if x.shape[0] > n else x


def test_sizes_are_read_off_the_arguments():
    graph = traced(lambda x, y: np.reshape(x, (-1,))[: y.shape[0]] + y, X, np.ones(5))
    assert places(graph) == {"s0": ("x", 0), "s1": ("x", 1), "s2": ("y", 0)}
    other = np.arange(14.0).reshape(2, 7)
    assert_array_equal(graph(other, np.ones(6)), np.arange(6.0) + 1)


def test_a_size_that_depends_on_data_is_read_where_it_is_met():
    graph = traced(lambda x: np.flatnonzero(x > 5) * 2, X)
    assert places(graph)["u0"] == ("flatnonzero", 0)
    assert_array_equal(graph(X * 2), np.flatnonzero(X * 2 > 5) * 2)
    several = traced(lambda x: np.nonzero(x > 5)[1], X)
    assert places(several)["u0"] == ("nonzero_0", 0)
    assert_array_equal(several(2 * X), np.nonzero(2 * X > 5)[1])


def test_ints_are_sizes():
    graph = traced(front, X, 2)
    assert places(graph) == {"s0": ("x", 0), "s1": ("x", 1), "s2": ("n", None)}
    assert_array_equal(graph(np.ones((9, 2)), 5), np.full((5, 2), 9.0))
    assert traced(front, X, 1).holds(X, 1)
    assert not traced(front, X, 1).holds(X, 2)


def test_sizes_are_results():
    graph = traced(lambda x: (x.shape, x.shape[0] * x.shape[1], x.sum()), X)
    assert graph(np.ones((5, 2))) == ((5, 2), 10, 10.0)


def test_a_graph_of_a_gradient_is_one_for_all_shapes():
    f = grad(lambda x: np.sum(np.sin(x) * x[:, :1]))
    graph = traced(f, X)
    for shape in ((2, 2), (7, 3), (4, 9)):
        x = np.linspace(0, 1, shape[0] * shape[1]).reshape(shape)
        assert_array_equal(graph(x), f(x))


def refusal(graph, *args):
    assert not graph.holds(*args)
    with pytest.raises(GraphError) as caught:
        graph(*args)
    return str(caught.value)


def test_a_guard_that_does_not_hold_is_named_with_its_line():
    graph = traced(front, X, 2)
    assert [str(guard) for guard in graph.guards] == ["s0 > s2"]
    said = refusal(graph, np.ones((3, 2)), 4)
    assert said.startswith("the graph holds where s0 > s2, which it rests on since test_shape_guards.py:")
    assert said.endswith(
        ", in front: return x[:n] * x.shape[0] if x.shape[0] > n else x. Here s0 = x.shape[0] is 3 and s2 = n is 4. Trace once "
        "more with such arguments."
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((np.ones((1, 4)), np.ones((1, 4))), "the graph holds where x.shape[0] > 1, and it is 1: NumPy treats 0 and 1 unlike other sizes."),
        ((np.ones((3, 4)), np.ones((3, 5))), "the graph holds where y.shape[1] == s1, and y was given of shape (3, 5)."),
        ((np.ones(3), np.ones((3, 5))), "the graph holds where x has 2 axes, and x was given of shape (3,)."),
        ((np.ones((3, 5)), np.ones(5)), "the graph holds where y has 2 axes, and y was given of shape (5,)."),
    ],
)
def test_other_layouts_are_refused(args, said):
    assert refusal(traced(lambda x, y: x * y, X, X), *args) == f"{said} Trace once more with such arguments."


def test_an_int_is_no_float():
    said = refusal(traced(front, X, 2), X, 2.5)
    assert said == "the graph holds where n is an int, and n was given float. Trace once more with such arguments."


def test_sizes_of_one_are_fixed():
    graph = traced(lambda x, y: x + y, X, np.ones((3, 1)))
    said = refusal(graph, X, X)
    assert said == "the graph holds where y.shape[1] == 1, and y was given of shape (3, 4). Trace once more with such arguments."


def test_promises_are_tested_when_the_size_is_known():
    def f(x):
        found = np.flatnonzero(x > 5)
        dispatch.check(found.shape[0] > 2, "there are too few")
        return found

    graph = traced(f, X)
    assert_array_equal(graph(X), f(X))
    with pytest.raises(CheckError, match=r"^there are too few$"):
        graph(X * 0)
    with pytest.raises(CheckError, match=r"^there are too few$"):
        Graph.loads(graph.dumps())(X * 0)


def test_a_graph_with_sizes_is_saved_and_printed():
    graph = traced(front, X, 2)
    read = Graph.loads(graph.dumps())
    assert read == graph
    assert [(str(guard), guard.line) for guard in read.guards] == [(str(guard), guard.line) for guard in graph.guards]
    for made in (read, graph.copy()):
        assert_array_equal(made(np.ones((9, 2)), 5), np.full((5, 2), 9.0))
        assert not made.holds(np.ones((3, 2)), 4)
    scope = graph.scope
    exec(graph.code, scope)
    assert_array_equal(scope["f"](np.ones((9, 2)), 5), np.full((5, 2), 9.0))


@pytest.mark.parametrize("text", ["__import__('os')", "s0.real", "open", "s0 if s0 else 1", "3.5"])
def test_a_size_is_arithmetic_and_nothing_else(text):
    with pytest.raises(GraphError, match=r"^(a size is arithmetic of symbols and whole numbers, and .* is none|the size .* speaks of open)"):
        size_of(text)


def test_what_is_no_condition_is_refused():
    with pytest.raises(GraphError, match=r"^'s0 \+ 1' is no condition on sizes$"):
        condition_of("s0 + 1", ("file.py", 3, "f"))
    with pytest.raises(GraphError, match=r"^a condition is a text, a file, a number and a function$"):
        condition_of("s0 > 1", ("file.py", "3", "f"))
    with pytest.raises(GraphError, match=r"^a size is a text, as in size\('2\*s0'\)$"):
        size_of(3)


def test_a_size_with_a_symbol_twice_is_read():
    assert str(size_of("2*s0 - 4*((2*s0)//4)")) == "2*s0 - 4*((2*s0)//4)"
