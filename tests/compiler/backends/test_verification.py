"""What an engine gives on its first call is held to NumPy; where it differs, the calls are replayed, with a warning."""

import threading
import time

import numpy as np
import pytest

import dispatch
from dispatch.compiler.backends.verification import Verified, alike, empty
from dispatch.errors import PerformanceWarning

WARNED = r"^compile: the backend 'made' does not run a part of 2 nodes, which is replayed: "


def compiled(function, f=np.exp):
    """`f`, compiled by a backend that runs `function` in its place; and how often that ran."""
    runs = []

    def made(graph, metadata):
        def run(x):
            runs.append(1)
            return function(x)

        return run

    return dispatch.compile(f, backend=made), runs


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: [np.exp(x) + 1e-6], "exp, of .*, is not what NumPy gives, which it should be to 1e-09 of the largest number"),
        (lambda x: [np.exp(x).astype("f4")], r"exp, of .*, is ndarray of float32 and shape \(3,\), and NumPy's is ndarray of float64 and"),
        (lambda x: [np.exp(x)[:2]], r"exp, of .*, is ndarray of float64 and shape \(2,\), and NumPy's"),
        (lambda x: [], "it gave 0 results, not 1"),
        (lambda x: [np.full(3, np.nan)], "exp, of .*, is not what NumPy gives"),
        (lambda x: 1 / 0, "it raised ZeroDivisionError: division by zero"),
        (lambda x: [np.frombuffer(np.exp(x).tobytes())], "exp, of .*, has memory that is not its own"),
        (lambda x: [np.add(x, 1.0, out=x)], "exp, of .*, has memory that is not its own"),
    ],
)
def test_a_difference_falls_back_with_a_warning_that_names_it(function, said):
    run, runs = compiled(function)
    with pytest.warns(PerformanceWarning, match=WARNED + said) as warned:
        assert np.array_equal(run(np.zeros(3)), np.ones(3)) or "own" in said
    assert warned[0].filename == __file__
    first = len(runs)
    np.testing.assert_array_equal(run(np.ones(3)), np.exp(np.ones(3)))
    assert len(runs) == first


def test_an_engine_that_agrees_runs_alone():
    run, runs = compiled(lambda x: [np.exp(x) * (1 + 1e-12)])
    np.testing.assert_array_equal(run(np.ones(3)), np.exp(np.ones(3)))
    assert not np.array_equal(run(np.ones(3)), np.exp(np.ones(3)))
    assert len(runs) == 2


@pytest.mark.parametrize("chooses", [False, True])
@pytest.mark.parametrize("costs", [(1.0, 2.0), (2.0, 1.0)])
def test_what_chooses_runs_the_faster_of_the_two(monkeypatch, chooses, costs):
    now, (x,) = [0.0], [np.ones(3)]

    def taking(cost):
        def run(x):
            now[0] += cost
            return [np.exp(x)]

        return run

    engine, replay = map(taking, costs)
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    made = Verified("made", dispatch.make_fx(lambda x: [np.exp(x)])(x), engine, replay, chooses)
    made(x)
    assert made.run[0] is (replay if chooses and costs[0] > costs[1] else engine)
    slower = "is replayed, which took less time on the first call than 'made'"
    assert made.said == (slower if chooses and costs[0] > costs[1] else "runs by 'made'")


def test_numbers_and_strides_become_those_of_numpy():
    run, _ = compiled(lambda x: [np.asarray(np.sum(x))], np.sum)
    assert [type(run(np.ones(3))) for _ in range(2)] == [np.float64] * 2
    x = np.asfortranarray(np.ones((2, 3)))
    run, _ = compiled(lambda x: [np.exp(x).copy("C")])
    assert [run(x).strides for _ in range(2)] == [(8, 16)] * 2


def test_the_first_call_of_two_threads_is_verified_once():
    start, runs = threading.Barrier(2), []
    run, runs = compiled(lambda x: [np.exp(x)])
    run.explain(np.ones(3))  # traced, and not run

    def called():
        start.wait()
        run(np.ones(3))

    threads = [threading.Thread(target=called) for _ in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(runs) == 2  # one of them beside the replay


def test_closeness_is_in_parts_of_the_largest_number():
    big = np.array([1e10, 1.0, np.inf, np.nan, -0.0])
    assert alike(big + np.array([0.0, 1.0, 0.0, 0.0, 0.0]), big)
    assert not alike(big + np.array([0.0, 100.0, 0.0, 0.0, 0.0]), big)
    assert not alike(-big, big)
    assert not alike(np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    assert alike(np.float32(1.00001), np.float32(1.0))
    assert not alike(np.float32(1.001), np.float32(1.0))
    assert alike(np.array([1 + 1e-12j]), np.array([1 + 0j]))
    assert not alike(np.array([1 + 1e-3j]), np.array([1 + 0j]))
    assert not alike(np.array([1, 2]), np.array([1, 3]))
    assert alike(np.empty(0), np.empty(0))


@pytest.mark.parametrize("strides", [(24, 8), (8, 16), (80, 16)])
def test_an_empty_array_has_its_strides(strides):
    x = empty((2, 3), np.dtype(float), strides)
    x[...] = np.arange(6.0).reshape(2, 3)
    assert (x.strides, x.tolist()) == (strides, [[0, 1, 2], [3, 4, 5]])
    assert empty((0, 3), np.dtype(float), (24, 8)).shape == (0, 3)


def test_the_faster_of_the_two_is_found_where_their_first_runs_take_longer(monkeypatch):
    """An engine's first run finds nothing in the caches, and one run alone would choose the replay for all later calls."""
    now, (x,) = [0.0], [np.ones(3)]
    costs = {"engine": iter([0.1, 9.0, *[0.1] * 99]), "replay": iter([0.2] * 99)}

    def taking(name):
        def run(x):
            now[0] += next(costs[name])
            return [np.exp(x)]

        return run

    engine, replay = map(taking, costs)
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    made = Verified("made", dispatch.make_fx(lambda x: [np.exp(x)])(x), engine, replay, chooses=True)
    assert made.said == "runs by 'made', once a first call has held it to NumPy"
    made(x)
    assert made.run[0] is engine
    assert made.said == "runs by 'made'"


@pytest.mark.parametrize(
    ("costs", "chosen"), [((3.0, 2.0, 1.0), "replay"), ((1.0, 2.0, 3.0), "made"), ((2.0, 1.0, 3.0), "other"), ((1.0, None, 2.0), "made"), ((None, 1.0, 2.0), "other")]
)
def test_the_fastest_of_several_engines_that_are_right_runs(monkeypatch, costs, chosen):
    """An engine without a cost is wrong, which is not said where another is right."""
    now, (x,) = [0.0], [np.ones(3)]

    def taking(cost):
        def run(x):
            now[0] += cost or 0.0
            return [np.exp(x) + (cost is None)]

        return run

    engine, rival, replay = made = list(map(taking, costs))
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    held = Verified("made", dispatch.make_fx(lambda x: [np.exp(x)])(x), engine, replay, True, {"other": rival})
    assert held.said == "runs by 'made' or 'other', once a first call has held it to NumPy"
    held(x)
    assert held.run[0] is made[["made", "other", "replay"].index(chosen)]
    slower = "is replayed, which took less time on the first call than 'made' and 'other'"
    assert held.said == (slower if chosen == "replay" else f"runs by {chosen!r}")


def test_one_turn_of_each_is_long_enough_for_what_the_last_one_left_running(monkeypatch):
    """An engine whose first runs after another's lack a processor is faster by itself, and that is how it will run."""
    now, last, (x,) = [0.0], [None, 0.0], [np.ones(3)]

    def taking(name, alone, after_another):
        def run(x):
            if last[0] != name:
                last[:] = name, now[0]
            now[0] += after_another if now[0] - last[1] < 0.027 else alone
            return [np.exp(x)]

        return run

    engine, replay = taking("engine", 0.0015, 0.0015), taking("replay", 0.001, 0.004)
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    made = Verified("made", dispatch.make_fx(lambda x: [np.exp(x)])(x), engine, replay, chooses=True)
    made(x)
    assert made.run[0] is replay


@pytest.mark.parametrize(
    ("function", "chooses", "said"),
    [
        (lambda x: [np.exp(x)], False, "runs by 'made'"),
        (lambda x: [np.exp(x) + 1], False, "is replayed: exp, of "),
        (lambda x: 1 / 0, True, "is replayed: it raised ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.filterwarnings("ignore::dispatch.errors.PerformanceWarning")
def test_which_runs_is_said(function, chooses, said):
    graph = dispatch.make_fx(lambda x: [np.exp(x)])(np.ones(3))
    made = Verified("made", graph, function, lambda x: [np.exp(x)], chooses)
    made(np.ones(3))
    assert made.said.startswith(said)
