"""torch.library's lower level: a schema by `Library.define`, a kernel by `Library.impl`, called as an OpOverload."""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from bench.peers.torch_tensors import ones, transformed
from bench.timing import Case
from bench.workload import Function, added, plain, pull_product, save_inputs

label = "torch Library.impl"
library = torch.library.Library("bench_library", "DEF")


def operator(name: str, kernel: Function) -> Any:
    """An operator with a kernel for the CPU and nothing else."""
    schema = torch.library.infer_schema(kernel, mutates_args=())
    library.define(name + schema)
    library.impl(name, kernel, "CPU")
    return getattr(torch.ops.bench_library, name).default


def addition() -> Any:
    """An operator that adds, with every rule."""
    name = "bench_library::add"
    library.define("add(Tensor x0, Tensor x1) -> Tensor")
    library.impl("add", kernel_of_add, "CPU")
    op = torch.ops.bench_library.add.default
    torch.library.register_fake(name, lambda x0, x1: torch.empty_like(x0), lib=library)
    torch.library.register_autograd(name, lambda ctx, g: (g, g), lib=library)
    torch.library.register_vmap(name, lambda info, in_dims, x0, x1: (op(x0, x1), 0), lib=library)
    return op


def product() -> Any:
    """An operator that multiplies, with a gradient in the documented form."""
    library.define("multiply(Tensor x0, Tensor x1) -> Tensor")
    library.impl("multiply", torch.mul, "CPU")
    torch.library.register_autograd("bench_library::multiply", pull_product, setup_context=save_inputs, lib=library)
    return torch.ops.bench_library.multiply.default


@cache
def cases() -> dict[str, Case]:
    """Every case; the plain addition is an operator without a gradient, which is what costs least here."""
    bare = operator("bare_add", kernel_of_add)
    return plain(operator, Tensor, ones) | added(bare, kernel_of_add, ones) | transformed(addition(), product(), torch.mul)


def kernel_of_add(x0: Tensor, x1: Tensor) -> Tensor:
    """The kernel of the plain addition."""
    return torch.add(x0, x1)
