"""NumPy's namespace, by the array API standard [1]_, for NumPy's arrays and for the values of every transform.

Each public name of NumPy is here. A function that NumPy hands over when it meets a Tensor is NumPy's own, the same object:
`dispatch.numpy.sin is numpy.sin`. What NumPy hands over to nobody, or not by every argument, asks its arguments here, and what
lists hold: `array([x, 1.0])`, `full(3, x)`, `r_[x, 1.0]`. A few functions take what the standard says beside what NumPy says:
`sort(x, descending=True)`. Plain arrays give plain arrays.

`x.__array_namespace__()` is this module, so that libraries that are written for the standard take our values, and what they
compute stays differentiable: SciPy with `SCIPY_ARRAY_API=1`, scikit-learn, array-api-compat.

    functions      those that NumPy does not hand over, or not by every argument
    standard       those whose parameters in the standard NumPy lacks; what a library asks of a namespace
    index_tricks   r_, c_; vectorize
    linalg, fft    NumPy's, which the standard calls extensions
    random         draws whose parameters may be Tensors

.. [1] https://data-apis.org/array-api/2024.12/
"""

from typing import Any

import numpy as np

from ..errors import did_you_mean
from . import fft, linalg, random
from .functions import FUNCTIONS
from .index_tricks import c_, r_, vectorize
from .standard import __array_api_version__, argsort, clip, diff, finfo, iinfo, sort

__all__ = [
    "__array_api_version__", "argsort", "c_", "clip", "diff", "fft", "finfo", "iinfo", "linalg", "r_",
    "random", "sort", "vectorize",
]  # fmt: skip
OWN = frozenset(__all__)
__all__.extend(sorted({"__array_namespace_info__", *FUNCTIONS, *(name for name in dir(np) if not name.startswith("_"))} - OWN))

globals().update(FUNCTIONS)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{did_you_mean(name, __all__)}", name=name)
    found = globals()[name] = getattr(np, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
