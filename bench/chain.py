"""What does a long tape cost a node?

A chain of sines of three float64, forward and backward (with the release of the tape), per node, in chains of 10 000
and of 100 000: the same cost in both is what linear means.
"""

import gc
import time
import tracemalloc
from collections.abc import Sequence
from types import ModuleType

from bench import table
from bench.peers import PACKAGES, installed
from bench.peers import dispatch as ours

SHORT = 10_000
LONG = 100_000
REPEATS = 5


def main(words: Sequence[str]) -> None:
    """Measure ours and the peers named, or all; print."""
    rows, seen = [], {}
    for name, peer in ({"dispatch": ours} | installed(words)).items():
        if hasattr(peer, "chain"):
            seen[name] = {length: nanoseconds(peer, length) for length in (SHORT, LONG)}
            numbers = [table.number(ns) for length in (SHORT, LONG) for ns in seen[name][length]]
            rows.append((peer.label, *numbers))
    print(table.machine(PACKAGES))
    print()
    header = ("ns a node", f"forward, {SHORT}", "backward", f"forward, {LONG}", "backward")
    print(table.columns(header, rows))
    print()
    held, left, cycles = sizes(ours, SHORT)
    print(f"A node of ours holds {held:.0f} bytes; {left:.1f} are left of it after the backward.")
    print()
    (short_forward, short_backward), (forward, backward) = seen["dispatch"][SHORT], seen["dispatch"][LONG]
    growth = (forward + backward) / (short_forward + short_backward)
    print(
        table.verdicts(
            [
                table.Figure(f"forward, a node of {LONG}", forward, 1200),
                table.Figure(f"backward, a node of {LONG}", backward, 1500),
                # Ten times the memory falls out of the processor's cache, which linear time does not forbid.
                table.Figure(f"a node of {LONG}, of one in {SHORT}", growth, 1.5, "times"),
                table.Figure("left of a node after the backward", left, 1, "bytes"),
                table.Figure("objects in cycles, of all nodes", cycles, 0, ""),
            ]
        )
    )


def nanoseconds(peer: ModuleType, length: int) -> tuple[float, float]:
    """The fastest forward and backward of a chain, a node; the collector is off, as it is in timeit."""
    forward, backward = peer.chain(length)
    there, back = [], []
    gc.collect()
    gc.disable()
    try:
        for _ in range(REPEATS):
            start = time.process_time_ns()
            forward()
            turned = time.process_time_ns()
            backward()
            there.append(turned - start)
            back.append(time.process_time_ns() - turned)
    finally:
        gc.enable()
    return min(there) / length, min(back) / length


def sizes(peer: ModuleType, length: int) -> tuple[float, float, int]:
    """The bytes of Python and NumPy that a node holds after the forward, and after the backward; objects left in cycles.

    The collector runs before the last look, since it alone empties the interpreter's own stock of some thousands of freed
    tuples, and says how many objects only it could free.
    """
    forward, backward = peer.chain(length)
    forward()
    backward()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    forward()
    held, _ = tracemalloc.get_traced_memory()
    backward()
    cycles = gc.collect()
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    gc.enable()
    return held / length, left / length, cycles
