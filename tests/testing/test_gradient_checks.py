"""gradcheck finds every wrong derivative, and names the worst."""

import re

import numpy as np
import pytest

import dispatch
from dispatch import custom_op
from dispatch.errors import ArgumentError, GradcheckError, GradientError
from dispatch.testing import gradcheck, gradgradcheck

numbers = iter(range(1000))


def operator(kernel, backward, *, schema="(Tensor x) -> Tensor", keep=lambda x: x):
    """A new operator with a gradient, from lambdas."""
    op = custom_op(f"gradchecked::op{next(numbers)}", kernel, mutates_args=(), schema=schema)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*(x for x in inputs if hasattr(x, "dtype")))

    op.register_autograd(lambda ctx, *grads: backward(*grads, *ctx.saved_tensors), setup_context=setup_context)
    return op


cube = operator(lambda x: x**3, lambda g, x: g * 3 * x**2)
X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, 1.5]])


def message_of(f, inputs, **options):
    assert gradcheck(f, inputs, raise_exception=False, **options) is False
    with pytest.raises(GradcheckError) as caught:
        gradcheck(f, inputs, **options)
    return str(caught.value)


def test_a_right_gradient_passes_for_tracked_and_for_plain_inputs():
    assert gradcheck(cube, (X,)) is True
    assert gradcheck(cube, (dispatch.tensor(X, requires_grad=True),))
    assert gradcheck(cube, X)
    assert gradcheck(cube, [X.T[::-1]])


def test_sizes_zero_one_and_none_pass():
    assert gradcheck(cube, (np.array(2.0),))
    assert gradcheck(cube, (np.zeros((0, 3)),))


def test_the_callers_arrays_are_left_alone():
    x = X.copy()
    gradcheck(cube, (x,))
    assert x.tobytes() == X.tobytes()
    assert x.flags.writeable


def test_a_factor_is_named():
    twice = operator(lambda x: x**3, lambda g, x: g * 6 * x**2)
    assert message_of(twice, (X,)) == (
        "gradcheck: 6 of 36 derivatives differ from finite differences. The worst:\n"
        "d out[1, 0] / d x[1, 0]: got 54, numeric 27. All of these are 2 times what they should be."
    )


def test_a_wrong_sign_is_named():
    minus = operator(lambda x: x**3, lambda g, x: -g * 3 * x**2)
    assert message_of(minus, (X,)).endswith("got -27, numeric 27. All have the wrong sign.")


def test_a_missing_gradient_is_named():
    missing = operator(lambda x: x**3, lambda g, x: (None,))
    assert message_of(missing, (X,)).endswith(
        "got 0, numeric 27. No gradient arrives: a backward returned None or zeros, or a value was detached on the way."
    )


def test_an_output_off_the_tape_is_named():
    said = message_of(lambda x: dispatch.tensor(x.value if hasattr(x, "value") else x) * 2, (X[0, :2],))
    assert said.endswith(
        "d out[0] / d x[0]: got 0, numeric 2. out is not tracked: something on the way took it off the tape."
    )


def test_one_wrong_entry_of_several_outputs_is_found():
    def backward(g, h, x):
        grad = g * 2 + h * 3
        grad[1, 2] += h[1, 0]
        return grad

    both = operator(lambda x: (x * 2, x * 3), backward, schema="(Tensor x) -> (Tensor, Tensor)")
    assert message_of(both, (X,)) == (
        "gradcheck: 1 of 72 derivatives differ from finite differences. The worst:\n"
        "d out[1][1, 0] / d x[1, 2]: got 1, numeric 0."
    )


def test_a_backward_that_forgets_what_comes_in_is_found():
    forgets = operator(lambda x: np.asarray((x**2).sum()), lambda g, x: 2 * x)
    assert "All of these are 0.5 times what they should be." in message_of(forgets, (X,))


def test_a_backward_that_changes_from_run_to_run_is_found():
    calls = iter(range(1000))
    drifts = operator(lambda x: x * 1.0, lambda g, x: g * (1 + 1e-9 * next(calls)))
    assert message_of(drifts, (X,)) == "gradcheck: two backwards over one recording gave different gradients of out."


def test_lists_dicts_and_plain_values_are_passed_on():
    add = operator(
        lambda xs, scale: (xs[0] + xs[1]) * scale,
        lambda g, xs: ([g * 3.0, g * 3.0], None),
        schema="(Tensor[] xs, float scale) -> Tensor",
    )

    def backward(ctx, g):
        return [g * 3.0, g * 2.0], None

    assert gradcheck(lambda xs, n: {"a": cube(xs[0]), "b": [cube(xs[1]), n]}, ([X, X[0]], 3))
    add.register_autograd(backward)
    assert message_of(add, ([X, np.full((2, 3), 2.0)], 3.0)) == (
        "gradcheck: 6 of 72 derivatives differ from finite differences. The worst:\n"
        "d out[0, 0] / d xs[1][0, 0]: got 2, numeric 3. All of these are 0.6667 times what they should be."
    )


def test_only_tracked_inputs_are_differentiated_by():
    product = operator(lambda x, y: x * y, lambda g, x, y: (g * y, None), schema="(Tensor x, Tensor y) -> Tensor")
    x, y = X, X + 1
    assert gradcheck(product, (dispatch.tensor(x, requires_grad=True), y))
    assert "/ d y[" in message_of(product, (x, y))


def test_outputs_that_are_not_floats_are_passed_over():
    both = operator(
        lambda x: (x * 2, x.argsort(), int(x.size)),
        lambda g, h, k, x: g * 2,
        schema="(Tensor x) -> (Tensor, Tensor, int)",
    )
    assert gradcheck(both, (X,))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_complex_gradients_follow_torch(dtype):
    square = operator(lambda z: z * z, lambda g, z: g * np.conjugate(2 * z), schema="(Tensor z) -> Tensor")
    assert gradcheck(square, (X.astype(dtype) + dtype(0.5),))


def test_a_missing_conjugate_is_found_and_the_part_named():
    square = operator(lambda z: z * z, lambda g, z: g * 2 * z, schema="(Tensor z) -> Tensor")
    said = message_of(square, (np.array([1 + 2j]),))
    assert said.endswith("d Re out[0] / d Im z[0]: got 4, numeric -4. All have the wrong sign.")


def test_a_real_function_of_a_complex_input():
    power = operator(lambda z: (z * np.conjugate(z)).real.copy(), lambda g, z: g * 2 * z, schema="(Tensor z) -> Tensor")
    assert gradcheck(power, (np.array([1 + 2j, 0.5j]),))


@pytest.mark.torch
def test_the_jacobian_of_a_complex_function_is_torch_s():
    import torch

    z = np.array([0.5 + 1j, -1 + 0.25j])
    op = operator(np.exp, lambda g, z: g * np.conjugate(np.exp(z)), schema="(Tensor z) -> Tensor")
    t = torch.tensor(z, requires_grad=True)
    seed = np.array([1 - 2j, 3 + 0.5j])
    torch.exp(t).backward(torch.tensor(seed))
    x = dispatch.tensor(z, requires_grad=True)
    op(x).backward(seed)
    np.testing.assert_allclose(x.grad, t.grad.numpy())
    assert gradcheck(op, (z,))


@pytest.mark.parametrize("dtype", ["f4", "f2", "c8"])
def test_single_precision_is_refused(dtype):
    x = dispatch.tensor(X.astype(dtype), requires_grad=True)
    said = (
        f"gradcheck: input x has dtype {np.dtype(dtype)}, in which finite differences are mostly rounding. "
        "Make it double: x.astype(np.float64)."
    )
    with pytest.raises(ArgumentError, match=re.escape(said)):
        gradcheck(cube, (x,), raise_exception=False)


def test_nothing_to_differentiate_by_is_refused():
    said = (
        "gradcheck: there is nothing to differentiate by among the inputs: an ndarray of shape (3,) and dtype int64, a float. Give it "
        "arrays of float64 or complex128, or tracked ones: dispatch.tensor(a, requires_grad=True)."
    )
    with pytest.raises(ArgumentError, match=re.escape(said)):
        gradcheck(cube, (np.arange(3), 1.0))


def test_a_value_of_a_transform_is_refused():
    with dispatch.FakeTensorMode() as mode:
        x = mode.from_array(X)
    said = (
        "gradcheck was given a FakeTensor of shape (2, 3) and dtype float64. Give it plain arrays and tracked ones, "
        "outside every transform."
    )
    with pytest.raises(ArgumentError, match=re.escape(said)):
        gradcheck(cube, (x,))


def test_outputs_that_change_their_size_are_refused():
    odd = operator(lambda x: x[x > 1].copy(), lambda g, x: g)
    said = "the shape of the outputs changes when x is moved by 1e-06."
    with pytest.raises(GradcheckError, match=re.escape(said)):
        gradcheck(odd, (np.array([1.0]),))


def test_other_exceptions_are_not_swallowed():
    broken = operator(lambda x: x * 1, lambda g, x: g.no_such_thing)
    with pytest.raises(AttributeError, match="no_such_thing"):
        gradcheck(broken, (X,), raise_exception=False)
    with pytest.raises(GradientError, match="a gradient of shape"):
        gradcheck(operator(lambda x: x * 1, lambda g, x: np.ones((7, 7))), (X,), raise_exception=False)


# --------------------------------------------------------------------------------------------------- second derivatives
def test_a_right_second_derivative_passes():
    assert gradgradcheck(lambda x: dispatch.ops.np.multiply(x, dispatch.ops.np.sin(x)), (X,))


def test_a_wrong_second_derivative_is_found_where_the_first_is_right():
    from dispatch import detach

    np_ops = dispatch.ops.np
    op = operator(lambda x: x**3, lambda g, x: np_ops.multiply(g, detach(np_ops.multiply(3.0, np_ops.multiply(x, x)))))
    assert gradcheck(op, (X,))
    with pytest.raises(GradcheckError) as caught:
        gradgradcheck(op, (X,))
    assert str(caught.value).startswith(
        "gradgradcheck: 6 of 72 derivatives differ from finite differences. The worst:\n"
    )
    assert "d gradient of x[1, 2] / d x[1, 2]: got 0, numeric " in str(caught.value)
    assert gradgradcheck(op, (X,), raise_exception=False) is False
