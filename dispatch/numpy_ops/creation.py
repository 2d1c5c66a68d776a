"""Rows that make arrays, of a shape or like another array.

Rows of the first kind have no array argument, so a mode decides: under FakeTensorMode they make fakes.
"""

from math import ceil
from typing import Any

import numpy as np

from ..core import OpOverload
from ..dispatcher.layer import Made
from ..layers.autograd import CONSTANT, pullbacks
from ..layers.fake import FakeTensor, Pure, fake_tensor
from ..layers.jvp import pushforwards
from ..operators.registry import ops
from ..schema.tags import Tag
from ..symbolic import is_open, larger
from . import symbolic_layouts
from .families import complete, creation, in_front, kernel_of, row
from .result_layouts import Layout, as_shape, fake_like, hollow, weak

Shape = tuple[int, ...]

# -- of a shape ------------------------------------------------------------------------------------------------------------


def _fake_full(shape: Any, fill_value: Any, dtype: Any) -> FakeTensor:
    made = np.empty(0, dtype) if dtype is not None or isinstance(fill_value, FakeTensor) else np.asarray(weak(fill_value))
    shape = as_shape(shape)
    _check_fill(shape, fill_value)
    return fake_tensor(shape, fill_value.dtype if dtype is None and isinstance(fill_value, FakeTensor) else made.dtype)


def _check_fill(shape: Shape, fill_value: Any) -> None:
    """Raise NumPy's error if a fill value does not broadcast to the shape."""
    given = getattr(fill_value, "shape", ())
    if given and (is_open(shape) or is_open(given)):
        symbolic_layouts.broadcast_to(Layout(given, (0,) * len(given), hollow(()).dtype), shape)
    elif given:
        np.copyto(hollow(shape), hollow(given))


def spread_fill(fill_value: Any, dim: int | None, shape: Shape) -> Any:
    """Insert axes behind the batch of fill values, so that they broadcast to `(batch, *shape)`."""
    if dim is None:
        return fill_value
    fill_value = in_front(fill_value, dim)
    item = fill_value.shape[1:]
    return ops.np.reshape(fill_value, (fill_value.shape[0], *(1,) * (len(shape) - len(item)), *item))


def _batched_full(info: Any, in_dims: Any, shape: Any, fill_value: Any, dtype: Any) -> tuple[Any, int]:
    shape = as_shape(shape)
    return full((info.batch_size, *shape), spread_fill(fill_value, in_dims[1], shape), dtype), 0


def _fake_arange(start: Any, stop: Any, step: Any, dtype: Any) -> FakeTensor:
    first, last = (0, start) if stop is None else (start, stop)
    none = kernel_of(arange)(weak(first), weak(first), weak(step), dtype)  # no elements, and the dtype of the whole
    if is_open((first, last, step)) and not any(isinstance(x, float) for x in (first, last, step)):
        return fake_tensor((larger(-((first - last) // step), 0),), none.dtype)
    return fake_tensor((max(0, ceil((last - first) / step)),), none.dtype)


empty = creation("empty(int[1] shape, ScalarType? dtype=None) -> Tensor", np.empty)
zeros = creation("zeros(int[1] shape, ScalarType? dtype=None) -> Tensor", np.zeros)
ones = creation("ones(int[1] shape, ScalarType? dtype=None) -> Tensor", np.ones)
full: OpOverload = row(
    "full(int[1] shape, Tensor fill_value, ScalarType? dtype=None) -> Tensor",
    numpy=np.full,
    fake=_fake_full,
    autograd=pullbacks(fill_value=lambda g: g),
    jvp=pushforwards(fill_value=lambda t: t),
    vmap=_batched_full,
)
arange: OpOverload = row(
    "arange(Scalar start, Scalar? stop=None, Scalar step=1, ScalarType? dtype=None) -> Tensor",
    numpy=np.arange,
    fake=_fake_arange,
    autograd=CONSTANT,
)

# -- after another array ---------------------------------------------------------------------------------------------------


def like(name: str, extra: str = "", gradient: Any = None, tangent: Any = None) -> OpOverload:
    """Make a row that creates an array like another, whose shape, dtype and layout can be replaced.

    The result is made to be written to, so it is tracked if the other array is.
    """
    kernel = getattr(np, name)

    def numpy(x: Any, *args: Any) -> Any:
        *fill, dtype, shape = args
        return kernel(x, *fill, dtype=dtype, shape=shape, subok=False)

    def fake(x: Any, *args: Any) -> Any:
        *fill, dtype, shape = args
        if not isinstance(x, FakeTensor):
            return numpy(x, *[0 for _ in fill], dtype, shape)
        shape = x.shape if shape is None else as_shape(shape)
        if any(type(n) is int and n < 0 for n in shape):
            np.empty(-1)  # raises NumPy's own error
        for value in fill:
            _check_fill(shape, value)
        return fake_like(x, x.dtype if dtype is None else np.dtype(dtype), shape)

    def vmap(info: Any, in_dims: Any, x: Any, *args: Any) -> tuple[Any, int]:
        *fill, dtype, shape = args
        item = getattr(x, "shape", ()) if in_dims[0] is None else x.shape[: in_dims[0]] + x.shape[in_dims[0] + 1 :]
        shape = item if shape is None else as_shape(shape)
        fill = [spread_fill(value, in_dims[1], shape) for value in fill]
        return op(in_front(x, in_dims[0]), *fill, dtype, (info.batch_size, *shape)), 0

    op: OpOverload = row(
        f"{name}(Tensor x{extra}, ScalarType? dtype=None, int[1]? shape=None) -> Tensor",
        numpy=numpy,
        fake=Pure(fake, known=name != "empty_like"),
        tags=() if name == "empty_like" else (Tag.metadata,),
        autograd=Made(gradient),
        jvp=Made(tangent),
    )
    return complete(op, vmap=vmap)


empty_like = like("empty_like")
zeros_like = like("zeros_like")
ones_like = like("ones_like")
full_like = like("full_like", ", Tensor fill_value", pullbacks(fill_value=lambda g: g), pushforwards(fill_value=lambda t: t))
