"""Arrays that a transform makes itself, the basis of a Jacobian say, as the values that they will meet are."""

from collections.abc import Iterable
from typing import Any

from ..core import DispatchKey, Tensor, active_mode
from ..layers.fake import FakeTensor


def beside(x: Any, values: Iterable[Any] = ()) -> Any:
    """An array of a transform's own as it can meet some values: a fake where they are fakes, or where a FakeTensorMode is on.

    Beside values that are traced it stays an array, which becomes a constant of the graph.

    Parameters
    ----------
    x : ndarray
    values : iterable, optional
        Wrappers and arrays.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> beside(np.ones(2), [dispatch.FakeTensorMode().from_array(np.ones(3))])
    FakeTensor(shape=(2,), dtype=float64)
    """
    for value in values:
        while isinstance(value, Tensor) and type(value).key > DispatchKey.TRACE and value.value is not None:  # type: ignore[operator]
            value = value.value
        if isinstance(value, FakeTensor):
            return x if value.mode is None else value.mode.from_array(x, static_shapes=True)
        if isinstance(value, Tensor):
            return x
    guard = active_mode(DispatchKey.FAKE)
    if guard is None or active_mode(DispatchKey.TRACE) is not None:
        return x
    return guard.mode.from_array(x, static_shapes=True)
