"""Defaults: which values a type takes, and their text.

A default is kept as it was written in Python (a list becomes a tuple), because a kernel must get what the undecorated
function would have got. Its text reads back as a value with the same text; two defaults are equal when their texts are.
"""

from collections.abc import Callable

import numpy as np

from .errors import SchemaError
from .grammar import (
    ANY,
    BOOL,
    BYTES,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    SCALAR,
    SCALAR_TYPE,
    STR,
    ListOf,
    OptionalOf,
    TupleOf,
    Type,
)  # fmt: skip

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
    ANY: lambda value: value is None or isinstance(value, (*_BOOLS, *_NUMBERS, str, bytes)),
}


def accept(kind: Type, value: object) -> object:
    """Return a default as it is kept, or refuse it.

    Parameters
    ----------
    kind : Type
        The type of the argument.
    value : object
        The default.

    Returns
    -------
    object
        The value itself; a tuple for a list or a range.

    Examples
    --------
    >>> accept(ListOf(INT), [1, 2])
    (1, 2)
    >>> accept(INT, 2.5)
    Traceback (most recent call last):
    dispatch.errors.SchemaError: a default of type float does not fit int.
    """
    takes = _TAKES.get(kind)
    if takes is not None and takes(value):
        return value
    if isinstance(kind, OptionalOf):
        return None if value is None else accept(kind.element, value)
    if isinstance(value, (list, tuple, range)):
        if isinstance(kind, ListOf) and kind.size in (None, len(value)):
            return tuple(accept(kind.element, item) for item in value)
        if isinstance(kind, TupleOf) and len(kind.members) == len(value):
            return tuple(map(accept, kind.members, value))
        if kind == ANY:
            return tuple(accept(kind, item) for item in value)
    if isinstance(kind, ListOf) and kind.size is not None and kind.element == INT and _TAKES[INT](value):
        return value
    if value is None:
        raise SchemaError(f"a default of None does not fit {kind}. Write {kind}? for a value that may be left out.")
    if kind.has_tensor:
        raise SchemaError(
            f"a default of type {_named(value)} does not fit {kind}: the default of a Tensor can only be None."
        )
    if takes is None and not isinstance(kind, (ListOf, TupleOf)):
        raise SchemaError(f"a default of type {_named(value)} for {kind} has no text. Write {kind}? and None.")
    raise SchemaError(f"a default of type {_named(value)} does not fit {kind}.")


def _named(value: object) -> str:
    if isinstance(value, (list, tuple, range)):
        return f"{type(value).__name__} of length {len(value)}"
    return "dtype" if isinstance(value, np.dtype) else type(value).__name__


def spell(kind: Type, value: object) -> str:
    r"""Return the text of a default that `accept` has let in.

    Parameters
    ----------
    kind : Type
        The type of the argument.
    value : object
        The default.

    Returns
    -------
    str
        What the reader turns back into the value.

    Examples
    --------
    >>> spell(FLOAT, float("-inf")), spell(STR, 'say "hi"'), spell(SCALAR_TYPE, np.float32)
    ('-inf', '"say \\"hi\\""', 'float32')
    """
    if isinstance(kind, OptionalOf):
        kind = kind.element
    if value is None:
        return "None"
    if isinstance(value, tuple):
        if isinstance(kind, TupleOf):
            return f"({', '.join(map(spell, kind.members, value))})"
        return f"[{', '.join(spell(_element(kind), item) for item in value)}]"
    if kind == SCALAR_TYPE:
        return _spell_dtype(np.dtype(value))  # type: ignore[call-overload]  # `accept` let it in
    return _spell_plain(value)


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
