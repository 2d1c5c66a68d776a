"""The forty rows of bench/rows.py: each as NumPy has it, as torch has it, and by hand.

``call``     with ``np`` a module that has NumPy's names: NumPy itself, for ours and for the kernels, or HIPS autograd's
``torch``    the same with torch's names
``pulled``   the gradient by ``x`` in NumPy's calls alone, from ``g``, that of the result ``y``: what the derivative cannot do without

``x`` is what a gradient is asked of and ``w`` another array of its shape, vectors of ``n`` numbers or square matrices of about as
many, as ``shape`` says; what else is named stands in ``given``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """One row; see above. ``square`` says that ``x`` is a matrix, ``before`` makes it one that the function is defined for."""

    name: str
    call: str
    torch: str
    pulled: str
    square: bool = False
    before: Callable[[np.ndarray], np.ndarray] = np.asarray

    def arguments(self, n: int) -> dict[str, np.ndarray]:
        """The arrays that a row is called with, of about ``n`` elements; a matrix has three rows at least."""
        rng = np.random.default_rng(0)
        side = max(3, isqrt(n))
        shape = (side, side) if self.square else (n,)
        x, w = self.before(rng.uniform(0.5, 1.5, shape)), rng.uniform(0.5, 1.5, shape)
        indices = rng.integers(0, shape[0], shape[0])
        return {"x": x, "w": w, "indices": indices, "mask": x > 1.0, "b": w[0] if self.square else w}

    def compared(self, gradient: np.ndarray) -> np.ndarray:
        """What of a gradient is compared: of a symmetric matrix, which some change in one triangle alone, the symmetric part."""
        return gradient + gradient.T if self.before is positive else gradient


def in_a_row(x: np.ndarray) -> np.ndarray:
    """A matrix of one row."""
    return x[None]


def positive(x: np.ndarray) -> np.ndarray:
    """A symmetric positive definite matrix, with eigenvalues apart."""
    found: Any = x @ x.T / len(x) + np.diag(np.arange(1.0, len(x) + 1))
    return found


def regular(x: np.ndarray) -> np.ndarray:
    """A matrix with an inverse, and with singular values apart."""
    found: np.ndarray = x / len(x) + np.diag(np.linspace(1.0, 2.0, len(x)))
    return found


def pulled_cholesky(y: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The gradient of a factor: `L^-T Phi(L^T g) L^-1`, made symmetric."""
    inner = np.tril(y.T @ g)
    inner[np.diag_indices(len(y))] *= 0.5
    inverse = np.linalg.inv(y)
    found: np.ndarray = inverse.T @ inner @ inverse
    return (found + found.T) / 2


def placed(x: np.ndarray, index: Any, g: np.ndarray) -> np.ndarray:
    """Zeros but at an index."""
    found = np.zeros_like(x)
    found[index] = g
    return found


def added_at(x: np.ndarray, indices: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Zeros with the gradients added at indices that may repeat."""
    found = np.zeros_like(x)
    np.add.at(found, indices, g)
    return found


# fmt: off
ROWS = (
    Row("add",           "np.add(x, w)",                  "torch.add(x, w)",               "g"),
    Row("multiply",      "np.multiply(x, w)",             "torch.multiply(x, w)",          "g * w"),
    Row("divide",        "np.divide(w, x)",               "torch.divide(w, x)",            "-g * y / x"),
    Row("power",         "x ** 3",                        "x ** 3",                        "g * (3 * x ** 2)"),
    Row("sin",           "np.sin(x)",                     "torch.sin(x)",                  "g * np.cos(x)"),
    Row("exp",           "np.exp(x)",                     "torch.exp(x)",                  "g * y"),
    Row("log",           "np.log(x)",                     "torch.log(x)",                  "g / x"),
    Row("tanh",          "np.tanh(x)",                    "torch.tanh(x)",                 "g * (1 - y * y)"),
    Row("sqrt",          "np.sqrt(x)",                    "torch.sqrt(x)",                 "g * (0.5 / y)"),
    Row("maximum",       "np.maximum(x, w)",              "torch.maximum(x, w)",           "g * np.where(x == w, 0.5, x > w)"),
    Row("clip",          "np.clip(x, 0.8, 1.2)",          "torch.clip(x, 0.8, 1.2)",       "g * ((x > 0.8) & (x < 1.2))"),
    Row("where",         "np.where(mask, x, w)",          "torch.where(mask, x, w)",       "np.where(mask, g, 0.0)"),

    Row("sum",           "np.sum(x)",                     "torch.sum(x)",                  "np.full(x.shape, g)"),
    Row("mean",          "np.mean(x)",                    "torch.mean(x)",                 "np.full(x.shape, g / x.size)"),
    Row("prod",          "np.prod(x)",                    "torch.prod(x)",                 "g * y / x"),
    Row("max",           "np.max(x)",                     "torch.max(x)",                  "(e := x == y) * (g / e.sum())"),
    Row("var",           "np.var(x)",                     "torch.var(x, correction=0)",    "(x - np.mean(x)) * (2 * g / x.size)"),
    Row("norm",          "np.linalg.norm(x)",             "torch.linalg.norm(x)",          "x * (g / y)"),

    Row("sort",          "np.sort(x)",                    "torch.sort(x)[0]",              "placed(x, np.argsort(x), g)"),
    Row("repeat",        "np.repeat(x, 2)",               "torch.repeat_interleave(x, 2)", "np.sum(g.reshape(-1, 2), 1)"),
    Row("cumsum",        "np.cumsum(x)",                  "torch.cumsum(x, 0)",            "np.cumsum(g[::-1])[::-1]"),
    Row("diff",          "np.diff(x)",                    "torch.diff(x)",                 "-np.diff(np.pad(g, 1))"),

    Row("reshape",       "np.reshape(x, (-1, 1))",        "torch.reshape(x, (-1, 1))",     "np.reshape(g, x.shape)"),
    Row("transpose",     "np.transpose(x)",               "torch.permute(x, (1, 0))",      "g.T", square=True),
    Row("concatenate",   "np.concatenate((x, w))",        "torch.concatenate((x, w))",     "g[:len(x)].copy()"),
    Row("stack",         "np.stack((x, w))",              "torch.stack((x, w))",           "g[0].copy()"),
    Row("x[1:]",         "x[1:]",                         "x[1:]",                         "placed(x, slice(1, None), g)"),
    Row("x[indices]",    "x[indices]",                    "x[indices]",                    "added_at(x, indices, g)"),
    Row("x[mask]",       "x[mask]",                       "x[mask]",                       "placed(x, mask, g)"),
    Row("broadcast_to",  "np.broadcast_to(x, (3, x.size))", "torch.broadcast_to(x, (3, x.numel()))", "np.sum(g, 0, keepdims=True)", before=in_a_row),
    Row("roll",          "np.roll(x, 1)",                 "torch.roll(x, 1)",              "np.roll(g, -1)"),

    Row("dot",           "np.dot(x, w)",                  "torch.dot(x, w)",               "g * w"),
    Row("matmul",        "x @ w",                         "x @ w",                         "g @ w.T", square=True),
    Row("einsum",        "np.einsum('ij,j->i', x, b)",    "torch.einsum('ij,j->i', x, b)", "np.multiply.outer(g, b)", square=True),
    Row("solve",         "np.linalg.solve(x, b)",         "torch.linalg.solve(x, b)",      "-np.multiply.outer(np.linalg.solve(x.T, g), y)", square=True, before=regular),
    Row("inv",           "np.linalg.inv(x)",              "torch.linalg.inv(x)",           "-y.T @ g @ y.T", square=True, before=regular),
    Row("slogdet",       "np.linalg.slogdet(x)[1]",       "torch.linalg.slogdet(x)[1]",    "g * np.linalg.inv(x).T", square=True, before=regular),
    Row("cholesky",      "np.linalg.cholesky(x)",         "torch.linalg.cholesky(x)",      "pulled_cholesky(y, g)", square=True, before=positive),
    Row("eigh",          "np.linalg.eigh(x)[0]",          "torch.linalg.eigh(x)[0]",       "(v := np.linalg.eigh(x)[1]) @ (g[:, None] * v.T)", square=True, before=positive),
    Row("svd",           "np.linalg.svd(x, compute_uv=False)", "torch.linalg.svdvals(x)",  "((u := np.linalg.svd(x))[0] * g) @ u[2]", square=True, before=regular),
)
# fmt: on
