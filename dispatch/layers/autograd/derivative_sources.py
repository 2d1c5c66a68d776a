"""The sources of a derivative: a backward, or one of the forms that take its place.

A form is made by a module above the layers, which puts its maker into `makers`. It has the rule of the tape, and what forward
mode makes of the same source.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core import OpOverload
from ...errors import DefinitionError, did_you_mean
from ..opaque_rules import Opacity, UserRule
from .pullback_rules import Pullbacks
from .user_rules import Rule


class Form(NamedTuple):
    """A derivative in another form than a backward: its rules for the tape and for forward mode, and the source."""

    rule: Rule | Pullbacks
    jvp: Any
    function: Any
    held: frozenset[str] = frozenset()
    operator: Callable[[], OpOverload] | None = None  # of partial derivatives: the operator as which they are called if opaque
    opacity: Opacity | None = None  # that of these


makers: dict[str, Callable[[OpOverload, Any, Rule | None], Form]] = {}

# Under "ufunc" what makes an operator of one that is a partial derivative: the rows, which know them, plug it in.
plugged: dict[str, Callable[[Any], OpOverload]] = {}


def is_given(source: Any) -> bool:
    """Return whether a keyword names a source. False and None do not; a step of 0.0 does."""
    return source is not None and source is not False


BACKWARDS = ("backward", "bwd", "vjp", "fn", "func", "rule")  # what others call it


def derivative_of(op: OpOverload, rule: Rule | None, given: dict[str, Any], opaque: bool | None = None) -> Form:
    """The one derivative that a call of `register_autograd` gives, where it is not a backward alone.

    `rule` is the backward, if there is one too: it may stand beside `linear=`, as the transpose.
    """
    for name, value in given.items():
        if name in BACKWARDS and callable(value):
            raise DefinitionError(
                f"{op.name}: register_autograd takes the backward by position, and {name}= was given. Write "
                "register_autograd(backward, setup_context=setup_context).",
                operator=op.name,
            )
        if name not in makers:
            raise DefinitionError(
                f"{op.name}: register_autograd has no keyword {name!r}.{did_you_mean(name, makers)} Sources of a derivative: "
                f"backward, {', '.join(f'{known}=' for known in sorted(makers))}. Beside a backward stands setup_context=.",
                operator=op.name,
            )
    if len(given) != 1 or (rule is not None and "linear" not in given):
        names = ["backward"] * (rule is not None) + [f"{name}=" for name in given]
        raise DefinitionError(
            f"{op.name}: register_autograd takes one source of the derivative, and got {' and '.join(names)}. Keep one; a "
            "backward may stand beside linear= alone, as its transpose.",
            operator=op.name,
        )
    ((name, source),) = given.items()
    if op.schema.is_mutable or not op.schema.returns:
        what = "writes to its arguments" if op.schema.is_mutable else "returns nothing"
        raise DefinitionError(
            f"{op.name} {what}, and {name}= is for operators that return arrays alone. Give a backward.", operator=op.name
        )
    form = makers[name](op, source, rule)
    if isinstance(form.rule, Rule) and rule is None:
        form.rule.opacity.declare(opaque)
    if form.opacity is not None:
        form.opacity.declare(opaque)
    return form._replace(jvp=UserRule(form.jvp, Opacity(opaque))) if callable(form.jvp) else form


def check_alone(op: OpOverload, given: dict[str, Any], **options: Any) -> None:
    """Raise if an option of a backward is given without a backward."""
    for name, value in options.items():
        if value:
            raise DefinitionError(
                f"{op.name}: {name}= goes with a backward, and {next(iter(given))}= was given without one. Leave it out.",
                operator=op.name,
            )
