"""Default values of arguments: checks them against their type, and prints them.

A default is kept as it was written in Python, because the kernel must get what the undecorated function would get; lists and
dicts are copied here, and again for each call (`core.Arguments`), so that no write to one is seen by the next call. Reading its
text gives a value with the same text, and two defaults are equal when their texts are.
Functions and other objects without a text print as `...`, which cannot be read.
"""

from collections.abc import Callable, Iterable
from enum import Enum, Flag
from typing import cast

import numpy as np

from ..core import Tensor
from ..core.pytree import leaves
from ..errors import SchemaError
from .opaque_types import find_class
from .types import (
    ANY,
    BOOL,
    BYTES,
    CALLABLE,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    SCALAR,
    SCALAR_TYPE,
    STR,
    ClassType,
    DictOf,
    ListOf,
    LiteralOf,
    OptionalOf,
    TupleOf,
    Type,
    UnionOf,
)  # fmt: skip

NO_TEXT = "..."

_BOOLS = (bool, np.bool_)
_INTEGERS = (int, np.integer)
_REALS = (*_INTEGERS, float, np.floating)
_NUMBERS = (*_REALS, complex, np.complexfloating)


def _no_bool(classes: tuple[type, ...]) -> Callable[[object], bool]:
    # bool is an int to Python, and timedelta64 an integer to NumPy.
    return lambda value: isinstance(value, classes) and not isinstance(value, (*_BOOLS, np.timedelta64))


def _is_dtype(value: object) -> bool:
    if isinstance(value, type):
        known = issubclass(value, np.generic) or value in (bool, int, float, complex)
    else:
        known = isinstance(value, (np.dtype, str))
    try:
        # A structured dtype has no text of its own: '|V12' is all that is left of it.
        return known and np.dtype(np.dtype(value).str) == np.dtype(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, SyntaxError):
        return False


_TAKES: dict[Type, Callable[[object], bool]] = {
    INT: _no_bool(_INTEGERS),
    FLOAT: _no_bool(_REALS),
    COMPLEX: _no_bool(_NUMBERS),
    BOOL: lambda value: isinstance(value, _BOOLS),
    SCALAR: lambda value: isinstance(value, (*_BOOLS, *_NUMBERS)) and not isinstance(value, np.timedelta64),
    STR: lambda value: isinstance(value, str),
    DEVICE: lambda value: isinstance(value, str),
    BYTES: lambda value: isinstance(value, bytes),
    SCALAR_TYPE: _is_dtype,
    NONE: lambda value: value is None,
    CALLABLE: callable,
    ANY: lambda value: type(value) not in (list, tuple, range, dict) and not _holds_array(value),
}


def _holds_array(value: object) -> bool:
    return any(isinstance(x, (np.ndarray, Tensor)) for x in leaves(value))


def accept(kind: Type, value: object) -> object:
    """Return a default as it is kept: of containers a copy, a list for a range; raise if it does not fit its type."""
    takes = _TAKES.get(kind)
    if takes is not None and takes(value):
        return value
    if isinstance(kind, OptionalOf):
        return None if value is None else accept(kind.element, value)
    if isinstance(kind, UnionOf) and (member := _member_of(kind, value)) is not None:
        return accept(member, value)
    if isinstance(value, (list, tuple, range)):
        if isinstance(kind, ListOf) and kind.size in (None, len(value)):
            return _like(value, [accept(kind.element, item) for item in value])
        if isinstance(kind, TupleOf) and len(kind.members) == len(value):
            return tuple(map(accept, kind.members, value))
        if kind == ANY and type(value) in (list, tuple, range):
            return _like(value, [accept(kind, item) for item in value])
    if isinstance(kind, ListOf) and kind.size is not None and kind.element == INT and _TAKES[INT](value):
        return value
    if isinstance(value, dict) and (isinstance(kind, DictOf) or kind == ANY):
        keys, values = (kind.key, kind.value) if isinstance(kind, DictOf) else (ANY, ANY)
        return {accept(keys, name): accept(values, item) for name, item in value.items()}
    if isinstance(kind, LiteralOf) and any(type(value) is type(choice) and value == choice for choice in kind.choices):
        return value
    if isinstance(kind, ClassType) and isinstance(value, find_class(kind)) and not _holds_array(value):
        return value
    if value is None:
        raise SchemaError(f"a default of None does not fit {kind}. Write {kind}? for a value that may be left out.")
    if kind.has_tensor:
        raise SchemaError(f"a default of type {_named(value)} does not fit {kind}: the default of a Tensor can only be None.")
    if isinstance(kind, LiteralOf):
        raise SchemaError(f"a default of type {_named(value)} is none of the choices of {kind}.")
    advice = " No single dtype has this name. Write np.float64, say." if kind == SCALAR_TYPE and isinstance(value, str) else ""
    raise SchemaError(f"a default of type {_named(value)} does not fit {kind}.{advice}")


def _member_of(kind: UnionOf, value: object) -> Type | None:
    """Return the first type of a union that a default fits."""
    for member in kind.members:
        try:
            accept(member, value)
        except SchemaError:
            continue
        return member
    return None


def _like(value: object, items: list[object]) -> object:
    return tuple(items) if isinstance(value, tuple) else items


def _named(value: object) -> str:
    if isinstance(value, (list, tuple, range)):
        return f"{type(value).__name__} of length {len(value)}"
    return "dtype" if isinstance(value, np.dtype) else type(value).__name__


def spell(kind: Type, value: object) -> str:
    """Return the text of a default that `accept` returned; reading the text gives the value."""
    if isinstance(kind, OptionalOf):
        kind = kind.element
    if value is None:
        return "None"
    if isinstance(kind, UnionOf):
        kind = _member_of(kind, value) or kind
    if isinstance(kind, ClassType):
        return _spell_member(value) if isinstance(value, Enum) else NO_TEXT
    if isinstance(value, tuple) and isinstance(kind, TupleOf):
        return _joined("(", map(spell, kind.members, value), ")")
    if type(value) in (list, tuple):  # of a list type both are a list's text, as torch writes them
        left, right = ("(", ",)" if len(value) == 1 else ")") if kind == ANY and type(value) is tuple else ("[", "]")
        return _joined(left, [spell(_element(kind), item) for item in cast("list[object]", value)], right)
    if isinstance(value, dict):
        keys, values = (kind.key, kind.value) if isinstance(kind, DictOf) else (ANY, ANY)
        items = [(spell(keys, name), spell(values, item)) for name, item in value.items()]
        return _joined("{", (NO_TEXT if text == NO_TEXT else f"{name}: {text}" for name, text in items), "}")
    if kind == SCALAR_TYPE:
        return _spell_dtype(np.dtype(value))  # type: ignore[call-overload]  # `accept` let it in
    if kind == ANY and isinstance(value, Enum):
        return _spell_member(value)
    plain = isinstance(value, (*_BOOLS, *_NUMBERS, str, bytes)) and not isinstance(value, np.timedelta64)
    return _spell_plain(value) if plain and kind != CALLABLE else NO_TEXT


def _joined(left: str, texts: Iterable[str], right: str) -> str:
    """Return the text of a container, or None where an item has no text."""
    found = list(texts)
    return NO_TEXT if NO_TEXT in found else f"{left}{', '.join(found)}{right}"


def _spell_member(value: Enum) -> str:
    cls = type(value)
    members = list(value) if isinstance(value, Flag) and value.name not in cls.__members__ else [value]
    try:
        name = str(ClassType(f"{cls.__module__}.{cls.__qualname__}"))
    except SchemaError:  # a class inside a function
        return NO_TEXT
    whole = members and all(member.name in cls.__members__ for member in members)
    return "|".join(f"{name}.{member.name}" for member in members) if whole else NO_TEXT


def _element(kind: Type) -> Type:
    return kind.element if isinstance(kind, ListOf) else kind


def _spell_dtype(dtype: np.dtype[np.generic]) -> str:
    # A name says nothing about byte order, and the names of sized and dated types are not words.
    return dtype.name if dtype.isnative and dtype.kind in "biufcO" else f'"{dtype.str}"'


def _spell_plain(value: object) -> str:
    if isinstance(value, str):
        text = value.encode("unicode_escape").decode("ascii").replace('"', '\\"')
        return f'"{text}"'
    if isinstance(value, bytes):
        return repr(bytes(value))
    if isinstance(value, _BOOLS):
        return repr(bool(value))
    if isinstance(value, _INTEGERS):
        return repr(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    assert isinstance(value, (complex, np.complexfloating))
    return repr(complex(value)).strip("()")
