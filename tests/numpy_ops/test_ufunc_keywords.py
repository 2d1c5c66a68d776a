"""Keywords of ufuncs that need more than one array beside NumPy's own: places of the axes of an item, several results, dtypes of a loop."""

from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch.core.pytree import arrays
from dispatch.numpy_ops.numpy_functions import UFUNCS

X, Y = np.arange(24.0).reshape(2, 3, 4), np.cos(np.arange(24.0)).reshape(2, 3, 4)
ITEMS: list[tuple[Any, Any, Any, dict[str, Any]]] = [
    (np.matmul, X, Y, {"axes": [(1, 2), (2, 1), (1, 2)]}),
    (np.matmul, X, Y, {"axes": [(0, 1), (1, 0), (-1, 0)]}),
    (np.matmul, X, Y[0, 0], {"axes": [(-2, -1), (0,), (0,)]}),
    (np.matmul, X, Y, {"axes": [(-2, -1), (-1, -2), (-2, -1)]}),
    (np.vecdot, X, Y, {"axis": 0}),
    (np.vecdot, X, Y, {"axis": 1, "keepdims": True}),
    (np.vecdot, X, Y[:, 0, 0], {"axes": [0, 0, ()]}),
    (np.vecdot, X, Y, {"axes": [0, 0, 1], "keepdims": True}),
    (np.vecdot, X, Y, {"keepdims": True}),
    (np.vecdot, X, Y, {"axis": 0, "dtype": "f4", "casting": "same_kind"}),
]


@pytest.mark.parametrize(("f", "x", "y", "options"), ITEMS)
def test_the_axes_of_an_item_may_be_anywhere(f: Any, x: Any, y: Any, options: dict[str, Any]) -> None:
    expected = f(x, y, **options)

    def run(x: Any) -> Any:
        return f(x, y, **options)

    found, slope = dispatch.jvp(run, (x,), (np.sin(x),))
    np.testing.assert_allclose(found, expected, 1e-6 if "dtype" in options else 1e-12)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(slope, f(np.sin(x), y, **options), 1e-5 if "dtype" in options else 1e-12)
    g = np.cos(np.arange(expected.size)).reshape(expected.shape).astype(expected.dtype)
    np.testing.assert_allclose(np.sum(dispatch.vjp(run, x)[1](g)[0] * np.sin(x)), np.sum(g * slope), 1e-5)
    np.testing.assert_allclose(dispatch.vmap(run)(np.stack([x, 2 * x]))[1], 2 * expected, 1e-6)
    with dispatch.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert run(mode.from_array(x)).shape == expected.shape
    tracked = dispatch.tensor(x, requires_grad=True)
    out = np.zeros_like(tracked, dtype=expected.dtype, shape=expected.shape)
    assert f(tracked, y, out=out, **options) is out
    np.testing.assert_allclose(out.detach(), expected, 1e-6)


def test_places_that_there_are_not_raise_numpys_own_error() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    for options in ({"axis": 7}, {"axes": [(0,)]}, {"axis": 0, "axes": [0, 0, ()]}):
        for a in (X, x):
            with pytest.raises((ValueError, TypeError)):
                np.vecdot(a, Y, **options)


def test_a_signature_and_a_dtype_choose_the_loop() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    for options in ({"signature": "ff->f", "casting": "same_kind"}, {"sig": (None, None, np.float32), "casting": "same_kind"}, {"dtype": "f4"}):
        expected = np.add(X, Y, **options)
        found = np.add(x, Y, **options)
        assert found.dtype == expected.dtype == np.float32
        np.testing.assert_array_equal(found.detach(), expected)
    with pytest.raises(TypeError):
        np.add(x, Y, signature="??->?")


def test_each_of_several_results_may_have_its_own_place() -> None:
    x = dispatch.tensor(X - 12.5, requires_grad=True)
    out = np.zeros_like(x)
    whole, rest = np.divmod(x, 5.0, out=(None, out))
    assert rest is out
    np.testing.assert_array_equal(whole, np.divmod(X - 12.5, 5.0)[0])
    np.testing.assert_array_equal(rest.detach(), np.divmod(X - 12.5, 5.0)[1])
    rest.sum().backward()
    np.testing.assert_array_equal(x.grad, np.ones_like(X))


AXES = [(0, 2), (0, 2, 2), (0, 2, 0), (0, 2, 1), (0, 0), (0, 0, 0), (-1, 0), ((-1,), (0,), (1,))]


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_the_axis_that_keepdims_keeps_is_where_numpy_has_it(axes: Any) -> None:
    x, y = np.arange(27.0).reshape(3, 3, 3), np.arange(10.0, 19.0).reshape(3, 1, 3)
    expected = np.vecdot(x, y, axes=list(axes), keepdims=True)
    found = np.vecdot(dispatch.tensor(x, requires_grad=True), y, axes=list(axes), keepdims=True)
    np.testing.assert_array_equal(dispatch.detach(found), expected, strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64], ids=lambda dtype: dtype.__name__)
def test_the_result_of_a_cast_lies_as_what_was_cast(dtype: Any) -> None:
    """NumPy casts piece by piece, and lays the result out by the operands as they were given: where memory repeats, a copy lies otherwise."""
    x = np.array([[0, 1, 0]], np.int8)
    laid = [
        np.broadcast_to(x, (2, 3)), np.broadcast_to(x.T, (3, 2)), np.broadcast_to(x.T[..., None], (3, 2, 2)), np.asfortranarray(x + x.T), (x + x.T)[::-1, ::2],
        np.lib.stride_tricks.sliding_window_view(np.array([0, 1, 0, 1], np.int8), 2),
    ]  # fmt: skip
    tried = 0
    for ufunc in [f for f in vars(np).values() if isinstance(f, np.ufunc) and not f.signature and f in UFUNCS]:
        for k, y in enumerate(laid):
            f = lambda *xs, ufunc=ufunc: arrays(ufunc(*xs, dtype=dtype, casting="unsafe"))
            given = [y, laid[k - 1] if laid[k - 1].shape == y.shape else y][: ufunc.nin]
            with np.errstate(all="ignore"):
                try:
                    expected = f(*given)
                except TypeError:  # there is no such loop
                    break
                found = dispatch.functionalize(f)(*given)
                assert [z.strides for z in found] == [z.strides for z in expected], (ufunc, k)
            tried += 1
    assert tried > 100
