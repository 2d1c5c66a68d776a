from typing import Any, TypeVar

import numpy as np
from typing_extensions import disjoint_base

from ...core.tensor import Wrapped

_F = TypeVar("_F", bound=Fields)

@disjoint_base
class Fields(Wrapped):
    number: bool
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def device(self) -> str: ...
    @property
    def mode(self) -> Any: ...

def new_fake(
    cls: type[_F], shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...], device: str, mode: Any, number: bool
) -> _F: ...
def copy_fields(x: Fields, made: Fields) -> None: ...
