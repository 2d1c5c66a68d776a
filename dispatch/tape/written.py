"""In-place operators on the tape: the functional form is recorded, and what is written gets its value and its place.

A write never changes an array that the tape may still read. The operator runs on copies of what it writes to, recorded as its
functional form is, and each tracked value that it writes to then stands for the new array, made by the new node. So whatever
was computed of the old value keeps its gradient, and nothing has to be refused because it was saved. Where nobody but the
written value holds its array, and no rule may read it, the array itself is written to.
"""

from collections.abc import Callable, Iterable
from sys import getrefcount
from typing import Any

import numpy as np

from ..core import OpOverload, Tensor, freeze, split
from ..errors import GradientError
from ..functional import Form, copied, form_of, leaves
from ..layer import Kernel
from ..listing import describe_value
from ..memory import has_layout, inexact_layout, rewrite
from ..tags import Tag
from .node import Leaf, Node, next_order
from .tensor import TrackedTensor
from .views import shares_memory


def written_kernel(op: OpOverload, record: Callable[..., Kernel], *, reads: bool) -> Kernel:
    """The kernel of an operator that writes to its arguments.

    Parameters
    ----------
    op : OpOverload
    record : callable
        Makes the kernel that records the functional form, given what runs it one floor down.
    reads : bool
        Whether the rule may read the arguments as they were before the call.
    """
    form = form_of(op.schema)
    functional, whole = op.functional.whole, op.whole
    written = form.written
    gives_up = Tag.inplace_view not in op.tags  # which would give an array that is still somebody's another shape

    def run(*values: Any) -> Any:
        through = any(x is not None and inexact_layout(x) is None for i in written for x in leaves(values[i]))
        if not through and any(isinstance(x, Tensor) for x in leaves(values)):
            return functional(*values)  # each layer below may need another array than a copy of what is written
        fresh = list(values)
        for i in written:
            fresh[i] = _fresh(values[i])
        outputs = form.outputs(whole(*fresh), fresh)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    recorded = record(run)

    def kernel(*args: Any) -> Any:
        found = split(args)
        like, quiet = found[0], found[4]
        del found  # with the values, of which the reference counts below are taken
        if quiet is not None and quiet.covers(like.level.number):
            return _write_quietly(op, form, like.rank, args, gives_up=gives_up)
        _check(op, like, args)
        targets = [x for i in written for x in leaves(args[i]) if x is not None]
        given = [] if reads or not gives_up else _given_up(like.rank, targets)
        try:
            result = recorded(*args)
        except BaseException:
            for x in given:  # half written, perhaps: no backward may take it for what it was
                rewrite(x, x.value, _end(op, x, _half_written))
            raise
        outputs = list(result) if type(result) in (tuple, list) and len(op.functional.schema.returns) > 1 else [result]
        made = outputs[len(outputs) - len(written) - form.residual :]
        news = [x for i, new in zip(written, made, strict=False) for x in _paired(args[i], new)]
        for x, new in zip(targets, news, strict=True):
            _rebase(op, x, new)
        return form.given_back(outputs, args)

    return kernel


def _write_quietly(op: OpOverload, form: Form, rank: int, args: tuple[Any, ...], *, gives_up: bool) -> Any:
    """Write without recording: the values of the rank are constants, and what is written keeps its place on the tape."""
    own = {id(x): x for i in form.written for x in leaves(args[i]) if _of_rank(x, rank)}
    for x in own.values():
        if shares_memory(x):
            raise _shared(op, args, x)
    given = {id(x): x for x in (_given_up(rank, own.values()) if gives_up else [])}
    fresh = {key: x.value if key in given else copied(x.value) for key, x in own.items()}
    values = tuple([_replaced(x, fresh) if i in form.written else x for i, x in enumerate(args)])
    if any(_of_rank(x, rank) for x in leaves(values)):
        values = split(values)[1]
    try:
        result = op.whole(*values)
    finally:
        for x in given.values():
            freeze(x.value)
    for key, x in own.items():
        if not has_layout(fresh[key], x.data.layout):
            raise GradientError(
                f"{op.name} changes the shape of {_name(op, args, x)} under no_grad, where a tracked value keeps its place on "
                "the tape, and so its shape. Write to a copy: dispatch.detach(x).copy().",
                operator=op.name,
            )
        rewrite(x, fresh[key], x.data)
        x.writes = x.version + 1
    return form.given_back(form.outputs(result, values), args)


def _fresh(x: Any) -> Any:
    """What the operator writes to in place of a value: a copy, or the array itself where it was given up, or is no float."""
    if isinstance(x, np.ndarray) and x.flags.writeable:
        return x
    if isinstance(x, Tensor) and inexact_layout(x) is None:
        return x
    return type(x)(map(_fresh, x)) if isinstance(x, (list, tuple)) else copied(x)


def _given_up(rank: int, targets: Iterable[Any]) -> list[TrackedTensor]:
    """The written values whose arrays nobody else holds, made writeable: this reference and the wrapper's are all there are."""
    found = []
    for x in targets:
        plain = type(x) is TrackedTensor and x.rank == rank and type(x.value) is np.ndarray
        if plain and getrefcount(x.value) <= 2 and x.value.flags.owndata:
            x.value.flags.writeable = True
            found.append(x)
    return found


def _of_rank(x: Any, rank: int) -> bool:
    return isinstance(x, Tensor) and x.rank == rank


def _replaced(x: Any, fresh: dict[int, Any]) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([_replaced(item, fresh) for item in x])
    if isinstance(x, dict):
        return {name: _replaced(item, fresh) for name, item in x.items()}
    return fresh.get(id(x), x)


def _paired(x: Any, new: Any) -> list[Any]:
    """The new values of the arrays in a written argument, in their order."""
    return [n for old, n in zip(leaves(x), leaves(new), strict=True) if old is not None]


def _rebase(op: OpOverload, x: Any, new: Any) -> None:
    """Let a written value stand for what the functional form gave for it."""
    if not isinstance(x, TrackedTensor):
        return  # an array of integers, which carries no gradient, and was written to itself
    if type(new) is TrackedTensor and new.rank == x.rank:
        rewrite(x, new.value, new.data)
    else:  # the rule says that it has no derivative
        rewrite(x, new, _end(op, x, _nothing))
    x.writes = x.version + 1


def _end(op: OpOverload, x: TrackedTensor, rule: Any) -> Node:
    """A node of no inputs."""
    node = Node()
    node.op, node.level, node.layout = op, x.level, (x.shape, x.dtype)
    node.inputs = node.edges = ()
    node.saved, node.rule, node.order = None, rule, next_order()
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


def _check(op: OpOverload, like: TrackedTensor, args: tuple[Any, ...]) -> None:
    """Refuse what would lose a gradient, or give it to the wrong value."""
    seen: list[Any] = []
    for argument, x in zip(op.schema.arguments, args, strict=True):
        if not argument.is_write:
            continue
        for item in leaves(x):
            if item is None:
                continue
            if not isinstance(item, TrackedTensor) or item.rank != like.rank:
                if inexact_layout(item) is not None:
                    raise _lost(op, args, item, like)
            elif isinstance(item.data, Leaf):
                raise _leaf(op, args, item)
            elif shares_memory(item):
                raise _shared(op, args, item)
            elif any(item is other for other in seen):
                raise _twice(op, args, item)
            elif isinstance(x, dict):
                raise _in_dict(op, argument.name)
            else:
                seen.append(item)


def _name(op: OpOverload, args: tuple[Any, ...], x: Any) -> str:
    """What a value is called: `argument 'x'`."""
    for argument, value in zip(op.schema.arguments, args, strict=True):
        if argument.is_write and any(item is x for item in leaves(value)):
            return f"argument {argument.name!r}"
    return "an argument"


def instead(op: OpOverload) -> str:
    """What to write in place of a call that is refused: `x = ns.add(x, y)`."""
    schema = op.functional.schema
    who = f"{op.schema.name}.functional" if "functional" in schema.overload else schema.name
    names = [f"{a.name}={a.name}" if a.kwarg_only else a.name for a in op.schema.arguments]
    others = len(schema.returns) - len(op.schema.mutable_arguments) - schema.has_residual
    results = ", ".join([*["..."] * others, *op.schema.mutable_arguments])
    return f"{results} = {who}({', '.join(names)})"


def _leaf(op: OpOverload, args: tuple[Any, ...], x: Any) -> GradientError:
    return GradientError(
        f"{op.name}: {_name(op, args, x)} is a leaf that requires a gradient, and a write would take away what that is the "
        f"gradient of. Write `{instead(op)}`; or write to it under dispatch.no_grad(), as a step of an optimizer does.",
        operator=op.name,
    )


def _shared(op: OpOverload, args: tuple[Any, ...], x: Any) -> GradientError:
    return GradientError(
        f"{op.name}: {_name(op, args, x)} shares memory with another tracked value, a view of it or what it is a view of, and "
        "a write to one would have to show in the other, which the tape cannot follow. "
        f"Write before the view is taken or after it is gone, or write `{instead(op)}`.",
        operator=op.name,
    )


def _twice(op: OpOverload, args: tuple[Any, ...], x: Any) -> GradientError:
    return GradientError(
        f"{op.name}: one tracked value was given for two arrays that are written, {_name(op, args, x)} among them. "
        f"Give each its own, or write `{instead(op)}`.",
        operator=op.name,
    )


def _in_dict(op: OpOverload, name: str) -> GradientError:
    return GradientError(
        f"{op.name}: argument {name!r} is a dict that holds tracked values, and is written. The tape follows writes to arrays "
        "and to lists of arrays: pass a list.",
        operator=op.name,
    )


def _lost(op: OpOverload, args: tuple[Any, ...], x: Any, like: Any) -> GradientError:
    what = describe_value(x) + (f" of {x.level!r}" if isinstance(x, Tensor) else "")
    inside = "" if like.level.number == 0 else f" of {like.level!r}"
    return GradientError(
        f"{op.name}: {_name(op, args, x)} is {what}, and tracked values{inside} would be written to it: their gradient would "
        f"be lost in silence. Write `{instead(op)}`; or pass dispatch.detach(...) of the values, where constants are meant.",
        operator=op.name,
    )
