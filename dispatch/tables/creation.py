"""Rows that make arrays: of a shape, or after the shape of another array.

They have no array to find their floor by, so a mode decides it: under FakeTensorMode they make fakes.
"""

from typing import Any

import numpy as np

from ..fake import FakeTensor, fake_tensor
from ..operators import ops
from ..tape import CONSTANT, pullbacks
from .families import aligned, complete, creation, in_front, kernel_of, row
from .layouts import elementwise, plain

Shape = tuple[int, ...]

# -- of a shape ------------------------------------------------------------------------------------------------------------


def _zeros(shape: Any, dtype: Any = None) -> Any:
    return np.zeros(shape, dtype)
