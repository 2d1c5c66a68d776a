"""Batching: a function written for one item, called once for all of them.

A `BatchedTensor` hides one axis of what it wraps, the batch, from everyone above.

    tensor    BatchedTensor
    axes      in_dims and out_dims, read for containers
    draws     what operators that draw from a random generator do
    loop      an operator without a rule, item by item
    methods   rules that go by a name: "sequential", "expand_dims", "broadcast", "broadcast_all"
    layer     how a rule, or the loop, becomes a kernel
    chunks    a batch in pieces, one after another or in threads
    mapping   vmap
"""

from .layer import layer
from .mapping import vmap
from .tensor import Batch, BatchedTensor, Residuals

__all__ = ["Batch", "BatchedTensor", "Residuals", "layer", "vmap"]
