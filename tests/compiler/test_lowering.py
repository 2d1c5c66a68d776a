"""A program has views before the elementwise calls that they stand between, and gives what the graph gives."""

import numpy as np
import pytest

import dispatch
from dispatch import make_fx
from dispatch.compiler.lowering import _in_rows, program

X, Y = np.linspace(0.5, 2.0, 6), np.linspace(1.0, 3.0, 12)


def ordered(f, *args):
    graph = make_fx(f)(*args)
    nodes = [node for node in graph.nodes if node.kind in ("call", "item")]
    made = _in_rows(nodes)
    assert sorted(map(id, made)) == sorted(map(id, nodes))
    return [node.op.schema.name if node.op else "item" for node in made]


def of_a_loop(x, y):
    for i in range(5):
        x = np.sin(x) * y[i : i + 6] + y[6 - i : 12 - i]
    return x, y[:2]


def of_views_of_results(x, y):
    z = x * 2.0
    w = z[1:]
    return np.sin(w) + y[:5] - z[:-1]


def of_index_arrays(x, y):
    z = np.sin(x)
    return z * y[np.array([0, 3, 5, 1, 1, 2])] + y[::2]


def that_writes(x, y):
    z = np.sin(x)
    y[:6] *= 2.0
    return z * y[:6] + 1.0


def of_several(x, y):
    z = np.sin(x)
    a, b = np.split(y, 2)
    return z * a + b, np.modf(z * y[:6])[0]


def test_a_view_is_taken_before_the_calls_that_it_stands_between():
    assert ordered(lambda x, y: np.sin(x) * y[:6] + y[6:], X, Y) == ["getitem", "getitem", "sin", "multiply", "add"]
    assert ordered(lambda x, y: (x * 2.0)[1:] + y[:5], X, Y) == ["multiply", "getitem", "getitem", "add"]


def test_what_may_raise_stays_in_its_place():
    assert ordered(of_index_arrays, X, Y)[0] == "sin"
    assert ordered(lambda x, y: np.linalg.inv(np.sin(x[:4].reshape(2, 2))) @ y[:2], X, Y)[-3:] == ["linalg_inv", "getitem", "matmul"]


def test_few_views_are_held_at_once():
    def f(x, y):
        for i in range(300):
            x = np.sin(x) + y[i : i + 6]
        return x

    made = ordered(f, X, np.ones(306))
    first = made.index("sin")
    assert 0 < first < 200
    assert made[first + 256] == "getitem"


@pytest.mark.parametrize("f", [of_a_loop, of_views_of_results, of_index_arrays, that_writes, of_several])
def test_the_program_gives_what_the_function_gives(f):
    expected = f(X.copy(), own := Y.copy())
    run = dispatch.compile(f, fullgraph=True)
    for g in (run, run, program(make_fx(dispatch.functionalize(f), "fake")(X, Y))):
        made = g(X.copy(), other := Y.copy())
        for a, b in zip(made, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(own, other)
