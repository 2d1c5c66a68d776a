from collections.abc import Callable
from typing import Any, Self, final

import numpy as np

@final
class Kind:
    def __new__(cls, x: Any) -> Self: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...

@final
class Stacked:
    def __new__(cls, who: str, length: int) -> Self: ...
    @property
    def like(self) -> Any: ...
    @property
    def arrays(self) -> list[np.ndarray[Any, Any]]: ...

def scan_plain(
    who: str, f: Callable[..., Any], carry: Any, like: Any, kinds: list[Kind], xs: list[Any], xs_like: Any, n: int, reverse: bool
) -> tuple[Any, Any, list[Any]] | None: ...
def fori_plain(
    who: str, f: Callable[..., Any], carry: Any, like: Any, kinds: list[Kind], lower: int, upper: int
) -> tuple[Any] | None: ...
def while_plain(
    who: str, test: Callable[..., Any], f: Callable[..., Any], carry: Any, like: Any, kinds: list[Kind], most: int
) -> tuple[Any] | None: ...
def scan_program(
    step: Callable[..., Any],
    carry: list[Any],
    xs: list[Any],
    captures: list[Any],
    n: int,
    reverse: bool,
    ys: list[Any],
    kept: list[Any] | None,
    every: int,
) -> list[Any]: ...
def while_program(
    who: str,
    test: Callable[..., Any],
    step: Callable[..., Any],
    carry: list[Any],
    captures: list[Any],
    most: int,
    kept: list[Any] | None,
) -> tuple[list[Any], int]: ...
