"""Pointwise rows: ufuncs, each with its partial derivatives.

At a corner the derivative is the mean of the two sides: 0 for `abs` at 0, a half each for `maximum` and `minimum` at a tie. A derivative
that depends on the value is nan where the value is. docs/conventions.md lists the points where JAX and torch say something else.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autodiff.rules.partials import Both, conjugated
from ..core import OpOverload
from ..dispatcher.rule_parameters import parameter_names
from ..layers.autograd import Pullback
from ..layers.jvp import Pushforward
from ..operators import prims
from ..operators.prims import define
from ..operators.registry import ops
from ..schema.tags import Tag
from ..symbolic import same
from .families import comparison, composite, of_numbers, pointwise, pointwise_rules


def over(divisor: Callable[..., Any]) -> Both:
    """Return the partial `1 / divisor`, which names what it reads: a gradient is divided once, and neither made nor rounded twice."""
    reads = parameter_names(divisor) or ()

    def pull(g: Any, *read: Any) -> Any:
        return divide(g, conjugated(divisor(*read)))

    def push(t: Any, *read: Any) -> Any:
        return divide(t, divisor(*read))

    return Both(Pullback(("g", *reads), pull), Pushforward(("t", *reads), push))


QUOTIENT = (
    over(lambda y: y),
    Both(
        Pullback(("g", "y", "y_shape", "out"), lambda g, y, y_shape, out: pulled_to_divisor(g, y, y_shape, out)),
        Pushforward(("t", "y", "out"), lambda t, y, out: negative(multiply(t, divide(out, y)))),
    ),
)

# A table reads by its columns.
#                            name              kernel            partial derivatives in each argument; out = f(x, ...)
# fmt: off

# arithmetic
add           = pointwise_rules(prims.add,   np.add,           1.0, 1.0)
subtract      = pointwise("subtract",        np.subtract,      1.0, -1.0)
multiply      = pointwise_rules(prims.multiply, np.multiply,      lambda y: y, lambda x: x)
divide        = pointwise("divide",          np.divide,        *QUOTIENT)
power         = pointwise("power",           np.power,         lambda x, y: power_slope(x, y), lambda x, out: multiply(out, log(one_for_zero(widened(x, out)))))
negative      = pointwise("negative",        np.negative,      -1.0)
positive      = pointwise("positive",        np.positive,      1.0)
reciprocal    = pointwise("reciprocal",      np.reciprocal,    lambda out: negative(square(out)))
square        = pointwise("square",          np.square,        lambda x: multiply(x, 2))
remainder     = pointwise("remainder",       np.remainder,     1.0, lambda x, y: negative(floor_divide(x, y)))
conjugate     = pointwise("conjugate",       np.conjugate,     Both(Pullback(("g",), lambda g: conjugate(g)), Pushforward(("t",), lambda t: conjugate(t))))

# exponential and trigonometric
exp           = pointwise("exp",             np.exp,           lambda out: out)
log           = pointwise("log",             np.log,           over(lambda x: x))
sin           = pointwise("sin",             np.sin,           lambda x: cos(x))
cos           = pointwise("cos",             np.cos,           lambda x: negative(sin(x)))
tanh          = pointwise("tanh",            np.tanh,          lambda out: subtract(1.0, square(out)))
sqrt          = pointwise("sqrt",            np.sqrt,          over(lambda out: multiply(out, 2)))

# of two numbers, by the code that NumPy has for its scalars, `x * y`
scalar_multiply = of_numbers("scalar_multiply", operator.mul,    np.multiply, lambda y: y, lambda x: x)
scalar_divide   = of_numbers("scalar_divide",   operator.truediv, np.divide,  *QUOTIENT)
scalar_power    = of_numbers("scalar_power",    operator.pow,    np.power,    lambda x, y: power_slope(x, y), lambda x, out: multiply(out, log(one_for_zero(widened(x, out)))))
scalar_absolute = of_numbers("scalar_absolute", operator.abs,    np.absolute, lambda x, out: direction(x, out))

# corners
sign          = pointwise("sign",            np.sign,          Both(Pullback(("g", "x", "out"), lambda g, x, out: turned(g, x, out)),
                                                                    Pushforward(("t", "x", "out"), lambda t, x, out: turned(t, x, out))))
absolute      = pointwise("absolute",        np.absolute,      lambda x, out: direction(x, out))
maximum       = pointwise("maximum",         np.maximum,       lambda x, y, out: share(greater(x, y), equal(x, y), out),
                                                               lambda x, y, out: share(less(x, y), equal(x, y), out))
minimum       = pointwise("minimum",         np.minimum,       lambda x, y, out: share(less(x, y), equal(x, y), out),
                                                               lambda x, y, out: share(greater(x, y), equal(x, y), out))

# without a derivative
floor         = comparison("floor",          np.floor)
floor_divide  = comparison("floor_divide",   np.floor_divide)
equal         = comparison("equal",          np.equal)
not_equal     = comparison("not_equal",      np.not_equal)
less          = comparison("less",           np.less)
less_equal    = comparison("less_equal",     np.less_equal)
greater       = comparison("greater",        np.greater)
greater_equal = comparison("greater_equal",  np.greater_equal)
logical_and   = comparison("logical_and",    np.logical_and)
logical_or    = comparison("logical_or",     np.logical_or)
logical_not   = comparison("logical_not",    np.logical_not)
bitwise_and   = comparison("bitwise_and",    np.bitwise_and)
bitwise_or    = comparison("bitwise_or",     np.bitwise_or)
bitwise_xor   = comparison("bitwise_xor",    np.bitwise_xor)
invert        = comparison("invert",         np.invert)
isfinite      = comparison("isfinite",       np.isfinite)
isnan         = comparison("isnan",          np.isnan)
# fmt: on


def nan_where_nan(out: Any, partial: Any) -> Any:
    """Return a derivative that comparisons of values gave, which are all False for nan, with nan where the result is nan."""
    return ops.np.where(isnan(out), np.nan, partial)


def _share(alone: Any, tied: Any, out: Any) -> Any:
    return nan_where_nan(out, ops.np.where(tied, 0.5, alone))


def _shared(alone: Any, tied: Any, out: Any) -> Any:
    found, none = np.array(alone, np.float64), np.isnan(out)
    if np.count_nonzero(tied):  # mostly there are none, and to look costs a tenth of what np.where does
        np.copyto(found, 0.5, where=tied)
    if np.count_nonzero(none):
        np.copyto(found, np.nan, where=none)
    return found


# 1 where one argument decides the result, a half where both do, and nan where the result is nan.
share = composite("share(Tensor alone, Tensor tied, Tensor out) -> Tensor", _share, numpy=_shared, laid_out=True)


def direction(x: Any, out: Any) -> Any:
    """The partial of `abs`: the sign; of a complex value the conjugate of `x / |x|`, and of its product the real part counts."""
    return conjugated(divide_no_nan(x, out)) if x.dtype.kind == "c" else sign(x)


def turned(g: Any, x: Any, out: Any) -> Any:
    """Return what `sign` makes of a gradient or tangent: None for real values; for complex ones only the turn of x counts."""
    if x.dtype.kind != "c":
        return None
    along = ops.np.real(multiply(g, conjugate(out)))
    return divide_no_nan(subtract(g, multiply(out, along)), absolute(x))


def pulled_to_divisor(g: Any, y: Any, y_shape: Any, out: Any) -> Any:
    """`-g * conj(out / y)`, summed to the shape of the divisor before it is divided: it is often a number."""
    found = multiply(g, conjugated(out))
    if not same(found.shape, y_shape):
        found = prims.sum_to(found, y_shape)
    return negative(divide(found, conjugated(y)))


def power_slope(x: Any, y: Any) -> Any:
    """`y * x ** (y - 1)`, which is 0 for `0 ** 0`, too."""
    if isinstance(y, (int, float)):
        if y == 2:  # the commonest powers, whose slopes need none
            return multiply(x, y)
        if y == 3:
            return multiply(square(x), y)
        return multiply(power(x, y - 1), y) if y else 0.0
    x, y = widened(x, y), widened(y, x)
    none = logical_and(equal(x, 0), equal(y, 0))
    return multiply(y, power(ops.np.where(none, 1, x), subtract(y, 1)))  # in place of x, so that the slope of this by y is right


def widened(x: Any, y: Any) -> Any:
    """`x` in the dtype in which NumPy computes with `y`: by itself a square of uint8 overflows, and its logarithm is of float16."""
    if not (hasattr(x, "dtype") and hasattr(y, "dtype")):
        return x
    dtype = np.result_type(x.dtype, y.dtype)
    return x if x.dtype == dtype else prims.astype(x, dtype)


def one_for_zero(x: Any) -> Any:
    """`x` with 1 for 0, where a logarithm would make a nan of a gradient that is 0."""
    return ops.np.where(equal(x, 0), 1, x)


# -- quotients of what is 0 together -----------------------------------------------------------------------------------------


def _divide_no_nan(x: Any, y: Any) -> Any:
    none = np.equal(y, 0)
    several = np.count_nonzero(none)
    if not several and isinstance(x, (int, float)):  # nothing of which NumPy would warn, and to silence it takes 2 us
        return np.divide(x, y)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.divide(x, y)
    return np.where(none, found.dtype.type(0), found)[()] if several else found


# TensorFlow's name. `x / |x|` at 0 is the first derivative of a norm, where 0 is a choice. A second derivative it has not, and none is
# made up: those of the quotient are a quotient's, inf and nan at 0.
divide_no_nan: OpOverload = pointwise_rules(
    define("np::divide_no_nan(Tensor x, Tensor y) -> Tensor", _divide_no_nan, (Tag.pointwise,)),
    np.divide,
    over(lambda y: y),
    lambda x, y: negative(divide(divide(x, y), y)),
)
