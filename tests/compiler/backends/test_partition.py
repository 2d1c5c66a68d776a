"""An engine gets some calls and NumPy the others; whatever the engine takes, the results are those of the function."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy_programs import smooth_programs

import dispatch
from dispatch.compiler.backends.partition import divided
from dispatch.graph import Graph
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema


def engine(takes, seen=None):
    """A backend of NumPy's own that takes the calls of some rows, and keeps its graphs; what it returns are copies."""

    def made(graph, metadata):
        if seen is not None:
            seen.append(graph)
        return lambda *arrays: [np.array(x) for x in graph(*arrays)]

    name = f"engine {len(dispatch.compiler.list_backends())}"
    dispatch.register_backend(name, made, claims=lambda node: node.op.schema.name in takes)
    return name


@pytest.fixture(autouse=True)
def _backends_are_forgotten(monkeypatch):
    from dispatch.compiler.backends import lookup

    monkeypatch.setattr(lookup, "_backends", dict(lookup._backends))


ROWS = ["add", "multiply", "sin", "tanh", "sum", "exp", "subtract", "divide", "reshape", "transpose", "getitem", "matmul", "mean"]


@settings(max_examples=40)
@given(smooth_programs(), st.sets(st.sampled_from(ROWS)))
def test_whatever_an_engine_takes_the_results_are_those_of_the_function(program, takes):
    f, xs = program.number(), program.inputs()
    run = dispatch.compile(f, fullgraph=True, backend=engine(takes))
    expected = f(*map(np.copy, xs))
    for _ in range(2):
        got = run(*map(np.copy, xs))
        assert type(got) is type(expected)
        np.testing.assert_allclose(got, expected, 1e-12)


def names(graphs):
    return [[node.op.schema.name for node in graph.nodes if node.op is not None] for graph in graphs]


def test_a_call_runs_in_the_first_part_that_has_its_arguments():
    seen = []

    def f(x):
        a = np.sin(x)
        b = np.cos(a)
        c = np.sin(b) + np.sin(x)
        return np.cos(c) * np.sin(np.cos(x))

    run = dispatch.compile(f, backend=engine({"sin", "add", "multiply"}, seen))
    x = np.linspace(0, 1, 3)
    np.testing.assert_array_equal(run(x), f(x))
    np.testing.assert_array_equal(run(x), f(x))
    assert names(seen) == [["sin"], ["sin", "add", "sin"], ["multiply"]]


def test_writes_come_after_all_before_them_and_before_all_after_them():
    def f(x, y):
        a = np.sin(x)
        x += y
        b = np.sin(x) * a
        np.copyto(y, b)
        return b + np.sin(y), x[1:]

    run = dispatch.compile(f, fullgraph=True, backend=engine({"sin", "add", "multiply"}))
    for _ in range(2):
        ours, theirs = [(np.arange(3.0), np.ones(3)) for _ in range(2)]
        got, expected = run(*ours), f(*theirs)
        for a, b in zip((*got, *ours), (*expected, *theirs), strict=True):
            np.testing.assert_array_equal(a, b)
        assert np.shares_memory(got[1], ours[0])


def test_a_graph_that_writes_in_the_middle_is_kept_in_order():
    graph = dispatch.make_fx(lambda x: (np.sin(x), np.copyto(x, np.cos(x)), np.sin(x)))(np.ones(2))
    parts = divided(graph, lambda node: node.op.schema.name == "sin")
    assert [part.engine for part in parts] == [True, False, True, False]
    assert names([part.graph for part in parts]) == [["sin"], ["cos", "setitem_"], ["sin"], []]


def test_draws_and_effects_keep_their_order():
    order = []

    def said(x, n):
        order.append(n)
        return x * 1.0

    say = build(Schema.parse("(Tensor x, int n) -> Tensor", name="test_partition::say"), tags=(dispatch.Tag.effect,))
    say.register_kernel("cpu", said)
    say.register_fake(lambda x, n: x * 1.0)

    def f(x):
        return say(np.sin(say(np.sin(np.sin(x)), 1)), 2) + say(x, 3) * say(np.sin(x), 4)

    run = dispatch.compile(f, fullgraph=True, backend=engine({"sin"}))
    for _ in range(2):
        order.clear()
        np.testing.assert_array_equal(run(np.ones(2)), np.sin(np.sin(np.sin(np.ones(2)))) + np.sin(np.ones(2)))
        assert order == [1, 2, 3, 4]


def test_views_that_are_returned_are_views():
    def f(x):
        y = np.exp(x)
        return y, y[1:], y.reshape(2, 2).T

    run = dispatch.compile(f, backend=engine({"exp", "getitem", "reshape", "transpose"}))
    for _ in range(2):
        y, tail, turned = run(np.zeros(4))
        y[3] = 7.0
        assert tail[2] == turned[1, 1] == 7.0


def test_an_engine_that_takes_nothing_is_not_asked():
    graph = dispatch.make_fx(np.sin)(np.ones(2))
    assert [part.engine for part in divided(graph, lambda node: False)] == [False]
    assert [part.engine for part in divided(Graph(), lambda node: True)] == [False]


def test_many_parts_cost_what_they_are():
    def f(x):
        for _ in range(300):
            x = np.cos(np.sin(x))
        return x

    graph = dispatch.make_fx(f)(np.ones(2))
    parts = divided(graph, lambda node: node.op.schema.name == "sin")
    assert len(parts) == 600
    assert sum(len(part.graph.nodes) for part in parts) < 1300
