from collections.abc import Callable, Sequence
from typing import Any, final

from typing_extensions import disjoint_base

from ...core import OpOverload
from ...dispatcher.layer import Kernel
from .user_rules import Rule

@disjoint_base
class Plan:
    def __init__(
        self,
        rule: Callable[[Any, Any, bool], Any] | None,
        saved: Sequence[tuple[int, int]],
        lists: bool,
        count: int,
        layout: Callable[[Any], Any],
    ) -> None: ...

@final
class RowKernel: ...

@final
class UserKernel: ...

def row_kernel(plan_for: Callable[[int], Plan], op: OpOverload, whole: Callable[..., Any]) -> Kernel: ...
def user_kernel(op: OpOverload, rule: Rule, whole: Callable[..., Any]) -> Kernel: ...
