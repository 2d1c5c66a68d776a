"""Numba: the programs of cells.py as loops over elements."""

from math import exp, log, sin, sqrt
from typing import Any

import numpy as np
from numba import njit

from bench.whole.cells import STEPS


@njit
def roots(x: Any) -> Any:
    """Twenty calls of arithmetic and square roots."""
    out = np.empty_like(x)
    for i in range(x.size):
        v = x[i]
        for _ in range(5):
            v = sqrt(v * 1.01 + 0.5) - 0.1
        out[i] = v
    return out


@njit
def sines(x: Any) -> Any:
    """Twenty calls, half of them sines and exponentials."""
    out = np.empty_like(x)
    for i in range(x.size):
        v = x[i]
        for _ in range(5):
            v = exp(sin(v) + 0.5) - 1.1
        out[i] = v
    return out


@njit
def heat(u: Any) -> Any:
    """A thousand steps on a torus."""
    n, m = u.shape
    u, out = u.copy(), np.empty_like(u)
    for _ in range(STEPS):
        for i in range(n):
            above, below = u[i - 1], u[i + 1 if i + 1 < n else 0]
            for j in range(m):
                around = above[j] + below[j] + u[i, j - 1] + u[i, j + 1 if j + 1 < m else 0]
                out[i, j] = u[i, j] + 0.1 * (around - 4.0 * u[i, j])
        u, out = out, u
    return u


@njit
def mlp(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    """Three layers."""
    return np.tanh(np.tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3


@njit
def logsumexp(x: Any) -> Any:
    """Over the last axis."""
    out = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        top, total = x[i].max(), 0.0
        for v in x[i]:
            total += exp(v - top)
        out[i] = log(total) + top
    return out


@njit
def softmax(x: Any) -> Any:
    """Over the last axis."""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        top, total = x[i].max(), 0.0
        for j in range(x.shape[1]):
            out[i, j] = exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


@njit
def distances(x: Any) -> Any:
    """Of all pairs of points."""
    n, m = x.shape
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(m):
                total += (x[i, k] - x[j, k]) ** 2
            out[i, j] = sqrt(total)
    return out


@njit
def black_scholes(spot: Any, strike: Any, time: Any) -> Any:
    """The prices of calls."""
    out = np.empty_like(spot)
    for i in range(spot.size):
        spread = 0.3 * sqrt(time[i])
        d = (log(spot[i] / strike[i]) + (0.02 + 0.5 * 0.3 * 0.3) * time[i]) / spread
        out[i] = spot[i] * _normal(d) - strike[i] * exp(-0.02 * time[i]) * _normal(d - spread)
    return out


@njit
def _normal(d: float) -> float:
    k = 1.0 / (1.0 + 0.2316419 * abs(d))
    tail = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail *= 0.3989422804014327 * exp(-0.5 * d * d)
    return 1.0 - tail if d > 0.0 else tail
