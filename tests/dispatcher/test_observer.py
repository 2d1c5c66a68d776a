"""Watchers see each step of a call first, in the order they were turned on, and change nothing unless they mean to."""

import re
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from making import leaf, made, said

import dispatch
from dispatch.core import DispatchKey, ModeGuard, active_modes
from dispatch.dispatcher.key_guards import ExcludeDispatchKeyGuard
from dispatch.dispatcher.observer import Watcher, observed

X = np.ones(3)


class Diary(Watcher):
    """Notes the steps it sees."""

    def __init__(self, pages=None):
        super().__init__()
        self.pages = [] if pages is None else pages

    def watch(self, op, definition, rank, args, proceed):
        self.pages.append((op.name, DispatchKey(rank & 31).name))
        return proceed()


def test_every_floor_of_a_call_is_a_step():
    with Diary() as diary:
        out = dispatch.vmap(dispatch.grad(lambda x: np.sin(x)))(X)
    assert np.allclose(out, np.cos(X))
    steps = [step for step in diary.pages if step[0] == "np::sin"]
    assert steps == [("np::sin", "AUTOGRAD"), ("np::sin", "VMAP"), ("np::sin", "CPU")]


def test_a_watched_call_gives_what_it_gives_unwatched():
    x = leaf([1.0, 2.0])
    with Diary():
        (np.sin(x) * x).sum().backward()
    watched, x.grad = x.grad, None
    (np.sin(x) * x).sum().backward()
    assert np.array_equal(watched, x.grad)


def test_the_innermost_watcher_is_nearest_to_the_call():
    order = []

    class Named(Watcher):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def watch(self, op, definition, rank, args, proceed):
            order.append(self.name)
            return proceed()

    with Named("outer"), Named("inner"):
        np_sin(X)
    assert order == ["outer", "inner"]


np_sin = dispatch.ops.np.sin


def test_a_watcher_sees_what_modes_do():
    op = made("(Tensor x) -> Tensor", np.sin)
    op.register_at(DispatchKey.MODE, lambda x: op.redispatch(DispatchKey.MODE, x))
    with ModeGuard(DispatchKey.MODE, "a mode"), Diary() as diary:
        op(X)
    assert [key for _, key in diary.pages] == ["MODE", "CPU"]


def test_a_residual_stays_inside_a_watched_call():
    op = made("(Tensor x) -> (Tensor, Residual)", lambda x: (x + 1, "kept"))
    with Diary():
        assert np.array_equal(op(X), X + 1)
        assert op.whole(X)[1] == "kept"
        assert observed(op, op.definition, (X,))[1] == "kept"


def test_keyword_only_arguments_and_wrong_ones_are_as_without_watchers():
    op = made("(Tensor x, *, int n=2) -> Tensor", lambda x, *, n: x * n)
    without = said(lambda: op(X, n="no"), TypeError)
    with Diary():
        assert np.array_equal(op(X, n=3), X * 3)
        assert said(lambda: op(X, n="no"), TypeError) == without


def test_an_exception_leaves_no_watcher_behind():
    def failing(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught, Diary():
        made("(Tensor x) -> Tensor", failing)(X)
    assert active_modes() == []
    assert len(caught.value.__notes__) == 1


def test_a_watcher_is_one_thread_s_and_says_its_name():
    with Diary() as diary:
        assert repr(diary) == "Diary()"


def test_a_watcher_that_is_made_and_never_entered_says_so():
    op = made("(Tensor x) -> Tensor")
    op.register_kernel("cpu")(lambda x: x + 2)
    blocks = {
        "log_calls": dispatch.log_calls, "profile": dispatch.profile, "validate": lambda: dispatch.validate("full"),
        "detect_anomaly": dispatch.detect_anomaly, "ExcludeDispatchKeyGuard": lambda: ExcludeDispatchKeyGuard("AUTOGRAD"),
        "op.set_kernel_enabled": lambda: op.set_kernel_enabled("cpu", False), "Diary": Diary,
    }  # fmt: skip
    for name, make in blocks.items():
        said = f"{name}(...) was made and never entered, so that it did nothing. Write `with {name}(...):` around the code."
        with pytest.warns(RuntimeWarning, match=f"^{re.escape(said)}$"):
            make()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with make():
                pass
            assert make()(lambda: 3)() == 3


def test_a_carried_switch_and_exclusion_act_in_the_other_thread():
    op = made("(Tensor x) -> Tensor", lambda x: x + 1)
    op.register_kernel("cpu")(lambda x: x + 2)
    with ThreadPoolExecutor(1) as pool, op.set_kernel_enabled("cpu", False), ExcludeDispatchKeyGuard("AUTOGRAD"):
        assert np.array_equal(pool.submit(dispatch.carry(op), X).result(), X + 1)
        assert type(pool.submit(dispatch.carry(np.sin), leaf()).result()) is np.ndarray
        with op.set_kernel_enabled("cpu"):
            assert np.array_equal(pool.submit(dispatch.carry(op), X).result(), X + 2)
