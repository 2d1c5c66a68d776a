"""`np.array`, `np.asarray` and their kin, and `np.arange`, of Tensors: called by `dispatch.numpy`, and by NumPy for `like=`.

NumPy looks for no protocol on the arguments of these functions, save on `like=`. They are compositions of rows: lists are stacks, a dtype is a
cast, an order is a copy where the value does not lie so.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from ..core import Tensor
from ..errors import UnsupportedError
from ..operators.prims import astype
from ..operators.views import is_number
from . import flags, numpy_functions, pointwise, shape
from .data_checks import as_real
from .row_arguments import as_item, as_value

Function = Callable[..., Any]


def array(
    object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: bool = False, ndmin: int = 0, **options: Any
) -> Any:
    """`np.array`: nested lists are stacked, a single value is copied. Of subclasses there are none."""
    np.array((), order=order)  # raises NumPy's own error
    options.pop("like", None)
    flags.check_device(options.pop("device", None))
    if any(options.values()):
        raise UnsupportedError(f"np.array: {min(options)}= is not taken where a Tensor is. Leave it out.")
    kind = None if dtype is None else np.dtype(dtype)
    copy = None if copy is None or getattr(copy, "name", "") == "IF_NEEDED" else bool(copy)  # NumPy's enum is private
    made = as_value(object)
    if not isinstance(made, (Tensor, np.ndarray)):
        made = np.asarray(made)
    if made.dtype.kind not in "biufc" or (kind is not None and kind.kind == "O"):
        asked = kind if kind is not None and kind.kind == "O" else made.dtype
        said = f"np.array: an array of dtype {asked} was asked for, or is what stands in the list, and it holds no Tensor"
        raise UnsupportedError(f"{said}. Give numbers and Tensors alone, without dtype=object; or keep them in a list.")
    fresh = made is not object
    if kind is not None and made.dtype != kind:
        made, fresh = astype(as_real(made, kind), kind), True
    if is_number(made):  # which is no array, and shares memory with nothing
        made, fresh = shape.copy(made), True
    order = flags.spelled(order)
    if order in ("K", "A") and not hasattr(object, "dtype"):  # a list, however its items lie
        order = "C"
    order = "K" if order == "A" and not copy else flags.named_order(order, "K", made)
    if order != "K" and not getattr(flags.lying(made).flags, f"{order.lower()}_contiguous"):
        made, fresh = shape.copy(made, order), True
    if fresh and copy is False:
        np.array([0], copy=False)  # raises NumPy's own error
    if copy and not fresh:
        made = shape.copy(made, order)
    missing = ndmin - len(made.shape)
    return shape.reshape(made, (*[1] * missing, *made.shape)) if missing > 0 else made


def asarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None) -> Any:
    """`np.asarray` and `np.asanyarray`."""
    return array(a, dtype, copy=copy, order=order or "K", device=device)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """`np.from_dlpack`: a Tensor stays one."""
    np.from_dlpack(np.empty(0, x.dtype))  # raises NumPy's own error
    return array(x, copy=copy, device=device)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """`np.ascontiguousarray`."""
    return array(a, dtype, copy=None, order="C", ndmin=1)


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """`np.asfortranarray`."""
    return array(a, dtype, copy=None, order="F", ndmin=np.asfortranarray(0.0).ndim)


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """`np.require`. What shall be written to, or own its memory, is a copy."""
    np.require(np.zeros(1), dtype, requirements)  # raises NumPy's own error
    wanted = {x.upper()[0] for x in requirements or ()}
    order = "F" if "F" in wanted else "C" if "C" in wanted else "K"
    return array(a, dtype, copy=True if wanted & {"W", "O"} else None, order=order)


def arange(
    start_or_stop: Any = None, stop: Any = None, step: Any = 1, dtype: Any = None, *, start: Any = None, device: Any = None, like: Any = None
) -> Any:
    """`np.arange`. How many numbers there are is asked of the values; the numbers follow the start and the step."""
    flags.check_device(device)
    start = start_or_stop if start is None else start
    first, last = (0, start) if stop is None else (start, stop)
    step = 1 if step is None else step
    kind = np.result_type(*[as_item(x).dtype for x in (first, last, step)]) if dtype is None else np.dtype(dtype)
    low, high, by = [_told(x) for x in (first, last, step)]
    if kind.kind in "biu":  # constants to derivatives
        return np.arange(low, high, by, dtype=kind)
    n = np.arange(low, high, by).size  # raises NumPy's own error
    begun, second = astype(as_item(first), kind), astype(as_item(pointwise.add(as_item(first), as_item(step))), kind)
    ahead = np.arange(n).astype(kind)  # NumPy keeps the second number, and counts the others from the first
    counted = pointwise.add(begun, pointwise.multiply(ahead, pointwise.subtract(second, begun)))
    return astype(counted if n < 2 else np.concatenate([counted[:1], second[None], counted[2:]]), kind)  # in its byte order


def fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """`np.fromiter`: the numbers that an iterable gives, Tensors too."""
    if count < -1:
        np.fromiter([], dtype, count)  # raises NumPy's own error
    found = list(iter) if count == -1 else list(islice(iter, count))
    if len(found) < count:
        np.fromiter(iter, dtype, count)  # raises NumPy's own error
    return array(found, dtype)


empty, zeros, ones, full = [numpy_functions.FUNCTIONS[f] for f in (np.empty, np.zeros, np.ones, np.full)]


def of_no_tensor(function: Function) -> Function:
    """Return a function whose numbers depend on sizes, bytes or a Python function alone: `like=` says nothing more."""

    def made(*args: Any, like: Any = None, **keywords: Any) -> Any:
        return function(*args, **keywords)

    return made


def _told(x: Any) -> Any:
    """Return the number that a Tensor holds, as an array without axes."""
    of: Any = x
    return np.asarray(of.item(), of.dtype) if isinstance(x, Tensor) and not of.shape else of


FUNCTIONS: dict[Any, Function] = {
    np.array: array, np.asarray: asarray, np.asanyarray: asarray, np.ascontiguousarray: ascontiguousarray,
    np.asfortranarray: asfortranarray, np.require: require, np.arange: arange, np.from_dlpack: from_dlpack, np.fromiter: fromiter,
} | {f: of_no_tensor(f) for f in (np.eye, np.identity, np.tri, np.frombuffer, np.fromstring, np.fromfunction)}  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
