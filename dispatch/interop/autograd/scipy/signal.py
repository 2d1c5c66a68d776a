"""autograd.scipy.signal: a convolution along some axes, with sums over others."""

from typing import Any

import numpy as np
import scipy.signal

from ....errors import ArgumentError

__all__ = ["convolve"]


def convolve(A: Any, B: Any, axes: Any = None, dot_axes: Any = ((), ()), mode: str = "full") -> Any:
    """Return the convolution of two arrays along pairs of axes.

    Parameters
    ----------
    A, B : array
    axes : pair of sequences of int, optional
        The axes of A, and of B, along which they are convolved; by default all.
    dot_axes : pair of sequences of int
        The axes over which the product is summed.
    mode : {"full", "valid", "same"}
        As in `scipy.signal.convolve`; "same" is the size of A.

    Returns
    -------
    array
        The other axes of A, those of B, and the axes of the convolution.

    Examples
    --------
    >>> convolve(np.array([1.0, 2.0]), np.array([1.0, 0.0, 3.0]))
    array([1., 2., 3., 6.])
    """
    if mode not in ("full", "valid", "same"):
        raise ArgumentError(f"convolve was given mode={mode!r}. It is 'full', 'valid' or 'same'.")
    of_a, of_b = [list(x) for x in axes] if axes is not None else [list(range(A.ndim))] * 2
    sizes = [(A.shape[i], B.shape[j]) for i, j in zip(of_a, of_b, strict=True)]
    if mode == "valid" and any(a > b for a, b in sizes) and any(a < b for a, b in sizes):
        raise ArgumentError(
            f"convolve: mode='valid' of sizes {sizes}, of which neither array has the larger ones. Write mode='full'."
        )
    windows, letters = B, list(range(A.ndim, A.ndim + B.ndim))
    for axis, (a, b) in zip(of_b, sizes, strict=True):
        windows = _windows(windows, axis, a, *_range(a, b, mode))
    letters += [A.ndim + B.ndim + k for k in range(len(sizes))]
    of_product = list(range(A.ndim))
    for i, j in [*zip(of_a, of_b, strict=True), *zip(*dot_axes, strict=True)]:
        letters[j % B.ndim] = of_product[i % A.ndim]
    summed = {of_product[i] for i in (*of_a, *dot_axes[0])}
    flipped = np.flip(A, tuple(of_a)) if of_a else A
    kept = [x for x in of_product if x not in summed] + [x for x in letters if x not in of_product]
    return np.einsum(flipped, of_product, windows, letters, kept)


def _range(a: int, b: int, mode: str) -> tuple[int, int]:
    """The part of the full convolution that a mode is: where it starts, and its size."""
    if mode == "full":
        return 0, a + b - 1
    return (min(a, b) - 1, abs(a - b) + 1) if mode == "valid" else ((b - 1) // 2, a)


def _windows(x: Any, axis: int, width: int, start: int, count: int) -> Any:
    """The stretches of `width` elements along an axis for each result from `start` on, in a new last axis."""
    size, low = x.shape[axis], start - width + 1
    before, after = max(0, -low), max(0, low + count + width - 1 - size)
    if before or after:
        x = np.pad(x, [(before, after) if i == axis % x.ndim else (0, 0) for i in range(x.ndim)])
    places = np.arange(width)[:, None] + np.arange(count) + (low + before)
    return np.moveaxis(np.take(x, places, axis), axis % x.ndim + 1, -1)



def __getattr__(name: str) -> Any:
    return getattr(scipy.signal, name)
