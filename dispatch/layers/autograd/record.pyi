from collections.abc import Callable, Sequence
from typing import Any

from ...core import Level, OpOverload, Tensor
from .backward_graph import Node

def new_node(
    cls: type[Node],
    op: OpOverload,
    level: Level,
    rule: Callable[[Any, Any, bool], Any],
    inputs: tuple[Any, ...],
    edges: tuple[Any, ...] | None,
    saved: Any,
    layout: Any,
) -> Any: ...
def recorded(
    wrapper: type[Tensor],
    op: OpOverload,
    rule: Callable[[Any, Any, bool], Any],
    out: Any,
    like: Tensor,
    inputs: tuple[Any, ...],
    edges: tuple[Any, ...] | None,
    saved: Any,
) -> Any: ...
def taken_from(wrapper: type[Tensor], function: Callable[..., Any], arrays: Sequence[Any], level: Level) -> tuple[Any, Any]: ...
