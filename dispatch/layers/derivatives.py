"""What the tape and forward mode do alike with derivatives: zeros, constants, and a rule's result broadcast and cast.

The derivative of a value, a cotangent or a tangent, is an array of the value's shape and dtype. A rule may leave a broadcast
or a cast to its layer, and may give None for zero.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import OpOverload, Tensor, check_data, descend, is_array, is_of_registered_class
from ..core.array_memory import constant
from ..core.pytree import field_names, items_of, leaves
from ..dispatcher.layer import Kernel
from ..errors import DefinitionError, GradientError
from ..operators.prims import astype, broadcast_to, sum_to
from ..operators.registered_arrays import filled
from ..schema.types import ANY, COMPLEX, FLOAT, RESIDUAL, SCALAR

Layout = tuple[tuple[int, ...], np.dtype[Any]]


def constant_kernel(whole: Callable[..., Any]) -> Kernel:
    """The kernel of an operator whose result has no derivative: it runs the operator on the unwrapped values."""

    def kernel(*args: Any) -> Any:
        return descend(whole, args)[0]

    return kernel


def check_has_derivative(op: OpOverload, comes: str, leave: str) -> None:
    """Refuse a derivative for an operator that returns no array; `comes` and `leave` are a layer's words for it."""
    schema = op.schema
    if schema.is_mutable or any(r.type.has_tensor or r.type in (ANY, RESIDUAL) for r in schema.returns):
        return
    if not schema.returns:
        said = f"{op.name} returns nothing and writes to nothing, so that no {comes}. {leave}."
    else:
        said = (
            f"{op.name} returns no array, so that no {comes}. Return a 0-d array, np.asarray(result), and hint it np.ndarray; "
            f"or {leave[0].lower()}{leave[1:]}."
        )
    raise DefinitionError(said, operator=op.name)


def gives_numbers(op: OpOverload) -> bool:
    """Whether an operator has results that are numbers, of which some may have had a derivative."""
    kinds = [kind for r in op.schema.returns for kind in (r.type, *r.type.parts)]
    return any(kind in (FLOAT, COMPLEX, SCALAR) for kind in kinds)


def check_lost(op: OpOverload, out: Any, lost: str) -> None:
    """Refuse a float or Python objects that an operator without a derivative made of values that have one: it would be lost."""
    for x in leaves(out):
        constant(op, x)
    if any(isinstance(x, (float, complex)) for x in leaves(out)):
        raise GradientError(
            f"{op.name} made a number of a value that has a {lost}, and a number has none: it would be lost in silence. Return "
            "a 0-d array, np.asarray(result), hint it np.ndarray, and give the operator a derivative; or write "
            "dispatch.detach(...) around its arguments, where the number alone is meant.",
            operator=op.name,
        )


def zeros(layout: Layout, like: Any) -> Any:
    """A derivative of zeros: an array; where `like` is a wrapper or of a registered class, a value of the same kind."""
    shape, dtype = layout
    if isinstance(like, Tensor):
        return np.zeros_like(like, dtype=dtype, shape=shape)
    return filled(like, 0, shape, dtype) if is_of_registered_class(like) else np.zeros(shape, dtype)


def fitted(x: Any, layout: Layout, *, summed: bool) -> Any:
    """What a rule gave, as an array of the shape and dtype that it must have; None where it is no array or has another shape.

    With `summed` the rule may have left out a sum, as the gradient of an argument that was broadcast; else it may have left out
    the broadcast itself. A Python number counts as a 0-d array.
    """
    shape, dtype = layout
    if isinstance(x, (int, float, complex)) and not isinstance(x, np.generic):
        x = np.asarray(x, complex if isinstance(x, complex) else dtype)
    if not is_array(x):
        return None
    check_data(x)
    given = x.shape
    if len(given) != len(shape) or given != shape:  # their lengths first: tuples compare items of these, which may be symbols
        small, large = (shape, given) if summed else (given, shape)
        extra = len(large) - len(small)
        if extra < 0 or any(n not in (1, m) for n, m in zip(small, large[extra:], strict=True)):
            return None
        x = sum_to(x, shape) if summed else broadcast_to(x, shape)
    return x if x.dtype == dtype else astype(x, dtype)


def parts_like(given: Any, like: Any) -> Any:
    """The parts of what a rule gave for a container, in the order of the container's items; None where it does not fit.

    For a record, a dict of some of its fields does too; a list and a tuple stand for each other.
    """
    fields = field_names(type(like))
    keys = tuple(like) if isinstance(like, dict) else fields
    if isinstance(given, dict):
        return None if keys is None or not set(keys).issuperset(given) else [given.get(key) for key in keys]
    return items_of(given) if isinstance(given, (list, tuple) if fields is None and keys is None else type(like)) else None
