"""A fake rule that says anything the kernel does not do is caught, on whichever layout, size or data it shows."""

import os

import numpy as np
import pytest
from planted import A, B, brief_fault, define, fault, rule_of

from dispatch import DispatchKey, Tag
from dispatch.core.source import where
from dispatch.library import get_ctx
from dispatch.testing import opcheck
from dispatch.testing.check_fake import counted_strides


def with_fake(rule, kernel=lambda x: x * 2.0, schema="(Tensor x) -> Tensor", **options):
    op = define(kernel, schema, **options)
    op.register_fake(rule)
    return op


def fake_fault(op, args=(A,)):
    return brief_fault(op, args, "test_faketensor", DispatchKey.FAKE)


def test_no_fake_rule_is_named_with_what_to_add():
    op = define(lambda x, y: x * y, "(Tensor x, Tensor y) -> Tensor")
    said = fault(op, (A, A), "test_faketensor")
    kernel = rule_of(op, DispatchKey.CPU)
    assert said == (
        f"{op.name}: no fake rule says which shapes the outputs of the kernel {where(kernel)} have. Add one: "
        f"@{op.schema.name}.register_fake, def _(x, y): return np.empty(shape, dtype)."
    )


def test_a_wrong_shape_is_caught():
    assert fake_fault(with_fake(lambda x: np.empty(x.shape[::-1], x.dtype))) == (
        "output 0 has shape (3, 2) by RULE, and (2, 3) by KERNEL (x: float64[2, 3]). "
        "Compute the shape from the arguments' shapes, e.g. np.empty(x.shape, x.dtype)."
    )


def test_a_shape_that_is_right_for_the_sample_only_is_caught():
    assert fake_fault(with_fake(lambda x: np.empty(3, x.dtype)), (B,)).startswith(
        "output 0 has shape (3,) by RULE, and (4,) by KERNEL on the sample with every length one more (x: float64[4]). "
    )


def test_swapped_axes_of_a_square_sample_are_caught():
    op = with_fake(lambda x: np.empty(x.shape[::-1], x.dtype), lambda x: np.array(x * 2.0, order="C"))
    assert fake_fault(op, (np.ones((2, 2)),)).startswith(
        "output 0 has shape (3, 2) by RULE, and (2, 3) by KERNEL on the sample "
    )


def test_a_shape_that_depends_on_data_is_caught():
    op = with_fake(lambda x: np.empty((x.shape[0],), x.dtype), lambda x: x[x != 0])
    assert fake_fault(op, (B,)).endswith(
        "on the sample with zeros (x: float64[3]). "
        "The shape depends on data: tags=(Tag.dynamic_output_shape,), and get_ctx().new_dynamic_size()."
    )


def test_a_wrong_dtype_is_caught():
    assert fake_fault(with_fake(lambda x: np.empty(x.shape, np.float32))) == (
        "output 0 has dtype float32 by RULE, and float64 by KERNEL (x: float64[2, 3]). "
        "Compute the dtype from the arguments', e.g. np.empty(shape, x.dtype); here it is float64."
    )


def test_wrong_strides_are_caught():
    op = with_fake(lambda x: np.empty(x.shape, x.dtype), lambda x: np.asfortranarray(x * 2.0))
    assert fake_fault(op) == (
        "output 0 has strides (24, 8) by RULE, and (8, 16) by KERNEL (x: float64[2, 3]). "
        "Allocate it as the kernel does: np.empty(shape, dtype, order='F')."
    )


APART = (
    "Its elements do not lie side by side, as those of z.real, x[::2] or x[::-1]: return np.ascontiguousarray(result) from the kernel, "
    "and np.empty(shape, dtype) from the rule."
)


@pytest.mark.parametrize(
    ("kernel", "rule", "advice"),
    [
        (lambda x: x.copy(), np.empty_like, "np.empty(shape, dtype)."),
        (lambda x: x * 2.0, lambda x: np.empty(x.shape, x.dtype), "np.empty_like(x), which follows the order of x."),
        (
            lambda x: np.stack([x, x]).transpose(1, 2, 0),
            lambda x: np.empty((*x.shape, 2), x.dtype),
            "a transpose of np.empty(shape, dtype).",
        ),
        (lambda x: np.fft.fft(x).real, lambda x: np.empty(x.shape, x.dtype), APART),
        (lambda x: x.copy()[::-1], lambda x: np.empty(x.shape, x.dtype), APART),
    ],
)
def test_what_is_said_of_strides_is_what_gives_them(kernel, rule, advice):
    said = advice if advice is APART else f"Allocate it as the kernel does: {advice}"
    assert fake_fault(with_fake(rule, kernel)).endswith(f"3]). {said}")


def test_strides_that_are_right_for_one_layout_only_are_caught():
    assert fake_fault(with_fake(lambda x: np.empty(x.shape, x.dtype))).startswith(
        "output 0 has strides (24, 8) by RULE, and (8, 16) by KERNEL on the sample in Fortran order (x: float64[2, "
        "3]). "
    )


@pytest.mark.parametrize("shape", [(3, 1), (1, 1, 4), (0, 3), (1,)])
def test_strides_of_length_one_and_of_empty_arrays_do_not_count(shape):
    op = with_fake(lambda x: np.empty(x.shape, x.dtype), lambda x: np.asfortranarray(x * 2.0))
    x = np.ones(shape)
    assert op(x).flags.f_contiguous
    opcheck(op, (x,), test_utils="test_faketensor")


def test_a_wrong_number_of_outputs_is_caught():
    op = with_fake(lambda x: np.empty(3), lambda x: (x * 2, x * 3), "(Tensor x) -> (Tensor, Tensor)")
    assert "its fake rule returned an ndarray, and the schema says 2: return a tuple of 2." in fake_fault(op)
    lists = with_fake(lambda x: [np.empty_like(A)], lambda x: [x * 2, x * 3], "(Tensor x) -> Tensor[]")
    assert fake_fault(lists) == (
        "output 0 is [an array] by RULE, and [an array, an array] by KERNEL (x: float64[2, 3]). "
        "Return as many outputs, of these kinds."
    )


def test_a_wrong_number_among_outputs_is_caught():
    op = with_fake(lambda x: (np.empty(x.shape), 5), lambda x: (x * 2, x.ndim), "(Tensor x) -> (Tensor, int)")
    assert fake_fault(op) == (
        "output 1 is 5 by RULE, and 2 by KERNEL (x: float64[2, 3]). "
        "Compute it from shapes and plain arguments, as the kernel does."
    )


def test_a_wrong_array_in_a_list_is_named():
    op = with_fake(
        lambda x: (np.empty(x.shape), [np.empty(x.shape), np.empty(3)]),
        lambda x: (x * 2, [x * 2, x * 3]),
        "(Tensor x) -> (Tensor, Tensor[])",
    )
    assert fake_fault(op).startswith("output 1[1] has shape (3,) by RULE, and (2, 3) by KERNEL")


def test_a_rule_that_reads_data_is_caught():
    op = with_fake(lambda x: np.empty((int(x), 2), x.dtype))
    assert fake_fault(op) == (
        "RULE reads data: an int was asked of a fake tensor of shape (2, 3), which has no data. "
        f"The fake rule of {op.name} decides by shapes, dtypes and plain arguments only; keep it an array, or pass the number as a "
        "plain argument. A length that depends on data is n = dispatch.library.get_ctx().new_dynamic_size().\nIf the shape does depend on data, say so: tags=(Tag.dynamic_output_shape,)."
    )


def test_a_data_dependent_operator_is_skipped_by_name_only_where_its_rule_says_so():
    def rule(x):
        return np.empty((get_ctx().new_dynamic_size(), 2), np.int64)

    tags = (Tag.dynamic_output_shape,)
    op = with_fake(rule, lambda x: np.argwhere(x > 0), tags=tags)
    report = opcheck(op, (A,), test_utils="test_faketensor")
    assert report["test_faketensor"] == (
        "SKIPPED: tagged dynamic_output_shape, and the fake rule asks for what depends on data"
    )
    wrong = with_fake(lambda x: np.empty((3,), np.int64), lambda x: np.argwhere(x > 0), tags=tags)
    assert "has shape (3,) by RULE" in fake_fault(wrong)


def test_a_rule_that_raises_is_caught():
    def rule(x):
        raise KeyError("no")

    assert fake_fault(with_fake(rule)) == "RULE raises KeyError (x: float64[2, 3]), where KERNEL does not: 'no'"


def test_a_rule_that_changes_its_argument_is_caught():
    def rule(xs):
        return np.empty_like(xs.pop())

    assert fake_fault(with_fake(rule, lambda xs: xs[-1] * 2.0, "(Tensor[] xs) -> Tensor"), ([A, A],)).startswith(
        "RULE changes its argument 'xs'. Build a new output from the metadata: np.empty(shape, dtype)."
    )


@pytest.mark.parametrize(
    ("x", "strides"),
    [(np.ones((2, 3)), (24, 8)), (np.ones((2, 1)), (8, None)), (np.ones((0, 3)), (None, None)), (np.ones(()), ())],
)
def test_the_strides_that_count(x, strides):
    assert counted_strides(x) == strides


def test_numbers_that_are_nan_agree():
    op = with_fake(
        lambda x: (np.empty_like(x), float("nan")), lambda x: (x * 2.0, float("nan")), "(Tensor x) -> (Tensor, float)"
    )
    opcheck(op, (A,), test_utils="test_faketensor")


def test_a_rule_that_refuses_an_empty_array_is_advice():
    def rule(x):
        return np.empty((x.shape[0] - 1,), x.dtype)

    op = with_fake(rule, lambda x: x[1:].copy())
    kernel = rule_of(op, DispatchKey.CPU)
    report = opcheck(op, (B,), test_utils="test_faketensor")
    assert report.advice == [
        (
            f"{op.name}: the fake rule ({where(rule)}) raises ValueError on the sample with length 0 for 3 (x: "
            f"float64[0]), where the kernel {where(kernel)} does not: negative dimensions are not allowed"
        )
    ]


# --------------------------------------------------------------------------------------------- sizes that depend on data
def positives(rule):
    return with_fake(rule, lambda x: x[x > 0].copy(), tags=(Tag.dynamic_output_shape,))


def split(rule):
    op = define(lambda x: (x[x > 1].copy(), x[x <= 1].copy()), "(Tensor x) -> (Tensor, Tensor)", tags=(Tag.dynamic_output_shape,))
    op.register_fake(rule)
    return op


def size(**bounds):
    return get_ctx().new_dynamic_size(**bounds)


def test_a_rule_for_a_size_that_depends_on_data_passes():
    opcheck(positives(lambda x: np.empty_like(x, shape=(size(),))), (B,), test_utils="test_faketensor")
    opcheck(positives(lambda x: np.empty_like(x, shape=(size(max=x.size),))), (B,), test_utils="test_faketensor")
    both = split(lambda x: (np.empty_like(x, shape=(size(),)), np.empty_like(x, shape=(size(),))))
    opcheck(both, (B,), test_utils="test_faketensor")


WRONG_SIZES = {
    "rank": (
        lambda x: np.empty_like(x, shape=(size(), 1)),
        "output 0 has shape (u0, 1) by RULE, and (3,) by KERNEL (x: float64[3]). The number of axes does not depend on data.",
    ),
    "dtype": (
        lambda x: np.empty_like(x, shape=(size(),), dtype=np.int64),
        "output 0 has dtype int64 by RULE, and float64 by KERNEL (x: float64[3]). Compute the dtype from the arguments'; here it "  # noqa: ISC004
        "is float64.",
    ),
    "range": (
        lambda x: np.empty_like(x, shape=(size(max=2),)),
        "output 0 has shape (u0,) by RULE, and (3,) by KERNEL (x: float64[3]). Give new_dynamic_size() a min and a max that "  # noqa: ISC004
        "hold, and the other sizes as the kernel does.",
    ),
}


@pytest.mark.parametrize(("rule", "said"), WRONG_SIZES.values(), ids=WRONG_SIZES)
def test_a_wrong_rule_for_a_size_that_depends_on_data_is_caught(rule, said):
    assert fake_fault(positives(rule), (B + 1,)).splitlines()[0] == said


def test_one_size_for_two_that_differ_is_caught():
    def rule(x):
        n = size()
        return np.empty_like(x, shape=(n,)), np.empty_like(x, shape=(n,))

    assert fake_fault(split(rule), (B,)) == (
        "the outputs have shapes (u0,), (u0,) by RULE, and (2,), (1,) by KERNEL (x: float64[3]). A size that "
        "get_ctx().new_dynamic_size() made once is one number: make another for each that differs."
    )


# ---------------------------------------------------------------------------------------------- sizes of 1, and above 64
@pytest.mark.parametrize("length", [1, 67])
def test_a_rule_that_is_wrong_for_one_length_is_caught(length):
    op = with_fake(lambda x: np.empty_like(x, shape=(2 if x.size == length else x.size,)))
    assert fake_fault(op, (B,)).startswith(f"output 0 has shape (2,) by RULE, and ({length},) by KERNEL on the sample with length {length} for 3")


def test_a_rule_that_is_wrong_in_single_precision_is_caught():
    op = with_fake(lambda x: np.empty(x.shape, np.float64))
    assert fake_fault(op, (B,)).startswith("output 0 has dtype float64 by RULE, and float32 by KERNEL on the sample in single precision")


def test_a_kernel_that_computes_in_float64_whatever_it_is_given_is_advised_to_say_so():
    op = with_fake(lambda x: np.empty_like(x), lambda x: x * np.float64(2.0) if x.dtype == np.float64 else x.astype(float) * 2)
    assert opcheck(op, (B,), test_utils="test_faketensor").advice == [
        (f"{op.name}: output 0 has dtype float32 by the fake rule ({where(rule_of(op, DispatchKey.FAKE))}), and float64 by the kernel "
        f"{where(rule_of(op, DispatchKey.CPU))} on the sample in single precision. If it takes float64 alone, say so: "
        "NDArray[np.float64].")
    ]


def test_a_rule_that_forgets_integers_beside_single_precision_is_advised_to_promote():
    op = with_fake(lambda x, n: np.empty_like(x), lambda x, n: x * n, "(Tensor x, Tensor n) -> Tensor")
    (advice,) = opcheck(op, (B, np.array([1, 2, 3])), test_utils="test_faketensor").advice
    assert advice.endswith("on the sample in single precision. Write np.result_type(x, n).")


def test_a_rule_that_follows_one_of_two_precisions_is_advised_and_one_that_follows_none_is_at_fault():
    def op(dtype):
        made = define(lambda x, y: x * y, "(Tensor x, Tensor y) -> Tensor")
        made.register_fake(lambda x, y: np.empty(x.shape, dtype(x, y)))
        return made

    sample = np.ones(3), np.ones(3)
    for name, rule in (("x", lambda x, y: x.dtype), ("y", lambda x, y: y.dtype)):
        advice = " ".join(opcheck(op(rule), sample, test_utils="test_faketensor").advice)
        assert "output 0 has dtype float32 by the fake rule" in advice
        assert f"on the sample with '{name}' alone of single precision. If arrays of several dtypes may come, write np.result_type" in advice
    said = fault(op(lambda x, y: min(x.dtype, y.dtype)), sample, "test_faketensor")
    assert "on the sample with 'y' alone of single precision (x: float64[3], y: float32[3])" in said


def test_one_array_alone_is_made_longer_where_the_kernel_takes_it():
    kernel, outer = np.subtract.outer, lambda x, y: np.empty((x.size, y.size), np.result_type(x.dtype, y.dtype))
    for rule, right in ((outer, True), (lambda x, y: outer(y, x), False)):
        op = with_fake(rule, kernel, "(Tensor x, Tensor y) -> Tensor")
        report = opcheck(op, (np.ones(4), np.ones(4)), test_utils="test_faketensor", raise_exception=False)
        assert bool(report) == right
        assert right or "on the sample with a longer axis 0 of array 0 alone" in str(report["test_faketensor"])


@pytest.mark.parametrize(("shape", "axis"), [((3, 4), 0), ((1, 4), 1)])
def test_a_rule_that_is_wrong_where_arrays_of_one_rank_broadcast_gets_advice(shape, axis):
    def together(x, y):
        return np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x.dtype, y.dtype))

    for rule, right in ((together, True), (lambda x, y: np.empty(x.shape, np.result_type(x.dtype, y.dtype)), False)):
        op = with_fake(rule, lambda x, y: np.asarray(x * y, order="C"), "(Tensor x, Tensor y) -> Tensor")
        report = opcheck(op, (np.ones((3, 4)), np.ones(shape)), test_utils="test_faketensor")
        assert [text.partition(" on the sample ")[2].partition(" (")[0] for text in report.advice] == (
            [] if right else [f"with length 1 for axis {axis} of array 0 alone"]
        )
        assert right or report.advice[0].endswith(" Or np.broadcast_shapes(x.shape, y.shape), where arrays broadcast.")


def test_a_kernel_that_ends_the_process_where_lengths_differ_is_no_fault():
    def kernel(x, y):
        if x.size != y.size:
            os.abort()
        return x * y

    op = with_fake(lambda x, y: np.empty_like(x), kernel, "(Tensor x, Tensor y) -> Tensor")
    assert opcheck(op, (np.ones(4), np.ones(4)), test_utils="test_faketensor")
