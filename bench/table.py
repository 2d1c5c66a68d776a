"""Prints tables with numbers flush right, and the figures of the design beside their bounds."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path


def columns(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Lay rows out under a header: the first ``left`` columns flush left, the others flush right.

    >>> print(columns(("case", "ns"), [("2 arrays", "17"), ("5 arrays", "104")]))
    case       ns
    -------------
    2 arrays   17
    5 arrays  104
    """
    widths = [max(len(row[place]) for row in (header, *rows)) for place in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([line(header), rule, *map(line, rows)])


def number(value: float | None) -> str:
    """A number as it stands in a table: one decimal below a hundred, thousands grouped, a dash for none.

    >>> number(17.26), number(7310.4), number(None)
    ('17.3', '7 310', '-')
    """
    if value is None:
        return "-"
    return f"{value:.1f}" if abs(value) < 100 else f"{value:,.0f}".replace(",", " ")


def ratio(value: float, unit: float | None) -> str:
    """How many times ``unit`` a value is, as a fraction where it is less; a dash where there is nothing to divide.

    >>> ratio(20.0, 8000.0), ratio(16000.0, 8000.0), ratio(20.0, None), ratio(-0.3, 8000.0)
    ('1/400', '2.0', '-', '0')
    """
    if unit is None or unit <= 0:
        return "-"
    if value <= 0:
        return "0"
    return f"{value / unit:.1f}" if value >= unit else f"1/{unit / value:.{0 if unit / value >= 10 else 1}f}"


@dataclass(frozen=True)
class Figure:
    """One figure of the design: what was seen (None where nothing could be), against the most it may be."""

    name: str
    seen: float | None
    bound: float
    unit: str = "ns"

    @property
    def verdict(self) -> str:
        """``ok``, ``over``, or ``not measured``."""
        if self.seen is None:
            return "not measured"
        return "ok" if self.seen <= self.bound else "over"


def verdicts(figures: Sequence[Figure]) -> str:
    """The block that closes an answer: one line a figure."""
    rows = [
        (figure.name, number(figure.seen), f"<= {figure.bound:g} {figure.unit}", figure.verdict) for figure in figures
    ]
    return columns(("figure of the design", "seen", "bound", ""), rows)


def machine(distributions: Sequence[str]) -> str:
    """One line that says what was measured on which machine, with which releases."""
    releases = []
    for name in distributions:
        try:
            releases.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    here = f"{processor()}, {os.cpu_count()} cores, CPython {platform.python_version()}"
    return ", ".join([here, *releases])


def processor() -> str:
    """The processor's name as the system gives it; Linux has the full one in /proc/cpuinfo only."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
