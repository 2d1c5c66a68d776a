"""Operators that worker processes find by name: they import this module."""

import os
import signal

import numpy as np

from dispatch import Tag, custom_op

seen: list[tuple[int, ...]] = []  # the shapes that the kernels of this process were given
read: list[type] = []  # what code that takes arrays alone was given


@custom_op("dasktests::cube", mutates_args=(), tags=Tag.pointwise)
def cube(x: np.ndarray) -> np.ndarray:
    """An elementwise operator, which refuses anything but NumPy's arrays."""
    assert type(x) is np.ndarray
    seen.append(x.shape)
    return x * x * x


cube.register_fake(lambda x: np.empty_like(x))
cube.register_autograd(
    lambda ctx, g: 3.0 * ctx.saved_tensors[0] ** 2 * g, setup_context=lambda ctx, inputs, out: ctx.save_for_backward(inputs[0])
)


@custom_op("dasktests::weighted", mutates_args=(), tags=Tag.pointwise)
def weighted(x: np.ndarray, y: np.ndarray, *, weight: float = 1.0) -> np.ndarray:
    """Two arrays that broadcast, and an option."""
    return weight * x + y


weighted.register_fake(lambda x, y, weight: np.empty(np.broadcast_shapes(x.shape, y.shape)))


@custom_op("dasktests::apply", mutates_args=(), signature="(m,n),(n)->(m)")
def apply(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A product of one matrix and one vector."""
    return a @ x


@custom_op("dasktests::extent", mutates_args=(), signature="(n)->(),(),(2)")
def extent(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Several results."""
    return np.asarray(x.min()), np.asarray(x.max()), np.array([x[0], x[-1]])


@custom_op("dasktests::ordered", mutates_args=())
def ordered(x: np.ndarray, times: int = 2) -> np.ndarray:
    """An operator that says nothing of chunks."""
    return np.cumsum(x, axis=0) * times


ordered.register_fake(lambda x, times: np.empty_like(x))


@custom_op("dasktests::fails", mutates_args=(), tags=Tag.pointwise)
def fails(x: np.ndarray) -> np.ndarray:
    """A kernel that raises on one chunk."""
    if (x == 7).any():
        raise OverflowError("seven")
    return x + 0


fails.register_fake(lambda x: np.empty_like(x))


@custom_op("dasktests::fragile", mutates_args=(), tags=Tag.pointwise)
def fragile(x: np.ndarray, once: str) -> np.ndarray:
    """The cube, whose backward kills the process that runs it, the first time: when there is no file of that name."""
    return x * x * x


fragile.register_fake(lambda x, once: np.empty_like(x))


@custom_op("dasktests::fragile_slope", mutates_args=(), tags=Tag.pointwise)
def fragile_slope(x: np.ndarray, once: str) -> np.ndarray:
    """The derivative of the cube, or the end of the process."""
    try:
        os.close(os.open(once, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return 3.0 * x * x
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


fragile_slope.register_fake(lambda x, once: np.empty_like(x))


def _keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.once = inputs[1]


fragile.register_autograd(lambda ctx, g: (g * fragile_slope(ctx.saved_tensors[0], ctx.once), None), setup_context=_keep)


def plain_cosine(x):
    """Code that takes arrays alone, of a library say."""
    x = np.asarray(x)
    read.append(type(x))
    return np.cos(x)


@custom_op("dasktests::sine", mutates_args=(), tags=Tag.pointwise)
def sine(x: np.ndarray) -> np.ndarray:
    """An operator all of whose rules hand what they get to a library."""
    return np.sin(x)


sine.register_fake(lambda x: np.empty_like(x))
sine.register_autograd(
    lambda ctx, g: g * plain_cosine(*ctx.saved_tensors), setup_context=lambda ctx, inputs, out: ctx.save_for_backward(inputs[0])
)
sine.register_jvp(lambda tangents, out, x: tangents[0] * plain_cosine(x))
sine.register_vmap(lambda info, in_dims, x: (sine(np.asarray(x)), in_dims[0]))


@custom_op("dasktests::sine_by_partial", mutates_args=(), tags=Tag.pointwise)
def sine_by_partial(x: np.ndarray) -> np.ndarray:
    """The same, by a partial derivative."""
    return np.sin(x)


sine_by_partial.register_fake(lambda x: np.empty_like(x))
sine_by_partial.register_autograd(elementwise=plain_cosine)
