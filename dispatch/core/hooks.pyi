from collections.abc import Callable
from typing import Any, Never, final

@final
class Hooks:
    refused: Callable[..., Any] | None
    refused_output: Callable[..., Any] | None
    note: Callable[..., Any] | None
    first_call: Callable[..., Any] | None
    refused_key: Callable[..., Any] | None
    observed: Callable[..., Any] | None
    taken_over: Callable[..., Any] | None
    kernels: Callable[..., Any] | None
    explain: Callable[..., Any] | None
    describe: Callable[..., Any] | None
    signature: Callable[..., Any] | None
    functional: Callable[..., Any] | None
    overloads: Callable[..., Any] | None
    cfunc: Callable[..., Any] | None
    rule_operator: Callable[..., Any] | None
    verb: Callable[..., Any] | None
    names: Callable[..., Any] | None
    switch: Callable[..., Any] | None
    on_device: Callable[..., Any] | None
    docstring: Callable[..., Any] | None
    def __init__(self, *args: Never, **functions: Callable[..., Any]) -> None: ...
