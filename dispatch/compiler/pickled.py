"""Finds a pickled compiled function by its name, as pickle finds a function; the graphs of its entries come along.

A decorated function is found by the name that the function has, which is its own: the object that its module made is given what
the pickle has, and is the result. It is imported as pickle does it, for pickle itself would compare the function with it.
"""

import sys
from importlib import import_module
from pickle import PicklingError
from typing import Any

from ..errors import kind_of


def found_by_name(module: str, name: str) -> Any:
    """Return what a module has by a qualified name; None where there is nothing.

    Examples
    --------
    >>> found_by_name("collections", "OrderedDict.fromkeys")
    <built-in method fromkeys of type object at 0x...>
    """
    found: Any = sys.modules.get(module)
    for word in name.split("."):
        found = getattr(found, word, None)
    return found


def found_again(module: str, name: str, brought: dict[str, list[str]]) -> Any:
    """Return the compiled function that a module has by a name, and give it the entries of a pickle."""
    import_module(module)
    found = found_by_name(module, name)
    if not hasattr(found, "entries"):
        raise PicklingError(f"{module}.{name} was pickled as a compiled function, and is {kind_of(found)} here.")
    found.bring(brought)
    return found
