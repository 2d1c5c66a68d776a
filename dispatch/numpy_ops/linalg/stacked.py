"""The shape rules and batching rules that rows of stacked matrices share.

Result dtypes come from NumPy, run on matrices of one element. The axes of a stack have the memory order of the operands', and each
matrix is in C order.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...core import OpOverload
from ...layers.fake import FakeTensor, fake_tensor
from ...operators.prims import define
from ...symbolic import agree, guesses, has_zero
from ..families import complete, in_front
from ..result_layouts import REMEMBERED, elementwise_order
from ..symbolic_layouts import dense

Shape = tuple[int, ...]
Kernel = Callable[..., Any]
Cores = Callable[[int, int], list[Shape]]


def of_matrices(text: str, kernel: Kernel, cores: Cores, *, square: bool = True, refuse: Kernel | None = None, empty: bool = False) -> OpOverload:
    """Make a row of a function of matrices; `cores(m, n)` returns the shape of each output for one matrix of m by n.

    `refuse` gets the fake of the matrices and the options, and raises where data would have to tell what the results are.
    Of matrices without elements the results of an `empty` one have the dtype of the matrices, whatever that is.
    """
    op = define(f"np::{text}", kernel)
    single = len(op.schema.returns) == 1

    def check(shape: Shape) -> None:
        if len(shape) < 2 or (square and not agree(shape[-1], shape[-2])):
            kernel(np.broadcast_to(0.0, guesses(shape)))  # raises NumPy's own error

    def fake(x: Any, *options: Any) -> Any:
        check(getattr(x, "shape", ()))
        if refuse is not None:
            refuse(x, *options)
        stack = x.shape[:-2]
        cells = x.shape[-2:]
        dtypes = [x.dtype] if empty and has_zero(cells) else result_dtypes(kernel, (x.dtype,))
        made = [fake_stack(stack, core, dtype, [x]) for core, dtype in zip(cores(*cells), dtypes, strict=True)]
        return made[0] if single else tuple(made)

    def vmap(info: Any, in_dims: Any, x: Any, *options: Any) -> tuple[Any, int]:
        x = in_front(x, in_dims[0])
        check(x.shape[1:])
        count = op.arguments.positional - 1
        return op(x, *options[:count], **dict(zip(op.arguments.keyword_names, options[count:], strict=True))), 0

    return complete(op, fake=fake, vmap=vmap)


def fake_stack(stack: Shape, core: Shape, dtype: Any, operands: list[Any]) -> FakeTensor:
    """Return the fake of a stack of matrices; its axes have the memory order of the operands."""
    loops = tuple([(guesses(x.shape[:-2]), guesses(x.strides[:-2])) for x in operands if len(x.shape) > 2])
    batch = elementwise_order(loops) if loops else ()
    shape = stack + core
    order = (*range(len(shape) - 1, len(stack) - 1, -1), *batch)
    return fake_tensor(shape, dtype, dense(shape, dtype.itemsize, order), operands[0].device, operands[0].mode)


@lru_cache(REMEMBERED)
def result_dtypes(kernel: Kernel, dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes of a function's results for the dtypes of its arguments."""
    found = kernel(*[np.ones((1, 1), dtype) for dtype in dtypes])
    return tuple([x.dtype for x in found]) if isinstance(found, tuple) else (found.dtype,)
