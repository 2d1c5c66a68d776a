"""`Report`: the outcome of each check of `opcheck`, printed as a table."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.wrong_attributes import Fields
from ..dispatcher.printing import TABLE, escape
from ..errors import OpCheckError, did_you_mean, how_many
from .child_process import portable

SUCCESS = "SUCCESS"


class Findings:
    """The faults and advice that one check has found so far, and why it was skipped."""

    def __init__(self, operator: str) -> None:
        self.operator = operator
        self.faults: dict[Any, str] = {}
        self.causes: list[BaseException] = []
        self.advice: dict[Any, str] = {}
        self.skipped = ""
        self.runs = 0

    def fault(self, key: Any, message: str, cause: BaseException | None = None) -> None:
        """Record a fault; of several with the same key the first counts."""
        if key not in self.faults:
            self.faults[key] = f"{self.operator}: {message}"
            if cause is not None:
                self.causes.append(cause)

    def advise(self, key: Any, message: str) -> None:
        """Record advice that is no fault."""
        self.advice.setdefault(key, message)

    def skip(self, reason: str) -> None:
        """Record why there is nothing to check."""
        self.skipped = reason

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "causes": [portable(cause) for cause in self.causes]}

    @property
    def outcome(self) -> "str | OpCheckError":
        """`"SUCCESS"`, `"SKIPPED: why"`, or the exception with all faults."""
        if self.faults:
            error = OpCheckError("\n".join(self.faults.values()), operator=self.operator)
            error.__cause__ = self.causes[0] if self.causes else None
            return error
        return f"SKIPPED: {self.skipped}" if self.skipped else SUCCESS


class Report(Fields, Mapping[str, "str | OpCheckError"]):
    """The outcome of each check of an operator, as `opcheck` returns it. It prints as a table.

    It is a mapping. Its keys are the names of the checks; a value is `"SUCCESS"`, `"SKIPPED: why"`, or the exception that says
    what is wrong. It is true where no check failed, for `assert opcheck(op, args, raise_exception=False)`.

    Attributes
    ----------
    operator : str
        The name of the operator.
    sample : str
        The arguments, as text.
    failures : dict
        The checks that failed, and their exceptions.
    advice : list of str
        What could be better and is no fault.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> report = dispatch.testing.opcheck("np::sin", (np.ones(3),), test_utils=["test_schema", "test_vmap"])
    >>> dict(report), report.failures
    ({'test_schema': 'SUCCESS', 'test_vmap': 'SUCCESS'}, {})
    """

    _fields = ("advice", "operator", "sample")

    def __init__(self, operator: str, sample: str, found: dict[str, Findings]) -> None:
        self.operator = operator
        self.sample = sample
        self.advice = [text for findings in found.values() for text in findings.advice.values()]
        self._outcomes = {name: findings.outcome for name, findings in found.items()}
        self._runs = {name: findings.runs for name, findings in found.items()}

    def __getitem__(self, name: str) -> "str | OpCheckError":
        if name not in self._outcomes:
            near = did_you_mean(str(name), self._outcomes)
            raise KeyError(f"no check {name!r} was run.{near} Checks: {', '.join(self._outcomes)}.")
        return self._outcomes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    def __bool__(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> dict[str, OpCheckError]:
        """The checks that failed, and their exceptions."""
        return {name: outcome for name, outcome in self._outcomes.items() if isinstance(outcome, OpCheckError)}

    def raise_failures(self) -> None:
        """Raise if a check failed: one OpCheckError that lists all failures.

        Raises
        ------
        OpCheckError
            Its `__cause__` is the first failure, or the exception behind that.
        """
        failures = self.failures
        if failures:
            listed = "\n".join(f"{name}\n  {str(error).replace(chr(10), chr(10) + '  ')}" for name, error in failures.items())
            text = f"opcheck of {self.operator}({self.sample}): {_some(len(failures))} failed.\n{listed}"
            first = next(iter(failures.values()))
            raise OpCheckError(text, operator=self.operator) from (first.__cause__ or first)

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """The rows of the table: for each check its name, `"SUCCESS"`, `"SKIPPED"` or `"FAILED"`, and a remark."""
        found = []
        for name, outcome in self._outcomes.items():
            if isinstance(outcome, OpCheckError):
                found.append((name, "FAILED", str(outcome)))
            else:
                word, _, reason = outcome.partition(": ")
                found.append((name, word, reason or how_many(self._runs[name], "call")))
        return found

    def __repr__(self) -> str:
        rows = self.rows
        width = max((len(row[0]) for row in rows), default=0)
        margin = " " * (width + 2 + len(SUCCESS) + 2)
        lines = [f"opcheck {self.operator}({self.sample})"]
        for name, word, said in rows:
            lines.append(f"{name:{width}}  {word:{len(SUCCESS)}}  {said.replace(chr(10), chr(10) + margin)}")
        return "\n".join([*lines, *(f"advice: {text}" for text in self.advice)])

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><td>{name}</td><td>{word}</td><td>{escape(said)}</td></tr>" for name, word, said in self.rows)
        advice = "".join(f"<tr><td>advice</td><td></td><td>{escape(text)}</td></tr>" for text in self.advice)
        return f"{TABLE}<caption>opcheck {escape(f'{self.operator}({self.sample})')}</caption>{cells}{advice}</table>"


def _some(count: int) -> str:
    return how_many(count, "check")
