"""Batching: a function written for one item is called once for all of them.

A `BatchedTensor` has the shape of one item and holds the whole batch; the layer works on the batch.

    tensor         BatchedTensor
    axes           reads in_dims and out_dims for containers
    randomness     runs operators that draw random numbers
    fallback_loop  runs an operator without a rule item by item
    methods        rules by name: "sequential", "expand_dims", "broadcast", "broadcast_all"
    layer          makes a kernel of a rule, or of the loop
    chunks         cuts a batch, and runs the chunks one after another or in threads
    transform      vmap
    vectorize      vectorize
"""

from typing import TYPE_CHECKING

from ...core.lazy import names_of
from .batched_outputs import apart, lies_between
from .kernel import are_apart
from .tensor import RANDOMNESS, Batch, BatchedTensor, Residuals

if TYPE_CHECKING:
    from .transform import vmap
else:
    __getattr__, __dir__ = names_of(globals(), {".transform": "vmap"})

__all__ = ["RANDOMNESS", "Batch", "BatchedTensor", "Residuals", "apart", "are_apart", "lies_between", "vmap"]
