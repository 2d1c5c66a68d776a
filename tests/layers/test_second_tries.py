"""A function whose values NumPy does not take runs again, on a copy, if nothing has happened in its first run."""

import numpy as np
import pytest

import dispatch
from dispatch.errors import ConversionError, UnsupportedError
from dispatch.layers import second_tries
from dispatch.layers.second_tries import other_ways
from tests.compiler.test_other_ways import FUNCTIONS, X, Y, given_and_found
from tests.compiler.test_trace_function_rows import same


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functionalized_it_gives_what_the_function_gives(f):
    for x in (X, Y):
        same(given_and_found(dispatch.functionalize(f), x), given_and_found(f, x))


def test_arguments_are_written_once():
    def f(x):
        x += 1
        return np.array([x[0], 2.0]), np.asarray(x)

    x = X.copy()
    first, second = dispatch.functionalize(f)(x)
    same([x, first], [X + 1, np.array([X[0] + 1, 2.0])])
    assert second is x


@dispatch.custom_op("second_tries::counted", mutates_args=())
def counted(x: np.ndarray) -> np.ndarray:
    calls.append(1)
    return x * 2


calls: list[int] = []


def test_an_operator_of_yours_runs_once():
    calls.clear()
    with pytest.raises(ConversionError, match="a NumPy array was asked of a FunctionalTensor"):
        dispatch.functionalize(lambda x: np.array([counted(x)[0], 2.0]))(X)
    assert calls == [1]
    calls.clear()
    with pytest.raises(UnsupportedError, match=r"np\.array: an array of dtype object was asked for"):
        dispatch.functionalize(lambda x: np.array([x[0], 1.0]) + np.zeros(2) + np.array([counted(x)[0], 2.0], dtype=object))(X)
    assert calls == [1]  # the first run is refused before it, the copy behind it, and there is no third


def test_where_the_copy_is_refused_too_nothing_is_written():
    def f(x, y):
        x += np.array([y[0], 1.0, 2.0])
        y += 1

    x, y = X.copy(), Y.copy()
    y.setflags(write=False)
    with pytest.raises(ConversionError, match="a NumPy array was asked of a FunctionalTensor"):
        dispatch.functionalize(f)(x, y)
    same(x, X)


def test_a_function_that_nobody_can_look_into_has_no_other_ways():
    def f(x, held=iter(())):  # noqa: B008  which is no value that can be compared
        return np.asarray(x)

    assert list(other_ways(f, (X,), {})) == []
    assert len(list(other_ways(lambda x: np.sin(x), (X,), {}))) == 1
    assert len(list(other_ways(lambda x: np.zeros(3) + x, (X,), {}))) == 2
    assert len(second_tries.makers) == 1
    with pytest.raises(ConversionError, match="a NumPy array was asked of a FunctionalTensor"):
        dispatch.functionalize(f)(X)


def test_a_write_to_what_it_refers_to_is_made_once():
    held = np.zeros(3)

    def f(x):
        held[:] += 1
        made = np.zeros(3)
        made += x
        return made

    with pytest.raises(UnsupportedError, match="would write a FunctionalTensor"):
        dispatch.functionalize(f)(X)
    same(held, np.ones(3))
