"""The laws of the design, each with the trap below it: one test named after each.

They are collected here, and those of the tape and of fakes in test_laws_tape.py, so that they can be read on a page; the
files of the modules go further into each.
"""

import gc
import itertools
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import making
import numpy as np
import pytest

from dispatch import FakeTensorMode, grad, no_grad, ops, vmap
from dispatch.core import DispatchKey, Level, ModeGuard, active_mode, ground, open_levels, setting, wrap
from dispatch.errors import ArgumentError, EscapedValueError, GradientError, GuardError
from dispatch.layers.autograd import TrackedTensor
from dispatch.layers.vmap import Batch, BatchedTensor

A = np.array([0.5, 1.0, 2.0])
define, leaf = making.define, making.leaf


def said(error, call):
    return making.said(call, error)


def in_threads(count, work):
    """What `work(i)` gives in each of some threads that run at once."""
    start = threading.Barrier(count)
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda i: (start.wait(), work(i))[1], range(count)))


# -- levels ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("transform", "name"), [(vmap, "vmap"), (lambda f: grad(lambda x: np.sum(f(x))), "grad")])
def test_a_value_whose_level_has_closed_raises_naming_the_transform_it_escaped_from(transform, name):
    kept = []
    transform(lambda x: kept.append(x) or np.sin(x))(A)
    uses = [
        lambda: np.sin(kept[0]), lambda: kept[0] + 1, lambda: np.stack([kept[0]]), lambda: np.sum(kept[0]), lambda: ops.np.add(A, kept[0]),
        lambda: transform(lambda x: x + kept[0])(A), lambda: ops.np.stack([A, kept[0]]),
    ]  # fmt: skip
    for use in uses:
        message = said(EscapedValueError, use)
        assert f" of {name} (level {kept[0].level.number}) is used after that transform has ended" in message
        assert message.endswith("Return it from the transformed function instead.")


def test_an_inner_level_ranks_higher_and_no_number_is_used_twice():
    with Level("outer") as outer, Level("inner") as inner:
        assert ground().number < outer.number < inner.number
    with Level("next") as later:
        assert later.number > inner.number

    def numbers(i):
        found = []
        for _ in range(200):
            with Level("one") as level:
                found.append(level.number)
        return found

    lists = in_threads(4, numbers)
    assert all(found == sorted(found) for found in lists)
    assert len(set(itertools.chain(*lists))) == 800


def test_a_wrapper_outranks_what_it_wraps():
    with Level("outer", Batch(3)) as outer, Level("inner", Batch(3)) as inner:
        low = wrap(BatchedTensor, A, outer, 0)
        high = wrap(BatchedTensor, low, inner, 0)
        assert high.rank > low.rank
        assert said(EscapedValueError, lambda: wrap(BatchedTensor, high, outer, 0)) == (
            f"a BatchedTensor of {outer!r} was asked around a BatchedTensor of {inner!r}, which stands above it. "
            "Make it outside the inner transform, or wrap the value that went into that. What a kernel uses goes in as an argument."
        )


def test_tensor_with_requires_grad_is_refused_around_inner_values():
    assert "which stands above it" in said(EscapedValueError, lambda: vmap(leaf)(np.ones((2, 3))))
    assert "which is tracked already" in said(GradientError, lambda: grad(lambda x: np.sum(leaf(x)))(np.ones((2, 3))))


def test_perturbations_are_not_confused():
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * vmap(lambda y: grad(lambda z: x * z)(y))(A)[0])(3.0) == 6.0


def test_closures_over_outer_values_come_out_right():
    weights = leaf()
    np.sum(vmap(lambda s: np.sum(grad(lambda x: np.sum(x * x * s * weights))(A)))(A)).backward()
    assert np.allclose(weights.grad, 2 * A * np.sum(A))
    assert np.array_equal(vmap(lambda x: vmap(lambda y: x * y)(A))(A), np.outer(A, A))
    assert np.array_equal(grad(lambda x: np.sum(vmap(lambda y: np.sum(x) * y)(A)))(A), np.full(3, np.sum(A)))


def test_transforms_in_worker_threads_do_not_meet():
    def work(i):
        scale = float(i + 1)
        for _ in range(30):
            first = vmap(grad(lambda x: np.sin(x * scale)))(A)
            second = grad(lambda x: np.sum(vmap(lambda y: grad(lambda z: z**3 * scale)(y))(x)))(A)
        return first, second

    for i, (first, second) in enumerate(in_threads(4, work)):
        assert np.allclose(first, (i + 1) * np.cos(A * (i + 1)))
        assert np.allclose(second, (i + 1) * 6 * A)


def test_a_value_of_an_open_transform_can_be_used_in_another_thread():
    def f(x):
        return np.sum(np.stack(in_threads(3, lambda i: np.sin(x) * i)))

    assert np.allclose(grad(f)(A), 3 * np.cos(A))


# -- the call --------------------------------------------------------------------------------------------------------------


def test_the_call_holds_its_own_reference_to_the_kernel():
    def kernel(x):
        for registration in op.table.all():
            op.unregister(registration)
        gc.collect()
        return x + 1

    op = define("(Tensor x) -> Tensor", kernel)
    watched = weakref.ref(kernel)
    del kernel
    assert np.array_equal(op(A), A + 1)
    assert watched() is None


# Two backend keys in one call raise DeviceMismatchError: no array type can be registered yet, so no call has two.
# tests/dispatcher/test_call_errors.py asks for the words themselves.


def test_a_numpy_scalar_is_a_0d_array_as_input_and_as_output():
    op = define("(Tensor x) -> Tensor", lambda x: np.sum(x), autograd=lambda ctx, g: np.broadcast_to(g, (3,)))
    assert op(A) == np.sum(A)
    assert op(np.float64(2)) == 2.0
    x = leaf()
    op(x).backward()
    assert np.array_equal(x.grad, np.ones(3))


def test_python_numbers_are_arrays_in_the_rows_only_and_pass_through_untouched():
    assert np.multiply(leaf(A.astype("f4")), 2.0).dtype == "f4"
    assert ops.np.multiply(A.astype("f4"), 2.0).dtype == "f4"
    seen = []
    op = define("(Tensor x) -> Tensor", lambda x: seen.append(x) or np.ones(3))
    assert "was given a float" in said(ArgumentError, lambda: op(2.0))
    assert seen == []


def test_seeds_and_zeros_take_the_outputs_dtype():
    seen = []
    op = define(
        "(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 1, x * 2), autograd=lambda ctx, g, h: seen.append((g.dtype, h.dtype)) or g
    )
    np.sum(op(leaf(A.astype("f4")))[0]).backward()
    assert seen == [(np.dtype("f4"), np.dtype("f4"))]


@pytest.mark.parametrize("kind", ["float", "int", "complex", "bool", "float?", "Scalar"])
def test_a_wrapper_for_a_number_is_refused_with_the_hint(kind):
    op = define(f"(Tensor x, {kind} factor) -> Tensor", lambda x, factor: x * factor)
    hint = (
        "cannot become a number without losing what it tracks: hint the parameter `factor: np.ndarray | float`, so that it takes both."
    )
    calls = {
        "TrackedTensor": lambda: op(A, leaf(2.0)),
        "BatchedTensor": lambda: vmap(lambda f: op(A, f))(A),
        "FakeTensor": lambda: op(A, FakeTensorMode().from_array(np.array(1.0))),
    }
    for name, call in calls.items():
        message = said(ArgumentError, call)
        assert message.startswith(f"{op.name}: argument 'factor' is {kind}, and was given a {name} of shape () and dtype float64.")
        assert message.endswith(hint)


# -- guards ----------------------------------------------------------------------------------------------------------------


def thread_is_clean():
    return open_levels() == [] and all(active_mode(key) is None and setting(key) is None for key in DispatchKey if not key.is_alias)


def failing(*args):
    raise ZeroDivisionError


def test_exceptions_leave_no_level_mode_guard_or_setting_behind():
    kernel = define("(Tensor x) -> Tensor", failing)
    fake = define("(Tensor x) -> Tensor", failing, fake=failing)
    backward = define("(Tensor x) -> Tensor", lambda x: x * 1, autograd=failing)
    batched = define("(Tensor x) -> Tensor", lambda x: x * 1, vmap=failing)
    mode = FakeTensorMode()
    calls = [
        lambda: kernel(A), lambda: vmap(kernel)(A), lambda: grad(lambda x: np.sum(kernel(x)))(A), lambda: vmap(grad(kernel))(A),
        lambda: grad(lambda x: np.sum(backward(x)))(A), lambda: vmap(grad(backward))(A), lambda: np.sum(backward(leaf())).backward(),
        lambda: np.sum(backward(leaf())).backward(create_graph=True), lambda: vmap(batched)(A), lambda: grad(lambda x: np.sum(vmap(batched)(x)))(A),
        lambda: fake(mode.from_array(A)), lambda: vmap(failing)(A), lambda: grad(failing)(A), no_grad()(failing),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ZeroDivisionError):
            call()
        assert thread_is_clean()
        with pytest.raises(ZeroDivisionError), mode, no_grad():
            fake(mode.from_array(A))
        assert thread_is_clean()
    assert np.array_equal(vmap(np.sin)(A), np.sin(A))


def test_a_guard_that_is_not_on_top_raises_and_never_pops_a_stranger():
    outer, inner = ModeGuard(DispatchKey.FAKE, "outer"), ModeGuard(DispatchKey.TRACE, "inner")
    outer.__enter__()
    inner.__enter__()
    message = said(GuardError, outer.__exit__)
    assert "do not hold one over an `await` or over the `yield` of a generator" in message
    assert active_mode(DispatchKey.TRACE) is inner
    assert active_mode(DispatchKey.FAKE) is None
    inner.__exit__()
    assert thread_is_clean()


def test_a_guard_is_left_in_the_thread_that_entered_it():
    guard = no_grad()
    guard.__enter__()
    message = said(GuardError, lambda: in_threads(1, lambda i: Level("there").__exit__()))
    assert "is left in a thread in which it was not entered" in message
    guard.__exit__(None, None, None)


# -- rules -----------------------------------------------------------------------------------------------------------------


def test_rules_bind_by_parameter_name_and_kernels_by_position():
    op = define("(Tensor x, int n) -> Tensor", lambda first, second: first * second)
    assert np.array_equal(op(A, 2), 2 * A)
    assert np.array_equal(op(n=2, x=A), 2 * A)
    for verb in (op.register_fake, lambda rule: op.register_vmap(lambda info, in_dims, n, x: rule)):
        assert "Rules bind by parameter name" in said(ValueError, lambda: verb(lambda n, x: x))  # noqa: B023


def test_keyword_only_arrays_come_last_in_axes_inputs_and_gradients():
    seen = []

    def setup(ctx, inputs, output):
        seen.append([None if isinstance(x, np.ndarray) else type(x) for x in inputs])

    def rule(info, in_dims, x, n, *, y):
        seen.append(in_dims)
        return x * n + y, 0

    op = define("(Tensor x, int n=2, *, Tensor y) -> Tensor", lambda x, n, *, y: x * n + y, vmap=rule)
    op.register_autograd(lambda ctx, g: (g * 2, None, g), setup_context=setup)
    x, y = leaf(), leaf()
    np.sum(op(x, y=y)).backward()
    assert np.array_equal(x.grad, [2, 2, 2])
    assert np.array_equal(y.grad, [1, 1, 1])
    vmap(lambda x, y: op(x, y=y))(A, A)
    assert seen == [[TrackedTensor, int, TrackedTensor], (0, None, 0)]
