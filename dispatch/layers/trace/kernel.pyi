from typing import Any

from typing_extensions import disjoint_base

from ...core import OpOverload

STATIC: frozenset[type]

@disjoint_base
class Recorded:
    @property
    def op(self) -> OpOverload: ...
    def __init__(self, op: OpOverload) -> None: ...
    def __call__(self, *args: Any) -> Any: ...

def metadata(x: Any) -> Any: ...
def taken(trace: Any, x: Any) -> tuple[Any, Any]: ...
