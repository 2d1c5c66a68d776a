from collections.abc import Callable
from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class Remembering:
    def __init__(self, kernel: Callable[..., Any]) -> None: ...
    def __call__(self, *args: Any) -> Any: ...
