"""The conditions that a trace rests on: guards, which its arguments must meet, and checks, which each run tests."""

from collections.abc import Callable

from ..core.source import Line
from .sym_bool import SymBool


class Guard(SymBool):
    """A condition that a trace rests on, with the line of the user's code that asked for it."""

    __slots__ = ("line",)

    def __init__(self, condition: SymBool, line: Line) -> None:
        super().__init__(condition.env, condition.op, condition.left, condition.right)
        self.line = line


class Check(Guard):
    """A condition on sizes that depend on data, which a run has to test."""

    __slots__ = ("_message",)

    def __init__(self, condition: SymBool, line: Line, message: str | Callable[[], str] | None) -> None:
        super().__init__(condition, line)
        self._message = message

    @property
    def message(self) -> str:
        """What is said where it does not hold."""
        return said(self._message, f"{self}, which was promised at {self.line.place}, is not so.")


def said(message: str | Callable[[], str] | None, otherwise: str) -> str:
    """A message, which may be a function that makes it."""
    return otherwise if message is None else str(message() if callable(message) else message)
