"""What does `import dispatch` cost beyond numpy, and what the first wrapper, which loads the NumPy rows?

Each import in fresh processes in which numpy is imported already, the fastest kept; the first tracked array likewise, in
processes in which dispatch is imported already; then the modules that took longest to import, by Python's own account.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from bench import table
from bench.peers import PACKAGES, absent

ROOT = Path(__file__).resolve().parent.parent
IMPORTED = {"dispatch": 10, "autograd": 10, "plum": 5, "torch": 3}
SHOWN = 12

CLOCK = "import time, numpy; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
FIRST = "import dispatch; start = time.perf_counter(); dispatch.tensor(numpy.ones(3), requires_grad=True)"
# importtime: self [us] | cumulative | name, indented by depth
LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|\s*(\S+)")


def main(words: Sequence[str]) -> None:
    """Import the packages named, or all; measure, print."""
    spent = {}
    if strangers := [word for word in words if word not in IMPORTED]:
        raise SystemExit(f"No package {', '.join(strangers)} is imported here. Those that are: {', '.join(IMPORTED)}.")
    for name in words or IMPORTED:
        if find_spec(name) is None:
            print(absent(name, name))
        else:
            spent[name] = milliseconds(f"import {name}", IMPORTED[name])
    first = milliseconds(FIRST, IMPORTED["dispatch"]) if "dispatch" in spent else None
    print(table.machine(PACKAGES))
    print()
    print(table.columns(("import, numpy being there", "ms"), [(name, table.number(ms)) for name, ms in spent.items()]))
    print()
    print(table.columns(("first wrapper, dispatch being there", "ms"), [("dispatch.tensor", table.number(first))]))
    print()
    slowest = sorted(modules("dispatch"), key=lambda row: row[1], reverse=True)[:SHOWN]
    print(table.columns(("slowest of dispatch, by itself", "ms"), [(name, f"{us / 1e3:.2f}") for name, us in slowest]))
    print()
    figures = [("import dispatch beyond numpy", spent.get("dispatch")), ("the first wrapper", first)]
    print(table.verdicts([table.Figure(what, ms, 40, "ms") for what, ms in figures]))


def fresh(*options: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh Python in the checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as users run it
    return subprocess.run([sys.executable, *options], cwd=ROOT, check=True, capture_output=True, text=True, env=environment)


def milliseconds(statement: str, repeats: int) -> float:
    """The fastest run of a statement after the import of numpy; one more goes before, which may have to compile."""
    command = CLOCK.format(statement)
    fresh("-c", command)
    return min(float(fresh("-c", command).stdout) for _ in range(repeats)) * 1e3


def modules(name: str) -> list[tuple[str, int]]:
    """The modules that come with ``name`` after numpy, each with its own microseconds."""
    return importtime(fresh("-X", "importtime", "-c", f"import numpy; import {name}").stderr)


def importtime(report: str) -> list[tuple[str, int]]:
    r"""The lines of ``-X importtime`` after the one of numpy itself: a module and its own microseconds.

    >>> importtime("import time:  70 | 90000 | numpy\nimport time:       820 |       1200 |   dispatch.schema.schema")
    [('dispatch.schema.schema', 820)]
    """
    rows = [(match[3], int(match[1])) for match in LINE.finditer(report)]
    names = [name for name, _ in rows]
    return rows[names.index("numpy") + 1 :]
