"""The batching layer's kernels: one that runs a rule, one that loops, and those of functional forms, by their origin's rule."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ...core import DispatchKey, OpOverload, split, wrap
from ...core.pytree import mapped_arrays
from ...dispatcher.layer import Kernel
from ...dispatcher.rule_parameters import by_position
from ...operators.functional_variant import form_of, on_copies_of, origin_of
from ...operators.prims import broadcast_to
from ...operators.views import ALIKE, ARRAYS_OF_NO_AXES, KEEPS_STRIDES, READ_ONLY_VIEWS, gives_number, is_number, owner_of
from ..opaque_rules import UserRule
from .batched_outputs import apart, rule_output
from .fallback_loop import looped
from .kernel import Ruled
from .methods import SEQUENTIAL, rule_of
from .opaque_vmap import as_one, by_loop, is_possible
from .randomness import drawing
from .tensor import IS_ARRAY, BatchedTensor


def kernel_by(op: OpOverload, rule: UserRule | Callable[..., Any] | str) -> Kernel:
    """Return the kernel that a rule becomes."""
    if rule == SEQUENTIAL:
        return drawing(op, looped(op, asked=True))
    return drawing(op, _ruled(op, rule))


def kernel_without_rule(op: OpOverload) -> Kernel:
    """Return the kernel of an operator that has no rule."""
    loop, origin = drawing(op, looped(op, asked=False)), origin_of(op)
    return loop if origin is None else _shared(op, origin, loop)


def _shared(op: OpOverload, origin: OpOverload, loop: Kernel) -> Kernel:
    """Return the kernel of a functional form, by the rule of its origin on copies; without a rule it is `loop`."""
    on_copies: Kernel = on_copies_of(op)
    written = form_of(origin.schema).written

    def kernel(*args: Any) -> Any:
        found = origin.table.source(DispatchKey.VMAP)
        if found is None or found.rule == SEQUENTIAL:
            return loop(*args)
        like = split(args)[0]
        return on_copies(*[_as_batch(x, like) if i in written else x for i, x in enumerate(args)])

    return kernel


def _ruled(op: OpOverload, rule: UserRule | Callable[..., Any] | str) -> Kernel:
    """The kernel that runs a rule."""
    plain = not (op.schema.is_mutable or op.outputs.typed)
    single = plain and len(op.schema.returns) == 1 and not op.schema.returns[0].type.parts
    form = form_of(op.schema)
    kept_apart = None if op in KEEPS_STRIDES else partial(apart, is_view=True) if op.schema.is_view else apart

    def returned(like: BatchedTensor, result: Any, args: tuple[Any, ...]) -> Any:
        return form.returning(rule_output(op, like, result, args), args)

    if isinstance(rule, UserRule):
        function = by_position(op, rule.__wrapped__, leading=2)
        one = as_one(op, rule) if is_possible(op) else by_loop(op)
        return _with_numbers(op, Ruled(op, BatchedTensor, function, single, returned, rule.opacity, one, kept_apart))
    function = rule_of(op, rule) if isinstance(rule, str) else by_position(op, rule, leading=2)
    return _with_numbers(op, Ruled(op, BatchedTensor, function, single, returned, apart=kept_apart))


def _with_numbers(op: OpOverload, kernel: Kernel) -> Kernel:
    """A kernel that tells items which are numbers from those that are arrays of no axes, and gives no view of a number."""
    places = [i for i, a in enumerate(op.schema.arguments) if a.alias is not None and not a.is_write]
    if op in ARRAYS_OF_NO_AXES or op in ALIKE:
        alike = op in ALIKE

        def making(*args: Any) -> Any:
            out = kernel(*args)
            if type(out) is BatchedTensor:
                if not out.shape:
                    IS_ARRAY.__set__(out, not (alike and gives_number(op, args)))
                elif alike and is_number(args[0]):
                    return wrap(BatchedTensor, _copy(out.value), out, out.kept)
            return out

        return making
    if not op.schema.is_view or len(places) != 1 or op in READ_ONLY_VIEWS:
        return kernel
    place = places[0]

    def viewing(*args: Any) -> Any:
        out, x = kernel(*args), args[place]
        if type(out) is not BatchedTensor or type(x) is not BatchedTensor or (x.shape and out.shape) or x.rank != out.rank:
            return out
        shared = owner_of(out) is owner_of(x)
        if not x.shape and is_number(x):
            if out.shape or not gives_number(op, args):  # an array of its own
                out = wrap(BatchedTensor, _copy(out.value), out, out.kept) if shared else out
                IS_ARRAY.__set__(out, True)
            return out
        if shared and not out.shape:
            IS_ARRAY.__set__(out, True)
        return out

    return viewing


def _as_batch(x: Any, like: BatchedTensor) -> Any:
    """Return arrays that are written as batches: one that all items share becomes a view, copied before the write."""

    def batch(array: Any) -> Any:
        if not hasattr(array, "shape") or (isinstance(array, BatchedTensor) and array.rank == like.rank):
            return array
        size = like.level.payload.batch_size
        return wrap(BatchedTensor, broadcast_to(array, (size, *array.shape)), like, 0)

    return mapped_arrays(batch, x)


def _copy(x: Any) -> Any:
    return x.copy() if hasattr(x, "copy") else x  # of a class whose arrays nobody can write to
