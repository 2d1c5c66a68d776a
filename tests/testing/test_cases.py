"""A call is taken apart and put together again without a change."""

import enum
from typing import Literal

import numpy as np
import pytest
from hint_table import Factors

import dispatch
from dispatch import custom_op
from dispatch.testing.cases import arrays_in, bind, labels_of, map_arrays, named_outputs, put_arrays

X, Y = np.ones(2), np.zeros((1, 2))


def kernel(x, ys, n=3, *, z=None):
    return x * n, [y.sum() for y in ys]


op = custom_op(
    "cased::op",
    kernel,
    mutates_args=(),
    schema="(Tensor x, Tensor?[] ys, int n=3, *, Tensor? z=None) -> (Tensor, Tensor[])",
)


def test_a_call_is_bound_in_schema_order_and_calls_back():
    case = bind(op, (X,), {"ys": [Y, None, Y], "z": X})
    assert case.args[2] == 3
    assert [x is y for x, y in zip(case.arrays, [X, Y, Y, X], strict=True)] == [True] * 4
    assert case.labels == ["'x'", "'ys'[0]", "'ys'[2]", "'z'"]
    assert case.given() == "x: float64[2], ys: list[float64[1, 2], None, float64[1, 2]], n: int, z: float64[2]"


def test_outputs_come_as_a_list_without_numpy_scalars():
    case = bind(op, (X, [Y]), {})
    first, second = case.call(case.args)
    np.testing.assert_array_equal(first, X * 3)
    assert type(second[0]) is np.ndarray
    assert [name for name, _ in named_outputs([first, second])] == ["output 0", "output 1[0]"]


def test_tracked_arguments_are_noted_and_come_plain():
    case = bind(op, (X, [Y, dispatch.tensor(Y, requires_grad=True)]), {})
    assert case.tracked == (2,)
    assert all(type(x) is np.ndarray for x in case.arrays)


NESTED = (X, [Y, (X, None)], {"a": X, "b": 1}, "text", np.float64(1.0))


def test_arrays_are_found_in_order_and_put_back():
    assert len(arrays_in(NESTED)) == 4
    assert labels_of(("p", "q", "r", "s", "t"), NESTED) == ["'p'", "'q'[0]", "'q'[1][0]", "'r'['a']"]
    made = put_arrays(NESTED, list(range(4)))
    assert made == (0, [1, (2, None)], {"a": 3, "b": 1}, "text", 1.0)
    assert map_arrays(lambda x: x.shape, NESTED)[1] == [(1, 2), ((2,), None)]
    assert labels_of(("p",), (Factors(X, [Y]),)) == ["'p'.q", "'p'.r[0]"]
    assert put_arrays((Factors(X, [Y]),), [1, 2]) == (Factors(1, [2]),)


@pytest.mark.parametrize("x", [None, 3, "text", np.float64(1.0), []])
def test_what_holds_no_array_stays(x):
    assert arrays_in(x) == []
    assert map_arrays(lambda x: 1 / 0, x) == x


def test_branches_are_the_other_choices_and_what_may_be_left_out():
    class Kind(enum.Enum):
        LOW, HIGH = range(2)

    Kind.__module__, Kind.__qualname__ = __name__, "Kind"
    globals()["Kind"] = Kind

    def kernel(x: np.ndarray, y: np.ndarray | None = None, mode: Literal["a", "b", "c"] = "a", kind: Kind = Kind.LOW) -> np.ndarray:
        return x * 2.0

    op = custom_op("cases::branches", kernel, mutates_args=())
    case = bind(op, (np.ones(2), np.ones(2)), {"mode": "b"})
    assert [(each.what, each.args[1:]) for each in case.branches()] == [
        (" on the sample without 'y'", (None, "b", Kind.LOW)),
        *[(f" on the sample with 'mode' as {mode!r}", (*case.args[1:2], mode, Kind.LOW)) for mode in "ac"],
        (" on the sample with 'kind' as Kind.HIGH", (*case.args[1:3], Kind.HIGH)),
    ]
    assert [each.args[1:] for each in case.branches({"y", "mode"})] == [(*case.args[1:3], Kind.HIGH)]


def test_a_longer_list_moves_the_places_behind_it_and_one_with_its_weights_stays():
    op = custom_op("cases::lists", lambda xs, y: y * 2.0, mutates_args=(), schema="(Tensor[] xs, Tensor y) -> Tensor")
    tracked = [dispatch.tensor(np.ones(3), requires_grad=True) for _ in range(3)]
    (longer,) = bind(op, (tracked[:2], tracked[2]), {}).longer_lists()
    assert (longer.what, longer.tracked, len(longer.args[0])) == (" on the sample with one array more in 'xs'", (0, 1, 2, 3), 3)
    (longer,) = bind(op, ([np.ones(3), tracked[0]], np.ones(3)), {}).longer_lists()
    assert longer.tracked == (1, 2)
    (longer,) = bind(op, ([np.ones(3)], tracked[0]), {}).longer_lists()
    assert longer.tracked == (2,)
    assert not list(bind(op, (tracked[:2], np.ones(2)), {}).longer_lists())
    assert not list(bind(op, (tracked[:2], tracked[2]), {}).longer_lists({"xs"}))


def test_none_is_a_number_where_one_may_be_and_no_axis():
    op = custom_op("cases::ints", lambda x, n, axis, y: x * 2.0, mutates_args=(), schema="(Tensor x, int? n, int? axis, float? y) -> Tensor")
    case = bind(op, (np.ones(3), None, None, None), {})
    assert [(each.what, each.args[1:]) for each in case.given_numbers()] == [
        (" on the sample with 'n' of 2", (2, None, None)), (" on the sample with 'y' of 1.5", (None, None, 1.5)),
    ]  # fmt: skip
    assert not list(case.given_numbers({"n", "y"}))
    assert not list(bind(op, (np.ones(3), 4, None, 0.5), {}).given_numbers())


def test_two_options_are_changed_at_once():
    schema = "(Tensor x, bool flag, int? axis, Literal['a', 'b'] how, Tensor? w, int n) -> Tensor"
    op = custom_op("cases::options", lambda x, flag, axis, how, w, n: x * 2.0, mutates_args=(), schema=schema)
    case = bind(op, (np.ones(3), True, 1, "a", np.ones(3), 4), {})
    assert [(each.what, each.args[1:4]) for each in case.two_options()] == [
        (" on the sample with 'flag' as False and 'axis' as None", (False, None, "a")),
        (" on the sample with 'flag' as False and 'how' as 'b'", (False, 1, "b")),
        (" on the sample with 'axis' as None and 'how' as 'b'", (True, None, "b")),
    ]
    assert list(case.two_options({"flag", "axis"})) == []
