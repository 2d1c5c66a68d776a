"""Rows that order in part, or by several keys: `np.partition`, `np.argpartition`, `np.lexsort`, `np.sort_complex`.

Which element goes where in a partition is told by sorting both: the k-th smallest of the argument is the k-th smallest of the result. Of
equal elements the first goes to the first of their places, as in the derivative of `np.sort`.
"""

from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..core import OpOverload, Tensor
from ..layers.autograd import CONSTANT, pullbacks
from ..layers.fake import FakeTensor, fake_tensor
from ..layers.jvp import pushforwards
from ..operators.prims import astype
from ..symbolic import agreeing, guesses
from . import numpy_functions
from .cumulative import back, last
from .families import attach_plain_forms, complete, composite, in_front, row
from .numpy_functions import spelled
from .result_layouts import fake_like, hollow
from .row_arguments import as_value, call
from .shape import repeated, reshape
from .sorting import INDEX, argsort, in_c_order, sort, take_along_axis

# -- the k-th in its place -------------------------------------------------------------------------------------------------


def partitioning(name: str, dtype_of: Any, laid_out: Any) -> OpOverload:
    """Make the row of `np.partition` or `np.argpartition`."""
    kernel = getattr(np, name)

    def _is_row(shape: Any, axis: Any) -> bool:
        """Whether NumPy takes a number for an array of one element: np.argpartition does, np.partition knows no axis of it."""
        return name == "argpartition" and not shape and axis in (0, -1)

    def numpy(x: Any, kth: Any, axis: int | None = -1, kind: str = "introselect") -> Any:
        return kernel(x, kth, axis, kind)

    def fake(x: Any, kth: Any, axis: Any, kind: Any) -> FakeTensor:
        if not isinstance(x, FakeTensor):
            x = fake_tensor((), np.asarray(x).dtype)
        axis = None if _is_row(x.shape, axis) else axis
        at = None if axis is None else normalize_axis_index(axis, len(x.shape))
        n = prod(x.shape) if at is None else x.shape[at]
        kernel(np.broadcast_to(np.zeros((), bool), guesses((n,))), kth, 0, kind)  # raises NumPy's own error: no such place, or kind
        return fake_tensor((n,), dtype_of(x.dtype), None, x.device, x.mode) if at is None else laid_out(x, dtype_of(x.dtype))

    def vmap(info: Any, in_dims: Any, x: Any, kth: Any, axis: Any, kind: Any) -> tuple[Any, int]:
        x = in_front(x, in_dims[0])
        if axis is None or _is_row(x.shape[1:], axis):
            return op(reshape(x, (x.shape[0], prod(x.shape[1:]))), kth, 1, kind), 0
        return op(x, kth, 1 + normalize_axis_index(axis, len(x.shape) - 1), kind), 0

    op: OpOverload = row(
        f"{name}(Tensor x, Any kth, int? axis=-1, str kind='introselect') -> Tensor", numpy=numpy, fake=fake, autograd=CONSTANT, vmap=vmap
    )
    return op


def _moved(t: Any, source: Any, target: Any, axis: Any) -> Any:
    """Return what stands beside the k-th smallest of `source` in the place of the k-th smallest of `target`, along the last axis."""
    order = argsort(last(source, axis), -1, "stable")
    rank = argsort(argsort(last(target, axis), -1, "stable"), -1)
    return take_along_axis(last(t, axis), take_along_axis(order, rank, -1), -1)


def _pullback(g: Any, x: Any, out: Any, axis: Any) -> Any:
    return back(_moved(g, out, x, None if axis is None else axis), x.shape, axis)


def _pushforward(t: Any, x: Any, out: Any, axis: Any) -> Any:
    found = _moved(t, x, out, axis)
    return found if axis is None else back(found, x.shape, axis)


partition = partitioning("partition", lambda dtype: dtype, fake_like)
complete(partition, autograd=pullbacks(x=_pullback), jvp=pushforwards(x=_pushforward))
argpartition = partitioning("argpartition", lambda dtype: INDEX, in_c_order)


# -- by several keys -------------------------------------------------------------------------------------------------------


def _lexsort(keys: Any, axis: int = -1) -> Any:
    return np.lexsort(tuple(keys), axis)


def _fake_lexsort(keys: Any, axis: int) -> Any:
    shapes = [tuple(getattr(x, "shape", ())) for x in keys]
    if not shapes or not agreeing(shapes):
        np.lexsort([hollow(guesses(s)) for s in shapes])  # raises NumPy's own error
    fakes = [x for x in keys if isinstance(x, FakeTensor)]
    if shapes[0]:
        normalize_axis_index(axis, len(shapes[0]))
    return fake_tensor(shapes[0], INDEX, None, fakes[0].device, fakes[0].mode) if fakes else _lexsort(keys, axis)


def _batched_lexsort(info: Any, in_dims: Any, keys: Any, axis: int) -> tuple[Any, int]:
    keys = repeated(info, in_dims, keys)
    ndim = len(keys[0].shape) - 1
    return (lexsort(keys, 1 + normalize_axis_index(axis, ndim)) if ndim else argsort(reshape(keys[0], (-1, 1)))[:, 0]), 0


lexsort: OpOverload = row(
    "lexsort(Tensor[] keys, int axis=-1) -> Tensor", numpy=_lexsort, fake=_fake_lexsort, autograd=CONSTANT, vmap=_batched_lexsort
)


def _numpy_lexsort(keys: Any, axis: int = -1) -> Any:
    """`np.lexsort`."""
    return call(lexsort, list(keys) if isinstance(keys, (np.ndarray, Tensor)) else [as_value(x) for x in keys], axis)


# -- sorted, as complex numbers --------------------------------------------------------------------------------------------


def _sort_complex(x: Any) -> Any:
    found = sort(x)
    if found.dtype.kind == "c":
        return found
    return astype(found, "F" if found.dtype.char in "bhBH" else "G" if found.dtype.char == "g" else "D")


sort_complex = composite("sort_complex(Tensor x) -> Tensor", _sort_complex)


FUNCTIONS: dict[Any, Any] = dict([
    spelled(np.partition, "a:x kth axis kind", partition),
    spelled(np.argpartition, "a:x kth axis kind", argpartition),
    (np.lexsort, _numpy_lexsort),
    spelled(np.sort_complex, "a:x", sort_complex),
])  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(argpartition, lexsort)
