"""Rows of diagonals and triangles, and of the matrices made from them.

A diagonal of an (m, n) matrix is every (n + 1)-th element in C order, so writing one is a write to a slice and needs no index.
"""

from typing import Any

import numpy as np

from ..core import OpOverload
from ..layers.autograd import CONSTANT, pullbacks
from ..layers.fake import FakeTensor, fake_tensor
from ..operators.prims import broadcast_to, moveaxis
from . import symbolic_layouts
from .families import complete, composite, fake_creation, in_front, linear, row, view
from .indexing import scatter_add
from .linalg.triangles import triangle as kept_of
from .reduction import sum as total
from .result_layouts import elementwise
from .shape import behind, expand_dims, reshape

Shape = tuple[int, ...]

# -- diagonals -------------------------------------------------------------------------------------------------------------


def _put_back(g: Any, x_shape: Shape, offset: int, axis1: int, axis2: int) -> Any:
    """Compute the pullback of a diagonal: a matrix of zeros with the gradient on the diagonal."""
    first, second = axis1 % len(x_shape), axis2 % len(x_shape)
    rest = tuple([n for i, n in enumerate(x_shape) if i not in (first, second)])
    made = on_diagonal(g, rest, x_shape[first], x_shape[second], offset)
    if (first, second) == (len(x_shape) - 2, len(x_shape) - 1):
        return made
    return moveaxis(made, (-2, -1), (first, second))


def on_diagonal(x: Any, stack: Shape, m: int, n: int, offset: int) -> Any:
    """Zeros of shape `(*stack, m, n)` with the last axis of `x` along a diagonal."""
    start = offset if offset >= 0 else -offset * n
    stop = start + (n + 1) * x.shape[-1]
    flat = scatter_add(x, (Ellipsis, slice(start, stop, n + 1)), (*stack, m * n))
    return reshape(flat, (*stack, m, n))


def _diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return np.diagonal(x, offset, axis1, axis2)


diagonal = view(
    "diagonal(Tensor(a) x, int offset=0, int axis1=0, int axis2=1) -> Tensor(a)",
    _diagonal,
    adjoint=_put_back,
    batched=lambda shape, offset, axis1, axis2: (
        offset,
        *behind(axis1, len(shape) - 1, "axis1"),
        *behind(axis2, len(shape) - 1, "axis2"),
    ),
    opened=symbolic_layouts.diagonal,
)


def _writeable_diagonal(x: Any, axis1: int, axis2: int) -> Any:
    found = np.diagonal(x, 0, axis1, axis2)
    if x.flags.writeable:
        found.flags.writeable = True  # np.diagonal's views are not, those of np.einsum("ii->i") are
    return found


writeable_diagonal = view(
    "writeable_diagonal(Tensor(a) x, int axis1, int axis2) -> Tensor(a)",
    _writeable_diagonal,
    adjoint=lambda g, x_shape, axis1, axis2: _put_back(g, x_shape, 0, axis1, axis2),
    batched=lambda shape, axis1, axis2: (*behind(axis1, len(shape) - 1, "axis1"), *behind(axis2, len(shape) - 1, "axis2")),
    opened=lambda layout, axis1, axis2: symbolic_layouts.diagonal(layout, 0, axis1, axis2),
)


def _diag(x: Any, k: int = 0) -> Any:
    if len(x.shape) == 2:
        return diagonal(x, k)
    if len(x.shape) != 1:
        np.diag(np.empty((0,) * len(x.shape)))  # raises NumPy's own error
    n = x.shape[0] + abs(k)
    return on_diagonal(x, (), n, n, k)


def _diagflat(x: Any, k: int = 0) -> Any:
    return diag(reshape(x, (-1,)), k)


def _trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return total(diagonal(x, offset, axis1, axis2), -1, None if dtype is None else np.dtype(dtype).newbyteorder("="))


diag = composite("diag(Tensor(a) x, int k=0) -> Tensor(a)", _diag, numpy=np.diag)
diagflat = composite("diagflat(Tensor x, int k=0) -> Tensor", _diagflat)
trace = composite("trace(Tensor x, int offset=0, int axis1=0, int axis2=1, ScalarType? dtype=None) -> Tensor", _trace)

# -- triangles -------------------------------------------------------------------------------------------------------------


def triangle(name: str, kernel: Any) -> OpOverload:
    """Make a row that keeps a triangle of each matrix of a stack: linear, and its own adjoint."""

    def fake(x: Any, k: Any) -> Any:
        if not isinstance(x, FakeTensor) or not x.shape:
            return kernel(np.zeros(getattr(x, "shape", ())), k)  # raises NumPy's own error
        mask = fake_tensor((x.shape * 2)[-2:], np.dtype(bool))
        made = elementwise(x.dtype.newbyteorder("="), [mask, x])
        return fake_tensor(made.shape, made.dtype, made.strides, x.device, x.mode)

    def vmap(info: Any, in_dims: Any, x: Any, k: Any) -> tuple[Any, int]:
        x = in_front(x, in_dims[0])
        if len(x.shape) == 1:
            kernel(np.zeros(()), k)  # raises NumPy's own error
        if len(x.shape) == 2:  # a vector counts as each row of a square matrix
            x = broadcast_to(expand_dims(x, 1), (*x.shape, x.shape[1]))
        return op(x, k), 0

    op: OpOverload = row(
        f"{name}(Tensor x, int k=0) -> Tensor", numpy=kernel, fake=fake, autograd=pullbacks(x=lambda g, k: op(g, k))
    )
    return complete(op, vmap=vmap, jvp=linear("x"))


def _tril(x: Any, k: int = 0) -> Any:
    made = kept_of(x, k, False) if type(x) is np.ndarray and x.dtype.isnative else None
    return np.tril(x, k) if made is None else made


def _triu(x: Any, k: int = 0) -> Any:
    made = kept_of(x, k, True) if type(x) is np.ndarray and x.dtype.isnative else None
    return np.triu(x, k) if made is None else made


tril = triangle("tril", _tril)
triu = triangle("triu", _triu)

# -- made of numbers -------------------------------------------------------------------------------------------------------

eye: OpOverload = row(
    "eye(int N, int? M=None, int k=0, ScalarType? dtype=None) -> Tensor",
    numpy=lambda N, M=None, k=0, dtype=None: np.eye(N, M, k, dtype or np.float64),
    fake=lambda N, M, k, dtype: fake_creation((N, N if M is None else M), dtype),
    autograd=CONSTANT,
)
tri: OpOverload = row(
    "tri(int N, int? M=None, int k=0, ScalarType? dtype=None) -> Tensor",
    numpy=lambda N, M=None, k=0, dtype=None: np.tri(N, M, k, dtype or np.float64),
    fake=lambda N, M, k, dtype: fake_creation((N, N if M is None else M), dtype),
    autograd=CONSTANT,
)
identity = composite("identity(int n, ScalarType? dtype=None) -> Tensor", lambda n, dtype=None: eye(n, None, 0, dtype))


def diagonal_matrix(x: Any) -> Any:
    """Return the diagonal matrices whose diagonals are the last axis of `x`."""
    return on_diagonal(x, x.shape[:-1], x.shape[-1], x.shape[-1], 0)
