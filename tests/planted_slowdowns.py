"""Are slowdowns seen? Plant two of them in a copy of the checkout, and compare the copy with itself.

    python tests/planted_slowdowns.py

One more attribute read a call in the core must fail by its instructions; a tape that takes 30 % more time must move by its
ratios. The exit status is 1 where one is not seen. Needs what a build needs, and valgrind; takes some minutes.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import timeit
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE, TAPE = "dispatch/core/overload.pyx", "dispatch/layers/autograd/engine.pyx"
CHAIN = "chain, a node"
CALLS = "def bare(x, y):\n    return x\n\ndef planted(calls):\n    for _ in range(calls):\n        bare(None, None)\n"
LEFT = shutil.ignore_patterns(".git", "venv", ".venv", "__pycache__", ".*_cache", ".hypothesis", ".benchmarks")


def more_in_the_core(text):
    """overload.pyx with one more attribute read in the plain call."""
    place = re.compile(r'^cdef .*\bcall\(PyObject \*self, .*\n    """.*\n', re.MULTILINE)
    return planted(text, place, "    (<object>self).schema\n")


def more_in_the_tape(text, calls):
    """engine.pyx with so many calls of a Python function for each node of the walk back."""
    place = re.compile(r"^        while True:\n", re.MULTILINE)
    # exec, for a function that Cython compiles costs less than one of Python.
    plant = f"\nscope = {{}}\nexec({CALLS!r}, scope)\nplanted = scope['planted']\n"
    return planted(text, place, f"            planted({calls})\n") + plant


def planted(text, place, lines):
    """A text with lines after the one place that is searched for."""
    (found,) = place.finditer(text)
    return text[: found.end()] + lines + text[found.end() :]


def calls_that_cost(ratio):
    """How many calls `planted` makes where it costs as much as so many bare calls."""
    scope = {}
    exec(CALLS, scope)
    many, bare = (
        min(timeit.repeat(call, timer=time.process_time, number=5000, repeat=50, globals=scope)) for call in ("planted(16)", "bare(0, 0)")
    )
    return round(16 * ratio * bare / many)


def bench(copy, *words):
    """Run a question in the copy; its exit status and what it prints."""
    done = subprocess.run([sys.executable, "-m", "bench", *words], cwd=copy, capture_output=True, text=True, check=False)
    print(f"$ python -m bench {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.returncode, done.stdout


def build(copy):
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=copy, check=True)


def in_the_core(copy):
    """Whether the instructions of a plain call fail."""
    source = copy / CORE
    text = source.read_text()
    source.write_text(more_in_the_core(text))
    build(copy)
    status, printed = bench(copy, "instructions", "--all")
    source.write_text(text)
    build(copy)
    return status == 1 and bool(re.search(r"^2 arrays .* fails$", printed, re.MULTILINE))


def in_the_tape(copy):
    """Whether the ratio of a chain moves."""
    ratios = json.loads((copy / "bench" / "kept.json").read_text())["ratios"]
    (kept,) = [one["cases"][CHAIN] for key, one in ratios.items() if key == "{}.{}".format(*sys.version_info)]
    source = copy / TAPE
    source.write_text(more_in_the_tape(source.read_text(), calls_that_cost(0.3 * kept)))
    build(copy)
    printed = [bench(copy, "compare", "--all", "--only", "chain", "backward")[1] for _ in range(3)]  # one may fall in a busy second
    return sum(bool(re.search(rf"^{CHAIN} .* more$", text, re.MULTILINE)) for text in printed) >= 2


def main():
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(ROOT, copy, ignore=LEFT)
        build(copy)
        bench(copy, "compare", "--save")
        seen = {"one more attribute read in the core": in_the_core(copy), "30 % in the tape": in_the_tape(copy)}
    for name, one in seen.items():
        print(f"{name}: {'seen' if one else 'NOT SEEN'}")
    return 0 if all(seen.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
