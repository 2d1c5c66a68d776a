"""What is said of an attribute that an object does not have, read or written: the close match, or the line to write.

`__getattr__` runs only where a look-up has failed. `__setattr__` costs a frame for each write, so only classes have it whose
attributes are written where they are made, and users hold: a library, a graph, a mode, a report.
"""

import enum
import functools
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from ..errors import ArgumentError, did_you_mean, kind_of
from .others_words import ELSEWHERE

_MOST_SHOWN = 12
# What others find where the namespaces of operators are, and what to write.
NAMESPACES_ELSEWHERE = {
    "aten": "ops.np", "load_library": "import module, which defines operators as it is imported", "numpy": "ops.np",
    "register": 'dispatch.custom_op("mylib::f", mutates_args=()) above the function', "prims": "ops.np",
    "scipy": "ops.scipy_special",
}  # fmt: skip


def namespace_instead(name: str, known: Collection[str]) -> str:
    """What to write for a namespace that is none, with its leading space.

    Examples
    --------
    >>> namespace_instead("aten", ["np"]), namespace_instead("mylib::scale", ["np"]), namespace_instead("mylab", ["mylib"])
    (' Write ops.np.', ' Write ops.mylib.scale.', " Did you mean 'mylib'?")
    """
    words = f"ops.{name.replace('::', '.')}" if "::" in name else NAMESPACES_ELSEWHERE.get(name)
    return f" Write {words}." if words else did_you_mean(name, known)


def operator_instead(namespace: str, name: str, known: Collection[str]) -> str:
    """What to write for an operator that is none, with its leading space: of NumPy's and SciPy's, what others call one.

    Examples
    --------
    >>> operator_instead("np", "relu", ["add"]), operator_instead("mylib", "scal", ["scale"])
    (' Write np.maximum(x, 0).', " Did you mean 'scale'?")
    """
    words = ELSEWHERE.get(name) if namespace in ("np", "scipy_special") else None
    return f" Write {words}." if words else did_you_mean(name, known)


@functools.lru_cache(1024)  # `hasattr(x, name)` asks again and again
def _names_of(cls: Any) -> tuple[str, ...]:
    return tuple(sorted(word for word in dir(cls) if not word.startswith("_") and word != "made_by"))


def _advice(x: object, name: str, elsewhere: Mapping[str, str] | None) -> str:
    if elsewhere and name in elsewhere:
        return f" Write {elsewhere[name]}."
    kind: Any = type(x)  # which mypy takes for one without a hash
    own = [word for word in (*getattr(kind, "_fields", ()), *getattr(x, "__dict__", ())) if not word.startswith("_")]
    known = list(dict.fromkeys([*_names_of(kind), *own, *(("name", "value") if isinstance(x, enum.Enum) else ())]))
    listed = 0 < len(known) <= _MOST_SHOWN and getattr(type(x), "_listed", True)
    few = f" It has: {', '.join(known)}." if listed else " dir(x) lists what it has." if known else ""
    return did_you_mean(name, known) or few


def no_attribute(x: object, name: str, elsewhere: Mapping[str, str] | None = None) -> AttributeError:
    """What to raise for an attribute that an object does not have, with the one that it has.

    Examples
    --------
    >>> str(no_attribute("text", "uper"))
    "a str has no attribute 'uper'. Did you mean 'upper'?"
    """
    if name.startswith("_") and name not in (elsewhere or ()):  # protocols ask, and want a short no
        return AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}", name=name, obj=x)
    said = f"{kind_of(x)} has no attribute {name!r}.{_advice(x, name, elsewhere)}"
    return AttributeError(said, name=name, obj=x)


def not_set(x: object, name: str, elsewhere: Mapping[str, str] | None = None) -> AttributeError:
    """What to raise for an attribute that cannot be set: it is misspelt, or computed, or a method.

    Examples
    --------
    >>> str(not_set("text", "upper"))
    "the attribute 'upper' of a str cannot be set: it is a method. Call it, x.upper(...)."
    """
    found = getattr(type(x), name, None)
    if found is None:
        said = f"{kind_of(x)} has no attribute {name!r} that could be set.{_advice(x, name, elsewhere)}"
    elif callable(found):
        said = f"the attribute {name!r} of {kind_of(x)} cannot be set: it is a method. Call it, x.{name}(...)."
    else:
        said = f"the attribute {name!r} of {kind_of(x)} cannot be set: it is read only."
    return AttributeError(said, name=name, obj=x)


class Attributes:
    """A base of classes that say which attributes they have, where one is asked for that they have not."""

    __slots__ = ()
    _elsewhere: ClassVar[dict[str, str]] = {}  # by a name that others use, what to write
    _listed: ClassVar[bool] = True  # whether all that it has may be named: not where much is for this package alone
    _no_block: ClassVar[str] = ""  # what to write in place of `with x:`

    def __enter__(self) -> Any:
        advice = f" Write {self._no_block}." if self._no_block else ""
        raise ArgumentError(f"`with` was asked of {kind_of(self)}, which is no block.{advice}")

    def __exit__(self, *exception: Any) -> Any: ...

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(type(self), name):  # a property, or a slot not set yet: its own words
            return object.__getattribute__(self, name)
        raise no_attribute(self, name, getattr(type(self), "_elsewhere", None))

    def __delattr__(self, name: str) -> None:
        if not name.startswith("_") and (hasattr(type(self), name) or name in getattr(type(self), "_fields", ())):
            said = f"the attribute {name!r} of {kind_of(self)} cannot be deleted: it is always there."
            raise AttributeError(said, name=name, obj=self)
        object.__delattr__(self, name)


class Fields(Attributes):
    """A base of classes whose public attributes are those of `_fields`, or slots: a misspelt one cannot be set.

    A subclass that names none of its own may have any.

    Examples
    --------
    >>> class Point(Fields):
    ...     _fields = ("left", "right")
    >>> Point().lefft = 3
    Traceback (most recent call last):
    AttributeError: a Point has no attribute 'lefft' that could be set. Did you mean 'left'?
    """

    __slots__ = ()
    _fields: ClassVar[Collection[str]] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        fields = vars(type(self)).get("_fields")
        if fields is None or name in fields or name.startswith("_"):
            try:
                return object.__setattr__(self, name, value)
            except AttributeError:
                if getattr(getattr(type(self), name, None), "fset", None) is not None:  # a property's own words
                    raise
        raise not_set(self, name, getattr(type(self), "_elsewhere", None))
