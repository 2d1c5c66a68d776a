"""Pointwise rows: ufuncs, each with its partial derivatives.

The partials are those of real and complex analysis, as in any table of derivatives. Where a function has a corner, the
derivative there is the mean of the two sides: 0 for `abs` at 0, a half each for `maximum` and `minimum` at a tie.
"""

import numpy as np

from .. import prims
from ..operators import ops
from .families import comparison, pointwise, pointwise_rules

# fmt: off - a table reads by its columns
#                             name           kernel            partial derivatives in each argument, out = f(x, ...)
# arithmetic
add           = pointwise_rules(prims.add,   np.add,           1.0, 1.0)
subtract      = pointwise("subtract",        np.subtract,      1.0, -1.0)
multiply      = pointwise("multiply",        np.multiply,      lambda y: y, lambda x: x)
divide        = pointwise("divide",          np.divide,        lambda y: divide(1.0, y), lambda y, out: negative(divide(out, y)))
power         = pointwise("power",           np.power,         lambda x, y: multiply(y, power(x, subtract(y, 1))),
                                                               lambda x, out: multiply(out, log(where_zero(x))))
negative      = pointwise("negative",        np.negative,      -1.0)
positive      = pointwise("positive",        np.positive,      1.0)
reciprocal    = pointwise("reciprocal",      np.reciprocal,    lambda out: negative(square(out)))
square        = pointwise("square",          np.square,        lambda x: multiply(x, 2))
remainder     = pointwise("remainder",       np.remainder,     1.0, lambda x, y: negative(floor(divide(x, y))))
conjugate     = pointwise("conjugate",       np.conjugate)

# exponential and trigonometric
exp           = pointwise("exp",             np.exp,           lambda out: out)
log           = pointwise("log",             np.log,           lambda x: divide(1.0, x))
sin           = pointwise("sin",             np.sin,           lambda x: cos(x))
cos           = pointwise("cos",             np.cos,           lambda x: negative(sin(x)))
tanh          = pointwise("tanh",            np.tanh,          lambda out: subtract(1.0, square(out)))
sqrt          = pointwise("sqrt",            np.sqrt,          lambda out: divide(0.5, out))

# corners
absolute      = pointwise("absolute",        np.absolute,      lambda x: sign(x))
maximum       = pointwise("maximum",         np.maximum,       lambda x, y: share(greater(x, y), equal(x, y)),
                                                               lambda x, y: share(less(x, y), equal(x, y)))
minimum       = pointwise("minimum",         np.minimum,       lambda x, y: share(less(x, y), equal(x, y)),
                                                               lambda x, y: share(greater(x, y), equal(x, y)))

# without a derivative
sign          = comparison("sign",           np.sign)
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
isfinite      = comparison("isfinite",       np.isfinite)
# fmt: on


def share(alone: object, tied: object) -> object:
    """1 where an argument alone decides, a half where two do."""
    return add(alone, multiply(tied, 0.5))


def where_zero(x: object) -> object:
    """`x`, with 1 for 0: `0 ** y` has derivative 0 in y, and its logarithm would make a nan of it."""
    return ops.np.where(equal(x, 0), 1.0, x)
