"""What the tape keeps cannot be changed behind its back."""

import gc
import threading

import numpy as np
import pytest

import dispatch
from dispatch import custom_op
from dispatch.layers.autograd.saved_tensors import COPIED_BYTES, protect

SMALL = COPIED_BYTES // 8
LARGE = SMALL + 1


@custom_op("savingtests::product", mutates_args=())
def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x * y


product.register_autograd(
    lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)

PRODUCTS = {"custom": product, "row": np.multiply, "attribute": None}


@custom_op("savingtests::attributed", mutates_args=())
def attributed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x * y


attributed.register_autograd(
    lambda ctx, g: (g * ctx.y, g * ctx.x),
    setup_context=lambda ctx, inputs, output: (setattr(ctx, "x", inputs[0]), setattr(ctx, "y", inputs[1])),
)
PRODUCTS["attribute"] = attributed


@pytest.mark.parametrize("f", PRODUCTS.values(), ids=PRODUCTS)
@pytest.mark.parametrize("size", [3, SMALL])
def test_a_small_workspace_that_is_reused_does_not_change_the_gradient(f, size):
    x = dispatch.tensor(np.full(size, 2.0), requires_grad=True)
    workspace = np.full(size, 3.0)
    y = np.sum(f(x, workspace))
    workspace[:] = 100.0
    y.backward()
    assert np.array_equal(x.grad, np.full(size, 3.0))
    assert workspace.flags.writeable


@pytest.mark.parametrize("f", PRODUCTS.values(), ids=PRODUCTS)
@pytest.mark.parametrize("size", [3, LARGE])
@pytest.mark.parametrize("owner", ["bytearray", "memoryview", "memmap"])
def test_a_read_only_window_on_memory_that_others_write_to_does_not_change_the_gradient(f, size, owner, tmp_path):
    x = dispatch.tensor(np.full(size, 2.0), requires_grad=True)
    whole = np.frombuffer(bytearray(8 * size)) if owner == "bytearray" else np.empty(size)
    if owner == "memmap":
        whole = np.memmap(tmp_path / "file", float, "w+", shape=(size,))
    whole[:] = 3.0
    window = np.asarray(memoryview(whole).toreadonly()) if owner == "memoryview" else np.asarray(whole)[:]
    window.flags.writeable = False
    y = np.sum(f(x, window))
    whole[:] = 100.0
    y.backward()
    assert np.array_equal(x.grad, np.full(size, 3.0))


@pytest.mark.parametrize("f", PRODUCTS.values(), ids=PRODUCTS)
def test_a_large_workspace_is_read_only_until_the_tape_lets_go(f):
    x = dispatch.tensor(np.full(LARGE, 2.0), requires_grad=True)
    workspace = np.full(LARGE, 3.0)
    y = np.sum(f(x, workspace))
    with pytest.raises(ValueError, match="read-only"):
        workspace[:] = 100.0
    y.backward()
    assert np.array_equal(x.grad, np.full(LARGE, 3.0))
    workspace[:] = 100.0  # let go


@pytest.mark.parametrize("f", PRODUCTS.values(), ids=PRODUCTS)
def test_a_tape_that_is_dropped_lets_go_too(f):
    x = dispatch.tensor(np.full(LARGE, 2.0), requires_grad=True)
    workspace = np.full(LARGE, 3.0)
    gc.disable()
    try:
        y = f(x, workspace)
        assert not workspace.flags.writeable
        del y
        assert workspace.flags.writeable
    finally:
        gc.enable()


def test_two_tapes_hold_one_array_until_both_have_let_go():
    x = dispatch.tensor(np.full(LARGE, 2.0), requires_grad=True)
    workspace = np.full(LARGE, 3.0)
    first, second = np.sum(product(x, workspace)), np.sum(product(x, workspace))
    first.backward()
    assert not workspace.flags.writeable
    second.backward(retain_graph=True)
    assert not workspace.flags.writeable
    del second
    assert workspace.flags.writeable


def test_a_view_of_a_workspace_is_copied():
    x = dispatch.tensor(np.full(LARGE, 2.0), requires_grad=True)
    buffer = np.full(2 * LARGE, 3.0)
    y = np.sum(product(x, buffer[:LARGE]))
    frozen = buffer[LARGE:]
    frozen.flags.writeable = False
    z = np.sum(product(x, frozen))
    buffer[:] = 100.0
    (y + z).backward()
    assert np.array_equal(x.grad, np.full(LARGE, 6.0))


def test_an_array_that_nobody_can_write_to_is_kept_as_it_is():
    constant = np.full(LARGE, 3.0)
    constant.flags.writeable = False
    assert protect(constant) is constant
    assert protect(None) is None
    value = np.float64(3)
    assert protect(value) is value
    assert not constant.flags.writeable


def test_a_copy_has_the_layout_of_what_it_copies():
    a = np.asfortranarray(np.ones((3, 4)))
    kept = protect(a)
    assert kept is not a
    assert kept.strides == a.strides
    assert not kept.flags.writeable
    listed = protect([a, None, 2.0])
    assert (listed[1], listed[2]) == (None, 2.0)
    assert not np.shares_memory(listed[0], a)


def test_tensor_copies():
    a = np.ones(3)
    x = dispatch.tensor(a, requires_grad=True)
    y = np.sum(x * x)
    a[:] = 100.0
    y.backward()
    assert np.array_equal(x.grad, [2, 2, 2])


def test_arrays_leave_the_tape_as_read_only_views():
    x = dispatch.tensor(np.ones(3), requires_grad=True)
    for found in (dispatch.detach(x), dispatch.detach(np.sin(x))):
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 1.0


def test_a_kernel_that_keeps_its_result_cannot_change_it_later():
    kept = []

    @custom_op("savingtests::leaking", mutates_args=())
    def leaking(x: np.ndarray) -> np.ndarray:
        kept.append(np.exp(x))
        return kept[-1]

    leaking.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0], setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output)
    )
    y = leaking(dispatch.tensor(np.ones(3), requires_grad=True))
    with pytest.raises(ValueError, match="read-only"):
        kept[0][:] = 0.0
    np.sum(y).backward()


def test_threads_hold_one_array():
    workspace = np.full(LARGE, 3.0)
    start = threading.Barrier(4)

    def work():
        start.wait()
        for _ in range(50):
            x = dispatch.tensor(np.full(LARGE, 2.0), requires_grad=True)
            y = product(x, workspace)
            assert not workspace.flags.writeable
            del x, y

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert workspace.flags.writeable


def test_a_view_of_an_array_that_is_held_outlives_the_hold():
    x = dispatch.tensor(np.full(LARGE - 1, 2.0), requires_grad=True)
    z = dispatch.tensor(np.full(LARGE, 2.0), requires_grad=True)
    workspace = np.full(LARGE, 3.0)
    holding = product(z, workspace)
    y = np.sum(product(x, workspace[1:]))
    del holding
    workspace[:] = 100.0
    y.backward()
    assert np.array_equal(x.grad, np.full(LARGE - 1, 3.0))


# -- wrappers that a write changes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [3, COPIED_BYTES])
def test_a_batch_that_is_written_later_does_not_change_the_gradient(size):
    double_ = custom_op("savingtests::double_", lambda x: np.copyto(x, 2 * x), mutates_args=("x",), schema="(Tensor(a!) x) -> ()")
    batch = np.ones((2, size))

    def f(x, b):
        def inner(t):
            y = t * b
            if size == 3:
                double_(b)
                return np.sum(y)
            with pytest.raises(dispatch.errors.ArgumentError, match="argument 'x' is written to, and was given a read-only"):
                double_(b)
            return np.sum(y)

        return dispatch.grad(inner)(x)

    assert np.array_equal(dispatch.vmap(f)(np.ones((2, size)), batch), np.ones((2, size)))
    double_(batch)  # the tape has let go
    assert batch[0, 0] == (4.0 if size == 3 else 2.0)


def test_an_array_given_to_grad_in_a_batch_is_the_one_at_its_beginning():
    double_ = custom_op("savingtests::double_", lambda x: np.copyto(x, 2 * x), mutates_args=("x",), schema="(Tensor(a!) x) -> ()")

    def f(b):
        def inner(t):
            double_(b)
            return np.sum(t * t)

        return dispatch.grad(inner)(b)

    assert np.array_equal(dispatch.vmap(f)(np.ones((2, 3))), np.full((2, 3), 2.0))


@pytest.mark.parametrize("n", [3, 300], ids=["copied", "held"])
@pytest.mark.parametrize("lying", ["F", "gaps", "backwards", "read-only"])
def test_an_argument_has_the_strides_that_the_caller_gave_it_under_any_nesting(lying, n):
    whole = np.ones((n, 2 * n), order="F")
    x = {"F": whole, "gaps": whole[:, ::2], "backwards": whole[::-1], "read-only": whole}[lying]
    x.flags.writeable = lying != "read-only"
    seen = []

    def f(x):
        below = x
        while isinstance(below, dispatch.core.Tensor):
            below = below.value
        seen.append(below.strides[-2:])
        return np.sum(x * x)

    dispatch.grad(lambda y: np.sum(dispatch.grad(f)(y)))(x)
    dispatch.grad(lambda y: np.sum(dispatch.grad(f)(y[...])))(x)
    dispatch.jvp(dispatch.grad(f), (x,), (x,))
    dispatch.grad(lambda y: dispatch.jvp(f, (y,), (y,))[1])(x)
    dispatch.vmap(dispatch.grad(f))(dispatch.ops.np.clone(np.broadcast_to(x, (2, *x.shape))))
    assert seen == [x.strides] * 5


def test_a_copy_of_what_another_tape_holds_has_its_strides():
    x, seen = np.ones((300, 400), order="F"), []
    view = x.view()
    view.flags.writeable = False

    def f(y):
        seen.append(y.value.strides)
        return np.sum(y * y)

    held = dispatch.vjp(f, x)  # x is read-only until the pullback is gone, and writeable then
    dispatch.grad(f)(view)
    assert seen == [x.strides] * 2
    del held
