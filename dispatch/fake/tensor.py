"""A fake tensor, and how its strides are laid out."""

from functools import lru_cache
from typing import Any

import numpy as np

from ..core import DispatchKey, Tensor, ground, wrap
from ..errors import DataDependentError

Shape = tuple[int, ...]


@lru_cache(maxsize=4096)
def contiguous(shape: Shape, itemsize: int) -> Shape:
    """The strides of a new C-ordered array, in bytes."""
    strides = []
    step = itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


class FakeTensor(Tensor):
    """An array's metadata, and nothing to compute with.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    strides : tuple of int
        In bytes, as NumPy's; those of length-1 axes and of empty arrays mean nothing.
    device : str
    mode : FakeTensorMode or None
        The mode it was made in.
    """

    __slots__ = ("device", "dtype", "mode", "shape", "strides")
    key = DispatchKey.FAKE

    shape: Shape
    dtype: np.dtype[Any]
    strides: Shape
    device: str
    mode: Any  # a FakeTensorMode, which is made of fakes

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def _no_data(self, what: str) -> DataDependentError:
        return DataDependentError(
            f"{what} was asked of a fake tensor of shape {self.shape}, which has no data. "
            "A shape rule decides by shapes, dtypes and plain arguments only."
        )

    def item(self) -> Any:
        raise self._no_data("one number")

    def tolist(self) -> Any:
        raise self._no_data("a list")

    def __bool__(self) -> bool:
        raise self._no_data("the truth")

    def __float__(self) -> float:
        raise self._no_data("a float")

    def __complex__(self) -> complex:
        raise self._no_data("a complex")

    def __int__(self) -> int:
        raise self._no_data("an int")

    __index__ = __int__

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self._no_data("a NumPy array")

    def __repr__(self) -> str:
        where = "" if self.device == "cpu" else f", device={self.device!r}"
        return f"FakeTensor(shape={self.shape}, dtype={self.dtype}{where})"


def fake_tensor(shape: Shape, dtype: Any, strides: Shape | None = None, device: str = "cpu", mode: Any = None) -> FakeTensor:
    """A fake tensor; C-ordered unless strides are given.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype
    strides : tuple of int, optional
        In bytes.
    device : str
    mode : FakeTensorMode, optional

    Examples
    --------
    >>> fake_tensor((2, 3), np.dtype("f4")).strides
    (12, 4)
    """
    made: FakeTensor = wrap(FakeTensor, None, ground())
    made.shape = shape
    made.dtype = dtype
    made.strides = contiguous(shape, dtype.itemsize) if strides is None else strides
    made.device = device
    made.mode = mode
    return made
