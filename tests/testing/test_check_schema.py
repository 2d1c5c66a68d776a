"""A kernel that does more than its schema says is caught, by whichever path it does it."""

import ctypes
import functools
import os
import re
from collections import deque
from typing import Annotated

import numpy as np
import pytest
from faulty_operators import TABLE
from numpy.typing import NDArray
from planted import A, B, define, fault

from dispatch import DispatchKey, Tag, custom_op
from dispatch.core.source import where
from dispatch.errors import AliasError, OutputError
from dispatch.library import register_array_type
from dispatch.testing import opcheck
from dispatch.testing.cases import bind
from dispatch.testing.check_schema import _lost_in_c
from dispatch.testing.guarded_memory import allocated_by_c


def brief(said):
    return re.sub(r"the kernel \S+", "KERNEL", said)


def writes_a_little(x):
    x[0, 0] += 1e-12
    return x * 2.0


def writes_to_zeros(x):
    x[x == 0] = 1
    return x * 2.0


def writes_to_nan(x):
    x[np.isnan(x)] = 0
    return x * 2.0


def writes_in_a_branch(x, fast=False):
    if fast:
        x *= 1.5
    return x * 2.0


def writes_behind_the_flag(x):
    x.flags.writeable = True
    x[-1] = 7.0
    return x * 2.0


def writes_and_restores_nothing(x):
    y = x[...]
    y -= 1
    return y * 2.0


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        (writes_a_little, ""),
        (writes_to_zeros, " on the sample with zeros"),
        (writes_to_nan, " on the sample with nan and inf"),
        (writes_in_a_branch, " on the sample with the other value of 'fast'"),
        (writes_behind_the_flag, ""),
        (writes_and_restores_nothing, ""),
    ],
)
def test_an_undeclared_write_is_caught(kernel, what):
    schema = "(Tensor x, bool fast=False) -> Tensor" if "branch" in kernel.__name__ else "(Tensor x) -> Tensor"
    op = define(kernel, schema)
    assert fault(op, (A,), "test_schema") == (
        f"{op.name}: the kernel {where(kernel)} writes to its argument 'x'{what}, and the schema does not say so. "
        "Compute on x.copy(), or declare it: mutates_args=('x',)."
    )


def test_an_undeclared_write_into_a_list_is_caught_and_the_item_named():
    def kernel(xs):
        xs[1][0] = 5.0
        return xs[0] * 2.0

    op = define(kernel, "(Tensor?[] xs) -> Tensor")
    said = fault(op, ([A, A + 1, None],), "test_schema")
    assert "writes to its argument 'xs'[1], and the schema does not say so. Compute on xs[1].copy()" in said


def test_a_write_that_leaves_everything_as_it_was_is_caught_by_the_read_only_flag():
    def kernel(x):
        x[...] = np.array(x)
        return x * 2.0

    op = define(kernel)
    assert fault(op, (A,), "test_schema") == (
        f"{op.name}: the kernel {where(kernel)} refuses a read-only array for 'x' and writes nothing to it: "
        "ValueError: assignment destination is read-only\n"
        "Copy it before a change in place, or take it const (`const double[:]` in Cython): values on the tape are read-only."
    )


def test_a_write_beside_an_argument_is_caught():
    def kernel(x, out):
        whole = np.lib.stride_tricks.as_strided(out, (out.size + 1,), (8,))
        whole[:] = 3.0

    op = define(kernel, "(Tensor x, Tensor(a!) out) -> ()", mutates_args=("out",))
    assert fault(op, (B, B.copy()), "test_schema").splitlines()[0] == (
        f"{op.name}: the kernel {where(kernel)} writes to memory beside its argument 'out', of shape (3,) and "
        "strides (8,). "
        "Honour its shape and strides, or write to a contiguous array and copy."
    )


def test_a_declared_write_that_never_happens_is_advice():
    op = define(lambda x, y: x * 2.0, "(Tensor x, Tensor(a!) y) -> Tensor", mutates_args=("y",))
    report = opcheck(op, (A, A), test_utils="test_schema")
    assert report.advice == [
        (
            f"{op.name} says it writes to 'y', and no run changed it. If it never does, leave it out of mutates_args: "
            "readers of a "
            "schema must assume the write."
        )
    ]
    assert repr(report).splitlines()[-1] == f"advice: {report.advice[0]}"


def hidden_view(x):
    return np.frombuffer(memoryview(np.ascontiguousarray(x).reshape(-1)).cast("B"), x.dtype)


def test_a_view_that_hides_its_base_is_caught():
    op = define(hidden_view)
    assert fault(op, (B,), "test_schema").splitlines()[0] == (
        f"{op.name}: the kernel {where(hidden_view)} returned a view of its input 'x'. Return a copy, or declare it in the "
        "schema, as in (Tensor(a) x) -> Tensor(a)."
    )


@pytest.mark.parametrize("kernel", [lambda x: x, lambda x: x[1:], lambda x: x.T])
def test_an_input_or_a_view_of_it_is_caught_with_the_words_of_the_call(kernel):
    op = define(kernel)
    with pytest.raises(AliasError) as caught:
        op(A)
    assert fault(op, (A,), "test_schema") == str(caught.value)


def test_two_outputs_that_share_memory_are_caught():
    def kernel(x):
        y = x + 1
        return y, y[1:]

    op = define(kernel, "(Tensor x) -> (Tensor, Tensor)")
    assert fault(op, (B,), "test_schema") == (
        f"{op.name}: the kernel {where(kernel)} returned two outputs that share memory. Return a copy for one of them."
    )


def test_another_array_in_place_of_the_written_one_is_caught():
    def kernel(x):
        x += 1
        return x.copy()

    op = define(kernel, "(Tensor(a!) x) -> Tensor(a!)", mutates_args=("x",))
    assert fault(op, (B,), "test_schema") == (
        f"{op.name}: the kernel {where(kernel)} returned another array as output 0, and its schema says that it is "
        "argument 'x' itself. Write to x and return it."
    )


def test_a_workspace_that_is_returned_again_is_caught():
    workspace = np.empty(3)

    def kernel(x):
        workspace[:] = x * 2
        return workspace

    op = define(kernel)
    assert fault(op, (B,), "test_schema") == (
        f"{op.name}: output 0 of the kernel {where(kernel)} lies in the same memory in every call, so that a call "
        "overwrites "
        "the result of the one before. Return a copy of the workspace."
    )


def test_a_result_that_changes_from_call_to_call_is_caught():
    calls = iter(range(1000))

    def kernel(x):
        return x * next(calls)

    op = define(kernel)
    assert fault(op, (B,), "test_schema").splitlines()[0] == (
        f"{op.name}: two calls of the kernel {where(kernel)} on equal arguments differ in output 0. "
        "If it keeps something from call to call, take that as an argument and return it; if it draws numbers, say so: "
        "tags=(Tag.random,)."
    )
    opcheck(define(kernel, tags=(Tag.random,)), (B,), test_utils="test_schema")
    number = define(lambda x: next(calls), "(Tensor x) -> int")
    assert "differ in output 0" in fault(number, (B,), "test_schema")


def test_last_bits_that_change_are_advice_unless_tagged():
    calls = iter(range(1000))

    def kernel(x):
        return x * (1 + 2**-52 * (next(calls) % 2))

    op = define(kernel)
    assert opcheck(op, (B,), test_utils="test_schema").advice == [
        (
            f"two equal calls of {op.name} differ in the last bits of output 0. Say so: "
            "tags=(Tag.nondeterministic_bitwise,)."
        )
    ]
    tagged = define(kernel, tags=(Tag.nondeterministic_bitwise,))
    assert opcheck(tagged, (B,), test_utils="test_schema").advice == []


def ignores_strides(x):
    flat = np.lib.stride_tricks.as_strided(x, (x.size,), (8,))
    return (flat * 2).reshape(x.shape)


def test_a_kernel_that_ignores_strides_is_caught():
    op = define(ignores_strides)
    said = fault(op, (A,), "test_schema")
    assert said == (
        f"{op.name}: the kernel {where(ignores_strides)} gives another output 0 for the same values in Fortran order: "
        "the values differ in 4 of 6 elements. "
        "It reads memory without looking at strides or byte order: np.ascontiguousarray(x, dtype) first."
    )


def test_a_dtype_that_follows_the_layout_is_told():
    op = define(lambda x: (x * 2).astype(np.float64 if x.flags.c_contiguous else np.float32))
    assert fault(op, (A,), "test_schema").endswith("Compute shape and dtype from those of the arguments, and not from strides or flags.")


def test_a_write_to_a_copy_of_an_argument_is_told():
    def kernel(x, out):
        np.ascontiguousarray(out)[...] = x * 2

    op = define(kernel, "(Tensor x, Tensor(a!) out) -> ()", mutates_args=("out",))
    assert fault(op, (A, np.zeros_like(A)), "test_schema").endswith(
        "It writes to a copy, as np.ascontiguousarray(out) or out.ravel() may be one: write out[...] = result."
    )


def test_an_out_argument_that_a_kernel_leaves_for_negative_values_is_told():
    op = define(
        lambda x, *, out: np.sqrt(x, where=x > 0, out=out), "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", mutates_args=("out",),
        tags=(Tag.out,),
    )  # fmt: skip
    said = str(opcheck(op, (B + 1,), {"out": np.zeros_like(B)}, test_utils="test_schema", raise_exception=False)["test_schema"])
    assert "of its argument 'out' as they were on the sample negated, the first at [0]." in said


def test_the_kernels_own_exception_types_are_findings_not_crashes():
    op = define(lambda x: None)
    with pytest.raises(OutputError) as caught:
        op(A)
    assert fault(op, (A,), "test_schema") == str(caught.value)


def test_a_layout_that_a_hint_asks_for_is_the_only_one_tried():
    def kernel(x: Annotated[NDArray[np.float64], "C"]) -> np.ndarray:
        return ignores_strides(x)

    op = custom_op("planted::in_c_order", kernel, mutates_args=())
    opcheck(op, (A,), test_utils="test_schema")


def test_an_argument_that_a_hint_says_is_writeable_is_handed_so_and_compared_all_the_same():
    def kernel(x: Annotated[np.ndarray, "writeable"]) -> np.ndarray:
        assert x.flags.writeable
        return x * 2.0

    opcheck(custom_op("planted::writeable", kernel, mutates_args=()), (A,), test_utils="test_schema")

    def writing(x: Annotated[np.ndarray, "writeable"]) -> np.ndarray:
        x[0] = 1.0
        return x * 2.0

    op = custom_op("planted::writing", writing, mutates_args=())
    assert "writes to its argument 'x', and the schema does not say so." in fault(op, (A,), "test_schema")


def test_what_is_tagged_as_loose_is_not_held_to_its_schema():
    def kernel(x):
        x[0] = 1.0
        return x[1:]

    op = define(kernel, "(Tensor(a) x) -> Tensor(a)", tags=(Tag.maybe_aliasing_or_mutating,))
    opcheck(op, (A,), test_utils="test_schema")


def test_writes_to_integers_and_objects_are_caught():
    def kernel(x):
        x[0] = x[1]
        return x.copy()

    for x in (np.arange(3), np.array(["a", 2, None], object)):
        op = define(kernel)
        assert "writes to its argument 'x'" in fault(op, (x,), "test_schema")


# ---------------------------------------------------------------------------------------------- what the arguments are
def reads_doubles(x):
    native = x.astype(x.dtype.newbyteorder("="), order="C")
    return np.frombuffer(native.tobytes() * 2, np.float64)[: x.size].reshape(x.shape) * 2


@pytest.mark.parametrize("values", [[1e200, 1.0, 1e-200, -2e300], [1e30, -2e30, 3e25, 1e35]], ids=["arguments", "results"])
def test_a_kernel_is_not_blamed_for_what_is_too_large_for_float32(values):
    op = define(lambda x: x * x)
    with np.errstate(all="ignore"):
        report = opcheck(op, (np.array(values),), isolate=False, raise_exception=False, test_utils="test_schema")
    assert not report.failures, report


def test_a_kernel_that_takes_float32_for_float64_is_caught():
    op = define(reads_doubles)
    assert fault(op, (A,), "test_schema") == (
        f"{op.name}: the kernel {where(reads_doubles)} gives another output 0 for the same values in single precision: it may take "
        "float32 for float64. Say which dtype it takes, NDArray[np.float64], or convert: np.asarray(x, np.float64)."
    )


def hinted(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return reads_doubles(x)


def refuses(x):
    if x.dtype != np.float64:
        raise TypeError("doubles only")
    return reads_doubles(x)


@pytest.mark.parametrize("kernel", [hinted, refuses, lambda x: np.linalg.inv(x[:2, :2]), lambda x: x > 1, lambda x: x.sum()])
def test_a_kernel_that_says_its_dtype_or_computes_in_both_passes(kernel):
    op = custom_op(f"planted::{kernel.__name__.strip('<>')}_{id(kernel)}", kernel, mutates_args=(), schema=None if kernel is hinted else "(Tensor x) -> Tensor")
    opcheck(op, (A,), test_utils="test_schema")


def gather(x, indices):
    assert ((indices >= 0) & (indices < 6)).all()
    return x[indices]


def test_integers_beside_other_arrays_keep_the_values_of_the_sample():
    seen = []
    op = define(lambda x, indices: (seen.append(indices.tolist()), gather(x, indices))[1], "(Tensor x, Tensor indices) -> Tensor")
    op.register_fake(lambda x, indices: np.empty(indices.shape, x.dtype))
    opcheck(op, (np.arange(6.0), np.array([5, 0, 3])), isolate=False)
    assert {i for indices in seen for i in np.ravel(indices)} <= {5, 0, 3}
    assert max(map(len, seen)) == 67


def test_integers_alone_are_data():
    seen = set()
    op = define(lambda x: (seen.add(tuple(x)), x + 1)[1])
    opcheck(op, (np.array([5, 0, 3]),), test_utils="test_schema", isolate=False)
    assert len(seen) > 2


def test_what_is_fixed_keeps_its_values_and_its_lengths():
    seen = []
    op = define(lambda x, w: (seen.append((w.tolist(), x.shape)), x * w)[1], "(Tensor x, Tensor w) -> Tensor")
    op.register_fake(lambda x, w: np.empty_like(x))
    opcheck(op, (np.ones((4, 3)), np.array([5.0, 1.0, 2.0])), fixed=("w",), isolate=False)
    assert {tuple(w) for w, _ in seen} == {(5.0, 1.0, 2.0)}
    assert {shape[1] for _, shape in seen} == {3}
    assert {shape[0] for _, shape in seen} >= {4, 5, 1, 67, 0}


# ------------------------------------------------------------------------------------------------------- out arguments
def into(places):
    def kernel(x, *, out):
        out[places] = x[places] * 2.0

    return define(kernel, "(Tensor x, *, Tensor(a!) out) -> ()", mutates_args=("out",)), kernel


@pytest.mark.parametrize("x", [B, B.astype("f4"), np.arange(4), np.array([True, False, True])])
def test_an_out_argument_that_is_left_partly_unwritten_is_caught(x):
    op, kernel = into(slice(1, None))
    report = opcheck(op, (x,), {"out": np.zeros(x.shape, np.result_type(x, 1.0))}, test_utils="test_schema", raise_exception=False)
    assert str(report["test_schema"]) == (
        f"{op.name}: the kernel {where(kernel)} leaves 1 of {x.size} elements of its argument 'out' as they were, the first at [0]. "
        "Write all of an out argument, or take it by position, as one that is read too."
    )


def test_an_out_argument_that_is_written_whole_passes():
    opcheck(into(...)[0], (B,), {"out": np.zeros(3)}, test_utils="test_schema")


def test_an_argument_by_position_may_be_written_in_part():
    def kernel(x):
        x[1:] = 0.0

    opcheck(define(kernel, "(Tensor(a!) x) -> ()", mutates_args=("x",)), (B.copy(),), test_utils="test_schema")


SAID = {
    "leaves_the_last_element_unwritten": "output 0 of KERNEL depends on memory that nobody has written. Begin with np.zeros(shape) in place "
    "of np.empty(shape), or write every element.",
    "reads_past_the_end": "output 0 of KERNEL depends on memory beside its arguments: it reads before the first element of one, or after its "
    "last. Look at where its loops end, and at the strides.",
    "declares_a_write_and_binds_a_name": "KERNEL is said to write to 'x', and no call changed it. Write into the array itself, x[...] = y: "
    "x = y binds a name.",
    "leaves_part_of_an_out_argument_by_position_unwritten": "KERNEL leaves 3 of 12 elements of its argument 'out' as they were, the first at "
    "[0, 3]. Write all of an out argument, or give one that is updated another name.",
    "gives_its_argument_another_shape": "KERNEL changes its argument 'x' itself: the shape or the flags of an array, or what a list "
    "or a dict holds. The caller holds it too; take a view, x.view(), or a copy, list(x).",
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_of(name):
    (faulty,) = (faulty for faulty in TABLE if faulty.name == name)
    op, args = faulty.make(True)
    kernel = f"the kernel {where(op.table.source(DispatchKey.CPU).rule)}"
    assert fault(op, args, "test_schema").removeprefix(f"{op.name}: ").replace(kernel, "KERNEL").startswith(SAID[name])


def test_a_write_beside_an_array_of_the_kernels_own_is_said():
    def kernel(x):
        out = np.zeros(3)
        ctypes.c_double.from_address(out.ctypes.data + 24).value = 1.0
        return out

    op = define(kernel)
    assert fault(op, (A,), "test_schema") == (
        f"{op.name}: the kernel {where(kernel)} writes beside an array that it made, before its first element or after its last. "
        "What is there belongs to others."
    )


def test_an_argument_that_is_updated_is_no_out_argument():
    """It is read, or its name does not say that it is written whole, or integers say where."""

    def add(x, out):
        out[:1] += x[:1]

    def write(x, y):
        y[:1] = x[:1]

    def put(x, places, out):
        out[places] = x

    for kernel, schema, args in (
        (add, "(Tensor x, Tensor(a!) out) -> ()", (A, A)),
        (write, "(Tensor x, Tensor(a!) y) -> ()", (A, A)),
        (put, "(Tensor x, Tensor places, Tensor(a!) out) -> ()", (np.array([7.0, 8.0]), np.array([0, 2]), np.arange(4.0))),
    ):
        written = kernel.__code__.co_varnames[kernel.__code__.co_argcount - 1]
        opcheck(define(kernel, schema, mutates_args=(written,)), args, test_utils="test_schema")


def test_integers_are_tried_as_floats_which_a_kernel_may_hand_back():
    op = define(lambda x: x.astype(np.float64, copy=False))
    said = fault(op, (np.arange(3),), "test_schema")
    assert "returned its input 'x' itself. Return a copy, " in said
    assert said.endswith(" That is so in double precision (x: float64[3]).")
    assert not opcheck(define(lambda x: x.astype(np.float64)), (np.arange(3),), test_utils="test_schema").failures


def test_an_operator_without_a_fake_rule_is_run_on_nothing():
    seen = []
    opcheck(define(lambda x: (seen.append(x.shape), x * 2.0)[1]), (A,), test_utils="test_schema", isolate=False)
    assert {shape for shape in seen if 0 in shape} == {(0, 3), (2, 0)}


def test_floats_are_tried_as_complex_numbers_which_a_kernel_may_write_to():
    def kernel(x):
        if x.dtype.kind == "c":
            x *= 2.0
        return x * 1.0

    said = fault(define(kernel), (A,), "test_schema")
    assert "writes to its argument 'x' as complex numbers, and the schema does not say so. " in said
    opcheck(define(kernel), (A,), fixed=("x",), test_utils="test_schema")


def test_an_out_argument_that_is_an_input_is_read_before_it_is_written():
    def running(x, *, out):
        out[0] = x[0]
        for i in range(1, len(x)):
            out[i] = x[i - 1] + x[i]

    def clears(x, *, out):
        out[...] = 0.0
        out += x

    made = [define(kernel, "(Tensor x, *, Tensor(a!) out) -> ()", mutates_args=("out",)) for kernel in (running, clears)]
    sample = (np.array([1.0, 2.0, 4.0]),), {"out": np.zeros(3)}
    said = str(opcheck(made[0], *sample, test_utils="test_schema", raise_exception=False).failures["test_schema"])
    assert said.endswith(
        "writes another 'out' where that is 'x' itself: it reads elements that it has written. Compute the result first, or copy "
        "what overlaps: np.shares_memory(x, out)."
    )
    report = opcheck(made[1], *sample, test_utils="test_schema")
    assert ["where that is 'x' itself" in text for text in report.advice] == [True]


def test_what_keeps_the_arguments_of_all_calls_is_told_from_what_keeps_the_last():
    kept, last = [], []

    def all_of_them(x):
        kept.append(x)
        return x * 2.0

    def one(x):
        last[:] = [x]
        return x * 2.0

    small = np.ones(2)
    def result(x):
        kept.append(x * 2.0)
        return kept[-1]

    assert "keeps an output of every call: it appends arrays to " in fault(define(result), (small,), "test_schema")
    said = fault(define(all_of_them), (small,), "test_schema")
    assert "keeps an argument of every call: it appends arrays to something that outlives the call, or finds results by " in said
    assert said.endswith("Keep a bounded number of copies, for the caller may write to an array.")
    opcheck(define(one), (small,), test_utils="test_schema")


@pytest.mark.parametrize("most", [1, 40, 128])
def test_what_keeps_the_arrays_of_the_last_calls_loses_no_memory(most):
    kept = deque(maxlen=most)

    def means(x):
        kept.append(np.full(80, np.mean(x)))
        return x - kept[-1][0]

    opcheck(define(means), (np.ones(2),), test_utils="test_schema")


class Remote:
    """An array of a user's class, without equality."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype


def test_what_is_equal_to_itself_alone_is_not_compared():
    register_array_type(Remote, device="remote")
    op = define(lambda x: x * 2.0)
    op.register_kernel("remote")(lambda x: Remote(x.values * 2.0))
    assert not opcheck(op, (Remote(np.ones(2)),), test_utils="test_schema", isolate=False).failures


def test_a_kernel_that_follows_a_permutation_passes_and_one_that_takes_other_indices_is_told_of_fixed():
    def inverse(order):
        out = np.empty(order.shape, order.dtype)
        out[order] = np.arange(len(order))
        return out

    op = define(inverse, "(Tensor order) -> Tensor")
    assert not opcheck(op, (np.array([2, 0, 3, 1]),), test_utils="test_schema").failures
    first_half = define(lambda order: inverse(order)[:2] * 1, "(Tensor order) -> Tensor")
    said = fault(first_half, (np.array([1, 0, 5, 3, 0, 0]),), "test_schema")
    assert said.endswith(" Indices that belong together are kept by fixed=('order',).")


def test_a_kernel_that_takes_int32_for_int64_is_told_and_one_whose_products_are_large_is_not():
    def pointer(x):
        return np.frombuffer(np.ascontiguousarray(x).tobytes() + bytes(64), np.int64)[: x.size].copy()

    said = fault(define(pointer), (np.arange(1, 5),), "test_schema")
    assert "for the same values as int32: it may take int32 for int64. Say which dtype it takes, NDArray[np.int64], " in said
    for kernel in (lambda x: x**9, lambda x: x * 2, lambda x: np.asarray(x, np.int64) ** 9, lambda x: x * 1103515245 % 1000):
        opcheck(define(kernel), (np.array([3, 70, 2]),), test_utils="test_schema")


def test_a_kernel_that_takes_int64_for_smaller_integers_is_told_and_one_that_wraps_around_is_not():
    for dtype in (np.int8, np.int16, np.int32, np.uint8, np.uint16):

        def pointer(x):
            return np.frombuffer(np.ascontiguousarray(x).tobytes(), dtype)[: x.size] * dtype(1)  # noqa: B023

        x = np.array([3, 70, 2], dtype)
        said = fault(define(pointer), (x,), "test_schema")
        name = np.dtype(dtype).name
        assert f"for the same values as int64: it may take int64 for {name}. Say which dtype it takes, NDArray[np.{name}]" in said
        for kernel in (lambda x: ~x, lambda x: x - x.max(), lambda x: x * x, lambda x: x.mean(keepdims=True)):
            opcheck(define(kernel), (x,), test_utils="test_schema")


def test_beside_integers_a_number_is_tried_that_is_larger_and_no_smaller_one():
    def count(indices, bins):
        out = np.zeros(bins)
        for i in indices.tolist():  # as C counts
            ctypes.memset(out.ctypes.data + 8 * i, 1, 8)
        return out

    op = define(count, "(Tensor indices, int bins) -> Tensor")
    opcheck(op, (np.array([0, 3, 3]), 4), test_utils="test_schema", fixed=("indices",))


def test_results_that_depend_on_what_lies_beside_an_argument_are_told_for_other_values_too():
    def first_zero(x):
        x = np.ascontiguousarray(x, np.float64)
        around = np.lib.stride_tricks.as_strided(x, (x.size + 2 * (x.size == 1),), (8,))
        return np.asarray(float((around == 0.0).argmax())) if x.size else np.zeros(())

    said = fault(define(first_zero), (np.array([1.0, 2.0, 0.0, 3.0]),), "test_schema")
    assert "output 0 of KERNEL depends on memory beside its arguments" in brief(said)
    assert "That is so on the sample with length 1 for 4 (x: float64[1])." in said


def test_an_output_that_is_one_array_for_some_values_alone_is_told():
    nothing = np.zeros(1)
    said = fault(define(lambda x: x[:1] * 2.0 if x.any() else nothing), (np.ones(3),), "test_schema")
    assert "output 0 of KERNEL lies in the same memory in every call on the sample with zeros, so that a call " in brief(said)


def test_a_kernel_that_returns_the_only_array_of_a_list_is_advised_for_each_such_call_raises():
    op = define(lambda xs: functools.reduce(np.add, xs), "(Tensor[] xs) -> Tensor")
    report = opcheck(op, ([np.ones(2), np.ones(2)],), test_utils="test_schema")
    (said,) = [advice for advice in report.advice if "one array less" in advice]
    assert said.endswith(" That is so on the sample with one array less in 'xs' (xs: list[float64[2]]).")


def test_files_that_every_call_leaves_open_are_told_in_a_child_and_one_that_is_kept_is_not():
    kept = []

    def leaves(x):
        os.open(os.devnull, os.O_RDONLY)
        return x * 2.0

    def keeps(x):
        if not kept:
            kept.append(os.open(os.devnull, os.O_RDONLY))
        return x * 2.0

    said = fault(define(leaves), (A,), "test_schema")
    assert said.endswith("leaves 1 more of the process's files open, of which there may be some hundreds. Close them: `with open(...) as file`.")
    opcheck(define(keeps), (A,), test_utils="test_schema")


def test_floats_are_tried_as_integers_which_a_kernel_may_hand_back():
    said = fault(define(lambda x: x.astype(np.int64, copy=False)), (np.ones(3),), "test_schema")
    assert "That is so as integers (x: int64[3])." in said


def test_what_is_kept_from_the_call_before_and_settles_is_not_taken_for_memory_beside_the_arguments():
    last = [0.0]

    def kernel(x):
        out = x + 1e-3 * last[0]
        last[0] = float(x.sum())
        return out

    assert brief(fault(define(kernel), (A,), "test_schema")).endswith(
        "two calls of KERNEL on equal arguments differ in output 0. If it keeps something from call to call, take that as an argument "
        "and return it; if it draws numbers, say so: tags=(Tag.random,)."
    )


def test_a_kernel_that_takes_the_step_between_rows_for_their_length_is_told():
    def row_sums(x):
        step = abs(x.strides[0]) // x.itemsize  # as BLAS wants a leading dimension, which counts down here
        flat = np.lib.stride_tricks.as_strided(x if x.strides[0] > 0 else x[::-1], x.shape, (step * x.itemsize, x.strides[1]))
        return flat.sum(axis=1) if x.strides[1] > 0 else x.sum(axis=1)

    assert "with reversed rows" in fault(define(row_sums, "(Tensor x) -> Tensor"), (A,), "test_schema")


@pytest.mark.skipif(not allocated_by_c(), reason="nobody says what malloc() has given")
def test_what_a_cycle_holds_is_not_lost_in_c():
    def kernel(x):
        cycle = [np.empty(1000)]
        cycle.append(cycle)
        return x * 2

    assert _lost_in_c(bind(define(kernel), (B,), {}), [False]) < 1000  # of 8000 each: other threads allocate meanwhile


def test_a_step_between_rows_whose_sign_is_lost_is_told_though_the_values_beside_them_are_as_large():
    def largest(x):
        steps = tuple(map(abs, x.strides))
        return np.lib.stride_tricks.as_strided(x, strides=steps).max(axis=1)

    for seed in range(5):
        message = fault(define(largest), (np.random.default_rng(seed).random((3, 5)),), check="test_schema")
        assert "for the same values with reversed" in message
