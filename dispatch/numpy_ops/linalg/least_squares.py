"""Rows of `np.linalg`: least squares and the pseudo-inverse.

With P the pseudo-inverse of a, of the rank that `rcond` leaves it, r = b - a x and G the incoming gradient,

    x         b: P^H G     a: -(P^H G) x^H + r (P P^H G)^H + P^H x (G - a^H P^H G)^H
    r^H r     b: 2 r G     a: -2 r G x^H
    s         a: u diag(G) v^H

(G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate",
1973). The rank does not change: where it does, there is no derivative.

That is so where the singular values left out are 0 but for rounding. With a cutoff of the caller's own others are left out too, and P is
that of no nearby matrix of lower rank. It is u f(s) v^H then, with f(s) = 1 / s or 0, and of such a function of a matrix each pair of
singular values has its difference quotient (V. Noferini, "A formula for the Frechet derivative of a generalized matrix function", 2017).

NumPy gives residuals where the rank is the number of columns, and there are more rows; elsewhere none. The row gives 0 there.
`np.linalg.lstsq` leaves these out, as the data say: without data, in a fake, it takes the rank to be full, and a graph checks that.
"""

from typing import Any

import numpy as np
from numpy.linalg import _umath_linalg  # np.linalg.lstsq takes no stacks, and its ufunc does

from ...core import OpOverload
from ...core.array_memory import is_complex
from ...errors import BatchingError
from ...layers.autograd import pullbacks
from ...layers.fake import fake_tensor
from ...operators.prims import broadcast_to
from ...operators.registry import note_own_rules, ops
from ...symbolic import agree, guesses, smaller
from .. import numpy_functions
from ..diagonals import tril
from ..families import aligned, attach_plain_forms, complete, composite, in_front, row
from ..flags import NO_VALUE
from ..indexing import getitem, where
from ..pointwise import add, divide, equal, greater, multiply, negative, not_equal, subtract
from ..result_layouts import broadcast_shape
from ..row_arguments import as_item, as_value
from ..settled import settle
from ..shape import expand_dims, real, reshape, squeeze
from .decompositions import svd, times_columns
from .matmul import adjoint, matmul
from .stacked import fake_stack, of_matrices, result_dtypes

Shape = tuple[int, ...]


# -- pseudo-inverses ---------------------------------------------------------------------------------------------------------


def _pinv(a: Any, rcond: Any = None, *, hermitian: bool = False) -> Any:
    return np.linalg.pinv(a, rcond, hermitian)


ROUNDING = 1e-12  # the largest cutoff that leaves out what rounding makes of 0, and nothing else


def _pinv_pullback(g: Any, a: Any, out: Any, rcond: Any, hermitian: bool) -> Any:
    if not _leaves_out_zeros(rcond):
        found = truncated(adjoint(g), _of_lower(a) if hermitian else a, rcond)
        return multiply(add(found, adjoint(found)), 0.5) if hermitian else found
    k = matmul(adjoint(g), out)
    k_out = matmul(k, adjoint(out))
    first = subtract(k_out, adjoint(matmul(out, k)))
    inner = matmul(adjoint(out), matmul(out, subtract(adjoint(g), matmul(k, a))))
    found = add(subtract(first, matmul(a, matmul(out, k_out))), inner)
    return multiply(add(found, adjoint(found)), 0.5) if hermitian else found


def _of_lower(a: Any) -> Any:
    """Return the Hermitian matrix of a lower triangle, the only one that is read."""
    return add(tril(a), adjoint(tril(a, -1)))


def _leaves_out_zeros(rcond: Any) -> bool:
    return rcond is None or (isinstance(rcond, (int, float)) and rcond <= ROUNDING)


def truncated(m: Any, a: Any, rcond: Any) -> Any:
    """Return the gradient of `a` from that of the adjoint of its pseudo-inverse, which leaves out singular values that are not 0."""
    u, s, vh = svd(a)
    uh, v = adjoint(u), adjoint(vh)
    most = ops.np.max(s, -1, keepdims=True)
    kept = greater(s, multiply(expand_dims(rcond, -1) if hasattr(rcond, "shape") else rcond, most))
    f = where(kept, divide(1, where(kept, s, 1)), 0)
    (f_i, s_i, kept_i), (f_j, s_j, kept_j) = [[expand_dims(x, at) for x in (f, s, kept)] for at in (-1, -2)]
    mixed, both, slope = not_equal(kept_i, kept_j), multiply(f_i, f_j), multiply(f, f)
    even = where(mixed, divide(subtract(f_i, f_j), where(mixed, subtract(s_i, s_j), 1)), negative(both))
    odd = where(mixed, divide(add(f_i, f_j), where(mixed, add(s_i, s_j), 1)), both)
    um, mv = matmul(uh, m), matmul(m, v)
    inner = matmul(um, v)
    within = multiply(add(multiply(even, add(inner, adjoint(inner))), multiply(odd, subtract(inner, adjoint(inner)))), 0.5)
    rows = add(matmul(within, vh), multiply(expand_dims(slope, -1), subtract(um, matmul(inner, vh))))
    return add(matmul(u, rows), matmul(times_columns(subtract(mv, matmul(u, inner)), slope), vh))


def _check_pinv(shape: Shape, hermitian: bool) -> None:
    if len(shape) < 2 or (hermitian and not agree(shape[-1], shape[-2])):
        np.linalg.pinv(np.broadcast_to(0.0, guesses(shape)), hermitian=hermitian)  # raises NumPy's own error


def _batched_pinv(info: Any, in_dims: Any, a: Any, rcond: Any, hermitian: bool) -> tuple[Any, int]:
    """One cutoff for each matrix of a stack has the axes of the stack, which a batch is the first of."""
    a, rcond = in_front(a, in_dims[0]), in_front(rcond, in_dims[1])
    _check_pinv(a.shape[in_dims[0] is not None :], hermitian)
    if in_dims[1] is not None:
        stack = len(a.shape) - 2 - (in_dims[0] is not None)
        rcond = reshape(rcond, (rcond.shape[0], *(1,) * (stack + 1 - len(rcond.shape)), *rcond.shape[1:]))
        if in_dims[0] is None:
            a = broadcast_to(expand_dims(a, 0), (rcond.shape[0], *a.shape))
    return pinv(a, rcond, hermitian=hermitian), 0


pinv = of_matrices(
    "linalg_pinv(Tensor a, Tensor? rcond=None, *, bool hermitian=False) -> Tensor", _pinv, lambda m, n: [(n, m)], square=False,
    refuse=lambda a, rcond, hermitian: _check_pinv(a.shape, hermitian), empty=True,
)  # fmt: skip
complete(pinv, autograd=pullbacks(a=_pinv_pullback), vmap=_batched_pinv)


# -- least squares ------------------------------------------------------------------------------------------------------------


def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    if min(a.ndim, b.ndim) < 2 or a.ndim == b.ndim == 2:
        x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
        return x, residuals if residuals.size else np.zeros(b.shape[1:], residuals.dtype), rank, s
    return _of_stack(a, b, rcond)


def _of_stack(a: Any, b: Any, rcond: Any) -> Any:
    """Do what `np.linalg.lstsq` does, for each matrix of a stack."""
    m, n = a.shape[-2:]
    kinds = result_dtypes(_one, (a.dtype, b.dtype))
    signature = "DDd->Ddid" if kinds[0].kind == "c" else "ddd->ddid"
    empty = b.shape[-1] == 0  # LAPACK takes one column or more
    ufunc = getattr(_umath_linalg, "lstsq", None) or getattr(_umath_linalg, "lstsq_m" if m <= n else "lstsq_n")  # NumPy 2.0 has two
    given = np.zeros((*b.shape[:-1], 1), b.dtype) if empty else b
    with np.errstate(call=_not_converged, invalid="call", over="ignore", divide="ignore", under="ignore"):
        found = ufunc(a, given, np.finfo(float).eps * max(m, n) if rcond is None else rcond, signature=signature)
    made = [np.asarray(value).astype(kind, copy=False) for value, kind in zip(found, kinds, strict=True)]
    made[1][(made[2] != n) | (m <= n)] = 0  # where NumPy gives none
    if m == 0:
        made[0][...] = 0
    if empty:
        made[0], made[1] = made[0][..., :0], made[1][..., :0]
    return tuple(made)


def _not_converged(error: str, flag: int) -> None:
    raise np.linalg.LinAlgError("SVD did not converge in Linear Least Squares")  # np.linalg.lstsq's own


def _one(a: Any, b: Any) -> Any:
    return tuple([np.asarray(x) for x in np.linalg.lstsq(a, b, None)])


def _check(a: Any, b: Any) -> None:
    if len(a) < 2 or len(b) < 2 or not agree(a[-2], b[-2]):
        np.linalg.lstsq(np.broadcast_to(0.0, guesses(a)), np.broadcast_to(0.0, guesses(b)))  # raises NumPy's own error


def _fake(a: Any, b: Any, rcond: Any) -> Any:
    _check(a.shape, b.shape)
    (m, n), k = a.shape[-2:], b.shape[-1]
    stack = broadcast_shape((a.shape[:-2], b.shape[:-2]))
    dtypes = result_dtypes(_one, (a.dtype, b.dtype))
    return tuple([fake_stack(stack, core, kind, [a, b]) for core, kind in zip([(n, k), (k,), (), (smaller(m, n),)], dtypes, strict=True)])


def _batched(info: Any, in_dims: Any, a: Any, b: Any, rcond: Any) -> Any:
    a, b = in_front(a, in_dims[0]), in_front(b, in_dims[1])
    _check(a.shape[in_dims[0] is not None :], b.shape[in_dims[1] is not None :])
    batched = tuple([None if dim is None else 0 for dim in in_dims[:2]])
    return lstsq(*aligned(batched, (a, b)), rcond), (0, 0, 0, 0)


lstsq: OpOverload = row(
    "linalg_lstsq(Tensor a, Tensor b, float? rcond=None) -> (Tensor, Tensor, Tensor, Tensor)", numpy=_lstsq, fake=_fake, vmap=_batched
)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    a, b, ctx.rcond = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(a, b, output[0], output[2])


def _backward(ctx: Any, g_x: Any, g_residuals: Any, g_rank: Any, g_s: Any) -> Any:
    a, b, x, rank = ctx.saved_tensors
    of_a: list[Any] = []
    of_b: list[Any] = []
    rest = subtract(b, matmul(a, x))
    if g_x is not None:
        inverse = pinv(a, cutoff(a, ctx.rcond))
        y = matmul(adjoint(inverse), g_x)
        of_b.append(y)
        if _leaves_out_zeros(ctx.rcond):
            of_a += [negative(matmul(y, adjoint(x))), matmul(rest, adjoint(matmul(inverse, y)))]
            of_a.append(matmul(matmul(adjoint(inverse), x), adjoint(subtract(g_x, matmul(adjoint(a), y)))))
        else:
            of_a.append(truncated(matmul(b, adjoint(g_x)), a, ctx.rcond))
    if g_residuals is not None:
        full = expand_dims(equal(rank, a.shape[-1]), -1)
        y = times_columns(rest, multiply(where(full, g_residuals, 0.0), 2.0))
        of_b.append(y)
        of_a.append(negative(matmul(y, adjoint(x))))
    if g_s is not None:
        u, _, vh = svd(a)
        of_a.append(matmul(times_columns(u, g_s), vh))
    return _of_dtype(_sum(of_a), a), _of_dtype(_sum(of_b), b)


def _of_dtype(g: Any, x: Any) -> Any:
    """Return a gradient of a real argument: of a complex one with it the real part counts."""
    return real(g) if g is not None and is_complex(g) and not is_complex(x) else g


def _sum(parts: list[Any]) -> Any:
    found = parts[0] if parts else None
    for part in parts[1:]:
        found = add(found, part)
    return found


def cutoff(a: Any, rcond: float | None) -> Any:
    """Return what `np.linalg.pinv` takes for the `rcond` of `np.linalg.lstsq`."""
    eps = float(np.finfo(float).eps)
    if rcond is None:
        return eps * max(guesses(a.shape[-2:]))
    return eps if rcond < 0 else rcond  # of less than 0 LAPACK takes its own


lstsq.register_autograd(_backward, setup_context=_keep)
note_own_rules(lstsq)


def _residuals(found: Any, rank: Any, n: int) -> Any:
    full = np.asarray(rank) == n
    if full.all():
        return found.copy()
    if full.any():
        raise BatchingError(
            f"np.linalg.lstsq: of {full.size} matrices in a batch, {full.sum()} have the rank {n}, and NumPy gives residuals of these "
            "alone, which make no batch. Write np.linalg.pinv(a) @ b for the solutions.",
            operator="np::linalg_residuals",
        )
    return np.empty((*found.shape[:-1], 0), found.dtype)


def _batched_residuals(info: Any, in_dims: Any, found: Any, rank: Any, n: int) -> Any:
    found, rank = in_front(found, in_dims[0]), in_front(rank, in_dims[1])
    if in_dims[0] is None:
        found = broadcast_to(found, (info.batch_size, *found.shape))
    return residuals(found, rank, n), 0


# The residuals that np.linalg.lstsq returns: all of them or none.
residuals: OpOverload = row(
    "linalg_residuals(Tensor found, Tensor rank, SymInt n) -> Tensor",
    numpy=_residuals,
    fake=lambda found, rank, n: fake_tensor(found.shape, found.dtype, None, found.device, found.mode),
    vmap=_batched_residuals,
    autograd=pullbacks(found=lambda g, found: g if agree(g.shape[-1], found.shape[-1]) else ops.np.zeros_like(found)),
)


def _solved(a: Any, b: Any, rcond: Any = None) -> Any:
    vector = len(b.shape) == 1
    x, found, rank, s = lstsq(a, expand_dims(b, 1) if vector else b, rcond)
    m, n = a.shape
    return squeeze(x, -1) if vector else x, residuals(found, rank, n) if m > n else getitem(found, slice(0, 0)), rank, s


# What np.linalg.lstsq returns, one node of a graph.
solved = composite(
    "linalg_solved(Tensor a, Tensor b, float? rcond=None) -> (Tensor, Tensor, Tensor, Tensor)", _solved,
    numpy=lambda a, b, rcond: np.linalg.lstsq(a, b, rcond),
)  # fmt: skip


def numpys_lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """`np.linalg.lstsq`."""
    a, b = as_item(as_value(a)), as_item(as_value(b))
    if len(a.shape) != 2 or len(b.shape) > 2:
        np.linalg.lstsq(np.broadcast_to(0.0, guesses(a.shape)), np.broadcast_to(0.0, guesses(b.shape)))  # raises NumPy's own error
    x, found, rank, s = solved(a, b, None if rcond is None else float(rcond))
    return x, settle(found) if a.shape[0] > a.shape[1] else found, rank, s


def numpys_pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NO_VALUE) -> Any:
    """`np.linalg.pinv`."""
    a, rcond, rtol = map(as_value, (a, rcond, rtol))
    if rtol is not NO_VALUE and rcond is not None:
        np.linalg.pinv(np.eye(1), 0.0, rtol=0.0)  # raises NumPy's own error
    if rtol is None:
        rcond = max(guesses(a.shape[-2:])) * np.finfo(a.dtype).eps
    return pinv(a, rcond if rtol is None or rtol is NO_VALUE else rtol, hermitian=bool(hermitian))


FUNCTIONS: dict[Any, Any] = {np.linalg.lstsq: numpys_lstsq, np.linalg.pinv: numpys_pinv}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
    numpy_functions.spell(np.linalg.pinv, "a rcond hermitian", pinv)

attach_plain_forms(solved)
