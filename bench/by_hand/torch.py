"""torch.library.custom_op around np.sin, with a fake rule and a backward that is an operator, as torch's tutorial has it."""

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.by_hand.sine import sin
from bench.timing import Case
from dispatch.interop.torch import export

BOUND = 1.1
SIZES = (3, 10_000)


@torch.library.custom_op("by_hand_torch::sin", mutates_args=())
def torch_sin(x: Tensor) -> Tensor:
    """The same kernel."""
    return torch.from_numpy(np.sin(x.numpy()))


@torch.library.custom_op("by_hand_torch::sin_backward", mutates_args=())
def torch_sin_backward(g: Tensor, x: Tensor) -> Tensor:
    """The same backward; an operator, so that torch.compile does not look into it."""
    return torch.from_numpy(g.numpy() * np.cos(x.numpy()))


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


torch_sin.register_fake(torch.empty_like)
torch_sin_backward.register_fake(lambda g, x: torch.empty_like(x))
torch_sin.register_autograd(lambda ctx, g: torch_sin_backward(g, *ctx.saved_tensors), setup_context=_save)


@cache
def cases() -> dict[str, tuple[Case, Case]]:
    """A plain call, a recorded one, and one with its backward."""
    exported = export(sin)
    found = {}
    for size in SIZES:
        x, g = torch.rand(size, dtype=torch.float64), torch.ones(size, dtype=torch.float64)
        names = {"x": x, "y": x.clone().requires_grad_(), "g": g, "grad": torch.autograd.grad}
        for what, call in (
            ("forward", "op(x)"),
            ("forward, recorded", "op(y)"),
            ("forward and backward", "grad(op(y), y, g)"),
        ):
            ours, hand = ({**names, "op": op} for op in (exported, torch_sin))
            found[f"torch, {what}, {size} numbers"] = Case(call, ours), Case(call, hand)
    return found
