"""Operators that cross the borders of frameworks; a child process finds them by this module, which imports none."""

import numpy as np

import dispatch


@dispatch.custom_op("borders::add", mutates_args=(), tags=dispatch.Tag.pointwise)
def add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A function of every dtype."""
    return np.add(x, y)


add.register_fake(lambda x, y: np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x, y)))


@dispatch.custom_op("borders::cube", mutates_args=(), tags=dispatch.Tag.pointwise)
def cube(x: np.ndarray) -> np.ndarray:
    """One with a gradient."""
    return x * x * x


cube.register_fake(lambda x: np.empty_like(x))


@cube.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
def _(ctx, g):
    (x,) = ctx.saved_tensors
    return 3 * x * x * g


LAYOUTS = {  # of an array, which is not changed
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "negative strides": lambda x: x[..., ::-1].copy()[..., ::-1] if x.ndim else x,
    "every other": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "no strides": lambda x: np.broadcast_to(x[..., :1], x.shape) if x.ndim else np.broadcast_to(x, ()),
    "part of a record": lambda x: np.stack([x, x], axis=-1).view([("a", x.dtype), ("b", x.dtype)])[..., 0]["a"],
    "unaligned": lambda x: np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape),
}


@dispatch.custom_op("borders::laid_out", mutates_args=(), tags=dispatch.Tag.pointwise)
def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """A result of any layout: what is laid out is fresh."""
    return LAYOUTS[layout](x + x)


laid_out.register_fake(lambda x, layout: np.empty(x.shape, x.dtype))


@dispatch.custom_op("borders::fails", mutates_args=(), tags=dispatch.Tag.pointwise)
def fails(x: np.ndarray) -> np.ndarray:
    """A kernel that raises."""
    raise OverflowError("too large")


fails.register_fake(lambda x: np.empty_like(x))
