"""Operators on DataArrays: dimensions by name, coordinates kept, and a batch along a dimension."""

import numpy as np
import pytest

xr = pytest.importorskip("xarray")

from dask_operators import apply, cube, extent, ordered, weighted  # noqa: E402

import dispatch  # noqa: E402
from dispatch import Tag, custom_op  # noqa: E402
from dispatch.errors import ArgumentError, BatchingError, ConversionError, UnsupportedError  # noqa: E402
from dispatch.interop.xarray import vmap  # noqa: E402

pytestmark = pytest.mark.xarray
RNG = np.random.default_rng(0)
X = xr.DataArray(
    RNG.normal(size=(2, 3, 4)),
    dims=("time", "y", "x"),
    coords={"time": [10, 20], "x": list("abcd"), "height": ("y", [1.0, 2.0, 3.0])},
    name="wind",
    attrs={"units": "m/s"},
)
A = xr.DataArray(RNG.normal(size=(2, 3, 4)), dims=("time", "m", "n"), coords={"time": [10, 20], "m": list("pqr")})


@custom_op("xarraytests::turned", mutates_args=())
def turned(x: np.ndarray) -> np.ndarray:
    """An operator that says nothing of axes, and changes their order."""
    return np.ascontiguousarray(x.T)


turned.register_fake(lambda x: np.empty(x.shape[::-1], x.dtype))


@custom_op("xarraytests::added", mutates_args=())
def added(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """An operator that says nothing of axes, and no shape either."""
    return x + y


@custom_op("xarraytests::outer", mutates_args=(), signature="(i),(j)->(i,j)")
def outer(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Two axes, which may have one name in the arrays."""
    return np.multiply.outer(x, y)


@custom_op("xarraytests::squared", mutates_args=(), signature="(n)->(n,n)")
def squared(x: np.ndarray) -> np.ndarray:
    """One axis twice."""
    return np.multiply.outer(x, x)


@custom_op("xarraytests::scale_", mutates_args=("x",))
def scale_(x: np.ndarray) -> None:
    """Writes."""
    x *= 2


@custom_op("xarraytests::parts", mutates_args=(), tags=Tag.pointwise)
def parts(x: np.ndarray) -> list[np.ndarray]:
    """Returns as many arrays as it likes."""
    return [x + 1]


def same(found, expected):
    xr.testing.assert_identical(found, expected)


# -- elementwise -----------------------------------------------------------------------------------------------------------


def test_an_elementwise_operator_keeps_dimensions_coordinates_name_and_attributes():
    same(cube(X), X.copy(data=cube(X.data)))
    assert type(cube(X.variable)) is xr.Variable


@pytest.mark.parametrize("kept", [True, False, "default"])
def test_attributes_go_as_the_option_of_xarray_says(kept):
    with xr.set_options(keep_attrs=kept):
        same(cube(X), np.negative(X).copy(data=cube(X.data)))


@pytest.mark.parametrize("join", ["inner", "outer", "left", "right", "exact"])
@pytest.mark.parametrize("other", [X.isel(time=[1]), X.isel(y=0), X.transpose("x", "time", "y"), X.assign_coords(time=[20, 30])])
def test_arrays_are_aligned_and_broadcast_by_name_as_xarrays_own_arithmetic_does(join, other):
    with xr.set_options(arithmetic_join=join):
        try:
            expected = X + other
        except ValueError as error:
            with pytest.raises(type(error)):
                weighted(X, other)
        else:
            same(weighted(X, other), expected)
            same(weighted(y=X, x=other, weight=1.0), other + X)


def test_numpys_arrays_and_numbers_go_along():
    same(weighted(X, np.arange(4.0), weight=2.0), 2.0 * X + np.arange(4.0))
    same(weighted(np.float64(3.0), X), 3.0 + X)
    with pytest.raises(ValueError, match="unexpected number of dimensions"):
        weighted(X.isel(time=0), X.data)


def test_rows_of_numpy_are_elementwise_operators_or_left_to_xarray():
    same(dispatch.ops.np.add(X, X.isel(time=0)), X + X.isel(time=0))
    same(np.sin(X), X.copy(data=np.sin(X.data)))
    with pytest.raises(UnsupportedError) as caught:
        dispatch.ops.np.sum(X)
    assert str(caught.value) == (
        "np::sum was called with a DataArray of shape (2, 3, 4) and returned shape (), and nothing says which dimensions these are. "
        "Call NumPy's own function, np.sum(x), which xarray computes."
    )


# -- with a signature ------------------------------------------------------------------------------------------------------


def test_axes_are_found_by_the_names_of_the_signature_wherever_they_stand():
    v = xr.DataArray(RNG.normal(size=(4, 5)), dims=("n", "place"), coords={"place": range(5)})
    expected = xr.dot(A, v, dim="n").transpose("time", "place", "m")
    for a in (A, A.transpose("n", "time", "m"), A.transpose("m", "n", "time")):
        xr.testing.assert_allclose(apply(a, v).transpose("time", "place", "m"), expected)


def test_an_axis_without_such_a_name_is_one_of_the_last_or_the_one_an_earlier_array_has():
    v = xr.DataArray(RNG.normal(size=(4, 5)), dims=("x", "place"))
    xr.testing.assert_allclose(apply(X, v), xr.dot(X, v, dim="x").drop_attrs().transpose("time", "place", "y").assign_attrs(X.attrs))
    w = xr.DataArray(RNG.normal(size=4), dims="other")
    found = apply(X, w)
    assert found.dims == ("time", "y")
    np.testing.assert_allclose(found.data, X.data @ w.data)
    np.testing.assert_allclose(apply(X, w.data).data, X.data @ w.data)
    assert apply(X.data[0], w).dims == ("m",)


def test_one_name_for_two_axes_of_the_signature_is_refused():
    square = X.isel(x=slice(3), time=0)
    with pytest.raises(ArgumentError) as caught:
        apply(square, xr.DataArray(np.ones(3), dims="y"))
    assert str(caught.value) == (
        "dasktests::apply: the dimension 'y' of argument 'x' stands where the signature (m,n),(n)->(m) has n, and an array before it has "
        "'y' for m. Rename one, x.rename({'y': ...})."
    )
    with pytest.raises(ValueError, match="unexpected dimensions"):  # of xarray: one array loops over what another computes along
        apply(square, xr.DataArray(np.ones((3, 3)), dims=("y", "x")))


def test_results_have_the_dimensions_of_the_signature_and_new_ones_a_name_of_their_own():
    low, high, both = extent(X)
    same(low, X.min("x", keep_attrs=True))
    same(high, X.max("x", keep_attrs=True))
    assert both.dims == ("time", "y", "extent_0")
    np.testing.assert_array_equal(both.data, X.data[..., [0, -1]])
    found = outer(X.isel(time=0, y=0), X.isel(time=0, x=0))
    assert found.dims == ("x", "y")
    np.testing.assert_array_equal(found.data, np.multiply.outer(X.data[0, 0], X.data[0, :, 0]))
    assert outer(X.isel(time=0, y=0), np.ones(3)).dims == ("x", "j")
    assert outer(np.ones(2), X.isel(time=0, y=0).rename(x="i")).dims == ("outer_0", "i")
    found = squared(X)
    assert found.dims == ("time", "y", "x", "x_2")
    np.testing.assert_array_equal(found.data, squared(X.data))


def test_too_few_dimensions_are_refused():
    with pytest.raises(ArgumentError) as caught:
        apply(X.isel(time=0, y=0), X)
    assert str(caught.value).partition("\n")[0] == (
        "dasktests::apply: argument 'a' has the dimensions ('x',), and (m,n) of the signature (m,n),(n)->(m) asks for 2."
    )


# -- neither ---------------------------------------------------------------------------------------------------------------


def test_an_operator_that_says_nothing_of_axes_keeps_them_where_the_shape_stays():
    same(ordered(X, times=3), X.copy(data=ordered(X.data, 3)))
    same(added(X, X.transpose("x", "y", "time")), X.copy(data=X.data + X.data))
    square = X.isel(x=slice(3))
    same(ordered(square), square.copy(data=ordered(square.data)))  # by its shape rule, asked for other lengths


def test_what_nobody_can_tell_the_dimensions_of_is_refused_with_the_line_to_write():
    flat, square = X.isel(time=0), X.isel(time=0, x=slice(3))
    remedy = (
        "Define the operator with signature='...' or tags=Tag.pointwise, or say it in the call: "
        "xarray.apply_ufunc({}, x, input_core_dims=[['y', 'x']], output_core_dims=[...])."
    )
    with pytest.raises(UnsupportedError) as caught:
        turned(flat)
    assert str(caught.value) == (
        "xarraytests::turned was called with a DataArray of shape (3, 4) and returned shape (4, 3), and nothing says which dimensions "
        "these are. " + remedy.format("turned")
    )
    for op, args in ((turned, (square,)), (added, (square, square))):  # the second has no shape rule that could be asked
        with pytest.raises(UnsupportedError) as caught:
            op(*args)
        assert str(caught.value) == (
            f"{op.name} was called with a DataArray with (y: 3, x: 3), of which two axes have one length, so that nothing says which axis "
            "of the result is which. " + remedy.format(op.schema.name)
        )
    with pytest.raises(ArgumentError) as caught:
        added(flat, flat.isel(y=0))
    assert str(caught.value) == (
        "xarraytests::added was called with DataArrays of dimensions ('y', 'x') and ('x',), and nothing says which axes it computes "
        "along. " + remedy.format("added")
    )
    found = xr.apply_ufunc(turned, flat, input_core_dims=[["y", "x"]], output_core_dims=[["x", "y"]])  # the line works
    same(found, flat.transpose("x", "y"))


def test_writes_and_lists_of_results_are_refused():
    with pytest.raises(UnsupportedError) as caught:
        scale_(X)
    assert str(caught.value) == (
        "xarraytests::scale_ writes to its arguments, and a DataArray that is aligned with others is a copy, in which a write would be "
        "lost. Give it the array, scale_(x.data)."
    )
    with pytest.raises(UnsupportedError) as caught:
        parts(X)
    assert str(caught.value) == (
        "xarraytests::parts returns Tensor[], and not arrays, each of which could be a DataArray. Give it the array, parts(x.data)."
    )


def test_what_holds_several_arrays_gets_a_line_that_works():
    data = X.to_dataset()
    with pytest.raises(ArgumentError) as caught:
        cube(data)
    assert str(caught.value) == (
        "dasktests::cube: argument 'x' is an array, and was given a Dataset, which holds several. Write x.map(cube), which calls the "
        "operator for each of them."
    )
    same(data.map(cube).wind, cube(X))
    with pytest.raises(ArgumentError, match=r"Write y\.map\(lambda y: weighted\(x, y\)\), which"):
        weighted(2.0, data)
    with pytest.raises(ArgumentError, match=r"given a DataArrayGroupBy, .* Write x\.map\(cube\)"):
        cube(X.groupby("time"))
    same(X.groupby("time").map(cube), cube(X))
    with pytest.raises(ArgumentError, match=r"given a DatasetGroupBy, .* Write x\.map\(lambda ds: ds\.map\(cube\)\)"):
        cube(data.groupby("time"))
    same(data.groupby("time").map(lambda ds: ds.map(cube)).wind, cube(X))
    tree = xr.DataTree(data)
    with pytest.raises(ArgumentError, match=r"given a DataTree, .* Write x\.map_over_datasets\(lambda ds: ds\.map\(cube\)\)"):
        cube(tree)
    same(tree.map_over_datasets(lambda ds: ds.map(cube)).wind, cube(X))


def test_an_index_of_xarray_is_refused_in_the_usual_words():
    with pytest.raises(ArgumentError, match=r"argument 'x' is Tensor, and was given a DataArrayRolling\."):
        cube(X.rolling(time=2))


# -- lazily ----------------------------------------------------------------------------------------------------------------


@pytest.mark.dask
def test_arrays_of_dask_stay_lazy():
    lazy = X.chunk(time=1, y=2)
    for op in (cube, lambda x: weighted(x, x.isel(time=0)), lambda x: apply(x.chunk(y=-1), np.ones(4)), extent, lambda x: ordered(x.chunk(dict.fromkeys(x.dims, -1)))):
        found, expected = op(lazy), op(X)
        for y, e in zip(*[z if isinstance(z, tuple) else (z,) for z in (found, expected)], strict=True):
            assert type(y.data).__module__.startswith("dask.")
            xr.testing.assert_allclose(y.compute(), e)
    gradient = dispatch.grad(lambda x: (cube(x) * x).sum())(lazy)
    assert type(gradient.data).__module__.startswith("dask.")
    xr.testing.assert_allclose(gradient.compute(), 4 * X**3)


# -- a batch along a dimension -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", X.dims)
def test_vmap_along_a_dimension_is_a_loop_over_its_labels(dim):
    f = lambda x, w: cube(x) / x.sum() * w
    weights = xr.DataArray([0.5, 2.0], dims="time", coords={"time": [10, 20]})
    found = vmap(f, dim)(X, weights)
    items = [f(X.isel({dim: i}), weights.isel(time=i) if dim == "time" else weights) for i in range(X.sizes[dim])]
    expected = xr.concat(items, dim, coords="minimal", compat="override", join="override").transpose(*found.dims)
    assert found.dims[0] == dim
    xr.testing.assert_allclose(found.drop_vars("height"), expected.drop_vars("height"))  # which concat has of one item
    xr.testing.assert_identical(found.height, X.height)
    assert set(found.coords) == set(X.coords)
    xr.testing.assert_allclose(vmap(dispatch.grad(lambda x: (cube(x) * 2.0).sum()), dim)(X).transpose(*X.dims), 6 * X**2)


def test_inside_vmap_nobody_reads_a_coordinate_of_one_item_for_all():
    with pytest.raises(AttributeError, match="height"):
        vmap(lambda x: x * x.height, "y")(X)
    table = X.assign_coords(area=(("time", "y"), np.ones((2, 3))))
    assert set(vmap(cube, "y")(table).coords) == set(table.coords)
    assert set(vmap(lambda x: x.sum("time"), "y")(table).coords) == {"x", "height"}


def test_vmap_aligns_and_takes_containers_and_variables():
    found = vmap(lambda p: {"sum": p["x"] + p["y"], "n": p["x"].data.sum()}, "time")({"x": X, "y": X.isel(time=[1])})
    same(found["sum"], (X + X.isel(time=[1])).transpose("time", ...))
    assert found["n"].shape == (1,)
    assert vmap(lambda v: v * 2, "y")(X.variable).dims == ("y", "time", "x")
    with pytest.raises(BatchingError) as caught:
        vmap(cube, "nowhere")(X)
    assert str(caught.value) == "vmap: no DataArray among the arguments has the dimension 'nowhere', of 'time', 'y', 'x'. Give one that has."


def test_a_tensor_of_a_dataarray_would_lose_its_labels():
    with pytest.raises(ConversionError) as caught:
        dispatch.tensor(X, requires_grad=True)
    assert str(caught.value) == (
        "tensor was given a DataArray with (time: 2, y: 3, x: 4), of which it would keep the array alone. Write "
        "x.copy(data=dispatch.tensor(x.data, requires_grad=True))."
    )
    x = X.copy(data=dispatch.tensor(X.data, requires_grad=True))
    (cube(x) * 1.0).sum().data.backward()
    np.testing.assert_allclose(x.data.grad, 3 * X.data**2)
