"""What a rule's parameters say: held against how the rule is called, when it is registered, and used to call it.

A rule about an operator's arguments binds by parameter name; one that is about gradients is called by position. Both are looked
at as `inspect` sees them, so that a partial, a bound method and a callable object count as a function does.
"""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any

from ..core import OpOverload
from ..errors import DefinitionError

Rule = Callable[..., Any]

STARS, STARRED = 0x0C, 0x04  # the flags of *args and **kwargs in a code object; of *args
LEADING = {"vmap rule": ("info", "in_dims"), "jvp rule": ("tangents", "output")}  # the layer's own parameters, of some rules
ELSEWHERE = {"info", "in_dims", "axis_size", "in_batched", "tangents"}  # in another place these are swapped, or JAX's
POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def check_parameters(op: OpOverload, rule: Rule, leading: int = 0, what: str = "rule") -> None:
    """Raise DefinitionError if a rule's parameters do not have the names of the operator's arguments: two may be swapped.

    The first `leading` parameters are the layer's own; `what` is what messages call the rule. A parameter by keyword that has a
    default, as a partial leaves it behind, is the rule's own business. Of one argument nothing can be swapped, and its name is
    free: `np.empty_like` is a fake rule as it stands.
    """
    expected, own = op.arguments.names, LEADING.get(what, ())
    if own and _is_plain(rule) and any(a != b and a in ELSEWHERE for a, b in zip(_names(rule), own, strict=False)):
        raise _not_taken(op, what, ", ".join(_names(rule)), own)
    if _is_plain(rule) and rule.__code__.co_kwonlyargcount <= len(expected) and _names(rule)[leading:] == expected:
        return
    if _takes_any(rule, leading + len(expected)):
        return
    parameters = _parameters(rule)
    if parameters is None:
        return
    by_keyword = _by_keyword(op, parameters, leading)
    positional = [name for name in expected if name not in by_keyword]
    stars = any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)
    named = [p.name for p in parameters if p.kind in POSITIONAL][leading:]
    free = stars or len(expected) == len(positional) == 1
    if (free or named == positional) and _binds(parameters, leading + len(positional), by_keyword):
        return
    few = len(parameters) <= leading and not stars
    others = not stars and len(parameters) != leading + len(expected) and tuple(p.name for p in parameters[:leading]) != own
    if own and (few or others or {p.name for p in parameters[:leading]} & set(expected) - set(own)):
        raise _not_taken(op, what, _listed(parameters), own)
    raise DefinitionError(
        f"{op.name}: the {what} takes ({_listed(parameters, leading)}), and the operator ({', '.join(expected)}). "
        "Rules bind by parameter name: give the rule the operator's own names, in its order.",
        operator=op.name,
    )


def _not_taken(op: OpOverload, what: str, taken: str, own: tuple[str, ...]) -> DefinitionError:
    called = ", ".join((*own, *op.arguments.names))
    said = f"{op.name}: the {what} takes ({taken}), and is called with ({called}). Take them all, in this order."
    return DefinitionError(said, operator=op.name)


def check_count(op: OpOverload, rule: Rule, count: int, what: str, called: Callable[[], str]) -> None:
    """Raise DefinitionError if a rule cannot be called with so many arguments, by position.

    `what` is what messages call the rule, `called()` says how it is called.
    """
    if _is_plain(rule) and not rule.__code__.co_kwonlyargcount:
        most = rule.__code__.co_argcount
        if most - len(rule.__defaults__ or ()) <= count <= most:
            return
    parameters = _parameters(rule)
    if parameters is not None and not _binds(parameters, count, ()):
        raise DefinitionError(f"{op.name}: {what} takes ({_listed(parameters)}). {called()}", operator=op.name)


def check_kernel_parameters(op: OpOverload, kernel: Rule) -> None:
    """Raise DefinitionError if a kernel cannot be called as calls of the operator do: by position, keyword-only by name."""
    count = op.arguments.positional
    named = op.arguments.names[count:]
    if _is_plain(kernel) and not kernel.__code__.co_kwonlyargcount and not named:
        most, expected = kernel.__code__.co_argcount, op.arguments.names[:count]
        if (given := _names(kernel)[:count]) != expected and sorted(given) == sorted(expected):
            raise DefinitionError(
                f"{op.name}: the kernel takes ({', '.join(given)}), and the operator ({', '.join(expected)}). Arguments come "
                "by position: give the kernel the operator's order.",
                operator=op.name,
            )
        if most - len(kernel.__defaults__ or ()) <= count <= most:
            return
    try:
        parameters = _parameters(kernel)
    except TypeError:  # of what says nothing of its parameters
        return
    if parameters is not None and not _binds(parameters, count, named):
        taken = ", ".join([*op.arguments.names[:count], *(["*", *named] if named else [])])
        raise DefinitionError(
            f"{op.name}: the kernel takes ({_listed(parameters)}), and the operator ({taken}). A kernel takes every argument "
            "of the operator, in its order.",
            operator=op.name,
        )


def by_position(op: OpOverload, rule: Rule, leading: int = 0) -> Rule:
    """A rule that can be called with every argument by position, in schema order, after `leading` ones of the layer's own."""
    if _is_plain(rule) and not rule.__code__.co_kwonlyargcount:
        return rule
    by_keyword = _by_keyword(op, _parameters(rule) or [], leading)
    if not by_keyword:
        return rule
    names = op.arguments.names
    places = [(name, leading + names.index(name)) for name in by_keyword]
    others = [i for i in range(leading + len(names)) if i not in dict(places).values()]
    return lambda *args: rule(*[args[i] for i in others], **{name: args[i] for name, i in places})


def parameter_names(rule: Rule) -> tuple[str, ...] | None:
    """The names of a function's parameters, or None where it takes whatever it is given."""
    if _is_plain(rule):
        return _names(rule)
    parameters, found = _parameters(rule), []
    if parameters is None:
        return None
    for p in parameters:
        if p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            return None
        found.append(p.name)
    return tuple(found)


def _is_plain(rule: Rule) -> bool:
    """Whether a rule is a function whose code says it all: no *args and no decorator's mark, 30 times faster than inspect."""
    # hasattr, for a function's dict is made where somebody asks for it: 64 bytes
    return type(rule) is FunctionType and not rule.__code__.co_flags & STARS and not hasattr(rule, "__wrapped__")


def _takes_any(rule: Any, count: int) -> bool:
    """Whether a function takes so many arguments by position, of any names: it ends in `*args`, as 130 rules of rows do."""
    if type(rule) is not FunctionType or hasattr(rule, "__wrapped__"):
        return False
    code = rule.__code__
    return code.co_flags & STARS == STARRED and not code.co_kwonlyargcount and code.co_argcount <= count


def _names(rule: Any) -> tuple[str, ...]:
    code = rule.__code__
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _parameters(rule: Rule) -> list[Parameter] | None:
    """What `inspect` knows of a callable; None of a builtin that has no signature, which counts as taking what it is given."""
    try:
        return list(signature(rule).parameters.values())
    except ValueError:
        return None


def _by_keyword(op: OpOverload, parameters: list[Parameter], leading: int) -> tuple[str, ...]:
    """The operator's arguments that a rule takes by keyword."""
    names, kinds = op.arguments.names, {p.kind for p in parameters}
    if Parameter.VAR_KEYWORD in kinds and Parameter.VAR_POSITIONAL not in kinds:
        taken = [p.name for p in parameters if p.kind in POSITIONAL][leading:]
        return tuple(name for name in names if name not in taken)
    return tuple(p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY and p.name in names)


def _binds(parameters: list[Parameter], count: int, keywords: tuple[str, ...]) -> bool:
    try:
        Signature(parameters).bind(*[None] * count, **dict.fromkeys(keywords))
    except TypeError:
        return False
    return True


def _listed(parameters: list[Parameter], leading: int = 0) -> str:
    """The parameters without the layer's own, as a `def` lists them."""
    marks: dict[object, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
    own = all(p.kind in POSITIONAL for p in parameters[:leading])
    return ", ".join([marks.get(p.kind, "") + p.name for p in parameters[leading if own else 0 :]])
