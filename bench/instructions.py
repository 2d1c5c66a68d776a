"""How many instructions does each of the seven hottest calls take?

Counted by valgrind's callgrind, so that neither the load nor the speed of a machine matters, and compared with bench/kept.json.
The exit status is 1 where a count went up by more than 5 %. The counts depend on the builds of CPython, NumPy and our modules,
which are kept beside them: under other builds, what differs is printed, and nothing fails.

    python -m bench instructions           print what moved by more than 5 %
    python -m bench instructions --all     print every count
    python -m bench instructions --save    keep the counts, for this CPython and processor architecture
"""

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import hottest, kept

ROOT = Path(__file__).resolve().parent.parent
HOTTEST = hottest.NAMES
FIXED = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
ABSENT = (
    "valgrind is not installed, so no instructions are counted. On Debian and Ubuntu it comes with `apt-get install valgrind`."
)


def main(words: Sequence[str]) -> None:
    """Count the calls named, or all; compare, or save."""
    given = kept.options(words, "instructions")
    names = kept.chosen(HOTTEST, given.only)
    if not names:
        raise SystemExit(f"No call's name holds {' or '.join(given.only)}. Those here: {', '.join(HOTTEST)}.")
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        if given.save:
            raise SystemExit(ABSENT)
        print(ABSENT)
        return
    seen = counts(valgrind, names)
    libc, valgrinds = " ".join(platform.libc_ver()), version(valgrind)
    builds = kept.builds() | {"C library": libc, "valgrind": valgrinds}
    section = kept.Section("instructions", f"{kept.VERSION} {platform.machine()}", 1.05, 1.05, False, builds)
    if given.save:
        kept.save(section, seen, whole=not given.only)
    elif not kept.compare(section, seen, everything=given.all):
        raise SystemExit(1)


def version(valgrind: str) -> str:
    """The release of valgrind."""
    return subprocess.run([valgrind, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def counts(valgrind: str, names: Sequence[str]) -> dict[str, float]:
    """The instructions of one call each: of a loop twice as long less those of the loop, over its length.

    One process runs all loops with a mark between, at which callgrind writes what it has counted since the last one. Hashes,
    the environment and the addresses of memory are the same each time, or the probes of dicts and caches would differ.
    """
    setarch = shutil.which("setarch")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [setarch, "-R"] if setarch else []
        command += [valgrind, "--tool=callgrind", f"--callgrind-out-file={out}", f"--dump-before={hottest.MARK}"]
        command += [sys.executable, "-X", "frozen_modules=on", "-m", "bench.hottest", *names]
        done = subprocess.run(command, cwd=ROOT, env=FIXED, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        parts = [total(out.with_name(f"out.{place + 1}")) for place in range(3 * len(names))]
    # For each name: what came before its first mark, the loop, and the loop of twice the length.
    return {
        name: round((twice - once) / hottest.RUNS)
        for name, once, twice in zip(names, parts[1::3], parts[2::3], strict=True)
    }


def total(file: Path) -> int:
    """The instructions that one file of callgrind's adds up to."""
    found = re.search(r"^totals: (\d+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{file.name} has no line of totals")
    return int(found[1])
