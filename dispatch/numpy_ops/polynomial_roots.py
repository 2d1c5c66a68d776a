"""Polynomials and their roots: the roots of coefficients and the coefficients of roots.

NumPy leaves out leading zeros, so that data decide how many roots there are; and roots that are all real are real. The roots r of
`p[0] x^n + .. + p[n]` follow the coefficients by `dr / dp[k] = -r^(n - k) / p'(r)`, a root at 0 and a leading 0 too (see [1]_).

.. [1] J. H. Wilkinson, "Rounding Errors in Algebraic Processes" (1963), chapter 2.
"""

from typing import Any

import numpy as np

from ..autodiff.rules.partials import conjugated
from ..core import OpOverload
from ..errors import BatchingError
from ..layers.autograd import pullbacks
from ..layers.fake import fake_tensor
from ..layers.jvp import pushforwards
from ..operators.prims import astype, moveaxis
from . import creation, numpy_functions
from .data_dependent import distinct
from .families import composite, in_front, row
from .indexing import getitem
from .linalg.eigenvalues import numpys_eigvals
from .linalg.matmul import matmul
from .pointwise import divide, multiply, negative, subtract
from .polynomial_values import as_polynomial, slope_at, vander
from .rearranging import atleast_1d
from .settled import settle, unsettled
from .shape import concatenate, expand_dims, real, reshape, squeeze

ON_REAL = "call it on real arrays, outside the mode."


def ragged(name: str, sizes: Any) -> BatchingError:
    """Return the error for the items of a batch that have results of different sizes."""
    return BatchingError(
        f"{name}: the items of a batch have {min(sizes)} to {max(sizes)} coefficients or roots without leading zeros, which make no batch.",
        operator=name,
    )


def stacked(name: str, items: list[Any]) -> Any:
    """Stack the results of items, whose sizes have to agree."""
    sizes = {len(x) for x in items}
    if len(sizes) > 1:
        raise ragged(name, sizes)
    return np.stack(items)


# -- roots ---------------------------------------------------------------------------------------------------------------------


def _roots(p: Any, *, real: bool = False) -> Any:
    """The roots of a polynomial, or of each of a batch of them."""
    found = np.roots(p) if p.ndim < 2 else _of_batch(p.reshape(-1, p.shape[-1])).reshape(*p.shape[:-1], -1)
    return found if real else found.astype(np.result_type(found.dtype, 1j), copy=False)


def _of_batch(p: Any) -> Any:
    n = p.shape[1] - 1
    if n < 1 or not (p[:, 0].all() and p[:, -1].all()):
        return stacked("np::roots", [np.roots(x) for x in p])  # without zeros at either end, of which each item may have another number
    p = p if p.dtype.kind in "fc" else p.astype(float)
    companions = np.zeros((len(p), n, n), p.dtype)
    companions[:, np.arange(1, n), np.arange(n - 1)] = 1
    companions[:, 0] = -p[:, 1:] / p[:, :1]
    found = np.linalg.eigvals(companions)
    return found if p.dtype.kind == "c" or found.imag.any() else found.real.copy()  # NumPy 2.5 leaves the choice to np.roots


def _fake_roots(p: Any, real: bool) -> Any:
    if not p.shape:
        np.roots(np.zeros((1, 1)))  # raises NumPy's own error
    if real and p.dtype.kind != "c":
        raise unsettled("np.roots", "whether the roots of real coefficients are all real, and with them the dtype of the result,", "Write np.roots(p.astype(complex)), whose result is complex; or " + ON_REAL)
    dtype = np.roots(np.ones(2, p.dtype)).dtype
    return fake_tensor((*p.shape[:-1], distinct("np::roots", p, ("roots", True), p.shape[-1])), np.result_type(dtype, 1j), None, p.device, p.mode)


def _slopes_of_roots(p: Any, out: Any) -> Any:
    """`dr / dp`, for each root and coefficient; of each of a batch, whose axis comes first."""
    n = p.shape[-1]
    powers = reshape(vander(reshape(out, (-1,)), n), (*out.shape, n))
    slopes = slope_at(p if len(p.shape) == 1 else expand_dims(moveaxis(p, -1, 0), -1), out)
    return negative(divide(powers, expand_dims(slopes, -1)))


def _of_roots(g: Any, p: Any, out: Any) -> Any:
    return squeeze(matmul(expand_dims(g, -2), conjugated(_slopes_of_roots(p, settle(out)))), -2)


def _along(t: Any, p: Any, out: Any) -> Any:
    return squeeze(matmul(_slopes_of_roots(p, settle(out)), expand_dims(t, -1)), -1)


def _batched_roots(info: Any, in_dims: Any, p: Any, real: bool) -> tuple[Any, int]:
    return roots(in_front(p, in_dims[0]), real=real), 0


roots: OpOverload = row(
    "roots(Tensor p, *, bool real=False) -> Tensor",
    numpy=_roots,
    fake=_fake_roots,
    autograd=pullbacks(p=_of_roots),
    jvp=pushforwards(p=_along),
    vmap=_batched_roots,
)


def numpys_roots(p: Any) -> Any:
    """`np.roots`."""
    (p,), _ = as_polynomial("np.roots", p)
    p = atleast_1d(p)
    if len(p.shape) != 1:
        np.roots(np.zeros((1,) * len(p.shape)))  # raises NumPy's own error
    return settle(roots(p, real=True))


# -- the coefficients of roots ---------------------------------------------------------------------------------------------------


def _coefficients(zeros: Any) -> Any:
    """NumPy's steps."""
    made = np.ones((1,), zeros.dtype)
    for zero in zeros:
        made = np.convolve(made, np.array([1, -zero], zeros.dtype), mode="full")
    return made


def _multiplied_out(zeros: Any) -> Any:
    none = creation.zeros((1,), zeros.dtype)
    made = creation.ones((1,), zeros.dtype)
    for i in range(zeros.shape[0]):
        made = subtract(concatenate([made, none]), concatenate([none, multiply(made, getitem(zeros, i))]))
    return made


from_roots = composite("poly_from_roots(Tensor zeros) -> Tensor", _multiplied_out, numpy=_coefficients)


def _real_if_paired(a: Any, zeros: Any) -> Any:
    zeros = np.asarray(zeros, complex)
    return a.real.copy() if np.all(np.sort(zeros) == np.sort(zeros.conjugate())) else a.copy()


def _fake_if_paired(a: Any, zeros: Any) -> Any:
    raise unsettled("np.poly", "whether complex roots come in pairs, and with them the dtype of the result,", "Leave the function out of the graph; or " + ON_REAL)


def _batched_if_paired(info: Any, in_dims: Any, a: Any, zeros: Any) -> tuple[Any, int]:
    a, zeros = [x if dim is None else in_front(x, dim) for x, dim in zip((a, zeros), in_dims, strict=True)]
    return (real_if_paired(a, zeros), 0) if in_dims[0] is not None else (a, None)  # type: ignore[return-value]


# Coefficients, and their real parts where the roots, of a whole batch, come in pairs.
real_if_paired: OpOverload = row(
    "poly_real_if_paired(Tensor a, Tensor zeros) -> Tensor",
    numpy=_real_if_paired,
    fake=_fake_if_paired,
    autograd=pullbacks(a=lambda g: g),
    jvp=pushforwards(a=lambda t, out: real(t) if out.dtype.kind != "c" else t),
    vmap=_batched_if_paired,
)


def poly(seq_of_zeros: Any) -> Any:
    """`np.poly`."""
    (zeros,), _ = as_polynomial("np.poly", seq_of_zeros)
    zeros = atleast_1d(zeros)
    shape = zeros.shape
    if len(shape) == 2 and shape[0] == shape[1] and shape[0] != 0:
        zeros = numpys_eigvals(zeros)
    elif len(shape) != 1:
        np.poly(np.zeros((1, 2)))  # raises NumPy's own error
    else:
        kind = np.dtype(np.mintypecode(zeros.dtype.char))
        zeros = zeros if zeros.dtype == kind else astype(zeros, kind)
    if zeros.shape[0] == 0:
        return 1.0
    found = from_roots(zeros)
    return settle(real_if_paired(found, zeros)) if found.dtype.kind == "c" else found


FUNCTIONS: dict[Any, Any] = {np.roots: numpys_roots, np.poly: poly}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
