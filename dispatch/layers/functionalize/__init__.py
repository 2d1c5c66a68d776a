"""Functionalisation: writes are done on values, and written back once, at the end.

A functional value stands for the value below it. An operator that writes runs its functional form on the unwrapped
values, and what it writes to stands for the new value; views follow, see operators/views.py. So the layers below never
see a write but those to the function's own arguments, once each, when it has run.

The layer is a mode too, so that what operators make of no argument at all can be written to like everything else. A plain
array that the function was not given is read by NumPy without telling, so that a write to it cannot wait: it is written at
once, and refused where the new value is no plain array.

    tensor     FunctionalTensor, a value that can be written to
    run        one run of a function: what it was given, what is written back, how results leave
    layer      the kernels of operators that write, and of those that do not
    transform  functionalize
"""

from .layer import layer
from .tensor import FunctionalTensor
from .transform import functionalize

__all__ = ["FunctionalTensor", "functionalize", "layer"]
