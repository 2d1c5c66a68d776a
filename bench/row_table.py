"""The forty rows of bench/rows.py: each as NumPy has it, as torch has it, and by hand.

``call``    with ``np`` a module that has NumPy's names: NumPy itself, for ours and for the kernels, or HIPS autograd's
``torch``   the same with torch's names
``pulled``  the gradient by ``x`` in NumPy's calls alone, from ``g``, that of the result ``y``
``x``       makes the array that a gradient is asked of, a vector or a matrix of about ``n`` numbers

``w`` is another array of the shape of ``x``, ``b`` its first row, ``indices`` and ``mask`` choose along the first axis.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Drawn = Callable[[np.random.Generator, int], Array]


def vector(rng: np.random.Generator, n: int) -> Array:
    """Numbers about 1."""
    return rng.uniform(0.5, 1.5, n)


def one_row(rng: np.random.Generator, n: int) -> Array:
    """A matrix of one row."""
    return vector(rng, n)[None]


def matrix(rng: np.random.Generator, n: int) -> Array:
    """A square matrix of about so many numbers, of three rows at least."""
    side = max(3, isqrt(n))
    return rng.uniform(0.5, 1.5, (side, side))


def positive(rng: np.random.Generator, n: int) -> Array:
    """A symmetric positive definite matrix, with eigenvalues apart."""
    x = matrix(rng, n)
    found: Array = x @ x.T / len(x) + np.diag(np.arange(1.0, len(x) + 1))
    return found


def regular(rng: np.random.Generator, n: int) -> Array:
    """A matrix with an inverse, and with singular values apart."""
    x = matrix(rng, n)
    found: Array = x / len(x) + np.diag(np.linspace(1.0, 2.0, len(x)))
    return found


@dataclass(frozen=True)
class Row:
    """One row; see above."""

    name: str
    call: str
    torch: str
    pulled: str
    x: Drawn = vector

    def arguments(self, n: int) -> dict[str, Array]:
        """The arrays that a row is called with, of about ``n`` elements."""
        rng = np.random.default_rng(0)
        x = self.x(rng, n)
        w = rng.uniform(0.5, 1.5, x.shape)
        indices = rng.integers(0, len(x), len(x))
        return {"x": x, "w": w, "b": w[0] if w.ndim > 1 else w, "indices": indices, "mask": x > 1.0}

    def compared(self, gradient: Array) -> Array:
        """What of a gradient is compared: by a symmetric matrix the symmetric part, for some change one triangle alone."""
        return gradient + gradient.T if self.x is positive else gradient


# -- what `pulled` calls beside NumPy --------------------------------------------------------------------------------------


def pulled_cholesky(y: Array, g: Array) -> Array:
    """The gradient of a factor: `L^-T Phi(L^T g) L^-1`, made symmetric."""
    inner = np.tril(y.T @ g)
    inner[np.diag_indices(len(y))] *= 0.5
    inverse = np.linalg.inv(y)
    found: Array = inverse.T @ inner @ inverse
    return (found + found.T) / 2


def placed(x: Array, index: Any, g: Array) -> Array:
    """Zeros but at an index."""
    found = np.zeros_like(x)
    found[index] = g
    return found


def added_at(x: Array, indices: Array, g: Array) -> Array:
    """Zeros with the gradients added at indices that may repeat."""
    found = np.zeros_like(x)
    np.add.at(found, indices, g)
    return found


# fmt: off
ROWS = (
    Row("add",          "np.add(x, w)",                   "torch.add(x, w)",                   "g"),
    Row("multiply",     "np.multiply(x, w)",              "torch.multiply(x, w)",              "g * w"),
    Row("divide",       "np.divide(w, x)",                "torch.divide(w, x)",                "-g * y / x"),
    Row("power",        "x ** 3",                         "x ** 3",                            "g * (3 * x ** 2)"),
    Row("sin",          "np.sin(x)",                      "torch.sin(x)",                      "g * np.cos(x)"),
    Row("exp",          "np.exp(x)",                      "torch.exp(x)",                      "g * y"),
    Row("log",          "np.log(x)",                      "torch.log(x)",                      "g / x"),
    Row("tanh",         "np.tanh(x)",                     "torch.tanh(x)",                     "g * (1 - y * y)"),
    Row("sqrt",         "np.sqrt(x)",                     "torch.sqrt(x)",                     "g * (0.5 / y)"),
    Row("maximum",      "np.maximum(x, w)",               "torch.maximum(x, w)",               "g * np.where(x == w, 0.5, x > w)"),
    Row("clip",         "np.clip(x, 0.8, 1.2)",           "torch.clip(x, 0.8, 1.2)",           "g * ((x > 0.8) & (x < 1.2))"),
    Row("where",        "np.where(mask, x, w)",           "torch.where(mask, x, w)",           "np.where(mask, g, 0.0)"),

    Row("sum",          "np.sum(x)",                      "torch.sum(x)",                      "np.full(x.shape, g)"),
    Row("mean",         "np.mean(x)",                     "torch.mean(x)",                     "np.full(x.shape, g / x.size)"),
    Row("prod",         "np.prod(x)",                     "torch.prod(x)",                     "g * y / x"),
    Row("max",          "np.max(x)",                      "torch.max(x)",                      "(e := x == y) * (g / e.sum())"),
    Row("var",          "np.var(x)",                      "torch.var(x, correction=0)",        "(x - np.mean(x)) * (2 * g / x.size)"),
    Row("norm",         "np.linalg.norm(x)",              "torch.linalg.norm(x)",              "x * (g / y)"),

    Row("sort",         "np.sort(x)",                     "torch.sort(x)[0]",                  "placed(x, np.argsort(x), g)"),
    Row("repeat",       "np.repeat(x, 2)",                "torch.repeat_interleave(x, 2)",     "np.sum(g.reshape(-1, 2), 1)"),
    Row("cumsum",       "np.cumsum(x)",                   "torch.cumsum(x, 0)",                "np.cumsum(g[::-1])[::-1]"),
    Row("diff",         "np.diff(x)",                     "torch.diff(x)",                     "-np.diff(np.pad(g, 1))"),

    Row("reshape",      "np.reshape(x, (-1, 1))",         "torch.reshape(x, (-1, 1))",         "np.reshape(g, x.shape)"),
    Row("transpose",    "np.transpose(x)",                "torch.permute(x, (1, 0))",          "g.T", matrix),
    Row("concatenate",  "np.concatenate((x, w))",         "torch.concatenate((x, w))",         "g[:len(x)].copy()"),
    Row("stack",        "np.stack((x, w))",               "torch.stack((x, w))",               "g[0].copy()"),
    Row("x[1:]",        "x[1:]",                          "x[1:]",                             "placed(x, slice(1, None), g)"),
    Row("x[indices]",   "x[indices]",                     "x[indices]",                        "added_at(x, indices, g)"),
    Row("x[mask]",      "x[mask]",                        "x[mask]",                           "placed(x, mask, g)"),
    Row("broadcast_to", "np.broadcast_to(x, (3, len(b)))", "torch.broadcast_to(x, (3, len(b)))", "np.sum(g, 0, keepdims=True)", one_row),
    Row("roll",         "np.roll(x, 1)",                  "torch.roll(x, 1)",                  "np.roll(g, -1)"),

    Row("dot",          "np.dot(x, w)",                   "torch.dot(x, w)",                   "g * w"),
    Row("matmul",       "x @ w",                          "x @ w",                             "g @ w.T", matrix),
    Row("einsum",       "np.einsum('ij,j->i', x, b)",     "torch.einsum('ij,j->i', x, b)",     "np.multiply.outer(g, b)", matrix),
    Row("solve",        "np.linalg.solve(x, b)",          "torch.linalg.solve(x, b)",
        "-np.multiply.outer(np.linalg.solve(x.T, g), y)", regular),
    Row("inv",          "np.linalg.inv(x)",               "torch.linalg.inv(x)",               "-y.T @ g @ y.T", regular),
    Row("slogdet",      "np.linalg.slogdet(x)[1]",        "torch.linalg.slogdet(x)[1]",        "g * np.linalg.inv(x).T", regular),
    Row("cholesky",     "np.linalg.cholesky(x)",          "torch.linalg.cholesky(x)",          "pulled_cholesky(y, g)", positive),
    Row("eigh",         "np.linalg.eigh(x)[0]",           "torch.linalg.eigh(x)[0]",
        "(v := np.linalg.eigh(x)[1]) @ (g[:, None] * v.T)", positive),
    Row("svd",          "np.linalg.svd(x, compute_uv=False)", "torch.linalg.svdvals(x)",       "((u := np.linalg.svd(x))[0] * g) @ u[2]", regular),
)
# fmt: on
