"""Records: dataclasses and named tuples with arrays among their fields, found from the hints of the fields.

A class without arrays, such as a configuration, is no record: it is one value, known by its name.
"""

import inspect
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Tensor
from ..core.pytree import field_names, is_dataclass, register_record
from ..errors import SchemaError
from .dtype_hints import unaliased
from .types import ClassType, Field


def is_record(cls: type) -> bool:
    """Whether a class may be a record: a dataclass, or a named tuple whose fields have hints."""
    if is_dataclass(cls):
        return not issubclass(cls, (list, tuple, dict))
    return field_names(cls) is not None and bool(inspect.get_annotations(cls))


def record_of(cls: type, read: Callable[[type, str, object], Field]) -> ClassType:
    """Return the type of a class that may be a record; with its fields if one of them holds arrays.

    `read(cls, name, hint)` returns a field, and raises where arrays are that nothing could reach. Instances of a class with
    arrays are containers from then on.
    """
    name = f"{cls.__module__}.{cls.__qualname__}"
    ClassType(name)  # a class inside a function is refused before its fields are read
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception as error:
        raise SchemaError(
            f"The hints of {name} raised {type(error).__name__}: {error}. Import what they name at the top of its module, "
            "outside `if TYPE_CHECKING`."
        ) from error
    fields = tuple(read(cls, word, hints[word]) for word in field_names(cls) or ())
    if not any(field.type.has_tensor for field in fields):
        return ClassType(name, cls)
    new: Any = cls.__new__
    if is_dataclass(cls) and new is not object.__new__:
        raise SchemaError(f"{name} holds arrays and has a __new__ of its own, so none can be made of other arrays.")
    register_record(cls)
    return ClassType(name, cls, fields)


def mentions_arrays(hint: object, seen: frozenset[object] = frozenset()) -> bool:
    """Whether an array class or a type variable occurs in a hint or in the fields of a record that it names."""
    hint = unaliased(hint)
    root = typing.get_origin(hint) or hint
    if isinstance(root, typing.TypeVar) or (isinstance(root, type) and issubclass(root, (np.ndarray, Tensor))):
        return True
    inside = list(typing.get_args(hint))
    if isinstance(root, type) and root not in seen and is_record(root):
        seen |= {root}
        inside += typing.get_type_hints(root).values()
    return any(mentions_arrays(part, seen) for part in inside)
