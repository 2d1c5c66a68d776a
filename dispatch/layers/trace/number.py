"""TracedNumber: a Python float that is an input of a graph, and says whether anything but operators has read it."""

import operator
from typing import Any

import numpy as np

from ...core import Tensor
from ...core.pytree import mapped

KEPT = frozenset(
    "__new__ __init__ __getattribute__ __setattr__ __delattr__ __class__ __doc__ __init_subclass__ __subclasshook__ __dir__ "
    "__getformat__ __setformat__ __sizeof__ fromhex from_number".split()
)


OPERATORS: dict[str, Any] = {"__divmod__": divmod} | {
    f"__{name}__": getattr(operator, f"__{name}__")
    for name in "add sub mul truediv floordiv mod pow lt le gt ge eq ne".split()
}


class TracedNumber(float):
    """A Python float that stands for an input of a graph.

    As an argument of an operator that takes an array it is that input. Whatever else is done with it, an `if` or arithmetic
    with another number, is done with its value, which the graph then holds: `used` says so. Only code in C that asks no method
    reads it unseen, as `math.sin` does; who makes such a number rules that out.

    Examples
    --------
    >>> rate = TracedNumber(0.5)
    >>> rate.used, rate * 2.0, rate.used
    (False, 1.0, True)
    """

    __slots__ = ("used",)
    used: bool

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy takes a subclass of float for an array, and gives float64 where a float leaves float32 what it is."""
        if any(isinstance(x, Tensor) for x in inputs):
            return NotImplemented
        return getattr(ufunc, method)(*mapped(plain, inputs), **mapped(plain, options))

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        if any(issubclass(cls, Tensor) for cls in types):
            return NotImplemented
        return function(*mapped(plain, args), **mapped(plain, keywords))

    def __copy__(self) -> "TracedNumber":  # a float is its own copy
        return self

    def __deepcopy__(self, memo: Any) -> "TracedNumber":
        return self

    def __new__(cls, value: float) -> "TracedNumber":
        made = float.__new__(cls, value)
        made.used = False
        return made


def plain(x: Any) -> Any:
    """Return the float itself of such a number, which is used then; any other value as it is."""
    if type(x) is not TracedNumber:
        return x
    x.used = True
    return float.__add__(x, -0.0)


def _reading(name: str, method: Any) -> Any:
    beside: Any = OPERATORS.get(name)

    def reading(self: TracedNumber, *args: Any) -> Any:
        if beside is not None and args and isinstance(args[0], np.float64):  # a float too, and asked before a float is
            return beside(plain(self), *args)
        found = method(self, *args)
        if found is not NotImplemented or isinstance(args[0], (complex, np.generic)):  # else the other is asked, an array say
            self.used = True
            for x in args:  # the other number is read in C, and asked nothing
                if type(x) is TracedNumber:
                    x.used = True
        return found

    reading.__name__ = name
    return reading


for _name in dir(float):
    if _name not in KEPT:
        _found = getattr(float, _name)
        if callable(_found):
            setattr(TracedNumber, _name, _reading(_name, _found))
        else:
            setattr(TracedNumber, _name, property(_reading(_name, _found.__get__)))


def _is_seen() -> bool:
    """Return whether NumPy's own numbers ask such a number before they compute with it; 2.0's read it in C, unseen."""
    number = TracedNumber(0.5)
    np.float64(1.0) * number
    return number.used


SEEN_BY_NUMPY = _is_seen()
