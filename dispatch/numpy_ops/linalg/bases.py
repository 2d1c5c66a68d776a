"""Rows of `np.linalg`: decompositions with whole bases, and the forms of `np.linalg.svd` and `np.linalg.qr`.

`svd` with `full_matrices=True` and `qr` with `mode="complete"` end in vectors u2 that complete a basis u1, any that do. With
`da` a change of `a = u1 diag(s) vh`, these follow it by `du2 = -u1 du1^H u2`, and any turning among themselves. What a loss sees of the
space that they span has a derivative, such as of the projector `u2 u2^H`; with G the gradient of u2 it is

    a = u1 diag(s) vh    -u2 G^H u1 diag(1 / s) vh
    a = q1 r             -q2 G^H q1 inv(r)^H

A loss that changes while they turn has none. `u2^H G` is then not Hermitian, and `not_turning` raises by name.
"""

from typing import Any

import numpy as np

from ...autodiff.rules.partials import conjugated
from ...core import Tensor
from ...errors import GradientError
from ...layers.autograd import pullbacks
from ...layers.jvp import pushforwards
from ...operators.prims import define
from ...symbolic import guesses, smaller
from .. import numpy_functions
from ..families import complete, composite, in_front, row
from ..indexing import getitem
from ..numpy_functions import SPELLED
from ..pointwise import absolute, divide, multiply, subtract
from ..pointwise_more import copysign
from ..result_layouts import fake_like
from ..row_arguments import as_value
from ..shape import expand_dims, swapaxes
from ..sorting import argsort, sort, take_along_axis
from .decompositions import eigh, eigvalsh, qr, qr_pullback, svd, svd_pullback, svdvals
from .matmul import adjoint, matmul
from .solve import solve
from .stacked import fake_stack, of_matrices, result_dtypes

SVD: Any = type(np.linalg.svd(np.eye(1)))  # the named tuples that NumPy returns
QR: Any = type(np.linalg.qr(np.eye(1)))
EPS = 1e4  # in units of rounding: products of gradients and vectors are off by some, a loss that turns by more

# -- what is not determined ----------------------------------------------------------------------------------------------------


def _not_turning(g: Any, basis: Any, name: str) -> Any:
    along = np.swapaxes(np.conj(basis), -1, -2) @ g
    turning = np.abs(along - np.swapaxes(np.conj(along), -1, -2)).max(initial=0.0)
    if turning > EPS * np.finfo(np.result_type(g.dtype, 1.0)).eps * np.abs(g).max(initial=0.0):
        raise GradientError(
            f"{name}: the result depends on which vectors complete the basis, and any do, so that it has no derivative. Write a loss "
            "of the space that they span, such as of u @ u.T for the last columns u; or leave them out."
        )
    return g


# A gradient itself, of vectors that may be turned: by nothing that turns them.
not_turning = complete(
    define("np::linalg_not_turning(Tensor(a) g, Tensor basis, str name) -> Tensor(a)", _not_turning),
    fake=lambda g, basis, name: g,
    autograd=pullbacks(g=lambda g: g),
    jvp=pushforwards(g=lambda t: t),
    vmap=lambda info, in_dims, g, basis, name: (not_turning(in_front(g, in_dims[0]), in_front(basis, in_dims[1]), name), 0)
    if in_dims[0] is not None
    else (g, None),
)


def _first(x: Any, n: Any) -> Any:
    """The first n columns."""
    return None if x is None else getitem(x, (Ellipsis, slice(n)))


def _last(x: Any, n: Any) -> Any:
    """The columns from n on."""
    return getitem(x, (Ellipsis, slice(n, None)))


def _of_rest(u: Any, g: Any, k: Any, name: str) -> Any:
    """`u2 G^H u1`, of a whole basis and its gradient."""
    rest = _last(u, k)
    return matmul(rest, matmul(adjoint(not_turning(_last(g, k), rest, name)), _first(u, k)))


def _svd_pullback(g: Any, out: Any) -> Any:
    (g_u, g_s, g_vh), (u, s, vh) = g, out
    m, n, k = u.shape[-1], vh.shape[-1], s.shape[-1]
    v, g_v = adjoint(vh), None if g_vh is None else adjoint(g_vh)
    u_1, v_1, g_v1 = _first(u, k), _first(v, k), _first(g_v, k)
    found = svd_pullback((_first(g_u, k), g_s, None if g_v1 is None else adjoint(g_v1)), (u_1, s, adjoint(v_1)))
    name = "np.linalg.svd with full_matrices=True"
    if m > n and g_u is not None:
        found = subtract(found, matmul(divide(_of_rest(u, g_u, k, name), expand_dims(s, -2)), adjoint(v_1)))
    if n > m and g_v is not None:
        found = subtract(found, adjoint(matmul(divide(_of_rest(v, g_v, k, name), expand_dims(s, -2)), adjoint(u_1))))
    return found


full_svd = of_matrices(
    "linalg_full_svd(Tensor a) -> (Tensor, Tensor, Tensor)",
    lambda a: tuple(np.linalg.svd(a)),
    lambda m, n: [(m, m), (smaller(m, n),), (n, n)],
    square=False,
)
SPELLED[full_svd] = (np.linalg.svd, {"a": "a"})
complete(full_svd, autograd=pullbacks(a=_svd_pullback))


def _qr_pullback(g: Any, out: Any) -> Any:
    (g_q, g_r), (q, r) = g, out
    n = r.shape[-1]
    upper = getitem(r, (Ellipsis, slice(n), slice(None)))
    found = qr_pullback((_first(g_q, n), None if g_r is None else getitem(g_r, (Ellipsis, slice(n), slice(None)))), (_first(q, n), upper))
    if g_q is not None:
        rest = _of_rest(q, g_q, n, 'np.linalg.qr with mode="complete"')
        found = subtract(found, adjoint(solve(upper, adjoint(rest))))
    return found


tall_full_qr = of_matrices(
    "linalg_tall_full_qr(Tensor a) -> (Tensor, Tensor)",
    lambda a: tuple(map(np.ascontiguousarray, np.linalg.qr(a, "complete"))),
    lambda m, n: [(m, m), (m, n)],
    square=False,
)
complete(tall_full_qr, autograd=pullbacks(a=_qr_pullback))
full_qr = composite(
    "linalg_full_qr(Tensor a) -> (Tensor, Tensor)",
    lambda a: tall_full_qr(a) if len(a.shape) > 1 and a.shape[-2] > a.shape[-1] else qr(a),
    numpy=lambda a: tuple(np.linalg.qr(a, "complete")),
    laid_out=True,
)

# -- what LAPACK computes ------------------------------------------------------------------------------------------------------


def _raw(a: Any) -> Any:
    found, scales = np.linalg.qr(a, "raw")
    return np.swapaxes(found, -1, -2), scales


def _check_raw(shape: Any) -> None:
    if len(shape) < 2:
        _raw(np.broadcast_to(0.0, guesses(shape)))  # raises NumPy's own error


def _fake_raw(a: Any) -> Any:
    _check_raw(a.shape)
    kinds = result_dtypes(_raw, (a.dtype,))
    return fake_like(a, kinds[0], a.shape), fake_stack(a.shape[:-2], (smaller(*a.shape[-2:]),), kinds[1], [a])


def _batched_raw(info: Any, in_dims: Any, a: Any) -> Any:
    a = in_front(a, in_dims[0])
    _check_raw(a.shape[1:])
    return raw_qr(a), (0, 0)


# R and the reflections that Q is the product of, and their scales. Nobody differentiates these.
raw_qr = row(
    "linalg_raw_qr(Tensor a) -> (Tensor, Tensor)",
    numpy=_raw,
    fake=_fake_raw,
    vmap=_batched_raw,
)

# -- NumPy's functions ---------------------------------------------------------------------------------------------------------


def numpys_svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """`np.linalg.svd`."""
    if not isinstance(a, Tensor):
        a = as_value(a)
    if hermitian:
        return _of_hermitian(a) if compute_uv else getitem(sort(absolute(eigvalsh(a))), (Ellipsis, slice(None, None, -1)))
    if not compute_uv:
        return svdvals(a)
    whole = full_matrices and len(a.shape) > 1 and a.shape[-2] != a.shape[-1]
    return SVD(*(full_svd(a) if whole else svd(a)))


def _of_hermitian(a: Any) -> Any:
    """NumPy's steps: the eigenvalues without their signs, the largest first."""
    s, u = eigh(a)
    sign, s = copysign(1.0, s), absolute(s)
    order = getitem(argsort(s), (Ellipsis, slice(None, None, -1)))
    sign, s = take_along_axis(sign, order, -1), take_along_axis(s, order, -1)
    u = take_along_axis(u, expand_dims(order, -2), -1)
    return SVD(u, s, conjugated(swapaxes(multiply(u, expand_dims(sign, -2)), -1, -2)))


def numpys_qr(a: Any, mode: str = "reduced") -> Any:
    """`np.linalg.qr`."""
    a = as_value(a)
    if mode not in ("reduced", "complete", "r", "raw"):
        np.linalg.qr(np.eye(1), mode)  # type: ignore[call-overload] # raises NumPy's own error, or warns
    if mode in ("raw", "economic", "e"):
        found, scales = raw_qr(a)
        return (swapaxes(found, -1, -2), scales) if mode == "raw" else found
    found = (full_qr if mode == "complete" else qr)(a)
    return found[1] if mode == "r" else QR(*found)


FUNCTIONS: dict[Any, Any] = {np.linalg.svd: numpys_svd, np.linalg.qr: numpys_qr}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
    numpy_functions.spell(np.linalg.qr, "a", qr)
