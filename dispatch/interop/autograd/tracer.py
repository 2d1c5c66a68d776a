"""autograd.tracer: primitives, and whether a value is one of a transform."""

from typing import Any

from ...core import Tensor
from ...numpy_ops.protocols import detach
from .primitives import notrace_primitive, primitive

__all__ = ["getval", "isbox", "notrace_primitive", "primitive"]


def isbox(x: Any) -> bool:
    """Return whether a value is one of a transform."""
    return isinstance(x, Tensor)


def getval(x: Any) -> Any:
    """Return the value without the transforms, as a constant."""
    while isinstance(x, Tensor) and (found := detach(x)) is not x:
        x = found
    return x
