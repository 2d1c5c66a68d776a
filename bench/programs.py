"""How fast are three whole programs and their gradients?

The network, the Gaussian process and the differential equation of docs/gallery/, each value with its gradient: ours beside
HIPS autograd, PyTorch and JAX, all eager, in one run and on one thread. Every peer has the same arrays and must give the same
value and gradient, to 1e-10. The fastest of some rounds counts, in each of which every peer runs once.
"""

import gc
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench import table
from bench.peers import absent
from bench.whole import NAMES, Run, page

PEERS = ("dispatch", "autograd", "torch", "jax")
PACKAGES = ("npdispatch", "numpy", "autograd", "torch", "jax")
SECONDS, ROUNDS = 5.0, 20  # for each peer and program; the first run always counts, even of one that takes longer
BATCH = 20  # runs of a quick program, one after the other, so that the others' caches do not count
TOLERANCE = 1e-10
# Libraries of linear algebra read these when they are loaded, which is before this file has a say.
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
BOUNDS = {  # what ours may take: of HIPS autograd's time, and of torch's
    "digits": (0.5, 1.3),
    "gaussian_process": (0.5, 1.3),
    "lorenz": (0.5, 1.0),
}


def main(words: Sequence[str]) -> None:
    """Measure ours and the peers named, or all; print."""
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        again = [sys.executable, "-m", "bench", "programs", *words]
        raise SystemExit(subprocess.run(again, env=os.environ | ONE_THREAD, check=False).returncode)
    if strangers := [name for name in words if name not in PEERS]:
        raise SystemExit(f"No peer is named {', '.join(strangers)}. Those here: {', '.join(PEERS)}.")
    peers = {name: peer for name in dict.fromkeys(("dispatch", *(words or PEERS))) if (peer := _loaded(name))}
    print(table.machine(PACKAGES))
    print()
    rows, figures = [], []
    for name in NAMES:
        arguments = data(name)
        runs = {peer: getattr(module, name)(*arguments) for peer, module in peers.items()}
        apart = {peer: difference(run(), runs["dispatch"]()) for peer, run in runs.items()}
        seen = seconds(runs)
        ours = seen["dispatch"]
        rows += [
            (
                name if peer == "dispatch" else "",
                module.label,
                f"{seen[peer] * 1e3:.2f}",
                f"{seen[peer] / ours:.2f}",
                f"{apart[peer]:.0e}",
            )
            for peer, module in peers.items()
        ]
        for peer, bound in zip(("autograd", "torch"), BOUNDS[name], strict=True):
            part = ours / seen[peer] if peer in seen else None
            figures.append(table.Figure(f"{name}, of the time of {peer}", part, bound, "times"))
        worst = max(apart.values())
        figures.append(table.Figure(f"{name}, values and gradients apart", worst / TOLERANCE, 1, f"times {TOLERANCE}"))
    print(table.columns(("program", "", "ms", "of ours", "apart"), rows, left=2))
    print()
    print(table.verdicts(figures))


def _loaded(name: str) -> Any:
    try:
        return importlib.import_module(f"bench.whole.{name}")
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package in {"", "bench", "dispatch"}:
            raise
        print(absent(name, package))
        return None


def data(name: str) -> tuple[Any, ...]:
    """The arrays that a program is given."""
    if name == "digits":
        own = page("digits")
        batches = np.array_split(own.train, len(own.train) // 64)
        return own.initial(0), [own.pictures[rows] for rows in batches], [own.labels[rows] for rows in batches]
    if name == "gaussian_process":
        own = page("gaussian_process")
        return np.log([1.0, 1.0, 0.5]), own.x, own.y
    own = page("lorenz")
    return own.guess, own.start, own.observed


def difference(found: tuple[float, Any], ours: tuple[float, Any]) -> float:
    """How far two values and gradients are apart: the largest difference, of the largest number."""
    pairs = [(found[0], ours[0])]
    pairs += [(found[1][k], ours[1][k]) for k in ours[1]] if isinstance(ours[1], dict) else [(found[1], ours[1])]
    return max(float(np.max(np.abs(np.asarray(a) - b)) / np.max(np.abs(b))) for a, b in pairs)


def seconds(runs: dict[str, Run]) -> dict[str, float]:
    """The fastest run of each, in turns; the collector is on, as it is for users."""
    fastest, spent = dict.fromkeys(runs, float("inf")), dict.fromkeys(runs, 0.0)
    for _ in range(ROUNDS):
        gc.collect()
        for name, run in runs.items():
            for _ in range(BATCH if fastest[name] < SECONDS / 100 else 1):
                if spent[name] < SECONDS:
                    start = time.perf_counter()
                    run()
                    took = time.perf_counter() - start
                    fastest[name] = min(fastest[name], took)
                    spent[name] += took
    return fastest
