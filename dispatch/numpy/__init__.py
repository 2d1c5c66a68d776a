"""NumPy's namespace, by the array API standard [1]_, for NumPy's arrays and for the values of every transform.

Each public name of NumPy is here. A function that NumPy hands over when it meets a Tensor is NumPy's own, the same object:
`dispatch.numpy.sin is numpy.sin`. What NumPy hands over to nobody, or not by every argument, asks its arguments here, and what lists
hold: `array([x, 1.0])`, `full(3, x)`, `r_[x, 1.0]`, `sum(a, initial=x)`. A few functions take what the standard says beside what NumPy
says: `sort(x, descending=True)`. Plain arrays give plain arrays.

`x.__array_namespace__()` is this module, so that libraries that are written for the standard take our values and what they compute
stays differentiable: SciPy with `SCIPY_ARRAY_API=1`, scikit-learn, array-api-compat.

    functions      those that NumPy does not hand over, or not by every argument
    standard       those whose parameters in the standard NumPy lacks; what a library asks of a namespace
    index_tricks   r_, c_; vectorize
    linalg, fft    NumPy's, which the standard calls extensions
    random         draws whose parameters may be Tensors

.. [1] https://data-apis.org/array-api/2024.12/
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from . import fft, linalg, random
from .functions import FUNCTIONS
from .index_tricks import c_, r_, vectorize
from .standard import __array_api_version__, argsort, clip, diff, finfo, sort

if TYPE_CHECKING:
    from numpy import *  # noqa: F403  every other name is NumPy's

OWN = [
    "__array_api_version__", "__array_namespace_info__", "argsort", "c_", "clip", "diff", "fft", "finfo", "linalg", "r_", "random",
    "sort", "vectorize",
]  # fmt: skip
__all__ = sorted({*OWN, *FUNCTIONS, *(name for name in dir(np) if not name.startswith("_"))})  # noqa: PLE0605

globals().update(FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name not in __all__:  # what Python asks of a module
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    found = globals()[name] = getattr(np, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
