"""Rows of matrix products: `matmul`, and `dot`."""

from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from ...autodiff.rules.partials import conjugated
from ...core import OpOverload
from ...layers.autograd import pullbacks
from ...layers.fake import FakeTensor, fake_tensor
from ...operators.prims import define, moveaxis
from ...schema.tags import Tag
from ...symbolic import agree, guesses
from ..families import aligned, composite, in_front, linear, pointwise_rules, row, undispatched
from ..pointwise import multiply
from ..result_layouts import broadcast_shape, elementwise_order, ufunc_dtype, weak
from ..shape import expand_dims, reshape, squeeze, swapaxes
from ..symbolic_layouts import dense

Shape = tuple[int, ...]


def product_shape(x: Shape, y: Shape) -> Shape:
    """Return the shape of a matrix product. Shapes that do not fit raise NumPy's own error."""
    if x and y and agree(x[-1], y[-2] if len(y) > 1 else y[-1]):
        with suppress(ValueError):
            return (*broadcast_shape((x[:-2], y[:-2])), *x[-2:-1], *(y[-1:] if len(y) > 1 else ()))
    found: Shape = np.matmul(np.broadcast_to(0.0, guesses(x)), np.broadcast_to(0.0, guesses(y))).shape
    return found


def _fake_matmul(x: Any, y: Any) -> FakeTensor:
    like = x if isinstance(x, FakeTensor) else y
    shape = product_shape(getattr(x, "shape", ()), getattr(y, "shape", ()))
    kinds: list[Any] = [a.dtype if isinstance(a, FakeTensor) else type(weak(a)) for a in (x, y)]
    dtype = ufunc_dtype(np.matmul, *kinds)
    loops = [(guesses(a.shape[:-2]), guesses(a.strides[:-2])) for a in (x, y) if len(getattr(a, "shape", ())) > 2]
    batch = elementwise_order(tuple(loops)) if loops else ()
    order = (*range(len(shape) - 1, len(batch) - 1, -1), *batch)  # each matrix in C order, the batch as its operands lie
    return fake_tensor(shape, dtype, dense(shape, dtype.itemsize, order), like.device, like.mode)


def adjoint(x: Any) -> Any:
    """Return the conjugate transpose of matrices."""
    return swapaxes(conjugated(x), -1, -2)


def _left(g: Any, x_shape: Shape, y: Any) -> Any:
    """Return the gradient of `x @ y` in x; the tape sums axes that were broadcast."""
    if len(y.shape) == 1:
        return multiply(expand_dims(g, -1), conjugated(y))
    if len(x_shape) == 1:
        return squeeze(matmul(conjugated(y), expand_dims(g, -1)), -1)
    return matmul(g, adjoint(y))


def _right(g: Any, x: Any, y_shape: Shape) -> Any:
    """Return the gradient of `x @ y` in y."""
    if len(x.shape) == 1:
        if len(y_shape) == 1:
            return multiply(g, conjugated(x))
        return multiply(expand_dims(g, -2), expand_dims(conjugated(x), -1))
    if len(y_shape) == 1:
        return squeeze(matmul(adjoint(x), expand_dims(g, -1)), -1)
    if len(y_shape) == 2 and len(x.shape) > 2:  # one product of all rows, instead of a batch of them and its sum
        rows = prod(x.shape[:-1])
        x, g = reshape(x, (rows, x.shape[-1])), reshape(g, (rows, g.shape[-1]))
    return matmul(adjoint(x), g)


def item_shape(x: Any, dim: int | None) -> Shape:
    """Return the shape of one item of a batch."""
    shape: Shape = getattr(x, "shape", ())
    return shape if dim is None else shape[:dim] + shape[dim + 1 :]


def _batched_matmul(info: Any, in_dims: Any, x: Any, y: Any) -> tuple[Any, int]:
    of_x, of_y = item_shape(x, in_dims[0]), item_shape(y, in_dims[1])
    product_shape(of_x, of_y)
    x, y = in_front(x, in_dims[0]), in_front(y, in_dims[1])
    # A batch of vectors with one matrix is a product of two matrices.
    if in_dims[1] is None and (len(of_x), len(of_y)) == (1, 2):
        return matmul(x, y), 0
    if in_dims[0] is None and (len(of_x), len(of_y)) == (2, 1):
        return matmul(y, swapaxes(x, 0, 1)), 0
    if len(of_x) == 1:
        x = expand_dims(x, -2)
    if len(of_y) == 1:
        y = expand_dims(y, -1)
    out = matmul(*aligned(tuple([None if dim is None else 0 for dim in in_dims]), (x, y)))
    if len(of_y) == 1:
        out = squeeze(out, -1)
    if len(of_x) == 1:
        out = squeeze(out, -1 if len(of_y) == 1 else -2)
    return out, 0


matmul: OpOverload = row(
    "matmul(Tensor x, Tensor y) -> Tensor",
    numpy=np.matmul,
    fake=_fake_matmul,
    autograd=pullbacks(x=_left, y=_right),
    jvp=linear("x", "y"),
    vmap=_batched_matmul,
)


def _scaled(x: Any, y: Any) -> Any:
    out = np.asarray(np.multiply(x, y))
    np.add(out, 0, out=out)
    np.copyto(out, 0, where=np.equal(y, 0))
    return out if out.ndim else out[()]


# `x * y` as BLAS adds it to zeros, which np.dot asks for: a factor y of 0 adds nothing, also of nan and inf, and no product is -0.0.
scaled: OpOverload = pointwise_rules(
    define("np::scaled(Tensor x, Tensor y) -> Tensor", _scaled, (Tag.pointwise,)), np.multiply, lambda y: y, lambda x: x
)


def _is_scaled(x: Any, y: Any) -> bool:
    """Whether np.dot has BLAS scale one operand by the one element of the other."""
    few = [len(a.shape) <= 2 and all(type(n) is int and n == 1 for n in a.shape) for a in (x, y)]
    return few[0] != few[1] and len(x.shape) <= 2 and len(y.shape) <= 2 and np.result_type(x.dtype, y.dtype).char in "fdFD"


def _dot(x: Any, y: Any) -> Any:
    x, y = [a if hasattr(a, "shape") else np.asarray(a)[()] for a in (x, y)]  # np.dot makes arrays of numbers
    of_x, of_y = x.shape, y.shape
    meet = not of_x or not of_y or agree(of_x[-1], of_y[-2] if len(of_y) > 1 else of_y[-1])
    if meet and _is_scaled(x, y):
        array, one = (y, x) if all(type(n) is int and n == 1 for n in of_x) else (x, y)
        found = scaled(array, reshape(one, ()) if one.shape else one)
        return reshape(found, (*of_x[:-1], *of_y[:-2], *of_y[-1:] * (len(of_y) > 1))) if of_x and of_y else found
    if not of_x or not of_y:
        return multiply(x, y)
    if len(of_y) <= 2:
        return matmul(x, y)
    rows = moveaxis(y, -2, 0)
    product = matmul(x, reshape(rows, (of_y[-2], prod(of_y[:-2]) * of_y[-1])))
    return reshape(product, (*of_x[:-1], *of_y[:-2], of_y[-1]))


def _dot_left(g: Any, x_shape: Shape, y: Any) -> Any:
    """Return the gradient of `dot(x, y)` in x."""
    of_y = getattr(y, "shape", ())
    if not x_shape or not of_y:
        return multiply(g, conjugated(y))
    if len(of_y) <= 2:
        return _left(g, x_shape, y)
    columns = prod(of_y[:-2]) * of_y[-1]  # of all matrices of y
    return matmul(reshape(g, (*x_shape[:-1], columns)), reshape(moveaxis(conjugated(y), -2, -1), (columns, of_y[-2])))


def _dot_right(g: Any, x: Any, y_shape: Shape) -> Any:
    """Return the gradient of `dot(x, y)` in y."""
    of_x = getattr(x, "shape", ())
    if not of_x or not y_shape:
        return multiply(g, conjugated(x))
    if len(y_shape) <= 2:
        return _right(g, x, y_shape)
    columns = prod(y_shape[:-2]) * y_shape[-1]
    found = matmul(adjoint(reshape(x, (prod(of_x[:-1]), of_x[-1]))), reshape(g, (prod(of_x[:-1]), columns)))
    return moveaxis(reshape(found, (y_shape[-2], *y_shape[:-2], y_shape[-1])), 0, -2)


dot = composite(
    "dot(Tensor x, Tensor y) -> Tensor",
    _dot,
    numpy=undispatched(np.dot),
    laid_out=True,
    autograd=pullbacks(x=_dot_left, y=_dot_right),
    jvp=linear("x", "y"),
)
