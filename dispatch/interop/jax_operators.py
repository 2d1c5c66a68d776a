"""Exports an operator to JAX: as two primitives, with the rules that JAX's transforms ask for.

    call     an operator on arrays
    linear   its derivative, linear in tangents

A gradient, a tangent and a batch are operators too (derived_operators.py), so each rule is one more call:

    jvp of call          call, and linear
    transpose of linear  call of the pullback
    batch of call        call of the batch;  of linear: linear, of the batch
    jvp of linear        linear, of the pushforward

That is how JAX defines its own functions. From these it makes `grad` of any order, `jvp`, `linearize`, `vmap`, and all
nestings, where `custom_vjp` and `custom_jvp` have one of the two modes each.

In a compiled program a call is a callback. `jax.pure_callback` calls into JAX on the way to the function, which waits for
threads that may wait for the callback; its lowering underneath gives NumPy arrays, so that nothing of JAX runs inside.

More than 350 lines, because the primitives, their rules and the calls that these make refer to each other.
"""

import inspect
from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..core import DispatchKey, OpOverload
from ..core.optional import require
from ..core.overload import bound
from ..errors import UnsupportedError
from ..schema.tags import Tag
from ..schema.types import TENSOR
from .derived_operators import batch_of, is_array, kept_on, pullback_of, pushforward_of, runs_apart
from .jax_errors import sent
from .jax_ffi import attributes, registered
from .jax_values import (
    Array,
    Call,
    Tracer,
    array_of_jax,
    array_of_result,
    at_once,
    callbacks,
    device_of_call,
    has_kind_of_derivative,
    moves,
    taken_apart,
)
from .places import Place, apart, put
from .wrapped_functions import Function

jax = require("jax", "jax", needed_by="dispatch.interop.jax")
ad = require("jax.interpreters.ad", "jax")
batching = require("jax.interpreters.batching", "jax")
mlir = require("jax.interpreters.mlir", "jax")
Primitive = require("jax.extend.core", "jax").Primitive



def exported(op: OpOverload) -> "Exported":
    """What an operator is to JAX, made once for each definition of the operator."""
    return kept_on(op, "__jax__", Exported)


class Exported:
    """The function that JAX programs call, with the operator's own parameters.

    Attributes
    ----------
    op : OpOverload
    targets : dict
        By a platform, the name of the XLA FFI target that runs there in place of a callback.
    """

    def __init__(self, op: OpOverload) -> None:
        if op.schema.is_mutable:
            raise UnsupportedError(
                f"{op.name} cannot be exported to JAX: it writes to its arguments, and an array of JAX never changes. Export "
                f"the form that returns what it writes: export({op.schema.name}.functional).",
                operator=op.name,
            )
        self.op = op
        self.targets: dict[str, str] = {}
        self.__name__ = self.__qualname__ = op.schema.name
        self.__doc__ = vars(op).get("__doc__")
        self.__module__ = vars(op).get("__module__") or __name__
        self.__signature__ = inspect.signature(op)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        given = bound(self.op, args, keywords)
        call, operands = taken_apart(self.op, given)
        if (function := function_of(self.op)) is not None:
            return function.of_framework(given)
        if not self.targets and not any([isinstance(x, Tracer) for x in operands]):
            return at_once(self.op, call, operands)
        operands = [x if isinstance(x, Array) else jax.numpy.array(x) for x in operands]
        return put(template_of(call, operands), call_p.bind(*operands, call=call))

    def runs(self, handler: Any, platform: str) -> None:
        """Let an XLA FFI handler run in programs for a platform."""
        self.targets[platform.lower()] = registered(self.op, handler, platform)

    def __repr__(self) -> str:
        return f"<{self.op.name} exported to JAX>"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return loaded, (self.op,)


def loaded(op: Any) -> Any:
    """Export an operator that was pickled; one that is not known in this process stays what says so when it is called."""
    return exported(op) if isinstance(op, OpOverload) else op


def function_of(op: OpOverload) -> Function | None:
    """The JAX function that an operator wraps: it goes through all of JAX as it is."""
    found = op.table.live(DispatchKey.CompositeImplicit)
    function = None if found is None else found.rule
    return function if isinstance(function, Function) and function.framework.word == "JAX" else None


# -- the calls that are asked for beside the value ---------------------------------------------------------------------------


def template_of(call: Call, likes: Sequence[Any]) -> Any:
    """The result of a call, with a `Place` for each array."""
    returns = call.op.schema.returns
    return Place(0) if len(returns) == 1 and returns[0].type == TENSOR else call.shapes(likes)[0]


class Derivative:
    """The derivative of a call with respect to some of its arrays.

    Its operands are the arrays of the call, those of its results where the kernel need not run again, and tangents.

    Attributes
    ----------
    call : Call
    wrt : tuple of int
    count : int
        How many arrays the call has.
    results : range
        The operands that are results.
    depth : int
        How many axes of batches the tangents have, in front, and the arrays have not.
    """

    __slots__ = ("_key", "_results", "call", "count", "depth", "results", "wrt")

    def __init__(self, call: Call, wrt: Sequence[int], count: int, template: Any = None, results: int = 0) -> None:
        self.call, self.wrt, self.count, self.depth = call, tuple(wrt), count, 0
        self.results = range(count, count + results)
        self._results: tuple[Any, ...] = ()
        if results:
            shifted = put(template, list(map(Place, self.results)))
            self._results = (shifted,) if len(call.op.schema.returns) == 1 else tuple(shifted)
        self._key = call, self.wrt, self.results

    def __eq__(self, other: object) -> bool:
        return type(other) is Derivative and self._key == other._key and self.depth == other.depth

    def __hash__(self) -> int:
        return hash(self._key)

    def deeper(self) -> "Derivative":
        """The derivative for a batch of tangents."""
        made = copy(self)
        made.depth += 1
        return made

    def __repr__(self) -> str:
        return f"{self.call} by {self.wrt}"

    def pullback(self, wrt: Sequence[int], cotangents: int) -> Call:
        """The call of gradients; its arrays are those of the call, its results, and the cotangents."""
        return self._made(pullback_of, wrt, cotangents)

    def pushforward(self) -> Call:
        """The call of tangents; its arrays are those of the call, its results, and the tangents."""
        return self._made(pushforward_of, self.wrt, len(self.wrt))

    def _made(self, derived: Callable[..., OpOverload], wrt: Sequence[int], moves: int) -> Call:
        moving = [Place(self.count + i) for i in range(moves)]
        without = Call(derived(self.call.op), [*self.call.values, moving, list(wrt)])
        made = without
        if self._results:
            moving = [Place(self.results.stop + i) for i in range(moves)]
            op = derived(self.call.op, of_results=True)
            made = Call(op, [*self.call.values, *self._results, moving, list(wrt)], self.results, without)
        for _ in range(self.depth):
            made = batch(made, [*[None] * self.results.stop, *[0] * moves])
        return made


def batch(call: Call, dims: Sequence[Any]) -> Call:
    """The call of a batch."""
    return Call(batch_of(call.op), [*call.values, [-1 if dim is None else dim for dim in dims]], call.results)


# -- an operator on arrays -----------------------------------------------------------------------------------------------------

call_p = Primitive("operator")
call_p.multiple_results = True


@lru_cache(maxsize=256)
def _compiled(call: Call) -> Callable[..., list[Any]]:
    """The program of one call."""
    made: Callable[..., list[Any]] = jax.jit(partial(call_p.bind, call=call))
    return made


def _call(*operands: Any, call: Call) -> list[Any]:
    if exported(call.op).targets:
        return _compiled(call)(*operands)
    device = device_of_call(call.op, operands)
    found: list[Any] = []
    apart(call.run([np.asarray(x) for x in operands]), found, is_array)
    return [array_of_jax(array_of_result(x, call.op), call.op, device) for x in found]


def _shapes(*avals: Any, call: Call) -> list[Any]:
    return [jax.core.ShapedArray(tuple(x.shape), x.dtype) for x in call.shapes(avals)[1]]


def _lowered(ctx: Any, *operands: Any, call: Call) -> Any:
    """The target of this platform, or a callback with NumPy arrays."""
    target = exported(call.op).targets.get(ctx.module_context.platforms[0])
    if target is not None:
        return jax.ffi.ffi_lowering(target)(ctx, *operands, **attributes(call))
    template, wanted = call.shapes(ctx.avals_in)

    def run(*arrays: Any) -> tuple[Any, ...]:
        callbacks.depth += 1
        try:
            return tuple(call.computed([np.asarray(x) for x in arrays], template, wanted))
        except BaseException as error:
            raise sent(error) from None
        finally:
            callbacks.depth -= 1

    side_effect = Tag.random in call.op.tags
    given = list(operands), ctx.avals_in, ctx.avals_out
    return mlir.emit_python_callback(ctx, run, None, *given, has_side_effect=side_effect)[0]


def _jvp(bind: Callable[..., Any], call: Call, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The results of a call and their tangents."""
    outs = bind(*primals)
    wrt = [i for i, t in enumerate(tangents) if type(t) is not ad.Zero and i not in call.results and moves(primals[i], call.op)]
    moved = [ad.Zero(jax.typeof(x).to_tangent_aval()) for x in outs]
    floats = [i for i, x in enumerate(outs) if moves(x, call.op)] if wrt else []
    if floats:
        again = outs if runs_apart(call.op) else ()
        of = Derivative(call, wrt, len(primals), template_of(call, primals) if again else None, len(again))
        for i, t in zip(floats, linear_p.bind(*primals, *again, *[tangents[i] for i in wrt], of=of), strict=True):
            moved[i] = t
    return outs, moved


def _call_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, call: Call) -> Any:
    return _jvp(partial(call_p.bind, call=call), call, primals, tangents)


def _call_batch(operands: Sequence[Any], dims: Sequence[Any], *, call: Call) -> Any:
    """The call of the batch. The results of items are of no use to it: the kernel runs again, on the batch."""
    if call.without is not None and any(dim is not None for dim in dims[: call.results.stop]):
        kept = [i for i in range(len(operands)) if i not in call.results]
        operands, dims, call = [operands[i] for i in kept], [dims[i] for i in kept], call.without
    outs = call_p.bind(*operands, call=batch(call, dims))
    return outs, [0] * len(outs)


call_p.def_impl(_call)
call_p.def_abstract_eval(_shapes)
mlir.register_lowering(call_p, _lowered)
ad.primitive_jvps[call_p] = _call_jvp
batching.primitive_batchers[call_p] = _call_batch

# -- its derivative ------------------------------------------------------------------------------------------------------------

linear_p = Primitive("operator_derivative")  # of the operands of a Derivative
linear_p.multiple_results = True


def _linear(*operands: Any, of: Derivative) -> list[Any]:
    found: list[Any] = call_p.bind(*operands, call=of.pushforward())
    return found


def _linear_shapes(*avals: Any, of: Derivative) -> list[Any]:
    outs = avals[of.count : of.results.stop] or of.call.shapes(avals[: of.count])[1]
    batches = avals[-1].shape[: of.depth]
    return [jax.core.ShapedArray((*batches, *x.shape), x.dtype) for x in outs if has_kind_of_derivative(x.dtype)]


def _linear_transposed(cotangents: Sequence[Any], *operands: Any, of: Derivative) -> list[Any]:
    """The gradients of the tangents that are not known, conjugated: JAX's transpose is, and a backward here is the adjoint."""
    first = of.results.stop
    asked = [i for i, t in enumerate(operands[first:]) if ad.is_undefined_primal(t)]
    grads = [_conjugate(ad.instantiate_zeros(g)) for g in cotangents]
    wrt = [of.wrt[i] for i in asked]
    arrays, results = operands[: of.count], list(operands[of.count : first])
    if any([isinstance(x, Tracer) for x in results]):  # a program, from which JAX takes out what nobody reads
        for i, is_unread in enumerate(of.call.unread(arrays, wrt)):
            if is_unread:
                results[i] = _blank(results[i])
    found = iter(call_p.bind(*arrays, *results, *grads, call=of.pullback(wrt, len(grads))))
    return [_conjugate(next(found)) if i - first in asked else None for i in range(len(operands))]


def _blank(x: Any) -> Any:
    """An array like another; of nan where that can be, so that who reads it sees."""
    return jax.numpy.full(x.shape, np.nan if has_kind_of_derivative(x.dtype) else 0, x.dtype)


def _conjugate(x: Any) -> Any:
    return jax.lax.conj(x) if x.dtype.kind == "c" else x


def _linear_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, of: Derivative) -> Any:
    return _jvp(partial(linear_p.bind, of=of), of.pushforward(), primals, tangents)


def _linear_batch(operands: Sequence[Any], dims: Sequence[Any], *, of: Derivative) -> Any:
    """The derivative for a batch of tangents; or of the batch, where an array and its tangent have it first, both of them."""
    size = next(x.shape[dim] for x, dim in zip(operands, dims, strict=True) if dim is not None)
    given, at = list(operands), list(dims)
    first = of.results.stop
    if not any(dim is not None for dim in dims[:first]):
        given[first:] = [batching.bdim_at_front(x, dim, size) for x, dim in zip(given[first:], dims[first:], strict=True)]
        outs = linear_p.bind(*given, of=of.deeper())
        return outs, [0] * len(outs)
    if of.depth:  # both: of the tangents a batch, and now of the arrays
        return _call_batch(operands, dims, call=of.pushforward())
    for tangent, i in enumerate(of.wrt, of.results.stop):
        if dims[i] is not None or dims[tangent] is not None:
            for j in (i, tangent):
                given[j], at[j] = batching.bdim_at_front(operands[j], dims[j], size), 0
    del given[of.count : of.results.stop]
    batched = Derivative(batch(of.call, at[: of.count]), of.wrt, of.count)
    outs = linear_p.bind(*given, of=batched)
    return outs, [0] * len(outs)


linear_p.def_impl(_linear)
linear_p.def_abstract_eval(_linear_shapes)
mlir.register_lowering(linear_p, mlir.lower_fun(_linear, multiple_results=True))
ad.primitive_transposes[linear_p] = _linear_transposed
ad.primitive_jvps[linear_p] = _linear_jvp
batching.primitive_batchers[linear_p] = _linear_batch
