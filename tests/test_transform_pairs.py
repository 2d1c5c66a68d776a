"""Every operator of tests/transform_cases.py under every transform and every ordered pair of them.

A transform of a function is held against what it means: directional finite differences of that function, or a loop over it.
The function under an outer transform is one under an inner transform, which the same test holds by itself.
"""

from itertools import product

import numpy as np
import pytest
from transform_cases import CASES

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
@pytest.mark.parametrize(("outer", "inner"), list(product(OURS, OURS)))
def test_each_ordered_pair(outer, inner, case):
    check(outer, OURS[inner](case), case.at)
