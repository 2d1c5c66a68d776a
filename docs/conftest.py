"""Examples that need an optional library run where it is installed."""

import os
import shutil
from importlib.util import find_spec

NEEDS = {
    "c_kernels.md": "numba",
    "cupy.md": "cupy",
    "dask.md": "dask",
    "derivatives_rules.md": "scipy",
    "dimensions.md": "jaxtyping",
    "interop.md": "torch",
    "jax.md": "jax",
    "symbolic.md": "sympy",
    "ufuncs.md": "scipy",
    "xarray.md": "xarray",
}
collect_ignore = [page for page, library in NEEDS.items() if not find_spec(library)]
if not shutil.which(os.environ.get("CC", "cc").split()[0]):
    collect_ignore.append("c_kernels.md")
