"""The fake layer: makes a kernel of a shape rule."""

from collections.abc import Callable
from typing import Any

from ...core import DispatchKey, OpOverload
from ...core.lazy import LazyFunction
from ...core.source import where
from ...dispatcher.layer import Kernel, Layer
from ...dispatcher.rule_parameters import check_parameters
from ...errors import FakeTensorError, kind_of
from .rule_cache import Pure

kernel_by = LazyFunction(__package__, ".rule_kernels", "kernel_by")
kernel_without_rule = LazyFunction(__package__, ".rule_kernels", "kernel_without_rule")


class Fake(Layer):
    """Runs an operator's shape rule in place of its kernel."""

    def check(self, op: OpOverload, rule: Any) -> None:
        if isinstance(rule, Pure):
            return
        if not callable(rule):
            raise FakeTensorError(f"{op.name}: a fake rule is a function, and {kind_of(rule)} was given.")
        check_parameters(op, rule, what="fake rule")

    def lower(self, op: OpOverload, rule: Callable[..., Any] | Pure) -> Kernel:
        return kernel_by(op, rule)  # type: ignore[no-any-return]

    def place(self, rule: Any) -> str:
        return where(rule.rule if isinstance(rule, Pure) else rule)

    def default(self, op: OpOverload) -> Kernel:
        return kernel_without_rule(op)  # type: ignore[no-any-return]


layer = Fake("fake", DispatchKey.FAKE)
