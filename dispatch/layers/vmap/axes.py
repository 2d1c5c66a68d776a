"""Reads axes for containers: one axis for every array inside, or a container of axes with the same structure.

    in_dims=0               the first axis of every array
    in_dims=(0, None)       of the first argument; the second goes whole to every item
    in_dims=({"a": 0, "b": None}, 1)

`in_dims`, `out_dims` and the `out_dims` that a rule returns are read here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import Tensor, is_array
from ...core.pytree import field_names, items_of, opened, rebuilt, steps
from ...dispatcher.conversion_advice import line_for
from ...dispatcher.printing import describe_value
from ...errors import ArgumentError, BatchingError, how_many, kind_of


def checked_axes(dims: Any, what: str, where: str = "") -> Any:
    """Return axes as the user gave them, every number as an `int`. Raise BatchingError if something in them is no axis."""
    if dims is None or type(dims) is int:
        return dims
    if isinstance(dims, np.integer):
        return int(dims)
    items = items_of(dims)
    if items is None:
        second = " The arguments go into the second call: vmap(f)(x)." if isinstance(dims, (np.ndarray, Tensor)) else ""
        raise BatchingError(
            f"vmap: {what}{where} is {kind_of(dims)}, and an axis is an int, or None for what is not mapped.{second}"
        )
    return rebuilt(dims, [checked_axes(d, what, where + step) for step, d in zip(steps(dims), items, strict=True)])


def _names(x: Any) -> tuple[Any, ...] | None:
    """Return the keys of a dict or the fields of a record; None for lists and tuples."""
    return tuple(x) if isinstance(x, dict) else field_names(type(x))


def each(dims: Any, x: Any, items: Any, refused: Callable[[str, str], Exception]) -> list[Any]:
    """Return the axis of each item of a container. `dims` is one axis for all of them, or a container of as many.

    For a record, a dict of some of its fields is enough. `refused(given, wanted)` makes the error for axes of other structure.
    """
    if dims is None or isinstance(dims, int):
        return [dims] * len(items)
    names, record = _names(x), not isinstance(x, dict)
    if isinstance(dims, dict):
        if names is not None and (set(dims) <= set(names) if record else set(dims) == set(names)):
            return [dims.get(name) for name in names]
    elif names is None or record:
        found = items_of(dims)
        if found is not None and len(found) == len(items) and (type(dims) in (list, tuple) or type(dims) is type(x)):
            return list(found)
    wanted = f"{len(items)} of them" if names is None else f"a dict with {', '.join(map(repr, names))}"
    raise refused(kind_and_size(dims), wanted)


def kind_and_size(x: Any) -> str:
    """Describe a value for a message; of a container say what it has."""
    items = items_of(x)
    if items is None:
        return describe_value(x)
    names = _names(x)
    return f"{kind_of(x)} of {len(items)}" if names is None else f"{kind_of(x)} with {', '.join(map(repr, names))}"


def parts_of(x: Any) -> Any:
    """Return the items of a container, None for a leaf. A dataclass that holds arrays counts, in a schema or not."""
    return opened(x, lambda leaf: hasattr(leaf, "shape"))


def _of_items(dims: Any, x: Any, items: Any, place: str, option: str) -> list[Any]:
    """Return the axes of the items of an argument or a result. What is no array in a record has none: all items share it."""

    def refused(given: str, wanted: str) -> BatchingError:
        return BatchingError(
            f"vmap: {place} is {kind_and_size(x)}, and {option} has {given} for it. Give one axis for all of it, None, or "
            f"{wanted}."
        )

    found = each(dims, x, items, refused)
    if isinstance(dims, int) and field_names(type(x)) is not None:
        return [dims if hasattr(item, "shape") or items_of(item) is not None else None for item in items]
    return found


def mapped_axes(dims: Any, x: Any, place: str, sizes: list[tuple[str, int, int]]) -> Any:
    """Return the axis of each array in an argument, none of them negative; a list for a container.

    `place` is the name of the argument in messages. Each mapped axis is added to `sizes`: its place, its number and its length.
    """
    if dims is None:
        return None
    items = parts_of(x)
    if items is not None:
        if isinstance(dims, int) and items and all(isinstance(item, (int, float, complex)) for item in items):
            raise BatchingError(
                f"vmap: {place} is {kind_of(x)} of {how_many(len(items), 'number')}, a container whose items have no axis to "
                "map. For one array write np.asarray(...) of the argument; give in_dims=None for what all items share."
            )
        found = _of_items(dims, x, items, place, "in_dims")
        return [mapped_axes(d, item, place + step, sizes) for d, item, step in zip(found, items, steps(x), strict=True)]
    refuse_tables("vmap", x, place)
    shape = getattr(x, "shape", None)
    if shape is None:
        remedy = "Give an array that has it; or write None in its place, in_dims=(0, None) say, for what all items share."
        raise BatchingError(f"vmap: {place} is {kind_of(x)}, which has no axis to map. {remedy}")
    if not isinstance(dims, int):
        raise BatchingError(
            f"vmap: {place} is an array of shape {shape}, and in_dims has {kind_and_size(dims)} for it. Give one axis, or None."
        )
    if not -len(shape) <= dims < len(shape):
        raise BatchingError(
            f"vmap: {place} has shape {shape} and no axis {dims} to map. "
            "in_dims is an axis, None, or a tuple of one for each argument."
        )
    sizes.append((place, dims, shape[dims]))
    return dims % len(shape)


def refuse_tables(who: str, x: Any, place: str) -> None:
    """Refuse a table, a column or a sparse matrix, with the line to write: their items are no arrays of one shape."""
    if not is_array(x) and (line := line_for(x)):
        raise ArgumentError(f"{who} takes arrays, and was given {kind_of(x)} as {place}. Write {line}.")


def _array_or_kind(x: Any) -> str:
    return f"an array of shape {x.shape}" if hasattr(x, "shape") else kind_of(x)


def placed_axes(dims: Any, x: Any, place: str) -> Any:
    """Return the axis of each leaf of a result, as the user gave it; like `mapped_axes`, but the axis is not there yet."""
    items = parts_of(x)
    if items is not None:
        found = _of_items(dims, x, items, place, "out_dims")
        return [placed_axes(d, item, place + step) for d, item, step in zip(found, items, steps(x), strict=True)]
    if dims is not None and not isinstance(dims, int):
        raise BatchingError(
            f"vmap: {place} is {_array_or_kind(x)}, and out_dims has {kind_and_size(dims)} for it. Give one axis, or None."
        )
    return dims
