from collections.abc import Callable
from typing import Any, final

@final
class Slot:
    def __init__(self, number: int) -> None: ...
    @property
    def number(self) -> int: ...

@final
class Program:
    def __init__(
        self,
        slots: int,
        inputs: tuple[tuple[Any, ...] | None, ...],
        constants: list[tuple[int, Any, bool]],
        calls: list[tuple[Any, ...]],
        outputs: object,
        describe: Callable[[int], str],
    ) -> None: ...
    def __call__(self, *values: Any) -> Any: ...
    @property
    def slots(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def given(self) -> int: ...
    @property
    def outputs(self) -> Any: ...
