"""Where an engine takes what a composite call is made of, it gets these calls."""

import numpy as np
import pytest

import dispatch
from dispatch.compiler.backends.composites import opened

COMPOSITES = [
    lambda x: np.roll(x, 1, 0),
    lambda x: np.diff(x, axis=1),
    lambda x: np.pad(x, 1),
    lambda x: np.outer(x[0], x[1]),
    lambda x: np.tile(x, 2),
    lambda x: np.linalg.norm(x),
]


def names(graph):
    return [node.op.schema.name for node in graph.nodes if node.op is not None]


@pytest.mark.parametrize("f", COMPOSITES)
def test_the_parts_of_a_composite_call_stand_in_its_place(f):
    x = np.random.default_rng(0).normal(size=(3, 4))
    graph = dispatch.make_fx(f, "fake")(x)
    whole = names(graph)[-1]
    made = opened(graph, lambda node: node.op is not None and node.op.schema.name != whole)
    assert whole not in names(made)
    made.lint()
    np.testing.assert_allclose(made(x), f(x), 1e-13)
    assert all(node.source is not None and node.source.file == __file__ for node in made.nodes if node.op is not None)


def test_it_stays_where_one_part_is_not_taken_or_it_is_taken_itself():
    graph = dispatch.make_fx(lambda x: np.roll(x, 1, 0), "fake")(np.ones((3, 4)))
    assert names(opened(graph, lambda node: False)) == ["roll"]
    assert names(opened(graph, lambda node: True)) == ["roll"]
    assert names(opened(graph, lambda node: node.op is not None and node.op.schema.name == "concatenate")) == ["roll"]


def test_the_body_of_a_loop_is_opened_where_the_loop_is_taken_then():
    def f(x):
        return dispatch.fori_loop(0, 3, lambda i, s: np.roll(s, 1, 0) + 1.0, x)

    def bodies(graph):
        return [names(arg.graph) for node in graph.nodes for arg in node.args if type(arg).__name__ == "Subgraph"]

    def claims(node):
        inner = [x for arg in node.args if type(arg).__name__ == "Subgraph" for x in arg.graph.nodes if x.op is not None]
        return all(map(claims, inner)) and node.op.schema.name != "roll"

    x = np.arange(4.0)
    graph = dispatch.make_fx(f, "fake")(x)
    made = opened(graph, claims)
    assert "roll" in bodies(graph)[0]
    assert "roll" not in bodies(made)[0]
    np.testing.assert_array_equal(made(x), f(x))
    assert bodies(opened(graph, lambda node: False)) == bodies(graph)


def test_what_asks_for_data_stays():
    graph = dispatch.make_fx(lambda x: np.median(x), "real")(np.ones(3))
    assert opened(graph, lambda node: False) == graph
