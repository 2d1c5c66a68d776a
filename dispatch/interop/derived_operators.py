"""What a framework asks of an operator beside its value, as operators: a pullback, a pushforward, a batch.

Each takes all arguments of the operator by position and without defaults, and something after them. Its kernel is the transform
itself, `vjp`, `jvp` or `vmap`, on a call of the operator; so it has all that operators have, a pullback of its own among it,
and a framework that knows how to export one operator can export derivatives of any order.

Arrays are counted along the arguments, through all containers, in the order of the schema: "flat".
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autodiff import jvp, vjp
from ..core import DispatchKey, OpOverload, Tensor, registration_lock
from ..core.pytree import leaves, mapped
from ..layers.vmap import vmap
from ..operators.registry import build
from ..schema.schema import MISSING, Argument, Return, Schema
from ..schema.types import INT, TENSOR, ListOf

Kernel = Callable[..., Any]
ARRAYS = (np.ndarray, np.generic, Tensor)
TENSORS, INTS = ListOf(TENSOR), ListOf(INT)
WITH_DERIVATIVE = "fc"  # kinds of dtype


def is_array(x: object) -> bool:
    """Whether a leaf of an argument or of a result is an array."""
    return isinstance(x, ARRAYS)


def called(op: OpOverload, args: Sequence[Any]) -> Any:
    """Call an operator with all of its arguments, in the order of its schema."""
    positional = op.arguments.positional
    return op(*args[:positional], **dict(zip(op.arguments.keyword_names, args[positional:], strict=True)))


class FlatCall:
    """A call of an operator as a function of its arrays, in the order in which they are counted.

    Examples
    --------
    >>> import dispatch
    >>> call = FlatCall(dispatch.ops.np.add, (np.ones(2), np.zeros(2)))
    >>> call(call.arrays[0], np.ones(2))
    array([2., 2.])
    """

    def __init__(self, op: OpOverload, args: Sequence[Any]) -> None:
        self.op = op
        self.args = args
        self.takes = [a.type.has_tensor for a in op.schema.arguments]
        inside = [x for x, takes in zip(args, self.takes, strict=True) if takes]
        self.arrays = [x for x in leaves(inside) if is_array(x)]

    def __call__(self, *arrays: Any) -> Any:
        rest = iter(arrays)

        def put(x: Any) -> Any:
            return next(rest) if is_array(x) else x

        pairs = zip(self.args, self.takes, strict=True)
        return called(self.op, [mapped(put, x) if takes else x for x, takes in pairs])

    def of(self, chosen: Sequence[int]) -> Callable[..., tuple[list[Any], Any]]:
        """The same call as a function of some arrays: the outputs that have derivatives, and the whole result beside them."""

        def function(*arrays: Any) -> tuple[list[Any], Any]:
            given = dict(zip(chosen, arrays, strict=True))
            result = self(*[given.get(i, x) for i, x in enumerate(self.arrays)])
            return [x for x in leaves(result) if has_derivative(x)], result

        return function


def has_derivative(x: Any) -> bool:
    """Whether a leaf is an array of floating-point or complex numbers."""
    return is_array(x) and np.dtype(x.dtype).kind in WITH_DERIVATIVE


def recorded(op: OpOverload, args: Sequence[Any], chosen: Sequence[int]) -> tuple[Any, Callable[[Sequence[Any]], list[Any]]]:
    """Call an operator, and keep what its derivative needs.

    Parameters
    ----------
    op : OpOverload
    args : sequence
        Every argument, in schema order.
    chosen : sequence of int
        The arrays whose gradients will be asked for.

    Returns
    -------
    result : object
        What the operator returned.
    pull : callable
        From a list of cotangents, one for each output with a derivative, to a list of gradients.
    """
    call = FlatCall(op, args)
    out, pullback, result = vjp(call.of(chosen), *[call.arrays[i] for i in chosen], has_aux=True)

    def pull(cotangents: Sequence[Any]) -> list[Any]:
        if not out:
            return [np.zeros_like(call.arrays[i]) for i in chosen]
        return list(pullback(list(cotangents)))

    return result, pull


def pullback_of(op: OpOverload) -> OpOverload:
    """The operator of gradients: `(arguments..., Tensor[] cotangents, int[] wrt) -> Tensor[]`.

    It runs the operator again. Who has kept the call, by `recorded`, need not call it.

    Examples
    --------
    >>> import dispatch
    >>> x = np.array([1.0, 2.0])
    >>> pullback_of(dispatch.ops.np.multiply)(x, 3 * x, [np.ones(2)], [1, 0])
    [array([1., 2.]), array([3., 6.])]
    """

    def kernel(*args: Any) -> list[Any]:
        *values, cotangents, wrt = args
        return fresh(recorded(op, values, wrt)[1](cotangents), args)

    more = (Argument("cotangents", TENSORS), Argument("wrt", INTS))
    return _derived(op, "pullback", more, (Return(TENSORS),), kernel)


def pushforward_of(op: OpOverload) -> OpOverload:
    """The operator of tangents: `(arguments..., Tensor[] tangents, int[] wrt) -> Tensor[]`, one an output with a derivative."""

    def kernel(*args: Any) -> list[Any]:
        *values, tangents, wrt = args
        call = FlatCall(op, values)
        _, moved, _ = jvp(call.of(wrt), tuple([call.arrays[i] for i in wrt]), tuple(tangents), has_aux=True)
        return fresh(list(moved), args)

    more = (Argument("tangents", TENSORS), Argument("wrt", INTS))
    return _derived(op, "pushforward", more, (Return(TENSORS),), kernel)


def batch_of(op: OpOverload) -> OpOverload:
    """The operator of a batch: `(arguments..., int[] in_dims)`, an axis for each array, -1 for none; results have it first."""

    def kernel(*args: Any) -> Any:
        *values, in_dims = args
        call = FlatCall(op, values)
        results: list[Any] = []

        def item(*arrays: Any) -> list[Any]:
            results.append(call(*arrays))
            return [x for x in leaves(results[-1]) if is_array(x)]

        batched = iter(fresh(vmap(item, tuple([None if dim < 0 else dim for dim in in_dims]))(*call.arrays), args))
        return mapped(lambda x: next(batched) if is_array(x) else x, results[-1])

    returns = tuple(Return(r.type) for r in op.schema.returns if not (op.schema.has_residual and r is op.schema.returns[-1]))
    return _derived(op, "batch", (Argument("in_dims", INTS),), returns, kernel)


def fresh(results: list[Any], args: Any) -> list[Any]:
    """Copies of those results that are arguments or views of some: a gradient may be the cotangent itself."""
    given = [x for x in leaves(list(args)) if isinstance(x, np.ndarray)]
    made: list[Any] = []
    for x in results:
        shared = isinstance(x, np.ndarray) and any(np.may_share_memory(x, y) for y in (*given, *made) if isinstance(y, np.ndarray))
        made.append(x.copy() if shared else x)
    return made


def _derived(
    op: OpOverload, what: str, more: tuple[Argument, ...], returns: tuple[Return, ...], kernel: Kernel
) -> OpOverload:
    """The derived operator of that kind, made once for each definition of the operator."""
    kept = f"__{what}__"
    with registration_lock:
        found: OpOverload | None = vars(op).get(kept)
        if found is None:
            schema = op.schema
            taken = {a.name for a in schema.arguments}
            after = [a if a.name not in taken else a.replace(name=f"{a.name}_of_{schema.name}") for a in more]
            before = [a.replace(default=MISSING, kwarg_only=False, positional_only=False, alias=None) for a in schema.arguments]
            name = "_".join(filter(None, (schema.name, schema.overload, what)))
            found = build(Schema(schema.namespace, name, "", (*before, *after), returns))
            found.register_at(DispatchKey.CompositeImplicit, kernel)
            vars(op)[kept] = found
    return found
