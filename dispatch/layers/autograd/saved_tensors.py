"""Protects what the tape saves from later writes.

A backward reads what the forward saved, perhaps much later. If the caller wrote to a saved array in between, the gradient
would be wrong, and nothing would say so. So a small array is copied. A large one is made read-only until the tape needs it no
longer: a write then raises, at its own line.
"""

from typing import Any

import numpy as np

from ...core import Tensor, freeze, wrap
from ...core.array_memory import held, is_held, unwritten
from ...core.pytree import items_of, mapped
from ...operators.prims import strided_copy
from ...operators.views import overlaps_itself

# Up to here a copy takes at most 3 us, and the caller may go on writing to a workspace.
COPIED_BYTES = 65_536


class Kept:
    """An output that its own node keeps: value and number, since the wrapper refers to the node and would be a cycle."""

    __slots__ = ("number", "value")

    def __init__(self, value: Any, number: int) -> None:
        self.value = value
        self.number = number


def protect(x: Any) -> Any:
    """Return what to save for `x`: itself, if nobody can write to it; a copy of a small array; a read-only view of a large one.

    For a wrapper that an in-place operator changes it is another one that stays as this one is now; containers go item by
    item.
    """
    if items_of(x) is not None:
        return mapped(protect, x)
    if isinstance(x, Tensor) and _has_saver(x):
        value = protect(x.value)
        return x.saved(value) if hasattr(x, "saved") else wrap(type(x), value, x, x.kept)
    kept = unwritten(x, COPIED_BYTES)
    if kept is not None or x is None:
        return kept
    return wrap(type(x), protect(x.value), x, x.kept) if isinstance(x, Tensor) else protect_large(x)


def _has_saver(x: Any) -> bool:
    """Whether a value is one, or has one below it, that stays itself when a write changes what it stands for."""
    while isinstance(x, Tensor):
        if hasattr(x, "saved"):
            return True
        x = x.value
    return False


def protect_argument(x: Any) -> Any:
    """`protect` for what goes into a function: a copy has the strides of `x`, on which hangs what of it is a view."""
    return freeze(with_strides_of(x, protect(x)))


def with_strides_of(x: Any, kept: Any) -> Any:
    """Return what is kept for a value, in memory as that is: below wrappers too a small array may have been copied."""
    if kept is x:
        return x
    if isinstance(x, Tensor):
        value = with_strides_of(x.value, kept.value)
        return kept if value is kept.value else wrap(type(x), value, x, x.kept)
    return _copied(x) if type(x) is np.ndarray and kept.strides != x.strides else kept


def _copied(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a read-only copy with the same strides, zeros too: on them hangs how NumPy lays out results.

    Elements that share memory do so in the copy, by which a layer knows that it cannot follow a write to them.
    """
    once = x[tuple([slice(None) if step else slice(1) for step in x.strides])] if 0 in x.strides else x
    made = _overlapping_copy(once) if overlaps_itself(once) and not x.dtype.hasobject else strided_copy(once)
    freeze(made.base)
    return freeze(made) if once.shape == x.shape else np.broadcast_to(made, x.shape)


def _overlapping_copy(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Copy an array of which some elements share memory into one of which the same do."""
    reach = [step * (n - 1) for step, n in zip(x.strides, x.shape, strict=True)]
    before, after = -sum([n for n in reach if n < 0]), sum([n for n in reach if n > 0])
    memory = np.empty(before + after + x.itemsize, np.uint8)
    made: np.ndarray[Any, Any] = np.ndarray(x.shape, x.dtype, memory, before, x.strides)
    made[...] = x
    return made


def protect_large(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a read-only view of an array that owns its memory; one that is and stays read-only is returned itself.

    It is what `unwritten` has no answer for.
    """
    view = held(x)
    if view is not None:
        return view
    owner = x
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return _copied(x) if is_held(owner) else x
