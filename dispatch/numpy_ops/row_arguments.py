"""Converts arguments as NumPy's functions do, for a row: a list to an array, an array of arrays to a list, a 0-d array to an int.

NumPy calls `np.asarray` on whatever stands where an array goes, and `operator.index` on whatever stands where an int goes. A row
takes arrays and ints, and its schema says where each goes. So a call that a row refuses is tried once more with its arguments
converted by the schema, `call`; one that the row takes as it is costs nothing more.
"""

from collections.abc import Callable
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from ..core import OpOverload, Tensor, first_wrapper
from ..errors import ArgumentError
from ..operators.prims import stack
from ..operators.views import is_number
from ..schema.types import BOOL, INT, TENSOR, ListOf, OptionalOf, Type
from .index_parsing import AS_IT_STANDS, as_array


def as_value(value: Any) -> Any:
    """Return a list as an array, or as a stack where it holds a Tensor; return any other value as it is."""
    if not isinstance(value, (list, tuple)):
        return value
    parts = [as_value(item) for item in value]
    return stack([as_item(x) for x in parts]) if any(isinstance(x, Tensor) for x in parts) else np.asarray(value)


def as_places(value: Any) -> Any:
    """Return a list of places as an array, of whole numbers where there are none in it, as NumPy makes it."""
    found = as_value(value)
    return found.astype(np.intp) if isinstance(value, (list, tuple)) and not found.size else found


def as_index(index: Any) -> Any:
    """Return an index with a number or a list for what NumPy makes such of, a range say, and a stack for a list with a Tensor in it."""
    if isinstance(index, tuple):
        return index if all([isinstance(i, AS_IT_STANDS) for i in index]) else tuple(map(_as_known, index))
    return _as_known(index)


def _as_known(i: Any) -> Any:
    if isinstance(i, AS_IT_STANDS):
        return i
    if first_wrapper(i) is not None:
        return as_value(i)
    made = i if isinstance(i, list) else as_array(i)
    return made.tolist() if type(made) is np.ndarray else made


def as_mask(where: Any) -> Any:
    """Return what `where=` was given as an array or a Tensor: of a list or a number NumPy takes what is true in it."""
    if isinstance(where, (Tensor, np.ndarray)):
        return where
    found = as_value(where)
    return found if isinstance(found, Tensor) else np.asarray(where, bool)


def as_item(x: Any) -> Any:
    """Return a Tensor as it is, and anything else as an array."""
    return x if isinstance(x, Tensor) else np.asarray(x)


def are_numbers(x: Tensor, y: Any, kinds: str) -> bool:
    """Whether both are numbers, what NumPy has as scalars, and one has a dtype of these kinds; `x` has no axes."""
    return is_number(x) and is_number(y) and (_kind(x) in kinds or _kind(y) in kinds)


def _kind(x: Any) -> str:
    return str(getattr(x.dtype, "kind", "")) if hasattr(x, "dtype") else "c" if type(x) is complex else "f" if type(x) is float else "i"


def _as_values(value: Any) -> Any:
    """Return a list of arrays; an array stands for the list of its items, as it does in `np.vstack(x)`."""
    if isinstance(value, (Tensor, np.ndarray)) and value.shape:
        return list(value)
    return [as_value(item) for item in value] if isinstance(value, (list, tuple)) else value


def _as_int(value: Any) -> Any:
    """Return an array without axes, or a number of NumPy's, as an int where it is one."""
    if isinstance(value, (np.ndarray, np.integer)) and not value.shape and value.dtype.kind in "iu":
        return index(value)
    return value


def _as_bool(value: Any) -> Any:
    """Return a whole number as the truth value that NumPy takes it for, `keepdims=1`."""
    return bool(value) if isinstance(value, (int, np.integer)) else value


def _as_ints(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu":
        return value.tolist()
    return [_as_int(item) for item in value] if isinstance(value, (list, tuple)) else _as_int(value)


def _converter(type_: Type) -> Callable[[Any], Any] | None:
    """Return what converts an argument of a type, or None where nothing does."""
    if isinstance(type_, OptionalOf):
        return _converter(type_.element)
    if isinstance(type_, ListOf):
        element = type_.element.element if isinstance(type_.element, OptionalOf) else type_.element
        return _as_values if element == TENSOR else _as_ints if element == INT else None
    return as_value if type_ == TENSOR else _as_int if type_ == INT else _as_bool if type_ == BOOL else None


@lru_cache(None)
def _converters(op: OpOverload) -> dict[str, Callable[[Any], Any]]:
    found = {a.name: _converter(a.type) for a in op.schema.arguments}
    return {name: convert for name, convert in found.items() if convert is not None}


NUMBERS = frozenset({int, float, bool, complex})
KNOWN = NUMBERS | {str, type(None)}


def has_listed(values: Any) -> bool:
    """Whether a list of numbers is among values of which none is of another framework: a refusal of it takes 20 us to find that out."""
    listed = False
    for x in values:
        if type(x) is list and x and NUMBERS.issuperset(map(type, x)):
            listed = True
        elif type(x) not in KNOWN and not isinstance(x, (Tensor, np.ndarray, np.generic)):
            return False
    return listed


def call(op: OpOverload, *args: Any, **keywords: Any) -> Any:
    """Call a row with what NumPy's function of its name takes."""
    if has_listed((*args, *keywords.values())) and (found := converted(op, args, keywords)) is not None:
        return op(*found[0], **found[1])
    try:
        return op(*args, **keywords)
    except ArgumentError:
        found = converted(op, args, keywords)
        if found is None:
            raise
    return op(*found[0], **found[1])


def converted(op: OpOverload, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[list[Any], dict[str, Any]] | None:
    """Return the arguments of a call converted by the schema of the row; None where that changes none."""
    converters, changed = _converters(op), False

    def fit(name: str, value: Any) -> Any:
        nonlocal changed
        convert = converters.get(name)
        found = value if convert is None else convert(value)
        changed = changed or found is not value
        return found

    positional = [fit(name, value) for name, value in zip(op.arguments.names, args, strict=False)] + list(
        args[len(op.arguments.names) :]
    )
    named = {name: fit(name, value) for name, value in keywords.items()}
    return (positional, named) if changed else None
