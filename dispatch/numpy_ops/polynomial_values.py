"""Polynomials: their values, powers of numbers, sums, derivatives, integrals and fits.

`polyval` and `vander` are rows, with derivatives in closed form; by p, the coefficients, the value of a polynomial has the powers of x, by x
the value of its derivative. The others take NumPy's own steps with rows. `np.poly1d` holds an array, and so no Tensor.
"""

from typing import Any

import numpy as np
from numpy.exceptions import RankWarning

from ..autodiff.rules.partials import conjugated
from ..core import OpOverload, Tensor
from ..errors import UnsupportedError
from ..layers.autograd import pullbacks
from ..layers.fake import FakeTensor, fake_tensor
from ..layers.jvp import pushforwards
from ..operators.prims import astype, broadcast_to, sum_to
from ..operators.registry import ops
from ..symbolic import agreeing, guesses, is_zero
from . import creation, numpy_functions
from .data_checks import warned
from .families import in_front, row
from .indexing import getitem
from .linalg import einsum
from .linalg.least_squares import numpys_lstsq
from .linalg.matmul import item_shape, matmul
from .linalg.solve import inv
from .pointwise import add, divide, multiply, not_equal, sqrt, subtract
from .rearranging import atleast_1d
from .reduction import sum as total
from .result_layouts import elementwise, fake_like
from .row_arguments import as_item, as_value
from .shape import concatenate, expand_dims, reshape, transpose

ALL = slice(None)


def as_polynomial(spelling: str, *values: Any) -> tuple[list[Any], bool]:
    """Return values as arrays or Tensors, and whether one is a `np.poly1d`, which the result has to be too."""
    true = any(isinstance(x, np.poly1d) for x in values)
    found = [x.coeffs if isinstance(x, np.poly1d) else as_item(as_value(x)) for x in values]
    if true and any(isinstance(x, Tensor) for x in found):
        raise UnsupportedError(
            f"{spelling} of a poly1d is one, and a poly1d holds an array, which cannot hold what a Tensor tracks. Write p.coeffs for the poly1d p."
        )
    return found, true


def made(value: Any, true: bool) -> Any:
    """Return a result as a `np.poly1d` where one is asked for."""
    return np.poly1d(value) if true else value


# -- powers --------------------------------------------------------------------------------------------------------------------


def _fake_vander(x: Any, N: Any, increasing: bool) -> Any:
    if len(x.shape) != 1 or (type(N) is int and N < 0):
        np.vander(np.zeros((1,) * len(x.shape)), N)  # raises NumPy's own error
    dtype = np.promote_types(x.dtype, int)
    return fake_tensor((x.shape[0], x.shape[0] if N is None else N), dtype, None, x.device, x.mode)


def _slopes(x: Any, n: Any, increasing: bool) -> Any:
    """The derivatives of n powers of numbers, but for that of the power 0."""
    first, last, step = (1, n, 1) if increasing else (n - 1, 0, -1)
    return multiply(vander(x, n - 1, increasing), creation.arange(first, last, step, x.dtype))


def _rest(increasing: bool) -> Any:
    """Where all powers but 0 are."""
    return (ALL, slice(1, None)) if increasing else (ALL, slice(None, -1))


def _vander_pullback(g: Any, x: Any, increasing: bool) -> Any:
    n = g.shape[1]
    if is_zero(n):
        return total(g, 1)
    return total(multiply(getitem(g, _rest(increasing)), conjugated(_slopes(x, n, increasing))), 1)


def _vander_pushforward(t: Any, x: Any, N: Any, increasing: bool) -> Any:
    n = x.shape[0] if N is None else N
    if is_zero(n):
        return multiply(expand_dims(t, 1), vander(x, 0))
    moved = multiply(expand_dims(t, 1), _slopes(x, n, increasing))
    none = multiply(expand_dims(t, 1), 0)
    return concatenate([none, moved] if increasing else [moved, none], 1)


def _batched_vander(info: Any, in_dims: Any, x: Any, N: Any, increasing: bool) -> tuple[Any, int]:
    x = in_front(x, in_dims[0])
    if len(x.shape) != 2:
        np.vander(np.zeros((1,) * (len(x.shape) - 1)), N)  # raises NumPy's own error
    n = x.shape[1] if N is None else N
    return reshape(vander(reshape(x, (x.shape[0] * x.shape[1],)), n, increasing), (*x.shape, n)), 0


vander: OpOverload = row(
    "vander(Tensor x, SymInt? N=None, bool increasing=False) -> Tensor",
    numpy=np.vander,
    fake=_fake_vander,
    autograd=pullbacks(x=_vander_pullback),
    jvp=pushforwards(x=_vander_pushforward),
    vmap=_batched_vander,
)


# -- values --------------------------------------------------------------------------------------------------------------------


def _value_dtype(p: Any, x: Any) -> Any:
    return np.polyval(np.zeros(1, p), np.zeros(1, x)).dtype


def _fake_polyval(p: Any, x: Any) -> Any:
    if not isinstance(x, FakeTensor):
        x = fake_tensor((), np.asarray(x).dtype, None, p.device, p.mode)
    if not getattr(p, "shape", ()):
        np.polyval(np.zeros(()), 0.0)  # raises NumPy's own error
    if is_zero(p.shape[0]):
        return elementwise(x.dtype, [x])
    terms = [fake_like(x, x.dtype)]  # of the zeros that it begins with
    terms += [] if len(p.shape) == 1 else [fake_tensor(p.shape[1:], p.dtype, p.strides[1:], p.device, p.mode)]
    return elementwise(_value_dtype(p.dtype, x.dtype), terms)


def _derivative(p: Any) -> Any:
    """The coefficients of the derivative of a polynomial; of an array of several axes each column is one."""
    n = p.shape[0]
    return multiply(getitem(p, slice(None, -1)), reshape(creation.arange(n - 1, 0, -1, np.promote_types(p.dtype, np.int8)), (n - 1, *(1,) * (len(p.shape) - 1))))


def _powers(x: Any, n: Any) -> Any:
    """The powers of numbers that coefficients are multiplied by, along a new first axis."""
    return reshape(transpose(vander(reshape(x, (-1,)), n)), (n, *x.shape))


def _of_coefficients(g: Any, p_shape: Any, x: Any) -> Any:
    x = x if hasattr(x, "shape") else reshape(creation.full((1,), x), ())
    n = p_shape[0]
    if len(p_shape) == 1:
        return matmul(reshape(g, (-1,)), conjugated(vander(reshape(x, (-1,)), n)))
    found = multiply(expand_dims(g, 0), conjugated(expand_dims(_powers(x, n), tuple(range(1, 1 + len(g.shape) - len(x.shape))))))
    return reshape(sum_to(found, (n, *(1,) * (len(g.shape) - len(p_shape) + 1), *p_shape[1:])), p_shape)


def _by_coefficients(t: Any, x: Any) -> Any:
    """The value of a polynomial by its powers: Horner's first step, `0 * x`, makes nan of inf."""
    x = x if hasattr(x, "shape") else reshape(creation.full((1,), x), ())
    n = t.shape[0]
    if len(t.shape) == 1:
        return reshape(matmul(vander(reshape(x, (-1,)), n), t), x.shape)
    ndim = max(len(x.shape), len(t.shape) - 1)
    t = reshape(t, (n, *(1,) * (ndim - len(t.shape) + 1), *t.shape[1:]))
    return total(multiply(_powers(reshape(x, (*(1,) * (ndim - len(x.shape)), *x.shape)), n), t), 0)


def slope_at(p: Any, x: Any) -> Any:
    """Return the value of a polynomial's derivative."""
    return ops.np.zeros_like(as_item(x)) if is_zero(p.shape[0]) else polyval(_derivative(p), x)


def _batched_polyval(info: Any, in_dims: Any, p: Any, x: Any) -> tuple[Any, int]:
    of_p, of_x = item_shape(p, in_dims[0]), item_shape(x, in_dims[1])
    if not of_p:
        np.polyval(np.zeros(()), 0.0)  # raises NumPy's own error
    ndim = max(len(of_p) - 1, len(of_x))
    if in_dims[0] is not None:
        p = in_front(p, in_dims[0])
        p = reshape(transpose(p, (1, 0, *range(2, len(p.shape)))), (of_p[0], p.shape[0], *(1,) * (ndim - len(of_p) + 1), *of_p[1:]))
    if in_dims[1] is not None:
        x = in_front(x, in_dims[1])
        x = reshape(x, (x.shape[0], *(1,) * (ndim - len(of_x)), *of_x))
    elif is_zero(of_p[0]):
        x = broadcast_to(as_item(x), (info.batch_size, *of_x))
    return polyval(p, x), 0


polyval: OpOverload = row(
    "polyval(Tensor p, Tensor x) -> Tensor",
    numpy=np.polyval,
    fake=_fake_polyval,
    autograd=pullbacks(p=_of_coefficients, x=lambda g, p, x: multiply(g, conjugated(slope_at(p, x)))),
    jvp=pushforwards(p=_by_coefficients, x=lambda t, p, x: multiply(t, slope_at(p, x))),
    vmap=_batched_polyval,
)


numpy_functions.SPELLED[polyval] = (np.polyval, {"p": "p", "x": "x"})


def numpys_polyval(p: Any, x: Any) -> Any:
    """`np.polyval`."""
    if isinstance(x, np.poly1d):
        as_polynomial("np.polyval", p, x)
        return np.polyval(p, x)
    p, x = [v.coeffs if isinstance(v, np.poly1d) else as_item(as_value(v)) for v in (p, x)]
    return polyval(p, x)


# -- several variables ---------------------------------------------------------------------------------------------------------


def _ascending(x: Any, c: Any, *, tensor: bool = True) -> Any:
    """`np.polynomial.polynomial.polyval`, whose coefficients begin with the constant."""
    c = atleast_1d(as_item(as_value(c)))
    c = add(c, 0.0) if c.dtype.kind in "?biu" else c
    x = as_item(as_value(x)) if isinstance(x, (list, tuple)) else x
    if isinstance(x, (Tensor, np.ndarray)) and tensor:
        c = reshape(c, (*c.shape, *(1,) * len(x.shape)))
    found = c[-1] + x * 0
    for i in range(2, c.shape[0] + 1):
        found = c[-i] + found * x
    return found


def polyvalnd(pts: Any, c: Any) -> Any:
    """`np.polynomial.polynomial.polyvalnd`."""
    pts = [as_item(as_value(x)) for x in pts]
    if not agreeing([x.shape for x in pts]):
        names = {2: "x, y", 3: "x, y, z"}.get(len(pts), "ordinates")
        raise ValueError(f"{names} are incompatible")  # NumPy's own
    c = _ascending(pts[0], c)
    for x in pts[1:]:
        c = _ascending(x, c, tensor=False)
    return c


def polygrid2d(x: Any, y: Any, c: Any) -> Any:
    """`np.polynomial.polynomial.polygrid2d`."""
    return _ascending(y, _ascending(x, c))


# -- sums, derivatives, integrals ----------------------------------------------------------------------------------------------


def _combined(spelling: str, op: OpOverload) -> Any:
    def run(a1: Any, a2: Any) -> Any:
        (a1, a2), true = as_polynomial(spelling, a1, a2)
        a1, a2 = atleast_1d(a1), atleast_1d(a2)
        missing = a2.shape[0] - a1.shape[0]
        if missing > 0:
            a1 = concatenate([creation.zeros((missing,), a1.dtype), a1])
        elif missing < 0:
            a2 = concatenate([creation.zeros((-missing,), a2.dtype), a2])
        return made(op(a1, a2), true)

    return run


def polyder(p: Any, m: Any = 1) -> Any:
    """`np.polyder`."""
    m = int(m)
    if m < 0:
        np.polyder([1.0], m)  # raises NumPy's own error
    (p,), true = as_polynomial("np.polyder", p)
    for left in range(m, -1, -1):
        found = multiply(getitem(p, slice(None, -1)), creation.arange(p.shape[0] - 1, 0, -1))  # NumPy's of m = 0 too, for its errors
        p = found if left else p
    return made(p, true)


def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    """`np.polyint`."""
    m = int(m)
    if m < 0:
        np.polyint([1.0], m)  # raises NumPy's own error
    (p,), true = as_polynomial("np.polyint", p)
    constants = creation.zeros((m,), np.dtype(float)) if k is None else atleast_1d(as_item(as_value(k)))
    if constants.shape[0] == 1 and m > 1:
        constants = broadcast_to(add(constants, 0.0), (m,))
    if constants.shape[0] < m:
        np.polyint([1.0], m, np.zeros(constants.shape[0]))  # raises NumPy's own error
    for i in range(m):
        p = concatenate([divide(p, creation.arange(p.shape[0], 0, -1)), getitem(constants, slice(i, i + 1))])
    return made(p, true)


# -- fits ----------------------------------------------------------------------------------------------------------------------


def _scaled(x: Any, by: Any) -> Any:
    """`x *= by`, which keeps the dtype."""
    found = multiply(x, by)
    if found.dtype == x.dtype:
        return found
    np.multiply(np.zeros(0, x.dtype), np.zeros(0, by.dtype), out=np.zeros(0, x.dtype))  # raises NumPy's own error
    return astype(found, x.dtype)


poorly_conditioned = warned("poorly_conditioned", "Polyfit may be poorly conditioned", RankWarning)


def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """`np.polyfit`."""
    order = int(deg) + 1
    x, y = [add(as_item(as_value(v)), 0.0) for v in (x, y)]
    if deg < 0 or len(x.shape) != 1 or is_zero(x.shape[0]) or not 1 <= len(y.shape) <= 2 or not agreeing([x.shape, y.shape[:1]]):
        np.polyfit(np.zeros(guesses(x.shape)), np.zeros(guesses(y.shape)), deg)  # raises NumPy's own error
    if rcond is None:
        rcond = x.shape[0] * np.finfo(x.dtype).eps
    left, right = vander(x, order), y
    if w is not None:
        w = add(as_item(as_value(w)), 0.0)
        if len(w.shape) != 1 or not agreeing([w.shape, y.shape[:1]]):
            np.polyfit(np.zeros(guesses(x.shape)), np.zeros(guesses(y.shape)), deg, w=np.zeros(guesses(w.shape)))  # raises NumPy's own error
        left = _scaled(left, expand_dims(w, 1))
        right = _scaled(right, expand_dims(w, 1) if len(y.shape) == 2 else w)
    scale = sqrt(total(multiply(left, left), 0))
    left = divide(left, scale)
    c, residuals, rank, s = numpys_lstsq(left, right, rcond)
    c = transpose(divide(transpose(c), scale))
    if not full:
        poorly_conditioned(not_equal(rank, order))
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    spread = inv(matmul(transpose(left), left))
    spread = divide(spread, einsum.outer(scale, scale))
    factor: Any = 1
    if cov != "unscaled":
        if x.shape[0] <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")  # NumPy's own
        factor = divide(residuals, x.shape[0] - order)
    return c, multiply(spread if len(y.shape) == 1 else expand_dims(spread, 2), factor)


FUNCTIONS: dict[Any, Any] = dict([
    numpy_functions.spelled(np.vander, "x N increasing", vander),
    (np.polyval, numpys_polyval),
    (np.polyadd, _combined("np.polyadd", add)),
    (np.polysub, _combined("np.polysub", subtract)),
    (np.polyder, polyder),
    (np.polyint, polyint),
    (np.polyfit, polyfit),
    (np.polynomial.polynomial.polyval2d, lambda x, y, c: polyvalnd((x, y), c)),
    (np.polynomial.polynomial.polygrid2d, polygrid2d),
])  # fmt: skip
if hasattr(np.polynomial.polynomial, "polyvalnd"):  # NumPy 2.5
    FUNCTIONS[np.polynomial.polynomial.polyvalnd] = polyvalnd


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
