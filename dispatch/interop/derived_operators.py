"""Makes operators of an operator's pullback, pushforward and batch, so that a framework can call these too.

Each takes all arguments of the operator by position and without defaults, and something after them. Its kernel is the transform
itself, `vjp`, `jvp` or `vmap`, on a call of the operator; so it has all that operators have, a pullback of its own among it,
and a framework that knows how to export one operator can export derivatives of any order.

Arrays are counted along the arguments, through all containers, in the order of the schema: "flat".

More than 350 lines, because the operators and the ways to run a call for them, anew or with its results, refer to each other.
"""

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ..autodiff.forward_mode import jvp
from ..autodiff.function_outputs import left
from ..autodiff.reverse_mode import edges_at
from ..core import DispatchKey, Level, OpOverload, Reopened, Tensor, registration_lock, share_memory
from ..core.pytree import leaves, mapped
from ..dispatcher.call_errors import note
from ..layers.autograd import TrackedTensor, run_backward, track
from ..layers.autograd.record import taken_from
from ..layers.derivatives import zeros
from ..layers.mode import Mode
from ..layers.vmap import vmap
from ..operators.registry import build
from ..schema.schema import MISSING, Argument, Return, Schema
from ..schema.types import INT, TENSOR, ListOf

# What follows the arguments in the schema, what is returned, a kernel, and a shape rule, which runs no rule but the operator's
# own: a backward may be plain code, which takes no fakes.
Parts = tuple[tuple[Argument, ...], tuple[Return, ...], Callable[..., Any], Callable[..., Any]]
Made = TypeVar("Made")

ARRAYS = (np.ndarray, np.generic, Tensor)
TENSORS, INTS = ListOf(TENSOR), ListOf(INT)
WITH_DERIVATIVE = "fc"  # kinds of dtype


def is_array(x: object) -> bool:
    """Whether a leaf of an argument or of a result is an array."""
    return isinstance(x, ARRAYS)


def called(op: OpOverload, args: Sequence[Any]) -> Any:
    """Call an operator with all of its arguments, in the order of its schema."""
    names = op.arguments.keyword_names
    if not names:
        return op(*args)
    positional = op.arguments.positional
    return op(*args[:positional], **dict(zip(names, args[positional:], strict=True)))


def kept_on(op: OpOverload, name: str, make: Callable[[OpOverload], Made]) -> Made:
    """What is made of an operator, once for each definition of it: an attribute, which a new definition has not."""
    found: Made | None = vars(op).get(name)
    if found is None:
        with registration_lock:
            found = vars(op).get(name)
            if found is None:
                found = vars(op)[name] = make(op)
    return found


class FlatCall:
    """A call of an operator as a function of its arrays, in the order in which they are counted.

    Examples
    --------
    >>> import dispatch
    >>> call = FlatCall(dispatch.ops.np.add, (np.ones(2), np.zeros(2)))
    >>> call(call.arrays[0], np.ones(2))
    array([2., 2.])
    """

    __slots__ = ("args", "arrays", "at", "op")

    def __init__(self, op: OpOverload, args: Sequence[Any]) -> None:
        self.op = op
        self.args = args
        self.arrays: list[Any] = []
        self.at: list[int | None] = []  # the argument that each array is; None for one in a container
        for i, argument in enumerate(op.schema.arguments):
            if argument.type.has_tensor:
                if isinstance(args[i], ARRAYS):
                    self.arrays.append(args[i])
                    self.at.append(i)
                    continue
                inside = [x for x in leaves(args[i]) if isinstance(x, ARRAYS)]
                self.arrays += inside
                self.at += [None] * len(inside)

    def __call__(self, *arrays: Any) -> Any:
        args = list(self.args)
        if None in self.at:
            rest = iter(arrays)
            put = lambda x: next(rest) if isinstance(x, ARRAYS) else x
            kinds = [a.type for a in self.op.schema.arguments]
            args = [mapped(put, x) if kind.has_tensor else x for x, kind in zip(args, kinds, strict=True)]
        else:
            for i, x in zip(self.at, arrays, strict=True):
                args[i] = x  # type: ignore[index]
        return called(self.op, args)

    def known(self, arrays: Sequence[Any], result: tuple[Any, ...]) -> Any:
        """The same call with other arrays, and with the result that it has, where one is given."""
        if not result:
            return self(*arrays)
        with Known(self.op, arrays, result[0]):
            return self(*arrays)

    def with_chosen(self, chosen: Sequence[int], arrays: Sequence[Any], result: tuple[Any, ...] = ()) -> Any:
        """The same call with other arrays in place of some."""
        replaced = list(self.arrays)
        for i, x in zip(chosen, arrays, strict=True):
            replaced[i] = x
        return self.known(replaced, result)


def has_derivative(x: Any) -> bool:
    """Whether a leaf is an array of floating-point or complex numbers."""
    return isinstance(x, ARRAYS) and x.dtype.kind in WITH_DERIVATIVE


def _differentiable(result: Any) -> list[Any]:
    return [x for x in leaves(result) if has_derivative(x)]


class Known(Mode):
    """Gives a call the result that it had before, in place of running the kernel; every other call runs.

    The derivatives of a call that was made before need its kernel no more: the tape and forward mode ask for the result, here,
    and go on to the operator's own rules. Which call it is, is told by the arrays themselves: one with others runs.
    """

    def __init__(self, op: OpOverload, arrays: Sequence[Any], result: Any) -> None:
        self.op, self.result = op, result
        self.arrays = [x.value if isinstance(x, Tensor) else x for x in arrays]

    def __dispatch__(self, op: OpOverload, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op is self.op:
            given = FlatCall(op, (*args, *kwargs.values())).arrays
            if len(given) == len(self.arrays) and all([x is y for x, y in zip(given, self.arrays, strict=True)]):
                return self.result
        return op(*args, **kwargs)


def recorded(
    op: OpOverload, args: Sequence[Any], chosen: Sequence[int], known: tuple[Any, ...] = ()
) -> tuple[Any, Callable[[Sequence[Any]], list[Any]]]:
    """Call an operator, and keep what its derivative needs.

    Parameters
    ----------
    op : OpOverload
    args : sequence
        Every argument, in schema order.
    chosen : sequence of int
        The arrays whose gradients will be asked for.
    known : tuple
        The result, if the call was made before; else nothing.

    Returns
    -------
    result : object
        What the operator returned.
    pull : callable
        From a list of cotangents, one for each output with a derivative, to a list of gradients, which nobody else holds.
    """
    call = FlatCall(op, args)
    direct = not known and None not in call.at and not op.arguments.keyword_names
    function: Callable[..., Any] = op if direct else call
    given, ends = list(args if direct else call.arrays), []
    with Level("vjp") as level:
        for i in chosen:
            inside = track(call.arrays[i], level, shared=True)
            given[call.at[i] if direct else i] = inside  # type: ignore[index]
            ends.append((inside.kept, inside.value))
        if known:
            edges, out = edges_at(_differentiable(call.known(given, known)), level), known[0]
        else:
            edge, out = taken_from(TrackedTensor, function, given, level)
            if edge is not None:  # the usual case, without two walks
                edges = [edge]
            else:
                edges, out = edges_at(_differentiable(out), level), left(out, level)
    return out, partial(_pulled, edges, ends, level)


def _pulled(edges: list[Any], ends: list[Any], level: Level, cotangents: Sequence[Any]) -> list[Any]:
    """The gradients at the ends of a tape; the cotangents have the shapes and dtypes of the outputs."""
    with Reopened(level):
        found = run_backward(edges, list(cotangents), level, True, False)
    return [found[leaf] if leaf in found else zeros(leaf.layout, value) for leaf, value in ends]


class Watched(Mode):
    """Sees what an operator returned, without keeping it, and whether another operator is called with that."""

    def __init__(self, op: OpOverload) -> None:
        self.op = op
        self.results: list[weakref.ref[Any]] | None = None
        self.computed = False

    def __dispatch__(self, op: OpOverload, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.results is not None:
            found = {id(x) for x in leaves([*args, *kwargs.values()])}
            self.computed = self.computed or any(id(ref()) in found for ref in self.results)
        out = op(*args, **kwargs)
        if self.results is None and op is self.op:
            self.results = [weakref.ref(x) for x in leaves(out) if is_array(x)]
        return out


def unread_results(op: OpOverload, args: Sequence[Any], wrt: Sequence[int]) -> list[bool]:
    """Which arrays among the results no backward can read; a call of fakes tells, inside of their mode.

    A result that nobody holds, once the call is recorded and has returned, is read by nobody. Where the rule computes with
    one, or cannot run on fakes, every result counts as read.
    """
    watched = Watched(op)
    try:
        with watched:
            recording = recorded(op, args, wrt)[1]  # the tape, which is all that a backward has
    except Exception:
        return []
    held = [ref() is not None for ref in watched.results or ()]
    del recording
    return [] if watched.computed else [not is_held for is_held in held]


def runs_apart(op: OpOverload) -> bool:
    """Whether a derivative can do with the results in place of the kernel; that of a composite is made of its parts."""
    return not op.schema.has_residual and op.table.has_backend()


def pullback_of(op: OpOverload, *, of_results: bool = False) -> OpOverload:
    """The operator of gradients: `(arguments..., Tensor[] cotangents, int[] wrt) -> Tensor[]`.

    It runs the operator again. Who has kept the call, by `recorded`, need not call it. With `of_results` it takes what the
    operator returned, behind the arguments, and runs no kernel that has run. A result is no argument to a derivative: it is
    a function of the arguments, whose derivatives count.

    Examples
    --------
    >>> import dispatch
    >>> x = np.array([1.0, 2.0])
    >>> pullback_of(dispatch.ops.np.multiply)(x, 3 * x, [np.ones(2)], [1, 0])
    [array([1., 2.]), array([3., 6.])]
    """
    return _derived(op, "pullback_of_results" if of_results else "pullback", partial(_pullback, of_results=of_results))


def _pullback(op: OpOverload, *, of_results: bool) -> Parts:
    def kernel(*args: Any) -> list[Any]:
        *values, cotangents, wrt = args
        known = _known(op, values) if of_results else ()
        return list(map(in_c_order, recorded(op, values[: len(op.schema.arguments)], wrt, known)[1](cotangents)))

    def fake(*args: Any) -> list[Any]:
        *values, _, wrt = args
        arrays = FlatCall(op, values).arrays
        return [np.empty_like(arrays[i], shape=arrays[i].shape, order="C") for i in wrt]

    results = _results(op) if of_results else ()
    return (*results, Argument("cotangents", TENSORS), Argument("wrt", INTS)), (Return(TENSORS),), kernel, fake


def pushforward_of(op: OpOverload, *, of_results: bool = False) -> OpOverload:
    """The operator of tangents: `(arguments..., Tensor[] tangents, int[] wrt) -> Tensor[]`, one an output with a derivative.

    With `of_results` it takes what the operator returned, behind the arguments, as `pullback_of` does.
    """
    return _derived(op, "pushforward_of_results" if of_results else "pushforward", partial(_pushforward, of_results=of_results))


def _pushforward(op: OpOverload, *, of_results: bool) -> Parts:
    def kernel(*args: Any) -> list[Any]:
        *values, tangents, wrt = args
        known = _known(op, values) if of_results else ()
        call = FlatCall(op, values[: len(op.schema.arguments)])
        moving = tuple([call.arrays[i] for i in wrt])
        _, moved = jvp(lambda *arrays: _differentiable(call.with_chosen(wrt, arrays, known)), moving, tuple(tangents))
        return fresh(list(moved), args)

    def fake(*args: Any) -> list[Any]:
        outputs = _differentiable(called(op, args[: len(op.schema.arguments)]))
        return [np.empty_like(x, shape=x.shape, order="C") for x in outputs]

    results = _results(op) if of_results else ()
    return (*results, Argument("tangents", TENSORS), Argument("wrt", INTS)), (Return(TENSORS),), kernel, fake


def _results(op: OpOverload) -> tuple[Argument, ...]:
    """The results of an operator as arguments."""
    return tuple([Argument(f"result_{i}", r.type) for i, r in enumerate(op.schema.returns)])


def _known(op: OpOverload, values: Sequence[Any]) -> tuple[Any, ...]:
    """The result among the arguments, where no transform goes through: inside of one a result is a function of the others."""
    if any([isinstance(x, Tensor) for x in leaves(list(values))]):
        return ()
    # views, for the tape makes what it saves read-only, and these are the caller's
    results = [mapped(lambda x: x.view() if is_array(x) else x, value) for value in values[len(op.schema.arguments) :]]
    return (results[0] if len(results) == 1 else tuple(results),)


def batch_of(op: OpOverload) -> OpOverload:
    """The operator of a batch: `(arguments..., int[] in_dims)`, an axis for each array, -1 for none; results have it first."""
    return _derived(op, "batch", _batch)


def _batch(op: OpOverload) -> Parts:
    def kernel(*args: Any) -> Any:
        *values, in_dims = args
        call = FlatCall(op, values)
        results: list[Any] = []

        def item(*arrays: Any) -> list[Any]:
            results.append(call(*arrays))
            return [x for x in leaves(results[-1]) if is_array(x)]

        batched = iter(fresh(vmap(item, tuple([None if dim < 0 else dim for dim in in_dims]))(*call.arrays), args))
        return mapped(lambda x: next(batched) if is_array(x) else x, results[-1])

    def fake(*args: Any) -> Any:
        *values, in_dims = args
        call = FlatCall(op, values)
        size = next(x.shape[dim] for x, dim in zip(call.arrays, in_dims, strict=True) if dim >= 0)
        items = [
            x if dim < 0 else np.empty_like(x, shape=(*x.shape[:dim], *x.shape[dim + 1 :]))
            for x, dim in zip(call.arrays, in_dims, strict=True)
        ]
        return mapped(lambda x: np.empty_like(x, shape=(size, *x.shape)) if is_array(x) else x, call(*items))

    returns = op.schema.returns[:-1] if op.schema.has_residual else op.schema.returns
    return (Argument("in_dims", INTS),), tuple([Return(r.type) for r in returns]), kernel, fake


def fresh(results: list[Any], args: Any) -> list[Any]:
    """The results in C order; copies of those that are arguments or views of some, as a gradient may be the cotangent."""
    seen = [x for x in leaves(args) if isinstance(x, np.ndarray)]
    made: list[Any] = []
    for x in results:
        if isinstance(x, np.ndarray):
            x = x.copy() if any([share_memory(x, y) for y in seen]) else in_c_order(x)
            seen.append(x)
        made.append(x)
    return made


def in_c_order(x: Any) -> Any:
    """An array in the order that shape rules promise, whichever the rule of the operator gave; another value as it is."""
    return x.copy() if type(x) is np.ndarray and not x.flags.c_contiguous else x


def _noting(op: OpOverload, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A derived operator's kernel, whose exceptions name the operator that users know."""
    count = len(op.schema.arguments)

    def noting(*args: Any) -> Any:
        try:
            return kernel(*args)
        except Exception as error:
            note(op.definition, args[:count], error)
            raise

    return noting


def _derived(op: OpOverload, what: str, parts: Callable[[OpOverload], Parts]) -> OpOverload:
    """The derived operator of that kind, made once for each definition of the operator."""

    def make(op: OpOverload) -> OpOverload:
        schema = op.schema
        more, returns, kernel, fake = parts(op)
        taken = {a.name for a in schema.arguments}
        after = [a if a.name not in taken else a.replace(name=f"{a.name}_of_{schema.name}") for a in more]
        before = [a.replace(default=MISSING, kwarg_only=False, positional_only=False, alias=None) for a in schema.arguments]
        name = "_".join(filter(None, (schema.name, schema.overload, what)))
        found = build(Schema(schema.namespace, name, "", (*before, *after), returns))
        found.register_at(DispatchKey.CompositeImplicit, _noting(op, kernel))
        found.register_fake(fake)
        return found

    return kept_on(op, f"__{what}__", make)
