"""Numbers from one to another with equal ratios: `np.logspace`, `np.geomspace`; those with equal differences are in `rearranging`."""

from typing import Any

import numpy as np

from ..core import OpOverload, Tensor
from ..operators.prims import astype, moveaxis
from ..operators.registry import ops
from . import numpy_functions
from .data_checks import checked
from .families import composite, kernel_of
from .indexing import getitem
from .numpy_functions import spelled
from .pointwise import divide, multiply, power, sign
from .pointwise_more import log10
from .rearranging import linspace, shape_of
from .result_layouts import broadcast_shape, weak
from .row_arguments import as_item, as_value, call
from .shape import concatenate, expand_dims, reshape


def _logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0) -> Any:
    """`np.logspace`, by its own steps."""
    start, stop, base = [as_value(x) for x in (start, stop, base)]
    if not isinstance(base, (float, int)) and np.ndim(base):
        given = [as_item(x) for x in (start, stop, base)]
        most = max([len(x.shape) for x in given])
        start, stop, base = [reshape(x, (*[1] * (most - len(x.shape)), *x.shape)) for x in given]
        base = expand_dims(base, axis)
    exponents = call(linspace, start, stop, num, endpoint, None, axis)
    found = power(base, exponents)
    return found if dtype is None or found.dtype == dtype else astype(found, np.dtype(dtype))


# -- none of which is 0 ----------------------------------------------------------------------------------------------------


def _check_end(x: Any) -> None:
    if np.any(x == 0):
        np.geomspace(0, 1)  # raises NumPy's own error


checked_end = checked("checked_end", _check_end)  # an end of `np.geomspace` itself, which is not 0


def _geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    made = np.result_type(*[x.dtype if hasattr(x, "dtype") else np.asarray(weak(x)).dtype for x in (start, stop)], 1.0, np.dtype(dtype or np.float64))
    for x in start, stop:
        if not hasattr(x, "dtype"):
            _check_end(x)
    start, stop = [astype(checked_end(x), made) if hasattr(x, "dtype") else made.type(x) for x in (start, stop)]
    shape = broadcast_shape((shape_of(start), shape_of(stop)))
    if type(num) is int and num == 0:
        return ops.np.zeros((*shape[: axis % (len(shape) + 1)], 0, *shape[axis % (len(shape) + 1) :]), dtype or made)
    turn = _of(sign, start)  # so that it begins at a positive number, of which there is a logarithm
    start, stop = _of(divide, start, turn), _of(divide, stop, turn)
    if type(num) is int and num == 1:
        found = ops.np.full((1, *shape), start, made)
    else:
        found = _logspace(_of(log10, start), _of(log10, stop), num, endpoint, 10.0, made)
    if num > 1:  # the ends exactly
        first = ops.np.full_like(getitem(found, slice(1)), start)
        last = [getitem(found, slice(1, -1)), ops.np.full_like(first, stop)] if endpoint else [getitem(found, slice(1, None))]
        found = concatenate([first, *last], 0)
    found = moveaxis(multiply(found, turn), 0, axis)
    return found if dtype is None or found.dtype == dtype else astype(found, dtype)


def _of(op: OpOverload, *xs: Any) -> Any:
    """Run a row, of numbers alone its kernel: no mode makes fakes of these."""
    return op(*xs) if any(isinstance(x, (np.ndarray, Tensor)) for x in xs) else kernel_of(op)(*xs)


def _spaced_of_few(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    found = np.linspace(start, stop, num, endpoint, False, None, axis)  # laid out alike in every dtype, of stand-ins that are 0 too
    native = found.dtype.newbyteorder("=")
    return found.astype(native if dtype is None or np.dtype(dtype).isnative else native.newbyteorder("S"), copy=False)


geomspace = composite(
    "geomspace(Tensor start, Tensor stop, int num=50, bool endpoint=True, ScalarType? dtype=None, int axis=0) -> Tensor",
    _geomspace,
    numpy=lambda start, stop, num, endpoint, dtype, axis: np.geomspace(start, stop, num, endpoint, dtype, axis),
    laid_out=_spaced_of_few,
)

FUNCTIONS: dict[Any, Any] = dict([
    (np.logspace, _logspace),
    spelled(np.geomspace, "start stop num endpoint dtype axis", geomspace),
])  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
