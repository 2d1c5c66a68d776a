from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

from ...core import OpOverload
from .rule_context import FakeContext
from .rule_outputs import Results

@disjoint_base
class Running:
    def __init__(
        self,
        op: OpOverload,
        rule: Callable[..., Any],
        context: FakeContext,
        results: Results,
        noted: Callable[[Any, tuple[Any, ...]], Any],
        taking: tuple[int, ...],
        devices: list[int],
        written: tuple[int, ...],
        single: bool,
    ) -> None: ...
    def __call__(self, *args: Any) -> Any: ...

@disjoint_base
class Remembering:
    def __init__(self, kernel: Callable[..., Any]) -> None: ...
    def __call__(self, *args: Any) -> Any: ...
