"""What does an exported operator cost in a framework, over the framework's own operator around the same kernel?

Both are timed in one run, round-robin. The kernels are small, so that what is timed is what is around them.
"""

import importlib
from collections.abc import Sequence

from bench import table
from bench.timing import measure

FRAMEWORKS = {"jax": "jax", "torch": "torch"}  # the file in bench/by_hand, and the package that it needs
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
        pairs = module.cases()
        timings = measure({(what, i): case for what, pair in pairs.items() for i, case in enumerate(pair)}, ROUNDS)
        for what in pairs:
            ours, hand = timings[what, 0].call, timings[what, 1].call
            rows.append((what, table.number(ours), table.number(hand), f"{ours / hand:.2f}"))
            figures.append(table.Figure(f"{what}, over the one by hand", ours / hand, module.BOUND))
    print(table.machine(packages))
    print()
    print(table.columns(("ns", "exported", "by hand", "ratio"), rows))
    print()
    print(table.verdicts(figures))
