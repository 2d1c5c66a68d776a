"""Dicts and lists of a class of their own, made again with other items: an `OrderedDict`, one whose keys are attributes too."""

from copy import copy
from typing import Any


def made_like(x: Any, items: list[Any]) -> Any:
    """Return a dict or list of the class of `x`, with its attributes and other items; a plain one where it cannot be copied.

    Examples
    --------
    >>> from collections import OrderedDict
    >>> made = made_like(OrderedDict(a=1, b=2), ["x", "y"])
    >>> type(made).__name__, dict(made)
    ('OrderedDict', {'a': 'x', 'b': 'y'})
    """
    pairs = dict(zip(x, items, strict=True)) if isinstance(x, dict) else dict(enumerate(items))
    try:
        made = copy(x)
        for key, item in pairs.items():
            made[key] = item
        if type(made) is type(x) and len(made) == len(items):
            return made
    except Exception:  # a class that makes more of its items, or is not made without arguments of its own
        pass
    return pairs if isinstance(x, dict) else items
