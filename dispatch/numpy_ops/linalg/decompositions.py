"""Rows of `np.linalg`: decompositions and eigenvalues of stacked matrices.

With G the incoming gradient,

    a = l l^H        the Hermitian part of inv(l)^H P(l^H G) inv(l); P keeps the lower triangle and half the diagonal
                     (I. Murray, "Differentiation of the Cholesky decomposition", 2016)
    a = v w v^H      v (diag(Gw) + v^H Gv / (w_j - w_i)) v^H, its Hermitian part (M. B. Giles, "Collected matrix derivative
                     results for forward and reverse mode algorithmic differentiation", 2008)
    a = u s v^H      see `svd_pullback`
    a = q r          (Gq + q sym(triu(Gr r^H - q^H Gq))) inv(r)^H

`cholesky`, `eigh` and `eigvalsh` are functions of a Hermitian matrix, of which NumPy reads one triangle. Their gradients are
Hermitian, as JAX has them; torch's of `eigh`, and of `cholesky` for complex values, differ by a part that no change of a
Hermitian matrix feels. The sign or phase of an eigenvector and a singular vector is arbitrary, and a loss must not depend on it. Where
two eigenvalues or singular values are equal, their vectors have no derivative, and the gradient holds nan or inf; that of
the values alone is right.
"""

from functools import partial
from typing import Any

import numpy as np

from ...core.array_memory import is_complex
from ...layers.autograd import pullbacks
from ...layers.jvp import pushforwards
from ...symbolic import smaller
from .. import numpy_functions
from ..diagonals import diagonal, diagonal_matrix, eye, tril, triu
from ..families import attach_plain_forms, complete, composite, undispatched
from ..indexing import getitem, where
from ..numpy_functions import returning, spelled
from ..pointwise import add, divide, multiply, negative, square, subtract
from ..shape import concatenate, expand_dims, real
from .matmul import adjoint, matmul
from .solve import inv_lower, solve
from .stacked import of_matrices

_NUMPY_EIGH, _NUMPY_SVD = undispatched(np.linalg.eigh), undispatched(np.linalg.svd)


def _half(x: Any) -> Any:
    """Return the Hermitian part."""
    return multiply(add(x, adjoint(x)), 0.5)


def times_columns(x: Any, by: Any) -> Any:
    """Matrices with each column multiplied by a number."""
    return multiply(x, by if len(by.shape) == 1 else expand_dims(by, -2))


# -- Cholesky --------------------------------------------------------------------------------------------------------------


def _cholesky_pullback(g: Any, out: Any, upper: bool) -> Any:
    if upper:
        g, out = adjoint(g), adjoint(out)
    inner = matmul(adjoint(out), g)
    twice = add(tril(inner), adjoint(tril(inner, -1)))  # P(l^H G) and its adjoint, but for the imaginary part of the diagonal
    inverse = inv_lower(out)
    found = multiply(matmul(adjoint(inverse), matmul(twice, inverse)), 0.5)
    return _half(found) if is_complex(found) else found


def _cholesky_pushforward(t: Any, out: Any, upper: bool) -> Any:
    low = adjoint(out) if upper else out
    inverse = inv_lower(low)
    inner = matmul(inverse, matmul(_half(t), adjoint(inverse)))
    found = matmul(low, multiply(add(tril(inner), tril(inner, -1)), 0.5))
    return adjoint(found) if upper else found


cholesky = of_matrices("linalg_cholesky(Tensor a, *, bool upper=False) -> Tensor", undispatched(np.linalg.cholesky), lambda m, n: [(n, n)])
complete(cholesky, autograd=pullbacks(a=_cholesky_pullback), jvp=pushforwards(a=_cholesky_pushforward))

# -- spectra ---------------------------------------------------------------------------------------------------------------


def _eigh(a: Any, UPLO: Any = "L") -> Any:
    return tuple(_NUMPY_EIGH(a, UPLO))


def gaps(w: Any) -> Any:
    """Return the differences of all pairs of numbers, `w[j] - w[i]`, with 1 on the diagonal."""
    return where(eye(w.shape[-1], None, 0, bool), 1.0, subtract(expand_dims(w, -2), expand_dims(w, -1)))


def _eigh_pullback(g: Any, out: Any) -> Any:
    (g_w, g_v), (w, v), inner = g, out, None
    if g_v is not None:
        turned = divide(matmul(adjoint(v), g_v), gaps(w))
        inner = matmul(v, subtract(turned, diagonal_matrix(diagonal(turned, 0, -2, -1))))
    if g_w is not None:
        scaled = times_columns(v, g_w)
        inner = scaled if inner is None else add(inner, scaled)
    return None if inner is None else _half(matmul(inner, adjoint(v)))


eigh = of_matrices("linalg_eigh(Tensor a, str UPLO='L') -> (Tensor, Tensor)", _eigh, lambda m, n: [(n,), (n, n)])
complete(eigh, autograd=pullbacks(a=_eigh_pullback))


def _eigvalsh_pullback(g: Any, a: Any, UPLO: str) -> Any:
    _, v = eigh(a, UPLO)
    return matmul(times_columns(v, g), adjoint(v))


eigvalsh = of_matrices("linalg_eigvalsh(Tensor a, str UPLO='L') -> Tensor", np.linalg.eigvalsh, lambda m, n: [(n,)])
complete(eigvalsh, autograd=pullbacks(a=_eigvalsh_pullback))


def _svd(a: Any) -> Any:
    return tuple(_NUMPY_SVD(a, full_matrices=False))


def svd_pullback(g: Any, out: Any) -> Any:
    """Compute the pullback of `a = u diag(s) vh`: torch's, of the compact factors.

    With `skew(x) = x - x^H` and `E = s_j^2 - s_i^2`,

        u [(skew(u^H Gu) s_j + s_i skew(vh Gvh^H)) / E + diag(Gs)] vh
        + (1 - u u^H) Gu / s vh + u / s Gvh (1 - vh^H vh)

    and for complex values the diagonal of `skew(u^H Gu) / (2 s)` inside the brackets.
    """
    (g_u, g_s, g_vh), (u, s, vh) = g, out
    if g_u is g_vh is None:
        return None if g_s is None else matmul(times_columns(u, g_s), vh)
    apart = gaps(square(s))
    inner = None if g_s is None else diagonal_matrix(g_s)
    if g_u is not None:
        turned = matmul(adjoint(u), g_u)
        turned = subtract(turned, adjoint(turned))
        part = divide(times_columns(turned, s), apart)
        if is_complex(u):  # `apart` has ones on the diagonal, where the phases are
            along = divide(diagonal(turned, 0, -2, -1), multiply(s, 2))
            part = add(subtract(part, diagonal_matrix(diagonal(part, 0, -2, -1))), diagonal_matrix(along))
        inner = part if inner is None else add(inner, part)
    if g_vh is not None:
        turned = matmul(vh, adjoint(g_vh))
        turned = divide(subtract(turned, adjoint(turned)), apart)
        part = multiply(expand_dims(s, -1), subtract(turned, diagonal_matrix(diagonal(turned, 0, -2, -1))))
        inner = part if inner is None else add(inner, part)
    found = matmul(u, matmul(inner, vh))
    m, n = u.shape[-2], vh.shape[-1]
    if m > n and g_u is not None:
        found = add(found, matmul(_outside(u, divide(g_u, expand_dims(s, -2))), vh))
    if n > m and g_vh is not None:
        rest = _outside(adjoint(vh), adjoint(divide(g_vh, expand_dims(s, -1))))
        found = add(found, matmul(u, adjoint(rest)))
    return found


def _outside(basis: Any, x: Any) -> Any:
    """Return the part of `x` that is orthogonal to the columns of a basis."""
    return subtract(x, matmul(basis, matmul(adjoint(basis), x)))


svd = of_matrices(
    "linalg_svd(Tensor a) -> (Tensor, Tensor, Tensor)",
    _svd,
    lambda m, n: [(m, smaller(m, n)), (smaller(m, n),), (smaller(m, n), n)],
    square=False,
)
complete(svd, autograd=pullbacks(a=svd_pullback))


def _svdvals_pulled(g: Any, a: Any) -> Any:
    u, _, vh = svd(a)
    return matmul(times_columns(u, g), vh)


def _svdvals_pulled_in_place(g: Any, a: Any) -> Any:
    u, s, vh = _NUMPY_SVD(a, full_matrices=False)
    u = np.multiply(u, g if g.ndim == 1 else g[..., None, :], out=u if g.dtype == s.dtype else None)
    return np.matmul(u, vh)


# The gradient as one call: u is nobody else's and is written into, and behind LAPACK each line of Python is out of the caches.
svdvals_pulled = composite(
    "linalg_svdvals_pulled(Tensor g, Tensor a) -> Tensor", _svdvals_pulled, numpy=_svdvals_pulled_in_place
)


svdvals = of_matrices(
    "linalg_svdvals(Tensor a) -> Tensor",
    partial(_NUMPY_SVD, compute_uv=False),
    lambda m, n: [(smaller(m, n),)],
    square=False,
)
complete(svdvals, autograd=pullbacks(a=lambda g, a: svdvals_pulled(g, a)))

# -- QR --------------------------------------------------------------------------------------------------------------------


def qr_pullback(g: Any, out: Any) -> Any:
    """Compute the pullback of `a = q r`, of matrices that are not wider than high."""
    (g_q, g_r), (q, r) = g, out
    inner = None if g_r is None else matmul(g_r, adjoint(r))
    if g_q is not None:
        part = negative(matmul(adjoint(q), g_q))
        inner = part if inner is None else add(inner, part)
    if inner is None:
        return None
    inner = triu(inner)
    inner = add(inner, adjoint(inner))
    inner = subtract(inner, diagonal_matrix(multiply(real(diagonal(inner, 0, -2, -1)), 0.5)))
    inner = matmul(q, inner)
    inner = inner if g_q is None else add(inner, g_q)
    return adjoint(solve(r, adjoint(inner)))  # inner inv(r)^H


tall_qr = of_matrices(
    "linalg_tall_qr(Tensor a) -> (Tensor, Tensor)",
    lambda a: tuple(map(np.ascontiguousarray, np.linalg.qr(a))),
    lambda m, n: [(m, n), (n, n)],
    square=False,
)
complete(tall_qr, autograd=pullbacks(a=qr_pullback))


def _qr(a: Any) -> Any:
    """`a = q r`; of a matrix wider than it is high, the first columns give q, and the others follow."""
    m, n = a.shape[-2:] if len(a.shape) > 1 else (0, 0)
    if m >= n:
        return tall_qr(a)
    q, r = tall_qr(getitem(a, (Ellipsis, slice(m))))
    rest = matmul(adjoint(q), getitem(a, (Ellipsis, slice(m, None))))
    return q, concatenate([r, rest], -1)


qr = composite(
    "linalg_qr(Tensor a) -> (Tensor, Tensor)",
    _qr,
    numpy=lambda a: tuple(np.linalg.qr(a)),
    laid_out=True,
    closed_for=lambda a: len(a.shape) > 1 and a.shape[-2] >= a.shape[-1],
    autograd=pullbacks(a=qr_pullback),
)


FUNCTIONS: dict[Any, Any] = dict([
    spelled(np.linalg.cholesky, "a upper", cholesky),
    returning(type(np.linalg.eigh(np.eye(1))), spelled(np.linalg.eigh, "a UPLO", eigh)),
    spelled(np.linalg.eigvalsh, "a UPLO", eigvalsh),
    spelled(np.linalg.svdvals, "x:a", svdvals),
])  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(eigvalsh)
