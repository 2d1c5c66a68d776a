"""autograd.misc.optimizers: sgd, rmsprop and adam, on arrays and containers of arrays."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .flatten import flatten

Gradient = Callable[[Any, int], Any]
Callback = Callable[[Any, int, Any], Any] | None


def _of_containers(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """An optimiser of vectors as one of containers."""

    @wraps(optimize)
    def optimized(grad: Gradient, x0: Any, callback: Callback = None, *args: Any, **options: Any) -> Any:
        flat, unflatten = flatten(x0)

        def told(x: Any, i: int, g: Any) -> None:
            if callback is not None:
                callback(unflatten(x), i, unflatten(g))

        return unflatten(optimize(lambda x, i: flatten(grad(unflatten(x), i))[0], flat, told, *args, **options))

    return optimized


@_of_containers
def sgd(
    grad: Gradient, x: Any, callback: Callback = None, num_iters: int = 200, step_size: float = 0.1, mass: float = 0.9
) -> Any:
    """Gradient descent with momentum; `grad(x, i)` is the gradient in step `i`."""
    velocity = np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        velocity = mass * velocity - (1.0 - mass) * g
        x = x + step_size * velocity
    return x


@_of_containers
def rmsprop(
    grad: Gradient,
    x: Any,
    callback: Callback = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Steps over the root of the mean square of the last gradients."""
    mean_square = np.ones(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        mean_square = mean_square * gamma + g**2 * (1 - gamma)
        x = x - step_size * g / (np.sqrt(mean_square) + eps)
    return x


@_of_containers
def adam(
    grad: Gradient,
    x: Any,
    callback: Callback = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Adam, https://arxiv.org/abs/1412.6980: RMSprop with momentum, both corrected for their beginning at zero."""
    m, v = np.zeros(len(x)), np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * g**2 + b2 * v
        x = x - step_size * (m / (1 - b1 ** (i + 1))) / (np.sqrt(v / (1 - b2 ** (i + 1))) + eps)
    return x
