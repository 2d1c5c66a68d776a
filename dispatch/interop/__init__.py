"""One operator in every framework: each module here is for one, takes and returns its arrays, and imports it when loaded.

    autograd/           HIPS autograd's names over ours: a program of it changes its imports
    cupy                CuPy's arrays as those of the device "cuda"; `cpu_fallback`
    dask                operators on Dask arrays: lazily, chunk by chunk
    derived_operators   the derivative and the batch of an operator, as operators that any framework can be given
    jax                 functions that JAX transforms and compiles: `export`, `wrap`; its other files are named jax_...
    xarray              operators on DataArrays; DataArrays in transforms, `xarray_containers`; `vmap` along a dimension
    torch               torch.library: `export`, `wrap`, tensors as arguments; its other files are named torch_...

`import dispatch` imports none of them: `dispatch.interop.torch` is imported when it is first asked for. A plain call with
another framework's array comes here by `dispatcher/frameworks.py`.
"""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from . import autograd, dask, jax, torch, xarray
else:
    __getattr__, __dir__ = names_of(globals(), {".autograd": "", ".dask": "", ".jax": "", ".torch": "", ".xarray": ""})

__all__ = ["autograd", "dask", "jax", "torch", "xarray"]
