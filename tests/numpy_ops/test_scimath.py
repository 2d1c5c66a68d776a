"""`np.emath`: derivatives on both sides of a real domain and of a branch cut, by finite differences along the real line."""

import numpy as np
import pytest

import dispatch
from dispatch import FakeTensorMode, make_fx
from dispatch.errors import DataDependentError

NAMES = ["sqrt", "log", "log2", "log10", "arcsin", "arccos", "arctanh"]
POINTS = [np.array([0.3, 0.6]), np.array([-0.3, 0.6]), np.array([1.5, 0.6]), np.array([-1.5, -0.6]), np.array(-2.5), np.array([2 + 1j, -0.5j])]


def slope(f, x, t):
    return (f(x + 1e-6 * t) - f(x - 1e-6 * t)) / 2e-6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("x", POINTS, ids=str)
def test_a_derivative_along_the_real_line_is_that_of_finite_differences(name, x):
    f, t = getattr(np.emath, name), np.ones_like(x)
    value, tangent = dispatch.jvp(f, (x,), (t,))
    assert value.dtype == tangent.dtype == f(x).dtype
    np.testing.assert_allclose(tangent, slope(f, x, t), rtol=1e-6)
    loss = lambda x: np.sum(np.real((0.5 + 2j) * f(x)))
    found = dispatch.grad(loss)(x)
    assert found.dtype == x.dtype
    np.testing.assert_allclose(np.real(found), np.real((0.5 + 2j) * slope(f, x, t)), rtol=1e-6)


@pytest.mark.parametrize("exponent", [-2, 0.5, -1.5, np.array([-1, 2])], ids=str)
def test_powers_and_logarithms_of_two_arguments(exponent):
    for x in (np.array([0.5, 2.0]), np.array([-0.5, 2.0])):
        t = np.ones_like(x)
        for f in (lambda x: np.emath.power(x, exponent), lambda x: np.emath.logn(3.0, x), lambda x: np.emath.logn(x, 3.0)):
            np.testing.assert_allclose(dispatch.jvp(f, (x,), (t,))[1], slope(f, x, t), rtol=1e-6)


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arccosh"])
@pytest.mark.parametrize("z", [2 + 0j, complex(2, -0.0), -2 + 0j, complex(-2, -0.0), 0.5 + 0j, 1 + 2j], ids=str)
def test_a_derivative_on_a_branch_cut_is_that_of_its_side(name, z):
    f = getattr(np, name)
    found = dispatch.jvp(f, (np.array(z),), (np.array(1 + 0j),))[1]
    expected = (f(complex(z.real + 1e-6, z.imag)) - f(complex(z.real - 1e-6, z.imag))) / 2e-6
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_a_whole_exponent_is_asked_for_its_sign_alone_where_it_is_whole():
    exponents = np.array([2, 1])
    with FakeTensorMode() as mode:
        assert np.emath.power(mode.from_array(np.ones(2) + 0j), mode.from_array(np.ones(2))).dtype == np.complex128
        with pytest.raises(DataDependentError) as caught:
            np.emath.power(mode.from_array(np.ones(2) + 0j), mode.from_array(exponents))
    assert str(caught.value).startswith(
        "np.emath.power: whether an exponent is below 0, and with it the dtype of the result, depends on the data, which a fake has not. "
        "Write np.emath.power(x, p * 1.0); or call it on real arrays, outside the mode."
    )


def test_dtypes_that_have_no_such_elements_need_no_data():
    for x in (np.array([True, False]), np.array([1, 2], "u1"), np.array([1j, 2.0])):
        graph = make_fx(np.emath.sqrt, "fake")(x)
        np.testing.assert_array_equal(graph(x), np.emath.sqrt(x))


def test_the_numbers_of_each_dtype_are_numpys():
    for kind in ("i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"):
        for values in ([1, 0], [1, -1]):
            x = np.array(values, kind)
            for name in NAMES[:4]:
                f = getattr(np.emath, name)
                with np.errstate(all="ignore"):
                    found, expected = dispatch.vmap(f)(x), f(x)
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected)
