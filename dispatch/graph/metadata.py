"""Metadata, an array without its data, and Opaque, which replaces what a file cannot keep."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

Kind = Literal["placeholder", "constant", "call", "item"]


class Metadata(NamedTuple):
    """The shape, dtype, strides and device of an array.

    Attributes
    ----------
    shape : tuple of int or SymInt
    dtype : dtype
    strides : tuple of int or SymInt
        In bytes, as NumPy's.
    device : str

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.make_fx(np.sin)(np.ones(3)).nodes[0].value
    Metadata(shape=(3,), dtype=dtype('float64'), strides=(8,), device='cpu')
    """

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]
    strides: tuple[Any, ...]
    device: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """Replaces, in a loaded graph, a value that cannot be written as text, such as a residual.

    Attributes
    ----------
    cls : str
        The name of the class of that value.

    Examples
    --------
    >>> Opaque("mylib.Factors")
    Opaque(cls='mylib.Factors')
    """

    cls: str
