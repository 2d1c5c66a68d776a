"""Gradients and their checks."""

from typing import TYPE_CHECKING

from .core.lazy import names_of
from .layers.autograd import backward, detect_anomaly, enable_grad, grad, nbytes, no_grad, set_grad_enabled

if TYPE_CHECKING:
    from .layers.autograd.checkpoints import checkpoint
    from .testing import gradcheck
else:
    __getattr__, __dir__ = names_of(globals(), {".layers.autograd.checkpoints": "checkpoint", ".testing": "gradcheck"})

__all__ = [
    "backward",
    "checkpoint",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "nbytes",
    "no_grad",
    "set_grad_enabled",
]
