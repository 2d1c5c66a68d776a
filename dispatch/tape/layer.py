"""The tape as a layer: how a derivative rule becomes a kernel that records.

Two kinds of rules: a user's pair of functions, `backward` and `setup_context` (recorded.py), and a row's pullbacks, one for
each argument (rows.py). Both kernels take the tracked values off, call the operator again, and wrap what comes back with a
node that refers to the nodes of what went in.
"""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from ..core import DispatchKey, OpOverload, descend
from ..errors import DefinitionError, GradientError, NoRuleError, kind_of
from ..layer import Kernel, Layer
from ..where import where
from .context import Context
from .recorded import Rule, recorded_kernel
from .rows import Pullbacks, row_kernel


class Constant:
    """The rule of an operator whose result does not depend on its arguments smoothly: comparisons, shapes, indices."""


CONSTANT = Constant()


class Autograd(Layer):
    """Records calls on tracked values."""

    def rule(self, backward: Any, /, *args: Any, setup_context: Callable[..., Any] | None = None, **options: Any) -> Any:
        return backward if isinstance(backward, (Constant, Pullbacks)) else Rule(backward, setup_context)

    def check(self, op: OpOverload, rule: Any) -> None:
        if isinstance(rule, Rule):
            _check_functions(op, rule)
        if not op.schema.is_functional and not op.schema.is_view and not isinstance(rule, (Constant, Pullbacks)):
            raise DefinitionError(
                f"{op.name} writes to its arguments ({', '.join(op.schema.mutable_arguments)}), and a gradient is registered "
                "for operators that return fresh outputs. Register it for a functional operator that calls this one.",
                operator=op.name,
            )

    def lower(self, op: OpOverload, rule: Any) -> Kernel:
        if isinstance(rule, Constant):
            return _constant(op)
        return row_kernel(op, rule) if isinstance(rule, Pullbacks) else recorded_kernel(op, rule)

    def place(self, rule: Any) -> str:
        if isinstance(rule, Constant):
            return "no derivative"
        if isinstance(rule, Pullbacks):
            rule = next(iter(rule.by_argument.values())).function
        return where(rule.backward if isinstance(rule, Rule) else rule)

    def default(self, op: OpOverload) -> Kernel:
        def backward(ctx: Context, *grads: Any) -> Any:
            raise NoRuleError(
                f"a gradient was asked of {op.name}, which has no derivative. Add one: {op.schema.name}.register_autograd("
                "backward, setup_context=...); or write dispatch.detach(...) around the call to make it a constant.",
                operator=op.name,
            )

        return recorded_kernel(op, Rule(backward)) if op.schema.is_functional or op.schema.is_view else _mutating(op)


layer = Autograd("autograd", DispatchKey.AUTOGRAD)


def _check_functions(op: OpOverload, rule: Rule) -> None:
    for what, function in (("backward", rule.backward), ("setup_context", rule.setup_context)):
        if function is not None and not callable(function):
            raise DefinitionError(f"{op.name}: {what} is a function, and {kind_of(function)} was given.")
    if not op.schema.returns and not op.schema.is_mutable:
        raise DefinitionError(
            f"{op.name} returns nothing and writes to nothing, so that no gradient comes back to it. Leave the backward out.",
            operator=op.name,
        )
    if rule.setup_context is None:
        return
    parameters = signature(rule.setup_context).parameters.values()
    variadic = any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)
    if not variadic and len(parameters) != 3:
        raise DefinitionError(
            f"{op.name}: setup_context takes ({', '.join(p.name for p in parameters)}). It is called with three arguments: "
            "setup_context(ctx, inputs, output).",
            operator=op.name,
        )


def _constant(op: OpOverload) -> Kernel:
    whole = op.whole

    def kernel(*args: Any) -> Any:
        return descend(whole, args)[0]

    return kernel


def _mutating(op: OpOverload) -> Kernel:
    def kernel(*args: Any) -> Any:
        raise GradientError(
            f"{op.name} writes to {', '.join(op.schema.mutable_arguments)}, and was given tracked values. "
            "Pass dispatch.detach(x), or use an operator that returns its result.",
            operator=op.name,
        )

    return kernel
