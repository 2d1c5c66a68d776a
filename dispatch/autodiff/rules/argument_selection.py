"""Reads by which arguments of an operator a derivative is given."""

from collections.abc import Callable
from typing import Any, NoReturn

from ...core import OpOverload
from ...errors import DefinitionError, NoRuleError, kind_of, were_given
from ...schema.types import TENSOR, OptionalOf


def array_names(op: OpOverload) -> list[str]:
    """Return the names of the arguments that hold arrays."""
    return [a.name for a in op.schema.arguments if a.type.has_tensor]


def check_single(op: OpOverload, form: str) -> None:
    """Raise if an operator has several outputs, or arguments that are containers of arrays."""
    returns = op.schema.returns[: len(op.schema.returns) - op.outputs.residual]
    if [r.type for r in returns] != [TENSOR]:
        raise DefinitionError(
            f"{op.name} returns ({', '.join(str(r.type) for r in returns)}), and {form}= is for operators that return one "
            "array. Give a backward.",
            operator=op.name,
        )
    for a in op.schema.arguments:
        inside = a.type.element if isinstance(a.type, OptionalOf) else a.type
        if a.type.has_tensor and inside != TENSOR:
            raise DefinitionError(
                f"{op.name}: argument {a.name!r} is {a.type}, and {form}= is for arguments that are arrays. Give a backward.",
                operator=op.name,
                argument=a.name,
            )


def by_argument(op: OpOverload, given: Any, form: str, error: type[Exception] = DefinitionError) -> dict[str, Any]:
    """Return what was given for each array argument, by name. It may be one thing alone, a tuple of one for each, or a dict."""
    names = array_names(op)
    listed = ", ".join(names)
    if isinstance(given, dict):
        for name in given:
            if name not in names:
                raise error(f"{op.name}: {form} names {name!r}, and the operator's arrays are {listed}. Name those.")
        return dict(given)
    values = list(given) if isinstance(given, (tuple, list)) else [given]
    if len(values) != len(names):
        some = were_given(len(values)) if isinstance(given, (tuple, list)) else "one was given"
        raise error(
            f"{op.name}: {form} is one for each array, and {some} for {len(names)} ({listed}). Give a tuple of one for each, "
            "or a dict by name; None for an array without a derivative."
        )
    return dict(zip(names, values, strict=True))


def check_function(op: OpOverload, form: str, given: Any) -> None:
    """Raise if something is no function."""
    if not callable(given):
        raise DefinitionError(f"{op.name}: {form} is a function, and {kind_of(given)} was given.", operator=op.name)


def without_derivative(op: OpOverload, name: str, form: str) -> NoRuleError:
    """Return the error for a derivative by an argument that the form does not name."""
    return NoRuleError(
        f"a derivative by argument {name!r} was asked of {op.name}, and its {form} does not name it. Add it; or pass "
        "dispatch.detach(...) of the argument, where a constant is meant.",
        operator=op.name,
        argument=name,
    )


def raising(op: OpOverload, name: str, form: str) -> Callable[[Any], NoReturn]:
    """Return a rule that raises, for an argument that the form does not name."""

    def rule(g: Any) -> NoReturn:
        raise without_derivative(op, name, form)

    return rule
