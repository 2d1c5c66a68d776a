"""How operators and values read when they are printed."""

import numpy as np
import pytest

import dispatch
from dispatch import DispatchKey, custom_op, ops
from dispatch.core.source import where
from dispatch.dispatcher.printing import brief, describe, describe_value, kernels

A = np.ones((2, 3))


@pytest.mark.parametrize(
    ("value", "words", "short"),
    [
        (A, "an ndarray of shape (2, 3) and dtype float64", "float64[2, 3]"),
        (np.float32(1), "a NumPy scalar of dtype float32", "float32[]"),
        (np.zeros((), ">i4"), "an ndarray of shape () and dtype >i4", ">i4[]"),
        (np.ma.MaskedArray(A), "a MaskedArray of shape (2, 3) and dtype float64", "float64[2, 3]"),
        ([A, 1.0], "a list of length 2", "list[float64[2, 3], float]"),
        ((1,) * 6, "a tuple of length 6", "tuple[int, int, int, int, ...]"),
        ({}, "a dict of length 0", "dict"),
        (None, "None", "None"),
        (..., "an Ellipsis", "ellipsis"),
        (3, "an int", "int"),
        ("text", "a str", "str"),
        (dispatch.tensor(A, requires_grad=True), "a TrackedTensor of shape (2, 3) and dtype float64", "float64[2, 3]"),
        (dispatch.FakeTensorMode().from_array(A), "a FakeTensor of shape (2, 3) and dtype float64", "float64[2, 3]"),
    ],
)
def test_a_value_in_words_is_its_type_shape_and_dtype_and_never_what_is_in_it(value, words, short):
    assert describe_value(value) == words
    assert brief(value) == short


@custom_op("listingtests::scale", mutates_args=())
def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    return x * factor


def fake(x, factor):
    return np.empty_like(x)


def backward(ctx, g):
    return g, None


def test_an_operator_reads_as_its_schema_its_devices_and_its_rules():
    schema = "listingtests::scale(Tensor x, float factor=2.0) -> Tensor"
    assert describe(scale) == repr(scale) == f"{schema}  [every device | no rules]"
    registrations = [scale.register_at(DispatchKey.CPU, lambda x, factor: x)]
    scale.register_fake(fake)
    scale.register_autograd(backward)
    assert repr(scale) == f"{schema}  [cpu | autograd fake]"
    for registration in [*registrations, *filter(lambda r: r.layer, scale.table.all())]:
        scale.unregister(registration)
    assert repr(scale) == f"{schema}  [every device | no rules]"
    assert repr(ops.np.sin) == "np::sin(Tensor x) -> Tensor  [cpu | autograd fake jvp vmap]"


def test_an_operator_without_a_kernel_says_so():
    @custom_op("listingtests::bare", mutates_args=())
    def bare(x: np.ndarray) -> np.ndarray:
        return x

    for registration in bare.table.all():
        bare.unregister(registration)
    assert repr(bare) == "listingtests::bare(Tensor x) -> Tensor  [no kernel | no rules]"


def test_the_listing_of_kernels_shows_what_runs_on_each_floor():
    @custom_op("listingtests::listed", mutates_args=(), device_types="cpu")
    def listed(x: np.ndarray) -> np.ndarray:
        return x + 1

    def rule(x):
        return np.empty_like(x)

    listed.register_fake(rule)
    rows = kernels(listed).rows
    assert ("CPU", "kernel", where(listed.__wrapped__)) in rows
    assert ("FAKE", "fake rule", where(rule)) in rows
    assert ("VMAP", "the layer's default", "") in rows
    keys = [DispatchKey[key] for key, _, _ in rows]
    assert keys == sorted(keys, reverse=True)
    assert not any(key.is_alias for key in keys)
    lines = repr(listed.kernels).splitlines()
    assert lines[0] == "listingtests::listed"
    assert len(lines) == 1 + len(rows)
    assert lines[-1].split() == ["CPU", "kernel", where(listed.__wrapped__)]
    assert "<td>fake rule</td>" in listed.kernels._repr_html_()


def test_a_kernel_for_every_device_is_one_line():
    @custom_op("listingtests::anywhere", mutates_args=())
    def anywhere(x: np.ndarray) -> np.ndarray:
        return x + 1

    assert anywhere.kernels.rows[-1] == ("every device", "kernel (CompositeExplicit)", where(anywhere.__wrapped__))
    kernel = anywhere.register_kernel("cuda", lambda x: x)
    assert anywhere.kernels.rows[-2:] == [
        ("CUDA", "kernel", where(kernel)),
        ("other devices", "kernel (CompositeExplicit)", where(anywhere.__wrapped__)),
    ]


def test_a_gradient_stands_where_its_backward_is_written():
    @custom_op("listingtests::graded", mutates_args=())
    def graded(x: np.ndarray) -> np.ndarray:
        return x + 1

    graded.register_autograd(backward, setup_context=lambda ctx, inputs, output: None)
    assert ("AUTOGRAD", "autograd rule", where(backward)) in graded.kernels.rows


def test_a_listing_in_html_shows_what_stands_in_angle_brackets():
    assert "<td>&lt;ufunc sin&gt;</td>" in dispatch.ops.np.sin.kernels._repr_html_()


def test_an_operator_that_has_a_composite_kernel_alone_says_so():
    @custom_op("listingtests::parts", mutates_args=())
    def parts(x: np.ndarray) -> np.ndarray:
        return x

    for registration in parts.table.all():
        parts.unregister(registration)
    parts.register_at(DispatchKey.CompositeImplicit, lambda x: np.sin(x))
    assert repr(parts) == "listingtests::parts(Tensor x) -> Tensor  [made of other operators | no rules]"
