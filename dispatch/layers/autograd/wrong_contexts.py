"""What is said of a `ctx` that is used as it cannot be: as a dict, or in the backward as in setup_context."""

import re

from ...core import OpOverload
from ...core.source import raised_at
from ...errors import GradientError, kind_of
from ...schema.types import OptionalOf

OWN = {  # attributes that the tape gives
    "saved_tensors": "call ctx.save_for_backward(x, y)",
    "needs_input_grad": "read it, and call ctx.mark_non_differentiable(output) for an output without a gradient",
    "save_for_backward": "call it, ctx.save_for_backward(x, y)",
    "mark_non_differentiable": "call it, ctx.mark_non_differentiable(output)",
    "set_materialize_grads": "call it, ctx.set_materialize_grads(False)",
}
DOES = {  # what setup_context may call
    "save_for_backward": "keeps arrays for the backward",
    "mark_non_differentiable": "says which outputs have no gradient",
    "set_materialize_grads": "says what the backward is given",
}


def own_attribute(op: OpOverload, name: str) -> GradientError:
    """What to raise where a rule sets an attribute that the tape gives."""
    return GradientError(f"{op.name}: ctx.{name} was set, which the tape gives: {OWN[name]}.", operator=op.name)


def no_items(op: OpOverload, key: object, what: str) -> GradientError:
    """What to raise where a context is used as a dict or a tuple of residuals."""
    name = key if isinstance(key, str) and key.isidentifier() else "name"
    return GradientError(
        f"{op.name}: ctx[...] {what}, and ctx holds attributes. setup_context(ctx, inputs, output) writes ctx.{name} = value, "
        f"and ctx.save_for_backward(x) for arrays; backward(ctx, g) reads ctx.{name} and ctx.saved_tensors.",
        operator=op.name,
    )


def in_backward(op: OpOverload, word: str) -> GradientError:
    """What to raise where a backward calls what setup_context calls."""
    return GradientError(
        f"{op.name}: its backward called ctx.{word}, which {DOES[word]}, and the backward is running. Call it in "
        "setup_context: register_autograd(backward, setup_context=...).",
        operator=op.name,
    )


def saved_twice(op: OpOverload) -> GradientError:
    """What to raise where a setup_context saves arrays a second time."""
    return GradientError(
        f"{op.name}: save_for_backward was called a second time, and keeps the arrays of one call. Give it all of them at "
        "once: ctx.save_for_backward(x, y).",
        operator=op.name,
    )


def check_saved(op: OpOverload, x: list[object] | tuple[object, ...]) -> None:
    """Refuse a list of arrays to save, unless the operator itself takes or returns arrays in one."""
    types = [part.type for part in (*op.schema.arguments, *op.schema.returns)]
    while types:
        kind = types.pop()
        if kind.has_tensor and kind.parts and not isinstance(kind, OptionalOf):
            return
        types += kind.parts
    if not op.schema.has_residual:
        raise GradientError(
            f"{op.name}: ctx.save_for_backward takes the arrays one by one, and was given {kind_of(x)} of {len(x)}. Write "
            "ctx.save_for_backward(x, y), or save_for_backward(*arrays) of a list.",
            operator=op.name,
        )


UNPACKED = re.compile(  # Python's words
    r"unpack \(expected|cannot unpack|tuple ind(ices must be|ex out of range)|'tuple' object (is not callable|has no attribute)"
)


def misread(op: OpOverload, who: str, error: Exception, saved: int | None = None) -> GradientError | None:
    """What to raise where a rule took its tuples apart wrongly, or called one; None where the error is another.

    `saved` is how many arrays the context keeps, of a backward.
    """
    if isinstance(error, TypeError) and "save_for_backward() got an unexpected keyword" in str(error):
        return GradientError(
            f"{op.name}: ctx.save_for_backward takes arrays by position. Write ctx.save_for_backward(x, y), and "
            "x, y = ctx.saved_tensors in the backward; what has a name is an attribute, ctx.name = value.",
            operator=op.name,
        )
    if isinstance(error, TypeError) and "autograd.context.Context" in str(error):
        called = "backward(ctx, g), the gradients behind it" if who == "backward" else "setup_context(ctx, inputs, output)"
        return GradientError(
            f"{op.name}: its {who} computes with its first argument, which is the context. It is called as {called}.",
            operator=op.name,
        )
    line = raised_at(error)
    if line is not None and "ctx.residual" in line.text and "NoneType" in str(error) and not op.schema.has_residual:
        return GradientError(
            f"{op.name}: its backward reads ctx.residual in {line.place}, and its schema has no Residual. Hint one as the last "
            "result, -> tuple[np.ndarray, Residual], and return it from the kernel; or save it, setup_context=....",
            operator=op.name,
        )
    kinds = (ValueError, TypeError, AttributeError, IndexError)
    if line is None or not isinstance(error, kinds) or not UNPACKED.search(str(error)):
        return None
    names = op.arguments.names
    if who == "setup_context":
        if not re.search(r"\b(inputs?|outputs?|args)\b", line.text):
            return None
        several, outputs = "s" if len(names) > 1 else "", len(op.schema.returns)
        given = f"inputs is a tuple of {len(names)} argument{several}, ({', '.join(names)}{'' if several else ','}), output "
        given += f"a tuple of {outputs}" if outputs > 1 else "the one output itself"
        write = f"{', '.join(names)}{'' if several else ','} = inputs"
    elif "saved_tensors" in line.text:
        count = "nothing" if saved is None else f"{saved} array{'' if saved == 1 else 's'}"
        given = f"ctx.saved_tensors is a tuple of what setup_context saved, {count}"
        write = f"{', '.join('xyzuvw'[: saved or 1])}{',' if saved == 1 else ''} = ctx.saved_tensors"
        as_method = "not callable" in str(error)
        write += ", without a call" if as_method else ""
        if saved == 1 and "unpack" in str(error):
            write += "; or save them one by one, ctx.save_for_backward(a, b), where that was one list"
    elif "needs_input_grad" in line.text:
        given = f"ctx.needs_input_grad is a tuple of {len(names)}, one for each argument ({', '.join(names)})"
        write = f"ctx.needs_input_grad[0], {'by its place' if 'ind' in str(error) else 'without a call'}"
    else:
        return None
    return GradientError(f"{op.name}: its {who} failed in {line.place}: {error}; {given}. Write {write}.", operator=op.name)
