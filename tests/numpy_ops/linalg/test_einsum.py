"""Products of two arrays of any axes, as NumPy takes them."""

import numpy as np
import pytest

import dispatch


@pytest.mark.parametrize("shapes", [((2, 2, 3), (2, 3, 2)), ((2, 3), ()), ((), ()), ((3,), (3,)), ((2, 2, 3), (3,)), ((3,), (2, 3, 2))], ids=str)
def test_two_arrays_of_multi_dot_may_have_any_axes(shapes):
    x, y = [np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape) for shape in shapes]
    f = lambda x, y: np.linalg.multi_dot([x, y])
    expected = f(x, y)
    for found in (
        dispatch.make_fx(f, "fake")(x, y)(x, y),
        dispatch.make_fx(f, "symbolic")(x, y)(x, y),
        dispatch.vmap(f)(x[None], y[None])[0],
        dispatch.vjp(f, x, y)[0],
        dispatch.jvp(f, (x, y), (x, y))[0],
    ):
        np.testing.assert_allclose(found, expected, strict=True)
    np.testing.assert_allclose(dispatch.jvp(f, (x, y), (x, y))[1], 2 * expected)
