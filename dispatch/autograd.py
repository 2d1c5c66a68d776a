"""Gradients and their checks."""

from .layers.autograd import backward, checkpoint, detect_anomaly, enable_grad, grad, nbytes, no_grad, set_grad_enabled
from .testing import gradcheck

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
