from typing import Any

from ..core import OpOverload

class Recorded:
    op: OpOverload
    def __init__(self, op: OpOverload) -> None: ...
    def __call__(self, *args: Any) -> Any: ...
