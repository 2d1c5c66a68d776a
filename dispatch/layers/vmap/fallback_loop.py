"""Runs an operator without a batching rule in a loop: calls it for each item, and stacks the results."""

import warnings
from typing import Any

import numpy as np

from ...core import DispatchKey, OpOverload, check_data, is_array, split, wrap
from ...core.pytree import field_names, items_of, mapped, rebuilt
from ...core.source import levels_out
from ...dispatcher.layer import Kernel
from ...errors import BatchingError, PerformanceWarning, how_many
from ...operators.functional_variant import check_mapped, form_of
from ...operators.prims import select, stack
from ...operators.rule_operators import about, spelled
from ...schema.tags import Tag
from .randomness import one_draw
from .tensor import BatchedTensor, Residuals


def looped(op: OpOverload, *, asked: bool) -> Kernel:
    """Return the kernel that calls an operator for each item. It warns once, unless the loop was `asked` for."""
    whole, form, draws = op.whole, form_of(op.schema), Tag.random in op.tags
    warned = [asked]

    def kernel(*args: Any) -> Any:
        like, values, dims, _, _ = split(args)
        batch = like.level.payload
        size = batch.batch_size
        for i in form.written:  # through views, item by item
            check_mapped(op, i, values[i], dims[i])
        if size == 0:
            return form.returning(_none_of(op, like, values, dims), args)
        if not warned[0] and size > 1:
            warned[0] = True
            _warn(op, size)
        draw = one_draw(op, values) if draws and batch.randomness == "same" else None
        results = [whole(*_arguments(values, dims, i, form.written, draw)) for i in range(size)]
        return form.returning(_stacked(op, like, results) if -1 in form.returned else None, args)

    return kernel


def _warn(op: OpOverload, size: int) -> None:
    name, of = spelled(op), about(op)
    parameters = ", ".join(["info", "in_dims", *op.arguments.names])
    advice = (
        f"If its kernel takes arrays with one more axis in front, write {name}.register_vmap('broadcast_all'); else a rule, "
        f"@{name}.register_vmap, `def _({parameters})` that returns (output, out_dims). To keep the loop, without this "
        f"warning: {name}.register_vmap('sequential')."
    )
    if of is not None:
        advice = (
            f"It is a rule of {of.name} that asks what it is given for a NumPy array. Write it with NumPy's functions and "
            "operators, and it runs once; a backward may take all gradients at once, register_autograd(..., batched=True). To "
            "keep the loop, without this warning, register the rule with opaque=True."
        )
    text = f"{op.name} has no vmap rule, and runs once for each of {how_many(size, 'item')}. {advice}"
    warnings.warn(text, PerformanceWarning, stacklevel=levels_out())


# -- arguments -------------------------------------------------------------------------------------------------------------


def _arguments(values: tuple[Any, ...], dims: tuple[Any, ...], i: int, written: tuple[int, ...], draw: Any) -> list[Any]:
    """Return the arguments of one item."""
    args = [_item(x, d, i) for x, d in zip(values, dims, strict=True)]
    for place in written:
        args[place] = _item(values[place], dims[place], i, written=True)
    return args if draw is None else draw(args, i)


def _item(value: Any, dim: Any, i: int, *, written: bool = False) -> Any:
    """Return one item of an argument. Each item gets a container of its own: a kernel may change it.

    What is written to is a view also where an item is one number, which NumPy takes out of the array.
    """
    if dim is None:
        return value if items_of(value) is None else mapped(lambda x: x, value)
    if isinstance(dim, list):
        inside = zip(items_of(value) or (), dim, strict=True)
        return rebuilt(value, [_item(x, d, i, written=written) for x, d in inside])
    if isinstance(value, list):
        return value[i]  # of Residuals
    if written and isinstance(value, np.ndarray):
        return value[(slice(None),) * dim + (i, ...)]
    return select(value, dim, i)


# -- results ---------------------------------------------------------------------------------------------------------------


def _stacked(op: OpOverload, like: BatchedTensor, results: list[Any]) -> Any:
    """Return the results of all items as one batch."""
    if len(op.schema.returns) == 0:
        return None
    if len(op.schema.returns) > 1:
        columns = list(zip(*results, strict=True))
        kept = [_residual(like, columns.pop())] if op.outputs.residual else []
        return (*(_column(op, like, column) for column in columns), *kept)
    return _column(op, like, results)


def _residual(like: BatchedTensor, column: Any) -> Any:
    """The residuals of all items. Arrays and floats become a batch, also in containers, so that a backward can sum them."""
    first = column[0]
    items = items_of(first)
    if items is not None and all(type(x) is type(first) and len(items_of(x) or ()) == len(items) for x in column):
        if not isinstance(first, dict) or all(x.keys() == first.keys() for x in column):
            return rebuilt(first, [_residual(like, inner) for inner in zip(*map(items_of, column), strict=True)])
    elif is_array(first):
        layouts = {(x.shape, x.dtype) if hasattr(x, "dtype") else None for x in column}
        if len(layouts) == 1 and first.dtype.kind in "biufc":
            return wrap(BatchedTensor, stack(list(column), 0), like, 0)
    elif all(type(x) in (float, complex) for x in column):
        return wrap(BatchedTensor, np.asarray(column), like, 0)
    elif type(first) in (int, bool, str, type(None)) and all(type(x) is type(first) and x == first for x in column):
        return first
    return wrap(Residuals, list(column), like, 0)


def _column(op: OpOverload, like: BatchedTensor, column: Any, *, field: bool = False) -> Any:
    """Return one output of all items: for a container a container of batches, for numbers an array of them.

    `field`: the output is a field of a record. A number that is the same for every item stays one number, as its hint says.
    """
    first = column[0]
    if any(x is None for x in column):
        if any(x is not None for x in column):
            raise _unlike(op, "None and values")
        return None
    if (items := items_of(first)) is not None:
        if len({tuple(x) if isinstance(x, dict) else len(items_of(x) or ()) for x in column}) > 1:
            raise _unlike(op, f"{type(first).__name__}s of different {'keys' if isinstance(first, dict) else 'lengths'}")
        record = field_names(type(first)) is not None
        columns = zip(*map(items_of, column), strict=True) if items else ()
        return rebuilt(first, [_column(op, like, inner, field=record) for inner in columns])
    number = isinstance(first, (bool, int, float, complex)) and not (field and all(x == first for x in column))
    if number or hasattr(first, "shape"):
        shapes = {getattr(x, "shape", ()) for x in column}
        if len(shapes) > 1:
            raise _unlike(op, f"outputs of different shapes, {', '.join(map(str, sorted(shapes)[:3]))}")
        check_data(list(column))
        column = [x if is_array(x) else np.asarray(x) for x in column]
        return wrap(BatchedTensor, stack(list(column), 0), like, 0)
    if all(x == first for x in column):
        return first
    raise _unlike(op, f"different values of type {type(first).__name__}")


def _unlike(op: OpOverload, what: str) -> BatchingError:
    return BatchingError(f"{op.name}: the items of the batch gave {what}, which make no batch.", operator=op.name)


def _none_of(op: OpOverload, like: BatchedTensor, values: tuple[Any, ...], dims: tuple[Any, ...]) -> Any:
    """Return the result for a batch of no items. Its shape comes from the fake rule."""
    return _empty(op.at(DispatchKey.FAKE)(*map(_logical, values, dims)), like)


def _logical(x: Any, dim: Any) -> Any:
    """Return a fake of an argument as one item sees it."""
    if isinstance(dim, list):
        return rebuilt(x, [_logical(item, d) for item, d in zip(items_of(x) or (), dim, strict=True)])
    if not hasattr(x, "shape"):
        return x
    shape = x.shape if dim is None else x.shape[:dim] + x.shape[dim + 1 :]
    return np.broadcast_to(np.zeros((), x.dtype), shape)  # one element: the rule reads no more than the metadata


def _empty(x: Any, like: BatchedTensor) -> Any:
    if (items := items_of(x)) is not None:
        return rebuilt(x, [_empty(item, like) for item in items])
    return wrap(BatchedTensor, np.zeros((0, *x.shape), x.dtype), like, 0) if hasattr(x, "shape") else x
