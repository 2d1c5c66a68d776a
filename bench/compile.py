"""What does it cost to compile a graph, a node?

Microseconds of processor time a node, in graphs of 1 000, 10 000, 100 000 and 200 000: the trace, the passes that make the
graph smaller, the program, the first call as a whole, the same call where another process has left its trace in a folder, and
the load of a saved graph; and the memory that a compiled function takes, while it is made and afterwards. The same cost at all
lengths is what linear means.

Then what a call costs beside the function itself: of three operators on three elements without captures and with ten captured
numbers, and of what 100 captured arrays and a captured megabyte add.

    python -m bench compile                every length
    python -m bench compile 1000           this one
    python -m bench compile 0              the calls alone
"""

import gc
import time
import timeit
import tracemalloc
from collections.abc import Callable, Sequence
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
        for _ in range(n // 5):
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
    rows, figures = [], []
    for name, made in PROGRAMS.items():
        for length in lengths:
            nodes, seen = costs(made, length)
            rows.append((name, table.number(nodes), *[table.number(seen[column]) for column in COLUMNS]))
            if name == "writes":
                figures.append(table.Figure(f"first call, writes, a node of {length}", seen["first call"], 40, "us"))
            if name == "arithmetic":
                figures.append(table.Figure(f"first call, a node of {length}", seen["first call"], 40, "us"))
                figures.append(table.Figure(f"first call from a folder, a node of {length}", seen["from a folder"], 40, "us"))
                figures.append(table.Figure(f"load, a node of {length}", seen["load"], 25, "us"))
                figures.append(table.Figure(f"memory at most, a node of {length}", seen["KB at most"], 2, "KB"))
    print(table.machine(["npdispatch", "numpy"]))
    print()
    print(table.columns(("us a node", "nodes", *COLUMNS), rows))
    print()
    called = {name: (microseconds(f, *args), microseconds(g, *args)) for name, (f, g, args) in calls().items()}
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


def costs(made: Callable[[int], Function], length: int) -> tuple[int, dict[str, float]]:
    """The number of nodes of a program, and what each step costs for one."""
    x, y = (np.ones(3), np.ones(3)) if made is lorenz else (np.linspace(0.5, 1.5, 10), np.ones(10))
    dispatch.compile(made(100))(x, y)  # what is imported and remembered once
    fastest: dict[str, float] = {}
    nodes = 0
    for _ in range(REPEATS if length <= 10_000 else 1):
        f = made(length)
        seen: dict[str, float] = {}
        graph = timed(seen, "trace", lambda f=f: dispatch.make_fx(functionalize(f), "fake")(x, y))
        smaller = timed(seen, "passes", lambda g=graph: apply(g, common_subexpressions, constant_folding, dead_code))
        written = timed(seen, "reinplace", lambda g=smaller: reinplace(g))
        timed(seen, "program", lambda g=written: program(g))
        text = timed(seen, "save", lambda g=graph: g.dumps())
        timed(seen, "load", lambda text=text: Graph.loads(text))
        nodes = len(graph.nodes)
        del graph, smaller, written, text
        compiled = dispatch.compile(f, fullgraph=True)
        timed(seen, "first call", lambda compiled=compiled: compiled(x, y))
        del compiled
        with TemporaryDirectory() as folder:
            dispatch.compile(f, fullgraph=True, cache_dir=folder)(x, y)
            found = dispatch.compile(f, fullgraph=True, cache_dir=folder)
            timed(seen, "from a folder", lambda found=found: found(x, y))
            if not found.entries[0].place:
                raise RuntimeError(f"a trace of {length} nodes was left in {folder}, and was not found again")
        fastest = {key: min(value, fastest.get(key, value)) for key, value in seen.items()}
    kept, most = memory(made(length), x, y)
    found = {key: value / nodes * 1e6 for key, value in fastest.items()}
    return nodes, found | {"KB kept": kept / nodes / 1024, "KB at most": most / nodes / 1024}


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


def microseconds(f: Function, *args: Any) -> float:
    """The fastest of some runs of many calls."""
    f(*args)
    return min(timeit.repeat(lambda: f(*args), number=2_000, repeat=25)) / 2_000 * 1e6


def timed(seen: dict[str, float], name: str, run: Callable[[], Any]) -> Any:
    """Run a step, and note its seconds of processor time."""
    gc.collect()
    start = time.process_time()
    found = run()
    seen[name] = time.process_time() - start
    return found


def memory(f: Function, x: Any, y: Any) -> tuple[int, int]:
    """The bytes that a compiled function holds, and the most that its first call held at once."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        compiled = dispatch.compile(f, fullgraph=True)
        compiled(x, y)
        gc.collect()
        kept, most = tracemalloc.get_traced_memory()
        return kept - before, most - before
    finally:
        tracemalloc.stop()
