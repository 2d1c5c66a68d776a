"""The operator that is exported to torch and to JAX: np.sin, with a fake rule and a backward."""

from typing import Any

import numpy as np

from dispatch import custom_op


@custom_op("by_hand::sin", mutates_args=())
def sin(x: np.ndarray) -> np.ndarray:
    """The kernel."""
    return np.sin(x)


@sin.register_fake
def _(x: Any) -> Any:
    return np.empty_like(x)


@sin.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
def _(ctx: Any, g: Any) -> Any:
    (x,) = ctx.saved_tensors
    return g * np.cos(x)
