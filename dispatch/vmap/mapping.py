"""The transform `vmap`: arguments into a batch, results out of it."""

from collections.abc import Callable
from functools import wraps
from itertools import repeat
from typing import Any

import numpy as np
from numpy import ndarray

from ..containers import arrays, items_of, mapped_arrays, rebuilt
from ..core import Level, Tensor, wrap
from ..errors import BatchingError, kind_of
from ..prims import broadcast_to, moveaxis
from .tensor import Batch, BatchedTensor


def vmap(f: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """Map a function over an axis of its arguments, in one call instead of a loop.

    Parameters
    ----------
    f : callable
        Written for one item: it sees its arguments without the mapped axis.
    in_dims : int, None, or tuple of these
        The mapped axis of each positional argument, None for an argument that every item gets whole; one for all. It holds
        for every array in an argument that is a list, tuple, dict or record. Keyword arguments are not mapped.
    out_dims : int, None, or tuple of these
        Where the mapped axis goes in each output; None for an output that does not depend on the item.

    Returns
    -------
    callable

    Raises
    ------
    BatchingError
        If there is no mapped axis, or the mapped axes differ in length.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> a, b = np.arange(6.0).reshape(3, 2), np.arange(2.0)
    >>> dispatch.vmap(np.dot, in_dims=(0, None))(a, b)
    array([1., 3., 5.])
    """

    @wraps(f)
    def mapped(*args: Any, **keywords: Any) -> Any:
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        if len(dims) != len(args):
            raise BatchingError(f"vmap: in_dims names {len(dims)} arguments, and {len(args)} were given. Give one for each.")
        size = _batch_size(args, dims)
        with Level("vmap", Batch(size)) as level:
            out = f(*map(_into, args, dims, repeat(level)), **keywords)
            if type(out) is BatchedTensor and out.level is level and out_dims == out.data:
                return out.value
            return _out_of(out, out_dims, level, size)

    return mapped


def _batch_size(args: tuple[Any, ...], dims: tuple[Any, ...]) -> int:
    """The length of the mapped axes; what is wrong with them is looked for only where they are not simply equal."""
    size = -1
    try:
        for x, dim in zip(args, dims):  # noqa: B905 - as many dims as arguments, as mapped() has made sure
            if dim is not None:
                length = x.shape[dim]
                if length != size and size >= 0:
                    return _checked_size(args, dims)
                size = length
    except (AttributeError, IndexError, TypeError):
        size = -1
    return _checked_size(args, dims) if size < 0 else size


def _checked_size(args: tuple[Any, ...], dims: tuple[Any, ...]) -> int:
    sizes: dict[str, int] = {}
    for number, (x, dim) in enumerate(zip(args, dims, strict=True)):
        for array in arrays(x) if dim is not None else ():
            if not hasattr(array, "shape"):
                raise BatchingError(
                    f"vmap: argument {number} is {kind_of(array)}, which has no axis to map. Give it in_dims=None."
                )
            if not isinstance(dim, int) or not -len(array.shape) <= dim < len(array.shape):
                raise BatchingError(
                    f"vmap: argument {number} has shape {array.shape} and no axis {dim!r} to map. "
                    "in_dims is an axis, None, or a tuple of one for each argument."
                )
            sizes[f"argument {number} has {array.shape[dim]} along axis {dim}"] = array.shape[dim]
    if not sizes:
        raise BatchingError("vmap: no argument is mapped. Give at least one an axis in in_dims.")
    if len(set(sizes.values())) > 1:
        raise BatchingError(f"vmap: the mapped axes differ in length: {'; '.join(sizes)}.")
    return next(iter(sizes.values()))


def _into(x: Any, dim: int | None, level: Level) -> Any:
    if dim is None:
        return x
    if type(x) is ndarray:
        return wrap(BatchedTensor, x, level, dim if dim >= 0 else dim + x.ndim)
    return mapped_arrays(lambda array: wrap(BatchedTensor, array, level, dim % len(array.shape)), x)


def _out_of(out: Any, dim: Any, level: Level, size: int) -> Any:
    """A result without its wrapper, the mapped axis where it was asked for; one that ignores the batch is repeated."""
    if isinstance(out, (list, tuple)) and isinstance(dim, tuple):
        if len(dim) != len(out):
            raise BatchingError(f"vmap: out_dims names {len(dim)} outputs, and the function returned {len(out)}.")
        return rebuilt(out, [_out_of(x, d, level, size) for x, d in zip(out, dim, strict=True)])
    if items_of(out) is not None:
        return mapped_arrays(lambda x: _out_of(x, dim, level, size), out)
    batched = isinstance(out, BatchedTensor) and out.level is level
    if dim is None:
        if batched:
            raise BatchingError("vmap: out_dims is None for an output that differs from item to item. Give it an axis.")
        return out
    if batched:
        return out.value if dim == out.data else moveaxis(out.value, out.data, dim)
    if not isinstance(out, (Tensor, np.ndarray, np.generic, bool, int, float, complex)):
        raise BatchingError(
            f"vmap: the function returned {kind_of(out)}, which makes no batch. Return arrays, or out_dims=None for it."
        )
    whole = broadcast_to(np.asarray(out) if not isinstance(out, Tensor) else out, (size, *getattr(out, "shape", ())))
    return whole if dim == 0 else moveaxis(whole, 0, dim)
