"""The table of our own cases, by name: `python -m bench compare` and `pytest bench` both measure these.

They are the calls of bench/call.py, and one case of each other question that is about time: a long tape, tracing, replaying,
defining an operator, the loop of ``signature=``.
"""

from collections.abc import Callable
from functools import cache
from itertools import count
from types import FunctionType
from typing import Any

import numpy as np

from bench import gufunc, register, trace
from bench.peers import dispatch as ours
from bench.timing import Case

# A batch of five runs is short enough to go undisturbed on a busy machine.
NODES = 100
# One kernel of bench/gufunc.py, on rows of three.
KERNEL = "lambda x: x, (3)"


@cache
def cases() -> dict[str, Case]:
    """Every case; made once in a process, for an operator's name is the process's."""
    others = {"define an operator": definition(), "gufunc, an item": loop()}
    return ours.cases() | {"chain, a node": chain()} | tracing() | others


def chain() -> Case:
    """Sines one after the other, and their gradient."""
    forward, backward = ours.chain(NODES)
    return Case("forward(); backward()", {"forward": forward, "backward": backward}, parts=NODES)


def tracing() -> dict[str, Case]:
    """make_fx in each mode, and the replay of what it gave, on three float64."""
    found = {f"{what} {mode}, a node": case for (what, mode), case in trace.traces().items()}
    found["replay, a node"] = trace.replays()["replay", "3 float64"]
    return {name: Case(case.call, case.names, case.kernel, case.within, trace.NODES) for name, case in found.items()}


def definition() -> Case:
    """An operator with a fake rule and a gradient: another name and other functions each time."""
    functions, numbers = register.fresh(np.ndarray, np.empty_like), count()

    def define() -> object:
        return ours.define(f"compared_{next(numbers)}", *map(copied, functions))

    return Case("define()", {"define": define})


def copied(function: Callable[..., Any]) -> FunctionType:
    """The same function as another object: nothing that was remembered of the first one helps."""
    assert isinstance(function, FunctionType)
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__annotations__ = dict(function.__annotations__)
    return copy


def loop() -> Case:
    """The loop of ``signature=`` over a kernel that does nothing."""
    case, _ = gufunc.cases(gufunc.KERNELS[KERNEL], "bench_compared::loop")
    return Case(case.call, case.names, case.kernel, parts=gufunc.ITEMS)
