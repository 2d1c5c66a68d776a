"""More pointwise rows: logarithms, angles, hyperbolic functions, rounding, and composites of them.

At a corner the derivative is torch's: 1 at the bounds of `clip`, the mean of the two sides elsewhere. Rounding has no derivative; its
result counts as a constant. The file has more than 350 lines, because its rows are one table with the composites that it names.
"""

from functools import lru_cache
from math import factorial, pi
from math import log as ln
from typing import Any

import numpy as np
from numpy._core import umath

from ..autodiff.rules.partials import conjugated
from ..core import OpOverload, Tensor
from ..core.array_memory import is_complex
from ..layers.autograd import CONSTANT, pullbacks
from ..layers.fake import FakeTensor
from ..layers.jvp import pushforwards
from ..operators.prims import astype, moveaxis
from ..operators.registry import ops
from ..schema.tags import Tag
from .composite_layouts import item_layout, without_axis
from .families import aligned, comparison, composite, in_front, laid_alike, pointwise, row
from .indexing import as_number, where, zero_unless_nan
from .pointwise import (
    absolute,
    add,
    cos,
    divide,
    divide_no_nan,
    equal,
    exp,
    greater,
    greater_equal,
    isnan,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    logical_or,
    minimum,
    multiply,
    nan_where_nan,
    negative,
    one_for_zero,
    over,
    power,
    power_slope,
    share,
    sign,
    sqrt,
    square,
    subtract,
    widened,
)
from .result_layouts import elementwise, ufunc_dtype, weak
from .shape import copy, fake_copy, fortran, imag, real


def part_of_sum(power: Any, x: Any, y: Any) -> Any:
    """Return `b^x / (b^x + b^y)`, of which no power overflows; `logaddexp` of the difference would take five times as long."""
    apart = subtract(x, y)
    return divide(power(minimum(apart, 0.0)), add(power(negative(absolute(apart))), 1.0))


# A table reads by its columns.
#                            name              kernel            partial derivatives in each argument; out = f(x, ...)
# fmt: off

# exponential
expm1         = pointwise("expm1",           np.expm1,         lambda out: add(out, 1.0))
exp2          = pointwise("exp2",            np.exp2,          lambda out: multiply(out, ln(2)))
log1p         = pointwise("log1p",           np.log1p,         over(lambda x: add(x, 1.0)))
log2          = pointwise("log2",            np.log2,          over(lambda x: multiply(x, ln(2))))
log10         = pointwise("log10",           np.log10,         over(lambda x: multiply(x, ln(10))))
logaddexp     = pointwise("logaddexp",       np.logaddexp,     lambda x, y: part_of_sum(exp, x, y), lambda x, y: part_of_sum(exp, y, x))
logaddexp2    = pointwise("logaddexp2",      np.logaddexp2,    lambda x, y: part_of_sum(exp2, x, y), lambda x, y: part_of_sum(exp2, y, x))
cbrt          = pointwise("cbrt",            np.cbrt,          over(lambda out: multiply(square(out), 3)))
float_power   = pointwise("float_power",     np.float_power,   lambda x, y: power_slope(x, y), lambda x, out: multiply(out, log(one_for_zero(widened(x, out)))))

# trigonometric and hyperbolic
tan           = pointwise("tan",             np.tan,           lambda out: add(square(out), 1.0))
arcsin        = pointwise("arcsin",          np.arcsin,        over(lambda x: _leg(x)))
arccos        = pointwise("arccos",          np.arccos,        over(lambda x: negative(_leg(x))))
arctan        = pointwise("arctan",          np.arctan,        over(lambda x: add(square(x), 1.0)))
arctan2       = pointwise("arctan2",         np.arctan2,       lambda x, y: divide_no_nan(y, squares(x, y)), lambda x, y: negative(divide_no_nan(x, squares(x, y))))
hypot         = pointwise("hypot",           np.hypot,         lambda x, out: divide_no_nan(x, out), lambda y, out: divide_no_nan(y, out))
sinh          = pointwise("sinh",            np.sinh,          lambda x: cosh(x))
cosh          = pointwise("cosh",            np.cosh,          lambda x: sinh(x))
arcsinh       = pointwise("arcsinh",         np.arcsinh,       over(lambda x: sqrt(add(square(x), 1.0))))
arccosh       = pointwise("arccosh",         np.arccosh,       over(lambda x: multiply(sqrt(subtract(x, 1.0)), sqrt(_above(x)))))
arctanh       = pointwise("arctanh",         np.arctanh,       over(lambda x: subtract(1.0, square(x))))
deg2rad       = pointwise("deg2rad",         np.deg2rad,       pi / 180)
rad2deg       = pointwise("rad2deg",         np.rad2deg,       180 / pi)
radians       = pointwise("radians",         np.radians,       pi / 180)
degrees       = pointwise("degrees",         np.degrees,       180 / pi)

# corners
fabs          = pointwise("fabs",            np.fabs,          lambda x: sign(x))
fmax          = pointwise("fmax",            np.fmax,          lambda x, y, out: share(logical_or(greater(x, y), isnan(y)), equal(x, y), out),
                                                               lambda x, y, out: share(logical_or(less(x, y), isnan(x)), equal(x, y), out))
fmin          = pointwise("fmin",            np.fmin,          lambda x, y, out: share(logical_or(less(x, y), isnan(y)), equal(x, y), out),
                                                               lambda x, y, out: share(logical_or(greater(x, y), isnan(x)), equal(x, y), out))
copysign      = pointwise("copysign",        np.copysign,      lambda x, y: multiply(sign(x), copysign(1.0, y)))
fmod          = pointwise("fmod",            np.fmod,          1.0, lambda x, y, out: negative(rint(divide(subtract(x, out), y))))
heaviside     = pointwise("heaviside",       np.heaviside,     None, lambda x: nan_where_nan(x, equal(x, 0)))

# without a derivative
ceil          = comparison("ceil",           np.ceil)
rint          = comparison("rint",           np.rint)
trunc         = comparison("trunc",          np.trunc)
isinf         = comparison("isinf",          np.isinf)
signbit       = comparison("signbit",        np.signbit)
logical_xor   = comparison("logical_xor",    np.logical_xor)
left_shift    = comparison("left_shift",     np.left_shift)
right_shift   = comparison("right_shift",    np.right_shift)
# fmt: on


def squares(x: Any, y: Any) -> Any:
    """`x * x + y * y`, in the dtype of both."""
    return add(square(widened(x, y)), square(widened(y, x)))


# -- bounds ----------------------------------------------------------------------------------------------------------------


def _leg(x: Any) -> Any:
    """`sqrt(1 - x ** 2)`, of complex values on the side of the branch cut that the sign of their imaginary part says, 0 and -0 too."""
    if not is_complex(x):
        return sqrt(subtract(1.0, square(x)))
    return multiply(sqrt(negative(subtract(x, 1.0))), sqrt(_above(x)))


def _above(x: Any) -> Any:
    """`x + 1`, with the sign of a complex x's imaginary part: -0 + 0 would be 0."""
    return negative(subtract(negative(x), 1.0)) if is_complex(x) else add(x, 1.0)


def _inside(x: Any, min: Any, max: Any, out: Any) -> Any:
    """Return where a value lies between the bounds, which count as inside; of nan there is no saying."""
    if isinstance(min, (int, float)) and isinstance(max, (int, float)) and min <= max:
        return equal(x, out)
    if min is None or max is None:
        return less_equal(x, max) if min is None else greater_equal(x, min)
    return logical_and(greater_equal(x, min), less_equal(x, max))


def _clip_x(g: Any, x: Any, min: Any, max: Any, out: Any) -> Any:
    return g if min is None and max is None else zero_unless_nan(_inside(x, min, max, out), g, out)


def _clip_min(g: Any, x: Any, min: Any, max: Any, out: Any) -> Any:
    cut = less(x, min)
    return nan_where_nan(out, where(cut if max is None else logical_and(cut, less(min, max)), g, 0.0))


def _clip_max(g: Any, x: Any, min: Any, max: Any, out: Any) -> Any:
    cut = greater(x, max)
    return nan_where_nan(out, where(cut if min is None else logical_or(cut, less(max, min)), g, 0.0))


def _fake_clip(x: Any, min: Any, max: Any) -> Any:
    given = [a for a in (x, min, max) if a is not None]
    fakes = [a for a in given if isinstance(a, FakeTensor)]
    if not fakes:
        return np.clip(x, min, max)
    return elementwise(np.result_type(*[a.dtype if isinstance(a, FakeTensor) else weak(a) for a in given]), fakes)


def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    if type(x) is np.ndarray and min is not None and max is not None and x.dtype.kind in "fc":
        return umath.clip(x, min, max)  # type: ignore[attr-defined]  # what the method calls where it takes off no bound, in a third of its time
    return x.clip(min, max) if isinstance(x, (np.ndarray, np.generic)) else np.clip(x, min, max)  # half the time


def _batched_clip(info: Any, in_dims: Any, x: Any, min: Any, max: Any) -> tuple[Any, int]:
    there = [a is not None for a in (x, min, max)]
    dims = tuple([dim for dim, given in zip(in_dims, there, strict=True) if given])
    found = iter(laid_alike(dims, aligned(dims, tuple([a for a in (x, min, max) if a is not None]))))
    return clip(*[next(found) if given else None for given in there]), 0


clip: OpOverload = row(
    "clip(Tensor x, Tensor? min=None, Tensor? max=None) -> Tensor",
    numpy=_clip,
    fake=_fake_clip,
    autograd=pullbacks(x=_clip_x, min=_clip_min, max=_clip_max),
    jvp=pushforwards(
        x=lambda t, x, min, max, out: _clip_x(t, x, min, max, out),  # noqa: A006 - np.clip's names
        min=lambda t, x, min, max, out: _clip_min(t, x, min, max, out),  # noqa: A006
        max=lambda t, x, min, max, out: _clip_max(t, x, min, max, out),  # noqa: A006
    ),
    vmap=_batched_clip,
)


# -- points that a formula divides by ----------------------------------------------------------------------------------------


def _root(x: Any, n: float = 2.0) -> Any:
    return np.sqrt(x) if n == 2 else np.power(x, 1 / n)


def _fake_root(x: Any, n: float) -> Any:
    return elementwise(ufunc_dtype(np.sqrt, x.dtype), [x]) if isinstance(x, FakeTensor) else _root(x, n)


def _root_slope(x: Any, n: float, out: Any) -> Any:
    if n < 1:  # 0 or inf at 0, both right
        return multiply(power(x, 1 / n - 1), 1 / n)
    return divide_no_nan(1 / n, out if n == 2 else power(x, 1 - 1 / n))


# What norms and deviations end with: its derivative at 0 is 0, torch's choice among the subgradients of a norm.
root: OpOverload = row(
    "root(Tensor x, float n=2.0) -> Tensor",
    numpy=_root,
    fake=_fake_root,
    autograd=pullbacks(x=lambda g, x, n, out: multiply(g, conjugated(_root_slope(x, n, out)))),
    jvp=pushforwards(x=lambda t, x, n, out: multiply(t, _root_slope(x, n, out))),
    vmap=lambda info, in_dims, x, n: (root(x, n), in_dims[0]),
    tags=(Tag.pointwise,),
)

# of the derivative of sin(t) / t divided by t, in powers of t squared: enough for |t| < pi / 2, at which the last is 1e-19
SERIES = [(-1) ** k * 2 * k / factorial(2 * k + 1) for k in range(1, 13)]


def _sinc_slope(x: Any, out: Any) -> Any:
    """`(cos(pi x) - sinc(x)) / x`, and near 0, where that is a difference of what is equal, its series, at 0 of every order."""
    near = less(absolute(x), 0.5)
    t = multiply(where(near, x, 0.0), pi)
    squared, found = square(t), SERIES[-1]
    for coefficient in reversed(SERIES[:-1]):
        found = add(multiply(found, squared), coefficient)
    far = where(near, 1.0, x)
    quotient = divide(subtract(cos(multiply(far, pi)), out), far)
    return where(near, multiply(multiply(found, t), pi), quotient)


def _fake_sinc(x: Any) -> Any:
    if not isinstance(x, FakeTensor):
        return np.sinc(x)
    return elementwise(x.dtype.newbyteorder("=") if x.dtype.kind in "fc" else np.dtype(np.float64), [x])


sinc: OpOverload = row(
    "sinc(Tensor x) -> Tensor",
    numpy=np.sinc,
    fake=_fake_sinc,
    autograd=pullbacks(x=lambda g, x, out: multiply(g, conjugated(_sinc_slope(x, out)))),
    jvp=pushforwards(x=lambda t, x, out: multiply(t, _sinc_slope(x, out))),
    vmap=lambda info, in_dims, x: (sinc(x), in_dims[0]),
    tags=(Tag.pointwise,),
)


# -- composites --------------------------------------------------------------------------------------------------------------


def _angle(z: Any, deg: bool = False) -> Any:
    found = arctan2(imag(z), real(z)) if z.dtype.kind == "c" else arctan2(0, z)
    return multiply(found, 180 / pi) if deg else found


def _nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind == "c":
        parts = [_nan_to_num(part, nan, posinf, neginf) for part in (real(x), imag(x))]
        return add(parts[0], multiply(parts[1], parts[1].dtype.type(1) * 1j))
    if x.dtype.kind != "f":
        return as_number(copy(x))
    limits = np.finfo(x.dtype)
    nan, posinf, neginf = [
        _written(value, x.dtype) for value in (nan, limits.max if posinf is None else posinf, limits.min if neginf is None else neginf)
    ]
    found = where(equal(x, np.inf), posinf, where(isnan(x), nan, x))
    return as_number(where(equal(x, -np.inf), neginf, found))


def _written(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number as one that does not change the dtype of what it stands in."""
    np.copyto(np.empty((), dtype), value)  # raises NumPy's own error
    return value if dtype.char == "g" else float(value)


@lru_cache(None, typed=True)
def _rounded(dtype: np.dtype[Any], decimals: int) -> np.dtype[Any]:
    return np.round(np.zeros(1, dtype), decimals).dtype


def _keeps_order(x: Any, decimals: int) -> bool:
    """Whether np.round lays its result out as elementwise functions do; else it keeps Fortran's order, and makes C of any other."""
    return decimals == 0 or x.dtype.kind == "c" or (x.dtype.kind in "iu" and decimals > 0)


def _batched_round(info: Any, in_dims: Any, x: Any, decimals: int) -> tuple[Any, int]:
    dim = in_dims[0]
    if _keeps_order(x, decimals):
        return round(x, decimals), dim
    if fortran(without_axis(item_layout(x), dim)):
        last = moveaxis(x, dim, -1)
        return round(last if fortran(item_layout(last)) else copy(last, "F"), decimals), len(x.shape) - 1
    first = in_front(x, dim)
    return round(copy(first, "C") if fortran(item_layout(first)) else first, decimals), 0


def _round(x: Any, decimals: int = 0) -> Any:
    found = np.round(x, decimals)
    return found.copy("K") if found is x and isinstance(x, np.ndarray) else found  # NumPy 2.0 gives integers back as they are


def _fake_round(x: Any, decimals: int) -> Any:
    if not isinstance(x, FakeTensor):
        return np.round(x, decimals)
    dtype = _rounded(x.dtype, decimals)
    return elementwise(dtype, [x]) if _keeps_order(x, decimals) else fake_copy(x, "A", dtype)


round: OpOverload = row(
    "round(Tensor x, int decimals=0) -> Tensor",
    numpy=_round,
    fake=_fake_round,
    autograd=CONSTANT,
    vmap=_batched_round,
    tags=(Tag.pointwise,),
)
angle = composite("angle(Tensor x, bool deg=False) -> Tensor", _angle, numpy=np.angle)
nan_to_num = composite(
    "nan_to_num(Tensor x, Scalar nan=0.0, Scalar? posinf=None, Scalar? neginf=None) -> Tensor",
    _nan_to_num,
    numpy=lambda x, nan, posinf, neginf: np.nan_to_num(x, True, nan, posinf, neginf),
    laid_out=lambda x, nan, posinf, neginf: np.array(x),
)
isposinf = composite("isposinf(Tensor x) -> Tensor", lambda x: logical_and(isinf(x), logical_not(signbit(x))))
isneginf = composite("isneginf(Tensor x) -> Tensor", lambda x: logical_and(isinf(x), signbit(x)))
isclose = composite(
    "isclose(Tensor x, Tensor y, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
    lambda x, y, rtol=1e-05, atol=1e-08, equal_nan=False: closeness(x, y, rtol, atol, equal_nan),
    numpy=np.isclose,
)


def closeness(x: Any, y: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    """Return whether numbers are close to others, for tolerances that are numbers or arrays."""
    if not all([isinstance(x, Tensor) or np.all(np.isfinite(x)) for x in (rtol, atol)]):
        rtol_, atol_ = [1.0 if isinstance(x, Tensor) else x for x in (rtol, atol)]
        np.isclose(1.0, 1.0, rtol_, atol_)  # warns, or raises, by np.errstate
    if not hasattr(y, "dtype"):  # a number of Python's stays one, whose products are of the precision of x: np.isclose's own steps
        y = float(y) if isinstance(y, int) else y
        limit = atol + rtol * abs(y)
    else:
        y = astype(y, np.result_type(y.dtype, 1.0)) if y.dtype.kind in "iub" else y
        limit = add(multiply(absolute(y), rtol), atol)
    near = less_equal(absolute(subtract(x, y)), limit)
    found = logical_or(logical_and(near, ops.np.isfinite(y)), equal(x, y))
    return logical_or(found, logical_and(isnan(x), isnan(y))) if equal_nan else found
