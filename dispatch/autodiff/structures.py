"""Containers of arrays: flattens them into leaves, puts them together again and compares one with another.

A list, tuple, dict, named tuple or dataclass that holds arrays is a container. A transform flattens its arguments once,
works on the leaves, and puts the results together at its end.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core import DispatchKey, Tensor, active_mode, check_data, is_array, is_of_registered_class
from ..core.array_memory import has_layout, inexact_layout
from ..core.pytree import field_names, form_of, items_of, leaves, leaves_like, opened, paths, steps
from ..dispatcher.conversion_advice import line_for_others
from ..errors import GradientError, kind_of
from ..layers.derivatives import Layout
from ..layers.fake import FakeTensor
from ..operators.prims import astype
from ..operators.registered_arrays import converted


def beside(x: Any, values: Iterable[Any] = ()) -> Any:
    """An array that a transform made, in the form in which it can be combined with some values.

    A fake where they are fakes, or where a FakeTensorMode is on; of a registered class where they are of one. Beside traced
    values it stays an array, which becomes a constant of the graph.
    """
    for value in values:
        while isinstance(value, Tensor) and type(value).key > DispatchKey.TRACE and value.value is not None:  # type: ignore[operator]
            value = value.value
        if is_of_registered_class(value):
            return converted(x, value)
        if isinstance(value, FakeTensor):
            return x if value.mode is None else value.mode.from_array(x, static_shapes=True)
        if isinstance(value, Tensor):
            return x
    guard = active_mode(DispatchKey.FAKE)
    if guard is None or active_mode(DispatchKey.TRACE) is not None:
        return x
    return guard.mode.from_array(x, static_shapes=True)


def parts_of(x: Any) -> Any:
    """The items of a container, None for a leaf. A dataclass that holds arrays or floats is a container from here on."""
    return opened(x, lambda leaf: isinstance(leaf, (float, complex)) or is_array(leaf))


flattened: Callable[[Any], list[Any]] = partial(leaves, opened=parts_of)


def layout_of(x: Any) -> Layout | None:
    """Shape and dtype of a leaf of floating-point or complex numbers; None of one that has no derivative."""
    if is_array(x):
        return inexact_layout(x)
    return ((), np.dtype(type(x))) if isinstance(x, (float, complex)) else None


def array_in(x: Any) -> Any:
    """The one array that a value of a class with labels holds, such as xarray's DataArray; anything else as it is."""
    if isinstance(x, (Tensor, np.ndarray, np.generic)) or form_of(x) is None:
        return x
    items = items_of(x)
    return items[0] if items is not None and len(items) == 1 else x


def described(x: Any) -> str:
    """A leaf or a container in the words of a sentence."""
    if is_array(x):
        return f"an array of shape {x.shape}" if x.dtype.kind in "fc" else f"an array of dtype {x.dtype}"
    if isinstance(x, dict):
        return f"a dict with {', '.join(map(repr, x)) or 'no keys'}"
    form = form_of(x)
    if form is not None:
        return f"{kind_of(x)} {form}"
    return f"{kind_of(x)} of {len(x)}" if type(x) in (list, tuple) else kind_of(x)


def fitted(given: Any, like: Any, layouts: Sequence[Layout | None], who: str, names: tuple[str, str]) -> list[Any]:
    """The leaves of cotangents or tangents, as arrays of the shapes and dtypes of the values that they are of.

    `given` has the structure of `like`; `layouts` are those of its leaves, None for one that has no derivative, for which None
    has to be given. None is zero and stays None, also for a whole container; a list and a tuple stand for each other, the keys
    of a dict have any order, and a Python number stands for a 0-d array. Anything else raises GradientError, in which `who` is
    the transform and `names` are what `given` and `like` are called.
    """
    found = leaves_like(given, like)
    if found is None:
        raise _differing(given, like, who, names)
    for i, (x, layout) in enumerate(zip(found, layouts, strict=True)):
        if x is not None and not (layout is not None and is_array(x) and has_layout(x, layout)):
            found[i] = _fitted(x, layout, like, i, who, names)
    return found


def _differing(given: Any, like: Any, who: str, names: tuple[str, str], path: str = "") -> GradientError:
    """The error for two containers of different structure: names the outermost place where they differ."""
    parts, items = _parts(given, like), parts_of(like)
    if parts is not None:
        for part, item, step in zip(parts, items, steps(like), strict=True):
            if leaves_like(part, item) is None:
                return _differing(part, item, who, names, path + step)
    said = described(given), described(like)
    labels = "Their labels along a dimension differ. " if said[0] == said[1] and form_of(like) is not None else ""
    return GradientError(
        f"{who}: {names[0]}{path} is {said[0]}, and {names[1]}{path} is {said[1]}. "
        f"{labels}Give one of the same structure, None for what is zero."
    )


def _parts(given: Any, like: Any) -> Sequence[Any] | None:
    """The items of `given` in the order of those of `like`; None where it is no such container."""
    items = parts_of(given)
    if isinstance(like, dict):
        return [given[key] for key in like] if isinstance(given, dict) and given.keys() == like.keys() else None
    if field_names(type(like)) is None:
        fits = isinstance(given, (list, tuple)) and field_names(type(given)) is None and len(given) == len(like)
    else:
        fits = type(given) is type(like)
    return items if fits else None


def _fitted(x: Any, layout: Layout | None, like: Any, i: int, who: str, names: tuple[str, str]) -> Any:
    path = list(paths(like))[i]
    here, there = f"{names[0]}{path}", f"{names[1]}{path}"
    if layout is None:
        leaf = flattened(like)[i]
        line = line_for_others(leaf)
        remedy = f" Write {line}." if line else " Give None for it, or make it floating-point: 2.0 for 2, x.astype(float)."
        raise GradientError(f"{who}: {here} was given, and {there} is {described(leaf)}, which has no derivative.{remedy}")
    shape, dtype = layout
    if isinstance(x, (int, float, complex)) and not isinstance(x, np.generic):
        x = beside(np.asarray(x, complex if isinstance(x, complex) else dtype))
    if not is_array(x):
        line = line_for_others(x)
        remedy = f" Write {line}." if line else " Give an array."
        raise GradientError(f"{who}: {here} is {described(x)}, and {there} an array of shape {shape}.{remedy}")
    check_data(x)
    if x.shape != shape:
        raise GradientError(f"{who}: {here} has shape {x.shape}, and {there} has shape {shape}. Make them equal.")
    if x.dtype == dtype:
        return x
    if not np.can_cast(x.dtype, dtype, "same_kind"):
        raise GradientError(f"{who}: {here} has dtype {x.dtype}, and {there} has dtype {dtype}. Cast it: x.astype(...).")
    return astype(x, dtype)
