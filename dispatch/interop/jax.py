"""JAX: operators as functions that JAX transforms and compiles, JAX functions as operators, and JAX's arrays as arguments.

    >>> from dispatch.interop.jax import export
    >>> import dispatch
    >>> add = export(dispatch.ops.np.add)
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..core import OpOverload
from ..core.lazy import names_of
from ..core.overload import bound
from ..core.pytree import leaves
from ..core.wrong_calls import clear
from ..errors import ArgumentError, ConversionError, DeviceMismatchError, UnsupportedError, kind_of
from ..operators.kernel_functions import made_of
from ..operators.registry import Operator
from ..operators.rule_operators import is_ours
from .jax_functions import wrap
from .jax_operators import exported, function_of
from .jax_values import Array, Tracer, at_once, taken_apart

__all__ = ["export", "wrap"]


@clear
def export(op: OpOverload, *, ffi_target: Any = None, platform: str = "cpu") -> Callable[..., Any]:
    """Return an operator as a function that JAX transforms and compiles.

    Parameters
    ----------
    op : OpOverload
    ffi_target : PyCapsule or dict, optional
        An XLA FFI handler, as `jax.ffi.register_ffi_target` takes it, of the same arrays and results as the operator. It runs
        in place of the kernel from then on, without Python; what is no array it gets as attributes, by name. Gradients and
        batches are the operator's own.
    platform : str
        Where the handler runs, ``"cpu"`` or ``"CUDA"`` say.

    Returns
    -------
    callable
        With the operator's own parameters, on arrays of JAX. `jax.jit`, `grad` of any order, `jvp`, `vmap`, `eval_shape` and
        what is made of them go through. It can be pickled.

    Raises
    ------
    UnsupportedError
        If the operator writes to its arguments.
    ArgumentError
        If `ffi_target` is no capsule of a handler.

    Examples
    --------
    >>> import numpy as np, jax, jax.numpy as jnp, dispatch
    >>> @dispatch.custom_op("doc::jax_cube", mutates_args=())
    ... def cube(x: np.ndarray) -> np.ndarray:
    ...     return x**3
    >>> @cube.register_fake
    ... def _(x):
    ...     return np.empty_like(x)
    >>> cube.register_autograd(elementwise=lambda x: 3 * x**2)
    >>> jax_cube = export(cube)
    >>> jax.jit(jax.grad(lambda x: jax_cube(x).sum()))(jnp.array([1.0, 2.0]))
    Array([ 3., 12.], dtype=float32)
    """
    given: object = op
    if not isinstance(given, OpOverload):
        several = " It has several overloads: export each of them." if isinstance(given, Operator) else made_of(given)
        raise ArgumentError(f"export takes an operator, and was given {kind_of(given)}.{several}")
    found = exported(op)
    if ffi_target is not None:
        found.runs(ffi_target, platform)
    return found


def taken_over(op: OpOverload, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """Run a call of an operator that has arrays of JAX among its arguments; NotImplemented where there are none."""
    found = [x for x in leaves((list(args), list(keywords.values()))) if isinstance(x, Array)]
    if not found:
        return NotImplemented
    if function_of(op) is not None:
        return exported(op)(*args, **keywords)
    word = f"dispatch.ops.{op.schema.namespace}.{op.schema.name}" if is_ours(op) else op.schema.name
    line = f"{op.schema.name}_jax = dispatch.interop.jax.export({word})"
    if any(isinstance(x, Tracer) for x in found):
        raise ConversionError(
            f"{op.name} was called with a value that JAX traces, inside of jax.jit, grad, vmap or another of its transforms, "
            f"where an operator has no numbers to run on. Write {line} outside, and call that: it goes through all of them.",
            operator=op.name,
        )
    if op.schema.is_mutable:
        raise UnsupportedError(
            f"{op.name} writes to its arguments, and an array of JAX never changes. Call the form that returns what it writes: "
            f"{op.schema.name}.functional(...).",
            operator=op.name,
        )
    devices = {device for x in found for device in x.devices()}
    if len(devices) > 1 or any(device.platform != "cpu" for device in devices):
        listed = " and ".join(sorted(map(str, devices)))
        raise DeviceMismatchError(
            f"{op.name} was called with arrays of JAX on {listed}, and kernels run on arrays in main memory, on one device. "
            f"Write jax.device_put(x, jax.devices('cpu')[0]), or {line}, which takes arrays there and back, as "
            "jax.pure_callback does.",
            operator=op.name,
        )
    return at_once(op, *taken_apart(op, bound(op, args, dict(keywords))))


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(globals(), {})
