"""Partitions and orders by several keys, as users write them, under every layer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from function_laws import hold

import dispatch

X = np.array([[0.5, -1.5, 2.25, 0.125], [3.5, 1.25, -0.5, 4.0], [0.75, 2.0, -2.0, 1.5]])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "partition": lambda x: np.partition(x, 1),
    "partition, several places": lambda x: np.partition(x, (0, -1), axis=0),
    "partition, all axes": lambda x: np.partition(x, 5, axis=None),
    "argpartition": lambda x: np.take_along_axis(x, np.argpartition(x, 2, axis=1), 1),
    "the three smallest": lambda x: np.sum(np.partition(x, 3, None)[:3]),
    "lexsort": lambda x: np.take(x, np.lexsort((x[0] ** 2, x[1] > 0)), 1),
    "sort_complex": np.sort_complex,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_order(name: str) -> None:
    hold(FUNCTIONS[name], X)


def test_a_partition_of_equal_elements_gives_each_its_own_place() -> None:
    x = np.array([2.0, 1.0, 2.0, 1.0, np.nan, 1.0, np.nan])
    place = dispatch.jacrev(lambda x: np.partition(x, 2))(x)
    np.testing.assert_array_equal(np.sum(place, 0), np.ones(7))
    np.testing.assert_array_equal(np.sum(place, 1), np.ones(7))
    np.testing.assert_array_equal(place, dispatch.jacfwd(lambda x: np.partition(x, 2))(x))
    np.testing.assert_array_equal(np.nan_to_num(place @ np.nan_to_num(x)), np.nan_to_num(np.partition(x, 2)))
    assert np.argmax(place[0]) == 1  # the first of the smallest


def test_what_cannot_be_ordered_raises_numpys_errors() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    for call, said in [
        (lambda x: np.partition(x, 7), r"kth\(=7\) out of bounds"),
        (lambda x: np.argpartition(x, 1, 2), "axis 2 is out of bounds"),
        (lambda x: np.partition(x, 1, kind="other"), "select kind"),
        (lambda x: np.lexsort((x[0], x)), "all keys need to be the same shape"),
    ]:
        for value in (x, X):
            with pytest.raises(ValueError, match=said):
                call(value)
            with pytest.raises(ValueError, match=said):
                dispatch.vmap(call)(np.stack([X, X]))


@pytest.mark.parametrize("axis", [0, -1, 1, None])
@pytest.mark.parametrize("name", ["partition", "argpartition"])
def test_an_axis_of_a_number_is_what_it_is_to_numpy(name: str, axis: int | None) -> None:
    f = lambda x: getattr(np, name)(x, 0, axis)
    x = np.array(2.0)
    ways = {"fake": lambda x: dispatch.eval_shape(f, x), "vmap": lambda x: dispatch.vmap(f)(x[None])[0], "functionalize": dispatch.functionalize(f)}

    def shape(way: Any) -> Any:
        try:
            found = way(x)
        except np.exceptions.AxisError as error:
            return type(error)
        return found.shape, found.dtype

    assert {way: shape(run) for way, run in ways.items()} == dict.fromkeys(ways, shape(f))
