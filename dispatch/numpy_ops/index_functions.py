"""Indices from indices and shapes: `np.ravel_multi_index`, `unravel_index`, `ix_` and the places of diagonals and triangles.

What they return are constants.
"""

from typing import Any

import numpy as np

from ..core import OpOverload, Tensor
from ..layers.autograd import CONSTANT
from ..layers.fake import FakeTensor, fake_tensor
from ..operators.prims import astype
from . import numpy_functions
from .data_dependent import flatnonzero
from .families import aligned, attach_plain_forms, in_front, row
from .numpy_functions import spelled
from .rearranging import shape_of
from .result_layouts import broadcast_shape, elementwise
from .row_arguments import as_item, as_value, call
from .shape import reshape
from .sorting import INDEX

# -- of all axes, and of one -----------------------------------------------------------------------------------------------


def _ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    return np.ravel_multi_index(tuple(multi_index), tuple(dims), mode, order)  # type: ignore[call-overload]


def _fake_ravel_multi_index(multi_index: Any, dims: Any, mode: Any, order: str) -> Any:
    few = [np.zeros(1, x.dtype) if hasattr(x, "dtype") else 0 for x in multi_index]
    _ravel_multi_index(few, (1,) * len(dims), mode, order)  # raises NumPy's own error: as many axes as sizes, integers, a mode
    fakes = [x for x in multi_index if isinstance(x, FakeTensor)]
    shape = broadcast_shape(tuple(map(shape_of, multi_index)))
    found = elementwise(INDEX, fakes)
    return found if len(found.shape) == len(shape) and found.shape == shape else fake_tensor(shape, INDEX, None, fakes[0].device, fakes[0].mode)


def _batched_ravel_multi_index(info: Any, in_dims: Any, multi_index: Any, dims: Any, mode: Any, order: str) -> tuple[Any, int]:
    return ravel_multi_index(aligned(in_dims[0], tuple(multi_index)), dims, mode, order), 0


ravel_multi_index: OpOverload = row(
    "ravel_multi_index(Tensor[] multi_index, int[] dims, Any mode='raise', str order='C') -> Tensor",
    numpy=_ravel_multi_index,
    fake=_fake_ravel_multi_index,
    autograd=CONSTANT,
    vmap=_batched_ravel_multi_index,
)


def _unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    return list(np.unravel_index(indices, shape, order))  # type: ignore[call-overload]


def _fake_unravel_index(indices: FakeTensor, shape: Any, order: str) -> list[FakeTensor]:
    sizes = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    _unravel_index(np.zeros(0, indices.dtype) if indices.shape else np.zeros((), indices.dtype), (1,) * len(sizes), order)  # raises NumPy's own error
    like = elementwise(INDEX, [indices])
    strides = tuple([len(sizes) * stride for stride in like.strides])  # the places of one element together
    return [fake_tensor(like.shape, INDEX, strides, like.device, like.mode) for _ in sizes]


unravel_index: OpOverload = row(
    "unravel_index(Tensor indices, int[1] shape, str order='C') -> Tensor[]",
    numpy=_unravel_index,
    fake=_fake_unravel_index,
    autograd=CONSTANT,
    vmap=lambda info, in_dims, indices, shape, order: (found := unravel_index(in_front(indices, in_dims[0]), shape, order), [0] * len(found)),
)


def _numpy_unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """`np.unravel_index`."""
    return tuple(call(unravel_index, indices, shape, order))


# -- of the parts of a matrix ----------------------------------------------------------------------------------------------


def _diag_indices_from(arr: Any) -> Any:
    """`np.diag_indices_from`."""
    sizes = tuple([int(n) for n in arr.shape])
    if len(sizes) < 2 or len(set(sizes)) > 1:
        np.diag_indices_from(np.empty(sizes, "V0"))  # raises NumPy's own error
    return np.diag_indices(sizes[0], len(sizes))


def _triangle_from(function: Any, whole: Any) -> Any:
    """Return `np.tril_indices_from` or its brother."""

    def places(arr: Any, k: int = 0) -> Any:
        if len(arr.shape) != 2:
            whole(np.empty(len(arr.shape) * (0,)), k)  # raises NumPy's own error
        return function(int(arr.shape[0]), k, int(arr.shape[1]))

    return places


def _ix_(*args: Any) -> Any:
    """`np.ix_`."""
    found = []
    for i, given in enumerate(args):
        places = as_item(as_value(given))
        if not isinstance(given, (np.ndarray, Tensor)) and not places.size:
            places = astype(places, np.intp)
        if len(places.shape) != 1:
            np.ix_(np.zeros((1,) * len(places.shape)))  # raises NumPy's own error
        if places.dtype.kind == "b":
            places = flatnonzero(places)
        found.append(reshape(places, (*[1] * i, -1, *[1] * (len(args) - i - 1))))
    return tuple(found)


FUNCTIONS: dict[Any, Any] = dict([
    spelled(np.ravel_multi_index, "multi_index dims mode order", ravel_multi_index),
    (np.unravel_index, _numpy_unravel_index),
    (np.diag_indices_from, _diag_indices_from),
    (np.tril_indices_from, _triangle_from(np.tril_indices, np.tril_indices_from)),
    (np.triu_indices_from, _triangle_from(np.triu_indices, np.triu_indices_from)),
    (np.ix_, _ix_),
])  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
    numpy_functions.SPELLED.setdefault(unravel_index, (np.unravel_index, {"indices": "indices", "shape": "shape", "order": "order"}))

attach_plain_forms(ravel_multi_index, unravel_index)
