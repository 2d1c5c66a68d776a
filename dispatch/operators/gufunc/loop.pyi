from collections.abc import Callable
from typing import Any, Self

import numpy as np
from typing_extensions import disjoint_base

from .walk import Walk

def hollow(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]: ...

@disjoint_base
class Loop:
    def __new__(
        cls,
        kernel: Callable[..., Any],
        inputs: tuple[tuple[int, ...], ...],
        outputs: tuple[tuple[int, ...], ...],
        sizes: tuple[int, ...],
        places: tuple[int, ...],
        positional: int,
        keywords: tuple[str, ...],
        words: Any,
        spread: Callable[[Walk], None] | None = None,
    ) -> Self: ...
    def __call__(self, *args: Any, **keywords: Any) -> Any: ...
    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
