"""What is on in one thread is carried into the threads of a pool, and leaves nothing there."""

import functools
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dispatch
from dispatch import FakeTensorMode, carry, custom_op, detach, enable_grad, grad, no_grad, tensor, vmap
from dispatch.core import DispatchKey, Level, ModeGuard, Setting, Without, active_mode, open_levels, setting, turned_on
from dispatch.errors import ArgumentError, EscapedValueError

A = np.arange(1.0, 4.0)
AUTOGRAD, FAKE, VMAP = int(DispatchKey.AUTOGRAD), int(DispatchKey.FAKE), int(DispatchKey.VMAP)


@custom_op("carryingtests::wave", mutates_args=())
def wave(x: np.ndarray, scale: float) -> np.ndarray:
    return np.sin(x) * scale


wave.register_fake(lambda x, scale: np.empty_like(x))
wave.register_autograd(
    lambda ctx, g: (g * np.cos(ctx.saved_tensors[0]) * ctx.scale, None),
    setup_context=lambda ctx, inputs, output: (ctx.save_for_backward(inputs[0]), setattr(ctx, "scale", inputs[1])),
)


@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(2) as pool:
        yield pool


def state():
    return [(type(guard), guard.key) for guard in turned_on()], open_levels()


def test_a_mode_is_on_in_the_worker_and_off_behind(pool):
    with FakeTensorMode() as mode:
        x = mode.from_array(np.ones((2, 3)))
        found = list(pool.map(carry(wave), [x] * 8, range(8)))
        assert [(y.shape, y.mode) for y in found] == [((2, 3), mode)] * 8
        assert pool.submit(carry(lambda: active_mode(FAKE).mode)).result() is mode
        assert pool.submit(carry(lambda: np.zeros((4, 2)) is not None and np.matmul(x, np.transpose(x)).shape)).result() == (2, 2)
    assert pool.submit(state).result() == ([], [])


def test_what_is_carried_is_what_was_on_when_carry_was_called(pool):
    x = tensor(A, requires_grad=True)
    kind = lambda: type(wave(x, 2.0)).__name__
    with no_grad():
        quiet = carry(kind)
        with enable_grad():
            loud = carry(kind)
    assert [pool.submit(f).result() for f in (quiet, loud, kind, quiet)] == ["ndarray", "TrackedTensor", "TrackedTensor", "ndarray"]
    assert (quiet(), kind()) == ("ndarray", "TrackedTensor")  # in the thread itself, too
    with no_grad():
        assert (kind(), loud(), kind()) == ("ndarray", "TrackedTensor", "ndarray")


def test_one_function_runs_in_many_threads_at_once():
    both = threading.Barrier(4)

    def meet(i):
        both.wait()
        return i, setting(AUTOGRAD) is not None, state()

    with ThreadPoolExecutor(4) as pool, no_grad():
        found = list(pool.map(carry(meet), range(4)))
    assert found == [(i, True, ([(Setting, AUTOGRAD)], [])) for i in range(4)]


def test_a_transform_s_values_are_worked_with_in_other_threads(pool):
    def column(x):
        parts = list(pool.map(carry(lambda scale: wave(x, scale)), [1.0, 2.0, 3.0]))
        return parts[0] + parts[1] + parts[2]

    batch = np.arange(6.0).reshape(2, 3)
    assert np.allclose(vmap(column)(batch), 6 * np.sin(batch))
    assert np.allclose(grad(lambda x: np.sum(column(x)))(A), 6 * np.cos(A))
    assert np.allclose(vmap(grad(lambda x: np.sum(column(x))))(batch), 6 * np.cos(batch))
    assert np.allclose(grad(lambda x: np.sum(vmap(column)(x)))(batch), 6 * np.cos(batch))

    def quiet(x):
        with no_grad():
            constant = pool.submit(carry(lambda: x * x)).result()
        return constant * x

    assert np.allclose(grad(lambda x: np.sum(quiet(x)))(A), A**2)
    assert np.allclose(grad(lambda x: np.sum(pool.submit(carry(grad(lambda y: np.sum(x * y * y))), A).result()))(A), 2 * A)


def test_a_transform_that_has_ended_is_named(pool):
    kept = []

    def f(x):
        kept.append(carry(lambda: wave(x, 2.0)))
        return x

    vmap(f)(np.ones((2, 3)))
    for run in (kept[0], lambda: pool.submit(kept[0]).result()):
        with pytest.raises(EscapedValueError, match=r"^test_thread_context.py:\d+ was carried out of vmap \(level \d+\), which has ended. Wait for the threads inside the transform.$"):
            run()


def test_an_exception_leaves_nothing_behind(pool):
    def fail():
        assert state()[0][-2:] == [(Setting, AUTOGRAD), (ModeGuard, FAKE)]
        raise ZeroDivisionError("mine")

    with no_grad(), FakeTensorMode():
        carried = carry(fail)
        for run in (carried, lambda: pool.submit(carried).result()):
            with pytest.raises(ZeroDivisionError, match="mine"):
                run()
    assert [pool.submit(state).result() for _ in range(4)] == [([], [])] * 4


def test_a_mode_keeps_its_rank_and_one_that_was_taken_off_stays_off(pool):
    with Level("transform") as level, ModeGuard(VMAP, "inner", level) as inner, ModeGuard(FAKE, "outer"):
        ranks = pool.submit(carry(lambda: [guard.rank for guard in turned_on()])).result()
        assert ranks == [level.number * 64 + VMAP, FAKE]
        assert [guard.mode for guard in turned_on()] == ["inner", "outer"]
        with Without(inner):
            assert pool.submit(carry(lambda: [guard.mode for guard in turned_on()])).result() == ["outer"]


def test_a_twin_turns_on_the_same_and_is_another():
    with Setting(FAKE, "value") as first, first.twin() as second:
        assert (second.key, second.value, second is first) == (FAKE, "value", False)
        assert turned_on() == [first, second]


def test_the_carried_function_looks_like_the_function():
    def f(a, *, b=2):
        """Add."""
        return a + b

    carried = carry(f)
    assert (carried.__name__, carried.__doc__, inspect.signature(carried)) == ("f", "Add.", inspect.signature(f))
    assert (carried(1), carried(1, b=5), carry(functools.partial(f, b=1))(1)) == (3, 6, 2)
    assert np.allclose(carry(wave)(A, scale=2.0), 2 * np.sin(A))
    assert np.allclose(detach(carry(dispatch.ops.np.sin)(A)), np.sin(A))


def test_what_is_no_function_is_refused():
    with pytest.raises(ArgumentError) as caught:
        carry(None)
    assert str(caught.value) == "carry takes a function, and was given None. Write carry(f), and call what it returns."
