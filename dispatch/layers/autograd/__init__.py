"""The tape: reverse-mode differentiation as a layer.

    grad_mode      whether it records: no_grad, enable_grad
    saved_tensors  protects what is kept from later writes
    node, record   the graph; how a call becomes a node of it; hooks, what users put into it; visualize, its picture and bytes
    engine         the walk back; cotangents, what it makes of gradients; inputs, the walk to chosen values
    anomaly        names the line whose backward fails
    tensor         TrackedTensor, its methods; leaf, how a value comes onto the tape
    backward, checkpoint   what users call beside it
    context        ctx, the node of a user's rule; residuals, rules that read a Residual
    kernels        the kernels that record; pullbacks and user_rules, the two kinds of rules
    inplace        operators that write, and what is made to be written to
    layer          which of them an operator gets
"""

from ...dispatcher.layer import CONSTANT
from .anomaly import detect_anomaly
from .checkpoints import checkpoint
from .engine import run_backward
from .grad_mode import enable_grad, no_grad, set_grad_enabled
from .gradients import backward, grad, nbytes
from .leaf import track
from .node import Leaf, Node
from .pullback_rules import Pullback, Pullbacks, pullbacks
from .saved_tensors import protect
from .tensor import TrackedTensor, one
from .user_rules import Rule

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
    "nbytes",
    "no_grad",
    "one",
    "protect",
    "pullbacks",
    "run_backward",
    "set_grad_enabled",
    "track",
]
