"""Values held to the type hints of the functions that were given them, and what is said of one that does not fit.

`wrong_calls.clear` asks on its way out of an error, so that a right call pays nothing; with `held` it asks before the call. A
hint that says nothing here, a type variable or a class that is only imported for the type checker, lets everything pass.
"""

import functools
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeVar, Union

import numpy as np

from ..errors import ArgumentError, did_you_mean, kind_of, shown

# What classes are called where a user reads of them; for the others it is their name.
WORDS: dict[Any, str] = {
    None: "None", Callable: "a function", Collection: "a list", Iterable: "a list", Mapping: "a dict", PathLike: "a path",
    Sequence: "a list", bool: "True or False", complex: "a number", dict: "a dict", float: "a number", int: "an int",
    list: "a list", str: "a str", tuple: "a tuple", type: "a class", type(None): "None",
    "Body": "a Graph", "DispatchKey": "a DispatchKey, DispatchKey.CPU say", "Keeper": "a Library", "OpOverload": "an operator",
    "ShapeSource": "a ShapeEnv", "Tag": "a Tag, Tag.pointwise say", "TextIO": "an open file", "TextIOBase": "an open file",
}  # fmt: skip
SEVERAL = (list, Sequence, Iterable, Collection, tuple)
HELD = (list, tuple, set, frozenset, np.ndarray)  # whose items can be looked at without taking them


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is what a hint says. Numbers are read by what they can be, as NumPy reads them.

    Examples
    --------
    >>> fits(np.int64(3), int | None), fits("3", int | None), fits(b"mylib", Sequence[str])
    (True, False, False)
    """
    origin, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if isinstance(hint, TypeVar):
        return hint.__bound__ is None or fits(value, hint.__bound__)
    if hint is Any:
        return True
    if hint is bool:
        return isinstance(value, (bool, np.bool_))
    if hint is int:
        return hasattr(value, "__index__") and np.ndim(value) == 0
    if hint in (float, complex):
        number = hasattr(value, "__float__") or (hint is complex and isinstance(value, (complex, np.number)))
        return number and np.ndim(value) == 0
    if origin is Callable:
        return callable(value)
    if origin in SEVERAL:
        whole = (list, tuple) if origin in (list, tuple) else Iterable
        once = isinstance(value, Iterator) and origin is not Iterable
        if once or isinstance(value, (str, bytes, Mapping)) or not isinstance(value, whole):
            return False
        items = [part for part in parts if part is not Ellipsis]
        item = items[0] if len(items) == 1 or (parts and Ellipsis in parts) else Any
        return not isinstance(value, HELD) or all(fits(one, item) for one in value)
    if origin in (dict, Mapping):
        return isinstance(value, Mapping)
    if hint is None or not isinstance(origin, type):
        return value is None or hint is not None
    if getattr(origin, "_is_protocol", False) and origin is not PathLike:
        return all(hasattr(value, name) for name in vars(origin) if not name.startswith("_"))
    if issubclass(origin, typing.IO) or origin.__name__ == "TextIOBase":
        return hasattr(value, "read") or hasattr(value, "write")
    return isinstance(value, origin)


def words(hint: Any) -> str:
    """Return what a hint says, in words.

    Examples
    --------
    >>> words(str | Sequence[str] | None)
    'a str, a list of these or None'
    """
    said: list[str] = []
    for one in typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,):
        one = getattr(one, "__bound__", one) if isinstance(one, TypeVar) else one
        origin, parts = typing.get_origin(one) or one, typing.get_args(one)
        if origin is Literal:
            said.extend(map(repr, parts))
            continue
        word = WORDS.get(origin) or WORDS.get(getattr(origin, "__name__", "")) or kind_of(origin).replace("type", "value")
        if origin not in WORDS and isinstance(origin, type) and origin.__name__ not in WORDS:
            word = f"{'an' if origin.__name__[0] in 'AEIOU' else 'a'} {origin.__name__}"
        if origin in SEVERAL and parts and parts[0] is not Any:
            inner = words(parts[0])
            word += " of these" if inner in said else f" of {inner.partition(', ')[0].partition(' ')[2]}s"
        if word not in said:
            said.append(word)
    said.sort(key="None".__eq__)
    return " or ".join((", ".join(said[:-1]), said[-1])) if len(said) > 1 else said[0]


_signature_of = functools.lru_cache(None)(inspect.signature)


@functools.lru_cache(None)
def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The hints of a function's parameters, by their names; of those that can be read."""
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError):
        found = {}
        for name, hint in getattr(function, "__annotations__", {}).items():
            try:
                found[name] = eval(hint, function.__globals__) if isinstance(hint, str) else hint
            except (NameError, TypeError):
                continue
        return found


def unsuited(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], of: Collection[str] | None = None
) -> ArgumentError | None:
    """What to raise for the first argument that does not fit its hint, of some or of all; None where each fits.

    Examples
    --------
    >>> def halve(x: float, times: int = 1): ...
    >>> str(unsuited(halve, (3.0, "2"), {}))
    "halve: times is an int, and was given '2'."
    """
    signature, hints = _signature_of(function), hints_of(function)
    try:
        given = signature.bind(*args, **keywords).arguments
    except TypeError:
        return None
    for name, value in given.items():
        parameter = signature.parameters[name]
        if name not in hints or value is parameter.default or (of is not None and name not in of):
            continue
        several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        for one in (value.values() if isinstance(value, dict) else value) if several else (value,):
            if not fits(one, hints[name]):
                return ArgumentError(f"{title(function)}: {name} is {words(hints[name])}, and {_given(one, hints[name])}")
    return None


def _given(value: Any, hint: Any) -> str:
    """What was given in place of what a hint says, with the item of a list that does not fit."""
    alternatives = typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)
    for one in alternatives:
        if typing.get_origin(one) in SEVERAL and isinstance(value, HELD):
            item = typing.get_args(one)[0]
            wrong = [x for x in value if not fits(x, item)]
            if wrong:
                return f"was given {kind_of(value)} with {kind_of(wrong[0])} in it."
    literals = [part for one in alternatives if typing.get_origin(one) is Literal for part in typing.get_args(one)]
    return f"was given {shown(value)}.{did_you_mean(value, literals) if isinstance(value, str) else ''}"


def title(function: Callable[..., Any]) -> str:
    """What a function is called by who calls it: a class for its constructor."""
    if function.__name__ in ("__init__", "__new__"):
        return function.__qualname__.split(".")[-2]
    return function.__name__
