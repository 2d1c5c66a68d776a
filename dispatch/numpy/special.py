"""SciPy's special functions on Tensors, where SciPy looks for them: in the namespace of what it was given, under this name.

With `SCIPY_ARRAY_API=1` SciPy's functions ask a namespace for `special`, which the array API standard may once have as an
extension [1]_, and else take an array of NumPy out of what they are given. These are SciPy's own ufuncs, which hand Tensors on.

.. [1] https://github.com/data-apis/array-api/issues/725
"""

from typing import Any

import numpy as np

from ..core.optional import require
from ..errors import did_you_mean


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    found = getattr(require("scipy.special._ufuncs", "scipy", needed_by=__name__), name, None)
    if not isinstance(found, np.ufunc):
        raise AttributeError(  # noqa: TRY004  it is what a module raises
            f"module {__name__!r} has no attribute {name!r}.{did_you_mean(name, __dir__())}", name=name
        )
    return found


def __dir__() -> list[str]:
    ufuncs = vars(require("scipy.special._ufuncs", "scipy", needed_by=__name__))
    return sorted(name for name, value in ufuncs.items() if isinstance(value, np.ufunc) and not name.startswith("_"))
