"""Laws of what is computed of triangles in C."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dispatch
from dispatch.numpy_ops.linalg.triangles import inverse, triangle

inv_lower = dispatch.ops.np.linalg_inv_lower


def lower(n, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return (np.tril(rng.normal(size=(n, n)), -1) / np.sqrt(n) + np.diag(rng.uniform(0.5, 2.0, n))).astype(dtype)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 5), (5, 2), (2, 3, 4), (0, 3), (3, 0), (2, 0, 2)])
@pytest.mark.parametrize("k", [-9, -2, -1, 0, 1, 3, 9])
@pytest.mark.parametrize("dtype", [bool, "i2", "f4", "f8", "c16", "g"])
def test_a_triangle_is_numpys(shape, k, dtype):
    x = np.arange(1, np.prod(shape) + 1).reshape(shape).astype(dtype)
    for upper, numpys in ((False, np.tril), (True, np.triu)):
        found = triangle(x, k, upper)
        assert_array_equal(found, numpys(x, k), strict=True)
        assert found.flags.c_contiguous
        assert not np.shares_memory(found, x)


@pytest.mark.parametrize("x", [np.ones(3), np.ones((3, 2)).T, np.ones((4, 4))[::2], np.ones((2, 2), object), np.ones((2, 2), "U1")])
def test_of_others_there_is_none(x):
    assert triangle(x, 0, False) is None


@pytest.mark.parametrize("x", [np.ones((3, 2)).T, np.ones((4, 4))[::2], np.ones((2, 2), object), np.ones((2, 2), "e")])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_the_rows_take_the_others_to_numpy(x, name):
    assert_array_equal(getattr(dispatch.ops.np, name)(x), getattr(np, name)(x), strict=True)


@pytest.mark.parametrize("n", [1, 2, 7, 64, 65, 150])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_an_inverse_is_numpys_whatever_is_above(n, dtype):
    x = lower(n, dtype)
    unread = x + np.triu(np.full((n, n), np.nan, dtype), 1)
    tolerance = 1e-4 if dtype is np.float32 else 1e-12
    for given in (x, unread, np.asfortranarray(unread)):
        found = inv_lower(given)
        assert found.dtype == dtype
        assert_allclose(found, np.linalg.inv(x), rtol=tolerance, atol=tolerance)
        assert not np.triu(found, 1).any()


def test_an_inverse_of_a_stack_is_that_of_each():
    x = np.stack([lower(5, seed=seed) for seed in range(3)])
    assert_allclose(inv_lower(x), [inv_lower(one) for one in x], rtol=1e-13)


@pytest.mark.parametrize("n", [3, 100])
def test_a_singular_triangle_raises_numpys_words(n):
    x = lower(n)
    x[n - 1, n - 1] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        inv_lower(x)


@pytest.mark.parametrize(
    "x", [np.zeros((2, 2)), np.ones(3), np.ones((2, 3)), np.ones((2, 2, 2)), np.ones((2, 2), int), np.ones((2, 2), ">f8")]
)
def test_of_some_there_is_no_inverse_in_c(x):
    assert inverse(x) is None
