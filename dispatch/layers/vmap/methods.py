"""Batching rules by name, for kernels that broadcast: `op.register_vmap("broadcast_all")`.

The first three are JAX's `vmap_method`s. Every array that has the batch comes with it as its first axis, and outputs have it
there. The names say what happens to the other arrays:

    sequential       one call for each item: the loop
    expand_dims      one call; an array without the batch gets a first axis of length 1
    broadcast_all    one call; every array has the batch, as a view if all items share the array
    broadcast        one call; an array that any open vmap maps has the axes of all of them, the others have none
"""

from collections.abc import Callable
from typing import Any

from ...core import OpOverload, Tensor, wrap
from ...core.pytree import items_of, leaves, rebuilt
from ...errors import DefinitionError, did_you_mean
from ...operators.functional_variant import check_mapped, form_of
from ...operators.prims import broadcast_to, moveaxis
from ...schema.types import RESIDUAL
from .tensor import BatchedTensor

Rule = Callable[..., Any]
Put = Callable[[Any, Any], Any]  # an array and where its batch is, to the array as the kernel gets it
SEQUENTIAL = "sequential"


def rule_of(op: OpOverload, method: str) -> Rule:
    """Return the rule of a name."""
    whole, method_of, form = op.whole, METHODS[method], form_of(op.schema)
    count = len(op.schema.returns)
    dims = (*[0] * (count - 1), None) if op.outputs.residual else 0

    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        for i in form.written:
            check_mapped(op, i, args[i], in_dims[i])
        put = method_of(info.batch_size, args)
        return whole(*[_each(put, x, dim) for x, dim in zip(args, in_dims, strict=True)]), dims if count else None

    return rule


def _each(put: Put, x: Any, dim: Any) -> Any:
    """Apply a function to an argument if it is an array, and to each array in it if it is a container."""
    if (items := items_of(x)) is not None:
        dims = dim if isinstance(dim, list) else [None] * len(items)
        return rebuilt(x, [_each(put, item, d) for item, d in zip(items, dims, strict=True)])
    return put(x, dim) if hasattr(x, "shape") else x


def _in_front(x: Any, dim: int) -> Any:
    return moveaxis(x, dim, 0) if dim else x


def _expand_dims(size: int, args: tuple[Any, ...]) -> Put:
    return lambda x, dim: broadcast_to(x, (1, *x.shape)) if dim is None else _in_front(x, dim)


def _broadcast_all(size: int, args: tuple[Any, ...]) -> Put:
    return lambda x, dim: broadcast_to(x, (size, *x.shape)) if dim is None else _in_front(x, dim)


def _broadcast(size: int, args: tuple[Any, ...]) -> Put:
    batched = [x for value in args for x in leaves(value) if isinstance(x, BatchedTensor)]
    outer = max(batched, key=lambda x: x.rank) if batched else None

    def put(x: Any, dim: Any) -> Any:
        # Only a wrapper can be mapped further out. Its other axes will stand before this one, so that it has to have this one.
        if dim is None and not isinstance(x, Tensor):
            return x
        x = broadcast_to(x, (size, *x.shape)) if dim is None else _in_front(x, dim)
        if outer is None or (isinstance(x, Tensor) and x.rank >= outer.rank):
            return x
        return wrap(BatchedTensor, broadcast_to(x, (outer.level.payload.batch_size, *x.shape)), outer, 0)

    return put


METHODS: dict[str, Callable[[int, tuple[Any, ...]], Put]] = {
    "expand_dims": _expand_dims,
    "broadcast_all": _broadcast_all,
    "broadcast": _broadcast,
}


def check_method(op: OpOverload, method: str) -> None:
    """Raise if there is no rule of this name, or the operator cannot use it."""
    names = [SEQUENTIAL, *METHODS]
    if method not in names:
        raise DefinitionError(
            f"{op.name}: there is no vmap rule named {method!r}.{did_you_mean(method, names)} There are {', '.join(names)}; "
            "any other rule is a function.",
            operator=op.name,
        )
    other = [r.type for r in op.schema.returns if not r.type.has_tensor and r.type != RESIDUAL]
    if method != SEQUENTIAL and other:
        raise DefinitionError(
            f"{op.name} returns {other[0]}, of which one call for all items gives one, and not one for each. "
            f"Write a rule, or register_vmap({SEQUENTIAL!r}), which loops.",
            operator=op.name,
        )
