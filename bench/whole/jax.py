"""JAX, eager: the pages of the gallery, with its own NumPy; nothing is jitted."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.whole import Run, page

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

label = "JAX, eager"


def digits(parameters: Any, x: Any, y: Any) -> Run:
    """The last value and gradient of one for each batch."""
    step = jax.value_and_grad(page("digits", jnp).loss)
    own = {name: jnp.asarray(p) for name, p in parameters.items()}
    batches = [(jnp.asarray(pictures), jnp.asarray(labels)) for pictures, labels in zip(x, y, strict=True)]

    def run() -> Any:
        for pictures, labels in batches:
            value, gradient = step(own, pictures, labels)
        return float(value), {name: np.asarray(g) for name, g in gradient.items()}

    return run


def gaussian_process(parameters: Any, x: Any, y: Any) -> Run:
    """The value and gradient at one point."""
    return _at(page("gaussian_process", jnp).negative_log_likelihood, parameters, x, y)


def lorenz(parameters: Any, start: Any, observed: Any) -> Run:
    """The value and gradient at one point."""
    return _at(page("lorenz", jnp).misfit, parameters, start, observed)


def _at(function: Any, *values: Any) -> Run:
    step = jax.value_and_grad(function)
    own = [jnp.asarray(x) for x in values]

    def run() -> Any:
        value, gradient = step(*own)
        return float(value), np.asarray(gradient)

    return run
