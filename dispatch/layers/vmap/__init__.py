"""Batching: a function written for one item, called once for all of them.

A `BatchedTensor` hides one axis of what it wraps, the batch, from everyone above.

    tensor         BatchedTensor
    axes           in_dims and out_dims, read for containers
    randomness     what operators that draw from a random generator do
    fallback_loop  an operator without a rule, item by item
    methods        rules that go by a name: "sequential", "expand_dims", "broadcast", "broadcast_all"
    layer          how a rule, or the loop, becomes a kernel
    chunks         a batch in pieces, one after another or in threads
    transform      vmap
"""

from .tensor import Batch, BatchedTensor, Residuals
from .transform import vmap

__all__ = ["Batch", "BatchedTensor", "Residuals", "vmap"]
