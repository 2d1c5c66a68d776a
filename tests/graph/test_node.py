"""Node: one value of a graph."""

import numpy as np

from dispatch import make_fx


def test_a_node_is_written_as_its_name():
    graph = make_fx(lambda x: np.sin(x))(np.ones(2))
    assert repr(graph.nodes) == "[x, sin]"
    assert [node.kind for node in graph.nodes] == ["placeholder", "call"]
    assert graph.nodes[1].source.text == "graph = make_fx(lambda x: np.sin(x))(np.ones(2))"
