"""Which tracked values share memory.

In NumPy a write to an array shows in its views. The tape gives a value that is written a new array, so it cannot follow a
write into another value, and refuses it while there is one. Values that share memory are a family: each member refers to one
object, and how many do is that object's reference count, so that a view which is gone counts no more and nothing is listed.
"""

import gc
from sys import getrefcount
from typing import Any

import numpy as np

from ..containers import arrays
from ..core import OpOverload, Tensor
from ..layer import Kernel
from .tensor import TrackedTensor


class Family:
    """What tracked values that share memory have in common."""

    __slots__ = ()


def shares_memory(x: TrackedTensor) -> bool:
    """Whether another tracked value that is alive may share memory with `x`."""
    if not hasattr(x, "family") or getrefcount(x.family) <= 2:  # the member's own reference, and the one that is passed
        return False
    gc.collect()  # a traceback that was caught, say, holds values in a cycle which nobody reaches any more
    return getrefcount(x.family) > 2


def with_views(op: OpOverload, kernel: Kernel) -> Kernel:
    """A kernel of an operator that returns views: it notes who shares memory with whom."""
    places = [i for i, a in enumerate(op.schema.arguments) if a.alias is not None]

    def viewing(*args: Any) -> Any:
        out = kernel(*args)
        for made in (out,) if type(out) is TrackedTensor else arrays(out):
            if type(made) is TrackedTensor:
                for i in places:
                    for x in (args[i],) if type(args[i]) is TrackedTensor else arrays(args[i]):
                        if type(x) is TrackedTensor and x.rank == made.rank and x is not made:
                            _join(made, x)
        return out

    return viewing


def _join(view: TrackedTensor, x: TrackedTensor) -> None:
    if isinstance(x.value, Tensor) or _owner(view.value) is _owner(x.value):
        if not hasattr(x, "family"):
            x.family = Family()
        view.family = x.family


def _owner(x: Any) -> Any:
    while isinstance(x, np.ndarray) and x.base is not None:
        x = x.base
    return x
