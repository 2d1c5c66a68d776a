"""What many rows share: from one fact about an operator a family derives its rules.

    pointwise    the partial derivatives   -> gradient, shape rule, batching
    comparison   nothing                   -> shape rule, batching; no gradient

A partial derivative names what it reads, arguments or `out`, and what it does not name is not kept for it:

    multiply = pointwise("multiply", np.multiply, lambda y: y, lambda x: x)

A missing partial means that there is no derivative in that argument, and the result does not carry one. Rows are written
with operators, never infix and never NumPy's functions, so that every layer below sees what a rule does.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..core import OpOverload
from ..fake import FakeTensor, contiguous, fake_tensor
from ..layer import find_layer, parameter_names
from ..operators import ops
from ..prims import define, moveaxis
from ..tags import Tag
from ..tape import CONSTANT, Pullback, Pullbacks

Rule = Callable[..., Any]
Partial = Rule | float | None
Shape = tuple[int, ...]

ARGUMENTS = "xyz"


def row(text: str, *, numpy: Callable[..., Any], tags: tuple[Tag, ...] = (), **rules: Any) -> OpOverload:
    """One row of the table: a schema, its NumPy kernel, and one keyword for each layer that has a rule.

    Parameters
    ----------
    text : str
        The schema, without the namespace.
    numpy : callable
        The kernel.
    tags : tuple of Tag
    **rules
        By the names of the layers: `fake=`, `autograd=`, `vmap=`.
    """
    return complete(define(f"np::{text}", numpy, tags), **rules)


def complete(op: OpOverload, **rules: Any) -> OpOverload:
    """Give an operator its rules, by the names of the layers."""
    for name, rule in rules.items():
        find_layer(name).attach(op, rule)
    return op


def pointwise(name: str, kernel: np.ufunc, *partials: Partial) -> OpOverload:
    """A row that applies a ufunc element by element, with a partial derivative for each argument."""
    arguments = ", ".join(f"Tensor {x}" for x in ARGUMENTS[: kernel.nin])
    op = define(f"np::{name}({arguments}) -> Tensor", kernel, (Tag.pointwise,))
    return pointwise_rules(op, kernel, *partials)


def pointwise_rules(op: OpOverload, kernel: np.ufunc, *partials: Partial) -> OpOverload:
    """The rules that follow from an operator being a ufunc, and from its partial derivatives."""
    derivatives = {
        argument: pullback_of(partial) for argument, partial in zip(ARGUMENTS, partials, strict=False) if partial is not None
    }
    return complete(
        op,
        fake=fake_pointwise(kernel),
        autograd=Pullbacks(derivatives) if derivatives else CONSTANT,
        vmap=batched_pointwise(op),
    )


def comparison(name: str, kernel: np.ufunc) -> OpOverload:
    """A row that applies a ufunc whose result has no derivative."""
    return pointwise(name, kernel)


# -- gradients -------------------------------------------------------------------------------------------------------------


def pullback_of(partial: Rule | float) -> Pullback:
    """`g * conj(partial)`, which reads what the partial reads: torch's convention for complex values."""
    if isinstance(partial, (int, float)):
        return Pullback(("g",), (lambda g: g) if partial == 1 else (lambda g: times(g, partial)))
    if parameter_names(partial) == ("out",):  # the commonest two forms spare the tuple
        return Pullback(("g", "out"), lambda g, out: times(g, partial(out)))
    return Pullback(("g", *(parameter_names(partial) or ())), lambda g, *read: times(g, partial(*read)))


def times(g: Any, partial: Any) -> Any:
    """The pullback of a multiplication: `g * conj(partial)`."""
    if hasattr(partial, "dtype") and partial.dtype.kind == "c":
        partial = ops.np.conjugate(partial)
    return ops.np.multiply(g, partial)


# -- shapes ----------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def result_dtype(kernel: np.ufunc, kinds: tuple[Any, ...]) -> np.dtype[Any]:
    """The dtype of a ufunc's result; a Python number is given by its type, as NEP 50 wants it."""
    return kernel.resolve_dtypes((*kinds, *(None,) * kernel.nout))[-1]


@lru_cache(maxsize=4096)
def broadcast_shape(shapes: tuple[Shape, ...]) -> Shape:
    """The shape that arrays of these shapes broadcast to."""
    return np.broadcast_shapes(*shapes)


@lru_cache(maxsize=4096)
def elementwise_strides(shape: Shape, itemsize: int, layouts: tuple[tuple[Shape, Shape], ...]) -> Shape:
    """The strides NumPy gives an elementwise result: asked of nditer, on dummies of the same strides and of length at most 2.

    Which axis varies fastest depends on the operands' strides and on which axes have length 1, not on the other lengths.
    """
    byte = np.zeros((), np.uint8)
    small = [as_strided(byte, tuple(min(n, 2) for n in s), strides) for s, strides in layouts]
    flags = [["readonly"]] * len(small) + [["writeonly", "allocate"]]
    made = np.nditer([*small, None], [], flags, op_dtypes=[None] * len(small) + ["u1"]).operands[-1]
    order = sorted(range(len(shape)), key=lambda axis: (made.strides[axis], -axis))
    strides, step = [0] * len(shape), itemsize
    for axis in order:
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def elementwise(dtype: np.dtype[Any], fakes: list[FakeTensor]) -> FakeTensor:
    """The result of an elementwise operation on these operands, of the dtype given."""
    first = fakes[0]
    shape = first.shape if len(fakes) == 1 else broadcast_shape(tuple([x.shape for x in fakes]))
    ordered = all([x.strides == contiguous(x.shape, x.dtype.itemsize) for x in fakes])
    strides = None
    if not ordered and 0 not in shape:
        strides = elementwise_strides(shape, dtype.itemsize, tuple([(x.shape, x.strides) for x in fakes]))
    return fake_tensor(shape, dtype, strides, first.device, first.mode)


def fake_pointwise(kernel: np.ufunc) -> Rule:
    """The shape rule of a ufunc."""

    def rule(*xs: Any) -> FakeTensor:
        dtype = result_dtype(kernel, tuple([x.dtype if isinstance(x, FakeTensor) else type(x) for x in xs]))
        return elementwise(dtype, [x for x in xs if isinstance(x, FakeTensor)])

    return rule


# -- batches ---------------------------------------------------------------------------------------------------------------


def batched_pointwise(op: OpOverload) -> Rule:
    """The batching rule of a pointwise operator: the batch goes first everywhere, and the operator is called once."""

    def rule(info: Any, in_dims: tuple[Any, ...], *xs: Any) -> tuple[Any, int]:
        return op(*aligned(in_dims, xs)), 0

    return rule


def aligned(in_dims: tuple[Any, ...], xs: tuple[Any, ...]) -> list[Any]:
    """Operands that broadcast as the items do: the batch first, and as many axes behind it as the largest item has."""
    ndims = [len(getattr(x, "shape", ())) - (dim is not None) for x, dim in zip(xs, in_dims, strict=True)]
    largest = max(ndims)
    found = []
    for x, dim, ndim in zip(xs, in_dims, ndims, strict=True):
        if dim is not None:
            x = x if dim == 0 else moveaxis(x, dim, 0)
            if ndim < largest:
                x = ops.np.reshape(x, (x.shape[0], *(1,) * (largest - ndim), *x.shape[1:]))
        found.append(x)
    return found
