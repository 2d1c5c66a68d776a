"""autograd.core: vector spaces, and derivatives of functions of one argument."""

from collections.abc import Callable
from typing import Any

from . import differential_operators
from .extend import VSpace, vspace
from .primitives import (
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    primitive,
    primitive_vjps,
)

__all__ = [
    "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum", "defvjp_argnums",
    "make_jvp", "make_vjp", "primitive", "primitive_vjps", "vspace",
]  # fmt: skip


def make_vjp(fun: Callable[..., Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return the function from a cotangent to the gradient by `x`, and the value; `autograd.make_vjp` takes the argument later.

    Examples
    --------
    >>> pull, value = make_vjp(lambda x: x**2, 3.0)
    >>> float(pull(1.0)), float(value)
    (6.0, 9.0)
    """
    found: tuple[Callable[[Any], Any], Any] = differential_operators.make_vjp(fun)(x)
    return found


def make_jvp(fun: Callable[..., Any], x: Any) -> Callable[[Any], Any]:
    """Return the function from a tangent of `x` to the value and its tangent."""
    found: Callable[[Any], Any] = differential_operators.make_jvp(fun)(x)
    return found
