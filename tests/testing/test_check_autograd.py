"""A gradient that is missing, lost or wrong is caught, and the derivative named."""

import ctypes
import re

import numpy as np
import pytest
from planted import A, define, fault, like, rule_of, tracked

from dispatch import DispatchKey, Tag, custom_op, ops, tensor
from dispatch.core.source import where
from dispatch.dispatcher.layer import layers
from dispatch.layers.autograd import CONSTANT
from dispatch.testing import opcheck

MISSING = "No gradient arrives: a backward returned None or zeros, or a value was detached on the way."


def with_gradient(backward, kernel=lambda x: x**2, schema="(Tensor x) -> Tensor"):
    op = define(kernel, schema)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*(x for x in inputs if hasattr(x, "dtype")))

    op.register_autograd(lambda ctx, *grads: backward(*grads, *ctx.saved_tensors), setup_context=setup_context)
    return op


def test_no_rule_is_named_with_what_to_add():
    op = define(lambda x, n: x * n, "(Tensor x, int n) -> Tensor")
    kernel = rule_of(op, DispatchKey.CPU)
    assert fault(op, (tracked(A), 2), "test_autograd_registration") == (
        f"{op.name}: 'x' came tracked, and no rule gives the gradient of the kernel {where(kernel)}. Add one: "
        f"{op.schema.name}.register_autograd(backward, setup_context=setup_context), where backward(ctx, *grads) "
        "returns a "
        "gradient for each of (x, n), None for what has none."
    )
    report = opcheck(op, (tracked(A), 2), test_utils="test_gradients")
    assert report["test_gradients"] == "SKIPPED: there is no gradient to check, see test_autograd_registration"


def test_an_output_that_comes_untracked_is_caught():
    op = define(lambda x: x * 2.0)

    def kernel(x):
        return rule_of(op, DispatchKey.CPU)(x.value)

    op.register_at(DispatchKey.AUTOGRAD, kernel)
    assert fault(op, (tracked(A),), "test_autograd_registration") == (
        f"{op.name}: output 0 comes untracked although 'x' came tracked, so that its gradient is lost in silence. "
        "Register the "
        f"gradient through {op.schema.name}.register_autograd ({where(kernel)} gives none here)."
    )


def test_outputs_marked_as_without_gradient_pass():
    op = define(lambda x: (x * 2.0, x * 0.0), "(Tensor x) -> (Tensor, Tensor)")
    op.register_autograd(
        lambda ctx, g, h: g * 2.0, setup_context=lambda ctx, inputs, output: ctx.mark_non_differentiable(output[1])
    )
    opcheck(op, (tracked(A),), test_utils=("test_autograd_registration", "test_gradients"))


def test_integer_outputs_need_no_gradient():
    op = define(lambda x: x.argsort(), "(Tensor x) -> Tensor")
    report = opcheck(
        op, (tracked(A),), test_utils=("test_autograd_registration", "test_gradients"), raise_exception=False
    )
    assert (
        report["test_autograd_registration"]
        == "SKIPPED: no output is a floating-point array, so none carries a gradient"
    )


def test_a_writing_operator_is_checked_as_its_functional_form():
    def add_(x, y):
        x += y * y
        return x

    op = define(add_, "(Tensor(a!) x, Tensor y) -> Tensor(a!)", mutates_args=("x",))
    said = fault(op, (tracked(A), tracked(A)), "test_autograd_registration")
    assert said.startswith(f"{op.name}: 'x' and 'y' came tracked, and no rule gives the gradient of the kernel")
    op.register_autograd(lambda ctx, g: (g, g), setup_context=lambda ctx, inputs, output: None)
    assert "d output 0[1, 2] / d y[1, 2]: got 1, numeric 13." in fault(op, (tracked(A), tracked(A + 1)), "test_gradients")
    op.register_autograd(
        lambda ctx, g: (g, 2 * g * ctx.saved_tensors[0]),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[1]),
    )
    for checked in (op, op.functional):
        report = opcheck(checked, (tracked(A), tracked(A)), test_utils=("test_autograd_registration", "test_gradients"))
        assert set(report.values()) == {"SUCCESS"}


@pytest.mark.parametrize(
    ("backward", "found"),
    [
        (lambda g, x: g * x, "got 5.5, numeric 11. All of these are 0.5 times what they should be."),
        (lambda g, x: -g * 2 * x, "got -11, numeric 11. All have the wrong sign."),
        (lambda g, x: (None,), f"got 0, numeric 11. {MISSING}"),
    ],
)
def test_a_wrong_gradient_is_caught(backward, found):
    op = with_gradient(backward)
    kernel = rule_of(op, DispatchKey.CPU)
    rule = rule_of(op, DispatchKey.AUTOGRAD).backward
    assert fault(op, (tracked(A),), "test_gradients") == (
        f"{op.name}: of the gradient by {where(rule)} of the kernel {where(kernel)} 6 of 36 derivatives differ from "
        "finite "
        f"differences. The worst:\nd output 0[1, 2] / d x[1, 2]: {found}"
    )


def test_a_factor_is_said_of_all_that_differ_or_of_none_and_rounding_only_where_nothing_changes():
    transposed = with_gradient(lambda g, x: np.cumsum(g), lambda x: np.cumsum(x))
    said = fault(transposed, (tracked(A[0]),), "test_gradients")
    assert "times what" not in said
    assert said.endswith("ask only that it is there: opcheck(..., gradients=\"exist\").")
    halved = with_gradient(lambda g, x: g, lambda x: x * 0.5)
    assert fault(halved, (tracked(A),), "test_gradients").endswith("got 1, numeric 0.5. All of these are 2 times what they should be.")


def test_a_derivative_of_another_form_is_named_by_where_its_function_is_written():
    def slope(x):
        return x

    op = define(lambda x: x**2, "(Tensor x) -> Tensor")
    op.register_autograd(elementwise=slope)
    assert f"of the gradient by {where(slope)} of the kernel" in fault(op, (tracked(A),), "test_gradients")


@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_single_precision_is_checked_with_its_own_tolerance(dtype):
    right = with_gradient(lambda g, x: g * np.conjugate(2 * x))
    wrong = with_gradient(lambda g, x: g * np.conjugate(2.5 * x))
    x = tracked(A.astype(dtype))
    opcheck(right, (x,), test_utils="test_gradients")
    assert "All of these are 1.25 times what they should be." in fault(wrong, (x,), "test_gradients")


def test_a_backward_that_raises_is_caught():
    op = with_gradient(lambda g, x: g.no_such_thing)
    rule = rule_of(op, DispatchKey.AUTOGRAD).backward
    assert fault(op, (tracked(A),), "test_gradients") == (
        f"{op.name}: the backward ({where(rule)}) raises AttributeError: 'numpy.ndarray' object has no attribute "
        "'no_such_thing'"
    )


def test_a_backward_that_writes_to_its_gradient_is_caught():
    def by_pointer(g, x):
        found = g * 2 * x
        ctypes.memset(g.ctypes.data, 0, g.itemsize)
        return found

    def in_place(g, x):
        g *= 2 * x
        return g

    op = with_gradient(by_pointer)
    assert fault(op, (tracked(A),), "test_gradients").startswith(
        f"{op.name}: the backward ({where(rule_of(op, DispatchKey.AUTOGRAD).backward)}) writes to the gradient of output 0 that it "
        "is given, which others hold too. Write to a copy, g.copy()."
    )
    op = with_gradient(in_place)
    assert fault(op, (tracked(A),), "test_gradients").endswith(
        "raises ValueError: output array is read-only\nWhat a backward is given, the gradient and ctx.saved_tensors, is read-only: "
        "others hold it too. Write to a copy."
    )


@pytest.mark.parametrize("scale", [2.0, 2.1])
def test_a_large_sample_is_checked_along_directions(scale):
    x = tracked(np.random.default_rng(0).uniform(1, 2, (40, 60)))
    op = with_gradient(lambda g, x: g * scale * x)
    if scale == 2.0:
        opcheck(op, (x,), test_utils="test_gradients")
    else:
        said = fault(op, (x,), "test_gradients")
        place = re.search(r"d output 0\[(\d+, \d+)\] / d x\[(\d+, \d+)\]: got ", said)
        assert place[1] == place[2]
        assert " derivatives tried differ from finite differences. The worst:\n" in said


def test_one_wrong_element_of_a_large_sample_is_seen_in_a_direction():
    def backward(g, x):
        grad = g * 2 * x
        grad[17, 23] = 0
        return grad

    x = tracked(np.random.default_rng(0).uniform(1, 2, (40, 60)))
    assert "d (a weighted sum of the outputs) / d x along a random direction: got " in fault(
        with_gradient(backward), (x,), "test_gradients"
    )


def test_a_random_operator_has_no_finite_differences():
    op = define(lambda x: x * np.random.default_rng().uniform(), tags=(Tag.random,))
    op.register_autograd(lambda ctx, g: g)
    report = opcheck(op, (tracked(A),), test_utils="test_gradients")
    assert report["test_gradients"] == "SKIPPED: the operator is random, so finite differences say nothing"


# --------------------------------------------------------------------------------------------------- second derivatives
def test_a_wrong_second_derivative_is_caught_where_the_first_is_right():
    constant = ops.np.detach
    op = with_gradient(lambda g, x: ops.np.multiply(g, constant(ops.np.multiply(2.0, x))))
    said = fault(op, (tracked(A),), "test_gradients")
    rule = rule_of(op, DispatchKey.AUTOGRAD).backward
    head = f"{op.name}: the second derivative by {where(rule)} is wrong where the first is right: "
    assert said.startswith(head + "6 of 72 derivatives differ from finite differences. The worst:\nd gradient of x[")
    assert said.endswith("Compute the backward from ctx.saved_tensors and the incoming gradients, with operators.")


def test_a_gradient_that_is_differentiable_once_is_advice():
    def backward(g, x):
        if not isinstance(g, np.ndarray):
            raise KeyError("arrays only")
        return g * 2 * x

    op = with_gradient(backward)
    report = opcheck(op, (tracked(A),), test_utils="test_gradients")
    assert report.advice == [
        f"{op.name} is differentiable once: its backward raises KeyError under create_graph=True. 'arrays only'"
    ]


def test_an_operator_that_is_declared_constant_and_is_not_is_caught():
    op = define(lambda x: x * 2.0)
    op.register(layers["autograd"], CONSTANT)
    kernel = rule_of(op, DispatchKey.CPU)
    assert fault(op, (tracked(A),), "test_gradients") == (
        f"{op.name}: the kernel {where(kernel)} is declared to have no derivative, and 6 of 36 derivatives differ "
        "from finite "
        "differences. The worst:\nd output 0[0, 0] / d x[0, 0]: got 0, numeric 2. output 0 is not tracked: something "
        "on the "
        "way took it off the tape."
    )
    report = opcheck(op, (tracked(A),), test_utils="test_autograd_registration")
    assert report["test_autograd_registration"] == "SKIPPED: the operator is declared to have no derivative"


# ----------------------------------------------------------------------------------------- where finite differences end
def pointwise(kernel, derivative):
    op = define(kernel)
    op.register_fake(like)
    op.register_autograd(
        lambda ctx, g: derivative(ctx.saved_tensors[0]) * g,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    return op


def in_single(x):
    return (x.astype("f4") ** 2).astype("f8")


SMOOTH_BUT = {  # kernel, derivative, sample: one step of one size contradicts what is right
    "tiny values": (np.log, lambda x: 1 / x, [1e-9, 3e-9]),
    "large values": (np.log, lambda x: 1 / x, [1e9, 3e9]),
    "values of all sizes": (np.sqrt, lambda x: 0.5 / np.sqrt(x), [1e-12, 1.0, 4e6]),
    "a fast function of large values": (np.sin, np.cos, [1e5, 1.0]),
    "small derivatives": (lambda x: x**2 * 1e-12, lambda x: 2e-12 * x, [1.3, 4.0]),
    "single precision inside": (in_single, lambda x: 2 * x, [1.3, 1.0, 4.0]),
}


@pytest.mark.parametrize(("kernel", "derivative", "x"), SMOOTH_BUT.values(), ids=SMOOTH_BUT)
@pytest.mark.parametrize("repeats", [1, 2000])
def test_a_right_gradient_passes_and_a_wrong_one_does_not_where_one_step_says_little(kernel, derivative, x, repeats):
    x = tracked(np.repeat(x, repeats))
    opcheck(pointwise(kernel, derivative), (x,), test_utils="test_gradients")
    said = fault(pointwise(kernel, lambda x: 1.1 * derivative(x)), (x,), "test_gradients")
    assert "finite differences. The worst:" in said


@pytest.mark.parametrize("at_zero", [-1.0, -0.5, 0.0, 1.0])
def test_at_a_kink_every_slope_between_the_two_sides_is_right(at_zero):
    op = pointwise(np.abs, lambda x: np.where(x == 0, at_zero, np.sign(x)))
    opcheck(op, (tracked([0.0, 1.0, -2.0]),), test_utils="test_gradients")


@pytest.mark.parametrize("at_zero", [-1.5, 2.0, np.nan])
def test_at_a_kink_what_is_no_slope_between_them_is_caught(at_zero):
    op = pointwise(np.abs, lambda x: np.where(x == 0, at_zero, np.sign(x)))
    assert "d output 0[0] / d x[0]" in fault(op, (tracked([0.0, 1.0, -2.0]),), "test_gradients")


def test_a_kernel_that_rounds_is_told_the_way_out():
    op = pointwise(lambda x: np.round(x, 1), np.ones_like)
    x = tracked([0.32, 1.11])
    assert fault(op, (x,), "test_gradients").endswith(
        "\nIf the kernel rounds, and the gradient is meant to be that of what it rounds, ask only that it is there: "
        'opcheck(..., gradients="exist").'
    )
    opcheck(op, (x,), test_utils="test_gradients", gradients="exist")


def test_the_step_can_be_chosen():
    op = pointwise(lambda x: np.round(x, 2), np.ones_like)
    opcheck(op, (tracked([0.325, 1.115]),), test_utils="test_gradients", eps=0.1, rtol=0.2, atol=0.0)


# --------------------------------------------------------------------------------------------------------- forward mode
def cube(slope):
    op = define(lambda x: x**3)
    op.register_fake(like)
    op.register_jvp(lambda tangents, output, x: slope * x * x * tangents[0])
    return op


def test_an_operator_with_a_jvp_rule_alone_has_a_gradient():
    x = (tracked(A),)
    assert set(opcheck(cube(3.0), x).values()) == {"SUCCESS"}
    report = opcheck(cube(2.0), x, raise_exception=False)
    assert set(report.failures) == {"test_gradients", "test_jvp"}


def test_a_jvp_rule_is_held_to_the_kernel():
    op = cube(2.0)
    op.register_autograd(
        lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    rule, kernel = where(op.table.source(DispatchKey.JVP).rule), where(rule_of(op, DispatchKey.CPU))
    assert fault(op, (tracked([1.0, 2.0]),), "test_jvp") == (
        f"{op.name}: by the jvp rule ({rule}) of the kernel {kernel} 6 of 6 tangents differ from finite differences. The first:\n"
        "d output 0[0] / d x[0]: got 2, numeric 3."
    )


def test_a_jvp_rule_that_raises_is_caught():
    op = define(lambda x: x**3)
    op.register_jvp(lambda tangents, output, x: tangents[1])
    assert "raises IndexError: " in fault(op, (tracked(A),), "test_jvp")


@pytest.mark.parametrize("gradients", ["compare", "exist"])
def test_forward_mode_is_only_asked_to_exist_where_that_is_said(gradients):
    report = opcheck(cube(2.0), (tracked(A),), test_utils="test_jvp", gradients=gradients, raise_exception=False)
    assert bool(report.failures) == (gradients == "compare")


def test_without_a_jvp_rule_forward_mode_is_of_the_backward_and_nothing_is_run():
    report = opcheck(pointwise(np.sin, np.cos), (tracked(A),))
    assert report["test_jvp"] == "SUCCESS"
    assert report.rows[-1] == ("test_jvp", "SUCCESS", "0 calls")


def test_an_option_that_is_kept_for_the_next_backward_is_told():
    kept = {}

    def power(x: np.ndarray, p: int = 2) -> np.ndarray:
        return x ** float(p)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        kept["p"] = inputs[1]

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * kept["p"] * x ** float(kept["p"] - 1), None

    op = custom_op("checkautograd::power", power, mutates_args=())
    op.register_autograd(backward, setup_context=setup_context)
    x = tensor(np.array([[0.5, 1.5, 2.0]]), requires_grad=True)
    report = opcheck(op, (x, 3), raise_exception=False)
    assert "gives another gradient of x after a call with other options has been recorded." in str(report["test_gradients"])
