"""Ours."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import dispatch
from bench.timing import Case
from bench.workload import Function, added, plain, pull_product, save_inputs
from dispatch.core import Level, wrap

label = "dispatch"
array = np.ndarray
empty_like = np.empty_like


def operator(name: str, kernel: Function) -> Any:
    """A custom operator whose schema comes from the kernel's hints."""
    return dispatch.custom_op(f"bench::{name}", kernel, mutates_args=())


def define(name: str, kernel: Function, fake: Function, setup_context: Function, backward: Function) -> Any:
    """An operator with a shape rule and a gradient."""
    op = dispatch.custom_op(f"bench_defined::{name}", kernel, mutates_args=())
    op.register_fake(fake)
    op.register_autograd(backward, setup_context=setup_context)
    return op


def addition() -> Any:
    """np.add as an operator, with every rule."""
    op = dispatch.custom_op("bench::add", np.add, mutates_args=(), schema="(Tensor x0, Tensor x1) -> Tensor")
    op.register_fake(lambda x0, x1: np.empty_like(x0))
    op.register_autograd(lambda ctx, g: (g, g))
    op.register_jvp(lambda tangents, output, x0, x1: tangents[0] + tangents[1])
    op.register_vmap(lambda info, in_dims, x0, x1: (op(x0, x1), 0))
    return op


def product() -> Any:
    """np.multiply as an operator, with a gradient in the documented form."""
    op = dispatch.custom_op("bench::multiply", np.multiply, mutates_args=(), schema="(Tensor x0, Tensor x1) -> Tensor")
    op.register_autograd(pull_product, setup_context=save_inputs)
    return op


def written(x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
    """A kernel that says it writes to its first array, and gives it back."""
    return x0


def chain(length: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """``length`` sines one after the other, and their gradient."""
    sin = dispatch.ops.np.sin
    x, last = dispatch.tensor(np.ones(3), requires_grad=True), []

    def forward() -> None:
        y = x
        for _ in range(length):
            y = sin(y)
        last.append(y)

    def backward() -> None:
        x.grad = None
        last.pop().sum().backward()

    return forward, backward


def jvp(op: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Value and tangent of one call."""
    with Level("jvp") as level:
        out = op(*[wrap(dispatch.DualTensor, x, level, t) for x, t in zip(primals, tangents, strict=True)])
        return out.value, out.tangent


class Passing(dispatch.Mode):
    """A mode that calls on."""

    def __dispatch__(self, op: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return op(*args, **kwargs)


@cache
def cases() -> dict[str, Case]:
    """Every case."""
    ones = partial(np.ones, 3)
    op = addition()
    mutable = dispatch.custom_op("bench::written", written, mutates_args=("x0",), tags=dispatch.Tag.inplace)
    arrays = {"x0": ones(), "x1": ones()}
    tracked = {
        "op": product(),
        "t0": dispatch.tensor(ones(), requires_grad=True),
        "kernel": np.multiply,
        "x0": ones(),
        "x1": ones(),
    }
    mode = dispatch.FakeTensorMode()
    fakes = {"op": op, "f0": mode.from_array(ones()), "f1": mode.from_array(ones())}
    rows = {"mapped": dispatch.vmap(op), "r0": np.ones((3, 3)), "r1": np.ones((3, 3))}
    return (
        plain(operator, np.ndarray, ones)
        | added(op, np.add, ones)
        | {
            "mutable": Case("op(x0, x1)", {"op": mutable, "kernel": written, **arrays}, "kernel(x0, x1)"),
            "tracked forward": Case("op(t0, x1)", tracked, "kernel(x0, x1)"),
            "forward + backward": Case("t0.grad = None; op(t0, x1).sum().backward()", tracked),
            "jvp": Case("jvp(op, x, t)", {"jvp": jvp, "op": op, "x": (ones(), ones()), "t": (ones(), ones())}),
            "vmap": Case("mapped(r0, r1)", rows),
            "fake": Case("op(f0, f1)", fakes, within=lambda: mode),
            "mode": Case("op(x0, x1)", {"op": op, "x0": ones(), "x1": ones()}, within=Passing),
        }
    )
