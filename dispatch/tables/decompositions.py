"""Rows of `np.linalg`: systems of equations, determinants, factors and spectra of matrices in stacks.

The derivatives are those of M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), and for complex matrices what torch makes of them, with G the gradient that comes in:

    x = inv(a) b     b: inv(a)^H G      a: -(inv(a)^H G) x^H
    inv(a)           -y^H G y^H
    det, log |det|   G conj(y) inv(a)^H,  G inv(a)^H
    a = l l^H        the Hermitian part of inv(l)^H P(l^H G) inv(l); P keeps the lower triangle and half the diagonal
                     (I. Murray, "Differentiation of the Cholesky decomposition", 2016)
    a = v w v^H      v (diag(Gw) + v^H Gv / (w_j - w_i)) v^H, its Hermitian part
    a = u s v^H      see `_svd_backward`
    a = q r          (Gq + q sym(triu(Gr r^H - q^H Gq))) inv(r)^H
    pinv(a)          G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses" (1973)

`cholesky`, `eigh` and `eigvalsh` are functions of a Hermitian matrix, of which NumPy reads one triangle. Their gradients are
Hermitian, as JAX has them, and torch where the loss depends on the matrix through a Hermitian one. Eigenvectors and singular
vectors have a free sign or phase; a loss must not depend on it.
"""

from contextlib import suppress
from typing import Any

import numpy as np

from ..core import OpOverload
from ..operators import ops
from ..tape import pullbacks
from .diagonals import diagonal, diagonal_matrix, eye, tril, triu
from .families import aligned, complete, composite, in_front, row
from .indexing import getitem
from .linalg import adjoint, item_shape, matmul
from .pointwise import add, conjugate, divide, multiply, negative, square, subtract
from .shape import concatenate, expand_dims, imag, real, squeeze, swapaxes
from .stacked import fake_stack, of_matrices, result_dtypes

Shape = tuple[int, ...]


def _half(x: Any) -> Any:
    """The Hermitian part."""
    return multiply(add(x, adjoint(x)), 0.5)


def _times_columns(x: Any, by: Any) -> Any:
    """Matrices with each column multiplied by a number."""
    return multiply(x, expand_dims(by, -2))


# -- systems of equations --------------------------------------------------------------------------------------------------


def _solved_shape(a: Shape, b: Shape) -> Shape:
    """The shape of a solution. Shapes that do not fit raise in NumPy's own words."""
    if len(a) > 1 and a[-1] == a[-2] and b and a[-1] == (b[0] if len(b) == 1 else b[-2]):
        if len(b) == 1:
            return a[:-1]
        with suppress(ValueError):
            return (*np.broadcast_shapes(a[:-2], b[:-2]), *b[-2:])
    found: Shape = np.linalg.solve(np.broadcast_to(0.0, a), np.broadcast_to(0.0, b)).shape
    return found


def _fake_solve(a: Any, b: Any) -> Any:
    shape = _solved_shape(getattr(a, "shape", ()), getattr(b, "shape", ()))
    core = 1 if len(b.shape) == 1 else 2
    dtype = result_dtypes(np.linalg.solve, (a.dtype, b.dtype))[0]
    return fake_stack(shape[: len(shape) - core], shape[len(shape) - core :], dtype, [a, b][:core])


def _of_a(g: Any, a: Any, out: Any, b_shape: Shape) -> Any:
    if len(b_shape) == 1:
        g, out = expand_dims(g, -1), expand_dims(out, -1)
    return negative(matmul(solve(adjoint(a), g), adjoint(out)))


def _of_b(g: Any, a: Any, b_shape: Shape) -> Any:
    if len(b_shape) == 1:
        return squeeze(solve(adjoint(a), expand_dims(g, -1)), -1)
    return solve(adjoint(a), g)


def _batched_solve(info: Any, in_dims: Any, a: Any, b: Any) -> tuple[Any, int]:
    of_a, of_b = item_shape(a, in_dims[0]), item_shape(b, in_dims[1])
    _solved_shape(of_a, of_b)
    a, b = in_front(a, in_dims[0]), in_front(b, in_dims[1])
    if len(of_b) > 1:
        return solve(*aligned(tuple([None if dim is None else 0 for dim in in_dims]), (a, b))), 0
    if in_dims[0] is None and len(of_a) == 2:  # one factorisation for all right-hand sides
        return solve(a, swapaxes(b, 0, 1)), 1
    b = expand_dims(b, -1)
    return squeeze(solve(*aligned(tuple([None if dim is None else 0 for dim in in_dims]), (a, b))), -1), 0


solve: OpOverload = row(
    "linalg_solve(Tensor a, Tensor b) -> Tensor",
    numpy=np.linalg.solve,
    fake=_fake_solve,
    autograd=pullbacks(a=_of_a, b=_of_b),
    vmap=_batched_solve,
)

inv = of_matrices("linalg_inv(Tensor a) -> Tensor", np.linalg.inv, lambda m, n: [(n, n)])
complete(inv, autograd=pullbacks(a=lambda g, out: negative(matmul(adjoint(out), matmul(g, adjoint(out))))))


def _pinv(a: Any, rcond: Any = None) -> Any:
    return np.linalg.pinv(a) if rcond is None else np.linalg.pinv(a, rcond)


def _pinv_pullback(g: Any, a: Any, out: Any) -> Any:
    k = matmul(adjoint(g), out)
    k_out = matmul(k, adjoint(out))
    first = subtract(k_out, adjoint(matmul(out, k)))
    inner = matmul(adjoint(out), matmul(out, subtract(adjoint(g), matmul(k, a))))
    return add(subtract(first, matmul(a, matmul(out, k_out))), inner)


pinv = of_matrices(
    "linalg_pinv(Tensor a, float? rcond=None) -> Tensor", _pinv, lambda m, n: [(n, m)], square=False
)
complete(pinv, autograd=pullbacks(a=_pinv_pullback))


def _matrix_power(a: Any, n: int) -> Any:
    if len(a.shape) < 2 or a.shape[-1] != a.shape[-2]:
        np.linalg.matrix_power(np.broadcast_to(0.0, a.shape), n)  # raises in NumPy's own words
    if n == 0:
        return add(ops.np.zeros_like(a), eye(a.shape[-1], None, 0, a.dtype))
    if n < 0:
        a, n = inv(a), -n
    power, found = a, None
    while True:  # squares, and of them those that n is the sum of
        n, odd = divmod(n, 2)
        if odd:
            found = power if found is None else matmul(found, power)
        if not n:
            return found
        power = matmul(power, power)


matrix_power = composite("linalg_matrix_power(Tensor(a) a, int n) -> Tensor(a)", _matrix_power)

# -- determinants ----------------------------------------------------------------------------------------------------------


def _matrices(x: Any) -> Any:
    """Numbers, one for each matrix of a stack, as matrices of one element."""
    return expand_dims(x, (-2, -1))


det = of_matrices("linalg_det(Tensor a) -> Tensor", np.linalg.det, lambda m, n: [()])
complete(
    det,
    autograd=pullbacks(a=lambda g, a, out: multiply(_matrices(multiply(g, conjugate(out))), adjoint(inv(a)))),
)

slogdet = of_matrices(
    "linalg_slogdet(Tensor a) -> (Tensor, Tensor)", lambda a: tuple(np.linalg.slogdet(a)), lambda m, n: [(), ()]
)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(inputs[0], *output)


def _slogdet_backward(ctx: Any, g_sign: Any, g_log: Any) -> Any:
    a, sign, _ = ctx.saved_tensors
    factor = g_log
    if g_sign is not None and sign.dtype.kind == "c":  # a sign turns with the imaginary part of the trace of inv(a) da
        turning = multiply(imag(multiply(conjugate(g_sign), sign)), -1j)
        factor = turning if g_log is None else add(g_log, turning)
    return None if factor is None else multiply(_matrices(factor), adjoint(inv(a)))


slogdet.register_autograd(_slogdet_backward, setup_context=_keep)

# -- Cholesky --------------------------------------------------------------------------------------------------------------


def _cholesky(a: Any, *, upper: bool = False) -> Any:
    return np.linalg.cholesky(a, upper=upper)


def _cholesky_pullback(g: Any, out: Any, upper: bool) -> Any:
    if upper:
        g, out = adjoint(g), adjoint(out)
    inner = matmul(adjoint(out), g)
    inner = multiply(add(tril(inner), tril(inner, -1)), 0.5)
    left = solve(adjoint(out), inner)
    return _half(adjoint(solve(adjoint(out), adjoint(left))))


cholesky = of_matrices(
    "linalg_cholesky(Tensor a, *, bool upper=False) -> Tensor", _cholesky, lambda m, n: [(n, n)]
)
complete(cholesky, autograd=pullbacks(a=_cholesky_pullback))

# -- spectra ---------------------------------------------------------------------------------------------------------------


def _eigh(a: Any, UPLO: Any = "L") -> Any:
    return tuple(np.linalg.eigh(a, UPLO))


def _gaps(w: Any) -> Any:
    """The differences of all pairs of numbers, `w[j] - w[i]`, with 1 on the diagonal."""
    return add(subtract(expand_dims(w, -2), expand_dims(w, -1)), eye(w.shape[-1], None, 0, w.dtype))


def _eigh_backward(ctx: Any, g_w: Any, g_v: Any) -> Any:
    _, w, v = ctx.saved_tensors
    inner = None
    if g_v is not None:
        turned = divide(matmul(adjoint(v), g_v), _gaps(w))
        inner = matmul(v, subtract(turned, diagonal_matrix(diagonal(turned, 0, -2, -1))))
    if g_w is not None:
        scaled = _times_columns(v, g_w)
        inner = scaled if inner is None else add(inner, scaled)
    return (None if inner is None else _half(matmul(inner, adjoint(v)))), None


eigh = of_matrices(
    "linalg_eigh(Tensor a, str UPLO='L') -> (Tensor, Tensor)", _eigh, lambda m, n: [(n,), (n, n)]
)
eigh.register_autograd(_eigh_backward, setup_context=_keep)


def _eigvalsh_pullback(g: Any, a: Any, UPLO: str) -> Any:
    _, v = eigh(a, UPLO)
    return matmul(_times_columns(v, g), adjoint(v))


eigvalsh = of_matrices("linalg_eigvalsh(Tensor a, str UPLO='L') -> Tensor", np.linalg.eigvalsh, lambda m, n: [(n,)])
complete(eigvalsh, autograd=pullbacks(a=_eigvalsh_pullback))


def _svd(a: Any) -> Any:
    return tuple(np.linalg.svd(a, full_matrices=False))


def _svd_backward(ctx: Any, g_u: Any, g_s: Any, g_vh: Any) -> Any:
    """The pullback of `a = u diag(s) vh`: torch's, of the compact factors.

    With `skew(x) = x - x^H` and `E = s_j^2 - s_i^2`,

        u [(skew(u^H Gu) s_j + s_i skew(vh Gvh^H)) / E + diag(Gs)] vh
        + (1 - u u^H) Gu / s vh + u / s Gvh (1 - vh^H vh)

    and for complex values the diagonal of `skew(u^H Gu) / (2 s)` inside the brackets.
    """
    a, u, s, vh = ctx.saved_tensors
    if g_u is None and g_s is None and g_vh is None:
        return None
    gaps = _gaps(square(s))
    inner = None if g_s is None else diagonal_matrix(g_s)
    if g_u is not None:
        turned = matmul(adjoint(u), g_u)
        turned = subtract(turned, adjoint(turned))
        part = divide(_times_columns(turned, s), gaps)
        if a.dtype.kind == "c":  # `gaps` has ones on the diagonal, where the phases are
            along = divide(diagonal(turned, 0, -2, -1), multiply(s, 2))
            part = add(subtract(part, diagonal_matrix(diagonal(part, 0, -2, -1))), diagonal_matrix(along))
        inner = part if inner is None else add(inner, part)
    if g_vh is not None:
        turned = matmul(vh, adjoint(g_vh))
        turned = divide(subtract(turned, adjoint(turned)), gaps)
        part = multiply(expand_dims(s, -1), subtract(turned, diagonal_matrix(diagonal(turned, 0, -2, -1))))
        inner = part if inner is None else add(inner, part)
    found = matmul(u, matmul(inner, vh))
    m, n = a.shape[-2:]
    if m > n and g_u is not None:
        found = add(found, matmul(_outside(u, divide(g_u, expand_dims(s, -2))), vh))
    if n > m and g_vh is not None:
        rest = _outside(adjoint(vh), adjoint(divide(g_vh, expand_dims(s, -1))))
        found = add(found, matmul(u, adjoint(rest)))
    return found


def _outside(basis: Any, x: Any) -> Any:
    """What of `x` is orthogonal to the columns of a basis."""
    return subtract(x, matmul(basis, matmul(adjoint(basis), x)))


svd = of_matrices(
    "linalg_svd(Tensor a) -> (Tensor, Tensor, Tensor)",
    _svd,
    lambda m, n: [(m, min(m, n)), (min(m, n),), (min(m, n), n)],
    square=False,
)
svd.register_autograd(_svd_backward, setup_context=_keep)


def _svdvals_pullback(g: Any, a: Any) -> Any:
    u, _, vh = svd(a)
    return matmul(_times_columns(u, g), vh)


svdvals = of_matrices(
    "linalg_svdvals(Tensor a) -> Tensor",
    lambda a: np.linalg.svd(a, compute_uv=False),
    lambda m, n: [(min(m, n),)],
    square=False,
)
complete(svdvals, autograd=pullbacks(a=_svdvals_pullback))

# -- QR --------------------------------------------------------------------------------------------------------------------


def _qr_backward(ctx: Any, g_q: Any, g_r: Any) -> Any:
    _, q, r = ctx.saved_tensors
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
tall_qr.register_autograd(_qr_backward, setup_context=_keep)


def _qr(a: Any) -> Any:
    """`a = q r`; of a matrix wider than it is high, the first columns give q, and the others follow."""
    m, n = a.shape[-2:] if len(a.shape) > 1 else (0, 0)
    if m >= n:
        return tall_qr(a)
    q, r = tall_qr(getitem(a, (Ellipsis, slice(m))))
    rest = matmul(adjoint(q), getitem(a, (Ellipsis, slice(m, None))))
    return q, concatenate([r, rest], -1)


qr = composite("linalg_qr(Tensor a) -> (Tensor, Tensor)", _qr)
