"""Graph: nodes in their order, run again."""

import numpy as np
import pytest

from dispatch import make_fx
from dispatch.errors import GraphError

X, Y = np.array([0.3, 1.2]), np.array([2.0, -0.5])


def test_a_graph_gives_what_the_function_gives():
    def f(x, other):
        return {"a": np.sin(x) * other["y"], "n": (3, [x])}

    graph = make_fx(f)(X, {"y": Y})
    a, b = Y * 2, {"y": X + 1}
    found, expected = graph(a, b), f(a, b)
    np.testing.assert_array_equal(found["a"], expected["a"])
    assert found["n"][0] == 3
    assert found["n"][1][0] is a


def test_a_graph_is_held_to_the_structure_it_was_made_with():
    graph = make_fx(lambda x, n: x * n)(X, 2)
    np.testing.assert_array_equal(graph(Y, 2), Y * 2)
    with pytest.raises(GraphError, match=r"^the graph was made with 2 in its arguments, and 3 was given\. What is no array is a constant of a graph: "):
        graph(Y, 3)
    with pytest.raises(GraphError, match=r"^the graph was made with 2 arguments, and 1 was given\.$"):
        graph(Y)
