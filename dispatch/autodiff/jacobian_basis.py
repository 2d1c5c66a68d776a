"""The standard basis of a number of arrays: what a Jacobian is made with."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .array_constants import beside
from .structures import Layout


def spans(layouts: Sequence[Layout | None]) -> list[slice | None]:
    """Which of the basis' directions are each array's; None of one that does not count.

    Examples
    --------
    >>> spans([((2,), np.dtype(float)), None, ((), np.dtype(float))])
    [slice(0, 2, None), None, slice(2, 3, None)]
    """
    found: list[slice | None] = []
    start = 0
    for layout in layouts:
        stop = start if layout is None else start + prod(layout[0])
        found.append(None if layout is None else slice(start, stop))
        start = stop
    return found


def directions(layouts: Sequence[Layout | None]) -> int:
    """How many directions the basis has."""
    return sum(prod(layout[0]) for layout in layouts if layout is not None)


def units(layouts: Sequence[Layout | None], start: int, stop: int, values: Sequence[Any] = ()) -> list[Any]:
    """Some of the basis' directions, along a first axis of each array that counts, as they can meet some values.

    Examples
    --------
    >>> units([((2,), np.dtype(float)), None, ((), np.dtype(float))], 1, 3)
    [array([[0., 1.], [0., 0.]]), array([0., 1.])]
    """
    made = []
    for layout, span in zip(layouts, spans(layouts), strict=True):
        if layout is not None and span is not None:
            shape, dtype = layout
            block = np.zeros((stop - start, prod(shape)), dtype)
            own = np.arange(max(start, span.start), min(stop, span.stop))
            block[own - start, own - span.start] = 1
            made.append(beside(block.reshape(stop - start, *shape), values))
    return made
