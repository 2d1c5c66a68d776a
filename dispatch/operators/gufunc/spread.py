"""Shares one loop among threads, each of which runs ranges of it; the caller's thread takes the first."""

from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from itertools import pairwise
from threading import Thread


def ranges(start: int, stop: int, parts: int) -> list[tuple[int, int]]:
    """Cut what lies between into as many parts of one length, or one more.

    Examples
    --------
    >>> ranges(1, 8, 3), ranges(0, 2, 3)
    ([(1, 3), (3, 5), (5, 8)], [(0, 1), (1, 2)])
    """
    parts = min(parts, stop - start)
    bounds = [start + (stop - start) * k // parts for k in range(parts + 1)]
    return list(pairwise(bounds))


def in_threads(
    run: Callable[[int, int], object], parts: list[tuple[int, int]], workers: int, stop_before: Callable[[int], object]
) -> None:
    """Call `run(start, stop)` for each part; of those that fail the lowest raises, and no other begins.

    A thread that has done its first part takes the next that nobody has, so that a slow processor holds nobody up.
    `stop_before(start)` lets no later item begin where one has failed.
    """
    errors: dict[int, BaseException] = {}
    waiting = deque(range(workers, len(parts)))

    def work(k: int | None) -> None:
        while k is not None:
            try:
                run(*parts[k])
            except BaseException as error:
                errors[k] = error
                waiting.clear()
                stop_before(parts[k][0])
                return
            try:
                k = waiting.popleft()
            except IndexError:  # nobody waits
                k = None

    threads = [
        Thread(target=copy_context().run, args=(work, k), name=f"dispatch loop {k}") for k in range(1, min(workers, len(parts)))
    ]
    try:
        for thread in threads:
            thread.start()
        work(0)
        for thread in threads:
            thread.join()
    except BaseException:  # a thread that cannot be started, or Ctrl-C while waiting: nobody goes on writing behind our back
        waiting.clear()
        stop_before(0)
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        raise
    if errors:
        try:
            raise errors[min(errors)]
        finally:
            errors.clear()  # an exception refers to this frame, and must not be found in it
