"""The largest and the smallest beside a derivative are NumPy's own bits; where nothing counts, the derivative is 0. Means in every dtype.

Rows are all of three elements of 0.0, -0.0, 1.0, -inf, inf and nan: NumPy's loops say which zero is the largest, and how a nan is left out.
"""

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch.errors import UnsupportedError

ELEMENTS = [0.0, -0.0, 1.0, -np.inf, np.inf, np.nan]
EVERY = np.array(list(product(ELEMENTS, repeat=3)))
MASK = np.array([True, False, True])
CALLS = [
    *[(name, keywords) for name in ("nanmax", "nanmin", "max", "min") for keywords in ({}, {"initial": -0.0}, {"initial": 0.5, "where": MASK}, {"initial": np.inf, "where": MASK}, {"initial": np.nan})],
]


def bits(x: np.ndarray) -> np.ndarray:
    """Two arrays are the same if these are: nan is one value, zeros are two."""
    x = np.where(np.isnan(x), np.nan, x) if x.dtype.kind == "f" else x
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "f" else np.stack([bits(x.real.copy()), bits(x.imag.copy())])


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128], ids=["float32", "float64", "complex128"])
@pytest.mark.parametrize(("name", "keywords"), CALLS, ids=[f"{name}-{k.get('initial')}{'-where' * ('where' in k)}" for name, k in CALLS])
def test_the_largest_of_every_row_beside_a_derivative(name: str, keywords: dict[str, object], dtype: type) -> None:
    x = EVERY.astype(dtype)

    def f(x: object) -> object:
        return getattr(np, name)(x, axis=1, **keywords)

    expected = f(x)
    value, tangent = dispatch.jvp(f, (x,), (np.ones_like(x),))
    assert np.array_equal(bits(value), bits(expected))
    value, pull = dispatch.vjp(f, x)
    assert np.array_equal(bits(value), bits(expected))
    (gradient,) = pull(np.ones_like(expected))
    counts = np.broadcast_to(np.asarray(keywords.get("where", True)), x.shape)
    if name.startswith("nan"):
        counts = counts & ~np.isnan(x)
        assert not np.any(np.isnan(gradient))
        assert not np.any(np.isnan(tangent))
    assert not np.any(gradient[~counts])  # what does not count has the gradient 0
    assert np.array_equal(np.sum(gradient.real, axis=1), tangent.real, equal_nan=True)
    ties = counts & (x == expected[:, None])
    share = np.where(expected == keywords.get("initial", np.nan), 0.5, 1.0) * np.any(ties, axis=1)
    lost = np.isnan(expected) & (not name.startswith("nan"))
    assert np.array_equal(tangent.real, np.where(lost, np.nan, share), equal_nan=True)


SPREADS = {"var": np.var, "std": np.std, "nanvar": np.nanvar, "nanstd": np.nanstd, "mean": np.mean, "nanmean": np.nanmean}
WHICH = {"all": (), "where": ("where",), "mean": ("mean",), "where and mean": ("where", "mean")}


def fake(f: Callable[[Any], Any], x: Any) -> Any:
    with dispatch.FakeTensorMode() as mode:
        return f(mode.from_array(x))


LAYERS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "vmap": lambda f, x: dispatch.vmap(f)(np.stack([x, x]))[1],
    "jvp": lambda f, x: dispatch.jvp(f, (x,), (x,))[0] if x.dtype.kind in "fc" else f(x),
    "tape": lambda f, x: dispatch.vjp(f, x)[0] if x.dtype.kind in "fc" else f(x),
    "fake": fake,
}


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("name", SPREADS)
@pytest.mark.filterwarnings("ignore")
def test_a_mean_and_a_spread_in_every_dtype_are_numpys(name: str, which: str) -> None:
    """Also in an integer's, which NumPy rounds to and refuses for arrays of deviations, and in a complex one."""
    if "mean" in which and "mean" in name:
        return
    mask = np.array([[True, False, True], [True, True, False]])
    for kind, dtype, axis, keepdims in product(("?", "u1", "f2", "f8", "c8"), (None, "?", "u1", "i8", "f2", "f4", "c8"), (None, 0), (False, True)):
        x = (np.arange(6).reshape(2, 3) * 1.3 + 0.5).astype(kind)
        options = {"where": mask, "mean": np.mean(x, axis=axis, keepdims=True)}

        def f(x: Any, named: Any = (options, dtype, axis, keepdims)) -> Any:
            options, dtype, axis, keepdims = named
            given = {key: value for key, value in options.items() if key in WHICH[which]}
            return SPREADS[name](x, axis=axis, dtype=dtype, keepdims=keepdims, **given)

        for layer, run in LAYERS.items():
            if layer == "fake" and which != "all":
                continue  # it takes no real arrays beside its own
            try:
                expected = f(x)
            except TypeError as error:
                with pytest.raises(type(error)):
                    run(f, x)
                continue
            if layer == "tape" and expected.dtype.kind not in "fc":
                continue  # which has no gradient
            try:
                found = run(f, x)
            except UnsupportedError:
                continue
            assert (found.dtype, tuple(found.shape)) == (expected.dtype, expected.shape), (layer, kind, dtype, axis, keepdims)
            if layer != "fake":
                np.testing.assert_allclose(found, expected, rtol=3e-3 if expected.dtype == np.float16 else 1e-5)


@pytest.mark.parametrize("f", [np.var, np.std])
def test_a_mean_of_more_axes_than_the_array_makes_as_many_spreads(f: Any) -> None:
    x, mean, each = np.array([1.0, 2.0, 4.0]), np.array([[1.0], [2.5]]), np.array([2.0, -1.0])
    for options in ({}, {"where": np.array([True, False, True])}, {"ddof": 0.5}):

        def loss(x: Any, mean: Any, options: Any = options) -> Any:
            return np.sum(f(x, axis=-1, mean=mean, **options) * each)

        dispatch.testing.gradcheck(loss, (x, mean))
        dispatch.testing.gradcheck(dispatch.grad(loss), (x, mean))


@pytest.mark.parametrize("name", SPREADS)
@pytest.mark.filterwarnings("ignore")
def test_where_nothing_counts_both_directions_are_0(name: str) -> None:
    """Beside items in which something counts, whose derivatives stay."""
    mask = np.array([[False, False, False], [True, False, True]])
    for x in (np.array([[0.5, np.nan, np.inf], [1.0, 4.0, 2.5]]), np.arange(6.0).reshape(2, 3)):
        for options in ({"axis": 1}, {"axis": 1, "keepdims": True}):

            def f(x: Any, options: Any = options) -> Any:
                return SPREADS[name](x, where=mask, **options)

            value, pull = dispatch.vjp(f, x)
            np.testing.assert_array_equal(value, f(x))
            assert np.isnan(value.ravel()[0])
            gradient = np.array([pull(np.reshape(one, value.shape))[0] for one in np.eye(2)])
            tangents = np.array([dispatch.jvp(f, (x,), (one.reshape(2, 3),))[1].ravel() for one in np.eye(6)])
            np.testing.assert_allclose(gradient.reshape(2, 6).T, tangents)
            assert not gradient[0].any()


@pytest.mark.parametrize("f", [np.nanvar, np.nanstd])
def test_a_mean_that_does_not_fit_is_refused_by_numpys_nan_spreads(f: Any) -> None:
    x, mean = np.ones(3), np.ones((2, 1))
    for run in (lambda: f(x, axis=-1, mean=mean), lambda: dispatch.vmap(lambda x: f(x, axis=-1, mean=mean))(x[None]), lambda: dispatch.eval_shape(lambda x, m: f(x, axis=-1, mean=m), x, mean)):
        with pytest.raises(ValueError, match="non-broadcastable output operand with shape"):
            run()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.filterwarnings("ignore")
def test_the_mean_of_nothing_is_numpys_own_nan_by_its_sign_too(dtype: str) -> None:
    def f(x: Any) -> Any:
        return np.mean(x, where=np.array([False, False]))

    x = np.ones(2, dtype)
    expected = f(x)
    for layer in ("vmap", "jvp", "tape"):
        found = LAYERS[layer](f, x)
        assert np.signbit([found.real, found.imag]).tolist() == np.signbit([expected.real, expected.imag]).tolist(), layer


@pytest.mark.parametrize("layer", ["tape", "jvp", "vmap"])
@pytest.mark.parametrize("name", ["nanmedian", "nanmedian of rows", "median", "pad"])
@pytest.mark.filterwarnings("ignore")
def test_zeros_have_numpys_sign_in_every_layer(name: str, layer: str) -> None:
    """What NumPy adds begins with 0.0, so that no median is -0.0; a constant that pads may be."""
    f = {
        "nanmedian": np.nanmedian, "median": np.median, "nanmedian of rows": lambda x: np.nanmedian(x, axis=-1, keepdims=True),
        "pad": lambda x: np.pad(x, 1, constant_values=-0.0),
    }[name]  # fmt: skip
    for values in product((0.0, -0.0, 1.0, np.nan), repeat=4):
        x = np.array(values).reshape(2, 2)
        for given in (x, x[0], x[:1]):
            found, expected = LAYERS[layer](f, given), f(given)
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found)[~np.isnan(expected)], np.signbit(expected)[~np.isnan(expected)])


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("function", [np.nanvar, np.nanstd, np.var, np.std])
def test_the_spread_that_a_tangent_goes_through_is_numpys_to_the_bit(function: Any, dtype: str) -> None:
    """The steps are NumPy's own: of complex values np.nanvar takes the product with the conjugate, np.var the squares of both parts."""
    random = np.random.default_rng(0)
    for k in range(20):
        x = (random.normal(size=(4, 5)) + (1j if dtype[0] == "c" else 0) * random.normal(size=(4, 5))).astype(dtype)
        if function in (np.nanvar, np.nanstd):
            x[0, k % 5] = np.nan
        np.testing.assert_array_equal(dispatch.jvp(lambda x: function(x, axis=0), (x,), (x,))[0], function(x, axis=0), strict=True)


@pytest.mark.parametrize("function", [np.mean, np.var, np.std, np.nanmean], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f8", "i4", "c16"])
def test_a_shape_rule_lays_out_what_is_chosen_as_numpy_does(function: Any, dtype: str) -> None:
    x, mask = np.arange(1, 25).reshape(2, 3, 4, order="F").astype(dtype, order="F"), np.ones((3, 4), bool)
    for axis, keepdims in product((0, 1, -1, (0, 2)), (False, True)):
        reduce = lambda x, axis=axis, keepdims=keepdims: function(x, axis=axis, where=mask, keepdims=keepdims)
        expected, found = reduce(x), dispatch.eval_shape(reduce, x)
        counting = [i for i, n in enumerate(expected.shape) if n > 1]
        assert [found.strides[i] for i in counting] == [expected.strides[i] for i in counting]


@pytest.mark.parametrize("function", [np.nanmin, np.nanmax], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f2", "f8", "c16", "i8"])
def test_an_extreme_of_a_number_whose_parts_that_count_are_nan_is_nan_in_a_batch_too(function: Any, dtype: str) -> None:
    x = np.array([1, 2, 0] if dtype == "i8" else [np.nan, 2, 0], dtype)
    choices: list[dict[str, Any]] = [{"initial": 1}, {"initial": 1, "where": False}, {"initial": 1, "where": np.array(True)}]
    for given, a in product(choices, (x, x[:, None])):
        reduce = lambda x, given=given: function(x, **given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of nothing but nan, and ours
            expected, found = np.stack([reduce(item) for item in a]), dispatch.vmap(reduce)(a)
        np.testing.assert_array_equal(found, expected, strict=True)
