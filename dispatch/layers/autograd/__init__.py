"""The tape: reverse-mode differentiation as a layer.

    grad_mode      no_grad, enable_grad: whether calls are recorded
    node, record   Node, a recorded call; how a call becomes one
    tensor, leaf   TrackedTensor; how an array becomes a leaf
    engine         runs backward: from a result to the leaves
    cotangents     gives each gradient the shape and dtype that it must have
    inputs         runs backward to chosen values only
    gradients, checkpoints   backward() and grad(); checkpoint
    gradient_hooks, anomaly, visualize   users' functions in a backward; the line whose backward fails; pictures and bytes
    saved_tensors  protects what is saved from later writes
    context        ctx, which is also the node of a user's rule
    user_rules, pullback_rules   the two kinds of rules: a user's backward; a row's pullbacks
    batched_backward, residuals, derivative_sources   batched=True; rules that read a Residual; the other forms of a derivative
    kernels        the kernels that record
    inplace        operators that write
    layer          gives an operator its kernel
"""

from ...dispatcher.layer import CONSTANT
from .anomaly import detect_anomaly
from .backward_graph import Leaf, Node
from .engine import run_backward
from .grad_mode import enable_grad, no_grad, set_grad_enabled
from .gradients import backward, grad, nbytes
from .leaf import track
from .pullback_rules import Pullback, Pullbacks, pullbacks
from .saved_tensors import protect, protect_argument
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
    "detect_anomaly",
    "enable_grad",
    "grad",
    "nbytes",
    "no_grad",
    "one",
    "protect",
    "protect_argument",
    "pullbacks",
    "run_backward",
    "set_grad_enabled",
    "track",
]
