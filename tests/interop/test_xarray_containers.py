"""DataArrays and Datasets in transforms: opened as containers of their arrays, and put together again."""

import numpy as np
import pytest

xr = pytest.importorskip("xarray")

from children import said_by_child  # noqa: E402
from dask_operators import cube  # noqa: E402

import dispatch  # noqa: E402
from dispatch.errors import GradientError, PerformanceWarning, UnsupportedError  # noqa: E402

pytestmark = pytest.mark.xarray
X = xr.DataArray(
    np.random.default_rng(1).normal(size=(2, 3)),
    dims=("time", "x"),
    coords={"time": [10, 20], "height": ("x", [1.0, 2.0, 3.0])},
    name="wind",
    attrs={"units": "m/s"},
)
FUNCTIONS = {  # of a DataArray; in NumPy of its array
    "own methods": (lambda x: (x.sel(time=20) * x.mean("time")).sum(), lambda a: (a[1] * a.mean(0)).sum()),
    "by name": (lambda x: (x * x.isel(time=0)).sum(), lambda a: (a * a[0]).sum()),
    "aligned": (lambda x: (x * x.isel(time=[1])).sum(), lambda a: (a[1] * a[1]).sum()),
    "operator": (lambda x: cube(x).transpose("x", "time").isel(x=0).sum(), lambda a: (a[:, 0] ** 3).sum()),
    "ufuncs": (lambda x: np.exp(-np.sin(x)).where(x > 0, 2.0 * x).sum(), lambda a: np.where(a > 0, np.exp(-np.sin(a)), 2.0 * a).sum()),
    "groups": (lambda x: (x.groupby("time").sum() ** 2).sum(), lambda a: (a**2).sum()),
    "product": (lambda x: xr.dot(x, x, dim="x").sum(), lambda a: (a * a).sum()),
}


@pytest.mark.parametrize(("f", "plain"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_gradient_by_a_dataarray_is_one_and_has_the_values_of_its_array(f, plain):
    gradient = dispatch.grad(f)(X)
    xr.testing.assert_identical(gradient.copy(data=X.data), X)  # dimensions, coordinates, name, attributes
    np.testing.assert_allclose(gradient.data, dispatch.grad(plain)(X.data), rtol=1e-12)
    value, again = dispatch.value_and_grad(f)(X)
    assert type(value) is xr.DataArray
    assert type(value.data) is np.ndarray
    np.testing.assert_allclose(value.data, plain(X.data), rtol=1e-12)
    xr.testing.assert_identical(again, gradient)
    tangent = dispatch.jvp(f, (X,), (X,))[1]
    np.testing.assert_allclose(tangent.data, (gradient.data * X.data).sum(), rtol=1e-12)
    xr.testing.assert_allclose(dispatch.grad(dispatch.checkpoint(f))(X), gradient)


def test_gradients_of_any_order_and_in_containers():
    twice = dispatch.grad(lambda x: (dispatch.grad(lambda x: cube(x).sum())(x) * 1.0).sum())(X)
    np.testing.assert_allclose(twice.data, 6 * X.data)
    found = dispatch.grad(lambda p: (p["x"] * p["w"]).sum() + p["data"].wind.sum())({"x": X, "w": np.ones(3), "data": X.to_dataset()})
    xr.testing.assert_identical(found["x"], xr.ones_like(X))
    np.testing.assert_allclose(found["w"], X.data.sum(0))
    xr.testing.assert_identical(found["data"], xr.ones_like(X.to_dataset()))
    np.testing.assert_allclose(dispatch.grad(lambda w: cube(X * w).sum())(np.ones(3)), (3 * X.data**3).sum(0))
    xr.testing.assert_equal(dispatch.grad(lambda t: (t**2).sum())(X.time.astype(float)), 2.0 * X.time)  # of a coordinate


def test_a_cotangent_has_the_dimensions_and_labels_of_the_result():
    out, pull = dispatch.vjp(lambda x: cube(x), X)
    xr.testing.assert_allclose(pull(X)[0], 3 * X**3)
    xr.testing.assert_identical(pull(None)[0], xr.zeros_like(X))
    words = "vjp: the cotangent is {}, and the result is a DataArray with (time: 2, x: 3). {}Give one of the same structure, None for what is zero."
    other = "Their labels along a dimension differ. "
    for given, kind, labels in (
        (X.T, "a DataArray with (x: 3, time: 2)", ""),
        (X.assign_coords(time=[1, 2]), "a DataArray with (time: 2, x: 3)", other),
        (X.data, "an array of shape (2, 3)", ""),
        (X.to_dataset(), "a Dataset with wind(time: 2, x: 3)", ""),
    ):
        with pytest.raises(GradientError) as caught:
            pull(given)
        assert str(caught.value) == words.format(kind, labels)
    assert out.dims == X.dims


def test_what_has_no_gradient_is_named_by_its_place():
    with pytest.raises(GradientError, match=r"and \.data of it is an array of dtype int64, which has no derivative"):
        dispatch.grad(lambda x: x.sum())(X.time)
    with pytest.raises(GradientError, match=r"and \['n'\]\.data of it is an array of dtype int64"):
        dispatch.grad(lambda x: x.wind.sum())(X.to_dataset().assign(n=3))
    with pytest.raises(GradientError, match=r"this one returned shape \(2,\)\. Sum the result"):
        dispatch.grad(lambda x: x.sum("x"))(X)


def test_shapes_are_known_without_data():
    found = dispatch.eval_shape(lambda x: cube(x).mean("time"), X)
    assert (found.dims, found.shape, type(found.data).__name__) == (("x",), (3,), "FakeTensor")


def test_what_has_other_axes_is_refused_with_what_to_write():
    for transform in (dispatch.jacrev, dispatch.jacfwd):
        with pytest.raises(UnsupportedError) as caught:
            transform(lambda x: x * 2)(X)
        assert str(caught.value) == (
            "a DataArray with (time: 2, x: 3) is to hold an array of shape (2, 3, 2, 3), and nothing says what its axes are: a Jacobian or "
            "a batch has others. Give the transform x.data, and make the DataArray of what comes back; a batch along a dimension is "
            "dispatch.interop.xarray.vmap(f, dim)."
        )
    with pytest.raises(UnsupportedError, match=r"is to hold an array of shape \(3,\).*interop\.xarray\.vmap"):
        dispatch.vmap(lambda x: x * 2)(X)
    with pytest.raises(UnsupportedError) as caught:
        dispatch.make_fx(lambda x: x * 2)(X)
    assert str(caught.value) == (
        "a DataArray with (time: 2, x: 3) is to hold a Node, and holds arrays alone: a graph has no coordinates, and a Jacobian no one "
        "array. Give the transform x.data, and make the DataArray of what comes back."
    )


def test_a_compiled_function_runs_as_it_is():
    f = dispatch.compile(lambda x: x.sel(time=20) * 2)
    with pytest.warns(PerformanceWarning, match=r"the argument x is a DataArray, and a graph has NumPy's arrays as inputs\. Write np\.asarray\(x\)"):
        xr.testing.assert_identical(f(X), X.sel(time=20) * 2)
    moved = X.assign_coords(time=[20, 30])
    xr.testing.assert_identical(f(moved), moved.sel(time=20) * 2)


def test_what_a_compiled_function_refers_to_is_seen_to_change():
    data = X.to_dataset()
    f = dispatch.compile(lambda a: (data.wind * a).data)
    with pytest.warns(PerformanceWarning, match=r"it refers to a Dataset, which may change where nobody sees it\. Let it refer to the array, x\.data, or pass that"):
        np.testing.assert_array_equal(f(2.0), 2.0 * X.data)
    data["wind"] = X * 3.0
    np.testing.assert_array_equal(f(2.0), 6.0 * X.data)


def test_xarray_is_found_by_its_objects_and_not_imported():
    said_by_child("import sys, dispatch; assert 'xarray' not in sys.modules")
    said_by_child(
        "import xarray, dispatch, numpy as np, sys\n"
        "assert 'dispatch.interop.xarray' not in sys.modules\n"
        "x = xarray.DataArray(np.ones(2), dims='t')\n"
        "assert dispatch.grad(lambda x: (x * x).sum())({'a': x}['a']).dims == ('t',)"
    )
