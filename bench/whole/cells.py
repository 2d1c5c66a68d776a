"""The programs of bench/engines.py, for every column of its table.

One text serves NumPy, JAX and torch, which have the same names for what is used here; Numba has loops over the elements. The
heat equation is a function of one step and a loop around it; each column makes the loop that is best for it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import dispatch

STEPS = 1_000


def roots(xp: Any, x: Any) -> Any:
    """Twenty calls of arithmetic and square roots."""
    for _ in range(5):
        x = x * 1.01
        x = x + 0.5
        x = xp.sqrt(x)
        x = x - 0.1
    return x


def sines(xp: Any, x: Any) -> Any:
    """Twenty calls, half of them sines and exponentials."""
    for _ in range(5):
        x = xp.sin(x)
        x = x + 0.5
        x = xp.exp(x)
        x = x - 1.1
    return x


def heat(xp: Any, u: Any) -> Any:
    """One step on a torus."""
    return u + 0.1 * (xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1) - 4.0 * u)


def mlp(xp: Any, x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any) -> Any:
    """Three layers."""
    return xp.tanh(xp.tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def logsumexp(xp: Any, x: Any) -> Any:
    """Over the last axis."""
    top = _max(xp, x)
    return xp.log(xp.sum(xp.exp(x - top), axis=1)) + top[:, 0]


def softmax(xp: Any, x: Any) -> Any:
    """Over the last axis."""
    e = xp.exp(x - _max(xp, x))
    return e / xp.sum(e, axis=1, keepdims=True)


def distances(xp: Any, x: Any) -> Any:
    """Of all pairs of points."""
    return xp.sqrt(xp.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1))


def black_scholes(xp: Any, spot: Any, strike: Any, time: Any) -> Any:
    """The prices of calls, with the polynomial of Abramowitz and Stegun, 26.2.17, for the normal distribution."""
    rate, volatility = 0.02, 0.3
    spread = volatility * xp.sqrt(time)
    d1 = (xp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / spread
    return spot * _normal(xp, d1) - strike * xp.exp(-rate * time) * _normal(xp, d1 - spread)


def _normal(xp: Any, d: Any) -> Any:
    k = 1.0 / (1.0 + 0.2316419 * xp.abs(d))
    tail = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804014327 * xp.exp(-0.5 * d * d) * tail
    return xp.where(d > 0.0, 1.0 - tail, tail)


def _max(xp: Any, x: Any) -> Any:
    return xp.amax(x, 1, True) if hasattr(xp, "inference_mode") else xp.max(x, axis=1, keepdims=True)


Maker = Callable[[str, tuple[np.ndarray, ...]], Callable[[], Any]]


def function(name: str, xp: Any) -> Callable[..., Any]:
    """A program as a function of arrays, of one library."""
    program = globals()[name]

    def f(*arrays: Any) -> Any:
        return program(xp, *arrays)

    return f


def stepped(step: Callable[..., Any], steps: bool) -> Callable[..., Any]:
    """The function, or the loop of a thousand of its steps."""
    if not steps:
        return step

    def loop(u: Any) -> Any:
        for _ in range(STEPS):
            u = step(u)
        return u

    return loop


def with_numpy(name: str, arrays: tuple[np.ndarray, ...]) -> Callable[[], Any]:
    """NumPy as it is."""
    f = stepped(function(name, np), name == "heat")
    return lambda: f(*arrays)


def with_ours(**options: Any) -> Maker:
    """`dispatch.compile`; of the heat equation one step is compiled, and called a thousand times, or the loop for an engine."""

    def made(name: str, arrays: tuple[np.ndarray, ...]) -> Callable[[], Any]:
        step = function(name, np)
        if name == "heat" and options:
            f = dispatch.compile(lambda u: dispatch.fori_loop(0, STEPS, lambda _, u: step(u), u), fullgraph=True, **options)
        else:
            f = stepped(dispatch.compile(step, fullgraph=True, **options), name == "heat")
        return lambda: f(*arrays)

    return made


def with_jax(name: str, arrays: tuple[np.ndarray, ...]) -> Callable[[], Any]:
    """`jax.jit`, with `fori_loop`."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    f = function(name, jnp)
    g = jax.jit((lambda u: jax.lax.fori_loop(0, STEPS, lambda _, u: f(u), u)) if name == "heat" else f)
    own = [jnp.asarray(x) for x in arrays]
    return lambda: g(*own).block_until_ready()


def with_torch(compiled: bool) -> Maker:
    """Torch, without gradients, one call after the other or by `torch.compile`; of the heat equation one step is compiled."""

    def made(name: str, arrays: tuple[np.ndarray, ...]) -> Callable[[], Any]:
        import torch

        torch.compiler.reset()  # it counts how often one code object is compiled, and a program is one
        step = function(name, torch)
        f = stepped(torch.compile(step, fullgraph=True, dynamic=False) if compiled else step, name == "heat")
        own = [torch.from_numpy(x) for x in arrays]

        def run() -> Any:
            with torch.inference_mode():
                return f(*own)

        return run

    return made


def with_numba(name: str, arrays: tuple[np.ndarray, ...]) -> Callable[[], Any]:
    """`numba.njit` of loops, in bench/whole/numba.py."""
    from bench.whole import numba

    f = getattr(numba, name)
    return lambda: f(*arrays)


def maker(column: str) -> Maker:
    """What makes the run of a program for a column."""
    found: dict[str, Maker] = {
        "numpy": with_numpy,
        "exact": with_ours(),
        "fast": with_ours(mode="fast"),
        "jax.jit": with_jax,
        "torch": with_torch(False),
        "torch.compile": with_torch(True),
        "numba": with_numba,
    }
    return found[column]
