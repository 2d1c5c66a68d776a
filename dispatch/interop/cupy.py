"""CuPy: its arrays become those of the device `"cuda"` as soon as an operator, a transform or `tensor` gets one.

A kernel of an operator gets them as they are: one that was registered for `"cuda"`, or for every device. NumPy's functions run
on them by CuPy's own protocols. `cpu_fallback` is for operators that have a kernel for the CPU alone.
"""

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from ..core import OpOverload
from ..core.optional import require
from ..core.pytree import leaves, mapped
from ..core.source import levels_out
from ..dispatcher.array_types import register_array_type
from ..dispatcher.layer import Kernel, kernels
from ..errors import PerformanceWarning
from ..numpy_ops.array_protocols import function_of
from .derived_operators import called

cupy = require("cupy", "cupy", needed_by="dispatch.interop.cupy")

__all__ = ["cpu_fallback", "register"]
WARNED = "__cpu_fallback_warned__"  # kept with an operator, so that one that is defined anew warns anew


def register() -> None:
    """Make CuPy's arrays those of the device `"cuda"`; the package does so itself when it meets the first one."""
    register_array_type(cupy.ndarray, device="cuda")


def cpu_fallback(op: OpOverload, *args: Any, **keywords: Any) -> Any:
    """Run an operator that has no kernel for CuPy's arrays on the CPU: copy them there, and the results back.

    It is turned on as any fallback is, for every operator without a kernel of its own, and warns once for each operator:

        fallbacks = dispatch.library.Library("_", "IMPL")
        fallbacks.fallback(cpu_fallback, "CUDA")

    `fallbacks.destroy()` turns it off.

    Parameters
    ----------
    op : OpOverload
    *args, **keywords
        The arguments of the operator, with arrays of CuPy.

    Returns
    -------
    object
        What the operator returns, with arrays of CuPy. What it writes is in the arrays that were given.
    """
    by_protocols = _kernel_by_protocols(op)
    if by_protocols is not None:
        return by_protocols(*args, **keywords)
    if WARNED not in vars(op):
        vars(op)[WARNED] = True
        warnings.warn(
            f"{op.name} has no kernel for 'cuda' and runs on the CPU: its arrays are copied there and back in every call. "
            f"Register one: @{op.schema.name}.register_kernel('cuda').",
            PerformanceWarning,
            stacklevel=levels_out(),
        )
    values = [*args, *[keywords[name] for name in op.arguments.keyword_names]]
    given: list[tuple[Any, np.ndarray[Any, Any]]] = []

    def fetched(x: Any) -> Any:
        if not isinstance(x, cupy.ndarray):
            return x
        given.append((x, cupy.asnumpy(x)))
        return given[-1][1]

    host = mapped(fetched, values)
    with next(x.device for x, _ in given):

        def returned(x: Any) -> Any:
            if not isinstance(x, (np.ndarray, np.generic)):
                return x
            own = [there for there, here in given if here is x]  # a written argument that is returned
            return own[0] if own else cupy.asarray(x)

        result = mapped(returned, called(op, host))
        for argument, there, here in zip(op.schema.arguments, values, host, strict=True):
            if argument.is_write:
                for x, y in zip(leaves(there), leaves(here), strict=True):
                    if isinstance(x, cupy.ndarray):
                        x[...] = cupy.asarray(y)
    return result


@lru_cache(maxsize=4096)
def _kernel_by_protocols(op: OpOverload) -> Kernel | None:
    """The kernel of a row that CuPy computes; None for other operators, and for functions that CuPy lacks."""
    derived = kernels.derived(op)
    if derived is None:
        return None
    function = function_of(op)
    if function is not None:
        module = (getattr(function, "__module__", None) or "numpy").rpartition("numpy")[2].lstrip(".")
        if not hasattr(getattr(cupy, module, None) if module else cupy, function.__name__):
            return None
    return derived.make()
