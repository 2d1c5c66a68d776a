"""The variables that the code of a function names, and whether a run of it has changed one."""

from types import CellType
from typing import Any

import numpy as np

from .source import innermost

EMPTY = CellType()  # of a variable that is not bound yet
MOST_BYTES = 1 << 16  # of an array that is copied to see whether it changes


def variables_of(f: Any) -> dict[str, Any]:
    """Return the variables that a function closes over, and the global ones that its code names, by name.

    Examples
    --------
    >>> outside = [1]
    >>> variables_of(lambda x: outside + x)["outside"]
    [1]
    """
    return named_by(innermost(f))


def named_by(inner: Any) -> dict[str, Any]:
    """The same of a function that is innermost. There are no comprehensions: `vmap` asks, and each is a frame."""
    code, found = getattr(inner, "__code__", None), {}
    if code is None:
        return {}
    known = getattr(inner, "__globals__", {})
    for name in code.co_names:
        if name in known:
            found[name] = known[name]
    for name, cell in zip(code.co_freevars, getattr(inner, "__closure__", None) or (), strict=False):
        if cell != EMPTY:
            found[name] = cell.cell_contents
    return found


def contents_of(f: Any) -> dict[str, Any]:
    """Return what the variables of a function hold: themselves, the items of lists, dicts and sets, and small arrays copied."""
    return {name: (x, _held(x)) for name, x in variables_of(f).items()}


def changed_variable(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return the name of a variable that holds something else than it did; None where none does."""
    for name, (x, held) in after.items():
        old, kept = before.get(name, (x, held))
        if old is not x or not _is_same(held, kept):
            return name
    return None


def _held(x: Any) -> Any:
    if type(x) is list or type(x) is set:
        return tuple(x)
    if type(x) is dict:
        return (*x.keys(), *x.values())
    return x.copy() if type(x) is np.ndarray and x.nbytes <= MOST_BYTES and not x.dtype.hasobject else None


def _is_same(x: Any, y: Any) -> bool:
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        return x.shape == y.shape and x.tobytes() == y.tobytes()
    return x is y or (type(x) is type(y) is tuple and len(x) == len(y) and all(a is b for a, b in zip(x, y, strict=True)))
