"""Gradients and their checks."""

from .tape import enable_grad, no_grad, set_grad_enabled
from .testing import gradcheck
from .transforms import grad, value_and_grad

__all__ = ["enable_grad", "grad", "gradcheck", "no_grad", "set_grad_enabled", "value_and_grad"]
