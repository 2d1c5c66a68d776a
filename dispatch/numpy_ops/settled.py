"""Rows whose result has a dtype or a size that depends on values, as in NumPy; a graph checks that both are still the same.

`np.linalg.eig` gives real numbers where every eigenvalue is real, `np.emath.sqrt` complex ones where an element is below 0. A row of
such a function reads its data, so its shape rule raises, `unsettled`. A trace of real values is right for the dtype and the size
that it saw; the graph has a call of `settled`, which checks both at each replay.
"""

from typing import Any

import numpy as np

from ..core import Tensor
from ..errors import DataDependentError
from ..graph.operator_facts import CANNOT_RAISE
from ..layers.autograd import pullbacks
from ..layers.jvp import pushforwards
from ..operators.prims import define
from .families import complete


def _settled(x: Any, shape: Any, dtype: Any) -> Any:
    if tuple(x.shape) != tuple(shape) or x.dtype != dtype:
        raise DataDependentError(
            f"np::settled: the graph was recorded where data made a result {np.dtype(dtype)}{tuple(shape)}, and here they make it "
            f"{x.dtype}{tuple(x.shape)}. Record it again with such data; or leave the function whose result it is out of the graph.",
            operator="np::settled",
        )
    return x


# A value itself, which has a shape and a dtype.
settled = complete(
    define("np::settled(Tensor(a) x, SymInt[] shape, ScalarType dtype) -> Tensor(a)", _settled),
    fake=lambda x, shape, dtype: x,
    autograd=pullbacks(x=lambda g: g),
    jvp=pushforwards(x=lambda t: t),
    vmap=lambda info, in_dims, x, shape, dtype: (settled(x, x.shape, x.dtype), in_dims[0]),
)
CANNOT_RAISE.add(settled)  # where nothing uses the result, what was recorded of it need not be so


def settle(x: Any) -> Any:
    """Return a result whose dtype or size data decided, with the statement that a graph keeps of it."""
    return settled(x, tuple(x.shape), x.dtype) if isinstance(x, Tensor) else x


def unsettled(name: str, what: str, instead: str) -> DataDependentError:
    """Return the error of a shape rule: what a function makes depends on data, which a fake has not."""
    return DataDependentError(f"{name}: {what} depends on the data, which a fake has not. {instead}", operator=name)
