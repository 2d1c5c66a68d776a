"""The batching layer: runs an operator's batching rule once for all items, or without a rule the operator in a loop.

A rule is `rule(info, in_dims, *args)`. It gets arrays that have the axis of the batch, and in `in_dims` where that axis is, or
None. It returns the output and the axis of the batch in it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import DispatchKey, OpOverload, split, wrap
from ...core.pytree import items_of, mapped_arrays, rebuilt
from ...core.source import where
from ...dispatcher.call_errors import about_dtype
from ...dispatcher.layer import Kernel, Layer
from ...dispatcher.printing import describe_value
from ...dispatcher.rule_parameters import by_position, check_parameters
from ...errors import BatchingError, DefinitionError, kind_of
from ...operators.functional_variant import form_of, on_copies_of, origin_of
from ...operators.prims import broadcast_to
from .axes import each
from .fallback_loop import looped
from .kernel import Ruled
from .methods import SEQUENTIAL, check_method, rule_of
from .randomness import drawing
from .tensor import BatchedTensor


class Vmap(Layer):
    """Runs an operator's batching rule, or the loop."""

    def check(self, op: OpOverload, rule: Any) -> None:
        if isinstance(rule, str):
            check_method(op, rule)
            return
        if not callable(rule):
            raise DefinitionError(f"{op.name}: a vmap rule is a function, and {kind_of(rule)} was given.")
        check_parameters(op, rule, leading=2, what="vmap rule")

    def lower(self, op: OpOverload, rule: Callable[..., Any] | str) -> Kernel:
        if rule == SEQUENTIAL:
            return drawing(op, looped(op, asked=True))
        return drawing(op, _ruled(op, by_position(op, rule, leading=2) if callable(rule) else rule_of(op, rule)))

    def place(self, rule: Any) -> str:
        return repr(rule) if isinstance(rule, str) else where(rule)

    def default(self, op: OpOverload) -> Kernel:
        loop, origin = drawing(op, looped(op, asked=False)), origin_of(op)
        return loop if origin is None else self._shared(op, origin, loop)

    def _shared(self, op: OpOverload, origin: OpOverload, loop: Kernel) -> Kernel:
        """Return the kernel of a functional form, by the rule of its origin on copies; without a rule it is `loop`."""
        on_copies: Kernel = on_copies_of(op)
        written = form_of(origin.schema).written

        def kernel(*args: Any) -> Any:
            found = origin.table.source(self.key)
            if found is None or found.rule == SEQUENTIAL:
                return loop(*args)
            like = split(args)[0]
            return on_copies(*[_as_batch(x, like) if i in written else x for i, x in enumerate(args)])

        return kernel


layer = Vmap("vmap", DispatchKey.VMAP)


def _ruled(op: OpOverload, rule: Callable[..., Any]) -> Kernel:
    """Return the kernel that runs a rule."""
    plain = not (op.schema.is_mutable or op.outputs.typed)
    single = plain and len(op.schema.returns) == 1 and not op.schema.returns[0].type.parts
    form = form_of(op.schema)

    def returned(like: BatchedTensor, result: Any, args: tuple[Any, ...]) -> Any:
        if type(result) is not tuple or len(result) != 2:
            raise BatchingError(
                f"{op.name}: its vmap rule returned {kind_of(result)}. Return (output, out_dims).", operator=op.name
            )
        out, dim = result
        _check_outputs(op, out)
        return form.returning(_wrapped(op, like, out, dim), args)

    return Ruled(BatchedTensor, rule, single, returned)


def _as_batch(x: Any, like: BatchedTensor) -> Any:
    """Return arrays that are written as batches: one that all items share becomes a view, copied before the write."""

    def batch(array: Any) -> Any:
        if not hasattr(array, "shape") or (isinstance(array, BatchedTensor) and array.rank == like.rank):
            return array
        size = like.level.payload.batch_size
        return wrap(BatchedTensor, broadcast_to(array, (size, *array.shape)), like, 0)

    return mapped_arrays(batch, x)


# -- what a rule returned --------------------------------------------------------------------------------------------------


def _check_outputs(op: OpOverload, out: Any) -> None:
    """Raise if a rule returned something else than the operator's outputs, a residual included."""
    returns = op.schema.returns
    outputs = (out,) if len(returns) == 1 else out if isinstance(out, (tuple, list)) else () if out is None else (out,)
    bad = [
        (r, x)
        for check, x, r in zip(op.outputs.checks, outputs, returns, strict=False)
        if not (check(x) or (hasattr(x, "shape") and not check.typed))
    ]
    if len(outputs) != len(returns) or bad:
        advice = f" Call {op.schema.name}.whole(...), which returns the residual too." if op.outputs.residual else ""
        advice = about_dtype(*bad[0]) if bad and about_dtype(*bad[0]) else advice
        raise BatchingError(
            f"{op.name}: its vmap rule returned {describe_value(out)} for its outputs, and the schema says -> "
            f"({', '.join(r.wanted for r in returns)}).{advice}",
            operator=op.name,
        )


def _wrapped(op: OpOverload, like: BatchedTensor, out: Any, dim: Any) -> Any:
    """Return the outputs of a rule as values of the level. `dim` is one axis for all, or a container of axes."""
    if (items := items_of(out)) is not None:

        def refused(given: str, wanted: str) -> BatchingError:
            return BatchingError(
                f"{op.name}: its vmap rule returned {describe_value(out)} and out_dims {given} for it. Return one axis for all "
                f"of it, None, or {wanted}.",
                operator=op.name,
            )

        dims = each(dim, out, items, refused)
        return rebuilt(out, [_wrapped(op, like, x, d) for x, d in zip(items, dims, strict=True)])
    if dim is None or not hasattr(out, "shape"):
        return out
    ndim, size = len(out.shape), like.level.payload.batch_size
    if not isinstance(dim, (int, np.integer)) or not -ndim <= dim < ndim or out.shape[dim] != size:
        raise BatchingError(
            f"{op.name}: its vmap rule says the batch, {size} items, is axis {dim!r} of an output of shape {out.shape}. "
            "Say which axis holds the items, or None.",
            operator=op.name,
        )
    return wrap(BatchedTensor, out, like, int(dim) % ndim)
