from typing import Any

from typing_extensions import disjoint_base

from ...core import OpOverload

@disjoint_base
class Recorded:
    @property
    def op(self) -> OpOverload: ...
    def __init__(self, op: OpOverload) -> None: ...
    def __call__(self, *args: Any) -> Any: ...
