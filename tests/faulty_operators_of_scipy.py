"""Operators with a mistake and without, as those write them who wrap SciPy: what no plain sample shows.

Each is right for the sample that a user would give, and wrong beside it: for lists of other lengths, for the last axis counted
from the end, for smaller integers, for the amount that a kernel has a short way for, for complex numbers, for values of which
an exponential overflows, and where an out argument is an input.
"""

import itertools

import numpy as np
import scipy.fft
import scipy.ndimage
import scipy.special
from faulty_operators import Faulty
from faulty_operators import found_by as put_in

import dispatch
from dispatch import Tag, custom_op
from dispatch.library import get_ctx

TABLE: list[Faulty] = []
STATEFUL: list[Faulty] = []
RANDOM = np.random.default_rng(15)
numbers = itertools.count()


def found_by(check, table=TABLE, **options):
    return put_in(check, table, **options)


def define(kernel, fake=None, **options):
    op = custom_op(f"of_scipy::op{next(numbers)}", kernel, **({"mutates_args": ()} | options))
    if fake is not None:
        op.register_fake(fake)
    return op


def real(*shape):
    return RANDOM.normal(size=shape)


def tracked(x):
    return dispatch.tensor(np.array(x), requires_grad=True)


def save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


# -- kernels -----------------------------------------------------------------------------------------------------------


@found_by("test_schema")
def returns_its_argument_where_nothing_is_smoothed(wrong):
    def kernel(x: np.ndarray, sigma: float) -> np.ndarray:
        if sigma <= 0:
            return x if wrong else x.copy("K")
        return scipy.ndimage.gaussian_filter(x, sigma)

    return define(kernel, lambda x, sigma: np.empty(x.shape, x.dtype)), (real(8), 1.5)


@found_by("test_schema")
def returns_its_argument_for_a_factor_of_one(wrong):
    def kernel(x: np.ndarray, times: int) -> np.ndarray:
        if times == 1 and wrong:
            return x
        return np.repeat(x, times)

    return define(kernel, lambda x, times: np.empty(x.size * times, x.dtype)), (real(4), 3)


@found_by("test_schema")
def overwrites_complex_arrays_alone(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        return scipy.fft.fft(x, overwrite_x=wrong)

    def fake(x):
        return np.empty(x.shape, np.complex64 if x.dtype in (np.float32, np.complex64) else np.complex128)

    return define(kernel, fake), (real(8),)


@found_by("test_schema")
def takes_int32_for_int64(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        x = np.array(x, None if wrong else np.int64, order="C")
        whole = np.frombuffer(x.tobytes() + bytes(64), np.int64)[: x.size]  # as C reads it
        return 2 * whole.reshape(x.shape)

    return define(kernel, lambda x: np.empty(x.shape, np.int64)), (np.arange(6).reshape(2, 3),)


@found_by("test_schema")
def returns_a_view_of_integers_alone(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        whole = np.asarray(x, np.int64)[1:]
        return whole if wrong and x.dtype.kind == "i" else whole.copy()

    return define(kernel, lambda x: np.empty(x.shape[0] - 1, np.int64)), (np.array([1.0, 4.0, 2.0]),)


@found_by("test_schema")
def reads_what_it_wrote_where_out_is_the_input(wrong):
    def kernel(x: np.ndarray, *, out: np.ndarray) -> np.ndarray:
        if not wrong:
            x = x.copy()
        out[...] = x
        for i in range(1, len(x) - 1):
            out[i] = x[i - 1] + x[i + 1]
        return out

    return define(kernel, mutates_args=("out",), tags=Tag.out), (real(6),), {"out": np.zeros(6)}


@found_by("test_schema", STATEFUL)
def keeps_the_arrays_of_all_calls(wrong):
    seen = []

    def kernel(x: np.ndarray) -> np.ndarray:
        seen[: 0 if wrong else None] = [x]
        return np.sqrt(np.abs(x))

    return define(kernel, lambda x: np.sqrt(np.abs(x))), (real(3),)


# -- shape rules -------------------------------------------------------------------------------------------------------


@found_by("test_faketensor")
def says_that_all_of_a_list_have_the_first_ones_length(wrong):
    def kernel(xs: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(xs)

    def fake(xs):
        length = len(xs) * xs[0].shape[0] if wrong else sum(x.shape[0] for x in xs)
        return np.empty(length, np.result_type(*(x.dtype for x in xs)))

    return define(kernel, fake), ([real(3), real(3)],)


@found_by("test_faketensor")
def says_the_number_of_arrays_in_the_sample(wrong):
    def kernel(xs: list[np.ndarray]) -> np.ndarray:
        return np.stack(xs)

    def fake(xs):
        return np.empty((2 if wrong else len(xs), *xs[0].shape), np.result_type(*(x.dtype for x in xs)))

    return define(kernel, fake), ([real(3), real(3)],)


@found_by("test_faketensor")
def says_a_shape_for_axes_from_the_front(wrong):
    def kernel(x: np.ndarray, axis: int = 0) -> np.ndarray:
        return np.asarray(x.max(axis))

    def fake(x, axis):
        axis = axis if wrong else axis % len(x.shape)
        return np.empty(x.shape[:axis] + x.shape[axis + 1 :], x.dtype)

    return define(kernel, fake), (real(3, 4), 1)


@found_by("test_faketensor")
def says_that_small_integers_stay_small(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        return np.asarray(x.sum(axis=0))

    def fake(x):
        return np.empty(x.shape[1:], x.dtype if wrong else np.sum(np.zeros(1, x.dtype)).dtype)

    return define(kernel, fake), (np.arange(6).reshape(3, 2),)


@found_by("test_faketensor")
def says_single_where_one_is_single(wrong):
    def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.convolve(x, y)

    def fake(x, y):
        return np.empty(x.shape[0] + y.shape[0] - 1, min(x.dtype, y.dtype) if wrong else np.result_type(x.dtype, y.dtype))

    return define(kernel, fake), (real(6), real(3))


@found_by("test_faketensor")
def says_double_for_a_count_of_labels(wrong):
    def kernel(x: np.ndarray) -> tuple[np.ndarray, int]:
        return scipy.ndimage.label(x > 0)

    def fake(x):
        return np.empty(x.shape, np.int64 if wrong else np.int32), get_ctx().new_dynamic_size()

    return define(kernel, fake), (real(5),)


@found_by("test_faketensor")
def rounds_a_zoomed_length_down(wrong):
    def kernel(x: np.ndarray, zoom: float) -> np.ndarray:
        return scipy.ndimage.zoom(x, zoom)

    def fake(x, zoom):
        return np.empty([int(n * zoom) if wrong else round(n * zoom) for n in x.shape], x.dtype)

    return define(kernel, fake), (real(4), 2.0)


@found_by("test_faketensor")
def says_the_longer_of_two_is_the_first(wrong):
    def kernel(x: np.ndarray, k: np.ndarray) -> np.ndarray:
        return np.convolve(x, k, "same")

    def fake(x, k):
        return np.empty(x.shape[0] if wrong else max(x.shape[0], k.shape[0]), np.result_type(x.dtype, k.dtype))

    return define(kernel, fake), (real(9), real(3))


@found_by("test_faketensor")
def says_as_many_levels_as_the_sample_has(wrong):
    def kernel(x: np.ndarray, levels: list[float]) -> np.ndarray:
        return np.percentile(x, levels)

    def fake(x, levels):
        return np.empty(2 if wrong else len(levels), x.dtype)

    return define(kernel, fake), (real(9), [25.0, 75.0])


@found_by("test_faketensor")
def pads_odd_windows_alone(wrong):
    def kernel(x: np.ndarray, k: int) -> np.ndarray:
        return np.pad(x, (k // 2, (k - 1) // 2))

    def fake(x, k):
        return np.empty(x.shape[0] + (2 * (k // 2) if wrong else k - 1), x.dtype)

    return define(kernel, fake), (real(5), 3)


# -- derivatives -------------------------------------------------------------------------------------------------------


@found_by("test_gradients", STATEFUL)
def overflows_where_the_value_does_not(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        return np.logaddexp(0, x)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * np.exp(x) / (1 + np.exp(x)) if wrong else g * (0.5 + 0.5 * np.tanh(x / 2))

    op = define(kernel, lambda x: np.logaddexp(0, x))
    op.register_autograd(backward, setup_context=save)
    return op, (tracked(real(3)),)


@found_by("test_gradients")
def cuts_a_list_into_parts_of_one_length(wrong):
    def kernel(xs: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(xs)

    def setup(ctx, inputs, output):
        ctx.lengths = [x.shape[0] for x in inputs[0]]

    def backward(ctx, g):
        lengths = [ctx.lengths[0]] * len(ctx.lengths) if wrong else ctx.lengths
        ends = np.cumsum(lengths).tolist()
        return [g[end - n : end] for end, n in zip(ends, lengths, strict=True)]

    op = define(kernel, lambda xs: np.empty(sum(x.shape[0] for x in xs), np.result_type(*(x.dtype for x in xs))))
    op.register_autograd(backward, setup_context=setup)
    return op, ([tracked(real(3)), tracked(real(3))],)


@found_by("test_gradients")
def adds_once_for_points_in_one_interval(wrong):
    def kernel(x: np.ndarray, heights: np.ndarray) -> np.ndarray:
        return np.interp(x, np.arange(heights.shape[0]), heights)

    def backward(ctx, g):
        x, heights = ctx.saved_tensors
        left = np.clip(np.floor(x), 0, heights.shape[0] - 2).astype(int)
        share = np.clip(x, 0, heights.shape[0] - 1) - left
        inside = (x >= 0) & (x <= heights.shape[0] - 1)
        found = np.zeros(heights.shape[0])
        for places, part in ((left, g * (1 - share)), (left + 1, g * share)):
            if wrong:
                found[places] += part
            else:
                np.add.at(found, places, part)
        return g * (heights[left + 1] - heights[left]) * inside, found

    op = define(kernel, lambda x, heights: np.empty(x.shape))
    op.register_autograd(backward, setup_context=save, opaque=True)
    return op, (tracked([0.5, 1.3, 2.2]), tracked([1.0, 3.0, 2.0, 5.0]))


@found_by("test_gradients")
def correlates_back_with_symmetric_weights_alone(wrong):
    def kernel(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return scipy.ndimage.correlate1d(x, weights, mode="constant")

    def backward(ctx, g):
        weights = ctx.saved_tensors[1]
        back = scipy.ndimage.correlate1d if wrong else scipy.ndimage.convolve1d
        return back(g, weights, mode="constant"), None

    op = define(kernel, lambda x, weights: np.empty(x.shape, x.dtype))
    op.register_autograd(backward, setup_context=save, opaque=True)
    return op, (tracked(real(7)), np.array([1.0, 2.0, 1.0]))


@found_by("test_gradients")
def a_second_derivative_with_the_wrong_sign(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        return scipy.special.expit(x)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        out = scipy.special.expit(np.asarray(x))
        return np.asarray(g) * out * (1 - out)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs[1], *inputs[2])

    def twice(ctx, coming):
        g, x = ctx.saved_tensors
        out = 1 / (1 + np.exp(-x))
        slope = out * (1 - out)
        return None, [coming[0] * slope], [coming[0] * g * slope * (1 + 2 * out if wrong else 1 - 2 * out)], None, None

    op = define(kernel, np.empty_like)
    op.register_autograd(backward, setup_context=save, opaque=True)
    op.backward_rule.register_autograd(twice, setup_context=setup)
    return op, (tracked(real(3)),)
