from collections.abc import Callable, Iterator
from typing import Any, final

from ..core import OpOverload
from ..core.source import Line
from .metadata import Kind

@final
class Node:
    kind: Kind
    name: str
    op: OpOverload | None
    args: tuple[Any, ...]
    value: Any
    source: Line | None
    def __init__(
        self, kind: Kind, name: str, op: OpOverload | None, args: tuple[Any, ...], value: Any, source: Line | None = None
    ) -> None: ...

def maker(node: Node) -> Node: ...
def nodes_in(x: Any) -> Iterator[Node]: ...
def standing(x: Any, stands: dict[Node, Any], every: bool = True) -> Any: ...
def key_of(x: Any, spell: Callable[[Any], str]) -> tuple[Any, ...]: ...
