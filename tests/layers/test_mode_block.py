"""A mode is turned on in the thread that enters it, as often as it is entered, and left there."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from making import said

import dispatch
from dispatch.core import active_modes
from dispatch.errors import GuardError


class Bare(dispatch.Mode):
    """Does not call the __init__ of its base."""

    def __init__(self, name):
        self.name = name


@pytest.mark.parametrize("mode", [Bare("a"), dispatch.FakeTensorMode()], ids=lambda mode: type(mode).__name__)
def test_a_mode_may_be_entered_twice_and_by_several_threads(mode):
    def entered():
        with mode, mode:
            return [guard.mode for guard in active_modes()]

    with mode as found, ThreadPoolExecutor(2) as pool:
        assert found is mode
        assert [guard.mode for guard in active_modes()] == [mode]
        assert [task.result() for task in [pool.submit(entered) for _ in range(4)]] == [[mode, mode]] * 4
    assert active_modes() == []


@pytest.mark.parametrize("mode", [Bare("a"), dispatch.FakeTensorMode()], ids=lambda mode: type(mode).__name__)
def test_a_thread_leaves_only_what_it_entered(mode):
    message = f"{type(mode).__name__}() is left in a thread in which it was not entered. Enter and leave it in one thread."
    assert said(lambda: mode.__exit__(None, None, None), GuardError) == message
    with mode, ThreadPoolExecutor(1) as pool:
        assert said(lambda: pool.submit(mode.__exit__, None, None, None).result(), GuardError) == message
    assert active_modes() == []
