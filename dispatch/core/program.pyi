from collections.abc import Callable, Sequence
from typing import Any, Self, final

from .blockwise import Blockwise

def itself(x: Any, /) -> Any: ...
@final
class Slot:
    def __new__(cls, number: int) -> Self: ...
    @property
    def number(self) -> int: ...

@final
class Program:
    def __new__(
        cls,
        slots: int,
        inputs: tuple[tuple[Any, ...] | None, ...],
        constants: list[tuple[int, Any, bool]],
        calls: Sequence[tuple[Any, ...]],
        outputs: object,
        describe: Callable[[int], str],
        broken: Callable[[int, Any], Exception] | None = None,
    ) -> Self: ...
    def __call__(self, *values: Any) -> Any: ...
    workers: int
    @property
    def slots(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def given(self) -> int: ...
    @property
    def runs(self) -> list[tuple[int, Blockwise]]: ...
    @property
    def outputs(self) -> Any: ...
