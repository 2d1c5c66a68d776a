"""Operators that write, forward: the functional form runs, and what is written stands for the value and tangent it gave."""

from typing import Any

from ..containers import arrays
from ..core import OpOverload, Tensor, split, wrap
from ..errors import GradientError
from ..functional import form_of, instead
from ..layer import Kernel
from ..listing import describe_value
from ..memory import inexact_layout, rewrite
from ..tags import Tag
from ..views import base_of, is_followed, overlap, replace, shares_memory
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
    else:
        replace(x, new, _rewrite)


def _rewrite(x: DualTensor, new: Any) -> None:
    """Let a value stand for another."""
    if isinstance(new, Tensor) and new.rank == x.rank:
        rewrite(x, new.value, new.data)
    else:
        rewrite(x, new, zeros((new.shape, new.dtype), new))


def made_kernel(op: OpOverload, carry: Kernel | None) -> Kernel:
    """The kernel of a row whose rule is `Made`; `carry` the one that the rule of its other arguments gives."""
    whole = op.whole

    def kernel(*args: Any) -> Any:
        like, values, _, own, _ = split(args)
        out = whole(*values) if carry is None or not own & ~1 else carry(*args)
        layout = inexact_layout(out)
        if not own & 1 or layout is None or (isinstance(out, Tensor) and out.rank == like.rank):
            return out
        return wrap(DualTensor, out, like, zeros(layout, out), True)

    return kernel


def _check_targets(op: OpOverload, like: DualTensor, args: tuple[Any, ...], targets: list[Any]) -> None:
    """Refuse what would lose a tangent, or give it to the wrong value."""
    for i, x in enumerate(targets):
        if not isinstance(x, Tensor) or x.rank != like.rank:
            if inexact_layout(x) is not None:
                raise GradientError(
                    f"{op.name}: {_name(op, args, x)} is {describe_value(x)}, and values with a tangent of {like.level!r} "
                    f"would be written to it: the tangent would be lost in silence. Write {instead(op)}; or "
                    "pass dispatch.detach(...) of the values, where constants are meant.",
                    operator=op.name,
                )
        elif any(x is other for other in targets[:i]) or _share(x, targets[:i]):
            raise GradientError(
                f"{op.name}: two arrays that are written share memory, {_name(op, args, x)} among them. Give each its own.",
                operator=op.name,
            )
        elif shares_memory(x) and (Tag.inplace_view in op.tags or not is_followed(x)):
            raise GradientError(
                f"{op.name}: {_name(op, args, x)} shares memory with another value, and the write cannot be followed into it: "
                "an operator that changes a shape has no views, and a view that an operator made while it wrote is made only "
                "once. Write before the view is taken or after it is gone.",
                operator=op.name,
            )
    for argument, value in zip(op.schema.arguments, args, strict=True):
        if type(value) is dict and argument.is_write and any(x is item for x in targets for item in arrays(value)):
            raise GradientError(
                f"{op.name}: argument {argument.name!r} is a dict that holds values with a tangent, and is written. Forward "
                "mode follows writes to arrays and to lists of arrays: pass a list.",
                operator=op.name,
            )


def _share(x: Tensor, others: list[Any]) -> bool:
    """Whether a value may have an element in common with one of some others."""
    base = base_of(x)
    return any(base_of(y) is base and overlap(x, y) for y in others)


def _name(op: OpOverload, args: tuple[Any, ...], x: Any) -> str:
    """What a value is called: `argument 'x'`."""
    found = [a.name for a, value in zip(op.schema.arguments, args, strict=True) if any(x is i for i in arrays(value))]
    return f"argument {found[0]!r}"
