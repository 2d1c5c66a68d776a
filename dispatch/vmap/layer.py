"""Batching as a layer: rules run once for all items, and operators without one in a loop.

A rule says how an operator treats the batch: `rule(info, in_dims, *args)` gets the values with the axis in place and where
it is in each (None where there is none), and returns the output and where the axis is in that.
"""

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from ..containers import items_of, rebuilt
from ..core import DispatchKey, OpOverload, split, wrap
from ..errors import BatchingError, DefinitionError, kind_of
from ..functional import check_mapped, form_of
from ..layer import Kernel, Layer, by_position, check_parameters
from ..listing import describe_value
from .loop import item_of, none_of, stacked
from .tensor import BatchedTensor


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
                return form.returning(none_of(op, like, values, dims), args)
            results = [whole(*[item_of(x, d, i) for x, d in zip(values, dims, strict=True)]) for i in range(size)]
            return form.returning(stacked(op, like, results) if -1 in form.returned else None, args)

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
