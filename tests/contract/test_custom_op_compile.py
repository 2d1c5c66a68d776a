"""TestCustomOp, compiled and traced: an operator is one call of the graph, whatever it writes or returns."""

import numpy as np
import pytest
from custom_op_db import numpy_nms, numpy_nonzero

import dispatch
from dispatch import Tag, custom_op

X = np.array([0.5, 1.0, 2.0])
Array = np.ndarray


def nodes_of(graph, op):
    """How many calls of an operator a graph has."""
    return sum(node.op is op for node in graph.nodes)


def test_data_dependent_compile():
    """A function of an operator whose shape depends on data compiles with sizes left open, and runs for any number of results.

    Also: TestCustomOpAPI.compile

    Beyond: torch breaks the graph at such an operator.
    """
    f = lambda x: numpy_nonzero(x) * 2
    compiled = dispatch.compile(f, dynamic=True)
    for x in (np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0]), np.zeros(3)):
        assert np.array_equal(compiled(x), f(x))
    graph = dispatch.make_fx(f, "symbolic")(np.array([0.0, 1.0, 2.0]))
    assert nodes_of(graph, numpy_nonzero) == 1
    assert graph(np.ones(4)).shape == (4, 1)


def test_data_dependent_nms_dynamic_compile():
    """Of an operator of several arguments too: boxes that depend on what was kept.

    Beyond: in torch the test is expected to fail.
    """
    boxes = np.array([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [3.0, 3.0, 4.0, 4.0]])
    f = lambda boxes, scores: boxes[numpy_nms(boxes, scores, 0.5)] * 2
    compiled = dispatch.compile(f, dynamic=True)
    for scores, kept in ((np.array([0.9, 0.8, 0.7]), [0, 2]), (np.array([0.1, 0.8, 0.9]), [2, 1])):
        assert np.array_equal(compiled(boxes, scores), boxes[kept] * 2)


@pytest.mark.parametrize("tag", [Tag.inplace, Tag.out], ids=str)
def test_tagged_operators_compile(tag, ns):
    """An operator that writes in place or into `out` is compiled: what it writes is what a plain call writes, and an argument of
    the function that it writes is written.

    Also: TestCustomOpAPI.custom_op_inplace_tag_compile TestCustomOpAPI.custom_op_out_tag_compile
    """
    if tag is Tag.inplace:

        def sin_(x: Array) -> Array:
            return np.sin(x, out=x)

        op = custom_op(f"{ns}::sin_", sin_, mutates_args=("x",), tags=tag)

        def f(x, y):
            z = x * 1.0
            op(z)
            op(y)
            return z + y

    else:

        def sin_out(x: Array, *, out: Array) -> Array:
            return np.sin(x, out=out)

        op = custom_op(f"{ns}::sin_out", sin_out, mutates_args=("out",), tags=tag)

        def f(x, y):
            z = op(x, out=np.empty_like(x))
            op(y, out=y)
            return z + y

    compiled = dispatch.compile(f)
    for scale in (1.0, 2.0):
        expected, written = scale * X, 3 * X
        assert np.array_equal(compiled(expected, written), np.sin(scale * X) + np.sin(3 * X))
        assert np.array_equal(written, np.sin(3 * X))


def test_an_operator_of_sizes(ns):
    """An operator on sizes returns a size while a graph with open sizes is made, by its fake rule.

    Also: TestPythonRegistration.returning_symint
    """

    @custom_op(f"{ns}::sqsum", mutates_args=())
    def sqsum(a: int, b: int) -> int:
        return a * a + b * b

    sqsum.register_fake(lambda a, b: a * a + b * b)
    graph = dispatch.make_fx(lambda x: np.zeros_like(x, shape=sqsum(*x.shape)), "symbolic")(np.ones((2, 3)))
    assert nodes_of(graph, sqsum) == 1
    assert graph.guards == []
    assert [graph(np.ones(shape)).shape for shape in ((2, 3), (3, 4))] == [(13,), (25,)]
