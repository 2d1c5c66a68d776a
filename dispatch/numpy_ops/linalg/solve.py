"""Rows of `np.linalg`: linear systems, inverses and determinants of stacked matrices.

The derivatives are those of M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), conjugated for complex matrices as torch has them, with G the incoming gradient:

    x = inv(a) b     b: inv(a)^H G      a: -(inv(a)^H G) x^H
    y = inv(a)       -y^H G y^H, of which an inverse of lower triangles has the lower one
    y = det(a)       G conj(C), with the cofactors C, which are y inv(a)^T where that exists
    y = log |det|    G inv(a)^H

The gradient of `slogdet` needs an invertible matrix; for a singular one it raises NumPy's LinAlgError. That of `det` does not; its
second derivative is nan there.
"""

from contextlib import suppress
from typing import Any

import numpy as np

from ...autodiff.rules.partials import conjugated
from ...core import OpOverload
from ...layers.autograd import pullbacks
from ...layers.jvp import pushforwards
from ...operators.registry import ops
from ...symbolic import agree, guesses
from .. import numpy_functions
from ..diagonals import eye, tril
from ..families import aligned, attach_plain_forms, complete, composite, in_front, kernel_of, row, undispatched
from ..indexing import where
from ..numpy_functions import returning, spelled
from ..pointwise import add, conjugate, multiply, negative, subtract
from ..result_layouts import broadcast_shape
from ..shape import expand_dims, imag, squeeze, swapaxes
from .matmul import adjoint, item_shape, matmul
from .stacked import fake_stack, of_matrices, result_dtypes
from .triangles import inverse

Shape = tuple[int, ...]

# -- systems of equations --------------------------------------------------------------------------------------------------


def _solved_shape(a: Shape, b: Shape) -> Shape:
    """Return the shape of a solution. Shapes that do not fit raise NumPy's own error."""
    if len(a) > 1 and agree(a[-1], a[-2]) and b and agree(a[-1], b[0] if len(b) == 1 else b[-2]):
        if len(b) == 1:
            return a[:-1]
        with suppress(ValueError):
            return (*broadcast_shape((a[:-2], b[:-2])), *b[-2:])
    found: Shape = np.linalg.solve(np.broadcast_to(0.0, guesses(a)), np.broadcast_to(0.0, guesses(b))).shape
    return found


def _fake_solve(a: Any, b: Any) -> Any:
    shape = _solved_shape(getattr(a, "shape", ()), getattr(b, "shape", ()))
    core = 1 if len(b.shape) == 1 else 2
    dtype = result_dtypes(np.linalg.solve, (a.dtype, b.dtype))[0]
    return fake_stack(shape[: len(shape) - core], shape[len(shape) - core :], dtype, [a, b][:core])


def _of_a(g: Any, a: Any, out: Any, b_shape: Shape) -> Any:
    found = negative(_of_b(g, a, b_shape))
    if len(b_shape) == 1:
        return multiply(expand_dims(found, -1), expand_dims(conjugated(out), -2))
    return matmul(found, adjoint(out))


def _of_b(g: Any, a: Any, b_shape: Shape) -> Any:
    if len(b_shape) == 1 and len(a.shape) > 2:  # a vector for each of a stack of matrices
        return squeeze(solve(adjoint(a), expand_dims(g, -1)), -1)
    return solve(adjoint(a), g)


def _pushed_by_a(t: Any, a: Any, out: Any, b: Any) -> Any:
    if len(b.shape) == 1:
        return negative(squeeze(solve(a, matmul(t, expand_dims(out, -1))), -1))
    return negative(solve(a, matmul(t, out)))


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
    numpy=undispatched(np.linalg.solve),
    fake=_fake_solve,
    autograd=pullbacks(a=_of_a, b=_of_b),
    jvp=pushforwards(a=_pushed_by_a, b=lambda t, a: solve(a, t)),
    vmap=_batched_solve,
)

inv = of_matrices("linalg_inv(Tensor a) -> Tensor", undispatched(np.linalg.inv), lambda m, n: [(n, n)])
complete(
    inv,
    autograd=pullbacks(a=lambda g, out: negative(matmul(adjoint(out), matmul(g, adjoint(out))))),
    jvp=pushforwards(a=lambda t, out: negative(matmul(out, matmul(t, out)))),
)

BLOCK = 64  # up to this size a triangle is inverted element by element, 10 us; larger ones by products of their blocks


def _inv_lower(a: Any) -> Any:
    n = a.shape[-1] if type(a) is np.ndarray and len(a.shape) == 2 else 0
    if n <= BLOCK:
        made = inverse(a) if n else None
        return np.linalg.inv(kernel_of(tril)(a)) if made is None else made
    m = n // 2
    first, last = _inv_lower(a[:m, :m]), _inv_lower(a[m:, m:])
    made = np.zeros(a.shape, first.dtype)
    made[:m, :m], made[m:, m:] = first, last
    made[m:, :m] = -(last @ (a[m:, :m] @ first))
    return made


# Of lower triangles, what is above them not read: NumPy has no solve with a triangle, and its inverse takes six times as long.
inv_lower: OpOverload = of_matrices("linalg_inv_lower(Tensor a) -> Tensor", _inv_lower, lambda m, n: [(n, n)])
complete(
    inv_lower,
    autograd=pullbacks(a=lambda g, out: tril(negative(matmul(adjoint(out), matmul(g, adjoint(out)))))),
    jvp=pushforwards(a=lambda t, out: negative(matmul(out, matmul(tril(t), out)))),
)


def _matrix_power(a: Any, n: int) -> Any:
    if len(a.shape) < 2 or a.shape[-1] != a.shape[-2]:
        np.linalg.matrix_power(np.broadcast_to(0.0, a.shape), n)  # raises NumPy's own error
    if n == 0:
        return where(eye(a.shape[-1], None, 0, bool), ops.np.ones_like(a), ops.np.zeros_like(a))
    if n < 0:
        a, n = inv(a), -n
    if n == 3:  # NumPy's own order, by which the last bits differ
        return matmul(matmul(a, a), a)
    power, found = a, None
    while True:  # squares, and of them those that n is the sum of
        n, odd = divmod(n, 2)
        if odd:
            found = power if found is None else matmul(found, power)
        if not n:
            return found
        power = matmul(power, power)


def _power_of_one(a: Any, n: int) -> Any:
    """Return a power laid out as that of `a` is: of a matrix that has an inverse."""
    made = np.empty_like(a)
    made[...] = np.eye(a.shape[-1])
    return np.linalg.matrix_power(made, n)


matrix_power = composite(
    "linalg_matrix_power(Tensor(a) a, int n) -> Tensor(a)", _matrix_power, numpy=np.linalg.matrix_power, laid_out=_power_of_one
)

# -- determinants ----------------------------------------------------------------------------------------------------------


def _matrices(x: Any) -> Any:
    """Reshape numbers, one for each matrix of a stack, to matrices of one element; a number alone is multiplied as it is."""
    return expand_dims(x, (-2, -1)) if x.shape else x


det = of_matrices("linalg_det(Tensor a) -> Tensor", np.linalg.det, lambda m, n: [()])
complete(det, autograd=pullbacks(a=lambda g, a: multiply(_matrices(g), conjugated(cofactors(a)))))


def _cofactors(a: Any) -> Any:
    size = np.linalg.det(a)
    singular = (size == 0) & np.isfinite(a).all((-2, -1))
    if singular.any() and not singular.all():  # each as alone: the inverse is refused of one, and singular values of what is not finite
        made = np.empty(a.shape, size.dtype)
        made[singular], made[~singular] = _cofactors(a[singular]), _cofactors(a[~singular])
        return made
    if not singular.any():
        made = np.linalg.inv(a)  # whose memory, laid out as LAPACK's functions lay out a stack, takes the result
        made[...] = np.swapaxes(made, -1, -2) * size[..., None, None]
        return made
    u, s, vh = np.linalg.svd(a)
    ones = np.ones((*s.shape[:-1], 1), s.dtype)
    before = np.concatenate([ones, np.cumprod(s[..., :-1], -1)], -1)
    after = np.concatenate([np.cumprod(s[..., :0:-1], -1)[..., ::-1], ones], -1)
    turned = (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]  # whose conjugate is its inverse
    u[...] = np.conj((u * (before * after)[..., None, :]) @ vh) * turned
    return u


def _turned_cofactors(t: Any, c: Any, size: Any) -> Any:
    """`(<c, t> c - c t^T c) / det`: how cofactors follow a change of the matrix, and the transpose of that."""
    along = multiply(_matrices(ops.np.sum(multiply(c, t), (-2, -1))), c)
    return ops.np.divide(subtract(along, matmul(c, matmul(swapaxes(t, -1, -2), c))), _matrices(size))


# Of each element the determinant of what is left without its row and column: the derivative of det, of a singular matrix, too.
cofactors: OpOverload = of_matrices("linalg_cofactors(Tensor a) -> Tensor", _cofactors, lambda m, n: [(n, n)])
complete(
    cofactors,
    autograd=pullbacks(a=lambda g, a, out: _turned_cofactors(g, conjugated(out), conjugated(det(a)))),
    jvp=pushforwards(a=lambda t, a, out: _turned_cofactors(t, out, det(a))),
)

_NUMPY_SLOGDET = undispatched(np.linalg.slogdet)
slogdet = of_matrices(
    "linalg_slogdet(Tensor a) -> (Tensor, Tensor)", lambda a: tuple(_NUMPY_SLOGDET(a)), lambda m, n: [(), ()]
)


def _slogdet_pullback(g: Any, a: Any, out: Any) -> Any:
    (g_sign, g_log), sign = g, out[0]
    factor = g_log
    if g_sign is not None and sign.dtype.kind == "c":  # a sign turns with the imaginary part of the trace of inv(a) da
        turning = multiply(imag(multiply(conjugate(g_sign), sign)), -1j)
        factor = turning if g_log is None else add(g_log, turning)
    return None if factor is None else multiply(_matrices(factor), adjoint(inv(a)))


complete(slogdet, autograd=pullbacks(a=_slogdet_pullback))


FUNCTIONS: dict[Any, Any] = dict([
    spelled(np.linalg.solve, "a b", solve),
    spelled(np.linalg.inv, "a", inv),
    spelled(np.linalg.matrix_power, "a n", matrix_power),
    spelled(np.linalg.det, "a", det),
    returning(type(np.linalg.slogdet(np.eye(1))), spelled(np.linalg.slogdet, "a", slogdet)),
])  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(det, matrix_power, slogdet)
