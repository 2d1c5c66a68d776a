"""Batching: a function written for one item, called once for all of them.

A `BatchedTensor` hides one axis of what it wraps, the batch, from everyone above.

    tensor    BatchedTensor
    loop      an operator without a rule, item by item
    layer     how a rule, or the loop, becomes a kernel
    mapping   vmap
"""

from .layer import layer
from .mapping import vmap
from .tensor import Batch, BatchedTensor, Residuals

__all__ = ["Batch", "BatchedTensor", "Residuals", "layer", "vmap"]
