"""What is said of a `ctx` that is used as it cannot be: as a dict, or in the backward as in setup_context."""

from ...core import OpOverload
from ...errors import GradientError

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
