"""What the torch peers share: one thread, tensors of three float64, the tracked and the transformed calls."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from bench.timing import Case
from bench.workload import Function

torch.set_num_threads(1)


def ones() -> Tensor:
    """A tensor of three float64."""
    return torch.ones(3, dtype=torch.float64)


def tracked(op: Function, kernel: Function) -> dict[str, Case]:
    """The calls with a tensor that requires its gradient; the kernel is called on one that does not."""
    names = {"op": op, "t0": ones().requires_grad_(), "kernel": kernel, "x0": ones(), "x1": ones()}
    return {
        "tracked forward": Case("op(t0, x1)", names, "kernel(x0, x1)"),
        "forward + backward": Case("t0.grad = None; op(t0, x1).sum().backward()", names),
    }


def pushed(op: Function) -> dict[str, Case]:
    """The call with a tangent for each tensor."""
    names = {"jvp": torch.func.jvp, "op": op, "x": (ones(), ones()), "t": (ones(), ones())}
    return {"jvp": Case("jvp(op, x, t)", names)}


def batched(op: Function) -> dict[str, Case]:
    """The call under vmap, over a batch of three."""
    rows = torch.ones(3, 3, dtype=torch.float64)
    return {"vmap": Case("mapped(r0, r1)", {"mapped": torch.vmap(op), "r0": rows, "r1": rows.clone()})}


def faked(op: Function) -> dict[str, Case]:
    """The call under fake mode."""
    mode = FakeTensorMode()
    names = {"op": op, "f0": mode.from_tensor(ones()), "f1": mode.from_tensor(ones())}
    return {"fake": Case("op(f0, f1)", names, within=lambda: mode)}


class Passing(TorchDispatchMode):
    """A mode that calls on."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # torch's own signature
        return func(*args, **(kwargs or {}))


def watched(op: Function) -> dict[str, Case]:
    """The call under a mode of a user; no kernel beside it, for torch's would meet the mode too."""
    return {"mode": Case("op(x0, x1)", {"op": op, "x0": ones(), "x1": ones()}, within=Passing)}


def transformed(op: Function, product: Function, kernel: Function) -> dict[str, Case]:
    """The calls with a gradient, of a product, and under a transform, of an operator with every rule."""
    return tracked(product, kernel) | batched(op) | faked(op) | watched(op)


def chain(length: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """``length`` sines one after the other, and their gradient."""
    x, last = ones().requires_grad_(), []

    def forward() -> None:
        y = x
        for _ in range(length):
            y = torch.sin(y)
        last.append(y)

    def backward() -> None:
        x.grad = None
        last.pop().sum().backward()

    return forward, backward
