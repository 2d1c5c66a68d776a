"""Users' derivatives: `backward(ctx, *grads)` and `setup_context(ctx, inputs, output)`, as torch has them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core import OpOverload, conversions, descend, wrap
from ...core.array_memory import inexact_layout
from ...core.pytree import field_names, items_of, mapped, rebuilt
from ...dispatcher.layer import Kernel
from ...errors import ConversionError, GradientError, kind_of
from ...schema.types import RESIDUAL, ListOf, OptionalOf, Type
from ..derivatives import parts_like, zeros
from .batched_backward import at_once, opaque
from .context import Context, is_differentiated, keeps_value_of, levels_of, reading_residuals, taken_field
from .grad_mode import outside_rules
from .node import Output, edges_of
from .record import recorded
from .tensor import TrackedTensor

KEPT = frozenset({tuple, type(None)})  # what save_for_backward leaves in a context's field `saved`
# Attributes of these types hold no array; most contexts have no other, and are spared the search.
INERT = frozenset({bool, int, float, complex, str, type(None)})


class Rule(NamedTuple):
    """A user's rule."""

    backward: Callable[..., Any]
    setup_context: Callable[..., Any] | None = None
    batched: bool = False  # whether the backward takes all cotangents at once


def recorded_kernel(op: OpOverload, rule: Rule, whole: Callable[..., Any]) -> Kernel:  # noqa: C901 - two kernels that share what is fixed for an operator
    """Make the kernel that records an operator with a user's rule; `whole` runs it one floor down."""
    residual = op.outputs.residual
    setup_context = rule.setup_context
    backward = at_once(op, rule.backward) if rule.batched else rule.backward
    if residual:
        backward = reading_residuals(backward)
    handed = [i for i, a in enumerate(op.schema.arguments) if a.type == RESIDUAL]  # from another operator: no value of the tape
    single = len(op.schema.returns) == 1 and not op.schema.returns[0].type.parts

    count = op.arguments.count
    others = [i for i, a in enumerate(op.schema.arguments) if not a.type.has_tensor]
    bare = None if setup_context is None and single else False  # None: nothing is kept on the context but its fields
    lists = any(a.type.parts and a.type.has_tensor for a in op.schema.arguments)
    keyed = lists and any(_is_keyed(a.type) for a in op.schema.arguments)

    def pull(node: Context, grad: Any, create_graph: bool) -> Any:
        if create_graph:
            node._recording = True
        try:
            grads = backward(node, grad) if single else backward(node, *_materialized(node, grad))
        except ConversionError as error:
            raise opaque(op, error, batched=rule.batched) from error
        finally:
            if create_graph:
                node._recording = False
        if type(grads) is not tuple or len(grads) != count or lists or (others and any([grads[i] is not None for i in others])):
            return _checked(op, node, grads)
        return grads

    def kernel(*args: Any) -> Any:
        result, like, values, data, _, quiet = descend(whole, args)
        if quiet is not None and quiet.covers(like.level.number):
            return result
        if handed:
            data = tuple([None if i in handed else edge for i, edge in enumerate(data)])
        edges = edges_of(data) if lists else data
        if single:
            out = output = recorded(Context, TrackedTensor, op, pull, result, like, data, edges, None)
            if out is result:
                return result
            node: Context = out.data
            node.simple = bare
        else:
            node = Context()
            node.op, node.level, node.rule = op, like.level, pull
            node.inputs, node.edges, node.simple = data, edges, bare
            outputs = list(result) if type(result) in (tuple, list) and len(op.schema.returns) > 1 else [result]
            if residual:
                node.residual = outputs.pop()
                node._watched = levels_of(values, like.level)
            wrapped = _wrapped_outputs(node, like, outputs)
            output = wrapped[0] if len(wrapped) == 1 else tuple(wrapped)
            if not any(node.layouts):
                return result
            out = (*wrapped, node.residual) if residual else output
        if keyed:
            node._skeletons = tuple([mapped(_nothing, x) for x in values])
        if setup_context is not None:
            before, order = conversions(), node.order
            try:
                if quiet is None:
                    setup_context(node, args, output)
                else:  # perhaps in a backward: what this is called in is a rule, and this is none
                    with outside_rules():
                        setup_context(node, args, output)
            except Exception as error:
                error.add_note(f"in the setup_context of {op.name}")
                raise
            same = node.inputs is data and node.order is order and node.op is op and node.level is like.level
            if not same or type(node.saved) not in KEPT:
                raise taken_field(node, {"inputs": data, "order": order, "op": op, "level": like.level, "saved": None})
            attributes = node.__dict__ and not INERT.issuperset(map(type, node.__dict__.values()))
            if conversions() != before or (attributes and keeps_value_of(node, args, out)):
                node.rule = once_differentiable(pull, inside=is_differentiated(values))
            if attributes:
                node.hide_outputs()
                if node._non_differentiable:
                    out = _plain_outputs(node, out)
        return out

    return kernel


def _is_keyed(kind: Type) -> bool:
    """Whether arrays of the type stand under keys or fields, and not only in lists."""
    if isinstance(kind, (ListOf, OptionalOf)):
        return _is_keyed(kind.element)
    return kind.has_tensor and bool(kind.parts)


def _nothing(x: Any) -> None:
    """Stands for a value that is not kept."""


def once_differentiable(rule: Callable[..., Any], *, inside: bool) -> Callable[..., Any]:
    """The rule of a node whose setup_context took a value off the tape, through which no second derivative sees.

    `inside`: the values themselves belong to another transform, to which this backward is a part of the function.
    """

    def once(node: Context, grad: Any, create_graph: bool) -> Any:
        if create_graph or inside:
            raise GradientError(
                f"a second derivative was asked of {node.op.name}, whose setup_context took a tracked value off the tape, "
                "by x.item(), x.value or dispatch.detach(x): the derivative of that would be lost in silence. Keep the value "
                "itself: ctx.save_for_backward(x).",
                operator=node.op.name,
            )
        return rule(node, grad, create_graph)

    return once


def _wrapped_outputs(node: Context, like: Any, outputs: list[Any]) -> list[Any]:
    """Wrap the outputs that can carry a gradient, numbered across lists."""
    layouts: list[Any] = []
    wrapped = [_wrapped_output(node, like, layouts, x) for x in outputs]
    node.layouts = tuple(layouts)
    numbers = iter(range(len(layouts)))
    node._structure = tuple([mapped(lambda _: next(numbers), x) for x in outputs])
    return wrapped


def _wrapped_output(node: Context, like: Any, layouts: list[Any], x: Any) -> Any:
    if (items := items_of(x)) is not None:
        return rebuilt(x, [_wrapped_output(node, like, layouts, item) for item in items])
    layout = inexact_layout(x)
    layouts.append(layout)
    return x if layout is None else wrap(TrackedTensor, x, like, Output(node, len(layouts) - 1, layout), True)


def _plain_outputs(node: Context, out: Any) -> Any:
    """The outputs, those marked as without a gradient taken off the tape."""
    return mapped(lambda x: x.value if node._number(x) in node._non_differentiable else x, out)


def _materialized(node: Context, grad: Any) -> list[Any]:
    """The gradients as the rule gets them: one for each output, in a container as it was; zeros for those that are missing."""
    flat = [grad.get(i) for i in range(len(node.layouts))]
    if node._materialize:
        like = next(iter(grad.values()))
        flat = [
            zeros(layout, like) if g is None and layout is not None else g for g, layout in zip(flat, node.layouts, strict=True)
        ]
    return [mapped(flat.__getitem__, x) for x in node._structure]


def _checked(op: OpOverload, node: Context, grads: Any) -> list[Any]:
    """The gradients that a user's backward returned, in the order of the edges."""
    names = op.arguments.names
    alone = len(names) == 1 and bool(op.schema.arguments[0].type.parts)
    if not isinstance(grads, tuple) or (alone and field_names(type(grads)) is not None):
        grads = tuple(grads) if isinstance(grads, list) and not alone else (grads,)
    if len(grads) != len(names):
        some = "1 gradient" if len(grads) == 1 else f"{len(grads)} gradients"
        raise GradientError(
            f"{op.name}: its backward returned {some}, and the operator has {len(names)} arguments ({', '.join(names)}). "
            "Return one for each, None for those without.",
            operator=op.name,
        )
    found: list[Any] = []
    for i, (name, edge, grad) in enumerate(zip(names, node.inputs, grads, strict=True)):
        if type(edge) is list:
            _add_parts(op, name, edge, grad, node._skeletons[i] if node._skeletons else edge, found)
            continue
        if edge is None and grad is not None and not _takes_arrays(op, name):
            raise GradientError(
                f"{op.name}: its backward returned a gradient for argument {name!r}, which is no array. Return None for it.",
                operator=op.name,
                argument=name,
            )
        if edge is not None or node.edges is node.inputs:
            found.append(grad)
    return found


def _add_parts(op: OpOverload, name: str, edge: list[Any], grad: Any, like: Any, found: list[Any]) -> None:
    """Add the gradients of the tracked arrays in a container; `like` is the container without its values."""
    parts = [None] * len(items_of(like) or ()) if grad is None else parts_like(grad, like)
    if parts is None or len(parts) != len(edge):
        got = f"{len(parts)} in a {type(grad).__name__}" if parts is not None else kind_of(grad)
        what, wanted = f"a list of {len(edge)} arrays", f"a list of {len(edge)} gradients"
        if isinstance(like, dict):
            what, wanted = f"a dict of {len(edge)} arrays", "a dict of gradients by the same keys"
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
