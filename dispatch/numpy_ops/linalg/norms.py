"""Norms of vectors and matrices; all are composites.

At 0 the gradient of a norm is 0, torch's choice among the subgradients, and its second derivative nan: it has none.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...autodiff.rules.partials import conjugated
from ...core.array_memory import is_complex
from ...layers.autograd import pullbacks
from ...layers.jvp import pushforwards
from ...operators.prims import moveaxis
from ...symbolic import has_zero
from .. import numpy_functions
from ..families import attach_plain_forms, composite, undispatched
from ..indexing import where
from ..numpy_functions import spelled
from ..pointwise import absolute, add, divide_no_nan, equal, multiply, not_equal, power, square
from ..pointwise_more import root
from ..reduction import kept
from ..reduction import max as largest
from ..reduction import min as smallest
from ..reduction import sum as total
from ..result_layouts import as_shape, axes_of, check_axis, plain
from ..shape import expand_dims, imag, real, reshape
from .decompositions import svdvals


def _squared(x: Any) -> Any:
    return add(square(real(x)), square(imag(x))) if x.dtype.kind == "c" else square(x)


def _vector_norm(x: Any, axis: Any = None, ord: Any = 2, *, keepdims: bool = False) -> Any:
    check_axis(axis, len(x.shape))
    x, keepdims = multiply(x, 1.0) if x.dtype.kind in "iub" else x, bool(keepdims)  # a reduction takes no np.True_
    if ord is None or ord == 2:
        return root(total(_squared(x), axis, keepdims=keepdims))
    size = absolute(x)
    if ord == np.inf:
        return _largest(size, axis, keepdims=keepdims)
    if ord == -np.inf:
        return smallest(size, axis, keepdims=keepdims)
    if ord == 0:
        return total(not_equal(x, 0), axis, size.dtype, keepdims=keepdims)
    if ord == 1:
        return total(size, axis, keepdims=keepdims)
    if 0 < ord < 1:  # a cusp at 0, of slope 0
        none = equal(size, 0)
        powers = where(none, 0.0, power(where(none, 1.0, size), ord))
    else:
        powers = power(size, ord)
    return root(total(powers, axis, keepdims=keepdims), ord)


def _largest(x: Any, axis: Any, *, keepdims: bool = False) -> Any:
    """Return the largest of values that are at least 0; of none it is 0."""
    axes = axes_of(plain(axis), len(x.shape))
    return (total if has_zero(tuple([x.shape[i] for i in axes])) else largest)(x, axis, keepdims=keepdims)


SINGULAR: dict[Any, Callable[..., Any]] = {2: _largest, -2: smallest, "nuc": total}


def _matrix_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    row, column = [normalize_axis_index(i, len(x.shape)) for i in axis]
    if ord in ("fro", "f"):
        return _vector_norm(x, axis, keepdims=keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        by_columns = ord in (1, -1)
        x = multiply(x, 1.0) if x.dtype.kind in "iub" else x
        sums = total(absolute(x), row if by_columns else column, keepdims=True)
        return (_largest if ord > 0 else smallest)(sums, (row, column), keepdims=keepdims)
    if row == column or ord not in SINGULAR:
        np.linalg.norm(np.zeros((1,) * len(x.shape)), ord, axis)  # raises NumPy's own error
    found = SINGULAR[ord](svdvals(moveaxis(x, (row, column), (-2, -1))), -1)
    return expand_dims(found, tuple(sorted((row, column)))) if keepdims else found


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    ndim = len(x.shape)
    if axis is None and (ord is None or (ord in ("f", "fro") and ndim == 2) or (ord == 2 and ndim == 1)):
        found = _vector_norm(reshape(x, (-1,)))
        return reshape(found, (1,) * ndim) if keepdims else found
    axes = tuple(range(ndim)) if axis is None else as_shape(axis)
    if len(axes) not in (1, 2) or isinstance(axis, list) or (len(axes) == 1 and isinstance(ord, str)):
        np.linalg.norm(np.zeros((1,) * ndim), ord, axis)  # raises NumPy's own error
    if len(axes) == 1:
        return _vector_norm(x, axes, ord, keepdims=keepdims)
    return _matrix_norm(x, "fro" if ord is None else ord, axes, keepdims)


def _of_last_two(x: Any, ord: Any = "fro", *, keepdims: bool = False) -> Any:
    return _matrix_norm(x, "fro" if ord is None else ord, (-2, -1), bool(keepdims))


# -- roots of sums of squares, closed ----------------------------------------------------------------------------------------------


def _pulled(g: Any, x: Any, out: Any, axis: Any, keepdims: Any) -> Any:
    """Compute the pullback of a Euclidean or Frobenius norm: `g x / |x|`."""
    return multiply(x, kept(multiply(g, divide_no_nan(1.0, out)), x.shape, axis, keepdims))


def _pushed(t: Any, x: Any, out: Any, axis: Any, keepdims: Any) -> Any:
    """Compute the pushforward: `Re <x, t> / |x|`."""
    along = multiply(conjugated(x), t)
    return multiply(total(real(along) if is_complex(along) else along, axis, keepdims=bool(keepdims)), divide_no_nan(1.0, out))


def _is_euclidean(x: Any, ord: Any, axis: Any, keepdims: Any) -> bool:
    if ord is axis is None:  # the commonest
        return True
    axes = len(x.shape) if axis is None else len(axis) if isinstance(axis, tuple) else 0 if isinstance(axis, list) else 1
    if ord is None:
        return axis is None or axes in (1, 2)
    return axes == 1 if ord == 2 else axes == 2 and ord in ("f", "fro")


norm = composite(
    "linalg_norm(Tensor x, Any ord=None, int[1]? axis=None, bool keepdims=False) -> Tensor",
    _norm,
    numpy=undispatched(np.linalg.norm),
    closed_for=_is_euclidean,
    autograd=pullbacks(x=_pulled),
    jvp=pushforwards(x=_pushed),
)
vector_norm = composite(
    "linalg_vector_norm(Tensor x, int[1]? axis=None, Scalar? ord=2, *, bool keepdims=False) -> Tensor",
    _vector_norm,
    numpy=lambda x, axis, ord, *, keepdims: np.linalg.vector_norm(x, axis=axis, ord=ord, keepdims=keepdims),  # noqa: A006 - NumPy's names
    closed_for=lambda x, axis, ord, *, keepdims: ord == 2,  # noqa: A006
    autograd=pullbacks(x=_pulled),
    jvp=pushforwards(x=_pushed),
)
matrix_norm = composite(
    "linalg_matrix_norm(Tensor x, Any ord='fro', *, bool keepdims=False) -> Tensor",
    _of_last_two,
    numpy=lambda x, ord, *, keepdims: np.linalg.matrix_norm(x, ord=ord, keepdims=keepdims),  # noqa: A006 - NumPy's names
    closed_for=lambda x, ord, *, keepdims: ord in ("f", "fro"),  # noqa: A006
    autograd=pullbacks(x=lambda g, x, out, keepdims: _pulled(g, x, out, (-2, -1), keepdims)),
    jvp=pushforwards(x=lambda t, x, out, keepdims: _pushed(t, x, out, (-2, -1), keepdims)),
)


FUNCTIONS: dict[Any, Any] = dict([
    spelled(np.linalg.norm, "x ord axis keepdims", norm),
    spelled(np.linalg.vector_norm, "x axis keepdims ord", vector_norm),
    spelled(np.linalg.matrix_norm, "x keepdims ord", matrix_norm),
])  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(norm, vector_norm, matrix_norm)
