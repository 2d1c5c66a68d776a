"""Sets of elements as users write them, under every layer: the elements that are left have their derivatives."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import pytest
from function_laws import hold, same
from program_values import equal_bits

import dispatch
from dispatch import FakeTensorMode, vmap
from dispatch.errors import BatchingError, DataDependentError
from dispatch.symbolic import ShapeEnv

X = np.array([0.5, -1.5, 2.25, 0.125, -0.75, 3.0])
OTHER = np.array([2.25, 4.0, -1.5, 7.0])
RAGGED = "vmap fake compile trace"  # how many are left depends on data; a trace is held to below

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "unique": lambda x: np.unique(np.concatenate([x, x * x + 9, x])),
    "unique along an axis": lambda x: np.unique(np.stack([x, x, x * 2]), axis=0),
    "unique with its outputs": lambda x: np.unique(x.reshape(2, 3) * 2, True, True, True),
    "unique_all": lambda x: tuple(np.unique_all(x * 2)),
    "unique_counts": lambda x: tuple(np.unique_counts(x[[0, 0, 1]] * 2)),
    "unique_inverse": lambda x: tuple(np.unique_inverse(x[[0, 0, 1]] * 2)),
    "unique_values": lambda x: np.sort(np.unique_values(x[[0, 0, 1]])) * 3,
    "union1d": lambda x: np.union1d(x[:4] * x[:4] + 9, x[2:]),
    "intersect1d": lambda x: np.intersect1d(x[:4] * 2, x[1:] * 2),
    "intersect1d, places": lambda x: np.intersect1d(x[:4], x[1:], return_indices=True),
    "intersect1d, unique": lambda x: np.intersect1d(x[:4], x[1:], assume_unique=True),
    "setxor1d": lambda x: np.setxor1d(x[:4] * 2, x[1:] * 2),
    "setdiff1d": lambda x: np.setdiff1d(x[:4] * 2, x[3:] * 2),
    "setdiff1d, unique": lambda x: np.setdiff1d(x[:4], x[3:], assume_unique=True),
    "trim_zeros": lambda x: np.trim_zeros(np.pad(x, 2)) * x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_set(name: str) -> None:
    hold(FUNCTIONS[name], X, RAGGED)


def test_whether_elements_are_there_has_a_shape_in_every_layer() -> None:
    for f in (
        lambda x: np.where(np.isin(np.floor(x), OTHER), x, 2 * x), lambda x: x * np.isin(np.floor(x), np.floor(x[:2]), invert=True),
        lambda x: x * np.isin(2.0, np.floor(x)), lambda x: x.reshape(2, 3) * np.isin(np.floor(x.reshape(2, 3)), [2.0, 3.0]),
    ):  # fmt: skip
        hold(f, X)


def test_a_trace_of_what_data_say_runs_on_data_that_say_the_same() -> None:
    for name in ("unique", "union1d", "intersect1d", "setxor1d", "setdiff1d", "unique with its outputs"):
        graph = dispatch.make_fx(FUNCTIONS[name])(X)
        for x in (X, X + 0.001):
            same(graph(x), FUNCTIONS[name](x))


def test_distinct_elements_that_are_not_in_order_have_the_same_gradient() -> None:
    if "sorted" not in signature(np.unique).parameters:
        pytest.skip("this NumPy sorts always")
    x = X[[0, 0, 1, 2, 1, 3]]
    weights = np.arange(4.0) + 1
    values = np.unique(x, sorted=False)
    found = dispatch.grad(lambda x: np.sum(np.unique(x, sorted=False) * weights))(x)
    expected = np.zeros(6)
    for value, weight in zip(values, weights, strict=True):
        expected[np.flatnonzero(x == value)[0]] = weight
    np.testing.assert_array_equal(found, expected)


def test_the_places_of_distinct_rows_have_numpys_shapes() -> None:
    x = np.array([[1.0, 2], [3, 4], [1, 2]])
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        fake = mode.from_array(x)
        for options in ({"axis": 0}, {"axis": 1}, {}, {"axis": 0, "return_inverse": True}, {"return_inverse": True, "return_counts": True}):
            made, wanted = np.unique(fake, **options), np.unique(x, **options)
            for a, b in zip(made, wanted, strict=True) if isinstance(made, tuple) else [(made, wanted)]:
                assert len(a.shape) == b.ndim
                assert a.dtype == b.dtype


def test_what_no_batch_and_no_fake_has() -> None:
    for f in (np.unique_all, lambda x: np.union1d(x, x), lambda x: np.setdiff1d(x, x), lambda x: np.intersect1d(x, x), lambda x: np.setxor1d(x, x)):
        with pytest.raises(BatchingError, match="np::unique: each of the 2 items of a batch gives as many elements as its data say"):
            vmap(f)(np.stack([X, X]))
        with FakeTensorMode() as mode, pytest.raises(DataDependentError, match="np::unique: how many elements it finds in an array of shape"):
            f(mode.from_array(X))
    with pytest.raises(BatchingError, match="np::argwhere"):
        vmap(np.trim_zeros)(np.stack([X, X]))


def test_what_is_no_kind_raises_numpys_error() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    for call, said in [
        (lambda x: np.isin(x, OTHER, kind="other"), "Invalid kind"),
        (lambda x: np.isin(x, OTHER, kind="table"), "'table' method is only"),
    ]:
        for value in (x, X):
            with pytest.raises(ValueError, match=said):
                call(value)
        with pytest.raises(ValueError, match=said):
            dispatch.vmap(call)(np.stack([X, X]))
    with pytest.raises(ValueError, match="axis 1 is out of bounds"):
        np.unique(x, axis=1)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("name", ["unique", "unique of rows", "unique in any order", "union1d", "intersect1d", "setxor1d", "setdiff1d"])
def test_beside_a_derivative_a_set_has_the_zero_that_numpy_keeps(name: str, dtype: str) -> None:
    any_order = {"sorted": False} if "sorted" in signature(np.unique).parameters else {}
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "unique of rows": lambda x, y: np.unique(np.stack([x, -x], 1), axis=0),
        "unique in any order": lambda x, y: np.unique(x, **any_order),
        "unique": lambda x, y: np.unique(x),
    }
    f = functions.get(name) or getattr(np, name)
    random = np.random.default_rng(7)
    for n in range(40):
        x, y = random.choice([0.0, -0.0, 1.0, 2.0], size=n).astype(dtype), np.array([-0.0, 3.0])
        if dtype == "c16":
            x.imag = random.choice([0.0, -0.0, 1.0], size=n)
        found, _ = dispatch.jvp(lambda x, y=y: f(x, y), (x,), (np.ones_like(x),))
        assert equal_bits(found, f(x, y)), (x, found)
