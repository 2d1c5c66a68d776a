"""Containers of arrays: taken apart into leaves, put together again of others, and held against each other."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core import Tensor
from ..core.pytree import field_names, items_of, opened, paths, rebuilt, steps
from ..errors import GradientError, kind_of
from ..operators.prims import astype
from .array_constants import beside

Layout = tuple[tuple[int, ...], np.dtype[Any]]
ARRAYS = (Tensor, np.ndarray, np.generic)


def parts_of(x: Any) -> Any:
    """The items of a container, None for a leaf. A dataclass that holds arrays or floats is a container from here on."""
    return opened(x, lambda leaf: isinstance(leaf, (*ARRAYS, float, complex)))


def flattened(x: Any) -> list[Any]:
    """The leaves of a container, in order; of a leaf itself.

    Examples
    --------
    >>> flattened([1, (2, {"a": 3})])
    [1, 2, 3]
    """
    items = parts_of(x)
    return [x] if items is None else [leaf for item in items for leaf in flattened(item)]


def refilled(x: Any, values: Iterator[Any]) -> Any:
    """A container like `x` whose leaves are the next values; for a leaf the next value.

    Examples
    --------
    >>> refilled([1, (2, {"a": 3})], iter("xyz"))
    ['x', ('y', {'a': 'z'})]
    """
    items = items_of(x)
    return next(values) if items is None else rebuilt(x, [refilled(item, values) for item in items])


def layout_of(x: Any) -> Layout | None:
    """Shape and dtype of a leaf of floating-point or complex numbers; None of one that has no derivative."""
    if isinstance(x, ARRAYS):
        return (x.shape, x.dtype) if x.dtype.kind in "fc" else None
    return ((), np.dtype(type(x))) if isinstance(x, (float, complex)) else None


def described(x: Any) -> str:
    """A leaf or a container in the words of a sentence."""
    if isinstance(x, ARRAYS):
        return f"an array of shape {x.shape}" if x.dtype.kind in "fc" else f"an array of dtype {x.dtype}"
    if isinstance(x, dict):
        return f"a dict with {', '.join(map(repr, x)) or 'no keys'}"
    return f"{kind_of(x)} of {len(x)}" if type(x) in (list, tuple) else kind_of(x)


def matched(given: Any, like: Any, who: str, names: tuple[str, str], path: str = "") -> list[Any]:
    """The leaves of a container in the order of those of another one of the same structure.

    Parameters
    ----------
    given : object
        None is as many leaves None; a list and a tuple stand for each other, and the keys of a dict have any order.
    like : object
    who : str
        The transform, as a message names it.
    names : tuple of str
        What `given` and `like` are called.

    Raises
    ------
    GradientError
        If they differ in structure.
    """
    items = parts_of(like)
    if items is None:
        return [given]
    if given is None:
        return [None] * len(flattened(like))
    parts = _parts(given, like)
    if parts is None:
        raise GradientError(
            f"{who}: {names[0]}{path} is {described(given)}, and {names[1]}{path} is {described(like)}. "
            "Give one of the same structure, None for what is zero."
        )
    steps_of = zip(parts, items, steps(like), strict=True)
    return [leaf for part, item, step in steps_of for leaf in matched(part, item, who, names, path + step)]


def _parts(given: Any, like: Any) -> Sequence[Any] | None:
    items = parts_of(given)
    if isinstance(like, dict):
        return [given[key] for key in like] if isinstance(given, dict) and given.keys() == like.keys() else None
    if field_names(type(like)) is None:
        fits = isinstance(given, (list, tuple)) and field_names(type(given)) is None and len(given) == len(like)
    else:
        fits = type(given) is type(like)
    return items if fits else None


def fitted(given: Sequence[Any], layouts: Sequence[Layout | None], like: Any, who: str, names: tuple[str, str]) -> list[Any]:
    """Cotangents or tangents as arrays of the shapes and dtypes of what they are of; None, which is zero, stays None.

    Parameters
    ----------
    given : sequence
        One for each leaf of `like`. A Python number stands for a 0-d array.
    layouts : sequence
        Of the leaves; None for one that has no derivative, which has to be given None.
    like, who, names
        As in `matched`.
    """
    pairs = enumerate(zip(given, layouts, strict=True))
    return [None if x is None else _fitted(x, layout, like, i, who, names) for i, (x, layout) in pairs]


def _fitted(x: Any, layout: Layout | None, like: Any, i: int, who: str, names: tuple[str, str]) -> Any:
    path = list(paths(like))[i]
    here, there = f"{names[0]}{path}", f"{names[1]}{path}"
    if layout is None:
        leaf = flattened(like)[i]
        raise GradientError(
            f"{who}: {here} was given, and {there} is {described(leaf)}, which has no derivative. Give None for it, or make it "
            "floating-point: 2.0 for 2, x.astype(float)."
        )
    shape, dtype = layout
    if isinstance(x, (int, float, complex)) and not isinstance(x, np.generic):
        x = beside(np.asarray(x, complex if isinstance(x, complex) else dtype))
    if not isinstance(x, ARRAYS):
        raise GradientError(f"{who}: {here} is {described(x)}, and {there} an array of shape {shape}. Give an array.")
    if x.shape != shape:
        raise GradientError(f"{who}: {here} has shape {x.shape}, and {there} has shape {shape}. Make them equal.")
    if x.dtype == dtype:
        return x
    if not np.can_cast(x.dtype, dtype, "same_kind"):
        raise GradientError(f"{who}: {here} has dtype {x.dtype}, and {there} has dtype {dtype}. Cast it: x.astype(...).")
    return astype(x, dtype)
