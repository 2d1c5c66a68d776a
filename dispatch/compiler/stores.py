"""What a function stores in what it refers to, `self.w = self.w - rate * g` say: a graph gives it beside its result.

The trace runs on a copy; what its objects, dicts, lists and variables hold afterwards, and did not before, is put into the
originals after each run, in the places where the walk has found them. A run that raises has stored nothing, so the function
itself can be called. What is not stored so, an append or a deletion say, is refused.
"""

import operator
import types
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from .conditions import EMPTY


class Place(NamedTuple):
    """Where a value is stored: what puts it there, what reads it, how the place is called, and its holder's id and its key."""

    put: Callable[[Any], Any]
    get: Callable[[], Any]
    path: str
    at: tuple[int, Any]


def stored(original: Any, members: list[Any], before: tuple[Any, ...], now: tuple[Any, ...]) -> list[tuple[Place, Any]] | None:
    """Return the places of an original where its copy holds another value than before, and the values; None for other changes.

    Parameters
    ----------
    original : dict, list, CellType or object
        The last is one whose slots are stored to.
    members : list
        The slots of that.
    before, now : tuple
        What the copy held: of a dict and of slots names and values in turns.
    """
    if type(original) is types.CellType:
        put, get = partial(setattr, original, "cell_contents"), partial(_read, ValueError, getattr, original, "cell_contents")
        return None if now[0] is EMPTY else [(Place(put, get, "", (id(original), None)), now[0])]
    if type(original) is list:
        if len(now) != len(before):
            return None
        changed = [i for i, x in enumerate(now) if x is not before[i]]
        return [(_item(original, i), now[i]) for i in changed]
    keys, values, known = now[::2], now[1::2], len(before) // 2
    if not all(a is b for a, b in zip(keys, before[::2], strict=False)) or len(keys) < known:
        return None
    changed = [i for i, x in enumerate(values) if i >= known or x is not before[2 * i + 1]]
    if any(values[i] is EMPTY or not _is_key(keys[i]) for i in changed):
        return None
    if type(original) is dict:
        return [(_item(original, keys[i]), values[i]) for i in changed]
    return [(_slot(original, members[i], keys[i]), values[i]) for i in changed]


def _slot(holder: Any, member: Any, name: str) -> Place:
    get = partial(_read, AttributeError, member.__get__, holder)
    return Place(partial(member.__set__, holder), get, f".{name}", (id(holder), name))


def _item(holder: Any, key: Any) -> Place:
    path = f".{key}" if type(key) is str else f"[{key!r}]"
    get = partial(_read, LookupError, operator.getitem, holder, key)
    return Place(partial(operator.setitem, holder, key), get, path, (id(holder), key))


def _read(absent: type[Exception], get: Callable[..., Any], *of: Any) -> Any:
    """Return what is in a place; `EMPTY` where nothing is."""
    try:
        return get(*of)
    except absent:
        return EMPTY


def _is_key(x: Any) -> bool:
    """Whether a key is its own copy: a class is none."""
    return type(x) in (str, int, bool, float, types.NoneType) or (type(x) is tuple and all(map(_is_key, x)))


def storing(run: Callable[..., Any], places: tuple[Place, ...]) -> Callable[..., Any]:
    """Return what runs a graph, puts the second of its results where it belongs, and returns the first.

    Its attribute `without_stores` gives both results.
    """
    if not places:
        return run
    putting = [place.put for place in places]

    def kept(*values: Any) -> Any:
        out, made = run(*values)
        for put, x in zip(putting, made, strict=True):
            put(x)
        return out

    kept.without_stores = run  # type: ignore[attr-defined]
    return kept
