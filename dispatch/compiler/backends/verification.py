"""Holds engines, on their first call, to the same calls replayed: their results, and their times where the fastest runs."""

import threading
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ...core.source import levels_out
from ...errors import PerformanceWarning, how_many, kind_of
from ...graph import Graph, Node

# Turns in which each is timed, and when one ends: after so many seconds, or runs. OpenBLAS's threads look for work for 2^26
# ticks after the last, about 30 ms, and torch's for a few, so that what runs next lacks a processor: it is timed for longer.
TURNS, LONGEST, MOST = 3, 4e-2, 400
FEWEST, TOO_LONG = 5, 0.25  # runs of a turn, unless they took so many seconds: beside such threads one of 1 ms can take 30
# How far a result may be from NumPy's, in parts of the largest number of the array.
TOLERANCES = {np.dtype(name): 1e-4 if name in "fF" else 1e-9 for name in "fdFD"}


class Verified:
    """The function of a part: it is compared with the replay of the part when it is first called, then called alone.

    Parameters
    ----------
    chooses : bool
        Whether the fastest runs from then on: the replay, or an engine whose results are right.
    rivals : mapping of str to callable
        Other engines to choose from, by name.

    Attributes
    ----------
    run : list of callable
        What `partition.joined` calls: this object, and after the first call an engine, or the replay where all differ from it.
    fault : str
        What is wrong with the results of the engine, where no rival's are right; empty if nothing is known to be.
    right : dict of str to callable
        The engines whose results were right on the first call.
    """

    def __init__(
        self,
        name: str,
        graph: Graph,
        engine: Callable[..., Any],
        replay: Callable[..., Any],
        chooses: bool = False,
        rivals: Mapping[str, Callable[..., Any]] = {},
    ) -> None:
        self.name, self.graph, self.replay, self.chooses = name, graph, replay, chooses
        self.engines = {name: engine, **rivals}
        self.run: list[Callable[..., Any]] = [self]
        self.fault, self.right = "", dict[str, Callable[..., Any]]()
        self._lock = threading.Lock()  # an engine compiles on its first call

    def __call__(self, *values: Any) -> Any:
        with self._lock:
            if self.run[0] is self:
                return self._first(values)
        return self.run[0](*values)

    def _first(self, values: tuple[Any, ...]) -> Any:
        expected = self.replay(*values)
        faults = {name: self._held(name, engine, expected, values) for name, engine in self.engines.items()}
        if not self.right:
            self.fault = faults[self.name]
            warnings.warn(
                f"compile: the backend {self.name!r} does not run a part of {how_many(len(self.graph.nodes), 'node')}, "
                f"which is replayed: {self.fault}.",
                PerformanceWarning,
                stacklevel=levels_out(),
            )
        runs = [*self.right.values(), self.replay]
        self.run[0] = _fastest(runs, values) if self.chooses and self.right else runs[0]
        return expected

    def _held(self, name: str, engine: Any, expected: Any, values: tuple[Any, ...]) -> str:
        """Return what is wrong with what an engine gives; if nothing is, note that it is right."""
        if not callable(engine):
            return f"it returned {kind_of(engine)}, and a backend returns a function of the arrays"
        try:
            found = engine(*values)
            if len(found) == len(expected) and (changes := _changes(found, expected)):
                engine = _changed(engine, changes)
                found = engine(*values)
            fault = _fault(list(self.graph.outputs), found, expected, values)
        except Exception as error:  # whatever an engine cannot do, the replay can
            said = str(error).strip().partition("\n")[0].rstrip(".")
            return f"it raised {type(error).__name__}{': ' * bool(said)}{said}"
        if not fault:
            self.right[name] = engine
        return fault

    @property
    def said(self) -> str:
        """Which of them runs, and why."""
        if self.fault:
            return f"is replayed: {self.fault}"
        if self.run[0] is self:
            return f"runs by {' or '.join(map(repr, self.engines))}, once a first call has held it to NumPy"
        if self.run[0] is self.replay:
            return f"is replayed, which took less time on the first call than {' and '.join(map(repr, self.right))}"
        return f"runs by {next(repr(name) for name, engine in self.right.items() if engine is self.run[0])}"


def _fastest(runs: list[Callable[..., Any]], values: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the one whose fastest run takes the least time; none of them writes to what it is given.

    They run in turns, for one choice holds for all later calls: what disturbs the machine for a while disturbs all.
    """
    least = [float("inf")] * len(runs)
    for _ in range(TURNS):
        for i, run in enumerate(runs):
            taken: list[float] = []
            while len(taken) < MOST and sum(taken) < (TOO_LONG if len(taken) < FEWEST else LONGEST):
                taken.append(_seconds(run, values))
            least[i] = min(least[i], *taken)
    return runs[least.index(min(least))]


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
        return f"it gave {how_many(len(found), 'result')}, not {len(nodes)}"
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
