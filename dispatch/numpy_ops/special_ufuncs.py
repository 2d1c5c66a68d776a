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
from inspect import signature
from math import log as log_of
from math import pi
from typing import Any

import numpy as np

from ..core import OpOverload
from ..core.lazy import Loader
from ..core.optional import require
from ..errors import UnsupportedError
from ..layers.autograd import Pullback, Pullbacks
from ..layers.jvp import Pushforward, Pushforwards
from ..operators.prims import sum_to
from ..operators.registry import define_on_first_use, ops
from .families import complete
from .from_ufunc import DIFFERENTIATED, Partial, from_ufunc
from .pointwise import (
    absolute,
    add,
    conjugate,
    cos,
    divide,
    equal,
    exp,
    floor,
    less,
    log,
    maximum,
    multiply,
    negative,
    not_equal,
    power,
    reciprocal,
    sign,
    sin,
    sqrt,
    square,
    subtract,
)
from .pointwise_more import cosh, log1p, sinh

NAMESPACE = "scipy_special"

sp = getattr(ops, NAMESPACE)
of_functions = Loader(__package__, ".special_functions")
ROOT = pi**0.5
DEGREE = pi / 180


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


def gamma_density(a: Any, x: Any) -> Any:
    """Return the derivative of the lower incomplete gamma function P(a, x) by x, DLMF 8.8.13."""
    return exp(subtract(subtract(sp.xlogy(down(a), x), x), sp.gammaln(a)))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """Return the derivative of the incomplete beta function I_x(a, b) by x, DLMF 8.17.1."""
    return exp(subtract(add(sp.xlogy(down(a), x), sp.xlog1py(down(b), negative(x))), sp.betaln(a, b)))


def t_density(df: Any, t: Any) -> Any:
    """Return the density of Student's t distribution."""
    scale = subtract(sp.gammaln(half(up(df))), sp.gammaln(half(df)))
    return divide(exp(subtract(scale, multiply(half(up(df)), log1p(divide(square(t), df))))), sqrt(multiply(df, pi)))


def f_density(n: Any, d: Any, x: Any) -> Any:
    """Return the density of the F distribution."""
    at = add(multiply(n, x), d)
    return multiply(beta_density(half(n), half(d), divide(multiply(n, x), at)), divide(multiply(n, d), square(at)))


def shifted(x: Any) -> Any:
    """Return 2x - 1: of the polynomials that belong to (0, 1)."""
    return subtract(multiply(x, 2), 1)


def over(y: Any, x: Any, limit: float) -> Any:
    """Return y / x, with its limit at 0."""
    none = equal(x, 0)
    return where(none, limit, divide(y, where(none, 1, x)))


def binomial_density(k: Any, n: Any, p: Any) -> Any:
    """Return the derivative of I_p(k + 1, n - k) by p, where SciPy cuts off the fraction of k."""
    k = floor(k)
    return beta_density(up(k), subtract(whole(n), k), p)


def voigt(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any, Any]:
    """Return the derivatives of Voigt's profile by x and by gamma, and x times one plus gamma times the other.

    The profile is Re w(z) / (sigma sqrt(2 pi)) with z = (x + i gamma) / (sigma sqrt(2)), and w' = 2i / sqrt(pi) - 2 z w, DLMF 7.10.2.
    """
    z = divide(add(x, multiply(gamma, 1j)), multiply(sigma, 2**0.5))
    slope = divide(subtract(2j / ROOT, multiply(multiply(z, sp.wofz(z)), 2)), multiply(square(sigma), 2 * ROOT))
    by_x, by_gamma = ops.np.real(slope), negative(ops.np.imag(slope))
    return by_x, by_gamma, add(multiply(x, by_x), multiply(gamma, by_gamma))


def elliptic(phi: Any, share: float, m: Any, out: Any) -> tuple[Any, ...]:
    """Return the partial derivatives of Jacobi's sn, cn, dn and the amplitude, of which that of the amplitude is given.

    It is dn by u, and by m what keeps F(phi, m) = u, DLMF 22.16.11. By m, dn = sqrt(1 - m sn ** 2) has a `share` of its own too.
    """
    sn, cn, dn, _ = out
    by_sn = multiply(cn, phi)
    by_dn = negative(divide(add(multiply(square(sn), share), multiply(multiply(m, sn), by_sn)), dn))
    return by_sn, negative(multiply(sn, phi)), by_dn, phi


def real(name: str, x: Any, why: str = "|Re z| or |Im z| is part of it. Take the function without the scale") -> Any:
    """Refuse complex values where the function has no complex derivative, or SciPy nothing to compute it with."""
    if getattr(x, "dtype", np.dtype(float)).kind == "c":
        raise UnsupportedError(f"scipy.special.{name} has no derivative of complex values: {why}.")
    return x


def trigamma(x: Any) -> Any:
    """Return the derivative of psi, DLMF 25.11.12."""
    return sp.zeta(2.0, real("psi", x, "SciPy has no trigamma of them"))


def carlson_d(x: Any, y: Any, z: Any, out: Any) -> Any:
    """Return the derivative of R_D by x, from partial fractions of its integrand, DLMF 19.16.5."""
    return half(divide(subtract(out, sp.elliprd(y, z, x)), subtract(z, x)))


def carlson_d_last(x: Any, y: Any, z: Any, out: Any) -> Any:
    """Return the derivative of R_D by z: R_D is homogeneous of degree -3/2."""
    others = add(multiply(x, carlson_d(x, y, z, out)), multiply(y, carlson_d(y, x, z, out)))
    return negative(divide(add(multiply(out, 1.5), others), z))


def lower(n: Any) -> Any:
    """Return the degree of the derivative of a polynomial of degree n; of a constant 0, whose factor is 0 too."""
    return maximum(down(n), 0)


def difference(f: str, v: Any, z: Any) -> Any:
    """Return the derivative of J, Y or a Hankel function: (f[v - 1] - f[v + 1]) / 2, DLMF 10.6.1."""
    op = getattr(sp, f)
    return half(subtract(op(down(v), z), op(up(v), z)))


def total(f: str, v: Any, z: Any) -> Any:
    """Return the derivative of I, and minus that of K: (f[v - 1] + f[v + 1]) / 2, DLMF 10.29.1."""
    op = getattr(sp, f)
    return half(add(op(down(v), z), op(up(v), z)))


def ellipse_phi(phi: Any, m: Any) -> Any:
    """Return the integrand of E at its end."""
    return sqrt(subtract(1, multiply(m, square(sin(phi)))))


def ellipse_m(phi: Any, m: Any) -> Any:
    """Return minus the derivative of E(phi, m) by m, (F - E) / 2m, DLMF 19.4.6; of a small m by its series, since F is nearly E."""
    small, s2 = less(absolute(m), 1e-3), square(sin(phi))
    power_, part, series = half(sin(multiply(phi, 2))), phi, 0.0
    for k, factor in enumerate((1 / 2, 1 / 4, 3 / 16, 5 / 32)):  # half the coefficients of 1 / sqrt(1 - x)
        part = divide(subtract(multiply(part, 2 * k + 1), power_), 2 * k + 2)  # the integral of sin ** (2k + 2)
        series, power_ = add(series, multiply(part, multiply(factor, power(m, k)))), multiply(power_, s2)
    rest = where(small, 0.5, m)
    return where(small, series, divide(subtract(sp.ellipkinc(phi, rest), sp.ellipeinc(phi, rest)), multiply(rest, 2)))


def ellipkinc_m(phi: Any, m: Any) -> Any:
    """Return the derivative of F(phi, m) by m, DLMF 19.4.5, whose E / (1 - m) - F is m F / (1 - m) less (F - E) / (1 - m)."""
    rest = half(subtract(sp.ellipkinc(phi, m), divide(half(sin(multiply(phi, 2))), ellipse_phi(phi, m))))
    return divide(subtract(rest, ellipse_m(phi, m)), subtract(1, m))


def carlson(x: Any, y: Any, z: Any) -> Any:
    """Return the derivative of R_F by z, DLMF 19.18.1."""
    return divide(sp.elliprd(x, y, z), -6)


def box_cox_power(x: Any, power_: Any, out: Any) -> Any:
    """Return the derivative of the Box-Cox transform by its power, where `out` is (exp(p log x) - 1) / p."""
    none = equal(power_, 0)
    p = where(none, 1, power_)
    logarithm = log(x)
    found = divide(subtract(multiply(add(multiply(out, p), 1), logarithm), out), p)
    return where(none, half(square(logarithm)), found)


def box_cox_inverse(y: Any, power_: Any, out: Any) -> Any:
    """Return the derivative of (p y + 1) ** (1 / p) by p."""
    none = equal(power_, 0)
    p = where(none, 1, power_)
    inner = up(multiply(p, y))
    found = subtract(divide(y, multiply(p, inner)), divide(log(inner), square(p)))
    return multiply(out, where(none, half(negative(square(y))), found))


def huber_root(delta: Any, r: Any) -> Any:
    """Return what the pseudo-Huber loss is made of."""
    return sqrt(up(square(divide(r, delta))))


def _spence(x: Any) -> Any:
    one = equal(x, 1)
    return where(one, -1.0, divide(log(x), subtract(1, where(one, 0, x))))


# Carlson's arguments have an order, SciPy's names of arguments do not: x, y, z.
# fmt: off
TABLE: dict[str, tuple[Partial, ...]] = {
    # gamma
    "gamma":         (lambda x, out: multiply(out, sp.psi(x)),),
    "gammaln":       (lambda x: sp.psi(x),),
    "loggamma":      (lambda x: sp.psi(x),),
    "gammasgn":      (0,),
    "rgamma":        (lambda x, out: negative(multiply(out, sp.psi(x))),),
    "psi":           (lambda x: trigamma(x),),
    "zeta":          (None, lambda x, y: negative(multiply(x, sp.zeta(up(x), y)))),
    "poch":          (lambda x, y, out: multiply(out, subtract(sp.psi(add(x, y)), sp.psi(x))), lambda x, y, out: multiply(out, sp.psi(add(x, y)))),
    "beta":          (lambda x, y, out: multiply(out, subtract(sp.psi(x), sp.psi(add(x, y)))), lambda x, y, out: multiply(out, subtract(sp.psi(y), sp.psi(add(x, y))))),
    "betaln":        (lambda x, y: subtract(sp.psi(x), sp.psi(add(x, y))), lambda x, y: subtract(sp.psi(y), sp.psi(add(x, y)))),
    "binom":         (lambda x, y, out: multiply(out, subtract(sp.psi(up(x)), sp.psi(up(subtract(x, y))))), lambda x, y, out: multiply(out, subtract(sp.psi(up(subtract(x, y))), sp.psi(up(y))))),
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
    "erfcx":         (lambda x, out: subtract(multiply(multiply(x, 2), out), 2 / ROOT),),
    "erfi":          (lambda x: multiply(exp(square(x)), 2 / ROOT),),
    "erfinv":        (lambda out: multiply(exp(square(out)), ROOT / 2),),
    "erfcinv":       (lambda out: multiply(exp(square(out)), -ROOT / 2),),
    "dawsn":         (lambda x, out: subtract(1, multiply(multiply(x, 2), out)),),
    "wofz":          (lambda x, out: subtract(2j / ROOT, multiply(multiply(x, 2), out)),),
    "ndtr":          (lambda x: normal(x),),
    "ndtri":         (lambda out: reciprocal(normal(out)),),
    "log_ndtr":      (lambda x, out: multiply(exp(negative(add(half(square(x)), out))), (2 * pi) ** -0.5),),
    "ndtri_exp":     (lambda x, out: multiply(exp(add(x, half(square(out)))), (2 * pi) ** 0.5),),
    "owens_t":       (lambda x, y: multiply(multiply(exp(half(negative(square(x)))), sp.erf(multiply(multiply(x, y), 0.5**0.5))), -0.5 * (2 * pi) ** -0.5),
                      lambda x, y: divide(exp(half(negative(multiply(square(x), up(square(y)))))), multiply(up(square(y)), 2 * pi))),

    # logistic, entropy, losses
    "expit":         (lambda out: multiply(out, subtract(1, out)),),
    "logit":         (lambda x: reciprocal(multiply(x, subtract(1, x))),),
    "log_expit":     (lambda x: sp.expit(negative(x)),),
    "xlogy":         (lambda y: log(y), lambda x, y: divide(x, y)),
    "xlog1py":       (lambda y: log1p(y), lambda x, y: divide(x, up(y))),
    "entr":          (lambda x: negative(up(log(x))),),
    "rel_entr":      (lambda x, y: up(log(divide(x, y))), lambda x, y: negative(divide(x, y))),
    "kl_div":        (lambda x, y: log(divide(x, y)), lambda x, y: subtract(1, divide(x, y))),
    "huber":         (lambda x, y: maximum(subtract(absolute(y), x), 0), lambda x, y: ops.np.clip(y, negative(x), x)),
    "pseudo_huber":  (lambda x, y: subtract(multiply(multiply(x, 2), down(huber_root(x, y))), divide(square(y), multiply(x, huber_root(x, y)))), lambda x, y: divide(y, huber_root(x, y))),
    "boxcox":        (lambda x, y: power(x, down(y)), lambda x, y, out: box_cox_power(x, y, out)),
    "boxcox1p":      (lambda x, y: power(up(x), down(y)), lambda x, y, out: box_cox_power(up(x), y, out)),
    "inv_boxcox":    (lambda y, out: power(out, subtract(1, y)), lambda x, y, out: box_cox_inverse(x, y, out)),
    "inv_boxcox1p":  (lambda y, out: power(up(out), subtract(1, y)), lambda x, y, out: box_cox_inverse(x, y, up(out))),

    # exponential and trigonometric
    "exprel":        (lambda x: half(sp.hyp1f1(2.0, 3.0, x)),),
    "expm1":         (lambda x: exp(x),),
    "exp2":          (lambda out: multiply(out, log_of(2)),),
    "exp10":         (lambda out: multiply(out, log_of(10)),),
    "log1p":         (lambda x: reciprocal(up(x)),),
    "cosm1":         (lambda x: negative(sin(x)),),
    "cbrt":          (lambda out: reciprocal(multiply(square(out), 3)),),
    "powm1":         (lambda x, y: multiply(y, power(x, down(y))), lambda x, out: multiply(up(out), log(x))),
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
    "ive":           (None, lambda x, y, out: subtract(total("ive", x, real("ive", y)), multiply(sign(y), out))),
    "i0":            (lambda x: sp.i1(x),),
    "i0e":           (lambda x, out: subtract(sp.i1e(x), multiply(sign(x), out)),),
    "i1":            (lambda x: half(add(sp.i0(x), sp.iv(2, x))),),
    "i1e":           (lambda x, out: subtract(half(add(sp.i0e(x), sp.ive(2, x))), multiply(sign(x), out)),),
    "kv":            (None, lambda x, y: negative(total("kv", x, y))),
    "kve":           (None, lambda x, y, out: subtract(out, total("kve", x, y))),
    "kn":            (None, lambda x, y: negative(total("kv", whole(x), y))),
    "k0":            (lambda x: negative(sp.k1(x)),),
    "k0e":           (lambda x, out: subtract(out, sp.k1e(x)),),
    "k1":            (lambda x: half(negative(add(sp.k0(x), sp.kv(2, x)))),),
    "k1e":           (lambda x, out: subtract(out, half(add(sp.k0e(x), sp.kve(2, x)))),),
    "hankel1":       (None, lambda x, y: difference("hankel1", x, y)),
    "hankel1e":      (None, lambda x, y, out: subtract(difference("hankel1e", x, y), multiply(out, 1j))),
    "hankel2":       (None, lambda x, y: difference("hankel2", x, y)),
    "hankel2e":      (None, lambda x, y, out: add(difference("hankel2e", x, y), multiply(out, 1j))),
    "struve":        (None, lambda x, y, out: subtract(sp.struve(down(x), y), divide(multiply(x, out), y))),
    "modstruve":     (None, lambda x, y, out: subtract(sp.modstruve(down(x), y), divide(multiply(x, out), y))),
    "itstruve0":     (lambda x: sp.struve(0.0, x),),
    "it2struve0":    (lambda x: negative(divide(sp.struve(0.0, x), x)),),
    "itmodstruve0":  (lambda x: sp.modstruve(0.0, x),),
    "ber":           (lambda x: sp.berp(x),),
    "bei":           (lambda x: sp.beip(x),),
    "ker":           (lambda x: sp.kerp(x),),
    "kei":           (lambda x: sp.keip(x),),

    # elliptic integrals of the parameter m
    "ellipk":        (lambda x: divide(sp.elliprd(0.0, 1.0, subtract(1, x)), 6),),
    "ellipkm1":      (lambda x: divide(sp.elliprd(0.0, 1.0, x), -6),),
    "ellipe":        (lambda x: divide(sp.elliprd(0.0, subtract(1, x), 1.0), -6),),
    "ellipkinc":     (lambda x, y: reciprocal(ellipse_phi(x, y)), lambda x, y: ellipkinc_m(x, y)),
    "ellipeinc":     (lambda x, y: ellipse_phi(x, y), lambda x, y: negative(ellipse_m(x, y))),
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
    "voigt_profile": (lambda x, y, z: voigt(x, y, z)[0], lambda x, y, z, out: negative(divide(add(out, voigt(x, y, z)[2]), y)), lambda x, y, z: voigt(x, y, z)[1]),

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
    "sici":          (lambda x: (over(sin(x), x, 1), divide(cos(x), x)),),
    "shichi":        (lambda x: (over(sinh(x), x, 1), divide(cosh(x), x)),),
    "fresnel":       (lambda x: (sin(multiply(square(x), pi / 2)), cos(multiply(square(x), pi / 2))),),
    "itj0y0":        (lambda x: (sp.j0(x), sp.y0(x)),),
    "iti0k0":        (lambda x: (sp.i0(x), sp.k0(x)),),
    "it2j0y0":       (lambda x: (over(subtract(1, sp.j0(x)), x, 0), negative(divide(sp.y0(x), x))),),
    "it2i0k0":       (lambda x: (over(subtract(sp.i0(x), 1), x, 0), negative(divide(sp.k0(x), x))),),
    "ellipj":        (lambda y, out: elliptic(out[2], 0, y, out), lambda y, out: elliptic(negative(multiply(out[2], ellipkinc_m(out[3], y))), 0.5, y, out)),
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
            f"scipy.special.{name} has no derivative: it has {count} results, and no rule is known here. Give it one:\n"
            "    from dispatch.library import from_ufunc\n"
            f"    op = from_ufunc(scipy.special.{name})\n"
            "    op.register_autograd(backward, setup_context=...)"
        )

    return backward


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
    derivative = [missing(ufunc, i) if partial is None else partial for i, partial in enumerate(partials)]
    by_element = ufunc.nout == 1 and not ufunc.signature
    op = from_ufunc(ufunc, f"{NAMESPACE}::{name}", derivative=derivative if by_element else None)
    if name in SEVERAL:
        _complete(op, SEVERAL[name])
    elif not by_element:
        op.register_autograd(_missing_rule(name, ufunc.nout))
    if name in SEVERAL or None not in partials:
        DIFFERENTIATED.add(op)
    return op


def install() -> None:
    """Make an operator of each function of the table, and of those that their derivatives are made of."""
    for name in (*TABLE, *SEVERAL, "berp", "beip", "kerp", "keip"):
        ufunc = ufunc_of(name)
        if ufunc is not None:
            row_of(ufunc)
    define_on_first_use(NAMESPACE, None)
    of_functions()
