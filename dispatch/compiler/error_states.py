"""`with np.errstate(...)` in a compiled function: two operators, which a graph calls where the block begins and where it ends.

They keep their place among the other calls: an operator with an effect is neither dropped nor moved, and a graph that has one
is not made smaller, since two equal calls may be told to do otherwise about what they find. What a block has set is put back
where a call of the graph raises; so is what the graph has written, since any call may raise then.
"""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..core import active_mode
from ..errors import TracingError
from ..graph import Graph
from ..layers.trace import TRACE
from ..schema.tags import Tag
from .graph_operators import define
from .reached import raising

KINDS = ("divide", "over", "under", "invalid")


class _Entered(threading.local):
    """The blocks that a thread is in."""

    def __init__(self) -> None:
        self.blocks: list[Any] = []


_entered = _Entered()


def _enter(divide: str, over: str, under: str, invalid: str) -> None:
    asked: Any = {kind: what for kind, what in zip(KINDS, (divide, over, under, invalid), strict=True) if what}
    block = np.errstate(**asked)
    block.__enter__()
    _entered.blocks.append(block)


def _leave() -> None:
    _entered.blocks.pop().__exit__(None, None, None)


def _nothing(*_: Any) -> None:
    pass


# An empty text: as it is.
enter = define("error_state::enter(str divide, str over, str under, str invalid) -> ()", _enter, _nothing, Tag.effect)
leave = define("error_state::leave() -> ()", _leave, _nothing, Tag.effect)


class TracedErrstate:
    """What `np.errstate` is in a trace. `mode` is that of the trace: the body of a loop has another."""

    def __init__(self, mode: Any, /, *, call: Any = None, all: Any = None, **kinds: Any) -> None:
        self._mode = mode
        np.errstate(call=call, all=all, **kinds)  # raises NumPy's own error
        self._kinds = [kinds.get(kind) or all or "" for kind in KINDS]
        if call is not None or {"call", "print", "log"} & set(self._kinds):
            raise TracingError(
                "np.errstate is asked to call, print or log, which a graph would leave out. Ask for 'ignore', 'warn' or "
                "'raise'."
            )
        self._block: Any = None

    def __enter__(self) -> None:
        guard = active_mode(TRACE)
        if guard is None or guard.mode is not self._mode:
            raise TracingError(
                "np.errstate is used in the body of a loop or branch, a graph of its own. Put it around the loop."
            )
        if self._block is not None:
            raise TypeError("Cannot enter `np.errstate` twice.")  # NumPy's own
        # what is computed without inputs is computed in the trace, and what it reports must not be lost
        asked: Any = {k: "call" if what == "warn" else what for k, what in zip(KINDS, self._kinds, strict=True) if what}
        self._block = np.errstate(**asked)
        enter(*self._kinds)
        self._block.__enter__()

    def __exit__(self, *raised: Any) -> None:
        self._block.__exit__(*raised)
        leave()

    def __call__(self, function: Any) -> Any:
        raise TracingError("np.errstate is used as a decorator while it is traced. Write a with block.")


def has_blocks(graph: Graph) -> bool:
    """Whether a graph has a block of `np.errstate`."""
    return enter in {node.op for node in graph.nodes}


def put_back(graph: Graph, run: Callable[..., Any]) -> Callable[..., Any]:
    """Return what runs a graph and ends the blocks that it is in where it raises."""
    if not has_blocks(graph):
        return run

    def guarded(*values: Any) -> Any:
        depth = len(_entered.blocks)
        try:
            return run(*values)
        finally:
            while len(_entered.blocks) > depth:
                _leave()

    return guarded


def undoing(graph: Graph, written: tuple[int, ...], run: Callable[..., Any]) -> Callable[..., Any]:
    """Return what runs a graph and puts back what it has written to its inputs, by number, where a call is told to raise.

    A ufunc raises then after it has written, and the function itself, which is called next, would write once more.
    """
    if not written:
        return run
    always = has_blocks(graph)

    @wraps(run)  # which may say what pieces it has
    def guarded(*values: Any) -> Any:
        if not always and not told_to_raise():
            return run(*values)
        before = [values[i].copy("K") for i in written]
        try:
            return run(*values)
        except BaseException:
            for i, x in zip(written, before, strict=True):
                values[i][...] = x
            raise

    return guarded


def told_to_raise() -> bool:
    """Whether a floating-point error may be an exception: by what NumPy is told, or by a filter of warnings."""
    return raising(np) != (False,)
