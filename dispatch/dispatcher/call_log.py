"""`log_calls` and `profile`: print or sum up the operator calls of a program while it runs.

Both are observers: they see each step of each call of their thread, and cost nothing while none is on.
"""

import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, ClassVar, NamedTuple, NoReturn, TextIO

from ..core import Definition, DispatchKey, OpOverload, key_of_rank
from ..core.wrong_attributes import no_attribute
from ..core.wrong_calls import block_function
from ..errors import ArgumentError, kind_of
from .explain import what_runs
from .observer import Watcher, watchers
from .printing import brief, escape

Proceed = Callable[[], Any]


def _kernel_of(op: OpOverload, key: DispatchKey) -> str:
    """Return what runs at a key in this thread: where it is written, or what it is."""
    off = {r for watcher in watchers() for r in watcher.passed(op.definition)}
    runs, place = what_runs(op, key, op.table.source(key, off))
    return place or runs


class _Line:
    """One step of a call; complete when it has ended."""

    __slots__ = ("depth", "end", "start")

    def __init__(self, depth: int, start: str) -> None:
        self.depth, self.start, self.end = depth, start, ""

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{self.start}{self.end}"


class _Written(threading.local):
    """The lines that a log has to print, in one thread."""

    def __init__(self) -> None:
        self.lines: list[_Line] = []
        self.depth = 0
        self.spent = 0  # nanoseconds that the log itself took


class CallLog(Watcher):
    """Prints a line for each step of each call; made by `log_calls`."""

    _fields = ()
    _called = "log_calls"
    _elsewhere: ClassVar[dict[str, str]] = dict.fromkeys(
        ("calls", "entries", "events", "getvalue", "lines", "log", "output", "records", "text"),
        "log_calls(file), with file = io.StringIO(), and read file.getvalue()",
    )

    def __init__(self, file: TextIO | None) -> None:
        if file is not None and not hasattr(file, "write"):
            how = f"open({file!r}, 'w')" if isinstance(file, str) else "open('calls.txt', 'w')"
            said = f"log_calls writes to a file that is open for text, and {kind_of(file)} was given."
            raise ArgumentError(f"{said} Write {how}.")
        super().__init__()
        self._file = file
        self._here = _Written()

    def watch(
        self, op: OpOverload, definition: Definition, rank: int, args: tuple[Any, ...], proceed: Proceed
    ) -> Any:
        entered = perf_counter_ns()
        key = DispatchKey(key_of_rank(rank))
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


@block_function
def log_calls(file: TextIO | None = None) -> CallLog:
    """Return a `with` block that prints a line for each kernel that runs in this thread.

    A line has the operator, the key, the kernel, the arguments, the result, and the microseconds that it took. Kernels that it
    called follow, indented, and count in its time. The lines are printed when the outermost call has ended.

    Parameters
    ----------
    file : file, optional
        A file open for text; the standard output by default.

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
    """The calls of one operator at one key.

    Attributes
    ----------
    operator, key : str
    calls : int
    total : float
        Seconds, including the calls inside.
    own : float
        Seconds, without the calls inside.
    """

    operator: str
    key: str
    calls: int
    total: float
    own: float

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(self, name)


class _Running(threading.local):
    """The steps that are running in one thread."""

    def __init__(self) -> None:
        self.places: list[tuple[str, str]] = []
        self.inside = [0]  # nanoseconds of the steps inside each of them


class Profile(Watcher):
    """Sums up calls by operator and key; made by `profile`. Prints as a table, the most expensive first."""

    _fields = ()
    _called = "profile"
    _elsewhere: ClassVar[dict[str, str]] = dict.fromkeys(
        ("events", "key_averages", "print_stats", "sort_stats", "table", "total", "total_average"), "print(p), or p.rows"
    )

    def __init__(self) -> None:
        super().__init__()
        self._sums: dict[tuple[str, str], list[int]] = {}  # calls, total and own nanoseconds
        self._here = _Running()
        self._lock = threading.Lock()

    def watch(
        self, op: OpOverload, definition: Definition, rank: int, args: tuple[Any, ...], proceed: Proceed
    ) -> Any:
        place = op.name, DispatchKey(key_of_rank(rank)).name
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
        if not self._used:
            self._used = True  # said here
            said = "this profile was never entered, so that it saw no call"
            raise ArgumentError(f"{said}. Write `with dispatch.profile() as p:` around the calls.")
        found = [ProfileRow(*place, n, total / 1e9, own / 1e9) for place, (n, total, own) in self._sums.items()]
        return sorted(found, key=lambda row: row.own, reverse=True)

    def __getitem__(self, key: object) -> NoReturn:
        said = f"a profile has rows, and was asked for [{key!r}]"
        raise ArgumentError(f"{said}. Write p.rows, a list of (operator, key, calls, total, own).")

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            ("operator", "key", "calls", "total us", "own us", "us a call"),
            *[
                (name, key, str(n), f"{total * 1e6:.0f}", f"{own * 1e6:.0f}", f"{total * 1e6 / n:.1f}")
                for name, key, n, total, own in self.rows
            ],
        ]

    def __repr__(self) -> str:
        if not self._sums:
            return "no call was seen: write `with dispatch.profile() as p:` around the calls"
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


@block_function
def profile() -> Profile:
    """Return a `with` block that sums up the time of this thread's calls, by operator and key.

    Returns
    -------
    Profile
        A context manager. Its `rows` are the sums, and it prints as a table. Entered again it goes on adding.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> with dispatch.profile() as seen:
    ...     _ = dispatch.ops.np.sin(np.ones(3)), dispatch.ops.np.sin(np.ones(4))
    >>> [(row.operator, row.key, row.calls) for row in seen.rows]
    [('np::sin', 'CPU', 2)]
    """
    return Profile()
