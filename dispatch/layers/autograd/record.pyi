from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

from ...core import Level, OpOverload, Tensor

@disjoint_base
class Record:
    op: OpOverload
    level: Level
    inputs: tuple[Any, ...]
    edges: tuple[Any, ...]
    rule: Callable[[Any, Any, bool], Any]
    saved: Any
    layout: Any
    order: int
    def let_go(self, rule: Callable[[Any, Any, bool], Any]) -> None: ...

@disjoint_base
class End:
    layout: Any
    grad: Any
    hooks: Any
    def __init__(self, layout: Any) -> None: ...

def next_order() -> int: ...
def show(objects: tuple[object, ...]) -> None: ...
def recorded(
    cls: type[Record],
    wrapper: type[Tensor],
    op: OpOverload,
    rule: Callable[[Any, Any, bool], Any],
    out: Any,
    like: Tensor,
    inputs: tuple[Any, ...],
    edges: tuple[Any, ...] | None,
    saved: Any,
) -> Any: ...
