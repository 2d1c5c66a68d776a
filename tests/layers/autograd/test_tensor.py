"""TrackedTensor, tensor and backward."""

import copy
import pickle

import numpy as np
import pytest

import dispatch
from dispatch import grad, vmap
from dispatch.core import Tensor
from dispatch.errors import ConversionError, EscapedValueError, GradientError
from dispatch.layers.autograd import TrackedTensor

A = np.array([0.5, 1.0, 2.0])


def leaf(x=A):
    return dispatch.tensor(x, requires_grad=True)


def said(call, error=GradientError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


# -- making them -----------------------------------------------------------------------------------------------------------


def test_tensor_copies_data_into_an_array_or_a_leaf():
    for data in (A, [0.5, 1.0, 2.0], (0.5, 1, 2)):
        made = dispatch.tensor(data)
        assert type(made) is np.ndarray
        assert np.array_equal(made, A)
        assert not np.shares_memory(made, A)
        x = leaf(data)
        assert (type(x), x.shape, x.dtype, x.ndim, x.size) == (TrackedTensor, (3,), A.dtype, 1, 3)
    assert dispatch.tensor([1, 2], dtype="f4").dtype == "f4"
    assert dispatch.tensor([1, 2], dtype=float, requires_grad=True).dtype == "f8"
    assert leaf(2.5).shape == ()
    assert leaf(A + 1j).dtype == "c16"


def test_what_a_leaf_is_and_what_a_result_is():
    x = leaf()
    y = np.sin(x)
    assert (x.is_leaf, x.requires_grad, x.grad_fn, x.grad) == (True, True, None, None)
    assert (y.is_leaf, y.requires_grad) == (False, True)
    with pytest.warns(RuntimeWarning, match=r"result of an operator, which keeps none.* Write x\.retain_grad\(\) before the backward; of a parameter that is"):
        assert y.grad is None
    assert (y.grad_fn.name(), repr(y.grad_fn)) == ("sinBackward", "<sinBackward>")
    assert repr(x) == "tensor(array([0.5, 1. , 2. ]), requires_grad=True)"
    assert repr(dispatch.tensor(1.5, requires_grad=True) * 2) == "tensor(np.float64(3.0), grad_fn=<multiplyBackward>)"


@pytest.mark.parametrize("data", [[1, 2], [True], 3, np.arange(3)])
def test_a_dtype_that_has_no_gradient(data):
    dtype = np.asarray(data).dtype
    assert said(lambda: leaf(data)) == (
        f"a gradient was asked of an array of dtype {dtype}: only floating-point and complex values have one. "
        "Cast it: x.astype(float); of a list, write its numbers as floats."
    )


def test_a_leaf_of_a_value_that_is_tracked_already():
    x = leaf()
    message = (
        "tensor(x, requires_grad=True) was asked of a value that is tracked already. Use x itself, or dispatch.detach(x) in "
        "its place for a new leaf, through which x gets no gradient."
    )
    assert said(lambda: leaf(x)) == message
    assert said(lambda: leaf(np.sin(x))) == message
    assert dispatch.tensor(x) is x
    assert np.array_equal(leaf(dispatch.detach(x)).value, A)


def test_a_leaf_of_a_value_of_grad_is_refused():
    assert said(lambda: grad(lambda x: np.sum(leaf(x)))(A)).endswith(
        " which is tracked already. Use x itself."
    )


def test_a_leaf_around_an_inner_value_is_refused():
    said_of_it = said(lambda: vmap(leaf)(np.ones((2, 3))), EscapedValueError)
    assert "a TrackedTensor of ground level (level 0) was asked around a " in said_of_it
    assert said_of_it.endswith("Make it outside the inner transform, or wrap the value that went into that. What a kernel uses goes in as an argument.")


# -- reading them ----------------------------------------------------------------------------------------------------------


def test_one_number_can_be_read_by_item_and_compared():
    x = leaf(2.5)
    assert (x.item(), type(x.item()), bool(x)) == (2.5, float, True)
    assert leaf([3.0]).item() == 3.0
    assert (1 if x > 2 else 0) == 1
    assert f"{x:.1f} {x}" == "2.5 2.5"
    with pytest.raises(ValueError, match="truth value"):
        bool(leaf())


NO_NUMBER = (
    "a number was asked of a tracked value of shape () and dtype float64, by float() or by writing it into a plain array: its "
    "gradient would be lost in silence. Return the value itself, not float() of it; write np.sin(x) for math.sin(x), and so for all of math; x.item() where the number is meant; to write it into an array, make that of a tracked "
    "one: np.zeros_like(x, shape=...), or np.stack the pieces."
)


@pytest.mark.parametrize("read", [float, int, complex])
def test_a_number_is_not_made_of_one_in_silence(read):
    assert said(lambda: read(leaf(2.5)), ConversionError) == NO_NUMBER


def test_one_is_not_written_into_an_array_in_silence():
    plain = np.zeros(2)
    with pytest.raises((ConversionError, ValueError)) as caught:
        plain[0] = leaf(2.5)
    error = caught.value if isinstance(caught.value, ConversionError) else caught.value.__cause__  # NumPy may wrap it
    start, _, _ = NO_NUMBER.partition("Return the value")
    assert str(error) == f"{start}To write it into an array, make that of a tracked one: np.zeros_like(x, shape=...), or np.stack the pieces."
    assert np.array_equal(plain, [0, 0])


@pytest.mark.parametrize("read", [np.asarray, np.array, lambda x: np.zeros(3).__setitem__(slice(None), x)])
def test_an_array_of_one_is_refused(read):
    assert said(lambda: read(leaf()), ConversionError) == (
        "a NumPy array was asked of a tracked value of shape (3,) and dtype float64: its gradient would be "
        "lost in silence. Write dispatch.detach(x) where a constant is meant; dispatch.numpy.array([x, y]) for np.array([x, y]), and so for np.full, np.arange and np.r_; np.dot(a, x) for a.dot(x) of an array; "
        "x.astype(np.float32) for np.float32(x); dispatch.numpy.random for draws of a Generator, normal(rng, x) for rng.normal(x); an operator, dispatch.custom_op, for other code; to write it into an array, make that of a tracked one: np.zeros_like(x, shape=...)."
    )


def test_a_list_of_them_is_no_tensor():
    assert said(lambda: dispatch.tensor([leaf(), 1.0]), ConversionError) == (
        "tensor copies numbers, and was given a list with a TrackedTensor in it, which would be lost to what follows it. Write "
        "np.stack(data), or dispatch.numpy.array(data)."
    )


def test_one_is_not_pickled():
    assert said(lambda: pickle.dumps(leaf()), TypeError) == (
        "a TrackedTensor belongs to the transform or tape of one process and cannot be pickled. "
        "Take its value out first: dispatch.detach(x)."
    )


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_a_copy_keeps_the_gradient(make):
    assert np.array_equal(dispatch.grad(lambda x: np.sum(make(x) ** 2))(A), 2 * A)
    x = leaf()
    np.sum(make(x * 1.0) ** 2).backward()
    assert np.array_equal(x.grad, 2 * A)


def test_a_deep_copy_of_a_leaf_is_another_leaf():
    x = leaf()
    (y,) = copy.deepcopy([x])
    np.sum(y**2).backward()
    assert x.grad is None
    assert np.array_equal(y.grad, 2 * A)
    np.sum(x).backward()
    assert np.array_equal(y.grad, 2 * A)


def test_length_iteration_and_hash():
    x = leaf()
    assert len(x) == 3
    assert [item.item() for item in x] == list(A)
    assert {x: 1}[x] == 1
    assert said(lambda: len(leaf(2.0)), TypeError) == "len() of a 0-d tensor: it has no axis to count."


# -- backward --------------------------------------------------------------------------------------------------------------


def test_gradients_add_up():
    x = leaf()
    for times in (1, 2, 3):
        np.sum(np.sin(x)).backward()
        assert np.allclose(x.grad, times * np.cos(A))
    x.grad = None
    np.sum(x * x + x).backward()
    assert np.array_equal(x.grad, 2 * A + 1)


def test_a_value_used_twice_gets_both_gradients():
    x = leaf()
    y = np.sin(x)
    np.sum(y * y + y * x + np.stack([y, y])[0]).backward()
    assert np.allclose(x.grad, (2 * np.sin(A) + A + 1) * np.cos(A) + np.sin(A))


def test_the_gradient_to_begin_with():
    x = leaf()
    (x * x).backward(np.array([1.0, 0.0, 2.0]))
    assert np.array_equal(x.grad, 2 * A * [1, 0, 2])
    (x * x).backward([1, 1, 1])
    assert np.array_equal(x.grad, 2 * A * [2, 1, 3])
    y = leaf()
    y.backward(A)
    assert np.array_equal(y.grad, A)
    assert said(lambda: (x * x).backward()) == (
        "backward begins at a value of shape (3,), and only a 0-d value has an obvious gradient to begin with. "
        "Sum it first, or pass gradient= of its shape."
    )
    assert said(lambda: (x * x).backward(np.ones(2))) == "the gradient has shape (2,), and the value it is of (3,). Make them equal."
    assert said(lambda: np.sum(x).backward(np.ones(1))) == "the gradient has shape (1,), and the value it is of (). Make them equal."


def test_the_first_gradient_takes_the_dtype_of_the_value():
    x = leaf(A.astype("f4"))
    (x * x).backward(np.ones(3))
    assert x.grad.dtype == "f4"
    np.sum(x).backward(1)
    assert x.grad.dtype == "f4"


def begin(x):
    np.sum(x + 1).backward()


BACKWARDS = {
    "leaf itself": lambda x: x.backward(np.ones(3)),
    "sum": lambda x: np.sum(x).backward(),
    "identity": lambda x: (x + 0.0).backward(SEED),
    "reshape": lambda x: np.sum(np.reshape(x, (3, 1))).backward(),
    "broadcast": lambda x: np.sum(np.broadcast_to(x, (1, 3))).backward(),
    "saved": lambda x: np.sum(x * SEED).backward(),
}
SEED = np.ones(3)


@pytest.mark.parametrize("backward", BACKWARDS.values(), ids=BACKWARDS)
def test_the_gradient_is_a_plain_array_that_can_be_written_to_and_aliases_nothing(backward):
    x = leaf()
    backward(x)
    assert type(x.grad) is np.ndarray
    assert x.grad.flags.writeable
    assert not np.shares_memory(x.grad, SEED)
    x.grad[:] = 7.0
    assert np.array_equal(SEED, np.ones(3))
    backward(x)
    assert np.array_equal(x.grad, np.full(3, 8.0))


def test_two_leaves_never_share_a_gradient():
    x, y = leaf(), leaf()
    (x + y).backward(SEED)
    assert not np.shares_memory(x.grad, y.grad)
    assert not np.shares_memory(x.grad, SEED)
    before = x.grad.copy()
    y.grad[:] = 7.0
    assert np.array_equal(x.grad, before)


def test_the_gradient_of_a_0d_leaf_is_a_0d_array_every_time():
    x = leaf(3.0)
    for times in (1, 2, 3):
        (x * x).backward()
        assert (type(x.grad), x.grad.shape, x.grad.dtype) == (np.ndarray, (), np.dtype("f8"))
        assert x.grad == 6.0 * times
    x.grad[...] = 0.0


def test_only_a_leafs_gradient_can_be_set():
    x = leaf()
    x.grad = A
    assert x.grad is A
    x.grad = None
    assert said(lambda: setattr(np.sin(x), "grad", A)) == (
        "a .grad was set of a value that is the result of an operator and keeps none. Ask it to: x.retain_grad()."
    )


def test_a_second_backward_needs_the_graph_retained():
    x = leaf()
    y = np.sum(np.sin(x))
    y.backward(retain_graph=True)
    y.backward()
    assert np.allclose(x.grad, 2 * np.cos(A))
    assert said(y.backward) == (
        "backward reaches np::sum a second time, and what it saved was let go after the first. "
        "Pass retain_graph=True to the first backward."
    )
    assert np.allclose(x.grad, 2 * np.cos(A))


def test_a_branch_that_reaches_what_was_let_go_says_so():
    x = leaf()
    shared = np.sin(x)
    np.sum(shared * 2).backward()
    assert said(lambda: np.sum(shared * 3).backward()).startswith("backward reaches np::sin a second time")


def test_create_graph_keeps_the_graph_and_records_the_gradient():
    x = leaf()
    y = np.sum(x * x * x)
    y.backward(create_graph=True)
    assert isinstance(x.grad, Tensor)
    first, x.grad = x.grad, None
    np.sum(first * first).backward()
    assert np.allclose(x.grad, 2 * (3 * A**2) * 6 * A)
    y = np.sum(np.sin(x))
    y.backward(create_graph=True, retain_graph=False)
    assert said(y.backward).startswith("backward reaches np::sum a second time")


def test_backward_inside_a_function_that_is_differentiated():
    def f(x):
        y = dispatch.tensor(A, requires_grad=True)
        np.sum(y * y).backward()
        return np.sum(x * y.grad)

    assert np.array_equal(grad(f)(A), 2 * A)


def test_a_value_that_left_its_transform():
    kept = []
    grad(lambda x: kept.append(x) or np.sum(x))(A)
    said_of_it = (
        f"a TrackedTensor of {kept[0].level!r} is used after that transform has ended: it escaped through a variable, a list or "
        "a closure. Return it from the transformed function instead."
    )
    assert said(lambda: np.sin(kept[0]), EscapedValueError) == said_of_it
    assert said(lambda: kept[0].backward(A), EscapedValueError) == said_of_it
    assert said_of_it.startswith("a TrackedTensor of grad (level ")


def test_infix_methods_and_numpy_functions_are_the_same():
    x = leaf()
    for f in (lambda x: (x + 1).sum(), lambda x: np.sum(np.add(x, 1)), lambda x: sum(x + 1), lambda x: (x + 1) @ np.ones(3)):
        x.grad = None
        f(x).backward()
        assert np.array_equal(x.grad, np.ones(3))
