"""Polynomials and their roots: products, quotients, the roots of coefficients and the coefficients of roots.

NumPy leaves out leading zeros, so that data decide how many coefficients there are; and roots that are all real are real. The roots r of
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
from ..operators.prims import astype, stack
from . import creation, numpy_functions
from .data_dependent import distinct
from .families import aligned, composite, in_front, row
from .indexing import getitem
from .linalg.eigenvalues import numpys_eigvals
from .linalg.matmul import item_shape, matmul
from .pointwise import add, divide, multiply, negative, subtract
from .polynomial_values import as_polynomial, made, slope_at, vander
from .rearranging import atleast_1d
from .settled import settle, unsettled
from .shape import concatenate, expand_dims, real

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
    if p.ndim == 2:
        found = _of_batch(p)
    else:
        found = np.roots(p)
    return found if real else found.astype(np.result_type(found.dtype, 1j), copy=False)


def _of_batch(p: Any) -> Any:
    n = p.shape[1] - 1
    if n < 1 or not (p[:, 0].all() and p[:, -1].all()):
        return stacked("np::roots", [np.roots(x) for x in p])  # without zeros at either end, of which each item may have another number
    p = p if p.dtype.kind in "fc" else p.astype(float)
    companions = np.zeros((len(p), n, n), p.dtype)
    companions[:, np.arange(1, n), np.arange(n - 1)] = 1
    companions[:, 0] = -p[:, 1:] / p[:, :1]
    return np.linalg.eigvals(companions)


def _fake_roots(p: Any, real: bool) -> Any:
    if len(p.shape) != 1:
        np.roots(np.zeros((1,) * max(len(p.shape), 2)))  # raises NumPy's own error
    if real and p.dtype.kind != "c":
        raise unsettled("np.roots", "whether the roots of real coefficients are all real, and with them the dtype of the result,", "Write np.roots(p.astype(complex)), whose result is complex; or " + ON_REAL)
    dtype = np.roots(np.ones(2, p.dtype)).dtype
    return fake_tensor((distinct("np::roots", p, ("roots", True)),), np.result_type(dtype, 1j), None, p.device, p.mode)


def _slopes_of_roots(p: Any, out: Any) -> Any:
    """`dr / dp`, for each root and coefficient."""
    return negative(divide(vander(out, p.shape[0]), expand_dims(slope_at(p, out), -1)))


def _batched_roots(info: Any, in_dims: Any, p: Any, real: bool) -> tuple[Any, int]:
    p = in_front(p, in_dims[0])
    if len(p.shape) != 2:
        np.roots(np.zeros((1,) * len(p.shape)))  # raises NumPy's own error
    return roots(p, real=real), 0


roots: OpOverload = row(
    "roots(Tensor p, *, bool real=False) -> Tensor",
    numpy=_roots,
    fake=_fake_roots,
    autograd=pullbacks(p=lambda g, p, out: matmul(g, conjugated(_slopes_of_roots(p, settle(out))))),
    jvp=pushforwards(p=lambda t, p, out: matmul(_slopes_of_roots(p, settle(out)), t)),
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


# -- products --------------------------------------------------------------------------------------------------------------------


def _polymul(a1: Any, a2: Any) -> Any:
    if max(a1.ndim, a2.ndim) < 2:
        return np.polymul(a1, a2)
    a1, a2 = np.broadcast_arrays(a1[..., None], a2[..., None, :])
    a1, a2 = a1[..., 0], a2[..., 0, :]
    m, n = a1.shape[-1], a2.shape[-1]
    made = np.zeros((*a1.shape[:-1], m + n - 1), np.result_type(a1, a2))
    for i in range(m):
        made[..., i : i + n] += a1[..., i : i + 1] * a2
    left = {leading(x) + leading(y) for x, y in zip(a1.reshape(-1, m), a2.reshape(-1, n), strict=True)}
    if len(left) > 1:
        raise ragged("np::polymul", {m + n - 1 - zeros for zeros in left})
    return made[..., min(left) :]


def leading(p: Any) -> int:
    """Return how many leading zeros coefficients have that NumPy leaves out; of zeros alone it keeps one."""
    places = np.flatnonzero(p)
    return int(places[0]) if len(places) else max(len(p) - 1, 0)


def _fake_polymul(a1: Any, a2: Any) -> Any:
    if max(len(x.shape) for x in (a1, a2)) > 1:
        np.polymul(np.zeros((1, 1)), 1.0)  # raises NumPy's own error
    like = fake_tensor((a1.shape[0] + a2.shape[0] - 1,), np.result_type(a1.dtype, a2.dtype), None, a1.device, a1.mode)
    if like.mode is None or like.mode.shape_env is None:
        raise unsettled("np.polymul", "how many leading zeros there are, which are left out,", "Write np.convolve(a1, a2), which keeps them; or " + ON_REAL)
    return fake_tensor((distinct("np::polymul", like, ("coefficients", True)),), like.dtype, None, a1.device, a1.mode)


def with_zeros(x: Any, n: Any) -> Any:
    """Return n elements: some of x, and zeros in front of them. Of symbolic sizes nothing is asked."""
    missing = n - x.shape[0]
    return x if type(missing) is int and not missing else concatenate([creation.zeros((missing,), x.dtype), x])


def _by_factor(g: Any, other: Any, n: Any) -> Any:
    """The gradient of a product by a factor of n coefficients: `sum_j g[i + j] conj(other[j])`, of all coefficients of the product."""
    m = other.shape[0]
    g = with_zeros(g, m + n - 1)
    places = np.arange(n)[:, None] + np.arange(m)
    return matmul(numpy_functions.getitem(g, places), conjugated(other))


def _pushed(t: Any, other: Any, out: Any) -> Any:
    """The product of a tangent with the other factor, without the coefficients that the product leaves out."""
    n, m = t.shape[0], other.shape[0]
    padded = concatenate([t, creation.zeros((m,), t.dtype)])
    places = (np.arange(n + m - 1)[:, None] - np.arange(m)) % (n + m)  # behind the end, and before the start, zeros stand
    found = matmul(numpy_functions.getitem(padded, places), other)
    return getitem(found, slice(n + m - 1 - out.shape[0], None))


def _batched_polymul(info: Any, in_dims: Any, a1: Any, a2: Any) -> tuple[Any, int]:
    if max(len(item_shape(x, dim)) for x, dim in zip((a1, a2), in_dims, strict=True)) > 1:
        np.polymul(np.zeros((1, 1)), 1.0)  # raises NumPy's own error
    return polymul(*aligned(in_dims, (a1, a2))), 0


polymul: OpOverload = row(
    "polymul(Tensor a1, Tensor a2) -> Tensor",
    numpy=_polymul,
    fake=_fake_polymul,
    autograd=pullbacks(a1=lambda g, a1_shape, a2: _by_factor(g, a2, a1_shape[0]), a2=lambda g, a1, a2_shape: _by_factor(g, a1, a2_shape[0])),
    jvp=pushforwards(a1=lambda t, a2, out: _pushed(t, a2, out), a2=lambda t, a1, out: _pushed(t, a1, out)),
    vmap=_batched_polymul,
)


numpy_functions.SPELLED[polymul] = (np.polymul, {"a1": "a1", "a2": "a2"})


def numpys_polymul(a1: Any, a2: Any) -> Any:
    """`np.polymul`."""
    (a1, a2), true = as_polynomial("np.polymul", a1, a2)
    if max(len(a1.shape), len(a2.shape)) > 1:
        np.polymul(np.zeros((1, 1)), 1.0)  # raises NumPy's own error
    return made(settle(polymul(atleast_1d(a1), atleast_1d(a2))), true)


# -- quotients -------------------------------------------------------------------------------------------------------------------


def _polydiv(u: Any, v: Any) -> Any:
    """NumPy's steps; the remainder with all its coefficients, of which the first are 0 but for rounding."""
    u, v = u + 0.0, v + 0.0
    dtype = (u[0] + v[0]).dtype
    n, scale = len(v), 1.0 / v[0]
    q, r = np.zeros((max(len(u) - n + 1, 1),), dtype), u.astype(dtype)
    for k in range(len(u) - n + 1):
        q[k] = d = scale * r[k]
        r[k : k + n] -= d * v
    return q, r


def _divided(u: Any, v: Any) -> Any:
    """The same by rows."""
    u, v = add(u, 0.0), add(v, 0.0)
    n, first = v.shape[0], getitem(v, 0)
    dtype = add(getitem(u, 0), first).dtype
    scale = divide(1.0, first)
    rest = u if u.dtype == dtype else astype(u, dtype)
    quotient, done = [], []
    for _ in range(u.shape[0] - n + 1):
        d = multiply(scale, getitem(rest, 0))
        quotient.append(d)
        head = subtract(getitem(rest, slice(n)), multiply(d, v))
        done.append(getitem(head, slice(1)))
        rest = concatenate([getitem(head, slice(1, None)), getitem(rest, slice(n, None))])
    return stack(quotient) if quotient else creation.zeros((1,), dtype), concatenate([*done, rest])


polydiv = composite("polydiv(Tensor u, Tensor v) -> (Tensor, Tensor)", _divided, numpy=_polydiv)


def _remainder(r: Any) -> Any:
    """Without what is nearly 0 in front, as NumPy says; of each of a batch."""
    if r.ndim == 1:
        while np.allclose(r[0], 0, rtol=1e-14) and r.shape[-1] > 1:
            r = r[1:]
        return r.copy()
    return stacked("np::polynomial_remainder", [_remainder(x) for x in r])


def _batched_remainder(info: Any, in_dims: Any, r: Any) -> tuple[Any, int]:
    return remainder(in_front(r, in_dims[0])), 0


remainder: OpOverload = row(
    "polynomial_remainder(Tensor r) -> Tensor",
    numpy=_remainder,
    fake=lambda r: fake_tensor((distinct("np::polynomial_remainder", r, ("remainder", True)),), r.dtype, None, r.device, r.mode),
    autograd=pullbacks(r=lambda g, r_shape: with_zeros(g, r_shape[0])),
    jvp=pushforwards(r=lambda t, out: getitem(t, slice(t.shape[0] - out.shape[0], None))),
    vmap=_batched_remainder,
)


def numpys_polydiv(u: Any, v: Any) -> Any:
    """`np.polydiv`."""
    (u, v), true = as_polynomial("np.polydiv", u, v)
    q, r = polydiv(atleast_1d(u), atleast_1d(v))
    return made(q, true), made(settle(remainder(r)), true)


FUNCTIONS: dict[Any, Any] = {np.roots: numpys_roots, np.poly: poly, np.polymul: numpys_polymul, np.polydiv: numpys_polydiv}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
