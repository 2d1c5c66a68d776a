"""Finds the globals, closure variables and attributes that a function refers to, so that a change of one makes a new trace.

It reads code objects and runs nothing. It looks up the names that the function uses in its module and in its cells, and goes on
with the functions behind those names, with the items of lists, tuples and dicts, and with the attributes of objects and modules
that one of the functions names. It does not look into libraries: replacing a function of NumPy needs a new `compile`.
"""

import os
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..core import OpOverload, Tensor
from ..core.pytree import form_of
from ..dispatcher.conversion_advice import line_for
from ..errors import TracingError, kind_of
from .cache_key import LENGTH

Watched = tuple[Any, Any, Any]
_PACKAGE = __name__.partition(".")[0]
_LIBRARIES = (os.path.dirname(os.__file__) + os.sep, os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)


_CODE = (types.FunctionType, property, staticmethod, classmethod)


class Attributes:
    """Looks up attributes of an object that are in no dict of its own: slots, and attributes of its class."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self.of, name)
        except AttributeError:
            raise KeyError(name) from None


class Elements:
    """Looks up the elements of a mask, for they say how many elements an index selects, and shapes in a graph are numbers."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __getitem__(self, name: str) -> bytes:
        found: bytes = self.of.tobytes()
        return found


class Captured:
    """The values that a function refers to, as they are now; raises if a wrapper is among them.

    `watched` has where each value is found, and the value; `cache_key.changed` compares them. `generators` has NumPy's
    generators.
    """

    def __init__(self, f: Callable[..., Any], *others: Any) -> None:
        self.watched: list[Watched] = []
        self.generators: list[Any] = []
        self._names: set[str] = set()
        self._seen: dict[int, Any] = {}
        self._objects: list[tuple[Any, dict[str, Any]]] = []
        self._noted: set[tuple[int, Any]] = set()
        for x in (f, *others):
            self._open(x)
        count = -1
        while count != len(self.watched):  # a function found by an attribute may name further attributes
            count = len(self.watched)
            for x, attributes in list(self._objects):
                self._open_attributes(x, attributes)

    def bytes(self) -> list[int]:
        """Return a hash of the data of each array."""
        return [hash(x.tobytes()) for _, _, x in self.watched if isinstance(x, np.ndarray)]

    def names(self) -> Iterator[str]:
        """Yield a name for each value, for messages."""
        for holder, name, _ in self.watched:
            if name is None:
                yield "a variable of an enclosing function"
            else:
                yield f"the length of a {type(holder).__name__}" if name is LENGTH else str(name)

    def _watch(self, holder: Any, name: Any, value: Any) -> None:
        if (id(holder), name) not in self._noted:
            self._noted.add((id(holder), name))
            self.watched.append((holder, name, value))
            self._open(value)

    def _open(self, x: Any) -> None:
        """Add the values inside a value."""
        if isinstance(x, Tensor):
            raise TracingError(
                f"it refers to a {type(x).__name__} of {x.level!r}, and a graph outlives that. Pass it as an argument."
            )
        if id(x) in self._seen or isinstance(x, (np.ndarray, np.generic, np.ufunc, OpOverload)):
            return
        line = "x.data" if form_of(x) is not None else line_for(x)
        if line is not None:
            raise TracingError(
                f"it refers to {kind_of(x)}, which may change where nobody sees it. Let it refer to the array, {line}, or pass "
                "that."
            )
        self._seen[id(x)] = x
        if isinstance(x, types.FunctionType):
            self._open_function(x)
        elif isinstance(x, types.MethodType):
            self._open(x.__func__)
            self._open(x.__self__)
        elif isinstance(x, partial):
            for part in (x.func, *x.args, *x.keywords.values()):
                self._open(part)
        elif isinstance(x, (list, dict)):
            self._watch(x, LENGTH, len(x))
            for name, value in x.items() if isinstance(x, dict) else enumerate(x):
                self._watch(x, name, value)
        elif isinstance(x, tuple):
            for item in x:
                self._open(item)
        elif isinstance(x, np.random.Generator | np.random.RandomState):
            self.generators.append(x)
        else:
            self._open_object(x)

    def _open_object(self, x: Any) -> None:
        """Keep an object with attributes until all names are known."""
        if isinstance(x, types.ModuleType):
            if not _is_library(x.__name__, getattr(x, "__file__", None) or ""):
                self._objects.append((x, vars(x)))
        elif isinstance(x, type):
            if not _is_library(x.__module__, ""):
                self._objects.append((x, {}))
        elif not _is_library(type(x).__module__, ""):
            attributes = getattr(x, "__dict__", None)
            self._objects.append((x, attributes if isinstance(attributes, dict) else {}))

    def _open_function(self, f: types.FunctionType) -> None:
        if _is_library(str(f.__globals__.get("__name__", "")), f.__code__.co_filename):
            for cell in f.__closure__ or ():  # a decorator of a library's around a function of the user's
                if cell != types.CellType() and callable(cell.cell_contents):
                    self._open(cell.cell_contents)
            return
        names = set(_names(f.__code__))
        self._names |= names
        for name in sorted(names & f.__globals__.keys()):
            self._watch(f.__globals__, name, f.__globals__[name])
        for cell in f.__closure__ or ():
            if cell != types.CellType():
                self._watch(cell, None, cell.cell_contents)
        for default in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            self._open(default)

    def _open_attributes(self, x: Any, attributes: dict[str, Any]) -> None:
        for name in sorted(self._names & attributes.keys()):
            self._watch(attributes, name, attributes[name])
        if isinstance(x, types.ModuleType):
            return
        inherited = False
        for cls in (x if isinstance(x, type) else type(x)).__mro__:
            if _is_library(cls.__module__, ""):
                continue
            for name in sorted(self._names & vars(cls).keys() | {"__call__"} & vars(cls).keys()):
                found = vars(cls)[name]
                if isinstance(found, _CODE):
                    self._open(found.fget if isinstance(found, property) else getattr(found, "__func__", found))
                elif name not in attributes and hasattr(x, name):
                    inherited = True
                    self._watch_attribute(x, name)
        if inherited and not isinstance(x, type) and hasattr(x, "__dict__"):  # an attribute of its own would hide the class's
            self._watch(attributes, LENGTH, len(attributes))

    def _watch_attribute(self, x: Any, name: str) -> None:
        if (id(x), name) not in self._noted:
            self._noted.add((id(x), name))
            self.watched.append((Attributes(x), name, getattr(x, name)))
            self._open(getattr(x, name))


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _is_library(module: str, file: str) -> bool:
    """Whether a module belongs to a library, to Python or to this package."""
    top = module.partition(".")[0]
    known = top in {"numpy", _PACKAGE} or top in sys.stdlib_module_names
    return known or any(part in file for part in _LIBRARIES)
