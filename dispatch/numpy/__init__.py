"""NumPy's namespace, by the array API standard [1]_, for NumPy's arrays and for the values of every transform.

Each public name of NumPy is here. Ufuncs are NumPy's own, the same objects. Every other function calls NumPy's, and takes
Tensors in every place: NumPy asks none of what `np.array` is given whose it is, of other functions some arguments, and no list
what it holds. So `array([x, 1.0])`, `full(3, x)`, `r_[x, 1.0]` and `mean([x, y])` work here. A few functions take what the
standard says beside what NumPy says: `sort(x, descending=True)`. Plain arrays give plain arrays.

`x.__array_namespace__()` is this module, so that libraries that are written for the standard take our values, and what they
compute stays differentiable: SciPy with `SCIPY_ARRAY_API=1`, scikit-learn, array-api-compat.

    functions      NumPy's functions, asked for all their arguments
    standard       those whose parameters in the standard NumPy lacks; what a library asks of a namespace
    index_tricks   r_, c_; vectorize; as_strided
    linalg, fft    NumPy's, which the standard calls extensions
    random         draws whose parameters may be Tensors
    special        SciPy's special functions, where SciPy looks for them

.. [1] https://data-apis.org/array-api/2024.12/
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.lazy import names_of
from . import fft, linalg
from .functions import FUNCTIONS, looked_up
from .index_tricks import as_strided, c_, r_, vectorize
from .standard import __array_api_version__, argsort, astype, clip, diff, finfo, iinfo, sort

if TYPE_CHECKING:
    from . import random, special

__all__ = [
    "__array_api_version__", "argsort", "as_strided", "astype", "c_", "clip", "diff", "fft", "finfo", "iinfo", "linalg", "r_",
    "random", "sort", "special", "vectorize",
]  # fmt: skip
OWN = frozenset(__all__)
__all__.extend(sorted({"__array_namespace_info__", *FUNCTIONS, *(name for name in dir(np) if not name.startswith("_"))} - OWN))

globals().update(FUNCTIONS)
lazy, _ = names_of(globals(), {".random": "", ".special": ""})


def __getattr__(name: str) -> Any:
    return lazy(name) if name in ("random", "special") else looked_up(np, name, __all__, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
