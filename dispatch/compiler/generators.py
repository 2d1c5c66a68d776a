"""Draws from a Generator of NumPy's in a compiled function: an operator, which a graph calls where the function draws.

Each run draws from the Generator itself, in the order of the function; where a run raises, what it has drawn is put back, so
that the function itself can be called. The trace draws from a copy, for shape and dtype. A Generator that the function makes
of a seed is a function of that: what it draws is a constant of the graph.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Tensor, active_mode
from ..core.pytree import leaves, mapped
from ..errors import TracingError, kind_of
from ..graph import Graph
from ..layers.fake import fake_tensor
from ..layers.trace import TRACE
from ..layers.trace.number import plain
from ..layers.vmap.randomness import undecided
from ..schema.tags import Tag
from .graph_operators import define
from .trusted import DEFAULT_RNG, is_plain

NUMBERS = (np.float32, np.float64, np.int64, np.int32, float, int, bool)


def _drawn(rng: Any, method: str, arguments: Any, keywords: Any, dtype: str, shape: Any) -> Any:
    return getattr(rng, method)(*arguments, **keywords)


def _fake(rng: Any, method: str, arguments: Any, keywords: Any, dtype: str, shape: Any) -> Any:
    return fake_tensor(tuple(shape), np.dtype(dtype))


SCHEMA = "generator::drawn(Any rng, str method, Any arguments, Any keywords, str dtype, int[] shape) -> Tensor"
drawn = define(SCHEMA, _drawn, _fake, Tag.effect)


class TracedGenerator:
    """What a Generator is in a trace. `mode` is that of the trace: the body of a loop has another.

    One that is `made` in the trace is drawn from there and then.
    """

    __slots__ = ("_is_made", "_mode", "_rng")

    def __init__(self, rng: Any, mode: Any, made: bool) -> None:
        self._rng, self._mode, self._is_made = rng, mode, made

    def __hash__(self) -> int:  # by which a set has its order
        return hash(self._rng)

    def __repr__(self) -> str:
        raise TracingError("the text of a Generator was asked for while it was traced, in which there is an address.")

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_" or not isinstance(getattr(np.random.Generator, name, None), Callable):  # type: ignore[arg-type]
            raise TracingError(f"it asks a Generator for {name!r} while it is traced, of which it can only draw.")

        def draw(*args: Any, **keywords: Any) -> Any:
            args, keywords = mapped(plain, args), mapped(plain, keywords)
            if any(isinstance(x, Tensor) for x in leaves((args, keywords))):
                raise TracingError(
                    f"it draws by rng.{name} with an array for an argument. Draw numbers that depend on nothing, and compute "
                    "with them: loc + scale * rng.standard_normal(size)."
                )
            if self._is_made:
                found = getattr(self._rng, name)(*args, **keywords)
                if type(found) is not np.ndarray and not is_plain(found):
                    raise TracingError(f"it asks a Generator for {name!r} while it is traced, of which it can only draw.")
                return found
            return self._recorded(name, args, keywords)

        return draw

    def _recorded(self, name: str, args: Any, keywords: Any) -> Any:
        guard = active_mode(TRACE)
        if guard is None or guard.mode is not self._mode:
            raise TracingError("it draws in the body of a loop or branch, a graph of its own. Draw before the loop.")
        if not all(is_plain(x) or any(x is cls for cls in NUMBERS) for x in leaves((args, keywords))):
            raise TracingError(f"it draws by rng.{name} from an array or an object. Draw indices, and take them of the array.")
        if undecided():
            raise TracingError(f"it draws by rng.{name} in a vmap, which is one draw for all items, and nobody said so.")
        if not type(self._rng.bit_generator).__module__.startswith("numpy.random."):
            raise TracingError(f"it draws from a {kind_of(self._rng.bit_generator)}, of which nothing is known.")
        found = getattr(copy.deepcopy(self._rng), name)(*args, **keywords)
        if type(found) is not np.ndarray or found.dtype.hasobject or not found.flags.c_contiguous:
            raise TracingError(
                f"it draws by rng.{name} what is no array but {type(found).__name__}, by which Python may decide. Pass size=."
            )
        return drawn(self._rng, name, args, keywords, found.dtype.str, list(found.shape))


def seeded(mode: Any) -> Callable[..., Any]:
    """Return what `np.random.default_rng` is in a trace."""

    def default_rng(seed: Any = None) -> Any:
        if type(seed) is TracedGenerator:
            return seed
        parts = seed if type(seed) in (list, tuple) else (seed,)
        if not all(type(x) is int for x in parts) or not parts:
            raise TracingError("it makes a Generator without a seed, or of one that is no int. Pass an int, or a Generator.")
        return TracedGenerator(DEFAULT_RNG(seed), mode, True)

    return default_rng


def drawing(graph: Graph, run: Callable[..., Any]) -> Callable[..., Any]:
    """Return what runs a graph and puts back what it has drawn where it raises."""
    bits = [rng.bit_generator for rng in generators_in(graph)]
    if not bits:
        return run

    def guarded(*values: Any) -> Any:
        before = [x.state for x in bits]
        try:
            return run(*values)
        except BaseException:
            for x, state in zip(bits, before, strict=True):
                x.state = state
            raise

    return guarded


def generators_in(graph: Graph) -> list[Any]:
    """Return the Generators that a graph draws from."""
    return list({id(node.args[0]): node.args[0] for node in graph.nodes if node.op is drawn}.values())
