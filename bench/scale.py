"""What does a chunk cost in worker processes, whose is it, and does the memory of a worker grow with the number of chunks?

Two workers of one thread each. A kernel that takes no time says what is around it: the wall's time of a chunk, and the
processor time of the scheduler's thread. Then a loss over chunks of 4 MB and its gradient in parameters that the client holds,
as one graph: the largest resident memory of a worker after 10 chunks, and after 1 000.
"""

import resource
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import dispatch
from bench import table
from dispatch import Tag, custom_op

CHUNKS = (100, 1_000, 4_000)
FEW, MANY = 10, 1_000
ROWS, COLUMNS = 65_536, 8  # of float64: 4 MB
FLAT = 1.25  # the peak after MANY chunks, of that after FEW


@custom_op("bench_scale::squash", mutates_args=(), tags=Tag.pointwise)
def squash(x: np.ndarray) -> np.ndarray:
    """The kernel."""
    return np.tanh(x)


@squash.register_fake
def _(x: Any) -> Any:
    return np.empty_like(x)


squash.register_autograd(elementwise=lambda x: 1 - np.tanh(x) ** 2)


def loss(w: Any, x: Any) -> Any:
    """A mean over all rows, of the parameters that the client holds."""
    return np.mean((squash(x @ w) - 0.5) ** 2)


def busy(client: Any) -> float:
    """Seconds of the thread in which the scheduler runs."""
    return float(client.run_on_scheduler(time.thread_time))


def peak(client: Any) -> float:
    """The largest resident memory of a worker so far, in MB."""
    return max(client.run(_peak).values())


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(client: Any, compute: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall, and those of the scheduler."""
    start, before = time.perf_counter(), busy(client)
    compute()
    return time.perf_counter() - start, busy(client) - before


def main(words: Sequence[str]) -> None:
    """Measure and print."""
    try:
        import dask
        import dask.array as da
        import distributed
    except ImportError as missing:
        print(f"left out: {missing}. It comes with `pip install -e \".[bench]\"`.")
        return
    made = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    rows = []
    with made as cluster, distributed.Client(cluster) as client:

        def run(what: str, chunks: int, asked: Callable[[], Any]) -> None:
            graph = time.perf_counter()
            lazy = asked()
            graph = time.perf_counter() - graph
            tasks = len({key for x in dask.optimize(*lazy) for key in dict(x.__dask_graph__())})
            wall, scheduler = timed(client, lambda: client.gather(client.compute(lazy)))
            each = [f"{1e6 * x / chunks:,.0f}".replace(",", " ") for x in (graph, wall, scheduler)]
            rows.append((what, f"{tasks / chunks:.1f}", *each, f"{scheduler / wall:.0%}"))

        client.compute(np.sum(squash(da.ones(20, chunks=10)))).result()
        for chunks in CHUNKS:
            x = da.ones(8 * chunks, chunks=8)
            run(f"an operator, {chunks} chunks", chunks, lambda: [np.sum(squash(x))])  # noqa: B023 - called at once
        peaks = []
        for chunks in (FEW, MANY):
            x = da.random.default_rng(0).normal(size=(chunks * ROWS, COLUMNS), chunks=(ROWS, COLUMNS))
            w = np.linspace(-1, 1, COLUMNS)
            run(f"a loss and its gradient, {chunks} chunks of 4 MB", chunks, lambda: list(dispatch.value_and_grad(loss)(w, x)))  # noqa: B023
            peaks.append(peak(client))
    print(table.machine(["npdispatch", "numpy", "dask", "distributed"]))
    print()
    print(table.columns(("us a chunk", "tasks", "graph", "wall", "scheduler", "its share"), rows))
    print()
    print(f"peak of a worker: {peaks[0]:.0f} MB after {FEW} chunks, {peaks[1]:.0f} MB after {MANY}")
    grown = table.Figure(f"peak after {MANY} chunks, of that after {FEW}", 100 * peaks[1] / peaks[0], 100 * FLAT, "%")
    print(table.verdicts([grown]))
