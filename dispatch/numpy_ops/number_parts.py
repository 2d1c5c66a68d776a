"""Rows that few programs call: parts of numbers, ufuncs of integers, `np.i0`, and questions about complex numbers.

    modf(x)       the fraction and the whole part     the fraction has the slope of x, a whole number none
    frexp(x)      x = m * 2 ** n                       m has the slope of x, scaled; the exponent none
    divmod(x, y)  quotient and remainder               as np.floor_divide and np.remainder

A number and the next one have the same slope, as in torch; np.spacing, the step between them, is a constant.
"""

from typing import Any

import numpy as np

from ..autodiff.rules.partials import Both
from ..core import OpOverload
from ..layers.autograd import Pullback
from ..layers.fake import FakeTensor
from ..layers.jvp import Pushforward
from ..operators.prims import define
from ..operators.registry import ops
from ..operators.views import ARRAYS_OF_NO_AXES, is_number
from ..schema.tags import Tag
from . import numpy_functions
from .families import attach_plain_forms, comparison, complete, composite, pointwise, pointwise_rules
from .indexing import as_number, where
from .numpy_functions import of_numpy, spelled
from .pointwise import absolute, divide, equal, floor_divide, less, nan_where_nan, negative, not_equal, remainder, subtract
from .pointwise_more import trunc
from .result_layouts import elementwise
from .shape import imag, real

SCALED = Both(Pullback(("g", "y"), lambda g, y: ldexp(g, y)), Pushforward(("t", "y"), lambda t, y: ldexp(t, y)))

# A table reads by its columns.
# fmt: off
ldexp         = pointwise("ldexp",           np.ldexp,         SCALED, None)
gcd           = comparison("gcd",            np.gcd)
lcm           = comparison("lcm",            np.lcm)
nextafter     = pointwise("nextafter",       np.nextafter,     lambda x, y, out: nan_where_nan(out, not_equal(x, y)), lambda x, y, out: nan_where_nan(out, equal(x, y)))
spacing       = comparison("spacing",        np.spacing)
isnat         = comparison("isnat",          np.isnat)
# fmt: on
COUNT: Any = of_numpy("bitwise_count")  # NumPy 2.0 has it not in every build


# -- results in two parts ------------------------------------------------------------------------------------------------------


POINTWISE = (Tag.pointwise,)


def half_of(name: str, ufunc: np.ufunc, i: int, *partials: Any) -> OpOverload:
    """Make a row of one of the results of a ufunc."""

    def kernel(x: Any) -> Any:
        return ufunc(x)[i]

    def fake(x: Any) -> Any:
        if not isinstance(x, FakeTensor):
            return kernel(x)
        return elementwise(ufunc.resolve_dtypes((x.dtype, None, None))[1 + i], [x])

    op = define(f"np::{name}(Tensor x) -> Tensor", kernel, (Tag.pointwise,))
    return complete(pointwise_rules(op, ufunc, *partials), fake=fake)


fraction = half_of("fraction", np.modf, 0, 1.0)
whole = half_of("whole", np.modf, 1)
mantissa = half_of("mantissa", np.frexp, 0, lambda x, out: nan_where_nan(out, ldexp(ops.np.ones_like(x), negative(exponent(x)))))
exponent = half_of("exponent", np.frexp, 1)


modf = composite("modf(Tensor x) -> (Tensor, Tensor)", lambda x: (fraction(x), whole(x)), numpy=np.modf, tags=POINTWISE)
frexp = composite("frexp(Tensor x) -> (Tensor, Tensor)", lambda x: (mantissa(x), exponent(x)), numpy=np.frexp, tags=POINTWISE)
divmod = composite(
    "divmod(Tensor x, Tensor y) -> (Tensor, Tensor)", lambda x, y: (floor_divide(x, y), remainder(x, y)), numpy=np.divmod, tags=POINTWISE
)

# -- the Bessel function of order 0 ---------------------------------------------------------------------------------------------

# Chebyshev coefficients of exp(-x) sqrt(x) I0(x) in 32 / x - 2 on [-2, 2], the last first: Cephes, i0.c, as NumPy has them.
FAR = [
    -7.233180487874754e-18, -4.830504485944182e-18, 4.46562142029676e-17, 3.461222867697461e-17, -2.8276239805165836e-16,
    -3.425485619677219e-16, 1.7725601330565263e-15, 3.8116806693526224e-15, -9.554846698828307e-15, -4.150569347287222e-14,
    1.54008621752141e-14, 3.8527783827421426e-13, 7.180124451383666e-13, -1.7941785315068062e-12, -1.3215811840447713e-11,
    -3.1499165279632416e-11, 1.1889147107846439e-11, 4.94060238822497e-10, 3.3962320257083865e-09, 2.266668990498178e-08,
    2.0489185894690638e-07, 2.8913705208347567e-06, 6.889758346916825e-05, 0.0033691164782556943, 0.8044904110141088,
]  # fmt: skip
SERIES = np.polynomial.Chebyshev([FAR[-1] / 2, *FAR[-2::-1]], [-2, 2])
SLOPE = SERIES.deriv()
TERMS = 40  # of the power series, which has no cancellation: at 8 the last is 1e-23 of the sum


def _i1(x: Any) -> Any:
    x = np.asarray(x)
    if x.dtype.kind != "f":
        x = x.astype(np.float64) if x.dtype.kind in "biu" else np.i0(x)  # raises NumPy's own error
    size = np.abs(x).astype(np.float64)
    small = np.minimum(size, 8.0)
    term = total = small / 2
    for k in range(1, TERMS):
        term = term * (small / 2) ** 2 / (k * (k + 1))
        total = total + term
    large = np.maximum(size, 8.0)
    at = 32 / large - 2
    with np.errstate(over="ignore", invalid="ignore"):
        beyond = np.exp(large) / np.sqrt(large) * (SERIES(at) * (1 - 0.5 / large) - SLOPE(at) * 32 / large**2)
    return (np.sign(x) * np.where(size <= 8, total, beyond)).astype(x.dtype)[()]


def _i1_slope(x: Any, out: Any) -> Any:
    none = equal(x, 0)
    return where(none, 0.5, subtract(i0(x), divide(out, where(none, 1, x))))


def bessel(name: str, kernel: Any, partial: Any) -> OpOverload:
    """Make a row of real numbers, whose results have the dtype of floating-point arguments."""

    def fake(x: Any) -> Any:
        if not isinstance(x, FakeTensor) or x.dtype.kind == "c":
            return kernel(x if not isinstance(x, FakeTensor) else np.zeros(0, x.dtype))  # raises NumPy's own error
        return elementwise(x.dtype.newbyteorder("=") if x.dtype.kind == "f" else np.dtype(np.float64), [x])

    return complete(pointwise_rules(define(f"np::{name}(Tensor x) -> Tensor", kernel, (Tag.pointwise,)), np.sqrt, partial), fake=fake)


i0 = bessel("i0", np.i0, lambda x: i1(x))
ARRAYS_OF_NO_AXES.add(i0)
i1 = bessel("i1", _i1, lambda x, out: _i1_slope(x, out))

# -- complex numbers -------------------------------------------------------------------------------------------------------------


def _iscomplex(x: Any) -> Any:
    return not_equal(imag(x), 0) if x.dtype.kind == "c" else as_number(ops.np.copy(ops.np.zeros_like(x, bool), "C"))


def _real_if_close(a: Any, tol: Any = 100) -> Any:
    a = ops.np.getitem(a, Ellipsis) if is_number(a) else a  # of a number NumPy makes an array first
    if a.dtype.kind != "c":
        return a
    limit = np.finfo(a.dtype).eps * tol if tol > 1 else tol
    return real(a) if bool(ops.np.all(less(absolute(imag(a)), limit))) else a


iscomplex = composite("iscomplex(Tensor x) -> Tensor", _iscomplex, numpy=np.iscomplex)
UFUNCS = {np.ldexp: ldexp, np.gcd: gcd, np.lcm: lcm, np.nextafter: nextafter, np.spacing: spacing, np.isnat: isnat,
          np.modf: modf, np.frexp: frexp, np.divmod: divmod}  # fmt: skip
if COUNT is not None:
    UFUNCS[COUNT] = comparison("bitwise_count", COUNT)
FUNCTIONS = dict([
    spelled(np.fix, "x out", trunc),
    spelled(np.i0, "x", i0),
    (np.isreal, lambda x: equal(imag(x), 0)),
    spelled(np.iscomplex, "x", iscomplex),
    (np.real_if_close, _real_if_close),
])  # fmt: skip


def install() -> None:
    """Put the rows and functions into the tables."""
    numpy_functions.UFUNCS.update(UFUNCS)
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(iscomplex)
