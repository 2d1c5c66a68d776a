"""What type checkers see of the package: mypy and pyright hold each line, and nothing here runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import dispatch
from dispatch import OpOverload, Residual, custom_op
from dispatch.compiler.exported_program import ExportedProgram
from dispatch.graph import Graph
from dispatch.layers.autograd import TrackedTensor
from dispatch.testing import opcheck
from dispatch.testing.report import Report

Array = NDArray[np.float64]
x: Array = np.ones(3)
flag: bool = bool(x.size)


# -- values ----------------------------------------------------------------------------------------------------------------

t = dispatch.tensor(x, requires_grad=True)
assert_type(t, TrackedTensor)
assert_type(dispatch.tensor([1.0], dtype=np.float32, requires_grad=True), TrackedTensor)
assert_type(dispatch.tensor(x), NDArray[Any])
assert_type(dispatch.tensor([1, 2]), NDArray[Any])
assert_type(dispatch.tensor(x, requires_grad=flag), Any)
assert_type(t * 2, TrackedTensor)
assert_type(2 / t, TrackedTensor)
assert_type(t[1:].sum(axis=0), TrackedTensor)
assert_type(t.shape, tuple[int, ...])
assert_type(t.backward(), None)
assert_type(dispatch.FakeTensorMode().from_array(x), dispatch.FakeTensor)
np.sin(t)


# -- operators -------------------------------------------------------------------------------------------------------------


@custom_op("typing::scale", mutates_args=())
def scale(x: Array, factor: float = 2.0) -> Array:
    return x * factor


@custom_op("typing::pair", mutates_args=())
def pair(x: Array) -> tuple[Array, Array]:
    return x + 1, x + 2


@custom_op("typing::factorised", mutates_args=())
def factorised(x: Array) -> tuple[Array, Residual]:
    return x + 1, {"any": "object"}


@custom_op("typing::factorised_pair", mutates_args=())
def factorised_pair(x: Array) -> tuple[Array, float, Residual]:
    return x + 1, 2.0, [1, 2]


@custom_op("typing::zero_", mutates_args=("x",))
def zero_(x: Array) -> None:
    x[...] = 0


@dataclass
class State:
    position: Array
    time: float


@custom_op("typing::advance", mutates_args=())
def advance(state: State, dt: float) -> State:
    return State(state.position + dt, state.time + dt)


assert_type(scale(x), Array)
assert_type(scale(x, factor=3.0), Array)
assert_type(scale(np.sum(x)), Any)
assert_type(pair(x), tuple[Array, Array])
assert_type(factorised(x), Array)
assert_type(factorised_pair(x), tuple[Array, float])
assert_type(zero_(x), None)
assert_type(advance(State(x, 0.0), 0.1), State)
assert_type(scale.name, str)
assert_type(scale.epoch, int)
assert_type(dispatch.from_ufunc(np.arctan2), OpOverload)


# -- verbs -----------------------------------------------------------------------------------------------------------------


@scale.register_fake
def fake(x: Array, factor: float) -> Array:
    return np.empty_like(x)


def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.factor = inputs[1]


@scale.register_autograd(setup_context=setup_context)
def backward(ctx: Any, g: Array) -> tuple[Any, None]:
    return g * ctx.factor, None


@scale.register_vmap
def batched(info: Any, in_dims: tuple[Any, ...], x: Array, factor: float) -> tuple[Any, int]:
    return scale(np.moveaxis(x, in_dims[0], 0), factor), 0


@scale.register_kernel("cuda")
def on_cuda(x: Any, factor: float) -> Any:
    return x * factor


assert_type(fake(x, 2.0), Array)
assert_type(backward(None, x), tuple[Any, None])
scale.register_autograd(elementwise=lambda x, factor: factor)
scale.register_jvp(lambda tangents, output, x, factor: factor * tangents[0])
scale.register_vmap("broadcast_all")
assert_type(opcheck(scale, (t, 2.0)), Report)


# -- transforms ------------------------------------------------------------------------------------------------------------


def energy(x: Array, power: int = 2) -> Any:
    return np.sum(scale(x) ** power)


assert_type(dispatch.grad(energy), Callable[..., Any])
dispatch.grad(energy)(x, power=3)
assert_type(dispatch.value_and_grad(energy)(x), tuple[Any, Any])
assert_type(dispatch.vmap(scale)(x), Any)
assert_type(dispatch.jvp(energy, (x,), (x,)), tuple[Any, Any])
assert_type(dispatch.vjp(energy, x), tuple[Any, Callable[[Any], tuple[Any, ...]]])
assert_type(dispatch.jacrev(energy)(x), Any)
assert_type(dispatch.hessian(energy)(x), Any)
assert_type(dispatch.checkpoint(scale)(x), Array)
assert_type(dispatch.functionalize(scale)(x), Array)
assert_type(dispatch.make_fx(energy)(x), Graph)
assert_type(dispatch.export(energy, (x,)), ExportedProgram)
assert_type(dispatch.load("energy.txt")(x), Any)
dispatch.grad(dispatch.grad(scale))(0.5)
dispatch.grad(np.sin)(0.5)
dispatch.grad(np.sum)(x)
dispatch.vmap(np.dot, in_dims=(0, None))(x, x)


@dispatch.no_grad()
def constant(x: Array) -> Array:
    return x * 2


assert_type(constant(x), Array)
with dispatch.no_grad(), dispatch.FakeTensorMode() as mode:
    assert_type(mode.from_array(x), dispatch.FakeTensor)


# -- rules given by name, as torch.library has them -------------------------------------------------------------------------------


@dispatch.library.register_fake("typing::scale")
def scale_fake(x: Array, factor: float) -> Array:
    return np.empty_like(x)


@dispatch.library.register_kernel("typing::scale", "cuda")
def scale_on_cuda(x: Array, factor: float) -> Array:
    return x * factor


@dispatch.library.register_vmap(scale)
def scale_batch(info: Any, in_dims: Any, x: Array, factor: float) -> tuple[Array, int]:
    return x * factor, 0


@dispatch.library.register_jvp(scale)
def scale_forward(tangents: Any, output: Array, x: Array, factor: float) -> Array:
    return output


@dispatch.library.register_autograd("typing::scale", setup_context=lambda ctx, inputs, output: None)
def scale_backward(ctx: Any, g: Array) -> tuple[Array, None]:
    return g, None


@custom_op("typing::keyed", mutates_args=())
def keyed(x: Array, *, factor: float) -> Array:
    return x * factor


def keeps(ctx: Any, inputs: tuple[Any, ...], keyword_only_inputs: dict[str, Any], output: Any) -> None:
    ctx.factor = keyword_only_inputs["factor"]


@keyed.register_autograd(setup_context=keeps)
def keyed_backward(ctx: Any, g: Array) -> tuple[Array, None]:
    return g * ctx.factor, None


@dispatch.compile(dynamic=True)
def compiled(x: Array) -> Array:
    return x + 1


assert_type(scale_fake(x, 2.0), Array)
assert_type(scale_on_cuda(x, 2.0), Array)
assert_type(scale_batch(None, (0,), x, 2.0), tuple[Array, int])
assert_type(scale_forward((x,), x, x, 2.0), Array)
assert_type(scale_backward(None, x), tuple[Array, None])
assert_type(keyed_backward(None, x), tuple[Array, None])
assert_type(dispatch.register_autograd(scale, elementwise=1.0), None)
