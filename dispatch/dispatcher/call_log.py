"""What a program calls, seen while it runs: a log of calls, and a profile of them.

Both are watchers: they stand above every floor, see each step of each call of their thread, and cost nothing where none is on.
"""

import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, NamedTuple, TextIO

from ..core import DispatchKey, OpOverload
from ..errors import ArgumentError, kind_of
from .explain import what_runs
from .observer import OBSERVE, Watcher, watchers
from .printing import brief, escape

Proceed = Callable[[], Any]


def _kernel_of(op: OpOverload, key: DispatchKey) -> str:
    """What runs at a key in this thread, in short: where it is written, or what it is."""
    off = {r for watcher in watchers() for r in watcher.passed(op)}
    runs, place = what_runs(op, key, op.table.source(key, off))
    return place or runs


class _Line:
    """One step of a call, which is known in full when it has ended."""

    __slots__ = ("depth", "end", "start")

    def __init__(self, depth: int, start: str) -> None:
        self.depth, self.start, self.end = depth, start, ""

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{self.start}{self.end}"


class _Written(threading.local):
    """What a log has to write, in one thread."""

    def __init__(self) -> None:
        self.lines: list[_Line] = []
        self.depth = 0
        self.spent = 0  # nanoseconds that the log itself took


class CallLog(Watcher):
    """Writes a line for each step of each call; made by `log_calls`."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__()
        if file is not None and not hasattr(file, "write"):
            raise ArgumentError(f"log_calls writes to a file that is open for text, and {kind_of(file)} was given.")
        self._file = file
        self._here = _Written()

    def watch(self, op: OpOverload, rank: int, args: tuple[Any, ...], proceed: Proceed) -> Any:
        entered = perf_counter_ns()
        key = DispatchKey(rank & OBSERVE)
        given = ", ".join(map(brief, args))
        here = self._here
        line = _Line(here.depth, f"{op.name}  {key.name}  {_kernel_of(op, key)}  ({given})")
        here.lines.append(line)
        here.depth += 1
        result = ""
        start = perf_counter_ns()
        here.spent += start - entered
        spent = here.spent
        try:
            out = proceed()
        except BaseException as error:
            result = f"raises {type(error).__name__}"
            raise
        else:
            result = brief(out)
            return out
        finally:
            took = perf_counter_ns() - start - (here.spent - spent)
            line.end = f" -> {result}  {took / 1000:.1f} us"
            here.depth -= 1
            if not here.depth:
                lines, here.lines = here.lines, []
                print("\n".join(map(str, lines)), file=self._file)


def log_calls(file: TextIO | None = None) -> CallLog:
    """While the block lasts, print a line for each step of each call of this thread.

    A line has operator, key, kernel, arguments, result and microseconds, what happens inside included. A step that another
    one makes stands below it, indented. The lines of a call are printed when it has ended.

    Parameters
    ----------
    file : file, optional
        What `print` writes to; by default the standard output.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> with dispatch.log_calls():
    ...     _ = dispatch.vmap(np.sin)(np.ones((2, 3)))
    np::sin  VMAP  ...  (float64[3]) -> float64[3]  ... us
      np::sin  CPU  <ufunc sin>  (float64[2, 3]) -> float64[2, 3]  ... us
    """
    return CallLog(file)


class ProfileRow(NamedTuple):
    """The calls of one operator on one floor.

    Attributes
    ----------
    operator, key : str
    calls : int
    total : float
        Seconds, with what they call.
    own : float
        Seconds, without the steps of other calls inside.
    """

    operator: str
    key: str
    calls: int
    total: float
    own: float


class _Running(threading.local):
    """The steps that are running in one thread."""

    def __init__(self) -> None:
        self.places: list[tuple[str, str]] = []
        self.inside = [0]  # nanoseconds of the steps inside each of them


class Profile(Watcher):
    """Sums up calls by operator and floor; made by `profile`. Prints as a table, the most expensive first."""

    def __init__(self) -> None:
        super().__init__()
        self._sums: dict[tuple[str, str], list[int]] = {}  # calls, total and own nanoseconds
        self._here = _Running()
        self._lock = threading.Lock()

    def watch(self, op: OpOverload, rank: int, args: tuple[Any, ...], proceed: Proceed) -> Any:
        place = op.name, DispatchKey(rank & OBSERVE).name
        here = self._here
        outermost = place not in here.places  # a step inside one of its own kind is in that one's total already
        here.places.append(place)
        here.inside.append(0)
        start = perf_counter_ns()
        try:
            return proceed()
        finally:
            took = perf_counter_ns() - start
            here.places.pop()
            own = took - here.inside.pop()
            here.inside[-1] += took
            with self._lock:
                sums = self._sums.setdefault(place, [0, 0, 0])
                sums[0] += 1
                sums[1] += took if outermost else 0
                sums[2] += own

    @property
    def rows(self) -> list[ProfileRow]:
        """The sums, the largest own time first."""
        found = [ProfileRow(*place, n, total / 1e9, own / 1e9) for place, (n, total, own) in self._sums.items()]
        return sorted(found, key=lambda row: row.own, reverse=True)

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            ("operator", "key", "calls", "total us", "own us", "us a call"),
            *[
                (name, key, str(n), f"{total * 1e6:.0f}", f"{own * 1e6:.0f}", f"{total * 1e6 / n:.1f}")
                for name, key, n, total, own in self.rows
            ],
        ]

    def __repr__(self) -> str:
        cells = self._cells()
        width = [max(len(row[i]) for row in cells) for i in range(6)]
        lines = [
            "  ".join(f"{cell:{'<' if i < 2 else '>'}{n}}" for i, (cell, n) in enumerate(zip(row, width, strict=True))).rstrip()
            for row in cells
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rows = [[escape(cell) for cell in row] for row in self._cells()]
        lines = [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
        return f"<table><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>{''.join(lines)}</table>"


def profile() -> Profile:
    """While the block lasts, sum up this thread's calls by operator and floor.

    Returns
    -------
    Profile
        A context manager that keeps what it has seen: `rows`, and a table where it is printed. Entered again it goes on.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> with dispatch.profile() as seen:
    ...     _ = dispatch.ops.np.sin(np.ones(3)), dispatch.ops.np.sin(np.ones(4))
    >>> [(row.operator, row.key, row.calls) for row in seen.rows]
    [('np::sin', 'CPU', 2)]
    """
    return Profile()
