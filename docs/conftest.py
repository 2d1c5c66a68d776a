"""Examples that need an optional library run where it is installed."""

from importlib.util import find_spec

NEEDS = {
    "dask.md": "dask",
    "derivatives_rules.md": "scipy",
    "dimensions.md": "jaxtyping",
    "interop.md": "torch",
    "symbolic.md": "sympy",
    "ufuncs.md": "scipy",
    "xarray.md": "xarray",
}
collect_ignore = [page for page, library in NEEDS.items() if not find_spec(library)]
