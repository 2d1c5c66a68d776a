from typing import Any, Self, final

import numpy as np

selected: np.ufunc

@final
class Blockwise:
    def __new__(
        cls,
        size: int,
        row: int,
        places: list[tuple[Any, ...]],
        steps: list[tuple[Any, ...]],
        layouts: dict[int, tuple[Any, ...]],
    ) -> Self: ...
    @property
    def count(self) -> int: ...
    @property
    def helped(self) -> int: ...
    least_share: float
    def stand_in(self, slot: int) -> np.ndarray[Any, Any]: ...
