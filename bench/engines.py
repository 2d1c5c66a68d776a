"""What does a compiled function take, beside plain NumPy and the compilers of others?

Chains of twenty elementwise calls at four lengths, the heat equation, a network, logsumexp and softmax, distances and
Black-Scholes, all in float64. `exact` is `dispatch.compile`, called with NumPy arrays; each peer has arrays of its own and
the form that it is at its best in: JAX a loop of its own for the heat equation, Numba loops over elements, on one thread. The
fastest of some rounds counts, on the wall, in each of which everything runs once; every result must equal NumPy's.

    python -m bench engines                     the table
    python -m bench engines heat chain          the cells whose names hold one of the words
    python -m bench engines --only exact fast   these columns, and NumPy
"""

import gc
import importlib.util
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import dispatch
from bench import table
from bench.whole import cells as programs

PACKAGES = ("npdispatch", "numpy", "jax", "torch", "numba")
BATCH, SECONDS, ROUNDS = 2e-3, 1.5, 40
OTHERS = ("jax.jit", "torch", "torch.compile", "numba")
OURS = ("exact", "fast")
EXACT, FAST = 1.05, 1.5
ARITHMETIC, KERNELS = 0.7, 0.97  # of NumPy's time from 1e5 on: of arithmetic and roots; of sines and exponentials

Run = Callable[[], Any]


class Cell(NamedTuple):
    """One line of the table: a program, its arrays, how many elements it is about, and the most that `exact` may take."""

    program: str
    size: int
    arrays: Callable[[], tuple[np.ndarray, ...]]
    exact: float | None = EXACT


def chains() -> dict[str, Cell]:
    """Two chains, of arithmetic and roots and of sines and exponentials, at four lengths."""
    found = {}
    for name, bound in (("roots", ARITHMETIC), ("sines", KERNELS)):
        for size in (10, 1_000, 100_000, 10_000_000):
            most = None if size < 1_000 else bound if size >= 100_000 else EXACT
            found[f"chain of 20, {name}, {size:.0e}"] = Cell(name, size, lambda n=size: (rng().random(n),), most)  # type: ignore[misc]
    return found


def rng() -> np.random.Generator:
    """The same numbers for everyone."""
    return np.random.default_rng(0)


def network(batch: int) -> tuple[np.ndarray, ...]:
    """A batch of pictures, and the weights of three layers."""
    g, sizes = rng(), (64, 128, 128, 10)
    weights = [g.normal(size=s) / 8 for m, n in pairwise(sizes) for s in ((m, n), (n,))]
    return (g.normal(size=(batch, sizes[0])), *weights)


def options() -> tuple[np.ndarray, ...]:
    """Spot prices, strikes, and times to expiry."""
    return tuple(rng().uniform((50, 50, 0.1), (150, 150, 2), (10**6, 3)).T.copy())


CELLS = chains() | {
    "heat 64x64, 1 000 steps": Cell("heat", 64 * 64, lambda: (rng().random((64, 64)),)),
    "MLP, batch 1": Cell("mlp", 128, lambda: network(1)),
    "MLP, batch 1 000": Cell("mlp", 128_000, lambda: network(1000)),
    "logsumexp 1 000^2": Cell("logsumexp", 10**6, lambda: (rng().normal(size=(1000, 1000)),)),
    "softmax 1 000^2": Cell("softmax", 10**6, lambda: (rng().normal(size=(1000, 1000)),)),
    "distances 500 x 50": Cell("distances", 500 * 500 * 50, lambda: (rng().normal(size=(500, 50)),)),
    "Black-Scholes 1e6": Cell("black_scholes", 10**6, options, ARITHMETIC),
}  # fmt: skip


def main(words: Sequence[str]) -> None:
    """Measure and print."""
    words = list(words)
    at = words.index("--only") if "--only" in words else len(words)
    wanted, columns = words[:at], words[at + 1 :] or [*OURS, *OTHERS]
    if strangers := [x for x in columns if x not in (*OURS, *OTHERS)]:
        raise SystemExit(f"No column is named {', '.join(strangers)}. Those here: {', '.join((*OURS, *OTHERS))}.")
    names = [name for name in CELLS if not wanted or any(word in name for word in wanted)]
    if not names:
        raise SystemExit(f"No cell's name holds {' or '.join(wanted)}. Those here: {'; '.join(CELLS)}.")
    columns = [x for x in columns if x in OURS or importlib.util.find_spec(x.partition(".")[0])]
    print(table.machine(PACKAGES))
    print()
    rows, seen = [], {}
    for name in names:
        seen[name] = cell = measured(CELLS[name], ("numpy", *columns))
        rows.append((name, *[table.number(1e6 * cell[x]) for x in ("numpy", *columns)]))
        print(f"    {name}: " + ", ".join(f"{x} {1e6 * cell[x]:.1f}" for x in cell), flush=True)
    print()
    print(table.columns(("microseconds", "numpy", *columns), rows))
    print()
    print(table.verdicts(figures(seen)))


def measured(cell: Cell, columns: Sequence[str]) -> dict[str, float]:
    """Seconds of one run, by column; a result that is not NumPy's raises."""
    arrays = cell.arrays()
    runs = {column: programs.maker(column)(cell.program, arrays) for column in columns}
    expected = runs["numpy"]()
    for column, run in runs.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error", dispatch.errors.PerformanceWarning)  # a function that runs as it is is no answer
            found = run()
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-9, err_msg=column)
    return fastest(runs)


def fastest(runs: dict[str, Run]) -> dict[str, float]:
    """The fastest run of each, in turns."""
    least, spent, batch = dict.fromkeys(runs, float("inf")), dict.fromkeys(runs, 0.0), dict.fromkeys(runs, 1)
    for _ in range(ROUNDS):
        gc.collect()
        for name, run in runs.items():
            if spent[name] > SECONDS:
                continue
            start = time.perf_counter()
            for _ in range(batch[name]):
                run()
            took = time.perf_counter() - start
            spent[name] += took
            least[name] = min(least[name], took / batch[name])
            batch[name] = max(1, int(BATCH / least[name]))
    return least


def figures(seen: dict[str, dict[str, float]]) -> list[table.Figure]:
    """What the modes may take: `exact` of NumPy's time; `fast` of the best of the others', at 1e3 of the two compilers'."""
    found = []
    for name, cell in seen.items():
        bound, size = CELLS[name].exact, CELLS[name].size
        if "exact" in cell and bound is not None and size >= 1_000:
            found.append(table.Figure(f"{name}: exact, of NumPy", cell["exact"] / cell["numpy"], bound, "times"))
        rivals = ("numpy", *OTHERS) if size >= 10_000 else ("jax.jit", "torch.compile") if size >= 1_000 else ()
        if "fast" in cell and (there := [cell[x] for x in rivals if x in cell and cell[x] > 0]):
            found.append(table.Figure(f"{name}: fast, of the best", cell["fast"] / min(there), FAST, "times"))
    return found
