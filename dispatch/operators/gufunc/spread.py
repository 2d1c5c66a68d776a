"""Shares one loop among threads, each of which runs a range of it; the caller's thread takes the first."""

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


def in_threads(run: Callable[[int, int], object], parts: list[tuple[int, int]], stop_before: Callable[[int], object]) -> None:
    """Call `run(start, stop)` for each part, each in its thread; the lowest that fails raises.

    `stop_before(start)` lets no later item begin where one has failed.
    """
    errors: dict[int, BaseException] = {}

    def work(k: int) -> None:
        try:
            run(*parts[k])
        except BaseException as error:
            errors[k] = error
            stop_before(parts[k][0])

    threads = [Thread(target=copy_context().run, args=(work, k), name=f"dispatch loop {k}") for k in range(1, len(parts))]
    try:
        for thread in threads:
            thread.start()
        work(0)
        for thread in threads:
            thread.join()
    except BaseException:  # a thread that cannot be started, or Ctrl-C while waiting: nobody goes on writing behind our back
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
