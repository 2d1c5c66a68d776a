"""Fake tensors: shape, dtype, strides and device without data.

A fake rule is a function of the operator's own arguments that returns outputs of the right metadata: fake tensors, or plain
arrays, of which only the metadata is read. Under `FakeTensorMode` every operator runs its rule in place of its kernel, so
the shapes of a whole program are known before anything is computed or allocated.

    tensor        FakeTensor
    fake_mode     FakeTensorMode: from arrays to fakes
    rule_context  what a rule can ask for: `get_ctx()`
    rule_inputs   a call's arguments, as fakes of one mode on one device
    rule_outputs  what a rule returned, as outputs
    rule_cache    answers of rules that depend on layouts alone
    layer         the layer
    rule_kernels  how a rule becomes a kernel
"""

from typing import TYPE_CHECKING

from ...core.lazy import names_of
from .rule_cache import Pure
from .tensor import FakeTensor, counted, fake_tensor, memory_of

if TYPE_CHECKING:
    from .fake_mode import FakeTensorMode
    from .rule_context import FakeContext, get_ctx
else:
    __getattr__, __dir__ = names_of(globals(), {".fake_mode": "FakeTensorMode", ".rule_context": "FakeContext get_ctx"})

__all__ = ["FakeContext", "FakeTensor", "FakeTensorMode", "Pure", "counted", "fake_tensor", "get_ctx", "memory_of"]
