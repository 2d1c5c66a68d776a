"""NumPy's functions that do not ask all their arguments whose they are: here they do. See `numpy_ops/handing_over.py`."""

import numpy as np

from ..numpy_ops.handing_over import handed_over

# NumPy's name, and what NumPy does not ask for.
NAMES = {
    "array asarray asanyarray ascontiguousarray asfortranarray require from_dlpack": "what is given",
    "arange full full_like": "the numbers",
    "sum prod max min amax amin nansum nanprod nanmax nanmin": "initial=, where=",
    "nanmean nanvar nanstd": "where=",
    "interp trapezoid unwrap select": "left=, right=, period=; dx=; period=; default=",
}
FUNCTIONS = {name: handed_over(getattr(np, name)) for names in NAMES for name in names.split()}
