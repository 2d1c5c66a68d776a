"""Arrays put together of others, as users write them, under every layer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from function_laws import hold

import dispatch
from dispatch import make_fx

X = np.array([[0.5, -1.5, 2.25], [3.5, 1.25, -0.5]])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "block": lambda x: np.block([[x, np.ones((2, 1))], [x[:1] * 2, np.zeros((1, 1))]]),
    "block of one": lambda x: np.block(x),
    "block of numbers": lambda x: np.block([x[0, 0], 2.0, x[1, 1:]]),
    "block of deep lists": lambda x: np.block([[[x]], [[x * x]]]),
    "insert a number": lambda x: np.insert(x, 1, 5.0),
    "insert values": lambda x: np.insert(x, 1, x[:, 0] * 2, axis=1),
    "insert at several places": lambda x: np.insert(x, [0, 2, 2], x[:, :1] ** 2, axis=1),
    "insert before a slice": lambda x: np.insert(x[0], slice(0, 2), x[1, :2]),
    "insert by a mask": lambda x: np.insert(x[0], np.array([True, False, True]), x[1, 0]),
    "insert values with more axes": lambda x: np.insert(x[0], 1, x[:1, None, :1] * 2) + np.insert(x[1, :1], [0, 1, 0], x[None, :1, :1]),
    "insert at the end": lambda x: np.insert(x, -1, 1, axis=0),
    "resize, larger": lambda x: np.resize(x, (3, 5)),
    "resize, smaller": lambda x: np.resize(x * 2, 4),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_assembly(name: str) -> None:
    hold(FUNCTIONS[name], X)


def test_large_blocks_lie_in_memory_as_numpys() -> None:
    c, f = np.zeros((700, 400)), np.zeros((700, 400), order="F")
    for parts in ([c, c], [f, f], [c, f], [f, f[::-1]]):
        expected = np.block([list(parts)])
        made = dispatch.vmap(lambda *xs: np.block([list(xs)]))(*[x[None] for x in parts])[0]
        assert (made.flags.c_contiguous, made.flags.f_contiguous) == (expected.flags.c_contiguous, expected.flags.f_contiguous)


def test_what_fits_nowhere_raises_numpys_errors() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    for call, error, said in [
        (lambda x: np.block([x, [x]]), ValueError, "List depths are mismatched"),
        (lambda x: np.block([x, []]), ValueError, "List depths are mismatched"),
        (lambda x: np.block([x, (x, x)]), TypeError, r"arrays\[1\] is a tuple"),
        (lambda x: np.block([[x], [x[:, :1]]]), ValueError, "must match exactly"),
        (lambda x: np.insert(x, 0, 1j), TypeError, "not 'complex'"),
        (lambda x: np.insert(x, 7, 1.0, axis=0), IndexError, "index 7 is out of bounds"),
        (lambda x: np.insert(x, [9, 1], 1.0), IndexError, "out of bounds"),
        (lambda x: np.insert(x, [[1]], 1.0), ValueError, "must be one dimensional or scalar"),
        (lambda x: np.insert(x, 0, 1.0, axis=2), ValueError, "axis 2 is out of bounds"),
        (lambda x: np.resize(x, (2, -1)), ValueError, "must be non-negative"),
    ]:
        for value in (x, X):
            with pytest.raises(error, match=said):
                call(value)


@pytest.mark.parametrize("change", [np.delete, lambda x, places: np.insert(x, places, 0.0)], ids=["delete", "insert"])
@pytest.mark.parametrize("places", [[], [0.0, 2.0]], ids=str)
def test_places_that_are_no_whole_numbers_are_numpys_error(change: Callable[..., Any], places: list[float]) -> None:
    x = np.arange(3.0)
    with pytest.raises(IndexError) as expected:
        change(x, np.array(places))
    for given in (x, dispatch.tensor(x, requires_grad=True)):
        with pytest.raises(IndexError) as found:
            change(given, dispatch.tensor(places, requires_grad=True))
        assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("change", [np.delete, lambda x, places: np.insert(x, places, 0.0)], ids=["delete", "insert"])
def test_places_that_a_layer_follows_are_refused(change: Callable[..., Any]) -> None:
    with pytest.raises(dispatch.errors.ConversionError, match="was asked of a BatchedTensor"):
        dispatch.vmap(lambda x, places: change(x, places), in_dims=(None, 0))(np.arange(3.0), np.array([[0], [1]]))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_of_as_many_as_data_say_the_resized_array_and_its_gradient_are_numpys(mode: str) -> None:
    """Of none of them too: `np.resize` makes zeros then, which go up with nothing."""
    x, weights = np.array([1.0, -1.0, 2.0]), np.arange(1.0, 7.0).reshape(2, 3)
    f = lambda x: np.sum(np.resize(np.extract(x > 0, x), (2, 3)) * weights)
    graphs = [make_fx(f, mode)(x), make_fx(dispatch.grad(f), mode)(x)] if mode != "real" else [f, dispatch.compile(dispatch.grad(f))]
    for point in (x, -np.abs(x), np.abs(x)):
        slopes = [(f(point + step) - f(point - step)) / 2**-9 for step in np.eye(3) * 2.0**-10]  # of a linear function: exact
        assert graphs[0](point) == f(point)
        np.testing.assert_array_equal(graphs[1](point), slopes)
