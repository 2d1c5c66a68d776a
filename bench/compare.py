"""Which costs have moved since bench/kept.json was saved?

The cost of each case of bench/cases.py is divided by that of a bare call, of a Python function of two arrays, timed beside it
in the same run: a slow or busy machine cancels. The instructions of the hottest calls follow, as `python -m bench instructions`
counts them. What moved by more than 25 % is printed (5 % for instructions), and the exit status is 1 where something costs more
than twice what was kept (5 % more for instructions).

    python -m bench compare                    print what moved
    python -m bench compare --all              print every case
    python -m bench compare --only chain vmap  the cases whose names hold one of the words
    python -m bench compare --save             keep what is measured, for this CPython
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bench import instructions, kept, table
from bench.cases import cases
from bench.timing import measure

# Many short batches find a quiet moment for each case.
ROUNDS, RUNS = 100, 3


def main(words: Sequence[str]) -> None:
    """Measure the cases named, or all; compare, or save."""
    given = kept.options(words, "compare")
    known = cases()
    names = kept.chosen(known, given.only)
    if not names:
        raise SystemExit(f"No case's name holds {' or '.join(given.only)}. Those here: {', '.join(known)}.")
    section = kept.Section("ratios", kept.VERSION, 1.25, 2, True, {"processor": table.processor()} | kept.builds())
    seen = ratios(names)
    if given.save:
        kept.save(section, seen, whole=not given.only)
    may_be = given.save or kept.compare(section, seen, everything=given.all)
    if kept.chosen(instructions.HOTTEST, given.only):
        print()
        instructions.main(words)
    if not may_be:
        raise SystemExit(1)


def ratios(names: Sequence[str]) -> dict[str, float]:
    """What one part of each case costs, in bare calls."""
    bare = {"_bare": bare_call, "_x": np.ones(3), "_y": np.ones(3)}
    known = cases()
    timed = {
        name: replace(known[name], names={**known[name].names, **bare}, kernel="_bare(_x, _y)") for name in names
    }
    return {
        name: float(f"{timing.call / timing.kernel / known[name].parts:.3g}")
        for name, timing in measure(timed, ROUNDS, runs=RUNS).items()
        if timing.kernel is not None
    }


def bare_call(x: Any, y: Any) -> Any:
    """What everything is measured in: the least that a call in Python can do."""
    return x
