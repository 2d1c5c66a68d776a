"""Graphs at random: functions of two arrays that compute, write, draw, have effects, and take views, and what they leave behind.

A function is a plan, a list of steps that name earlier values by number, so that it can be run on arrays as well as traced.
Everything has four elements, in one axis or two, so that any two values go together.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

import dispatch
from dispatch import Tag, make_fx, ops
from dispatch.core.pytree import leaves
from dispatch.graph import Graph

MOST_STEPS = 16
LOG: list[float] = []
DRAWS = {"state": np.random.default_rng(0)}
CONSTANTS = [np.array([1.0, -0.0, 2.5, 3.0]), np.array([1.0, -0.0, 2.5, 3.0]), np.array([[0.5, 1.0], [2.0, 4.0]], order="F")]


@dispatch.custom_op("random_graphs::fill_", mutates_args=("x",))
def fill_(x: np.ndarray, y: np.ndarray) -> None:
    x[...] = y.reshape(x.shape) * 0.5


@dispatch.custom_op("random_graphs::log", mutates_args=(), tags=Tag.effect)
def log(x: np.ndarray) -> np.ndarray:
    LOG.append(float(x.sum()))
    return x * 1.0


@dispatch.custom_op("random_graphs::note", mutates_args=())
def note(x: np.ndarray) -> None:
    LOG.append(float(x.max()))


@dispatch.custom_op("random_graphs::draw", mutates_args=(), tags=Tag.random)
def draw(x: np.ndarray) -> np.ndarray:
    return x + DRAWS["state"].normal(size=x.shape)


@dispatch.custom_op("random_graphs::scale", mutates_args=())
def scale(x: np.ndarray, k: float = 2.0, *, shift: float = 0.0) -> np.ndarray:
    return x * k + shift


@dispatch.custom_op("random_graphs::pair", mutates_args=())
def pair(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x + 1.0, x * 0.5


class Handle:
    """What only the operator `push` knows."""

    def __init__(self) -> None:
        self.pushed: list[float] = []


dispatch.library.register_opaque_type(Handle)
HANDLE = Handle()


@dispatch.custom_op("random_graphs::push", mutates_args=())
def push(handle: Handle, x: np.ndarray) -> np.ndarray:
    handle.pushed.append(float(x.min()))
    return x - len(handle.pushed)


def _like(x: Any, y: Any) -> Any:
    return y if x.shape == y.shape else ops.np.reshape(y, x.shape)


def _write(x: Any, y: Any) -> None:
    ops.np.setitem_(x, Ellipsis, ops.np.add(_like(x, y), 1.0))


def _write_part(x: Any, y: Any) -> None:
    ops.np.setitem_(x, 0, 0.25)


# By name: what a step does with two values and a constant; it gives None, a value, or several.
STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sin": lambda x, y, c: ops.np.sin(x),
    "multiply": lambda x, y, c: ops.np.multiply(x, _like(x, y)),
    "add": lambda x, y, c: np.add(x, _like(x, y)),
    "sum": lambda x, y, c: ops.np.multiply(x, ops.np.sum(y, keepdims=False)),
    "constant": lambda x, y, c: ops.np.subtract(x, _like(x, c)),
    "of constants": lambda x, y, c: ops.np.add(ops.np.sin(c), ops.np.reshape(CONSTANTS[0], c.shape)),
    "constant itself": lambda x, y, c: ops.np.reshape(c, (4,)),
    "backwards": lambda x, y, c: x[::-1],
    "first": lambda x, y, c: ops.np.broadcast_to(x[:1], x.shape) * 1.0,
    "turned": lambda x, y, c: ops.np.transpose(x),
    "reshaped": lambda x, y, c: ops.np.reshape(x, (4,) if x.shape == (2, 2) else (2, 2)),
    "where": lambda x, y, c: np.where(x > 0.3, x, _like(x, y)),
    "scale": lambda x, y, c: scale(x, 3.0),
    "shift": lambda x, y, c: scale(x, shift=float("inf") if x.shape == () else -0.5),
    "pair": lambda x, y, c: pair(x),
    "write": lambda x, y, c: _write(x, y),
    "write part": lambda x, y, c: _write_part(x, y),
    "fill": lambda x, y, c: fill_(x, y),
    "log": lambda x, y, c: log(x),
    "note": lambda x, y, c: note(x),
    "draw": lambda x, y, c: draw(x),
}
WRITES = {"write", "write part", "fill", "log", "note", "draw"}
KEPT = {"np::setitem_", *(f"random_graphs::{name}" for name in ("fill_", "log", "note", "draw", "push"))}


def function(seed: int, count: int, *, handles: bool = False, pure: bool = False) -> Callable[..., Any]:
    """A function of two arrays of four elements that takes so many steps; with a smaller count the beginning of the same."""
    random = Random(seed)
    names = [name for name in STEPS if not (pure and name in WRITES)] + ["push"] * handles
    names = random.sample(names, random.choice((3, 5, len(names))))  # with few kinds and few values, steps repeat each other
    reach = random.choice((0.3, 1.0))
    pick = random.random
    plan = [(random.choice(names), reach * pick(), reach * pick(), random.randrange(len(CONSTANTS))) for _ in range(count)]
    returned = [random.random() for _ in range(3)]

    def f(x: Any, y: Any) -> Any:
        values = [x, y]
        own = [c.copy(order="K") for c in CONSTANTS]  # a graph copies what it captured at each call, since it may write to it
        for name, first, second, number in plan:
            a, b = values[int(first * len(values))], values[int(second * len(values))]
            out = push(HANDLE, a) if name == "push" else STEPS[name](a, b, own[number])
            values += [] if out is None else out if isinstance(out, tuple) else [out]
        return {"last": values[-1], "some": [values[int(part * len(values))] for part in returned], "n": (len(values), None)}

    return f


def functions(**options: bool) -> st.SearchStrategy[Callable[..., Any]]:
    """Functions; a seed makes more different ones than draws of each step would."""
    return st.builds(lambda seed, count: function(seed, count, **options), st.integers(0, 2**63 - 1), st.integers(1, MOST_STEPS))


def arguments() -> tuple[Any, Any]:
    return np.array([0.3, -1.2, 0.0, 2.5]), np.array([[1.5, 0.2], [-0.4, 0.9]])


def traced(f: Callable[..., Any]) -> Graph:
    """The graph of a function, made without effects on what is here."""
    graph, _ = watched(lambda: make_fx(f, "real")(*arguments()))
    return graph


def watched(run: Callable[[], Any]) -> tuple[Any, Any]:
    """What a call returns, and what else it did: effects, draws, what handles saw."""
    LOG.clear()
    HANDLE.pushed.clear()
    DRAWS["state"] = np.random.default_rng(7)
    out = run()
    return out, (list(LOG), list(HANDLE.pushed), DRAWS["state"].random())


def behaviour(f: Callable[..., Any], same: bool = False) -> Any:
    """All that can be seen of a call: results to the bit, which of them share memory, what was written, what else was done."""
    x, y = arguments()
    given = (x.reshape(4), x.reshape(2, 2)) if same else (x, y)
    out, others = watched(lambda: f(*given))
    arrays = [leaf for leaf in leaves(out) if isinstance(leaf, (np.ndarray, np.generic))]
    shared = [[bool(np.shares_memory(a, b)) for b in [*arrays, *given]] for a in arrays]
    writeable = [getattr(leaf, "flags", None) is None or leaf.flags.writeable for leaf in arrays]
    static = [leaf for leaf in leaves(out) if not isinstance(leaf, (np.ndarray, np.generic))]
    bits = [(a.dtype.str, a.shape, a.tobytes()) for a in (*arrays, *given)]
    constants = [c.tobytes() for c in CONSTANTS]
    return bits, static, shared, writeable, others, constants
