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


def test_what_asks_for_data_stays():
    graph = dispatch.make_fx(lambda x: np.median(x), "real")(np.ones(3))
    assert opened(graph, lambda node: False) == graph
