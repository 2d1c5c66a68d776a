"""More operators with a mistake and without, as scientists write them: what a sample cannot show, and what only another call shows.

The kinds are others than those of `faulty_operators.py`: work in place that is undone, state of the process, orders of memory,
adjoints that hold for symmetric or sorted or evenly spaced samples, kernels that take the process down by other ways than a crash.
"""

import ctypes
import gc
import os
import signal
import sys
import threading
import warnings

import numpy as np
from faulty_operators import POSITIVE, RANDOM, Faulty, S, V, W, X, Y, Z, define, in_front, softmax, t
from faulty_operators import found_by as put_in

SYMMETRIC = S @ S.T + 3.0 * np.eye(3)
ENDLESS = 10**9
TWO = "(Tensor x, Tensor y) -> Tensor"
TABLE: list[Faulty] = []
DANGEROUS: list[Faulty] = []  # for a child process alone


def found_by(check, table=TABLE, **options):
    return put_in(check, table, **options)


# -- writes and what is returned ------------------------------------------------------------------------------------------


@found_by("test_schema")
def sorts_its_argument(wrong):
    def kernel(x):
        x = x if wrong else x.copy()
        x.sort()
        return np.diff(x)

    return define(kernel, fake=lambda x: np.empty(len(x) - 1, x.dtype)), (np.sort(V),)


@found_by("test_schema")
def replaces_nan_in_its_argument(wrong):
    return define(lambda x: np.cumsum(np.nan_to_num(x, copy=not wrong)), fake=lambda x: np.empty(x.size, x.dtype)), (V,)


@found_by("test_schema")
def steps_its_argument_and_steps_back(wrong):
    def kernel(x):
        out, x = np.empty(x.shape), x if wrong else x.copy()
        for i in range(x.size):
            before = x.flat[i]
            x.flat[i] = before + 1e-6
            out.flat[i] = np.sum(x * x)
            x.flat[i] = before
        return out

    return define(kernel, fake=lambda x: np.empty(x.shape)), (V,)


@found_by("test_schema")
def shuffles_its_argument(wrong):
    def kernel(x):
        x = x if wrong else x.copy()
        np.random.default_rng(3).shuffle(x)
        return np.cumsum(x)

    return define(kernel, fake=lambda x: np.empty(x.size, x.dtype)), (V,)


@found_by("test_schema")
def swaps_the_bytes_of_its_argument(wrong):
    def kernel(x):
        y = x.byteswap(inplace=wrong)
        return np.asarray(y.view(y.dtype.newbyteorder()), float) * 2.0

    return define(kernel, fake=lambda x: np.empty_like(x, dtype=float)), (V,)


@found_by("test_schema")
def works_in_place_on_arrays_in_fortran_order(wrong):
    def kernel(a):
        work = a if wrong and a.flags.f_contiguous and not a.flags.c_contiguous else a.copy()
        for i in range(work.shape[0]):
            work[i] -= work[i].mean()
        return np.ascontiguousarray(work) if work is not a else work.copy(order="C")

    return define(kernel, "(Tensor a) -> Tensor", fake=lambda a: np.empty(a.shape, a.dtype)), (X,)


@found_by("test_schema")
def reverses_a_list_of_numbers(wrong):
    def kernel(x, axes):
        if wrong:
            axes.reverse()
        return np.sum(x, tuple(axes))

    return define(kernel, "(Tensor x, int[] axes) -> Tensor", fake=lambda x, axes: np.empty((), x.dtype)), (X, [0, 1])


@found_by("test_schema")
def takes_an_entry_out_of_a_dict(wrong):
    def kernel(x, options):
        by = options.pop("by", 1.0) if wrong else options.get("by", 1.0)
        return x * by

    return define(kernel, "(Tensor x, Dict(str, float) options) -> Tensor", fake=lambda x, options: np.empty_like(x)), (X, {"by": 2.0})


@found_by("test_schema")
def adds_to_an_out_argument(wrong):
    def kernel(x, *, out):
        if not wrong:
            out[...] = 0.0
        out += x * 2.0

    return define(kernel, "(Tensor x, *, Tensor(a!) out) -> ()", fake=None, mutates=("out",)), (V,), {"out": np.zeros(5)}


@found_by("test_schema")
def writes_one_of_two_out_arguments(wrong):
    def kernel(x, *, low, high):
        low[...] = np.minimum(x, 0.0)
        if not wrong:
            high[...] = np.maximum(x, 0.0)

    schema = "(Tensor x, *, Tensor(a!) low, Tensor(b!) high) -> ()"
    return define(kernel, schema, fake=None, mutates=("low", "high")), (V,), {"low": np.zeros(5), "high": np.zeros(5)}


@found_by("test_schema")
def returns_the_real_part_as_a_view(wrong):
    return define(lambda z: z.real if wrong else z.real.copy(), "(Tensor z) -> Tensor",
                  fake=lambda z: np.empty(z.shape, z.real.dtype)), (Z,)  # fmt: skip


@found_by("test_schema")
def returns_what_squeeze_gives(wrong):
    def kernel(x):
        return x[:, 0] if wrong and x.shape[1] == 1 else np.mean(x, 1)

    return define(kernel, fake=lambda x: np.empty(len(x), x.dtype)), (X,)


@found_by("test_schema")
def leaves_the_lower_triangle_unwritten(wrong):
    def kernel(x):
        out = np.empty((len(x), len(x)))
        for i in range(len(x)):
            for j in range(i if wrong else 0, len(x)):
                out[i, j] = x[i] * x[j]
        return out

    return define(kernel, fake=lambda x: np.empty((len(x), len(x)))), (V,)


@found_by("test_schema")
def leaves_what_is_nan_unwritten(wrong):
    def kernel(x):
        out = np.empty(x.shape)
        out[x > 0] = 1.0
        out[~(x > 0) if not wrong else x <= 0] = 0.0
        return out

    return define(kernel, fake=lambda x: np.empty(x.shape)), (V,)


# -- orders of memory, bytes ----------------------------------------------------------------------------------------------


@found_by("test_schema")
def flattens_in_the_order_of_memory(wrong):
    return define(lambda x: np.cumsum(x.ravel("K" if wrong else "C")), fake=lambda x: np.empty(x.size, x.dtype)), (X,)


@found_by("test_schema")
def flattens_in_fortran_order_where_memory_is(wrong):
    def kernel(x):
        return np.array(x.flatten("A" if wrong else "C")[::2])

    return define(kernel, fake=lambda x: np.empty((x.size + 1) // 2, x.dtype)), (X,)


@found_by("test_vmap")
def views_complex_numbers_as_pairs(wrong):
    def kernel(z):
        if wrong:
            return z.view(z.real.dtype).reshape(*z.shape, 2).copy()
        return np.ascontiguousarray(np.stack([z.real, z.imag], -1))

    return define(kernel, "(Tensor z) -> Tensor", fake=lambda z: np.empty((*z.shape, 2), z.real.dtype)), (Z,)


@found_by("test_vmap")
def asks_for_the_buffer_of_its_argument(wrong):
    def kernel(x):
        return np.frombuffer(x if wrong else np.ascontiguousarray(x), x.dtype).cumsum()

    return define(kernel, fake=lambda x: np.empty(x.size, x.dtype)), (X,)


@found_by("test_schema")
def reads_bytes_as_native_doubles(wrong):
    def kernel(x):
        return np.frombuffer(x.tobytes() if wrong else x.astype(float).tobytes(), float).cumsum()

    return define(kernel, fake=lambda x: np.empty(x.size)), (V,)


@found_by("test_faketensor")
def returns_one_number_for_all_elements(wrong):
    def kernel(x):
        made = np.broadcast_to(np.mean(x), x.shape)
        return made if wrong else made.copy()

    return define(kernel, fake=lambda x: np.empty(x.shape, x.dtype)), (V,)


# -- state of the process, and of other calls -----------------------------------------------------------------------------


@found_by("test_schema")
def keeps_what_it_saw_in_a_default(wrong):
    def kernel(x, seen=[]):  # noqa: B006  the mistake
        if wrong:
            seen.append(1)
        return x * float(len(seen) or 1)

    return define(lambda x: kernel(x)), (X,)


@found_by("test_schema")
def starts_from_the_last_solution(wrong):
    last = {}

    def kernel(x):
        y = last.get(x.shape) if wrong else None
        y = np.ones_like(x) if y is None else y
        for _ in range(2):  # too few steps: what it begins with shows
            y = 0.5 * (y + x / y)
        last[x.shape] = y
        return y.copy()

    return define(kernel), (V,)


@found_by("test_schema")
def turns_the_warnings_of_python_off(wrong):
    def kernel(x):
        if wrong:
            warnings.simplefilter("ignore")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.sqrt(np.abs(x))

    return define(kernel), (X,)


@found_by("test_schema")
def sets_the_number_of_threads_for_everybody(wrong):
    def kernel(x):
        if wrong:
            os.environ["OMP_NUM_THREADS"] = str(len(os.environ.get("OMP_NUM_THREADS", "")) + 1)
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema")
def changes_the_folder(wrong):
    def kernel(x):
        if wrong:
            os.chdir("..")
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema")
def changes_how_numbers_are_printed(wrong):
    def kernel(x):
        if wrong:
            np.set_printoptions(precision=3)
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema")
def turns_the_garbage_collector_off(wrong):
    def kernel(x):
        if wrong:
            gc.disable()
        return x * 2.0

    return define(kernel), (X,)


# -- shape rules ----------------------------------------------------------------------------------------------------------


@found_by("test_faketensor")
def counts_windows_for_an_even_length(wrong):
    fake = lambda x: np.empty(len(x) // 2 if wrong else max(0, (len(x) - 2) // 2 + 1), x.dtype)
    fake_wrong = lambda x: np.empty((len(x) + 1) // 2, x.dtype)
    kernel = lambda x: x[: len(x) // 2 * 2].reshape(-1, 2).mean(1)
    return define(kernel, fake=fake_wrong if wrong else fake), (RANDOM.normal(size=6),)


@found_by("test_faketensor")
def says_the_length_of_a_spectrum_for_odd_lengths(wrong):
    fake = lambda x: np.empty((len(x) + 1) // 2 if wrong else len(x) // 2 + 1, complex)
    return define(lambda x: np.fft.rfft(np.asarray(x, float), max(len(x), 1)) if len(x) else np.zeros(1, complex), fake=fake), (V,)


@found_by("test_faketensor")
def says_the_longer_length_of_a_convolution(wrong):
    fake = lambda x, w: np.empty(len(x) if wrong else max(len(x), len(w)), np.result_type(x.dtype, w.dtype))
    return define(lambda x, w: np.convolve(x, w, "same"), "(Tensor x, Tensor w) -> Tensor", fake=fake), (V, W[:3].copy())


@found_by("test_faketensor")
def forgets_which_part_is_asked_for(wrong):
    def fake(x, mode):
        lengths = {"same": len(x), "valid": abs(len(x) - 2) + 1 if len(x) else 0}
        return np.empty(len(x) if wrong else lengths[mode], x.dtype)

    kernel = lambda x, mode: np.convolve(x, np.ones(2), mode) if len(x) > 1 else np.zeros({"same": len(x), "valid": 2}[mode])[: 2 if len(x) else 0]
    return define(kernel, "(Tensor x, Literal['same', 'valid'] mode) -> Tensor", fake=fake), (V, "same")


@found_by("test_faketensor")
def says_double_precision_of_a_transform(wrong):
    fake = lambda x: np.empty(x.shape, complex if wrong else np.result_type(x.dtype, np.complex64))
    return define(lambda x: (x * np.complex64(1j)).astype(np.result_type(x.dtype, np.complex64)), fake=fake), (V,)


@found_by("test_faketensor")
def says_that_the_sample_is_wide(wrong):
    fake = lambda a: np.empty(a.shape[0] if wrong else min(a.shape), a.dtype)
    return define(lambda a: np.diagonal(a).copy(), "(Tensor a) -> Tensor", fake=fake), (X,)


@found_by("test_faketensor")
def says_pieces_of_one_length(wrong):
    def fake(x):
        half = len(x) // 2 if wrong else (len(x) + 1) // 2
        return np.empty(half, x.dtype), np.empty(len(x) // 2, x.dtype)

    return define(lambda x: (x[0::2].copy(), x[1::2].copy()), "(Tensor x) -> (Tensor, Tensor)", fake=fake), (RANDOM.normal(size=6),)


# -- gradients ------------------------------------------------------------------------------------------------------------


@found_by("test_gradients")
def forgets_what_softmax_divides_by(wrong):
    def backward(g, x):
        p = softmax(x)
        return p * g if wrong else p * (g - np.sum(p * g, -1, keepdims=True))

    return define(softmax, backward=backward), (t(X),)


@found_by("test_gradients")
def takes_mean_and_spread_for_constants(wrong):
    def backward(g, x):
        spread, z = np.std(x), (x - np.mean(x)) / np.std(x)
        return g / spread if wrong else (g - np.mean(g) - z * np.mean(g * z)) / spread

    return define(lambda x: (x - np.mean(x)) / np.std(x), backward=backward), (t(V),)


@found_by("test_gradients")
def holds_for_vectors_of_length_1(wrong):
    backward = lambda g, x: g * x if wrong else g * x / np.sqrt(np.sum(x * x))
    return define(lambda x: np.asarray(np.sqrt(np.sum(x * x))), fake=lambda x: np.empty((), x.dtype),
                  backward=backward), (t(V / np.linalg.norm(V)),)  # fmt: skip


@found_by("test_gradients")
def gives_the_gradient_of_the_greatest_to_the_first(wrong):
    def backward(g, x):
        at = 0 if wrong else np.argmax(x)
        return g * (np.arange(len(x)) == at)

    return define(lambda x: np.asarray(np.max(x)), fake=lambda x: np.empty((), x.dtype),
                  backward=backward), (t(np.array([3.0, 1.0, 2.0])),)  # fmt: skip


@found_by("test_gradients")
def holds_for_what_is_sorted(wrong):
    def backward(g, x):
        order = np.argsort(x)
        return g[order] if wrong else g[np.argsort(order)]

    return define(lambda x: np.sort(x), backward=backward), (t(np.sort(V)),)


@found_by("test_gradients")
def runs_a_sum_the_same_way_back(wrong):
    return define(lambda x: np.cumsum(x), backward=lambda g, x: np.cumsum(g) if wrong else np.cumsum(g[::-1])[::-1]), (t(V),)


@found_by("test_gradients")
def holds_for_a_spacing_of_1(wrong):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.h = inputs[1]

    def backward(ctx, g):
        made = np.concatenate([-g[:1], g[:-1] - g[1:], g[-1:]])
        return made if wrong else made / ctx.h, None

    return define(lambda x, h=1.0: np.diff(x) / h, "(Tensor x, float h=1.0) -> Tensor", fake=lambda x, h: np.empty(max(len(x) - 1, 0), x.dtype),
                  backward=backward, setup=setup), (t(V), 1.0)  # fmt: skip


@found_by("test_gradients")
def holds_for_symmetric_weights(wrong):
    def backward(g, x, w):
        flipped = w if wrong else w[::-1]
        return np.convolve(g, flipped, "valid"), None

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    return define(lambda x, w: np.convolve(x, w), "(Tensor x, Tensor w) -> Tensor",
                  fake=lambda x, w: np.empty(len(x) + len(w) - 1, np.result_type(x.dtype, w.dtype)),
                  backward=lambda ctx, g: backward(g, *ctx.saved_tensors), setup=setup), (t(V), np.array([1.0, 2.0, 1.0]))  # fmt: skip


@found_by("test_gradients")
def holds_for_symmetric_matrices(wrong):
    def backward(g, a):
        inverse = np.linalg.inv(a)
        return g * np.linalg.det(a) * (inverse if wrong else inverse.T)

    return define(lambda a: np.asarray(np.linalg.det(a)), "(Tensor a) -> Tensor", fake=lambda a: np.empty((), a.dtype),
                  backward=backward), (t(SYMMETRIC),)  # fmt: skip


@found_by("test_gradients")
def forgets_the_transposes_of_an_inverse(wrong):
    def backward(g, a):
        b = np.linalg.inv(a)
        return -b @ g @ b if wrong else -b.T @ g @ b.T

    return define(np.linalg.inv, "(Tensor a) -> Tensor", fake=lambda a: np.empty(a.shape, a.dtype), backward=backward), (t(SYMMETRIC),)


@found_by("test_gradients")
def doubles_one_half_of_a_quadratic_form(wrong):
    def backward(g, x, a):
        return g * (2.0 * (a @ x) if wrong else (a + a.T) @ x), g * np.outer(x, x)

    return define(lambda x, a: np.asarray(x @ a @ x), "(Tensor x, Tensor a) -> Tensor", fake=lambda x, a: np.empty((), x.dtype),
                  backward=backward), (t(V[:3]), t(SYMMETRIC))  # fmt: skip


@found_by("test_gradients")
def forgets_to_normalise_exponents(wrong):
    def backward(g, x):
        e = np.exp(x - np.max(x))
        return g * (np.exp(x) if wrong else e / np.sum(e))

    kernel = lambda x: np.asarray(np.log(np.sum(np.exp(x))))
    return define(kernel, fake=lambda x: np.empty((), x.dtype), backward=backward), (t(V),)


@found_by("test_gradients")
def divides_by_all_elements_for_those_of_a_row(wrong):
    backward = lambda g, x: np.ones_like(x) * g[:, None] / (x.size if wrong else x.shape[1])
    return define(lambda x: np.mean(x, 1), fake=lambda x: np.empty(len(x), x.dtype), backward=backward), (t(X),)


@found_by("test_gradients")
def forgets_the_scale_of_a_transform_back(wrong):
    backward = lambda g, z: np.fft.ifft(g) * (1.0 if wrong else len(z))
    return define(lambda z: np.fft.fft(z), "(Tensor z) -> Tensor", backward=backward), (t(Z[0]),)


@found_by("test_gradients")
def conjugates_what_it_should_not(wrong):
    backward = lambda g, z: g * (np.conj(z) if wrong else z) / np.abs(z)
    return define(np.abs, "(Tensor z) -> Tensor", fake=lambda z: np.empty_like(z, dtype=z.real.dtype), backward=backward), (t(Z),)


@found_by("test_gradients")
def asks_for_the_sign_of_the_gradient(wrong):
    backward = lambda g, x: g * ((g if wrong else x) > 0)
    return define(lambda x: np.maximum(x, 0.0), backward=backward), (t(X),)


@found_by("test_gradients")
def takes_the_argument_for_the_result(wrong):
    backward = lambda g, x: g * (1.0 - (x if wrong else np.tanh(x)) ** 2)
    return define(np.tanh, backward=backward), (t(X * 0.1),)


@found_by("test_gradients")
def rolls_the_same_way_back(wrong):
    return define(lambda x: np.roll(x, 1) - x, backward=lambda g, x: np.roll(g, 1 if wrong else -1) - g), (t(V),)


@found_by("test_gradients")
def forgets_the_halves_at_the_ends(wrong):
    def backward(g, x):
        weights = np.ones(len(x))
        if not wrong:
            weights[[0, -1]] -= 0.5
            weights = weights if len(x) > 1 else np.zeros(1)
        return g * weights

    return define(lambda x: np.asarray(np.sum(x[1:] + x[:-1]) / 2), fake=lambda x: np.empty((), x.dtype), backward=backward), (t(V),)


@found_by("test_gradients")
def unravels_in_the_other_order(wrong):
    backward = lambda g, x: np.reshape(g, x.shape) if wrong else np.reshape(g, x.shape[::-1]).T
    return define(lambda x: x.ravel("F").copy(), fake=lambda x: np.empty(x.size, x.dtype), backward=backward), (t(X),)


@found_by("test_gradients")
def spreads_a_sum_along_the_other_axis(wrong):
    def setup(ctx, inputs, output):
        ctx.shape = inputs[0].shape

    def backward(ctx, g):
        return np.zeros(ctx.shape) + (g[None] if wrong else g[:, None])

    return define(lambda x: np.sum(x, 1), fake=lambda x: np.empty(len(x), x.dtype), backward=backward, setup=setup), (t(S),)


@found_by("test_gradients")
def runs_a_filter_once_back(wrong):
    def kernel(x):
        out = np.empty(x.shape)
        last = 0.0
        for i in range(len(x)):
            out[i] = last = 0.5 * last + x[i]
        return out

    def backward(g, x):
        if wrong:
            return g + 0.5 * np.concatenate([g[1:], np.zeros(1)])
        return np.stack([np.sum(g[i:] * 0.5 ** np.arange(len(x) - i)) for i in range(len(x))])

    return define(kernel, fake=lambda x: np.empty(x.shape), backward=backward), (t(V),)


@found_by("test_gradients")
def expects_a_gradient_of_every_output(wrong):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(not wrong)

    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * np.cos(x) - h * np.sin(x)

    fake = lambda x: (np.empty_like(x), np.empty_like(x))
    return define(lambda x: (np.sin(x), np.cos(x)), "(Tensor x) -> (Tensor, Tensor)", fake=fake, backward=backward, setup=setup), (t(X),)


@found_by("test_gradients")
def has_a_backward_with_a_wrong_gradient(wrong):
    inner = define(lambda g, x: g * 3.0 * x * x, "(Tensor g, Tensor x) -> Tensor", fake=lambda g, x: np.empty_like(x),
                   backward=lambda h, g, x: (h * 3.0 * x * x, h * g * (3.0 if wrong else 6.0) * x))  # fmt: skip
    return define(lambda x: x * x * x, backward=lambda g, x: inner(g, x)), (t(X),)


@found_by("test_gradients")
def takes_a_threshold_of_another_sign(wrong):
    backward = lambda g, x: g * np.clip(x, None, 1.0) if wrong else g * np.clip(x, -1.0, 1.0)
    kernel = lambda x: np.where(np.abs(x) < 1.0, 0.5 * x * x, np.abs(x) - 0.5)
    return define(kernel, backward=backward), (t(np.array([0.5, 1.5, 2.0])),)


@found_by("test_gradients")
def multiplies_where_exponents_are_added(wrong):
    backward = lambda g, x, y: (g * y * x ** (y - 1.0), g * (np.log(x) if wrong else x**y * np.log(x)))
    return define(lambda x, y: x**y, TWO, backward=backward), (t(POSITIVE), t(POSITIVE))


# -- forward mode ---------------------------------------------------------------------------------------------------------


@found_by("test_jvp")
def pushes_a_constant_with_the_tangent(wrong):
    jvp = lambda tangents, output, x: tangents[0] * np.cos(x) + (output if wrong else 0.0)
    return define(np.sin, jvp=jvp), (t(X),)


@found_by("test_jvp")
def takes_the_result_for_the_argument(wrong):
    jvp = lambda tangents, output, x: tangents[0] * (np.cos(output) if wrong else np.cos(x))
    return define(np.sin, jvp=jvp), (t(X),)


# -- batches --------------------------------------------------------------------------------------------------------------


@found_by("test_vmap")
def subtracts_the_mean_of_the_batch(wrong):
    def vmap(info, in_dims, x):
        x = in_front(x, in_dims[0])
        return x - (np.mean(x) if wrong else np.mean(x, tuple(range(1, x.ndim)), keepdims=True)), 0

    return define(lambda x: x - np.mean(x), vmap=vmap), (X,)


@found_by("test_vmap")
def sums_along_the_batch(wrong):
    def vmap(info, in_dims, x):
        return np.cumsum(in_front(x, in_dims[0]), 0 if wrong else 1), 0

    return define(lambda x: np.cumsum(x, 0), vmap=vmap), (S,)


@found_by("test_vmap")
def multiplies_all_items_by_all(wrong):
    def vmap(info, in_dims, x, y):
        x = in_front(x, in_dims[0]) if in_dims[0] is not None else np.broadcast_to(x, (info.batch_size, *x.shape))
        y = in_front(y, in_dims[1]) if in_dims[1] is not None else np.broadcast_to(y, (info.batch_size, *y.shape))
        return (x * y[::-1] if wrong else x * y), 0

    return define(lambda x, y: x * y, TWO, vmap=vmap), (X, Y)


@found_by("test_vmap")
def counts_a_negative_axis_from_the_batch(wrong):
    def vmap(info, in_dims, x, axis):
        x = in_front(x, in_dims[0])
        return np.flip(x, axis + 1 if wrong or axis >= 0 else axis) * 1.0, 0

    kernel = lambda x, axis: np.flip(x, axis).copy()
    op = define(kernel, "(Tensor x, int axis) -> Tensor", fake=lambda x, axis: np.empty(x.shape, x.dtype), vmap=vmap)
    return op, (S, -1)


@found_by("test_vmap")
def sorts_the_items_themselves(wrong):
    def vmap(info, in_dims, x):
        return np.sort(in_front(x, in_dims[0]), 0 if wrong else -1), 0

    return define(lambda x: np.sort(x, -1), vmap=vmap), (V,)


# -- kernels that end the process, or do not come back --------------------------------------------------------------------


@found_by("test_schema", DANGEROUS)
def asks_the_interpreter_to_end(wrong):
    def kernel(x):
        if wrong:
            sys.exit(3)
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema", DANGEROUS)
def interrupts_the_user(wrong):
    def kernel(x):
        if wrong:
            raise KeyboardInterrupt
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema", DANGEROUS)
def terminates_its_process(wrong):
    def kernel(x):
        if wrong:
            os.kill(os.getpid(), signal.SIGTERM)
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema", DANGEROUS, timeout=0.5)
def stops_its_process(wrong):
    def kernel(x):
        if wrong:
            os.kill(os.getpid(), signal.SIGSTOP)
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema", DANGEROUS, timeout=0.5)
def waits_for_a_lock_that_it_holds(wrong):
    def kernel(x):
        lock = threading.Lock()
        lock.acquire()
        if wrong:
            lock.acquire()
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema", DANGEROUS)
def calls_itself_without_end(wrong):
    def kernel(x, depth=0):
        return kernel(x, depth + 1) if wrong and depth < ENDLESS else x * 2.0

    return define(lambda x: kernel(x)), (X,)


@found_by("test_schema", DANGEROUS)
def closes_every_file(wrong):
    def kernel(x):
        if wrong:
            os.closerange(3, 4096)
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema", DANGEROUS)
def frees_its_memory_twice(wrong):
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]

    def kernel(x):
        memory = libc.malloc(64)
        libc.free(memory)
        if wrong:
            libc.free(memory)
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_aot_dispatch_dynamic", DANGEROUS, timeout=0.5)
def does_not_come_back_from_the_backward(wrong):
    def backward(g, x):
        if wrong:
            threading.Event().wait()
        return 2.0 * g * x

    return define(lambda x: x * x, backward=backward), (t(X),)


@found_by("test_faketensor", DANGEROUS)
def ends_the_process_in_the_shape_rule(wrong):
    def fake(x):
        if wrong:
            os.abort()
        return np.empty_like(x)

    return define(np.sin, fake=fake), (X,)
