"""A walk over items: in parts, by several threads, and on the way from one item to the next nothing but C."""

import ctypes
import re
import signal
import threading
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.core.test_annotated import ROOT, body, directives
from tests.operators.gufunc.test_loop import A, looped

SOURCE = Path(ROOT) / "dispatch" / "operators" / "gufunc" / "walk.pyx"


def parts(*bounds):
    """Runs a walk in these parts, one after the other."""

    def spread(walk):
        assert walk.count == 8
        for start, stop in bounds:
            walk.run(start, stop)

    return spread


def test_a_walk_can_be_run_in_parts_in_any_order():
    for bounds in ([(1, 8)], [(5, 8), (1, 2), (2, 5)], [(i, i + 1) for i in range(7, 0, -1)]):
        x = np.asfortranarray(A)
        assert np.array_equal(looped("(n)->(n)", lambda x: x + 1, spread=parts(*bounds))(x), A + 1)
        y = np.arange(4.0)
        assert np.array_equal(looped("(n),()->(n)", np.multiply, spread=parts(*bounds))(A, y), A * y[:, None])


def test_the_first_item_is_run_before_a_walk_is_spread():
    seen = []
    looped("(n)->(n)", lambda x: seen.append(x[0]) or x, spread=lambda walk: seen.append("spread"))(A)
    assert seen == [0.0, "spread"]


def test_one_item_is_not_spread():
    assert looped("(n)->(n)", lambda x: x, spread=None.__getattribute__)(A[:1, :1]).shape == (1, 1, 3)


def test_no_item_is_started_behind_the_one_that_stopped_the_walk():
    seen = []

    def spread(walk):
        walk.stop_before(5)
        walk.stop_before(7)
        walk.run(3, 8)
        walk.run(1, 3)

    looped("(n)->(n)", lambda x: seen.append(int(x[0]) // 3) or x, spread=spread)(A)
    assert seen == [0, 3, 4, 1, 2]


def test_parts_run_at_once_in_threads():
    both = threading.Barrier(2)

    def kernel(x):
        if x[0]:
            both.wait()  # each thread's items meet the other's, or this never ends
        return x + 1

    def spread(walk):
        thread = threading.Thread(target=walk.run, args=(1, 4))
        thread.start()
        walk.run(4, 7)
        thread.join()

    out = looped("(n)->(n)", kernel, spread=spread)(A)
    assert np.array_equal(out.reshape(8, 3)[:7], (A + 1).reshape(8, 3)[:7])


def test_a_signal_is_answered_between_items():
    class HeardError(Exception):
        pass

    def hear(*args):
        raise HeardError

    # C to the bottom, where nobody looks for a signal: the first time the key of 0.0 is asked for, one is sent.
    send = partial(ctypes.CDLL(None)["raise"], int(signal.SIGUSR1))
    kernel = partial(max, key=defaultdict(send).__getitem__)
    rows = np.zeros((5000, 1))
    before = signal.signal(signal.SIGUSR1, hear)
    try:
        with pytest.raises(HeardError) as caught:
            looped("(n)->()", kernel)(rows)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert caught.value.__notes__ == ["at item [1024] of the loop"]


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """(score, line) of every line of walks.pyx; the score of a line is 0 where its C is C and nothing else."""
    main = pytest.importorskip("Cython.Compiler.Main", reason="Cython is not installed (extra `test`)")
    folder = tmp_path_factory.mktemp("annotated")
    options = main.CompilationOptions(
        annotate=True, output_file=str(folder / "walks.c"), compiler_directives=directives(), include_path=[str(ROOT)]
    )
    result = main.compile_single(str(SOURCE), options, "dispatch.operators.gufunc.walk")
    assert result.num_errors == 0
    scores = re.findall(r'class="cython line score-(\d+)"', (folder / "walks.html").read_text())
    return list(zip(map(int, scores), SOURCE.read_text().splitlines(), strict=False))


@pytest.mark.parametrize("function", ["step", "stored", "advance"])
def test_from_item_to_item_there_is_no_python(scored, function):
    lines = body(scored, function)
    assert len(lines) > 8
    assert [line for score, line in lines if score] == []
