"""A million systems of three equations: a kernel in C, made by Numba, beside a loop in Python; and threads.

A round takes seconds, so that it is timed here: one thread by processor time, as the loop in Python; and threads by the clock
on the wall, the fastest of some rounds, which says something where two processors are free.
"""

import time
from collections.abc import Callable
from typing import Annotated, Any

import numba
import numpy as np
from numba import carray, types

from dispatch import custom_op

SYSTEMS = 1_000_000
LOOPED = 100_000  # by the loop in Python, which takes seconds for these
ROUNDS = 15
AT_LEAST = 20  # times a loop in Python
OF_ONE_THREAD = 0.9  # that two threads take at most; half of it is as good as it gets

C = Annotated[np.ndarray, "C"]
doubles, sizes = types.CPointer(types.CPointer(types.double)), types.CPointer(types.intp)


@numba.cfunc(types.void(doubles, sizes, sizes, types.voidptr), error_model="numpy")
def eliminate(args: Any, dimensions: Any, steps: Any, data: Any) -> None:
    """Gauss with the largest pivot of each column; the arrays are in C order."""
    a, b, x = carray(args[0], (1,)), carray(args[1], (1,)), carray(args[2], (1,))
    m = np.empty((3, 4))
    for k in range(dimensions[0]):
        at_a, at_b, at_x = k * steps[0] // 8, k * steps[1] // 8, k * steps[2] // 8
        for i in range(3):
            for j in range(3):
                m[i, j] = a[at_a + 3 * i + j]
            m[i, 3] = b[at_b + i]
        for c in range(3):
            p = c
            for r in range(c + 1, 3):
                if abs(m[r, c]) > abs(m[p, c]):
                    p = r
            for j in range(c, 4):
                m[c, j], m[p, j] = m[p, j], m[c, j]
            for r in range(c + 1, 3):
                f = m[r, c] / m[c, c]
                for j in range(c, 4):
                    m[r, j] -= f * m[c, j]
        for c in range(2, -1, -1):
            total = m[c, 3]
            for j in range(c + 1, 3):
                total -= m[c, j] * x[at_x + j]
            x[at_x + c] = total / m[c, c]


def operator(workers: int) -> Any:
    """The operator, its loop shared by so many threads."""

    @custom_op(f"by_hand::solve{workers}", mutates_args=(), signature="(3,3),(3)->(3)")
    def solve(a: C, b: C) -> np.ndarray:
        return np.linalg.solve(a, b)

    solve.register_kernel("cpu", cfunc={"dd->d": eliminate}, workers=workers)
    return solve


def looped(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What one writes without any of this."""
    x = np.empty_like(b)
    for i in range(len(a)):
        x[i] = np.linalg.solve(a[i], b[i])
    return x


def fastest(clock: Callable[[], float], *calls: Callable[[], object], rounds: int) -> list[float]:
    """The fastest of some rounds of each call, one after the other in each round; in nanoseconds."""
    least = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            start = clock()
            call()
            least[i] = min(least[i], (clock() - start) * 1e9)
    return least


def measured() -> list[tuple[str, float, float, float]]:
    """By what is measured: a system's share of ours, of what it is compared with, and the most that their ratio may be."""
    rng = np.random.default_rng(0)
    a, b = rng.random((SYSTEMS, 3, 3)) + 2 * np.eye(3), rng.random((SYSTEMS, 3))
    one, two = operator(1), operator(2)
    some = a[:LOOPED], b[:LOOPED]
    assert np.allclose(two(*some), looped(*some), rtol=1e-9)
    (loop,) = fastest(time.process_time, lambda: looped(*some), rounds=2)
    (ours,) = fastest(time.process_time, lambda: one(a, b), rounds=ROUNDS)
    alone, shared = fastest(time.perf_counter, lambda: one(a, b), lambda: two(a, b), rounds=20 * ROUNDS)
    return [
        ("cfunc, a system of 1e6, by hand a loop in Python", ours / SYSTEMS, loop / LOOPED, 1 / AT_LEAST),
        ("cfunc, a system of 1e6, 2 threads, by hand 1", shared / SYSTEMS, alone / SYSTEMS, OF_ONE_THREAD),
    ]
