"""Graphs as arguments of operators."""

import pickle

import numpy as np

import dispatch
from dispatch.graph.literals import Reader, Writer
from dispatch.graph.subgraph import Subgraph


def doubled():
    return Subgraph(dispatch.make_fx(lambda x: [x * 2, x + 1.0])(np.ones(3)))


def test_it_runs_the_graph_on_values_of_any_transform():
    body = doubled()
    np.testing.assert_array_equal(body(np.arange(2.0)), [[0.0, 2.0], [1.0, 2.0]])
    assert dispatch.grad(lambda x: body(x)[0])(3.0) == 2.0


def test_it_is_written_and_read_as_a_value():
    body = doubled()
    text = Writer().spell([body, 1])
    assert Reader().value(text) == [body, 1]
    assert pickle.loads(pickle.dumps(body)) == body
    assert body != Subgraph(dispatch.make_fx(lambda x: [x * 3])(np.ones(3)))
    assert repr(body) == "Subgraph(<graph of 3 nodes: x, multiply, add>)"
