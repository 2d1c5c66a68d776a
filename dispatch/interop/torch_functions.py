"""Torch functions as operators: a NumPy program calls a neural net, and differentiates through it.

The operator from a list of arrays to a list of arrays (wrapped_functions.py) runs the function. Its backward is the same kind
of operator, around `torch.func.vjp` of the function, and its batch one around `torch.vmap`; so these have a backward and a
batch of their own.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import DispatchKey, OpOverload
from ..core.optional import require
from ..core.wrong_calls import clear
from ..errors import AliasError, OutputError, UnsupportedError, kind_of
from ..operators.registry import build
from ..schema.schema import Schema
from .derived_operators import fresh, has_derivative
from .torch_values import Tensor, array_of, numpy_dtype, tensor_of, torch_dtype
from .wrapped_functions import Framework, Run, wrapped

torch = require("torch", "torch", needed_by="dispatch.interop.torch")


@clear
def wrap(fn: Callable[..., Any], name: str | None = None, *, schema: str | None = None) -> OpOverload:
    """Make an operator of a torch function, with gradients of any order, tangents, batches and shapes.

    Parameters
    ----------
    fn : callable
        Takes and returns tensors: a function, or a `torch.nn.Module`. It must not write to its arguments.
    name : str, optional
        `"ns::name"`, by which the operator is registered. Without it the operator has no name, and cannot be pickled.
    schema : str, optional
        The arguments and results, as in `define`; by default a Tensor for each parameter without a default, and one Tensor
        returned.

    Returns
    -------
    OpOverload
        Takes and returns arrays. A backward runs the function again. The parameters of a module are constants to it; for their
        gradients make them an argument, by `torch.func.functional_call`.

    Examples
    --------
    >>> import numpy as np, torch, dispatch
    >>> layer = torch.nn.Linear(2, 1).double()
    >>> net = wrap(lambda p, x: torch.func.functional_call(layer, p, x), schema="(Dict(str, Tensor) p, Tensor x) -> Tensor")
    >>> p = {"weight": np.array([[1.0, 2.0]]), "bias": np.array([0.5])}
    >>> dispatch.grad(lambda p: np.sum(net(p, np.ones((3, 2)))))(p)
    {'weight': array([[3., 3.]]), 'bias': array([3.])}
    """
    return wrapped(fn, name, schema, FRAMEWORK)


def flat_operator(name: str, run: Run, fn: Any) -> OpOverload:
    """The operator of a torch function from a list of tensors to a list of tensors."""
    op = build(Schema.parse("(Tensor[] xs) -> Tensor[]", name=name))
    pulls: dict[tuple[int, ...], OpOverload] = {}
    batches: dict[tuple[Any, ...], OpOverload] = {}

    here, known = threading.local(), name.removesuffix("_flat")

    def kernel(xs: Sequence[Any]) -> list[Any]:
        tensors, before = [tensor_of(x) for x in xs], torch.random.get_rng_state()
        versions = [x._version for x in tensors]  # noqa: SLF001  torch's count of writes, which it has under no other name
        try:
            with torch.no_grad():
                out = run(tensors)
        except RuntimeError as error:
            if "dtype" in str(error) or "scalar type" in str(error):
                error.add_note(
                    f"{known}: an array of NumPy is float64 where nothing else was asked, and a module of torch float32. Give "
                    "x.astype(np.float32); or make the module of the other, module.double()."
                )
            raise
        here.drew = not torch.equal(before, torch.random.get_rng_state())
        for i, x in enumerate(tensors):
            if x._version != versions[i]:  # noqa: SLF001
                raise AliasError(
                    f"{known}: the torch function wrote to tensor {i} of its arguments, which the caller's array is. Write "
                    "to a copy, x.clone().",
                    operator=name,
                )
        return fresh([_array(x, name) for x in out], list(xs))

    def fake(xs: Sequence[Any]) -> list[Any]:
        with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():  # noqa: SLF001
            out = run([torch.empty(tuple(map(int, x.shape)), dtype=torch_dtype(np.dtype(x.dtype))) for x in xs])
        return [np.empty_like(xs[0], shape=tuple(x.shape), dtype=numpy_dtype(x.dtype)) for x in out]

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        drew, here.drew = getattr(here, "drew", False), False  # of this call: a fake one runs no kernel
        if drew:
            raise UnsupportedError(
                f"{known}: the torch function drew random numbers, and its backward runs it again, with others. Give what is "
                "drawn as an argument; of a net with dropout write net.eval().",
                operator=name,
            )
        ctx.save_for_backward(*inputs[0])
        ctx.floats = [i for i, x in enumerate(output) if has_derivative(x)]

    def backward(ctx: Any, grads: Any) -> Any:
        xs = list(ctx.saved_tensors)
        wrt = tuple([i for i, need in enumerate(ctx.needs_input_grad[0]) if need])
        key = (*wrt, -1, *ctx.floats)
        if key not in pulls:
            pulls[key] = flat_operator(f"{name}_backward", pulled(run, len(xs), wrt, ctx.floats), fn)
        found = dict(zip(wrt, pulls[key]([*xs, *[grads[i] for i in ctx.floats]]), strict=True))
        return [found.get(i) for i in range(len(xs))]

    def rule(info: Any, in_dims: Any, xs: Any) -> Any:
        dims = tuple(in_dims[0])
        key = (info.randomness, *dims)
        if key not in batches:
            mapped_run = torch.vmap(run, in_dims=(list(dims),), randomness=info.randomness)
            batches[key] = flat_operator(f"{name}_batch", mapped_run, fn)
        return batches[key](xs), 0

    op.register_at(DispatchKey.CPU, kernel)
    op.register_fake(fake)
    op.register_autograd(backward, setup_context=setup_context)
    op.register_vmap(rule)
    return op


def pulled(run: Run, count: int, wrt: Sequence[int], floats: Sequence[int]) -> Run:
    """The function of gradients of some of a function's tensors, out of all of them and the cotangents."""

    def run_back(tensors: list[Any]) -> list[Any]:
        xs = tensors[:count]

        def of(*moving: Any) -> tuple[Any, ...]:
            given = dict(zip(wrt, moving, strict=True))
            out = run([given.get(i, x) for i, x in enumerate(xs)])
            return tuple([out[i] for i in floats])

        return list(torch.func.vjp(of, *[xs[i] for i in wrt])[1](tuple(tensors[count:])))

    return run_back


def _array(x: Any, name: str) -> Any:
    if not isinstance(x, Tensor):
        raise OutputError(f"{name}: the torch function returned {kind_of(x)}, and its schema says Tensor.", operator=name)
    kept = x.requires_grad or x._is_view()  # noqa: SLF001  a parameter, or a part of one: a write to the result must not reach it
    return np.array(array_of(x), order="C", copy=True if kept else None)


FRAMEWORK = Framework(
    "torch",
    lambda x: isinstance(x, Tensor),
    lambda fn: fn.forward if isinstance(fn, torch.nn.Module) else fn,
    flat_operator,
)
