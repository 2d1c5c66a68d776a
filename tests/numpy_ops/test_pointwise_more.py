"""Gradients beside narrow operands: the partial derivatives are computed in the dtype of the result."""

import importlib.util
import re

import numpy as np
import pytest

import dispatch
from dispatch.numpy_ops.numpy_functions import UFUNCS

NARROW = {
    "uint8": [255, 3, 17], "int8": [-128, 127, 3], "int16": [300, -200, 7], "bool": [True, False, True], "float16": [300.0, 0.3, 2.0],
    "float32": [1e20, 0.3, 2.0],
}  # fmt: skip
if importlib.util.find_spec("scipy"):
    dir(dispatch.ops.scipy_special)  # its rows are made when they are first asked for
BINARY = [ufunc for ufunc in UFUNCS if (ufunc.nin, ufunc.nout) == (2, 1) and ufunc.signature is None]
Y = np.array([1.3, 0.7, 2.2])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("ufunc", BINARY, ids=lambda ufunc: ufunc.__name__)
def test_a_narrow_operand_is_the_number_that_it_is(ufunc: np.ufunc, dtype: str) -> None:
    """In both places, and of both orders: as if it had been of float64, or of int64 where SciPy has a loop for whole orders."""
    narrow = np.array(NARROW[dtype], dtype)

    def derivatives(other: np.ndarray, first: bool) -> list[np.ndarray]:
        def f(y: np.ndarray) -> np.ndarray:
            return np.sum(ufunc(other, y) if first else ufunc(y, other))

        return [dispatch.grad(f)(Y), dispatch.grad(lambda y: np.sum(dispatch.grad(f)(y) * np.sin(y)))(Y), dispatch.jvp(f, (Y,), (Y,))[1]]

    for first in (True, False):
        try:
            if (ufunc(narrow, Y) if first else ufunc(Y, narrow)).dtype.kind != "f":
                continue
        except TypeError:  # it takes integers alone there
            continue
        orders = [loop for loop in ufunc.types if loop[0 if first else 1] in "ilq" and loop[-1] in "fd"]
        wide = narrow.astype(np.int64 if orders and narrow.dtype.kind in "iub" else np.float64)
        try:
            of_wide = derivatives(wide, first)
        except dispatch.errors.UnsupportedError:  # no partial by that argument is known
            continue
        for found, expected in zip(derivatives(narrow, first), of_wide, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "c8"])
@pytest.mark.parametrize("other", [1e300, 1.0, 3, 70000, 1j, True, np.float64(1e300), np.array(1e300), np.array(3)], ids=str)
def test_isclose_of_a_number_has_the_precision_that_numpy_takes(other, dtype):
    x = np.array([1, 2, 3]).astype(dtype)
    with np.errstate(all="ignore"):
        for f in (lambda x: np.isclose(x, other), lambda x: np.isclose(other, x)):
            expected = f(x)
            assert np.array_equal(dispatch.vmap(f)(x[None])[0], expected)
            if x.dtype.kind in "fc":
                assert np.array_equal(dispatch.vjp(lambda x, f=f: (np.sum(x), f(x)), x, has_aux=True)[2], expected)


NUMBERS = [
    {}, {"nan": np.inf, "posinf": 9.0}, {"posinf": -np.inf, "neginf": 3.0}, {"nan": -np.inf}, {"nan": np.inf},
    {"nan": np.float64(0.7), "posinf": np.int64(3)}, {"neginf": np.longdouble(2)}, {"nan": True},
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "c8", "c16"])
@pytest.mark.parametrize("numbers", NUMBERS, ids=str)
def test_what_replaces_a_number_is_not_replaced_itself(dtype: str, numbers: dict[str, float]) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1.0, -0.0], dtype)
    expected = np.nan_to_num(x, **numbers)
    for found in (
        dispatch.detach(np.nan_to_num(dispatch.tensor(x, requires_grad=True), **numbers)),
        dispatch.vmap(lambda x: np.nan_to_num(x, **numbers))(x),
    ):
        np.testing.assert_array_equal(found, expected, strict=True)


def test_a_complex_number_does_not_replace_a_real_one() -> None:
    for f in (np.nan_to_num, dispatch.vmap(np.nan_to_num)):
        with pytest.raises(TypeError, match="Cannot cast scalar from dtype"):
            f(np.ones(2), nan=2j)


@pytest.mark.parametrize("rtol", [1e-3, [1e-3, 1e-9], np.array([[1e-9], [1e-3]])], ids=str)
@pytest.mark.parametrize("atol", [0.0, [1e-3, 0.0]], ids=str)
def test_tolerances_may_be_arrays(rtol: object, atol: object) -> None:
    x, y = np.array([1.0, 2.0]), np.array([1.0005, 2.0005])
    expected = np.isclose(x, y, rtol, atol)
    tracked = dispatch.tensor(x, requires_grad=True)
    np.testing.assert_array_equal(np.isclose(tracked, y, rtol, atol), expected, strict=True)
    assert np.allclose(tracked, y, rtol, atol) is bool(expected.all())
    np.testing.assert_array_equal(np.isclose(tracked, y, dispatch.tensor(1e-3, requires_grad=True)), np.isclose(x, y, 1e-3))


def test_the_method_clip_of_an_array_takes_tracked_bounds() -> None:
    x = np.arange(4)
    low, high = [dispatch.tensor(bound, requires_grad=True) for bound in (0.5, 2.5)]
    found = x.clip(low, high)
    np.testing.assert_array_equal(dispatch.detach(found), x.clip(0.5, 2.5), strict=True)
    found.sum().backward()
    assert (low.grad, high.grad) == (1.0, 1.0)


@pytest.mark.parametrize("decimals", [-1, 0, 1])
@pytest.mark.parametrize("dtype", ["?", "i1", "i8", "f8"])
@pytest.mark.parametrize("made", ["?", "i8", "f4", "f8"])
def test_round_into_an_array_gives_what_numpy_gives_or_refuses(dtype: str, made: str, decimals: int) -> None:
    """NumPy computes in `out`: of truth values it refuses without what it does with, of whole numbers the other way about."""
    x = np.array([0, 1, 1] if dtype == "?" else [15, -25, 4]).astype(dtype)

    def f(x: np.ndarray) -> np.ndarray:
        out = np.zeros_like(x, made)
        assert np.round(x, decimals, out=out) is out
        return out

    ways = [lambda: dispatch.make_fx(f, "fake")(x)(x), lambda: dispatch.functionalize(f)(x), lambda: dispatch.vmap(f)(x[None])[0]]
    try:
        expected = f(x)
    except TypeError as error:
        for way in ways:
            with pytest.raises((TypeError, dispatch.errors.UnsupportedError), match=f"^{re.escape(str(error))}$|Give one of that dtype"):
                way()
        return
    for way in ways:
        if made in ("f8", dtype):
            np.testing.assert_array_equal(way(), expected, strict=True)
        else:
            with pytest.raises(dispatch.errors.UnsupportedError, match=rf"^np\.round: out= has dtype {np.dtype(made)}, and the result \w+\. Give one of that dtype\.$"):
                way()
