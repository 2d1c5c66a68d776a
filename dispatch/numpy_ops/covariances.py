"""`np.cov` and `np.corrcoef`, in NumPy's own steps."""

import warnings
from typing import Any

import numpy as np

from ..core import Tensor
from ..operators.prims import astype
from ..operators.registry import ops
from ..symbolic import SymInt, agree, guesses
from . import numpy_functions
from .data_checks import checked
from .diagonals import diag
from .flags import average
from .indexing import getitem, where
from .linalg.matmul import dot
from .pointwise import add, conjugate, divide, less_equal, multiply, sqrt, subtract
from .pointwise_more import clip
from .reduction import sum
from .row_arguments import as_item, as_value
from .shape import concatenate, expand_dims, imag, real, reshape, squeeze, transpose

NUMPYS: Any = np.cov


def _whole(weights: Any) -> None:
    if not np.all(weights == np.around(weights)):
        raise TypeError("fweights must be integer")  # np.cov's own
    _none_negative("fweights")(weights)


def _none_negative(name: str) -> Any:
    def check(weights: Any) -> None:
        if np.any(weights < 0):
            raise ValueError(f"{name} cannot be negative")  # np.cov's own

    return check


checked_fweights = checked("checked_fweights", _whole)
checked_aweights = checked("checked_aweights", _none_negative("aweights"))


def _observed(x: Any, dtype: Any, *, rows: bool) -> Any:
    """Return observations in columns."""
    ndim = len(x.shape)
    x = reshape(x, (1,) * (2 - ndim) + tuple(x.shape)) if ndim < 2 else x
    x = _in(x, dtype)
    return transpose(x) if rows else x


def _in(x: Any, dtype: Any) -> Any:
    return x if x.dtype == dtype else astype(x, dtype)


def _weights(given: Any, name: str, n: Any) -> Any:
    found = astype(as_item(as_value(given)), np.float64)
    found = (checked_fweights if name == "fweights" else checked_aweights)(found)
    if len(found.shape) != 1 or not agree(found.shape[0], n):
        NUMPYS(np.zeros((1, *guesses((n,)))), **{name: np.ones(guesses(found.shape))})  # raises NumPy's own error
    return found


def _divisor(x: Any, w: Any, aweights: Any, total: Any, ddof: Any) -> Any:
    """Return what the sum of products is divided by: 0 where no degree of freedom is left."""
    if w is None:
        found = x.shape[1] - ddof
    elif ddof == 0:
        found = total
    elif aweights is None:
        found = subtract(total, ddof)
    else:
        found = subtract(total, divide(multiply(ddof, sum(multiply(w, aweights))), total))
    if isinstance(found, Tensor):
        return where(less_equal(found, 0), 0.0, found)
    if type(found) is not SymInt and found <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=3)
        return 0.0
    return found


def cov(
    m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None, fweights: Any = None, aweights: Any = None, *, dtype: Any = None
) -> Any:
    """`np.cov`."""
    m, y = [x if x is None else as_item(as_value(x)) for x in (m, y)]
    if (ddof is not None and ddof != int(ddof)) or any([len(x.shape) > 2 for x in (m, y) if x is not None]):
        NUMPYS(*[np.zeros((1,) * len(x.shape)) for x in (m, y) if x is not None], ddof=ddof)  # raises NumPy's own error
    if dtype is None:
        dtype = np.result_type(m.dtype, *[y.dtype] if y is not None else [], np.float64)
    x = _observed(m, np.dtype(dtype), rows=not rowvar and len(m.shape) != 1)
    if type(x.shape[0]) is int and not x.shape[0]:
        return np.empty((0, 0))
    if np.dtype(dtype).kind not in "fc":
        NUMPYS(np.zeros((1, 2)), dtype=dtype)  # raises NumPy's own error
    if y is not None:
        beside = _observed(y, np.dtype(dtype), rows=False)
        x = concatenate([x, transpose(beside) if not rowvar and beside.shape[0] != 1 else beside], 0)
    ddof = (1 if bias == 0 else 0) if ddof is None else ddof
    w = None if fweights is None else _weights(fweights, "fweights", x.shape[1])
    if aweights is not None:
        aweights = _weights(aweights, "aweights", x.shape[1])
        w = aweights if w is None else multiply(w, aweights)
    if w is None:
        middle, total = ops.np.mean(x, 1), None
    else:
        middle, total = average(x, 1, w, True)
        total = getitem(total, 0)
    divisor = _divisor(x, w, aweights, total, ddof)
    x = _in(subtract(x, expand_dims(middle, 1)), x.dtype)  # NumPy writes the difference into x
    other = transpose(x if w is None else multiply(x, w))
    found = dot(x, conjugate(other) if other.dtype.kind == "c" else other)
    scale = divide(1, divisor) if isinstance(divisor, (Tensor, SymInt)) else float(np.true_divide(1, divisor))
    wide = np.result_type(found.dtype, np.float64)  # in which NumPy multiplies, before it casts back
    if wide == found.dtype:
        return squeeze(multiply(found, scale))
    return squeeze(astype(multiply(astype(found, wide), scale), found.dtype))


def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None, **ignored: Any) -> Any:
    """`np.corrcoef`; NumPy before 2.3 ignores bias= and ddof=, with a warning."""
    if ignored:
        np.corrcoef(np.array([0.0, 1.0]), **ignored)  # raises NumPy's own error, or warns
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.shape:
        return divide(c, c)
    deviation = sqrt(real(diag(c)))
    c = divide(divide(c, expand_dims(deviation, 1)), expand_dims(deviation, 0))
    if c.dtype.kind != "c":
        return clip(c, -1, 1)
    return add(clip(real(c), -1, 1), multiply(clip(imag(c), -1, 1), astype(np.asarray(1j), c.dtype)))


FUNCTIONS: dict[Any, Any] = {np.cov: cov, np.corrcoef: corrcoef}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
