"""FunctionalTensor: a wrapper that can be written to, though the wrapped value never is."""

from typing import Any

from ...core import DispatchKey, Tensor
from ...core.array_memory import set_rewritable


class FunctionalTensor(Tensor):
    """A wrapper that can be written to: a write replaces the wrapped value by a new one."""

    __slots__ = ("family",)  # unset on most: no view was taken
    key = DispatchKey.FUNCTIONALIZE

    family: Any  # what those that share memory have in common; see operators/views.py

    @property
    def strides(self) -> tuple[int, ...]:
        found: tuple[int, ...] = self.value.strides
        return found

    def item(self) -> Any:
        return self.value.item()

    def tolist(self) -> Any:
        return self.value.tolist()

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return self.value.__index__()  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return float(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __repr__(self) -> str:
        return f"FunctionalTensor({self.value!r})"


set_rewritable(FunctionalTensor, frozen=True)
