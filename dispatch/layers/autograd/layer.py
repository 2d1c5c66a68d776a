"""The tape as a layer: makes a kernel that records of a derivative rule.

There are two kinds of rules: a user's `backward` and `setup_context` (user_rules.py), and a row's pullbacks, one for each
argument (pullback_rules.py). Both kinds of kernels unwrap the tracked values, call the operator again, and wrap the results
with a node, which refers to the nodes of the arguments.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ...core import DispatchKey, OpOverload, Registration, count_conversion, descend, split
from ...core.lazy import LazyFunction
from ...core.source import where
from ...dispatcher.layer import RULES_BEFORE, Constant, Derived, Kernel, Layer, Made, following
from ...dispatcher.rule_parameters import check_count, parameter_names
from ...errors import DefinitionError, NoRuleError, check_flag, kind_of
from ...operators.functional_variant import form_of, on_copies_of, origin_of
from ...operators.prims import detach
from ...operators.rule_operators import missing
from ...operators.views import with_views
from ..derivatives import check_has_derivative, check_lost, constant_kernel, gives_numbers
from ..opaque_rules import Opacity, checked_opaque
from .context import Context
from .derivative_sources import Form, check_alone, derivative_of, is_given
from .grad_mode import quiet_now
from .kernels import user_kernel
from .pullback_rules import Pullbacks, row_kernel
from .tensor import TrackedTensor
from .user_rules import KEYWORDS_APART, Rule

made_kernel = LazyFunction(__package__, ".inplace", "made_kernel")
written_kernel = LazyFunction(__package__, ".inplace", "written_kernel")
operator_of = LazyFunction(__package__, ".opaque_backward", "operator_of")
SETUP = ("ctx", "inputs", "output")  # the parameters of a setup_context
CALLED = {  # by whether it takes the keyword-only inputs apart
    False: "It is called with three arguments: setup_context(ctx, inputs, output).",
    True: "It is called with four arguments: setup_context(ctx, inputs, keyword_only_inputs, output).",
}


class Autograd(Layer):
    """Records calls on tracked values."""

    def rule(
        self,
        backward: Any,
        /,
        *args: Any,
        setup_context: Callable[..., Any] | None = None,
        batched: bool = False,
        opaque: bool | None = None,
        **options: Any,
    ) -> Any:
        if isinstance(backward, (Constant, Made, Pullbacks)):
            return backward
        return Rule(backward, setup_context, check_flag(batched, "register_autograd: batched"), Opacity(opaque))

    def attach(
        self,
        op: OpOverload,
        backward: Any = None,
        /,
        *args: Any,
        setup_context: Callable[..., Any] | None = None,
        batched: bool = False,
        opaque: bool | None = None,
        **sources: Any,
    ) -> Any:
        """Register a derivative, by a backward or another source. Without any it is a decorator of a backward."""
        if args:
            raise DefinitionError(
                f"{op.name}: register_autograd takes the backward alone by position, and {kind_of(args[0])} was given after "
                "it. Write register_autograd(backward, setup_context=setup_context).",
                operator=op.name,
            )
        given = {name: source for name, source in sources.items() if is_given(source)} if sources else sources
        checked_opaque(op, opaque)
        if backward is None and not given:
            return lambda backward: self.attach(op, backward, setup_context=setup_context, batched=batched, opaque=opaque)
        if backward is None:
            check_alone(op, given, setup_context=setup_context, batched=batched)
        options: dict[str, Any] = {"setup_context": setup_context, "batched": batched, "opaque": opaque}
        rule = None if backward is None else self.rule(backward, **options)
        op.register(self, derivative_of(op, rule, given, opaque) if given else rule)
        return backward

    def check(self, op: OpOverload, rule: Any) -> None:
        rule = rule.rule if isinstance(rule, Form) else rule
        if isinstance(rule, Rule):
            _check_functions(op, rule)

    def lower(self, op: OpOverload, rule: Any) -> Kernel:
        rule = rule.rule if isinstance(rule, Form) else rule
        if op.schema.is_mutable:
            functional = op.functional
            reads = not isinstance(rule, Constant) and _reads_what_is_written(op, rule)
            atomic = isinstance(rule, Pullbacks)
            kernel = written_kernel(op, lambda run: _recording(functional, rule, run), reads=reads, atomic=atomic)
        else:
            kernel = _recording(op, rule, op.whole)
        return with_views(op, kernel, TrackedTensor) if op.schema.is_view else kernel

    def place(self, rule: Any) -> str:
        if isinstance(rule, (Constant, Made)):
            return "no derivative"
        if isinstance(rule, Form):
            return where(rule.function) if callable(rule.function) else ""
        if isinstance(rule, Pullbacks):
            rule = next(iter(rule.by_argument.values())).function
        return where(rule.backward if isinstance(rule, Rule) else rule)

    def remark(self, rule: Any) -> str:
        if isinstance(rule, Form):
            rule = rule if rule.opacity is not None else rule.rule
        return str(rule.opacity) if isinstance(rule, (Rule, Form)) else ""

    def default(self, op: OpOverload) -> Kernel:
        origin = origin_of(op)
        if origin is None:
            return self._without_rule(op, op, self.derived(op))
        return following(
            lambda: origin.table.source(self.key) or self.derived(op), lambda found: self._by_rule_of(op, origin, found)
        )

    def _by_rule_of(self, op: OpOverload, origin: OpOverload, found: Registration | Derived | None) -> Kernel:
        """Return the kernel of a functional form, by the rule of the operator that it was made of."""
        if not isinstance(found, Registration):
            return self._without_rule(op, origin, found)
        if found.layer is self:
            return self.lower(op, found.rule)
        made: Kernel = on_copies_of(op)  # the origin's kernel is made of operators, which record: the copies do too
        return made

    def _without_rule(self, op: OpOverload, named: OpOverload, derived: Derived | None) -> Kernel:
        if derived is not None:
            return derived.make()
        kernel = self.lower(op, _ruleless(named))
        return _refusing_numbers(named, kernel) if gives_numbers(op) else kernel


layer = Autograd("autograd", DispatchKey.AUTOGRAD)


def backward_rule(op: OpOverload) -> OpOverload | None:
    """`op.backward_rule`: the operator of the backward that a user gave, None where there is none."""
    registration = op.table.source(layer.key)
    rule = None if registration is None else registration.rule
    rule = rule.rule if isinstance(rule, Form) else rule
    return operator_of(op.functional, rule) if isinstance(rule, Rule) else None


def partial_rule(op: OpOverload) -> OpOverload | None:
    """`op.partial_rule`: the operator of the partial derivatives that a user gave, None where there are none."""
    registration = op.table.source(layer.key)
    form = None if registration is None else registration.rule
    return form.operator() if isinstance(form, Form) and form.operator is not None else None


def _check_functions(op: OpOverload, rule: Rule) -> None:
    backward, setup_context = rule.backward, rule.setup_context
    for what, function in (("backward", backward), ("setup_context", setup_context)):
        if not callable(function) and function is not None:
            raise DefinitionError(f"{op.name}: {what} is a function, and {kind_of(function)} was given.")
        if isinstance(function, type):
            name = function.__name__
            of_users = [cls for cls in function.__mro__ if not cls.__module__.startswith("torch.")]  # whose Function has a stub
            has_setup = any("setup_context" in vars(cls) for cls in of_users)
            setup = f", setup_context={name}.setup_context" * has_setup
            written = f" Write register_autograd({name}.backward{setup})." * hasattr(function, "backward")
            if written and not has_setup and hasattr(function, "setup_context"):
                written += " What its forward keeps on ctx goes into a function of its own, setup_context(ctx, inputs, output)."
            raise DefinitionError(
                f"{op.name}: {what} is a function, and the class {name} was given.{written}", operator=op.name
            )
    check_has_derivative(op, "gradient comes back to it", "Leave the backward out")
    form = form_of(op.schema)
    outputs = form.returned.count(-1) - form.residual + len(form.written)
    called = partial(_backward_is_called, outputs, writes=bool(form.written))
    if setup_context is not None and parameter_names(backward) == SETUP:
        said = f"{op.name}: its backward takes ({', '.join(SETUP)}), which setup_context does. Are the two exchanged?"
        raise DefinitionError(f"{said} {called()}", operator=op.name)
    check_count(op, backward, 1 + outputs, "its backward", called)
    if "ctx" in (names := parameter_names(backward) or ())[1:]:
        raise DefinitionError(f"{op.name}: its backward takes ({', '.join(names)}). {called()}", operator=op.name)
    if setup_context is not None:
        names = parameter_names(setup_context) or ()
        apart = KEYWORDS_APART in names
        check_count(op, setup_context, 3 + apart, "setup_context", lambda: CALLED[apart])
        if names != SETUP and (set(names) == set(SETUP) or names[1:2] == op.arguments.names[:1]):
            own = f" Its second is a tuple of all arguments: {op.arguments.names[0]}, *_ = inputs."
            said = f"{op.name}: setup_context takes ({', '.join(names)}). {CALLED[apart]}"
            raise DefinitionError(said + own * (set(names) != set(SETUP)), operator=op.name)


def _backward_is_called(outputs: int, *, writes: bool) -> str:
    grads = ["g"] if outputs == 1 else [f"g{i}" for i in range(outputs)]
    of = "one output" if outputs == 1 else f"{outputs} outputs"
    what = " and values that it writes" if writes and outputs > 1 else ""
    return f"It is called with a gradient for {of}{what}: backward({', '.join(['ctx', *grads])})."


def _ruleless(op: OpOverload) -> Rule:
    def backward(ctx: Context, *grads: Any) -> Any:
        before = "It was defined again, and its rules went with the definition before. "
        again = before if "autograd" in vars(op).get(RULES_BEFORE, ()) else ""
        if gives_numbers(op):
            raise NoRuleError(
                f"a gradient was asked of {op.name}, which returns {op.schema.returns[0].type}, a plain number. Hint "
                "-> np.ndarray and return np.asarray(result), and register_autograd.",
                operator=op.name,
            )
        raise NoRuleError(
            f"a gradient was asked of {op.name}, which has no derivative. {again}"
            + missing(
                op,
                "register_autograd(backward, setup_context=...)",
                "or write dispatch.detach(...) around the call to make it a constant.",
            ),
            operator=op.name,
        )

    return Rule(backward)


def _refusing_numbers(op: OpOverload, kernel: Kernel) -> Kernel:
    """The kernel of an operator that has no derivative, and returns numbers that no gradient comes back to."""

    def refusing(*args: Any) -> Any:
        out = kernel(*args)
        if not quiet_now().covers(split(args)[0].level.number):
            check_lost(op, out, "gradient")
        return out

    return refusing


def _recording(op: OpOverload, rule: Any, whole: Callable[..., Any]) -> Kernel:
    """Return the kernel that records an operator by a rule. `whole` runs the operator on the unwrapped values."""
    if isinstance(rule, Made):
        return made_kernel(op, None if rule.others is None else row_kernel(op, rule.others, whole))  # type: ignore[no-any-return]
    if isinstance(rule, Constant):
        return _cutting(whole) if op is detach else constant_kernel(whole)
    return row_kernel(op, rule, whole) if isinstance(rule, Pullbacks) else user_kernel(op, rule, whole)


def _cutting(whole: Callable[..., Any]) -> Kernel:
    """Return the kernel of `detach`. It counts its calls: a setup_context that keeps the result has no second derivative."""

    def kernel(*args: Any) -> Any:
        out, like, _, _, _, quiet = descend(whole, args)
        if quiet is None or not quiet.covers(like.level.number):
            count_conversion()
        return out

    return kernel


def _reads_what_is_written(op: OpOverload, rule: Any) -> bool:
    """Return whether a rule may read the written arguments as they were before the call."""
    if isinstance(rule, Pullbacks):
        read = {name for pullback in rule.by_argument.values() for name in pullback.reads}
        return not read.isdisjoint(op.schema.mutable_arguments)
    return rule.setup_context is not None
