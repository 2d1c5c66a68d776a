"""What the core asks of Python, plugged in: the one `Hooks` that every operator has."""

import re
from collections.abc import Callable
from functools import cache
from inspect import Parameter, Signature, cleandoc, signature
from typing import Any, SupportsIndex

from ..core import Hooks, OpOverload
from ..core.lazy import LazyFunction
from ..core.wrong_calls import unfit
from ..errors import DispatchError
from .call_errors import note, on_device, refused, refused_key, refused_output
from .frameworks import taken_over
from .layer import find_layer, layers
from .observer import observed
from .own_rules import check_verb
from .printing import describe, kernels
from .written_arguments import first_call

__all__ = ["documented", "hooks"]

documented: dict[str, Callable[..., Any]] = {}  # `register_<name>(op, ...)`, by name: what `op.register_<name>` says of itself
NOT_OF_METHODS = ("op", "lib", "allow_override")  # parameters that these functions have, and the methods do not

OF_USERS = {  # attributes that `dir` lists; the others are the layers'
    "default", "explain", "fallthrough", "functional", "kernels", "name", "overloads", "redispatch", "schema",
    "set_kernel_enabled", "tags", "unregister",
}  # fmt: skip


def signature_of(op: OpOverload) -> Signature:
    """`op.__signature__`: the decorated function's own, or the schema's where there is no function."""
    if (function := vars(op).get("__wrapped__")) is not None:
        return signature(function)
    parameters = []
    for a in op.schema.arguments:
        kind: Any = Parameter.POSITIONAL_ONLY if a.positional_only else Parameter.POSITIONAL_OR_KEYWORD
        kind = Parameter.KEYWORD_ONLY if a.kwarg_only else kind
        parameters.append(Parameter(a.name, kind, default=a.default if a.has_default else Parameter.empty))
    return Signature(parameters)


class Docstring(str):
    """The docstring of an operator: its function's own, behind which `help` shows what the operator has beside its call.

    `inspect.cleandoc`, which `help` and `inspect.getdoc` call, begins by expanding tabs. `op.__doc__` is the function's text.
    """

    __slots__ = ("word",)
    word: str  # what the operator is called in its own lines

    def expandtabs(self, tabsize: SupportsIndex | None = None) -> str:
        """The whole text for `inspect.cleandoc`, which gives no size of a tab."""
        if tabsize is not None:
            return super().expandtabs(tabsize)
        return f"{cleandoc(str(self))}\n\n{_methods(self.word)}".lstrip("\n")


def docstring(op: OpOverload, text: Any) -> Any:
    """What an operator keeps as its docstring; what is no text as it is."""
    if not isinstance(text, str):
        return text
    made = Docstring(text)
    made.word = op.schema.name
    return made


def _methods(word: str) -> str:
    """The verbs of an operator and what it says of itself, each with its parameters and its first line."""
    lines = [f"help({word}.register_fake) says all of one of these:", ""]
    for name, function in sorted(documented.items()):
        said, taken = _as_method(function)
        bare = [parameter.replace(annotation=Parameter.empty) for parameter in taken.parameters.values()]
        lines += [f"{word}.register_{name}{Signature(bare)}", f"    {said.strip().partition(chr(10))[0]}"]
    for name in ("explain", "kernels", "redispatch", "schema", "set_kernel_enabled"):
        member = getattr(OpOverload, name)
        called = str(signature(member)).replace("(self, /, ", "(") if callable(member) else ""
        lines += [f"{word}.{name}{called}", f"    {cleandoc(member.__doc__).partition(chr(10))[0]}"]
    return "\n".join(lines)


def verb(op: OpOverload, name: str) -> Callable[..., Any]:
    """`op.register_<name>`: the layer's own verb, bound to the operator; `register_samples` is no layer's."""
    attach = documented[name] if name in documented and name not in layers else find_layer(name, documented).attach
    beside = _beside_one(documented[name]) if name in documented else frozenset()

    def register(*args: Any, **options: Any) -> Any:
        usual = len(args) == 1 and beside.issuperset(options)  # a fifth of a definition's time was in what `inspect` binds
        wrong = not usual and bool(options or len(args) > 1) and name in documented and not fits(register, args, options)
        try:
            check_verb(op, name, args)
            if not wrong:
                return attach(op, *args, **options)
            if all(options.values()):  # it refuses in its own words, unless a decorator comes back, which would say it too late
                attach(op, *args, **options)
        except DispatchError as error:
            raise error.with_traceback(None)  # noqa: B904  the user's line and this one say where: not what lies between
        except TypeError as error:
            if wrong:
                pass
            elif name not in documented or error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
        raise unfit(register, args, options)

    register.__name__ = f"register_{name}"
    if name in documented:
        register.__doc__, register.__signature__ = _as_method(documented[name])  # type: ignore[attr-defined]
    else:
        register.__doc__ = attach.__doc__
    return register


def fits(register: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Whether a call has the parameters of a verb: a decorator, which is called later, would say so too late."""
    try:
        signature(register).bind(*args, **options)
    except TypeError:
        return False
    return True


def names(op: OpOverload) -> list[str]:
    """`dir(op)`: what its users call and read, not what the layers read of it."""
    of_type = [name for name in object.__dir__(op) if name.startswith("__") or name in OF_USERS]
    return sorted({*of_type, *(f"register_{name}" for name in documented)})


@cache
def _as_method(function: Callable[..., Any]) -> tuple[str, Signature]:
    """The docstring and the signature of `register_<name>(op, ...)`, for the method of an operator."""
    found = signature(function)
    kept = [parameter for name, parameter in found.parameters.items() if name not in NOT_OF_METHODS]
    entry = rf"^( *)(?:{'|'.join(NOT_OF_METHODS)}) : .*\n(?:\1 +.*\n)*"  # since CPython 3.13 docstrings are not indented
    return re.sub(entry, "", function.__doc__ or "", flags=re.MULTILINE), found.replace(parameters=kept)


@cache
def _beside_one(function: Callable[..., Any]) -> frozenset[str]:
    """The names of a verb's keywords, where one argument by position is all that it has to be given."""
    rest = list(_as_method(function)[1].parameters.values())[1:]
    one_is_enough = all([p.default is not Parameter.empty for p in rest])
    return frozenset(p.name for p in rest if one_is_enough and p.kind is Parameter.KEYWORD_ONLY)


hooks = Hooks(
    refused=refused,
    refused_output=refused_output,
    refused_key=refused_key,
    note=note,
    first_call=first_call,
    on_device=on_device,
    observed=observed,
    taken_over=taken_over,
    kernels=kernels,
    explain=LazyFunction(__package__, ".explain", "explain"),
    describe=describe,
    docstring=docstring,
    signature=signature_of,
    verb=verb,
    names=names,
    switch=LazyFunction(__package__, ".key_guards", "switch"),
)
