"""The tape: reverse-mode differentiation as a layer.

    modes     whether it records: no_grad, enable_grad
    saving    what is kept cannot be changed behind its back
    node      the graph; hooks, what users put into it; drawing, its picture and its bytes
    engine    the walk back; fitting, what it makes of gradients; paths, the walk to chosen values
    anomaly   which line called what fails
    tensor    TrackedTensor, its methods; making, how a value comes onto the tape
    gradients, checkpoint   what users call beside it
    context   ctx, the node of a user's rule
    rows, recorded   how a row's pullbacks and a user's functions become kernels that record
    written   operators that write, and what is made to be written to
    layer     which of them an operator gets
"""

from ..layer import CONSTANT
from .anomaly import detect_anomaly
from .checkpoint import checkpoint
from .engine import run_backward
from .gradients import backward, grad, nbytes
from .layer import layer
from .making import tensor, track
from .modes import enable_grad, no_grad, set_grad_enabled
from .node import Leaf, Node, zeros
from .recorded import Rule
from .rows import Pullback, Pullbacks, pullbacks
from .saving import protect
from .tensor import TrackedTensor, one

__all__ = [
    "CONSTANT",
    "Leaf",
    "Node",
    "Pullback",
    "Pullbacks",
    "Rule",
    "TrackedTensor",
    "backward",
    "checkpoint",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "layer",
    "nbytes",
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
