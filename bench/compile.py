"""What does it cost to compile a graph, a node?

Microseconds of processor time a node, in graphs of 1 000, 10 000, 100 000 and 200 000: the trace, the passes that make the
graph smaller, the program, the first call as a whole, the same call where another process has left its trace in a folder, and
the load of a saved graph; and the memory that a compiled function takes, while it is made and afterwards. The same cost at all
lengths is what linear means. Each figure is the least of three. Each row is printed when it is there. Above 10 000 nodes the
steps are measured once and of the first program alone, and the memory by how far a process of its own grows: `tracemalloc`
takes 260 us a node.

Then what a call costs beside the function itself: of three operators on three elements without captures and with ten captured
numbers, and of what 100 captured arrays and a captured megabyte add.

    python -m bench compile                every length
    python -m bench compile 1000           this one
    python -m bench compile 0              the calls alone
"""

import gc
import subprocess
import sys
import time
import timeit
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import dispatch
from bench import table
from dispatch.compiler import program
from dispatch.graph import Graph, apply, common_subexpressions, constant_folding, dead_code, reinplace
from dispatch.layers.functionalize import functionalize

LENGTHS = (1_000, 10_000, 100_000, 200_000)
REPEATS = 3
ROUNDS, CALLS = 100, 500
LONG = 10_000  # nodes above which only the first call is repeated
STATUS = Path("/proc/self/status")
COLUMNS = ("trace", "passes", "reinplace", "program", "first call", "from a folder", "save", "load", "KB kept", "KB at most")

Function = Callable[..., Any]


def arithmetic(n: int) -> Function:
    """A chain of ufuncs."""

    def f(x: Any, y: Any) -> Any:
        for _ in range(n // 5):
            z = np.sin(x)
            z = z * 1.01
            z = z + y
            z = np.sqrt(z)
            x = z - x
        return x

    return f


def lorenz(n: int) -> Function:
    """Steps of an equation whose state is an array of three."""

    def f(s: Any, scale: Any) -> Any:
        for _ in range(n // 17):
            x, y, z = s[0], s[1], s[2]
            d = np.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z])
            s = s + 0.01 * d * scale
        return s

    return f


def writes(n: int) -> Function:
    """Writes in place, to an array and to a view of it."""

    def f(x: Any, y: Any) -> Any:
        x = x + y
        for _ in range(n // 10):
            x[1:] += y[1:]
            x *= 0.5
        return x

    return f


def gradient(n: int) -> Function:
    """The gradient of a chain."""
    chain = arithmetic(n // 3)
    found: Function = dispatch.grad(lambda x, y: np.sum(chain(x, y)))
    return found


PROGRAMS: dict[str, Callable[[int], Function]] = {
    "arithmetic": arithmetic, "Lorenz": lorenz, "writes": writes, "gradient": gradient,
}  # fmt: skip


def main(words: Sequence[str]) -> None:
    """Measure and print."""
    lengths = [n for word in words if (n := int(float(word)))] if words else LENGTHS
    header, figures = ("us a node", "nodes", *COLUMNS), []
    print(table.machine(["npdispatch", "numpy"]))
    print()
    if lengths:
        print(_line(header))
    for name in PROGRAMS:
        for length in lengths:
            nodes, seen = costs(name, length)
            print(_line((name, table.number(nodes), *[table.number(seen.get(column)) for column in COLUMNS])), flush=True)
            figures.append(table.Figure(f"first call, {name}, a node of {length}", seen["first call"], 40, "us"))
            figures.append(table.Figure(f"memory at most, {name}, a node of {length}", seen.get("KB at most"), 2, "KB"))
            if "from a folder" in seen:
                figures.append(table.Figure(f"from a folder, {name}, a node of {length}", seen["from a folder"], 40, "us"))
                figures.append(table.Figure(f"load, {name}, a node of {length}", seen["load"], 25, "us"))
    print()
    called = microseconds(calls())
    said = [(name, table.number(eager), table.number(compiled)) for name, (eager, compiled) in called.items()]
    print(table.columns(("us a call", "eager", "compiled"), said))
    print()
    plain = called["no captures"][1] - called["no captures"][0]
    figures.append(table.Figure("no captures, of eager", called["no captures"][1] / called["no captures"][0], 1.6, "x"))
    eager, compiled = called["10 numbers"]
    figures.append(table.Figure("10 captured numbers, of eager", compiled / eager, 2, "x"))
    eager, compiled = called["100 arrays"]
    figures.append(table.Figure("100 captured arrays, beside eager", compiled - eager, 5, "us"))
    more = called["a megabyte"][1] - called["a megabyte"][0] - plain
    figures.append(table.Figure("a captured megabyte, beside no captures", more, 0.1, "us"))
    print(table.verdicts(figures))


def _line(cells: Sequence[str]) -> str:
    """One row, of columns as wide as the header's words."""
    widths = [max(len(word), 7) + 2 for word in ("nodes", *COLUMNS)]
    return cells[0].ljust(10) + "".join(cell.rjust(width) for cell, width in zip(cells[1:], widths, strict=True))


def arguments(name: str) -> tuple[Any, Any]:
    """Two arrays for a program."""
    return (np.ones(3), np.ones(3)) if name == "Lorenz" else (np.linspace(0.5, 1.5, 10), np.ones(10))


def costs(name: str, length: int) -> tuple[int, dict[str, float]]:
    """The number of nodes of a program, and what each step costs for one."""
    made, (x, y) = PROGRAMS[name], arguments(name)
    dispatch.compile(made(100))(x, y)  # what is imported and remembered once
    fastest: dict[str, float] = {}
    nodes = 0
    for repeat in range(REPEATS):
        f = made(length)
        seen: dict[str, float] = {}
        compiled = dispatch.compile(f, fullgraph=True)
        timed(seen, "first call", partial(compiled, x, y))
        del compiled
        if length <= LONG or repeat == 0:
            graph = timed(seen, "trace", partial(dispatch.make_fx(functionalize(f), "fake"), x, y))
            nodes = len(graph.nodes)
            if length <= LONG or name == "arithmetic":
                steps(f, graph, x, y, seen)
            del graph
        fastest = {key: min(value, fastest.get(key, value)) for key, value in seen.items()}
    held = memory(made(length), x, y) if length <= LONG else {"KB at most": resident(name, length)}
    found = {key: value / nodes * 1e6 for key, value in fastest.items()}
    return nodes, found | {key: value / nodes / 1024 for key, value in held.items() if value is not None}


def steps(f: Function, graph: Graph, x: Any, y: Any, seen: dict[str, float]) -> None:
    """Note the seconds of each step after the trace, and of what is done with files."""
    smaller = timed(seen, "passes", lambda: apply(graph, common_subexpressions, constant_folding, dead_code))
    written = timed(seen, "reinplace", lambda: reinplace(smaller))
    timed(seen, "program", lambda: program(written))
    text = timed(seen, "save", graph.dumps)
    timed(seen, "load", lambda: Graph.loads(text))
    with TemporaryDirectory() as folder:
        dispatch.compile(f, fullgraph=True, cache_dir=folder)(x, y)
        found = dispatch.compile(f, fullgraph=True, cache_dir=folder)
        timed(seen, "from a folder", lambda: found(x, y))
        if not found.entries[0].place:
            raise RuntimeError(f"a trace of {len(graph.nodes)} nodes was left in {folder}, and was not found again")


def calls() -> dict[str, tuple[Function, Function, tuple[Any, ...]]]:
    """Functions, compiled and not, and their arguments."""
    x, y = np.ones(3), np.ones(3)
    numbers = {f"k{i}": 0.5 + i for i in range(10)}
    scope: dict[str, Any] = {"np": np, **numbers}
    exec(f"def f(x, y): return {' + '.join(f'x * {k}' for k in numbers)}", scope)
    arrays, large = [np.ones(3) for _ in range(100)], np.ones(1 << 17)

    def plain(x: Any, y: Any) -> Any:
        return np.sin(x) * y + 1.0

    def of_arrays(x: Any, y: Any) -> Any:
        return x * arrays[0] + y * arrays[-1]

    def of_a_megabyte(x: Any, y: Any) -> Any:
        return np.sin(x) * large[:3] + 1.0

    functions = {"no captures": plain, "10 numbers": scope["f"], "100 arrays": of_arrays, "a megabyte": of_a_megabyte}
    return {name: (f, dispatch.compile(f, fullgraph=True), (x, y)) for name, f in functions.items()}


def microseconds(called: dict[str, tuple[Function, Function, tuple[Any, ...]]]) -> dict[str, tuple[float, float]]:
    """The fastest of some runs of many calls, of each of two functions; all run in turns, for small differences are told of."""
    fastest = {name: [float("inf"), float("inf")] for name in called}
    for _ in range(ROUNDS):
        for name, (*functions, args) in called.items():
            for i, f in enumerate(functions):
                took = timeit.timeit(partial(f, *args), number=CALLS) / CALLS * 1e6
                fastest[name][i] = min(fastest[name][i], took)
    return {name: (eager, compiled) for name, (eager, compiled) in fastest.items()}


def timed(seen: dict[str, float], name: str, run: Callable[[], Any]) -> Any:
    """Run a step, and note its seconds of processor time."""
    gc.collect()
    start = time.process_time()
    found = run()
    seen[name] = time.process_time() - start
    return found


def memory(f: Function, x: Any, y: Any) -> dict[str, float | None]:
    """The bytes that a compiled function holds, and the most that its first call held at once."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        compiled = dispatch.compile(f, fullgraph=True)
        compiled(x, y)
        gc.collect()
        kept, most = tracemalloc.get_traced_memory()
        return {"KB kept": kept - before, "KB at most": most - before}
    finally:
        tracemalloc.stop()


def resident(name: str, length: int) -> float | None:
    """By how many bytes a first call lets a process grow, which is begun for it; None where the system has no such count."""
    said = subprocess.run(
        [sys.executable, "-c", f"from bench.compile import grown; print(grown({name!r}, {length}))"],
        stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    return None if "None" in said.stdout else float(said.stdout)


def grown(name: str, length: int) -> int | None:
    """By how many bytes this process grows in a first call."""
    if not STATUS.exists():
        return None
    f, x, y = PROGRAMS[name](length), *arguments(name)
    dispatch.compile(PROGRAMS[name](100))(x, y)
    before = _most_held()
    dispatch.compile(f, fullgraph=True)(x, y)
    return _most_held() - before


def _most_held() -> int:
    """The most bytes that this process has held in memory."""
    lines = STATUS.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
