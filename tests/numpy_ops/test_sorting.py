"""Rows that order, choose and count, beyond the laws that `test_table.py` holds every row to: what no fake and no batch of
can be had, what is refused, and NumPy's parameters.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch import FakeTensorMode, ops, vmap
from dispatch.errors import BatchingError, DataDependentError, UnsupportedError

A = np.array([[1.5, 0.0, 2.0], [0.25, 3.0, 0.0]])
WEIGHTS = np.array([[2.0, 0.5, 1.0], [1.25, 2.0, 3.0]])


def refused(call: Callable[[], Any], error: type[Exception] = UnsupportedError) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


OF_DATA: dict[str, Callable[[Any], Any]] = {
    "nonzero": np.nonzero, "flatnonzero": np.flatnonzero, "argwhere": np.argwhere, "unique": np.unique,
}  # fmt: skip


@pytest.mark.parametrize("name", OF_DATA)
def test_how_many_there_are_depends_on_data(name: str) -> None:
    function = OF_DATA[name]
    found, expected = function(dispatch.tensor(A, requires_grad=True)), function(A)
    for made, wanted in zip(found, expected, strict=True) if name == "nonzero" else [(found, expected)]:
        np.testing.assert_array_equal(dispatch.detach(made), wanted)
    with FakeTensorMode() as mode:
        said = refused(lambda: function(mode.from_array(A)), DataDependentError)
        assert said.startswith(
            f"np::{name}: how many elements it finds in an array of shape (2, 3) depends on its data, which a fake has not. "
        )
        assert "give the mode symbolic sizes, FakeTensorMode(shape_env=ShapeEnv())" in said.replace("Give", "give")
    assert refused(lambda: vmap(function)(A), BatchingError) == (
        f"np::{name}: each of the 2 items of a batch gives as many elements as its data say, which make no batch. "
        "Call it outside of the mapped function; for x[mask] write np.where(mask, x, other), which keeps the shape."
    )


def test_the_places_of_what_is_true_are_an_index() -> None:
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(x[np.nonzero(x)] ** 2))(A), 2 * A)
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(x[np.where(x > 1)]))(A), A > 1)


def test_what_a_condition_selects_has_its_gradient() -> None:
    rows, mask = np.array([False, True]), A > 1
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(np.compress(rows, x, 0) ** 2))(A), 2 * A * rows[:, None])
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(np.compress(mask.ravel(), x) ** 2))(A), 2 * A * mask)
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(np.extract(mask, x) ** 2))(A), 2 * A * mask)
    for condition in (mask, True, np.True_, 1):
        for x in (A, dispatch.tensor(A, requires_grad=True)):
            with pytest.raises(ValueError, match="condition must be a 1-d array"):
                np.compress(condition, x)
            with pytest.raises(ValueError, match="condition must be a 1-d array"):
                ops.np.compress(condition, x)


def test_unique_gives_what_numpys_gives() -> None:
    x = dispatch.tensor(A, requires_grad=True)
    for asked in ({}, {"return_counts": True}, {"return_index": True, "return_inverse": True}, {"equal_nan": False}, {"axis": 0}, {"axis": -1, "return_inverse": True}):
        found, expected = np.unique(x, **asked), np.unique(A, **asked)
        assert isinstance(found, tuple) is isinstance(expected, tuple)
        pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
        for made, wanted in pairs:
            np.testing.assert_array_equal(dispatch.detach(made) if isinstance(made, dispatch.Tensor) else made, wanted)


def test_a_value_is_sorted_in_place() -> None:
    def in_order(x: Any) -> Any:
        y = x * 1.0
        y.sort(axis=0)
        return np.sum(y * WEIGHTS)

    np.testing.assert_array_equal(dispatch.grad(in_order)(A), dispatch.grad(lambda x: np.sum(np.sort(x, axis=0) * WEIGHTS))(A))


def test_elements_of_a_loss_are_chosen_by_their_labels() -> None:
    logits, labels = np.log(A + 1), np.array([[2], [0]])
    expected = np.zeros_like(A)
    expected[[0, 1], [2, 0]] = 1
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(np.take_along_axis(x, labels, 1)))(logits), expected)
    np.testing.assert_array_equal(
        vmap(dispatch.grad(lambda x, i: np.take_along_axis(x, i, 0)[0]))(logits, labels), expected
    )


def test_bins_that_differ_from_item_to_item() -> None:
    bins, values = np.sort(np.random.default_rng(0).normal(size=(3, 5))), np.linspace(-1, 1, 4)
    for side in ("left", "right"):
        expected = [np.searchsorted(row, values, side) for row in bins]
        np.testing.assert_array_equal(vmap(lambda a, side=side: np.searchsorted(a, values, side))(bins), expected)


def test_parameters_of_numpys_that_a_row_has_not() -> None:
    x = dispatch.tensor(A, requires_grad=True)
    np.testing.assert_array_equal(dispatch.detach(np.sort(x, kind="stable")), np.sort(A))
    with pytest.raises(ValueError, match="Cannot specify order when the array has no fields"):
        np.sort(x, order="f")


def test_zeros_among_factors_have_a_gradient() -> None:
    x = np.array([2.0, 0.0, 3.0])
    np.testing.assert_array_equal(dispatch.grad(np.prod)(x), [0, 6, 0])
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(np.cumprod(x)))(x), [1, 8, 0])
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(dispatch.grad(np.prod)(x)))(x), [3, 5, 2])


def test_what_is_not_a_number_counts_as_nothing() -> None:
    x = np.array([1.0, np.nan, 3.0])
    np.testing.assert_array_equal(dispatch.grad(np.nansum)(x), [1, 0, 1])
    np.testing.assert_array_equal(dispatch.grad(np.nanmean)(x), [0.5, 0, 0.5])
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(np.nan_to_num(x)))(x), [1, 0, 1])
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(np.fmax(x, 2.0)))(x), [0, 0, 1])


AXES: list[tuple[str, tuple[Any, ...]]] = [
    ("cumsum", (2,)), ("sort", (2,)), ("argmax", (-3,)), ("median", (2,)), ("repeat", (2, 2)), ("roll", (1, 2)),
    ("flip", (2,)), ("diff", (1, 2)), ("take_along_axis", (np.zeros((1, 1), int), 2)), ("split", (1, 2)), ("prod", (2,)),
    ("delete", (0, 2)), ("linalg_norm", (None, 2)), ("rollaxis", (2,)), ("all", (2,)), ("var", (2,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rest"), AXES, ids=[name for name, _ in AXES])
def test_an_axis_that_is_not_there_is_numpys_own_error_everywhere(name: str, rest: Any) -> None:
    op = getattr(ops.np, name)
    call = lambda x: op(x, *rest)
    with pytest.raises(np.exceptions.AxisError):
        call(A)
    with pytest.raises(np.exceptions.AxisError):
        call(dispatch.tensor(A, requires_grad=True))
    if name != "take_along_axis":  # whose places would be a real array among fakes
        with FakeTensorMode() as mode, pytest.raises(np.exceptions.AxisError):
            call(mode.from_array(A))
    with pytest.raises(np.exceptions.AxisError):
        vmap(call)(A[None])


def descends() -> bool:
    return "descending" in signature(np.sort).parameters


TIED = np.array([[0.5, np.nan, 2.0, 0.5, -0.0, np.inf], [3.0, 0.0, 3.0, -np.inf, np.nan, 3.0], [0.0, -0.0, 1.0, 1.0, -1.0, 2.0]])


@pytest.mark.skipif(not descends(), reason="NumPy 2.5")
@pytest.mark.parametrize("keywords", [{"descending": True}, {"descending": True, "stable": True}, {"descending": False, "stable": True}], ids=str)
@pytest.mark.parametrize("axis", [-1, 0, None])
def test_descending_order_is_numpys_in_every_layer(axis: int | None, keywords: dict[str, Any]) -> None:
    def in_place(x: Any) -> Any:
        y = x.copy()
        y.sort(-1, **keywords)
        return y

    for f in (lambda x: np.sort(x, axis, **keywords), lambda x: np.argsort(x, axis, **keywords), lambda x: x.argsort(axis, **keywords), in_place):
        wanted = f(TIED)
        found = [dispatch.detach(f(dispatch.tensor(TIED, requires_grad=True))), dispatch.jvp(f, (TIED,), (TIED,))[0], dispatch.functionalize(f)(TIED)]
        found += [dispatch.make_fx(f, mode)(TIED[::-1])(TIED) for mode in ("real", "fake", "symbolic")] + [dispatch.compile(f)(TIED)]
        for given in found:
            assert (given.dtype, given.strides, given.tobytes()) == (wanted.dtype, wanted.strides, wanted.tobytes())
        np.testing.assert_array_equal(vmap(f)(np.stack([TIED, TIED[::-1]])), [wanted, f(TIED[::-1])])
    # Each element goes where stable order says, its gradient with it.
    weights = np.arange(1.0, 1 + TIED.size).reshape(np.sort(TIED, axis).shape)
    order = np.argsort(TIED, axis, **keywords | {"stable": True})
    wanted = np.zeros(TIED.shape)
    if axis is None:
        wanted.flat[order] = weights
    else:
        np.put_along_axis(wanted, order, weights, axis)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(np.sort(x, axis, **keywords) * weights))(TIED), wanted)
    np.testing.assert_array_equal(dispatch.jacfwd(lambda x: np.sort(x, axis, **keywords))(TIED).reshape(-1, TIED.size).T @ weights.ravel(), wanted.ravel())


@pytest.mark.parametrize("function", [np.sort, np.argsort, lambda x, **keywords: x.argsort(**keywords)], ids=["sort", "argsort", "x.argsort"])
def test_descending_order_is_refused_as_numpy_refuses_it(function: Any) -> None:
    error = ValueError if descends() else TypeError
    said = refused(lambda: function(A, kind="stable", descending=True), error)
    for x in (dispatch.tensor(A, requires_grad=True), FakeTensorMode().from_array(A)):
        assert refused(lambda x=x: function(x, kind="stable", descending=True), error) == said
