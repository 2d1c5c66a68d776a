"""What rules do with `ctx`, held against torch.autograd.Function: one program, run by both."""

import itertools
from types import SimpleNamespace
from typing import Any

import making
import numpy as np
import pytest

import dispatch
from dispatch import grad
from dispatch.errors import GradientError

said = making.said
A = np.array([0.5, 1.0, 2.0])
B = np.array([1.5, -1.0, 0.25])
_numbers = itertools.count()


class Ours:
    """The program with our operators."""

    array = staticmethod(np.asarray)

    @staticmethod
    def leaf(x):
        return dispatch.tensor(x, requires_grad=True)

    @staticmethod
    def function(text, forward, setup, backward):
        op = making.define(text, lambda *args: forward(np, *args))
        op.register_autograd(backward, setup_context=setup)
        return op

    @staticmethod
    def grad_of(x):
        return x.grad

    @staticmethod
    def pull(outputs, gradients):
        dispatch.autograd.backward(outputs, gradients)


class Torchs:
    """The same with torch's."""

    @staticmethod
    def array(x):
        import torch

        return torch.tensor(x)

    @staticmethod
    def leaf(x):
        import torch

        return torch.tensor(x, requires_grad=True)

    @staticmethod
    def function(text, forward, setup, backward):
        import torch

        kind = type(
            f"F{next(_numbers)}",
            (torch.autograd.Function,),
            {
                "forward": staticmethod(lambda *args: forward(torch, *args)),
                "setup_context": staticmethod(setup),
                "backward": staticmethod(backward),
            },
        )
        return kind.apply

    @staticmethod
    def grad_of(x):
        return None if x.grad is None else x.grad.numpy()

    @staticmethod
    def pull(outputs, gradients):
        import torch

        torch.autograd.backward(outputs, [torch.tensor(g) for g in gradients])


def same(program: Any) -> Any:
    """The results of a program, the same by both."""
    ours, theirs = program(Ours), program(Torchs)

    def compared(x: Any, y: Any) -> None:
        if isinstance(x, (list, tuple)):
            assert len(x) == len(y)
            for a, b in zip(x, y, strict=True):
                compared(a, b)
        elif x is None or isinstance(x, (bool, str, int)):
            assert x == y
        else:
            assert np.allclose(np.asarray(x), np.asarray(y))

    compared(ours, theirs)
    return ours


@pytest.mark.torch
def test_needs_input_grad_of_arrays_and_numbers():
    def program(side):
        seen = []

        def backward(ctx, g):
            seen.append(tuple(ctx.needs_input_grad))
            return (g * ctx.c if ctx.needs_input_grad[0] else None), None, None

        def setup(ctx, inputs, output):
            ctx.c = inputs[2]

        f = side.function("(Tensor x, Tensor y, float c) -> Tensor", lambda np, x, y, c: x * c + y, setup, backward)
        x = side.leaf(A)
        side.pull([f(x, side.array(B), 3.0)], [B])
        return seen, side.grad_of(x)

    assert same(program)[0] == [(True, False, False)]


@pytest.mark.torch
@pytest.mark.parametrize("materialize", [True, False])
@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_outputs_that_nobody_used(materialize, used):
    def program(side):
        seen = []

        def setup(ctx, inputs, output):
            ctx.set_materialize_grads(materialize)

        def backward(ctx, g, h):
            seen.append([g is None, h is None])
            return (0 if g is None else 2 * g) + (0 if h is None else 3 * h)

        f = side.function("(Tensor x) -> (Tensor, Tensor)", lambda np, x: (2 * x, 3 * x), setup, backward)
        x = side.leaf(A)
        out = f(x)
        side.pull([out[i] for i in used], [B for _ in used])
        return seen, side.grad_of(x)

    assert same(program)[0] == [[not materialize and i not in used for i in (0, 1)]]


@pytest.mark.torch
def test_outputs_that_are_marked_and_integers():
    def program(side):
        seen = []

        def setup(ctx, inputs, output):
            ctx.mark_non_differentiable(output[1], output[2])

        def backward(ctx, g, h, n):
            seen.append([tuple(x.shape) for x in (g, h)])
            return 2 * g

        f = side.function(
            "(Tensor x) -> (Tensor, Tensor, Tensor)", lambda np, x: (2 * x, x + 1, np.argsort(x)), setup, backward
        )
        x = side.leaf(A)
        out = f(x)
        side.pull([out[0]], [B])
        return [getattr(y, "requires_grad", False) for y in out], seen, side.grad_of(x)

    assert same(program)[0] == [True, False, False]


@pytest.mark.torch
def test_inputs_outputs_intermediates_and_none_are_saved():
    def program(side):
        seen = []

        def setup(ctx, inputs, output):
            ctx.save_for_backward(inputs[0], output[0], None, output[1])

        def backward(ctx, g, h):
            x, y, none, z = ctx.saved_tensors
            seen.append(none)
            return g * y / x + 0 * z, g * 0

        f = side.function("(Tensor x, Tensor w) -> (Tensor, Tensor)", lambda np, x, w: (x * 5, w * 1), setup, backward)
        x, w = side.leaf(A), side.leaf(B)
        side.pull([f(x, w)[0]], [B])
        return seen, side.grad_of(x), side.grad_of(w)

    same(program)


@pytest.mark.torch
def test_anything_can_be_set_on_ctx():
    def program(side):
        f = side.function(
            "(Tensor x, str how) -> Tensor",
            lambda np, x, how: x * 2,
            lambda ctx, inputs, output: vars(ctx).update(how=inputs[1], state={"k": [1, object]}, call=lambda g: g * 2),
            lambda ctx, g: (ctx.call(g) if (ctx.how, ctx.state["k"][1]) == ("fast", object) else g, None),
        )
        x = side.leaf(A)
        side.pull([f(x, "fast")], [B])
        return side.grad_of(x)

    same(program)


@pytest.mark.torch
def test_a_saved_input_that_is_written_afterwards():
    """torch refuses the backward; a write makes a new value here, so the gradient is that of the value that was saved."""
    import torch

    def function(side):
        return side.function(
            "(Tensor x) -> Tensor",
            lambda np, x: x * x,
            lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
            lambda ctx, g: 2 * ctx.saved_tensors[0] * g,
        )

    x = torch.tensor(A, requires_grad=True)
    y = x * 1
    z = function(Torchs)(y)
    y.mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    times = making.define("(Tensor(a!) x) -> ()", lambda x: np.copyto(x, x * 3))
    times.register_autograd(lambda ctx, g: 3 * g)
    x = making.leaf(A)
    y = x * 1
    z = function(Ours)(y)
    times(y)
    np.sum(z).backward()
    assert np.allclose(x.grad, 2 * A)


@pytest.mark.parametrize("size", [3, 10_000])
@pytest.mark.parametrize("how", ["saved", "attribute", "list"])
def test_a_plain_array_that_is_kept_cannot_change_unnoticed(how, size):
    def setup(ctx, inputs, output):
        if how == "saved":
            ctx.save_for_backward(inputs[1])
        else:
            ctx.w = inputs[1] if how == "attribute" else [inputs[1]]

    def backward(ctx, g):
        w = ctx.saved_tensors[0] if how == "saved" else ctx.w if how == "attribute" else ctx.w[0]
        return g * w, None

    op = making.define("(Tensor x, Tensor w) -> Tensor", lambda x, w: x * w)
    op.register_autograd(backward, setup_context=setup)
    w, x = np.ones(size), making.leaf(np.arange(1.0, size + 1))
    y = op(x, w)
    if size == 3:
        w *= 100.0
    else:
        with pytest.raises(ValueError, match="read-only"):
            w *= 100.0
    np.sum(y).backward()
    assert np.array_equal(x.grad, np.ones(size))
    w *= 2.0  # let go of


# -- what torch.autograd.Function has no word for --------------------------------------------------------------------------


def test_an_optional_output_may_be_none():
    def forward(x, both):
        return 2 * x, 3 * x if both else None

    seen = []

    def backward(ctx, g, h):
        seen.append(h is None)
        return (2 * g + (0 if h is None else 3 * h)), None

    op = making.define("(Tensor x, bool both) -> (Tensor, Tensor?)", forward)
    op.register_autograd(backward)
    for both in (True, False):
        x = making.leaf(A)
        y, z = op(x, both)
        assert (z is None) is not both
        np.sum(y if z is None else y + z).backward()
        assert np.array_equal(x.grad, np.full(3, 5.0 if both else 2.0))
    assert seen == [False, True]


def test_a_list_of_outputs_some_of_them_unused_or_integers():
    seen = []

    def backward(ctx, gs):
        seen.append([None if g is None else g.shape for g in gs])
        return 2 * gs[0] + 3 * gs[1]

    op = making.define("(Tensor x) -> Tensor[]", lambda x: [2 * x, 3 * x, np.argsort(x)])
    op.register_autograd(backward)
    x = making.leaf(A)
    np.sum(op(x)[1]).backward()
    assert np.array_equal(x.grad, np.full(3, 3.0))
    assert seen == [[(3,), (3,), None]]


def test_arrays_in_a_dict():
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return {"w": g * ctx.saved_tensors[0]["x"], "x": g * ctx.saved_tensors[0]["w"]}

    op = making.define("(Dict(str, Tensor) d) -> Tensor", lambda d: d["w"] * d["x"])
    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    w = making.leaf(A)
    np.sum(op({"w": w, "x": B})).backward()
    assert np.array_equal(w.grad, B)
    assert seen == [([True, False],)]
    twice = grad(lambda w: np.sum(grad(lambda w: np.sum(op({"w": w, "x": w})))(w)))
    assert np.allclose(twice(A), 2)


@pytest.mark.parametrize("outputs", ["Tensor", "(Tensor, Tensor)"])
@pytest.mark.parametrize("name", ["inputs", "order", "op", "level", "saved"])
def test_a_field_of_the_tape_is_no_place_for_a_value(name, outputs):
    op = making.define(f"(Tensor x) -> {outputs}", lambda x: x * 2 if outputs == "Tensor" else (x * 2, x * 3))
    op.register_autograd(
        lambda ctx, *g: 2 * g[0], setup_context=lambda ctx, inputs, output: setattr(ctx, name, SimpleNamespace(number=0))
    )
    assert said(lambda: op(making.leaf(A)), GradientError) == (
        f"{op.name}: its setup_context set ctx.{name}, which is a field of the tape. Take another name."
    )


@pytest.mark.parametrize(
    "name", ["kept", "structure", "recording", "materialize", "watched", "skeletons", "shape", "dim", "state"]
)
def test_other_names_are_free(name):
    op = making.define("(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 2, x * 3))
    op.register_autograd(
        lambda ctx, g, h: g * getattr(ctx, name)["x"], setup_context=lambda ctx, i, o: setattr(ctx, name, {"x": i[0]})
    )
    x = making.leaf(A)
    np.sum(op(x)[0]).backward()
    assert np.array_equal(x.grad, A)


def test_a_backward_that_raised_leaves_nothing_turned_on():
    fails = [True]

    def backward(ctx, g):
        if fails.pop():
            raise KeyError("planted")
        return g * 2 * ctx.saved_tensors[0]

    op = making.define("(Tensor x) -> Tensor", lambda x: x * x)
    op.register_autograd(backward, setup_context=lambda ctx, i, o: ctx.save_for_backward(*i))
    x = making.leaf(A)
    y = np.sum(op(x))
    with pytest.raises(KeyError, match="planted"):
        y.backward(create_graph=True)
    fails.append(False)
    y.backward()
    assert type(x.grad) is np.ndarray
    assert np.array_equal(x.grad, 2 * A)
