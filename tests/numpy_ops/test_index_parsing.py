"""What NumPy takes as an index is taken in every layer, gives NumPy's elements and layout, and what it refuses it refuses there."""

import array
import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatch

X = np.arange(12.0).reshape(3, 4) + 1


class Number:
    def __index__(self) -> int:
        return 1


class Places:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([0, 2])


# Every kind of thing that stands in an index, alone or beside others.
INDICES: dict[str, Any] = {
    "a range": range(3),
    "a range that repeats none and is longer than two": ([0, 1, 2, 0], range(4)),
    "a range of nothing": range(0),
    "a range backwards": range(-1, -4, -1),
    "a range, a new axis and a number": (range(2), None, 0),
    "a slice and a range": (slice(None), range(4)),
    "a tuple in a tuple": ((0, 1, 2),),
    "tuples in a tuple": ((0, 1), (2, 3)),
    "a tuple that repeats": ((0, 0, 1),),
    "tuples in a list": [(0, 1), (1, 2)],
    "deep tuples": (((0, 1), (1, 2)), 0),
    "an array of Python's": array.array("l", [0, 2]),
    "memory": memoryview(np.array([0, 2])),
    "a deque": collections.deque([0, 2]),
    "a number by __index__": Number(),
    "such a number and a slice": (Number(), slice(None)),
    "an array by __array__": Places(),
    "a slice and such an array": (slice(None), Places()),
    "a truth": True,
    "an untruth": False,
    "truths": [True, False, True],
    "truths in a tuple": (slice(None), [True, False, True, True]),
    "truths behind a new axis": (None, [True, True, False]),
    "an empty list": [],
    "an empty tuple": (),
    "lists apart": ([0, 1], ..., [1]),
    "a slice by __index__": slice(Number(), None),
    "a slice of arrays without axes": slice(np.array(0), np.array(2)),
    "an array without axes": np.array(1),
    "a mask of all": np.arange(12).reshape(3, 4) % 2 == 0,
    # what NumPy refuses
    "a float": 1.0,
    "floats": [0.0, 1.0],
    "NumPy's float": np.float64(1),
    "a slice of floats": slice(0.0, 2),
    "text": "a",
    "bytes": b"ab",
    "a dictionary": {},
    "a set": {0},
    "objects": np.array([0, 1], object),
    "a slice in a list": [slice(0, 1), 0],
    "too many": (0, 0, 0),
    "out of range": 7,
    "a list out of range": [7],
    "a list out of range, of the second axis": (slice(None), [0, -5]),
    "a large number": 2**70,
    "a large number in a list": [2**70],
    "a mask of another shape": np.ones(4, bool),
    "a mask of another shape, of the second axis": (slice(None), np.ones(3, bool)),
}


def _read(x: Any, index: Any) -> Any:
    return x[index]


def _written(x: Any, index: Any) -> Any:
    y = np.copy(x)
    y[index] = 5.0
    return y


WAYS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "tape": lambda f: f(dispatch.tensor(X, requires_grad=True)),
    "jvp": lambda f: dispatch.jvp(f, (X,), (X,))[1 if f.__name__ == "_read" else 0],
    "vmap": lambda f: dispatch.vmap(f)(np.stack([X, 2 * X]))[0],
    "fake": lambda f: dispatch.eval_shape(f, X),
    "trace": lambda f: dispatch.make_fx(f)(X)(X),
}


def _outcome(f: Callable[[], Any]) -> Any:
    try:
        return f()
    except (IndexError, TypeError, ValueError) as error:
        return type(error), str(error).split("\n")[0].strip()


@pytest.mark.parametrize("way", WAYS)
def test_an_index_is_numpys(way: str) -> None:
    for name, index in INDICES.items():
        for act in (_read, _written):

            def f(x: Any, act: Any = act, index: Any = index) -> Any:
                return act(x, index)

            f.__name__ = act.__name__
            expected, found = _outcome(lambda f=f: f(X)), _outcome(lambda f=f: WAYS[way](f))
            if isinstance(expected, tuple):
                assert isinstance(found, tuple), (name, way, act)
                assert found == expected, (name, way, act)
            elif way == "fake":
                assert found.shape == expected.shape, (name, act)
                if 1 not in found.shape and 0 not in found.shape:
                    assert found.strides == expected.strides, (name, act)
            else:
                found = dispatch.detach(found) if isinstance(found, dispatch.Tensor) else found
                np.testing.assert_array_equal(found, expected, err_msg=f"{name} {way} {act}")


def test_the_last_write_to_a_place_has_the_gradient_whatever_names_the_places() -> None:
    for index in ((0, 0, 1), collections.deque([0, 0, 1]), array.array("l", [0, 0, 1]), [0, 0, 1]):

        def f(v: Any, index: Any = index) -> Any:
            y = np.zeros_like(v)
            y[index,] = v
            return np.sum(y * np.array([1.0, 2.0, 3.0]))

        assert dispatch.grad(f)(np.arange(3.0)).tolist() == [0.0, 1.0, 2.0], index


def test_a_view_by_a_number_is_one_whatever_gives_the_number() -> None:
    def f(x: Any) -> Any:
        y = np.copy(x)
        row = y[Number()]
        row *= 3.0
        return y

    np.testing.assert_array_equal(dispatch.make_fx(f)(X)(X), f(X))
    np.testing.assert_array_equal(dispatch.vmap(f)(X[None])[0], f(X))
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(f(x)))(X), [[1.0] * 4, [3.0] * 4, [1.0] * 4])


def test_a_list_may_hold_numbers_that_a_layer_follows() -> None:
    def read(x: Any) -> Any:
        return x[[np.argmin(x[:, 0]), 1]], x[[0, 1], [np.argmin(x[0]), 2]], x[:, [np.argmax(x[1]), 0]]

    def written(x: Any) -> Any:
        y = np.copy(x)
        y[[np.argmin(x[:, 0]), 1]] = 5.0
        y[0, [np.argmax(x[1]), -1]] *= 2.0
        return (y,)

    other = np.stack([X, X[::-1, ::-1]])
    for f in (read, written):
        expected = [f(x) for x in other]
        for found in (f(dispatch.tensor(X, requires_grad=True)), dispatch.jvp(f, (X,), (X,))[0], dispatch.make_fx(f)(X)(X), dispatch.compile(f)(X)):
            for x, y in zip(found, expected[0], strict=True):
                np.testing.assert_array_equal(dispatch.detach(x) if isinstance(x, dispatch.Tensor) else x, y)
        for x, y in zip(dispatch.make_fx(f)(X)(other[1]), expected[1], strict=True):
            np.testing.assert_array_equal(x, y)
        for k, x in enumerate(dispatch.vmap(f)(other)):
            np.testing.assert_array_equal(x, np.stack([expected[0][k], expected[1][k]]))
        assert [x.shape for x in dispatch.eval_shape(f, X)] == [x.shape for x in expected[0]]
