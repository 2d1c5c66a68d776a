"""What Python itself would say of a wrong call, said so that it tells what to write: of functions, of blocks.

Python's own words for a keyword that a function does not have, an argument that is missing, or `with no_grad:` without a
call name what is wrong and not what is right. What stands here costs a right call one frame, or nothing.

It has more than 350 lines: each kind of call has its words, of functions, constructors and blocks, and of functions given.
"""

import enum
import functools
import inspect
import sys
import types
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from ..errors import (
    ArgumentError,
    DefinitionError,
    DispatchError,
    OperatorNotFoundError,
    close_matches,
    did_you_mean,
    kind_of,
    were_given,
)
from .hinted_values import title, unsuited
from .others_words import note_words

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

# What others call a parameter; it is said where the function has the second.
PARAMETERS_ELSEWHERE = {
    "arg_num": "argnums", "body_fn": "body", "body_fun": "body", "carried_inputs": "init", "carry": "init",
    "combine_fn": "f",
    "cond_fn": "cond", "cond_fun": "cond", "false_fn": "false", "false_fun": "false", "func": "fn", "function": "fn",
    "init_val": "init", "inplace": "mutates_args",
    "operand": "operands", "predicate": "pred", "true_fn": "true", "true_fun": "true",
    "argnames": "argnums", "argnum": "argnums", "axis": "in_dims", "device": "device_types", "dim": "axis", "dims": "axis",
    "grad_output": "grad_outputs", "in_axes": "in_dims", "keepdim": "keepdims", "key": "rng", "mutable_args": "mutates_args",
    "out_axes": "out_dims", "require_grad": "requires_grad", "shape": "size",
    "target": "op",
    "types": "device_types", "unbiased": "ddof", "wrt": "argnums",
}
# Parameters of others that no function here has, and what to do without them.
NO_PARAMETERS = {
    **dict.fromkeys(("scan.dim", "scan.axis", "map.dim", "map.axis"), "The items are along axis 0: np.moveaxis(xs, axis, 0)."),
    "generate_vmap_rule": "Write op.register_vmap('sequential'); or leave it out: without a rule vmap loops.",
    "allow_int": "Cast what is to be differentiated: x.astype(float).",
    "axis_name": "A mapped function sees one item: what goes over the items, a sum say, is written behind the vmap.",
    "axis_size": "The size is read from the mapped arguments.",
    "chunk_size": "The directions go in one batch; jacrev takes chunk_size=.",
    "create_graph": "What comes back can be differentiated as it is: grad(grad(f)).",
    "device": "An array has the device that it was made on: give an array of that device.",
    **dict.fromkeys(("nopython", "parallel", "nogil", "fastmath"), "Numba compiles the kernel: give it to numba.njit."),
    "donate_argnums": "An array that is given stays the caller's: leave it out.",
    "has_aux": "Return the number alone.",
    "holomorphic": "The gradient is of real numbers. The derivative of a holomorphic f is jvp(f, (z,), (np.ones_like(z),))[1].",
    "is_grads_batched": "Write vmap(lambda g: autograd.grad(y, x, g, retain_graph=True))(gradients).",
    "nondiff_argnums": "A backward returns None for an argument that has no gradient.",
    "options": "A backend is a function, which may take what it likes: backend=functools.partial(f, ...).",
    "out": "Take the result, y = f(x).",
    "static_argnums": "Write static_argnames=('n',): the names of the parameters in place of their numbers.",
    "requires_grad": "Write dispatch.tensor(x, requires_grad=True).",
    "strict": "A function is traced in one way: leave it out.",
    "hessian.mode": "Write jacfwd(jacrev(f)), or jacrev(jacrev(f)), where the modes are to be others.",
    "vmap_method": "Write op.register_vmap('broadcast_all'), without the name.",
    "unroll": "The loop is run in C: leave it out.",
    "use_reentrant": "The backward runs the function again in one way: write checkpoint(f)(x), without use_reentrant=.",
}  # fmt: skip


# Of transforms, which are given beside the function.
OPTIONS = {"argnums", "has_aux", "in_dims", "out_dims", "randomness", "chunk_size", "fullgraph", "dynamic", "backend"}

# What a parameter is that was left out, where its name does not say it.
MISSING = {
    "device": " It is the name of a device, 'cpu' or one of your own.", "dispatch_key": " It is 'CPU', say.",
    "grad.inputs": " This is autograd.grad, of a result: grad(y, x). The gradient of a function is dispatch.grad(f)(x).",
    "export.args": " It is a tuple of what f is called with: export(f, (x,)).",
    "impl.fn": " Write lib.impl('name', kernel, 'CPU'); or @library.impl(lib, 'name', 'CPU') above the function.",
    "jvp.primals": " Both are tuples, with one for each argument of f: jvp(f, (x,), (v,)).",
    "jvp.tangents": " It is a tuple, with one for each of primals: jvp(f, (x,), (v,)).",
    "kind": " It is 'DEF', 'FRAGMENT' or 'IMPL'.", "level": " It is 'default', 'full' or 'off'.",
    "mutates_args": " It is () where the function writes to no argument.",
    "opcheck.args": " It is a tuple of the arguments of the operator, which comes first: opcheck(op, (x,)).",
    "schema": ' It is text: "(Tensor x) -> Tensor".',
    "types": " It is 'cpu', say, or several devices in a tuple.",
}  # fmt: skip

# What others call what an operator has: the verb, and how it is written.
VERBS_ELSEWHERE = {
    "abstract": "fake", "backward": "autograd", "batch": "vmap", "batching": "vmap", "cpu": "kernel", "forward": "kernel",
    "grad": "autograd", "gradient": "autograd", "impl": "kernel", "meta": "fake", "shape": "fake",
    "torch_dispatch": "dispatch", "transpose": "autograd", "vjp": "autograd",
}  # fmt: skip
OPERATOR_ELSEWHERE = {
    "_name": "{0}.name", "_opname": "{0}.schema.name", "_overloadname": "{0}.schema.overload", "_schema": "{0}.schema",
    "apply": "{0}(...)", "batch": "dispatch.vmap({0})", "bind": "{0}(...)", "def_abstract_eval": "{0}.register_fake(rule)",
    "def_impl": "{0}.register_kernel('cpu', kernel)", "def_vmap": "{0}.register_vmap(rule)", "defjvp": "{0}.register_jvp(rule)",
    "defvjp": "{0}.register_autograd(backward)",
    "forward": "{0}(...)", "grad": "dispatch.grad(lambda x: {0}(x).sum())", "impl": "{0}.register_kernel('cpu', kernel)",
    "impl_abstract": "{0}.register_fake(rule)", "jvp": "dispatch.jvp({0}, primals, tangents)", "vjp": "dispatch.vjp({0}, x)",
    "vmap": "dispatch.vmap({0})", "cpu": "{0}.register_kernel('cpu', kernel)", "cuda": "{0}.register_kernel('cuda', kernel)",
    "opcheck": "dispatch.testing.opcheck({0}, args)", "register_torch_dispatch": "{0}.register_dispatch(cls, rule)",
    "backward": "{0}.register_autograd(backward), and y.backward() of a result",
    "reduce": "NumPy's own, np.add.reduce(x), which is an operator", "accumulate": "NumPy's own, np.add.accumulate(x)",
    "outer": "NumPy's own, np.add.outer(x, y)", "setup_context": "{0}.register_autograd(backward, setup_context=setup_context)",
    "register_backward": "{0}.register_autograd(backward)", "samples": "dispatch.testing.samples({0})",
}  # fmt: skip

OVERLOADS_ELSEWHERE = frozenset((  # those that torch's operators have most often
    "Tensor", "Scalar", "out", "Tensor_out", "Scalar_out", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor", "self", "int",
    "dim", "dim_IntList", "IntList_out",
))  # fmt: skip


def instead_of(name: str, operator: str, known: Iterable[str]) -> str:
    """What to write for an attribute that operators do not have, with its leading space.

    Examples
    --------
    >>> instead_of("defvjp", "scale", ())
    ' Write scale.register_autograd(backward).'
    """
    if name in OPERATOR_ELSEWHERE:
        return f" Write {OPERATOR_ELSEWHERE[name].format(operator)}."
    if name.startswith("_"):  # protocols ask, and want a short no
        return ""
    if near := did_you_mean(name, known):
        return near
    if hasattr(np.ndarray, name):
        return f" Its results may have it: write {operator}(...).{name}."
    return f" It has: {', '.join(sorted(word for word in known if not word.startswith('_')))}."


def no_attribute(op: Any, name: str, known: list[str]) -> AttributeError:
    """What to raise for an attribute that an operator does not have; torch's overloads are told that there is one here."""
    if name in OVERLOADS_ELSEWHERE and not op.schema.overload:
        said = f"{op.name} has no overload {name!r}: it has one, default"
        return OperatorNotFoundError(f"{said}. Write dispatch.ops.{op.name.replace('::', '.')}(...).", operator=op.name)
    return AttributeError(f"{op.name} has no attribute {name!r}.{instead_of(name, op.schema.name, known)}")


def left_out(op: Any, sign: str) -> ArgumentError:
    """What to raise where arithmetic, or a block, was asked of an operator whose call was left out."""
    call = f"{op.schema.name}(...)"
    if sign == "with":
        return ArgumentError(f"`with` was asked of {op.name}, and an operator is no block: it is called, {call}.")
    if sign == "array":
        return ArgumentError(f"an array was asked of {op.name} itself, and an operator is called: write its result, {call}.")
    if sign[-1].isalpha():
        return ArgumentError(f"{sign}() was given {op.name} itself, and an operator is called: write {sign}({call}).")
    said = f"'{sign}' was asked of {op.name} itself, and an operator is called"
    return ArgumentError(f"{said}: write {sign} with its result, {call}.")


def compared(op: Any, sign: int) -> Any:
    """What an operator answers to a comparison, by its number in C: it equals itself alone, and has no order."""
    if sign in (2, 3):
        return NotImplemented
    raise left_out(op, ("<", "<=", "==", "!=", ">", ">=")[sign])


def no_layer(op: Any, given: object) -> DefinitionError:
    """What to raise where a rule was registered with what is no layer."""
    said = f"{op.name}: register takes a layer, and was given {kind_of(given)}"
    return DefinitionError(f"{said}. Write op.register_fake(rule), or the verb of another layer.")


def no_registration(op: Any, given: object) -> DefinitionError:
    """What to raise where what is no registration was to be taken away."""
    return DefinitionError(
        f"{op.name}: unregister takes what op.register returned, and {'nothing' if given is None else kind_of(given)} was "
        "given. Register another rule, which takes the place of the one before; or register in a Library, and destroy() that."
    )


def not_set(op: Any, name: str) -> AttributeError:
    """What to raise where an attribute of an operator was set."""
    verbs = "op.register_kernel('cpu', fn), op.register_fake(rule), op.register_autograd(backward)"
    return AttributeError(f"{op.name}: the attribute {name!r} cannot be set. What an operator has is registered: {verbs}.")


def no_key(name: object, known: Iterable[str]) -> str:
    """Return what is said of a name or value that is no dispatch key.

    Examples
    --------
    >>> no_key("cpu", ["CPU"])
    "there is no dispatch key 'cpu'. Write DispatchKey.CPU."
    """
    said, known = f"there is no dispatch key {name!r}.", list(known)
    for other in known:
        if isinstance(name, str) and other.lower() == name.lower():
            return f"{said} Write DispatchKey.{other}."
    near = did_you_mean(name, known) if isinstance(name, str) else ""
    return f"{said}{near} Keys: {', '.join(key for key in known if not key.startswith('BACKEND_'))}."


def nothing_below(operator: str, key: object) -> DefinitionError:
    """What to raise where a call was asked for below what is no key, or has no key below."""
    what = key if isinstance(key, int) else kind_of(key)
    advice = f"Write DispatchKey.{key.upper()}, not its text." if isinstance(key, str) else "Name it: DispatchKey.VMAP."
    if hasattr(key, "shape"):
        advice = "The key stands before the arguments: op.redispatch(DispatchKey.VMAP, x)."
    return DefinitionError(f"{operator}: redispatch goes below a key, and nothing is below {what}. {advice}")


def hint_alone(_self: object, *given: Any, **named: Any) -> None:
    """`Residual.__init__`: what has no place for a value refuses one."""
    if given or named:
        raise ArgumentError(
            "Residual is a type hint, and holds nothing. Write -> tuple[np.ndarray, Residual], and return the object itself."
        )


def clear(
    function: Callable[P, R], *, short: bool = False, calls: Mapping[str, str] | None = None, held: Collection[str] = ()
) -> Callable[P, R]:
    """Have a call that does not fit a function's parameters refused with the parameters that it has.

    Where the function raises what is not the package's, its arguments are held to its hints, and the first that does not fit is
    what is wrong; those that `held` names are before the call. With `short` a refusal of the package's has this line alone in
    its traceback, beside the user's. `calls` says of a parameter that is a function how it is called,
    `{"body": "body(i, carry)"}`: one that does not take so many arguments is refused.

    Examples
    --------
    >>> @clear
    ... def scale(x, *, factor=2.0):
    ...     return x * factor
    >>> scale(3, factr=1.0)
    Traceback (most recent call last):
    dispatch.errors.ArgumentError: scale(x, *, factor) has no parameter 'factr'. Did you mean 'factor'?
    """

    @functools.wraps(function)
    def called(*args: P.args, **keywords: P.kwargs) -> R:
        refusal: ArgumentError | None = unsuited(function, args, keywords, held) if held else None
        if refusal is not None:
            raise refusal
        try:
            return function(*args, **keywords)
        except DispatchError as error:
            if short:
                raise error.with_traceback(None)  # noqa: B904  the same error, without its frames
            raise
        except Exception as error:
            inside = error.__traceback__ is None or error.__traceback__.tb_next is not None
            if not isinstance(error, TypeError) or (inside and not does_not_take(function, args, keywords)):
                refusal = None if calls is None else _uncallable(function, calls, args, keywords)
                refusal = refusal or unsuited(function, args, keywords)
                if refusal is None:
                    if calls is not None:
                        note_containers(function.__name__, error, _named(function, calls, args, keywords))
                    raise
            else:
                refusal = unfit(function, args, keywords)
        raise refusal

    return called


def does_not_take(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether a call does not fit a function's parameters; no of a builtin that tells nothing of them.

    Examples
    --------
    >>> does_not_take(np.sum, (3,), {"dim": 0}), does_not_take(np.sum, (3,), {"axis": 0}), does_not_take(max, (), {})
    (True, False, False)
    """
    try:
        inspect.signature(function).bind(*args, **keywords)
    except TypeError:
        return True
    except ValueError:
        return False
    return False


def check_takes(
    who: str, f: Callable[..., Any], args: Collection[Any], keywords: Collection[str] = (), remedy: str = ""
) -> None:
    """Raise where a function that was given does not take a call: what a transform asks when the call raised.

    Where it does take it, the exception that is being handled gets a note of a list or tuple that it may be about.

    Examples
    --------
    >>> check_takes("grad", lambda x, y: x, (1.0,))
    Traceback (most recent call last):
    dispatch.errors.ArgumentError: grad: the function takes (x, y), and was called with 1 by position: 'y' must be given.
    """
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # a builtin, which tells nothing
        return
    raised = sys.exception()
    try:
        signature.bind(*args, **dict.fromkeys(keywords))
    except TypeError:
        given = [f"{len(args)} by position"] if args or not keywords else []
        given += [f"{', '.join(keywords)} by name"] if keywords else []
        what = f"the class {f.__name__}" if isinstance(f, type) else "the function"
        missing = _missing(signature.parameters, len(args), keywords)
        said = f"{who}: {what} takes ({_shown(signature.parameters.values())}), and was called with {' and '.join(given)}"
        said += f": {' and '.join(map(repr, missing))} must be given." if missing else "."
        if own := next((name for name in keywords if name in OPTIONS and name not in signature.parameters), None):
            remedy = f" {own}= is one of {who}'s own, and goes into its call: {who}(f, {own}=...)(x)."
        raise ArgumentError(said + remedy) from None
    note_containers(who, raised, {f"argument {i}": x for i, x in enumerate(args)})


def note_containers(who: str, raised: BaseException | None, given: Mapping[str, Any]) -> None:
    """Say in a note of an exception, which speaks of a list or tuple, that one was given: its items are values of their own.

    Examples
    --------
    >>> error = TypeError("unsupported operand type(s) for ** or pow(): 'list' and 'int'")
    >>> note_containers("grad", error, {"argument 0": [1.0, 2.0]})
    >>> print(*error.__notes__)
    grad: argument 0 is a list of 2, and the function gets a list, with a value for each item. For one array give np.asarray(x).
    """
    if not isinstance(raised, (TypeError, AttributeError)):
        return
    note_words(raised)
    for name, x in given.items():
        kind = type(x).__name__
        spoken = (f"'{kind}'", f"a {kind} of length", "sequence", f"to {kind}", "and no list")
        if type(x) in (list, tuple) and any(word in str(raised) for word in spoken):
            said = f"{who}: {name} is a {kind} of {len(x)}, and the function gets a {kind}, with a value for each item."
            if name.startswith(("argument", "operand")) and x and all(hasattr(item, "shape") for item in x):
                call = f"{who}(f, *x)" if who in ("eval_shape", "vjp") else f"{who}(f)(*x)"
                call = f"{who}(pred, true, false, *x)" if name.startswith("operand") else call
                stacked = " For one array give np.stack(x)." * (who == "vmap")
                raised.add_note(f"{said} For arguments of the function give them one by one, {call}.{stacked}")
                continue
            one = "np.empty(x)" if who == "eval_shape" else "np.asarray(x)" if len(x) != 1 else "the item alone"
            raised.add_note(f"{said} For one array give {one}.")


def may_take(f: Any, count: int) -> bool:
    """Whether a function may take so many arguments by position: False where a plain function's code says that it does not.

    Examples
    --------
    >>> may_take(lambda x: x, 1), may_take(lambda: 0, 1), may_take(abs, 3)
    (True, False, True)
    """
    if type(f) is not types.FunctionType:
        return True
    most = f.__code__.co_argcount
    return most - len(f.__defaults__ or ()) <= count and (count <= most or bool(f.__code__.co_flags & inspect.CO_VARARGS))


def _missing(parameters: Mapping[str, inspect.Parameter], count: int, keywords: Iterable[str]) -> list[str]:
    """The parameters without a default that a call leaves out."""
    several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    by_position = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    given = {*by_position[:count], *keywords}
    return [n for n, p in parameters.items() if p.default is p.empty and n not in given and p.kind not in several]


def holding(*held: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`clear`, with some parameters held to their hints before the call: where a wrong value would be found late, or never."""
    return lambda function: clear(function, held=held)


def refusing(function: Callable[P, R]) -> Callable[P, R]:
    """Show a method, whose `*more` and `**others` are what it refuses by `unfit`, by the parameters that it takes.

    So a method that is called in each step of a program has no frame around it.
    """
    found = inspect.signature(function)
    several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    parameters = [p for p in found.parameters.values() if p.kind not in several]
    setattr(function, "__signature__", found.replace(parameters=parameters))  # noqa: B010  mypy knows no such attribute
    return function


def clear_tuple(cls: type[T]) -> type[T]:
    """Have a NamedTuple's class say of a call that does not fit what its fields are."""
    made = cls.__new__
    made.__qualname__ = f"{cls.__name__}.__new__"
    setattr(cls, "__new__", clear(made, held=tuple(inspect.signature(made).parameters)))  # noqa: B010
    return cls


def _uncallable(
    function: Callable[..., Any], calls: Mapping[str, str], args: tuple[Any, ...], keywords: dict[str, Any]
) -> ArgumentError | None:
    """What to raise where a function that was given does not take what it is called with; None where each does."""
    given = inspect.signature(function).bind(*args, **keywords).arguments
    for name, how in calls.items():
        words = how.partition("(")[2].rstrip(")").split(", ")
        count = len(given.get(words[0][1:], ())) if words[0].startswith("*") else len(words)
        try:
            parameters = inspect.signature(given[name])
        except (TypeError, ValueError):  # a builtin, which tells nothing
            continue
        try:
            parameters.bind(*range(count))
        except TypeError:
            takes = ", ".join(map(str, parameters.parameters))
            said = f"{function.__name__}: {name} is called as {how}, and the function given takes ({takes})."
            if words[0].startswith("*"):
                word = "operand was" if count == 1 else "operands were"
                only = given[words[0][1:]][0] if count == 1 else None
                if isinstance(only, (tuple, list)) and not does_not_take(given[name], tuple(only), {}):
                    items = f"{kind_of(only)} of {len(only)}: give its items one by one, *x"
                    return ArgumentError(f"{said} 1 operand was given, {items}.")
                return ArgumentError(f"{said} {count} {word} given: give one for each parameter.")
            one = " Take the carry as one, and take a tuple apart inside: a, b = carry." if words == ["carry"] else ""
            return ArgumentError(said + (one or f" Take ({', '.join(words)})."))
    return None


def _named(
    function: Callable[..., Any], calls: Mapping[str, str], args: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any]:
    """What was given, by the parameters' names; of those that are handed on one by one, by `name i`."""
    given = inspect.signature(function).bind(*args, **keywords).arguments
    for how in calls.values():
        word = how.partition("(*")[2].rstrip(")")
        given |= {f"{word.removesuffix('s')} {i}": x for i, x in enumerate(given.pop(word, ()))}
    return given


def unfit(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> ArgumentError:
    """What to raise for arguments that a function's parameters do not take."""
    parameters, name = dict(inspect.signature(function).parameters), title(function)
    first, of_class = next(iter(parameters), ""), "." in function.__qualname__.rpartition("<locals>.")[2]
    if of_class and first in ("self", "cls", "_cls"):
        owner = function.__qualname__.split(".")[-2]
        if first == "self" and args and all(cls.__name__ != owner for cls in type(args[0]).__mro__):
            said = f"{owner}.{name} was called on the class, and is a method"
            return ArgumentError(f"{said}: make {kind_named(owner)}, and call its {name}.")
        args = args[1:]
        del parameters[first]
    kinds = {name: parameter.kind for name, parameter in parameters.items()}
    by_position = [name for name, kind in kinds.items() if kind in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD)]
    by_name = [name for name, kind in kinds.items() if kind in (kind.KEYWORD_ONLY, kind.POSITIONAL_OR_KEYWORD)]
    call, open_ended = f"{name}({_shown(parameters.values())})", inspect.Parameter.VAR_KEYWORD in kinds.values()
    for given in keywords:
        if given in by_position and given not in by_name:
            return ArgumentError(f"{call} takes '{given}' by position. Leave `{given}=` out, and put it in its place.")
        if given not in by_name and not open_ended:
            other = PARAMETERS_ELSEWHERE.get(given, "")
            instead = NO_PARAMETERS.get(f"{name}.{given}", NO_PARAMETERS.get(given, ""))
            near = [other] if other in by_position else close_matches(given, by_position, 1)
            advice = f" Write {other}=." if other in by_name else "" if other in by_position else f" {instead}" * bool(instead)
            advice = advice or ("" if other in by_position else did_you_mean(given, by_name))
            advice = advice or (f" It is given by position, as {near[0]}." if near else "")
            if "kwargs" in by_name and args and given in _parameters_of(args[0]):
                advice = f" What is called takes it in kwargs={{'{given}': ...}}."
            if kinds.get(given) is inspect.Parameter.VAR_POSITIONAL:
                advice = f" Give the {given} by position, one behind the other."
            elif inspect.Parameter.VAR_POSITIONAL in kinds.values() and args and given in _parameters_of(args[0]):
                advice = f" Give the function its '{given}' by position."
            return ArgumentError(f"{call} has no parameter '{given}'.{advice}")
        if given in by_position[: len(args)]:
            return ArgumentError(f"{call} was given '{given}' twice, by position and by name. Give it once.")
    if len(args) > len(by_position) and name in ("gradcheck", "gradgradcheck"):
        shown = ", ".join("xyzuvw"[: len(args) - 1])
        return ArgumentError(f"{call} takes the inputs of f in one tuple. Write {name}(f, ({shown})).")
    if len(args) > len(by_position):
        more = f"{call} takes {len(by_position)} by position, and {were_given(len(args))}."
        if by_position == ["f"]:
            return ArgumentError(f"{more} What f is called with goes into the second call: {name}(f)(x).")
        if by_position == ["f", "xs"]:
            return ArgumentError(f"{more} For several arrays give one tuple, which f gets an item of: {name}(f, (x, y)).")
        return ArgumentError(f"{more} Give the others by name." if set(by_name) - set(by_position) else more)
    missing = _missing(parameters, len(args), keywords)
    first_of = MISSING.get(f"{name}.{missing[0]}", MISSING.get(missing[0], "") if len(missing) == 1 else "")
    if missing == ["f"] and keywords and not args:  # as a decorator with options
        options = ", ".join(f"{word}=..." for word in keywords)
        first_of = f" Write {name}(f, {options}), or @functools.partial({name}, {options}) above a function."
    return ArgumentError(f"{call}: {' and '.join(map(repr, missing))} must be given.{first_of}")


def _parameters_of(f: Any) -> Collection[str]:
    try:
        return inspect.signature(f).parameters
    except (TypeError, ValueError):  # no function, or a builtin that tells nothing
        return ()


def kind_named(name: str) -> str:
    """Return the name of a class with its article."""
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _shown(parameters: Iterable[inspect.Parameter]) -> str:
    """Return the names of parameters, with what stands between them."""
    found: list[str] = []
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not any(name.startswith("*") for name in found):
            found.append("*")
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        found.append(stars + p.name)
    return ", ".join(found)


class Keys(enum.EnumType):
    """The class of `DispatchKey`, which says of a name that is none which it may have been."""

    def __getattr__(cls, name: str) -> Any:
        if name in cls.__dict__.get("_member_map_", ()):  # of CPython 3.11, which looks members up here
            return cls._member_map_[name]
        known = cls.__dict__.get("_member_map_", ())
        raise AttributeError(name if name.startswith("_") else no_key(name, known), name=name, obj=cls)

    def __getitem__(cls, name: str) -> Any:
        if name not in cls._member_map_:
            raise DefinitionError(no_key(name, cls._member_map_))
        return cls._member_map_[name]


class Made(type):
    """The class of classes whose objects others make: a call that does not fit says in `made_by` what to write.

    Examples
    --------
    >>> class Point(metaclass=Made):
    ...     made_by = "plane.point(x)"
    ...     def __init__(self, plane, x): ...
    >>> Point(3)
    Traceback (most recent call last):
    dispatch.errors.ArgumentError: a Point is not made by calling its class with these arguments. Write plane.point(x).
    """

    made_by: str

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        try:
            return super().__call__(*args, **keywords)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:  # it was raised inside
                raise
        said = f"{kind_named(cls.__name__)} is not made by calling its class with these arguments."
        raise ArgumentError(f"{said} Write {cls.made_by}.")


class Text(str):
    """A text that is an attribute: whoever calls it, as the method that it is elsewhere, is told so.

    Examples
    --------
    >>> Text("def f(x): ...", "the code of a graph is a text, and is not called. Write graph.code.")()
    Traceback (most recent call last):
    dispatch.errors.ArgumentError: the code of a graph is a text, and is not called. Write graph.code.
    """

    __slots__ = ("told",)

    told: str

    def __new__(cls, text: str, told: str) -> "Text":
        made = super().__new__(cls, text)
        made.told = told
        return made

    def __call__(self, *_given: Any, **_named: Any) -> NoReturn:
        raise ArgumentError(self.told)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def more_than_data(x: Any) -> ArgumentError:
    """What to raise for an array of a class that has more than its data, where the data alone would be taken."""
    cls = type(x)
    name = f"{cls.__module__}.{cls.__qualname__}"
    if x.dtype.names:
        return ArgumentError(
            f"a {name} has records, with the fields {', '.join(x.dtype.names)}, and an array of numbers is asked for. Give one "
            f"of them, np.asarray(x[{x.dtype.names[0]!r}]), or a dict of them."
        )
    return ArgumentError(
        f"the data of a {name} of shape {x.shape} would be taken here, and what it has beside its data, a mask, a unit or a "
        "meaning of its own, would be lost. A plain call of an operator hands it on as it is. Write np.asarray(x) for the data "
        f"alone; register_array_type({cls.__name__}, device='cpu') says that it is all."
    )


def named_dtype(who: str, name: Any) -> Any:
    """Return the dtype that NumPy reads of a value, and say of a name that is none which it may have been.

    Examples
    --------
    >>> named_dtype("full", "flaot")
    Traceback (most recent call last):
    dispatch.errors.ArgumentError: full: dtype= is one of NumPy's, and there is none of the name 'flaot'. Did you mean 'float'?
    """
    try:
        return np.dtype(name)
    except (TypeError, ValueError):
        if not isinstance(name, str):
            given = f"{who}: dtype= is one of NumPy's, and was given {kind_of(name)}. Write np.float32, or 'float32'."
            raise ArgumentError(given) from None
        # Not np.sctypeDict: other packages add to it.
        known = ["float", "int", "complex", *[np.dtype(char).name for char in np.typecodes["All"]]]
        said = f"{who}: dtype= is one of NumPy's, and there is none of the name {name!r}.{did_you_mean(name, known)}"
        raise ArgumentError(said) from None


def never_entered(name: str, given: str = "...") -> None:
    """Warn of a block that goes, and was made without effect: torch's `set_grad_enabled(False)` works without a `with`."""
    if not sys.is_finalizing():
        call = f"{name}({given})"
        said = f"{call} was made and never entered, so that it did nothing. Write `with {call}:` around the code."
        warnings.warn(said, RuntimeWarning, stacklevel=3)


def _called(block: Any) -> str:
    """A call of what makes a block, with the names of what must be given: `no_grad()`, `validate(level)`."""
    parameters = [*inspect.signature(block).parameters.values()]
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(parameters) == 1 and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        needed = [f"*{parameters[0].name}"]
    return f"{block.__name__}({', '.join(needed)})"


class Block(type):
    """The class of classes whose instances are `with` blocks: `with no_grad:`, without a call, says so."""

    def __enter__(cls) -> NoReturn:
        raise ArgumentError(f"{cls.__name__} is a class, and a block is made by calling it. Write `with {_called(cls)}:`.")

    def __exit__(cls, *exception: object) -> None: ...


class BlockFunction:
    """A function that returns a `with` block, in place of the function: `with log_calls:`, without a call, says so."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.__call = clear(function)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if len(args) == 1 and callable(args[0]) and not keywords:
            name = self.__call.__name__
            raise ArgumentError(
                f"{name} makes a block, and was given a function. Write @{_called(self.__call)} above the function, or "
                f"`with {_called(self.__call)}:` around a call of it."
            )
        return self.__call(*args, **keywords)

    def __enter__(self) -> NoReturn:
        name = self.__call.__name__
        raise ArgumentError(f"{name} is a function, and a block is made by calling it. Write `with {_called(self.__call)}:`.")

    def __exit__(self, *exception: object) -> None: ...


def block_function(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that makes a `with` block, with words for who leaves its call out."""
    return BlockFunction(function)


def in_block(block: Callable[[], Any], f: Any, who: str) -> Any:
    """Return a function that runs `f` in a block: what a block does as a decorator.

    Examples
    --------
    >>> from contextlib import nullcontext
    >>> in_block(nullcontext, abs, "no_grad")(-3)
    3
    """
    body = inspect.unwrap(f) if callable(f) else f
    if not callable(f) or isinstance(f, type):
        what = f"the class {f.__name__}" if isinstance(f, type) else kind_of(f)
        raise ArgumentError(f"{who} decorates a function, and was given {what}. Write `with {who}(...):` around a block.")
    if inspect.isgeneratorfunction(body) or inspect.iscoroutinefunction(body) or inspect.isasyncgenfunction(body):
        kind = "async" if inspect.iscoroutinefunction(body) else "a generator"
        raise ArgumentError(
            f"{who} decorates a function, and {body.__name__} is {kind}: its body runs after the call has returned, outside "
            f"the block. Write `with {who}(...):` inside it."
        )

    @functools.wraps(f)
    def decorated(*args: Any, **keywords: Any) -> Any:
        with block():
            return f(*args, **keywords)

    return decorated
