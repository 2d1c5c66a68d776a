"""SciPy's special functions: every partial derivative of the table against differences of the function itself."""

import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch.errors import DefinitionError, UnsupportedError

scipy_special = pytest.importorskip("scipy.special", reason="SciPy is not installed (extra `scipy`)")
from dispatch import from_ufunc  # noqa: E402
from dispatch.numpy_ops.special_ufuncs import SEVERAL, TABLE, ufunc_of  # noqa: E402

FUNCTIONS = {name: ufunc for name in TABLE if (ufunc := ufunc_of(name)) is not None}
every_function = pytest.mark.parametrize("name", FUNCTIONS)

# Where a function is defined, its arguments as (from, to); elsewhere all are in (0.4, 1.6).
WHOLE, UNIT, SIGNED, ORDER, WHOLE_ABOVE = (1, 4), (0.1, 0.9), (-1.3, 1.4), (0.5, 2.7), (4, 7)
DOMAINS: dict[str, Any] = {
    **dict.fromkeys("erf erfc erfcx erfi dawsn ndtr log_ndtr expit log_expit exprel expm1 exp2 exp10 cosm1 sindg cosdg j0 j1 i0 i0e i1 i1e itstruve0 itmodstruve0 ber bei wofz ".split(), (SIGNED,)),
    **dict.fromkeys("erfinv ndtri logit ellipk ellipe ellipkm1".split(), (UNIT,)),
    "erfcinv": [UNIT], "ndtri_exp": [(-3, -0.2)], "rgamma": [(0.2, 3.3)], "psi": [(0.2, 3.3)], "loggamma": [(0.2, 3.3)],
    **dict.fromkeys("gammaincinv gammainccinv".split(), (ORDER, UNIT,)),
    **dict.fromkeys("betainc betaincc betaincinv betainccinv".split(), (ORDER, ORDER, UNIT,)),
    "zeta": [(1.5, 4), (0.5, 2)], "binom": [(3.2, 5.1), (0.6, 2.2)],
    "owens_t": [SIGNED, SIGNED], "huber": [(0.5, 0.9), (-1.6, 1.7)], "pseudo_huber": [(0.5, 0.9), SIGNED], "rel_entr": [UNIT, UNIT], "kl_div": [UNIT, UNIT],
    "inv_boxcox": [UNIT, UNIT], "inv_boxcox1p": [UNIT, UNIT],
    **dict.fromkeys("jv jve yv yve iv ive kv kve struve modstruve hankel1 hankel1e hankel2 hankel2e".split(), (ORDER, (0.5, 4),)),
    **dict.fromkeys("yn kn expn".split(), (WHOLE, (0.5, 3),)),
    "ellipkinc": [SIGNED, UNIT], "ellipeinc": [SIGNED, UNIT], "lambertw": [(0.2, 2), (0, 0), (1e-12, 1e-12)],
    "hyp2f1": [UNIT, UNIT, ORDER, (-0.6, 0.6)],
    **dict.fromkeys("eval_legendre eval_chebyt eval_chebyu eval_laguerre eval_hermite eval_hermitenorm eval_chebyc eval_chebys eval_sh_legendre eval_sh_chebyt eval_sh_chebyu".split(), ((0, 4), (-0.8, 0.9),)),
    "eval_gegenbauer": [(0, 4), ORDER, (-0.8, 0.9)], "eval_genlaguerre": [(0, 4), ORDER, (-0.8, 0.9)], "eval_jacobi": [(0, 4), ORDER, ORDER, (-0.8, 0.9)],
    "pdtr": [(0.4, 4), ORDER], "pdtrc": [(0.4, 4), ORDER], "stdtr": [ORDER, SIGNED], "stdtrit": [ORDER, UNIT],
    "bdtr": [(0.4, 2.9), WHOLE_ABOVE, UNIT], "bdtrc": [(0.4, 2.9), WHOLE_ABOVE, UNIT], "bdtri": [(0.4, 2.9), WHOLE_ABOVE, UNIT],
    "nbdtr": [WHOLE, WHOLE, UNIT], "nbdtrc": [WHOLE, WHOLE, UNIT], "nbdtri": [WHOLE, WHOLE, UNIT],
    "chdtri": [ORDER, UNIT], "fdtri": [ORDER, ORDER, UNIT], "gdtrix": [ORDER, ORDER, UNIT], "pdtri": [WHOLE, UNIT], "nrdtrimn": [UNIT, ORDER, SIGNED], "nrdtrisd": [SIGNED, (0.6, 0.9), (1.6, 2.5)],
    "gdtr": [ORDER, ORDER, ORDER], "gdtrc": [ORDER, ORDER, ORDER], "logit": [UNIT],
}  # fmt: skip
OF_WHOLE_NUMBERS = {"yn": 0, "kn": 0, "expn": 0, "lambertw": 1, **dict.fromkeys([name for name in FUNCTIONS if name.startswith("eval_")], 0)}
WHOLE_THROUGHOUT = {"nbdtr", "nbdtrc", "nbdtri", "pdtri"}
OF_COMPLEX = {"gamma", "loggamma", "rgamma", "erf", "erfc", "erfcx", "erfi", "dawsn", "wofz", "ndtr", "expm1", "log1p", "spence", "exp1", "expi", "wrightomega", "lambertw",
              "jv", "yv", "iv", "kv", "kve", "hankel1", "hankel1e", "hankel2", "hankel2e", "hyp0f1", "hyp1f1"}  # fmt: skip


def arguments(name: str, n: int = 7) -> list[Any]:
    """Values of each argument, away from each other's corners."""
    ufunc, random = FUNCTIONS[name], np.random.default_rng(len(name))
    ranges = DOMAINS.get(name, [(0.4, 1.6)] * ufunc.nin)
    found = [random.uniform(low, high, n) for low, high in ranges]
    for i, given in enumerate(ranges):
        if given is WHOLE_ABOVE or (given is WHOLE and name in WHOLE_THROUGHOUT):
            found[i] = np.round(found[i]).astype(int)
    if name in OF_WHOLE_NUMBERS:
        at = OF_WHOLE_NUMBERS[name]
        found[at] = np.round(found[at]).astype(int)
        found[at][0] = ranges[at][0]
    return found


def slope(f: Any, x: Any, step: float = 1e-3) -> Any:
    """The derivative by differences of sixth order."""
    weights = {1: 45, 2: -9, 3: 1}
    return sum(w * (f(x + k * step) - f(x - k * step)) for k, w in weights.items()) / (60 * step)


@every_function
def test_every_partial_derivative_is_that_of_the_function(name: str) -> None:
    ufunc, values = FUNCTIONS[name], arguments(name)
    for i, partial in enumerate(TABLE[name]):
        if partial is None:
            continue

        def f(x: Any, i: int = i) -> Any:
            return ufunc(*values[:i], x, *values[i + 1 :])

        expected = slope(f, values[i])
        with np.errstate(all="ignore"):
            jvp = dispatch.jvp(f, (values[i],), (np.ones_like(values[i]),))[1]
            vjp = dispatch.grad(lambda x: np.sum(np.real(f(x))))(values[i])
        near: Any = {"rtol": 1e-7, "atol": 1e-8 * max(1.0, float(np.max(np.abs(expected))))}
        np.testing.assert_allclose(jvp, expected, **near, err_msg=f"{name}, by argument {i}")
        np.testing.assert_allclose(vjp, np.real(expected), **near, err_msg=f"{name}, by argument {i}")


@pytest.mark.parametrize("name", sorted(OF_COMPLEX))
def test_the_derivatives_of_complex_values_are_holomorphic(name: str) -> None:
    ufunc, values = FUNCTIONS[name], arguments(name)
    at = len(values) - 1 if name != "lambertw" else 0
    z = values[at] + 0.3j
    f = lambda z: ufunc(*values[:at], z, *values[at + 1 :])
    with np.errstate(all="ignore"):
        found = dispatch.jvp(f, (z,), (np.ones_like(z),))[1]
    np.testing.assert_allclose(found, slope(f, z), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found, slope(lambda y: f(z + 1j * y), np.zeros(len(z))) / 1j, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["jve", "yve", "ive"])
def test_what_has_an_absolute_value_in_it_has_no_complex_derivative(name: str) -> None:
    said = f"scipy.special.{name} has no derivative of complex values: |Re z| or |Im z| is part of it. Take the function without the scale."
    with pytest.raises(UnsupportedError, match=re.escape(said)):
        dispatch.jvp(lambda z: FUNCTIONS[name](1.5, z), (np.ones(2) * 1j,), (np.ones(2) * 1j,))


def test_psi_of_complex_values_has_no_derivative_because_scipy_has_no_trigamma_of_them() -> None:
    with pytest.raises(UnsupportedError, match=r"psi has no derivative of complex values: SciPy has no trigamma of them\."):
        dispatch.jvp(scipy_special.psi, (np.ones(2) * 1j,), (np.ones(2) * 1j,))


@every_function
def test_a_batch_is_a_loop_and_a_graph_is_the_function(name: str) -> None:
    ufunc, values = FUNCTIONS[name], arguments(name, 3)
    with np.errstate(all="ignore"):
        expected = ufunc(*values)
        assert np.array_equal(dispatch.vmap(ufunc)(*values), expected, equal_nan=True)
        assert np.array_equal(dispatch.make_fx(lambda *xs: ufunc(*xs), "fake")(*values)(*values), expected, equal_nan=True)
    shape = dispatch.eval_shape(lambda *xs: ufunc(*xs), *values)
    assert (shape.shape, shape.dtype) == (expected.shape, expected.dtype)


@every_function
def test_a_derivative_without_a_closed_form_raises_by_name(name: str) -> None:
    ufunc, values = FUNCTIONS[name], arguments(name)
    for i, partial in enumerate(TABLE[name]):
        if partial is not None or values[i].dtype.kind == "i":
            continue
        said = f"scipy.special.{name} has no derivative by its argument {i + 1} of {ufunc.nin}: no closed form is known here."
        for derivative in (
            lambda x, i=i: dispatch.grad(lambda x: np.sum(np.real(ufunc(*values[:i], x, *values[i + 1 :]))))(x),
            lambda x, i=i: dispatch.jvp(lambda x: ufunc(*values[:i], x, *values[i + 1 :]), (x,), (x,)),
        ):
            with pytest.raises(UnsupportedError) as caught:
                derivative(values[i])
            assert str(caught.value).startswith(said)
            line = str(caught.value).splitlines()[-1]
            assert eval(line.partition("(")[2].partition(",")[0], {"scipy": sys.modules["scipy"]}) is ufunc  # not only a name: `zeta` is a function around it
            assert ", derivative=(lambda " in line


def test_a_ufunc_that_scipy_has_no_public_name_of_is_named_by_where_it_stands() -> None:
    with pytest.raises(UnsupportedError) as caught:
        dispatch.grad(lambda x: np.sum(scipy_special.zeta(x)))(np.array([2.5, 3.0]))
    assert str(caught.value).startswith("scipy.special._ufuncs._riemann_zeta has no derivative: no closed form is known here. ")
    assert str(caught.value).endswith("\n    from_ufunc(scipy.special._ufuncs._riemann_zeta, derivative=(lambda x, out: ...,))")


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if None not in TABLE[name] and TABLE[name] != (0,) and hasattr(scipy_special, name)])
def test_nobody_changes_a_derivative_of_the_table_for_all(name: str) -> None:
    ufunc = FUNCTIONS[name]
    with pytest.raises(DefinitionError) as caught:
        from_ufunc(ufunc, derivative=[0.0] * ufunc.nin)
    assert str(caught.value) == (
        f"from_ufunc: scipy_special::{name} is a row of SciPy's table, which all code of this process shares, and derivative= would change it "
        f'for all. Give an operator of your own a name: from_ufunc(scipy.special.{ufunc.__name__}, "mylib::{ufunc.__name__}", derivative=...).'
    )
    own = from_ufunc(ufunc, f"own_special::{name}", derivative=[0.0] * ufunc.nin)
    values = arguments(name, 3)
    with np.errstate(all="ignore"):
        assert not np.any(dispatch.grad(lambda x: np.sum(np.real(own(*values[:-1], x))))(values[-1]))
        assert np.any(dispatch.grad(lambda x: np.sum(np.real(ufunc(*values[:-1], x))))(values[-1]))


def test_a_function_outside_the_table_is_told_the_lines_that_give_it_a_derivative() -> None:
    with pytest.raises(UnsupportedError) as caught:
        dispatch.grad(lambda x: scipy_special.zetac(x))(2.5)
    assert str(caught.value).splitlines()[0] == (
        "scipy.special.zetac has no derivative: no closed form is known here. Give it its partial derivatives, one for each argument, of which each names what it reads:"
    )
    assert str(caught.value).splitlines()[1:3] == [
        "    from dispatch.library import from_ufunc",
        "    from_ufunc(scipy.special.zetac, derivative=(lambda x, out: ...,))",
    ]


@every_function
def test_second_derivatives_are_derivatives_of_the_first(name: str) -> None:
    values = arguments(name)
    for i, partial in enumerate(TABLE[name]):
        if partial is None or not callable(partial):
            continue
        f = lambda x, i=i: np.real(FUNCTIONS[name](*values[:i], x, *values[i + 1 :]))
        first = lambda x, f=f: dispatch.vjp(f, x)[1](np.ones(len(x)))[0]
        with np.errstate(all="ignore"):
            second, expected = dispatch.jvp(first, (values[i],), (np.ones_like(values[i]),))[1], slope(first, values[i])
            back = dispatch.vjp(first, values[i])[1](np.ones(len(expected)))[0]
        near: Any = {"rtol": 1e-6, "atol": 1e-7 * max(1.0, float(np.max(np.abs(expected))))}
        np.testing.assert_allclose(second, expected, **near, err_msg=f"{name}, by argument {i}")
        np.testing.assert_allclose(back, second, **{**near, "rtol": 1e-9}, err_msg=f"{name}, by argument {i}")


def digits(mp: Any) -> dict[str, tuple[Any, list[tuple[int, tuple[float, ...]]]]]:
    """Functions of mpmath, and points far out, at a pole or at a limit: the argument that the derivative is by, and the arguments."""
    dawson = lambda x: mp.exp(-x * x) * mp.erfi(x) * mp.sqrt(mp.pi) / 2
    erfcx = lambda x: mp.exp(x * x) * mp.erfc(x)
    log_ndtr = lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)
    box_cox = lambda x, p: mp.expm1(p * mp.log(x)) / p if p else mp.log(x)
    inverse = lambda y, p: mp.exp(mp.log1p(p * y) / p) if p else mp.exp(y)
    voigt = lambda x, s, g: mp.quad(lambda t: mp.exp(-t * t / (2 * s * s)) * g / ((x - t) ** 2 + g * g), [-30 * s, 0, 30 * s]) / (s * mp.pi * mp.sqrt(2 * mp.pi))
    kullback = lambda x, y: x * mp.log(x / y) - x + y
    amplitude = lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1)
    return {
        "rgamma": (mp.rgamma, [(0, (x,)) for x in (0.0, -1.0, -4.0, -2 + 1e-9, 0.3, 7.5)]),
        "psi": (mp.digamma, [(0, (x,)) for x in (-0.3, -7.6, -1e9 - 0.25, 3e5)]),
        "poch": (lambda x, m: mp.gamma(x + m) * mp.rgamma(x), [(0, (-2.0, 4.3)), (0, (-3.0, 2.0)), (0, (-3.0, 1.0)), (0, (5e6, 1.0)), (0, (5e6, 3.25)), (1, (1e5, 0.5))]),
        "binom": (lambda n, k: mp.gamma(n + 1) * mp.rgamma(k + 1) * mp.rgamma(n - k + 1), [(0, (2.0, 7.0)), (1, (2.0, 7.0)), (1, (5.0, -2.0)), (0, (1e8, 2.0)), (1, (6.0, 3.5))]),
        "beta": (mp.beta, [(0, (1e5, 0.125)), (1, (0.125, 1e5)), (0, (3.0, 2.0))]),
        "betaln": (lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), [(0, (8e7, 0.85)), (0, (4e6, 2.5)), (1, (2.5, 4e6))]),
        **{f"i{n}e": (lambda x, n=n: mp.besseli(n, x) * mp.exp(-x), [(0, (x,)) for x in (300.0, 3e8)]) for n in (0, 1)},
        **{f"k{n}e": (lambda x, n=n: mp.besselk(n, x) * mp.exp(x), [(0, (x,)) for x in (300.0, 3e8)]) for n in (0, 1)},
        "ive": (lambda v, x: mp.besseli(v, x) * mp.exp(-x), [(1, (2.5, x)) for x in (7e4, 8e4, 3e8)]),
        "kve": (lambda v, x: mp.besselk(v, x) * mp.exp(x), [(1, (2.5, x)) for x in (7e4, 8e4, 3e8)]),
        "exprel": (lambda x: mp.expm1(x) / x, [(0, (x,)) for x in (-1e6, -1.01, 0.99, 1.01, 700.0)]),
        "erfcx": (erfcx, [(0, (x,)) for x in (-2.0, 19.0, 21.0, 90.0)]),
        "dawsn": (dawson, [(0, (x,)) for x in (-19.0, -21.0, 90.0)]),
        "log_ndtr": (log_ndtr, [(0, (x,)) for x in (-3e3, -30.0, 0.0, 8.0)]),
        "voigt_profile": (voigt, [(0, (60.0, 1.0, 0.5)), (1, (60.0, 1.0, 0.5)), (1, (0.5, 1.0, 0.3)), (2, (60.0, 1.0, 0.5))]),
        "expit": (lambda x: 1 / (1 + mp.exp(-x)), [(0, (35.0,)), (0, (60.0,))]),
        "kl_div": (kullback, [(0, (3.0, 3 + 1e-6)), (1, (3.0, 3 + 1e-6))]),
        "rel_entr": (lambda x, y: x * mp.log(x / y), [(0, (1e200, 1e-200)), (0, (1e-200, 1e200)), (0, (3.0, 3 + 1e-6))]),
        "pseudo_huber": (amplitude, [(0, (1e4, 100.0)), (0, (1e4, -2.75)), (0, (0.5, 2.0))]),
        "boxcox": (box_cox, [(1, (3.3, p)) for p in (0.0, 1e-9, -1e-5, 1e-3, 2.0)]),
        "boxcox1p": (lambda x, p: box_cox(1 + x, p), [(1, (x, p)) for x in (2e-4, 3.3) for p in (1e-9, 1e-3, 1.0)]),
        "inv_boxcox": (inverse, [(1, (y, p)) for y in (1e-6, 0.7) for p in (0.0, 1e-9, -1e-5, 0.3, 1.5)]),
        "inv_boxcox1p": (lambda y, p: inverse(y, p) - 1, [(1, (y, p)) for y in (1e-6, 0.7) for p in (1e-9, 0.3, 1.5)]),
        "powm1": (lambda x, y: x**y - 1, [(1, (1e-6, 1.5)), (1, (2.0, 1e-9))]),
        "spence": (lambda x: mp.polylog(2, 1 - x), [(0, (x,)) for x in (1.0, 1 + 1e-6, 0.6, 1.4, 1.6)]),
        "ellipkinc": (mp.ellipf, [(1, (phi, m)) for phi, m in ((1e-3, 0.4), (0.7, 0.0), (0.7, 1.0), (1.2, 1 - 1e-10), (-7.0, 0.6), (1e-2, 2e-3))]),
        "ellipeinc": (mp.ellipe, [(1, (phi, m)) for phi, m in ((1e-3, 0.4), (0.7, 0.0), (0.7, 1.0), (1.2, 1 - 1e-10), (-7.0, 0.6), (1e-2, 2e-3))]),
        "elliprd": (mp.elliprd, [(i, p) for i in range(3) for p in ((1.0, 1.0, 1.0), (1.0, 2.0, 2.0), (0.3, 2.0, 0.3), (2.0, 3.0, 3.00001), (0.5, 0.5, 0.52))]),
        **{
            f"eval_{name}": (f, [(1, (n, x)) for n in (0.5, -0.5, 0.0, 1.0, 2.75) for x in (0.3, 0.8)])
            for name, f in (("legendre", mp.legendre), ("chebyt", mp.chebyt), ("chebyu", mp.chebyu), ("laguerre", lambda n, x: mp.laguerre(n, 0, x)))
        },
        "eval_gegenbauer": (mp.gegenbauer, [(2, (0.5, 1.25, 0.3)), (2, (-0.25, 1.25, 0.3))]),
        "eval_genlaguerre": (mp.laguerre, [(2, (0.5, 1.25, 0.3)), (2, (-0.25, 1.25, 0.3))]),
    }


mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed (it comes with SymPy, extra `symbolic`)")


@pytest.mark.parametrize("name", digits(mpmath))
def test_a_derivative_has_its_digits_far_out_at_poles_and_at_limits(name: str) -> None:
    f, points = digits(mpmath)[name]
    for i, point in points:
        with mpmath.workdps(50):
            step = mpmath.mpf(10) ** -16 * (abs(point[i]) or 1)
            at = lambda x, i=i, point=point: f(*[mpmath.mpf(v) if j != i else x for j, v in enumerate(point)])
            expected = float(mpmath.re((at(point[i] + step) - at(point[i] - step)) / (2 * step)))
        with np.errstate(all="ignore"):
            found = dispatch.grad(lambda x, i=i, point=point: FUNCTIONS[name](*point[:i], x, *point[i + 1 :]))(point[i])
            forward = dispatch.jvp(lambda x, i=i, point=point: FUNCTIONS[name](*point[:i], x, *point[i + 1 :]), (point[i],), (1.0,))[1]
        np.testing.assert_allclose([found, forward], expected, rtol=1e-9, atol=1e-300, err_msg=f"{name}{point} by argument {i}")


def test_the_density_of_a_large_parameter_has_its_digits() -> None:
    log_gamma, exp, log = mpmath.loggamma, mpmath.exp, mpmath.log
    student = lambda n, t: log_gamma((n + 1) / 2) - log_gamma(n / 2) - log(n * mpmath.pi) / 2 - (n + 1) / 2 * log(1 + t * t / n)
    for name, density, points in (
        ("gammainc", lambda a, x: (a - 1) * log(x) - x - log_gamma(a), ((1e9, 1e9 + 3e4), (1e7, 1e7 - 5e3), (1e5, 1e5), (30.0, 1e-5), (16.9, 12.0), (17.1, 12.0))),
        ("betainc", lambda a, b, x: (a - 1) * log(x) + (b - 1) * log(1 - x) - log(mpmath.beta(a, b)), ((1e8, 3e7, 0.7692), (1e5, 3e4, 0.77), (30.0, 900.0, 1e-9), (17.1, 18.0, 0.4), (16.9, 18.0, 0.4))),
        ("stdtr", student, ((1e12, 1.5), (1e10, -1.8), (1e4, 2.6), (31.0, 0.5), (33.0, 0.5))),
        ("pdtrc", lambda k, x: k * log(x) - x - log_gamma(k + 1), ((1e8, 1e8), (17.0, 0.5))),
    ):
        for *point, x in points:
            with mpmath.workdps(50):
                expected = float(exp(density(*[mpmath.mpf(v) for v in (*point, x)])))
            found = dispatch.grad(lambda x, point=point, name=name: FUNCTIONS[name](*point, x))(x)
            np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=f"{name}{(*point, x)}")


@pytest.mark.parametrize(("name", "by", "point", "expected"), [
    ("exprel", 0, (-np.inf,), 0.0), ("erfcx", 0, (np.inf,), 0.0), ("dawsn", 0, (-np.inf,), 0.0), ("log_ndtr", 0, (-np.inf,), np.inf), ("i0e", 0, (np.inf,), 0.0), ("k1e", 0, (np.inf,), 0.0),
    ("gammainc", 1, (2.5, np.inf), 0.0), ("gammaincc", 1, (40.0, np.inf), 0.0), ("boxcox", 1, (0.0, 2.0), 0.25), ("i1e", 0, (-3e8,), None), ("ive", 1, (3.0, -3e8), None),
    ("powm1", 0, (0.0, 0.0), 0.0), ("powm1", 1, (0.0, 2.0), 0.0),
    # outside of where it is defined
    ("loggamma", 0, (-0.5,), np.nan), ("gammainc", 1, (1.0, -1.0), np.nan), ("betainc", 2, (1.0, 1.0, 1.5), np.nan), ("boxcox", 0, (-2.0, 1.0), np.nan), ("boxcox1p", 0, (np.nan, 1.0), np.nan),
])  # fmt: skip
def test_a_derivative_at_infinity_is_the_limit_and_outside_nan(name: str, by: int, point: Any, expected: Any) -> None:
    f = lambda x: FUNCTIONS[name](*point[:by], x, *point[by + 1 :])
    if expected is None:  # of an odd function the slope on either side is the same
        expected = dispatch.grad(lambda x: FUNCTIONS[name](*point[:by], x))(-point[by])
    with np.errstate(all="ignore"):
        np.testing.assert_equal(float(dispatch.grad(f)(point[by])) + 0.0, float(expected))
        np.testing.assert_equal(float(dispatch.jvp(f, (point[by],), (1.0,))[1]) + 0.0, float(expected))


def test_derivatives_of_derivatives_have_their_limits() -> None:
    with np.errstate(all="ignore"):
        for f, x, order, expected in (
            (scipy_special.spence, 1.0, 2, 0.5),
            (scipy_special.ellipk, 0.0, 2, 9 * np.pi / 64),
            (scipy_special.ellipe, 0.0, 2, -3 * np.pi / 64),
            (scipy_special.ber, 0.0, 4, -3 / 8),
            (scipy_special.bei, 0.0, 2, 0.5),
            (scipy_special.ker, 1e-3, 2, 1000000.39269759),
            (scipy_special.rgamma, 0.0, 2, 2 * np.euler_gamma),
            (lambda x: scipy_special.sici(x)[0], 0.0, 3, -1 / 3),
            (lambda x: scipy_special.shichi(x)[0], 0.0, 3, 1 / 3),
            (lambda x: scipy_special.it2j0y0(x)[0], 1e-9, 1, 2.5e-10),
            (lambda x: scipy_special.it2i0k0(x)[0], 1e-9, 1, 2.5e-10),
            (lambda x: scipy_special.it2i0k0(x)[0], 0.0, 2, 0.25),
            (lambda x: scipy_special.struve(0.0, x), 0.0, 1, 2 / np.pi),
            (lambda x: scipy_special.struve(2.0, x), 0.0, 1, 0.0),
            (lambda x: scipy_special.modstruve(0.0, x), 0.0, 1, 2 / np.pi),
        ):
            g = f
            for _ in range(order):
                g = dispatch.grad(g)
            assert g(x) == pytest.approx(expected, rel=1e-10), f


@pytest.mark.parametrize(("name", "point", "expected"), [
    ("ellipk", (0.0,), np.pi / 8), ("ellipe", (0.0,), -np.pi / 8), ("exprel", (0.0,), 0.5), ("j1", (0.0,), 0.5), ("spence", (1.0,), -1.0), ("i1", (0.0,), 0.5),
])  # fmt: skip
def test_a_derivative_is_its_limit_where_the_formula_is_a_quotient_of_zeros(name: str, point: Any, expected: float) -> None:
    assert dispatch.grad(lambda x: FUNCTIONS[name](x))(*point) == pytest.approx(expected, rel=1e-14)


def test_scipy_is_not_imported_before_one_of_its_functions_is_met() -> None:
    code = "import sys, numpy as np, dispatch; dispatch.grad(np.sin)(1.0); print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_function_of_several_results_without_a_rule_says_how_to_give_it_one() -> None:
    x = np.array([0.5, 1.5])
    for transform in (dispatch.grad, lambda f: lambda x: dispatch.jvp(f, (x,), (x,))):
        with pytest.raises(UnsupportedError) as caught:
            transform(lambda x: np.sum(scipy_special.airye(x)[0]))(x)
        assert str(caught.value).partition("\nin ")[0] == (
            "scipy.special.airye has no derivative: it has 4 results, and no rule is known here. Give it one:\n"
            "    from dispatch.library import from_ufunc\n"
            "    op = from_ufunc(scipy.special.airye)\n"
            "    op.register_autograd(backward, setup_context=...)"
        )
    np.testing.assert_array_equal(dispatch.vmap(scipy_special.airye)(x)[1], scipy_special.airye(x)[1])


@pytest.mark.parametrize("name", SEVERAL)
def test_of_several_results_each_has_its_derivatives(name: str) -> None:
    ufunc, random = getattr(scipy_special, name), np.random.default_rng(0)
    values = [random.uniform(0.2, 0.9, 5) for _ in range(ufunc.nin)]
    for i in range(ufunc.nin):
        f = lambda x, i=i: np.stack(ufunc(*values[:i], x, *values[i + 1 :]))
        expected = slope(f, values[i])
        near: Any = {"rtol": 1e-7, "atol": 1e-8}
        np.testing.assert_allclose(dispatch.jvp(f, (values[i],), (np.ones(5),))[1], expected, **near)
        for k in range(ufunc.nout):
            g = lambda x, k=k, f=f: np.sum(f(x)[k])
            np.testing.assert_allclose(dispatch.grad(g)(values[i]), expected[k], **near)
        total = lambda x, f=f: np.sum(f(x) * np.arange(1.0, ufunc.nout + 1)[:, None])
        np.testing.assert_allclose(dispatch.vmap(dispatch.grad(lambda x, i=i: sum(k * y for k, y in enumerate(ufunc(*[v[0] if j != i else x for j, v in enumerate(values)]), 1))))(values[i])[0], dispatch.grad(total)(values[i])[0], **near)
    z = values[0] + 0.2j
    if all("D" in types for types in [{t[0] for t in ufunc.types}]):
        f = lambda z: np.stack(ufunc(z))
        np.testing.assert_allclose(dispatch.jvp(f, (z,), (np.ones_like(z),))[1], slope(f, z), rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(dispatch.grad(lambda z: np.sum(np.real(f(z))))(z), np.conj(np.sum(slope(f, z), 0)), rtol=1e-7, atol=1e-8)


def test_derivatives_of_elliptic_functions_have_their_limits_at_the_ends_of_the_parameter() -> None:
    u = np.array([0.3, 1.7, -2.2])
    for m in (0.0, 1e-14):
        found = dispatch.jvp(lambda m: scipy_special.ellipj(u, m)[3], (m,), (1.0,))[1]
        np.testing.assert_allclose(found, -(u - np.sin(u) * np.cos(u)) / 4, rtol=1e-11)
    for f in (scipy_special.ellipeinc, scipy_special.ellipkinc):  # on both sides of where the series ends
        first = lambda m, f=f: dispatch.jvp(lambda m: f(u, m), (m,), (1.0,))[1]
        np.testing.assert_allclose(first(0.00099999999), first(0.00100000001), rtol=1e-9)
        np.testing.assert_allclose(dispatch.jvp(first, (0.0,), (1.0,))[1], (first(1e-4) - first(-1e-4)) / 2e-4, rtol=1e-6)


def test_an_order_whose_fraction_scipy_cuts_off_has_the_derivative_of_the_order_without_it() -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        for f in (scipy_special.kn, scipy_special.yn):
            assert dispatch.grad(lambda x, f=f: f(1.3, x))(0.6) == dispatch.grad(lambda x, f=f: f(1, x))(0.6)


def test_the_methods_of_scipys_ufuncs_have_their_values_and_derivatives() -> None:
    x, t = np.array([[0.3, 0.9], [0.5, 0.7], [0.8, 0.4]]), np.array([[1.0, 0.5], [2.0, 1.0], [0.25, 3.0]])
    for f in (scipy_special.xlogy, scipy_special.xlog1py, scipy_special.betaln, scipy_special.owens_t, scipy_special.binom):
        for method in (f.reduce, f.accumulate, lambda x, f=f: f.reduceat(x, [0, 2, 1]), lambda x, f=f: f.outer(x[0], x[1])):
            out, slope = dispatch.jvp(method, (x,), (t,))
            np.testing.assert_array_equal(out, method(x))
            near = (method(x + 1e-6 * t) - method(x - 1e-6 * t)) / 2e-6
            np.testing.assert_allclose(slope, near, 1e-6, 1e-8, err_msg=f.__name__)
            g = np.cos(np.arange(np.size(out))).reshape(np.shape(out))
            np.testing.assert_allclose(np.sum(dispatch.vjp(method, x)[1](g)[0] * t), np.sum(g * slope), 1e-10, err_msg=f.__name__)
            np.testing.assert_array_equal(dispatch.vmap(method)(np.stack([x, x[::-1]])), [method(x), method(x[::-1])])
            np.testing.assert_array_equal(dispatch.make_fx(method)(x)(x[::-1]), method(x[::-1]))
        y = x.copy()
        f.at(y, [0, 2, 0], t)
        found = dispatch.vmap(lambda x, f=f: at(f, x, t))(x[None])
        np.testing.assert_allclose(found[0], y, 1e-14)
    with pytest.raises(UnsupportedError, match=r"scipy.special.jv has no derivative by its argument 1 of 2"):
        dispatch.grad(scipy_special.jv.reduce)(np.array([1.0, 2.0, 3.0]))


def at(f: Any, x: Any, t: Any) -> Any:
    y = np.copy(x)
    f.at(y, [0, 2, 0], t)
    return y
