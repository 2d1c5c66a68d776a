"""HIPS autograd: a primitive called on plain arrays, and on a traced one."""

from collections.abc import Callable
from functools import partial
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd import grad, make_vjp
from autograd.core import VJPNode
from autograd.extend import defvjp, primitive
from autograd.tracer import new_box

from bench.timing import Case
from bench.workload import Function, added, plain

label = "HIPS autograd primitive"
array = np.ndarray
empty_like = np.empty_like


def operator(name: str, kernel: Function) -> Any:
    """A primitive; the name is of no use to it."""
    return primitive(kernel)


def define(name: str, kernel: Function, fake: Function, setup_context: Function, backward: Function) -> Any:
    """A primitive with its gradient; there are no shape rules here."""
    op = primitive(kernel)
    defvjp(op, backward)
    return op


def chain(length: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """``length`` sines one after the other: traced, then pulled back."""
    x, pulled = np.ones(3), []

    def sines(x: np.ndarray) -> np.ndarray:
        for _ in range(length):
            x = anp.sin(x)
        return x

    def forward() -> None:
        pulled.append(make_vjp(sines)(x)[0])

    def backward() -> None:
        pulled.pop()(np.ones(3))

    return forward, backward


def cases() -> dict[str, Case]:
    """The plain calls, one traced call, and the gradient of the sum."""
    ones = partial(np.ones, 3)

    def kernel(x0: np.ndarray, x1: np.ndarray) -> Any:
        return np.multiply(x0, x1)

    # A function around np.multiply: autograd sends a primitive that is itself a ufunc through __array_ufunc__ once more.
    op = primitive(kernel)
    defvjp(op, lambda ans, x0, x1: lambda g: g * x1, lambda ans, x0, x1: lambda g: g * x0)
    gradient = grad(lambda x0, x1: anp.sum(op(x0, x1)))
    x0, x1 = ones(), ones()
    return (
        plain(operator, np.ndarray, ones)
        | added(operator("add", np.add), np.add, ones)
        | {
            "tracked forward": Case(
                "op(t0, x1)",
                {"op": op, "t0": new_box(x0, 0, VJPNode.new_root()), "kernel": kernel, "x0": x0, "x1": x1},
                "kernel(x0, x1)",
            ),
            "forward + backward": Case("gradient(x0, x1)", {"gradient": gradient, "x0": x0, "x1": x1}),
        }
    )
