"""Products and quotients of polynomials.

NumPy leaves out the leading zeros of factors and of a remainder, so that data decide how many coefficients there are.
"""

from typing import Any

import numpy as np

from ..autodiff.rules.partials import conjugated
from ..core import OpOverload
from ..errors import UnsupportedError
from ..layers.autograd import pullbacks
from ..layers.fake import fake_tensor
from ..layers.jvp import pushforwards
from ..operators.prims import astype, stack
from ..symbolic import SymInt, is_zero
from . import creation, numpy_functions
from .data_dependent import distinct
from .families import aligned, composite, in_front, row
from .indexing import getitem
from .linalg.matmul import matmul
from .pointwise import add, divide, multiply, subtract
from .polynomial_roots import ON_REAL, ragged, stacked
from .polynomial_values import as_polynomial, made
from .rearranging import atleast_1d
from .result_layouts import broadcast_shape
from .settled import settle, unsettled
from .shape import concatenate, expand_dims, reshape, squeeze

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
    like = fake_tensor((a1.shape[-1] + a2.shape[-1] - 1,), np.result_type(a1.dtype, a2.dtype), None, a1.device, a1.mode)
    if like.mode is None or like.mode.shape_env is None:
        raise unsettled("np.polymul", "how many leading zeros there are, which are left out,", "Write np.convolve(a1, a2), which keeps them; or " + ON_REAL)
    batch = broadcast_shape((a1.shape[:-1], a2.shape[:-1]))
    return fake_tensor((*batch, distinct("np::polymul", like, ("coefficients", True))), like.dtype, None, a1.device, a1.mode)


def with_zeros(x: Any, n: Any) -> Any:
    """Return n elements along the last axis: some of x, and zeros in front of them. Of symbolic sizes nothing is asked."""
    missing = n - x.shape[-1]
    return x if type(missing) is int and not missing else concatenate([creation.zeros((*x.shape[:-1], missing), x.dtype), x], -1)


def shifted(x: Any, n: Any, m: Any) -> Any:
    """The matrix of `x[i + j]`, n by m; of each of a batch."""
    return numpy_functions.getitem(x, (Ellipsis, np.arange(n)[:, None] + np.arange(m)))


def product(matrix: Any, x: Any) -> Any:
    """Return matrices times vectors."""
    return squeeze(matmul(matrix, expand_dims(x, -1)), -1)


def _by_factor(g: Any, other: Any, n: Any) -> Any:
    """The gradient of a product by a factor of n coefficients: `sum_j g[i + j] conj(other[j])`, of all coefficients of the product."""
    m = other.shape[-1]
    return product(shifted(with_zeros(g, m + n - 1), n, m), conjugated(other))


def _pushed(t: Any, other: Any, out: Any) -> Any:
    """The product of a tangent with the other factor, without the coefficients that the product leaves out."""
    n, m = t.shape[-1], other.shape[-1]
    none = creation.zeros((*t.shape[:-1], m - 1), t.dtype)
    turned = getitem(other, (Ellipsis, slice(None, None, -1)))  # sum_j t[i - m + 1 + j] other[m - 1 - j]
    found = product(shifted(concatenate([none, t, none], -1), n + m - 1, m), turned)
    return getitem(found, (Ellipsis, slice(n + m - 1 - out.shape[-1], None)))


def _batched_polymul(info: Any, in_dims: Any, a1: Any, a2: Any) -> tuple[Any, int]:
    return polymul(*aligned(in_dims, (a1, a2))), 0


polymul: OpOverload = row(
    "polymul(Tensor a1, Tensor a2) -> Tensor",
    numpy=_polymul,
    fake=_fake_polymul,
    autograd=pullbacks(a1=lambda g, a1_shape, a2: _by_factor(g, a2, a1_shape[-1]), a2=lambda g, a1, a2_shape: _by_factor(g, a1, a2_shape[-1])),
    jvp=pushforwards(a1=lambda t, a2, out: _pushed(t, a2, out), a2=lambda t, a1, out: _pushed(t, a1, out)),
    vmap=_batched_polymul,
)


numpy_functions.SPELLED[polymul] = (np.polymul, {"a1": "a1", "a2": "a2"})


def numpys_polymul(a1: Any, a2: Any) -> Any:
    """`np.polymul`."""
    (a1, a2), true = as_polynomial("np.polymul", a1, a2)
    if max(len(a1.shape), len(a2.shape)) > 1:
        np.polymul(np.zeros((1, 1)), 1.0)  # raises NumPy's own error
    a1, a2 = [creation.zeros((1,), x.dtype) if is_zero(x.shape[0]) else x for x in map(atleast_1d, (a1, a2))]  # of no coefficients NumPy makes a 0
    return made(settle(polymul(a1, a2)), true)


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
    steps = range(u.shape[0] - n + 1)
    if steps and type(rest.shape[0]) is SymInt:  # whose number the steps have asked for: a product of sizes would go through all of them
        rest = reshape(rest, (n + len(steps) - 1,))
    for _ in steps:
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
    fake=lambda r: fake_tensor((*r.shape[:-1], distinct("np::polynomial_remainder", r, ("remainder", True), r.shape[-1])), r.dtype, None, r.device, r.mode),
    autograd=pullbacks(r=lambda g, r_shape: with_zeros(g, r_shape[-1])),
    jvp=pushforwards(r=lambda t, out: getitem(t, (Ellipsis, slice(t.shape[-1] - out.shape[-1], None)))),
    vmap=_batched_remainder,
)


def numpys_polydiv(u: Any, v: Any) -> Any:
    """`np.polydiv`."""
    (u, v), true = as_polynomial("np.polydiv", u, v)
    u, v = atleast_1d(u), atleast_1d(v)
    if len(u.shape) > 1 or len(v.shape) > 1:  # which NumPy takes where its loop makes no turn
        raise UnsupportedError(
            f"np.polydiv: a polynomial has one axis, and the two here have {len(u.shape)} and {len(v.shape)}. Divide one by one at a time."
        )
    q, r = polydiv(u, v)
    return made(q, true), made(settle(remainder(r)), true)


FUNCTIONS: dict[Any, Any] = {np.polymul: numpys_polymul, np.polydiv: numpys_polydiv}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
