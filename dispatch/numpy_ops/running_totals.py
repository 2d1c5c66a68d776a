"""`np.cumulative_sum` and `np.cumulative_prod`, the array API's: as `np.cumsum` and `np.cumprod`, and with a first element if asked for."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import OpOverload
from ..operators.registry import ops
from . import numpy_functions
from .assignment import result_into
from .cumulative import cumprod, cumsum
from .numpy_functions import of_numpy
from .row_arguments import as_item, as_value, call
from .shape import concatenate, reshape


def _running(name: str, op: OpOverload, first: int) -> Callable[..., Any]:
    function = of_numpy(name)

    def entry(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False) -> Any:
        x = as_item(as_value(x))
        x = x if x.shape else reshape(x, (1,))
        if axis is None and len(x.shape) > 1:
            function(np.zeros((1,) * len(x.shape)))  # raises NumPy's own error
        if dtype is not None and not np.dtype(dtype).isnative:
            function(np.zeros(1), dtype=dtype)  # raises NumPy's own error
        axis = 0 if axis is None else axis
        found = call(op, x, axis, dtype)
        if include_initial:
            sizes = list(x.shape)
            sizes[axis] = 1
            found = concatenate([ops.np.full_like(found, first, None, tuple(sizes)), found], axis)
        return found if out is None else result_into(f"np.{name}", found, out)

    return entry


FUNCTIONS = {  # NumPy 2.1 has them
    of_numpy(name): _running(name, op, first)
    for name, op, first in (("cumulative_sum", cumsum, 0), ("cumulative_prod", cumprod, 1))
    if of_numpy(name) is not None
}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
