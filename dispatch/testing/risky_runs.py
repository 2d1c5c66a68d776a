"""Calls that may end the process or take long, made in a copy of the child: a part of `test_schema`.

A kernel that writes to an argument and puts back what was there leaves no trace, save where the arguments lie in pages that the
system lets nobody write to. One that works in another way beyond some length is called with long arrays.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from .cases import Case, Options
from .guarded_memory import on_read_only_pages
from .kernel_runs import keeps_writeable, quietly
from .report import Findings
from .variants import longer

PATIENCE = 2  # seconds for all of these calls: a kernel may take the cube of a length
FAULTS = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL")  # the signals that a kernel brings upon itself


class RiskyRuns:
    """Calls for a copy of the process: with arguments on read-only pages, and with long arrays."""

    def __init__(self, case: Case, written: list[bool], options: Options, look: Callable[[Case, Findings], object]) -> None:
        self._case, self._look, self._options = case._replace(say=None), look, options
        self._kept = [may or keep for may, keep in zip(written, keeps_writeable(case), strict=True)]

    def _longer(self) -> Iterator[Case]:
        for what, args in longer(self._case.args, self._case.places(self._options.fixed)):
            yield self._case.with_args(args, f" on the sample {what}")

    def calls(self) -> Iterator[dict[Any, str]]:
        """Yield the faults of each call, none of the first: that ends the process or finds nothing."""
        signal.setitimer(signal.ITIMER_REAL, self._options.patience(PATIENCE))
        arrays = [
            x.copy(order="K") if keep else on_read_only_pages(x) for x, keep in zip(self._case.arrays, self._kept, strict=True)
        ]
        with quietly(), suppress(Exception):  # it is told elsewhere what it raises on read-only arrays
            self._case.call(self._case.with_arrays(arrays))
        yield {}
        for case in self._longer():
            findings = Findings(case.name)
            self._look(case, findings)
            yield findings.faults

    def report(self, findings: Findings, found: list[dict[Any, str]], ended: str) -> None:
        """Record what was found, and the signal that ended the copy."""
        findings.runs += len(found)
        for faults in found:
            for key, text in faults.items():
                findings.faults.setdefault(key, text)
        if ended not in FAULTS or findings.faults:
            return
        names = [label for label, keep in zip(self._case.labels, self._kept, strict=True) if not keep]
        if last := next(islice(self._longer(), len(found) - 1, None), None) if found else None:
            findings.fault(
                "long",
                f"the {last.kernel} ended the process with {ended}{last.what} ({last.given()}). Refuse such arguments with an "
                "exception, or make its buffers as long as they have to be.",
            )
        elif names and not found:
            findings.fault(
                ("write", "pages"),
                f"the {self._case.kernel} writes to its argument {' or '.join(names)} and puts back what was there: where the "
                f"arguments lie in pages of memory that nobody may write to, it ended the process with {ended}. Other threads "
                "read the array meanwhile. Compute on a copy.",
            )
