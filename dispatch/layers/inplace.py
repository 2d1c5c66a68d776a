"""Shared by the layers that replace writes by new values: which arrays a call writes to, and which writes must raise.

Such a layer runs the functional form of an operator on the values below, and then lets each written wrapper hold its new value,
by `views.replace`. The layers autograd, jvp and functionalize do so, each with its own wrapper and its own messages.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core import OpOverload, Tensor
from ..core.pytree import arrays
from ..errors import DispatchError
from ..operators.functional_variant import Form, instead
from ..operators.views import base_of, is_followed, overlap, overlaps_itself, shares_memory
from ..schema.tags import Tag


class Words(NamedTuple):
    """The words of a layer in messages about refused writes."""

    error: type[DispatchError]
    value: str  # "tracked value"
    layer: str  # "The tape"

    def refused(self, op: OpOverload, said: str) -> DispatchError:
        return self.error(f"{op.name}: {said}", operator=op.name)


def targets(form: Form, args: tuple[Any, ...]) -> list[Any]:
    """Return the arrays that a call writes to, also those in lists."""
    if len(form.written) == 1 and isinstance(args[form.written[0]], Tensor):
        return [args[form.written[0]]]
    return [x for i in form.written for x in arrays(args[i]) if is_array(x)]


def is_array(x: Any) -> bool:
    """Whether an item of a written argument is written to: beside arrays a tuple may hold None, numbers and text."""
    return isinstance(x, (Tensor, np.ndarray)) or hasattr(x, "shape")


def new_values(form: Form, args: tuple[Any, ...], outputs: list[Any]) -> list[Any]:
    """Return the outputs of a functional form that are new values of written arrays, in the order of `targets`."""
    made = outputs[len(outputs) - len(form.written) - form.residual :]
    return [x for i, new in zip(form.written, made, strict=False) for x in _paired(args[i], new)]


def _paired(x: Any, new: Any) -> list[Any]:
    if isinstance(x, Tensor):
        return [new]
    return [n for old, n in zip(arrays(x), arrays(new), strict=True) if is_array(old)]


def target_name(op: OpOverload, args: tuple[Any, ...], x: Any) -> str:
    """Return the name of a written array for messages: `argument 'x'`."""
    for argument, value in zip(op.schema.arguments, args, strict=True):
        if argument.is_write and any(item is x for item in arrays(value)):
            return f"argument {argument.name!r}"
    return "an argument"


def check_target(op: OpOverload, args: tuple[Any, ...], x: Any, others: list[Any], words: Words) -> None:
    """Raise, in the words of a layer, if it could not follow a write to one of its values.

    So it is if `x` is written twice, or shares memory with another written array, of `others`, or with a view that cannot be
    made again, or if some of its own elements do: a new value has an element of its own for each.
    """
    below: Any = base_of(x)
    while isinstance(below, Tensor):
        below = below.value
    if type(below) is np.ndarray and not below.flags.forc and overlaps_itself(below):
        raise words.refused(
            op,
            f"{target_name(op, args, x)} is written, and some of its elements share memory with one another, as "
            f"np.lib.stride_tricks.as_strided makes them: {words.layer} has a value for each. Write to a copy: x = x.copy().",
        )
    if others and any([x is other for other in others]):
        raise _twice(op, args, x, words)
    if x.family is not None:
        check_views(op, args, x, others, words)


def check_views(op: OpOverload, args: tuple[Any, ...], x: Any, others: list[Any], words: Words) -> None:
    """Raise if the layer could not follow a write to `x` into the values that share memory with `x`."""
    if not shares_memory(x):
        return
    if Tag.inplace_view in op.tags or not is_followed(x):
        raise words.refused(
            op,
            f"{target_name(op, args, x)} shares memory with another {words.value}, and the write cannot be followed into it: "
            "an operator that changes a shape has no views, and a view that an operator made while it wrote is made only once. "
            f"Write before the view is taken or after it is gone, or write {instead(op)}.",
        )
    base = base_of(x)
    if any(y is not x and type(y) is type(x) and base_of(y) is base and overlap(x, y) for y in others):
        raise _twice(op, args, x, words)


def check_dicts(op: OpOverload, args: tuple[Any, ...], written: list[Any], words: Words) -> None:
    """Raise if a dict is written and contains values of the layer."""
    if dict not in map(type, args):
        return
    for argument, value in zip(op.schema.arguments, args, strict=True):
        if type(value) is dict and argument.is_write and any(x is item for x in written for item in arrays(value)):
            raise words.refused(
                op,
                f"argument {argument.name!r} is a dict that holds a {words.value}, and is written. {words.layer} follows "
                "writes to arrays and to lists of arrays: pass a list.",
            )


def _twice(op: OpOverload, args: tuple[Any, ...], x: Any, words: Words) -> DispatchError:
    return words.refused(
        op,
        f"two arrays that are written share memory, {target_name(op, args, x)} among them. Give each its own, or write "
        f"{instead(op)}.",
    )
