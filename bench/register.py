"""What does defining an operator with fake and autograd rules cost, and 10 000 of them?

The time of one definition beside the peers', the memory an operator takes beyond its functions, and whether a call
costs more when 10 000 operators are defined than when 10 are.
"""

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bench import table
from bench.peers import PACKAGES, installed
from bench.peers import dispatch as ours
from bench.timing import Case, measure
from bench.workload import Function, constant

FEW = 10
MANY = 10_000
# The slowest peer takes about a millisecond a definition.
PEERS_MANY = 300
SHOWN = 16  # lines that hold memory
RESULT = np.ones(3)
ROOT = Path(__file__).resolve().parent.parent

Rules = tuple[Function, Function, Function, Function]


def main(words: Sequence[str]) -> None:
    """Define operators of ours and of the peers named, or all; measure, print."""
    rows = [
        (peer.label, table.number(statistics.median(definitions(peer, "op", PEERS_MANY)) / 1e3))
        for peer in installed(words).values()
        if hasattr(peer, "define") and peer is not ours
    ]
    first = definitions(ours, "few", FEW)
    few = call(ours, "called_with_few")
    spent = definitions(ours, "many", MANY - FEW)
    many = call(ours, "called_with_many")
    tenth = MANY // 10
    rows.insert(0, (ours.label, table.number(statistics.median(spent) / 1e3)))
    print(table.machine(PACKAGES))
    print()
    print(table.columns(("one definition", "us"), rows))
    print()
    held, lines = size(ours)
    print(table.columns(("one operator, by the line that made it", "bytes"), lines))
    print()
    early, late = statistics.median(spent[:tenth]) / 1e3, statistics.median(spent[-tenth:]) / 1e3
    print(
        f"Our first took {first[0] / 1e3:.0f} us; of {MANY}, the first tenth {early:.0f} us each, the last {late:.0f}."
    )
    print(f"A call costs {few:.1f} ns over its kernel with {FEW} operators defined, {many:.1f} ns with {MANY}.")
    print()
    print(
        table.verdicts(
            [
                table.Figure("one definition with fake and autograd rules", statistics.median(spent) / 1e3, 50, "us"),
                table.Figure("one operator beyond its functions", held, 2048, "bytes"),
                # The same cost is the figure; 5 ns is what a quiet machine repeats itself to.
                table.Figure(f"a call, {MANY} operators against {FEW}: more", many - few, 5),
            ]
        )
    )


def functions(peer: ModuleType, count: int) -> list[Rules]:
    """A kernel and three rules for each operator, all functions of their own."""
    return [fresh(peer.array, peer.empty_like) for _ in range(count)]


def fresh(array: type, empty_like: Callable[[Any], Any]) -> Rules:
    """A kernel and three rules that are nobody else's."""

    def fake(x0: Any) -> Any:
        return empty_like(x0)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.kept = inputs

    def backward(ctx: Any, g: Any) -> Any:
        return g

    return constant(1, array, RESULT), fake, setup_context, backward


def definitions(peer: ModuleType, prefix: str, count: int) -> list[int]:
    """The nanoseconds of each of ``count`` definitions."""
    spent = []
    for place, rules in enumerate(functions(peer, count)):
        start = time.perf_counter_ns()
        peer.define(f"{prefix}_{place}", *rules)
        spent.append(time.perf_counter_ns() - start)
    return spent


def size(peer: ModuleType) -> tuple[float, list[tuple[str, str]]]:
    """The bytes that an operator keeps beyond the functions it was given, and the lines that made most of them."""
    rules = functions(peer, MANY)
    gc.collect()
    tracemalloc.start()
    for place, of_one in enumerate(rules):
        peer.define(f"sized_{place}", *of_one)
    gc.collect()
    snapshot = tracemalloc.take_snapshot()
    tracemalloc.stop()
    lines = snapshot.statistics("lineno")
    shown = [(source(line), table.number(line.size / MANY)) for line in lines[:SHOWN]]
    return sum(line.size for line in lines) / MANY, shown


def source(line: tracemalloc.Statistic) -> str:
    """Where memory was taken: `dispatch/operators/registry.py:84`."""
    frame = line.traceback[0]
    path = Path(frame.filename)
    return f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name}:{frame.lineno}"


def call(peer: ModuleType, name: str) -> float:
    """The nanoseconds of one call over its kernel, of an operator defined now."""
    kernel, *rules = functions(peer, 1)[0]
    op = peer.define(name, kernel, *rules)
    case = Case("op(x0)", {"op": op, "kernel": kernel, "x0": np.ones(3)}, "kernel(x0)")
    return measure({name: case})[name].cost
