"""The conditions that a trace rests on: guards, which its arguments must meet, and checks, which each run tests."""

from collections.abc import Callable

from ..core.source import Line
from .sym_bool import SymBool


class Guard(SymBool):
    """A condition on sizes that must hold in another run, for the trace to be right. It prints as Python.

    Attributes
    ----------
    line : Line
        The line of user code that asked for it.

    Examples
    --------
    >>> from dispatch.symbolic import ShapeEnv
    >>> env = ShapeEnv()
    >>> bool(env.new_size(12) > 5), env.guards
    (True, [s0 > 5])
    """

    __slots__ = ("line",)

    def __init__(self, condition: SymBool, line: Line) -> None:
        super().__init__(condition.env, condition.op, condition.left, condition.right)
        self.line = line


class Check(Guard):
    """A condition on sizes that depend on data, which each run tests.

    Examples
    --------
    >>> import dispatch
    >>> env = dispatch.ShapeEnv()
    >>> dispatch.check(env.new_dynamic_size() > 3, "too few points")
    >>> env.checks, env.checks[0].message
    ([u0 > 3], 'too few points')
    """

    __slots__ = ("_message",)

    def __init__(self, condition: SymBool, line: Line, message: str | Callable[[], str] | None) -> None:
        super().__init__(condition, line)
        self._message = message

    @property
    def message(self) -> str:
        """The message if the condition does not hold."""
        return said(self._message, f"{self}, which was promised at {self.line.place}, is not so.")


def said(message: str | Callable[[], str] | None, otherwise: str) -> str:
    """Return a message, which may be given as a function that returns it; `otherwise` if there is none."""
    return otherwise if message is None else str(message() if callable(message) else message)
