"""Derivatives and batches as operators: each is the transform, and has derivatives and batches of its own."""

from types import SimpleNamespace

import custom_op_db as db
import numpy as np
import pytest
from making import define

import dispatch
from dispatch.core.overload import bound
from dispatch.core.pytree import leaves, mapped
from dispatch.interop.derived_operators import (
    FlatCall,
    batch_of,
    called,
    has_derivative,
    is_array,
    pullback_of,
    pushforward_of,
    recorded,
    unread_results,
)

CASES = [(entry.op, bound(entry.op, sample.args, sample.kwargs)) for entry in db.ENTRIES if entry.differentiable for sample in entry.samples]
IDS = [f"{op.schema.name}-{number}" for number, (op, _) in enumerate(CASES)]


def floats(op, args):
    return [i for i, x in enumerate(FlatCall(op, args).arrays) if has_derivative(x)]


@pytest.mark.parametrize(("op", "args"), CASES, ids=IDS)
def test_a_pullback_and_a_pushforward_are_each_other_s_transpose(op, args):
    wrt, rng = floats(op, args), np.random.default_rng(0)
    moves = [rng.normal(size=np.shape(FlatCall(op, args).arrays[i])) for i in wrt]
    weights = [rng.normal(size=np.shape(x)) for x in leaves(called(op, args)) if has_derivative(x)]
    moved = pushforward_of(op)(*args, moves, wrt)
    pulled = pullback_of(op)(*args, weights, wrt)
    forth = sum(np.sum(x * w) for x, w in zip(moved, weights, strict=True))
    back = sum(np.sum(g * t) for g, t in zip(pulled, moves, strict=True))
    np.testing.assert_allclose(forth, back, rtol=1e-12)


@pytest.mark.parametrize(("op", "args"), CASES, ids=IDS)
def test_a_recorded_call_gives_the_value_and_the_pullback(op, args):
    wrt = floats(op, args)
    result, pull = recorded(op, args, wrt)
    wanted = called(op, args)
    assert all(np.array_equal(x, y) for x, y in zip(leaves(result), leaves(wanted), strict=True))
    weights = [np.ones_like(x) for x in leaves(wanted) if has_derivative(x)]
    for x, y in zip(pull(weights), pullback_of(op)(*args, weights, wrt), strict=True):
        np.testing.assert_array_equal(x, y)


def made_by(kernel, setup_context=None):
    op = define("(Tensor x) -> Tensor", kernel)
    op.register_autograd(lambda ctx, g: g * 2.0, setup_context=setup_context)
    return op


def test_a_result_that_nobody_has_kept_is_not_copied():
    made = []

    def kernel(x):
        out = x * 2.0
        made.append(out.ctypes.data)
        return out

    out, _ = recorded(made_by(kernel), [np.ones(3)], [0])
    assert out.ctypes.data == made[0]
    assert out.flags.writeable


HELD = []


@pytest.mark.parametrize(
    ("kernel", "setup_context"),
    [
        (lambda x: HELD.append(x * 2.0) or HELD[-1], None),
        (lambda x: HELD.append(np.tile(x, 2)) or HELD[-1][:3], None),
        (lambda x: x * 2.0, lambda ctx, inputs, output: ctx.save_for_backward(output)),
        (lambda x: x * 2.0, lambda ctx, inputs, output: HELD.append(output)),
        (lambda x: x * 2.0, lambda ctx, inputs, output: setattr(ctx, "own", SimpleNamespace(of=output))),
    ],
    ids=["kernel", "kernel, whole", "saved", "wrapper", "attribute"],
)
def test_a_result_that_somebody_has_kept_is_copied(kernel, setup_context):
    HELD.clear()
    op = made_by(kernel, setup_context)
    out, pull = recorded(op, [np.ones(3)], [0])
    assert out.flags.writeable
    saved = [x.value if hasattr(x, "value") else x for x in HELD]
    out[:] = 7.0
    assert all(7.0 not in x for x in saved)
    np.testing.assert_array_equal(pull([np.ones(3)])[0], np.full(3, 2.0))
    HELD.clear()


@pytest.mark.parametrize(("op", "args"), CASES, ids=IDS)
def test_a_batch_is_a_call_for_each_item(op, args):
    count = len(FlatCall(op, args).arrays)
    given = mapped(lambda x: np.stack([x, x]) if is_array(x) else x, list(args))
    for x, y in zip(leaves(batch_of(op)(*given, [0] * count)), leaves(called(op, args)), strict=True):
        assert np.array_equal(x[1], y) if is_array(y) else x == y


@pytest.mark.parametrize(("op", "args"), CASES, ids=IDS)
def test_derivatives_of_results_are_the_derivatives_and_run_no_kernel_twice(op, args):
    calls = []
    result = called(op, args)
    results = result if len(op.schema.returns) > 1 else [result]
    wrt = floats(op, args)
    weights = [np.cos(x) for x in leaves(result) if has_derivative(x)]
    moves = [np.sin(FlatCall(op, args).arrays[i]) for i in wrt]

    class Counts(dispatch.Mode):
        def __dispatch__(self, called_op, types, args, kwargs):
            calls.append(called_op)
            return called_op(*args, **kwargs)

    for derived, given in ((pullback_of, weights), (pushforward_of, moves)):
        wanted = derived(op)(*args, given, wrt)
        calls.clear()
        with Counts():
            found = derived(op, of_results=True)(*args, *results, given, wrt)
        assert calls.count(op) == sum(rule_calls is op for rule_calls in calls_of(derived, op, args, given, wrt)) - 1
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(x, y)
        shapes = dispatch.eval_shape(derived(op, of_results=True), *args, *results, given, wrt)
        assert [(x.shape, x.dtype) for x in shapes] == [(x.shape, x.dtype) for x in wanted]


def calls_of(derived, op, args, given, wrt):
    """What a derivative without results calls."""
    calls = []

    class Counts(dispatch.Mode):
        def __dispatch__(self, called_op, types, args, kwargs):
            calls.append(called_op)
            return called_op(*args, **kwargs)

    with Counts():
        derived(op)(*args, given, wrt)
    return calls


@pytest.mark.parametrize(("op", "args"), CASES, ids=IDS)
def test_a_pullback_does_without_results_that_are_unread(op, args):
    result, wrt = called(op, args), floats(op, args)
    unread = unread_in(op, args, wrt) or [False] * len(leaves(result))  # empty: each is read
    number = iter(range(len(unread)))
    blank = lambda x: (np.full_like(x, np.nan if x.dtype.kind == "f" else 0) if unread[next(number)] else x) if is_array(x) else x
    results = mapped(blank, result if len(op.schema.returns) > 1 else [result])
    weights = [np.cos(x) for x in leaves(result) if has_derivative(x)]
    found = pullback_of(op, of_results=True)(*args, *results, weights, wrt)
    for x, y in zip(found, pullback_of(op)(*args, weights, wrt), strict=True):
        np.testing.assert_array_equal(x, y)


def unread_in(op, args, wrt):
    mode = dispatch.FakeTensorMode()
    fakes = mapped(lambda x: mode.from_array(x) if is_array(x) else x, list(args))
    with mode:
        return unread_results(op, fakes, wrt)


HELD = []


@pytest.mark.parametrize(
    ("setup", "unread"),
    [
        (lambda ctx, inputs, output: ctx.save_for_backward(*inputs), [True, True]),
        (lambda ctx, inputs, output: setattr(ctx, "shape", output[0].shape), [True, True]),
        (lambda ctx, inputs, output: ctx.save_for_backward(output[1]), [True, False]),
        (lambda ctx, inputs, output: setattr(ctx, "kept", {"it": [output[0]]}), [False, True]),
        (lambda ctx, inputs, output: setattr(ctx, "kept", lambda: output), [False, False]),
        (lambda ctx, inputs, output: setattr(ctx, "twice", 2 * output[0]), []),
        (lambda ctx, inputs, output: HELD.append(output[0]), [False, True]),
        (lambda ctx, inputs, output: float(output[0][0]), []),
        (None, [True, True]),
    ],
)
def test_a_result_that_anybody_holds_is_read(setup, unread):
    op = dispatch.custom_op("derived::two", lambda x: (x + 1, x + 2), mutates_args=(), schema="(Tensor x) -> (Tensor, Tensor)")
    op.register_fake(lambda x: (np.empty_like(x), np.empty_like(x)))
    op.register_autograd(lambda ctx, g, h: g + h, setup_context=setup)
    assert unread_in(op, (np.ones(2),), [0]) == unread
    HELD.clear()


def test_of_numpy_s_functions_what_a_partial_derivative_names_is_read():
    np_ops = dispatch.ops.np
    assert unread_in(np_ops.exp, (np.ones(2),), [0]) == [False]
    assert unread_in(np_ops.sin, (np.ones(2),), [0]) == [True]


def test_results_are_no_constants_to_a_second_derivative():
    op = dispatch.custom_op("derived::exp", np.exp, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0], setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))
    x = np.array([0.5, 1.0])
    pull = pullback_of(op, of_results=True)
    found = dispatch.grad(lambda x: np.sum(pull(x, np.exp([0.5, 1.0]), [np.ones(2)], [0])[0]))(x)
    np.testing.assert_allclose(found, np.exp(x), rtol=1e-12)


def test_an_operator_has_one_of_each_until_it_is_defined_anew():
    assert pullback_of(db.numpy_mul) is pullback_of(db.numpy_mul)
    define = lambda f: dispatch.custom_op("derived::again", f, mutates_args=(), schema="(Tensor x) -> Tensor")
    first = pullback_of(define(lambda x: 2 * x))
    assert pullback_of(define(lambda x: 3 * x)) is not first


def test_a_name_that_the_operator_has_too_is_told_apart():
    op = dispatch.custom_op("derived::named", lambda x, wrt: x * wrt, mutates_args=(), schema="(Tensor x, int wrt) -> Tensor")
    assert str(pullback_of(op).schema) == "derived::named_pullback(Tensor x, int wrt, Tensor[] cotangents, int[] wrt_of_named) -> Tensor[]"


def test_a_gradient_of_a_gradient_is_that_of_the_transforms():
    x = np.array([1.0, 2.0])
    cube = db.numpy_cube
    found = pullback_of(pullback_of(cube))(x, [np.ones(2), np.zeros(2)], [0], [np.ones(2)], [0])[0]
    np.testing.assert_allclose(found, dispatch.grad(lambda x: np.sum(dispatch.grad(lambda y: np.sum(cube(y)[0]))(x)))(x))


@pytest.mark.parametrize(("op", "args"), CASES, ids=IDS)
def test_shapes_are_known_without_a_rule_that_reads_data(op, args):
    wrt = floats(op, args)
    arrays = FlatCall(op, args).arrays
    weights = [np.ones_like(x) for x in leaves(called(op, args)) if has_derivative(x)]
    given = mapped(lambda x: np.stack([x, x]) if is_array(x) else x, list(args))
    moves = [np.ones_like(arrays[i]) for i in wrt]
    for derived, more in ((pullback_of, (*args, weights, wrt)), (pushforward_of, (*args, moves, wrt)), (batch_of, (*given, [0] * len(arrays)))):
        fakes, reals = dispatch.eval_shape(derived(op), *more), derived(op)(*more)
        for x, y in zip(leaves(fakes), leaves(reals), strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype) if is_array(y) else x == y


def test_a_result_that_is_given_may_be_written_to_afterwards():
    op = dispatch.custom_op("derived::exp_kept", np.exp, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0], setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output)
    )
    x = np.array([0.5, 1.0])
    result = np.exp(x)
    assert np.array_equal(pullback_of(op, of_results=True)(x, result, [np.ones(2)], [0])[0], np.exp(x))
    assert result.flags.writeable


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["exp", "cumsum", "flip", "transpose", "sum"])
def test_results_lie_in_memory_as_the_shape_rules_say_whatever_the_order_of_the_arguments(name, order):
    op = getattr(dispatch.ops.np, name)
    x = np.asarray(np.arange(6.0).reshape(2, 3), order=order)
    rest = [argument.default for argument in op.schema.arguments[1:]]
    out = called(op, (x, *rest))
    for made, after in (
        (pullback_of(op), ([np.ones(np.shape(out))], [0])),
        (pushforward_of(op), ([np.asarray(np.ones((2, 3)), order=order)], [0])),
        (batch_of(op), ([1],)),
    ):
        with dispatch.FakeTensorMode() as mode:
            fakes = mapped(lambda x, mode=mode: mode.from_array(x) if is_array(x) else x, [x, *rest, *after])
            said = [y.strides for y in leaves(made(*fakes))]
        assert [y.strides for y in leaves(made(x, *rest, *after))] == said
