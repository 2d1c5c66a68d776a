"""Rows of `np.linalg`: condition numbers and ranks.

A condition number is a composite: of singular values, or of the norms of a matrix and of its inverse. It is inf of a singular matrix,
and has no derivative there: nan. A rank is a whole number, and a constant.
"""

from typing import Any

import numpy as np
from numpy.linalg import _umath_linalg  # np.linalg.inv raises where np.linalg.cond takes nan

from ...layers.autograd import CONSTANT, pullbacks
from ...layers.fake import fake_tensor
from ...layers.jvp import pushforwards
from ...operators.prims import astype
from ...operators.registry import ops
from ...symbolic import guesses, has_zero
from .. import numpy_functions
from ..families import attach_plain_forms, complete, composite, in_front, row
from ..flags import of_python
from ..indexing import as_number, getitem, where
from ..numpy_functions import spelled
from ..pointwise import add, divide, isfinite, isnan, logical_and, logical_not, multiply, negative, not_equal
from ..result_layouts import broadcast_shape, fake_like
from ..row_arguments import as_item, as_value
from ..shape import real, reshape
from ..statistics import all as all_of
from ..statistics import any as any_of
from .decompositions import svdvals
from .matmul import adjoint, matmul
from .norms import norm
from .stacked import of_matrices, result_dtypes

# -- condition numbers ---------------------------------------------------------------------------------------------------------


def _inverse(a: Any) -> Any:
    np.linalg.inv(np.zeros((*guesses(a.shape[:-2]), 0, 0)) if a.ndim > 1 and a.shape[-1] == a.shape[-2] else a)  # raises NumPy's own error
    with np.errstate(all="ignore"):
        found = _umath_linalg.inv(a, signature="D->D" if a.dtype.kind == "c" else "d->d")
    return found.astype(np.result_type(a.dtype, np.float32) if a.dtype.kind in "fc" else float, copy=False)


# The inverse, and nan where there is none.
inverse = of_matrices("linalg_inverse(Tensor a) -> Tensor", _inverse, lambda m, n: [(n, n)])
complete(
    inverse,
    autograd=pullbacks(a=lambda g, out: negative(matmul(adjoint(out), matmul(g, adjoint(out))))),
    jvp=pushforwards(a=lambda t, out: negative(matmul(out, matmul(t, out)))),
)


def _inf_for_nan(x: Any) -> Any:
    made = np.copy(x, order="K")
    if made.dtype.kind in "fc":
        made[np.isnan(made)] = np.inf
    return made[()]


# inf for nan, whose derivative, nan too, is that of the result.
inf_for_nan = row(
    "linalg_inf_for_nan(Tensor x) -> Tensor",
    numpy=_inf_for_nan,
    fake=lambda x: fake_like(x, x.dtype, x.shape),
    autograd=pullbacks(x=lambda g: g),
    jvp=pushforwards(x=lambda t: t),
    vmap=lambda info, in_dims, x: (inf_for_nan(x), in_dims[0]),
)


def _is_nan_without_values() -> bool:
    """Return whether a condition number is nan where the singular values do not converge: since NumPy 2.5; it raised before."""
    try:
        return bool(np.isnan(np.linalg.cond(np.array([[np.nan, 1.0], [1.0, 1.0]]))))
    except np.linalg.LinAlgError:
        return False


NAN_WITHOUT_VALUES = _is_nan_without_values()


def _values(x: Any) -> Any:
    """Return the singular values, or nan."""
    if not NAN_WITHOUT_VALUES:
        return svdvals(x)
    whole = getitem(all_of(isfinite(x), (-2, -1)), (..., None, None))
    found = svdvals(where(whole, x, ops.np.zeros_like(x)))
    factor = astype(where(whole, 0.0, np.nan), found.dtype)  # a constant: the derivative is nan, too
    return add(found, getitem(ops.np.sum(multiply(real(x), factor), (-2, -1)), (..., None)))


def _cond(x: Any, p: Any = None) -> Any:
    if len(x.shape) < 2 or has_zero(x.shape[-2:]) or has_zero(x.shape):
        np.linalg.cond(np.empty(guesses(x.shape)), p)  # raises NumPy's own error
    if p is None or p in (2, -2):
        s = _values(x)
        most, least = getitem(s, (Ellipsis, 0)), getitem(s, (Ellipsis, -1))
        found = divide(least, most) if p == -2 else divide(most, least)
    else:
        inverted = inverse(x)
        if p == "nuc" and NAN_WITHOUT_VALUES:
            found = multiply(ops.np.sum(_values(x), -1), ops.np.sum(_values(inverted), -1))
        else:
            found = multiply(norm(x, p, (-2, -1)), norm(inverted, p, (-2, -1)))
    undefined = logical_and(isnan(found), logical_not(any_of(isnan(x), (-2, -1))))
    return as_number(where(undefined, inf_for_nan(found), found))


cond = composite("linalg_cond(Tensor x, Any p=None) -> Tensor", _cond, numpy=np.linalg.cond)

# -- ranks ---------------------------------------------------------------------------------------------------------------------


def _matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    return np.asarray(np.linalg.matrix_rank(A, tol, hermitian, **({} if rtol is None else {"rtol": rtol})))[()]


def _fake_rank(A: Any, tol: Any, hermitian: bool, rtol: Any) -> Any:
    if np.ndim(A) < 2:
        return fake_tensor((), np.dtype(np.intp), None, getattr(A, "device", "cpu"), getattr(A, "mode", None))
    result_dtypes(_matrix_rank, (A.dtype,))  # raises NumPy's own error for half precision
    if hermitian and guesses(A.shape[-1:]) != guesses(A.shape[-2:-1]):
        np.linalg.matrix_rank(np.empty(guesses(A.shape)), None, True)  # raises NumPy's own error
    shape = broadcast_shape((A.shape[:-2], *[x.shape for x in (tol, rtol) if hasattr(x, "shape")]))
    return fake_tensor(shape, np.dtype(np.intp), None, A.device, A.mode)


def _batched_rank(info: Any, in_dims: Any, A: Any, tol: Any, hermitian: bool, rtol: Any) -> Any:
    ndim = len(A.shape) - (in_dims[0] is not None)
    A = in_front(A, in_dims[0])
    if ndim < 2:  # of a vector or a number it is whether some element is not 0
        return astype(any_of(not_equal(A, 0), tuple(range(1, 1 + ndim))), np.intp), 0
    batch, *item = A.shape if in_dims[0] is not None else (1, *A.shape)
    given = [(tol, in_dims[1]), (rtol, in_dims[3])]
    stack = max(ndim - 2, *[len(getattr(x, "shape", ())) - (dim is not None) for x, dim in given])  # cutoffs may have more axes than A
    A = reshape(A, (batch, *(1,) * (stack + 2 - ndim), *item))
    tol, rtol = [_cutoffs(x, dim, stack) for x, dim in given]
    return matrix_rank(A, tol, hermitian, rtol=rtol), 0


def _cutoffs(x: Any, dim: int | None, stack: int) -> Any:
    """Cutoffs of the items of a batch, with as many axes behind the batch as the stack has."""
    if dim is None:
        return x
    x = in_front(x, dim)
    return reshape(x, (x.shape[0], *(1,) * (stack + 1 - len(x.shape)), *x.shape[1:]))


matrix_rank = row(
    "linalg_matrix_rank(Tensor A, Tensor? tol=None, bool hermitian=False, *, Tensor? rtol=None) -> Tensor",
    numpy=_matrix_rank,
    fake=_fake_rank,
    vmap=_batched_rank,
    autograd=CONSTANT,
)



def numpys_matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """`np.linalg.matrix_rank`."""
    A, tol, rtol = as_item(as_value(A)), as_value(tol), as_value(rtol)
    if tol is not None and rtol is not None:
        np.linalg.matrix_rank(np.eye(1), 0.0, rtol=0.0)  # raises NumPy's own error
    found = matrix_rank(A, tol, bool(hermitian), rtol=rtol)
    return found if len(A.shape) > 1 else of_python(found, int, "np.linalg.matrix_rank of a vector", "np.any(A != 0)")


FUNCTIONS: dict[Any, Any] = dict([spelled(np.linalg.cond, "x p", cond), (np.linalg.matrix_rank, numpys_matrix_rank)])


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(matrix_rank)
