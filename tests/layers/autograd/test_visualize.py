"""What a graph is, seen from outside: next_functions, names, pictures, reprs."""

import numpy as np
from making import leaf, recorded

from dispatch.layers.autograd import Leaf

A = np.array([0.5, 1.0, 2.0])


def test_the_graph_can_be_walked_as_in_torch():
    x = leaf(A)
    y = np.sin(x)
    z = y * A
    node = z.grad_fn
    assert node.name() == "multiplyBackward"
    assert node.next_functions == ((y.grad_fn, 0), (None, 0))
    (before, _) = y.grad_fn.next_functions[0]
    assert type(before) is Leaf
    assert (before.name(), repr(before), before.next_functions) == ("AccumulateGrad", "<AccumulateGrad>", ())


def test_lists_are_opened_and_outputs_are_numbered():
    op = recorded("(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 2, x * 3), lambda ctx, g, h: 2 * g + 3 * h)
    x = leaf(A)
    y, z = op(x)
    stacked = np.stack([z, A, x, y])
    axis = (None, 0)
    assert stacked.grad_fn.next_functions == ((z.grad_fn, 1), (None, 0), (x.kept, 0), (y.grad_fn, 0), axis)


def test_a_picture():
    op = recorded("(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 2, x[0]), lambda ctx, g, h: 2 * g)
    x = leaf(A)
    y, z = op(x)
    assert np.sum(y * z).grad_fn.to_dot() == "\n".join(
        [
            "digraph {",
            "    node [shape=box, fontname=monospace]",
            r'    n0 [label="np::sum\n() float64"]',
            r'    n1 [label="np::multiply\n(3,) float64"]',
            rf'    n2 [label="{op.name}\n(3,) float64, () float64"]',
            r'    n3 [label="leaf\n(3,) float64"]',
            "    n1 -> n0",
            "    n2 -> n1 [label=0]",
            "    n2 -> n1 [label=1]",
            "    n3 -> n2",
            "}",
        ]
    )


def test_a_picture_of_a_long_chain():
    y = leaf(A)
    for _ in range(5_000):
        y = np.sin(y)
    assert y.grad_fn.to_dot().count("->") == 5_000


def test_values_are_shown_as_numpy_shows_them():
    assert repr(leaf(A.astype("f4"))) == "tensor(array([0.5, 1. , 2. ], dtype=float32), requires_grad=True)"
    assert repr(leaf(np.eye(2)) * 2) == "tensor(array([[2., 0.],\n              [0., 2.]]), grad_fn=<multiplyBackward>)"
