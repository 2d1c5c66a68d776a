"""torch.autograd.Function: a gradient written by hand, without a schema."""

from typing import Any

import torch
from torch import Tensor

from bench.peers.torch_tensors import batched, ones, tracked
from bench.timing import Case
from bench.workload import added, pull_product

label = "torch.autograd.Function"


class Addition(torch.autograd.Function):  # type: ignore[misc]
    """Addition with its gradient, in the form that is called fastest: setup_context apart costs a call 10 us more."""

    @staticmethod
    def forward(_ctx: Any, x0: Tensor, x1: Tensor) -> Tensor:
        """The kernel; nothing is kept, for addition's gradient reads nothing."""
        return torch.add(x0, x1)

    @staticmethod
    def backward(_ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
        """The incoming gradient, twice."""
        return g, g


class Product(torch.autograd.Function):  # type: ignore[misc]
    """A product that saves its inputs, in the form that is called fastest."""

    @staticmethod
    def forward(ctx: Any, x0: Tensor, x1: Tensor) -> Tensor:
        """The kernel, after the inputs are saved."""
        ctx.save_for_backward(x0, x1)
        return torch.mul(x0, x1)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        """The incoming gradient times each input, for the other."""
        return pull_product(ctx, g)


class BatchedAddition(torch.autograd.Function):  # type: ignore[misc]
    """Addition with a batching rule, which needs setup_context apart."""

    @staticmethod
    def forward(x0: Tensor, x1: Tensor) -> Tensor:
        """The kernel."""
        return torch.add(x0, x1)

    @staticmethod
    def setup_context(_ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        """Nothing is kept."""

    @staticmethod
    def backward(_ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
        """The incoming gradient, twice."""
        return g, g

    @staticmethod
    def vmap(_info: Any, _in_dims: tuple[int, int], x0: Tensor, x1: Tensor) -> tuple[Tensor, int]:
        """One call for the whole batch."""
        return BatchedAddition.apply(x0, x1), 0


def cases() -> dict[str, Case]:
    """The calls of one addition: without a schema, more arrays say nothing new."""
    return added(Addition.apply, torch.add, ones) | tracked(Product.apply, torch.mul) | batched(BatchedAddition.apply)
