"""What a batching rule returned, held against the schema and the size of the batch, and made into values of the level."""

from typing import Any

import numpy as np

from ...core import OpOverload, Tensor, wrap
from ...core.pytree import arrays, items_of, rebuilt
from ...dispatcher.call_errors import about_dtype
from ...dispatcher.printing import describe_value
from ...errors import BatchingError, how_many, kind_of
from ...operators.prims import copy, moveaxis
from ...operators.views import KEEPS_STRIDES, owner_of
from ...symbolic import guesses
from .axes import each
from .tensor import BatchedTensor


def lies_between(x: Any, dim: int) -> bool:
    """Whether the items of a batch lie between each other in memory: some axis has larger steps than that of the batch."""
    if len(x.shape) < 2:
        return False
    while isinstance(x, Tensor) and type(x) is not BatchedTensor and x.value is not None:  # a fake has none, and strides
        x = x.value
    strides = getattr(x, "strides", None)
    if type(strides) is not tuple:  # of a class of users
        return False
    shape, strides = guesses(x.shape), guesses(strides)
    if not strides[dim] or shape[dim] < 2 or 0 in shape:
        return False
    return any([n > 1 and abs(step) > abs(strides[dim]) for n, step in zip(shape, strides, strict=True)])


def apart(out: Any, dim: int, args: Any = (), is_view: bool = False) -> Any:
    """What a rule made, copied where its items lie between each other: each without gaps, as NumPy makes them.

    Else np.ravel, or a reshape, of an item were a copy where NumPy has a view, and a write to it were lost. A view of an
    argument stays one: its gaps are those of the item that NumPy sees. So does a view of plain arrays which a lower layer has
    taken in, and of which it alone knows what memory it is.
    """
    if not lies_between(out, dim):
        return out
    owner, given = owner_of(out), arrays(list(args))
    if any(owner_of(x) is owner for x in given) or (is_view and isinstance(out, Tensor) and all(map(_is_plain, given))):
        return out
    strides = guesses(out.strides)
    order = (dim, *sorted([i for i in range(len(strides)) if i != dim], key=lambda i: -abs(strides[i])))
    places = tuple(range(len(order)))
    return moveaxis(copy(moveaxis(out, order, places), "C"), places, order)


def _is_plain(x: Any) -> bool:
    """Whether no layer but vmap holds an array."""
    while type(x) is BatchedTensor:
        x = x.value
    return not isinstance(x, Tensor)


def rule_output(op: OpOverload, like: BatchedTensor, result: Any, args: Any) -> Any:
    """What a rule returned, as values of the level of `like`."""
    if type(result) is not tuple or len(result) != 2:
        raise BatchingError(
            f"{op.name}: its vmap rule returned {kind_of(result)}. Return (output, out_dims).", operator=op.name
        )
    out, dim = result
    _check_outputs(op, out)
    return _wrapped(op, like, out, dim, args)


def _check_outputs(op: OpOverload, out: Any) -> None:
    """Refuse what a rule returned where it is not the operator's outputs, the residual among them."""
    returns = op.schema.returns
    outputs = (out,) if len(returns) == 1 else out if isinstance(out, (tuple, list)) else () if out is None else (out,)
    bad = [
        (r, x)
        for check, x, r in zip(op.outputs.checks, outputs, returns, strict=False)
        if not (check(x) or (hasattr(x, "shape") and not check.typed))
    ]
    if len(outputs) != len(returns) or bad:
        words = ", ".join([f"output_{i}" for i in range(len(returns))])
        several = "None" if not returns else "output" if len(returns) == 1 else f"({words})"
        advice = f" Return ({several}, out_dims)."
        advice = f" Call {op.schema.name}.whole(...), which returns the residual too." if op.outputs.residual else advice
        advice = about_dtype(*bad[0]) if bad and about_dtype(*bad[0]) else advice
        raise BatchingError(
            f"{op.name}: its vmap rule returned {describe_value(out)} for its outputs, and the schema says -> "
            f"({', '.join(r.wanted for r in returns)}).{advice}",
            operator=op.name,
        )


def _wrapped(op: OpOverload, like: BatchedTensor, out: Any, dim: Any, args: Any) -> Any:
    """The outputs of a rule as values of the level; `dim` is one for all, or a container of one for each."""
    if (items := items_of(out)) is not None:

        def refused(given: str, wanted: str) -> BatchingError:
            return BatchingError(
                f"{op.name}: its vmap rule returned {describe_value(out)} and out_dims {given} for it. Return one axis for all "
                f"of it, None, or {wanted}.",
                operator=op.name,
            )

        dims = each(dim, out, items, refused)
        return rebuilt(out, [_wrapped(op, like, x, d, args) for x, d in zip(items, dims, strict=True)])
    if dim is None or not hasattr(out, "shape"):
        return out
    ndim, size = len(out.shape), like.level.payload.batch_size
    is_axis = isinstance(dim, (int, np.integer)) and not isinstance(dim, bool)
    if not is_axis or not -ndim <= dim < ndim or out.shape[dim] != size:
        raise BatchingError(
            f"{op.name}: its vmap rule says the batch, {how_many(size, 'item')}, is axis {dim!r} of an output of shape "
            f"{out.shape}. Say which axis holds the items, or None.",
            operator=op.name,
        )
    dim = int(dim) % ndim
    return wrap(BatchedTensor, out if op in KEEPS_STRIDES else apart(out, dim, args, op.schema.is_view), like, dim)
