"""Operators on Dask arrays: lazily, by chunks, with gradients, in worker processes too."""

import os
import pickle
import resource

import numpy as np
import pytest

da = pytest.importorskip("dask.array")

import dask  # noqa: E402
from custom_op_db import numpy_nonzero  # noqa: E402
from dask_operators import apply, cube, extent, fails, fragile, ordered, read, seen, sine, sine_by_partial, weighted  # noqa: E402

import dispatch  # noqa: E402
from dispatch import custom_op  # noqa: E402
from dispatch.errors import ArgumentError, NoKernelError, NoRuleError, OperatorNotFoundError, OutputError, UnsupportedError  # noqa: E402
from dispatch.interop.dask import Task  # noqa: E402

pytestmark = pytest.mark.dask
X = np.arange(12.0).reshape(4, 3) / 7
LAZY = [da.from_array(X, chunks=chunks) for chunks in ((4, 3), (2, 3), (1, 2), ((3, 1), (1, 2)))]
dask.compute(cube(LAZY[0]), scheduler="synchronous")  # asks once whether it is pointwise, which is two runs
every_chunking = pytest.mark.parametrize("x", LAZY, ids=lambda x: str(x.chunks))


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def same(found, expected, exact=True):
    assert isinstance(found, da.Array)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    computed = found.compute()
    assert type(computed) is type(expected) or computed.ndim == 0
    np.testing.assert_array_equal(computed, expected) if exact else np.testing.assert_allclose(computed, expected, rtol=1e-12)


@every_chunking
def test_no_kernel_runs_before_compute_and_then_once_for_each_chunk(x):
    seen.clear()
    y = cube(x)
    assert (seen, y.chunks) == ([], x.chunks)
    np.testing.assert_array_equal(y.compute(), X * X * X)
    assert sorted(seen) == sorted((i, k) for i in x.chunks[0] for k in x.chunks[1])


@every_chunking
def test_arrays_broadcast_along_loop_axes_and_numpys_go_along(x):
    for other in (X[:1], X[:, :1], X[0], da.from_array(X[0], chunks=1), np.float64(2.0), np.ones((2, 1, 1))):
        plain = other.compute() if isinstance(other, da.Array) else other
        same(weighted(x, other, weight=0.5), weighted(X, np.asarray(plain), weight=0.5))
        same(weighted(np.asarray(plain), x), weighted(np.asarray(plain), X))


def test_the_axes_of_a_signature_stay_whole_and_the_others_are_chunked():
    a, v = np.arange(60.0).reshape(5, 4, 3), np.arange(15.0).reshape(5, 3)
    for chunks in (1, 2, 5):
        found = apply(da.from_array(a, chunks=(chunks, 4, 3)), da.from_array(v, chunks=(chunks, 3)))
        same(found, apply(a, v))
        same(apply(da.from_array(a, chunks=(chunks, 4, 3)), v[0]), apply(a, v[0]))
        assert found.chunks == (da.from_array(a, chunks=(chunks, 4, 3)).chunks[0], (4,))


def test_several_results_are_several_arrays():
    x = da.from_array(X, chunks=(1, 3))
    for found, expected in zip(extent(x), extent(X), strict=True):
        same(found, expected)


def test_an_operator_that_says_nothing_of_chunks_runs_on_arrays_of_one_chunk():
    same(ordered(da.from_array(X, chunks=-1), times=3), ordered(X, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: apply(da.ones((4, 4, 3), chunks=(2, 2, 1)), np.ones(3)),
            (
                "dasktests::apply: argument 'a' has axis 1 in 2 chunks and axis 2 in 3 chunks, and its signature needs m, n in one. Write "
                "a.rechunk({1: -1, 2: -1}), or register a kernel that takes Dask arrays: @apply.register_kernel('dask')."
            ),
        ),
        (
            lambda: ordered(LAZY[1]),
            (
                "dasktests::ordered: argument 'x' has axis 0 in 2 chunks, and nothing says what the operator does to chunks. Write "
                "x.rechunk({0: -1}), define the operator with signature='...' or tags=Tag.pointwise, or register a kernel that takes Dask "
                "arrays: @ordered.register_kernel('dask')."
            ),
        ),
    ],
)
def test_chunks_that_a_kernel_cannot_take_are_refused_with_the_line_to_write(call, message):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert str(caught.value) == message


def test_what_cannot_be_lazy_is_refused():
    @custom_op("dasktests::unknown", mutates_args=())
    def unknown(x: np.ndarray) -> np.ndarray:
        return x + 0

    with pytest.raises(NoRuleError) as caught:
        unknown(LAZY[0])
    assert str(caught.value) == (
        "dasktests::unknown was called with Dask arrays and has no shape rule, so that nobody knows what comes out before it is "
        "computed. Add one: @unknown.register_fake."
    )

    @custom_op("dasktests::scale_", mutates_args=("x",))
    def scale_(x: np.ndarray) -> None:
        x *= 2

    with pytest.raises(UnsupportedError) as caught:
        scale_(LAZY[0])
    assert str(caught.value) == (
        "dasktests::scale_ writes to its arguments, and nothing writes to the chunks of a Dask array. Call the form that returns what it "
        "writes: scale_.functional(...)."
    )

    @custom_op("dasktests::tells", mutates_args=(), tags=dispatch.Tag.dynamic_output_shape)
    def tells(x: np.ndarray) -> int:
        return int((x > 1).sum())

    tells.register_fake(lambda x: dispatch.library.get_ctx().new_dynamic_size())
    with pytest.raises(UnsupportedError) as caught:
        tells(LAZY[0])
    assert str(caught.value) == (
        "dasktests::tells returns a number that depends on data, and a Dask graph holds arrays alone. Return it as an array of no axes."
    )


@custom_op("dasktests::pieces", mutates_args=())
def pieces(x: np.ndarray, at: list[int], lie: bool = False) -> tuple[list[np.ndarray], int, dict[str, np.ndarray]]:
    return [part.copy() for part in np.split(x, at)], len(at) + 1 + lie, {"sum": np.asarray(x.sum())}


@pieces.register_fake
def _(x, at, lie):
    parts = [np.empty_like(x, shape=(stop - start, *x.shape[1:])) for start, stop in zip([0, *at], [*at, len(x)], strict=True)]
    return parts, len(at) + 1, {"sum": np.empty((), x.dtype)}


def test_results_are_in_the_containers_of_the_operator_and_numbers_are_what_the_shape_rule_says():
    lazy, plain = pieces(LAZY[0], [1]), pieces(X, [1])
    assert lazy[1] == plain[1] == 2
    for found, expected in zip([*lazy[0], lazy[2]["sum"]], [*plain[0], plain[2]["sum"]], strict=True):
        same(found, expected)
    with pytest.raises(OutputError) as caught:
        pieces(LAZY[0], [1], lie=True)[0][0].compute()
    assert str(caught.value) == (
        "dasktests::pieces returned an array, an array, 3, an array in a task of Dask, and its shape rule said an array, an array, 2, an "
        "array."
    )


def test_a_size_that_depends_on_data_is_unknown_until_it_is_computed():
    found = numpy_nonzero(LAZY[0] > 1)
    assert (np.isnan(found.shape[0]), found.shape[1], found.dtype) == (True, 2, np.dtype(np.intp))
    np.testing.assert_array_equal(found.compute(), numpy_nonzero(X > 1))
    with pytest.raises(ArgumentError) as caught:
        cube(found)
    assert str(caught.value) == (
        "dasktests::cube: argument 'x' has shape (nan, 2), and a shape rule needs numbers. Write x.compute_chunk_sizes(), which computes "
        "the array to count them."
    )
    same(cube(found.compute_chunk_sizes()), cube(numpy_nonzero(X > 1)))


@custom_op("dasktests::squared_again", mutates_args=())
def squared_again(kept: dispatch.Residual, x: np.ndarray) -> np.ndarray:
    return kept["twice"] * x


squared_again.register_fake(lambda kept, x: np.empty_like(x))


def test_a_kernel_that_is_tagged_pointwise_and_is_not_is_refused_once_chunks_are_to_be_cut():
    @custom_op("dasktests::running", mutates_args=(), tags=dispatch.Tag.pointwise)
    def running(x: np.ndarray) -> np.ndarray:
        return np.cumsum(x, axis=-1)

    running.register_fake(np.empty_like)
    lazy = da.from_array(X, chunks=((4,), (1, 2)))
    with pytest.raises(ArgumentError) as caught:
        running(lazy).compute()
    assert str(caught.value) == (
        "dasktests::running is tagged pointwise, by which its kernel runs on each chunk alone, and an element of its result "
        "changes with those beside it. Leave out Tag.pointwise, and name the axes that it needs whole: signature='(n)->(n)'."
    )
    assert np.array_equal(running(X), np.cumsum(X, axis=-1))


@custom_op("dasktests::squared", mutates_args=(), tags=dispatch.Tag.pointwise)
def squared(x: np.ndarray) -> tuple[np.ndarray, dispatch.Residual]:
    return x * x, {"twice": 2 * x}


squared.register_fake(lambda x: np.empty_like(x))
squared.register_autograd(lambda ctx, g: squared_again(ctx.residual, g))


def test_a_residual_stays_in_the_graph_and_is_of_arrays_in_one_chunk():
    same(squared(LAZY[0]), X * X)
    same(dispatch.grad(lambda x: np.sum(np.sin(x) * squared(x)))(LAZY[0]), np.cos(X) * X * X + np.sin(X) * 2 * X, exact=False)
    with pytest.raises(ArgumentError) as caught:
        squared(LAZY[1])
    assert str(caught.value) == (
        "dasktests::squared: argument 'x' has axis 0 in 2 chunks, and its Residual is of arrays in one. Write x.rechunk({0: -1}), or "
        "register a kernel that takes Dask arrays: @squared.register_kernel('dask')."
    )


@pytest.mark.filterwarnings("error")
def test_a_function_that_dask_lacks_is_refused_and_not_computed_at_once():
    with pytest.raises(NoKernelError) as caught:
        dispatch.ops.np.sort(LAZY[0])
    assert str(caught.value) == (
        "np::sort was called with Dask arrays, and dask.array has no sort. Compute the array first, x.compute(), or register a "
        "kernel: dispatch.register_kernel('np::sort', 'dask', function)."
    )


def test_a_kernel_for_dask_is_left_to_itself():
    @custom_op("dasktests::own", mutates_args=())
    def own(x: np.ndarray) -> np.ndarray:
        return x + 1

    own.register_kernel("dask", lambda x: x + 100)
    same(own(LAZY[2]), X + 100)
    np.testing.assert_array_equal(own(X), X + 1)


def test_an_exception_says_which_chunk_and_keeps_its_type():
    with pytest.raises(OverflowError, match=r"^seven") as caught:
        fails(da.from_array(np.arange(10.0), chunks=3)).compute()
    assert "in chunk (2,) of a Dask array" in caught.value.__notes__


# -- gradients ---------------------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "numpy": lambda x: np.sum(np.sin(x) * x, axis=1),
    "operator": lambda x: cube(x) * 2.0,
    "both": lambda x: np.exp(-cube(np.tanh(x))).mean(axis=0),
    "max": lambda x: np.max(x, axis=1),
    "shapes": lambda x: np.concatenate([np.reshape(x, (-1,)), np.transpose(x)[0]]),
    "slices": lambda x: x[1:3, ::2] ** 2,
}


@every_chunking
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_derivatives_are_lazy_and_what_they_are_of_numpys_arrays(f, x):
    loss = lambda x: np.sum(f(x))
    seen.clear()
    found = dispatch.grad(loss)(x)
    value, again = dispatch.value_and_grad(loss)(x)
    tangent = dispatch.jvp(f, (x,), (x,))[1]
    assert not seen
    expected = dispatch.grad(loss)(X)
    same(found, expected, exact=False)
    same(again, expected, exact=False)
    np.testing.assert_allclose(value.compute(), loss(X))
    same(tangent, dispatch.jvp(f, (X,), (X,))[1], exact=False)


def test_the_gradient_in_parameters_of_the_caller_is_one_graph_over_the_chunks():
    rng = np.random.default_rng(0)
    data, targets, w = rng.normal(size=(100, 3)), rng.normal(size=100), rng.normal(size=3)
    lazy, lazy_targets = da.from_array(data, chunks=(7, 3)), da.from_array(targets, chunks=7)

    def loss(w, x, y):
        return np.mean((np.tanh(x @ w) - y) ** 2)

    value, gradient = dask.compute(*dispatch.value_and_grad(loss)(w, lazy, lazy_targets))
    expected, along = dispatch.value_and_grad(loss)(w, data, targets)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, along, rtol=1e-12)


@every_chunking
def test_vmap_over_a_chunked_axis(x):
    same(dispatch.vmap(lambda row: cube(row) * row[0])(x), np.stack([cube(row) * row[0] for row in X]), exact=False)


def test_a_leaf_keeps_the_lazy_array():
    x = dispatch.tensor(LAZY[1], requires_grad=True)
    np.sum(cube(x)).backward()
    assert x.value is LAZY[1] or isinstance(x.value, da.Array)
    same(x.grad, 3 * X**2, exact=False)


RULES = {
    "backward": lambda x: dispatch.grad(lambda x: np.sum(sine(x) * x))(x),
    "backward of a partial": lambda x: dispatch.grad(lambda x: np.sum(sine_by_partial(x) * x))(x),
    "jvp": lambda x: dispatch.jvp(sine, (x,), (x,))[1],
    "vmap": lambda x: dispatch.vmap(sine)(x),
}


@pytest.mark.parametrize("f", RULES.values(), ids=RULES)
def test_a_rule_that_hands_what_it_gets_to_a_library_computes_nothing_before_compute(f):
    read.clear()
    for _ in range(2):  # the second time it is known
        found = f(LAZY[0])
        assert read == []
        same(found, f(X), exact=False)
        read.clear()


def test_such_a_rule_on_several_chunks_is_refused_and_not_computed():
    read.clear()
    with pytest.raises(ArgumentError) as caught:
        RULES["backward"](LAZY[1])
    assert str(caught.value) == (
        "dasktests::sine: its backward rule hands what it gets to code that takes arrays alone, and so is one task, of arrays in one chunk "
        "each; here is one with axis 0 in 2 chunks. Make that code an operator with tags=Tag.pointwise or signature='...', or rechunk what "
        "sine is called with."
    )
    assert read == []


def test_a_rule_that_its_author_says_is_opaque_is_not_tried():
    tried = []

    @custom_op("dasktests::said", mutates_args=())
    def said(x: np.ndarray) -> np.ndarray:
        return 2 * x

    said.register_fake(lambda x: np.empty_like(x))
    said.register_autograd(lambda ctx, g: (tried.append(type(g)), 2 * g)[1], opaque=True)
    found = dispatch.grad(lambda x: np.sum(said(x)))(LAZY[0])
    assert tried == []
    same(found, np.full_like(X, 2.0))
    assert tried == [np.ndarray]


# -- workers -----------------------------------------------------------------------------------------------------------------


def test_a_task_is_pickled_with_the_operators_name():
    task = Task(cube, [1.0], numbered=False)
    assert len(pickle.dumps(task)) < 400
    assert pickle.loads(pickle.dumps(task)).op is cube


@pytest.fixture(scope="module")
def client():
    """Two worker processes of one thread each, which are started again if they die."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def processes(client):
    return set(client.run(os.getpid).values())


def test_worker_processes_compute_values_and_gradients(client):
    w = np.array([0.5, -0.25, 1.0])
    loss = lambda w, x: np.sum(cube(x @ w))
    found = client.compute(dispatch.grad(loss)(w, LAZY[2])).result()
    np.testing.assert_allclose(found, dispatch.grad(loss)(w, X), rtol=1e-12)
    np.testing.assert_array_equal(client.compute(cube(LAZY[3])).result(), cube(X))
    np.testing.assert_allclose(client.compute(RULES["backward"](LAZY[0])).result(), RULES["backward"](X), rtol=1e-12)


def test_an_operator_that_a_worker_does_not_find_is_an_error_of_the_task_and_the_workers_live(client):
    @custom_op("dasktests::of_this_process", mutates_args=(), tags=dispatch.Tag.pointwise)
    def of_this_process(x: np.ndarray) -> np.ndarray:
        return x + 1

    of_this_process.register_fake(lambda x: np.empty_like(x))
    before = processes(client)
    with pytest.raises(OperatorNotFoundError) as caught:
        client.compute(of_this_process(LAZY[2])).result()
    assert str(caught.value) == (
        f"dasktests::of_this_process was pickled, and is not known in this process: {__name__} is imported and does not define it. Import "
        f"{__name__} in this process first."
    )
    assert processes(client) == before
    np.testing.assert_array_equal(client.compute(cube(LAZY[2])).result(), cube(X))


def test_a_kernel_that_raises_on_one_chunk_of_a_hundred_says_which_with_its_own_type(client):
    x = da.from_array(np.where(np.arange(300) == 203, 7.0, 0.0), chunks=3)
    before = processes(client)
    with pytest.raises(OverflowError, match=r"^seven") as caught:
        client.compute(np.sum(fails(x))).result()
    assert "in chunk (67,) of a Dask array" in caught.value.__notes__
    assert processes(client) == before


def test_a_worker_that_is_killed_in_the_middle_of_a_gradient_changes_nothing(client, tmp_path):
    once = str(tmp_path / "once")
    loss = lambda x: np.sum(np.sin(fragile(x, once)))
    before = processes(client)
    found = client.compute(dispatch.grad(loss)(LAZY[2])).result()
    assert processes(client) != before
    np.testing.assert_allclose(found, np.cos(X**3) * 3 * X**2, rtol=1e-12)


def test_the_memory_of_a_worker_does_not_grow_with_the_number_of_chunks(client):
    w = np.linspace(-1, 1, 8)
    loss = lambda w, x: np.mean((np.tanh(cube(x) @ w) - 0.5) ** 2)
    peaks = []
    for chunks in (4, 30):
        x = da.random.default_rng(0).normal(size=(chunks * 65_536, 8), chunks=(65_536, 8))  # made by the workers, 4 MB each
        value, gradient = client.gather(client.compute([*dispatch.value_and_grad(loss)(w, x)]))
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        peaks.append(max(usage.ru_maxrss for usage in client.run(resource.getrusage, resource.RUSAGE_SELF).values()) / 1024)
    assert peaks[1] < peaks[0] + 30  # MB; all chunks are 120, and as much is made of each
