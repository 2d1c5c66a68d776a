"""autograd's primitives as operators: a function becomes one by `primitive`, its derivatives come by `defvjp` and `defjvp`.

A primitive takes whatever its function takes. Where a positional argument is a value of a transform, the call is one of an
operator from the list of all arrays in the arguments to the list of those in the result; what stands around them goes along as
an object of `Call`. Without such a value the function is called as it is, as in autograd.
More than 350 lines: autograd has six ways to define a derivative, which are held in one place.
"""

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from functools import wraps
from itertools import count
from typing import Any

import numpy as np

from ...core import DispatchKey, OpOverload, Tensor
from ...core.pytree import items_of, leaves, leaves_like, mapped, unflatten
from ...core.wrong_calls import check_takes
from ...errors import ConversionError, DefinitionError, GradientError, NoRuleError, UnsupportedError, kind_of
from ...numpy_ops.protocols import detach
from ...operators.registry import build
from ...schema.schema import Schema
from ..derived_operators import fresh, is_array
from .differential_operators import conjugated

Function = Callable[..., Any]
class Place:
    """Stands among the arguments of a call where an array goes, which has a number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Call:
    """A call of a primitive beside its arrays: its arguments and its result, with places for these."""

    __slots__ = ("args", "keywords", "result")

    def __init__(self, args: list[Any], keywords: dict[str, Any]) -> None:
        self.args, self.keywords = args, keywords
        self.result: Any = None


def _taken(x: Any, arrays: list[Any], is_taken: Callable[[Any], bool] = is_array) -> Any:
    """A container with places for its arrays, which are added to a list."""

    def place(leaf: Any) -> Any:
        if not is_taken(leaf):
            return leaf
        arrays.append(leaf)
        return Place(len(arrays) - 1)

    return mapped(place, x)


def _filled(x: Any, arrays: Sequence[Any]) -> Any:
    return mapped(lambda leaf: arrays[leaf.number] if type(leaf) is Place else leaf, x)


class Primitive:
    """What is known of a primitive: its function, its operator, and how its derivatives are made."""

    def __init__(self, fun: Function) -> None:
        self.fun = fun
        self.name = getattr(fun, "__name__", type(fun).__name__)
        self.vjps: Function | None = None
        self.jvps: Function | None = None
        word = self.name if self.name.isidentifier() else "function"
        self.op: OpOverload = build(Schema.parse("(Tensor[] arrays, Any call) -> Tensor[]", name=f"autograd::{word}"))
        self.op.register_at(DispatchKey.CPU, self.kernel)
        self.op.register_autograd(self.backward, setup_context=self.setup_context)
        self.op.register_vmap(self.batched)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if not any(isinstance(x, Tensor) for x in leaves(args)):
            return self.fun(*args, **keywords)
        if tracked := [name for name, x in keywords.items() if any(isinstance(y, Tensor) for y in leaves(x))]:
            raise ConversionError(
                f"the primitive {self.name} was called with {kind_of(keywords[tracked[0]])} for {tracked[0]!r}, by "
                "keyword, and has derivatives by positional arguments only. Give it by position."
            )
        arrays: list[Any] = []
        call = Call(_taken(list(args), arrays), keywords)
        found = self.op(arrays, call)
        return _filled(call.result, found)

    def kernel(self, arrays: Sequence[Any], call: Call) -> list[Any]:
        """The function, on plain arrays."""
        found: list[Any] = []
        result = self.fun(*_filled(call.args, arrays), **call.keywords)
        call.result = _taken(result, found, lambda x: is_array(x) or isinstance(x, (bool, int, float, complex)))
        return fresh([np.asarray(x) if not isinstance(x, (np.ndarray, np.generic)) else x for x in found], list(arrays))

    def batched(self, info: Any, in_dims: Any, arrays: Any, call: Any) -> Any:
        """One call for each item, for nobody knows what the function does with another axis."""
        items = [
            self.op([x if d is None else x[(slice(None),) * d + (i,)] for x, d in zip(arrays, in_dims[0], strict=True)], call)
            for i in range(info.batch_size)
        ]
        return [np.stack(parts) for parts in zip(*items, strict=True)], 0

    # -- derivatives -------------------------------------------------------------------------------------------------------

    def setup_context(self, ctx: Any, inputs: Any, output: Any) -> None:
        """Keep what a vjp may read: everything."""
        ctx.save_for_backward(*inputs[0], *output)
        ctx.call, ctx.count = inputs[1], len(inputs[0])

    def backward(self, ctx: Any, grads: Any) -> Any:
        """Run the vjps that were defined, on the arguments that a gradient is asked of."""
        saved, call = ctx.saved_tensors, ctx.call
        arrays, outputs = saved[: ctx.count], saved[ctx.count :]
        needed = ctx.needs_input_grad[0]
        argnums = tuple([i for i, x in enumerate(call.args) if any(needed[p.number] for p in _places(x))])
        if self.vjps is None:
            raise _undefined("VJP", self.name, argnums, "defvjp")
        args, ans = _filled(call.args, arrays), _filled(call.result, outputs)
        cotangents = [np.zeros(y.shape, y.dtype) if g is None else g for g, y in zip(grads, outputs, strict=True)]
        pull = self.vjps(argnums, ans, tuple(args), call.keywords)
        found: list[Any] = [None] * ctx.count
        for argnum, g in zip(argnums, pull(conjugated(_filled(call.result, cotangents))), strict=True):
            parts = leaves_like(conjugated(g), call.args[argnum])
            if parts is None or any(items_of(part) is not None for part in parts):
                raise GradientError(
                    f"the vjp of {self.name} for argument {argnum} returned {kind_of(g)}, and the argument is "
                    f"{kind_of(args[argnum])} of another structure. Return one gradient for each array in it."
                )
            for place, part in zip(leaves(call.args[argnum]), parts, strict=True):
                if type(place) is Place and needed[place.number]:
                    found[place.number] = part if isinstance(part, (np.ndarray, Tensor)) else np.asarray(part)
        return found, None

    def push(self, tangents: Any, output: Any, arrays: Any, call: Any) -> Any:
        """Run the jvps that were defined, on the arguments that have a tangent."""
        assert self.jvps is not None
        moving = tangents[0]
        argnums = tuple([i for i, x in enumerate(call.args) if any(moving[p.number] is not None for p in _places(x))])
        zeros = [np.zeros(x.shape, x.dtype) if t is None else t for t, x in zip(moving, arrays, strict=True)]
        gs = [_filled(call.args[i], zeros) for i in argnums]
        tangent = self.jvps(argnums, gs, _filled(call.result, output), tuple(_filled(call.args, arrays)), call.keywords)
        parts = leaves_like(tangent, call.result)
        if parts is None or any(items_of(part) is not None for part in parts):
            raise GradientError(
                f"the jvp of {self.name} returned {kind_of(tangent)}, and the function {kind_of(_filled(call.result, output))} "
                "of another structure. Return one tangent for each array in it."
            )
        return [part for part, place in zip(parts, leaves(call.result), strict=True) if type(place) is Place]


def _places(x: Any) -> list[Place]:
    return [leaf for leaf in leaves(x) if type(leaf) is Place]


def _undefined(what: str, name: str, argnums: Sequence[int], how: str) -> NoRuleError:
    which = f"argument {argnums[0]}" if len(argnums) == 1 else f"arguments {tuple(argnums)}"
    return NoRuleError(f"{what} of {name} by {which} is not defined. Write {how}({name}, ...).")


def primitive(f_raw: Function) -> Function:
    """Make a function one that the transforms do not look into; its derivatives come by `defvjp` and `defjvp`.

    Parameters
    ----------
    f_raw : callable
        Takes plain arrays by position, in containers too, and anything by keyword.

    Returns
    -------
    callable

    Examples
    --------
    >>> from dispatch.interop.autograd import grad
    >>> @primitive
    ... def cube(x):
    ...     return x**3
    >>> defvjp(cube, lambda ans, x: lambda g: 3 * x**2 * g)
    >>> grad(cube)(2.0)
    np.float64(12.0)
    """
    known = Primitive(f_raw)

    def called(*args: Any, **keywords: Any) -> Any:
        return known(*args, **keywords)

    if hasattr(f_raw, "__name__"):
        called = wraps(f_raw)(called)
    vars(called).update(fun=f_raw, primitive=known, op=known.op)
    return called


def notrace_primitive(f_raw: Function) -> Function:
    """Make a function that gets the values of its positional arguments as constants: nothing of it is differentiated."""

    @wraps(f_raw)
    def called(*args: Any, **keywords: Any) -> Any:
        return f_raw(*mapped(lambda x: detach(x) if isinstance(x, Tensor) else x, list(args)), **keywords)

    return called


def _known(fun: Any, who: str) -> Primitive:
    known = getattr(fun, "primitive", None)
    if not isinstance(known, Primitive):
        remedy = "Write @primitive above the function; NumPy's own functions have their derivatives here."
        if isinstance(fun, OpOverload):
            verb = "register_jvp(rule)" if "jvp" in who and "vjp" not in who else "register_autograd(backward)"
            remedy = f"Write {fun.schema.name}.{verb}, which an operator has."
        raise DefinitionError(f"{who} takes what primitive returned, and was given {kind_of(fun)}. {remedy}")
    return known


def defvjp(fun: Function, *vjpmakers: Any, argnums: Iterable[int] | None = None) -> None:
    """Define the gradients of a primitive, one for each argument.

    Parameters
    ----------
    fun : callable
        What `primitive` returned.
    *vjpmakers : callable or None
        `vjpmaker(ans, *args, **kwargs)` returns the function from the cotangent of the result to the gradient by the argument.
        None is zero.
    argnums : iterable of int, optional
        The arguments that these are for; by default the first, the second, and so on.
    """
    known = _known(fun, "defvjp")
    made = _by_argnum("VJP", vjpmakers, argnums, known.name)

    def vjps(asked: Sequence[int], ans: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Function:
        if missing := [i for i in asked if i not in made]:
            raise _undefined("VJP", known.name, missing, "defvjp")
        who = f"defvjp of {known.name}: vjpmaker(ans, *args)"
        remedy = " A vjpmaker gets the result and the arguments, and returns a function of g: lambda ans, x: lambda g: ...."
        pulls = [None if made[i] is None else _made_by(who, remedy, made[i], ans, *args, **kwargs) for i in asked]
        for pull in pulls:
            if pull is not None and not callable(pull):
                said = f"{who} returned {kind_of(pull)}, and it returns the function from the cotangent to the gradient"
                raise GradientError(f"{said}: lambda ans, x: lambda g: ....")
        return lambda g: [mapped(np.zeros_like, args[i]) if f is None else f(g) for f, i in zip(pulls, asked, strict=True)]

    known.vjps = vjps


class PrimitiveVjps(MutableMapping[Any, Function]):
    """The gradients of primitives, by what `primitive` returned: autograd keeps a dict, and here each primitive has its own."""

    def __getitem__(self, fun: Any) -> Function:
        known = getattr(fun, "primitive", None)
        if not isinstance(known, Primitive) or known.vjps is None:
            raise KeyError(fun)
        return known.vjps

    def __setitem__(self, fun: Any, vjps: Function) -> None:
        defvjp_argnums(fun, vjps)

    def __delitem__(self, fun: Any) -> None:
        self[fun]
        fun.primitive.vjps = None

    def __iter__(self) -> Any:
        raise UnsupportedError("primitive_vjps: nobody keeps a list of all primitives. Ask for one, primitive_vjps[f].")

    __len__ = __iter__


primitive_vjps = PrimitiveVjps()


def _made_by(who: str, remedy: str, maker: Function, *args: Any, **kwargs: Any) -> Any:
    try:
        return maker(*args, **kwargs)
    except TypeError:
        check_takes(who, maker, args, kwargs, remedy)
        raise


def _by_argnum(what: str, makers: Sequence[Any], argnums: Iterable[int] | None, name: str) -> dict[int, Any]:
    made = dict(zip(count() if argnums is None else argnums, makers, strict=False))
    for maker in made.values():
        if maker is not None and not callable(maker) and not (what == "JVP" and maker == "same"):
            allowed = "a function, None, or 'same'" if what == "JVP" else "a function or None"
            raise DefinitionError(f"a {what} of {name} was given as {maker!r}. It is {allowed}.")
    return made


def defvjp_argnum(fun: Function, vjpmaker: Function) -> None:
    """Define the gradients of a primitive by `vjpmaker(argnum, ans, args, kwargs)`, a function of the cotangent."""

    def vjps(argnums: Sequence[int], *call: Any) -> Function:
        pulls = [vjpmaker(argnum, *call) for argnum in argnums]
        return lambda g: [pull(g) for pull in pulls]

    defvjp_argnums(fun, vjps)


def defvjp_argnums(fun: Function, vjpmaker: Function) -> None:
    """Define them by `vjpmaker(argnums, ans, args, kwargs)`, whose function returns a gradient for each of `argnums`."""
    _known(fun, "defvjp_argnums").vjps = vjpmaker


def defjvp(fun: Function, *jvpmakers: Any, argnums: Iterable[int] | None = None) -> None:
    """Define the tangents of a primitive, one for each argument.

    Parameters
    ----------
    fun : callable
        What `primitive` returned.
    *jvpmakers : callable, None or "same"
        `jvpmaker(g, ans, *args, **kwargs)` returns the tangent of the result for the tangent `g` of the argument. None is zero;
        `"same"` is the function itself, which is linear in the argument.
    argnums : iterable of int, optional
        The arguments that these are for.
    """
    known = _known(fun, "defjvp")
    made = _by_argnum("JVP", jvpmakers, argnums, known.name)

    def push(argnum: int, g: Any, ans: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if argnum not in made:
            raise _undefined("JVP", known.name, (argnum,), "defjvp")
        maker = made[argnum]
        if maker is None:
            return mapped(np.zeros_like, ans)
        who = f"defjvp of {known.name}: jvpmaker(g, ans, *args)"
        return _linear(fun, argnum, g, args, kwargs) if maker == "same" else _made_by(who, "", maker, g, ans, *args, **kwargs)

    defjvp_argnum(fun, push)


def _linear(fun: Function, argnum: int, g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fun(*args[:argnum], g, *args[argnum + 1 :], **kwargs)


def defjvp_argnum(fun: Function, jvpmaker: Function) -> None:
    """Define the tangents of a primitive by `jvpmaker(argnum, g, ans, args, kwargs)`."""

    def summed(argnums: Sequence[int], gs: Sequence[Any], ans: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        parts = [jvpmaker(argnum, g, ans, args, kwargs) for argnum, g in zip(argnums, gs, strict=True)]
        total = parts[0]
        for part in parts[1:]:
            total = unflatten(total, [x + y for x, y in zip(leaves(total), leaves_like(part, total) or (), strict=True)])
        return total

    defjvp_argnums(fun, summed)


def defjvp_argnums(fun: Function, jvpmaker: Function) -> None:
    """Define them by `jvpmaker(argnums, gs, ans, args, kwargs)`, which returns the tangent of the result."""
    known = _known(fun, "defjvp_argnums")
    known.jvps = jvpmaker
    known.op.register_jvp(known.push)


def def_linear(fun: Function) -> None:
    """Say that a primitive is linear in each of its arguments."""
    defjvp_argnum(fun, lambda argnum, g, ans, args, kwargs: _linear(fun, argnum, g, args, kwargs))
