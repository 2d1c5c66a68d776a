"""What stands for functions, methods, classes and modules in a trace whose code may write text, or make sets.

The text of a function has its address, and a set has its order by what its items are hashed by. A copy of a function has
another address than the function; so what stands for it there is called like it, refuses to be text, and is hashed as the
function is.
"""

import functools
import inspect
import types
from typing import Any, NoReturn

from ..errors import TracingError


def _refuse(what: str) -> NoReturn:
    raise TracingError(
        f"the text of {what} was asked for while it was traced, in which there is an address or a path. Write its __name__."
    )


class CopiedFunction:
    """Stands for a function: called, bound and asked for attributes like its copy, hashed like the original."""

    __slots__ = ("__weakref__", "_copy", "_original")

    def __init__(self, copy: Any, original: Any) -> None:
        object.__setattr__(self, "_copy", copy)
        object.__setattr__(self, "_original", original)

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
        return copy_in(self)(*args, **keywords)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else CopiedMethod(self, instance)

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__get__"):
            return object.__getattribute__(self, name)
        if name == "__call__":  # of a function it is an object whose text has the address
            return self
        found = copy_in(self)
        if name == "__signature__":
            return inspect.signature(found)
        return getattr(found, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(copy_in(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(copy_in(self), name)

    def __hash__(self) -> int:
        return hash(object.__getattribute__(self, "_original"))

    def __eq__(self, other: Any) -> bool:
        return self is other

    def __repr__(self) -> str:
        _refuse(f"the function {copy_in(self).__qualname__}")

    def __format__(self, spec: str) -> str:
        _refuse(f"the function {copy_in(self).__qualname__}")


copy_in: Any = CopiedFunction.__dict__["_copy"].__get__  # past __getattribute__


class CopiedMethod:
    """Stands for a bound method of an object or a class."""

    __slots__ = ("__weakref__", "_function", "_instance")

    def __init__(self, function: CopiedFunction, instance: Any) -> None:
        self._function, self._instance = function, instance

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
        return copy_in(self._function)(self._instance, *args, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name == "__signature__":
            return inspect.signature(types.MethodType(copy_in(self._function), self._instance))
        return getattr(self._function, name)

    def __eq__(self, other: Any) -> bool:
        return type(other) is CopiedMethod and (self._function, id(self._instance)) == (other._function, id(other._instance))

    def __hash__(self) -> int:
        raise TracingError(
            f"the method {self._function.__qualname__} was put in a set or made a key while it was traced, where it is "
            "hashed by an address. Use its name."
        )

    def __repr__(self) -> str:
        _refuse(f"the method {self._function.__qualname__}")


class CopiedProperty(property):
    """Stands for a property."""

    def __repr__(self) -> str:
        _refuse("a property")


class CopiedCachedProperty(functools.cached_property):  # type: ignore[type-arg]
    """Stands for a cached property."""

    def __repr__(self) -> str:
        _refuse("a cached property")


class CopiedModule(types.ModuleType):
    """Stands for a module."""

    def __repr__(self) -> str:
        _refuse(f"the module {self.__name__}")
