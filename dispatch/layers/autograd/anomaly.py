"""Anomaly mode: names the line of the call whose backward fails or gives nan.

It observes calls, and costs nothing while it is off. After a call has been recorded it puts the line on the new nodes. A node
without a line was recorded before.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ...core import OBSERVE, Definition, DispatchKey, OpOverload, Tensor, active_mode, key_of_rank
from ...core.pytree import leaves
from ...core.source import line
from ...core.wrong_calls import clear, in_block
from ...dispatcher.observer import Watcher, watchers
from ...errors import ArgumentError, GradientError, check_flag, kind_of
from .backward_graph import Node, next_order
from .cotangents import input_of

AUTOGRAD = DispatchKey.AUTOGRAD


class detect_anomaly(Watcher):
    """A `with` block that finds the line whose backward fails, or gives nan.

    Each operator call in the block keeps the line of your code that made it. If its backward raises, in the block or after
    it, the exception gets a note with that line. A backward that runs in the block raises if a gradient is nan. Calls are
    several times slower: it is for finding a fault.

    Parameters
    ----------
    check_nan : bool
        Whether a gradient with a nan raises.

    Raises
    ------
    GradientError
        From a backward in the block, if a gradient has a nan.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x = dispatch.tensor([0.0, 1.0], requires_grad=True)
    >>> with dispatch.detect_anomaly(), np.errstate(all="ignore"):
    ...     (np.sqrt(x) * 0).sum().backward()
    Traceback (most recent call last):
        ...
    dispatch.errors.GradientError: the backward of np::sqrt gave nan for argument 'x', ...
    """

    _fields = ("check_nan",)

    @clear
    def __init__(self, check_nan: bool = True) -> None:
        if callable(check_nan):
            raise ArgumentError(
                f"detect_anomaly is a with block, and {kind_of(check_nan)} was given. Write `with detect_anomaly(): f(x)`."
            )
        self.check_nan = check_flag(check_nan, "detect_anomaly: check_nan")
        super().__init__()

    def watch(
        self, op: OpOverload, definition: Definition, rank: int, args: tuple[Any, ...], proceed: Callable[[], Any]
    ) -> Any:
        if key_of_rank(rank) != AUTOGRAD:
            return proceed()
        before = next_order()
        out = proceed()
        for x in leaves((out, args)):
            node = getattr(x, "kept", None) if isinstance(x, Tensor) else None
            node = getattr(node, "node", node)
            if isinstance(node, Node) and node.order < before and node.place is None:
                node.place = str(line())
        return out

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        self._used = True
        found: Callable[..., Any] = in_block(lambda: detect_anomaly(self.check_nan), f, "detect_anomaly")
        return found


class Checked(dict[Node, tuple[Any, Any]]):
    """The rule of a node, which also looks for nan in what it returns."""

    def __init__(self, only: Mapping[Node, tuple[Any, Any]] | None) -> None:
        super().__init__()
        self.only = only

    def __missing__(self, node: Node) -> tuple[Any, Any]:
        edges, rule = (node.edges, node.rule) if self.only is None else self.only[node]
        return edges, partial(_run_checked, rule, edges)


def checked(only: Mapping[Node, tuple[Any, Any]] | None) -> Mapping[Node, tuple[Any, Any]] | None:
    """Return what a backward runs: with a look for nan if anomaly mode is on in this thread."""
    on = any(isinstance(watcher, detect_anomaly) and watcher.check_nan for watcher in watchers())
    return Checked(only) if on else only


def note_line(node: Node) -> None:
    """Put the line that made a call on a node that no operator makes, if anomaly mode is on."""
    if active_mode(OBSERVE) is not None and any(isinstance(watcher, detect_anomaly) for watcher in watchers()):
        node.place = str(line())


def _run_checked(rule: Any, edges: tuple[Any, ...], node: Node, grad: Any, create_graph: bool) -> Any:
    results = rule(node, grad, create_graph)
    for edge, result in zip(edges, results, strict=False):
        if edge is not None and _has_nan(result):
            shape, dtype = edge.layout
            unknown = "" if node.place is not None else " It was called outside detect_anomaly, so its line is not known."
            raise GradientError(
                f"the backward of {node.op.name} gave nan for {input_of(node, edges, edge)}, of shape {shape} and dtype "
                f"{dtype}.{unknown}",
                operator=node.op.name,
            )
    return results


def _has_nan(x: Any) -> bool:
    while isinstance(x, Tensor):
        x = x.value
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind not in "fc":
        return False
    return isinstance(x, (float, complex, np.ndarray, np.generic)) and bool(np.isnan(x).any())
