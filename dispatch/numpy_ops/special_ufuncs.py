"""Derivatives of SciPy's special functions: `scipy.special.erf(x)` on what a transform tracks.

SciPy's ufuncs arrive by `__array_ufunc__`. Those below have partial derivatives in closed form, a line each, by their arguments: a
number, or a function that names what it reads, the arguments x, y, z (x0 to x3 of four) or `out`. None: no closed form is known, and
a derivative by that argument raises. SciPy is imported when the first of them is asked for.
More than 350 lines, because each function has one.

The formulas are those of the NIST Digital Library of Mathematical Functions [1]_: section 5 gamma, 6 exponential integrals, 7 erf, 8 the
incomplete gamma, 10 Bessel, 11 Struve, 13 and 15 hypergeometric, 18 polynomials, 19 elliptic integrals, 25 zeta. Where a difference of
two functions would lose digits, a function that is that difference stands in its place: Carlson's integrals, 1F1, Gegenbauer's C.

.. [1] https://dlmf.nist.gov
"""

import sys
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from math import factorial, pi
from math import log as log_of
from typing import Any

import numpy as np

from ..core import OpOverload
from ..core.lazy import Loader
from ..core.optional import require
from ..errors import UnsupportedError, how_many
from ..layers.autograd import Pullback, Pullbacks
from ..layers.jvp import Pushforward, Pushforwards
from ..operators.prims import astype, sum_to
from ..operators.registry import define_on_first_use, note_own_rules, ops
from .families import complete
from .from_ufunc import DIFFERENTIATED, Partial, from_ufunc
from .pointwise import (
    absolute,
    add,
    conjugate,
    cos,
    divide,
    divide_no_nan,
    equal,
    exp,
    floor,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    nan_where_nan,
    negative,
    not_equal,
    one_for_zero,
    power,
    power_slope,
    reciprocal,
    sign,
    sin,
    sqrt,
    square,
    subtract,
)
from .pointwise_more import cosh, log1p

NAMESPACE = "scipy_special"

sp = getattr(ops, NAMESPACE)
of_functions = Loader(__package__, ".special_functions")
ROOT = pi**0.5
DEGREE = pi / 180
EIGHTH = complex(0.5**0.5, 0.5**0.5)  # an eighth of a turn


# -- what several derivatives share ----------------------------------------------------------------------------------------------


def where(condition: Any, x: Any, y: Any) -> Any:
    """Return x where a condition holds, and y elsewhere."""
    return ops.np.where(condition, x, y)


def whole(n: Any) -> Any:
    """Return the order that SciPy takes, where it cuts off the fraction of the one that is given."""
    return ops.np.trunc(n)


def half(x: Any) -> Any:
    """Return x / 2."""
    return multiply(x, 0.5)


def up(x: Any) -> Any:
    """Return x + 1."""
    return add(x, 1)


def down(x: Any) -> Any:
    """Return x - 1."""
    return subtract(x, 1)


def normal(x: Any) -> Any:
    """Return the density of the standard normal distribution."""
    return multiply(exp(half(negative(square(x)))), (2 * pi) ** -0.5)


def series(x: Any, *coefficients: float) -> Any:
    """Return the sum of c[k] x ** k."""
    found: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        found = add(multiply(found, x), c)
    return found


def log_ratio(x: Any, y: Any) -> Any:
    """Return log(x / y), where x / y may overflow, and where it is nearly 1."""
    ratio = divide(x, y)
    near = logical_and(less(0.5, ratio), less(ratio, 2))
    a, b, x, y = where(near, x, 1), where(near, y, 1), where(near, 1, x), where(near, 1, y)
    return where(near, log1p(divide(subtract(a, b), b)), subtract(log(x), log(y)))


def stirling(k: Any) -> Any:
    """Return the logarithm of Gamma(k + 1) over its first approximation sqrt(2 pi k) (k / e) ** k, of a large k, DLMF 5.11.1."""
    return divide(series(reciprocal(square(k)), 1 / 12, -1 / 360, 1 / 1260, -1 / 1680), k)


def deviance(k: Any, mean: Any) -> Any:
    """Return what the logarithm of a Poisson density at k is less than for a mean of k itself."""
    return multiply(k, subtract(divide(subtract(mean, k), k), log_ratio(mean, k)))


FARTHEST = 1e30  # in place of inf, of which a difference would be nan
LARGE = 16.0  # beyond it Stirling's series has all digits, and logarithms of gamma functions would cancel


def gamma_density(a: Any, x: Any) -> Any:
    """Return the derivative of the lower incomplete gamma function P(a, x) by x, DLMF 8.8.13; of a large a by the distance of x from it."""
    x = minimum(where(less(x, 0), np.nan, x), FARTHEST)
    large = less(LARGE, down(a))
    k, at = where(large, down(a), LARGE), where(large, x, LARGE)
    far = divide(exp(negative(add(deviance(k, at), stirling(k)))), sqrt(multiply(k, 2 * pi)))
    return where(large, far, exp(subtract(subtract(sp.xlogy(down(a), x), x), sp.gammaln(a))))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """Return the derivative of the incomplete beta function I_x(a, b) by x, DLMF 8.17.1; of large a and b by the distance from the mean."""
    x = where(less(0.5, absolute(subtract(x, 0.5))), np.nan, x)
    large = less(LARGE, down(minimum(a, b)))
    p, q, at = where(large, down(a), LARGE), where(large, down(b), LARGE), where(large, x, 0.5)
    n = add(p, q)
    apart = add(deviance(p, multiply(n, at)), deviance(q, multiply(n, subtract(1, at))))
    exponent = subtract(subtract(stirling(n), add(stirling(p), stirling(q))), apart)
    far = multiply(multiply(up(n), exp(exponent)), sqrt(divide(n, multiply(multiply(p, q), 2 * pi))))
    return where(large, far, exp(subtract(add(sp.xlogy(down(a), x), sp.xlog1py(down(b), negative(x))), sp.betaln(a, b))))


def t_density(df: Any, t: Any) -> Any:
    """Return the density of Student's t distribution."""
    large = less(2 * LARGE, df)
    y = where(large, half(df), LARGE)
    # log(Gamma(y + 1/2) / Gamma(y) / sqrt(y)), DLMF 5.11.13
    far = divide(series(reciprocal(square(y)), -1 / 8, 1 / 192, -1 / 640, 17 / 14336, -31 / 18432), y)
    scale = where(large, far, subtract(subtract(sp.gammaln(half(up(df))), sp.gammaln(half(df))), half(log(half(df)))))
    return multiply(exp(subtract(scale, multiply(half(up(df)), log1p(divide(square(t), df))))), (2 * pi) ** -0.5)


def f_density(n: Any, d: Any, x: Any) -> Any:
    """Return the density of the F distribution."""
    at = add(multiply(n, x), d)
    return multiply(beta_density(half(n), half(d), divide(multiply(n, x), at)), divide(multiply(n, d), square(at)))


def shifted(x: Any) -> Any:
    """Return 2x - 1: of the polynomials that belong to (0, 1)."""
    return subtract(multiply(x, 2), 1)


def sine_over(x: Any) -> Any:
    """Return sin(x) / x; of a small x by np.sinc, of which every derivative is right at 0."""
    small = less(absolute(x), 1)
    near, far = where(small, x, 0), where(small, 1, x)
    return where(small, ops.np.sinc(divide(near, pi)), divide(sin(far), far))


def sinh_over(x: Any) -> Any:
    """Return sinh(x) / x, of real values without a quotient."""
    return sine_over(multiply(x, 1j)) if is_complex(x) else half(add(sp.exprel(x), sp.exprel(negative(x))))


def kelvin(x: Any) -> Any:
    """Return the second derivative of ber + i bei, which is J_0(x exp(3 pi i / 4)), DLMF 10.61.1."""
    z = multiply(x, EIGHTH**3)
    return multiply(subtract(sp.jv(0.0, z), sp.jv(2.0, z)), 0.5j)


def kelvin_k(x: Any) -> Any:
    """Return the second derivative of ker + i kei, which is K_0(x exp(pi i / 4)), DLMF 10.61.2."""
    z = multiply(x, EIGHTH)
    return multiply(add(sp.kv(0.0, z), sp.kv(2.0, z)), 0.5j)


def bessel_rest(f: str, x: Any) -> Any:
    """Return (J_0(x) - 1) / x, or that of I_0; of a small x by their series, DLMF 10.2.2."""
    small = less(absolute(x), 1)
    near, far = where(small, x, 0), where(small, 1, x)
    quarter = divide(square(near), -4 if f == "j0" else 4)
    terms = multiply(near, series(quarter, *[1 / factorial(k + 1) ** 2 for k in range(9)]))
    return where(small, divide(terms, -4 if f == "j0" else 4), divide(down(getattr(sp, f)(far)), far))


def binomial_density(k: Any, n: Any, p: Any) -> Any:
    """Return the derivative of I_p(k + 1, n - k) by p, where SciPy cuts off the fraction of k."""
    k = floor(k)
    return beta_density(up(k), subtract(whole(n), k), p)


def far_out(z: Any, side: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return where z is far out, on the side on which an error function has a series in 1 / 2z ** 2, and what its terms are of."""
    far = less(20, absolute(z))
    if is_complex(z):
        far = logical_and(far, less(0, side(z)))
    return far, reciprocal(multiply(square(where(far, z, 20)), 2))


ODD = (0.0, 1.0, 3.0, 15.0, 105.0, 945.0, 10395.0, 135135.0, 2027025.0)  # (2k - 1)!!, DLMF 7.12.1


def erfcx_slope(z: Any, out: Any) -> Any:
    """Return the derivative of erfcx, 2 z erfcx(z) - 2 / sqrt(pi), which cancels far out."""
    far, t = far_out(z, ops.np.real)
    if not is_complex(z):
        far = logical_and(far, less(0, z))
    return where(far, multiply(series(negative(t), *ODD), 2 / ROOT), subtract(multiply(multiply(z, 2), out), 2 / ROOT))


def dawsn_slope(z: Any, out: Any) -> Any:
    """Return the derivative of Dawson's integral, 1 - 2 z F(z), which cancels far out."""
    far, t = far_out(z, lambda z: down(ops.np.real(divide(square(z), 40))))
    return where(far, negative(series(t, *ODD)), subtract(1, multiply(multiply(z, 2), out)))


def wofz_slope(z: Any, out: Any) -> Any:
    """Return the derivative of w(z), 2i / sqrt(pi) - 2 z w(z), which cancels far out, DLMF 7.10.2."""
    far, t = far_out(z, lambda z: ops.np.imag(multiply(z, 1)))
    return where(far, multiply(series(t, *ODD), -2j / ROOT), subtract(2j / ROOT, multiply(multiply(z, 2), out)))


def voigt(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any, Any]:
    """Return the derivatives of Voigt's profile by x, by sigma and by gamma.

    The profile is Re w(z) / (sigma sqrt(2 pi)) with z = (x + i gamma) / (sigma sqrt(2)). By sigma it is sigma times the second
    derivative by x, as of every convolution with a normal density, and w'' = -2 (w + z w').
    """
    z = divide(add(x, multiply(gamma, 1j)), multiply(sigma, 2**0.5))
    w = sp.wofz(z)
    slope = wofz_slope(z, w)
    far, t = far_out(z, lambda z: ops.np.imag(multiply(z, 1)))
    curved = divide(multiply(series(t, *[k * c for k, c in enumerate(ODD)]), 4j / ROOT), where(far, z, 1))
    second = where(far, curved, multiply(add(w, multiply(z, slope)), -2))
    slope = divide(slope, multiply(square(sigma), 2 * ROOT))
    return ops.np.real(slope), divide(ops.np.real(second), multiply(square(sigma), 2 * (2 * pi) ** 0.5)), negative(ops.np.imag(slope))


def mills(x: Any) -> Any:
    """Return the normal distribution function over the density: without exponentials that cancel far out."""
    return multiply(sp.erfcx(multiply(x, -(0.5**0.5))), (pi / 2) ** 0.5)


def elliptic(phi: Any, share: float, m: Any, out: Any) -> tuple[Any, ...]:
    """Return the partial derivatives of Jacobi's sn, cn, dn and the amplitude, of which that of the amplitude is given.

    It is dn by u, and by m what keeps F(phi, m) = u, DLMF 22.16.11. By m, dn = sqrt(1 - m sn ** 2) has a `share` of its own too.
    """
    sn, cn, dn, _ = out
    by_sn = multiply(cn, phi)
    by_dn = negative(divide(add(multiply(square(sn), share), multiply(multiply(m, sn), by_sn)), dn))
    return by_sn, negative(multiply(sn, phi)), by_dn, phi


def is_complex(x: Any) -> bool:
    """Whether the values are complex."""
    return bool(getattr(x, "dtype", np.dtype(float)).kind == "c")


def real(name: str, x: Any, why: str = "|Re z| or |Im z| is part of it. Take the function without the scale") -> Any:
    """Refuse complex values where the function has no complex derivative, or SciPy nothing to compute it with."""
    if is_complex(x):
        raise UnsupportedError(f"scipy.special.{name} has no derivative of complex values: {why}.")
    return x


def from_whole(x: Any) -> Any:
    """Return how far x is from a whole number, times pi: the sine of that keeps its digits near a pole."""
    return multiply(subtract(x, ops.np.rint(x)), pi)


def pole(x: Any) -> Any:
    """Whether the gamma function has a pole at x."""
    return logical_and(less_equal(x, 0), equal(x, floor(x)))


def trigamma(x: Any) -> Any:
    """Return the derivative of psi, DLMF 25.11.12; of negative values by reflection, 5.15.6: SciPy would add as many terms as x is below 0."""
    below = less(real("psi", x, "SciPy has no trigamma of them"), 0)
    mirrored = square(divide(pi, sin(where(below, from_whole(x), 1))))
    of_positive = sp.zeta(2.0, where(below, subtract(1, x), x))
    return where(below, subtract(mirrored, of_positive), of_positive)


def rgamma_slope(x: Any, out: Any) -> Any:
    """Return the derivative of 1 / Gamma, which is 0 where psi has a pole: by reflection, DLMF 5.5.3."""
    if is_complex(x):
        return negative(multiply(out, sp.psi(x)))
    below = less(x, 0.5)
    rest, angle = where(below, subtract(1, x), 1), from_whole(x)
    turn = where(equal(ops.np.remainder(ops.np.rint(x), 2), 0), 1, -1)
    mirrored = multiply(multiply(sp.gamma(rest), turn), subtract(cos(angle), divide(multiply(sp.psi(rest), sin(angle)), pi)))
    return where(below, mirrored, negative(multiply(out, sp.psi(where(below, 1, x)))))


def psi_step(x: Any, step: Any) -> Any:
    """Return psi(x + step) - psi(x); of large values term by term of the series of psi, DLMF 5.11.2, where the two would cancel."""
    far = less(2 * LARGE, minimum(x, add(x, step)))
    start, by = where(far, x, 2 * LARGE), where(far, step, 0)
    p, q = reciprocal(start), reciprocal(add(start, by))
    first = multiply(multiply(by, p), q)
    p2, q2 = square(p), square(q)
    second = multiply(first, add(p, q))
    fourth = multiply(second, add(p2, q2))
    sixth = multiply(second, add(add(square(p2), square(q2)), multiply(p2, q2)))
    terms = subtract(add(half(first), divide(second, 12)), subtract(divide(fourth, 120), divide(sixth, 252)))
    return where(far, add(log1p(multiply(by, p)), terms), subtract(sp.psi(add(x, step)), sp.psi(x)))


def rising(x: Any, step: Any, out: Any) -> Any:
    """Return the derivative by x of Gamma(x + step) / Gamma(x), also where that is 0 and where both have a pole: by reflection."""
    both = logical_and(pole(x), pole(add(x, step)))
    mirrored = multiply(out, psi_step(where(both, subtract(1, x), 1), where(both, negative(step), 0)))
    none, x = logical_and(pole(x), logical_not(both)), where(both, 1, x)
    found = add(rgamma_slope(x, sp.rgamma(x)), multiply(sp.psi(add(x, step)), sp.rgamma(x)))
    slope = where(none, multiply(sp.gamma(where(none, add(x, step), 1)), found), multiply(out, psi_step(where(none, 1, x), step)))
    return where(both, mirrored, slope)


def binomial(n: Any, k: Any, out: Any) -> tuple[Any, Any]:
    """Return the derivatives of a binomial coefficient by n and k, also where it is 0: where 1 / Gamma is, of k + 1 or of n - k + 1."""
    parts = up(k), up(subtract(n, k))
    none = logical_or(pole(parts[0]), pole(parts[1]))
    low, high = (sp.rgamma(part) for part in parts)
    by_low, by_high = (rgamma_slope(part, sp.rgamma(part)) for part in parts)
    all_ = where(none, sp.gamma(where(none, up(n), 1)), 0)
    by_n = multiply(multiply(all_, low), add(by_high, multiply(high, sp.psi(where(none, up(n), 1)))))
    by_k = multiply(all_, subtract(multiply(by_low, high), multiply(low, by_high)))
    n, k = where(none, 1, n), where(none, 1, k)
    rest_n = psi_step(up(subtract(n, k)), k)
    return where(none, by_n, multiply(out, rest_n)), where(none, by_k, multiply(out, psi_step(up(k), subtract(n, multiply(k, 2)))))


def carlson_d(x: Any, y: Any, z: Any, out: Any) -> Any:
    """Return the derivative of R_D by x, from partial fractions of its integrand, DLMF 19.16.5; where x is nearly z, by a series in x - z."""
    step = divide(subtract(x, z), z)
    near = less(absolute(step), 0.05)
    step, y_, z_, x_ = where(near, step, 0), where(near, y, 1), where(near, z, 1), where(near, add(z, 1), x)
    total_: Any = 0.0
    for k in reversed(range(10)):  # the integral of (t + y) ** -1/2 (t + z) ** -(k + 3), 15.6.1, times its coefficient
        part = divide(sp.hyp2f1(0.5, k + 2.5, k + 3.5, subtract(1, divide(y_, z_))), k + 2.5)
        total_ = add(multiply(multiply(total_, step), -(k + 1.5) / (k + 1)), part)
    by_series = multiply(divide(total_, power(z_, 2.5)), -0.75)
    return where(near, by_series, half(divide(subtract(out, sp.elliprd(y, z, x_)), subtract(z, x_))))


def carlson_d_last(x: Any, y: Any, z: Any, out: Any) -> Any:
    """Return the derivative of R_D by z: R_D is homogeneous of degree -3/2."""
    zeros = equal(x, 0), equal(y, 0)
    others = add(
        where(zeros[0], 0, multiply(x, carlson_d(where(zeros[0], 1, x), y, z, out))),
        where(zeros[1], 0, multiply(y, carlson_d(where(zeros[1], 1, y), x, z, out))),
    )
    return negative(divide(add(multiply(out, 1.5), others), z))


def lower(n: Any) -> Any:
    """Return the degree of the derivative of a polynomial of degree n; of a constant 0, whose factor is 0 too."""
    return where(equal(n, 0), n, down(n))


def difference(f: str, v: Any, z: Any) -> Any:
    """Return the derivative of J, Y or a Hankel function: (f[v - 1] - f[v + 1]) / 2, DLMF 10.6.1."""
    op = getattr(sp, f)
    return half(subtract(op(down(v), z), op(up(v), z)))


def total(f: str, v: Any, z: Any) -> Any:
    """Return the derivative of I, and minus that of K: (f[v - 1] + f[v + 1]) / 2, DLMF 10.29.1."""
    op = getattr(sp, f)
    return half(add(op(down(v), z), op(up(v), z)))


def scaled(v: Any, x: Any, out: Any, side: Any, near: Any) -> Any:
    """Return the derivative of exp(-|x|) I_v(x), of the side that is the sign of x, or of exp(x) K_v(x), of side -1.

    Far out what is near, a difference, cancels, and the logarithmic derivative of the series in 1 / x is left, DLMF 10.40.1 and 10.40.2.
    """
    part = half(subtract(square(v), 0.25))
    far = less(multiply(up(square(v)), 1e4), absolute(x))
    r = reciprocal(where(far, x, 1))
    slope = multiply(r, subtract(multiply(multiply(r, part), add(side, r)), 0.5))
    return where(far, multiply(out, slope), near)


def ellipse_phi(phi: Any, m: Any) -> Any:
    """Return the integrand of E at its end."""
    return sqrt(subtract(1, multiply(m, square(sin(phi)))))


def ellipse_m(phi: Any, m: Any, of_e: bool) -> Any:
    """Return the derivative of F(phi, m) by m, or minus that of E(phi, m), DLMF 19.25.9 and 19.25.14.

    It is that of the part of phi within a quarter of a turn, and of the half turns beyond.
    """
    turns = ops.np.rint(divide(phi, pi))
    rest = subtract(phi, multiply(turns, pi))
    s, c2, beyond = sin(rest), square(cos(rest)), not_equal(turns, 0)
    end, end_of_all = subtract(1, multiply(m, square(s))), where(beyond, subtract(1, m), 1)
    part = sp.elliprd(c2, end, 1.0) if of_e else sp.elliprd(c2, 1.0, end)
    of_half = sp.elliprd(0.0, end_of_all, 1.0) if of_e else sp.elliprd(0.0, 1.0, end_of_all)
    return divide(add(multiply(multiply(s, square(s)), part), multiply(multiply(turns, 2), of_half)), 6)


def carlson(x: Any, y: Any, z: Any) -> Any:
    """Return the derivative of R_F by z, DLMF 19.18.1."""
    return divide(sp.elliprd(x, y, z), -6)


def exprel_slope(x: Any) -> Any:
    """Return the derivative of (exp(x) - 1) / x, which is that of the Box-Cox transform of e by its power."""
    return box_cox_power(1.0, x)


def box_cox_power(logarithm: Any, p: Any) -> Any:
    """Return the derivative by p of the Box-Cox transform (exp(p log x) - 1) / p, which is log(x) times exprel(p log x).

    Of a small p log x it is that of exprel, DLMF 13.6.2; SciPy's 1F1 does not end for an infinite one.
    """
    x = multiply(p, logarithm)
    small = less(absolute(x), 1)
    near, far = where(small, x, 0), maximum(where(small, 1, x), -FARTHEST)
    quotient = divide(up(multiply(down(far), exp(far))), square(where(small, 1, p)))
    return where(small, multiply(square(where(small, logarithm, 1)), half(sp.hyp1f1(2.0, 3.0, near))), quotient)


def box_cox_inverse(y: Any, p: Any, out: Any) -> Any:
    """Return the derivative of (p y + 1) ** (1 / p) by p, of which the logarithm is y times 2F1(1, 1, 2, -p y)."""
    w = multiply(p, y)
    small = less(absolute(w), 0.5)
    near, far = where(small, w, 0), where(small, 1, w)
    slope = divide(subtract(divide(far, up(far)), log1p(far)), square(far))
    return multiply(multiply(out, square(y)), where(small, half(negative(sp.hyp2f1(2.0, 2.0, 3.0, negative(near)))), slope))


def huber_root(delta: Any, r: Any) -> Any:
    """Return what the pseudo-Huber loss is made of."""
    return sqrt(up(square(divide(r, delta))))


def pseudo_huber(delta: Any, r: Any) -> Any:
    """Return the derivative of the pseudo-Huber loss by delta."""
    root = huber_root(delta, r)
    return divide(multiply(delta, square(divide(square(divide(r, delta)), up(root)))), root)


def _spence(x: Any) -> Any:
    near = less(absolute(down(x)), 0.5)
    far = where(near, 2, x)
    return where(near, negative(sp.hyp2f1(1.0, 1.0, 2.0, where(near, subtract(1, x), 0))), divide(log(far), subtract(1, far)))


# Carlson's arguments have an order, SciPy's names of arguments do not: x, y, z.
# fmt: off
TABLE: dict[str, tuple[Partial, ...]] = {
    # gamma
    "gamma":         (lambda x, out: multiply(out, sp.psi(x)),),
    "gammaln":       (lambda x: sp.psi(x),),
    "loggamma":      (lambda x, out: nan_where_nan(out, sp.psi(x)),),
    "gammasgn":      (0,),
    "rgamma":        (lambda x, out: rgamma_slope(x, out),),
    "psi":           (lambda x: trigamma(x),),
    "zeta":          (None, lambda x, y: negative(multiply(x, sp.zeta(up(x), y)))),
    "poch":          (lambda x, y, out: rising(x, y, out), lambda x, y, out: multiply(out, sp.psi(add(x, y)))),
    "beta":          (lambda x, y, out: negative(multiply(out, psi_step(x, y))), lambda x, y, out: negative(multiply(out, psi_step(y, x)))),
    "betaln":        (lambda x, y: negative(psi_step(x, y)), lambda x, y: negative(psi_step(y, x))),
    "binom":         (lambda x, y, out: binomial(x, y, out)[0], lambda x, y, out: binomial(x, y, out)[1]),
    "gammainc":      (None, lambda x, y: gamma_density(x, y)),
    "gammaincc":     (None, lambda x, y: negative(gamma_density(x, y))),
    "gammaincinv":   (None, lambda x, out: reciprocal(gamma_density(x, out))),
    "gammainccinv":  (None, lambda x, out: negative(reciprocal(gamma_density(x, out)))),
    "betainc":       (None, None, lambda x, y, z: beta_density(x, y, z)),
    "betaincc":      (None, None, lambda x, y, z: negative(beta_density(x, y, z))),
    "betaincinv":    (None, None, lambda x, y, out: reciprocal(beta_density(x, y, out))),
    "betainccinv":   (None, None, lambda x, y, out: negative(reciprocal(beta_density(x, y, out)))),

    # erf and the normal distribution
    "erf":           (lambda x: multiply(exp(negative(square(x))), 2 / ROOT),),
    "erfc":          (lambda x: multiply(exp(negative(square(x))), -2 / ROOT),),
    "erfcx":         (lambda x, out: erfcx_slope(x, out),),
    "erfi":          (lambda x: multiply(exp(square(x)), 2 / ROOT),),
    "erfinv":        (lambda out: multiply(exp(square(out)), ROOT / 2),),
    "erfcinv":       (lambda out: multiply(exp(square(out)), -ROOT / 2),),
    "dawsn":         (lambda x, out: dawsn_slope(x, out),),
    "wofz":          (lambda x, out: wofz_slope(x, out),),
    "ndtr":          (lambda x: normal(x),),
    "ndtri":         (lambda out: reciprocal(normal(out)),),
    "log_ndtr":      (lambda x: reciprocal(mills(x)),),
    "ndtri_exp":     (lambda out: mills(out),),
    "owens_t":       (lambda x, y: multiply(multiply(exp(half(negative(square(x)))), sp.erf(multiply(multiply(x, y), 0.5**0.5))), -0.5 * (2 * pi) ** -0.5),
                      lambda x, y: divide(exp(half(negative(multiply(square(x), up(square(y)))))), multiply(up(square(y)), 2 * pi))),

    # logistic, entropy, losses
    "expit":         (lambda x, out: multiply(out, sp.expit(negative(x))),),
    "logit":         (lambda x: reciprocal(multiply(x, subtract(1, x))),),
    "log_expit":     (lambda x: sp.expit(negative(x)),),
    "xlogy":         (lambda y: log(y), lambda x, y: divide(x, y)),
    "xlog1py":       (lambda y: log1p(y), lambda x, y: divide(x, up(y))),
    "entr":          (lambda x: negative(up(log(x))),),
    "rel_entr":      (lambda x, y: up(log_ratio(x, y)), lambda x, y: negative(divide(x, y))),
    "kl_div":        (lambda x, y: log_ratio(x, y), lambda x, y: divide(subtract(y, x), y)),
    "huber":         (lambda x, y: maximum(subtract(absolute(y), x), 0), lambda x, y: ops.np.clip(y, negative(x), x)),
    "pseudo_huber":  (lambda x, y: pseudo_huber(x, y), lambda x, y: divide(y, huber_root(x, y))),
    "boxcox":        (lambda x, y, out: nan_where_nan(out, power(x, down(y))), lambda x, y: box_cox_power(log(x), y)),
    "boxcox1p":      (lambda x, y, out: nan_where_nan(out, power(up(x), down(y))), lambda x, y: box_cox_power(log1p(x), y)),
    "inv_boxcox":    (lambda y, out: nan_where_nan(out, power(out, subtract(1, y))), lambda x, y, out: box_cox_inverse(x, y, out)),
    "inv_boxcox1p":  (lambda y, out: nan_where_nan(out, power(up(out), subtract(1, y))), lambda x, y, out: box_cox_inverse(x, y, up(out))),

    # exponential and trigonometric
    "exprel":        (lambda x: exprel_slope(x),),
    "expm1":         (lambda x: exp(x),),
    "exp2":          (lambda out: multiply(out, log_of(2)),),
    "exp10":         (lambda out: multiply(out, log_of(10)),),
    "log1p":         (lambda x: reciprocal(up(x)),),
    "cosm1":         (lambda x: negative(sin(x)),),
    "cbrt":          (lambda out: reciprocal(multiply(square(out), 3)),),
    "powm1":         (lambda x, y: power_slope(x, y), lambda x, y: multiply(power(x, y), log(one_for_zero(x)))),
    "sindg":         (lambda x: multiply(sp.cosdg(x), DEGREE),),
    "cosdg":         (lambda x: multiply(sp.sindg(x), -DEGREE),),
    "tandg":         (lambda out: multiply(up(square(out)), DEGREE),),
    "cotdg":         (lambda out: multiply(up(square(out)), -DEGREE),),
    "spence":        (_spence,),
    "exp1":          (lambda x: negative(divide(exp(negative(x)), x)),),
    "expi":          (lambda x: divide(exp(x), x),),
    "expn":          (None, lambda x, y: where(equal(x, 0), negative(divide(multiply(exp(negative(y)), up(y)), square(y))), negative(sp.expn(lower(x), y)))),
    "lambertw":      (lambda out: reciprocal(multiply(exp(out), up(out))), None, None),
    "wrightomega":   (lambda out: divide(out, up(out)),),
    "wright_bessel": (None, None, lambda x, y, z: sp.wright_bessel(x, add(x, y), z)),

    # Bessel, by their argument; by their order there is no closed form
    "jv":            (None, lambda x, y: difference("jv", x, y)),
    "jve":           (None, lambda x, y: difference("jve", x, real("jve", y))),
    "j0":            (lambda x: negative(sp.j1(x)),),
    "j1":            (lambda x: half(subtract(sp.j0(x), sp.jv(2, x))),),
    "yv":            (None, lambda x, y: difference("yv", x, y)),
    "yve":           (None, lambda x, y: difference("yve", x, real("yve", y))),
    "yn":            (None, lambda x, y: difference("yv", whole(x), y)),
    "y0":            (lambda x: negative(sp.y1(x)),),
    "y1":            (lambda x: half(subtract(sp.y0(x), sp.yv(2, x))),),
    "iv":            (None, lambda x, y: total("iv", x, y)),
    "ive":           (None, lambda x, y, out: scaled(x, y, out, sign(y), subtract(total("ive", x, real("ive", y)), multiply(sign(y), out)))),
    "i0":            (lambda x: sp.i1(x),),
    "i0e":           (lambda x, out: scaled(0.0, x, out, sign(x), subtract(sp.i1e(x), multiply(sign(x), out))),),
    "i1":            (lambda x: half(add(sp.i0(x), sp.iv(2, x))),),
    "i1e":           (lambda x, out: scaled(1.0, x, out, sign(x), subtract(half(add(sp.i0e(x), sp.ive(2, x))), multiply(sign(x), out))),),
    "kv":            (None, lambda x, y: negative(total("kv", x, y))),
    "kve":           (None, lambda x, y, out: scaled(x, y, out, -1, subtract(out, total("kve", x, y)))),
    "kn":            (None, lambda x, y: negative(total("kv", whole(x), y))),
    "k0":            (lambda x: negative(sp.k1(x)),),
    "k0e":           (lambda x, out: scaled(0.0, x, out, -1, subtract(out, sp.k1e(x))),),
    "k1":            (lambda x: half(negative(add(sp.k0(x), sp.kv(2, x)))),),
    "k1e":           (lambda x, out: scaled(1.0, x, out, -1, subtract(out, half(add(sp.k0e(x), sp.kve(2, x))))),),
    "hankel1":       (None, lambda x, y: difference("hankel1", x, y)),
    "hankel1e":      (None, lambda x, y, out: subtract(difference("hankel1e", x, y), multiply(out, 1j))),
    "hankel2":       (None, lambda x, y: difference("hankel2", x, y)),
    "hankel2e":      (None, lambda x, y, out: add(difference("hankel2e", x, y), multiply(out, 1j))),
    "struve":        (None, lambda x, y, out: subtract(sp.struve(down(x), y), divide_no_nan(multiply(x, out), y))),
    "modstruve":     (None, lambda x, y, out: subtract(sp.modstruve(down(x), y), divide_no_nan(multiply(x, out), y))),
    "itstruve0":     (lambda x: sp.struve(0.0, x),),
    "it2struve0":    (lambda x: negative(divide(sp.struve(0.0, x), x)),),
    "itmodstruve0":  (lambda x: sp.modstruve(0.0, x),),
    "ber":           (lambda x: sp.berp(x),),
    "bei":           (lambda x: sp.beip(x),),
    "ker":           (lambda x: sp.kerp(x),),
    "kei":           (lambda x: sp.keip(x),),
    "berp":          (lambda x: ops.np.real(kelvin(x)),),
    "beip":          (lambda x: ops.np.imag(kelvin(x)),),
    "kerp":          (lambda x: ops.np.real(kelvin_k(x)),),
    "keip":          (lambda x: ops.np.imag(kelvin_k(x)),),

    # elliptic integrals of the parameter m
    "ellipk":        (lambda x: divide(sp.elliprd(0.0, 1.0, subtract(1, x)), 6),),
    "ellipkm1":      (lambda x: divide(sp.elliprd(0.0, 1.0, x), -6),),
    "ellipe":        (lambda x: divide(sp.elliprd(0.0, subtract(1, x), 1.0), -6),),
    "ellipkinc":     (lambda x, y: reciprocal(ellipse_phi(x, y)), lambda x, y: ellipse_m(x, y, of_e=False)),
    "ellipeinc":     (lambda x, y: ellipse_phi(x, y), lambda x, y: negative(ellipse_m(x, y, of_e=True))),
    "elliprc":       (lambda x, y: carlson(y, y, x), lambda x, y: multiply(carlson(x, y, y), 2)),
    "elliprf":       (lambda x, y, z: carlson(y, z, x), lambda x, y, z: carlson(x, z, y), lambda x, y, z: carlson(x, y, z)),
    "elliprd":       (lambda x, y, z, out: carlson_d(x, y, z, out), lambda x, y, z, out: carlson_d(y, x, z, out), lambda x, y, z, out: carlson_d_last(x, y, z, out)),

    # hypergeometric
    "hyp0f1":        (None, lambda x, y: divide(sp.hyp0f1(up(x), y), x)),
    "hyp1f1":        (None, None, lambda x, y, z: multiply(divide(x, y), sp.hyp1f1(up(x), up(y), z))),
    "hyp2f1":        (None, None, None, lambda x0, x1, x2, x3: multiply(divide(multiply(x0, x1), x2), sp.hyp2f1(up(x0), up(x1), up(x2), x3))),
    "hyperu":        (None, None, lambda x, y, z: negative(multiply(x, sp.hyperu(up(x), up(y), z)))),

    # orthogonal polynomials, by their argument
    "eval_legendre":    (None, lambda x, y: multiply(not_equal(x, 0), sp.eval_gegenbauer(lower(x), 1.5, y))),
    "eval_chebyt":      (None, lambda x, y: multiply(x, sp.eval_chebyu(lower(x), y))),
    "eval_chebyu":      (None, lambda x, y: multiply(multiply(not_equal(x, 0), 2), sp.eval_gegenbauer(lower(x), 2.0, y))),
    "eval_gegenbauer":  (None, None, lambda x, y, z: multiply(multiply(not_equal(x, 0), multiply(y, 2)), sp.eval_gegenbauer(lower(x), up(y), z))),
    "eval_jacobi":      (None, None, None, lambda x0, x1, x2, x3: multiply(multiply(not_equal(x0, 0), half(up(add(x0, add(x1, x2))))), sp.eval_jacobi(lower(x0), up(x1), up(x2), x3))),
    "eval_laguerre":    (None, lambda x, y: negative(multiply(not_equal(x, 0), sp.eval_genlaguerre(lower(x), 1.0, y)))),
    "eval_genlaguerre": (None, None, lambda x, y, z: negative(multiply(not_equal(x, 0), sp.eval_genlaguerre(lower(x), up(y), z)))),
    "eval_hermite":     (None, lambda x, y: multiply(multiply(x, 2), sp.eval_hermite(lower(x), y))),
    "eval_hermitenorm": (None, lambda x, y: multiply(x, sp.eval_hermitenorm(lower(x), y))),
    "eval_chebyc":      (None, lambda x, y: multiply(x, sp.eval_chebyu(lower(x), half(y)))),
    "eval_chebys":      (None, lambda x, y: multiply(not_equal(x, 0), sp.eval_gegenbauer(lower(x), 2.0, half(y)))),
    "eval_sh_legendre": (None, lambda x, y: multiply(multiply(not_equal(x, 0), 2), sp.eval_gegenbauer(lower(x), 1.5, shifted(y)))),
    "eval_sh_chebyt":   (None, lambda x, y: multiply(multiply(x, 2), sp.eval_chebyu(lower(x), shifted(y)))),
    "eval_sh_chebyu":   (None, lambda x, y: multiply(multiply(not_equal(x, 0), 4), sp.eval_gegenbauer(lower(x), 2.0, shifted(y)))),

    # distributions
    "pdtr":          (None, lambda x, y: negative(gamma_density(up(floor(x)), y))),
    "pdtrc":         (None, lambda x, y: gamma_density(up(floor(x)), y)),
    "gdtr":          (lambda x, y, z: multiply(z, gamma_density(y, multiply(x, z))), None, lambda x, y, z: multiply(x, gamma_density(y, multiply(x, z)))),
    "gdtrc":         (lambda x, y, z: negative(multiply(z, gamma_density(y, multiply(x, z)))), None, lambda x, y, z: negative(multiply(x, gamma_density(y, multiply(x, z))))),
    "chdtr":         (None, lambda x, y: half(gamma_density(half(x), half(y)))),
    "chdtrc":        (None, lambda x, y: half(negative(gamma_density(half(x), half(y))))),
    "stdtr":         (None, lambda x, y: t_density(x, y)),
    "stdtrit":       (None, lambda x, out: reciprocal(t_density(x, out))),
    "fdtr":          (None, None, lambda x, y, z: f_density(x, y, z)),
    "fdtrc":         (None, None, lambda x, y, z: negative(f_density(x, y, z))),
    "bdtr":          (None, None, lambda x, y, z: negative(binomial_density(x, y, z))),
    "bdtrc":         (None, None, lambda x, y, z: binomial_density(x, y, z)),
    "nbdtr":         (None, None, lambda x, y, z: beta_density(whole(y), up(whole(x)), z)),
    "nbdtrc":        (None, None, lambda x, y, z: negative(beta_density(whole(y), up(whole(x)), z))),
    "voigt_profile": (lambda x, y, z: voigt(x, y, z)[0], lambda x, y, z: voigt(x, y, z)[1], lambda x, y, z: voigt(x, y, z)[2]),

    # their inverses, by what is inverted
    "chdtri":        (None, lambda x, out: divide(-2, gamma_density(half(x), half(out)))),
    "gdtrix":        (None, None, lambda x, y, out: reciprocal(multiply(x, gamma_density(y, multiply(x, out))))),
    "fdtri":         (None, None, lambda x, y, out: reciprocal(f_density(x, y, out))),
    "pdtri":         (None, lambda x, out: divide(-1, gamma_density(up(whole(x)), out))),
    "bdtri":         (None, None, lambda x, y, out: divide(-1, binomial_density(x, y, out))),
    "nbdtri":        (None, None, lambda x, y, out: reciprocal(beta_density(whole(y), up(whole(x)), out))),
    "nrdtrimn":      (lambda x, y: negative(divide(y, normal(sp.ndtri(x)))), lambda x: negative(sp.ndtri(x)), 1.0),
    "nrdtrisd":      (lambda y: negative(reciprocal(sp.ndtri(y))), lambda y, out: negative(divide(out, multiply(sp.ndtri(y), normal(sp.ndtri(y))))), lambda y: reciprocal(sp.ndtri(y))),
}

# Of several results: for each argument what gives the partial derivatives of all of them.
SEVERAL: dict[str, tuple[Callable[..., tuple[Any, ...]], ...]] = {
    "airy":          (lambda x, out: (out[1], multiply(x, out[0]), out[3], multiply(x, out[2])),),
    "itairy":        (lambda x: (sp.airy(x)[0], sp.airy(x)[2], sp.airy(negative(x))[0], sp.airy(negative(x))[2]),),
    "sici":          (lambda x: (sine_over(x), divide(cos(x), x)),),
    "shichi":        (lambda x: (sinh_over(x), divide(cosh(x), x)),),
    "fresnel":       (lambda x: (sin(multiply(square(x), pi / 2)), cos(multiply(square(x), pi / 2))),),
    "itj0y0":        (lambda x: (sp.j0(x), sp.y0(x)),),
    "iti0k0":        (lambda x: (sp.i0(x), sp.k0(x)),),
    "it2j0y0":       (lambda x: (negative(bessel_rest("j0", x)), negative(divide(sp.y0(x), x))),),
    "it2i0k0":       (lambda x: (bessel_rest("i0", x), negative(divide(sp.k0(x), x))),),
    "ellipj":        (lambda y, out: elliptic(out[2], 0, y, out), lambda y, out: elliptic(negative(multiply(out[2], ellipse_m(out[3], y, of_e=False))), 0.5, y, out)),
}
# fmt: on


def ufunc_of(name: str) -> Any:
    """Return SciPy's ufunc of a name in the table; None where this SciPy has none. `zeta` and `lambertw` are functions around theirs."""
    require("scipy.special", "scipy", needed_by=f"dispatch.ops.{NAMESPACE}")
    ufuncs = sys.modules["scipy.special._ufuncs"]
    found = [getattr(sys.modules["scipy.special"], name, None), getattr(ufuncs, name, None), getattr(ufuncs, f"_{name}", None)]
    return next((f for f in found if isinstance(f, np.ufunc)), None)


def place_of(ufunc: np.ufunc) -> str:
    """Return what a ufunc of SciPy's is imported by: where a function stands before it, as for `zeta`, a private name."""
    name = ufunc.__name__.strip("_")
    modules = [module for module in ("scipy.special", "scipy.special._ufuncs", "scipy.special._special_ufuncs") if module in sys.modules]
    places = [(module, word) for module in modules for word in (name, f"_{name}")]
    return next((f"{module}.{word}" for module, word in places if getattr(sys.modules[module], word, None) is ufunc), f"scipy.special.{name}")


def missing(ufunc: np.ufunc, i: int) -> Partial:
    """Return what stands for a partial derivative that is not known: it raises when it is asked for."""
    name, count = ufunc.__name__.strip("_"), ufunc.nin
    place = place_of(ufunc)
    called = f"scipy.special.{name}" if hasattr(sys.modules["scipy.special"], name) else place
    which = "has no derivative" if name not in TABLE else f"has no derivative by its argument {i + 1} of {count}"

    def partial(out: Any) -> Any:
        raise UnsupportedError(
            f"{called} {which}: no closed form is known here. Give it its partial derivatives, one for each argument, "
            "of which each names what it reads:\n"
            "    from dispatch.library import from_ufunc\n"
            f"    from_ufunc({place}, derivative=({', '.join(['lambda ' + ', '.join(_read(count)) + ': ...'] * count)},))"
        )

    return partial


def _missing_rule(name: str, count: int) -> Callable[..., Any]:
    def backward(ctx: Any, *grads: Any) -> Any:
        raise UnsupportedError(
            f"scipy.special.{name} has no derivative: it has {how_many(count, 'result')}, and no rule is known here. Give it one:\n"
            "    from dispatch.library import from_ufunc\n"
            f"    op = from_ufunc(scipy.special.{name})\n"
            "    op.register_autograd(backward, setup_context=...)"
        )

    return backward


def in_its_precision(ufunc: np.ufunc, partial: Partial) -> Partial:
    """Return a partial derivative that reads its arguments as the ufunc does, in the precision of its result.

    By itself a product of uint8 overflows, and a logarithm of one is of float16.
    """
    if not callable(partial):
        return partial
    reads = list(signature(partial).parameters)
    places = [_read(ufunc.nin).index(name) for name in reads]
    whole = [i < ufunc.nin and any(loop[i] in "ilq" for loop in ufunc.types) for i in places]  # orders that stay whole numbers

    def read(x: Any, is_whole: bool, out: Any) -> Any:
        if not hasattr(x, "dtype") or x.dtype.kind not in "biuf":
            return x
        dtype = np.dtype(np.int64) if is_whole and x.dtype.kind in "biu" else np.empty(0, out.dtype).real.dtype
        return x if np.result_type(x.dtype, dtype) == x.dtype else astype(x, dtype)

    def widened(*values: Any) -> Any:
        out = values[-1] if "out" not in reads else values[reads.index("out")]
        return partial(*[read(x, is_whole, out) for x, is_whole in zip(values, whole, strict=False)])

    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in dict.fromkeys([*reads, "out"])]
    vars(widened).update(__signature__=Signature(parameters), __wrapped__=partial)
    return widened


def _complete(op: OpOverload, slopes: tuple[Callable[..., tuple[Any, ...]], ...]) -> None:
    """Give an operator of several results its derivatives."""

    def rules(i: int, name: str, slope: Callable[..., tuple[Any, ...]]) -> tuple[Any, Any]:
        reads = list(signature(slope).parameters)

        def pull(g: Any, shape: Any, *values: Any) -> Any:
            found = None
            for part, by in zip(g, slope(*values), strict=True):
                if part is not None:
                    term = multiply(part, conjugate(by) if np.dtype(getattr(by, "dtype", float)).kind == "c" else by)
                    found = term if found is None else add(found, term)
            return None if found is None else sum_to(found, shape)

        def push(t: Any, *values: Any) -> Any:
            return tuple([multiply(t, by) for by in slope(*values)])

        return Pullback(("g", f"{name}_shape", *reads), pull), Pushforward(("t", *reads), push)

    made = {name: rules(i, name, slope) for i, (name, slope) in enumerate(zip(op.arguments.names, slopes, strict=True))}
    complete(op, autograd=Pullbacks({name: pull for name, (pull, _) in made.items()}), jvp=Pushforwards({name: push for name, (_, push) in made.items()}))


def _read(count: int) -> list[str]:
    return [*(list("xyz")[:count] if count < 4 else [f"x{i}" for i in range(count)]), "out"]


def row_of(ufunc: np.ufunc) -> OpOverload:
    """Return the operator of one of SciPy's functions, with the derivatives of the table, or ones that raise."""
    name = ufunc.__name__.strip("_")
    if name in dir(sp):
        found: OpOverload = getattr(sp, name)
        return found
    partials = TABLE.get(name, (None,) * ufunc.nin)
    derivative = [missing(ufunc, i) if partial is None else in_its_precision(ufunc, partial) for i, partial in enumerate(partials)]
    by_element = ufunc.nout == 1 and not ufunc.signature
    op = from_ufunc(ufunc, f"{NAMESPACE}::{name}", derivative=derivative if by_element else None)
    if name in SEVERAL:
        _complete(op, SEVERAL[name])
    elif not by_element:
        op.register_autograd(_missing_rule(name, ufunc.nout))
    if name in SEVERAL or None not in partials:
        DIFFERENTIATED.add(op)
        note_own_rules(op)
    return op


def install() -> None:
    """Make an operator of each function of the table."""
    for name in (*TABLE, *SEVERAL):
        ufunc = ufunc_of(name)
        if ufunc is not None:
            row_of(ufunc)
    define_on_first_use(NAMESPACE, None)
    of_functions()
