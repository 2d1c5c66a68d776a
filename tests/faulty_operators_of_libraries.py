"""Operators with a mistake and without, as those write them who wrap a library: hints for schemas, pointers, rules for every layer.

The kinds are others than those of the two tables before: what shows only backwards in memory, at length 0, for floats where the
sample has integers, in a list, a dict or one of several outputs. More than 350 lines, since each is written out.
"""

import ctypes
import functools
import itertools
import os
import threading
import warnings
from typing import Annotated

import numpy as np
from faulty_operators import Faulty
from faulty_operators import found_by as put_in

import dispatch
from dispatch import Tag, custom_op
from dispatch.library import get_ctx

TABLE: list[Faulty] = []
DANGEROUS: list[Faulty] = []  # for a child process alone
RANDOM = np.random.default_rng(15)
numbers = itertools.count()


def found_by(check, table=TABLE, **options):
    return put_in(check, table, **options)


def like(x):
    return np.empty(x.shape, x.dtype)


def define(kernel, *, fake=None, mutates_args=(), **options):
    op = custom_op(f"library::op{next(numbers)}", kernel, mutates_args=mutates_args, **options)
    if fake is not None:
        op.register_fake(fake)
    return op


def real(*shape):
    return RANDOM.normal(size=shape)


def tracked(*shape, dtype=float):
    x = RANDOM.normal(size=shape)
    return dispatch.tensor(x + 1j * RANDOM.normal(size=shape) if dtype is complex else x, requires_grad=True)


def same_shape(op):
    op.register_fake(like)


def save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def keep(ctx, inputs, output):
    ctx.given = inputs


# -- pointers, strides, layouts ----------------------------------------------------------------------------------------


@found_by("test_schema")
def copies_by_pointer(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        if not wrong:
            x = np.ascontiguousarray(x)
        out = np.empty(x.shape, x.dtype)
        ctypes.memmove(out.ctypes.data, x.ctypes.data, out.nbytes)
        return out

    return define(kernel, fake=like), (real(3, 4),)


@found_by("test_schema")
def reads_doubles_whatever_comes(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x, None if wrong else np.float64)
        pointer = ctypes.cast(x.ctypes.data, ctypes.POINTER(ctypes.c_double))
        n = x.nbytes // 8
        return np.array([2.0 * pointer[i] for i in range(n)] + [0.0] * (x.size - n)).reshape(x.shape)

    return define(kernel, fake=lambda x: np.empty(x.shape)), (real(4),)


@found_by("test_schema")
def steps_backwards_are_taken_as_forwards(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        if wrong:
            x = np.lib.stride_tricks.as_strided(x, x.shape, tuple(abs(s) for s in x.strides))
        return x * 2.0

    return define(kernel, fake=lambda x: x * 2.0), (real(5),)


@found_by("test_schema")
def bytes_in_any_order(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        return np.frombuffer(x.tobytes(order="A" if wrong else "C"), x.dtype).reshape(x.shape) + 1

    return define(kernel, fake=like), (real(2, 3),)


@found_by("test_schema")
def a_column_major_library_without_the_hint(wrong):
    hint = np.ndarray if wrong else Annotated[np.ndarray, "F"]

    def kernel(a) -> np.ndarray:
        flat = a.ravel(order="K")
        m = a.shape[0]
        return np.array([flat[i::m].sum() for i in range(m)])

    kernel.__annotations__["a"] = hint
    return define(kernel, fake=lambda a: np.empty(a.shape[0], a.dtype)), (np.asfortranarray(real(3, 4)),)


@found_by("test_schema")
def reads_one_element_too_far(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        if x.size == 0 or x.ndim != 1:
            return x.copy()
        x = np.ascontiguousarray(x)
        if wrong:
            longer = np.lib.stride_tricks.as_strided(x, (len(x) + 1,), x.strides)
        else:
            longer = np.append(x, x[-1])
        return 0.5 * (longer[:-1] + longer[1:])

    return define(kernel, fake=like), (real(6),)


@found_by("test_schema")
def fills_one_element_too_many(wrong):
    def kernel(x: np.ndarray, work: np.ndarray) -> np.ndarray:
        if work.flags.c_contiguous:
            ctypes.memset(work.ctypes.data, 0, work.nbytes + (work.itemsize if wrong and work.size else 0))
        else:
            work[...] = 0
        work += x
        return work.copy()

    return define(kernel, fake=lambda x, work: np.empty(work.shape, work.dtype), mutates_args=("work",)), (real(4), np.empty(4))


@found_by("test_schema")
def doubles_a_copy_of_a_slice(wrong):
    def kernel(x: np.ndarray) -> None:
        if wrong:
            flat = x.ravel()
            flat *= 2
        else:
            x *= 2

    return define(kernel, mutates_args=("x",)), (real(3, 4),)


# -- writes and aliases not declared -----------------------------------------------------------------------------------


@found_by("test_schema")
def clips_in_place_where_something_is_negative(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        if np.any(x < 0):
            x = np.maximum(x, 0, out=x if wrong else None)
        return x + 1.0

    return define(kernel, fake=lambda x: x + 1.0), (np.abs(real(4)) + 0.1,)


@found_by("test_schema")
def hands_float64_back(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        return x.astype(np.float64, copy=not wrong)

    return define(kernel, fake=lambda x: np.empty_like(x, np.float64)), (np.arange(4),)


@found_by("test_schema")
def turns_the_list_of_the_caller(wrong):
    def kernel(xs: list[np.ndarray]) -> np.ndarray:
        if wrong:
            xs.append(xs.pop(0))
        else:
            xs = [*xs[1:], xs[0]]
        return xs[0] - sum(xs[1:])

    return define(kernel, fake=lambda xs: np.empty(xs[0].shape, xs[0].dtype)), ([real(3), real(3), real(3)],)


@found_by("test_schema")
def centres_what_is_in_a_dict(wrong):
    def kernel(tables: dict[str, np.ndarray]) -> np.ndarray:
        total = 0.0
        for name in sorted(tables):
            table = tables[name] if wrong else tables[name].copy()
            if table.dtype.kind == "f":
                table -= table.mean()
            total = total + np.abs(table).sum()
        return np.array(total)

    return define(kernel, fake=lambda tables: np.empty((), np.result_type(*tables.values()))), ({"a": real(3), "b": real(4)},)


@found_by("test_schema")
def two_outputs_are_halves_of_one_array(wrong):
    def kernel(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        both = np.concatenate([np.sin(x), np.cos(x)])
        a, b = both[: len(x)], both[: len(x)] if wrong else both[len(x) :]
        return (a, b) if wrong else (a.copy(), b.copy())

    return define(kernel, fake=lambda x: (np.empty(x.shape, x.dtype), np.empty(x.shape, x.dtype))), (real(4),)


@found_by("test_faketensor")
def elements_of_the_result_are_one_element(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        row = np.broadcast_to(x.sum(axis=0, keepdims=True), x.shape)
        return row if wrong else row.copy()

    op = define(kernel)
    op.register_fake(lambda x: np.empty(x.shape, x.dtype))
    return op, (real(3, 4),)


@found_by("test_schema")
def returns_the_workspace_of_a_shape(wrong):
    spaces = {}

    def kernel(x: np.ndarray) -> np.ndarray:
        space = spaces.setdefault((x.shape, x.dtype), np.empty(x.shape, x.dtype)) if wrong else np.empty_like(x)
        return np.multiply(x, 3, out=space)

    return define(kernel, fake=lambda x: x * 3), (real(3),)


@found_by("test_schema")
def one_workspace_of_each_thread(wrong):
    local = threading.local()

    def kernel(x: np.ndarray) -> np.ndarray:
        space = getattr(local, "space", None)
        if space is None or space.size < x.size:
            space = local.space = np.zeros(x.size)
        if not wrong:
            space[:] = 0
        space[: x.size] += x.ravel().real
        return np.cumsum(space[: x.size])

    return define(kernel, fake=lambda x: np.empty(x.size)), (real(5),)


@found_by("test_schema")
def a_least_recently_used_cache_gives_its_array_away(wrong):
    @functools.lru_cache(maxsize=64)
    def window(n):
        return np.hanning(n)

    def kernel(n: int) -> np.ndarray:
        return window(n) if wrong else window(n).copy()

    return define(kernel, fake=lambda n: np.empty(n)), (6,)


# -- state, randomness, process ----------------------------------------------------------------------------------------


@found_by("test_schema")
def subtracts_the_mean_of_all_calls(wrong):
    seen = [0, 0.0]

    def kernel(x: np.ndarray) -> np.ndarray:
        if not wrong:
            return x - x.mean()
        seen[0] += x.size
        seen[1] += float(np.nansum(x.real))
        return x - seen[1] / max(seen[0], 1)

    return define(kernel, fake=lambda x: x * 1), (real(4),)


@found_by("test_schema")
def dithers_without_saying_so(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng(None if wrong else 0)
        return np.round(x + rng.uniform(-0.5, 0.5, x.shape))

    return define(kernel, fake=lambda x: x + 1.0), (10 * real(6),)


@found_by("test_schema")
def draws_after_seeding_for_everybody(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        if wrong:
            np.random.seed(0)  # noqa: NPY002
            return x + np.random.normal(size=x.shape)  # noqa: NPY002
        return x + np.random.RandomState(0).normal(size=x.shape)

    return define(kernel, fake=lambda x: x + 1.0), (real(4),)


@found_by("test_schema")
def turns_warnings_of_division_off(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        if wrong:
            np.seterr(divide="ignore", invalid="ignore")
            return 1 / x
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1 / x

    return define(kernel, fake=lambda x: 1 / x), (real(4),)


@found_by("test_schema")
def silences_all_warnings(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        if wrong:
            warnings.simplefilter("ignore")
            return np.log1p(np.abs(x))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.log1p(np.abs(x))

    return define(kernel, fake=lambda x: x + 1.0), (real(4),)


@found_by("test_schema")
def an_environment_variable_for_the_library(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        if wrong:
            os.environ["THIRD_PRECISION"] = "high"
        return x**2

    return define(kernel, fake=lambda x: x * x), (real(4),)


@found_by("test_schema")
def the_last_element_of_odd_lengths_is_not_written(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        out = np.empty(x.size, x.dtype)
        flat = x.ravel()
        n = x.size - (x.size % 2 if wrong else 0)
        out[:n] = flat[:n] * 2
        return out

    return define(kernel, fake=lambda x: np.empty(x.size, x.dtype)), (real(4),)


@found_by("test_schema")
def sorts_objects_by_their_address(wrong):
    class Item:
        def __init__(self, value):
            self.value = value

    def kernel(x: np.ndarray) -> np.ndarray:
        items = [Item(v) for v in x.ravel()]
        return np.array([item.value for item in (sorted(items, key=id) if wrong else items)], x.dtype)

    return define(kernel, fake=lambda x: np.empty(x.size, x.dtype)), (real(7),)


# -- fakes -------------------------------------------------------------------------------------------------------------


@found_by("test_faketensor")
def fake_of_diff_at_size_zero(wrong):
    op = define(lambda x: np.diff(x), schema="(Tensor x) -> Tensor")
    if wrong:
        op.register_fake(lambda x: np.empty((abs(x.shape[0] - 1),), x.dtype))

    else:
        op.register_fake(lambda x: np.empty((max(x.shape[0] - 1, 0),), x.dtype))

    return op, (real(5),)


@found_by("test_faketensor")
def fake_of_squeeze_at_size_one(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        return (np.squeeze(x * 2) if wrong else np.squeeze(x * 2, axis=0)).copy()

    op = define(kernel)
    op.register_fake(lambda x: np.empty(x.shape[1:], x.dtype))
    return op, (real(1, 3, 4),)


@found_by("test_faketensor")
def fake_keeps_an_order_that_the_kernel_does_not(wrong):
    op = define(lambda x: np.ascontiguousarray(x * 2), schema="(Tensor x) -> Tensor")
    op.register_fake((lambda x: np.empty_like(x)) if wrong else (lambda x: np.empty(x.shape, x.dtype)))
    return op, (real(3, 4),)


@found_by("test_faketensor")
def fake_of_what_is_positive(wrong):
    op = define(lambda x: x[x > 0], schema="(Tensor x) -> Tensor")
    if wrong:
        op.register_fake(lambda x: np.empty(x.shape[:1], x.dtype))

    else:
        op.register_fake(lambda x: np.empty((get_ctx().new_dynamic_size(),), x.dtype))

    return op, (np.array([1.0, 2.0, 3.0]),)


@found_by("test_faketensor")
def fake_of_the_size_of_the_sample(wrong):
    op = define(lambda x: np.cumsum(x), schema="(Tensor x) -> Tensor")
    op.register_fake((lambda x: np.empty(6, x.dtype)) if wrong else (lambda x: np.empty(x.size, x.dtype)))
    return op, (real(6),)


@found_by("test_faketensor")
def fake_of_outputs_in_another_order(wrong):
    op = define(lambda x: (x.sum(axis=0), x.sum(axis=1)), schema="(Tensor x) -> (Tensor, Tensor)")
    if wrong:
        op.register_fake(lambda x: (np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)))

    else:
        op.register_fake(lambda x: (np.empty(x.shape[1], x.dtype), np.empty(x.shape[0], x.dtype)))

    return op, (real(3, 3),)


@found_by("test_faketensor")
def complex_where_something_is_negative(wrong):
    op = define(lambda x: np.emath.sqrt(x) if wrong else np.emath.sqrt(x).astype(complex), schema="(Tensor x) -> Tensor")
    op.register_fake(lambda x: np.empty(x.shape, np.float64 if wrong else complex))
    return op, (np.array([1.0, 2.0]),)


@found_by("test_faketensor")
def none_where_a_flag_is_off(wrong):
    def kernel(x: np.ndarray, index: bool = True) -> tuple[np.ndarray, np.ndarray | None]:
        return np.sort(x), np.argsort(x) if index else None

    op = define(kernel)
    op.register_fake(lambda x, index: (np.empty(x.shape, x.dtype), np.empty(x.shape, np.intp) if wrong or index else None))
    return op, (real(4), False)


@found_by("test_faketensor")
def fake_of_a_full_convolution_of_the_shorter(wrong):
    op = define(lambda x, w: np.convolve(x, w, "same"), schema="(Tensor x, Tensor w) -> Tensor")
    if wrong:
        op.register_fake(lambda x, w: np.empty(x.shape, np.result_type(x, w)))

    else:
        op.register_fake(lambda x, w: np.empty((max(x.shape[0], w.shape[0]),), np.result_type(x, w)))

    return op, (real(6), real(3))


# -- gradients ---------------------------------------------------------------------------------------------------------


@found_by("test_gradients")
def huber_without_the_negative_branch(wrong):
    op = define(lambda x: np.where(np.abs(x) < 1, 0.5 * x * x, np.abs(x) - 0.5), schema="(Tensor x) -> Tensor")
    same_shape(op)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (np.where(x > 1, 1.0, x) if wrong else np.clip(x, -1, 1))

    op.register_autograd(backward, setup_context=save)
    return op, (dispatch.tensor([0.3, 0.7, 2.0], requires_grad=True),)


@found_by("test_gradients")
def weights_of_the_shape_of_the_data(wrong):
    op = define(lambda x, w: x * w, schema="(Tensor x, Tensor w) -> Tensor")
    op.register_fake(lambda x, w: x * w)

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, np.broadcast_to((g * x).sum(axis=0), w.shape) if wrong else g * x

    op.register_autograd(backward, setup_context=save)
    return op, (tracked(3, 4), tracked(3, 4))


@found_by("test_gradients")
def sum_with_axes_that_are_kept(wrong):
    def kernel(x: np.ndarray, axis: int = -1, keepdims: bool = False) -> np.ndarray:
        return np.sum(x**2, axis=axis, keepdims=keepdims)

    op = define(kernel)
    op.register_fake(lambda x, axis, keepdims: np.sum(x, axis=axis, keepdims=keepdims))

    def backward(ctx, g):
        x, axis, keepdims = ctx.given
        if not keepdims:
            g = np.expand_dims(g, axis - 1 if wrong and axis < 0 else axis)
        return 2 * x * g, None, None

    op.register_autograd(backward, setup_context=keep)
    return op, (tracked(3, 3), -1)


@found_by("test_gradients")
def a_negative_axis_counts_from_the_front(wrong):
    def kernel(x: np.ndarray, axis: int) -> np.ndarray:
        return np.ascontiguousarray(np.cumsum(x, axis=axis))

    op = define(kernel)
    op.register_fake(lambda x, axis: np.empty(x.shape, x.dtype))

    def backward(ctx, g):
        axis = max(ctx.given[1], 0) if wrong else ctx.given[1]
        return np.flip(np.cumsum(np.flip(g, axis), axis), axis), None

    op.register_autograd(backward, setup_context=keep)
    return op, (tracked(3, 4), -1)


@found_by("test_gradients")
def mean_over_an_axis_divides_by_everything(wrong):
    def kernel(x: np.ndarray, axis: int | None = None) -> np.ndarray:
        return np.asarray(np.mean(x, axis=axis))

    op = define(kernel)
    op.register_fake(lambda x, axis: np.mean(x, axis=axis))

    def backward(ctx, g):
        x, axis = ctx.given
        n = x.size if wrong or axis is None else x.shape[axis]
        return np.ones_like(x) * (g if axis is None else np.expand_dims(g, axis)) / n, None

    op.register_autograd(backward, setup_context=keep)
    return op, (tracked(3, 4), 0)


@found_by("test_gradients")
def a_complex_product_without_the_conjugate(wrong):
    op = define(lambda x, y: x * y, schema="(Tensor x, Tensor y) -> Tensor")
    op.register_fake(lambda x, y: x * y)

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return (g * y, g * x) if wrong else (g * np.conj(y), g * np.conj(x))

    op.register_autograd(backward, setup_context=save)
    return op, (tracked(3, dtype=complex), tracked(3, dtype=complex))


@found_by("test_gradients")
def the_phase_of_complex_numbers_is_forgotten(wrong):
    op = define(lambda x: np.abs(x) ** 2, schema="(Tensor x) -> Tensor")
    op.register_fake(lambda x: np.abs(x))
    op.register_autograd(lambda ctx, g: 2 * g * (np.abs if wrong else np.asarray)(ctx.given[0]), setup_context=keep)
    return op, (tracked(4, dtype=complex),)


@found_by("test_gradients")
def the_power_of_zero(wrong):
    def kernel(x: np.ndarray, n: int) -> np.ndarray:
        return x**n

    op = define(kernel)
    op.register_fake(lambda x, n: np.empty(x.shape, x.dtype))

    def backward(ctx, g):
        x, n = ctx.given
        return g * (n * x**n / x if wrong else n * x ** (n - 1)), None

    op.register_autograd(backward, setup_context=keep)
    return op, (dispatch.tensor([0.0, 1.0, -2.0], requires_grad=True), 2)


@found_by("test_gradients")
def weights_of_large_numbers_overflow(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        top = np.max(x)
        return np.asarray(top + np.log(np.sum(np.exp(x - top))))

    op = define(kernel)
    op.register_fake(lambda x: np.empty((), x.dtype))

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        e = np.exp(x if wrong else x - np.max(x))
        return g * e / np.sum(e)

    op.register_autograd(backward, setup_context=save)
    return op, (dispatch.tensor([1000.0, 1001.0, 999.5], requires_grad=True),)


@found_by("test_gradients")
def a_backward_in_half_the_digits(wrong):
    op = define(lambda x: np.sin(x), schema="(Tensor x) -> Tensor")
    same_shape(op)
    op.register_autograd(
        lambda ctx, g: g * np.cos(ctx.given[0].astype(np.float32) if wrong else ctx.given[0]), setup_context=keep
    )
    return op, (tracked(4),)


@found_by("test_gradients")
def the_saved_array_is_scaled_by_the_backward(wrong):
    op = define(lambda x: x**2, schema="(Tensor x) -> Tensor")
    same_shape(op)

    def backward(ctx, g):
        if wrong:
            ctx.twice *= g
            return ctx.twice.copy()
        return ctx.twice * g

    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: setattr(ctx, "twice", 2 * inputs[0]))
    return op, (tracked(4),)


@found_by("test_gradients")
def the_flag_of_the_other_argument(wrong):
    op = define(lambda x, y: x * np.exp(y), schema="(Tensor x, Tensor y) -> Tensor")
    op.register_fake(lambda x, y: x * y)

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        gx = g * np.exp(y) if ctx.needs_input_grad[0] else None
        gy = g * x * np.exp(y) if ctx.needs_input_grad[0 if wrong else 1] else None
        return gx, gy

    op.register_autograd(backward, setup_context=save)
    return op, (tracked(4), tracked(4))


@found_by("test_gradients")
def gradients_of_a_list_are_reversed(wrong):
    def kernel(xs: list[np.ndarray]) -> np.ndarray:
        return functools.reduce(lambda a, b: 2 * a + b, xs)

    op = define(kernel)
    op.register_fake(lambda xs: np.empty(xs[0].shape, xs[0].dtype))

    def backward(ctx, g):
        n = len(ctx.given[0])
        powers = [g * (2.0**i) for i in range(n)]
        grads = list(reversed(powers))
        grads[0] = powers[-1] if n == 1 else g * 2.0 ** (n - 1)
        return (powers if wrong else grads,)

    op.register_autograd(backward, setup_context=keep)
    return op, ([tracked(3), tracked(3), tracked(3)],)


@found_by("test_gradients")
def the_gradient_of_the_bias_where_there_is_one(wrong):
    def kernel(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        out = x @ w
        return out if bias is None else out + bias

    op = define(kernel)
    op.register_fake(lambda x, w, bias: np.empty((x.shape[0], w.shape[1]), x.dtype))

    def backward(ctx, g):
        x, w, bias = ctx.given
        return g @ w.T, x.T @ g, None if bias is None else (g.mean(axis=0) if wrong else g.sum(axis=0))

    op.register_autograd(backward, setup_context=keep)
    return op, (tracked(3, 4), tracked(4, 2), real(2))


@found_by("test_gradients")
def the_second_output_has_no_gradient(wrong):
    op = define(lambda x: (np.sin(x), np.cos(x)), schema="(Tensor x) -> (Tensor, Tensor)")
    op.register_fake(lambda x: (np.empty(x.shape, x.dtype), np.empty(x.shape, x.dtype)))

    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * np.cos(x) if wrong else g * np.cos(x) - h * np.sin(x)

    op.register_autograd(backward, setup_context=save)
    return op, (tracked(4),)


@found_by("test_gradients")
def nothing_where_one_output_is_unused(wrong):
    op = define(lambda x: (x**2, x**3), schema="(Tensor x) -> (Tensor, Tensor)")
    op.register_fake(lambda x: (np.empty(x.shape, x.dtype), np.empty(x.shape, x.dtype)))

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(False)

    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        if wrong and (g is None or h is None):
            return None
        total = None
        if g is not None:
            total = 2 * x * g
        if h is not None:
            total = 3 * x**2 * h if total is None else total + 3 * x**2 * h
        return total

    op.register_autograd(backward, setup_context=setup_context)
    return op, (tracked(4),)


@found_by("test_gradients")
def the_gradient_of_a_view_is_not_turned_back(wrong):
    op = define(lambda x: x[::-1], schema="(Tensor(a) x) -> Tensor(a)", tags=Tag.view)
    op.register_fake(lambda x: x[::-1])
    op.register_autograd(lambda ctx, g: g if wrong else g[::-1])
    return op, (tracked(5),)


@found_by("test_gradients")
def the_second_derivative_of_an_operator_in_the_backward(wrong):
    slope = define(lambda x: 1 / (1 + x * x), schema="(Tensor x) -> Tensor")
    same_shape(slope)
    slope.register_autograd(
        lambda ctx, g: g * (-2 if not wrong else 2) * ctx.given[0] / (1 + ctx.given[0] ** 2) ** 2, setup_context=keep
    )
    op = define(lambda x: np.arctan(x), schema="(Tensor x) -> Tensor")
    same_shape(op)
    op.register_autograd(lambda ctx, g: g * slope(ctx.given[0]), setup_context=keep)
    return op, (tracked(4),)


@found_by("test_gradients")
def the_backward_scales_what_it_is_given(wrong):
    op = define(lambda x: 3 * x, schema="(Tensor x) -> Tensor")
    same_shape(op)

    def backward(ctx, g):
        if wrong:
            return np.multiply(g, 3, out=g)
        return g * 3

    op.register_autograd(backward)
    return op, (tracked(4),)


@found_by("test_gradients")
def the_factor_of_the_first_call(wrong):
    kept = {}
    op = define(lambda x: np.sinh(x), schema="(Tensor x) -> Tensor")
    same_shape(op)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        if not wrong:
            return g * np.cosh(x)
        factor = kept.setdefault(x.shape, np.cosh(x))
        return g * factor

    op.register_autograd(backward, setup_context=save)
    return op, (tracked(4),)


@found_by("test_gradients")
def a_mask_drawn_again(wrong):
    def kernel(x: np.ndarray, seed: int) -> np.ndarray:
        return x * (np.random.default_rng(seed).uniform(size=x.shape) > 0.5)

    op = define(kernel)
    op.register_fake(lambda x, seed: np.empty(x.shape, x.dtype))

    def backward(ctx, g):
        return g * (np.random.default_rng(None if wrong else ctx.given[1]).uniform(size=g.shape) > 0.5), None

    op.register_autograd(backward, setup_context=keep)
    return op, (tracked(8), 3)


@found_by("test_gradients")
def what_was_saved_has_been_written_since(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        np.square(x, out=x)
        return x

    op = define(kernel, mutates_args=("x",), tags=Tag.inplace)
    op.register_autograd(
        lambda ctx, g: 2 * g * ctx.kept,
        setup_context=lambda ctx, inputs, output: setattr(ctx, "kept", output if wrong else inputs[0]),
    )

    return op, (tracked(4),)


@found_by("test_autograd_registration")
def an_output_marked_without_a_gradient(wrong):
    op = define(lambda x: (np.sum(x**2), np.argmax(x)), schema="(Tensor x) -> (Tensor, Tensor)")
    op.register_fake(lambda x: (np.empty((), x.dtype), np.empty((), np.intp)))

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.mark_non_differentiable(output[0 if wrong else 1])

    op.register_autograd(lambda ctx, g, h: 2 * g * ctx.saved_tensors[0], setup_context=setup_context)
    return op, (tracked(4),)


@found_by("test_gradients")
def the_gradient_of_wide_matrices_only(wrong):
    op = define(lambda a: a @ np.swapaxes(a, 0, 1), schema="(Tensor a) -> Tensor")
    op.register_fake(lambda a: np.empty((a.shape[0], a.shape[0]), a.dtype))

    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return 2 * (g @ a) if wrong else (g + g.T) @ a

    op.register_autograd(backward, setup_context=save)
    return op, (tracked(2, 3),)


@found_by("test_gradients")
def ties_and_duplicates_of_an_index(wrong):
    op = define(lambda x, index: x[index], schema="(Tensor x, Tensor index) -> Tensor")
    op.register_fake(lambda x, index: np.empty(index.shape + x.shape[1:], x.dtype))

    def backward(ctx, g):
        x, index = ctx.given
        out = np.zeros_like(g, shape=x.shape)
        if wrong:
            out[index] += g
        else:
            np.add.at(out, index, g)
        return out, None

    op.register_autograd(backward, setup_context=keep)
    return op, (tracked(4), np.array([0, 2, 2]))


@found_by("test_gradients")
def the_gradient_of_a_number(wrong):
    op = define(lambda x, a: x * a**2, schema="(Tensor x, Tensor a) -> Tensor")
    op.register_fake(lambda x, a: x * a)

    def backward(ctx, g):
        x, a = ctx.saved_tensors
        return g * a**2, (2 * a * np.mean(g * x) if wrong else 2 * a * np.sum(g * x))

    op.register_autograd(backward, setup_context=save)
    return op, (tracked(5), dispatch.tensor(1.5, requires_grad=True))


# -- tangents ----------------------------------------------------------------------------------------------------------


@found_by("test_jvp")
def a_tangent_of_another_sign(wrong):
    op = define(lambda x, y: x - y**2, schema="(Tensor x, Tensor y) -> Tensor")
    op.register_fake(lambda x, y: x - y)
    op.register_autograd(lambda ctx, g: (g, -2 * g * ctx.given[1]), setup_context=keep)
    op.register_jvp(lambda tangents, output, x, y: tangents[0] + (2 if wrong else -2) * y * tangents[1])
    return op, (tracked(4), tracked(4))


@found_by("test_jvp")
def a_tangent_divided_by_the_result(wrong):
    op = define(lambda x: np.asarray(np.sqrt(np.sum(x**2))), schema="(Tensor x) -> Tensor")
    op.register_fake(lambda x: np.empty((), x.dtype))
    op.register_autograd(lambda ctx, g: g * ctx.given[0] / np.sqrt(np.sum(ctx.given[0] ** 2)), setup_context=keep)
    op.register_jvp(lambda tangents, output, x: np.sum(np.abs(x) * tangents[0] if wrong else x * tangents[0]) / output)
    return op, (tracked(4),)


# -- batches -----------------------------------------------------------------------------------------------------------


@found_by("test_vmap")
def both_arguments_are_always_mapped(wrong):
    op = define(lambda x, w: x @ w, fake=lambda x, w: np.empty((), x.dtype), schema="(Tensor x, Tensor w) -> Tensor")

    def rule(info, in_dims, x, w):
        a, b = in_dims
        x = x[None] if a is None else np.moveaxis(x, a, 0)
        w = w[None] if b is None else np.moveaxis(w, b, 0)
        if wrong and b is None:
            return op(x.reshape(-1), np.broadcast_to(w, (x.shape[0], *w.shape[1:])).reshape(-1)) * np.ones(info.batch_size), 0
        return np.sum(x * w, axis=-1), 0

    op.register_vmap(rule)
    return op, (real(3), real(3))


@found_by("test_vmap")
def the_axis_of_the_batch_is_always_the_first(wrong):
    op = define(lambda x: np.tanh(x), fake=lambda x: x * 1.0, schema="(Tensor x) -> Tensor")
    op.register_vmap(lambda info, in_dims, x: (op(x), 0 if wrong else in_dims[0]))
    return op, (real(3, 3),)


@found_by("test_vmap")
def an_axis_that_is_not_moved(wrong):
    def kernel(x: np.ndarray, axis: int) -> np.ndarray:
        return np.sort(x, axis=axis)

    op = define(kernel, fake=lambda x, axis: np.empty_like(x))

    def rule(info, in_dims, x, axis):
        x = np.moveaxis(x, in_dims[0], 0)
        return op(x, axis if wrong or axis < 0 else axis + 1), 0

    op.register_vmap(rule)
    return op, (real(3, 4), -1)


@found_by("test_vmap")
def a_mean_over_the_batch_too(wrong):
    op = define(lambda x: x - x.mean(), fake=lambda x: x * 1.0, schema="(Tensor x) -> Tensor")
    op.register_vmap("broadcast_all" if wrong else "sequential")
    return op, (real(4),)


@found_by("test_vmap")
def a_vector_and_a_number_by_broadcasting(wrong):
    op = define(lambda x, s: x * s, fake=lambda x, s: x * s, schema="(Tensor x, Tensor s) -> Tensor")
    op.register_vmap("broadcast" if wrong else "sequential")
    return op, (real(3), np.array(2.0))


@found_by("test_vmap")
def lists_of_which_some_are_mapped(wrong):
    def kernel(xs: list[np.ndarray]) -> np.ndarray:
        return functools.reduce(np.add, xs)

    op = define(kernel, fake=lambda xs: np.empty(xs[0].shape, xs[0].dtype))

    def rule(info, in_dims, xs):
        moved = []
        for x, d in zip(xs, in_dims[0], strict=True):
            if d is None:
                moved.append(x if wrong else np.broadcast_to(x, (info.batch_size, *x.shape)))
            else:
                moved.append(np.moveaxis(x, d, 0))
        total = moved[0]
        for m in moved[1:]:
            total = total + (m if not wrong or m.ndim == total.ndim else m * 2)
        return total, 0

    op.register_vmap(rule)
    return op, ([real(3), real(3)],)


@found_by("test_vmap")
def the_second_output_of_a_batch(wrong):
    op = define(
        lambda x: (x.sum(axis=0), x.max(axis=0)),
        fake=lambda x: (np.empty(x.shape[1:], x.dtype), np.empty(x.shape[1:], x.dtype)),
        schema="(Tensor x) -> (Tensor, Tensor)",
    )

    def rule(info, in_dims, x):
        x = np.moveaxis(x, in_dims[0], 0)
        return (x.sum(axis=1), x.max(axis=2 if wrong else 1)), (0, 0)

    op.register_vmap(rule)
    return op, (real(3, 3),)


# -- endings -----------------------------------------------------------------------------------------------------------


@found_by("test_schema", DANGEROUS, timeout=0.5)
def never_ends_where_there_is_nothing(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        n, levels = x.size, 0
        while n != 1:
            if n == 0 and not wrong:
                break
            n, levels = n // 2, levels + 1
        return np.asarray(float(levels))

    return define(kernel, fake=lambda x: np.empty(())), (real(8),)


@found_by("test_schema", DANGEROUS)
def reads_the_first_of_nothing(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x, np.float64)
        if not wrong and not x.size:
            return np.zeros(1)
        out = np.empty(1)
        ctypes.memmove(out.ctypes.data, x.ctypes.data if x.size else None, 8)
        return out

    return define(kernel, fake=lambda x: np.empty(1)), (real(4),)
