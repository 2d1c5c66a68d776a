"""autograd.grad and autograd.backward: torch's semantics, at leaves and at values in the middle."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from making import leaf, recorded, said

import dispatch
from dispatch import autograd, vmap
from dispatch.core import Tensor
from dispatch.errors import EscapedValueError, GradientError

A = np.array([0.5, 1.0, 2.0])
B = np.array([2.0, -1.0, 0.5])


def counting(log, name):
    """The identity, which logs that its backward ran."""
    return recorded("(Tensor x) -> Tensor", lambda x: x * 1, lambda ctx, g: log.append(name) or g)


# -- what comes back -------------------------------------------------------------------------------------------------------


def test_gradients_come_back_and_no_grad_changes():
    x, w = leaf(A), leaf(B)
    gx, gw = autograd.grad(np.sum(np.sin(x) * w), (x, w))
    assert np.allclose(gx, np.cos(A) * B)
    assert np.allclose(gw, np.sin(A))
    assert (x.grad, w.grad) == (None, None)
    assert type(gx) is np.ndarray
    assert gx.flags.writeable


class Pair(NamedTuple):
    x: Any
    w: Any


def test_they_come_back_as_the_inputs_were_given():
    x, w = leaf(A), leaf(B)

    def of(inputs):
        return autograd.grad(np.sum(x * x + w), inputs)

    one = np.ones(3)
    assert [type(of(inputs)) for inputs in (x, [x], (x,), {"x": x}, Pair(x, w))] == [tuple, tuple, tuple, dict, Pair]
    assert np.array_equal(of(x)[0], 2 * A)
    assert np.array_equal(of([w, x, w]), [one, 2 * A, one])
    assert np.array_equal(of({"w": w, "x": x})["x"], 2 * A)
    assert np.array_equal(of(Pair(x, w)).x, 2 * A)
    (inner, g) = of(({"x": x}, w))
    assert np.array_equal(inner["x"], 2 * A)
    assert np.array_equal(g, one)


def test_an_input_that_is_asked_for_twice_gets_two_arrays():
    x = leaf(A)
    first, second = autograd.grad(np.sum(x), (x, x))
    first[0] = 7
    assert second[0] == 1


def test_inputs_in_the_middle():
    x = leaf(A)
    y = np.sin(x)
    z = y * y
    gz, gy, gx = autograd.grad(np.sum(3 * z), (z, y, x))
    assert np.allclose(gz, 3)
    assert np.allclose(gy, 6 * np.sin(A))
    assert np.allclose(gx, 6 * np.sin(A) * np.cos(A))
    assert np.allclose(autograd.grad(np.sum(z), z)[0], 1)
    assert np.array_equal(autograd.grad(y, y, B)[0], B)


def test_inputs_that_are_one_of_several_outputs():
    op = recorded("(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 2, x * 3), lambda ctx, g, h: 2 * g + 3 * h)
    x = leaf(A)
    y, z = op(x)
    total = np.sum(y * z)
    gy, gz, gx = autograd.grad(total, (y, z, x), retain_graph=True)
    assert np.array_equal(gy, 3 * A)
    assert np.array_equal(gz, 2 * A)
    assert np.array_equal(gx, 12 * A)
    assert np.array_equal(autograd.grad(total, z)[0], 2 * A)
    assert autograd.grad(np.sum(op(x)[0]), op(x)[1], allow_unused=True) == (None,)


def test_only_what_leads_to_the_inputs_runs():
    log = []
    below, beside, above = (counting(log, name) for name in ("below", "beside", "above"))
    x, w = leaf(A), leaf(B)
    y = below(x)
    total = np.sum(above(y) * beside(w))
    autograd.grad(total, y)
    assert log == ["above"]
    total = np.sum(above(below(x)) * beside(w))
    autograd.grad(total, w)
    assert log == ["above", "beside"]


def test_what_did_not_run_keeps_what_it_saved():
    x, w = leaf(A), leaf(B)
    y, v = np.sin(x), np.cos(w)
    autograd.grad(np.sum(y * v), y)
    np.sum(y + v).backward()
    assert np.allclose(x.grad, np.cos(A))
    assert np.allclose(w.grad, -np.sin(B))


def test_several_outputs_and_what_they_begin_with():
    x = leaf(A)
    assert np.allclose(autograd.grad((np.sum(x * x), np.sum(x)), x)[0], 2 * A + 1)
    assert np.allclose(autograd.grad([x * x, np.sum(x)], x, [B, None])[0], 2 * A * B + 1)
    assert np.allclose(autograd.grad({"a": x * x, "b": x}, x, {"a": B, "b": A})[0], 2 * A * B + A)
    for begin in (B, [B], (B,), list(B)):
        assert np.allclose(autograd.grad(x * x, x, begin)[0], 2 * A * B)
    assert np.allclose(autograd.grad(np.sum(x), x, [None])[0], 1)


def test_gradients_of_gradients():
    x = leaf(A)
    first = autograd.grad(np.sum(np.exp(2 * x)), x, create_graph=True)[0]
    second = autograd.grad(np.sum(first), x, create_graph=True)[0]
    third = autograd.grad(np.sum(second), x)[0]
    assert isinstance(first, Tensor)
    assert type(third) is np.ndarray
    assert np.allclose(third, 8 * np.exp(2 * A))


def test_a_second_backward_needs_the_graph():
    x = leaf(A)
    y = np.sum(np.sin(x))
    autograd.grad(y, x, retain_graph=True)
    autograd.grad(y, x)
    again = "backward reaches np::sum a second time, and what it saved was let go after the first. Pass retain_graph=True to the "
    assert said(lambda: autograd.grad(y, x), GradientError) == again + "first backward."
    z = np.sin(x)
    np.sum(z * 2).backward()
    for options in ({}, {"allow_unused": True}, {"materialize": True}):
        raised = said(lambda: autograd.grad(np.sum(z * 3), x, **options), GradientError)  # noqa: B023
        assert raised.startswith("backward reaches np::sin a second time")
    assert np.array_equal(autograd.grad(np.sum(z * 3), z)[0], [3, 3, 3])  # for which that node need not run


def test_inside_transforms():
    def f(x):
        y = np.sin(x)
        return np.sum(autograd.grad(np.sum(y * y), x, create_graph=True)[0])

    assert np.allclose(dispatch.grad(f)(A), 2 * np.cos(2 * A))
    w = leaf(B)
    inside = dispatch.grad(lambda x: np.sum(autograd.grad(np.sum(w * w * x), x, create_graph=True)[0] * x))(A)
    assert isinstance(inside, Tensor)
    assert np.allclose(autograd.grad(np.sum(inside), w)[0], 2 * B)


def test_many_gradients_to_begin_with_at_once():
    x = leaf(A)
    y = np.sin(x) * np.sum(x)
    rows = vmap(lambda g: autograd.grad(y, x, g, retain_graph=True)[0])(np.eye(3))
    expected = [autograd.grad(y, x, g, retain_graph=True)[0] for g in np.eye(3)]
    assert np.allclose(rows, expected)


def test_a_long_chain_is_walked_without_recursion():
    x = y = leaf(0.1)
    middle = None
    for i in range(20_000):
        y = np.sin(y)
        middle = y if i == 10_000 else middle
    gx, gm = autograd.grad(y, (x, middle))
    y = x
    for _ in range(20_000):
        y = np.sin(y)
    y.backward()
    assert np.array_equal(gx, x.grad)
    assert gm > gx


@pytest.mark.torch
def test_random_graphs_have_torchs_gradients():
    import torch

    random = np.random.default_rng(0)
    for _ in range(30):
        starts = [random.normal(size=3) for _ in range(3)]
        ours, theirs = [leaf(s) for s in starts], [torch.tensor(s, requires_grad=True) for s in starts]
        for _ in range(12):
            i, j = random.integers(len(ours), size=2)
            if random.random() < 0.5:
                ours.append(np.sin(ours[i]))
                theirs.append(torch.sin(theirs[i]))
            else:
                ours.append(ours[i] * ours[j])
                theirs.append(theirs[i] * theirs[j])
        wanted = random.integers(len(ours), size=4)
        got = autograd.grad(np.sum(ours[-1]), [ours[i] for i in wanted], allow_unused=True)
        expected = torch.autograd.grad(theirs[-1].sum(), [theirs[i] for i in wanted], allow_unused=True)
        for g, e in zip(got, expected, strict=True):
            assert (g is None) == (e is None)
            assert g is None or np.allclose(g, e.numpy(), rtol=1e-12)


# -- what is not used ------------------------------------------------------------------------------------------------------


def test_an_input_that_is_not_used():
    x, w, v = leaf(A), leaf(B), leaf(1.0)

    def of(**options):
        return autograd.grad(np.sum(x), {"x": x, "ws": [w, v]}, **options)

    assert said(of, GradientError) == (
        "autograd.grad was asked for a gradient at inputs['ws'][0], of shape (3,) and dtype float64, and the outputs do not "
        "depend on it. Pass materialize=True for zeros, or allow_unused=True for None."
    )
    assert of(allow_unused=True)["ws"] == [None, None]
    zeros = of(materialize=True)["ws"]
    assert [z.tolist() for z in zeros] == [[0, 0, 0], 0]
    assert zeros[0].flags.writeable
    raised = said(lambda: autograd.grad(np.sum(x), w), GradientError)
    assert raised.startswith("autograd.grad was asked for a gradient at inputs, of shape (3,)")


# -- what is refused -------------------------------------------------------------------------------------------------------


def test_what_is_not_tracked():
    x = leaf(A)
    assert said(lambda: autograd.grad(np.sum(x), [x, A]), GradientError) == (
        "autograd.grad was asked for a gradient at inputs[1], which is an ndarray and not tracked. Make it a leaf before it is "
        "used: dispatch.tensor(a, requires_grad=True)."
    )
    begin = (
        "which is an ndarray and not tracked: it does not depend on a value that requires a gradient. Begin with "
        "x = dispatch.tensor(a, requires_grad=True), or write dispatch.grad(f)(x). A gradient depends on x where create_graph=True was "
        "given to the call that made it."
    )
    assert said(lambda: autograd.grad(A, x), GradientError) == f"autograd.grad was asked to begin at outputs, {begin}"
    assert said(lambda: autograd.backward([x, A], [A, A]), GradientError) == (
        f"autograd.backward was asked to begin at outputs[1], {begin}"
    )
    assert said(lambda: autograd.grad([], x), GradientError) == "autograd.grad was given no outputs to begin at."
    nothing = "was given no inputs. Leave inputs= out to ask for the gradients of all leaves."
    assert said(lambda: autograd.grad(np.sum(x), []), GradientError) == f"autograd.grad {nothing}"
    assert said(lambda: np.sum(x).backward(inputs=()), GradientError) == f"backward {nothing}"


def test_gradients_that_do_not_fit():
    x = leaf(A)
    assert said(lambda: autograd.grad([x, x], x, [A]), GradientError) == (
        "autograd.grad was given 2 outputs, and gradients for 1. Give each its own."
    )
    assert said(lambda: autograd.grad(x, x), GradientError).startswith("autograd.grad begins at a value of shape (3,)")
    assert said(lambda: autograd.grad(x, x, np.ones(2)), GradientError).startswith("the gradient has shape (2,)")


def test_values_of_another_transform():
    x = leaf(A)
    raised = []

    def f(z):
        raised.append(said(lambda: autograd.grad(np.sum(x * z), x), GradientError))
        raised.append(said(lambda: autograd.grad([np.sum(x), np.sum(z)], z), GradientError))
        return np.sum(z)

    dispatch.grad(f)(B)
    first, second = raised
    assert first.startswith("autograd.grad was asked for a gradient at inputs, which is tracked by ground level (level 0), and the ")
    assert first.endswith(". Ask for it outside that transform.")
    assert second.startswith("autograd.grad was given outputs of two tapes, of ground level (level 0) and of grad (level ")
    assert second.endswith("Begin at those of one.")
    kept = []
    dispatch.grad(lambda z: kept.append(z) or np.sum(z))(B)
    assert "after that transform has ended" in said(lambda: autograd.grad(kept[0], kept[0], B), EscapedValueError)


# -- backward --------------------------------------------------------------------------------------------------------------


def test_backward_of_several_values_in_one_walk():
    log = []
    shared = counting(log, "shared")
    x = leaf(A)
    y = shared(x)
    autograd.backward([np.sum(y), y * y], [None, B])
    assert log == ["shared"]
    assert np.allclose(x.grad, 1 + 2 * A * B)
    autograd.backward(np.sum(x))
    assert np.allclose(x.grad, 2 + 2 * A * B)


def test_backward_at_some_inputs_alone():
    x, w = leaf(A), leaf(B)
    y = np.sin(x)
    np.sum(y * w).backward(inputs=[x, y], retain_graph=True)
    assert np.allclose(x.grad, np.cos(A) * B)
    assert np.allclose(y.grad, B)
    assert w.grad is None
    autograd.backward(np.sum(y * w), inputs={"y": y, "w": w})
    assert np.allclose(y.grad, 2 * B)
    assert np.allclose(w.grad, np.sin(A))
    np.sum(x * w).backward(inputs=w)
    assert np.allclose(w.grad, np.sin(A) + A)


def test_backward_at_inputs_it_does_not_reach_adds_nothing():
    x, w = leaf(A), leaf(B)
    np.sum(x).backward(inputs=[w])
    assert (x.grad, w.grad) == (None, None)


# -- what the tape keeps ---------------------------------------------------------------------------------------------------


def test_bytes_count_each_memory_once():
    big = np.ones(1000)
    x = leaf(big)
    assert autograd.nbytes(x) == autograd.nbytes(big) == autograd.nbytes(x + 1) == 0
    y = np.sin(x)
    assert autograd.nbytes(y) == y.grad_fn.nbytes == 8000
    z = np.cos(x) * y
    assert autograd.nbytes(z) == 8000 * 3  # x, cos(x), sin(x)
    assert autograd.nbytes([y, {"z": z}], y) == 8000 * 3
    assert z.grad_fn.nbytes == 8000 * 2
    part = np.sin(x[10:])
    assert autograd.nbytes(part) == 8000  # of a view all of it is kept


def test_bytes_of_a_users_rule_and_of_none_after_the_backward():
    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)
        ctx.more = {"weights": np.ones(100)}

    op = recorded("(Tensor x) -> (Tensor, Residual)", lambda x: (x * 2, [np.ones(10)]), lambda ctx, g: g, setup)
    y = op(leaf(np.ones(1000)))
    assert autograd.nbytes(y) == 8000 * 2 + 800 + 80
    np.sum(y).backward()
    assert autograd.nbytes(y) == 0
