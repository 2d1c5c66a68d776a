"""The batching layer: runs an operator's batching rule once for all items, or without a rule the operator in a loop.

A rule is `rule(info, in_dims, *args)`. It gets arrays that have the axis of the batch, and in `in_dims` where that axis is, or
None. It returns the output and the axis of the batch in it.
"""

from collections.abc import Callable
from typing import Any

from ...core import DispatchKey, OpOverload
from ...core.lazy import LazyFunction
from ...core.source import where
from ...dispatcher.layer import Kernel, Layer
from ...dispatcher.rule_parameters import check_parameters
from ...errors import DefinitionError, kind_of
from ..opaque_rules import Opacity, UserRule, checked_opaque

check_method = LazyFunction(__package__, ".methods", "check_method")
kernel_by = LazyFunction(__package__, ".batching_kernels", "kernel_by")
kernel_without_rule = LazyFunction(__package__, ".batching_kernels", "kernel_without_rule")


class Vmap(Layer):
    """Runs an operator's batching rule, or the loop."""

    def rule(self, rule: Any, /, *, opaque: bool | None = None) -> Any:
        return UserRule(rule, Opacity(opaque)) if callable(rule) else rule

    def attach(self, op: OpOverload, rule: Any = None, /, *args: Any, opaque: bool | None = None, **options: Any) -> Any:
        """Register a batching rule or the name of one; without it this is a decorator."""
        checked_opaque(op, opaque)
        if isinstance(rule, str) and opaque is not None:
            raise DefinitionError(
                f"{op.name}: opaque= says how a rule is called, and {rule!r} is the name of one of ours. Leave it out.",
                operator=op.name,
            )
        return super().attach(op, rule, *args, opaque=opaque, **options)

    def check(self, op: OpOverload, rule: Any) -> None:
        rule = rule.__wrapped__ if isinstance(rule, UserRule) else rule
        if isinstance(rule, str):
            check_method(op, rule)
            return
        if not callable(rule):
            raise DefinitionError(f"{op.name}: a vmap rule is a function, and {kind_of(rule)} was given.")
        check_parameters(op, rule, leading=2, what="vmap rule")

    def lower(self, op: OpOverload, rule: UserRule | Callable[..., Any] | str) -> Kernel:
        return kernel_by(op, rule)  # type: ignore[no-any-return]

    def remark(self, rule: Any) -> str:
        return str(rule.opacity) if isinstance(rule, UserRule) else ""

    def place(self, rule: Any) -> str:
        return repr(rule) if isinstance(rule, str) else where(rule)

    def default(self, op: OpOverload) -> Kernel:
        return kernel_without_rule(op)  # type: ignore[no-any-return]


layer = Vmap("vmap", DispatchKey.VMAP)
