"""Tracing: the layer records every call on a traced value as a node of a graph, and calls the operator below.

A traced value holds the value below, a real array or a fake one, and its node. The trace is also a mode, so that operators
which get no traced value are recorded too; what they are given are constants of the graph.

    number  TracedNumber, a Python float that is an input
    tensor  TracedTensor, a value and its node; what it says when its data is asked for
    trace   Trace, a graph that is being made: constants, outputs, lines
    kernel  the kernel of an operator that is recorded, in C
    layer   the layer
"""

from typing import TYPE_CHECKING

from ...core.lazy import names_of

if TYPE_CHECKING:
    from .kernel import metadata
    from .number import SEEN_BY_NUMPY, TracedNumber
    from .tensor import TracedTensor
    from .trace import TRACE, Trace
else:
    __getattr__, __dir__ = names_of(
        globals(),
        {".kernel": "metadata", ".number": "SEEN_BY_NUMPY TracedNumber", ".tensor": "TracedTensor", ".trace": "TRACE Trace"},
    )

__all__ = ["SEEN_BY_NUMPY", "TRACE", "Trace", "TracedNumber", "TracedTensor", "metadata"]
