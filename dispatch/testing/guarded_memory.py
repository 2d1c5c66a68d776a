"""Copies of arrays that detect writes, and what C has allocated."""

import ctypes
import sys
from functools import cache
from mmap import ACCESS_READ, mmap
from tempfile import TemporaryFile
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

ALIGNMENT = 64  # a cache line: kernels choose their loops by no more than this
MOST_GUARD = 1 << 20  # bytes on either side of a copy; a stray write that goes farther is found by the allocator


class _Memory(np.ndarray[Any, Any]):
    """Bytes that own arrays; NumPy would make bytes of its own class the base of every view of a view."""


class Guarded:
    """A copy of an array with the same strides, byte order and alignment, between two guards.

    The guards, and the gaps between elements of a strided array, repeat the array's values: a kernel that reads past the array
    gets plausible wrong values, and a kernel that writes there changes them. With `zeros` they are zeros: what differs then has
    been read there.
    """

    __slots__ = ("_before", "_buffer", "_inside", "array")

    def __init__(self, a: Array, *, writeable: bool, zeros: bool = False) -> None:
        self._inside: Array | None = None
        exact = type(a) is np.ndarray or isinstance(a, np.memmap)
        if exact and a.nbytes and not a.dtype.hasobject:
            self.array, self._buffer, start = _replica(a, zeros=zeros)
            if writeable:
                self._inside = _own_bytes(self.array, self._buffer, start)
        else:  # an empty array has no bytes, objects cannot be rebuilt from theirs, a subclass keeps more than bytes
            self.array = self._buffer = a.copy(order="K")
        self.array.flags.writeable = writeable
        self._before = self._buffer.tobytes()

    @property
    def changed(self) -> bool:
        """Whether a byte of the copy has changed; of a writeable one, a byte of its elements."""
        if self._inside is None:
            return self._buffer.tobytes() != self._before
        return bool(self._differs()[self._inside].any())

    @property
    def overrun(self) -> bool:
        """Whether memory outside the elements of a writeable copy was written."""
        return self._inside is not None and bool(self._differs()[~self._inside].any())

    def _differs(self) -> Array:
        return np.asarray(self._buffer != np.frombuffer(self._before, np.uint8))


def _bounds(a: Array) -> tuple[int, int]:
    """Return how many bytes an array reaches before and after its first element."""
    steps = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)]
    return -sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + a.itemsize


def _address(a: Array) -> int:
    return int(a.__array_interface__["data"][0])


def _replica(a: Array, *, zeros: bool) -> tuple[Array, Array, int]:
    before, after = _bounds(a)
    guard = min(a.nbytes, MOST_GUARD) + ALIGNMENT
    size = guard + before + after + guard + ALIGNMENT
    buffer = _Memory(size, np.uint8)
    start = guard + before
    start += (_address(a) - _address(buffer) - start) % ALIGNMENT
    # of other strides, one element late: a kernel that takes no strides would read the right values from the first on
    late = 0 if a.flags.c_contiguous else a.itemsize
    if zeros:
        buffer[:] = 0
    else:  # repeated as bytes, which takes a fifth of what np.resize and np.roll do
        ahead = -(start + late) % a.nbytes
        buffer[:] = np.frombuffer(a.tobytes() * (-(-(ahead + size) // a.nbytes)), np.uint8, size, ahead)
    array = _within(buffer, a, start, before, after)
    array[...] = a
    return array, np.asarray(buffer), start


def _within(memory: Any, a: Array, start: int, before: int, after: int) -> Array:
    """Return an array like `a` in memory, whose base has no more elements than it reaches over.

    SciPy's sparse matrices copy what is a small part of its base, so that writes to it would not be seen.
    """
    base: Array = np.ndarray((-(-(before + after) // a.itemsize),), a.dtype, memory, start - before)
    return np.ndarray(a.shape, a.dtype, base, before, a.strides)


def on_read_only_pages(a: Array) -> Array:
    """Return a copy as `Guarded` makes it, but for reading, in pages that the system lets nobody write to.

    An array that has no bytes, or whose bytes are not all there is, is copied as any.
    """
    if not (type(a) is np.ndarray or isinstance(a, np.memmap)) or not a.nbytes or a.dtype.hasobject:
        return Guarded(a, writeable=False).array
    _, buffer, start = _replica(a, zeros=False)
    ahead = _address(buffer) % ALIGNMENT
    with TemporaryFile() as file:
        file.write(bytes(ahead) + buffer.tobytes())
        file.flush()
        return _within(mmap(file.fileno(), 0, access=ACCESS_READ), a, ahead + start, *_bounds(a))


def _own_bytes(array: Array, buffer: Array, start: int) -> Array:
    """Return which bytes of the buffer belong to elements."""
    inside = np.zeros(buffer.shape, np.bool_)
    view: Array = np.ndarray((*array.shape, array.itemsize), np.bool_, inside, start, (*array.strides, 1))
    view[...] = True
    return inside


class _Counts(ctypes.Structure):
    """What `mallinfo2` of the GNU C library returns."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    )


@cache
def _mallinfo() -> Any:
    found = getattr(ctypes.CDLL(None), "mallinfo2", None) if sys.platform == "linux" else None
    if found is not None:
        found.restype = _Counts
    return found


def allocated_by_c() -> int:
    """Return how many bytes of malloc() are in use; 0 in every call where the C library does not say."""
    if (ask := _mallinfo()) is None:
        return 0
    counts = ask()
    return int(counts.uordblks + counts.hblkhd)


def same_bytes(a: Array, b: Array) -> bool:
    """Whether two arrays are equal to the last bit, nan included; objects by `==`."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(np.array_equal(a, b)) if a.dtype.hasobject else a.tobytes() == b.tobytes()
