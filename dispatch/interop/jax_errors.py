"""Gives the caller of a program that JAX compiled the exception that a kernel raised, in place of JAX's own.

XLA keeps the text of what a callback raised and throws the object away: the caller gets a JaxRuntimeError, whatever the
kernel raised. No code of ours runs between the kernel and the caller, who calls his own `jax.jit`; but in every case JAX makes
a JaxRuntimeError of the text. So we write a number into the text, and when a JaxRuntimeError is made of a text with the number
of an exception that we keep, that exception is raised instead. JAX's class is changed for this when the first kernel fails.
"""

import itertools
import re
import threading
from typing import Any

from ..core.optional import require

jax = require("jax", "jax", needed_by="dispatch.interop.jax")

KEPT = 16  # exceptions whose caller has not asked yet; an older one comes out as JAX's own, with its text
NUMBERED = re.compile(r"\[kernel failure (\d+)\]")

_lock = threading.Lock()
_numbers = itertools.count(1)
_on_their_way: dict[int, BaseException] = {}


class KernelFailed(Exception):  # noqa: N818  XLA reads its text, and nobody catches it
    """Stands for a kernel's exception in front of XLA."""


def sent(error: BaseException) -> KernelFailed:
    """What to raise in a callback in place of an exception, so that the exception comes out where JAX raises."""
    with _lock:
        jax.errors.JaxRuntimeError.__new__ = _made
        number = next(_numbers)
        _on_their_way[number] = error
        while len(_on_their_way) > KEPT:
            del _on_their_way[next(iter(_on_their_way))]
        return KernelFailed(f"{type(error).__name__}: {error} [kernel failure {number}]")


def _made(cls: type, *args: Any, **keywords: Any) -> Any:
    """The `__new__` of JaxRuntimeError."""
    first = args[0] if args else None
    if isinstance(first, BaseException):  # CPython asks again with what it got, where that is no JaxRuntimeError
        return first
    found = NUMBERED.search(first) if isinstance(first, str) else None
    if found is not None:
        with _lock:
            error = _on_their_way.pop(int(found[1]), None)
        if error is not None:
            return error
    return RuntimeError.__new__(cls, *args, **keywords)
