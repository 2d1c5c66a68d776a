"""Operators whose kernel is an XLA FFI handler: compiled code that JAX calls without Python.

JAX gets the capsule as it is. What the operator's call has beside arrays goes as attributes, by the names of the parameters:
a bool, an int as int64, a float as float64, a str, and lists of these numbers as arrays.
"""

import ctypes
import datetime as dt
import itertools
from typing import Any

import numpy as np

from ..core import OpOverload
from ..core.optional import require
from ..core.pytree import leaves
from ..errors import ArgumentError, UnsupportedError, kind_of
from .jax_values import Call
from .places import Place

jax = require("jax", "jax", needed_by="dispatch.interop.jax")

Capsule: type = type(dt.datetime_CAPI)  # `types.CapsuleType` from CPython 3.13 on
NAMES = (None, b"xla._CUSTOM_CALL_TARGET")  # of capsules of handlers: by `jax.ffi.pycapsule`, and by JAX's examples
_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_numbers = itertools.count(1)


def registered(op: OpOverload, handler: Any, platform: str) -> str:
    """Register a handler with JAX, and return the name of the target."""
    stages = handler.values() if isinstance(handler, dict) else [handler]
    for x in stages:
        if not isinstance(x, Capsule) or _name_of(x) not in NAMES:
            got = kind_of(x) if not isinstance(x, Capsule) else f"a capsule of {_name_of(x)!r}"
            raise ArgumentError(
                f"export({op.schema.name}, ffi_target=...) takes a capsule of an XLA FFI handler, or JAX's dict of them by "
                f"stages, and was given {got}. Write jax.ffi.pycapsule(library.function).",
                operator=op.name,
            )
    name = f"dispatch {op.name} {next(_numbers)}"
    jax.ffi.register_ffi_target(name, handler, platform=platform)
    return name


def attributes(call: Call) -> dict[str, Any]:
    """What a call has beside arrays, as an FFI handler takes it; None is left out."""
    found = {}
    for a, x in zip(call.op.schema.arguments, call.values, strict=True):
        if x is None or any(type(y) is Place for y in leaves(x)):
            continue
        made = x
        if type(x) is int or isinstance(x, np.integer):
            made = np.int64(x)
        elif isinstance(x, (float, np.floating)):
            made = np.float64(x)
        elif isinstance(x, (list, tuple)) and all(isinstance(y, (int, float)) for y in x):
            made = np.array(x, np.float64 if any(isinstance(y, float) for y in x) else np.int64)
        elif not isinstance(x, (bool, str)):
            raise UnsupportedError(
                f"{call.op.name}: argument {a.name!r} is {kind_of(x)}, and an FFI handler takes arrays, numbers, texts and "
                "lists of numbers.",
                operator=call.op.name,
                argument=a.name,
            )
        found[a.name] = made
    return found
