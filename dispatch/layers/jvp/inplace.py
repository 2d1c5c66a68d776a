"""Makes the kernels of operators that write: runs the functional form, and gives what was written its value and tangent."""

from typing import Any

from ...core import OpOverload, Tensor, split, wrap
from ...core.array_memory import inexact_layout, rewrite
from ...dispatcher.layer import Kernel
from ...dispatcher.printing import describe_value
from ...errors import GradientError
from ...operators.functional_variant import form_of, instead
from ...operators.views import replace
from ..derivatives import zeros
from ..inplace import Words, check_dicts, check_target, new_values, target_name, targets
from .tensor import DualTensor

WORDS = Words(GradientError, "value with a tangent", "Forward mode")


def writing_kernel(op: OpOverload) -> Kernel:
    """The kernel of an operator that writes: its functional form runs, and what is written stands for what that gave."""
    form, functional = form_of(op.schema), op.functional.whole
    single = len(op.functional.schema.returns) == 1

    def kernel(*args: Any) -> Any:
        like = split(args)[0]
        written = targets(form, args)
        _check_targets(op, like, args, written)
        result = functional(*args)
        outputs = [result] if single else list(result)
        for x, new in zip(written, new_values(form, args, outputs), strict=True):
            _write(x, new, like)
        return form.given_back(outputs, args)

    return kernel


def _write(x: Any, new: Any, like: DualTensor) -> None:
    if not isinstance(x, Tensor) or x.rank != like.rank:
        x[...] = new  # integers, which have no tangent
    else:
        replace(x, new, _rewrite)


def _rewrite(x: DualTensor, new: Any) -> None:
    """Let a value stand for another."""
    if isinstance(new, Tensor) and new.rank == x.rank:
        rewrite(x, new.value, new.kept)
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


def _check_targets(op: OpOverload, like: DualTensor, args: tuple[Any, ...], written: list[Any]) -> None:
    """Refuse what would lose a tangent, or give it to the wrong value."""
    for i, x in enumerate(written):
        if isinstance(x, Tensor) and x.rank == like.rank:
            check_target(op, args, x, written[:i], WORDS)
        elif inexact_layout(x) is not None:
            raise WORDS.refused(
                op,
                f"{target_name(op, args, x)} is {describe_value(x)}, and values with a tangent of {like.level!r} would be "
                f"written to it: the tangent would be lost in silence. Write {instead(op)}; or pass dispatch.detach(...) of "
                "the values, where constants are meant.",
            )
    check_dicts(op, args, written, WORDS)
