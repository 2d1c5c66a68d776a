"""The cache of a compiled function: an entry for each kind of call."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.pytree import items_of
from .capture import FunctionGraph
from .conditions import Conditions, Ready, is_same

LIMIT = 8  # traces of one function, as torch's recompile_limit


class Entry(Ready):
    """How a compiled function runs calls of one kind.

    `call` says what calls these are. `run` runs the graph of `traced`; both are None if such calls run the function itself,
    for `reason`. `hits` counts the calls, and `fallbacks`, by reason, those of them that ran the function all the same.
    `place` is where it was loaded from, "" for a trace of this process; `key` and `head` are what a file has of it beside the
    graph, and `unkept` says why it is in none.
    """

    __slots__ = ("call", "fallbacks", "head", "key", "place", "reason", "traced", "unkept")

    def __init__(
        self, call: str, conditions: Conditions, traced: FunctionGraph | None, run: Callable[..., Any] | None, reason: str = ""
    ) -> None:
        self.call, self.conditions, self.traced, self.run, self.reason = call, conditions, traced, run, reason
        self.written = self.beside = ()
        if traced is not None:
            count = len(traced.graph.inputs)
            self.written = (*traced.written, *range(count, count + len(traced.held)))
            self.beside = traced.held + traced.beside
        self.repeatable = traced is not None and traced.repeatable
        self.doubted = traced is not None and traced.doubted
        self.fallbacks: dict[str, int] = {}
        self.place = self.head = self.unkept = ""
        self.key: Any = None

    def falls_back(self, reason: str) -> str:
        """Count a call that runs the function itself, and return why."""
        self.fallbacks[reason] = self.fallbacks.get(reason, 0) + 1
        return reason


def agree(x: Any, y: Any) -> bool:
    """Whether two results are the same to the bit: type, nesting, dtype, shape, and the elements of arrays.

    Examples
    --------
    >>> agree([np.zeros(2)], [np.zeros(2)]), agree([np.zeros(2)], [-np.zeros(2)])
    (True, False)
    """
    if type(x) is not type(y):
        return False
    if isinstance(x, (np.ndarray, np.generic)):
        return bool(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes())
    items, others = items_of(x), items_of(y)
    if items is None or others is None:
        return x is y or bool(is_same(x, y))
    keys = not isinstance(x, dict) or list(x) == list(y)
    return bool(keys and len(items) == len(others) and all(map(agree, items, others)))
