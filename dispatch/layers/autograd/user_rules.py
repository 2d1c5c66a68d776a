"""Users' derivatives: `backward(ctx, *grads)` and `setup_context(ctx, inputs, output)`, as torch has them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import OpOverload, Tensor
from ...core.array_memory import unwritable
from ...core.others_words import note_words
from ...core.pytree import field_names, items_of, leaves, mapped
from ...dispatcher.rule_parameters import parameter_names
from ...errors import ConversionError, GradientError, did_you_mean, how_many, kind_of
from ...schema.types import ANY, ListOf, OptionalOf, Type
from ..derivatives import parts_like, zeros
from ..opaque_rules import Opacity
from .backward_graph import Node
from .context import Context
from .tensor import TrackedTensor
from .wrong_contexts import misread

KEYWORDS_APART = "keyword_only_inputs"  # torch's name for the parameter of a setup_context that asks for them apart


class Rule:
    """A user's rule. With `batched` the backward takes all cotangents at once."""

    __slots__ = ("backward", "batched", "opacity", "setup_context")

    def __init__(
        self,
        backward: Callable[..., Any],
        setup_context: Callable[..., Any] | None = None,
        batched: bool = False,
        opacity: Opacity | None = None,
    ) -> None:
        self.backward, self.setup_context, self.batched = backward, setup_context, batched
        self.opacity = Opacity() if opacity is None else opacity


def is_keyed(kind: Type) -> bool:
    """Whether arrays of the type stand under keys or fields, and not only in lists."""
    if isinstance(kind, (ListOf, OptionalOf)):
        return is_keyed(kind.element)
    return kind.has_tensor and bool(kind.parts)


def keeps_value_of(attributes: dict[str, Any], args: tuple[Any, ...], out: Any) -> bool:
    """Whether an attribute on a context is the plain array inside a tracked argument or output."""
    kept = {id(x) for value in attributes.values() for x in leaves(value)}
    return any(isinstance(x, TrackedTensor) and id(x.value) in kept for x in leaves((args, out)))


OF_TORCH = {  # attributes that ctx has in torch alone, and what to write
    "mark_dirty": "Name what the operator writes to where it is defined, mutates_args=('x',).",
    "save_for_forward": "A forward rule is a function of its own: op.register_jvp(rule).",
    "saved_variables": "Read ctx.saved_tensors.",
    "to_save": "Call ctx.save_for_backward(x, y) in setup_context, and read ctx.saved_tensors.",
}


def unset(op: OpOverload, who: str, name: str, attributes: dict[str, Any]) -> GradientError:
    """What to raise where a rule has read an attribute of its context that was never set."""
    own = [word for word in vars(Context) if not word.startswith("_")]
    if name in OF_TORCH:
        return GradientError(
            f"{op.name}: its {who} read ctx.{name}, which ctx of torch has and this one has not. {OF_TORCH[name]}",
            operator=op.name,
        )
    near = did_you_mean(name, attributes)
    if not near and (near := did_you_mean(name, own)):
        return GradientError(f"{op.name}: its {who} read ctx.{name}, which was never set.{near}", operator=op.name)
    return GradientError(
        f"{op.name}: its {who} read ctx.{name}, which was never set.{near} Set it in setup_context: "
        f"ctx.{name} = ...; arrays go through ctx.save_for_backward(...), and come back as ctx.saved_tensors.",
        operator=op.name,
    )


def in_setup(op: OpOverload, error: Exception, ctx: Context) -> Exception:
    """What to raise where a setup_context has raised: that, with a note, or what says more."""
    if isinstance(error, AttributeError) and error.obj is ctx and error.name:
        return unset(op, "setup_context", error.name, vars(ctx))
    if isinstance(error, ConversionError):
        return GradientError(
            f"{op.name}: its setup_context asked for a plain array of a value that is tracked, as np.asarray(x) and functions "
            "in C do. Keep the value itself, ctx.save_for_backward(x), and compute with ctx.saved_tensors in the backward.",
            operator=op.name,
        )
    if told := misread(op, "setup_context", error):
        return told
    note_words(error)
    error.add_note(f"in the setup_context of {op.name}")
    return error


def check_nothing(op: OpOverload, returned: Any) -> None:
    """Refuse arrays that a setup_context returns, as a forward that returns residuals would: they go nowhere."""
    if any(isinstance(x, (np.ndarray, Tensor)) for x in leaves(returned)):
        raise GradientError(
            f"{op.name}: its setup_context returned {kind_of(returned)}, and what it returns goes nowhere. Keep arrays by "
            "ctx.save_for_backward(x, y), and read them in the backward as ctx.saved_tensors.",
            operator=op.name,
        )


def once_differentiable(rule: Callable[..., Any], *, inside: bool) -> Callable[..., Any]:
    """The rule of a node whose setup_context took a value off the tape, through which no second derivative sees.

    `inside`: the values themselves belong to another transform, to which this backward is a part of the function.
    """

    def once(node: Node, grad: Any, create_graph: bool) -> Any:
        if create_graph or inside:
            raise GradientError(
                f"a second derivative was asked of {node.op.name}, whose setup_context took a tracked value off the tape, "
                "by x.item(), x.value or dispatch.detach(x): the derivative of that would be lost in silence. Keep the value "
                "itself: ctx.save_for_backward(x).",
                operator=node.op.name,
            )
        return rule(node, grad, create_graph)

    return once


def materialized(node: Context, grad: Any, structure: tuple[Any, ...], fill: bool) -> list[Any]:
    """The gradients as a rule gets them: one for each output, in a container as it was; zeros for those that are missing."""
    flat = [unwritable(grad.get(i)) for i in range(len(node.layouts))]
    if fill and any([g is None for g in flat]):
        like = next(iter(grad.values()))
        pairs = zip(flat, node.layouts, strict=True)
        flat = [unwritable(zeros(layout, like)) if g is None and layout is not None else g for g, layout in pairs]
    return [flat[x] if type(x) is int else mapped(flat.__getitem__, x) for x in structure]


def checked(op: OpOverload, node: Context, grads: Any, skeletons: tuple[Any, ...] | None, *, lists: bool) -> list[Any]:
    """The gradients that a user's backward returned, in the order of the edges."""
    names = op.arguments.names
    if grads is None:  # of one argument torch takes it for no gradient, and so loses that of who forgot to return it
        each = f"one gradient for each argument ({', '.join(names)}), None in its place"
        raise GradientError(
            f"{op.name}: its backward returned None, as a function without a return statement does. Return "
            f"{each if len(names) > 1 else 'the gradient, (None,)'} for one without.",
            operator=op.name,
        )
    if isinstance(grads, dict) and len(names) > 1:
        raise GradientError(
            f"{op.name}: its backward returned a dict. Return a tuple, the gradients of ({', '.join(names)}) in this order, "
            "None for those without.",
            operator=op.name,
        )
    if not isinstance(grads, (tuple, list)):
        grads = (grads,)
    elif type(grads) is not tuple:  # a list or a record may be the gradient of the one argument
        alone = len(names) == 1 and bool(op.schema.arguments[0].type.parts)
        grads = (grads,) if alone and (isinstance(grads, list) or field_names(type(grads)) is not None) else tuple(grads)
    if len(grads) != len(names):
        grads = (*grads, *[None] * _left_out(op, node, len(grads)))
    found: list[Any] = []
    for i, (name, edge, grad) in enumerate(zip(names, node.inputs, grads, strict=True)):
        held = [e for e in leaves(edge) if e is not None] if grad is None and op.schema.arguments[i].type is ANY else ()
        if held:
            each = "it" if type(edge) is not list else "each, in a container like it, None for those without"
            raise GradientError(
                f"{op.name}: argument {name!r} is Any and holds {how_many(len(held), 'tracked array')}, and its backward "
                f"returned None for it. Return a gradient for {each}; or hint the parameter, dict[str, np.ndarray] say.",
                operator=op.name,
                argument=name,
            )
        if type(edge) is list:
            _add_parts(op, name, edge, grad, skeletons[i] if skeletons else edge, found)
            continue
        if edge is None and grad is not None and not _takes_arrays(op, name):
            raise GradientError(
                f"{op.name}: its backward returned a gradient for argument {name!r}, which is no array. Return None for it.",
                operator=op.name,
                argument=name,
            )
        if edge is not None or not lists:
            found.append(grad)
    return found


def _left_out(op: OpOverload, node: Context, count: int) -> int:
    """How many gradients a backward has left out at the end, where it may: of no arrays, and of those with a default."""
    names = op.arguments.names
    holding = [i for i, a in enumerate(op.schema.arguments) if a.type.has_tensor]
    last = max(holding, default=-1)
    asked = max([i for i in holding if not op.arguments.defaults[i]], default=0)
    if asked < count <= last + 1 and all(edge is None for edge in leaves(node.inputs[count:])):
        return len(names) - count
    behind = "" if last + 1 == len(names) else f"; those behind {names[last]!r}, which are no arrays, may be left out"
    some = how_many(count, "gradient")
    if len(names) == 1 and count > 1:
        is_list = bool(op.schema.arguments[0].type.parts)
        behind += f", or {'a list for the list, ([...],)' if is_list else 'one array, np.asarray([...])'}"
    raise GradientError(
        f"{op.name}: its backward returned {some}, and the operator has {how_many(len(names), 'argument')} "
        f"({', '.join(names)}). Return one for each, None for those without{behind}.",
        operator=op.name,
    )


def setup_of(op: OpOverload, setup_context: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """A setup_context that is called with three arguments, of one that takes torch's fourth, the keyword-only inputs, apart."""
    if setup_context is None or KEYWORDS_APART not in (parameter_names(setup_context) or ()):
        return setup_context
    count, names = op.arguments.positional, op.arguments.keyword_names

    def apart(ctx: Context, inputs: tuple[Any, ...], output: Any) -> Any:
        return setup_context(ctx, inputs[:count], dict(zip(names, inputs[count:], strict=True)), output)

    return apart


def _add_parts(op: OpOverload, name: str, edge: list[Any], grad: Any, like: Any, found: list[Any]) -> None:
    """Add the gradients of the tracked arrays in a container; `like` is the container without its values."""
    parts = [None] * len(items_of(like) or ()) if grad is None else parts_like(grad, like)
    if parts is None or len(parts) != len(edge):
        got = f"{len(parts)} in a {type(grad).__name__}" if parts is not None else kind_of(grad)
        what, wanted = f"a list of {how_many(len(edge), 'array')}", f"a list of {how_many(len(edge), 'gradient')}"
        if isinstance(like, dict):
            what, wanted = f"a dict of {how_many(len(edge), 'array')}", "a dict of gradients by the same keys"
        elif (fields := field_names(type(like))) is not None:
            what, wanted = f"a {type(like).__qualname__}", f"a {type(like).__qualname__} or a dict of {', '.join(fields)}"
        raise GradientError(
            f"{op.name}: argument {name!r} is {what}, and its backward returned {got} for it. "
            f"Return {wanted}, None for those without.",
            operator=op.name,
            argument=name,
        )
    for e, g, inner in zip(edge, parts, items_of(like) or (), strict=True):
        if type(e) is list:
            _add_parts(op, name, e, g, inner, found)
        elif e is not None:
            found.append(g)


def _takes_arrays(op: OpOverload, name: str) -> bool:
    return any(a.name == name and a.type.has_tensor for a in op.schema.arguments)
