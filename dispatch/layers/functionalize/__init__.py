"""Functionalization: replaces writes by new values, and writes to the arguments of the function once, at the end.

A `FunctionalTensor` wraps a value. In place of an operator that writes, its functional form runs on the wrapped values, and the
written tensor wraps the new value from then on; so do its views, see operators/views.py. The layers below see no write, except
one to each written argument when the function has run.

The layer is also a mode, so that the results of operators without array arguments are wrapped too. NumPy reads a plain array
that is no argument of the function without telling this layer. So a write to such an array happens at once, and raises if the
new value is no plain array.

    tensor     FunctionalTensor
    run        one run of a function: its arguments, its results, the writes at the end
    layer      the layer
    kernel     its kernels
    transform  `functionalize`
"""

from typing import TYPE_CHECKING

from ...core.lazy import names_of

if TYPE_CHECKING:
    from .tensor import FunctionalTensor
    from .transform import functionalize
else:
    __getattr__, __dir__ = names_of(globals(), {".tensor": "FunctionalTensor", ".transform": "functionalize"})

__all__ = ["FunctionalTensor", "functionalize"]
