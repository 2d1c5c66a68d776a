"""Every mode of `np.pad` with its options, against NumPy on plain arrays and under every layer."""

import warnings
from typing import Any

import numpy as np
import pytest
from function_laws import hold

import dispatch
from dispatch import ops
from dispatch.errors import UnsupportedError
from dispatch.numpy_ops.numpy_functions import FUNCTIONS, load_rest
from tests.numpy_ops.numpy_calls import Arrays
from tests.numpy_ops.test_numpy_calls import bits, told

X = np.array([[0.5, -1.5, 2.25], [3.5, 1.25, -0.5]])
MODES: list[tuple[str, dict[str, Any]]] = [
    ("constant", {}), ("constant", {"constant_values": 2}), ("constant", {"constant_values": ((1, 2), (3, 4))}), ("edge", {}), ("wrap", {}),
    ("reflect", {}), ("reflect", {"reflect_type": "odd"}), ("symmetric", {}), ("symmetric", {"reflect_type": "odd"}),
    ("linear_ramp", {}), ("linear_ramp", {"end_values": (1, 2)}), ("linear_ramp", {"end_values": ((1, 2), (3, -4))}),
    *[(mode, options) for mode in ("mean", "median", "maximum", "minimum") for options in ({}, {"stat_length": 2}, {"stat_length": ((1, 2), (3, 1))})],
]  # fmt: skip
WIDTHS = [1, (1, 2), ((0, 1), (2, 0)), ((5, 7), (0, 4)), 0]


@pytest.mark.parametrize(("mode", "options"), MODES)
def test_a_mode(mode: str, options: Any) -> None:
    for widths in WIDTHS[1:3]:
        hold(lambda x, widths=widths: np.pad(x * 1, widths, mode, **options), X)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("of_x", [lambda x: x[0, 1], lambda x: x[:, 0], lambda x: x[:, :2], lambda x: [x[1, 2], 3.0]], ids=["one", "two", "four", "a list"])
@pytest.mark.parametrize(("mode", "option"), [("constant", "constant_values"), ("linear_ramp", "end_values")])
def test_what_pads_has_derivatives_too(mode: str, option: str, of_x: Any, dtype: str) -> None:
    for widths in WIDTHS[1:]:
        if dtype == "f8":
            hold(lambda x, widths=widths: np.pad(x * 1, widths, mode, **{option: of_x(x)}), X)
            continue
        x = X.astype(dtype)
        t = dispatch.tensor(x, requires_grad=True)
        found, expected = [np.pad(y, widths, mode, **{option: of_x(y)}) for y in (t, x)]
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(dispatch.detach(found), expected)


@pytest.mark.parametrize(("mode", "options"), MODES)
def test_the_values_and_layouts_are_numpys_to_the_bit(mode: str, options: Any) -> None:
    load_rest()
    for dtype, layout in (("f8", "C"), ("f8", "F"), ("i4", "transposed"), ("u1", "every other"), ("c16", "C"), ("f4", "F")):
        for shape in ((2, 3), (1, 4), (0, 3)):
            x = Arrays(dtype, layout, True)(*shape)
            for widths in WIDTHS:
                with warnings.catch_warnings(action="ignore"):
                    try:
                        expected = np.pad(x, widths, mode, **options)
                    except (ValueError, TypeError) as error:
                        with pytest.raises(type(error)):
                            FUNCTIONS[np.pad](x, widths, mode, **options)
                        continue
                    found = FUNCTIONS[np.pad](x, widths, mode, **options)
                    assert (told(found), bits(found)) == (told(expected), bits(expected))
                    made = dispatch.vmap(lambda x, widths=widths: np.pad(x, widths, mode, **options))(x[None])[0]
                assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
                np.testing.assert_allclose(made, expected, rtol=1e-5)


def test_what_pads_with_a_value_that_a_layer_follows_is_laid_out_as_numpys() -> None:
    for order in "CF":
        x, first = np.asarray(X, order=order), np.array(0.5)
        expected = np.pad(x, 1, constant_values=first)
        taped = np.pad(dispatch.tensor(x, requires_grad=True), 1, constant_values=dispatch.tensor(first, requires_grad=True))
        faked = dispatch.eval_shape(lambda x, first: np.pad(x, 1, constant_values=first), x, first)
        assert taped.strides == faked.strides == expected.strides
        assert taped.detach().tobytes() == expected.tobytes()


def test_what_is_empty_may_hold_anything_around_the_array() -> None:
    found = dispatch.grad(lambda x: np.sum(np.pad(x, 1, "empty")[1:-1, 1:-1] ** 2))(X)
    np.testing.assert_array_equal(found, 2 * X)


def test_what_no_mode_has_raises_numpys_errors() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    for call, said in [
        (lambda x: np.pad(x, 1, "other"), "mode 'other' is not supported"),
        (lambda x: np.pad(x, 1, "edge", stat_length=2), "unsupported keyword arguments for mode 'edge'"),
        (lambda x: np.pad(x, 1, "maximum", stat_length=0), "stat_length of 0 yields no value for padding"),
        (lambda x: np.pad(x[:0], 1, "mean"), "can't extend empty axis 0"),
    ]:
        for value in (x, X):
            with pytest.raises(ValueError, match=said):
                call(value)
    with pytest.raises(UnsupportedError, match=r"np\.pad: mode=a function has no row\. It would write to parts of an array: np\.concatenate them\."):
        np.pad(x, 1, lambda vector, widths, axis, options: None)
    assert ops.np.pad(X, 1).shape == (4, 5)


def test_widths_that_numpy_refuses_are_refused_in_every_layer() -> None:
    x = np.arange(3.0)
    for width in (1.5, True, -1, (1, -2), [(0, 1.5)], {0: (1, -1)}, []):
        for mode in ("constant", "edge", "mean"):
            with pytest.raises((TypeError, ValueError)) as expected:
                np.pad(x, width, mode)  # type: ignore[call-overload]
            for layer in (
                lambda f: f(dispatch.tensor(x, requires_grad=True)), lambda f: dispatch.jvp(f, (x,), (x,)), lambda f: dispatch.vmap(f)(x[None]),
                lambda f: dispatch.eval_shape(f, x), lambda f: dispatch.make_fx(f)(x),
            ):  # fmt: skip
                with pytest.raises(expected.type) as caught:
                    layer(lambda x, width=width, mode=mode: np.pad(x, width, mode))
                assert str(caught.value).split("\n")[0] == str(expected.value)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2"])
@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_what_is_turned_about_an_edge_keeps_its_dtype(mode: Any, dtype: str) -> None:
    x = np.array([[1, 0, 1], [0, 0, 1]], dtype)
    for widths in (1, (1, 2), 5, 0):
        f = lambda x, widths=widths: np.pad(x, widths, mode, reflect_type="odd")
        expected = np.stack([f(row) for row in x])
        np.testing.assert_array_equal(dispatch.vmap(f)(x), expected, strict=True)
        assert dispatch.eval_shape(f, x[0]).dtype == expected.dtype
