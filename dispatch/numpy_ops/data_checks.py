"""Rows that return their argument unchanged; they raise, or warn, as NumPy does because of the values of its elements."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from ..core import OpOverload
from ..core.source import levels_out
from ..layers.autograd import pullbacks
from ..layers.jvp import pushforwards
from ..operators.prims import define
from ..operators.views import set_shown_by
from .families import complete, in_front
from .indexing import getitem


def checked(name: str, check: Callable[[Any], None]) -> OpOverload:
    """Make a row that returns its argument itself; its kernel runs `check`, which raises as NumPy does where data say so.

    Of a batch it sees the items in front.
    """

    def kernel(x: Any) -> Any:
        check(np.asarray(x))
        return x

    op = define(f"np::{name}(Tensor(a) x) -> Tensor(a)", kernel)
    set_shown_by(op, getitem, Ellipsis, [])
    complete(op, fake=lambda x: x, autograd=pullbacks(x=lambda g: g), jvp=pushforwards(x=lambda t: t))  # whatever it is: a tangent may be 0
    return complete(op, vmap=lambda info, in_dims, x: (op(in_front(x, in_dims[0])), 0))


def warned(name: str, message: str, category: type[Warning] = RuntimeWarning) -> OpOverload:
    """Make a row that returns a mask itself, and warns as NumPy does where an element of it is true."""

    def warn(x: Any) -> None:
        if np.any(x):
            warnings.warn(message, category, stacklevel=levels_out())

    return checked(name, warn)


def _discarded(x: Any) -> None:
    if x.dtype.kind == "c":
        warnings.warn("Casting complex values to real discards the imaginary part", ComplexWarning, stacklevel=levels_out())


discarding = checked("discarding_imaginary", _discarded)


def as_real(x: Any, dtype: "np.dtype[Any]") -> Any:
    """Return what is cast to a dtype; of complex numbers cast to real ones it warns when it runs, which the cast itself does not."""
    return discarding(x) if x.dtype.kind == "c" and dtype.kind not in "cb" else x
