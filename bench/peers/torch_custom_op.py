"""torch.library.custom_op: the contract that ours follows, on tensors of the CPU."""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from bench.peers.torch_tensors import ones, transformed
from bench.timing import Case
from bench.workload import Function, added, plain, pull_product, save_inputs

label = "torch custom_op"
array = Tensor
empty_like = torch.empty_like


def operator(name: str, kernel: Function) -> Any:
    """A custom operator whose schema comes from the kernel's hints."""
    return torch.library.custom_op(f"bench_custom_op::{name}", kernel, mutates_args=())


def define(name: str, kernel: Function, fake: Function, setup_context: Function, backward: Function) -> Any:
    """An operator with a shape rule and a gradient."""
    op = torch.library.custom_op(f"bench_defined::{name}", kernel, mutates_args=())
    op.register_fake(fake)
    op.register_autograd(backward, setup_context=setup_context)
    return op


def kernel_of_add(x0: Tensor, x1: Tensor) -> Tensor:
    """torch.add with hints, from which the schema is read."""
    return torch.add(x0, x1)


def addition() -> Any:
    """An operator that adds, with every rule."""
    op = torch.library.custom_op("bench_custom_op::add", kernel_of_add, mutates_args=())
    op.register_fake(lambda x0, x1: torch.empty_like(x0))
    op.register_autograd(lambda ctx, g: (g, g))
    op.register_vmap(lambda info, in_dims, x0, x1: (op(x0, x1), 0))
    return op


def kernel_of_product(x0: Tensor, x1: Tensor) -> Tensor:
    """torch.mul with hints."""
    return torch.mul(x0, x1)


def product() -> Any:
    """An operator that multiplies, with a gradient in the documented form."""
    op = torch.library.custom_op("bench_custom_op::multiply", kernel_of_product, mutates_args=())
    op.register_autograd(pull_product, setup_context=save_inputs)
    return op


@cache
def cases() -> dict[str, Case]:
    """Every case."""
    op = addition()
    return plain(operator, Tensor, ones) | added(op, kernel_of_add, ones) | transformed(op, product(), kernel_of_product)
