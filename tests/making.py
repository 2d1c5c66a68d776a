"""Operators and wrappers for one test: of a schema and a kernel, known to nobody by name."""

from collections.abc import Callable
from typing import Any

from dispatch.core import DispatchKey, Level, OpOverload, Tensor, wrap
from dispatch.operators import build
from dispatch.schema import Schema


def made(text: str, kernel: Callable[..., Any] | None = None, key: DispatchKey = DispatchKey.CPU) -> OpOverload:
    """An operator with one kernel, or none."""
    op = build(Schema.parse(text, name="making::op"))
    if kernel is not None:
        op.register_at(key, kernel)
    return op


class Shadow(Tensor):
    """A wrapper of a layer that nothing else in a test uses; a test registers its kernels at JVP itself."""

    __slots__ = ()
    key = DispatchKey.JVP


def shadow(value: Any, like: Level | Tensor, data: Any = None) -> Shadow:
    """A Shadow around a value."""
    return wrap(Shadow, value, like, data)
