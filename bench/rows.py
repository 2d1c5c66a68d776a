"""What do forty of NumPy's functions cost, forward and with their gradient?

Each at 3 and at 10 000 numbers (a matrix has 3 x 3 and 100 x 100), ours beside torch, eager, and HIPS autograd, in one run and
on one thread; and beside the NumPy calls alone that give the value and the gradient, by hand. A gradient begins with a given
array, so that nothing but the row is timed; all gradients are compared first.

    python -m bench rows                 every row
    python -m bench rows sort cumsum     these alone
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np

import dispatch
from bench import row_table, table
from bench.peers import absent
from bench.row_table import ROWS, Row
from bench.timing import Case, measure

PACKAGES = ("npdispatch", "numpy", "autograd", "torch")
SIZES = (3, 10_000)
# A call of LAPACK that takes a millisecond is a batch alone: of equal calls the fastest of 60 batches of five were 3 % apart,
# which is more than a row adds to them.
ROUNDS, RUNS, BATCH, LUCKY = 180, 1, 4e-4, 0.05
# glibc gives the top of its memory back when a call of LAPACK frees its workspace, and takes it back page by page in the next:
# 88 pages and 180 of the 1 780 us of svd's row, of everybody, the noise of which is more than a row adds. Once an array of this
# size has been freed, the most that glibc learns from, it keeps what is smaller: as in any program with larger arrays.
FREED = 30 << 20
TOLERANCE = 1e-9
# Libraries of linear algebra read these when they are loaded, which is before this file has a say.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
PEERS = ("HIPS", "torch")
COLUMNS = ("kernels", "dispatch", *PEERS)
FORWARD, BOTH = "forward", "and backward"
MAY_BE_SLOWER = 5
ABOVE_KERNELS = 12  # microseconds

Key = tuple[str, str]  # who, and what of it
Timings = Mapping[Key, float]


def main(words: Sequence[str]) -> None:
    """Measure the rows named, or all; print."""
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        again = [sys.executable, "-m", "bench", "rows", *words]
        raise SystemExit(subprocess.run(again, env=os.environ | ONE_THREAD, check=False).returncode)
    known = {row.name: row for row in ROWS}
    if strangers := [name for name in words if name not in known]:
        raise SystemExit(f"No row is named {', '.join(strangers)}. Those here: {', '.join(known)}.")
    rows = [known[name] for name in words] or list(ROWS)
    np.empty(FREED, np.uint8)
    seen = {(row.name, n): timed(row, n) for n in SIZES for row in rows}
    print(table.machine(PACKAGES))
    for n in SIZES:
        print()
        print(comparison({row.name: seen[row.name, n] for row in rows}, n))
    print()
    for line in slower(seen):
        print(line)
    print()
    print(table.verdicts(figures(seen)))


def timed(row: Row, n: int) -> Timings:
    """Nanoseconds of a row, of everybody, when all have been seen to give one gradient."""
    arrays, g = given(row, n)
    found = {who: make(row, arrays, g) for who, make in parties().items()}
    expected = row.compared(found["kernels"][1]())
    for who, (_, gradient) in found.items():
        apart = np.max(np.abs(row.compared(gradient()) - expected)) / np.max(np.abs(expected))
        if not apart < TOLERANCE:
            raise SystemExit(f"{row.name} at {n}: the gradient of {who} and the one by hand are {apart:.0e} apart.")
    cases = {(who, what): case for who, (cases, _) in found.items() for what, case in cases.items()}
    return {key: timing.call for key, timing in measure(cases, ROUNDS, BATCH, RUNS, LUCKY).items()}


# -- who is timed ----------------------------------------------------------------------------------------------------------

Arrays = Mapping[str, Any]
Party = tuple[dict[str, Case], Callable[[], np.ndarray]]


def seed(y: np.ndarray) -> np.ndarray:
    """The gradient to begin with: of a number another number, so that nothing can leave it out."""
    return np.random.default_rng(1).uniform(0.5, 1.5, np.shape(y))


def given(row: Row, n: int) -> tuple[Arrays, np.ndarray]:
    """The arrays of a row, and the gradient to begin with: everybody's, since elsewhere in memory they may cost more."""
    arrays = row.arguments(n)
    return arrays, seed(eval(row.call, {"np": np, **arrays}))


def kernels(row: Row, arrays: Arrays, g: np.ndarray) -> Party:
    """NumPy alone."""
    names = {**vars(row_table), **arrays, "np": np, "g": g}
    both = f"y = {row.call}; z = {row.pulled}"
    cases = {FORWARD: Case(row.call, names), BOTH: Case(both, names)}
    return cases, lambda: eval(row.pulled, {**names, "y": eval(row.call, names)})


def ours(row: Row, arrays: Arrays, g: np.ndarray) -> Party:
    """The gradient is that of a leaf of the tape."""
    t = dispatch.tensor(arrays["x"], requires_grad=True)
    names = {**arrays, "np": np, "x": t, "g": g}
    both = f"x.grad = None; ({row.call}).backward(g)"

    def gradient() -> np.ndarray:
        exec(both, names)
        return np.array(t.grad)

    return {FORWARD: Case(row.call, names), BOTH: Case(both, names)}, gradient


def hips(row: Row, arrays: Arrays, g: np.ndarray) -> Party:
    """A traced function, pulled back."""
    import autograd.numpy as anp
    from autograd.core import VJPNode, make_vjp
    from autograd.tracer import new_box

    function = eval(f"lambda x: {row.call}", {**arrays, "np": anp})
    names = {**arrays, "np": anp, "array": arrays["x"], "f": function, "make_vjp": make_vjp, "g": g}
    box = new_box(arrays["x"], 0, VJPNode.new_root())
    cases = {FORWARD: Case(row.call, names | {"x": box}), BOTH: Case("make_vjp(f, array)[0](g)", names)}
    return cases, lambda: np.asarray(make_vjp(function, arrays["x"])[0](g))


def torchs(row: Row, arrays: Arrays, g: np.ndarray) -> Party:
    """The gradient is that of a leaf, too."""
    import torch

    torch.set_num_threads(1)
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    x = tensors["x"].requires_grad_()
    names = {**tensors, "torch": torch, "g": torch.tensor(g)}
    both = f"x.grad = None; ({row.torch}).backward(g)"

    def gradient() -> np.ndarray:
        exec(both, names)
        assert x.grad is not None
        return np.array(x.grad)

    return {FORWARD: Case(row.torch, names), BOTH: Case(both, names)}, gradient


@cache
def parties() -> dict[str, Callable[[Row, Arrays, np.ndarray], Party]]:
    """Everybody who is installed, by the name in the table."""
    everybody = {"kernels": kernels, "dispatch": ours, "HIPS": hips, "torch": torchs}
    packages = {"HIPS": "autograd", "torch": "torch"}
    for name, package in packages.items():
        if find_spec(package) is None:
            print(absent(name, package))
            del everybody[name]
    return everybody


# -- what is said of it ----------------------------------------------------------------------------------------------------


def comparison(seen: Mapping[str, Timings], n: int) -> str:
    """The table of one size, microseconds: forward, then forward and backward."""
    rows = []
    for name, timings in seen.items():
        cells = [name]
        for what in (FORWARD, BOTH):
            for who in COLUMNS:
                found = timings.get((who, what))
                cells.append("-" if found is None else f"{found / 1e3:.1f}")
            theirs = timings.get(("HIPS", what))
            cells.append("-" if theirs is None else f"{timings['dispatch', what] / theirs:.2f}")
        rows.append(cells)
    header = ("numpy", "dispatch", "HIPS", "torch", "to HIPS")
    return table.columns((f"{n} numbers, us", *header, *(f"+ {word}" for word in header)), rows)


def slower(seen: Mapping[tuple[str, int], Timings]) -> list[str]:
    """A line for each row that takes longer than a peer, and whether NumPy's calls alone do."""
    lines = []
    for name in dict.fromkeys(name for name, _ in seen):
        found = [
            f"{what} at {n} {timings['dispatch', what] / timings[who, what]:.2f} of {who}"
            + (", and so are NumPy's calls alone" if timings["kernels", what] > timings[who, what] else "")
            for n in SIZES
            for what in (FORWARD, BOTH)
            for who in PEERS
            if (timings := seen[name, n]).get((who, what), np.inf) < timings["dispatch", what]
        ]
        if found:
            lines.append(f"{name} is slower: {'; '.join(found)}.")
    return lines


def figures(seen: Mapping[tuple[str, int], Timings]) -> list[table.Figure]:
    """What the design asks of the rows. What NumPy's calls alone take longer for than a peer does is no row's fault."""
    small, large = SIZES
    both: set[str] = set()
    either: set[str] = set()
    to_hips: dict[tuple[int, str], list[float]] = {}
    beyond = []
    for (name, n), timings in seen.items():
        for what in (FORWARD, BOTH):
            ours, kernels = timings["dispatch", what], timings["kernels", what]
            theirs = {who: timings[who, what] for who in PEERS if (who, what) in timings}
            if len(theirs) == len(PEERS) and ours > max(theirs.values()):
                both.add(name)
            if any(kernels <= took < ours for took in theirs.values()):
                either.add(name)
            if "HIPS" in theirs:
                to_hips.setdefault((n, what), []).append(ours / theirs["HIPS"])
            if n == large:
                beyond.append((ours - kernels) / 1e3)

    def of_hips(n: int, what: str, chosen: Callable[[list[float]], float]) -> float | None:
        return chosen(to_hips[n, what]) if to_hips else None

    return [
        table.Figure("rows slower than HIPS and torch", len(both), 0, "rows"),
        table.Figure("slower than either, where NumPy's calls alone are not", len(either), MAY_BE_SLOWER, "rows"),
        table.Figure(f"median to HIPS at {small}, {FORWARD}", of_hips(small, FORWARD, median), 0.5, "times"),
        table.Figure(f"median to HIPS at {small}, {BOTH}", of_hips(small, BOTH, median), 0.5, "times"),
        table.Figure(f"most above NumPy's calls at {large}", max(beyond), ABOVE_KERNELS, "us"),
        table.Figure(f"most of the time of HIPS at {large}, {FORWARD}", of_hips(large, FORWARD, max), 1, "times"),
        table.Figure(f"most of the time of HIPS at {large}, {BOTH}", of_hips(large, BOTH, max), 1, "times"),
    ]
