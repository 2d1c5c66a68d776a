"""What do loops and branches cost, plain, replayed and differentiated?

Loops of `dispatch.control_flow` on plain arrays over the same in Python; Lorenz's equations through 1 000 steps, value and
gradient, compiled: the first call and those after it, replayed, by an engine where JAX is installed, and beside jax.jit and its
scan; a million steps of a scalar scan, forward and backward; and what that holds at its peak beyond its inputs, outputs and
their gradients, with the carry of each step kept, and with checkpoints. Processor time is counted, of the fastest of some runs.

    python -m bench loops              all of it, minutes: memory is counted over a million steps
    python -m bench loops dispatch     ours alone
"""

import importlib.util
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import dispatch
from bench import table

PACKAGES = ("npdispatch", "numpy", "jax")
STEPS, MILLION = 1000, 1_000_000
FIRST, CALL, EAGER = 0.5, 0.15, 1.15  # the most that the design allows: seconds, seconds, of Python's loop
ENGINE = 5  # the most that an engine may take of what jax.jit takes
COUNTS = (10_000, 100_000, MILLION)
GROWTH = 12  # of what checkpoints hold, from the first count to the last: its root is 10

Run = Callable[[], Any]


def main(words: Sequence[str]) -> None:
    """Measure and print."""
    if words and list(words) != ["dispatch"]:
        raise SystemExit(f"No peer is named {', '.join(words)}. Those here: dispatch.")
    print(table.machine(PACKAGES))
    print()
    seen = plain()
    figures = [table.Figure(f"{name}, of Python's loop", ours / python, EAGER, "times") for name, ours, python in seen]
    rows = [(name, table.number(1e6 * python), table.number(1e6 * ours), f"{ours / python:.2f}") for name, ours, python in seen]
    print(table.columns(("on plain arrays", "Python us", "ours us", "over Python"), rows))
    print()
    compiled = [("dispatch.compile + scan", *lorenz())]
    figures.append(table.Figure(f"Lorenz, {STEPS} steps, first call", compiled[0][1], FIRST, "s"))
    figures.append(table.Figure(f"Lorenz, {STEPS} steps, a call", 1e3 * compiled[0][2], 1e3 * CALL, "ms"))
    if not words and importlib.util.find_spec("jax") is not None:
        compiled += [("dispatch.compile(backend='jax') + scan", *lorenz(backend="jax")), ("jax.jit + scan", *lorenz_of_jax())]
        figures.append(table.Figure("Lorenz by an engine, of jax.jit", compiled[1][2] / compiled[2][2], ENGINE, "times"))
    rows = [(name, f"{first:.3f}", f"{1e3 * call:.1f}") for name, first, call in compiled]
    print(table.columns((f"Lorenz, {STEPS} steps, value and gradient", "first call s", "a call ms"), rows))
    print()
    kept = {n: beyond(n, False) / 1e3 for n in COUNTS[:-1]}  # of a million it would be gigabytes
    held = {n: beyond(n, True) / 1e3 for n in COUNTS}
    rows = [(f"{n:,} steps", table.number(kept.get(n)), table.number(held[n])) for n in COUNTS]
    print(table.columns(("a scalar scan: kB beyond inputs, outputs, gradients", "carries kept", "checkpoint=True"), rows))
    growth = held[COUNTS[-1]] / held[COUNTS[0]]
    figures.append(table.Figure("memory with checkpoints, 1e6 steps over 1e4", growth, GROWTH, "times"))
    print(f"\n{MILLION:,} steps forward and backward, checkpoint=True: {million():.1f} s")
    if not words and importlib.util.find_spec("jax") is not None:
        by_engine, by_jax = million("jax"), million_of_jax()
        print(f"the same compiled with backend='jax': {by_engine:.2f} s; of jax.jit, with its carries kept: {by_jax:.2f} s")
    print()
    print(table.verdicts(figures))


def best(run: Run, rounds: int = 7) -> float:
    """The fastest of some runs, in seconds of the processor."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def side_by_side(first: Run, second: Run, rounds: int = 15) -> tuple[float, float]:
    """The fastest of some runs of each, in turns: what disturbs the machine for a while disturbs both."""
    found = [(best(first, 1), best(second, 1)) for _ in range(rounds)]
    return min([x for x, _ in found]), min([y for _, y in found])


# -- on plain arrays -------------------------------------------------------------------------------------------------------


def plain() -> list[tuple[str, float, float]]:
    """Names of loops, their time and that of Python's."""
    numbers, rows, start = np.linspace(0.0, 1.0, 2000), np.ones((2000, 3)), np.ones(3)

    def number(c: Any, x: Any) -> Any:
        return c * 0.9 + x, c

    def record(c: Any, x: Any) -> Any:
        return (c[0] * 0.9 + x["a"], c[1] + 1), {"y": c[0]}

    def indexed(i: Any, c: Any) -> Any:
        return c * 0.9 + rows[i]

    def python_scan(f: Any, carry: Any, xs: Any) -> Any:
        ys = []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        flat = [y["y"] if isinstance(y, dict) else y for y in ys]
        return carry, np.array(flat) if np.ndim(flat[0]) == 0 else np.stack(flat)

    def python_for() -> Any:
        c = start
        for i in range(2000):
            c = indexed(i, c)
        return c

    def python_while() -> Any:
        c = start
        while below(c):
            c = grown(c)
        return c

    below, grown = (lambda c: c[0] < 3000.0), (lambda c: c + 1.5)
    cases: list[tuple[str, Run, Run]] = [
        ("scan, numbers", lambda: dispatch.scan(number, 0.0, numbers), lambda: python_scan(number, 0.0, numbers)),
        ("scan, rows of 3", lambda: dispatch.scan(number, start, rows), lambda: python_scan(number, start, rows)),
        (
            "scan, containers",
            lambda: dispatch.scan(record, (start, 0), {"a": rows}),
            lambda: python_scan(record, (start, np.int64(0)), [{"a": row} for row in rows]),
        ),
        ("fori_loop", lambda: dispatch.fori_loop(0, 2000, indexed, start), python_for),
        ("while_loop", lambda: dispatch.while_loop(below, grown, start), python_while),
    ]
    return [(name, *side_by_side(ours, python)) for name, ours, python in cases]


# -- compiled --------------------------------------------------------------------------------------------------------------


def misfit(xp: Any, scan: Any) -> Callable[[Any], Any]:
    """The mean square of a trajectory of Lorenz's equations, by the classical Runge-Kutta method, of the first state."""

    def flow(s: Any) -> Any:
        x, y, z = s[0], s[1], s[2]
        return xp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(s: Any, _: Any) -> Any:
        k1 = flow(s)
        k2 = flow(s + 0.005 * k1)
        k3 = flow(s + 0.005 * k2)
        k4 = flow(s + 0.01 * k3)
        s = s + 0.01 / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return s, s

    return lambda start: xp.mean(scan(step, start, None, STEPS)[1] ** 2)


def lorenz(**options: Any) -> tuple[float, float]:
    """Seconds of the first call and of a later one."""
    run = dispatch.compile(dispatch.value_and_grad(misfit(np, dispatch.scan)), fullgraph=True, **options)
    state = np.array([1.0, 1.0, 1.0])
    return best(lambda: run(state), 1), best(lambda: run(state))


def lorenz_of_jax() -> tuple[float, float]:
    """The same of JAX."""
    jax = importlib.import_module("jax")
    with jax.enable_x64(True):
        run = jax.jit(jax.value_and_grad(misfit(jax.numpy, jax.lax.scan)))
        state = jax.numpy.ones(3)
        return best(lambda: jax.block_until_ready(run(state)), 1), best(lambda: jax.block_until_ready(run(state)))


# -- a million steps -------------------------------------------------------------------------------------------------------


def gradient(checkpoint: bool) -> Callable[..., Any]:
    """The gradient of a scalar scan, by a number and by all that is scanned."""

    def last(a: Any, xs: Any) -> Any:
        return dispatch.scan(lambda c, x: (c * a + np.sin(x), None), 0.0, xs, checkpoint=checkpoint)[0]

    return dispatch.grad(last, argnums=(0, 1))


def beyond(n: int, checkpoint: bool) -> float:
    """The most bytes that a gradient holds, but for the gradients themselves."""
    run, xs = gradient(checkpoint), np.full(n, 0.5)
    run(0.9, xs[:100])
    tracemalloc.start()
    try:
        run(0.9, xs)
        return tracemalloc.get_traced_memory()[1] - xs.nbytes
    finally:
        tracemalloc.stop()


def million(backend: str | None = None) -> float:
    """Seconds of a million steps and their gradient; of an engine, those after the first call, which compiles."""
    run, xs = gradient(checkpoint=True), np.full(MILLION, 0.5)
    if backend is not None:
        run = dispatch.compile(run, fullgraph=True, backend=backend)
        run(0.9, xs)
    return best(lambda: run(0.9, xs), 1)


def million_of_jax() -> float:
    """The same of JAX, after its first call."""
    jax = importlib.import_module("jax")

    def last(a: Any, xs: Any) -> Any:
        return jax.lax.scan(lambda c, x: (c * a + jax.numpy.sin(x), None), 0.0, xs)[0]

    with jax.enable_x64(True):
        run, xs = jax.jit(jax.grad(last, argnums=(0, 1))), jax.numpy.full(MILLION, 0.5)
        jax.block_until_ready(run(0.9, xs))
        return best(lambda: jax.block_until_ready(run(0.9, xs)), 1)
