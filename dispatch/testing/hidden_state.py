"""What a kernel keeps from one call to the next, and what it changes for everybody: a part of `test_schema`."""

import decimal
import gc
import locale
import os
import random
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from ..schema.tags import Tag
from .cases import Case, Options, another
from .closeness import difference
from .kernel_runs import results, run
from .report import Findings
from .variants import flags, halved, last_changed, numbers, others, reordered, sizes

GENERATORS: tuple[tuple[str, Any], ...] = (
    ("NumPy's global generator", lambda: np.random.mtrand),
    ("the generator of the module random", lambda: random),
)
MOST_OF_NUMBERS = 4  # calls with another number: each is one more in the copy, and two late
HALF, LEAST = 2.0**-53, 2.0**-1074  # half of what 1 is known by, and the least number there is
STREAMS = 0, 1, 2
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGFPE") if hasattr(signal, name))


def _environment() -> dict[Any, Any]:
    return dict(getattr(os.environ, "_data", os.environ))  # as bytes: to decode them takes 0.1 ms, at every call


def _streams() -> list[Any]:
    """What Python reads and prints by, and what stands behind the numbers that every library does."""
    found: list[Any] = [sys.stdin, sys.stdout, sys.stderr]
    for number in STREAMS:
        try:
            status = os.fstat(number)
        except OSError:  # it is closed
            continue
        found.append((number, status.st_dev, status.st_ino))
    return found


def _rounding() -> tuple[float, ...]:
    """Sums that differ by the way of rounding, and a product that is 0 where the processor has no numbers below 1e-308."""
    return 1.0 + HALF, -1.0 - HALF, 1.0 + 3.0 * HALF, LEAST * 1.0


def _log_levels() -> Any:
    logging = sys.modules.get("logging")
    return logging and (logging.root.level, logging.root.manager.disable)


FILTERS = "the filters of warnings"
PATH = "where modules are looked for"
ONCE = (FILTERS, PATH)  # the first call may change them, by what it imports
Setting = tuple[str, Callable[[], Any], str]
SETTINGS: tuple[Setting, ...] = (
    ("how NumPy treats floating-point errors", np.geterr, "Write `with np.errstate(...)`."),
    ("how NumPy prints", lambda: {**np.get_printoptions(), "formatter": None}, "Write `with np.printoptions(...)`."),
    ("the working directory", os.getcwd, "Name files by their whole path, or write `with contextlib.chdir(...)`."),
    ("the environment", _environment, "Put it back in `finally`, or give it to a program alone: env=."),
    (FILTERS, lambda: list(warnings.filters), "Write `with warnings.catch_warnings()`."),
    (PATH, lambda: list(sys.path), "Put it back in `finally`."),
    (
        "the precision of the module decimal", lambda: (decimal.getcontext().prec, decimal.getcontext().rounding),
        "Write `with decimal.localcontext()`.",
    ),
    ("the garbage collector", lambda: (gc.isenabled(), gc.get_threshold()), "Put it back in `finally`."),
    ("the recursion limit", sys.getrecursionlimit, "Put it back in `finally`."),
    ("the locale", lambda: locale.setlocale(locale.LC_ALL), "Put it back in `finally`."),
    ("how the processor rounds", _rounding, "Put it back, by fesetround() or fesetenv()."),
    ("which messages the module logging lets through", _log_levels, "Set the level of a logger of your own, and not of all."),
)
SLOWER: tuple[Setting, ...] = (  # to be read, and so at two calls alone
    ("where the process reads and prints", _streams, "Write `with contextlib.redirect_stdout(...)`, or os.dup2() it back."),
    ("what a signal does", lambda: [signal.getsignal(number) for number in SIGNALS], "Put the handler back in `finally`."),
)  # fmt: skip


class Changes:
    """Tells which settings of the process are changed by calls, each in a block of `call()`."""

    def __init__(self, settings: tuple[Setting, ...] = SETTINGS) -> None:
        self.settings = settings
        self.changed: list[str] = []
        self._imported: set[str] = set()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Look at the process before and after a call."""
        with np.errstate(all="warn"), warnings.catch_warnings(record=True):  # what a kernel turns off is on
            warnings.simplefilter("default")
            before = [read() for _, read, _ in self.settings]
            try:
                yield
            finally:
                found = [name for (name, read, _), old in zip(self.settings, before, strict=True) if read() != old]
                first = {name for name in found if name in ONCE and name not in self._imported}
                self._imported |= first
                self.changed += [name for name in found if name not in first and name not in self.changed]

    def report(self, case: Case, findings: Findings) -> None:
        """Record what was found."""
        advice = {name: said for name, _, said in self.settings}
        for name in self.changed:
            findings.fault(
                ("setting", name),
                f"the {case.kernel} leaves {name} changed{case.what}, for everybody in the process. {advice[name]}",
            )


class Watched:
    """Tells what a kernel changes for the whole process, by two calls in a `with` block, each in a block of `call()`.

    A generator of random numbers that everybody draws from is in one state after both calls if the kernel seeds it. After the
    block the generators are as they were.
    """

    def __enter__(self) -> "Watched":
        self._changes = Changes(SETTINGS + SLOWER)
        self._generators = [(name, find()) for name, find in GENERATORS]
        self._kept = [_state(generator) for _, generator in self._generators]
        for _, generator in self._generators:
            generator.random()  # a call of the user's may have left it as the kernel does
        self._states = [[_state(generator)] for _, generator in self._generators]
        return self

    def __exit__(self, *raised: object) -> None:
        for (_, generator), state in zip(self._generators, self._kept, strict=True):
            (generator.set_state if hasattr(generator, "set_state") else generator.setstate)(state)

    @contextmanager
    def call(self) -> Iterator[None]:
        """Look at the process before and after a call."""
        try:
            with self._changes.call():
                yield
        finally:
            for seen, (_, generator) in zip(self._states, self._generators, strict=True):
                seen.append(_state(generator))

    @property
    def seeded(self) -> list[str]:
        """The generators that the first call changed, and the second left in the same state."""
        pairs = zip(self._generators, self._states, strict=True)
        return [name for (name, _), (start, *ends) in pairs if not _equal(start, ends[0]) and _equal(*ends)]

    def report(self, case: Case, findings: Findings) -> None:
        """Record what was found."""
        self._changes.report(case, findings)
        for name in self.seeded:
            findings.fault(
                ("seeds", name),
                f"the {case.kernel} seeds {name}, so that everybody's random numbers repeat from there. Draw from one of its "
                "own: np.random.default_rng(seed).",
            )


def _of_other_numbers(case: Case, options: Options) -> Iterator[Case]:
    """Yield the case with another choice, flag or number, each alone."""
    yield from case.branches(options.fixed)
    for what, args in (*flags(case.args), *numbers(case.args, case.op.arguments.names, options.fixed)):
        yield case.with_args(args, what)


def _state(generator: Any) -> Any:
    return (generator.get_state if hasattr(generator, "get_state") else generator.getstate)()


def _equal(a: Any, b: Any) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


class Orders:
    """Calls of a kernel that come first in a copy of the child process, and late in the child itself.

    A kernel that keeps something from its first call, or results by less than they depend on, gives other results late.
    """

    def __init__(self, case: Case, written: list[bool], options: Options) -> None:
        self.case, self.written, self.options = case, written, options
        self.early: list[Case] = []
        self._late: list[Case] = []
        if Tag.random in case.op.tags:
            return
        kept, integers = case.places(options.fixed), case.integers

        def add(args: Any, other: Any, what: str = "") -> None:
            self._late += [case.with_args(x, what) for x in (args, other)]
            self.early.append(case.with_args(other)._replace(say=None))

        # in the child the sample is first, in the copy another size: what is made for the first call shows
        for what, args in islice(sizes(case.args, kept, only_longer=bool(integers)), 1):
            add(args, others(args, kept | integers), f" on the sample {what}")
        for other in islice(_of_other_numbers(case, options), MOST_OF_NUMBERS):  # by which results have to be kept too
            now, then = [halved(x.args, x.places(options.fixed) | x.integers) for x in (case, other)]
            add(now, then)
        # a kernel may keep results by less than all elements, by their sum say, and refuse values that are in another order
        for change in (reordered, last_changed, halved):
            add(case.args, change(case.args, kept | integers))

    def calls(self) -> Iterator[list[tuple[str, Any]]]:
        """Yield the results of each early call."""
        return map(self._results, self.early)

    def _results(self, case: Case) -> list[tuple[str, Any]]:
        made = run(case, self.written, readonly=False)
        return [] if made.error is not None else results(case, made, self.written)

    def compare(self, findings: Findings, early: list[list[tuple[str, Any]]]) -> None:
        """Record where an early call differs from the same call late."""
        late = [self._results(x) for x in self._late][1::2] if early else []
        for ours, theirs in zip(late, early, strict=False):
            for (name, x), (_, y) in zip(ours, theirs, strict=False):
                if difference(x, y, rtol=self.options.rtol, atol=self.options.atol):
                    findings.fault(
                        ("order", name),
                        f"the {self.case.kernel} gives {another(name)} for the same arguments after a call with others: it "
                        "keeps something from call to call. Compute it from the arguments, or keep it by all it depends on.",
                    )
