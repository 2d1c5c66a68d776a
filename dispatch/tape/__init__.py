"""The tape: reverse-mode differentiation as a layer.

    modes     whether it records: no_grad, enable_grad
    saving    what is kept cannot be changed behind its back
    node      the graph
    engine    the walk back
    tensor    TrackedTensor, tensor, backward
    context   ctx, the node of a user's rule
    rows, recorded   how a row's pullbacks and a user's functions become kernels that record
    written   operators that write, and what is made to be written to
    layer     which of them an operator gets
"""

from ..layer import CONSTANT
from .engine import run_backward
from .layer import layer
from .modes import enable_grad, no_grad, set_grad_enabled
from .node import Leaf, Node, zeros
from .recorded import Rule
from .rows import Pullback, Pullbacks, pullbacks
from .saving import protect
from .tensor import TrackedTensor, one, tensor, track

__all__ = [
    "CONSTANT",
    "Leaf",
    "Node",
    "Pullback",
    "Pullbacks",
    "Rule",
    "TrackedTensor",
    "enable_grad",
    "layer",
    "no_grad",
    "one",
    "protect",
    "pullbacks",
    "run_backward",
    "set_grad_enabled",
    "tensor",
    "track",
    "zeros",
]
