"""The shapes and dtypes that a function gives, found without computing anything."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import DispatchKey, active_mode, device_of
from ...core.pytree import mapped
from ...errors import ArgumentError, kind_of
from .fake_mode import FakeTensorMode
from .tensor import FakeTensor, fake_tensor


class Shapes(FakeTensorMode):
    """The mode of one `eval_shape`: real arrays that the function captured, and fakes of other modes, give their metadata."""

    adopts = True

    def __init__(self) -> None:
        guard = active_mode(DispatchKey.FAKE)
        around = None if guard is None else guard.mode.shape_env
        super().__init__(allow_non_fake_inputs=True, shape_env=around, static_shapes=True)


def eval_shape(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of what a function returns, without running a kernel; the contract of `jax.eval_shape`.

    Parameters
    ----------
    f : callable
        Made of operators and of NumPy's functions; a transform's result, `grad(f)` say, too.
    *args, **kwargs
        What `f` takes. Arrays, and anything else that has a shape and a dtype, in containers too, give their metadata alone;
        other values go to `f` as they are.

    Returns
    -------
    object
        What `f` returns, with a `FakeTensor` in place of each array, which belongs to no mode. Its `shape`, `dtype`, `strides`
        and `device` are those of the array that a call would give.

    Raises
    ------
    ArgumentError
        If `f` is no function.
    DataDependentError
        If `f` asks for data: the truth of an array, a number of it, a size that depends on it.
    NoRuleError
        If it calls an operator without a fake rule.

    Notes
    -----
    The arguments, and arrays that `f` captures, are never written to: `f` gets fakes in containers of its own. What it does to
    captured arrays by NumPy alone, without an argument in the call, is done, for no operator sees it.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> weights = np.ones((784, 10))
    >>> def loss(w, x):
    ...     return np.mean(np.square(x @ w))
    >>> dispatch.eval_shape(dispatch.value_and_grad(loss), weights, np.empty((10**6, 784), "V8").view("f8"))
    (FakeTensor(shape=(), dtype=float64), FakeTensor(shape=(784, 10), dtype=float64))
    """
    if not callable(f):
        raise ArgumentError(f"eval_shape takes a function, and was given {kind_of(f)}. Write eval_shape(f, x), not f(x).")
    mode = Shapes()

    def given(x: Any) -> Any:
        if device_of(x) is not None and not isinstance(x, np.generic):
            return mode.from_array(x)
        if not hasattr(x, "shape") or not hasattr(x, "dtype"):
            return x
        device = getattr(x, "device", "cpu")
        strides = getattr(x, "strides", None)
        return fake_tensor(tuple(x.shape), np.dtype(x.dtype), strides, device if isinstance(device, str) else "cpu", mode)

    def found(x: Any) -> Any:
        if not isinstance(x, FakeTensor) and device_of(x) is None:
            return x
        return fake_tensor(x.shape, x.dtype, getattr(x, "strides", None), getattr(x, "device", None) or "cpu")

    taken = mapped(given, (args, kwargs))
    with mode:
        out = f(*taken[0], **taken[1])
    return mapped(found, out)
