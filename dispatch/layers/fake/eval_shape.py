"""`eval_shape`: the shapes and dtypes that a function returns, without computing anything."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ... import symbolic
from ...core import DispatchKey, active_mode, device_of
from ...core.pytree import leaves, mapped
from ...core.wrong_calls import check_takes, clear
from ...dispatcher.conversion_advice import line_for
from ...errors import ArgumentError, DataDependentError, DispatchError, check_function, kind_of
from ..second_tries import other_ways
from .fake_mode import FakeTensorMode
from .tensor import FakeTensor, fake_tensor


class Shapes(FakeTensorMode):
    """The mode of one `eval_shape`. It takes the metadata of captured arrays and of fakes of other modes.

    Sizes that depend on data are symbols of the mode around it; else of its own, which no result may have.
    """

    adopts = True

    def __init__(self) -> None:
        guard = active_mode(DispatchKey.FAKE)
        around = None if guard is None else guard.mode.shape_env
        env = symbolic.ShapeEnv() if around is None else around
        super().__init__(allow_non_fake_inputs=True, shape_env=env, static_shapes=True)
        self.is_alone = around is None

    def check_known(self, x: Any) -> None:
        """Raise where a result has a size that only this mode knows."""
        if self.is_alone and symbolic.is_open(x.shape if isinstance(x, FakeTensor) else (x,)):
            what = f"an array of shape {x.shape}" if isinstance(x, FakeTensor) else "one"
            raise DataDependentError(
                f"eval_shape: the function asks for a size that depends on data, and returns {what}. Return what has a shape "
                "without data, np.where(mask, x, other) say; or call eval_shape inside a mode with symbolic sizes, "
                "FakeTensorMode(shape_env=ShapeEnv())."
            )


@clear
def eval_shape(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes of what a function returns, without running a kernel, as `jax.eval_shape` does.

    Parameters
    ----------
    f : callable
        Calls operators and NumPy functions. It may be a transformed function, such as `grad(f)`.
    *args, **kwargs
        The arguments of `f`. Of an array, and of anything else with a shape and a dtype, only shape, dtype and strides are
        read, also in containers. Other values are passed to `f` as they are.

    Returns
    -------
    object
        The result of `f`, with a `FakeTensor` in place of each array. It belongs to no mode, and has the `shape`, `dtype`,
        `strides` and `device` of the array that a call would return.

    Raises
    ------
    ArgumentError
        If `f` is no function.
    DataDependentError
        If `f` reads data: the truth of an array, a number in it; or returns an array whose size depends on it.
    NoRuleError
        If `f` calls an operator without a fake rule.

    Notes
    -----
    Arguments are never written to: `f` gets fakes, in new containers. A NumPy function whose arguments are all real arrays,
    which `f` closes over, does run: no operator receives it.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> weights = np.ones((784, 10))
    >>> def loss(w, x):
    ...     return np.mean(np.square(x @ w))
    >>> dispatch.eval_shape(dispatch.value_and_grad(loss), weights, np.empty((10**6, 784), "V8").view("f8"))
    (FakeTensor(shape=(), dtype=float64), FakeTensor(shape=(784, 10), dtype=float64))
    """
    check_function(f, "eval_shape", call="(f, x)")
    try:
        taken, out = _run(f, args, kwargs)
    except Exception as error:
        if isinstance(error, DispatchError):
            for g in other_ways(f, args, kwargs):
                with suppress(Exception):  # the first says it better
                    return mapped(_left, _run(g, args, kwargs)[1])
        if isinstance(error, TypeError) and _is_shape(args) and not any(hasattr(x, "shape") for x in leaves((args, kwargs))):
            said = "eval_shape: argument 0 is a tuple of ints, which may have been meant as a shape. For an array of it write"
            raise ArgumentError(f"{said} np.empty({args[0]}).") from None
        if isinstance(error, (TypeError, AttributeError)):
            check_takes("eval_shape", f, args, kwargs, "" if args else " They go into the same call: eval_shape(f, x).")
        raise
    first = next(iter(args), None)
    if not any(hasattr(x, "shape") for x in leaves(taken)) and (
        not any(hasattr(x, "shape") for x in leaves(out))
        or (_is_shape(args) and all(getattr(x, "shape", None) == (len(args[0]),) for x in leaves(out)))  # of its numbers
    ):
        shown = f"np.empty({first})" if type(first) is tuple and len(first) < 9 else "np.empty((3, 4))"
        said = "eval_shape runs a function on arrays without data, and none was given or came out."
        raise ArgumentError(f"{said} Write {shown} for one.")
    return mapped(_left, out)


def _is_shape(args: tuple[Any, ...]) -> bool:
    """Whether the first argument looks like a shape, JAX's or torch's way to say which array is meant."""
    first = next(iter(args), None)
    return type(first) is tuple and len(first) > 1 and all(type(n) is int for n in first)


def _run(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Return the arguments as a function gets them, and what it returns for them."""
    mode = Shapes()

    def given(x: Any) -> Any:
        if device_of(x) is not None and not isinstance(x, np.generic):
            return mode.from_array(x)
        if line := line_for(x):
            raise ArgumentError(f"eval_shape takes arrays, and was given {kind_of(x)}. Write {line}.")
        if isinstance(x, type):  # np.float32 has a shape and a dtype, which are none of its instances'
            if issubclass(x, np.generic):
                said = f"eval_shape takes arrays, and was given the class {x.__name__}"
                raise ArgumentError(f"{said}. Write np.empty(shape, np.{x.__name__}).")
            return x
        if not hasattr(x, "shape") or not hasattr(x, "dtype"):
            return x
        try:
            dtype = np.dtype(x.dtype)
        except TypeError:  # torch's
            raise ArgumentError(f"eval_shape takes arrays, and was given {kind_of(x)}. Write np.asarray(x).") from None
        device = getattr(x, "device", "cpu")
        strides = getattr(x, "strides", None)
        on = device if isinstance(device, str) else "cpu"
        return fake_tensor(tuple(x.shape), dtype, strides, on, mode, number=isinstance(x, np.generic))

    taken = mapped(given, (args, kwargs))
    with mode, symbolic.OwnChecks(mode.shape_env):
        out = f(*taken[0], **taken[1])
    for x in leaves(out):
        mode.check_known(x)
    return taken, out


def _left(x: Any) -> Any:
    """Return a result as a fake of no mode."""
    if not isinstance(x, FakeTensor) and device_of(x) is None:
        return x
    return fake_tensor(x.shape, x.dtype, getattr(x, "strides", None), getattr(x, "device", None) or "cpu")
