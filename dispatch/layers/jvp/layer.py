"""The forward-mode layer: makes the kernel of an operator from what it does to tangents.

There are two kinds of rules: a user's function of all tangents (user_rules.py), and a row's pushforwards, one for each
argument (pushforwards.py). Both get plain values and tangents, without this layer's wrappers.
"""

from typing import Any

from ...core import DispatchKey, OpOverload, Registration, Tensor, descend, split
from ...core.array_memory import inexact_layout
from ...core.lazy import LazyFunction
from ...core.pytree import arrays, mapped
from ...core.source import where
from ...dispatcher.layer import Constant, Derived, Kernel, Layer, Made, following
from ...dispatcher.rule_parameters import check_parameters
from ...errors import DefinitionError, NoRuleError, kind_of
from ...operators.functional_variant import on_copies_of, origin_of
from ...operators.rule_operators import missing
from ...operators.views import with_views
from ...schema.types import RESIDUAL
from ..derivatives import check_has_derivative, check_lost, constant_kernel
from ..opaque_rules import Opacity, UserRule, checked_opaque
from .pushforward_rules import Pushforwards, check_reads, row_kernel
from .tensor import DualTensor

made_kernel = LazyFunction(__package__, ".inplace", "made_kernel")
writing_kernel = LazyFunction(__package__, ".inplace", "writing_kernel")
operator_of = LazyFunction(__package__, ".opaque_jvp", "operator_of")
user_kernel = LazyFunction(__package__, ".user_rules", "user_kernel")


class Forward(Layer):
    """The layer of forward mode."""

    def rule(self, rule: Any, /, *, opaque: bool | None = None) -> Any:
        return rule if isinstance(rule, (Constant, Made, Pushforwards)) else UserRule(rule, Opacity(opaque))

    def attach(self, op: OpOverload, rule: Any = None, /, *args: Any, opaque: bool | None = None, **options: Any) -> Any:
        """Register a jvp rule; without it this is a decorator."""
        return super().attach(op, rule, *args, opaque=checked_opaque(op, opaque), **options)

    def check(self, op: OpOverload, rule: Any) -> None:
        rule = rule.__wrapped__ if isinstance(rule, UserRule) else rule
        if isinstance(rule, (Constant, Made)):
            return
        if isinstance(rule, Pushforwards):
            check_reads(op, rule)
            return
        if not callable(rule):
            raise DefinitionError(f"{op.name}: a jvp rule is a function, and {kind_of(rule)} was given.")
        check_has_derivative(op, "tangent comes of it", "Leave the rule out")
        check_parameters(op, rule, leading=2, what="jvp rule")

    def lower(self, op: OpOverload, rule: Any) -> Kernel:
        return _beside_residuals(op, self._lowered(op, rule))

    def _lowered(self, op: OpOverload, rule: Any) -> Kernel:
        if op.schema.is_mutable:  # its functional form finds the rule by itself
            return _writing(op)
        if isinstance(rule, Constant):
            return constant_kernel(op.whole)
        if isinstance(rule, Made):
            return made_kernel(op, None if rule.others is None else self.lower(op, rule.others))  # type: ignore[no-any-return]
        row = isinstance(rule, Pushforwards) and len(op.schema.returns) == 1
        kernel = row_kernel(op, rule) if row else user_kernel(op, rule)
        return with_views(op, kernel, DualTensor) if op.schema.is_view else kernel

    def remark(self, rule: Any) -> str:
        return str(rule.opacity) if isinstance(rule, UserRule) else ""

    def place(self, rule: Any) -> str:
        if isinstance(rule, (Constant, Made)):
            return "no derivative"
        return where(next(iter(rule.by_argument.values())).function if isinstance(rule, Pushforwards) else rule)

    def default(self, op: OpOverload) -> Kernel:
        if op.schema.is_mutable:
            return _writing(op)
        origin = origin_of(op)
        if origin is None:
            return self._without_rule(op, self.derived(op))
        return following(lambda: origin.table.source(self.key) or self.derived(op), lambda found: self._by_rule_of(op, found))

    def _by_rule_of(self, op: OpOverload, found: Registration | Derived | None) -> Kernel:
        """The kernel of a functional form, by what there is for the operator that it was made of."""
        if not isinstance(found, Registration):
            return self._without_rule(op, found)
        if found.layer is self:
            return self.lower(op, found.rule)
        made: Kernel = on_copies_of(op)
        return made

    def _without_rule(self, op: OpOverload, derived: Derived | None) -> Kernel:
        if derived is None:
            return _ruleless(op)
        return _beside_residuals(op, self._derived(op, derived))

    def _derived(self, op: OpOverload, derived: Derived) -> Kernel:
        return with_views(op, derived.make(), DualTensor) if op.schema.is_view else derived.make()


layer = Forward("jvp", DispatchKey.JVP)


def jvp_rule(op: OpOverload) -> OpOverload | None:
    """`op.jvp_rule`: the operator of the jvp rule that a user gave, None where there is none."""
    registration = op.table.source(layer.key)
    rule = None if registration is None else registration.rule
    return operator_of(op.functional, rule) if isinstance(rule, UserRule) else None


def _beside_residuals(op: OpOverload, kernel: Kernel) -> Kernel:
    """The kernel, given residuals without wrappers: how numbers in a residual change is for the rule to say.

    A tape may have wrapped the numbers in a residual, to see who computes with them, at a higher rank than the values of this
    level.
    """
    places = [i for i, a in enumerate(op.schema.arguments) if a.type == RESIDUAL]
    if not places:
        return kernel

    def beside(*args: Any) -> Any:
        rank = split(tuple([None if i in places else x for i, x in enumerate(args)]))[0].rank

        def below(x: Any) -> Any:
            while isinstance(x, Tensor) and x.rank > rank:
                x = x.value
            return x

        return kernel(*[mapped(below, x) if i in places else x for i, x in enumerate(args)])

    return beside


def _writing(op: OpOverload) -> Kernel:
    kernel = writing_kernel(op)
    return with_views(op, kernel, DualTensor) if op.schema.is_view else kernel


def _ruleless(op: OpOverload) -> Kernel:
    """The kernel of an operator without any derivative: returns integers as they are, and raises for anything else."""
    whole, named = op.whole, origin_of(op) or op

    def kernel(*args: Any) -> Any:
        out = descend(whole, args)[0]
        outputs = out[:-1] if op.outputs.residual and len(op.schema.returns) > 1 else out
        if any(inexact_layout(x) is not None for x in arrays(outputs)):
            raise NoRuleError(
                f"a tangent was asked of {op.name}'s output, and it has neither a jvp rule nor an autograd rule to derive one "
                "from. "
                + missing(
                    named,
                    "register_jvp(rule), where rule(tangents, output, *args) returns the tangent of the output",
                    "or pass dispatch.detach(...) of its arguments, where constants are meant.",
                ),
                operator=op.name,
            )
        check_lost(named, outputs, "tangent")
        return out

    return kernel
