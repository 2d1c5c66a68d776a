"""A loop shared among threads: each part runs once, and the lowest that fails is what is raised."""

import contextvars
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.operators.gufunc.spread import in_threads, ranges


@given(st.integers(0, 50), st.integers(1, 50), st.integers(1, 60))
def test_ranges_hold_each_item_once_and_differ_by_one_at_most(start, count, parts):
    found = ranges(start, start + count, parts)
    assert [i for a, b in found for i in range(a, b)] == list(range(start, start + count))
    assert len(found) == min(parts, count)
    lengths = {b - a for a, b in found}
    assert max(lengths) - min(lengths) <= 1


def test_each_part_has_a_thread_with_the_callers_context():
    variable = contextvars.ContextVar("variable")
    variable.set("the caller's")
    seen, all_here = {}, threading.Barrier(3)

    def run(start, stop):
        all_here.wait(60)
        seen[start] = threading.get_ident(), variable.get()

    in_threads(run, ranges(0, 3, 3), 3, lambda item: None)
    assert {value for _, value in seen.values()} == {"the caller's"}
    assert len({ident for ident, _ in seen.values()}) == 3
    assert seen[0][0] == threading.get_ident()


def test_the_lowest_part_that_fails_raises_and_the_rest_is_told():
    told, all_here = [], threading.Barrier(3)

    def run(start, stop):
        all_here.wait(60)
        if start:
            raise ValueError(start)

    with pytest.raises(ValueError, match=r"^2$"):
        in_threads(run, [(0, 2), (2, 4), (4, 6)], 3, told.append)
    assert sorted(told) == [2, 4]


def test_who_is_done_takes_what_nobody_has():
    begun, seen = threading.Event(), []

    def run(start, stop):
        seen.append((start, threading.get_ident()))
        if start == 1:
            assert begun.wait(60)
        elif start == 9:
            begun.set()

    in_threads(run, ranges(0, 10, 10), 2, lambda item: None)
    assert [start for start, _ in seen if start != 1] == [0, *range(2, 10)]
    assert {ident for start, ident in seen if start != 1} == {threading.get_ident()}


def test_no_part_begins_after_one_has_failed():
    seen = []

    def run(start, stop):
        seen.append(start)
        if start == 2:
            raise KeyError(start)

    with pytest.raises(KeyError, match=r"^2$"):
        in_threads(run, ranges(0, 100, 100), 1, lambda item: None)
    assert seen == [0, 1, 2]
