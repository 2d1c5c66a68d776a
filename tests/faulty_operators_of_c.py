"""Operators with a mistake and without, as those write them who wrap C: what shows beside the sample, or leaves no trace.

What a function of C does to memory is done here by `ctypes`, which looks at no flags: each kernel copies and reads by address.
"""

import ctypes
import decimal
import itertools
import os
from typing import Literal

import numpy as np
import scipy.interpolate
import scipy.linalg
from faulty_operators import Faulty
from faulty_operators import found_by as put_in
from numpy.typing import NDArray

import dispatch
from dispatch import custom_op

TABLE: list[Faulty] = []
STATEFUL: list[Faulty] = []
RANDOM = np.random.default_rng(64)
numbers = itertools.count()
Reals = NDArray[np.float64]


def found_by(check, table=TABLE, **options):
    return put_in(check, table, **options)


def define(kernel, fake=None, **options):
    op = custom_op(f"of_c::op{next(numbers)}", kernel, **({"mutates_args": ()} | options))
    if fake is not None:
        op.register_fake(fake)
    return op


def real(*shape):
    return RANDOM.normal(size=shape)


def tracked(x):
    return dispatch.tensor(np.array(x), requires_grad=True)


def save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def scalar(*args):
    return np.empty(())


def at(address, dtype, size):
    """The numbers at an address, as a pointer gives them."""
    return np.frombuffer((ctypes.c_char * (size * np.dtype(dtype).itemsize)).from_address(address), dtype)


# -- memory ------------------------------------------------------------------------------------------------------------


@found_by("test_schema", STATEFUL)
def puts_a_sentinel_into_its_argument_and_takes_it_out(wrong):
    def kernel(x: Reals) -> Reals:
        x = np.ascontiguousarray(x) if wrong else x.copy("C")
        if x.size:
            last = x.flat[-1]
            ctypes.memset(x.ctypes.data + x.nbytes - 8, 0, 8)
            found = x.ravel().tolist().index(0.0)
            ctypes.memmove(x.ctypes.data + x.nbytes - 8, last.tobytes(), 8)
            return np.asarray(float(found))
        return np.asarray(-1.0)

    return define(kernel, scalar), (np.array([3.0, 1.0, 2.0, 4.0]),)


@found_by("test_schema")
def sums_up_to_a_zero_that_need_not_be_there(wrong):
    def kernel(x: Reals) -> Reals:
        x, total, i = np.ascontiguousarray(x), 0.0, 0
        address = x.ctypes.data
        while ((wrong and i < x.size + 4) or i < x.size) and (item := at(address + 8 * i, np.float64, 1)[0]):
            total, i = total + item, i + 1
        return np.asarray(total)

    return define(kernel, scalar), (np.array([1.0, 2.0, 3.0, 0.0, 4.0]),)


@found_by("test_schema", STATEFUL)
def works_in_place_on_long_rows(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        y = x if wrong and x.shape[-1] >= 64 else x.copy()
        y -= y.mean()
        return y * 1.0

    return define(kernel, lambda x: np.empty(x.shape, x.dtype)), (real(7),)


@found_by("test_schema", STATEFUL)
def leaves_the_end_of_long_arrays_unwritten(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        out = np.empty(x.shape, x.dtype)
        done = 1000 if wrong else x.size
        out.flat[:done] = x.ravel()[:done] * 2.0
        return out

    return define(kernel, lambda x: np.empty(x.shape, x.dtype)), (real(6),)


@found_by("test_schema", STATEFUL)
def has_a_buffer_for_short_arrays_alone(wrong):
    def kernel(x: Reals) -> Reals:
        if wrong and x.size > 128:
            os.abort()
        return np.asarray(np.median(x)) if x.size else np.asarray(0.0)

    return define(kernel, scalar), (real(5),)


@found_by("test_schema")
def takes_rows_to_lie_one_behind_the_other(wrong):
    def kernel(a: Reals) -> Reals:
        if a.ndim != 2 or a.strides[1] != 8 or not wrong:
            a = np.ascontiguousarray(a)
        m, n = a.shape
        whole = at(a.ctypes.data, np.float64, m * n) if a.size else np.zeros(0)
        return whole.reshape(m, n).sum(1)

    return define(kernel, lambda a: np.empty(a.shape[0])), (real(3, 5),)


@found_by("test_schema")
def takes_int64_for_int32(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x, None if wrong else np.int32)
        votes = at(x.ctypes.data, np.int32, x.size) if x.size else np.zeros(0, np.int32)
        return np.bincount(votes[(votes >= 0) & (votes < 5)], minlength=5) * 1.0

    return define(kernel, lambda x: np.empty(5)), (np.array([1, 3, 3, 4, 0, 1], np.int32),)


@found_by("test_schema")
def takes_any_integers_for_bytes(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x) if wrong else x.astype(np.uint8, casting="safe", order="C")
        image = at(x.ctypes.data, np.uint8, x.size) if x.size else np.zeros(0, np.uint8)
        return 255 - image.reshape(x.shape)

    return define(kernel, lambda x: np.empty(x.shape, np.uint8)), (np.arange(12, dtype=np.uint8).reshape(3, 4),)


@found_by("test_schema")
def halves_all_of_it_in_place(wrong):
    def kernel(x: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        y = x if wrong and chosen.all() else x.copy()
        y[chosen] *= 0.5
        return y * 1.0

    return define(kernel, lambda x, chosen: np.empty_like(x)), (real(4), np.array([True, False, True, True]))


@found_by("test_schema")
def writes_pairs_into_what_it_is_given(wrong):
    def kernel(x: np.ndarray, out: np.ndarray) -> None:
        n = len(x) - len(x) % 2 if wrong else len(x)
        out[:n] = 2.0 * x[:n]

    return define(kernel, None, mutates_args=("out",)), (real(6), np.zeros(6))


# -- what is returned, and kept ----------------------------------------------------------------------------------------


@found_by("test_schema")
def returns_one_table_where_it_finds_nothing(wrong):
    none = np.zeros(2)

    def kernel(x: np.ndarray) -> np.ndarray:
        if not (x > 0).any():
            return none if wrong else none.copy()
        return np.array([x.max(), (x > 0).sum()], float)

    return define(kernel, lambda x: np.empty(2)), (real(6),)


@found_by("test_schema")
def centres_doubles_in_place_and_copies_integers(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        y = x.astype(np.float64, copy=not wrong)
        y -= y.mean()
        return y + 0.0

    return define(kernel, lambda x: np.empty(x.shape)), (np.array([3, 1, 4, 1, 5]),)


@found_by("test_schema", STATEFUL)
def keeps_a_spline_by_its_length(wrong):
    kept = {}

    def kernel(times: Reals, heights: Reals, at: float) -> Reals:
        key = len(times) if wrong else (times.tobytes(), heights.tobytes())
        if key not in kept:
            kept[key] = scipy.interpolate.CubicSpline(times, heights)  # refuses times that are out of order
        return np.asarray(kept[key](at))

    return define(kernel, scalar), (np.arange(6.0), real(6), 2.5)


@found_by("test_schema", STATEFUL)
def leaves_a_file_open(wrong):
    def kernel(x: np.ndarray) -> np.ndarray:
        file = os.open(os.devnull, os.O_RDONLY)
        if not wrong:
            os.close(file)
        return x * 2.0

    return define(kernel, np.empty_like), (real(3),)


@found_by("test_schema", STATEFUL)
def sets_the_digits_of_decimal_numbers(wrong):
    def kernel(x: Reals) -> Reals:
        with decimal.localcontext() as context:
            (decimal.getcontext() if wrong else context).prec = 60
            total = float(sum(map(decimal.Decimal, x.ravel().tolist())))
        if wrong:
            decimal.getcontext().prec = 60
        return np.asarray(total)

    return define(kernel, scalar), (real(3),)


@found_by("test_schema", STATEFUL)
def keeps_the_table_of_its_first_length(wrong):
    kept = []

    def kernel(x: np.ndarray) -> np.ndarray:
        n = x.shape[-1]
        if not (wrong and kept):
            kept[:] = [np.hanning(n + 2)[1:-1]]
        table = kept[0]
        return x * np.interp(np.linspace(0, 1, n), np.linspace(0, 1, len(table)), table)

    return define(kernel, np.empty_like), (real(6),)


@found_by("test_schema")
def writes_every_result_down(wrong):
    results = []

    def kernel(x: np.ndarray) -> np.ndarray:
        out = np.tanh(x)
        results[: 0 if wrong else None] = [out]
        return out

    return define(kernel, np.empty_like), (real(3),)


@found_by("test_schema")
def turns_warnings_off_where_it_is_asked_to_be_quiet(wrong):
    def kernel(x: np.ndarray, mode: Literal["loud", "quiet"] = "loud") -> np.ndarray:
        if mode == "quiet" and wrong:
            np.seterr(divide="ignore")
        with np.errstate(divide="ignore" if mode == "quiet" else "warn"):
            return 1 / x

    return define(kernel, lambda x, mode: np.empty_like(x)), (real(3),)


# -- rules -------------------------------------------------------------------------------------------------------------


@found_by("test_faketensor")
def sums_one_axis_where_there_is_none(wrong):
    def kernel(x: np.ndarray, axis: int | None = None) -> np.ndarray:
        return np.asarray(x.sum(axis))

    def fake(x, axis):
        if axis is None:
            return np.empty(x.shape[1:] if wrong else (), x.dtype)
        return np.empty(tuple(n for i, n in enumerate(x.shape) if i != axis % x.ndim), x.dtype)

    return define(kernel, fake), (real(3, 4), 1)


@found_by("test_faketensor")
def does_not_look_at_the_dtype_it_is_asked_for(wrong):
    def kernel(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
        return x.astype(dtype)

    return define(kernel, lambda x, dtype: np.empty_like(x, dtype=np.float64 if wrong else dtype)), (real(3), np.dtype(float))


@found_by("test_vmap")
def centres_the_batch_in_place(wrong):
    op = define(lambda x: x - x.mean(), np.empty_like, schema="(Tensor x) -> Tensor")

    @op.register_vmap
    def _(info, in_dims, x):
        x = np.moveaxis(x, in_dims[0], 0)
        mean = x.mean(tuple(range(1, x.ndim)), keepdims=True)
        if not wrong:
            return x - mean, 0
        x -= mean
        return x.copy(), 0

    return op, (real(5),)


@found_by("test_vmap")
def takes_the_batch_to_be_first_or_last(wrong):
    op = define(lambda x: np.sort(x, -1), np.empty_like, schema="(Tensor x) -> Tensor")

    @op.register_vmap
    def _(info, in_dims, x):
        (dim,) = in_dims
        if not wrong or dim == x.ndim - 1:
            x = np.moveaxis(x, dim, 0)
        return op(x), 0

    return op, (real(3, 4),)


@found_by("test_gradients")
def looks_at_the_sign_and_not_at_which_is_less(wrong):
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        first = x > 0 if wrong else x < y
        return g * first, g * (1 - first)

    op = define(lambda x, y: np.minimum(x, y), lambda x, y: x * y, schema="(Tensor x, Tensor y) -> Tensor")
    op.register_autograd(backward, setup_context=save)
    return op, (tracked([1.0, 2.0, 3.0]), tracked([1.5, 2.5, 4.0]))


@found_by("test_gradients")
def divides_a_product_by_its_factors(wrong):
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with np.errstate(all="ignore"):
            if wrong:
                return g * np.prod(x) / x
        return g * np.stack([np.prod(x[np.arange(x.shape[0]) != i]) for i in range(x.shape[0])])

    op = define(lambda x: np.asarray(np.prod(x)), lambda x: np.empty((), x.dtype), schema="(Tensor x) -> Tensor")
    op.register_autograd(backward, setup_context=save)
    return op, (tracked([1.5, 0.5, 2.0]),)


# -- right ones --------------------------------------------------------------------------------------------------------


@found_by("test_schema", fixed=("indices",))
def counts_into_as_many_bins_as_it_is_told(wrong):
    def kernel(indices: np.ndarray, weights: Reals, count: int) -> Reals:
        out = np.zeros(count)
        for i, weight in zip(indices.tolist(), weights.tolist(), strict=True):
            place = out.ctypes.data + 8 * (i + wrong)  # no bounds are checked
            ctypes.memmove(place, np.float64(at(place, np.float64, 1)[0] + weight).tobytes(), 8)
        return out

    return define(kernel, lambda indices, weights, count: np.empty(count)), (np.array([0, 2, 2, 4]), real(4), 5)


@found_by("test_schema")
def products_that_wrap_around(wrong):
    kept = [0]

    def kernel(x: np.ndarray) -> np.ndarray:
        kept[0] += wrong
        return (x * 1103515245 + 12345 + kept[0]) % 1000

    return define(kernel, np.empty_like), (np.array([3, 17, 200, 5000]),)


@found_by("test_gradients")
def solves_by_one_half_of_a_matrix(wrong):
    def backward(ctx, g):
        a, x = ctx.saved_tensors
        y = op(a, g)
        return (1.0 if wrong else -1.0) * y[:, None] * x, y

    def kernel(a: Reals, b: Reals) -> Reals:
        return scipy.linalg.solve(a, b, assume_a="pos")

    op = define(kernel, lambda a, b: np.empty(b.shape))
    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0], output))
    return op, (np.array([[3.0, 1.0, 0.5], [1.0, 2.0, 0.25], [0.5, 0.25, 4.0]]), tracked([1.0, 2.0, -1.0]))
