"""What the tape and forward mode share: a rule's gradient or tangent gets the shape and dtype of the value that it is of."""

from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import dispatch
from dispatch.layers.derivatives import fitted, parts_like, zeros

F8, F4, C16 = np.dtype("f8"), np.dtype("f4"), np.dtype("c16")
Pair = namedtuple("Pair", "x y")


@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_a_sum_is_the_transpose_of_a_broadcast(shapes):
    small, large = shapes.input_shapes[0], shapes.result_shape
    x, g = np.random.default_rng(0).normal(size=small), np.random.default_rng(1).normal(size=large)
    spread, summed = fitted(x, (large, F8), summed=False), fitted(g, (small, F8), summed=True)
    assert np.array_equal(spread, np.broadcast_to(x, large))
    assert np.isclose(np.sum(spread * g), np.sum(x * summed))


@given(st.lists(st.integers(2, 4), max_size=3), st.lists(st.integers(2, 4), max_size=3))
def test_other_shapes_do_not_fit(given_shape, shape):
    shapes = tuple(given_shape), tuple(shape)
    for summed, (small, large) in ((False, shapes), (True, shapes[::-1])):
        broadcasts = len(small) <= len(large) and large[len(large) - len(small) :] == small
        assert (fitted(np.ones(shapes[0]), (shapes[1], F8), summed=summed) is not None) == broadcasts


@pytest.mark.parametrize(("x", "dtype", "expected"), [
    (2, F8, 2.0), (True, F4, 1.0), (1.5, F4, 1.5), (2j, C16, 2j), (1 + 2j, F8, 1.0), (2, C16, 2 + 0j),
    (np.float64(2.5), F4, 2.5), (np.array(1 + 2j), F8, 1.0), (np.array(3), F8, 3.0),
])  # fmt: skip
def test_numbers_and_arrays_are_cast_a_complex_one_to_its_real_part(x, dtype, expected):
    for summed in (False, True):
        made = fitted(x, ((), dtype), summed=summed)
        assert made.dtype == dtype
        assert made == expected


@pytest.mark.parametrize("x", ["text", None, [1.0], (1.0,), {}, object()])
def test_what_is_no_array_does_not_fit(x):
    assert fitted(x, ((), F8), summed=True) is None


def test_what_fits_already_is_handed_on():
    x = np.ones((2, 3))
    assert fitted(x, ((2, 3), F8), summed=True) is x


def test_zeros_are_of_the_kind_of_the_value():
    assert type(zeros(((2,), F4), np.ones(3))) is np.ndarray
    assert zeros(((2,), F4), np.ones(3)).dtype == F4
    x = dispatch.FakeTensorMode().from_array(np.ones(3))
    assert type(zeros(((2,), F4), x)) is type(x)
    assert zeros(((2,), F4), x).shape == (2,)


@pytest.mark.parametrize(("given", "like", "parts"), [
    ([7, 8], (1, 2), [7, 8]),
    ({"y": 7}, {"x": 1, "y": 2}, [None, 7]),
    ({"y": 7}, Pair(1, 2), [None, 7]),
    (Pair(7, 8), Pair(1, 2), [7, 8]),
    ((7, 8), Pair(1, 2), None),
    ({"z": 7}, Pair(1, 2), None),
    ({"x": 7}, [1], None),
    (7, [1], None),
])  # fmt: skip
def test_the_parts_of_what_a_rule_gave(given, like, parts):
    found = parts_like(given, like)
    assert (found if found is None else list(found)) == parts
