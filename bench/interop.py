"""What does an exported operator cost in a framework, over the framework's own operator around the same kernel?

Both are timed in one run, round-robin. The kernels are small, so that what is timed is what is around them. And what does a
kernel in C save, over a loop in Python?
"""

import importlib
from collections.abc import Sequence
from types import ModuleType

from bench import table
from bench.timing import measure

# the file in bench/by_hand, and the package that it needs
FRAMEWORKS = {"cfunc": "numba", "dask": "dask", "jax": "jax", "torch": "torch"}
ROUNDS = 40


def main(words: Sequence[str]) -> None:
    """Measure every framework, or those that are named; print."""
    rows, figures, packages = [], [], ["npdispatch", "numpy"]
    for name, package in FRAMEWORKS.items():
        if words and name not in words:
            continue
        try:
            module = importlib.import_module(f"bench.by_hand.{name}")
        except ImportError as missing:
            print(f"{name} is left out: {missing}")
            continue
        packages.append(package)
        for what, ours, hand, bound in compared(module):
            rows.append((what, table.number(ours), table.number(hand), f"{ours / hand:.3g}"))
            figures.append(table.Figure(f"{what}, of the one by hand", 100 * ours / hand, 100 * bound, "%"))
    print(table.machine(packages))
    print()
    print(table.columns(("ns", "exported", "by hand", "ratio"), rows))
    print()
    print(table.verdicts(figures))


def compared(module: ModuleType) -> list[tuple[str, float, float, float]]:
    """By what is measured: ours and the one by hand in nanoseconds, and the most that their ratio may be."""
    if hasattr(module, "measured"):
        return module.measured()
    pairs = module.cases()
    timings = measure({(what, i): case for what, pair in pairs.items() for i, case in enumerate(pair)}, ROUNDS)
    return [(what, timings[what, 0].call, timings[what, 1].call, module.BOUND) for what in pairs]
