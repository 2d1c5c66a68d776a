"""Whether the tape records: no_grad, enable_grad, and the levels they cover."""

import math
import threading
import warnings

import numpy as np
import pytest

import dispatch
from dispatch import custom_op, enable_grad, grad, no_grad, set_grad_enabled, vmap
from dispatch.core import Level, Tensor
from dispatch.errors import ArgumentError, ConversionError, GuardError
from dispatch.layers.autograd.grad_mode import Quiet, quiet_now, quiet_with

A = np.array([0.5, 1.0, 2.0])


@custom_op("modetests::double", mutates_args=())
def double(x: np.ndarray) -> np.ndarray:
    return x * 2


double.register_autograd(lambda ctx, g: g * 2)


def records(f=np.sin):
    return isinstance(f(dispatch.tensor(A, requires_grad=True)), Tensor)


@pytest.mark.parametrize("f", [np.sin, double, lambda x: np.stack([x, x]), lambda x: x + 1], ids=["row", "custom", "list", "infix"])
def test_nothing_is_recorded_inside(f):
    assert records(f)
    with no_grad():
        assert not records(f)
        with enable_grad():
            assert records(f)
            with set_grad_enabled(False):
                assert not records(f)
        assert not records(f)
    with set_grad_enabled(True):
        assert records(f)
    assert records(f)


def test_they_decorate_functions_too():
    @no_grad()
    def quiet():
        """What it says."""
        return records()

    @enable_grad()
    def loud():
        return records()

    @set_grad_enabled(False)
    def off(depth):
        return [records()] + (off(depth - 1) if depth else [])

    assert not quiet()
    assert (quiet.__name__, quiet.__doc__) == ("quiet", "What it says.")
    with no_grad():
        assert loud()
    assert off(2) == [False] * 3
    assert records()


def test_one_of_them_can_be_entered_again_inside_itself():
    guard = no_grad()
    with guard:
        with guard:
            assert not records()
        assert not records()
    assert records()


def test_an_exception_turns_it_off():
    with pytest.raises(ZeroDivisionError), no_grad():
        1 / 0
    assert records()


def test_a_transform_that_is_opened_inside_records():
    with no_grad():
        assert np.array_equal(grad(lambda x: np.sum(np.sin(x)))(A), np.cos(A))
        assert np.array_equal(grad(lambda x: np.sum(grad(lambda x: np.sum(np.sin(x)))(x)))(A), -np.sin(A))
        assert np.array_equal(vmap(grad(np.sin))(A), np.cos(A))


def test_it_covers_the_levels_that_are_open_when_it_is_entered():
    def f(x):
        with no_grad():
            constant = np.sin(x)
            assert not isinstance(constant, Tensor)
            inner = grad(lambda y: np.sum(y * y * x))(A)  # x counts as a constant here, y does not
        return np.sum(constant * x) + np.sum(inner)

    assert np.array_equal(grad(f)(A), np.sin(A))


def test_a_value_of_an_outer_tape_is_a_constant_inside_no_grad_only():
    x = dispatch.tensor(A, requires_grad=True)
    gradient = grad(lambda y: np.sum(y * x))(A)
    assert isinstance(gradient, Tensor)
    with no_grad():
        assert np.array_equal(grad(lambda y: np.sum(y * x))(A), A)
        assert not isinstance(grad(lambda y: np.sum(y * x))(A), Tensor)


def test_a_backward_does_not_record_itself_unless_it_is_asked_to():
    seen = []

    @custom_op("modetests::seeing", mutates_args=())
    def seeing(x: np.ndarray) -> np.ndarray:
        return x * 1

    def backward(ctx, g):
        seen.append((records(), isinstance(ctx.saved_tensors[0], Tensor), isinstance(np.sin(closure), Tensor)))
        return g * ctx.saved_tensors[0]

    seeing.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    closure = dispatch.tensor(A, requires_grad=True)
    x = dispatch.tensor(A, requires_grad=True)
    np.sum(seeing(x)).backward()
    np.sum(seeing(x)).backward(create_graph=True)
    grad(lambda x: np.sum(seeing(x)))(A)
    assert seen == [(False, False, False), (True, True, True), (True, False, True)]


def test_a_backward_rule_can_run_a_tape_of_its_own():
    @custom_op("modetests::recomputed", mutates_args=())
    def recomputed(x: np.ndarray) -> np.ndarray:
        return np.sin(x) * x

    def backward(ctx, g):
        with enable_grad():
            x = dispatch.tensor(ctx.saved_tensors[0], requires_grad=True)
            np.sum(np.sin(x) * x * g).backward()
        return x.grad

    recomputed.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    x = dispatch.tensor(A, requires_grad=True)
    np.sum(recomputed(x)).backward()
    assert np.allclose(x.grad, np.cos(A) * A + np.sin(A))


@pytest.mark.parametrize("made", [lambda a: dispatch.tensor(a, requires_grad=True), lambda a: 1.0 * dispatch.tensor(a, requires_grad=True)], ids=["leaf", "computed"])
def test_what_reads_a_value_under_no_grad_reads_a_constant(made):
    """Nothing is recorded, so that no gradient can be lost: what raises elsewhere gives what it gives of NumPy's array."""
    a = np.array([2.5, 0.5, 4.0])
    x, number = made(a), made(a[0])
    reads = [
        (float, number, a[0]), (int, number, a[0]), (complex, number, a[0]), (math.sqrt, number, a[0]), (np.asarray, x, a), (np.array, x, a),
        (lambda v: np.asarray(v, np.float32), x, a), (lambda v: np.array(v, copy=None), x, a), (np.from_dlpack, x, a), (lambda v: np.array([v, v]), number, a[0]),
        (lambda v: np.full(2, 1.0).__setitem__(0, v), number, a[0]), (lambda v: v.ctypes.shape[0], x, a),
    ]  # fmt: skip
    for read, value, plain in reads:
        with no_grad():
            found = read(value)
        assert type(found) is type(read(plain))
        assert np.array_equal(found, read(plain))
        with pytest.raises((ConversionError, ValueError)):  # NumPy wraps what a write of an element raises
            read(value)
    filled = np.zeros(2)
    with no_grad():
        filled[1] = number
        views = [np.asarray(x), np.array(x, copy=None), np.from_dlpack(x)]
        assert not hasattr(x, "_numba_type_")
    assert np.array_equal(filled, [0.0, 2.5])
    assert not views[0].flags.writeable, "a write would change a value that a backward has saved"
    assert not views[1].flags.writeable
    shares = [np.shares_memory(view, dispatch.detach(x)) for view in views]
    assert shares == [True, True, np.lib.NumpyVersion(np.__version__) >= "2.1.0"]  # before, NumPy reads no version that has read-only memory


def test_no_memory_that_dlpack_cannot_call_read_only_is_handed_on():
    x = dispatch.tensor(np.arange(3.0), requires_grad=True)
    with no_grad():
        x.__dlpack__()  # a copy
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # before, NumPy's arrays take neither
            x.__dlpack__(max_version=(1, 0), copy=False)
            with pytest.raises(BufferError, match="readonly"):
                x.__dlpack__(copy=False)


def test_under_no_grad_another_transforms_value_still_refuses():
    def f(x):
        with no_grad():
            return np.asarray(x)

    with pytest.raises(ConversionError, match="a NumPy array was asked of a value with a tangent"):
        dispatch.jvp(lambda x: dispatch.grad(lambda y: np.sum(f(y)))(x), (np.ones(2),), (np.ones(2),))
    with no_grad(), pytest.raises(ConversionError, match="a number was asked of a tracked value"):
        grad(lambda x: float(x))(1.0)  # it begins inside the block, and records


def test_no_grad_around_a_backward_changes_nothing():
    x = dispatch.tensor(A, requires_grad=True)
    y = np.sum(np.sin(x))
    with no_grad():
        y.backward()
    assert np.array_equal(x.grad, np.cos(A))


def test_it_belongs_to_the_thread():
    found = []
    with no_grad():
        thread = threading.Thread(target=lambda: found.append(records()))
        thread.start()
        thread.join()
        assert not records()
    assert found == [True]


def test_a_generator_that_is_left_half_way_is_told():
    def generator():
        with no_grad():
            yield

    running = generator()
    next(running)
    guard = enable_grad()
    guard.__enter__()
    with pytest.raises(GuardError) as caught:
        running.close()
    assert str(caught.value) == (
        "no_grad is left while enable_grad, entered after it, is still on. Guards are `with` blocks of one thread: "
        "do not hold one over an `await` or over the `yield` of a generator."
    )
    guard.__exit__(None, None, None)
    assert records()


def test_which_levels_are_covered():
    assert not Quiet().covers(0)
    assert Quiet(3).covers(0)
    assert Quiet(3).covers(3)
    assert not Quiet(3).covers(4)
    assert Quiet(levels=frozenset({5})).covers(5)
    with Level("one") as level, no_grad():
        assert quiet_now().covers(level.number)
        assert quiet_with(level.number, recording=False).covers(level.number)
        assert not quiet_with(level.number, recording=True).covers(level.number)
        with Level("two") as inner:
            assert not quiet_now().covers(inner.number)


@pytest.mark.parametrize("make", [no_grad, enable_grad, lambda: set_grad_enabled(False)])
def test_a_block_that_is_made_and_never_entered_says_so(make):
    name = make.__name__ if isinstance(make, type) else "set_grad_enabled"
    call = rf"{name}\({'' if isinstance(make, type) else '...'}\)".replace("...", r"\.\.\.")
    said = rf"^{call} was made and never entered, so that it did nothing\. Write `with {call}:` around the code\.$"
    with pytest.warns(RuntimeWarning, match=said):
        make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with make():
            pass
        assert make()(lambda: 3)() == 3
        with pytest.raises(ArgumentError):
            set_grad_enabled("no")
