"""Which variables a function names, and which of them a run has changed."""

import numpy as np
import pytest

from dispatch.core.closures import changed_variable, contents_of, variables_of

OUTSIDE = np.zeros(2)


def test_variables_are_those_closed_over_and_the_global_ones_that_are_named():
    here = 1

    def f():
        return here, OUTSIDE, later, np.sin

    assert variables_of(f) == {"here": 1, "OUTSIDE": OUTSIDE, "np": np}
    later = 2
    assert variables_of(f)["later"] == 2
    assert variables_of(np.sin) == {}


@pytest.mark.parametrize(
    ("held", "change"),
    [
        ([1], lambda x: x.append(2)), ([1], lambda x: x.__setitem__(0, 2)), ({"a": 1}, lambda x: x.update(a=2)), ({1}, lambda x: x.add(2)),
        (np.zeros(2), lambda x: x.__setitem__(0, 1)), (np.array([np.nan]), lambda x: x.__setitem__(0, 1)),
    ],
)  # fmt: skip
def test_a_change_of_what_is_held_is_seen(held, change):
    def f():
        return held

    before = contents_of(f)
    assert changed_variable(before, contents_of(f)) is None
    change(held)
    assert changed_variable(before, contents_of(f)) == "held"


def test_another_value_is_a_change_and_a_new_variable_is_none():
    count = 0

    def f():
        return count, later

    before = contents_of(f)
    later = 1
    assert changed_variable(before, contents_of(f)) is None
    count += later
    assert changed_variable(before, contents_of(f)) == "count"
