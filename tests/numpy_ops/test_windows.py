"""Sliding windows as users write them, under every layer: an element's gradient is the sum over the windows that it is in."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from function_laws import hold
from numpy.lib.stride_tricks import sliding_window_view

import dispatch
from dispatch.errors import UnsupportedError

X = np.array([[0.5, -1.5, 2.25, 0.125, 1.0], [3.5, 1.25, -0.5, 4.0, -2.0], [0.75, 2.0, -2.5, 1.5, 0.25]])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a running mean": lambda x: np.mean(sliding_window_view(x, 3, axis=1), axis=-1),
    "a running median": lambda x: np.median(sliding_window_view(x.ravel() ** 3, 5), axis=-1),
    "a convolution": lambda x: np.einsum("ijkl,kl->ij", sliding_window_view(x, (2, 2)), np.array([[1.0, 2], [3, 4]])),
    "windows of windows": lambda x: np.sin(sliding_window_view(x[0], (2, 2), (0, 0))),
    "of a view": lambda x: sliding_window_view(x.T[::-1], (3, 1)) ** 2,
    "of itself": lambda x: sliding_window_view(x, x.shape) * 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_windows(name: str) -> None:
    hold(FUNCTIONS[name], X)


def test_a_window_cannot_be_written_to() -> None:
    x = dispatch.tensor(X, requires_grad=True) * 1
    with pytest.raises(UnsupportedError, match=r"writeable=True has no row, because a write to one window shows in the others\. "):
        sliding_window_view(x, (2, 2), writeable=True)
    for value in (x, X):
        with pytest.raises(ValueError, match="read-only"):
            sliding_window_view(value, (2, 2))[0, 0] = 1.0


def test_windows_are_a_view_of_what_the_array_becomes() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        windows = sliding_window_view(y, 2, 1)
        y[0] = 3 * x[1]
        return windows * x[0, 0]

    hold(f, X)
    windows = dispatch.ops.np.sliding_window_view(X, 2, 0)
    assert windows.base is X
    np.testing.assert_array_equal(windows, sliding_window_view(X, 2, 0))


def test_what_is_larger_than_the_array_raises_numpys_error() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    for args, said in [((4, 0), "cannot be larger than input array shape"), ((2,), "Since axis is `None`, must provide"), ((-1, 0), "cannot contain negative")]:
        for call in (lambda x, args=args: sliding_window_view(x, *args), lambda x, args=args: dispatch.vmap(lambda x: sliding_window_view(x, *args))(np.stack([X, X]))):
            for value in (x, X):
                with pytest.raises(ValueError, match=said):
                    call(value)
