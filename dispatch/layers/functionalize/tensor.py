"""FunctionalTensor: a wrapper that can be written to, though the wrapped value never is."""

from operator import index
from typing import Any

from ...core import DispatchKey, Tensor
from ...core.array_memory import set_rewritable
from ...errors import TracingError


class FunctionalTensor(Tensor):
    """A value inside `functionalize`. A write to it replaces the wrapped value by a new one, and changes no array.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> def f(x):
    ...     x += 1
    ...     print(type(x).__name__)
    ...     return x
    >>> _ = dispatch.functionalize(f)(np.ones(2))
    FunctionalTensor
    """

    __slots__ = ()
    key = DispatchKey.FUNCTIONALIZE

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps between elements along each axis, in bytes."""
        found: tuple[int, ...] = self.value.strides
        return found

    def item(self, *place: Any) -> Any:
        """Return the one element, or the one at a place, as a Python number."""
        return self.value.item(*place)

    def tolist(self) -> Any:
        """Return the elements as a nested list of Python numbers."""
        return self.value.tolist()

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return index(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)

    def __format__(self, spec: str) -> str:
        TracingError("the text of a functional value was asked for, which is not that of an array.")
        return format(self.value, spec)

    def __hash__(self) -> int:
        TracingError("the hash of a functional value was asked for, and arrays have none.")  # for whoever listens
        return object.__hash__(self)

    def __repr__(self) -> str:
        TracingError("the text of a functional value was asked for, which is not that of an array.")
        return f"FunctionalTensor({self.value!r})"


set_rewritable(FunctionalTensor, frozen=True)
