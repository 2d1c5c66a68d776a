"""Node: one value of a graph."""

import math
import pickle
from collections import namedtuple

import numpy as np
import pytest

from dispatch import make_fx, ops
from dispatch.graph.node import key_of, standing


def test_a_node_is_written_as_its_name():
    graph = make_fx(lambda x: np.sin(x))(np.ones(2))
    assert repr(graph.nodes) == "[x, sin]"
    assert [node.kind for node in graph.nodes] == ["placeholder", "call"]
    assert graph.nodes[1].source.text == "graph = make_fx(lambda x: np.sin(x))(np.ones(2))"


def test_a_node_is_pickled_by_its_parts():
    x, sin = make_fx(np.sin)(np.ones(2)).nodes
    again = pickle.loads(pickle.dumps(sin))
    assert (again.kind, again.name, again.op, again.value) == (sin.kind, sin.name, sin.op, sin.value)
    assert again.args[0].value == x.value


def test_the_arguments_of_a_node_are_a_tuple():
    x, _ = make_fx(np.sin)(np.ones(2)).nodes
    with pytest.raises(TypeError, match="tuple"):
        x.args = [x]


def test_values_stand_for_nodes_in_containers():
    x, sin = make_fx(np.sin)(np.ones(2)).nodes
    args = (x, [sin, {"a": x}], slice(1), None)
    assert standing(args, {x: 1, sin: 2}) == (1, [2, {"a": 1}], slice(1), None)
    assert standing(args, {x: sin}, every=False) == (sin, [sin, {"a": sin}], slice(1), None)
    with pytest.raises(KeyError):
        standing(args, {x: 1})


def test_a_key_tells_values_and_types_apart():
    x, sin = make_fx(np.sin)(np.ones(2)).nodes
    values = [(), ((),), ([],), (x,), (sin,), (1,), (True,), (1.0,), ("1",), (b"1",), (0.0,), (-0.0,), ((1, 2),), ([1, 2],), (1, 2), (slice(1, 2),)]
    values += [(slice(1), 2), (None, 1), ((None,), 1), ({"a": 1},), ({"a": 2},), (np.float32(1),), (1 + 0j,), (math.nan,), ("nan",), (tuple, 0)]
    keys = [key_of(value, repr) for value in values]
    assert len(set(keys)) == len(keys)
    assert keys == [key_of(value, repr) for value in values]


def test_a_key_tells_named_tuples_apart_by_class_and_items():
    Pair, Other = namedtuple("Pair", "x y"), namedtuple("Other", "x y")
    sin, cos = ops.np.sin, ops.np.cos

    def never(x):
        raise AssertionError(x)

    keys = [key_of((x,), never) for x in (Pair(sin, 1), Pair(cos, 1), Pair(sin, 2), Pair(sin, True), Other(sin, 1), (sin, 1))]
    assert len(set(keys)) == len(keys)
    assert key_of((Pair(sin, 1),), never) == keys[0]
