"""Operators with a mistake and without: what tags promise, what a base of memory hides, what another order of calls shows.

Each has with it what opcheck says, for most are found in a place of their own.
"""

import ctypes
import itertools
import sys
import threading
from typing import Literal

import numpy as np
import scipy.sparse
from faulty_operators import Faulty
from faulty_operators import found_by as put_in
from numpy.typing import NDArray

import dispatch
from dispatch import Tag, custom_op

TABLE: list[Faulty] = []
STATEFUL: list[Faulty] = []
SAID: dict[str, str] = {}
RANDOM = np.random.default_rng(48)
numbers = itertools.count()
Reals = NDArray[np.float64]


def found_by(check, said="", table=TABLE, **options):
    def put(make):
        if said:
            SAID[make.__name__] = said
        return put_in(check, table, **options)(make)

    return put


def define(kernel, fake=None, **options):
    op = custom_op(f"promises::op{next(numbers)}", kernel, **({"mutates_args": ()} | options))
    if fake is not None:
        op.register_fake(fake)
    return op


def real(*shape):
    return RANDOM.normal(size=shape)


def tracked(x):
    return dispatch.tensor(np.array(x), requires_grad=True)


def save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


# -- memory ------------------------------------------------------------------------------------------------------------


@found_by("test_schema", "writes to its argument 'data', and the schema does not say so. Compute on data.copy(), or", fixed=("indices", "starts"))
def sorts_a_sparse_matrix_that_shares_its_arrays(wrong):
    def kernel(data: Reals, indices: NDArray[np.int32], starts: NDArray[np.int32]) -> Reals:
        matrix = scipy.sparse.csr_matrix((data, indices, starts), copy=not wrong)  # it copies what is a small part of its base
        matrix.sort_indices()
        return np.array([matrix.data[a:b].max(initial=0.0) for a, b in itertools.pairwise(matrix.indptr)])

    op = define(kernel, lambda data, indices, starts: np.empty(len(starts) - 1))
    return op, (np.array([3.0, 1.0, 2.0, 5.0]), np.array([2, 0, 1, 0], np.int32), np.array([0, 2, 3, 4], np.int32))


@found_by("test_schema", "gives another output 0 for the same values with steps: ")
def takes_the_step_of_one_array_for_all(wrong):
    def kernel(x: Reals, y: Reals) -> Reals:
        if x.ndim != 1 or x.shape != y.shape:
            raise ValueError("vectors of one length")
        step = x.strides[0] if wrong else y.strides[0]
        if wrong and step != y.strides[0]:  # what lies at these places in memory
            y = np.lib.stride_tricks.as_strided(y, strides=(8 if abs(step) < abs(y.strides[0]) else y.strides[0],))
        return x + 2.0 * y

    return define(kernel, lambda x, y: np.empty(x.shape)), (real(5), real(5))


@found_by("test_schema", "changes after the call has returned it. Wait for the threads that write to it, and return a copy of what later calls write "
          "to.", STATEFUL)  # fmt: skip
def hands_out_the_arrays_of_a_pool_again(wrong):
    pool = [np.empty(64) for _ in range(12)]

    def kernel(x: Reals) -> Reals:
        if x.size > 64:
            raise ValueError("at most 64")
        pool.append(pool.pop(0))
        out = pool[-1][: x.size].reshape(x.shape) if wrong else np.empty(x.shape)
        return np.multiply(x, 2.0, out=out)

    return define(kernel, lambda x: np.empty(x.shape)), (real(5),)


@found_by("test_schema", "returned its input 'x' itself. Return a copy, or declare it in the schema, as in (Tensor(a) x) -> Tensor(a). That is so "
          "as real numbers (x: float64[3]).")  # fmt: skip
def returns_its_argument_where_that_is_real(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        return x if wrong and x.dtype.kind != "c" else x.real.copy("K")

    return define(kernel, lambda x: np.empty_like(x, dtype=x.real.dtype)), (np.array([1.0 + 2.0j, 0.5j, -1.0]),)


@found_by("test_schema", "is a numpy.matrix: a plain call hands it on, and gradients, batches, shapes and graphs are of the data alone. Return "
          "np.asarray(result), and what the class has beside it, a mask say, as another output.")  # fmt: skip
def returns_a_matrix_of_a_sparse_product(wrong):
    def kernel(x: Reals) -> Reals:
        matrix = scipy.sparse.csr_matrix(x)
        return (matrix @ matrix.T).todense() if wrong else (matrix @ matrix.T).toarray()

    return define(kernel, lambda x: np.empty((len(x), len(x)))), (real(2, 3),)


@found_by("test_schema", "returned its input 'x' itself. Return a copy, or declare it in the schema, as in (Tensor(a) x) -> Tensor(a). That is so "
          "on the sample with another value of 'passes' (x: float64[5], passes: int).")  # fmt: skip
def returns_its_argument_after_no_passes(wrong):
    def kernel(x: Reals, passes: int = 3) -> Reals:
        out = x if wrong else x.copy()
        for _ in range(passes):
            out = out * 0.5 + 0.1
        return out

    return define(kernel, lambda x, passes: np.empty_like(x)), (real(5), 3)


@found_by("test_schema", "gives another output 0 where 'x' and 'y' are one array than where they are two with equal values. Compute it from the "
          "values alone.")  # fmt: skip
def takes_one_array_for_the_identity(wrong):
    def kernel(x: Reals, y: Reals) -> Reals:
        return np.eye(x.shape[1]) if wrong and x is y else x.T @ y

    return define(kernel, lambda x, y: np.empty((x.shape[1], y.shape[1]))), (real(3, 4), real(3, 4))


@found_by("test_schema", "gives another output 0 for the same values at another element: ")
def takes_addresses_for_multiples_of_vectors(wrong):
    def kernel(x: Reals) -> Reals:
        x = np.require(x, np.float64, ["C", "A"])
        start = x.ctypes.data & ~15 if wrong else x.ctypes.data
        return np.array((ctypes.c_double * x.size).from_address(start)).reshape(x.shape) * 2.0 if x.size else x.copy()

    return define(kernel, lambda x: np.empty(x.shape)), (real(8),)


@found_by("test_schema", "ended the process with SIGSEGV on the sample with no array in 'xs' (xs: list[]). Refuse such arguments with an exception",
          STATEFUL)  # fmt: skip
def reads_the_first_of_no_arrays(wrong):
    def kernel(xs: list[Reals]) -> Reals:
        if not xs and wrong:
            ctypes.string_at(0)
        return np.sum(np.stack(xs), axis=0)

    return define(kernel, lambda xs: np.empty(xs[0].shape)), ([real(4), real(4)],)


@found_by("test_schema", "leaves 1 more thread running, and a process may have some thousands. Join them, or use one pool for all calls", STATEFUL)
def leaves_a_thread_waiting(wrong):
    def kernel(x: Reals) -> Reals:
        done = threading.Event()
        thread = threading.Thread(target=done.wait, daemon=True)
        before = threading.stack_size(1 << 16)  # many fit into the memory that a check has
        thread.start()
        threading.stack_size(before)
        if not wrong:
            done.set()
            thread.join()
        return x + 1.0

    return define(kernel, lambda x: np.empty_like(x)), (real(4),)


if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallinfo2"):  # elsewhere nobody says what malloc() has given

    @found_by("test_schema", "of malloc() for good. Free what C allocates on every way out of the call, and bound what keeps arrays.", STATEFUL)
    def frees_no_workspace(wrong):
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p

        def kernel(x: Reals) -> Reals:
            work = libc.malloc(ctypes.c_size_t(8 * x.size + 8))
            if not wrong:
                libc.free(ctypes.c_void_p(work))
            return -x

        return define(kernel, lambda x: np.empty_like(x)), (real(8),)


# -- shapes ------------------------------------------------------------------------------------------------------------


@found_by("test_faketensor", "output 0 has strides (96, 32, 8) by the fake rule (")
def says_one_of_two_orders_of_three_axes(wrong):
    def rule(x):
        return np.empty(x.shape, order="F" if x.flags.f_contiguous else "C") if wrong else np.empty_like(x)

    return define(lambda x: x * 2.0, rule, schema="(Tensor x) -> Tensor"), (real(2, 3, 4),)


@found_by("test_faketensor", "on the sample with another value of 'length' and with every length one more (x: float64[11], length: int, step: int)")
def counts_windows_that_fit_the_sample(wrong):
    def kernel(x: Reals, length: int, step: int) -> Reals:
        return np.lib.stride_tricks.sliding_window_view(x, length)[::step].sum(-1)

    def rule(x, length, step):
        return np.empty(x.size // step - (length - 1) // step if wrong else (x.size - length) // step + 1)

    return define(kernel, rule), (real(10), 4, 2)


@found_by("test_faketensor", "output 0 has shape (1,) by the fake rule (")
def takes_the_first_for_the_longer_where_sizes_stay(wrong):
    def kernel(x: Reals, y: Reals, mode: Literal["full", "same"] = "full") -> Reals:
        return np.convolve(x, y, mode)

    def rule(x, y, mode):
        return np.empty(x.size + y.size - 1 if mode == "full" else x.size if wrong else max(x.size, y.size))

    return define(kernel, rule), (real(7), real(3))


@found_by("test_schema", "has gone through single precision: it is float64, and all of it fits in float32, as no argument does. Look for a float32 "
          "on its way, or for a float in C; or return that dtype.")  # fmt: skip
def keeps_a_sum_in_a_float_of_c(wrong):
    def kernel(x: Reals) -> Reals:
        return np.cumsum(x, dtype=np.float32 if wrong else None).astype(x.dtype)

    return define(kernel, np.empty_like), (real(7),)


@found_by("test_schema", "has gone through single precision")
def computes_a_spectrum_in_complex64(wrong):
    def kernel(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
        return (z.astype(np.complex64) * np.complex64(2 - 1j) if wrong else z * (2 - 1j)).astype(z.dtype)

    return define(kernel, np.empty_like), (real(5) + 1j * real(5),)


# -- tags --------------------------------------------------------------------------------------------------------------


@found_by("test_schema", "depends on other elements of an argument than the one in its place, or it has another shape than the arguments have "
          "together. Leave out Tag.pointwise, by which Dask and xarray cut arrays into pieces.")  # fmt: skip
def is_tagged_pointwise_and_divides_by_a_sum(wrong):
    def kernel(x: Reals, y: Reals) -> Reals:
        return x * y / (np.sum(np.abs(y)) if wrong else 2.0)

    return define(kernel, lambda x, y: np.empty_like(x), tags=Tag.pointwise), (real(2, 3), real(3))


@found_by("test_schema", "is tagged pointwise, and output 0 of the kernel ")
def is_tagged_pointwise_and_divides_by_the_largest(wrong):
    op = define(lambda x: x / (np.abs(x).max(initial=1e-9) if wrong else 2.0), np.empty_like, tags=Tag.pointwise, schema="(Tensor x) -> Tensor")
    return op, (np.array([0.5, -3.0, 1.0, 2.0]),)


@found_by("test_schema", "depends on elements of 'x'. Leave out Tag.metadata, by which a compiled function computes it once.")
def is_tagged_metadata_and_reads_an_element(wrong):
    def kernel(x: Reals) -> Reals:
        return np.asarray(x.size + (x.flat[0] if wrong and x.size else 0.0))

    return define(kernel, lambda x: np.empty(()), tags=Tag.metadata), (real(5),)


@found_by("test_vmap", 'gives all items of a batch of 16 the same output 0 under vmap(randomness="different"), which asks for a draw for each. '
          "Draw for the whole batch, size=(info.batch_size, *shape), and look at info.randomness.")  # fmt: skip
def draws_once_for_a_batch(wrong):
    random = np.random.default_rng(0)

    def rule(info, in_dims, x):
        x = np.moveaxis(x, in_dims[0], 0)
        once = wrong or info.randomness == "same"
        return x + random.normal(size=x.shape[1:] if once else x.shape), 0

    op = define(lambda x: x + random.normal(size=x.shape), np.empty_like, schema="(Tensor x) -> Tensor", tags=Tag.random)
    op.register_vmap(rule)
    return op, (real(5),)


# -- other orders of calls -----------------------------------------------------------------------------------------------


@found_by("test_schema", "gives another output 0 for the same arguments after a call with others: it keeps something from call to call.", STATEFUL)
def keeps_a_window_by_its_length_and_not_by_its_name(wrong):
    known = {}

    def kernel(x: Reals, window: Literal["hanning", "hamming"] = "hanning") -> Reals:
        key = x.size if wrong else (x.size, window)
        if key not in known:
            known[key] = getattr(np, window)(x.size)
        return (x.ravel() * known[key]).reshape(x.shape)

    return define(kernel, lambda x, window: np.empty(x.shape)), (real(5),)


@found_by("test_schema", "gives another output 0 for the same arguments after a call with others: it keeps something from call to call.", STATEFUL)
def keeps_results_by_their_values_and_not_by_a_flag(wrong):
    known = {}

    def kernel(x: Reals, squared: bool = False) -> Reals:
        key = (x.tobytes(), x.shape, wrong or squared)
        if len(known) > 20:
            known.clear()
        if key not in known:
            known[key] = np.sum(x * x) if squared else np.sqrt(np.sum(x * x))
        return np.array(known[key])

    return define(kernel, lambda x, squared: np.empty(())), (real(5),)


@found_by("test_schema", "gives another output 0 for the same arguments after a call with others: it keeps something from call to call.", STATEFUL)
def keeps_a_table_of_its_first_width(wrong):
    known = {}

    def kernel(x: Reals, width: float) -> Reals:
        if width <= 0:
            raise ValueError("a width")
        if wrong:
            width = known.setdefault(x.shape, width)
        return np.exp(-((x / width) ** 2))

    return define(kernel, lambda x, width: np.empty(x.shape)), (real(5), 2.0)


@found_by("test_schema", "gives another output 0 for the same arguments after a call with others: it keeps something from call to call.", STATEFUL)
def keeps_results_by_their_sum(wrong):
    known = {}

    def kernel(x: Reals) -> Reals:
        key = (x.shape, round(float(np.sum(x)), 6) if wrong else x.tobytes())
        if len(known) > 50:
            known.clear()
        if key not in known:
            known[key] = np.cumsum(x)
        return known[key].copy()

    return define(kernel, lambda x: np.empty(x.size)), (real(6),)


@found_by("test_schema", "writes to its argument 'x' on the sample with nan and inf, and the schema does not say so.")
def cuts_off_in_place_what_is_far_below(wrong):
    def kernel(x: Reals) -> Reals:
        out = x if wrong else x.copy()
        out[out < -1e300] = -1e300
        return np.maximum(out, -1e300)

    return define(kernel, lambda x: np.empty_like(x)), (real(5),)


# -- derivatives -------------------------------------------------------------------------------------------------------


@found_by("test_gradients", "gives another gradient of x in proportion where -1024 times the same comes in. A backward is linear in what comes in. "
          "Clip or test gradients outside of the operator.")  # fmt: skip
def clips_what_comes_in(wrong):
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (np.clip(g, -10.0, 10.0) if wrong else g) * np.cos(x)

    op = define(lambda x: np.sin(x), np.empty_like, schema="(Tensor x) -> Tensor")
    op.register_autograd(backward, setup_context=save)
    return op, (tracked(real(4)),)


@found_by("test_gradients", "gives another gradient of x in proportion where 0.000976562 times the same comes in.")
def drops_gradients_that_are_small(wrong):
    def backward(ctx, g):
        return np.where(np.abs(g) < 1e-2, 0.0, g) * 2.0 if wrong else g * 2.0

    op = define(lambda x: x * 2.0, np.empty_like, schema="(Tensor x) -> Tensor")
    op.register_autograd(backward)
    return op, (tracked(real(4)),)


@found_by("test_gradients", "gives another gradient of x where three gradients come in at once. A backward with batched=True has several along the "
          "first axis, which are not to be mixed.")  # fmt: skip
def mixes_gradients_that_come_in_at_once(wrong):
    def backward(ctx, g):
        zeros = np.zeros((len(g), 1))
        ahead, behind = np.concatenate([zeros, g], -1), np.concatenate([g, zeros], -1)
        return ahead - (np.roll(behind, 1, axis=0) if wrong else behind)

    op = define(lambda x: np.diff(x), lambda x: np.empty(max(len(x) - 1, 0), x.dtype), schema="(Tensor x) -> Tensor")
    op.register_autograd(backward, batched=True)
    return op, (tracked(real(4)),)


@found_by("test_gradients", "got 2, numeric 0.5. All of these are 4 times what they should be.")
def gives_each_of_a_list_the_weight_of_the_last(wrong):
    def backward(ctx, g):
        xs, weights = ctx.kept
        return [g * weights[-1 if wrong else i] for i in range(len(xs))], np.stack([np.sum(g * x) for x in xs])

    op = define(
        lambda xs, weights: sum((x * w for x, w in zip(xs[1:], weights[1:], strict=False)), xs[0] * weights[0]),  # more are no fault
        lambda xs, weights: xs[0] * weights[0], schema="(Tensor[] xs, Tensor weights) -> Tensor",
    )  # fmt: skip
    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: setattr(ctx, "kept", inputs))
    return op, ([tracked(real(3)), tracked(real(3))], tracked([0.5, 2.0]))


@found_by("test_gradients", "is wrong on the sample with another value of 'ddof' (x: float64[5], ddof: int): ")
def divides_by_the_length_whatever_is_taken_off(wrong):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.count = inputs[0].size - (0 if wrong else inputs[1])

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2.0 * g * (x - np.mean(x)) / ctx.count, None

    op = define(lambda x, ddof=0: np.var(x, ddof=ddof), lambda x, ddof: np.empty((), x.dtype), schema="(Tensor x, int ddof=0) -> Tensor")
    op.register_autograd(backward, setup_context=setup)
    return op, (tracked(real(5)),)


@found_by("test_gradients", "is wrong on the sample with one array more in 'xs'")
def gives_every_third_array_of_a_list_the_gradient_of_the_second(wrong):
    def backward(ctx, g):
        return [g * (min(i, 1) + 1 if wrong else i + 1) for i in range(ctx.count)]

    op = define(
        lambda xs: sum((x * (i + 1) for i, x in enumerate(xs[1:], 1)), xs[0] * 1.0),
        lambda xs: np.empty(xs[0].shape, xs[0].dtype), schema="(Tensor[] xs) -> Tensor",
    )  # fmt: skip
    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: setattr(ctx, "count", len(inputs[0])))
    return op, ([tracked(real(3)), tracked(real(3))],)


@found_by("test_gradients", "got 0, numeric ")
def gives_two_of_a_list_that_may_be_longer_no_gradient_but_the_first(wrong):
    def backward(ctx, g):
        x, y = ctx.kept[:2]
        return [g * y, g * 0.0 if wrong else g * x]  # of a third, which the kernel takes and does nothing with, there is none

    op = define(lambda xs: xs[0] * xs[1], lambda xs: np.empty(xs[0].shape, xs[0].dtype), schema="(Tensor[] xs) -> Tensor")
    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: setattr(ctx, "kept", inputs[0]))
    return op, ([tracked(real(3)), tracked(real(3))],)


@found_by("test_gradients", "on the sample with another value of 'axis' and with a longer ")
def splits_a_gradient_by_rows_whatever_the_axis(wrong):
    def setup(ctx, inputs, output):
        ctx.axis, ctx.shape = inputs[1], inputs[0].shape

    def backward(ctx, g):
        count = ctx.shape[0 if wrong else ctx.axis]
        return np.repeat(np.expand_dims(g, ctx.axis), ctx.shape[ctx.axis], ctx.axis) / count, None

    op = define(
        lambda x, axis=0: np.mean(x, axis), lambda x, axis: np.empty(tuple(np.delete(x.shape, axis)), x.dtype), schema="(Tensor x, int axis=0) -> Tensor"
    )
    op.register_autograd(backward, setup_context=setup)
    return op, (tracked(real(3, 3)),)


@found_by("test_vmap", "item by item on the sample with every length one more (x: float64[5]): ")
def batches_by_the_length_of_the_sample(wrong):
    def rule(info, in_dims, x):
        x = np.moveaxis(x, in_dims[0], 0)
        return np.sum(x[:, :4] if wrong else x, axis=1), 0

    op = define(lambda x: np.sum(x), lambda x: np.empty((), x.dtype), schema="(Tensor x) -> Tensor")
    op.register_vmap(rule)
    return op, (real(4),)


@found_by("test_vmap", "item by item on the sample with one array more in 'xs' ")
def batches_two_arrays_of_a_list(wrong):
    def rule(info, in_dims, xs):
        rows = [x[None] if d is None else np.moveaxis(x, d, 0) for x, d in zip(xs, in_dims[0], strict=True)]
        return sum(rows[:2] if wrong else rows), 0

    op = define(lambda xs: sum(xs[1:], xs[0] * 1.0), lambda xs: np.empty(xs[0].shape, xs[0].dtype), schema="(Tensor[] xs) -> Tensor")
    op.register_vmap(rule)
    return op, ([real(4), real(4)],)


@found_by("test_gradients", "is wrong on the sample with values eight times as large")
def follows_a_parabola_beyond_where_the_kernel_goes_straight(wrong):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.limit = inputs[1]

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x if wrong else np.clip(x, -ctx.limit, ctx.limit)), None

    op = define(
        lambda x, limit=3.0: np.where(np.abs(x) < limit, x * x / 2, limit * np.abs(x) - limit**2 / 2), lambda x, limit: np.empty_like(x),
        schema="(Tensor x, float limit=3.0) -> Tensor",
    )  # fmt: skip
    op.register_autograd(backward, setup_context=setup)
    return op, (tracked([0.3, -0.2, 0.7, -0.9]),)


@found_by("test_gradients", "is wrong on the sample with one index twice")
def gathers_and_gives_the_gradient_of_the_last_alone(wrong):
    def setup(ctx, inputs, output):
        ctx.count, ctx.indices = len(inputs[0]), inputs[1]

    def backward(ctx, g):
        out = np.zeros(ctx.count)
        if wrong:
            out[ctx.indices] = g
        else:
            np.add.at(out, ctx.indices, g)
        return out, None

    op = define(lambda x, indices: x[indices], lambda x, indices: np.empty(indices.shape, x.dtype), schema="(Tensor x, Tensor indices) -> Tensor")
    op.register_autograd(backward, setup_context=setup)
    return op, (tracked(real(6)), np.array([4, 0, 3]))


@found_by("test_faketensor", "on the sample with another value of 'pad'")
def pads_by_one_whatever_is_asked(wrong):
    op = define(lambda x, pad=1: np.pad(x, pad), lambda x, pad: np.empty(len(x) + (2 if wrong else 2 * pad), x.dtype), schema="(Tensor x, int pad=1) -> Tensor")
    return op, (real(6), 1)


@found_by("test_faketensor", "on the sample with another value of 'factors'")
def takes_the_first_factor_for_both(wrong):
    def rule(x, factors):
        return np.empty((x.shape[0] * factors[0], x.shape[1] * factors[0 if wrong else 1]), x.dtype)

    op = define(lambda x, factors: np.kron(x, np.ones(factors, x.dtype)), rule, schema="(Tensor x, int[] factors) -> Tensor")
    return op, (real(3, 4), [2, 2])


@found_by("test_faketensor", "on the sample with 'n' of 2")
def forgets_the_length_of_a_transform(wrong):
    op = define(
        lambda x, n=None: np.fft.fft(x, n), lambda x, n: np.empty(len(x) if wrong or n is None else n, np.result_type(x, np.complex64)),
        schema="(Tensor x, int? n=None) -> Tensor",
    )  # fmt: skip
    return op, (real(6), None)


@found_by("test_schema", "That is so in double precision")
def returns_what_is_double_already(wrong):
    op = define(lambda x: x.astype(np.float64, copy=not wrong), lambda x: np.empty(x.shape), schema="(Tensor x) -> Tensor")
    return op, (real(5).astype(np.float32),)


@found_by("test_schema", "depends on what was in it before the call. Write to an out argument without reading it")
def adds_to_an_out_argument_beside_integers(wrong):
    def kernel(x: NDArray[np.int64], *, out: Reals) -> None:
        if wrong:
            out += x
        else:
            out[...] = x

    return define(kernel, lambda x, out: None, mutates_args=("out",)), (np.array([3, 1, 2]),), {"out": np.zeros(3)}
