"""Opaque types: Python classes that a schema knows by name only."""

import sys
import weakref
from enum import Enum
from functools import partial
from typing import TypeVar

import numpy as np

from ..core import Tensor
from ..core.wrong_calls import clear
from ..errors import DefinitionError, SchemaError, class_of, kind_of
from .types import GENERATOR, ClassType

C = TypeVar("C", bound=type)
_opaque: "weakref.WeakKeyDictionary[type, ClassType]" = weakref.WeakKeyDictionary()


@partial(clear, short=True)
def register_opaque_type(cls: C, /) -> C:
    """Let operators take instances of a class. They are passed through as they are: no layer looks into them.

    Parameters
    ----------
    cls : type
        A class at the top level of its module. An enumeration needs no registration, nor does `np.random.Generator`.

    Returns
    -------
    type
        The class, so that this is a decorator too.

    Raises
    ------
    DefinitionError
        If it is no class, is defined inside a function, or has a schema type already.

    Examples
    --------
    >>> register_opaque_type(np.random.RandomState)
    <class 'numpy.random.mtrand.RandomState'>
    """
    given: object = cls
    if not isinstance(given, type):
        raise DefinitionError(f"an opaque type is a class, and {kind_of(given)} was given.{class_of(given)}")
    if cls.__module__ == "builtins" or issubclass(cls, (np.ndarray, np.generic, Tensor)):
        raise DefinitionError(f"{cls.__name__} cannot be an opaque type: it has a schema type already. Hint it as it is.")
    try:
        _opaque[cls] = ClassType(f"{cls.__module__}.{cls.__qualname__}")
    except SchemaError as error:
        raise DefinitionError(str(error)) from None
    return cls


def find_class(kind: ClassType) -> type:
    """Return the class that a schema names, from the registered ones and the imported modules."""
    if kind.cls is not None:
        return kind.cls
    if kind == GENERATOR:
        return np.random.Generator  # which NumPy imports when it is first asked for
    for cls, name in list(_opaque.items()):
        if name == kind:
            return cls
    words = kind.qualname.split(".")
    for i in range(len(words) - 1, 0, -1):
        if (module := sys.modules.get(".".join(words[:i]))) is not None:
            found: object = module
            for word in words[i:]:
                found = getattr(found, word, None)
            if isinstance(found, type):
                return found
    raise SchemaError(f"the class {kind.qualname} is not known. Import its module, or register_opaque_type it.")


def opaque_type(cls: type) -> ClassType | None:
    """Return the schema type of a class that is registered, of an enumeration, or of NumPy's Generator."""
    if cls in _opaque:
        return _opaque[cls]
    name = f"{cls.__module__}.{cls.__qualname__}"
    return ClassType(name) if issubclass(cls, Enum) or name == GENERATOR.qualname else None
