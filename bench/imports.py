"""What does `import dispatch` cost beyond numpy?

Each import in fresh processes in which numpy is imported already, the fastest kept; then the modules that took longest
by Python's own account.
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

CLOCK = "import time, numpy; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
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
            spent[name] = milliseconds(name, IMPORTED[name])
    print(table.machine(PACKAGES))
    print()
    print(table.columns(("import, numpy being there", "ms"), [(name, table.number(ms)) for name, ms in spent.items()]))
    print()
    slowest = sorted(modules("dispatch"), key=lambda row: row[1], reverse=True)[:SHOWN]
    print(table.columns(("slowest of dispatch, by itself", "ms"), [(name, f"{us / 1e3:.2f}") for name, us in slowest]))
    print()
    print(table.verdicts([table.Figure("import dispatch beyond numpy", spent.get("dispatch"), 40, "ms")]))


def fresh(*options: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh Python in the checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as users run it
    return subprocess.run([sys.executable, *options], cwd=ROOT, check=True, capture_output=True, text=True, env=environment)


def milliseconds(name: str, repeats: int) -> float:
    """The fastest import of ``name`` after numpy's; one more goes before, which may have to compile."""
    command = CLOCK.format(name)
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
