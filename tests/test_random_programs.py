"""Programs that nobody thought of: values and gradients are those of torch, and of finite differences where torch refuses.

100 programs each in the ordinary run; `pytest --hypothesis-profile=nightly tests/test_random_programs.py` makes 2 000 of each.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from random_programs import OURS, SHAPES, function, in_torch, programs

import dispatch
from dispatch import grad, jvp, vmap

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch's own, when its jvp is first used

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
NEAR = {"rtol": 2e-5, "atol": 2e-5}  # of finite differences


def points(seed: int = 1) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=shape) for shape in SHAPES)


def slopes(f: Any, xs: tuple[Any, ...], step: float = 1e-6) -> tuple[Any, ...]:
    """The gradient of a function of plain arrays, by central differences."""
    found = []
    for at, x in enumerate(xs):
        g = np.zeros_like(x)
        for i in np.ndindex(x.shape):
            above, below = x.copy(), x.copy()
            above[i] += step
            below[i] -= step
            g[i] = (f(*xs[:at], above, *xs[at + 1 :]) - f(*xs[:at], below, *xs[at + 1 :])) / (2 * step)
        found.append(g)
    return tuple(found)


def of_torch(source: str, xs: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """Value and gradient as torch has them; None where it refuses a program that writes in place."""
    import torch

    given = [torch.tensor(x, requires_grad=True) for x in xs]
    try:
        value = function(source, in_torch())(*given)
        value.backward()
    except (RuntimeError, ValueError, IndexError, TypeError):  # strides below zero, a value overwritten, vmap over a write ...
        return None
    return value.item(), tuple(np.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in given)


def expected(source: str, xs: tuple[Any, ...]) -> tuple[Any, Any, dict[str, float]]:
    """Value and gradient by the best oracle, and how close they have to come."""
    f = function(source, OURS)
    found = of_torch(source, xs)
    value = f(*xs)
    if found is None:
        return value, slopes(f, xs), NEAR
    np.testing.assert_allclose(found[0], value, **CLOSE)
    return (*found, CLOSE)


def agree(found: Any, wanted: Any, close: dict[str, float]) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, **close)


@pytest.mark.torch
@given(programs())
def test_gradient_of_a_random_program(source: str) -> None:
    xs = points()
    value, gradients, close = expected(source, xs)
    found, ours = dispatch.value_and_grad(function(source, OURS), argnums=(0, 1))(*xs)
    np.testing.assert_allclose(found, value, **CLOSE)
    agree(ours, gradients, close)


@pytest.mark.torch
@given(programs())
def test_tape_of_a_random_program(source: str) -> None:
    xs = points()
    value, gradients, close = expected(source, xs)
    given = [dispatch.tensor(x, requires_grad=True) for x in xs]
    found = function(source, OURS)(*given)
    found.backward()
    np.testing.assert_allclose(found.item(), value, **CLOSE)
    agree([np.zeros(x.shape) if x.grad is None else x.grad for x in given], gradients, close)


@pytest.mark.torch
@given(programs())
def test_forward_mode_of_a_random_program(source: str) -> None:
    xs, tangents = points(), points(2)
    value, gradients, close = expected(source, xs)
    found, along = jvp(function(source, OURS), xs, tangents)
    np.testing.assert_allclose(found, value, **CLOSE)
    np.testing.assert_allclose(along, sum(np.sum(g * t) for g, t in zip(gradients, tangents, strict=True)), **close)


@pytest.mark.torch
@given(programs())
def test_batch_of_gradients_of_a_random_program(source: str) -> None:
    several = [points(seed) for seed in (1, 2)]
    batch = tuple(np.stack(x) for x in zip(*several, strict=True))
    found = vmap(grad(function(source, OURS), argnums=(0, 1)))(*batch)
    for i, xs in enumerate(several):
        _, gradients, close = expected(source, xs)
        agree([g[i] for g in found], gradients, close)


@given(programs())
@settings(max_examples=30)
def test_derivative_along_of_the_gradient_of_a_random_program(source: str) -> None:
    xs, tangents = points(), points(2)
    gradient = grad(function(source, OURS), argnums=(0, 1))
    forward = jvp(gradient, xs, tangents)[1]
    backward = grad(lambda *xs: sum(np.sum(g * t) for g, t in zip(gradient(*xs), tangents, strict=True)), argnums=(0, 1))(*xs)
    agree(forward, backward, CLOSE)


@given(programs())
@settings(max_examples=30)
def test_a_dict_of_arguments(source: str) -> None:
    xs = points()
    f = function(source, OURS)
    apart = grad(f, argnums=(0, 1))(*xs)
    together = grad(lambda d: f(d["a"], *d["b"]))({"a": xs[0], "b": [xs[1]]})
    agree([together["a"], *together["b"]], apart, CLOSE)
