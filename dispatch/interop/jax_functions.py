"""JAX functions as operators: a NumPy program calls a neural net, and differentiates through it.

The operator from a list of arrays to a list of arrays (wrapped_functions.py) runs the function. Its backward is the same kind
of operator, around `jax.vjp` of the function, its tangents one around `jax.jvp`, and its batch one around `jax.vmap`; so these
have a backward, tangents and a batch of their own. Of a function that is jitted they are jitted too.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import DispatchKey, OpOverload
from ..core.optional import require
from ..core.wrong_calls import clear
from ..errors import OutputError, UnsupportedError, kind_of
from ..operators.registry import build
from ..schema.schema import Schema
from .derived_operators import fresh, has_derivative
from .jax_values import Array, callbacks, check_width, has_kind_of_derivative, numpy_dtype
from .wrapped_functions import Framework, Run, wrapped

jax = require("jax", "jax", needed_by="dispatch.interop.jax")


@clear
def wrap(fn: Callable[..., Any], name: str | None = None, *, schema: str | None = None) -> OpOverload:
    """Make an operator of a JAX function, with gradients of any order, tangents, batches and shapes.

    Parameters
    ----------
    fn : callable
        Takes and returns arrays of JAX. With `jax.jit` around it, what is derived of it is compiled as well.
    name : str, optional
        `"ns::name"`, by which the operator is registered. Without it the operator has no name, and cannot be pickled.
    schema : str, optional
        The arguments and results, as in `define`; by default a Tensor for each parameter without a default, and one Tensor
        returned.

    Returns
    -------
    OpOverload
        Takes and returns arrays. A backward runs the function again. What `export` makes of it calls the function itself.

    Examples
    --------
    >>> import numpy as np, jax, jax.numpy as jnp, dispatch
    >>> net = wrap(jax.jit(lambda p, x: jnp.tanh(x @ p["w"]) + p["b"]), schema="(Dict(str, Tensor) p, Tensor x) -> Tensor")
    >>> p = {"w": np.zeros((2, 1), "f4"), "b": np.ones(1, "f4")}
    >>> net(p, np.ones((3, 2), "f4")).shape
    (3, 1)
    >>> dispatch.grad(lambda p: np.sum(net(p, np.ones((3, 2), "f4"))))(p)
    {'w': array([[3.],
           [3.]], dtype=float32), 'b': array([3.], dtype=float32)}
    """
    return wrapped(fn, name, schema, FRAMEWORK)


def flat_operator(name: str, run: Run, fn: Any) -> OpOverload:
    """The operator of a JAX function from a list of arrays to a list of arrays."""
    op = build(Schema.parse("(Tensor[] xs) -> Tensor[]", name=name))
    made: dict[tuple[Any, ...], OpOverload] = {}
    compiled = jax.jit if isinstance(fn, jax.stages.Wrapped) else lambda f: f

    def derived(what: str, derive: Callable[..., Run], *key: Any) -> OpOverload:
        if (what, key) not in made:
            made[what, key] = flat_operator(f"{name}_{what}", compiled(derive(run, *key)), fn)
        return made[what, key]

    def kernel(xs: Sequence[Any]) -> list[Any]:
        if callbacks.depth:
            raise UnsupportedError(
                f"{name} runs a JAX function, and was called inside of a callback of a program that JAX runs: JAX could wait "
                "for itself forever. Call the function in the program itself, or export the operator alone: that calls it.",
                operator=name,
            )
        out = run([_array_of_jax(x, op) for x in xs])
        return fresh([_array(x, name) for x in out], list(xs))

    def fake(xs: Sequence[Any]) -> list[Any]:
        likes = []
        for x in xs:
            check_width(x.dtype, f"{name} was given", op, "x")
            likes.append(jax.ShapeDtypeStruct(tuple(map(int, x.shape)), numpy_dtype(x.dtype, op)))
        out = jax.eval_shape(run, likes)
        return [np.empty_like(xs[0], shape=tuple(x.shape), dtype=x.dtype) for x in out]

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[0])
        ctx.floats = [i for i, x in enumerate(output) if has_derivative(x)]

    def backward(ctx: Any, grads: Any) -> Any:
        xs = list(ctx.saved_tensors)
        wrt = tuple([i for i, need in enumerate(ctx.needs_input_grad[0]) if need])
        pull = derived("backward", pulled, len(xs), wrt, tuple(ctx.floats))
        found = dict(zip(wrt, pull([*xs, *[grads[i] for i in ctx.floats]]), strict=True))
        return [found.get(i) for i in range(len(xs))]

    def forward(tangents: Any, output: Any, xs: Any) -> Any:
        moves = tangents[0]
        wrt = tuple([i for i, t in enumerate(moves) if t is not None and has_derivative(xs[i])])
        floats = tuple([i for i, x in enumerate(output) if has_derivative(x)])
        push = derived("tangents", pushed, len(xs), wrt, floats)
        found = dict(zip(floats, push([*xs, *[moves[i] for i in wrt]]), strict=True))
        return [found.get(i) for i in range(len(output))]

    def rule(info: Any, in_dims: Any, xs: Any) -> Any:
        return derived("batch", batched, tuple(in_dims[0]))(xs), 0

    op.register_at(DispatchKey.CPU, kernel)
    op.register_fake(fake)
    op.register_autograd(backward, setup_context=setup_context)
    op.register_jvp(forward)
    op.register_vmap(rule)
    return op


def pulled(run: Run, count: int, wrt: Sequence[int], floats: Sequence[int]) -> Run:
    """The function of gradients of some of a function's arrays, out of all of them and the cotangents."""

    def run_back(arrays: list[Any]) -> list[Any]:
        pull = jax.vjp(_of_some(run, arrays[:count], wrt, floats), *[arrays[i] for i in wrt])[1]
        return [_conjugate(g) for g in pull(tuple([_conjugate(g) for g in arrays[count:]]))]

    return run_back


def pushed(run: Run, count: int, wrt: Sequence[int], floats: Sequence[int]) -> Run:
    """The function of tangents of a function's results, out of its arrays and the tangents of some."""

    def run_forward(arrays: list[Any]) -> list[Any]:
        of = _of_some(run, arrays[:count], wrt, floats)
        return list(jax.jvp(of, tuple([arrays[i] for i in wrt]), tuple(arrays[count:]))[1])

    return run_forward


def batched(run: Run, dims: Sequence[int | None]) -> Run:
    """The function over a batch, which is the first axis of its results."""
    mapped_run: Run = jax.vmap(run, in_axes=(list(dims),))
    return mapped_run


def _of_some(run: Run, arrays: Sequence[Any], wrt: Sequence[int], floats: Sequence[int]) -> Callable[..., tuple[Any, ...]]:
    """A function of some of its arrays, to some of its results."""

    def of(*moving: Any) -> tuple[Any, ...]:
        given = dict(zip(wrt, moving, strict=True))
        out = run([given.get(i, x) for i, x in enumerate(arrays)])
        return tuple([out[i] for i in floats])

    return of


def _conjugate(x: Any) -> Any:
    """JAX's cotangent of a complex array is the conjugate of a gradient here."""
    return jax.numpy.conj(x) if has_kind_of_derivative(x.dtype) and x.dtype.kind == "c" else x


def _array_of_jax(x: Any, op: OpOverload) -> Any:
    check_width(x.dtype, f"{op.name} was given", op, "x")
    numpy_dtype(x.dtype, op)
    return jax.numpy.asarray(x)


def _array(x: Any, name: str) -> Any:
    if not _is_array(x):
        raise OutputError(f"{name}: the JAX function returned {kind_of(x)}, and its schema says Tensor.", operator=name)
    return np.array(x)  # a copy: JAX's own memory must not be written to


def _is_array(x: Any) -> bool:
    return isinstance(x, (Array, np.ndarray, np.generic))


FRAMEWORK = Framework("JAX", _is_array, lambda fn: fn, flat_operator)
