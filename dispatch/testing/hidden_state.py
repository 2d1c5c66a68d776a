"""What a kernel keeps from one call to the next, and what it changes for everybody: a part of `test_schema`."""

import decimal
import gc
import locale
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..schema.tags import Tag
from .cases import Case, Options
from .closeness import difference
from .kernel_runs import results, run
from .report import Findings
from .variants import halved, last_changed, others, sizes

GENERATORS: tuple[tuple[str, Any], ...] = (
    ("NumPy's global generator", lambda: np.random.mtrand),
    ("the generator of the module random", lambda: random),
)
FILTERS = "the filters of warnings"
PATH = "where modules are looked for"
ONCE = (FILTERS, PATH)  # the first call may change them, by what it imports
SETTINGS: tuple[tuple[str, Callable[[], Any]], ...] = (
    ("how NumPy treats floating-point errors", np.geterr),
    ("how NumPy prints", lambda: {**np.get_printoptions(), "formatter": None}),
    ("the working directory", os.getcwd),
    ("the environment", lambda: dict(os.environ)),
    (FILTERS, lambda: list(warnings.filters)),
    (PATH, lambda: list(sys.path)),
    ("the precision of the module decimal", lambda: (decimal.getcontext().prec, decimal.getcontext().rounding)),
    ("the garbage collector", lambda: (gc.isenabled(), gc.get_threshold())),
    ("the recursion limit", sys.getrecursionlimit),
    ("the locale", lambda: locale.setlocale(locale.LC_ALL)),
)


class Changes:
    """Tells which settings of the process are changed by calls, each in a block of `call()`."""

    def __init__(self) -> None:
        self.changed: list[str] = []
        self._imported: set[str] = set()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Look at the process before and after a call."""
        with np.errstate(all="warn"), warnings.catch_warnings(record=True):  # what a kernel turns off is on
            warnings.simplefilter("default")
            before = [read() for _, read in SETTINGS]
            try:
                yield
            finally:
                found = [name for (name, read), old in zip(SETTINGS, before, strict=True) if read() != old]
                first = {name for name in found if name in ONCE and name not in self._imported}
                self._imported |= first
                self.changed += [name for name in found if name not in first and name not in self.changed]

    def report(self, case: Case, findings: Findings) -> None:
        """Record what was found."""
        for name in self.changed:
            findings.fault(
                ("setting", name),
                f"the {case.kernel} leaves {name} changed{case.what}, for everybody in the process. Put it back: "
                "`with np.errstate(...)`, `with np.printoptions(...)`, `with warnings.catch_warnings()`, or try and finally.",
            )


class Watched:
    """Tells what a kernel changes for the whole process, by two calls in a `with` block, each in a block of `call()`.

    A generator of random numbers that everybody draws from is in one state after both calls if the kernel seeds it. After the
    block the generators are as they were.
    """

    def __enter__(self) -> "Watched":
        self._changes = Changes()
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
        # in the child the sample is first, in the copy another size: what is made for the first call shows
        for what, args in [*list(sizes(case.args, kept, only_longer=bool(integers)))[:1], ("", case.args)]:
            other = others(args, kept | integers)
            self._late += [case.with_args(x, f" on the sample {what}" if what else "") for x in (args, other)]
            self.early.append(case.with_args(other)._replace(say=None))
        # a kernel may keep results by less than all elements, and refuse values that are in another order
        for change in (last_changed, halved):
            changed = case.with_args(change(case.args, kept | integers))
            self._late += [case, changed]
            self.early.append(changed._replace(say=None))

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
                        f"the {self.case.kernel} gives another {name} for the same arguments after a call with others: it "
                        "keeps something from call to call. Compute it from the arguments, or keep it by all it depends on.",
                    )
