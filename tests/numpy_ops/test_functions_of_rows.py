"""NumPy's functions that are made of rows in Python, such as np.cov and np.histogram, on what each layer tracks.

A function is held to its laws by a line in CALLS: it gives NumPy's bits under the tape, its derivatives are those of finite differences
both ways and to second order, a batch along each axis is the loop over it, a fake has the shape, and a trace gives what it gives.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch import FakeTensorMode, make_fx, vmap
from dispatch.core.pytree import leaves
from dispatch.errors import BatchingError, DataDependentError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
X = np.array([[0.5, -1.25, 2.0, 3.5, 1.0], [1.75, 0.25, -0.5, 2.25, 0.75]])
Y = np.array([0.3, 1.9, -0.7, 2.6, 1.1])
Z = X + 1j * X[::-1]
W = np.array([0.5, 2.0, 1.0, 1.5, 0.75])
N = np.array([1, 2, 3, 1, 2])  # whole numbers: NumPy multiplies others by aweights where they stand
Function = Callable[..., Any]

# By name: the function, and its arrays; what is tracked, batched and faked are all of them. Points lie between the edges of bins.
CALLS: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "cov": (np.cov, (X,)),
    "cov y": (lambda x, y: np.cov(x, y, ddof=0), (X, Y)),
    "cov of rows": (lambda x: np.cov(x, rowvar=False, bias=True), (X,)),
    "cov of one": (np.cov, (Y,)),
    "cov dtype": (lambda x: np.cov(x, dtype="f4"), (X,)),
    "cov weights": (lambda x, w: np.cov(x, aweights=w), (X, W)),
    "cov counts": (lambda x, w: np.cov(x, fweights=N, aweights=w), (X, W)),
    "cov counts alone": (lambda x: np.cov(x, fweights=N, bias=True), (X,)),
    "cov of complex": (np.cov, (Z,)),
    "corrcoef": (np.corrcoef, (np.vstack([X, Y]),)),
    "corrcoef y": (lambda x, y: np.corrcoef(x, y, rowvar=True), (X, Y)),
    "corrcoef of complex": (np.corrcoef, (Z + np.array([[0, 1, 0, 2, 1j], [1, 0, 3j, 0, 0]]),)),
    "gradient": (np.gradient, (X,)),
    "gradient step": (lambda x, h: np.gradient(x, h, axis=1, edge_order=2), (X, np.array(0.5))),
    "gradient steps": (lambda x: np.gradient(x, 2, 0.5), (X,)),
    "gradient points": (lambda x: np.gradient(x, [0.0, 1.0, 1.5, 3.0, 4.0], axis=-1, edge_order=2), (X,)),
    "gradient at points": (lambda x, p: np.gradient(x, p, axis=1), (X, np.array([0.0, 1.0, 1.5, 3.0, 4.0]))),
    "ediff1d": (np.ediff1d, (X,)),
    "ediff1d ends": (lambda x, y: np.ediff1d(x, to_end=y[:2], to_begin=3.0), (X, Y)),
    "unwrap": (lambda x: np.unwrap(4 * x), (X,)),
    "unwrap period": (lambda x, p: np.unwrap(4 * x, period=p, axis=0), (X, np.array(2.5))),
    "cumulative_sum": (lambda x: np.cumulative_sum(x, axis=1, include_initial=True), (X,)),
    "cumulative_prod": (lambda x: np.cumulative_prod(x, axis=0, include_initial=True, dtype="f8"), (X,)),
    "interp": (lambda x, y: np.interp(x, np.arange(5.0) - 0.9, y), (X, Y)),
    "interp period": (lambda x, y: np.interp(x, [0.1, 3.2, 0.7, 2.1, 1.3], y, period=3.6), (X, Y)),
    "interp at points": (lambda x, p, y: np.interp(x, p, y, left=7.0), (X, np.arange(5.0) - 0.9, Y)),
    "percentile": (lambda x: np.percentile(x, [15, 40.0], axis=1), (X,)),
    "percentile q": (lambda x, q: np.percentile(x, q, method="hazen"), (X, np.array([31.0, 77.0]))),
    "nanpercentile": (lambda x: np.nanpercentile(x, 62.5, axis=0, keepdims=True), (X,)),
    "nanmedian": (lambda x: np.nanmedian(x, axis=1), (X,)),
    "median of axes": (lambda x: np.median(x, axis=(0, 1), keepdims=True), (X,)),
    "convolve": (lambda x, y: np.convolve(x[0], y, mode="same"), (X, Y)),
    "convolve of a number": (lambda x: np.convolve(x[0], 2.5) + np.convolve(-1, x[1]), (X,)),
    "correlate": (lambda x, y: np.correlate(x[0] * 1j, y[:2], mode="full"), (X, Y)),
    "histogram of weights": (lambda w: np.histogram(Y, 3, weights=w), (W,)),
    "histogram": (lambda x: np.histogram(x, 4), (X,)),
    "histogram density": (lambda x, w: np.histogram(x, bins=3, density=True, weights=w), (Y, W)),
    "histogram range": (lambda x: np.histogram(x, bins=3, range=(-0.9, 2.3)), (X,)),
    "histogram bins": (lambda x, e: np.histogram(x, e, density=True), (X, np.array([-1.0, 0.1, 1.1, 3.0]))),
    "histogram_bin_edges": (lambda x: np.histogram_bin_edges(x, 3), (X,)),
    "histogram2d": (lambda x, y, w: np.histogram2d(x, y, [2, 3], weights=w, density=True), (Y[::-1], Y, W)),
    "histogram2d of so many bins": (lambda x, y: np.histogram2d(x, y, 3), (Y[::-1], Y)),
    "histogramdd of so many bins": (lambda x, w: np.histogramdd(x, (2, 3), weights=w, density=True), (X.T, W)),
    "histogramdd": (lambda x: np.histogramdd(x, (2, [-2.0, 0.4, 3.6])), (X.T,)),
    "bincount": (lambda w: np.bincount([0, 2, 2, 1, 5], w), (W,)),
    "digitize": (lambda x: np.digitize(x, [-1.0, 0.4, 1.2]), (X,)),
    "average returned": (lambda x, w: np.average(x, 1, w, True), (X, W)),
    "ptp": (lambda x: np.ptp(x, axis=(0, 1), keepdims=True), (X,)),
    "trapezoid": (lambda x, p: np.trapezoid(x, p, axis=1), (X, np.array([0.0, 1.0, 1.5, 3.0, 4.0]))),
}  # fmt: skip
if not hasattr(np, "cumulative_sum"):  # NumPy 2.0
    del CALLS["cumulative_sum"], CALLS["cumulative_prod"]
# An error of rounding divided by the step of the differences is no smaller than the second derivative of what float32 computes.
COARSE = {"cov dtype"}
every_call = pytest.mark.parametrize(("f", "args"), CALLS.values(), ids=CALLS)
derivable = pytest.mark.parametrize(("f", "args"), [call for name, call in CALLS.items() if name not in COARSE | {"digitize"}], ids=[name for name in CALLS if name not in COARSE | {"digitize"}])


def floats(out: Any) -> list[Any]:
    return [x for x in leaves(out) if x.dtype.kind in "fc"]


def value(x: Any) -> Any:
    return dispatch.detach(x) if isinstance(x, dispatch.Tensor) else x


def strides(x: Any) -> Any:
    return [step for n, step in zip(x.shape, x.strides, strict=True) if n > 1] if x.size else []


@every_call
def test_it_gives_numpys_bits_under_the_tape(f: Function, args: Any) -> None:
    expected, found = f(*args), f(*[dispatch.tensor(x, requires_grad=True) for x in args])
    assert type(found) is type(expected) or not isinstance(expected, (tuple, list))
    for x, y in zip(leaves(found), leaves(expected), strict=True):
        x, y = np.asarray(value(x)), np.asarray(y)
        assert (x.shape, x.dtype, strides(x)) == (y.shape, y.dtype, strides(y))
        np.testing.assert_array_equal(x, y)


def total(out: Any) -> Any:
    """A number that each element of a result counts in otherwise."""
    return sum(np.sum(np.real(x * (1.0 + 0.5j if x.dtype.kind == "c" else 1.0)) * np.resize([1.0, -0.5, 0.75, 2.0, 0.25], x.shape)) for x in floats(out))


def slopes(f: Function, args: Any) -> Any:
    return dispatch.grad(lambda *xs: total(f(*xs)), tuple(range(len(args))))(*args)


def differences(f: Function, args: Any, at: int, direction: Any, step: float = 1e-6) -> Any:
    above, below = [f(*args[:at], args[at] + sign * step * direction, *args[at + 1 :]) for sign in (1, -1)]
    return (above - below) / (2 * step)


def direction(x: Any) -> Any:
    return np.resize([1.0, 0.5, -2.0, 1.25], x.shape).astype(x.dtype)


@derivable
def test_its_derivatives_are_those_of_finite_differences(f: Function, args: Any) -> None:
    number = lambda *xs: total(f(*xs))
    for at, (x, slope) in enumerate(zip(args, slopes(f, args), strict=True)):
        expected = differences(number, args, at, direction(x))
        np.testing.assert_allclose(np.sum(np.real(np.conj(slope) * direction(x))), expected, rtol=1e-6, atol=1e-7)
        tangents = tuple([direction(y) if i == at else np.zeros_like(y) for i, y in enumerate(args)])
        np.testing.assert_allclose(dispatch.jvp(number, args, tangents)[1], expected, rtol=1e-6, atol=1e-7)


@derivable
def test_its_second_derivatives_are_those_of_the_first(f: Function, args: Any) -> None:
    def steepness(*xs: Any) -> Any:
        return sum(np.sum(np.real(np.conj(slope) * direction(slope)[::-1] if slope.shape else slope)) for slope in slopes(f, xs))

    found = dispatch.grad(steepness, tuple(range(len(args))))(*args)
    for at, (x, slope) in enumerate(zip(args, found, strict=True)):
        expected = differences(steepness, args, at, direction(x))
        np.testing.assert_allclose(np.sum(np.real(np.conj(slope) * direction(x))), expected, rtol=1e-5, atol=1e-6)


def near(found: Any, expected: Any) -> None:
    for x, y in zip(leaves(found), leaves(expected), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-5 if x.dtype == "f4" else 1e-12, atol=1e-6 if x.dtype == "f4" else 1e-12)


@every_call
def test_a_batch_along_each_axis_is_the_loop_over_it(f: Function, args: Any) -> None:
    batch = [np.stack([x, x * 1.125, x * 0.75]) for x in args]
    expected = [leaves(f(*items)) for items in zip(*batch, strict=True)]
    for dim in (0, -1):
        found = vmap(f, in_dims=dim)(*[np.moveaxis(x, 0, dim) for x in batch])
        near(found, [np.stack(column) for column in zip(*expected, strict=True)])
    one = vmap(f, in_dims=(0, *[None] * (len(args) - 1)))(batch[0], *args[1:])
    near(one, [np.stack(column) for column in zip(*[leaves(f(x, *args[1:])) for x in batch[0]], strict=True)])


@every_call
def test_the_slope_of_each_item_is_the_loop_over_slopes(f: Function, args: Any) -> None:
    batch = [np.stack([x, x * 1.125, x * 0.75]) for x in args]
    if floats(f(*args)):
        near(vmap(lambda *xs: slopes(f, xs))(*batch), [np.stack(column) for column in zip(*[slopes(f, items) for items in zip(*batch, strict=True)], strict=True)])


@every_call
def test_a_fake_has_its_shape_and_a_trace_gives_what_it_gives(f: Function, args: Any) -> None:
    expected = leaves(f(*args))
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        if f is not CALLS["bincount"][0]:
            found = leaves(f(*map(mode.from_array, args)))
            assert [(x.shape, x.dtype) for x in found] == [(x.shape, x.dtype) for x in expected]
    others = [x * 1.0625 for x in args]
    near(make_fx(lambda *xs: leaves(f(*xs)))(*args)(*others), leaves(f(*others)))


# -- what depends on data --------------------------------------------------------------------------------------------------------


def refused(call: Callable[[], Any], error: type[Exception]) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


COUNTED = np.array([[0, 2, 1], [1, 1, 3]])


@pytest.mark.parametrize(
    ("f", "names"),
    [
        (lambda x: np.histogram2d(x[0], x[1]), ["getitem", "getitem", "histogram2d"]),
        (lambda x: np.histogramdd(x.T, [2, 3]), ["transpose", "histogramdd"]),
        (lambda x: np.linalg.lstsq(x, x[:, 0]), ["getitem", "linalg_solved"]),
        (lambda x: np.linalg.lstsq(x.T, x.T), ["transpose", "transpose", "linalg_solved", "settled"]),
        (lambda x: np.gradient(x), ["gradient"]),
        (lambda x: np.gradient(x, 0.5, 2, axis=(1, 0)), ["gradient"]),
        (lambda x: np.gradient(x, axis=1), ["equal_differences"]),
    ],
)
def test_it_is_one_call_of_a_graph_that_gives_numpys_bits(f: Function, names: list[str]) -> None:
    graph = make_fx(f, "fake")(X)
    assert [node.op.schema.name for node in graph.nodes if node.op is not None] == names
    for x in (X, X[::-1] * 3.0, np.asfortranarray(X).astype(np.float64) + 1.0):
        for run in (graph, dispatch.compile(f, fullgraph=True)):
            for found, expected in zip(leaves(run(x)), leaves(f(x)), strict=True):
                assert (type(found), found.dtype, found.shape, found.tobytes()) == (type(expected), expected.dtype, expected.shape, expected.tobytes())


def test_a_batch_of_counts_needs_a_length() -> None:
    weights = np.array([[1.0, 0.5, 2.0], [3.0, 0.25, 1.0]])
    expected = np.stack([np.bincount(x, w, 5) for x, w in zip(COUNTED, weights, strict=True)])
    np.testing.assert_array_equal(vmap(lambda x, w: np.bincount(x, w, minlength=5))(COUNTED, weights), expected)
    np.testing.assert_array_equal(vmap(lambda w: np.bincount(COUNTED[1], w))(weights), [np.bincount(COUNTED[1], w) for w in weights])
    assert refused(lambda: vmap(np.bincount)(COUNTED), BatchingError).startswith(
        "np::bincount: each of the 2 items of a batch gives as many counts as its largest element says, which make no batch. "
        "Give minlength=, larger than every element."
    )
    assert refused(lambda: vmap(lambda x: np.bincount(x, minlength=2))(COUNTED), BatchingError).startswith(
        "np::bincount: an element of a batch is 3, and minlength=2: its item has more counts than others, which make no batch. Give minlength=4, or more."
    )
    assert "negative" in refused(lambda: vmap(lambda x: np.bincount(x, minlength=5))(-COUNTED), ValueError)


def test_complex_numbers_in_bins_of_one_width_make_no_batch() -> None:
    """NumPy's own way for them reads real parts alone; bins by their edges it orders as complex numbers, and so does a batch."""
    z = np.array([[0.5 + 1j, -1j, 0.5 - 1j, 1.0], [1j, 0.25, -0.5 + 1j, 0.5]])
    assert refused(lambda: vmap(lambda x: np.histogram(x, 3))(z), BatchingError).startswith(
        "np.histogram of complex numbers: NumPy finds bins of one width by real parts alone, which a batch does not. Give the "
        "edges, bins=np.linspace(low, high, n + 1), or take x.real."
    )
    edges = np.array([-1.0, 0.5, 1.0 + 1j])
    np.testing.assert_array_equal(vmap(lambda x: np.histogram(x, edges)[0])(z), [np.histogram(x, edges)[0] for x in z])


def test_how_many_counts_there_are_depends_on_data() -> None:
    with FakeTensorMode() as mode:
        assert refused(lambda: np.bincount(mode.from_array(COUNTED[0])), DataDependentError).startswith(
            "np::bincount: how many counts it gives of an array of shape (3,) depends on its largest element, and a fake has no data. "
            "Give the mode symbolic sizes, FakeTensorMode(shape_env=ShapeEnv()), or call it on real arrays, outside the mode."
        )


def test_how_many_counts_plain_numbers_give_is_known() -> None:
    places, w = np.array([0, 2, 2, 1, 5]), np.array([0.5, 2.0, -1.0, 4.0, 0.25])
    for x, least in ((places, 0), (places.tolist(), 8), (places.astype(np.uint8), 6)):
        f = lambda w, x=x, least=least: np.bincount(x, weights=w, minlength=least)
        made = dispatch.eval_shape(f, w)
        assert (made.shape, made.dtype) == (f(w).shape, f(w).dtype)
        for mode in ("real", "fake"):
            graph = dispatch.make_fx(f, mode)(w)
            assert not graph.symbols
            np.testing.assert_array_equal(graph(2 * w), f(2 * w))
    compiled = dispatch.compile(lambda w: np.bincount(places, w), fullgraph=True)
    for places[-1] in (5, 3, 9):
        np.testing.assert_array_equal(compiled(w), np.bincount(places, w))
    for wrong, error in ((places - 1, "no negative elements"), (places[:3], "the same length"), (places * 0.5, "Cannot cast"), (places[None], "too deep")):
        assert error in refused(lambda wrong=wrong: dispatch.grad(lambda w: np.sum(np.bincount(wrong, w)))(w), (TypeError, ValueError))


def test_an_estimated_number_of_bins_is_that_of_numpy_and_makes_no_batch() -> None:
    for bins in ("auto", "sqrt", "fd", "doane"):
        found = np.histogram(dispatch.tensor(Y, requires_grad=True), bins)
        for x, y in zip(found, np.histogram(Y, bins), strict=True):
            np.testing.assert_array_equal(value(x), y)
    assert "np::number_of_bins" in refused(lambda: vmap(lambda x: np.histogram(x, "auto"))(X), BatchingError)


BAD: dict[str, tuple[Function, str]] = {
    "quantile": (lambda x: np.quantile(x, x), "Quantiles must be in the range [0, 1]"),
    "percentile": (lambda x: np.percentile(x, 60 * x), "Percentiles must be in the range [0, 100]"),
    "quantile of weights": (lambda x: np.quantile(x, 0.5, weights=-x, method="inverted_cdf"), "Weights must be non-negative."),
    "quantile of no weight": (lambda x: np.quantile(x, 0.5, weights=0 * x, method="inverted_cdf"), "Weights included NaN, inf or were all zero."),
    "cov counts": (lambda x: np.cov(x, fweights=x), "fweights must be integer"),
    "cov weights": (lambda x: np.cov(x, aweights=-x), "aweights cannot be negative"),
    "interp": (lambda x: np.interp(x, x, x, period=0 * x[0]), "period must be a non-zero value"),
    "bins": (lambda x: np.histogram(x, -x), "`bins` must increase monotonically, when an array"),
    "range": (lambda x: np.histogram(x, 2, (x[1], x[0])), "max must be larger than min in range parameter."),
    "spacing": (lambda x: np.histogram(x, 2, (1 + 0 * x[0], 1 + 1e-16 * x[0] + 2.3e-16)), "Too many bins for data range."),
    "not finite": (lambda x: np.histogram(x / 0), "range is not finite"),
}  # fmt: skip


@pytest.mark.parametrize(("f", "said"), BAD.values(), ids=BAD)
def test_what_data_say_is_wrong_raises_as_in_numpy(f: Function, said: str) -> None:
    x = np.array([0.5, 1.5, 2.5])
    message = refused(lambda: f(dispatch.tensor(x, requires_grad=True)), (TypeError if "integer" in said else ValueError))
    assert message.startswith(said)


NOWHERE: dict[str, tuple[Function, Any]] = {
    "fftshift of no axes": (np.fft.fftshift, np.array(1.5)),
    "ifftshift of no axes": (np.fft.ifftshift, np.array(1.5)),
    "vector_norm of no axes": (lambda x: np.linalg.vector_norm(x, axis=0), np.array(1.5)),
    "digitize complex": (lambda x: np.digitize(x, np.sort(np.real(x))), Z[0, :3]),
}


@pytest.mark.parametrize(("f", "x"), NOWHERE.values(), ids=NOWHERE)
def test_what_numpy_takes_of_no_such_array_no_layer_takes(f: Function, x: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as expected:
        f(x)
    for call in (lambda: f(dispatch.tensor(x, requires_grad=True)), lambda: dispatch.vmap(f)(np.stack([x, x])), lambda: dispatch.eval_shape(f, x)):
        assert refused(call, type(expected.value)).startswith(str(expected.value))


@pytest.mark.parametrize("name", ["quantile", "nanpercentile"])
@pytest.mark.parametrize("weights", [None, W])
def test_a_quantile_of_all_elements_can_be_written_to_where_numpys_can(name: str, weights: Any) -> None:
    method = "linear" if weights is None else "inverted_cdf"
    asked = lambda x: getattr(np, name)(x, 0.5, weights=weights, method=method).flags.writeable
    found: list[Any] = [asked(dispatch.tensor(Y, requires_grad=True))]
    told = lambda x: (found.append(asked(x)), x)[1]
    dispatch.vmap(told)(Y[None])
    dispatch.eval_shape(told, Y)
    dispatch.jvp(told, (Y,), (Y,))
    assert found == [asked(Y)] * 4


def test_q_of_two_axes_with_several_axes_is_refused() -> None:
    said = refused(lambda: np.nanquantile(dispatch.tensor(X[None], requires_grad=True), np.array([[0.5]]), (0, 1)), UnsupportedError)
    assert said.startswith("np.nanquantile: of q with two axes and an array along several NumPy puts the axes of the result in a wrong order.")


def test_statistics_without_a_degree_of_freedom_warn() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        np.cov(dispatch.tensor(Y[:1], requires_grad=True))
    assert "Degrees of freedom <= 0 for slice" in [str(w.message) for w in told]


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("step", [1, 2])
def test_parts_of_a_batch_lie_in_memory_as_the_parts_of_its_items(dtype: Any, step: int) -> None:
    batch = np.ones((4 * step, 2, 3), dtype).transpose(0, 2, 1)[::step]
    for part in (np.real, np.imag):
        found: list[bool] = []
        dispatch.vmap(lambda x, part=part, found=found: found.append(part(x).flags.f_contiguous) or x)(batch)
        assert found == [part(batch[0]).flags.f_contiguous]


WITH_NAN = [[np.nan], [0.0, 1.0, np.nan], [0.0, np.nan, 2.0], [3.0, np.nan, 1.0], [np.nan, 3.0, 1.0], [np.nan, np.nan], [2.0, 2.0, np.nan, 0.0]]


@pytest.mark.parametrize("bins", [np.zeros((2, 0)), np.array([[0.0, 1.0], [2.0, 0.5]]), *[np.array([x, x]) for x in WITH_NAN]], ids=str)
@pytest.mark.parametrize("right", [False, True])
def test_bins_of_a_batch_may_be_none_or_nan(bins: Any, right: bool) -> None:
    x = np.array([[0.5, -1.0, 2.0], [0.5, 3.0, 1.0]])
    found = vmap(lambda x, bins: np.digitize(x, bins, right))(x, bins)
    np.testing.assert_array_equal(found, [np.digitize(p, b, right) for p, b in zip(x, bins, strict=True)])
    wanted = [np.digitize(x, b, right) for b in bins]
    np.testing.assert_array_equal(vmap(lambda bins: vmap(lambda x: np.digitize(x, bins, right))(x))(bins), wanted)
    np.testing.assert_array_equal(vmap(lambda x, bins: np.digitize(x, bins, right), (0, 1), 1)(x, bins.T), np.swapaxes([np.digitize(p, b, right) for p, b in zip(x, bins, strict=True)], 0, 1))
    np.testing.assert_array_equal(vmap(lambda bins: np.digitize(1.5, bins, right))(bins), [np.digitize(1.5, b, right) for b in bins])
    np.testing.assert_array_equal(vmap(lambda x: vmap(lambda bins: np.digitize(x, bins, right))(bins))(x), np.swapaxes(wanted, 0, 1))


def test_bins_of_a_batch_are_refused_as_numpy_refuses_those_of_an_item() -> None:
    for x, bins in ((np.ones((2, 3)), np.array([[0.0, 1.0, 2.0], [0.0, 2.0, 1.0]])), (np.ones((2, 3), complex), np.ones((2, 1))), (np.ones((2, 3)), np.ones((2, 1, 1)))):
        with pytest.raises((ValueError, TypeError)) as wanted:
            [np.digitize(*pair) for pair in zip(x, bins, strict=True)]
        for run in (vmap(np.digitize), lambda *args: make_fx(vmap(np.digitize), "fake")(*args)(*args)):
            with pytest.raises(type(wanted.value)) as caught:
                run(x, bins)
            assert str(caught.value) == str(wanted.value)


def test_a_batch_of_tables_is_read_as_numpy_reads_each_of_them() -> None:
    """To the bit: nan, infinities, points that stand in a table several times, tables of one point, all points in the table or outside of it."""
    rng = np.random.default_rng(0)
    for special in [True] * 60 + [False] * 20:
        n = rng.integers(1, 5)
        x, xp, fp = [rng.choice([0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, 0.5], s) if special else rng.normal(size=s) for s in ((3, 4), (3, n), (3, n))]
        xp = np.sort(np.where(np.isnan(xp), 0.0, xp))
        np.testing.assert_array_equal(vmap(np.interp)(x, xp, fp), list(map(np.interp, x, xp, fp)))
        np.testing.assert_array_equal(vmap(np.interp, (None, None, 0))(x[0], xp[0], fp), [np.interp(x[0], xp[0], p) for p in fp])


def test_a_batch_of_uint64_is_counted() -> None:
    x = np.array([[1, 2, 1], [0, 0, 2]], np.uint64)
    try:
        expected = [np.bincount(p, minlength=4) for p in x]
    except TypeError:  # of some versions of NumPy
        pytest.skip("np.bincount takes no uint64")
    np.testing.assert_array_equal(vmap(lambda x: np.bincount(x, minlength=4))(x), expected)


def test_complex_points_beside_a_batch_of_tables_are_read_as_numpy_reads_them() -> None:
    """It casts a number to its real part, with a warning or without, and raises for an array."""
    table = np.array([[0.0, 1.0], [0.0, 2.0]])
    with warnings.catch_warnings(action="ignore"):
        for x in (np.complex64(0.5 + 1j), np.complex128(1.5)):
            np.testing.assert_array_equal(vmap(lambda t, x=x: np.interp(x, t, t))(table), [np.interp(x, t, t) for t in table], strict=True)
    for args in ((np.array([0.5j]), table, table), (0.5, table * 1j, table)):
        with pytest.raises(TypeError, match="Cannot cast array data from dtype"):
            np.interp(args[0], args[1][0], args[2][0])
        with pytest.raises(TypeError, match="Cannot cast array data from dtype"):
            vmap(np.interp, in_dims=(None, 0, 0))(*args)


@pytest.mark.parametrize("f", [lambda x: functools.reduce(np.add, x[x > 0]), lambda x: np.roots(np.unique(x)), lambda x: list(x[x > 0])], ids=["reduce", "roots", "list"])
@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_items_of_a_size_that_data_decide_are_refused_in_our_words(f: Function, mode: Any) -> None:
    """functools.reduce, and NumPy where it looks for arguments, raise a TypeError of their own for one that iter(x) raises."""
    with pytest.raises(DataDependentError, match=r"the number that the size u0 is was asked for .*and u0 depends on data"):
        make_fx(f, mode)(np.array([1.0, -2.0, 3.0]))


def test_a_batch_refuses_weights_of_a_histogram_that_it_cannot_add() -> None:
    x, weights = np.array([[0.25, 0.5], [0.5, 0.75]]), np.ones((2, 2), np.longdouble)
    with pytest.raises(BatchingError, match=rf"np.histogram of weights of dtype {weights.dtype}: a batch .* Give weights.astype\(float\)."):
        dispatch.vmap(lambda x, w: np.histogram(x, 2, (0, 1), weights=w)[0])(x, weights)


@pytest.mark.parametrize("f", [np.nanmedian, np.median, lambda x: np.nanquantile(x, 0.5), lambda x: np.nanquantile(x, [0.5, 0.2], axis=0)])
def test_sizes_that_may_be_zero_are_asked_for_where_an_empty_array_has_another_answer(f: Callable[..., Any]) -> None:
    def of_few(x: Any) -> Any:
        return f(x[x.shape[0] // 2 :][: x.shape[0] // 4])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of an empty slice
        for n in (3, 12):
            graph = make_fx(of_few, "symbolic")(np.arange(1.0 * n))
            for m in (n, n - 1):
                assert np.array_equal(graph(np.arange(1.0 * m)), of_few(np.arange(1.0 * m)), equal_nan=True)


def test_of_a_complex_number_interp_takes_the_real_part_in_graphs_and_fakes_too() -> None:
    x, table = np.complex128(0.5 + 1j), np.array([0.0, 1.0])
    f: Callable[..., Any] = lambda x: np.interp(x, table, table * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        assert make_fx(f, "fake")(x)(x) == f(x)
        assert dispatch.eval_shape(f, x).dtype == f(x).dtype
    for run in (f, lambda x: dispatch.eval_shape(f, x)):
        with pytest.raises(TypeError, match=r"Cannot cast .* from dtype\('complex128'\) to dtype\('float64'\)"):
            run(np.array([x]))


@pytest.mark.parametrize("wrap", [dispatch.compile, dispatch.functionalize])
@pytest.mark.parametrize("f", [np.histogram, np.histogram_bin_edges])
def test_the_edges_of_a_histogram_are_the_array_that_was_given(f, wrap):
    edges, falling = np.array([0.0, 2.0, 4.0]), np.array([4.0, 2.0, 0.0])
    made = wrap(lambda x, bins: f(x, bins))
    for g in (f, made, made):
        found = g(np.arange(5.0), edges)
        assert (found[1] if f is np.histogram else found) is edges
        with pytest.raises(ValueError, match="must increase monotonically"):
            g(np.arange(5.0), falling)


@pytest.mark.parametrize("weights", [None, np.zeros(0), np.zeros(0, "f4")], ids=repr)
@pytest.mark.parametrize("least", [0, 3])
def test_of_nothing_a_fake_counts_what_numpy_counts(weights: Any, least: int) -> None:
    x = np.zeros(0, int)
    wanted = np.bincount(x, weights, least)
    with FakeTensorMode() as mode:
        found = np.bincount(mode.from_array(x), None if weights is None else mode.from_array(weights), least)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    for several in (2, 3):
        f = vmap(lambda x, weights: np.bincount(x, weights, 3), (0, None if weights is None else 0))
        args = [a if a is None else np.stack([a] * several) for a in (x, weights)]
        with FakeTensorMode() as mode:
            found = f(*[a if a is None else mode.from_array(a) for a in args])
        wanted = f(*args)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype) == ((several, 3), np.bincount(x, weights, 3).dtype)
