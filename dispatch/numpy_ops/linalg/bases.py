"""Rows of `np.linalg`: decompositions with whole bases, and the forms of `np.linalg.svd` and `np.linalg.qr`.

`svd` with `full_matrices=True` and `qr` with `mode="complete"` end in vectors u2 that complete a basis u1, any that do. With
`da` a change of `a = u1 diag(s) vh`, these follow it by `du2 = -u1 du1^H u2`, and any turning among themselves. What a loss sees of the
space that they span has a derivative, such as of the projector `u2 u2^H`; with G the gradient of u2 it is

    a = u1 diag(s) vh    -u2 G^H u1 diag(1 / s) vh
    a = q1 r             -q2 G^H q1 inv(r)^H

A loss that changes while they turn has none. `u2^H G` is then not Hermitian, and `not_turning` raises by name.

`qr` with `mode="raw"` gives R, and of the reflections `1 - tau v v^H` whose product Q is the vectors v, below the diagonal, and tau. With
v the columns of a unit lower l, the first columns q of Q are `1 - l t l1^H` (G. Ballard et al., "Reconstructing Householder vectors from
tall-skinny QR", 2015), so that `1 - q = l u` without pivots, and tau is the diagonal of u. With L and U the gradients of l and u,

    l1 u = 1 - q1, l2 u = -q2     G2 = -L2 inv(u)^H,  G1 = -inv(l1)^H (strict lower part of l1^H L1
                                       + upper part of (U - l2^H L2 inv(u)^H) u^H) inv(u)^H

is the gradient of q, and from there it is that of `qr`. Of a square matrix the last v has nothing below the diagonal, and the last tau
is 0 where values are real: 1 is added to that of u, which changes no derivative. Another tau is 0 where a column is 0 below the diagonal,
and there R jumps to the other sign: the gradient is NumPy's error of a singular matrix, as that of `qr` of dependent columns is.
"""

from typing import Any

import numpy as np

from ...autodiff.rules.partials import conjugated
from ...core import Tensor
from ...errors import GradientError
from ...layers.autograd import pullbacks
from ...layers.jvp import pushforwards
from ...operators.prims import define
from ...operators.registry import ops
from ...symbolic import guesses, smaller
from .. import numpy_functions
from ..diagonals import diagonal_matrix, eye, tril, triu
from ..families import complete, composite, in_front, row
from ..indexing import getitem
from ..numpy_functions import SPELLED
from ..pointwise import absolute, add, divide, multiply, negative, subtract
from ..pointwise_more import copysign
from ..result_layouts import fake_like
from ..row_arguments import as_value
from ..shape import concatenate, expand_dims, swapaxes
from ..sorting import argsort, sort, take_along_axis
from .decompositions import eigh, eigvalsh, qr, qr_pullback, svd, svd_pullback, svdvals, tall_qr
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


def _raw_pullback(g: Any, a: Any, out: Any) -> Any:
    (g_found, g_scales), (found, _), (m, n) = g, out, a.shape[-2:]
    k = smaller(m, n)
    square = a if m >= n else getitem(a, (Ellipsis, slice(m)))
    q, r = tall_qr(square)
    g_r = None if g_found is None else triu(getitem(g_found, (Ellipsis, slice(k), slice(k))))
    g_q = _of_reflections(_first(g_found, k), g_scales, q, _first(found, k))
    if m >= n:
        return qr_pullback((g_q, g_r), (q, r))
    if g_found is None:
        behind = ops.np.zeros_like(_last(a, m))
    else:  # the columns behind the square are q^H a
        g_behind = _last(g_found, m)
        g_q = add(g_q, matmul(_last(a, m), adjoint(g_behind)))
        behind = matmul(q, g_behind)
    return concatenate([qr_pullback((g_q, g_r), (q, r)), behind], -1)


def _of_reflections(g_found: Any, g_scales: Any, q: Any, found: Any) -> Any:
    """Return the gradient by q of the lower triangle of reflections and of their scales: the pullback of `1 - q = l u`."""
    m, k = q.shape[-2:]
    top, rest = (Ellipsis, slice(k), slice(None)), (Ellipsis, slice(k, None), slice(None))
    one = eye(k, None, 0, q.dtype)
    lower = add(tril(getitem(found, top), -1), one)
    upper = triu(solve(lower, subtract(one, getitem(q, top))))
    if m == k:
        upper = add(upper, diagonal_matrix(ops.np.astype(ops.np.equal(ops.np.arange(1, k + 1), k), q.dtype)))
    by_upper = None if g_scales is None else diagonal_matrix(g_scales)
    inner, found_rest = None, None
    if g_found is not None:
        inner = tril(matmul(adjoint(lower), tril(getitem(g_found, top), -1)), -1)
        found_rest = adjoint(solve(upper, adjoint(getitem(g_found, rest))))
        part = negative(triu(matmul(adjoint(getitem(found, rest)), found_rest)))
        by_upper = part if by_upper is None else add(by_upper, part)
    part = triu(matmul(by_upper, adjoint(upper)))
    inner = part if inner is None else add(inner, part)
    found_top = adjoint(solve(upper, adjoint(solve(adjoint(lower), inner))))
    if found_rest is None:
        found_rest = ops.np.zeros_like(getitem(q, rest))
    return negative(concatenate([found_top, found_rest], -2))


# R and the reflections that Q is the product of, and their scales.
raw_qr = row(
    "linalg_raw_qr(Tensor a) -> (Tensor, Tensor)",
    numpy=_raw,
    fake=_fake_raw,
    vmap=_batched_raw,
    autograd=pullbacks(a=_raw_pullback),
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
