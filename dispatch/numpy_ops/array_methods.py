"""ndarray's methods and attributes that are no rows: layouts, sorting in place, and refusals of what would leak the data.

`strides` and `flags` are those of the array below all wrappers, of one item of a batch. What would read or write the memory without a
layer's knowledge is refused: `tobytes` and its kin with the wrapper's own error for np.asarray, others by name.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Tensor
from ..errors import UnsupportedError, did_you_mean
from ..operators.views import is_number, is_writeable
from . import flags, indexing
from .array_attributes import ATTRIBUTES
from .assignment import setitem
from .composite_layouts import item_layout
from .numpy_functions import FUNCTIONS

BYTES = "which no derivative follows, nor a shape rule"
LINES = {  # what to write instead of a method that reads bytes as something else, or changes what others may hold
    "byteswap": "x.astype(x.dtype.newbyteorder()) is the same numbers in the other byte order",
    "getfield": "x.astype(dtype) is the numbers in another dtype; x.real and x.imag are the parts of complex ones",
    "setfield": "x[...] = value writes numbers; x.real = value and x.imag = value the parts of complex ones",
    "view": "x.astype(dtype) is the numbers in another dtype; x.real and x.imag are the parts of complex ones",
}


MEMORYS = ("owndata", "writebackifcopy", "num", "behaved", "carray", "farray")


class Flags:
    """`x.flags`: how the array below a wrapper lies in memory. They are read only."""

    __slots__ = ("_flags", "writeable")
    _flags: Any
    writeable: bool

    def __init__(self, of: Tensor) -> None:
        object.__setattr__(self, "_flags", flags.lying(of).flags)
        object.__setattr__(self, "writeable", is_writeable(of))

    def __getattr__(self, name: str) -> Any:
        if name in MEMORYS:
            raise AttributeError(f"x.flags.{name} says who holds memory, which is no property of a value that a layer follows.")
        if not hasattr(self._flags, name):
            raise AttributeError(f"x.flags has no attribute {name!r}.{did_you_mean(name, dir(self._flags))}", name=name, obj=self)
        return getattr(self._flags, name)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, {"C": "c_contiguous", "F": "f_contiguous", "W": "writeable", "A": "aligned"}.get(name, name.lower()))

    def __setattr__(self, name: str, value: Any) -> None:
        raise UnsupportedError(
            f"x.flags.{name} cannot be set on a value that a layer follows. To keep it from writes write y = dispatch.detach(x), which is "
            "read-only; to write to it, x = x.copy()."
        )

    def __setitem__(self, name: str, value: Any) -> None:
        self.__setattr__(name.lower(), value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"x.flags.{name} cannot be deleted: it says how the array below lies in memory.")

    def __repr__(self) -> str:
        return f"<flags: C_CONTIGUOUS {self.c_contiguous}, F_CONTIGUOUS {self.f_contiguous}, WRITEABLE {self.writeable}>"


def _strides(self: Tensor) -> tuple[int, ...]:
    """The steps between elements along each axis, in bytes: of the array below all wrappers, of one item of a batch."""
    found: tuple[int, ...] = item_layout(self).strides
    return found


def _base(self: Tensor) -> Any:
    raise AttributeError(
        f"a {type(self).__name__} has no base: a layer makes its views again when one is written to, and whether one is a view is no "
        "property of it. Write x.copy() where a value of its own is meant."
    )


def _setflags(self: Tensor, write: Any = None, align: Any = None, uic: Any = None) -> None:
    """Refuse to change flags; what asks for what they are is nothing."""
    found = Flags(self)
    for name, value in (("writeable", write), ("aligned", align), ("writebackifcopy", uic)):
        if value is not None and bool(value) != getattr(found, name):
            setattr(found, name, value)


def _view(self: Tensor, *args: Any, **keywords: Any) -> Any:
    """Return a view of all elements; of a number a number."""
    given = dict(zip(("dtype", "type"), args, strict=False)) | keywords
    dtype = given.pop("dtype", None)
    if isinstance(dtype, type) and issubclass(dtype, np.ndarray):
        given, dtype = {"type": dtype, **given}, None
    shape = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
    if shape and all([type(n) is int for n in shape]):  # as torch's view has it
        sizes = ", ".join(map(str, shape))
        raise UnsupportedError(f"x.view takes a dtype, and was given the shape ({sizes}). Write x.reshape({sizes}).")
    if given.pop("type", np.ndarray) is not np.ndarray or given or len(args) > 2 or not _is_dtype(dtype, self.dtype):
        raise _of_bytes("view", ", ".join(map(repr, args)))
    found = indexing.getitem(self, Ellipsis)
    return found if self.shape or not is_number(self) else indexing.as_number(found)


def _is_dtype(asked: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is the one of an array, of the same C type too: `long` and `long long` are equal."""
    return asked is None or (np.dtype(asked) == dtype and np.dtype(asked).char == dtype.char)


def _of_bytes(name: str, given: str = "...") -> UnsupportedError:
    return UnsupportedError(f"x.{name}({given}) reads the bytes of the elements as something else, {BYTES}: {LINES[name]}.")


def _reading_bytes(name: str) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **keywords: Any) -> Any:
        raise _of_bytes(name)

    return method


def _taking_data(name: str) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **keywords: Any) -> Any:
        return getattr(np.asarray(self), name)(*args, **keywords)  # np.asarray is refused, in the words of the wrapper

    return method


def _resize(self: Tensor, *shape: Any, refcheck: bool = True) -> None:
    """Refuse to change the size in place."""
    raise UnsupportedError(
        "x.resize(...) changes the size of an array in place, and what a layer holds of x has the old one. Write x = np.resize(x, shape), "
        "which repeats the elements; x.resize fills with zeros: np.concatenate([np.ravel(x), np.zeros(n)]).reshape(shape)."
    )


def _partition(self: Tensor, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    """Put the elements in place as `np.partition` does."""
    _check_order(order)
    setitem(self, Ellipsis, FUNCTIONS[np.partition](self, kth, axis, kind))


def _argpartition(self: Tensor, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """Return `np.argpartition(x, kth)`."""
    _check_order(order)
    return FUNCTIONS[np.argpartition](self, kth, axis, kind)


def _check_order(order: Any) -> None:
    if order is not None:
        np.zeros(1).partition(0, order=order)  # raises NumPy's own error


def _choose(self: Tensor, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Return `np.choose(x, choices)`."""
    return FUNCTIONS[np.choose](self, choices, out, mode)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Any:
    """Return `x.copy()`, as `copy.deepcopy` of an array is."""
    return self.copy()


METHODS: dict[str, Any] = {
    **ATTRIBUTES,
    "__copy__": lambda self: self.copy(),
    "__deepcopy__": _deepcopy,
    "strides": property(_strides),
    "flags": property(Flags),
    "base": property(_base),
    "setflags": _setflags,
    "view": _view,
    "resize": _resize,
    "partition": _partition,
    "argpartition": _argpartition,
    "choose": _choose,
    **{name: _reading_bytes(name) for name in ("byteswap", "getfield", "setfield")},
    **{name: _taking_data(name) for name in ("tobytes", "tofile", "dump", "dumps")},
}
