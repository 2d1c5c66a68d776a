"""The largest and the smallest beside a derivative are NumPy's own bits; where nothing counts, the derivative is 0.

Rows are all of three elements of 0.0, -0.0, 1.0, -inf, inf and nan: NumPy's loops say which zero is the largest, and how a nan is left out.
"""

from itertools import product

import numpy as np
import pytest

import dispatch

ELEMENTS = [0.0, -0.0, 1.0, -np.inf, np.inf, np.nan]
EVERY = np.array(list(product(ELEMENTS, repeat=3)))
MASK = np.array([True, False, True])
CALLS = [
    *[(name, keywords) for name in ("nanmax", "nanmin", "max", "min") for keywords in ({}, {"initial": -0.0}, {"initial": 0.5, "where": MASK}, {"initial": np.inf, "where": MASK}, {"initial": np.nan})],
]


def bits(x: np.ndarray) -> np.ndarray:
    """Two arrays are the same if these are: nan is one value, zeros are two."""
    x = np.where(np.isnan(x), np.nan, x) if x.dtype.kind == "f" else x
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "f" else np.stack([bits(x.real.copy()), bits(x.imag.copy())])


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128], ids=["float32", "float64", "complex128"])
@pytest.mark.parametrize(("name", "keywords"), CALLS, ids=[f"{name}-{k.get('initial')}{'-where' * ('where' in k)}" for name, k in CALLS])
def test_the_largest_of_every_row_beside_a_derivative(name: str, keywords: dict[str, object], dtype: type) -> None:
    x = EVERY.astype(dtype)

    def f(x: object) -> object:
        return getattr(np, name)(x, axis=1, **keywords)

    expected = f(x)
    value, tangent = dispatch.jvp(f, (x,), (np.ones_like(x),))
    assert np.array_equal(bits(value), bits(expected))
    value, pull = dispatch.vjp(f, x)
    assert np.array_equal(bits(value), bits(expected))
    (gradient,) = pull(np.ones_like(expected))
    counts = np.broadcast_to(np.asarray(keywords.get("where", True)), x.shape)
    if name.startswith("nan"):
        counts = counts & ~np.isnan(x)
        assert not np.any(np.isnan(gradient))
        assert not np.any(np.isnan(tangent))
    assert not np.any(gradient[~counts])  # what does not count has the gradient 0
    assert np.array_equal(np.sum(gradient.real, axis=1), tangent.real, equal_nan=True)
    ties = counts & (x == expected[:, None])
    share = np.where(expected == keywords.get("initial", np.nan), 0.5, 1.0) * np.any(ties, axis=1)
    lost = np.isnan(expected) & (not name.startswith("nan"))
    assert np.array_equal(tangent.real, np.where(lost, np.nan, share), equal_nan=True)
