"""Batching as a layer: a function written for one item, called once for all of them.

A `BatchedTensor` hides one axis of what it wraps, the batch, from everyone above. A rule says how an operator treats that
axis: `rule(info, in_dims, *args)` gets the values with the axis in place and where it is in each (None where there is
none), and returns the output and where the axis is in that. An operator without a rule is run in a loop.
"""

from collections.abc import Callable
from functools import wraps
from itertools import repeat
from typing import Any

import numpy as np
from numpy import ndarray

from .containers import arrays, field_names, items_of, mapped_arrays, rebuilt
from .core import DispatchKey, Level, OpOverload, Tensor, split, wrap
from .errors import BatchingError, DefinitionError, kind_of
from .functional import check_mapped, form_of
from .layer import Kernel, Layer, by_position, check_parameters
from .listing import describe_value
from .memory import set_rewritable
from .prims import broadcast_to, moveaxis, select, stack


class Batch:
    """What a rule is told about the batch, as `info`: its size."""

    __slots__ = ("batch_size",)

    def __init__(self, batch_size: int) -> None:
        self.batch_size = batch_size


class BatchedTensor(Tensor):
    """One item of a batch, whichever; `value` holds all of them along the axis `dim`."""

    __slots__ = ()
    key = DispatchKey.VMAP

    @property
    def dim(self) -> int:
        return int(self.data)

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.value.shape
        return shape[: self.data] + shape[self.data + 1 :]

    def item(self) -> Any:
        raise BatchingError(
            f"one number was asked of a batched value: each of the {self.level.payload.batch_size} items has its own. "
            "Use np.where for a choice, and return the value from the mapped function to look at it; to write it into an "
            "array, make that of a batched value: np.zeros_like(x, shape=...), or np.stack the pieces."
        )

    __bool__ = __float__ = __int__ = __index__ = __complex__ = item

    def __repr__(self) -> str:
        return f"BatchedTensor(shape={self.shape}, dtype={self.dtype}, dim={self.dim}, {self.level!r})"


set_rewritable(BatchedTensor, frozen=False)


class Residuals(Tensor):
    """The residuals of a loop's items, as a list; the operators that take one get them item by item."""

    __slots__ = ()
    key = DispatchKey.VMAP

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, i: Any) -> Any:
        return self.value[i]


class Vmap(Layer):
    """Runs an operator's batching rule, or a loop."""

    def check(self, op: OpOverload, rule: Any) -> None:
        if not callable(rule):
            raise DefinitionError(f"{op.name}: a vmap rule is a function, and {kind_of(rule)} was given.")
        check_parameters(op, rule, leading=2, what="vmap rule")

    def lower(self, op: OpOverload, rule: Callable[..., Any]) -> Kernel:
        rule = by_position(op, rule)
        single = len(op.schema.returns) == 1 and not op.schema.returns[0].type.parts and not op.schema.is_mutable
        form = form_of(op.schema)

        def kernel(*args: Any) -> Any:
            like, values, dims, _, _ = split(args)
            result = rule(like.level.payload, dims, *values)
            if type(result) is not tuple or len(result) != 2:
                raise BatchingError(
                    f"{op.name}: its vmap rule returned {kind_of(result)}. Return (output, out_dims).", operator=op.name
                )
            out, dim = result
            size = like.level.payload.batch_size
            if single and type(out) is ndarray and type(dim) is int and 0 <= dim < out.ndim and out.shape[dim] == size:
                return wrap(BatchedTensor, out, like, dim)
            _check_outputs(op, out)
            return form.returning(_wrapped(op, like, out, dim), args)

        return kernel

    def default(self, op: OpOverload) -> Kernel:
        whole, form = op.whole, form_of(op.schema)

        def kernel(*args: Any) -> Any:
            like, values, dims, _, _ = split(args)
            size = like.level.payload.batch_size
            for i in form.written:  # through views, item by item
                check_mapped(op, i, values[i], dims[i])
            if size == 0:
                return form.returning(_none_of(op, like, values, dims), args)
            results = [whole(*[_item(x, d, i) for x, d in zip(values, dims, strict=True)]) for i in range(size)]
            return form.returning(_stacked(op, like, results) if -1 in form.returned else None, args)

        return kernel


layer = Vmap("vmap", DispatchKey.VMAP)


def _check_outputs(op: OpOverload, out: Any) -> None:
    """Refuse what a rule returned where it is not the operator's outputs, the residual among them."""
    returns = op.schema.returns
    outputs = (out,) if len(returns) == 1 else out if isinstance(out, (tuple, list)) else () if out is None else (out,)
    fits = all(check(x) or hasattr(x, "shape") for check, x in zip(op.outputs.checks, outputs, strict=False))
    if len(outputs) != len(returns) or not fits:
        advice = f" Call {op.schema.name}.whole(...), which returns the residual too." if op.outputs.residual else ""
        raise BatchingError(
            f"{op.name}: its vmap rule returned {describe_value(out)} for its outputs, and the schema says -> "
            f"({', '.join(str(r.type) for r in returns)}).{advice}",
            operator=op.name,
        )


def _wrapped(op: OpOverload, like: BatchedTensor, out: Any, dim: Any) -> Any:
    """The outputs of a rule as values of the level; `dim` is one for all, or one for each."""
    if (items := items_of(out)) is not None:
        dims = items_of({name: dim.get(name) for name in out} if isinstance(dim, dict) and isinstance(out, dict) else dim)
        dims = [dim] * len(items) if dims is None else dims
        if len(dims) != len(items):
            raise BatchingError(
                f"{op.name}: its vmap rule returned {len(items)} outputs and {len(dims)} out_dims. Return one for each.",
                operator=op.name,
            )
        return rebuilt(out, [_wrapped(op, like, x, d) for x, d in zip(items, dims, strict=True)])
    if dim is None or not hasattr(out, "shape"):
        return out
    ndim, size = len(out.shape), like.level.payload.batch_size
    if not isinstance(dim, int) or not -ndim <= dim < ndim or out.shape[dim] != size:
        raise BatchingError(
            f"{op.name}: its vmap rule says the batch, {size} items, is axis {dim!r} of an output of shape {out.shape}. "
            "Say which axis holds the items, or None.",
            operator=op.name,
        )
    return wrap(BatchedTensor, out, like, dim % ndim)


def _item(value: Any, dim: Any, i: int) -> Any:
    """One item of an argument."""
    if dim is None:
        return value
    if isinstance(dim, list):
        return rebuilt(value, [_item(x, d, i) for x, d in zip(items_of(value) or (), dim, strict=True)])
    if isinstance(value, list):
        return value[i]  # of Residuals
    return select(value, dim, i)


def _stacked(op: OpOverload, like: BatchedTensor, results: list[Any]) -> Any:
    """The items' results as one batch."""
    if len(op.schema.returns) == 0:
        return None
    if len(op.schema.returns) > 1:
        columns = list(zip(*results, strict=True))
        kept = [wrap(Residuals, list(columns.pop()), like, 0)] if op.outputs.residual else []
        return (*(_column(op, like, column) for column in columns), *kept)
    return _column(op, like, results)


def _column(op: OpOverload, like: BatchedTensor, column: Any, *, field: bool = False) -> Any:
    """One output of all items: a container of batches for a container, a batch of numbers for a number.

    `field`: of a record, where a number that is the same for every item stays one, as the hint of the field has it.
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
        column = column if any(isinstance(x, Tensor) for x in column) else [np.asarray(x) for x in column]
        return wrap(BatchedTensor, stack(list(column), 0), like, 0)
    if all(x == first for x in column):
        return first
    raise _unlike(op, f"different values of type {type(first).__name__}")


def _unlike(op: OpOverload, what: str) -> BatchingError:
    return BatchingError(f"{op.name}: the items of the batch gave {what}, which make no batch.", operator=op.name)


def _none_of(op: OpOverload, like: BatchedTensor, values: tuple[Any, ...], dims: tuple[Any, ...]) -> Any:
    """The result for a batch of no items, whose shape only the fake rule can tell."""
    return _empty(op.at(DispatchKey.FAKE)(*map(_logical, values, dims)), like)


def _logical(x: Any, dim: Any) -> Any:
    """An argument as one item sees it, in shape and dtype."""
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
