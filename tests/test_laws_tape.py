"""The laws of the design about the tape and about fakes: one test named after each."""

import gc
import weakref

import making
import numpy as np
import pytest

import dispatch
from dispatch import FakeTensorMode, grad, no_grad, ops
from dispatch.core import DispatchKey, Tensor
from dispatch.errors import FakeTensorError, NoRuleError
from dispatch.layers.autograd import TrackedTensor
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

A = np.array([0.5, 1.0, 2.0])
define, leaf = making.define, making.leaf


def said(error, call):
    return making.said(call, error)


# -- the tape --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("f", [np.multiply, lambda x, y: ops.np.stack([x * y, y])[0], lambda x, y: np.matmul(x, y)])
def test_a_workspace_that_is_reused_in_place_gives_no_silent_wrong_gradient(f, size):
    workspace, x = np.full(size, 3.0), leaf(np.full(size, 2.0))
    y = np.sum(f(x, workspace))
    try:
        workspace[:] = 100.0
    except ValueError as error:
        assert "read-only" in str(error)
    y.backward()
    assert np.array_equal(x.grad, np.full(size, 3.0))
    workspace[:] = 0.0  # the tape has let go


def test_no_grad_covers_the_open_levels_and_a_transform_inside_it_records():
    x = leaf()
    with no_grad():
        assert type(np.sin(x)) is np.ndarray
        assert np.array_equal(grad(lambda y: np.sum(np.sin(y) * x))(A), np.cos(A) * A)

    def f(y):
        with no_grad():
            return np.sum(y) + np.sum(grad(lambda z: np.sum(z * z))(A))

    assert np.array_equal(grad(f)(A), np.zeros(3))


def test_backward_rules_run_under_no_grad_unless_create_graph():
    seen = []
    op = define("(Tensor x) -> Tensor", lambda x: x * 1, autograd=lambda ctx, g: seen.append(type(np.sin(closure))) or g)
    closure = leaf()
    np.sum(op(leaf())).backward()
    np.sum(op(leaf())).backward(create_graph=True)
    assert seen == [np.ndarray, TrackedTensor]


def test_setup_context_gets_wrappers_so_that_what_it_keeps_stays_differentiable():
    op = build(Schema.parse("lawtests::kept(Tensor x) -> Tensor"))
    op.register_at(DispatchKey.CPU, lambda x: x**3)

    def setup(ctx, inputs, output):
        ctx.square = inputs[0] * inputs[0]

    op.register_autograd(lambda ctx, g: g * 3 * ctx.square, setup_context=setup)
    assert np.allclose(grad(lambda x: np.sum(grad(lambda x: np.sum(op(x)))(x)))(A), 6 * A)


def test_an_operator_without_a_rule_gives_a_node_that_raises():
    op = define("(Tensor x) -> Tensor", lambda x: x * 1)
    assert isinstance(op(leaf()), Tensor)
    assert "which has no derivative" in said(NoRuleError, lambda: np.sum(op(leaf())).backward())
    assert "which has no derivative" in said(NoRuleError, lambda: grad(lambda x: np.sum(op(x)))(A))


def test_a_saved_output_makes_no_cycle_and_a_rule_keeps_only_what_it_reads():
    op = build(Schema.parse("lawtests::exp(Tensor x) -> Tensor"))
    op.register_at(DispatchKey.CPU, np.exp)
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0], setup_context=lambda ctx, inputs, out: ctx.save_for_backward(out))
    gc.disable()
    try:
        for f in (op, np.exp):
            x = leaf() * 1.0
            y = f(x)
            argument, result = weakref.ref(x.value), weakref.ref(y)
            del x
            assert argument() is None
            del y
            assert result() is None
    finally:
        gc.enable()


# -- fakes -----------------------------------------------------------------------------------------------------------------


def test_a_fake_rule_may_return_plain_arrays_of_which_only_the_metadata_is_read():
    op = define("(Tensor x) -> Tensor", lambda x: x, fake=lambda x: np.broadcast_to(np.float32(0), (10**9, *x.shape)))
    with FakeTensorMode() as mode:
        out = op(mode.from_array(A))
    assert (out.shape, out.dtype) == ((10**9, 3), np.dtype("f4"))


def test_a_bare_fake_mode_refuses_plain_arrays_and_says_what_to_write():
    with FakeTensorMode() as mode:
        assert "mode.from_array(a)" in said(FakeTensorError, lambda: np.add(mode.from_array(A), A))


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (0, 3), (2, 1, 2)])
def test_strides_of_length_1_axes_and_of_empty_arrays_do_not_count(shape):
    def rule(x):
        plain = np.empty(x.shape)
        odd = [n if k > 1 and plain.size else 999 for n, k in zip(plain.strides, x.shape, strict=True)]
        return np.lib.stride_tricks.as_strided(plain, x.shape, odd)

    op = define("(Tensor x) -> Tensor", lambda x: np.ones(x.shape), fake=rule)
    dispatch.testing.opcheck(op, (np.ones(shape),), test_utils="test_faketensor")
