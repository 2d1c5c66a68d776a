"""Hooks on values, on leaves and on nodes; retain_grad."""

import gc
import weakref

import numpy as np
import pytest
from making import leaf, recorded, said

import dispatch
from dispatch import autograd
from dispatch.errors import GradientError

A = np.array([0.5, 1.0, 2.0])
B = np.array([2.0, -1.0, 0.5])


# -- on values -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda x: x, np.sin], ids=["leaf", "result"])
def test_a_hook_sees_the_whole_gradient_once(make):
    seen = []
    y = make(leaf(A))
    y.register_hook(lambda g: seen.append(g.copy()))
    np.sum(y * B + y * y).backward()
    assert len(seen) == 1
    assert np.allclose(seen[0], B + 2 * y.value)


def test_hooks_change_the_gradient_in_the_order_they_came():
    x = leaf(A)
    y = x * 2
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: -g)
    np.sum(y).backward(retain_graph=True)
    assert np.array_equal(x.grad, [-40, -40, -40])
    assert np.array_equal(autograd.grad(np.sum(y * 1), (y, x), retain_graph=True), [[20] * 3, [-40] * 3])


def test_a_hook_on_one_of_several_outputs():
    op = recorded("(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 2, x * 3), lambda ctx, g, h: 2 * g + 3 * h)
    x = leaf(A)
    y, z = op(x)
    seen = []
    z.register_hook(lambda g: seen.append("z") or 10 * g)
    np.sum(y).backward(retain_graph=True)
    assert seen == []
    np.sum(y + z).backward()
    assert seen == ["z"]
    assert np.array_equal(x.grad, [2 + 32] * 3)


def test_a_handle_takes_the_hook_away():
    x = leaf(A)
    handle = x.register_hook(lambda g: 10 * g)
    np.sum(x).backward()
    handle.remove()
    handle.remove()
    with (x * 1).register_hook(lambda g: 1 / 0), x.register_hook(lambda g: 100 * g) as entered:
        assert entered is not handle
        np.sum(x).backward()
    np.sum(x).backward()
    assert np.array_equal(x.grad, [111, 111, 111])


def test_hooks_under_create_graph_are_differentiated():
    x = leaf(A)
    y = x * x
    with y.register_hook(lambda g: g * g):
        (first,) = autograd.grad(np.sum(y * y), x, create_graph=True)  # (2 x^2)^2 * 2 x
    assert np.allclose(first.value, 8 * A**5)
    assert np.allclose(autograd.grad(np.sum(first), x)[0], 40 * A**4)


def test_hooks_inside_a_transform():
    def f(x):
        y = np.sin(x)
        y.register_hook(lambda g: 2 * g)
        return np.sum(y)

    assert np.allclose(dispatch.grad(f)(A), 2 * np.cos(A))
    assert np.allclose(dispatch.grad(lambda x: np.sum(dispatch.grad(f)(x)))(A), -2 * np.sin(A))


def test_a_hook_may_read_numbers_while_the_backward_is_recorded():
    x = leaf(A)
    seen = []
    y = np.sum(x * x)
    y.register_hook(lambda g: seen.append(g.item()))
    autograd.grad(y * y, x, create_graph=True)
    assert seen == [2 * np.sum(A * A)]


def test_a_hook_cannot_write_to_the_gradient_it_is_shown():
    x, w = leaf(A), leaf(B)
    x.register_hook(lambda g: g.__setitem__(0, 7))
    with pytest.raises(ValueError, match="read-only"):
        np.sum(x + w).backward()


@pytest.mark.parametrize("make", [lambda x: x, np.sin], ids=["leaf", "result"])
def test_what_a_hook_may_not_return(make):
    def raised(value):
        y = make(leaf(A))
        y.register_hook(lambda g: value)
        return said(np.sum(y).backward, GradientError)

    assert raised(np.ones(2)) == (
        "a hook on a value of shape (3,) and dtype float64 returned a gradient of shape (2,) and dtype float64. "
        "A gradient has the shape and dtype of its value."
    )
    assert "of shape (3,) and dtype float32. A gradient" in raised(np.ones(3, "f4"))
    assert raised(3.0) == "a hook on a value of shape (3,) returned a float. Return an array, or None to change nothing."


def test_what_is_no_hook():
    x = leaf(A)
    y = x * 1
    for register in (x.register_hook, y.register_hook, y.grad_fn.register_hook, y.grad_fn.register_prehook, x.register_post_accumulate_grad_hook):
        assert said(lambda: register(3), GradientError) == "a hook is a function of the gradient, and an int was given."  # noqa: B023


# -- after the gradient has been added -------------------------------------------------------------------------------------


def test_a_hook_after_the_gradient_was_added():
    x = leaf(A)
    seen = []

    def step(p):
        assert p is x
        seen.append(p.grad)
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    np.sum(x * x).backward()
    np.sum(x).backward(inputs=x)
    autograd.grad(np.sum(x), x)
    assert x.grad is None
    assert np.array_equal(seen, [2 * A, np.ones(3)])
    handle.remove()
    np.sum(x).backward()
    assert np.array_equal(x.grad, np.ones(3))
    assert said(lambda: np.sin(x).register_post_accumulate_grad_hook(step), GradientError) == (
        "register_post_accumulate_grad_hook is of leaves, which add up gradients, and this value is the result of an operator. "
        "Use register_hook."
    )


# -- on nodes --------------------------------------------------------------------------------------------------------------


def test_hooks_stand_before_and_after_a_nodes_rule():
    x, w = leaf(A), leaf(B)
    y = x * w
    seen = []
    y.grad_fn.register_prehook(lambda given: seen.append(("before", len(given))) or (10 * given[0],))
    y.grad_fn.register_hook(lambda grads, given: seen.append(("after", len(grads), given[0][0])) or (grads[0], None))
    y.register_hook(lambda g: seen.append("value") or g + 1)
    np.sum(y).backward()
    assert seen == ["value", ("before", 1), ("after", 2, 20.0)]
    assert np.array_equal(x.grad, 20 * B)
    assert w.grad is None


def test_hooks_on_a_node_of_several_outputs_and_a_constant_input():
    op = recorded("(Tensor x, Tensor y) -> (Tensor, Tensor)", lambda x, y: (x * 2, x * 3), lambda ctx, g, h: (g + h, None))
    x = leaf(A)
    y, _ = op(x, B)
    seen = []
    y.grad_fn.register_prehook(lambda given: seen.append([g is None for g in given]) or (given[0], given[0]))
    y.grad_fn.register_hook(lambda grads, given: seen.append([g is None for g in grads]))
    np.sum(y).backward()
    assert seen == [[False, True], [False, True]]
    assert np.array_equal(x.grad, [2, 2, 2])


def test_a_hook_sees_gradients_of_their_inputs_shape_and_dtype():
    x = leaf(np.float32(2.0))
    y = x * leaf(A)
    seen = []
    y.grad_fn.register_hook(lambda grads, given: seen.extend((g.shape, g.dtype) for g in grads))
    np.sum(y).backward()
    assert seen == [((), np.dtype("f4")), ((3,), np.dtype("f8"))]


def test_what_hooks_on_a_node_may_not_return():
    def raised(register, value):
        y = np.sin(leaf(A))
        getattr(y.grad_fn, register)(lambda *_: value)
        return said(np.sum(y).backward, GradientError)

    assert raised("register_hook", A) == (
        "a hook of sinBackward was given a tuple of 1 gradient and returned an ndarray. "
        "Return as many, or None to change nothing."
    )
    assert "a prehook of sinBackward was given a tuple of 1 gradient and returned 2 of them." in raised("register_prehook", (A, A))
    assert raised("register_prehook", (np.ones(2),)).startswith(
        "a prehook of sinBackward on a value of shape (3,) and dtype float64 returned a gradient of shape (2,) and dtype float64."
    )


@pytest.mark.torch
def test_torch_calls_the_same_hooks_with_the_same_gradients():
    import torch

    logs = []
    for sin, make, total in (
        (np.sin, leaf, np.sum),
        (torch.sin, lambda a: torch.tensor(a, requires_grad=True), torch.sum),
    ):
        log: list = []
        logs.append(log)
        x = make(A)
        y = sin(x)
        z = y * x
        y.register_hook(lambda g, log=log: log.append(("y", np.asarray(g).round(9).tolist())))
        x.register_hook(lambda g, log=log: log.append(("x", np.asarray(g).round(9).tolist())))
        z.register_hook(lambda g: 2 * g)
        z.grad_fn.register_hook(lambda gs, given, log=log: log.append(("z", [np.asarray(g).round(9).tolist() for g in (*gs, *given)])))
        y.retain_grad()
        z.retain_grad()
        total(z).backward()
        log += [np.asarray(v.grad).round(9).tolist() for v in (x, y, z)]
    assert logs[0] == logs[1]


# -- retain_grad -----------------------------------------------------------------------------------------------------------


def test_a_value_in_the_middle_keeps_its_gradient_when_asked():
    x = leaf(A)
    y = x * 2
    with pytest.warns(RuntimeWarning, match="keeps none, so it is None"):
        assert y.grad is None
    y.retain_grad()
    y.retain_grad()
    x.retain_grad()  # a leaf does anyway
    y.register_hook(lambda g: 10 * g)
    np.sum(y * y).backward(retain_graph=True)
    assert np.array_equal(y.grad, 40 * A)  # after the hooks
    np.sum(y).backward(inputs=[y], retain_graph=True)
    assert np.array_equal(y.grad, 40 * A + 10)
    y.grad = None
    np.sum(y).backward()
    assert np.array_equal(y.grad, [10, 10, 10])
    assert y.grad.flags.writeable


WRITTEN = {
    "itself": lambda y: (y.__imul__(3), y * y)[1],
    "read before": lambda y: [y + y, y.__imul__(3), y][0] + y,
    "through a view": lambda y: (y[1:].__imul__(3), y * y)[1],
    "twice": lambda y: (y.__imul__(3), y.__iadd__(1), y * y)[2],
}


@pytest.mark.torch
@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN)
def test_a_written_value_keeps_the_gradient_of_what_it_is_now(write):
    import torch

    theirs = torch.tensor(A, requires_grad=True)
    kept = theirs * 2
    kept.retain_grad()
    write(kept).sum().backward()
    x = leaf(A)
    y = x * 2
    y.retain_grad()
    np.sum(write(y)).backward()
    assert np.allclose(y.grad, kept.grad.numpy())
    assert np.allclose(x.grad, theirs.grad.numpy())


@pytest.mark.torch
def test_a_view_keeps_its_gradient_when_its_base_is_written():
    import torch

    def kept(x, total):
        y = x * 2
        v = y[1:]
        v.retain_grad()
        y *= 3
        (total(y) + total(v * v)).backward()
        return v.grad, x.grad

    ours, theirs = kept(leaf(A), np.sum), kept(torch.tensor(A, requires_grad=True), torch.sum)
    for mine, other in zip(ours, theirs, strict=True):
        assert np.allclose(mine, other.numpy())


def test_a_kept_gradient_of_one_of_several_outputs():
    op = recorded("(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 2, x * 3), lambda ctx, g, h: 2 * g + 3 * h)
    y, z = op(leaf(A))
    z.retain_grad()
    np.sum(y).backward(retain_graph=True)
    assert z.grad is None
    np.sum(y * z).backward()
    assert np.array_equal(z.grad, 2 * A)


def test_nothing_stays_alive_for_a_hook():
    gc.collect()
    gc.disable()
    try:
        x = leaf(A)
        y = np.sin(x)
        y.retain_grad()
        handle = y.register_hook(lambda g: None)
        watched = [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(y.value)]
        np.sum(y).backward()
        del y
        assert [found() for found in watched] == [None] * 3
        handle.remove()
    finally:
        gc.enable()


REGISTERED = {
    "on a value": lambda y, hook: y.register_hook(hook),
    "on a node": lambda y, hook: y.grad_fn.register_hook(lambda *_: hook),
    "before a node": lambda y, hook: y.grad_fn.register_prehook(hook),
}


@pytest.mark.parametrize("register", REGISTERED.values(), ids=REGISTERED)
@pytest.mark.parametrize("steps", [1, 50])
def test_a_cycle_through_a_hook_that_came_after_its_value_was_used_is_collected(register, steps):
    gone = []
    for _ in range(50):
        y = np.sin(leaf(A))
        z = y
        for _ in range(steps):
            z = np.cos(z)
        register(y, [z].append)
        gone.append(weakref.ref(z))
    del y, z
    gc.collect()
    assert [found() for found in gone] == [None] * 50


def test_a_cycle_through_a_hook_on_a_leaf_that_was_used_is_collected():
    x = leaf(A)
    z = np.cos(np.sin(x))
    x.register_hook([z].append)
    gone = weakref.ref(z)
    del x, z
    gc.collect()
    assert gone() is None


def test_a_cycle_through_a_gradient_that_was_set_is_collected():
    x = leaf(A)
    x.grad = np.cos(np.sin(x))
    gone = weakref.ref(x.grad)
    del x
    gc.collect()
    assert gone() is None


def test_a_gradient_is_nobody_elses_however_often_it_is_asked_for():
    x = leaf(A)
    y = x * x
    one, other = autograd.grad(np.sum(y * 3), (x, x))
    assert not np.shares_memory(one, other)
    held = []
    x.register_hook(held.append)
    z = x * 2
    g = np.ones(3)
    (first,) = autograd.grad(z, (z,), g)
    assert not np.shares_memory(first, g)
    z.backward(g)
    assert not np.shares_memory(x.grad, held[0])
    for given in (x.grad, one, other, first):
        given[:] = 7


def test_a_hook_that_writes_to_its_gradient_is_told_to_return_one():
    def double(g):
        g *= 2

    x = leaf(A)
    y = x * B
    y.register_hook(double)
    with pytest.raises(ValueError, match="read-only") as caught:
        np.sum(y).backward()
    assert "A hook is given what others hold too, read-only. Return a new gradient: lambda g: g * 2." in caught.value.__notes__
