"""Makes the kernel of an operator from a user's jvp rule, `rule(tangents, output, *args)`."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ...core import OpOverload, conversions, descend
from ...core.array_memory import constant, inexact_layout, unwritable, writable
from ...core.pytree import leaves, mapped
from ...dispatcher.layer import CONSTANT, Constant, Kernel, Made
from ...dispatcher.rule_parameters import by_position
from ...errors import GradientError
from ...schema.types import ANY, RESIDUAL, TENSOR, OptionalOf
from ..opaque_rules import UserRule
from .opaque_jvp import attempting
from .pushforward_rules import Pushforwards
from .tangents import added, tangent_of, with_tangent, with_tangents


def user_kernel(op: OpOverload, given: Any) -> Kernel:
    """Make the kernel that carries tangents through an operator by a rule of any kind."""
    whole, rule, by_row = op.whole, rule_of(op, given), not callable(given)
    single = len(op.schema.returns) == 1 and not op.schema.returns[0].type.parts
    residual = op.outputs.residual
    taking = tuple(a.type.has_tensor for a in op.schema.arguments)
    flat = is_flat(op)  # then there is no container to walk through
    each = unwritable if flat else partial(mapped, unwritable)
    sealed = (lambda out: (*each(out[:-1]), out[-1])) if residual else each

    def kernel(*args: Any) -> Any:
        out, like, values, data, _, _ = descend(whole, args)
        if single and inexact_layout(out) is None:
            return constant(op, out)
        each_one = zip(values, data, taking, strict=True)
        tangents = tuple([each(tangent_of(x, t)) if takes else None for x, t, takes in each_one])
        before = conversions()
        pushed = rule(tangents, sealed(out), *values)
        if conversions() != before:
            raise number_taken(op)
        if pushed is None and not by_row:
            check_has_none(op, out)
        if flat:
            return with_tangent(op, like, out, writable(pushed), "its output", by_row)
        return with_tangents(op, like, out, mapped(writable, pushed), by_row=by_row)

    return kernel


def is_flat(op: OpOverload) -> bool:
    """Whether every array of an operator is an argument or the one output itself, and none is inside a container."""
    types = [a.type.element if isinstance(a.type, OptionalOf) else a.type for a in (*op.schema.arguments, *op.schema.returns)]
    return len(op.schema.returns) == 1 and all(t == TENSOR or not (t.has_tensor or t in (ANY, RESIDUAL)) for t in types)


def check_has_none(op: OpOverload, out: Any) -> None:
    """Raise where a rule returned None for outputs of which one has a tangent: a function that forgets its return would."""
    count = len(op.schema.returns) - op.outputs.residual
    if any(inexact_layout(x) is not None for x in leaves(out[:count] if len(op.schema.returns) > 1 else out)):
        each = "a tangent for each output, None in its place" if count > 1 else "the tangent, np.zeros_like(output)"
        raise GradientError(
            f"{op.name}: its jvp rule returned None, as a function without a return statement does. Return {each} for one "
            "without.",
            operator=op.name,
        )


def number_taken(op: OpOverload) -> GradientError:
    """The error of a jvp rule that takes a number by `x.item()` while it is differentiated itself."""
    return GradientError(
        f"a second derivative was asked of {op.name}, whose jvp rule turned a value into a number by x.item(): the "
        "derivative of that number would be lost in silence. Compute with the array.",
        operator=op.name,
    )


def rule_of(op: OpOverload, rule: Any) -> Callable[..., Any]:
    """A rule of any kind as a user's: `rule(tangents, output, *args)`, every argument by position."""
    if isinstance(rule, Made):
        return rule_of(op, rule.others or CONSTANT)
    if isinstance(rule, Constant):
        return lambda tangents, output, *args: None
    if not isinstance(rule, Pushforwards):
        return attempting(op, rule) if isinstance(rule, UserRule) else by_position(op, rule, leading=2)
    names = op.arguments.names

    def by_rows(tangents: tuple[Any, ...], output: Any, *args: Any) -> Any:
        given = dict(zip(names, args, strict=True)) | {"out": output}
        found: Any = None
        for name, t in zip(names, tangents, strict=True):
            push = rule.by_argument.get(name)
            if push is not None and t is not None:
                found = added(found, push.function(*[t if read == "t" else given[read] for read in push.reads]))
        return found

    return by_rows
