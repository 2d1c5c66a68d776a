"""The collector is paused while a graph is made, and is afterwards as it was, whatever happened."""

import gc
import os
import threading

import numpy as np
import pytest

import dispatch
from dispatch.core.collector import collector_paused


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 7)
    yield
    assert gc.get_threshold()[:2] == (700, 10) or gc.get_threshold()[0] == 555
    gc.set_threshold(*before)


def collections_during(f):
    seen = []
    gc.callbacks.append(lambda phase, info: seen.append(info["generation"]) if phase == "start" else None)
    try:
        f()
    finally:
        gc.callbacks.pop()
    return seen


def test_no_collection_begins_while_a_function_is_traced():
    def f(x):
        held = []
        for _ in range(300):
            x = np.sin(x)
            held.append([[i] for i in range(10)])
        return x

    trace = dispatch.make_fx(f, "fake")
    trace(np.ones(3))  # which imports what it needs
    assert collections_during(lambda: f(np.ones(3)))
    assert collections_during(lambda: trace(np.ones(3))) in ([], [0], [1], [2])  # one, after it


def test_blocks_are_nested_and_end_by_exceptions():
    with pytest.raises(KeyError), collector_paused():
        with collector_paused():
            assert gc.get_threshold()[0] == 0
        assert gc.get_threshold()[0] == 0
        raise KeyError
    assert gc.get_threshold()[0] == 700


def test_blocks_of_threads_overlap():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with collector_paused():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with collector_paused():
        thread.start()
        assert inside.wait(10)
    assert gc.get_threshold()[0] == 0
    leave.set()
    thread.join(10)
    assert gc.get_threshold()[0] == 700


def test_what_the_user_sets_meanwhile_stays():
    with collector_paused():
        gc.set_threshold(555, 5, 5)
        gc.disable()
    assert gc.get_threshold()[0] == 555
    assert not gc.isenabled()
    gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is of Unix")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_process_that_is_forked_meanwhile_collects():
    with collector_paused():
        child = os.fork()
        if not child:
            os._exit(gc.get_threshold()[0] != 700)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
