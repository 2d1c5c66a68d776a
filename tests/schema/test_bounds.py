"""Ranges in hints are read, whoever's class says them, and numbers are made inside."""

from types import SimpleNamespace as Note
from typing import Annotated

import numpy as np
import pytest
from numpy.typing import NDArray

from dispatch import custom_op
from dispatch.schema.bounds import Bounds, bounds_of

CASES = [
    ([Note(ge=0)], Bounds(0)),
    ([Note(gt=0.5)], Bounds(0.5, above=True)),
    ([Note(gt=0, ge=None, lt=None, le=1)], Bounds(0, 1, above=True)),
    ([Note(lt=3), Note(ge=-1)], Bounds(-1, 3, below=True)),
    ([Note(metadata=[Note(gt=0), Note(le=9)])], Bounds(0, 9, above=True)),
    ([range(2, 5)], Bounds(2, 5, below=True)),
    ([range(5, 2, -1)], Bounds(2, 5, above=True)),
    (["C", 3, print], None),
]


@pytest.mark.parametrize(("notes", "bounds"), CASES)
def test_bounds_are_read_by_their_attributes(notes, bounds):
    assert bounds_of(notes) == bounds


EVERY = [
    Bounds(low, high, above, below)
    for low in (None, -7.5, 0, 2, 3.0)
    for high in (None, -1, 0.5, 4, 30.0)
    for above in (False, True)
    for below in (False, True)
    if low is None or high is None or low < high
]


@pytest.mark.parametrize("bounds", EVERY)
def test_numbers_are_made_inside(bounds):
    low, high = bounds.ends(0.25, 2.0)
    assert low < high
    assert all(x in bounds for x in np.linspace(low, high, 9)[1:-1])
    assert all(n in bounds for n in bounds.integers())
    inside = [n for n in range(-40, 40) if n in bounds]
    assert len(bounds.integers()) == min(2, len(inside))


def test_an_operator_keeps_the_range_of_a_hint_and_calls_are_not_refused_for_it():
    def kernel(x: Annotated[NDArray[np.float64], Note(ge=0)], n: Annotated[int, range(1, 3)], m: int = 2) -> np.ndarray:
        return x * n

    op = custom_op("bounds::scaled", kernel, mutates_args=())
    assert [a.bounds for a in op.schema.arguments] == [Bounds(0), Bounds(1, 3, below=True), None]
    assert str(op.schema) == "bounds::scaled(Tensor x, int n, int m=2) -> Tensor"
    assert op(np.array([-1.0]), 7) == [-7.0]
