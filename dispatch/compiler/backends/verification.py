"""Holds an engine, on its first call, to the same calls replayed: its results, and its time where it is to choose."""

import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core.source import levels_out
from ...errors import PerformanceWarning
from ...graph import Graph, Node

# How far a result may be from NumPy's, in parts of the largest number of the array.
FEWEST, MOST, ENOUGH = 3, 25, 5e-2  # runs of each that are timed; after the fewest no more once they took so many seconds
TOLERANCES = {np.dtype(name): 1e-4 if name in "fF" else 1e-9 for name in "fdFD"}


class Verified:
    """The function of a part: it is compared with the replay of the part when it is first called, then called alone.

    Parameters
    ----------
    chooses : bool
        Whether the faster of the two runs from then on, if the engine's results are right.

    Attributes
    ----------
    run : list of callable
        What `partition.joined` calls: this object, and after the first call the engine, or the replay where the two differ.
    fault : str
        What is wrong with the engine's results; empty if nothing is known to be.
    slower : bool
        Whether the replay was the faster one.
    """

    def __init__(
        self, name: str, graph: Graph, engine: Callable[..., Any], replay: Callable[..., Any], chooses: bool = False
    ) -> None:
        self.name, self.graph, self.engine, self.replay, self.chooses = name, graph, engine, replay, chooses
        self.run: list[Callable[..., Any]] = [self]
        self.fault, self.slower = "", False
        self._lock = threading.Lock()  # an engine compiles on its first call

    def __call__(self, *values: Any) -> Any:
        with self._lock:
            if self.run[0] is self:
                return self._first(values)
        return self.run[0](*values)

    def _first(self, values: tuple[Any, ...]) -> Any:
        expected = self.replay(*values)
        engine = self.engine
        try:
            found = engine(*values)
            if len(found) == len(expected) and (changes := _changes(found, expected)):
                engine = _changed(engine, changes)
                found = engine(*values)
            self.fault = _fault(list(self.graph.outputs), found, expected, values)
        except Exception as error:  # whatever an engine cannot do, the replay can
            said = str(error).strip().partition("\n")[0].rstrip(".")
            self.fault = f"it raised {type(error).__name__}{': ' * bool(said)}{said}"
        if self.fault:
            warnings.warn(
                f"compile: the backend {self.name!r} does not run a part of {len(self.graph.nodes)} nodes, which is replayed: "
                f"{self.fault}.",
                PerformanceWarning,
                stacklevel=levels_out(),
            )
        self.slower = self.chooses and not self.fault and _is_slower(engine, self.replay, values)
        self.run[0] = self.replay if self.fault or self.slower else engine
        return expected

    @property
    def said(self) -> str:
        """Which of the two runs, and why."""
        if self.fault:
            return f"is replayed: {self.fault}"
        if self.slower:
            return f"is replayed, which took less time on the first call than {self.name!r}"
        return f"runs by {self.name!r}" + (", once a first call has held it to NumPy" if self.run[0] is self else "")


def _is_slower(engine: Callable[..., Any], replay: Callable[..., Any], values: tuple[Any, ...]) -> bool:
    """Whether the fastest of a few runs of an engine takes longer than that of a replay.

    They run in turns, for one choice holds for all later calls: what disturbs the machine for a while disturbs both. Neither
    writes to what it is given.
    """
    taken: list[tuple[float, float]] = []
    while len(taken) < FEWEST or (len(taken) < MOST and sum(map(sum, taken)) < ENOUGH):
        taken.append((_seconds(engine, values), _seconds(replay, values)))
    return min([x for x, _ in taken]) > min([y for _, y in taken])


def _seconds(run: Callable[..., Any], values: tuple[Any, ...]) -> float:
    start = time.perf_counter()
    run(*values)
    return time.perf_counter() - start


def _changes(found: Any, expected: Any) -> dict[int, Callable[[Any], Any]]:
    """Return, by number, what makes results of an engine numbers, or arrays of the strides of NumPy's."""
    made: dict[int, Callable[[Any], Any]] = {}
    for i, (x, y) in enumerate(zip(found, expected, strict=True)):
        if isinstance(y, np.generic) and isinstance(x, np.ndarray):
            made[i] = _number
        elif type(x) is type(y) is np.ndarray and x.shape == y.shape and x.strides != y.strides and x.size > 1:
            made[i] = partial(_laid_out, strides=y.strides)
    return made


def _changed(engine: Callable[..., Any], changes: dict[int, Callable[[Any], Any]]) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        found = list(engine(*values))
        for i, change in changes.items():
            found[i] = change(found[i])
        return found

    return run


def _number(x: Any) -> Any:
    return x[()]


def _laid_out(x: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    out = empty(x.shape, x.dtype, strides)
    out[...] = x
    return out


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...]) -> np.ndarray:
    """Return a new array with strides that are not negative."""
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    return np.ndarray(shape, dtype, np.empty(last + dtype.itemsize, np.uint8), strides=strides)


def _fault(nodes: list[Node], found: Any, expected: Any, values: tuple[Any, ...]) -> str:
    """Return how the results of an engine differ from NumPy's; an empty text if they do not."""
    if len(found) != len(nodes):
        return f"it gave {len(found)} results, not {len(nodes)}"
    given = [x for x in values if isinstance(x, np.ndarray)]
    for node, x, y in zip(nodes, found, expected, strict=True):
        line = f"{node}{'' if node.source is None else f', of {node.source},'}"
        kinds = [(type(z), getattr(z, "dtype", None), getattr(z, "shape", None)) for z in (x, y)]
        if kinds[0] != kinds[1]:
            said = [f"{kind.__name__} of {dtype} and shape {shape}" for kind, dtype, shape in kinds]
            return f"{line} is {said[0]}, and NumPy's is {said[1]}"
        if not alike(x, y):
            tolerance = TOLERANCES.get(y.dtype)
            bound = "to the bit" if tolerance is None else f"to {tolerance:g} of the largest number"
            return f"{line} is not what NumPy gives, which it should be {bound}"
        if isinstance(x, np.ndarray):
            if not x.flags.writeable or any(np.may_share_memory(x, z) for z in given):
                return f"{line} has memory that is not its own"
            given.append(x)
    return ""


def alike(found: Any, expected: Any) -> bool:
    """Return whether an array of an engine is that of NumPy: up to the tolerance where its numbers are inexact."""
    tolerance = TOLERANCES.get(expected.dtype)
    if tolerance is None:
        return bool(np.array_equal(found, expected))
    found, expected = np.asarray(found), np.asarray(expected)
    finite = np.isfinite(expected)
    size = np.max(np.abs(expected), initial=0.0, where=finite)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return False
    with np.errstate(all="ignore"):
        apart = np.abs(found - expected)
    return bool(np.all(apart[finite] <= max(tolerance * size, np.finfo(expected.dtype).tiny)))
