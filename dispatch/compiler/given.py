"""The arguments of a call: which of them are inputs of the graph, and what the others must be in later calls."""

import enum
import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Tensor, device_of
from ..core.pytree import form_of, items_of, opened, rebuilt, steps
from ..dispatcher.conversion_advice import line_for_others
from ..errors import kind_of
from .conditions import ARRAY, CLASS, CONTAINER, FLOAT, OTHER, PLAIN, SAME
from .copies import is_array
from .reached import instance_dict
from .trusted import answers_itself, is_listed_class, is_plain

Part = tuple[int, int, Any, Any, int]


OWN = "a class with operations of its own, which a graph would leave out. Pass np.asarray(x)"


class Given:
    """The arguments of a call, taken apart.

    Attributes
    ----------
    parts : list
        What `conditions.Arguments` compares.
    values, paths : list
        The inputs, arrays and floats, and how they are called.
    roots, classes : list
        What is neither array nor plain value, and the classes of records: what of it the function can reach has to be found.
    texts : list of str
        The texts.
    wrapped : bool
        Whether a value of a transform is among them.

    With `exact` a plain value has to be the same object in later calls.
    """

    def __init__(
        self,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        names: dict[str, Any],
        static: frozenset[str] = frozenset(),
        floats: bool = True,
        exact: bool = False,
    ) -> None:
        self.parts: list[Part] = [(CONTAINER, len(args), tuple, None, 0)]
        self.values: list[Any] = []
        self.paths: list[str] = []
        self.roots: list[Any] = []
        self.classes: list[type] = []
        self.texts: list[str] = []
        self.wrapped = False
        self.refused = ""
        self._floats, self._exact = floats, exact
        self._seen: set[int] = set()
        self._slots: dict[int, int] = {}
        for (name, x), _ in zip(names.items(), (*args, *keywords.values()), strict=True):
            self._add(x, name, name in static)

    def _add(self, x: Any, path: str, static: bool) -> None:
        cls = type(x)
        if method := answers_itself(cls):
            self.refused = self.refused or f"the argument {path} is of a class that has {method}"
            self.parts.append((SAME, 0, x, None, 0))
        elif cls is np.ndarray and not static:
            if x.dtype.hasobject:
                self._refuse(f"the argument {path} is an array of Python objects", cls)
            else:
                self.roots += [] if x.dtype.names is None else [x.dtype]  # whose names can be changed
                self._slot(x, path)
        elif cls is float and self._floats and not static and not math.isnan(x):
            self._slot(x, path)
        elif isinstance(x, Tensor):
            self.wrapped = True
            self._slot(x, path)
        elif (
            isinstance(x, np.ndarray)
            or (isinstance(x, np.generic) and not is_listed_class(cls))
            or (device_of(x) is not None and not hasattr(x, "dtype"))
        ):
            why = (
                "an array, and static: what it holds would not be compared"
                if cls is np.ndarray
                else (f"{cls.__name__}, a class with operations of its own, which a graph would leave out. Pass np.asarray(x)")
            )
            self._refuse(f"an argument is {why}", cls)
        elif (device_of(x) is not None and not is_plain(x)) or (isinstance(x, np.generic) and not static and not self._exact):
            self._slot(x, path)
        elif is_plain(x) or (cls is tuple and all(map(is_plain, x)) and not any(type(item) is float for item in x)):
            one = self._exact or (cls is float and math.isnan(x))  # `nan in values` asks which nan it is
            self.parts.append((SAME if one else PLAIN, 0, x, None, 0))
            self.texts += [x] if cls is str else []
        elif line := line_for_others(x, path):
            self._refuse(f"the argument {path} is {kind_of(x)}, and a graph has NumPy's arrays as inputs. Write {line}", cls)
        elif has_operations(x):
            self._refuse(f"an argument is {cls.__name__}, {OWN}", cls)
        elif (items := opened(x, is_array)) is not None:
            self._container(x, items, path, static)
        else:
            self.roots.append(x)
            self.parts.append((SAME, 0, x, None, 0))

    def _container(self, x: Any, items: Any, path: str, static: bool) -> None:
        cls, d = type(x), instance_dict(x)
        if isinstance(x, tuple) and cls is not tuple and len(getattr(cls, "_fields", "")) != (len(items) or -1):
            self._refuse(f"an argument is {cls.__name__}, {OWN}", cls)
            return
        if cls is not tuple:  # nobody changes one, nor asks whether two are one
            if items and id(x) in self._seen:
                self.refused = self.refused or f"the container {path} is given twice"
            self._seen.add(id(x))
        keys: Any = tuple(x) if cls is dict else None if d is None else ()
        for key in x if cls is dict else ():
            if isinstance(key, (enum.Enum, type)):
                self.roots.append(key)
            elif not is_plain(key) and not (type(key) is tuple and all(map(is_plain, key))):
                self.refused = self.refused or f"the argument {path} is a dict with {kind_of(key)} for a key"
        if cls not in (list, tuple, dict):
            self.classes.append(cls)
            if d is not None and len(d) > (0 if isinstance(x, tuple) else len(items)):
                self.refused = self.refused or f"the argument {path}, a {cls.__name__}, has attributes beside its fields"
        self.parts.append((CONTAINER, len(items), cls, keys, 0 if d is None or cls is dict else len(d)))
        for item, step in zip(items, steps(x), strict=True):
            self._add(item, path + step, static)

    def _slot(self, x: Any, path: str) -> None:
        slot = self._slots.setdefault(id(x), len(self.values))
        if slot == len(self.values):
            self.values.append(x)
            self.paths.append(path)
        self.parts.append((ARRAY, slot, None, None, 0))

    def _refuse(self, why: str, cls: type) -> None:
        self.refused = self.refused or why
        self.parts.append((CLASS, 0, cls, None, 0))

    @property
    def containers(self) -> set[int]:
        """The ids of the containers."""
        return self._seen


def slot_of(x: Any, fixed: bool = False, layout: Callable[[Any], Any] | None = None) -> tuple[int, Any]:
    """Return what may be bound to an input: an array of a layout, any float or one, or another value like this one."""
    if type(x) is float:
        return FLOAT, x if fixed else None
    if type(x) is np.ndarray:
        if layout is None:
            return ARRAY, x
        wanted = layout(x)
        return OTHER, lambda y: type(y) is np.ndarray and layout(y) == wanted
    if isinstance(x, Tensor):
        dtype, shape = x.dtype, tuple(x.shape)
        return OTHER, lambda y: isinstance(y, Tensor) and y.dtype == dtype and tuple(y.shape) == shape
    cls, what = type(x), (getattr(x, "dtype", None), getattr(x, "shape", None), getattr(x, "strides", None))
    return (
        OTHER,
        lambda y: (
            type(y) is cls and (getattr(y, "dtype", None), getattr(y, "shape", None), getattr(y, "strides", None)) == what
        ),
    )


def has_operations(x: Any) -> bool:
    """Whether to open a container may run code of yours: its class is derived from one of Python's, or registered."""
    cls = type(x)
    if issubclass(cls, tuple):
        return cls is not tuple and not hasattr(cls, "_fields")
    return form_of(x) is not None or (issubclass(cls, (list, dict)) and cls not in (list, dict))


def with_own_floats(x: Any) -> Any:
    """Return arguments in which no two floats are one object, so that each can be told from the others."""
    items = None if has_operations(x) else items_of(x)
    if items is not None:
        return rebuilt(x, [with_own_floats(item) for item in items])
    return x * 1.0 if type(x) is float and not math.isnan(x) else x


def argument_names(f: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the names of their parameters."""
    names: list[str] = []
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for p in parameters:
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
        elif p.kind is p.VAR_POSITIONAL:
            names += [f"{p.name}{i}" for i in range(len(args) - len(names))]
    taken = [names[i] if i < len(names) else f"x{i}" for i in range(len(args))]
    named: dict[str, Any] = {}
    for name, x in zip((*taken, *keywords), (*args, *keywords.values()), strict=True):
        while name in named:  # a keyword that is called like a parameter without one: `f(1, x=2)` of `def f(x, /, **more)`
            name += "_"
        named[name] = x
    return named


def placeholders(paths: list[str]) -> list[str]:
    """Return names for the inputs, of how they are called: `self.weights[0]` is `self_weights_0`; each is another one.

    Examples
    --------
    >>> placeholders(["x", "self.w[0]", "x"])
    ['x', 'self_w_0', 'x_1']
    """
    found: dict[str, None] = {}
    for path in paths:
        name = first = re.sub(r"\W+", "_", path).strip("_") or "x"
        number = 0
        while name in found:
            number += 1
            name = f"{first}_{number}"
        found[name] = None
    return list(found)

