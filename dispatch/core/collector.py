"""Pauses Python's garbage collector while something large is made of which nothing is garbage yet.

A graph of 200 000 nodes is a million objects, all of them in use. The collector would look through them again and again as
they become more, a third of the time. What counts references is not paused, so only garbage in circles waits.

Where many are new when the pause ends, they join the objects that the collector looks through rarely, as they would have done
meanwhile: to look for garbage among the young first would be one more walk, 2 to 4 us for each node of a graph. What garbage in
circles there is among them, some 150 objects a trace, waits for a whole collection.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

PAUSED = 0  # as the first threshold: no collection begins by itself
MANY = 100_000  # new objects that the collector would walk through for long, 10 ms and more, and of which most stay


class _Pauses:
    """How many blocks are open, in all threads, and the thresholds that the last of them to end puts back.

    `gc.disable` is not called: whether the collector is on is the user's to say, also meanwhile. Nor does a block put back
    thresholds that somebody has set since.
    """

    def __init__(self) -> None:
        self.lock, self.count = Lock(), 0
        self.before: tuple[int, int, int] = gc.get_threshold()

    def begin(self) -> None:
        with self.lock:
            self.count += 1
            if self.count == 1:
                self.before = gc.get_threshold()
                gc.set_threshold(PAUSED, *self.before[1:])

    def end(self) -> None:
        with self.lock:
            self.count -= 1
            if not self.count:
                if gc.isenabled() and gc.get_threshold()[0] == PAUSED and gc.get_count()[0] > MANY:
                    _grow_old()
                self.put_back()

    def put_back(self) -> None:
        if gc.get_threshold()[0] == PAUSED:
            gc.set_threshold(*self.before)

    def begin_anew(self) -> None:
        """Forget the blocks of threads that a forked process does not have."""
        if self.count:
            self.put_back()
        self.lock, self.count = Lock(), 0


def _grow_old() -> None:
    """Let the young objects be old ones, unless the user has objects that no collection is to see, which would be old too.

    CPython 3.12 counts some of its own as such from its start, so there the young are walked once.
    """
    if hasattr(gc, "freeze") and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


_pauses = _Pauses()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pauses.begin_anew)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Return a `with` block, or a decorator, in which no garbage collection begins by itself, in any thread.

    Blocks may be nested, and may overlap in threads. The last one that ends puts the thresholds back.

    Examples
    --------
    >>> before = gc.get_threshold()
    >>> with collector_paused():
    ...     gc.get_threshold()[0]
    0
    >>> gc.get_threshold() == before
    True
    """
    _pauses.begin()
    try:
        yield
    finally:
        _pauses.end()
