"""How much memory does a gradient need at its peak?

Programs of 50 operations on arrays of a million float64, eight megabytes each, and their gradient: the most memory that the
operating system gave the process, over what it held before, each program in a fresh process and counted in such arrays.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench import table
from bench.peers import PACKAGES

LENGTH = 1_000_000
OPERATIONS = 50
PROC = Path("/proc/self")
PEERS = {"dispatch": "dispatch", "torch": "torch autograd"}


def sines(xp: Any, x: Any, y: Any) -> Any:
    """A chain of sines."""
    for _ in range(OPERATIONS):
        x = xp.sin(x)
    return x


def exponentials(xp: Any, x: Any, y: Any) -> Any:
    """A chain whose derivatives read the results."""
    for _ in range(OPERATIONS // 2):
        x = xp.exp(-x)
    return x


def products(xp: Any, x: Any, y: Any) -> Any:
    """Powers of a value."""
    power = x
    for _ in range(OPERATIONS):
        power = power * x
    return power


def squares(xp: Any, x: Any, y: Any) -> Any:
    """A value times itself, again and again."""
    for _ in range(OPERATIONS):
        x = x * x
    return x


def scalars(xp: Any, x: Any, y: Any) -> Any:
    """Python numbers between sines."""
    for _ in range(OPERATIONS // 5):
        x = 0.5 * xp.sin(2.0 * x + 1.0) - 0.25
    return x


def sums(xp: Any, x: Any, y: Any) -> Any:
    """Products with a constant, and sums."""
    total = x
    for _ in range(OPERATIONS // 2):
        total = total * y + x
    return total


def mixed(xp: Any, x: Any, y: Any) -> Any:
    """A little of everything."""
    for _ in range(OPERATIONS // 5):
        x = xp.tanh(x * y) / (xp.exp(-x) + 2.0)
    return x


PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    f.__name__: f for f in (sines, exponentials, products, squares, scalars, sums, mixed)
}


def main(words: Sequence[str]) -> None:
    """Measure ours and torch, where it is installed, or the one of them that is named; print."""
    if len(words) == 2 and words[0] in PEERS:
        print(json.dumps(GRADIENTS[words[0]](PROGRAMS[words[1]])))
        return
    if strangers := [word for word in words if word not in PEERS]:
        raise SystemExit(f"No peer is named {', '.join(strangers)}. Those here: {', '.join(PEERS)}.")
    seen = {name: {peer: arrays(peer, name) for peer in PEERS if not words or peer in words} for name in PROGRAMS}
    print(table.machine(PACKAGES))
    print()
    rows = [(name, *(table.number(found.get(peer)) for peer in PEERS)) for name, found in seen.items()]
    print(table.columns(("arrays at the peak", *PEERS.values()), rows))
    print()
    figures = [
        table.Figure(f"{name}, of torch's", ratio(found.get("dispatch"), found.get("torch")), 100, "%")
        for name, found in seen.items()
    ]
    print(table.verdicts(figures))


def arrays(peer: str, program: str) -> float | None:
    """The peak of one program in a process of its own; None where the peer is not installed."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", "memory", peer, program], capture_output=True, text=True, check=False
    )
    if done.returncode:
        if "ModuleNotFoundError" in done.stderr:
            return None
        raise RuntimeError(done.stderr)
    return float(json.loads(done.stdout)) / (8 * LENGTH)


def ratio(ours: float | None, theirs: float | None) -> float | None:
    """Ours in percent of theirs."""
    return None if ours is None or theirs is None else 100 * ours / theirs


def peak_of(run: Callable[[int], object]) -> int:
    """The bytes that the process grew by at most during a run, after one on small arrays."""
    run(10)
    with suppress(OSError):
        (PROC / "clear_refs").write_text("5")  # the peak from here on, not that of the imports
    before = resident()
    run(LENGTH)
    return most_resident() - before


def resident() -> int:
    """The bytes of memory that the process has."""
    try:
        return int((PROC / "statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return most_resident()


def most_resident() -> int:
    """The most bytes it has had."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def of_dispatch(program: Callable[[Any, Any, Any], Any]) -> int:
    """The peak of ours."""
    import numpy as np

    import dispatch

    gradient = dispatch.grad(lambda x, y: np.sum(program(np, x, y)))
    return peak_of(lambda length: gradient(np.full(length, 0.5), np.full(length, 0.75)))


def of_torch(program: Callable[[Any, Any, Any], Any]) -> int:
    """The peak of torch."""
    import torch

    def run(length: int) -> Any:
        x = torch.full((length,), 0.5, dtype=torch.float64, requires_grad=True)
        y = torch.full((length,), 0.75, dtype=torch.float64)
        return torch.autograd.grad(program(torch, x, y).sum(), x)

    torch.set_num_threads(1)
    return peak_of(run)


GRADIENTS = {"dispatch": of_dispatch, "torch": of_torch}
