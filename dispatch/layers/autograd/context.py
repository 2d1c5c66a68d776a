"""Context: the node of an operator whose rule is a user's, `ctx` in `setup_context` and `backward`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import DispatchKey, Level, Tensor, device_of, unwrap, wrap
from ...core.array_memory import inexact_layout, settled
from ...core.pytree import items_of, leaves, mapped
from ...errors import GradientError, kind_of
from .grad_mode import AUTOGRAD, in_recorded_rule
from .node import Leaf, Node, Output, released
from .saved_tensors import COPIED_BYTES, Kept, protect
from .tensor import TrackedTensor


class Context(Node):
    """What `setup_context` fills and `backward` reads.

    Any attribute may be set on it; it lives until the backward has run.

    Attributes
    ----------
    needs_input_grad : tuple
        One bool for each argument of the operator; a list of them, in order, for a list, dict or record of arrays.
    saved_tensors : tuple
        What `save_for_backward` was given: plain values, or tracked ones under `create_graph=True`.
    residual : object
        The operator's Residual output, where it has one.
    """

    __slots__ = ("__dict__", "simple")

    simple: bool | None  # `saved` holds wrappers and arrays, no output and no list; None: there was no setup_context

    # Fields that few rules touch live in the instance's dictionary once they are set; these are what they are before.
    layouts: tuple[Any, ...] = ()  # of the outputs, where they are several; no edges, which refer to this node
    residual: Any = None
    _watched: tuple[Any, ...] = ()  # of an operator with a residual: the levels that the residual depends on in secret
    _materialize = True
    _recording = False  # whether the backward that runs makes a graph
    _non_differentiable: tuple[int, ...] = ()
    _kept: dict[str, Any]
    _structure: tuple[Any, ...] = ()  # the outputs, with its number in `layouts` for each array
    _skeletons: tuple[Any, ...] = ()  # the arguments without their values, where gradients come in dicts or records

    @property
    def needs_input_grad(self) -> tuple[Any, ...]:
        return tuple(_is_tracked(edge) for edge in self.inputs)

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep arrays for the backward; the last call counts, None is allowed.

        A plain array that is writeable is copied when small, and made read-only until the backward when large.

        Parameters
        ----------
        *tensors : array, None, or a list, dict or record of these
        """
        # The common case, inputs and small arrays, is settled in C; an output, a list or a large array takes the long way.
        kept = None if self.layouts else settled(tensors, self, COPIED_BYTES)
        self.simple = kept is not None
        self.saved = tuple([self._to_keep(x) for x in tensors]) if kept is None else kept

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self.rule is released:
            released(self, None, False)
        if self.simple and not self._recording:
            values: tuple[Any, ...] = unwrap(self.saved, self.level.number << 6 | AUTOGRAD)
            return values
        return tuple([self._from_kept(x) for x in self.saved or ()])

    def mark_non_differentiable(self, *outputs: Any) -> None:
        """Name outputs that carry no gradient; they come out untracked.

        Parameters
        ----------
        *outputs : Tensor
            Outputs as `setup_context` was given them. Arrays that are not floating-point have no gradient as it is.
        """
        numbers = [self._number(x) for x in outputs if not hasattr(x, "dtype") or inexact_layout(x) is not None]
        if None in numbers:
            raise GradientError(
                f"{self.op.name}: mark_non_differentiable was given a value that is no output of the operator. "
                "Pass outputs as setup_context was given them.",
                operator=self.op.name,
            )
        self._non_differentiable = tuple(n for n in numbers if n is not None)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a missing gradient of an output comes as zeros, the default, or as None."""
        self._materialize = value

    def forget(self) -> None:
        """Let go of the attributes and the residual, after the backward has run."""
        if self.__dict__:
            self.__dict__.clear()

    def _number(self, x: Any) -> int | None:
        """Which output of this node a value is, or None."""
        edge = x.data if isinstance(x, TrackedTensor) else None
        if edge is self:
            return 0
        return edge.number if isinstance(edge, Output) and edge.node is self else None

    def _hidden(self, x: Any) -> Any:
        if isinstance(x, TrackedTensor):
            number = self._number(x)
            return protect(x) if number is None else Kept(x.value, number)
        if items_of(x) is not None:
            return mapped(self._hidden, x)
        return protect(x) if isinstance(x, np.ndarray) else x

    def _to_keep(self, x: Any) -> Any:
        if isinstance(x, TrackedTensor):
            return self._hidden(x)
        if items_of(x) is not None:
            return mapped(self._to_keep, x)
        if x is not None and not isinstance(x, (Tensor, np.ndarray, np.generic)):
            raise GradientError(
                f"{self.op.name}: save_for_backward keeps arrays, and was given {kind_of(x)}. "
                "Set anything else as an attribute: ctx.name = value.",
                operator=self.op.name,
            )
        return protect(x)

    def _from_kept(self, x: Any) -> Any:
        """A kept value as the rule may use it: tracked only where this level records."""
        if type(x) is TrackedTensor:
            return x if self._recording or x.level is not self.level else x.value
        if type(x) is Kept:
            if not self._recording:
                return x.value
            edge = Output(self, x.number, self.layouts[x.number]) if self.layouts else self
            return wrap(TrackedTensor, x.value, self.level, edge)
        return x if items_of(x) is None else mapped(self._from_kept, x)

    def hide_outputs(self) -> None:
        """Keep outputs and plain arrays that were set as attributes in a form without a cycle and safe from writes."""
        attributes = self.__dict__
        hidden = {
            name: self._hidden(value)
            for name, value in attributes.items()
            if name not in _OWN and any(isinstance(x, (Tensor, np.ndarray)) for x in leaves(value))
        }
        if hidden:
            for name in hidden:
                del attributes[name]
            attributes["_kept"] = hidden
            self.rule = _showing(self.rule)

    def show_outputs(self) -> dict[str, Any]:
        """The attributes that `hide_outputs` took away, as a rule may use them."""
        return {name: self._from_kept(x) for name, x in self._kept.items()}


def _showing(rule: Any) -> Any:
    """A rule that finds the hidden attributes on its context. A `__getattr__` would slow every other access down."""

    def showing(node: Context, grad: Any, create_graph: bool) -> Any:
        if create_graph:
            node._recording = True
        shown = node.show_outputs()
        node.__dict__.update(shown)
        try:
            return rule(node, grad, create_graph)
        finally:
            for name in shown:
                node.__dict__.pop(name, None)

    return showing


def taken_field(node: Context, fields: dict[str, Any]) -> GradientError:
    """What to raise where a setup_context has set a field of the node: the graph would be cut, or walked out of order."""
    name = next(name for name, value in fields.items() if getattr(node, name) is not value)
    op = fields["op"]
    return GradientError(
        f"{op.name}: its setup_context set ctx.{name}, which is a field of the tape. Take another name.", operator=op.name
    )


def attributes_of(node: Context) -> dict[str, Any]:
    """What a user set on a context."""
    return {name: value for name, value in node.__dict__.items() if name not in _OWN}


def levels_of(values: tuple[Any, ...], level: Level) -> tuple[Level, ...]:
    """The levels at which arguments are differentiated, theirs and those of what they wrap, the outermost wrapper's last."""
    found = {level.number: level}
    for x in leaves(values):
        while isinstance(x, Tensor):
            if x.rank & 31 in DIFFERENTIATING:
                found[x.level.number] = x.level
            x = x.value
    return tuple(found[number] for number in sorted(found))


def is_differentiated(values: tuple[Any, ...]) -> bool:
    """Whether a transform below differentiates these values, so that a backward that reads them is a part of its function."""
    for x in leaves(values):
        while isinstance(x, Tensor):
            if x.rank & 31 in DIFFERENTIATING:
                return True
            x = x.value
    return False


def keeps_value_of(node: Context, args: tuple[Any, ...], out: Any) -> bool:
    """Whether an attribute on the context is the plain array inside a tracked argument or output."""
    kept = {id(x) for name, value in node.__dict__.items() if name not in _OWN for x in leaves(value)}
    return bool(kept) and any(isinstance(x, TrackedTensor) and id(x.value) in kept for x in leaves((args, out)))


def reading_residuals(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A backward of an operator with a residual, which depends on the arguments in a way that nobody has recorded.

    While it is recorded itself, the numbers in the residual are values whose own derivative raises, and the gradients are
    tracked even where they are constants: an operator may take both, and code of anything else is refused them.
    """

    def reading(ctx: Context, *grads: Any) -> Any:
        levels = [level for level in ctx._watched if in_recorded_rule(level.number)]
        if not levels:
            return backward(ctx, *grads)
        residual = ctx.residual
        ctx.residual = mapped(lambda x: _unknown(ctx, levels, x), residual)
        try:
            return backward(ctx, *mapped(lambda g: _tracked(levels, g), grads))
        finally:
            ctx.residual = residual

    return reading


def _unknown(ctx: Context, levels: list[Level], x: Any) -> Any:
    if isinstance(x, (float, complex)):
        x = np.asarray(x)
    if (isinstance(x, (Tensor, np.generic)) or device_of(x) is not None) and inexact_layout(x) is not None:
        for level in levels:
            x = _unknown_at(ctx, level, x)
    return x


def _unknown_at(ctx: Context, level: Level, x: Any) -> Any:
    """A value that depends on others of a level in a way nobody knows; of what a later transform has wrapped, the inside."""
    if isinstance(x, Tensor) and x.rank >= level.number * 64 + AUTOGRAD:
        return wrap(type(x), _unknown_at(ctx, level, x.value), x.level, x.data)
    node = Node()
    node.op, node.level, node.layout = ctx.op, level, (x.shape, x.dtype)
    node.inputs = node.edges = ()
    node.saved, node.rule = None, _unrecorded
    return wrap(TrackedTensor, x, level, node)


def _tracked(levels: list[Level], grad: Any) -> Any:
    """A gradient as a value of some levels, to which nothing flows back."""
    layout = inexact_layout(grad)
    if layout is None:
        return grad
    for level in levels:
        if not isinstance(grad, Tensor) or grad.rank < level.number * 64 + AUTOGRAD:
            grad = wrap(TrackedTensor, grad, level, Leaf(layout))
    return grad


def _unrecorded(node: Node, grad: Any, create_graph: bool) -> Any:
    raise GradientError(
        f"a second derivative was asked of {node.op.name}, whose backward computes with numbers of its residual: how those "
        "depend on the arguments was not recorded, and would be lost in silence. Return them as outputs, or give them to an "
        "operator that takes the residual and the arguments and has a derivative of its own.",
        operator=node.op.name,
    )


DIFFERENTIATING = frozenset({int(DispatchKey.JVP), AUTOGRAD})
_OWN = frozenset(
    (
        "_kept",
        "_materialize",
        "_non_differentiable",
        "_recording",
        "_skeletons",
        "_structure",
        "_watched",
        "layouts",
        "residual",
    )
)


def _is_tracked(edge: Any) -> Any:
    return [_is_tracked(item) for item in edge] if isinstance(edge, list) else edge is not None
