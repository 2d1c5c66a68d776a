"""How fast are twelve programs of the kind that HIPS autograd is used for?

Each value with its gradient: ours on plain NumPy and SciPy beside HIPS autograd's on its own, the same lines
(bench/whole/twelve.py), in one run and on one thread. Both must give the same, to 1e-10. The fastest of some rounds counts, in
each of which both run.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from statistics import median
from typing import Any

import autograd
import autograd.numpy
import autograd.scipy.special
import autograd.scipy.stats
import numpy as np
import scipy.special

import dispatch
from bench import table
from bench.programs import ONE_THREAD, TOLERANCE, seconds
from bench.whole.twelve import PROGRAMS, Special

PACKAGES = ("npdispatch", "numpy", "scipy", "autograd")
MEDIAN, MOST = 0.6, 1.0  # of HIPS's time
OURS = (np, Special(scipy.special.gammaln, scipy.special.ndtr, scipy.special.expit))
HIPS = (autograd.numpy, Special(autograd.scipy.special.gammaln, autograd.scipy.stats.norm.cdf, autograd.scipy.special.expit))


def runs(name: str) -> dict[str, Any]:
    """The value and gradient of a program, by each."""
    f, x = PROGRAMS[name](*OURS)
    g, _ = PROGRAMS[name](*HIPS)
    ours, theirs = dispatch.value_and_grad(f), autograd.value_and_grad(g)
    return {"dispatch": lambda: ours(x), "autograd": lambda: theirs(x)}


def leaves(x: Any) -> list[Any]:
    """The arrays of a container."""
    if isinstance(x, dict):
        return [leaf for key in sorted(x) for leaf in leaves(x[key])]
    return [leaf for item in x for leaf in leaves(item)] if isinstance(x, (list, tuple)) else [np.asarray(x)]


def apart(name: str) -> float:
    """How far values and gradients are apart: the largest difference, of the largest number of its array."""
    found, expected = [leaves(run()) for run in runs(name).values()]
    return max(float(np.max(np.abs(x - y)) / np.max(np.abs(y))) for x, y in zip(found, expected, strict=True))


def main(words: Sequence[str]) -> None:
    """Measure the programs named, or all; print."""
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        again = [sys.executable, "-m", "bench", "autograd_programs", *words]
        raise SystemExit(subprocess.run(again, env=os.environ | ONE_THREAD, check=False).returncode)
    if strangers := [name for name in words if name not in PROGRAMS]:
        raise SystemExit(f"No program is named {', '.join(strangers)}. Those here: {', '.join(PROGRAMS)}.")
    print(table.machine(PACKAGES))
    print()
    rows, ratios, worst = [], [], 0.0
    for name in words or PROGRAMS:
        seen, difference = seconds(runs(name)), apart(name)
        ratios.append(seen["dispatch"] / seen["autograd"])
        worst = max(worst, difference)
        times = [f"{seen[peer] * 1e3:.3f}" for peer in ("dispatch", "autograd")]
        rows.append((name, *times, f"{ratios[-1]:.2f}", f"{difference:.0e}"))
    print(table.columns(("program", "ours, ms", "HIPS, ms", "of HIPS", "apart"), rows))
    print()
    figures = [
        table.Figure("median, of the time of HIPS", median(ratios), MEDIAN, "times"),
        table.Figure("most, of the time of HIPS", max(ratios), MOST, "times"),
        table.Figure("values and gradients apart", worst / TOLERANCE, 1, f"times {TOLERANCE}"),
    ]
    print(table.verdicts(figures))
