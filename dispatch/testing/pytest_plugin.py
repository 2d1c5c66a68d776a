"""`pytest --opcheck PACKAGE`: every operator that a package defines, one test for each check and sample.

npdispatch_pytest.py loads this when the option is given. The tests come beside those that pytest finds in files; `-m opcheck`
runs them alone. Checks of one sample run together, when the first of their tests does.

PYTEST_DONT_REWRITE: nothing is asserted here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..core import OpOverload
from ..errors import DispatchError
from ..operators.loading import defined_by
from .generated_tests import Failures
from .operator_checks import ALL
from .package_checks import (
    FAILED,
    MOST_SAMPLES,
    PATIENCE,
    SKIPPED,
    TESTS,
    XFAILED,
    Outcome,
    check_limits,
    check_sample,
    checked_requirements,
    judged,
    name_of_test,
    required_of,
    samples_of,
)
from .sampled_arguments import Sample

ROOTS = pytest.StashKey[list["PackageCollector"]]()


class OperatorFaultError(Exception):
    """What a check found, for the report of the test."""


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, so that a wrong one ends the run before it begins."""
    config.addinivalue_line("markers", "opcheck: a check of an operator, of --opcheck")
    try:
        checked_requirements(config.getoption("opcheck_require"))
        check_limits(*_limits(config), "--opcheck-")
        Failures(config.getoption("opcheck_failures"), known=True)
    except DispatchError as error:
        raise pytest.UsageError(str(error)) from None


def _limits(config: pytest.Config) -> tuple[int, float]:
    """How many samples there are of each operator, and how many seconds a call may take."""
    samples, timeout = config.getoption("opcheck_samples"), config.getoption("opcheck_timeout")
    return MOST_SAMPLES if samples is None else samples, PATIENCE if timeout is None else timeout


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    """Add a collector for each package to what the session has."""
    report = yield
    if isinstance(collector, pytest.Session) and report.passed:
        roots = collector.config.stash.setdefault(ROOTS, [])
        if not roots:
            roots += [PackageCollector.of(collector, name) for name in dict.fromkeys(collector.config.getoption("opcheck"))]
            report.result = [*report.result, *roots]
    return report


class PackageCollector(pytest.Collector):
    """The operators of one package."""

    @classmethod
    def of(cls, session: pytest.Session, name: str) -> "PackageCollector":
        """The collector of a package; its name begins the ids of the tests."""
        return cls.from_parent(session, name=name, nodeid=name.removeprefix("./"))

    def collect(self) -> Iterator["CheckItem"]:
        """Import the package, make the samples, and yield a test for each requirement, sample and check."""
        option = self.config.getoption
        known = Failures(option("opcheck_failures"), known=True)
        operators = defined_by(self.name)
        known.check_operators({op.schema.namespace for op in operators})
        for op in operators:
            known.check_tests(op.name, TESTS)
            yield from self._items(op, known, checked_requirements(option("opcheck_require")))

    def _items(self, op: OpOverload, known: Failures, require: tuple[str, ...]) -> Iterator["CheckItem"]:
        option = self.config.getoption
        most, timeout = _limits(self.config)
        how: dict[str, Any] = {"isolate": not option("opcheck_no_isolate"), "timeout": timeout}
        for outcome in required_of(op, require):
            yield CheckItem.of(self, Checked(op, outcome, known, how), outcome.check)
        for sample in samples_of(op, most, **how):
            checked = Checked(op, sample, known, how)
            for check in ["samples"] if isinstance(sample, Outcome) else ALL:
                yield CheckItem.of(self, checked, check)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]  # as in its parent
        """Say why a package cannot be imported; a traceback would be of our own code."""
        ours = isinstance(excinfo.value, (DispatchError, ImportError))
        return str(excinfo.value) if ours else super().repr_failure(excinfo)


class Checked:
    """An operator and one sample: the checks that are selected run together, once."""

    def __init__(self, op: OpOverload, sample: Sample | Outcome, known: Failures, how: dict[str, Any]) -> None:
        self.op, self.sample, self.known, self.how = op, sample, known, how
        self.outcomes: dict[str, Outcome] = {}

    @property
    def what(self) -> str:
        """The name of the sample."""
        return self.sample.sample if isinstance(self.sample, Outcome) else self.sample.what

    def run(self, checks: list[str]) -> None:
        """Run checks."""
        found = check_sample(self.op, self.sample, checks, known=self.known, **self.how)
        self.outcomes |= {outcome.check: outcome for outcome in found}


class CheckItem(pytest.Item):
    """One check of one operator on one sample."""

    checked: Checked
    check: str

    @classmethod
    def of(cls, parent: PackageCollector, checked: Checked, check: str) -> "CheckItem":
        """The test of a check."""
        name = f"{checked.op.name}::{name_of_test(check, checked.what)}"
        # Given whole, the id is taken apart as one is that `--lf` reads from its file: the name of an operator has a "::" too.
        item = cls.from_parent(parent, name=name, nodeid=f"{parent.nodeid}::{name}")
        item.checked, item.check = checked, check
        item.add_marker(pytest.mark.opcheck)
        return item

    def runtest(self) -> None:
        """Look up the outcome, after the checks of this sample that are selected have run."""
        checked = self.checked
        if self.check not in checked.outcomes and "samples" not in checked.outcomes:
            together = [item for item in self.session.items if isinstance(item, CheckItem) and item.checked is checked]
            checked.run([item.check for item in together if item.check not in checked.outcomes])
        outcome = checked.outcomes.get(self.check) or checked.outcomes["samples"]._replace(check=self.check)
        outcome = judged(outcome, checked.known)
        if outcome.verdict == FAILED:
            raise OperatorFaultError(outcome.said)
        if outcome.verdict == XFAILED:
            pytest.xfail(outcome.said)
        if outcome.verdict == SKIPPED:
            raise pytest.skip.Exception(outcome.said, _use_item_location=True)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Say what is wrong; the traceback would be of the checks' own code."""
        if isinstance(excinfo.value, OperatorFaultError):
            return f"{excinfo.value}\n\nopcheck of {self.checked.op.name}({self.checked.what}): {self.check}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test stands, for headings: under the name of the package."""
        return self.config.rootpath / str(self.parent.nodeid if self.parent else ""), 0, self.name
