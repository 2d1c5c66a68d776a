"""In-place operators on the tape: the functional form is recorded, and the written value stands for its result.

A write never changes an array that the tape may still read. The operator runs on copies of what it writes to, and the call is
recorded as one of its functional form. Each tracked value that it writes to then stands for the new array, made by the new
node. What was computed from the old value keeps its gradient, and nothing has to be refused because it was saved. An array
that only the written value holds, and that no rule may read, is written to without a copy.
"""

from collections.abc import Callable, Iterable
from sys import getrefcount
from typing import Any

import numpy as np

from ...core import OpOverload, Tensor, freeze, split, unwrap, wrap
from ...core.array_memory import has_layout, inexact_layout, rewrite
from ...core.pytree import arrays, items_of, mapped, mapped_arrays
from ...dispatcher.layer import Kernel
from ...dispatcher.printing import describe_value
from ...errors import GradientError
from ...operators.functional_variant import Form, copied, form_of, instead
from ...operators.registered_arrays import is_fixed
from ...operators.views import base_of, replace
from ...schema.tags import Tag
from ...schema.types import TENSOR, ListOf
from ..inplace import Words, check_dicts, check_target, check_views, is_array, new_values, target_name, targets
from .backward_graph import Leaf, Node
from .record import new_node
from .saved_tensors import COPIED_BYTES
from .tensor import TrackedTensor, keep_retained

WORDS = Words(GradientError, "tracked value", "The tape")


def made_kernel(op: OpOverload, record: Kernel | None) -> Kernel:
    """Return the kernel of a row whose rule is `Made`. `record` is the kernel for the pullbacks of its other arguments."""
    whole = op.whole

    def kernel(*args: Any) -> Any:
        like, values, _, own, quiet = split(args)
        out = whole(*values) if record is None or not own & ~1 else record(*args)
        quietly = quiet is not None and quiet.covers(like.level.number)
        if quietly or not own & 1 or _of_rank(out, like.rank) or inexact_layout(out) is None:
            return out
        return wrap(TrackedTensor, out, like, _end(op, like.level, inexact_layout(out), _nothing), True)

    return kernel


def written_kernel(op: OpOverload, record: Callable[..., Kernel], *, reads: bool, atomic: bool = False) -> Kernel:
    """Return the kernel of an operator that writes to its arguments.

    `record` makes the kernel that records the functional form, given what runs it on the unwrapped values. `reads`: the rule
    may read the arguments as they were before the call. `atomic`: an operator that raises has written nothing.
    """
    form = form_of(op.schema)
    functional, whole = op.functional.whole, op.whole
    written, arguments = form.written, op.schema.arguments
    single = len(op.functional.schema.returns) == 1
    alone = single and arguments[written[0]].type == TENSOR  # one array is written, and nothing else comes back

    single_places = [i for i, a in enumerate(arguments) if a.type == TENSOR]
    listed_places = [i for i, a in enumerate(arguments) if a.type.has_tensor and a.type != TENSOR]
    keyed = any(a.is_write and a.type.parts and not isinstance(a.type, ListOf) for a in arguments)

    def run(*values: Any) -> Any:
        wrapped = any([isinstance(values[i], Tensor) for i in single_places])
        wrapped = wrapped or any([isinstance(x, Tensor) for i in listed_places for x in arrays(values[i])])
        wrapped = wrapped or any([type(values[i]) is not np.ndarray and is_fixed(values[i]) for i in written])
        if wrapped and all(inexact_layout(x) is not None for i in written for x in arrays(values[i]) if is_array(x)):
            return functional(*values)  # a layer below may need more than copies, one for each item say; some classes have none
        fresh = list(values)
        for i in written:
            fresh[i] = _fresh(values[i])
        outputs = form.outputs(whole(*fresh), fresh)
        return outputs[0] if single else tuple(outputs)

    recorded = record(run)

    def kernel(*args: Any) -> Any:
        parts = split(args)
        like, quiet = parts[0], parts[4]
        del parts  # with the values, of which the reference counts below are taken
        if quiet is not None and quiet.covers(like.level.number):
            return _write_quietly(op, form, like.rank, args)
        found = [args[written[0]]] if alone else targets(form, args)
        _check(op, like, args, found)
        if keyed:
            check_dicts(op, args, found, WORDS)
        given = [] if reads else _given_up(op, like.rank, found)
        try:
            result = recorded(*args)
        except BaseException:
            for x in given:  # half written, perhaps: no backward may take it for what it was
                rewrite(x, x.value, x.kept if atomic else _end(op, x.level, x.kept.layout, _half_written))
            raise
        outputs = [result] if single else list(result)
        made = outputs[:1] if alone else new_values(form, args, outputs)
        for x, new in zip(found, made, strict=True):
            if type(x) is TrackedTensor:  # no array of integers, which carries no gradient, and was written to itself
                replace(x, new, lambda x, new: _rebase(op, x, new))
        return form.given_back(outputs, args)

    return kernel


def _write_quietly(op: OpOverload, form: Form, rank: int, args: tuple[Any, ...]) -> Any:
    """Write without recording: the values of the rank are constants, and a written value keeps its place on the tape."""
    own = {id(x): x for i in form.written for x in arrays(args[i]) if _of_rank(x, rank)}
    for x in own.values():
        check_views(op, args, x, list(own.values()), WORDS)
    given = {id(x): x for x in _given_up(op, rank, own.values())}
    fresh = {key: x.value if key in given else copied(x.value) for key, x in own.items()}
    values = tuple([_replaced(x, fresh) if i in form.written else x for i, x in enumerate(args)])
    if any(_of_rank(x, rank) for x in arrays(values)):
        values = split(values)[1]
    try:
        result = op.whole(*values)
    finally:
        for x in given.values():
            freeze(x.value)
    for key, x in own.items():
        if not has_layout(fresh[key], x.kept.layout):
            raise GradientError(
                f"{op.name} changes the shape of {target_name(op, args, x)} under no_grad, where a tracked value keeps its "
                "place on the tape, and so its shape. Write to a copy: dispatch.detach(x).copy().",
                operator=op.name,
            )
        replace(x, fresh[key], _renew, lambda values: unwrap(values, rank))
    return form.given_back(form.outputs(result, values), args)


def _fresh(x: Any) -> Any:
    """Return what is written to in place of a value: a copy; or the array itself, if nobody else holds it or it is no float."""
    if isinstance(x, np.ndarray) and x.flags.writeable:
        return x
    if isinstance(x, Tensor) and inexact_layout(x) is None:
        return x
    return copied(x) if items_of(x) is None else mapped_arrays(_fresh, x)


def _given_up(op: OpOverload, rank: int, targets: Iterable[Any]) -> list[TrackedTensor]:
    """Return the written values whose large arrays nobody else holds, and make these writeable.

    A small array is copied, which costs no more, so that an operator that raises midway leaves it as it was.
    """
    found = []
    for x in targets:
        plain = type(x) is TrackedTensor and x.rank == rank and type(x.value) is np.ndarray and x.value.nbytes > COPIED_BYTES
        if plain and getrefcount(x.value) <= 2 and x.value.flags.owndata and Tag.inplace_view not in op.tags:
            x.value.flags.writeable = True
            found.append(x)
    return found


def _of_rank(x: Any, rank: int) -> bool:
    return isinstance(x, Tensor) and x.rank == rank


def _replaced(x: Any, fresh: dict[int, Any]) -> Any:
    return mapped(lambda item: fresh.get(id(item), item), x)


def _rebase(op: OpOverload, x: TrackedTensor, new: Any) -> None:
    """Let a written value stand for the result of the functional form."""
    if type(new) is TrackedTensor and new.rank == x.rank:
        rewrite(x, new.value, new.kept)
    else:  # the rule says that it has no derivative
        rewrite(x, new, _end(op, x.level, x.kept.layout, _nothing))
    keep_retained(x)
    x.writes += 1


def _renew(x: TrackedTensor, new: Any) -> None:
    """Give a value other elements, and keep its place on the tape."""
    rewrite(x, new, x.kept)
    x.writes += 1


def _end(op: OpOverload, level: Any, layout: Any, rule: Any) -> Node:
    """Return a node without inputs."""
    node: Node = new_node(Node, op, level, rule, (), None, None, layout)
    return node


def _nothing(node: Node, grad: Any, create_graph: bool) -> tuple[()]:
    return ()


def _half_written(node: Node, grad: Any, create_graph: bool) -> Any:
    raise GradientError(
        f"backward reaches a value that {node.op.name} was writing to when it raised, and which may be written in part. "
        "Compute it anew.",
        operator=node.op.name,
    )


# -- what cannot be written to ---------------------------------------------------------------------------------------------


def _check(op: OpOverload, like: TrackedTensor, args: tuple[Any, ...], written: list[Any]) -> None:
    """Raise if the write would lose a gradient, or give it to the wrong value."""
    for i, x in enumerate(written):
        if not isinstance(x, TrackedTensor) or x.rank != like.rank:
            if inexact_layout(x) is not None:
                raise _lost(op, args, x, like)
        elif type(base_of(x).kept) is Leaf:
            raise _leaf(op, args, x)
        else:
            check_target(op, args, x, written[:i], WORDS)


def _leaf(op: OpOverload, args: tuple[Any, ...], x: Any) -> GradientError:
    what = "a leaf" if type(x.kept) is Leaf else "a view of a leaf"
    return GradientError(
        f"{op.name}: {target_name(op, args, x)} is {what} that requires a gradient, and a write would take away what that "
        f"is the gradient of. Write {instead(op, 'leaf')}; or write to it under dispatch.no_grad(), as a step of an optimizer "
        "does.",
        operator=op.name,
    )


def _lost(op: OpOverload, args: tuple[Any, ...], x: Any, like: Any) -> GradientError:
    what = describe_value(x) + (f" of {x.level!r}" if isinstance(x, Tensor) else "")
    inside = "" if like.level.number == 0 else f" of {like.level!r}"
    return GradientError(
        f"{op.name}: {target_name(op, args, x)} is {what}, and tracked values{inside} would be written to it: their "
        f"gradient would be lost in silence. Write {instead(op)}; or pass dispatch.detach(...) of the values, where constants "
        "are meant.",
        operator=op.name,
    )
