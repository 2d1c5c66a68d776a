"""Running: values are let go after their last use, constants are kept as they are, arguments are held to the structure."""

import gc
import weakref
from collections import namedtuple

import numpy as np
import pytest
from making import define, said
from random_graphs import fill_

from dispatch import make_fx, ops
from dispatch.errors import GraphError
from dispatch.graph import Graph, Metadata, register_value
from dispatch.graph.interpreter import lent
from dispatch.graph.literals import BY_CLASS, BY_WORD
from dispatch.graph.liveness import last_uses

X = np.array([0.3, 1.2])
VALUE = Metadata((2,), np.dtype(float), (8,), "cpu")
Point = namedtuple("Point", "x y")


def test_values_are_let_go_after_their_last_use():
    alive = weakref.WeakSet()
    most = []

    class Watched(np.ndarray):
        __hash__ = object.__hash__

    def step(x):
        made = (x + 1.0).view(Watched)
        alive.add(made)
        most.append(len(alive))
        return made

    op = define("(Tensor x) -> Tensor", step)
    graph = Graph()
    x = node = graph.placeholder("x", VALUE)
    for _ in range(6):
        node = graph.call(op, (node,), VALUE)
        graph.call(op, (x,), VALUE)
    graph.inputs, graph.outputs = (x,), node
    gc.disable()
    try:
        graph(X)
    finally:
        gc.enable()
    assert max(most) <= 3  # what is made, what it is made of, what nobody uses while it is made


def test_the_last_to_need_a_value_frees_it():
    graph = make_fx(lambda x: np.sin(x) * np.cos(x))(X)
    x, sin, cos, multiply = graph.nodes
    assert last_uses(graph) == {cos: [x], multiply: [sin, cos]}


def test_constants_stay_as_they_are():
    c = np.array([1.0, 2.0])
    seen = []

    def look(x, y):
        seen.append(y.flags.writeable)
        return x + y

    op = define("(Tensor x, Tensor y) -> Tensor", look)
    graph = make_fx(lambda x: (op(x, c), c.sum()))(X)
    graph(X)
    assert seen[-1] is False

    def writes(x):
        own = ops.np.reshape(c.copy(), (2,))
        fill_(own, x)
        return own

    graph = make_fx(writes)(X)
    first, second = graph(X), graph(X * 3)
    np.testing.assert_array_equal(first, X * 0.5)
    np.testing.assert_array_equal(second, X * 1.5)
    graph = make_fx(lambda x: (c, c))(X)
    first, second = graph(X)
    assert first is second
    first[0] = 9
    np.testing.assert_array_equal(graph(X)[0], [1.0, 2.0])
    fortran = np.asfortranarray(np.eye(3))
    assert lent(fortran, True).strides == fortran.strides
    assert lent(np.float32(2), True) == np.float32(2)


def test_sizes_are_read_where_they_are_known():
    class Sum:
        def __init__(self, *words):
            self.words = words

    register_value(Sum, "running_sum", lambda x: x.words, Sum, spell=lambda x: " + ".join(x.words),
                   at=lambda x, sizes: sum(sizes[word] for word in x.words))  # fmt: skip
    try:
        graph = Graph()
        x, y = graph.placeholder("x", VALUE), graph.placeholder("y", VALUE)
        flat = graph.call(ops.np.concatenate, ([x, y], 0), VALUE)
        out = graph.call(ops.np.broadcast_to, (flat, (2, Sum("s0", "s1"))), VALUE)
        graph.inputs, graph.outputs, graph.symbols = (x, y), (out, Sum("u0")), {"s0": (x, 0), "s1": (y, 0), "u0": (flat, 0)}
        assert graph(np.ones(3), np.ones(2))[0].shape == (2, 5)
        assert graph(np.ones(3), np.ones(2))[1] == 5
        assert Graph.loads(graph.dumps())(np.ones(3), np.ones(4))[0].shape == (2, 7)
        scope = {}
        exec(graph.code, scope)
        assert scope["f"](np.ones(3), np.ones(2))[0].shape == (2, 5)
        assert "    s1 = y.shape[0]\n" in graph.code
        out.value = flat.value = Metadata((Sum("s0"),), np.dtype(float), (Sum("s1"),), "cpu")
        assert "array('float64', (running_sum('s0'),), (running_sum('s1'),))" in graph.dumps()
        assert graph.copy() == graph
    finally:
        del BY_CLASS[Sum], BY_WORD["running_sum"]


def test_containers_are_bound_by_what_they_are():
    graph = make_fx(lambda p, d, n: (p.x + d["a"] * n["k"], d["b"]))(Point(X, 2), {"a": X, "b": X * 2}, {"k": 3})
    a, b = graph(Point(X * 2, 2), {"b": X * 5, "a": X}, {"k": 3})
    np.testing.assert_array_equal(a, X * 5)
    np.testing.assert_array_equal(b, X * 5)
    assert make_fx(lambda x: x[0])([X])((X,)) is X


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (([X, X], {"a": X}, 0.0), "the graph was made with a Point in its arguments, and a list was given."),
        ((Point(X, X), {"c": X}, 0.0), "the graph was made with the keys ['a'], and ['c'] were given."),
        ((Point(X, X), [X], 0.0), "the graph was made with a dict in its arguments, and a list was given."),
        ((Point(X, X), {"a": X}, -0.0), "the graph was made with 0.0 in its arguments, and -0.0 was given. What is no array is a constant of a graph: trace once more, with what is given."),
        ((Point(X, X), {"a": X}, 0), "the graph was made with 0.0 in its arguments, and an int was given. What is no array is a constant of a graph: trace once more, with what is given."),
        ((Point(X, X), {"a": X}, [0.0]), "the graph was made with 0.0 in its arguments, and a list was given."),
        ((Point(X, X), {"a": X}), "the graph was made with 3 arguments, and 2 were given."),
    ],
)
def test_other_arguments_are_refused(args, words):
    graph = make_fx(lambda p, d, n: p.x + d["a"])(Point(X, X), {"a": X}, 0)
    graph.inputs = (*graph.inputs[:2], 0.0)  # a number that is no array: make_fx gives floats a node
    assert said(lambda: graph(*args), GraphError) == words


def test_another_of_a_kind_is_a_constant_of_the_graph():
    graph = make_fx(lambda x, rng: x + 1)(X, np.random.default_rng(0))
    assert said(lambda: graph(X, np.random.default_rng(0)), GraphError) == (
        "the graph was made with a Generator in its arguments, and another was given. What is no array is a constant of a graph: trace "
        "once more, with what is given."
    )


def test_items_of_a_list_are_counted_inside_it():
    graph = make_fx(lambda x, y: x[0])([X, X], 1)
    assert said(lambda: graph([X], 1), GraphError) == "the graph was made with 2 items in one of its arguments, and 1 was given."


def test_values_that_are_no_numbers_are_compared_as_they_are():
    nan, opaque = float("nan"), object()
    graph = make_fx(lambda x, n, o, k: x)(X, nan, opaque, {1})
    assert graph(X, float("nan"), opaque, {1}) is X
    assert "with an object in its arguments" in said(lambda: graph(X, nan, object(), {1}), GraphError)
    assert "with a set in its arguments" in said(lambda: graph(X, nan, opaque, {2}), GraphError)


@pytest.mark.parametrize("fails", [lambda x: x + np.ones(2), lambda x: np.reshape(x, (x.size, 1))])
def test_a_failing_run_at_another_shape_says_what_was_traced(fails):
    graph = make_fx(fails)(X)
    with pytest.raises(ValueError) as caught:
        graph(np.ones(5))
    assert caught.value.__notes__[-1] == (
        "the graph was traced with shape (2,) for x, and (5,) was given. A shape that the function wrote or computed is a number in "
        "it: trace once more, or make_fx(f, tracing_mode='symbolic')."
    )
    with pytest.raises(ValueError) as caught:
        make_fx(lambda x, y: np.matmul(x, y), "symbolic")(np.ones((2, 3)), np.ones((3, 2)))(np.ones((2, 3)), np.ones((4, 2)))
    assert not any("the graph was traced" in note for note in getattr(caught.value, "__notes__", ()))
