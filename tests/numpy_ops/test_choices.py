"""What chooses among arrays, as users write it, under every layer; NumPy's own errors there too."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from function_laws import hold

import dispatch
from dispatch import vmap
from dispatch.errors import BatchingError, DataDependentError

X = np.array([0.5, -1.5, 2.25, 0.125, -0.75])
WHICH = np.array([0, 2, 1, 1, 0])

FUNCTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "select": ("", lambda x: np.select([x > 1, x > 0], [x**2, np.exp(x)], -x)),
    "select, a number": ("", lambda x: np.select([x > 1, x > 0], [2.0, x], x)),
    "select, lists": ("", lambda x: np.select((x < 0, True | (x < 0)), (x, 3 * x))),
    "choose": ("", lambda x: np.choose(WHICH, [x, x**2, np.exp(x)])),
    "choose, rows": ("", lambda x: np.choose(WHICH, np.stack([x, x**2, 2 * x]))),
    "choose by a comparison": ("", lambda x: np.choose(x > 0, [x, x**2])),
    "choose, wrap": ("", lambda x: np.choose(WHICH + 2, [x, x**2, np.exp(x)], mode="wrap")),
    "choose, clip": ("", lambda x: np.choose(WHICH - 1, [x, 2.0], mode="clip")),
    "piecewise": ("vmap fake", lambda x: np.piecewise(x, [x < 0, x > 1], [lambda x: -x, lambda x: x**3, np.exp])),
    "piecewise, numbers": ("fake", lambda x: np.piecewise(x, WHICH > 0, [1.5, lambda x: x**2])),
    "piecewise, more arguments": ("fake", lambda x: np.piecewise(x, [WHICH > 1], [lambda x, a, b: a * x * b, 0], 3, b=2)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_choice(name: str) -> None:
    but, f = FUNCTIONS[name]
    hold(f, X, but)


def test_an_array_that_is_not_there_raises_in_every_layer() -> None:
    for f in (lambda x: np.choose(WHICH, [x, x]), lambda x: np.choose(WHICH - 1, [x, x, x])):
        for run in (f, dispatch.grad(lambda x, f=f: np.sum(f(x))), lambda x, f=f: vmap(f)(x[None])):
            with pytest.raises(ValueError, match="invalid entry in choice array"):
                run(X)


def test_what_a_selection_cannot_be_made_of_raises_numpys_errors() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    for call, error, said in [
        (lambda x: np.select([x], [x]), TypeError, "invalid entry 0 in condlist: should be boolean ndarray"),
        (lambda x: np.select([X > 0, X > 1], [x]), ValueError, "list of cases must be same length as list of conditions"),
        (lambda x: np.piecewise(x, [X > 0], [1, 2, 3]), ValueError, "with 1 condition"),
        (lambda x: np.choose(WHICH, [x], mode="other"), ValueError, "clipmode"),
    ]:
        for value in (x, X):
            with pytest.raises(error, match=said):
                call(value)


def test_the_parts_of_a_batch_are_ragged() -> None:
    with pytest.raises(BatchingError, match="a mask that differs from item to item selects different numbers of elements"):
        vmap(lambda x: np.piecewise(x, [x < 0], [np.negative, np.exp]))(X[None])


def test_a_result_is_written_to_an_array_that_is_given() -> None:
    def f(x: Any) -> Any:
        out = np.zeros_like(x)
        np.choose(WHICH, [x, 2 * x, 3 * x], out=out)
        return out

    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(f(x)))(X), WHICH + 1)


def test_a_piece_without_elements_is_none_of_a_graph_where_data_give_it_some() -> None:
    """NumPy calls no function for it, and so a graph of real values has no call; of other data it raises, and is not wrong."""

    def f(x: Any) -> Any:
        return np.piecewise(x, [x < 0, x >= 2], [lambda u: -u, lambda u: u * 2, 7.0])

    given = [np.array(x) for x in ([-1.0, 0.0, 1.0], [-1.0, 2.0, 3.0], [0.0, 1.0, 0.5])]
    for traced in given:
        graph = dispatch.make_fx(f, tracing_mode="real")(traced)
        for x in given:
            if all(np.any(part(traced)) or not np.any(part(x)) for part in (lambda x: x < 0, lambda x: x >= 2)):
                np.testing.assert_array_equal(graph(x), f(x), strict=True)
            else:
                with pytest.raises(DataDependentError, match=r"^np::settled: the graph was recorded where data made a result float64\(0,\), and here they make it float64\("):
                    graph(x)
