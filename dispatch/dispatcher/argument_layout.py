"""Gives kernels their arrays in the memory layout of their hints: `Annotated[np.ndarray, "C"]`, `"F"`, `"writeable"`.

A C kernel that reads `double *` is wrong on a transposed array. With the layout in its hint it gets a contiguous copy of
such an array; an array that is contiguous already is passed as it is, and one of a class that has more than its data is
refused. An array that is written to cannot be replaced by a copy, so `"writeable"` is only checked.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from ..core import OpOverload, check_data
from ..core.pytree import items_of, rebuilt
from ..errors import ArgumentError
from ..schema.schema import Argument
from ..schema.tags import Tag
from .shape_checks import checked

Adapter = Callable[[Any], Any]

# Wraps the kernels of operators with a tag; a layer adds its function here.
around_kernels: dict[Tag, Callable[[OpOverload, Callable[..., Any]], Callable[..., Any]]] = {}


def adapted(op: OpOverload, kernel: Callable[..., Any], *, keyed: bool = False) -> Callable[..., Any]:
    """Wrap a kernel so that its arrays have the layouts and the axes that the operator's hints name.

    A kernel whose hints name neither is returned itself, and costs nothing. A `keyed` one takes its key before the arguments.
    """
    if keyed:
        if adapted(op, kernel) is kernel:
            return kernel

        @wraps(kernel)
        def with_key(key: Any, *args: Any, **keywords: Any) -> Any:
            return adapted(op, partial(kernel, key))(*args, **keywords)

        return with_key
    for tag in op.tags:
        if tag in around_kernels:
            kernel = around_kernels[tag](op, kernel)
    if not any([a.layout for a in op.schema.arguments]):
        return checked(op, kernel)
    adapters = {i: _adapter(op, a) for i, a in enumerate(op.schema.arguments) if a.layout and not a.kwarg_only}
    named = {a.name: _adapter(op, a) for a in op.schema.arguments if a.layout and a.kwarg_only}

    @wraps(kernel)
    def adapting(*args: Any, **keywords: Any) -> Any:
        values = [adapters[i](x) if i in adapters else x for i, x in enumerate(args)]
        options = {name: named[name](x) if name in named else x for name, x in keywords.items()}
        return kernel(*values, **options)

    return checked(op, adapting)


def _adapter(op: OpOverload, argument: Argument) -> Adapter:
    """Return the function that converts one argument; arrays of other libraries are passed as they are."""
    order: Any = next((word for word in argument.layout if word in ("C", "F")), None)
    writeable = "writeable" in argument.layout

    def adapt(x: Any) -> Any:
        if (items := items_of(x)) is not None:
            return rebuilt(x, [adapt(item) for item in items])
        if isinstance(x, np.generic):
            return np.asarray(x)
        if not isinstance(x, np.ndarray):
            return x
        check_data(x)
        if writeable and not x.flags.writeable:
            raise ArgumentError(
                f"{op.name}: argument {argument.name!r} is written to, and was given a read-only array of shape {x.shape} and "
                f"dtype {x.dtype}. Pass {argument.name}.copy().",
                operator=op.name,
                argument=argument.name,
            )
        fits = order is None or (x.flags.c_contiguous if order == "C" else x.flags.f_contiguous)
        if fits and x.flags.aligned:
            return x
        if writeable:
            raise ArgumentError(
                f"{op.name}: argument {argument.name!r} is written to in {order} order, and was given an array of shape "
                f"{x.shape} and strides {x.strides}; a copy would take the writes. Pass an array made in that order.",
                operator=op.name,
                argument=argument.name,
            )
        return np.array(x, order=order or "K")

    return adapt
