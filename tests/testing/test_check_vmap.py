"""A vmap rule that differs from a loop is caught, wherever the mapped axes are."""

import ctypes
import itertools

import numpy as np
import pytest
from planted import A, B, brief_fault, define, fault

from dispatch import DispatchKey, Tag
from dispatch.testing import opcheck
from dispatch.testing.cases import bind
from dispatch.testing.check_vmap import batchings


def with_vmap(rule, kernel=lambda x, y: x @ y, schema="(Tensor x, Tensor y) -> Tensor", **options):
    op = define(kernel, schema, **options)
    op.register_vmap(rule)
    return op


def vmap_fault(op, args):
    return brief_fault(op, args, "test_vmap", DispatchKey.VMAP)


def first_axis(x, dim):
    return x if dim is None else np.moveaxis(x, dim, 0)


def test_a_right_rule_passes_for_every_choice_of_axes():
    op = with_vmap(
        lambda info, in_dims, x, y: (np.stack([
            (x if in_dims[0] is None else x.take(i, in_dims[0])) * (y if in_dims[1] is None else y.take(i, in_dims[1]))
            for i in range(info.batch_size)
        ]), 0),
        lambda x, y: x * y,
    )  # fmt: skip
    report = opcheck(op, (A, B), test_utils="test_vmap")
    assert report["test_vmap"] == "SUCCESS"


def test_a_rule_that_ignores_where_the_axis_is_is_caught():
    op = with_vmap(lambda info, in_dims, x: (x * 2.0, 0), lambda x: x * 2.0, "(Tensor x) -> Tensor")
    assert vmap_fault(op, (A,)) == (
        "RULE raises BatchingError under vmap('x': -1) of a batch of 4, where KERNEL does not item by item: "
        "its vmap rule says the batch, 4 items, is axis 0 of an output of shape (2, 3, 4). "
        "Say which axis holds the items, or None."
    )


def test_a_rule_that_looks_for_the_axis_by_its_length_is_caught():
    def rule(info, in_dims, x):
        x = np.moveaxis(x, in_dims[0], -1)
        dim = x.shape.index(info.batch_size)  # the first that is as long, whichever it is
        return np.cumsum(np.moveaxis(x, dim, 0), -1), 0

    op = with_vmap(rule, lambda x: np.cumsum(x, -1), "(Tensor x) -> Tensor")
    assert "RULE under vmap('x': 0) of a batch of 3 gives another output 0 than KERNEL" in vmap_fault(op, (np.arange(3.0),))


def test_a_rule_that_writes_to_the_batch_is_caught_and_a_kernel_that_does_is_told_once():
    def rule(info, in_dims, x):
        x *= 2.0
        return x.copy(), in_dims[0]

    op = with_vmap(rule, lambda x: x * 2.0, "(Tensor x) -> Tensor")
    assert vmap_fault(op, (B,)).endswith(
        "RULE under vmap('x': 0) of a batch of 4 writes to the batch of 'x', which the caller holds too. Compute on a copy."
    )

    def kernel(x):
        x *= 2.0
        return x.copy()

    op = with_vmap(lambda info, in_dims, x: (op(x), in_dims[0]), kernel, "(Tensor x) -> Tensor")
    assert list(opcheck(op, (B,), raise_exception=False, test_utils=("test_schema", "test_vmap")).failures) == ["test_schema"]


def test_a_rule_with_other_values_is_caught():
    op = with_vmap(
        lambda info, in_dims, x: (x + np.arange(3.0).reshape(3, 1) if in_dims[0] else x, in_dims[0]),
        lambda x: x * 1.0,
        "(Tensor x) -> Tensor",
    )
    assert vmap_fault(op, (B,)) == (
        "RULE under vmap('x': -1) of a batch of 4 gives another output 0 than KERNEL item by item (x: float64[3]): "
        "the values differ in 8 of 12 elements. "
        "The greatest difference is 2 at [0, 2]; 1e-07 + 1e-07 * abs(expected) is allowed. "
        "Move the mapped axes to one place first, and return where it is as out_dims."
    )


def test_an_axis_that_another_has_the_place_of_is_caught():
    op = with_vmap(
        lambda info, in_dims, x, y: (first_axis(x, in_dims[0]) + first_axis(y, in_dims[1]), 0), lambda x, y: x + y
    )
    assert vmap_fault(op, (np.ones((2, 4)), np.arange(4.0))).startswith(
        "RULE raises ValueError under vmap('x': 0, 'y': 0) of a batch of 3, where KERNEL does not item by item: "
    )


def test_a_rule_that_uses_one_item_for_all_is_caught():
    op = with_vmap(
        lambda info, in_dims, x: (np.stack([np.take(x, 0, in_dims[0]) * 2.0] * info.batch_size), 0),
        lambda x: x * 2.0,
        "(Tensor x) -> Tensor",
    )
    assert "gives another output 0 than KERNEL item by item" in vmap_fault(op, (A,))
    indices = with_vmap(
        lambda info, in_dims, x: (np.stack([np.take(x, 0, in_dims[0]) * 2] * info.batch_size), 0),
        lambda x: x * 2,
        "(Tensor x) -> Tensor",
    )
    assert "gives another output 0 than KERNEL item by item" in vmap_fault(indices, (np.arange(5),))


def test_a_rule_with_another_dtype_is_caught():
    op = with_vmap(lambda info, in_dims, x: (x.astype("f4"), in_dims[0]), lambda x: x * 1.0, "(Tensor x) -> Tensor")
    assert "the dtypes differ: float32, and expected is float64." in vmap_fault(op, (A,))


def test_a_rule_that_raises_is_caught_for_the_axes_it_forgot():
    op = with_vmap(
        lambda info, in_dims, x, y: (np.moveaxis(x, in_dims[0], 0) * np.moveaxis(y, in_dims[1], 0), 0),
        lambda x, y: x * y,
    )
    assert vmap_fault(op, (B, B)).startswith(
        "RULE raises TypeError under vmap('x': 0, 'y': None) of a batch of 4, where KERNEL does not item by item: "
    )


def test_outputs_that_are_no_arrays_are_compared_too():
    op = with_vmap(
        lambda info, in_dims, x: ((x * 2.0, "left"), (in_dims[0], None)),
        lambda x: (x * 2.0, "right"),
        "(Tensor x) -> (Tensor, str)",
    )
    assert "gives another output 1 than KERNEL" in vmap_fault(op, (B,))
    assert "the values differ: 'left', and expected is 'right'." in vmap_fault(op, (B,))


def test_the_loop_passes_and_says_so_where_there_is_no_batch():
    assert opcheck(define(lambda x: x * 2.0), (A,), test_utils="test_vmap")["test_vmap"] == "SUCCESS"
    both = define(lambda x: (x * 2.0, [x, x + 1][1:], 3), "(Tensor x) -> (Tensor, Tensor[], int)")
    assert opcheck(both, (A,), test_utils="test_vmap")["test_vmap"] == "SUCCESS"
    text = define(lambda x: f"{x[0]}", "(Tensor x) -> str")
    report = opcheck(text, (B,), test_utils="test_vmap")
    assert report["test_vmap"].startswith("SKIPPED: there is no vmap rule, and the loop refuses: ")


def test_a_writing_rule_is_held_to_what_it_writes():
    def kernel(x, out):
        out[...] = x * 2

    def right(info, in_dims, x, out):
        np.moveaxis(out, in_dims[1], 0)[...] = (x if in_dims[0] is None else np.moveaxis(x, in_dims[0], 0)) * 2
        return None, None

    def wrong(info, in_dims, x, out):
        np.moveaxis(out, in_dims[1], 0)[...] = 0
        return None, None

    schema = "(Tensor x, Tensor(a!) out) -> ()"
    opcheck(with_vmap(right, kernel, schema, mutates_args=("out",)), (B, B), test_utils="test_vmap")
    said = vmap_fault(with_vmap(wrong, kernel, schema, mutates_args=("out",)), (B, B))
    assert "gives another value of its argument 'out' than KERNEL item by item" in said


def test_the_callers_arrays_are_left_alone():
    x, y = A.copy(), B.copy()
    op = define(lambda x, y: x * y, "(Tensor x, Tensor(a!) y) -> Tensor", mutates_args=("y",))
    opcheck(op, (x, y), raise_exception=False)
    assert x.tobytes() == A.tobytes()
    assert y.tobytes() == B.tobytes()
    assert x.flags.writeable


def test_what_a_loop_finds_is_laid_to_the_kernel_and_what_differs_from_call_to_call_is_left_to_another_check():
    def by_address(x):
        return np.frombuffer((ctypes.c_char * x.nbytes).from_address(x.ctypes.data), x.dtype).reshape(x.shape) * 2.0

    said = fault(define(by_address), (A,), "test_vmap")
    assert said.endswith("The loop gives the kernel views of the batch, whose strides it does not look at, see test_schema.")
    calls = itertools.count()
    report = opcheck(define(lambda x: x * next(calls)), (A,), test_utils="test_vmap", raise_exception=False)
    assert report["test_vmap"] == "SKIPPED: equal calls of the kernel differ, see test_schema"


def test_random_operators_are_held_to_shapes_and_dtypes_only():
    def kernel(x):
        return x * np.random.default_rng().uniform()

    def rule(info, in_dims, x):
        return np.moveaxis(x, in_dims[0], 0) * np.random.default_rng().uniform(size=(info.batch_size, 1)), 0

    right = with_vmap(rule, kernel, "(Tensor x) -> Tensor", tags=(Tag.random,))
    assert opcheck(right, (B,), test_utils="test_vmap")["test_vmap"] == "SUCCESS"
    wrong = with_vmap(
        lambda info, in_dims, x: (x.astype("f4"), in_dims[0]), kernel, "(Tensor x) -> Tensor", tags=(Tag.random,)
    )
    assert "the dtypes differ: float32, and expected is float64." in vmap_fault(wrong, (B,))


def test_the_batch_has_a_size_that_no_axis_has():
    case = bind(define(lambda x, y: x, "(Tensor x, Tensor y) -> Tensor"), (np.ones((3, 4)), np.ones(5)), {})
    assert {size for size, _ in batchings(case)} == {1, 6}
    assert all(len(in_dims) == 2 for _, in_dims in batchings(case))
    assert {(0, 0), (-1, -1), (1, 1), (0, None), (None, 0), (-1, 0)} <= {in_dims for _, in_dims in batchings(case)}


def test_outputs_whose_shape_depends_on_data_make_no_batch():
    op = define(lambda x: x[x > 1].copy())
    assert opcheck(op, (B,), test_utils="test_vmap")["test_vmap"] == "SUCCESS"
    calls = iter(range(10000))
    op = define(lambda x: np.zeros(next(calls)))
    assert opcheck(op, (B,), test_utils="test_vmap", raise_exception=False)["test_vmap"] == (
        "SKIPPED: the outputs of equal calls differ in shape, so they make no batch"
    )


@pytest.mark.parametrize(("rule", "right"), [(lambda axis, x: axis + 1, False), (lambda axis, x: axis % (x.ndim - 1) + 1, True)])
def test_a_rule_that_is_wrong_for_an_axis_from_the_end_alone_is_told(rule, right):
    def mapped(info, in_dims, x, axis):
        x = np.moveaxis(x, in_dims[0], 0)
        return np.cumsum(x, rule(axis, x)), 0

    op = with_vmap(mapped, lambda x, axis: np.cumsum(x, axis), "(Tensor x, int axis) -> Tensor")
    report = opcheck(op, (A, 1), test_utils="test_vmap", raise_exception=False)
    assert bool(report) == right
    if not right:
        said = str(report["test_vmap"])
        assert "on the sample with another value of 'axis'" in said
        assert said.splitlines()[0].endswith("Count axis from the front first, axis % (x.ndim - 1), where x is a batch.")


def test_a_rule_that_mixes_the_items_of_one_axis_under_an_option_is_told():
    def mapped(info, in_dims, x, centre):
        x = np.moveaxis(x, in_dims[0], 0)
        return np.cumsum(x - (np.mean(x) if centre else 0.0), 1), 0

    op = with_vmap(mapped, lambda x, centre: np.cumsum(x - (x.mean() if centre else 0.0)), "(Tensor x, bool centre) -> Tensor")
    assert "on the sample with the other value of" in str(fault(op, (A[0], False), "test_vmap"))


def test_a_rule_that_is_wrong_for_squares_alone_is_told():
    def mapped(info, in_dims, x):
        x = np.moveaxis(x, in_dims[0], 0)
        return np.sum(x, axis=2 if x.shape[1] == x.shape[2] else 1), 0

    op = with_vmap(mapped, lambda x: np.sum(x, axis=0), "(Tensor x) -> Tensor")
    assert "on the sample with length 2 for 3" in str(fault(op, (A,), "test_vmap"))
