"""assert_close: torch.testing's tolerances, and a message that names the worst element."""

import re

import numpy as np
import pytest
from hint_table import Factors

import dispatch
from dispatch.errors import ArgumentError
from dispatch.testing import assert_close
from dispatch.testing.closeness import tolerance


def message_of(actual, expected, **options):
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected, **options)
    return str(caught.value)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i4", "u1", "?"])
def test_the_tolerances_are_torch_s(dtype):
    import torch

    rtol, atol = torch.testing._comparison.default_tolerances(torch.from_numpy(np.zeros(1, dtype)))
    assert tolerance(np.dtype(dtype)) == (rtol, atol)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_what_rounding_explains_is_close_and_ten_times_that_is_not(dtype):
    x = np.linspace(1, 2, 5).astype(dtype)
    allowed = tolerance(x.dtype)
    near = (x * (1 + allowed.rtol / 2)).astype(dtype)
    far = (x * (1 + 10 * (allowed.rtol + allowed.atol))).astype(dtype)
    assert_close(near, x)
    with pytest.raises(AssertionError):
        assert_close(far, x)


@pytest.mark.parametrize(
    "x",
    [
        np.arange(3),
        np.array([np.nan, np.inf, -np.inf]),
        np.zeros((0, 3)),
        np.array(2.0),
        np.float32(1.5),
        [np.ones(2), (1, 2.5)],
        {"a": np.ones(2), "b": [None, "text"]},
        np.array(["a", "b"]),
        np.array([np.datetime64("2020-01-01")]),
        None,
        "text",
        3,
        True,
        1 + 2j,
        np.longdouble(3),
    ],
    ids=repr,
)
def test_everything_is_close_to_itself(x):
    assert_close(x, x)


def test_lists_and_tuples_stand_for_each_other_and_numbers_for_their_values():
    assert_close([np.ones(2), 1], (np.ones(2), 1.0))
    assert_close(2.0, np.float32(2))
    assert_close(1, np.array(1.0))


def test_tracked_values_are_compared_by_their_arrays():
    x = np.ones(3)
    assert_close(dispatch.tensor(x, requires_grad=True), x)


def test_the_worst_element_is_named_and_the_others_counted():
    x = np.zeros((2, 3))
    y = x.copy()
    y[0, 1], y[1, 2] = 1.0, -3.0
    assert message_of(y, x) == (
        "the values differ in 2 of 6 elements.\n"
        "The greatest difference is 3 at [1, 2]; 1e-07 + 1e-07 * abs(expected) is allowed."
    )


def test_integers_are_equal_or_not():
    assert message_of(np.array([1, 2]), np.array([1, 4])) == (
        "the values differ in 1 of 2 elements.\nThe greatest difference is 2 at [1]; equality is asked."
    )
    assert message_of(np.uint64(2**64 - 1), np.uint64(2**64 - 2)).startswith("the values differ in 1 of 1 element.")


def test_a_tolerance_of_zero_counts():
    x = np.ones(2)
    assert_close(x, x, rtol=0.0, atol=0.0)
    assert "equality is asked" in message_of(x + 1e-15, x, rtol=0.0, atol=0.0)
    assert_close(np.array([np.nan]), np.array([np.nan]), rtol=0.0, atol=0.0)
    assert_close(np.array([1, 2]), np.array([1, 3]), rtol=0.0, atol=1.0)


def test_nan_equals_nan_unless_asked_otherwise():
    x = np.array([np.nan, 1.0])
    assert message_of(x, x, equal_nan=False) == (
        "the values differ in 1 of 2 elements.\n"
        "The greatest difference is nan at [0]; 1e-07 + 1e-07 * abs(expected) is allowed."
    )


def test_shape_and_dtype_are_part_of_a_value():
    assert message_of(np.ones(2), np.ones(3)) == "the shapes differ: (2,), and expected is (3,)."
    assert message_of([np.ones(2, "f4")], [np.ones(2)]) == "the dtypes differ at [0]: float32, and expected is float64."
    assert message_of(np.ones(2, ">f8"), np.ones(2)) == "the dtypes differ: >f8, and expected is float64."


def test_containers_are_walked_and_the_place_is_named():
    assert message_of([1], [1, 2]) == "the lengths differ: 1, and expected is 2."
    assert message_of({"a": 1}, {"b": 1}) == "the keys differ: 'a', 'b' is in one of the two only."
    assert message_of({"a": [1, 2]}, {"a": [1, 3]}).startswith("the values differ at ['a'][1] in 1 of 1 element.")
    assert message_of({"a": "x"}, {"a": None}) == "the values differ at ['a']: 'x', and expected is None."
    assert message_of(np.array(["a", "b"]), np.array(["a", "c"])) == "the values differ in 1 of 2 elements."
    assert_close({"b": 1, "a": 2}, {"a": 2, "b": 1})
    assert message_of(Factors(1, 2), Factors(1, 3)).startswith("the values differ at .r in 1 of 1 element.")
    assert message_of(Factors(1, 2), (1, 2, 2)) == "the values differ: a Factors of length 3, and expected is a tuple of length 3."
    assert message_of([1], 1.0) == "the values differ: a list of length 1, and expected is 1.0."


def test_a_value_without_data_is_refused():
    with dispatch.FakeTensorMode() as mode:
        x = mode.from_array(np.ones(2))
    said = (
        "assert_close compares arrays, and was given a FakeTensor of shape (2,) and dtype float64, which "
        "has none of its own."
    )
    with pytest.raises(ArgumentError, match=re.escape(said)):
        assert_close(x, np.ones(2))


@pytest.mark.parametrize(("given", "missing"), [("rtol", "atol"), ("atol", "rtol")])
def test_one_tolerance_without_the_other_is_refused(given, missing):
    said = f"{given} was given without {missing}. Give both or neither; 0 is a tolerance too."
    with pytest.raises(ArgumentError, match=re.escape(said)):
        assert_close(1, 1, **{given: 0.0})
