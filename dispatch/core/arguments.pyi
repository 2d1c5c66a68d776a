from enum import IntEnum
from typing import Any, Self

import numpy as np
from typing_extensions import disjoint_base

class Kind(IntEnum):
    ANY = 0
    TENSOR = 1
    TENSOR_OR_NUMBER = 2
    INT = 3
    FLOAT = 4
    COMPLEX = 5
    BOOL = 6
    STR = 7
    BYTES = 8
    SCALAR = 9
    DTYPE = 10
    CALLABLE = 11
    INSTANCE = 12
    LIST = 13
    TUPLE = 14
    DICT = 15
    NONE = 16
    RESIDUAL = 17
    DEVICE = 18
    LITERAL = 19
    UNION = 20

@disjoint_base
class Check:
    def __new__(
        owner,  # not `cls`: that is an argument
        kind: Kind,
        *,
        optional: bool = False,
        element: Check | None = None,
        members: tuple[Check, ...] = (),
        size: int = -1,
        cls: Any = None,
        dtype: np.dtype[Any] | None = None,
        written: bool = False,
    ) -> Self: ...
    @property
    def typed(self) -> bool: ...
    @property
    def kind(self) -> int: ...
    @property
    def optional(self) -> bool: ...
    @property
    def element(self) -> Check | None: ...
    @property
    def members(self) -> tuple[Check, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def cls(self) -> Any: ...
    @property
    def written(self) -> bool: ...
    @property
    def dtype(self) -> np.dtype[Any] | None: ...
    def __call__(self, x: object) -> bool: ...

@disjoint_base
class Arguments:
    def __new__(
        cls,
        names: tuple[str, ...],
        checks: tuple[Check, ...],
        defaults: tuple[tuple[Any, ...], ...],
        positional_only: int = 0,
        keyword_only: int = 0,
    ) -> Self: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def checks(self) -> tuple[Check, ...]: ...
    @property
    def defaults(self) -> tuple[tuple[Any, ...], ...]: ...
    @property
    def keyword_names(self) -> tuple[str, ...]: ...
    @property
    def count(self) -> int: ...
    @property
    def positional(self) -> int: ...
    @property
    def positional_only(self) -> int: ...
