"""The process whose instructions bench/instructions.py counts: ``python -m bench.hottest NAME...``."""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from itertools import repeat

from bench.peers.dispatch import cases
from bench.timing import Case

NAMES = ("2 arrays", "2 arrays by keyword", "14 arrays", "tracked forward", "jvp", "fake", "vmap")
# A function of the C library that nothing here calls otherwise: callgrind writes its counts whenever it is entered.
MARK = "getppid"
# Before these, CPython has not yet specialised the loop, nor have our tables been filled.
WARM_UP = 300
RUNS = 1000


def run(names: Sequence[str]) -> None:
    """Each call many times and twice as many times, with a mark before, between and after."""
    known = cases()
    gc.disable()
    for name in names:
        loop = loop_of(known[name])
        with known[name].within():
            loop(WARM_UP)
            os.getppid()
            loop(RUNS)
            os.getppid()
            loop(2 * RUNS)
            os.getppid()


def loop_of(case: Case) -> Callable[[int], None]:
    """A function that runs the statement so many times."""
    scope = {**case.names, "_repeat": repeat}
    exec(f"def loop(number):\n    for _ in _repeat(None, number):\n        {case.call}", scope)
    loop: Callable[[int], None] = scope["loop"]
    return loop


if __name__ == "__main__":
    run(sys.argv[1:])
