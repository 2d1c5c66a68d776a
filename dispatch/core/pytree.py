"""Containers: what holds arrays, taken apart and put together again.

Lists, tuples, named tuples, dicts, and records: dataclasses whose fields are hinted as arrays, once a hint or a schema has
named them, and classes of other packages that hold arrays, `set_record`. Everything else is one value. A layer that walks a
result or an argument does it with this page, so that it meets an array wherever a schema type can put one.
"""

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from .flatten import form_of, items_of, leaves, leaves_like, rebuilt, set_record, steps_of, unflatten
from .lazy import LazyFunction

__all__ = [
    "arrays",
    "form_of",
    "items_of",
    "leaves",
    "leaves_like",
    "mapped",
    "mapped_arrays",
    "opened",
    "paths",
    "rebuilt",
    "register_record",
    "unflatten",
]

fields_of = LazyFunction("dataclasses", "dataclasses", "fields")  # a module that takes longer to import than ten of ours


def mapped(f: Callable[[Any], Any], x: Any) -> Any:
    """A container like `x` with a function's values in place of its leaves.

    Examples
    --------
    >>> mapped(str, [1, (2, {"a": 3})])
    ['1', ('2', {'a': '3'})]
    """
    items = items_of(x)
    return f(x) if items is None else rebuilt(x, [mapped(f, item) for item in items])


def arrays(x: Any) -> list[Any]:
    """The leaves of a container, without those fields of records that are no arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from collections import namedtuple
    >>> arrays([1, namedtuple("Named", "x n")(np.ones(2), 3)])
    [1, array([1., 1.])]
    """
    items = items_of(x)
    return [x] if items is None else [leaf for item in items if _is_mapped(x, item) for leaf in arrays(item)]


def mapped_arrays(f: Callable[[Any], Any], x: Any) -> Any:
    """`mapped`, for the leaves that `arrays` gives; the other fields of records stay as they are."""
    items = items_of(x)
    if items is None:
        return f(x)
    return rebuilt(x, [mapped_arrays(f, item) if _is_mapped(x, item) else item for item in items])


def _is_mapped(x: Any, item: Any) -> bool:
    return field_names(type(x)) is None or hasattr(item, "shape") or items_of(item) is not None


def paths(x: Any) -> Iterator[str]:
    """Where each of the leaves is, as it is written in Python.

    Examples
    --------
    >>> list(paths([1, {"a": (3,)}]))
    ['[0]', "[1]['a'][0]"]
    """
    items = items_of(x)
    if items is None:
        yield ""
    else:
        for step, item in zip(steps(x), items, strict=True):
            for path in paths(item):
                yield step + path


def steps(x: Any) -> list[str]:
    """What is written behind a container for each of its items: `[0]`, `['key']`, `.field`."""
    if isinstance(x, dict):
        return [f"[{key!r}]" for key in x]
    names = field_names(type(x))
    if names is not None:
        return [f".{name}" for name in names]
    found = None if isinstance(x, (list, tuple)) else steps_of(x)
    return [f"[{i}]" for i in range(len(x))] if found is None else found


def is_dataclass(cls: type) -> bool:
    """Whether a class is a dataclass, by the mark that the module of that name goes by, which takes long to import."""
    return hasattr(cls, "__dataclass_fields__")


def field_names(cls: type) -> tuple[str, ...] | None:
    """The fields of a dataclass or a named tuple; None for any other class."""
    if is_dataclass(cls):
        return tuple(field.name for field in fields_of(cls))
    return getattr(cls, "_fields", None) if issubclass(cls, tuple) else None


def register_record(cls: type) -> None:
    """Let the values of a dataclass be containers of its fields. A named tuple is one by itself.

    A record is put together again without its `__init__`, so that neither validation nor a computed field sees the values
    that stand for arrays meanwhile; attributes that are no fields go along as they are.

    Parameters
    ----------
    cls : type
        A dataclass, frozen or not, with slots or not.

    Examples
    --------
    >>> import dataclasses
    >>> @dataclasses.dataclass(frozen=True)
    ... class Pair:
    ...     x: Any
    ...     y: Any = 2
    >>> register_record(Pair)
    >>> mapped(lambda item: item + 1, [Pair(1), 5])
    [Pair(x=2, y=3), 6]
    """
    names = field_names(cls)
    if issubclass(cls, tuple) or not names:
        return
    get = attrgetter(*names)

    def take(x: Any) -> tuple[Any, ...]:
        try:
            return get(x) if len(names) > 1 else (get(x),)
        except AttributeError:  # a field with init=False that nobody has set
            return tuple(getattr(x, name, None) for name in names)

    def put(x: Any, items: list[Any]) -> Any:
        made = object.__new__(cls)
        if (others := getattr(x, "__dict__", None)) is not None:
            made.__dict__.update(others)
        for name, item in zip(names, items, strict=True):
            object.__setattr__(made, name, item)
        return made

    set_record(cls, take, put)


def opened(x: Any, holds: Callable[[Any], bool]) -> Any:
    """The items of a container, None for a leaf. A dataclass in which `holds` finds an array is a container from here on.

    Examples
    --------
    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: Any
    ...     name: str
    >>> opened(Point("here", "there"), lambda leaf: isinstance(leaf, float))
    >>> opened(Point([1.5], "here"), lambda leaf: isinstance(leaf, float))
    ([1.5], 'here')
    """
    items = items_of(x)
    if items is not None or not is_dataclass(type(x)):
        return items
    if any(_is_held(getattr(x, name, None), holds) for name in field_names(type(x)) or ()):
        register_record(type(x))
    return items_of(x)


def _is_held(x: Any, holds: Callable[[Any], bool]) -> bool:
    items = opened(x, holds)
    return holds(x) if items is None else any(_is_held(item, holds) for item in items)


def made_of(cls: type, items: list[Any]) -> Any:
    """A record of a class, put together of the values of its fields, without its `__init__`."""
    return cls._make(items) if issubclass(cls, tuple) else rebuilt(object.__new__(cls), items)  # type: ignore[attr-defined]
