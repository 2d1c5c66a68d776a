"""Writes dtypes, arrays and their metadata as text, bytes in base64, and reads them back."""

import math
from binascii import a2b_base64, b2a_base64
from typing import Any

import numpy as np
from numpy.lib.format import descr_to_dtype, dtype_to_descr

from ..errors import GraphError, kind_of
from ..symbolic import contiguous
from .metadata import Metadata


class Unwritable(Exception):  # noqa: N818  it is caught where the graph is known, and never seen
    """Raised for a value that cannot be written as text."""

    def __init__(self, value: Any, reason: str = "") -> None:
        super().__init__(f"{kind_of(value)}{reason}")


def dtype_text(dtype: np.dtype[Any]) -> Any:
    """Return a dtype as text: its name or NumPy's short form; a structured dtype as the list of its fields."""
    for text in (dtype.name, dtype.str):
        try:
            if np.dtype(text) == dtype and np.dtype(text).metadata == dtype.metadata:
                return text
        except (TypeError, ValueError, SyntaxError):
            continue
    if dtype.fields is not None and not dtype.hasobject:
        description = dtype_to_descr(dtype)
        if descr_to_dtype(description) == dtype:
            return description
    raise Unwritable(dtype)


def dtype_of(text: Any) -> np.dtype[Any]:
    """Return the dtype that `dtype_text` wrote."""
    return np.dtype(text) if type(text) is str else np.dtype(descr_to_dtype(text))


def raw_bytes(x: Any) -> bytes:
    """Return the bytes of a NumPy scalar, or of an array in C order."""
    if x.dtype.hasobject:
        raise Unwritable(x, " of Python objects")
    made: bytes = x.tobytes()
    return made


def data_of(x: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Return dtype, shape and bytes; for an array that is not in C order also the axes, the slowest first."""
    dense = x.flags.c_contiguous
    axes = tuple(range(x.ndim) if dense else sorted(range(x.ndim), key=lambda axis: (-abs(x.strides[axis]), axis)))
    taken = dtype_text(x.dtype), x.shape, b2a_base64(raw_bytes(x.transpose(axes)), newline=False).decode()
    return taken if dense else (*taken, axes)


def array_of(dtype: Any, shape: Any, text: str, axes: Any = None) -> np.ndarray[Any, Any]:
    """Return the array that `data_of` described."""
    kind, raw = dtype_of(dtype), a2b_base64(text, strict_mode=True)
    if kind.hasobject or type(shape) is not tuple or not all(type(n) is int and n >= 0 for n in shape):
        raise GraphError(f"an array of dtype {kind} and shape {shape} cannot be read")
    order = tuple(range(len(shape))) if axes is None else axes
    if sorted(order) != list(range(len(shape))):
        raise GraphError(f"{order} are no axes of the shape {shape}")
    if len(raw) != math.prod(shape) * kind.itemsize:
        raise GraphError(f"{len(raw)} bytes are no array of dtype {kind} and shape {shape}")
    made = np.empty([shape[axis] for axis in order], kind)
    if raw:
        made = np.ndarray(made.shape, kind, bytearray(raw))
    return made.transpose(np.argsort(order)) if order else made


def scalar_of(dtype: Any, text: str) -> np.generic:
    """Return a NumPy scalar from its dtype and its bytes, given as hexadecimal digits."""
    kind, raw = dtype_of(dtype), bytes.fromhex(text)
    if kind.hasobject or len(raw) != kind.itemsize:
        raise GraphError(f"{len(raw)} bytes are no scalar of dtype {kind}")
    made: Any = np.ndarray((), kind, raw) if raw else np.zeros((), kind)
    return made[()]  # type: ignore[no-any-return]


def described(x: Metadata) -> tuple[Any, ...]:
    """Return dtype and shape; strides and device only where they are not the usual ones."""
    plain = all(type(n) is int for n in (*x.shape, *x.strides))  # others are not compared, for that would decide them
    strides = None if plain and x.strides == contiguous(x.shape, x.dtype.itemsize) else x.strides
    taken = dtype_text(x.dtype), x.shape, strides, x.device
    return taken if x.device != "cpu" else taken[:2] if strides is None else taken[:3]


def metadata_of(dtype: Any, shape: Any, strides: Any = None, device: str = "cpu") -> Metadata:
    """Return the metadata that `described` wrote."""
    kind = dtype_of(dtype)
    if type(shape) is not tuple or type(device) is not str or not (strides is None or len(strides) == len(shape)):
        raise GraphError("a shape and its strides are tuples of one length, and a device is text")
    return Metadata(shape, kind, contiguous(shape, kind.itemsize) if strides is None else strides, device)
