"""Every operator of tests/transform_cases.py under every transform and every ordered pair of them.

A transform of a function is held against what it means: directional finite differences of that function, or a loop over it.
The function under an outer transform is one under an inner transform, which the same test holds by itself.
"""

from itertools import product

import numpy as np
import pytest
from transform_cases import CASES, FORMULAS, bend

import dispatch


def weights(shape):
    """Numbers of no pattern, so that no sum of wrong terms comes out right."""
    return np.cos(1.0 + 2.7 * np.arange(np.prod(shape, dtype=int))).reshape(shape)


SCALES = np.array([1.0, 1.03])


def transforms(lib, xp):
    """The transforms of a library, each as a transform of functions of one vector."""
    return {
        "grad": lambda f: lib.grad(lambda x: (lambda y: (y * xp.asarray(weights(tuple(y.shape)))).sum())(f(x))),
        "jvp": lambda f: lambda x: lib.jvp(f, (x,), (xp.asarray(weights(tuple(x.shape))),))[1],
        "jacrev": lambda f: lib.jacrev(f),
        "jacfwd": lambda f: lib.jacfwd(f),
        "hessian": lambda f: lib.hessian(f),
        "vmap": lambda f: lambda x: lib.vmap(f)(xp.asarray(SCALES)[:, None] * x),
    }


OURS = transforms(dispatch, np)
PAIRS = list(product(OURS, OURS))
STEP = 1e-3


def slope(f, x, t):
    """The derivative along a direction, by central differences of fourth order."""
    at = lambda k: np.asarray(f(x + k * STEP * t))
    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * STEP)


def curvature(f, x, s, t):
    at = lambda j, k: np.asarray(f(x + STEP * (j * s + k * t)))
    return (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * STEP**2)


def check(name, f, x):
    """Hold a transform of a function against what it means."""
    got = OURS[name](f)(x)
    assert type(got) is np.ndarray
    assert got.dtype == x.dtype
    s, t = np.sin(3.0 * np.arange(x.size)), weights(x.shape)
    scale = 1 + np.abs(got).max()
    if name == "vmap":
        np.testing.assert_allclose(got, np.stack([f(c * x) for c in SCALES]), rtol=1e-11, atol=1e-11 * scale)
    elif name == "jvp":
        np.testing.assert_allclose(got, slope(f, x, t), rtol=1e-7, atol=1e-9 * scale)
    elif name == "grad":
        y = f(x)
        np.testing.assert_allclose(got @ t, np.sum(slope(f, x, t) * weights(np.shape(y))), rtol=1e-7, atol=1e-9 * scale)
    elif name == "hessian":
        np.testing.assert_allclose(got @ t @ s, curvature(f, x, s, t), rtol=1e-4, atol=1e-5 * scale)
    else:
        np.testing.assert_allclose(got @ t, slope(f, x, t), rtol=1e-7, atol=1e-9 * scale)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", OURS)
def test_each_transform(name, case):
    check(name, case, case.at)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_each_ordered_pair(outer, inner, case):
    check(outer, OURS[inner](case), case.at)


def compare(outer, inner, theirs, xp, names, run):
    """Hold a pair of transforms of some cases against another library's, of the same formula."""
    for case in CASES:
        if case.name in names:
            f = lambda x, formula=FORMULAS[case.name]: formula(xp, bend(x))
            expected = run(theirs[outer](theirs[inner](f)), case.at)
            found = OURS[outer](OURS[inner](case))(case.at)
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10, err_msg=case.name)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_each_pair_is_torchs(outer, inner):
    import torch

    run = lambda f, x: f(torch.asarray(x)).numpy(force=True)
    # not solve: torch's forward mode of it has a wrong derivative, jacrev(jacfwd(f)) is not jacrev(jacrev(f)) (torch 2.13)
    compare(outer, inner, transforms(torch.func, torch), torch, FORMULAS.keys() - {"solve"}, run)


@pytest.mark.jax
@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_each_pair_is_jaxs(outer, inner):
    import jax

    with jax.enable_x64(True):
        names = ["keyed", "solve"] if {outer, inner} <= {"jacrev", "jacfwd"} else ["keyed"]  # it takes seconds to compile more
        compare(outer, inner, transforms(jax, jax.numpy), jax.numpy, names, lambda f, x: np.asarray(jax.jit(f)(x)))


# -- third derivatives ---------------------------------------------------------------------------------------------------------

THIRD = {  # a function and its third derivative
    "sin": (lambda x: np.sin(x), lambda x: -np.cos(x)),
    "power": (lambda x: x**5, lambda x: 60 * x**2),
    "product": (lambda x: x * np.exp(x), lambda x: (x + 3) * np.exp(x)),
    "quotient": (lambda x: 1 / (1 + x * x), lambda x: 24 * x * (1 - x * x) / (1 + x * x) ** 4),
    "tanh": (lambda x: np.tanh(x), lambda x: (4 * np.tanh(x) ** 2 - 2 * (1 - np.tanh(x) ** 2)) * (1 - np.tanh(x) ** 2)),
}
DERIVATIVES = {
    "grad": dispatch.grad,
    "jvp": lambda f: lambda x: dispatch.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f: lambda x: dispatch.vjp(f, x)[1](1.0)[0],
    "jacrev": dispatch.jacrev,
    "jacfwd": dispatch.jacfwd,
}


@pytest.mark.parametrize("name", THIRD)
@pytest.mark.parametrize("orders", list(product(DERIVATIVES, repeat=3)), ids=" ".join)
def test_third_derivatives(name, orders):
    f, expected = THIRD[name]
    for order in orders:
        f = DERIVATIVES[order](f)
    assert np.isclose(f(0.7), expected(0.7), rtol=1e-11)
    x = np.array([0.3, 0.7, -1.1])
    np.testing.assert_allclose(dispatch.vmap(f)(x), expected(x), rtol=1e-11)


MIXED = {
    "of a quotient": lambda lib, x: lib.sum(lib.sin(x[:1] * x[1:]) / (1 + x[1:] ** 2)),
    "of a norm": lambda lib, x: lib.sqrt(lib.sum(x * x)),
    "of an exponential": lambda lib, x: lib.exp(lib.sum(x * x) / 4) * x[0],
    "of a logarithm": lambda lib, x: lib.log(lib.sum(lib.exp(x))),
    "of a product": lambda lib, x: x[0] * x[1] ** 2 * lib.tanh(x[2]),
}
AT = np.array([0.4, 1.1, -0.7])


def third_derivatives(lib):
    return {
        "hessian, then rows": lambda f: lib.jacrev(lib.hessian(f)),
        "gradient, then Hessian": lambda f: lib.hessian(lib.grad(f)),
        "columns of columns of columns": lambda f: lib.jacfwd(lib.jacfwd(lib.jacfwd(f))),
        "rows of rows of rows": lambda f: lib.jacrev(lib.jacrev(lib.jacrev(f))),
    }


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("way", third_derivatives(dispatch))
def test_mixed_third_derivatives(name, way):
    f = lambda x: MIXED[name](np, x)
    found = third_derivatives(dispatch)[way](f)(AT)
    assert found.shape == (3, 3, 3)
    t = weights((3,))
    np.testing.assert_allclose(found @ t, slope(dispatch.hessian(f), AT, t), rtol=1e-8, atol=1e-9)
    for axes in ((1, 0, 2), (2, 1, 0)):
        np.testing.assert_allclose(found, np.transpose(found, axes), atol=1e-12)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("name", MIXED)
def test_mixed_third_derivatives_are_torchs(name):
    import torch

    for way, ours in third_derivatives(dispatch).items():
        expected = third_derivatives(torch.func)[way](lambda x: MIXED[name](torch, x))(torch.asarray(AT))
        np.testing.assert_allclose(ours(lambda x: MIXED[name](np, x))(AT), expected.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.jax
@pytest.mark.parametrize("name", MIXED)
def test_mixed_third_derivatives_are_jaxs(name):
    import jax

    with jax.enable_x64(True):
        expected = jax.jit(jax.jacfwd(jax.hessian(lambda x: MIXED[name](jax.numpy, x))))(AT)
    for ours in third_derivatives(dispatch).values():
        np.testing.assert_allclose(ours(lambda x: MIXED[name](np, x))(AT), np.asarray(expected), rtol=1e-10, atol=1e-12)
