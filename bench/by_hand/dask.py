"""dask.array.apply_gufunc around a NumPy kernel, with `meta`, as Dask's documentation has it; and ten thousand chunks.

What is timed is the graph and its run, in this thread and with no worker between, by processor time. A round takes seconds,
so that it is timed here: the fastest of some.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np

from dispatch import custom_op

BOUND = 1.1
CHUNKS = (10, 100, 1_000, 10_000)
ROUNDS = {10: 100, 100: 20, 1_000: 5, 10_000: 3}
LINEAR = 1.25  # what a chunk of 10 000 may cost, of what one of 100 does
ITEMS = 8  # in each chunk: the kernel takes no time


@custom_op("by_hand::dask_norm", mutates_args=(), signature="(n)->()")
def norm(x: np.ndarray) -> np.ndarray:
    """The kernel, for one item."""
    return np.asarray(np.sqrt((x * x).sum()))


def norms(x: np.ndarray) -> np.ndarray:
    """The kernel, for all items of a chunk."""
    return np.sqrt((x * x).sum(axis=-1))


norm.register_kernel("cpu", norms)


def by_hand(x: Any) -> Any:
    """The same, without an operator."""
    return da.apply_gufunc(norms, "(n)->()", x, meta=np.empty((0,)))


def whole(f: Callable[[Any], Any], x: Any) -> Callable[[], object]:
    """Make the graph and run it."""
    return lambda: f(x).compute(scheduler="synchronous")


def fastest(calls: list[Callable[[], object]], rounds: int) -> list[float]:
    """The fastest of some rounds of each call, without the garbage collector, each call in turn; in nanoseconds."""
    least = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            gc.collect()
            gc.disable()
            try:
                start = time.process_time()
                call()
                least[i] = min(least[i], (time.process_time() - start) * 1e9)
            finally:
                gc.enable()
    return least


def measured() -> list[tuple[str, float, float, float]]:
    """By what is measured: a chunk's share of ours, of the one by hand, and the most that their ratio may be."""
    found, chunk = [], {}
    for chunks in CHUNKS:
        x = da.ones((chunks * ITEMS, 3), chunks=(ITEMS, 3))
        np.testing.assert_array_equal(whole(norm, x)(), whole(by_hand, x)())
        ours, hand = fastest([whole(norm, x), whole(by_hand, x)], ROUNDS[chunks])
        chunk[chunks] = ours / chunks
        found.append((f"dask, a chunk of {chunks}", ours / chunks, hand / chunks, BOUND))
    return [*found, ("dask, a chunk of 10 000, by hand one of 100", chunk[10_000], chunk[100], LINEAR)]
