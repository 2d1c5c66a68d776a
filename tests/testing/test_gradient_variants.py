"""A derivative is compared where the sample does not look: other values, sizes, strides, recordings, and all tangents at once."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest
from faulty_operators import TABLE, V, W, X, define, t

from dispatch import DispatchKey, custom_op
from dispatch.core.source import where
from dispatch.testing import opcheck
from dispatch.testing.cases import Options, bind
from dispatch.testing.gradient_variants import other_samples

FAULTS = {faulty.name: faulty for faulty in TABLE}
SAID = {
    "holds_for_positive_values": "BACKWARD of KERNEL is wrong on the sample negated (x: float64[3, 4]): d (a weighted sum of the outputs) / d x",
    "divides_by_the_length_of_the_sample": "BACKWARD of KERNEL is wrong on the sample with every length one more (x: float64[6]): d (a weighted",
    "keeps_its_argument_outside_the_context": "BACKWARD gives another gradient of x after a call with other values has been recorded. It keeps "
    "something outside its ctx, which the next call replaces: save it with ctx.save_for_backward(...).",
    "asks_whether_the_wrong_argument_needs_a_gradient": "BACKWARD gives another gradient of x where x alone is tracked. It looks at "
    "ctx.needs_input_grad, whose places are those of the arguments, or counts on what others saved.",
    "reads_what_it_saved_without_its_strides": "BACKWARD gives another gradient of x for the same arguments in Fortran order. It reads memory "
    "without looking at strides: np.ascontiguousarray(x) first.",
    "reads_the_gradient_without_its_strides": "BACKWARD gives another gradient of x where the same gradient comes in in Fortran order. It reads "
    "memory without looking at strides: np.ascontiguousarray(g) first.",
    "computes_the_gradient_in_single_precision": "BACKWARD gives derivatives by x that have gone through single precision, where the kernel "
    "computes in double. Look at the dtype of what it makes and of what it saved.",
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_of_a_derivative_that_is_wrong_elsewhere(name):
    op, args = FAULTS[name].make(True)
    report = opcheck(op, args, test_utils="test_gradients", raise_exception=False, isolate=False)
    rule, kernel = (op.table.source(key).rule for key in (DispatchKey.AUTOGRAD, DispatchKey.CPU))
    said = str(report["test_gradients"]).removeprefix(f"{op.name}: ").replace(f"the kernel {where(kernel)}", "KERNEL")
    assert said.replace(f"the backward ({where(rule.backward)})", "BACKWARD").startswith(SAID[name])


def test_all_tangents_at_once_are_what_each_gives():
    op, args = FAULTS["takes_one_tangent_or_the_other"].make(True)
    said = str(opcheck(op, args, test_utils="test_jvp", raise_exception=False, isolate=False)["test_jvp"])
    assert "is wrong (x: float64[3, 4], y: float64[3, 4]): d (a weighted sum of the outputs) / d x and y along a random" in said


def test_a_backward_that_raises_for_another_size_is_a_fault_and_one_that_a_kernel_refuses_is_none():
    def backward(g, x):
        return g * np.array([1.0, 2.0, 3.0, 4.0, 5.0])

    def wide(x):
        return x * np.arange(1.0, len(x) + 1)

    def narrow(x):
        if len(x) != 5:
            raise ValueError("five")
        return wide(x)

    said = str(opcheck(define(wide, backward=backward), (t(V),), raise_exception=False, isolate=False)["test_gradients"])
    assert "raises ValueError on the sample with every length one more (x: float64[6]), where the kernel" in said
    opcheck(define(narrow, backward=backward), (t(V),), isolate=False)


RIGHT = {
    "a root, of positive values alone": (np.sqrt, lambda g, x: g / (2.0 * np.sqrt(x)), V),
    "a kink at 0": (lambda x: np.maximum(x, 0.0), lambda g, x: g * (x > 0), X),
    "a step": (lambda x: np.floor(x) + x, lambda g, x: g * 1.0, X),
    "a gradient of ones": (lambda x: x + 1.0, lambda g, x: g * 1.0, np.ones(4)),
    "ties": (lambda x: np.sort(x), lambda g, x: g[np.argsort(np.argsort(x, kind="stable"))], V),
    "single precision": (lambda x: x * x, lambda g, x: 2.0 * x * g, V.astype(np.float32)),
    "a jump where it is negated": (lambda x: np.where(x > 0, x, x + 1.0), lambda g, x: g * 1.0, V),
    "of large values": (lambda x: x * x, lambda g, x: 2.0 * x * g, V * 1e8),
    "of tiny values": (lambda x: x * x, lambda g, x: 2.0 * x * g, V * 1e-8),
    "nan at the sample": (np.log, lambda g, x: g / x, X),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_derivative_passes(name):
    kernel, backward, x = RIGHT[name]
    opcheck(define(lambda x: kernel(x), backward=backward), (t(x),), test_utils=["test_gradients"], isolate=False)


def test_integers_that_say_where_keep_the_sizes_of_the_sample():
    """A permutation and its inverse: any other pair is no sample of this operator."""
    places = np.array([2, 0, 1, 4, 3])
    inverse = np.argsort(places)

    def setup(ctx, inputs, output):
        ctx.inverse = inputs[2]

    op = define(
        lambda x, p, q: x[p], "(Tensor x, Tensor p, Tensor q) -> Tensor",
        fake=lambda x, p, q: np.empty_like(x), backward=lambda ctx, g: (g[ctx.inverse], None, None), setup=setup,
    )  # fmt: skip
    opcheck(op, (t(W), places, inverse), isolate=False)


def test_a_kernel_that_approximates_near_the_sample_is_not_judged_far_from_it():
    op = define(lambda x: x - x**3 / 6, backward=lambda g, x: g * np.cos(x))
    report = opcheck(op, (t(np.linspace(-0.1, 0.1, 5)),), test_utils="test_gradients", isolate=False, raise_exception=False)
    assert not report.failures, report


@pytest.mark.parametrize("sign", [1, -1])
def test_a_gradient_that_overflows_where_the_value_does_not_is_told_for_either_sign(sign):
    def backward(g, x):
        return g * sign * np.exp(sign * x) / (1 + np.exp(sign * x))

    op = define(lambda x: np.logaddexp(0, sign * x), backward=backward)
    said = str(opcheck(op, (t(np.array([0.3, 0.7])),), test_utils="test_gradients", raise_exception=False).failures["test_gradients"])
    assert "gives nan for derivatives by x for values up to 1000, where the kernel" in said
    assert said.endswith("write it of what is not positive, np.exp(-np.abs(x)).")


def averaged(g, shape):
    """The mean over what is repeated, in place of the sum."""
    return g.mean(axis=tuple(i for i, n in enumerate(shape) if n == 1 < g.shape[i]), keepdims=True)


def first_row(g, shape):
    return g[: shape[0]]


def summed(g, shape):
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1 < g.shape[i]), keepdims=True)


@pytest.mark.parametrize(("reduce", "right"), [(averaged, False), (first_row, False), (summed, True), (lambda g, shape: g, True)])
@pytest.mark.parametrize("shape", [(3, 4), (3, 1)])
def test_a_gradient_that_is_wrong_where_the_kernel_repeats_an_array_is_told(reduce, right, shape):
    op = define(lambda x, y: x * y, schema="(Tensor x, Tensor y) -> Tensor", backward=lambda g, x, y: (g * y, reduce(g * x, y.shape)))
    x, y = t(np.arange(1.0, 13.0).reshape(3, 4)), t(np.linspace(0.5, 2.0, 12).reshape(3, 4)[:, : shape[1]])
    report = opcheck(op, (x, y), test_utils="test_gradients", raise_exception=False)
    assert bool(report) == right
    if shape == (3, 4) and not right:
        said = str(report["test_gradients"])
        assert " on the sample with length 1 for axis 0 of array 1 alone (" in said
        assert said.endswith(" Where arrays broadcast, the gradient is the sum over what is repeated.")


def test_a_gradient_of_what_reduces_gets_advice_where_an_array_is_repeated():
    def backward(g, x, y):
        slope = 2 * g * (x - y) / x.size
        return slope, -slope

    op = define(lambda x, y: np.mean((x - y) ** 2), schema="(Tensor x, Tensor y) -> Tensor", backward=backward)
    report = opcheck(op, (t(np.arange(3.0)), t(np.ones(3))), test_utils="test_gradients")
    (advice,) = report.advice
    assert "with length 1 for axis 0 of array 0 alone" in advice
    assert advice.endswith(" Where arrays broadcast, the gradient is the sum over what is repeated.")


def test_a_rule_that_refuses_what_the_kernel_repeats_is_not_at_fault():
    def backward(g, x, y):
        gy = np.zeros_like(y)
        gy += g * x  # where y is shorter than x, NumPy refuses
        return g * y, gy

    op = define(lambda x, y: x * y, schema="(Tensor x, Tensor y) -> Tensor", backward=backward)
    assert opcheck(op, (t(np.arange(1.0, 4.0)), t(np.ones(3))), test_utils="test_gradients")


def test_a_gradient_that_takes_the_axis_of_the_sample_for_the_one_that_is_repeated_is_told():
    def backward(g, x, y):
        return g * y, (g * x).reshape(-1, y.size).sum(0).reshape(y.shape)

    op = define(lambda x, y: x * y, schema="(Tensor x, Tensor y) -> Tensor", backward=backward)
    report = opcheck(op, (t(np.arange(12.0).reshape(4, 3)), t(np.ones((1, 3)))), test_utils="test_gradients", raise_exception=False)
    assert " on the sample with length 4 for axis 0 and 1 for axis 1 of array 1 (" in str(report["test_gradients"])


def test_a_mask_that_is_kept_outside_the_context_is_told():
    last = {}

    def kernel(x):
        last["mask"] = x > 0
        return np.where(last["mask"], x, 0.1 * x)

    op = define(kernel, backward=lambda g, x: np.where(last["mask"], g, 0.1 * g))
    report = opcheck(op, (t(np.array([1.0, -2.0, 3.0])),), test_utils="test_gradients", raise_exception=False)
    assert str(report["test_gradients"]).endswith(
        "gives another gradient of x after a call with other values has been recorded. It keeps something outside its ctx, which the "
        "next call replaces: save it with ctx.save_for_backward(...)."
    )


def test_a_place_in_a_list_that_is_a_multiple_of_the_first_length_is_told():
    def backward(ctx, g):
        return [g[i * ctx.lengths[0] : i * ctx.lengths[0] + n] for i, n in enumerate(ctx.lengths)]

    op = define(
        np.concatenate, schema="(Tensor[] arrays) -> Tensor", fake=lambda arrays: np.concatenate(arrays), backward=backward,
        setup=lambda ctx, inputs, output: setattr(ctx, "lengths", [len(x) for x in inputs[0]]),
    )  # fmt: skip
    report = opcheck(op, ([t(np.ones(4)), t(np.ones(4))],), test_utils="test_gradients", raise_exception=False)
    assert "with one array more in 'arrays' and with a longer axis 0 of the middle array in 'arrays' (" in str(report["test_gradients"])


def at_zero(kernel, backward):
    op = define(kernel, backward=backward)
    return str(opcheck(op, (t(np.array([0.3, 0.7, 2.0])),), test_utils="test_gradients", raise_exception=False)["test_gradients"])


def test_a_gradient_that_is_no_number_at_zero_is_told_where_the_kernel_is_smooth():
    def sinc(g, x):
        with np.errstate(all="ignore"):
            return g * (np.cos(x) / x - np.sin(x) / x**2)

    said = at_zero(lambda x: np.sinc(x / np.pi), sinc)
    assert "gives nan for derivatives by x where one element of it is 0, and the kernel" in said
    assert said.endswith("is smooth there. It divides by what may be 0, as out / x in a product.")


@pytest.mark.parametrize("name", ["a kink", "an end", "no number", "a vertical tangent"])
def test_a_gradient_at_zero_may_be_no_number_where_there_is_none(name):
    def divided(derivative):
        def backward(g, x):
            with np.errstate(all="ignore"):
                return g * derivative(x)

        return backward

    kernel, derivative = {
        "a kink": (np.abs, lambda x: x / np.abs(x)),
        "an end": (lambda x: x * np.sqrt(x), lambda x: 1.5 * x / np.sqrt(x)),
        "no number": (np.log, lambda x: 1 / x),
        "a vertical tangent": (np.cbrt, lambda x: 1 / (3 * np.cbrt(x) ** 2)),
    }[name]
    assert at_zero(lambda x: kernel(x), divided(derivative)) == "SUCCESS"


def test_a_kernel_that_divides_by_it_too_is_not_asked_at_zero():
    assert at_zero(lambda x: 1 / (1 + 2 / x), lambda g, x: g * 2 / (x + 2) ** 2 * (x / x)) == "SUCCESS"


class Interval(NamedTuple):
    """As annotated-types has it."""

    gt: float


@pytest.mark.parametrize("bound", [None, Interval(0.0)])
def test_a_range_that_a_hint_names_is_kept_to(bound):
    @custom_op("variants::root_of_square", mutates_args=())
    def kernel(x: Annotated[np.ndarray, bound] if bound else np.ndarray) -> np.ndarray:
        return x**2 * 0.5

    kernel.register_fake(lambda x: np.empty_like(x))
    kernel.register_autograd(lambda ctx, g: g * np.exp(np.log(ctx.saved_tensors[0])), setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    said = opcheck(kernel, (t(np.array([0.3, 0.7, 2.0])),), test_utils="test_gradients", raise_exception=False)["test_gradients"]
    assert (said == "SUCCESS") is (bound is not None)


def test_a_gradient_that_counts_on_so_many_numbers_in_a_list_is_told():
    def poly(x, c):
        return sum(a * x for a in c)

    op = define(poly, "(Tensor x, float[] c) -> Tensor")
    op.register_autograd(lambda ctx, g: (g * (ctx.c[0] + ctx.c[1]), None), setup_context=lambda ctx, inputs, output: setattr(ctx, "c", inputs[1]))
    said = str(opcheck(op, (t(np.ones(5)), [0.5, 2.0]), raise_exception=False)["test_gradients"])
    assert "raises IndexError on the sample with one number less in 'c' (x: float64[5], c: list[float])" in said


@pytest.mark.parametrize("x", [[1e8, 1e-3, 2.0], [10**8.5, 1e-3, 2.0], [10**9.25, 1e-2, 3.0], [1e6, 1.0, 2.0]], ids=str)
def test_elements_of_very_different_sizes_are_judged_by_what_each_moves(x):
    for factor in (1, 1.001):
        op = define(lambda x: np.sqrt(x), backward=lambda g, x, factor=factor: factor * g / (2 * np.sqrt(x)))
        report = opcheck(op, (t(np.array(x)),), test_utils="test_gradients", raise_exception=False)
        assert (str(report["test_gradients"]) == "SUCCESS") == (factor == 1), (x, report)


def test_each_of_several_arrays_is_made_larger_alone():
    op = define(lambda x, y: np.minimum(x, y), "(Tensor x, Tensor y) -> Tensor", fake=None)
    case = bind(op, (np.array([1.0, 2.0]), np.array([3.0, 4.0])), {})
    alone = {x.what: x.arrays for x in other_samples(case, Options()) if "alone" in x.what}
    assert list(alone) == [f" on the sample with '{name}' alone eight times as large" for name in "xy"]
    for k, (x, y) in enumerate(alone.values()):
        assert [(a == b).all() for a, b in zip((x, y), case.arrays, strict=True)] == [k == 1, k == 0]
    assert not any("alone" in x.what for x in other_samples(case, Options(fixed=frozenset("x"))))
