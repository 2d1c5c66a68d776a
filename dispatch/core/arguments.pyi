from typing import Any, Final, Self

import numpy as np
from typing_extensions import disjoint_base

class Kind:
    ANY: Final = 0
    TENSOR: Final = 1
    TENSOR_OR_NUMBER: Final = 2
    INT: Final = 3
    FLOAT: Final = 4
    COMPLEX: Final = 5
    BOOL: Final = 6
    STR: Final = 7
    BYTES: Final = 8
    SCALAR: Final = 9
    DTYPE: Final = 10
    CALLABLE: Final = 11
    INSTANCE: Final = 12
    LIST: Final = 13
    TUPLE: Final = 14
    DICT: Final = 15
    NONE: Final = 16
    RESIDUAL: Final = 17
    DEVICE: Final = 18
    LITERAL: Final = 19
    UNION: Final = 20

@disjoint_base
class Check:
    def __new__(
        owner,  # not `cls`: that is an argument
        kind: int,
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
