"""The collector is paused while a graph is made, and is afterwards as it was, whatever happened."""

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import dispatch
from dispatch.core.collector import MANY, collector_paused


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


@pytest.mark.parametrize(("new", "frozen", "on", "asked"), [
    (MANY + 1, 0, True, ["freeze", "unfreeze"]),
    (10, 0, True, []),
    (MANY + 1, 7, True, []),  # which unfreeze would let go too
    (MANY + 1, 0, False, []),
])  # fmt: skip
def test_many_new_objects_are_old_afterwards(monkeypatch, new, frozen, on, asked):
    seen, held = [], []
    monkeypatch.setattr(gc, "freeze", lambda: seen.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: seen.append("unfreeze"))
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    gc.collect()
    if not on:
        gc.disable()
    try:
        with collector_paused():
            held.extend([[i] for i in range(new)])
    finally:
        gc.enable()
    assert seen == asked


def test_no_collection_walks_what_is_old_then():
    """In a process of its own: what pytest has made is frozen here."""
    text = """if True:
        import gc
        from dispatch.core.collector import MANY, collector_paused
        gc.collect()
        print(gc.get_freeze_count())
        seen = []
        gc.callbacks.append(lambda phase, info: seen.append(phase))
        with collector_paused():
            held = [[i] for i in range(MANY + 1)]
            held[0].append(held[0])
        print(seen, gc.get_freeze_count(), any(x is held[0] for x in gc.get_objects(generation=0)))
        del held
        print(gc.collect() >= 1)
    """
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    frozen, rest = said.stdout.split("\n", 1)
    if frozen != "0":  # of CPython 3.12, from its start: what the user has frozen cannot be told from it
        assert rest.endswith(f" {frozen} False\nTrue\n")
    else:
        assert rest == "[] 0 False\nTrue\n"


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
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning", "ignore:os.fork:RuntimeWarning")  # Python, and JAX where it is loaded
def test_a_process_that_is_forked_meanwhile_collects():
    with collector_paused():
        child = os.fork()
        if not child:
            os._exit(gc.get_threshold()[0] != 700)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
