from collections.abc import Callable
from typing import Any, final

from typing_extensions import disjoint_base

ITEM: int
CELL: int
DICT: int
ITEMS: int
TYPE: int
MRO: int
FUNCTION: int
READ: int
BYTES: int
ARRAY: int
FLOAT: int
OTHER: int
PLAIN: int
SAME: int
CONTAINER: int
CLASS: int

class Absent:
    name: str
    def __init__(self, name: str) -> None: ...

MISSING: Absent
EMPTY: Absent
SKIPPED: Absent

def is_same(now: object, was: object) -> bool: ...

@final
class Slots:
    def __new__(cls, inputs: list[tuple[int, Any]]) -> Slots: ...
    @property
    def count(self) -> int: ...

@final
class Arguments:
    def __new__(cls, parts: list[tuple[int, int, Any, Any, int]]) -> Arguments: ...
    @property
    def containers(self) -> list[Any]: ...

@final
class Conditions:
    def __new__(
        cls,
        inputs: list[tuple[int, Any]],
        names: tuple[str, ...],
        parts: list[tuple[int, int, Any, Any, int]],
        guards: list[Any],
        numbers: dict[int, int],
        loose: bool = False,
        exact: bool = False,
    ) -> Conditions: ...
    @property
    def places(self) -> list[str]: ...
    def inputs(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...] | None: ...

@disjoint_base
class Ready:
    conditions: Conditions
    run: Callable[..., Any] | None
    hits: int
    written: tuple[int, ...]
    repeatable: bool
    doubted: bool
    beside: tuple[Any, ...]

@disjoint_base
class Caller:
    entries: list[Any]
    is_simple: bool
    def __call__(self, *args: Any, **keywords: Any) -> Any: ...

def can_write(written: tuple[int, ...], values: tuple[Any, ...]) -> bool: ...
def watched_by_mode() -> bool: ...
