"""Indices from indices and shapes: constants of the tape, computed by every layer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from function_laws import hold

import dispatch
from dispatch import vmap

X = np.array([[0.5, -1.5, 2.25], [3.5, 1.25, -0.5], [1.0, 2.0, 3.0]])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "the diagonal": lambda x: x[np.diag_indices_from(x)] ** 2,
    "a triangle": lambda x: x[np.tril_indices_from(x, -1)] * x[np.triu_indices_from(x, 1)],
    "a mesh": lambda x: x[np.ix_([0, 2], np.array([True, False, True]))] * 2,
    "places of the largest": lambda x: x[np.unravel_index(np.argmax(x), (3, 3))] ** 2,
    "places of the largest, of each row": lambda x: x.ravel()[np.ravel_multi_index((np.arange(3), np.argmax(x, 1)), (3, 3))] ** 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_index(name: str) -> None:
    hold(FUNCTIONS[name], X)


def test_indices_of_a_batch() -> None:
    i, j = np.array([[0, 1], [1, 1]]), np.array([2, 0])
    np.testing.assert_array_equal(vmap(lambda i: np.ravel_multi_index((i, j), (2, 3)))(i), [np.ravel_multi_index((k, j), (2, 3)) for k in i])
    for order in "CF":
        found = vmap(lambda i, order=order: np.unravel_index(i, (2, 3), order))(i)
        for at, part in enumerate(found):
            np.testing.assert_array_equal(part, [np.unravel_index(k, (2, 3), order)[at] for k in i])


def test_what_is_no_index_raises_numpys_errors() -> None:
    x, places = dispatch.tensor(X, requires_grad=True), np.array([[0, 7], [1, 1]])
    for call, said in [
        (lambda x: np.diag_indices_from(x[:2]), "All dimensions of input must be of equal length"),
        (lambda x: np.diag_indices_from(x[0]), "at least 2-d"),
        (lambda x: np.tril_indices_from(x[0]), "must be 2-d"),
        (lambda x: np.ix_(x), "Cross index must be 1 dimensional"),
    ]:
        for value in (x, X):
            with pytest.raises(ValueError, match=said):
                call(value)
    for call, said in [
        (lambda i: np.ravel_multi_index((i, i), (2, 3)), "invalid entry in coordinates array"),
        (lambda i: np.ravel_multi_index((i, i), (2, 3, 4)), "parameter multi_index must be a sequence of length 3"),
        (lambda i: np.unravel_index(i, (2, 3)), "index 7 is out of bounds for array with size 6"),
    ]:
        with pytest.raises(ValueError, match=said):
            vmap(call)(places)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_an_open_mesh_of_an_empty_array_keeps_its_dtype(dtype: str) -> None:
    x = np.array([], dtype)
    assert np.ix_(dispatch.tensor(x, requires_grad=True))[0].dtype == np.ix_(x)[0].dtype


def test_a_graph_of_real_values_makes_a_mesh_of_as_many_places_as_data_give() -> None:
    """What an axis is added to keeps the length that it has in each replay."""
    given = [np.array(x) for x in ([1.0, -1.0, 2.0], [1.0, 2.0, 3.0], [-1.0, -2.0, -3.0])]
    for f in (lambda x: np.ix_(x > 0, [0, 1]), lambda x: np.atleast_3d(x[x > 0]), lambda x: np.dstack([x[x > 0], x[x > 0]])):
        graph = dispatch.make_fx(f, tracing_mode="real")(given[0])
        for x in given:
            for found, expected in zip(graph(x), f(x), strict=True):
                np.testing.assert_array_equal(found, expected, strict=True)
