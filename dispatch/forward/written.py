"""Operators that write, forward: the functional form runs, and what is written stands for the value and tangent it gave."""

from typing import Any

from ..containers import arrays
from ..core import OpOverload, Tensor, split
from ..errors import GradientError
from ..functional import form_of
from ..layer import Kernel
from ..listing import describe_value
from ..memory import inexact_layout, rewrite
from .tangents import zeros
from .tensor import DualTensor


def writing_kernel(op: OpOverload) -> Kernel:
    """The kernel of an operator that writes: its functional form runs, and what is written stands for what that gave."""
    form, functional = form_of(op.schema), op.functional.whole
    single = len(op.functional.schema.returns) == 1

    def kernel(*args: Any) -> Any:
        like = split(args)[0]
        targets = [x for i in form.written for x in arrays(args[i]) if x is not None]
        _check_targets(op, like, args, targets)
        result = functional(*args)
        outputs = [result] if single else list(result)
        made = outputs[len(outputs) - len(form.written) - form.residual :]
        written = [x for i, new in zip(form.written, made, strict=False) for x in _paired(args[i], new)]
        for x, new in zip(targets, written, strict=True):
            _write(x, new, like)
        return form.given_back(outputs, args)

    return kernel


def _paired(x: Any, new: Any) -> list[Any]:
    """The new values of the arrays in a written argument, in their order."""
    return [n for old, n in zip(arrays(x), arrays(new), strict=True) if old is not None]


def _write(x: Any, new: Any, like: DualTensor) -> None:
    if not isinstance(x, Tensor) or x.rank != like.rank:
        x[...] = new  # integers, which have no tangent
    elif isinstance(new, Tensor) and new.rank == like.rank:
        rewrite(x, new.value, new.data)
    else:
        rewrite(x, new, zeros((new.shape, new.dtype), new))


def _check_targets(op: OpOverload, like: DualTensor, args: tuple[Any, ...], targets: list[Any]) -> None:
    """Refuse what would lose a tangent, or give it to the wrong value."""
    for i, x in enumerate(targets):
        if not isinstance(x, Tensor) or x.rank != like.rank:
            if inexact_layout(x) is not None:
                raise GradientError(
                    f"{op.name}: {_name(op, args, x)} is {describe_value(x)}, and values with a tangent of {like.level!r} "
                    f"would be written to it: the tangent would be lost in silence. Call {op.schema.name}.functional, which "
                    "returns what is written; or pass dispatch.detach(...) of the values, where constants are meant.",
                    operator=op.name,
                )
        elif any(x is other for other in targets[:i]):
            raise GradientError(
                f"{op.name}: one value was given for two arrays that are written, {_name(op, args, x)} among them. "
                "Give each its own.",
                operator=op.name,
            )
    for argument, value in zip(op.schema.arguments, args, strict=True):
        if type(value) is dict and argument.is_write and any(x is item for x in targets for item in arrays(value)):
            raise GradientError(
                f"{op.name}: argument {argument.name!r} is a dict that holds values with a tangent, and is written. Forward "
                "mode follows writes to arrays and to lists of arrays: pass a list.",
                operator=op.name,
            )


def _name(op: OpOverload, args: tuple[Any, ...], x: Any) -> str:
    """What a value is called: `argument 'x'`."""
    found = [a.name for a, value in zip(op.schema.arguments, args, strict=True) if any(x is i for i in arrays(value))]
    return f"argument {found[0]!r}"
