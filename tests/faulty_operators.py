"""Operators as users write them, each once with a mistake and once right: what opcheck has to tell apart.

A function of the table takes `wrong` and returns an operator and the arguments of a call; its decorator says which check finds
the mistake. The mistakes are those of real packages: a rule that holds for one size, a pointer taken without its strides, a
workspace that is handed out, a flag that the backward forgets.
"""

import ctypes
import itertools
import os
import signal
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import dispatch
from dispatch import Tag, custom_op
from dispatch.library import get_ctx

RANDOM = np.random.default_rng(20)
X, Y = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(3, 4)) + 0.1
V, W = RANDOM.uniform(0.5, 2.0, 5), RANDOM.uniform(0.5, 2.0, 5)
S = RANDOM.normal(size=(3, 3))  # equal lengths: axes that are swapped do not show in the shape
Z = RANDOM.normal(size=(2, 3)) + 1j * RANDOM.normal(size=(2, 3))
POSITIVE = np.abs(X) + 0.5


class Faulty(NamedTuple):
    """A mistake: which check finds it, and the operator with it and without."""

    name: str
    check: str
    make: Callable[[bool], Any]
    options: dict[str, Any]


TABLE: list[Faulty] = []
DANGEROUS: list[Faulty] = []  # for a child process alone
numbers = itertools.count()


def found_by(check: str, table: list[Faulty] = TABLE, **options: Any) -> Callable[[Callable[[bool], Any]], Any]:
    """Put a mistake in a table, which a check finds."""

    def put(make: Callable[[bool], Any]) -> Callable[[bool], Any]:
        table.append(Faulty(make.__name__, check, make, options))
        return make

    return put


def like(x: Any, *rest: Any) -> Any:
    return np.empty_like(x)


def t(a: Any) -> Any:
    return dispatch.tensor(a, requires_grad=True)


def define(
    kernel: Any, schema: str = "(Tensor x) -> Tensor", *, fake: Any = like, backward: Any = None, setup: Any = None,
    jvp: Any = None, vmap: Any = None, mutates: Any = (), tags: Any = (),
) -> Any:  # fmt: skip
    """A new operator. A backward gets the gradients and, unless `setup` says otherwise, the arrays among the arguments."""
    op = custom_op(f"faulty::op{next(numbers)}", kernel, mutates_args=mutates, schema=schema, tags=tags)
    if fake is not None:
        op.register_fake((lambda *args: fake(*args)) if fake is like else fake)
    if backward is not None and setup is not None:
        op.register_autograd(backward, setup_context=setup)
    elif backward is not None:

        def save(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*(x for x in inputs if hasattr(x, "dtype")))

        op.register_autograd(lambda ctx, *g: backward(*g, *ctx.saved_tensors), setup_context=save)
    if jvp is not None:
        op.register_jvp(jvp)
    if vmap is not None:
        op.register_vmap(vmap)
    return op


def pointer(x: Any) -> Any:
    """The elements as C sees them who takes the address and no strides."""
    return ctypes.cast(x.ctypes.data, ctypes.POINTER(ctypes.c_double))


def address(x: Any) -> int:
    return int(x.__array_interface__["data"][0])


# -- what a kernel does to its arguments, and what it gives back ------------------------------------------------------------


@found_by("test_schema")
def writes_to_its_argument(wrong):
    def kernel(x):
        y = x if wrong else x.copy("K")
        y *= 2.0
        return y.copy("K")

    return define(kernel), (X,)


@found_by("test_schema")
def clips_its_argument_where_it_is_negative(wrong):
    def kernel(x):
        if (x < 0).any():
            x = np.asarray(x) if wrong else x.copy()
            x[x < 0] = 0.0
        return np.sqrt(x)

    return define(kernel), (POSITIVE,)


@found_by("test_schema")
def writes_to_one_array_of_a_list(wrong):
    def kernel(xs):
        total = xs[0] if wrong else xs[0].copy("K")
        for x in xs[1:]:
            total += x
        return total * 1.0

    return define(kernel, "(Tensor[] xs) -> Tensor", fake=lambda xs: np.empty_like(xs[0])), ([X, Y],)


@found_by("test_schema")
def writes_through_a_pointer(wrong):
    def kernel(x):
        if wrong and x.flags.c_contiguous:
            pointer(x)[0] = 0.0
        return x + 1.0

    return define(kernel), (X,)


@found_by("test_schema")
def writes_to_the_other_argument_than_it_declares(wrong):
    def kernel(x, y):
        target, other = (y, x) if wrong else (x, y)
        target += other

    return define(kernel, "(Tensor(a!) x, Tensor y) -> ()", fake=None, mutates=("x",)), (X, Y)


@found_by("test_schema")
def declares_a_write_and_binds_a_name(wrong):
    def kernel(x):
        if wrong:
            x = x * 2.0
        else:
            x *= 2.0

    return define(kernel, "(Tensor(a!) x) -> ()", fake=None, mutates=("x",)), (X,)


@found_by("test_schema")
def returns_its_argument_where_there_is_nothing_to_do(wrong):
    def kernel(x, lowest=0.0):
        if (x >= lowest).all():
            return x if wrong else x.copy("K")
        return np.maximum(x, lowest)

    return define(kernel, "(Tensor x, float lowest=0.0) -> Tensor"), (POSITIVE,)


@found_by("test_schema")
def returns_what_ascontiguousarray_gives(wrong):
    def kernel(x):
        return np.ascontiguousarray(x) if wrong else np.array(x, order="C")

    return define(kernel, fake=lambda x: np.empty(x.shape, x.dtype)), (np.asfortranarray(X),)


@found_by("test_schema")
def returns_a_view(wrong):
    return define(lambda x: x[1:] if wrong else x[1:].copy(), fake=lambda x: np.empty((len(x) - 1, *x.shape[1:]), x.dtype)), (X,)


@found_by("test_schema")
def returns_a_view_of_an_array_of_a_list(wrong):
    def kernel(xs):
        return xs[-1].reshape(-1) if wrong else xs[-1].reshape(-1).copy()

    return define(kernel, "(Tensor[] xs) -> Tensor", fake=lambda xs: np.empty(xs[-1].size, xs[-1].dtype)), ([X, Y],)


@found_by("test_schema")
def returns_one_array_twice(wrong):
    def kernel(x):
        y = np.exp(x)
        return y, (y if wrong else y.copy("K"))

    return define(kernel, "(Tensor x) -> (Tensor, Tensor)", fake=lambda x: (np.empty_like(x), np.empty_like(x))), (X,)


@found_by("test_schema")
def returns_parts_of_one_buffer_that_overlap(wrong):
    def kernel(x):
        buffer = np.concatenate([x, x[:1]])
        return (buffer[:-1] if wrong else x.copy()), buffer[1:]

    return define(kernel, "(Tensor x) -> (Tensor, Tensor)", fake=lambda x: (np.empty(x.shape, x.dtype),) * 2), (np.exp(V),)


@found_by("test_schema")
def returns_its_workspace(wrong):
    spaces = {}

    def kernel(x):
        space = spaces.setdefault(x.shape, np.empty(x.shape))
        np.multiply(x, 2.0, out=space)
        return space if wrong else space.copy()

    return define(kernel, fake=lambda x: np.empty(x.shape)), (X,)


@found_by("test_schema")
def remembers_results_by_shape(wrong):
    known = {}

    def kernel(x):
        key = x.shape if wrong else (x.shape, x.tobytes())
        if key not in known:
            known[key] = np.cumsum(x)
        return known[key].copy()

    return define(kernel, fake=lambda x: np.empty(x.size, x.dtype)), (X,)


@found_by("test_schema")
def scales_by_what_it_met_first(wrong):
    scale = []

    def kernel(x):
        if not scale or not wrong:
            scale[:] = [np.abs(x).max(initial=1.0)]
        return x / scale[0]

    return define(kernel), (X,)


@found_by("test_schema")
def counts_its_calls(wrong):
    calls = itertools.count()

    def kernel(x):
        return x * (2.0 + (next(calls) if wrong else 0))

    return define(kernel), (X,)


@found_by("test_schema")
def adds_to_a_running_mean(wrong):
    mean = [0.0]

    def kernel(x):
        mean[0] = 0.9 * mean[0] + 0.1 * float(np.mean(x)) if x.size else mean[0]
        return x - (mean[0] if wrong else float(np.mean(x)) if x.size else 0.0)

    return define(kernel), (X,)


@found_by("test_schema")
def draws_noise(wrong):
    def kernel(x):
        return x + np.random.default_rng(None if wrong else 7).normal(size=x.shape)

    return define(kernel), (V,)


@found_by("test_schema")
def seeds_the_generator_of_everybody(wrong):
    def kernel(x):
        if wrong:
            np.random.seed(0)  # noqa: NPY002
            return x + np.random.normal(size=x.shape)  # noqa: NPY002
        return x + np.random.RandomState(0).normal(size=x.shape)

    return define(kernel), (V,)


@found_by("test_schema")
def turns_warnings_off_for_everybody(wrong):
    def kernel(x):
        if wrong:
            np.seterr(all="ignore")
        with np.errstate(all="ignore"):
            return np.log(x)

    return define(kernel), (X,)


@found_by("test_schema")
def leaves_the_last_element_unwritten(wrong):
    def kernel(x):
        out = np.empty(x.shape, x.dtype)
        stop = len(x) - 1 if wrong else len(x)
        for i in range(stop):
            out[i] = x[i] * 2.0
        return out

    return define(kernel, fake=lambda x: np.empty(x.shape, x.dtype)), (V,)


@found_by("test_schema")
def adds_to_an_array_that_was_not_zeroed(wrong):
    def kernel(x):
        out = np.empty(x.shape[1:]) if wrong else np.zeros(x.shape[1:])
        for row in x:
            out += row
        return out

    return define(kernel, fake=lambda x: np.empty(x.shape[1:])), (X,)


@found_by("test_schema")
def leaves_a_whole_output_unwritten_where_nothing_is_found(wrong):
    def kernel(x):
        out = np.empty(x.shape, x.dtype)
        np.divide(1.0, x, out=out, where=x > 0)
        if not wrong:
            out[~(x > 0)] = 0.0
        return out

    return define(kernel, fake=lambda x: np.empty(x.shape, x.dtype)), (X,)


@found_by("test_schema", DANGEROUS)
def writes_beside_its_result(wrong):
    def kernel(x):
        out = np.empty(len(x))
        flat = pointer(out)
        for i in range(len(x) + (1 if wrong else 0)):
            flat[i] = 2.0
        return out

    return define(kernel, fake=lambda x: np.empty(x.shape)), (RANDOM.normal(size=512),)


@found_by("test_schema")
def leaves_part_of_an_out_argument_unwritten(wrong):
    def kernel(x, *, out):
        out[: -1 if wrong else None] = x[: -1 if wrong else None] * 2.0

    return define(kernel, "(Tensor x, *, Tensor(a!) out) -> ()", fake=None, mutates=("out",)), (V,), {"out": np.zeros(5)}


@found_by("test_schema")
def leaves_part_of_an_out_argument_by_position_unwritten(wrong):
    def kernel(x, out):
        out[:, : -1 if wrong else None] = x[:, : -1 if wrong else None] * 2.0

    return define(kernel, "(Tensor x, Tensor(a!) out) -> ()", fake=None, mutates=("out",)), (X, np.zeros(X.shape))


@found_by("test_schema")
def reads_past_the_end(wrong):
    def kernel(x):
        kept, out = np.ascontiguousarray(x, np.float64), np.empty(len(x))
        flat = pointer(kept)
        for i in range(len(x)):
            out[i] = (flat[i + 1] if wrong or i + 1 < len(x) else 0.0) - flat[i]
        return out

    return define(kernel, fake=lambda x: np.empty(x.shape)), (V,)


@found_by("test_schema", DANGEROUS)
def writes_past_the_end_of_its_argument(wrong):
    def kernel(x):
        if x.flags.carray and x.dtype == np.dtype(float):
            flat = pointer(x)
            for i in range(len(x) + (1 if wrong else 0)):
                flat[i] = 2.0
        else:
            x[...] = 2.0

    return define(kernel, "(Tensor(a!) x) -> ()", fake=None, mutates=("x",)), (V,)


@found_by("test_schema")
def takes_the_address_and_no_strides(wrong):
    def kernel(x):
        x = x if wrong else np.ascontiguousarray(x, np.float64)
        flat, out = pointer(x), np.empty(x.shape)
        for i in range(x.size):
            out.flat[i] = flat[i] * 2.0
        return out

    return define(kernel, fake=lambda x: np.empty(x.shape)), (X,)


@found_by("test_schema")
def takes_one_stride_of_two(wrong):
    def kernel(x):
        x = np.asarray(x, np.float64)
        flat, out = pointer(x), np.empty(x.shape)
        step = x.strides[0] // 8
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[i, j] = flat[i * step + (j if wrong else j * (x.strides[1] // 8))]
        return out

    return define(kernel, fake=lambda x: np.empty(x.shape)), (X,)


@found_by("test_schema")
def takes_float32_for_float64(wrong):
    def kernel(x):
        x = np.ascontiguousarray(x) if wrong else np.ascontiguousarray(x, np.float64)
        if x.dtype.itemsize == 4 and x.size:
            x = np.resize(x, 2 * x.size).view(np.float64)[: x.size]
        flat = pointer(x)
        return np.array([flat[i] for i in range(x.size)])

    return define(kernel, fake=lambda x: np.empty(x.size)), (V,)


@found_by("test_schema")
def refuses_an_array_that_is_read_only(wrong):
    def kernel(x):
        if wrong and not x.flags.writeable:
            raise ValueError("buffer source array is read-only")
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema")
def keeps_an_argument_and_writes_to_it_later(wrong):
    last = []

    def kernel(x):
        if last and wrong and last[0].flags.writeable:
            last[0][...] = 0.0
        last[:] = [x]
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema")
def returns_a_list(wrong):
    return define(lambda x: [1.0, 2.0] if wrong else np.array([1.0, 2.0]), fake=lambda x: np.empty(2)), (X,)


@found_by("test_schema")
def returns_another_array_than_the_one_it_wrote(wrong):
    def kernel(x):
        x *= 2.0
        return x.copy() if wrong else x

    return define(kernel, "(Tensor(a!) x) -> Tensor(a!)", fake=None, mutates=("x",)), (X,)


@found_by("test_schema")
def takes_an_array_out_of_a_list(wrong):
    def kernel(xs):
        last = xs.pop() if wrong else xs[-1]
        return last * 2.0

    return define(kernel, "(Tensor[] xs) -> Tensor", fake=lambda xs: np.empty_like(xs[-1])), ([X, Y],)


@found_by("test_schema")
def gives_its_argument_another_shape(wrong):
    def kernel(x):
        y = x if wrong else x.view()
        if y.flags.c_contiguous:
            y.shape = (-1,)
        return y.ravel() * 2.0

    return define(kernel, fake=lambda x: np.empty(x.size, x.dtype)), (X,)


@found_by("test_schema")
def makes_its_argument_read_only(wrong):
    def kernel(x):
        if wrong:
            x.flags.writeable = False
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema")
def returns_memory_that_it_frees(wrong):
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]

    def kernel(x):
        memory = libc.malloc(8 * x.size + 8)
        out = np.ctypeslib.as_array(ctypes.cast(memory, ctypes.POINTER(ctypes.c_double)), (x.size,))
        out[:] = x * 2.0
        made = out if wrong else out.copy()
        libc.free(memory)
        return made

    return define(kernel, fake=lambda x: np.empty(x.shape)), (RANDOM.normal(size=9),)


@found_by("test_schema")
def writes_where_a_number_says_so(wrong):
    def kernel(x, times):
        if times < 3 and wrong:
            x *= 2.0
        return x * float(times)

    return define(kernel, "(Tensor x, int times) -> Tensor", fake=lambda x, times: np.empty_like(x)), (X, 3)


# -- shape rules -----------------------------------------------------------------------------------------------------------


@found_by("test_faketensor")
def says_a_shape_without_the_reduction(wrong):
    fake = like if wrong else (lambda x: np.empty(x.shape[:-1], x.dtype))
    return define(lambda x: np.sum(x, -1), fake=fake), (X,)


@found_by("test_faketensor")
def says_a_shape_that_holds_for_squares(wrong):
    fake = (lambda x: np.empty(x.shape, x.dtype)) if wrong else (lambda x: np.empty(x.shape[::-1], x.dtype))
    return define(lambda x: x.T.copy(order="C"), fake=fake), (S,)


@found_by("test_faketensor")
def says_the_length_of_the_sample(wrong):
    return define(lambda x: x.sum(0), fake=lambda x: np.empty(4 if wrong else x.shape[1], x.dtype)), (X,)


@found_by("test_faketensor")
def says_a_length_that_is_wrong_for_one(wrong):
    fake = lambda x: np.empty(max(2, len(x)) if wrong else len(x), x.dtype)
    return define(lambda x: x * 2.0, fake=fake), (V,)


@found_by("test_faketensor")
def says_a_length_in_whole_blocks(wrong):
    fake = lambda x: np.empty(len(x) if not wrong or len(x) < 64 else len(x) // 64 * 64, x.dtype)
    return define(lambda x: x * 2.0, fake=fake), (V,)


@found_by("test_faketensor")
def rounds_half_a_length_the_other_way(wrong):
    fake = lambda x: np.empty(len(x) // 2 if wrong else (len(x) + 1) // 2, x.dtype)
    return define(lambda x: x[::2] * 1.0, fake=fake), (RANDOM.normal(size=6),)


@found_by("test_faketensor")
def forgets_the_flag_of_the_kernel(wrong):
    def fake(x, keepdims):
        return np.empty((x.shape[0],) if wrong or not keepdims else (x.shape[0], 1), x.dtype)

    return define(lambda x, keepdims: x.sum(1, keepdims=keepdims), "(Tensor x, bool keepdims) -> Tensor", fake=fake), (X, False)


@found_by("test_faketensor")
def forgets_the_axis_of_the_kernel(wrong):
    def fake(x, axis):
        return np.empty(x.shape[0] if wrong or axis else x.shape[1], x.dtype)

    return define(lambda x, axis: x.sum(axis), "(Tensor x, int axis) -> Tensor", fake=fake), (X, 1)


@found_by("test_faketensor")
def says_the_dtype_of_its_argument(wrong):
    fake = like if wrong else (lambda x: np.empty_like(x, dtype=np.int64))
    return define(lambda x: np.argsort(x), fake=fake), (V,)


@found_by("test_faketensor")
def says_double_whatever_comes(wrong):
    return define(lambda x: x * 2, fake=lambda x: np.empty(x.shape, np.float64 if wrong else x.dtype)), (V,)


@found_by("test_faketensor")
def promotes_by_the_first_argument(wrong):
    fake = lambda x, y: np.empty(x.shape, x.dtype if wrong else np.result_type(x.dtype, y.dtype))
    return define(lambda x, y: x + y, "(Tensor x, Tensor y) -> Tensor", fake=fake), (V.astype(np.float32), W)


@found_by("test_faketensor")
def keeps_integers_where_the_kernel_divides(wrong):
    fake = like if wrong else (lambda x: np.empty(x.shape, np.result_type(x.dtype, 0.5)))
    return define(lambda x: x / 2, fake=fake), (np.arange(5),)


@found_by("test_faketensor")
def says_a_dtype_that_holds_for_positive_values(wrong):
    def kernel(x):
        return np.emath.sqrt(x) if wrong else np.emath.sqrt(x).astype(complex)

    return define(kernel, fake=lambda x: np.empty(x.shape, float if wrong else complex)), (V,)


@found_by("test_faketensor")
def says_c_order_of_a_transpose(wrong):
    fake = (lambda x: np.empty(x.shape[::-1], x.dtype)) if wrong else (lambda x: np.empty(x.shape, x.dtype).T)
    return define(lambda x: np.array(x, order="C").T, fake=fake), (X,)


@found_by("test_faketensor")
def says_c_order_where_the_kernel_keeps_the_order(wrong):
    fake = (lambda x: np.empty(x.shape, x.dtype)) if wrong else like
    return define(lambda x: np.multiply(x, 2.0), fake=fake), (X,)


@found_by("test_faketensor")
def says_one_output_of_two(wrong):
    def fake(x):
        outputs = np.empty((), x.dtype), np.empty(x.shape, x.dtype)
        return outputs[1:] if wrong else outputs

    op = define(lambda x: (np.asarray(x.sum()), np.cumsum(x)), "(Tensor x) -> (Tensor, Tensor)", fake=fake)
    return op, (V,)


@found_by("test_aot_dispatch_dynamic")
def says_a_list_of_another_length(wrong):
    fake = lambda x: [np.empty_like(x)] * (1 if wrong else 2)
    return define(lambda x: [x * 1.0, x * 2.0], "(Tensor x) -> Tensor[]", fake=fake), (X,)


@found_by("test_faketensor")
def swaps_its_two_outputs(wrong):
    def fake(x):
        outputs = np.empty(x.shape[0], x.dtype), np.empty(x.shape[1], x.dtype)
        return outputs[::-1] if wrong else outputs

    return define(lambda x: (x.sum(1), x.sum(0)), "(Tensor x) -> (Tensor, Tensor)", fake=fake), (X,)


@found_by("test_faketensor")
def broadcasts_to_the_first_argument(wrong):
    fake = lambda x, y: np.empty(x.shape if wrong else np.broadcast_shapes(x.shape, y.shape), x.dtype)
    kernel = lambda x, y: np.add(x, y, order="C")
    return define(kernel, "(Tensor x, Tensor y) -> Tensor", fake=fake), (X[:1].copy(), Y)


@found_by("test_faketensor")
def reads_data_in_its_shape_rule(wrong):
    def fake(x):
        return np.empty(int(x.max()) if wrong else 3)

    return define(lambda x: np.ones(3), fake=fake), (V,)


@found_by("test_faketensor")
def says_a_size_that_depends_on_data_as_all(wrong):
    def fake(x):
        return np.empty_like(x, shape=(x.size if wrong else get_ctx().new_dynamic_size(max=x.size),))

    op = define(lambda x: x[x > 0], fake=fake, tags=() if wrong else (Tag.dynamic_output_shape,))
    return op, (np.abs(V),)


@found_by("test_faketensor")
def says_a_greatest_size_that_is_too_small(wrong):
    def fake(x):
        size = get_ctx().new_dynamic_size(max=2 if wrong else x.size)
        return np.empty((size, x.ndim), np.int64)

    op = define(lambda x: np.argwhere(x > 0).copy(), fake=fake, tags=(Tag.dynamic_output_shape,))
    return op, (V,)


@found_by("test_faketensor")
def says_a_least_size_that_is_too_large(wrong):
    def fake(x):
        size = get_ctx().new_dynamic_size(min=2 if wrong else 0, max=x.size)
        return np.empty_like(x, shape=(size,))

    return define(lambda x: x[x > 1.0], fake=fake, tags=(Tag.dynamic_output_shape,)), (np.array([0.5, 1.5, 0.75]),)


@found_by("test_faketensor")
def says_another_number_of_axes_where_a_size_depends_on_data(wrong):
    def fake(x):
        size = get_ctx().new_dynamic_size(max=x.size)
        return np.empty_like(x, shape=(size,) if wrong else (size, x.ndim), dtype=np.int64)

    return define(lambda x: np.argwhere(x > 1.0).copy(), fake=fake, tags=(Tag.dynamic_output_shape,)), (POSITIVE,)


@found_by("test_faketensor")
def says_another_dtype_of_a_size_that_depends_on_data(wrong):
    def fake(x):
        size = get_ctx().new_dynamic_size(max=x.size)
        return np.empty((size,), x.dtype if wrong else np.int64)

    return define(lambda x: np.flatnonzero(x > 0), fake=fake, tags=(Tag.dynamic_output_shape,)), (V,)


@found_by("test_faketensor")
def says_one_size_for_two_that_depend_on_data(wrong):
    def fake(x):
        size = get_ctx().new_dynamic_size(max=x.size)
        other = size if wrong else get_ctx().new_dynamic_size(max=x.size)
        return np.empty((size,), x.dtype), np.empty((other,), x.dtype)

    op = define(
        lambda x: (x[x > 0.9], x[x <= 0.9]), "(Tensor x) -> (Tensor, Tensor)", fake=fake, tags=(Tag.dynamic_output_shape,)
    )
    return op, (np.arange(5.0) / 4 + 0.1,)


@found_by("test_faketensor")
def has_no_shape_rule(wrong):
    return define(lambda x: x * 2.0, fake=None if wrong else like), (X,)


@found_by("test_faketensor")
def pads_a_length_by_its_bits(wrong):
    def fake(x):
        return np.empty(1 << (len(x) - 1).bit_length() if wrong else len(x), x.dtype)

    return define(lambda x: x * 2.0, fake=fake), (V[:4].copy(),)


@found_by("test_faketensor")
def forgets_that_an_argument_may_be_left_out(wrong):
    def fake(x, bias):
        return np.empty(np.broadcast_shapes(x.shape, bias.shape) if wrong or bias is not None else x.shape, x.dtype)

    kernel = lambda x, bias: x * 1.0 if bias is None else np.add(x, bias, order="C")
    return define(lambda x, bias=None: kernel(x, bias).copy(), "(Tensor x, Tensor? bias=None) -> Tensor", fake=fake), (X, Y[0])


# -- gradients -------------------------------------------------------------------------------------------------------------


@found_by("test_gradients")
def sums_the_axis_that_the_sample_repeats(wrong):
    def backward(g, x, y):
        d = 2.0 * (x - y) * g
        return d, -(d.sum(axis=0, keepdims=True) if wrong else d)

    fake = lambda x, y: np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x, y))
    return define(lambda x, y: np.asarray((x - y) ** 2, order="C"), "(Tensor x, Tensor y) -> Tensor", fake=fake, backward=backward), (t(X), t(X[:1] + 1.0))


@found_by("test_gradients")
def forgets_a_factor(wrong):
    return define(lambda x: x**2, backward=lambda g, x: g * x * (1.0 if wrong else 2.0)), (t(X),)


@found_by("test_gradients")
def has_the_wrong_sign(wrong):
    return define(np.cos, backward=lambda g, x: g * np.sin(x) * (1.0 if wrong else -1.0)), (t(X),)


@found_by("test_gradients")
def forgets_what_comes_in(wrong):
    return define(lambda x: x**2, backward=lambda g, x: 2.0 * x * (1.0 if wrong else g)), (t(X),)


@found_by("test_gradients")
def forgets_a_transpose(wrong):
    backward = lambda g, a, b: (g @ (b if wrong else b.T), a.T @ g)
    return define(lambda a, b: a @ b, "(Tensor a, Tensor b) -> Tensor", fake=lambda a, b: np.empty((len(a), b.shape[1]), a.dtype),
                  backward=backward), (t(S), t(S + 1.0))  # fmt: skip


@found_by("test_gradients")
def swaps_two_gradients(wrong):
    backward = lambda g, x, y: (g * x, g * y) if wrong else (g * y, g * x)
    return define(lambda x, y: x * y, "(Tensor x, Tensor y) -> Tensor", backward=backward), (t(X), t(Y))


@found_by("test_gradients")
def forgets_to_conjugate(wrong):
    backward = lambda g, z: g * (2.0 * z if wrong else np.conj(2.0 * z))
    return define(lambda z: z * z, "(Tensor z) -> Tensor", backward=backward), (t(Z),)


@found_by("test_gradients")
def returns_none_for_an_argument_that_counts(wrong):
    backward = lambda g, x, y: (g * y, None if wrong else g * x)
    return define(lambda x, y: x * y, "(Tensor x, Tensor y) -> Tensor", backward=backward), (t(X), t(Y))


@found_by("test_gradients")
def forgets_one_of_two_outputs(wrong):
    def backward(g, h, x):
        return g * np.cos(x) - (0.0 if wrong else h * np.sin(x))

    fake = lambda x: (np.empty_like(x), np.empty_like(x))
    return define(lambda x: (np.sin(x), np.cos(x)), "(Tensor x) -> (Tensor, Tensor)", fake=fake, backward=backward), (t(X),)


@found_by("test_gradients")
def takes_the_gradients_of_outputs_in_the_wrong_order(wrong):
    def backward(g, h, x):
        g, h = (h, g) if wrong else (g, h)
        return g * np.cos(x) - h * np.sin(x)

    fake = lambda x: (np.empty_like(x), np.empty_like(x))
    return define(lambda x: (np.sin(x), np.cos(x)), "(Tensor x) -> (Tensor, Tensor)", fake=fake, backward=backward), (t(X),)


@found_by("test_gradients")
def does_not_sum_over_what_was_broadcast(wrong):
    backward = lambda g, x, y: (g, np.sum(g, 0) * (1.0 if not wrong else 0.0) + (g[0] if wrong else 0.0))
    return define(lambda x, y: x + y, "(Tensor x, Tensor y) -> Tensor", backward=backward), (t(X), t(X[0]))


@found_by("test_gradients")
def divides_by_the_length_of_the_sample(wrong):
    def backward(g, x):
        return np.ones_like(x) * g / (5 if wrong else x.shape[0])

    return define(lambda x: np.asarray(np.mean(x)), fake=lambda x: np.empty((), x.dtype), backward=backward), (t(V),)


@found_by("test_gradients")
def holds_for_positive_values(wrong):
    def backward(g, x):
        return g * (1.0 if wrong else np.sign(x))

    return define(np.abs, backward=backward), (t(POSITIVE),)


@found_by("test_gradients")
def holds_above_a_threshold(wrong):
    def backward(g, x):
        return g * (1.0 if wrong else np.where(x < 0, 0.1, 1.0))

    return define(lambda x: np.where(x < 0, 0.1 * x, x), backward=backward), (t(POSITIVE),)


@found_by("test_gradients")
def keeps_its_argument_outside_the_context(wrong):
    last = []

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        last[:] = inputs

    def backward(ctx, g):
        x = last[0] if wrong else ctx.saved_tensors[0]
        return 2.0 * x * g

    return define(lambda x: x * x, backward=backward, setup=setup), (t(X),)


@found_by("test_gradients")
def counts_backwards(wrong):
    calls = itertools.count()

    def backward(g, x):
        return 2.0 * x * g * (1.0 + (next(calls) if wrong else 0))

    return define(lambda x: x * x, backward=backward), (t(X),)


@found_by("test_gradients")
def asks_whether_the_wrong_argument_needs_a_gradient(wrong):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        first, second = ctx.needs_input_grad[::-1] if wrong else ctx.needs_input_grad
        return g * y if first else None, g * x if second else None

    return define(lambda x, y: x * y, "(Tensor x, Tensor y) -> Tensor", backward=backward, setup=setup), (t(X), t(Y))


@found_by("test_gradients")
def writes_to_the_gradient(wrong):
    def backward(g, x):
        g = g if wrong else np.copy(g)
        g *= 2.0
        return g * x

    return define(lambda x: x * x, backward=backward), (t(X),)


@found_by("test_gradients")
def writes_to_the_gradient_by_a_pointer(wrong):
    def backward(g, x):
        made = np.array(g, np.float64)
        if wrong and made.size:
            pointer(np.asarray(g))[0] = 7.0
        return made * 2.0 * x

    return define(lambda x: x * x, backward=backward), (t(X),)


@found_by("test_gradients")
def reads_the_gradient_without_its_strides(wrong):
    def kernel(g, x):
        g = g if wrong else np.ascontiguousarray(g)
        flat = pointer(g)
        made = np.array([flat[i] for i in range(g.size)]).reshape(g.shape)
        return made * 2.0 * x

    inner = define(kernel, "(Tensor g, Tensor x) -> Tensor", fake=lambda g, x: np.empty(g.shape))
    return define(lambda x: x * x, backward=lambda g, x: inner(g, x)), (t(X),)


@found_by("test_gradients")
def reads_what_it_saved_without_its_strides(wrong):
    def kernel(g, x):
        x = x if wrong else np.ascontiguousarray(x)
        flat = pointer(x)
        made = np.array([flat[i] for i in range(x.size)]).reshape(x.shape)
        return g * 2.0 * made

    inner = define(kernel, "(Tensor g, Tensor x) -> Tensor", fake=lambda g, x: np.empty(g.shape))
    return define(lambda x: x * x, backward=lambda g, x: inner(g, x)), (t(X),)


@found_by("test_gradients")
def halves_the_gradient_in_single_precision(wrong):
    def backward(g, x):
        return g * np.cos(x) * (0.5 if wrong and x.dtype == np.float32 else 1.0)

    return define(lambda x: np.sin(x), backward=backward), (t(X),)


@found_by("test_schema", DANGEROUS)
def keeps_results_by_their_first_element(wrong):
    kept = {}

    def kernel(x):
        if not wrong:
            return np.asarray(x.sum())
        key = (x.shape, x.dtype, float(x.flat[0]) if x.size else 0.0)
        return np.asarray(kept.setdefault(key, x.sum()))

    return define(kernel, fake=lambda x: np.empty((), x.dtype)), (X,)


@found_by("test_schema", DANGEROUS)
def keeps_memory_in_each_call(wrong):
    kept = []

    def kernel(x):
        if wrong:
            kept.append(np.ones(10_000))
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema")
def returns_its_argument_in_single_precision(wrong):
    return define(lambda x: x.astype(np.float32, copy=not wrong), fake=lambda x: np.empty_like(x, np.float32)), (X,)


@found_by("test_schema")
def returns_an_array_of_objects(wrong):
    def kernel(x):
        return np.array([x.sum(), None], object) if wrong else np.array([x.sum(), 0.0])

    return define(kernel, fake=lambda x: np.empty(2, object if wrong else float)), (X,)


@found_by("test_gradients")
def computes_the_gradient_in_single_precision(wrong):
    def backward(g, x):
        made = 2.0 * x * g
        return made.astype(np.float32).astype(x.dtype) if wrong else made

    return define(lambda x: x * x, backward=backward), (t(X),)


@found_by("test_gradients")
def computes_one_factor_in_single_precision(wrong):
    backward = lambda g, x, y: (g * y, g * (x.astype(np.float32) if wrong else x))
    return define(lambda x, y: x * y, "(Tensor x, Tensor y) -> Tensor", backward=backward), (t(X), t(Y))


@found_by("test_gradients")
def takes_what_comes_in_for_single_precision(wrong):
    return define(lambda x: np.sin(x), backward=lambda g, x: (g.astype(np.float32) if wrong else g) * np.cos(x)), (t(X),)


@found_by("test_gradients")
def writes_a_constant_with_few_digits(wrong):
    factor = 0.70711 if wrong else np.sqrt(0.5)
    return define(lambda x: np.sin(x * np.sqrt(0.5)), backward=lambda g, x: g * factor * np.cos(x * np.sqrt(0.5))), (t(X),)


@found_by("test_gradients")
def is_wrong_by_an_argument_that_the_sample_does_not_track(wrong):
    backward = lambda g, x, y: (g * y, g * y if wrong else g * x)
    return define(lambda x, y: x * y, "(Tensor x, Tensor y) -> Tensor", backward=backward), (t(X), Y)


@found_by("test_gradients")
def is_wrong_where_the_sample_tracks_nothing(wrong):
    return define(lambda x: np.sin(x), backward=lambda g, x: g * np.cos(x) * (2 if wrong else 1)), (X,)


@found_by("test_gradients")
def knows_one_of_two_bounds(wrong):
    backward = lambda g, x: g * ((x > -1) if wrong else (x > -1) & (x < 1))
    return define(lambda x: np.clip(x, -1.0, 1.0), backward=backward), (t(X * 0.2),)


@found_by("test_schema")
def returns_its_argument_where_an_axis_has_length_1(wrong):
    return define(lambda x: (x if wrong else x.copy()) if len(x) == 1 else x - x.mean(0)), (X,)


@found_by("test_schema")
def scales_its_argument_where_it_is_large(wrong):
    def kernel(x):
        if np.abs(x).max(initial=0.0) > 1:
            x = np.divide(x, np.abs(x).max(), out=x if wrong else None)
        return np.tanh(x)

    return define(kernel), (X * 0.1,)


@found_by("test_schema")
def leaves_a_row_unwritten_where_all_of_it_is_nan(wrong):
    def kernel(x):
        out = (np.empty if wrong else np.zeros)(len(x))
        for i, row in enumerate(x):
            if (told := row[~np.isnan(row)]).size:
                out[i] = told.max()
        return out

    return define(kernel, fake=lambda x: np.empty(len(x))), (X,)


@found_by("test_faketensor")
def says_a_least_size_that_holds_for_the_sample(wrong):
    def fake(x):
        return np.empty((get_ctx().new_dynamic_size(min=1 if wrong else 0, max=x.size),), x.dtype)

    return define(lambda x: x[x > 0], fake=fake), (np.array([1.0, -2.0, 3.0]),)


@found_by("test_gradients")
def cuts_the_second_derivative(wrong):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.plain = np.array(dispatch.detach(inputs[0])) if wrong else None

    def backward(ctx, g):
        x = dispatch.detach(ctx.saved_tensors[0]) if wrong else ctx.saved_tensors[0]
        return 3.0 * x * x * g

    setup_right = lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
    return define(lambda x: x * x * x, backward=backward, setup=setup_right), (t(X[0]),)


@found_by("test_gradients")
def forgets_an_array_of_a_list(wrong):
    def setup(ctx, inputs, output):
        ctx.count = len(inputs[0])

    def backward(ctx, g):
        return [g, *([np.zeros_like(g) if wrong else g] * (ctx.count - 1))]

    op = define(lambda xs: sum(xs) * 1.0, "(Tensor[] xs) -> Tensor", fake=lambda xs: np.empty_like(xs[0]),
                backward=backward, setup=setup)  # fmt: skip
    return op, ([t(X), t(Y)],)


@found_by("test_gradients")
def marks_an_output_that_can_be_differentiated(wrong):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        if wrong:
            ctx.mark_non_differentiable(output[1])

    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * np.cos(x) - (0.0 if wrong else h * np.sin(x))

    fake = lambda x: (np.empty_like(x), np.empty_like(x))
    op = define(lambda x: (np.sin(x), np.cos(x)), "(Tensor x) -> (Tensor, Tensor)", fake=fake, backward=backward, setup=setup)
    return op, (t(X),)


@found_by("test_gradients")
def divides_by_zero_where_the_derivative_is_zero(wrong):
    def backward(g, x):
        return g * (x**3 * 3.0 / x if wrong else 3.0 * x**2)

    return define(lambda x: x**3, backward=backward), (t(np.array([0.0, 1.0, 2.0])),)


@found_by("test_autograd_registration")
def has_no_gradient(wrong):
    return define(np.sin, backward=None if wrong else (lambda g, x: g * np.cos(x))), (t(X),)


def scaled(backward, jvp=None, vmap=None):
    """x * scale + bias, with the gradient of a sample at which the scale is 1."""

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.scale, ctx.power, ctx.square = inputs[1:]

    kernel = lambda x, scale, power, square: scale * x**power * (x if square else 1.0)
    return define(lambda x, scale=1.0, power=2, square=False: kernel(x, scale, power, square),
                  "(Tensor x, float scale=1.0, int power=2, bool square=False) -> Tensor",
                  fake=lambda x, scale, power, square: np.empty_like(x), backward=backward, setup=setup, jvp=jvp, vmap=vmap)  # fmt: skip


def gradient_of_scaled(ctx, g, *, scale=True, power=True, square=True):
    (x,) = ctx.saved_tensors
    a, n, by_x = ctx.scale if scale else 1.0, ctx.power if power else 2, ctx.square and square
    return (g * a * (n + by_x) * x ** (n + by_x - 1), None, None, None)


@found_by("test_gradients")
def forgets_a_scale_that_is_one_at_the_sample(wrong):
    return scaled(lambda ctx, g: gradient_of_scaled(ctx, g, scale=not wrong)), (t(X), 1.0, 2, False)


@found_by("test_gradients")
def forgets_a_power_that_is_two_at_the_sample(wrong):
    return scaled(lambda ctx, g: gradient_of_scaled(ctx, g, power=not wrong)), (t(X), 1.0, 2, False)


@found_by("test_gradients")
def forgets_a_flag_that_is_off_at_the_sample(wrong):
    return scaled(lambda ctx, g: gradient_of_scaled(ctx, g, square=not wrong)), (t(X), 1.0, 2, False)


@found_by("test_gradients")
def holds_for_samples_of_ones(wrong):
    return define(lambda x: x**3, backward=lambda g, x: 3.0 * g * (x if wrong else x * x)), (t(np.ones(4)),)


@found_by("test_gradients")
def takes_the_arrays_by_the_place_they_were_saved_at(wrong):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*(x for x in inputs if x is not None))

    def backward(ctx, g):
        x, y = ctx.saved_tensors[0], ctx.saved_tensors[-1]
        if len(ctx.saved_tensors) < 2:
            return g * (2.0 if wrong else 1.0), None
        return g * y, g * x

    op = define(lambda x, y=None: x * (1.0 if y is None else y), "(Tensor x, Tensor? y=None) -> Tensor",
                fake=lambda x, y: np.empty_like(x), backward=backward, setup=setup)  # fmt: skip
    return op, (t(X), t(Y))


# -- forward mode ----------------------------------------------------------------------------------------------------------


def with_jvp(jvp):
    return define(lambda x, y: x * np.sin(y), "(Tensor x, Tensor y) -> Tensor", jvp=jvp), (t(X), t(Y))


@found_by("test_jvp")
def forgets_a_term_of_the_tangent(wrong):
    def jvp(tangents, output, x, y):
        (a, b), made = tangents, 0.0
        if a is not None:
            made = made + a * np.sin(y)
        if b is not None and not wrong:
            made = made + b * x * np.cos(y)
        return made + np.zeros_like(x)

    return with_jvp(jvp)


@found_by("test_jvp")
def takes_one_tangent_or_the_other(wrong):
    def jvp(tangents, output, x, y):
        a, b = tangents
        if wrong and a is not None and np.any(a):
            return a * np.sin(y)
        return (0.0 if a is None else a * np.sin(y)) + (np.zeros_like(x) if b is None else b * x * np.cos(y))

    return with_jvp(jvp)


@found_by("test_jvp")
def takes_the_size_of_the_tangent(wrong):
    def jvp(tangents, output, x):
        (a,) = tangents
        return 2.0 * x * (a**3 if wrong else a)

    return define(lambda x: x * x, jvp=jvp), (t(X),)


@found_by("test_jvp")
def pushes_with_the_wrong_sign(wrong):
    jvp = lambda tangents, output, x: tangents[0] * np.sin(x) * (1.0 if wrong else -1.0)
    return define(np.cos, backward=lambda g, x: -g * np.sin(x), jvp=jvp), (t(X),)


@found_by("test_jvp")
def pushes_a_tangent_that_holds_for_positive_values(wrong):
    jvp = lambda tangents, output, x: tangents[0] * (1.0 if wrong else np.sign(x))
    return define(np.abs, backward=lambda g, x: g * np.sign(x), jvp=jvp), (t(POSITIVE),)


@found_by("test_jvp")
def pushes_in_single_precision(wrong):
    def jvp(tangents, output, x):
        made = tangents[0] * np.cos(x)
        return made.astype(np.float32) if wrong else made

    return define(np.sin, backward=lambda g, x: g * np.cos(x), jvp=jvp), (t(X),)


@found_by("test_jvp")
def pushes_one_output_of_two(wrong):
    def jvp(tangents, output, x):
        return tangents[0] * np.cos(x), None if wrong else -tangents[0] * np.sin(x)

    fake = lambda x: (np.empty_like(x), np.empty_like(x))
    return define(lambda x: (np.sin(x), np.cos(x)), "(Tensor x) -> (Tensor, Tensor)", fake=fake, jvp=jvp), (t(X),)


# -- batches ---------------------------------------------------------------------------------------------------------------


def softmax(x):
    e = np.exp(x - np.max(x, -1, keepdims=True, initial=-np.inf))
    return e / np.sum(e, -1, keepdims=True)


def in_front(x, dim):
    return x if dim is None else np.moveaxis(x, dim, 0)


@found_by("test_vmap")
def takes_the_batch_for_the_first_axis(wrong):
    def vmap(info, in_dims, x):
        return op(x if wrong else in_front(x, in_dims[0])), 0

    op = define(softmax, vmap=vmap)
    return op, (X,)


@found_by("test_vmap")
def says_the_batch_is_where_it_came_from(wrong):
    def vmap(info, in_dims, x):
        return np.sum(in_front(x, in_dims[0]), -1), in_dims[0] if wrong else 0

    return define(lambda x: np.sum(x, -1), fake=lambda x: np.empty(x.shape[:-1], x.dtype), vmap=vmap), (X,)


@found_by("test_vmap")
def normalises_over_the_batch(wrong):
    def vmap(info, in_dims, x):
        x = in_front(x, in_dims[0])
        axes = None if wrong else tuple(range(1, x.ndim))
        return x / np.sqrt(np.sum(x * x, axes, keepdims=True)), 0

    return define(lambda x: x / np.sqrt(np.sum(x * x)), vmap=vmap), (X,)


@found_by("test_vmap")
def takes_both_arguments_for_batched(wrong):
    def vmap(info, in_dims, x, y):
        x, y = in_front(x, in_dims[0]), in_front(y, in_dims[1])
        if not wrong:
            y = y if in_dims[1] is not None else np.broadcast_to(y, (info.batch_size, *y.shape))
            x = x if in_dims[0] is not None else np.broadcast_to(x, (info.batch_size, *x.shape))
        return np.stack([np.outer(x[i], y[i]) for i in range(info.batch_size)]), 0

    return define(lambda x, y: np.outer(x, y), "(Tensor x, Tensor y) -> Tensor",
                  fake=lambda x, y: np.empty((len(x), len(y)), x.dtype), vmap=vmap), (V, W[:4].copy())  # fmt: skip


@found_by("test_vmap")
def broadcasts_a_batch_from_the_right(wrong):
    def vmap(info, in_dims, x, y):
        x, y = in_front(x, in_dims[0]), in_front(y, in_dims[1])
        if in_dims[0] is not None and in_dims[1] is not None and not wrong:
            y = y[:, None]
        return x * y, 0

    def fixed(info, in_dims, x, y):
        x = in_front(x, in_dims[0]) if in_dims[0] is not None else x[None]
        y = in_front(y, in_dims[1]) if in_dims[1] is not None else y[None]
        return x * (y if wrong else y[:, None]), 0

    return define(lambda x, y: x * y, "(Tensor x, Tensor y) -> Tensor", vmap=fixed), (S, S[0].copy())


@found_by("test_vmap")
def drops_a_batch_of_one(wrong):
    def vmap(info, in_dims, x):
        made = np.exp(in_front(x, in_dims[0]))
        return (np.squeeze(made, 0) if wrong and info.batch_size == 1 else made), 0

    return define(np.exp, vmap=vmap), (X,)


@found_by("test_vmap")
def computes_the_first_item_for_all(wrong):
    def vmap(info, in_dims, x):
        x = in_front(x, in_dims[0])
        return np.stack([np.cumsum(x[0 if wrong else i]) for i in range(info.batch_size)]), 0

    return define(lambda x: np.cumsum(x), fake=lambda x: np.empty(x.size, x.dtype), vmap=vmap), (X,)


@found_by("test_vmap")
def shifts_an_axis_that_it_should_not(wrong):
    def vmap(info, in_dims, x, axis):
        x = in_front(x, in_dims[0])
        return np.flip(x, axis if wrong else axis % (x.ndim - 1) + 1) * 1.0, 0

    kernel = lambda x, axis: np.flip(x, axis).copy()
    op = define(kernel, "(Tensor x, int axis) -> Tensor", fake=lambda x, axis: np.empty(x.shape, x.dtype), vmap=vmap)
    return op, (X, 0)


@found_by("test_vmap")
def swaps_the_outputs_of_a_batch(wrong):
    def vmap(info, in_dims, x):
        x = in_front(x, in_dims[0])
        made = np.min(x, -1), np.max(x, -1)
        return (made[::-1] if wrong else made), (0, 0)

    fake = lambda x: (np.empty(x.shape[:-1], x.dtype), np.empty(x.shape[:-1], x.dtype))
    op = define(lambda x: (np.min(x, -1), np.max(x, -1)), "(Tensor x) -> (Tensor, Tensor)", fake=fake, vmap=vmap)
    return op, (X,)


@found_by("test_vmap")
def leaves_a_batch_of_writes_undone(wrong):
    def kernel(x, y):
        x += y

    def vmap(info, in_dims, x, y):
        y = in_front(y, in_dims[1])
        x = in_front(x, in_dims[0])
        for i in range(info.batch_size - (1 if wrong else 0)):
            x[i] += y[i] if in_dims[1] is not None else y
        return None, None

    return define(kernel, "(Tensor(a!) x, Tensor y) -> ()", fake=None, mutates=("x",), vmap=vmap), (X.copy(), Y)


@found_by("test_vmap")
def forgets_a_flag_in_a_batch(wrong):
    def kernel(x, descending=False):
        return np.sort(x)[::-1].copy() if descending else np.sort(x)

    def vmap(info, in_dims, x, descending):
        made = np.sort(in_front(x, in_dims[0]), -1)
        return (np.flip(made, -1) if descending and not wrong else made), 0

    op = define(kernel, "(Tensor x, bool descending=False) -> Tensor", fake=lambda x, descending: np.empty(x.shape, x.dtype), vmap=vmap)
    return op, (V,)


@found_by("test_vmap")
def forgets_an_array_of_a_list_in_a_batch(wrong):
    def vmap(info, in_dims, xs):
        made = [x if d is None else np.moveaxis(x, d, 0) for x, d in zip(xs, in_dims[0], strict=True)]
        full = [x if d is not None else np.broadcast_to(x, (info.batch_size, *x.shape)) for x, d in zip(made, in_dims[0], strict=True)]
        return sum(full[: -1 if wrong else None]) * 1.0, 0

    return define(lambda xs: sum(xs) * 1.0, "(Tensor[] xs) -> Tensor", fake=lambda xs: np.empty_like(xs[0]), vmap=vmap), ([X, Y],)


@found_by("test_vmap")
def computes_in_a_batch_in_single_precision(wrong):
    def vmap(info, in_dims, x):
        made = np.exp(x)
        return (made.astype(np.float32) if wrong else made), in_dims[0]

    return define(np.exp, vmap=vmap), (X,)


# -- kernels that end the process ------------------------------------------------------------------------------------------


@found_by("test_schema", DANGEROUS)
def crashes(wrong):
    def kernel(x):
        if wrong:
            ctypes.string_at(8)
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema", DANGEROUS)
def aborts(wrong):
    def kernel(x):
        if wrong:
            os.abort()
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema", DANGEROUS)
def exits(wrong):
    def kernel(x):
        if wrong:
            os._exit(0)
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema", DANGEROUS, timeout=0.5)
def hangs(wrong):
    def kernel(x):
        while wrong:
            time.sleep(60)
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_schema", DANGEROUS)
def eats_memory(wrong):
    def kernel(x):
        kept = []
        while wrong:
            kept.append(np.ones(1 << 24))
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_faketensor", DANGEROUS)
def crashes_for_what_is_empty(wrong):
    def kernel(x):
        if wrong and not x.size:
            os.kill(os.getpid(), signal.SIGFPE)
        return x * 2.0

    return define(kernel), (X,)


@found_by("test_gradients", DANGEROUS)
def crashes_in_the_backward(wrong):
    def backward(g, x):
        if wrong:
            os.kill(os.getpid(), signal.SIGSEGV)
        return 2.0 * g * x

    return define(lambda x: x * x, backward=backward), (t(X),)


@found_by("test_vmap", DANGEROUS)
def crashes_in_the_vmap_rule(wrong):
    def vmap(info, in_dims, x):
        if wrong:
            os.kill(os.getpid(), signal.SIGSEGV)
        return np.exp(x), in_dims[0]

    return define(np.exp, vmap=vmap), (X,)
