"""Times cases side by side, and keeps the fastest batch of each.

A batch is some runs of one statement; a round is one batch of every case. What disturbs a machine lasts longer than a round, so
that it disturbs all cases alike, and the fastest batch is one that was not disturbed. Processor time is counted, not what other
processes take of a processor's time meanwhile.
"""

import time
import timeit
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

# One batch takes a millisecond: 10 000 ticks of the clock, and short beside the scheduler's slice. A slow statement
# gets 30 runs all the same, or what the batch before left in the caches would show.
BATCH = 1e-3
RUNS = 30
ROUNDS = 60

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Case:
    """A statement to time, and the statement that calls its kernel alone.

    ``within`` gives a context that is entered around each batch, a mode for example. ``parts`` is the number of nodes or items
    that one run of the statement handles.
    """

    call: str
    names: Mapping[str, Any]
    kernel: str | None = None
    within: Callable[[], AbstractContextManager[object]] = nullcontext
    parts: int = 1

    def function(self) -> Callable[[], object]:
        """The statement as a function without parameters."""
        scope = dict(self.names)
        exec(f"def statement():\n    {self.call}", scope)
        statement: Callable[[], object] = scope["statement"]
        return statement


@dataclass(frozen=True)
class Timing:
    """Nanoseconds of one statement, and of its kernel where it has one."""

    call: float
    kernel: float | None = None

    @property
    def over(self) -> float | None:
        """What the statement costs beyond its kernel."""
        return None if self.kernel is None else self.call - self.kernel

    @property
    def cost(self) -> float:
        """The cost beyond the kernel; that of the whole statement where there is no kernel."""
        return self.call if self.kernel is None else self.call - self.kernel


@dataclass
class Stopwatch:
    """One statement's timer, the number of runs in a batch, and the batches so far (nanoseconds a run)."""

    statement: str
    names: Mapping[str, Any]
    within: Callable[[], AbstractContextManager[object]]
    batch: float
    runs: int = RUNS
    batches: list[float] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.timer = timeit.Timer(self.statement, timer=time.process_time, globals=dict(self.names))
        self.number = self.runs
        while (seconds := self.seconds()) < self.batch / 4:
            self.number *= 4
        self.number = max(self.runs, round(self.number * self.batch / seconds))

    def seconds(self) -> float:
        """One batch, after a few runs that are not counted; timeit switches the garbage collector off meanwhile."""
        with self.within():
            self.timer.timeit(max(1, self.runs // 5))
            return self.timer.timeit(self.number)

    def run(self) -> None:
        """One batch more."""
        self.batches.append(self.seconds() / self.number * 1e9)

    def fastest(self, lucky: float = 0.0) -> float:
        """The fastest batch, a share of lucky ones left out."""
        return sorted(self.batches)[int(lucky * len(self.batches))]


def measure(
    cases: Mapping[Name, Case], rounds: int = ROUNDS, batch: float = BATCH, runs: int = RUNS, lucky: float = 0.0
) -> dict[Name, Timing]:
    """Time every case and its kernel, round-robin, and keep each one's fastest batch of at least that many seconds and runs.

    Of batches of one run some are lucky: the processor runs faster for a moment. `lucky` is the share of such to leave out.
    """
    calls = {name: Stopwatch(case.call, case.names, case.within, batch, runs) for name, case in cases.items()}
    kernels = {
        name: Stopwatch(case.kernel, case.names, case.within, batch, runs)
        for name, case in cases.items()
        if case.kernel is not None
    }
    for _ in range(rounds):
        for name, watch in calls.items():
            watch.run()
            if name in kernels:
                kernels[name].run()
    of_kernels = {name: watch.fastest(lucky) for name, watch in kernels.items()}
    return {name: Timing(watch.fastest(lucky), of_kernels.get(name)) for name, watch in calls.items()}


def fastest(seconds: Iterable[float]) -> float:
    """The least of some measured seconds, in nanoseconds."""
    return min(seconds) * 1e9
