"""What the core asks of Python, plugged in: the one `Hooks` that every operator has."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any

from ..core import Hooks, OpOverload
from .call_errors import note, on_device, refused, refused_key, refused_output
from .explain import explain
from .frameworks import taken_over
from .key_guards import switch
from .layer import find_layer
from .observer import observed
from .printing import describe, kernels

__all__ = ["hooks"]


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


def verb(op: OpOverload, name: str) -> Callable[..., Any]:
    """`op.register_<name>`: the layer's own verb, bound to the operator."""
    layer = find_layer(name)

    def register(*args: Any, **options: Any) -> Any:
        return layer.attach(op, *args, **options)

    register.__name__ = f"register_{name}"
    register.__doc__ = layer.attach.__doc__
    return register


hooks = Hooks(
    refused=refused,
    refused_output=refused_output,
    refused_key=refused_key,
    note=note,
    on_device=on_device,
    observed=observed,
    taken_over=taken_over,
    kernels=kernels,
    explain=explain,
    describe=describe,
    signature=signature_of,
    verb=verb,
    switch=switch,
)
