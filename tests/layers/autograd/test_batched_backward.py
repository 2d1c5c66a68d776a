"""Backwards that take all cotangents at once: called once for a batch of them, with arrays, whatever code they are."""

from dataclasses import dataclass

import making
import numpy as np
import pytest

from dispatch import grad, vmap
from dispatch.autodiff.rules.implicit import pulled_back, pushed_forward
from dispatch.errors import ConversionError, GradientError

A = np.array([0.5, 1.0, 2.0])
EYE = np.eye(3)
said = making.said


@dataclass
class Seen:
    """An operator whose kernel and backward are plain code, and what they were given."""

    op: object
    kernel: list
    backward: list


def plain(x):
    assert type(x) is np.ndarray, "plain code"
    return x


def squared(residual=False):
    seen = Seen(None, [], [])

    def kernel(x):
        seen.kernel.append(plain(x).shape)
        return (x**2, {"slope": 2 * x, "name": "a residual"}) if residual else x**2

    def setup(ctx, inputs, output):
        if not residual:
            ctx.save_for_backward(inputs[0])
        ctx.scale = 2.0

    def backward(ctx, g):
        seen.backward.append(plain(g).shape)
        assert ctx.needs_input_grad == (True,)
        slope = ctx.residual["slope"] if residual else ctx.scale * plain(ctx.saved_tensors[0])
        return (slope * g,)

    seen.op = making.define(f"(Tensor x) -> {'(Tensor, Residual)' if residual else 'Tensor'}", kernel)
    seen.op.register_autograd(backward, setup_context=setup, batched=True)
    return seen


def rows(f, *values):
    """The Jacobian by rows: one pullback of all cotangents."""
    return vmap(lambda g: pulled_back(f, list(values), g)[0])(EYE)


@pytest.mark.parametrize("residual", [False, True])
def test_an_ordinary_backward_has_one_cotangent(residual):
    seen = squared(residual)
    x = making.leaf(A)
    np.sum(seen.op(x)).backward()
    assert np.array_equal(x.grad, 2 * A)
    assert (seen.kernel, seen.backward) == ([(3,)], [(1, 3)])


@pytest.mark.parametrize("residual", [False, True])
def test_a_batch_of_cotangents_is_one_call(residual):
    seen = squared(residual)
    assert np.array_equal(rows(seen.op, A), np.diag(2 * A))
    assert (seen.kernel, seen.backward) == ([(3,)], [(3, 3)])


def test_batches_of_batches_of_cotangents_are_one_call():
    cotangents = np.arange(30.0).reshape(2, 5, 3)
    seen = squared()
    found = vmap(vmap(lambda g: pulled_back(seen.op, [A], g)[0]))(cotangents)
    assert np.array_equal(found, 2 * A * cotangents)
    assert seen.backward == [(10, 3)]


@pytest.mark.parametrize("axis", [0, 1])
def test_the_batch_may_be_any_axis(axis):
    seen = squared()
    g = np.arange(6.0).reshape(2, 3)
    found = vmap(lambda g: pulled_back(seen.op, [A], g)[0], axis)(np.moveaxis(g, 0, axis))
    assert np.array_equal(found, 2 * A * g)
    assert seen.backward == [(2, 3)]


def test_no_cotangents_at_all():
    seen = squared()
    assert vmap(lambda g: pulled_back(seen.op, [A], g)[0])(np.zeros((0, 3))).shape == (0, 3)
    assert seen.backward == [(1, 3)]


@pytest.mark.parametrize("residual", [False, True])
def test_what_was_saved_for_each_item_is_never_mixed_with_a_batch_of_cotangents(residual):
    seen = squared(residual)
    xs = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(vmap(grad(lambda x: np.sum(seen.op(x))))(xs), 2 * xs)
    assert seen.backward == [(1, 3)] * 2
    seen = squared(residual)
    jacobians = vmap(lambda x: rows(seen.op, x))(xs)
    assert np.array_equal(jacobians, np.stack([np.diag(2 * x) for x in xs]))
    assert set(seen.backward) <= {(3, 3), (1, 3)}


def test_some_cotangents_without_a_batch():
    def backward(ctx, g, h):
        assert plain(g).shape[0] == plain(h).shape[0]
        return 2 * g + 3 * h

    op = making.define("(Tensor x) -> (Tensor, Tensor)", lambda x: (2 * x, 3 * x))
    op.register_autograd(backward, batched=True)
    pull = vmap(lambda g: pulled_back(lambda x: (lambda u, v: u * g + v)(*op(x)), [A], np.ones(3))[0])
    assert np.array_equal(pull(EYE), 2 * EYE + 3)


def test_lists_none_and_what_is_not_needed():
    shapes = []

    def backward(ctx, gs, h):
        shapes.append([None if g is None else plain(g).shape for g in (*gs, h)])
        assert ctx.needs_input_grad == ([True, False], False, False)
        return [gs[0] * 2, None], None, None

    op = making.define(
        "(Tensor[] xs, Tensor? y, float c) -> (Tensor[], Tensor)", lambda xs, y, c: ([2 * xs[0], 1 * xs[1]], xs[1] * c)
    )
    op.register_autograd(backward, setup_context=lambda ctx, i, o: ctx.set_materialize_grads(False), batched=True)
    assert np.array_equal(rows(lambda x: op([x, A], None, 2.0)[0][0], A), 2 * EYE)
    assert shapes == [[(3, 3), None, None]]


def test_attributes_of_any_kind_arrive_and_arrays_among_them_are_plain():
    def setup(ctx, inputs, output):
        ctx.kept, ctx.words = {"x": inputs[0], "out": output}, ["a", object]

    def backward(ctx, g):
        assert ctx.words == ["a", object]
        return plain(ctx.kept["out"]) / plain(ctx.kept["x"]) * plain(g)

    op = making.define("(Tensor x) -> Tensor", lambda x: 3 * x)
    op.register_autograd(backward, setup_context=setup, batched=True)
    assert np.array_equal(rows(op, A), 3 * EYE)


def test_as_a_decorator():
    op = making.define("(Tensor x) -> Tensor", lambda x: 3 * x)

    @op.register_autograd(batched=True)
    def backward(ctx, g):
        return 3 * plain(g)

    assert backward is not None
    assert np.array_equal(rows(op, A), 3 * EYE)


def test_one_that_is_written_with_operators_is_differentiated_again():
    op = making.define("(Tensor x) -> Tensor", lambda x: x**3)
    op.register_autograd(
        lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, i, o: ctx.save_for_backward(*i),
        batched=True,
    )
    f = grad(lambda x: np.sum(op(x)))
    assert np.allclose(grad(lambda x: np.sum(f(x)))(A), 6 * A)
    assert np.allclose(pushed_forward(f, [A], [A]), 6 * A * A)
    assert np.allclose(vmap(grad(lambda x: np.sum(f(x))))(np.stack([A, 2 * A])), 6 * np.stack([A, 2 * A]))


def test_forward_mode_is_derived_of_plain_code_too():
    assert np.array_equal(pushed_forward(squared().op, [A], [np.array([1.0, 0.0, 2.0])]), 2 * A * [1, 0, 2])


@pytest.mark.parametrize(
    ("gives", "what"),
    [
        (lambda g: g[0], "one of shape (3,)"),
        (lambda g: g.sum(), "one of shape ()"),
        (lambda g: 1.0, "a float"),
    ],
)
def test_a_gradient_without_the_leading_axis(gives, what):
    op = making.define("(Tensor x) -> Tensor", lambda x: 3 * x)
    op.register_autograd(lambda ctx, g: gives(g), batched=True)
    assert said(lambda: vmap(lambda g: pulled_back(op, [A], g)[0])(np.ones((2, 3))), GradientError) == (
        f"{op.name}: its backward was registered with batched=True and got 2 cotangents along a leading axis, and returned "
        f"{what}. Return gradients with the same leading axis, None for those without."
    )


# -- plain code that meets values of a transform ---------------------------------------------------------------------------

WHAT = (
    "its backward was registered with opaque=False, and under vmap or jacrev, or where it is differentiated itself, it gets "
    "values of that transform. Leave opaque= out, so that it is called as one operator; or write it with NumPy's functions and "
    "operators; "
)


def opaque(batched, allowed=False):
    op = making.define("(Tensor x) -> Tensor", lambda x: x**2)
    op.register_autograd(
        lambda ctx, g: np.asarray(ctx.saved_tensors[0]) * 2 * np.asarray(g),
        setup_context=lambda ctx, i, o: ctx.save_for_backward(*i),
        batched=batched,
        opaque=None if allowed else False,
    )
    return op


def test_a_batch_of_cotangents_for_plain_code():
    op = opaque(batched=False)
    assert said(lambda: rows(op, A), ConversionError) == (
        f"{op.name}: {WHAT}for batches of cotangents register it with batched=True; for second "
        "derivatives make what it calls an operator with a derivative. The code met this: a NumPy array was asked of a "
        "BatchedTensor of shape (3,) and dtype float64, which would take it out of its transform. Call an operator on it, or a "
        "NumPy function that has a row in dispatch.ops.np: dispatch.numpy.array([x, y]) for np.array([x, y]), and so for np.full and np.r_; np.dot(a, x) for a.dot(x) of an array. "
        "Make an operator of other code by dispatch.custom_op."
    )
    for batched in (False, True):
        assert np.array_equal(rows(opaque(batched, allowed=True), A), np.diag(2 * A))


@pytest.mark.parametrize("batched", [False, True])
def test_a_second_derivative_of_plain_code(batched):
    op = opaque(batched)
    advice = "for batches of cotangents register it with batched=True; for second derivatives "
    advice *= not batched
    with pytest.raises(ConversionError) as caught:
        grad(lambda x: np.sum(grad(lambda x: np.sum(op(x)))(x)))(A)
    assert str(caught.value).startswith(
        f"{op.name}: {WHAT}{advice}make what it calls an operator with a derivative. The code met this: a NumPy array was asked"
    )


def test_a_rule_that_calls_a_rule_says_it_once():
    inner = opaque(batched=False)
    outer = making.define("(Tensor x) -> Tensor", lambda x: x**3)
    outer.register_autograd(lambda ctx, g: grad(lambda g: np.sum(inner(g)))(g), opaque=False)
    with pytest.raises(ConversionError) as caught:
        rows(outer, A)
    assert str(caught.value).count("opaque=False") == 1
    assert caught.value.operator == inner.name


GIVEN_BACK = {  # what may come out of a backward, as it came in
    "the gradient": (lambda x: x + 1.0, lambda ctx, g: g),
    "a view of it": (lambda x: np.ascontiguousarray(x[::-1]), lambda ctx, g: g[..., ::-1]),
    "what was saved": (lambda x: np.sum(x**2 / 2, keepdims=True), lambda ctx, g: np.broadcast_to(ctx.saved_tensors[0], (*g.shape[:-1], 3))),
}


@pytest.mark.parametrize("options", [{}, {"batched": True}, {"opaque": True}, {"opaque": False}])
@pytest.mark.parametrize("name", GIVEN_BACK)
def test_a_backward_may_return_what_it_was_given(name, options):
    kernel, backward = GIVEN_BACK[name]
    op = making.define("(Tensor x) -> Tensor", kernel)
    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs), **options)
    expected = A if name == "what was saved" else np.ones(3)
    assert np.array_equal(grad(lambda x: np.sum(op(x)))(A), expected)
    assert np.array_equal(vmap(grad(lambda x: np.sum(op(x))))(A[None])[0], expected)
    if name != "what was saved":  # which is the gradient for one cotangent alone
        assert np.array_equal(rows(op, A).sum(0), expected)


@pytest.mark.parametrize("options", [{}, {"batched": True}, {"opaque": True}])
def test_one_array_may_be_the_gradient_of_two_arguments(options):
    def twice(ctx, g):
        shared = 2.0 * g
        return shared, shared

    for backward, factor in ((lambda ctx, g: (g, g), 1.0), (twice, 2.0)):
        op = making.define("(Tensor x, Tensor y) -> Tensor", lambda x, y, k=factor: k * (x + y))
        op.register_autograd(backward, **options)
        for g in grad(lambda x, y, op=op: np.sum(op(x, y) * A), argnums=(0, 1))(A, A):
            assert np.array_equal(g, factor * A)
