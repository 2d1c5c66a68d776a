"""Which calls are made together: consecutive ones of NumPy's ufuncs, of one shape, in C order, without a cast."""

import numpy as np
import pytest

import dispatch
from dispatch.compiler import program
from dispatch.compiler.trace_function import make_fx
from dispatch.core.program import Program, Slot
from dispatch.core.runs import MOST_CALLS

F8 = np.dtype("f8")
X = np.linspace(0.5, 2.0, 60).reshape(3, 20)


def runs(f, *args):
    """The first call of each run of a function's program, and how many it has; the program gives what the function gives."""
    run = program(make_fx(f)(*args))
    for x, y in zip(np.atleast_1d(run(*args)), np.atleast_1d(f(*args)), strict=True):
        np.testing.assert_array_equal(x, y)
    return [(first, found.count) for first, found in run.runs]


def test_a_call_of_another_kind_ends_a_run():
    assert runs(lambda x: np.exp(np.cumsum(np.sin(x) * 2.0, axis=1)) + 1.0, X) == [(0, 2), (3, 2)]


def test_one_call_alone_is_no_run():
    assert runs(np.sin, X) == []
    assert runs(lambda x: np.sin(np.sum(np.cos(x), axis=1)), X) == []


def test_rows_of_other_lengths_begin_another_run():
    x = np.ones((5, 7, 30))
    assert runs(lambda x, row, rows: np.exp(x * row) * 2.0 * rows + 1.0, x, x[0, 0].copy(), x[0].copy()) == [(0, 3), (3, 2)]


def test_a_result_of_another_shape_begins_another_run():
    assert runs(lambda x, y: (x + 1.0) * 2.0 * ((y + 1.0) * 2.0)[:, None], X, X[:, 0].copy()) == [(0, 2), (2, 2)]


def test_one_number_for_each_row_is_in_no_run():
    assert runs(lambda x, y: np.sin(x * 2.0) * y + 1.0, X, X[:, :1].copy()) == [(0, 2)]


def test_a_call_that_casts_is_in_no_run():
    assert runs(lambda x, y: np.sin(x * y) + y, X.astype("f"), X) == [(1, 2)]
    assert runs(lambda x, y: np.sin(x * y) + y, X.astype("i8"), X) == [(1, 2)]
    assert runs(lambda x: np.sin(x + 1) * x, X > 1) == []


def test_numbers_are_taken_for_what_numpy_takes_them():
    assert runs(lambda x: np.sin(2.0 * x) + np.float32(3.0), X.astype("f")) == [(0, 3)]
    assert runs(lambda x: np.sin(2.0 * x) + np.float64(3.0), X.astype("f")) == [(0, 2)]
    assert runs(lambda x: (x * 3 + True) * np.int8(2), X.astype("i8")) == [(0, 2)]


def test_a_ufunc_of_somebody_elses_is_in_no_run():
    special = pytest.importorskip("scipy.special")
    assert runs(lambda x: special.erf(x * 2.0 + 1.0) * 2.0, X) == [(0, 2)]


def test_arrays_in_another_order_are_in_no_run():
    assert runs(lambda x: np.sin(x) * 2.0, np.asfortranarray(X)) == []
    assert runs(lambda x: np.sin(x) * 2.0, X[:, ::2]) == []
    assert runs(lambda x: np.sin(x) * 2.0, X[:0]) == runs(lambda x: np.sin(x) * 2.0, X[:1, :1]) == []


def made(plans, outs):
    """A program that adds what its slots hold to itself, with a plan for each slot."""
    add = dispatch.ops.np.add.default
    calls = []
    for i, out in enumerate(outs):
        form = (np.add, np.add, (Slot(i), Slot(i)), (), (F8, F8))
        calls.append((add.whole, (Slot(i), Slot(i)), out, [plans[i]] * 2, plans[out], (), (), form, None))
    return Program(len(plans), (plans[0],), [], calls, Slot(outs[-1]), str)


def test_a_plan_is_held_to_the_arrays():
    plan = F8, (5,), (8,)
    run = made([plan] * 3, [1, 2])
    assert [found.count for _, found in run.runs] == [2]
    assert run(np.ones(5)).tolist() == [4.0] * 5
    assert run(np.ones(3)).tolist() == [4.0] * 3
    assert made([(F8, (5,), (16,)), plan, plan], [1, 2]).runs == []


def test_a_long_run_goes_on_as_another():
    def long(x):
        y = x
        for _ in range(MOST_CALLS):
            y = y * 0.5 + x
        return y

    assert runs(long, X) == [(0, MOST_CALLS), (MOST_CALLS, MOST_CALLS)]
