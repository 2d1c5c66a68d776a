"""jax.pure_callback around np.sin, and jax.custom_vjp around two of them, as JAX's documentation has it; both jitted."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.by_hand.sine import sin
from bench.timing import Case
from dispatch.interop.jax import export

BOUND = 1.15
SIZES = (3, 10_000)


def _called(kernel: Any, *arrays: Any) -> Any:
    shape = jax.ShapeDtypeStruct(arrays[0].shape, arrays[0].dtype)
    return jax.pure_callback(kernel, shape, *arrays, vmap_method="sequential")


@jax.custom_vjp
def hand_sin(x: Any) -> Any:
    """The same kernel."""
    return _called(lambda x: np.sin(np.asarray(x)), x)


def _backward(x: Any, g: Any) -> Any:
    """The same backward."""
    return (_called(lambda x, g: np.asarray(g) * np.cos(np.asarray(x)), x, g),)


hand_sin.defvjp(lambda x: (hand_sin(x), x), _backward)


def _value_and_gradient(op: Any) -> Any:
    return jax.jit(jax.value_and_grad(lambda x: op(x).sum()))


def _gradient(op: Any) -> Any:
    return jax.jit(jax.grad(lambda x: op(x).sum()))


@cache
def cases() -> dict[str, tuple[Case, Case]]:
    """A compiled call, and one with its backward; float32, since JAX's 64 bits are off."""
    exported = export(sin)
    found = {}
    for size in SIZES:
        x = jnp.linspace(0.0, 1.0, size)
        for what, transform in (
            ("forward", jax.jit),
            ("forward and backward", _value_and_gradient),
            ("gradient", _gradient),
        ):
            ours, hand = ({"x": x, "op": transform(op), "wait": jax.block_until_ready} for op in (exported, hand_sin))
            found[f"jax, {what}, {size} numbers"] = Case("wait(op(x))", ours), Case("wait(op(x))", hand)
    return found
