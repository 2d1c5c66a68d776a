"""What can be seen of a call, and what differs between two: values to the bit (NaN is NaN), dtypes, kinds, and who shares memory."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dispatch.core import Tensor


class DifferenceError(Exception):
    """A layer does something else than NumPy."""


class Seen(NamedTuple):
    """All that can be seen of a call: results, what is left in the arguments, and which of all these share memory."""

    results: list[Any]
    left: list[Any]
    shared: list[list[bool]]


def seen(f: Callable[..., Any], given: list[Any]) -> Seen:
    """Call a function."""
    results = list(f(*given))
    return Seen([np.copy(x) if isinstance(x, np.ndarray) else x for x in results], given, sharing([*results, *given]))


def sharing(every: list[Any]) -> list[list[bool]]:
    """For each value which of those after it share memory with it."""
    return [[_share(x, y) for y in every[i + 1 :]] for i, x in enumerate(every)]


def _share(x: Any, y: Any) -> bool:
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and bool(np.shares_memory(x, y))


def same_bits(x: Any, y: Any) -> str:
    """What differs, or nothing."""
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        return f"a {type(x).__name__} came out"
    if isinstance(x, np.ndarray) != isinstance(y, np.ndarray) or isinstance(x, np.generic) != isinstance(y, np.generic):
        return f"kind: {type(x).__name__}, not {type(y).__name__}"
    a, b = np.asarray(x), np.asarray(y)
    if a.dtype != b.dtype:
        return f"dtype: {a.dtype}, not {b.dtype}"
    if a.shape != b.shape:
        return f"shape: {a.shape}, not {b.shape}"
    return "" if equal_bits(a, b) else f"value: {x!r}, not {y!r}"


def equal_bits(a: Any, b: Any) -> bool:
    """Whether two arrays of one dtype and shape are the same numbers, of the same signs."""
    if a.dtype.kind == "c":
        return equal_bits(a.real, b.real) and equal_bits(a.imag, b.imag)
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    return bool(np.all((a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))))


def difference(found: Seen, expected: Seen) -> str:
    """What differs between two calls, or nothing."""
    for i, (x, y) in enumerate(zip(found.results, expected.results, strict=True)):
        if said := same_bits(x, y):
            return f"result {i}: {said}"
    for i, (x, y) in enumerate(zip(found.left, expected.left, strict=True)):
        if said := same_bits(x, y):
            return f"left in x{i}: {said}"
    if found.shared != expected.shared:
        return f"sharing: {found.shared}, not {expected.shared}"
    return ""
