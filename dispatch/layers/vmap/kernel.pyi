from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import disjoint_base

from ...core import Level, OpOverload, Tensor

def item_shape(x: Tensor) -> tuple[int, ...]: ...
def common_length(args: tuple[Any, ...], dims: tuple[Any, ...]) -> Any: ...
def are_apart(in_dims: Sequence[Any], xs: Sequence[Any]) -> bool: ...
def in_batch(
    cls: type[Tensor],
    f: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    dims: Sequence[Any],
    info: Any,
    out_dims: Any,
    placed: Callable[[Any, Level], Any],
) -> Any: ...

@disjoint_base
class Ruled:
    def __init__(
        self,
        op: OpOverload,
        cls: type[Tensor],
        rule: Callable[..., Any],
        single: bool,
        returned: Callable[[Any, Any, tuple[Any, ...]], Any],
        opacity: Any = None,
        as_one: Callable[..., Any] | None = None,
        apart: Callable[..., Any] | None = None,
    ) -> None: ...
    def __call__(self, *args: Any) -> Any: ...
