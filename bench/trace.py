"""What do tracing and replaying cost?

make_fx a node, with real arrays, fakes and symbolic sizes, beside torch's; a compiled program a node over its kernel, on 3
and on 1 000 float64; the gradient of the digits' network, replayed and eager, for a batch of one picture and of 1 000; and the
arrays that a replayed elementwise chain holds at its peak.

    python -m bench trace              ours, and torch's make_fx where torch is installed
    python -m bench trace dispatch     ours alone
"""

import importlib.util
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import dispatch
from bench import table
from bench.peers import PACKAGES
from bench.timing import Case, Timing, measure
from bench.whole import page
from dispatch.compiler import program
from dispatch.errors import DispatchError

NODES = 100
BATCHES = (1, 1000)
LENGTHS = (3, 1000)
MODES = ("real", "fake", "symbolic")


def chain(x: Any) -> Any:
    """A hundred operations, each on the result of the one before."""
    for _ in range(NODES // 2):
        x = np.negative(x) + x
    return x


def negatives(x: Any) -> Any:
    """A hundred of one."""
    for _ in range(NODES):
        x = np.negative(x)
    return x


def main(words: Sequence[str]) -> None:
    """Measure and print."""
    if strangers := [word for word in words if word not in ("dispatch", "torch")]:
        raise SystemExit(f"No peer is named {', '.join(strangers)}. Those here: dispatch, torch.")
    cases = {**traces(), **replays(), **gradients()}
    if (not words or "torch" in words) and importlib.util.find_spec("torch"):
        cases |= torch_traces()
    timings = measure(cases, rounds=20, batch=1e-2)
    print(table.machine(PACKAGES))
    print()
    print(listing(timings))
    print()
    print(table.verdicts(figures(timings, live_arrays())))


def traces() -> dict[tuple[str, str], Case]:
    """make_fx of a chain, in each mode there is."""
    found = {}
    for mode in MODES:
        try:
            dispatch.make_fx(chain, tracing_mode=mode)(np.ones(3))
        except (DispatchError, ImportError):  # symbolic sizes need SymPy
            continue
        found["make_fx", mode] = Case("trace(x)", {"trace": dispatch.make_fx(chain, tracing_mode=mode), "x": np.ones(3)})
    return found


def torch_traces() -> dict[tuple[str, str], Case]:
    """The same of torch."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    def same(x: Any) -> Any:
        for _ in range(NODES // 2):
            x = torch.neg(x) + x
        return x

    x = torch.ones(3, dtype=torch.float64)
    return {("torch's make_fx", mode): Case("trace(x)", {"trace": make_fx(same, tracing_mode=mode), "x": x}) for mode in MODES}


def replays() -> dict[tuple[str, str], Case]:
    """A chain of one ufunc, and the ufunc itself."""
    found = {}
    for length in LENGTHS:
        x = np.ones(length)
        names = {"run": program(dispatch.make_fx(negatives)(x)), "x": x, "kernel": np.negative}
        calls = "; ".join(["kernel(x)"] * NODES)
        found["replay", f"{length} float64"] = Case("run(x)", names, calls)
    return found


def gradients() -> dict[tuple[str, str], Case]:
    """The gradient of the network in docs/gallery/digits.py, eager and compiled."""
    digits = page("digits")
    eager = dispatch.grad(digits.loss)
    parameters = digits.initial(0)
    found = {}
    for batch in BATCHES:
        x = (parameters, digits.pictures[:batch], digits.labels[:batch])
        compiled = dispatch.compile(eager, fullgraph=True)
        for name, wanted in eager(*x).items():
            if not np.array_equal(compiled(*x)[name], wanted):
                raise AssertionError(f"the compiled gradient of {name} differs")
        found["gradient, eager", f"batch of {batch}"] = Case("f(*x)", {"f": eager, "x": x})
        found["gradient, compiled", f"batch of {batch}"] = Case("f(*x)", {"f": compiled, "x": x})
    return found


def live_arrays(length: int = 1_000_000) -> float:
    """The most memory that a replayed chain takes, in arrays of its length."""
    x = np.ones(length)
    run = program(dispatch.make_fx(negatives, tracing_mode="fake")(x))
    return peak(lambda: run(x)) / x.nbytes


def peak(run: Callable[[], object]) -> int:
    """The most bytes that a call held at once."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def listing(timings: dict[tuple[str, str], Timing]) -> str:
    """A line for each case, in nanoseconds a node where it has nodes."""
    rows = []
    for (what, how), timing in timings.items():
        nodes = 1 if "gradient" in what else NODES
        over = None if timing.over is None else timing.over / nodes
        rows.append((what, how, table.number(timing.call / nodes), table.number(over)))
    return table.columns(("case", "", "ns, a node where there are nodes", "over its kernel"), rows, left=2)


def figures(timings: dict[tuple[str, str], Timing], arrays: float) -> list[table.Figure]:
    """The design's figures, as far as they were measured."""

    def a_node(what: str, how: str) -> float | None:
        timing = timings.get((what, how))
        return None if timing is None else timing.cost / NODES

    def share(batch: int) -> float:
        key = f"batch of {batch}"
        return timings["gradient, compiled", key].call / timings["gradient, eager", key].call

    return [
        table.Figure("make_fx, real, a node", a_node("make_fx", "real"), 10_000),
        table.Figure("make_fx, fake, a node", a_node("make_fx", "fake"), 10_000),
        table.Figure("make_fx, symbolic, a node", a_node("make_fx", "symbolic"), 60_000),
        *[
            table.Figure(f"replay of {n} float64, a node over its kernel", a_node("replay", f"{n} float64"), 80)
            for n in LENGTHS
        ],
        table.Figure("gradient of a picture, compiled, of the time of eager", 100 * share(1), 100 / 3, "%"),
        table.Figure("gradient of 1 000 pictures, compiled, of the time of eager", 100 * share(1000), 100 / 0.95, "%"),
        table.Figure("arrays that a replayed chain holds at its peak", arrays, 2, "arrays"),
    ]
