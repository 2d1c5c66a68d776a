"""Families of rows: each derives an operator's rules from one fact about it.

    pointwise    the partial derivatives            -> derivatives both ways, shape rule, batching
    comparison   nothing                            -> shape rule, batching; no derivative
    of_numbers   the partial derivatives            -> what `pointwise` has; NumPy's own code for its scalars
    reduction    the derivatives                    -> shape rule, batching
    view         the adjoint, and the arguments     -> derivatives both ways, shape rule, batching
                 for a batch in front
    creation     nothing                            -> shape rule; no derivative
    composite    a function of other operators      -> everything, from theirs; NumPy's own kernel where bits would differ

A partial derivative names what it reads, arguments or `out`; what it does not name is not kept alive:

    multiply = pointwise("multiply", np.multiply, lambda y: y, lambda x: x)

A missing partial means that the operator has no derivative in that argument. Rules are written with operators, not infix and not
with NumPy's functions, so that every layer sees what they compute.

Forward mode multiplies the tangent by the partial; reverse mode multiplies the gradient by its conjugate. A row that is linear in an
argument does to the tangent what it does to the argument, `jvp=linear("x")`. Without `jvp=` the rule is derived from the gradient.
The file has more than 350 lines because each family has its shape rule and its batching rule beside it.
"""

from collections.abc import Callable
from functools import partial
from inspect import unwrap
from typing import Any, NamedTuple

import numpy as np

from ..autodiff.rules.partials import Partial, pullback_of, pushforward_of
from ..core import DispatchKey, OpOverload
from ..core.lazy import LazyFunction
from ..dispatcher.layer import CONSTANT, Constant, find_layer
from ..graph.operator_facts import register_plain_calls
from ..layers.autograd import Pullback, Pullbacks, pullbacks
from ..layers.derivatives import zeros
from ..layers.fake import FakeTensor, Pure, fake_tensor
from ..layers.jvp import Pushforward, Pushforwards
from ..layers.trace import TracedNumber
from ..layers.vmap import apart, are_apart, lies_between
from ..operators.prims import define, moveaxis
from ..operators.registry import note_own_rules, ops
from ..schema.tags import Tag
from ..symbolic import guesses, has_zero, is_open, layout_is_open
from .composite_layouts import fake_laid_out, in_byte_order, with_layout
from .infix import closed_where
from .result_layouts import (
    as_shape,
    axes_of_ufunc,
    check_axis,
    elementwise,
    fake_reduced,
    layout_of,
    plain,
    ufunc_dtype,
    viewed,
    weak,
)
from .symbolic_layouts import rearranged

Rule = Callable[..., Any]
ARGUMENTS = "xyz"
plain_rule = LazyFunction(__package__, ".plain_forms", "rule_of")


def attach_plain_forms(*rows: OpOverload) -> None:
    """Let programs call what stands in `plain_forms.RULES` for some rows, as long as they have their own kernels."""
    register_plain_calls(rows, plain_rule)


def row(text: str, *, numpy: Callable[..., Any], tags: tuple[Tag, ...] = (), **rules: Any) -> OpOverload:
    """Make a row: a schema without its namespace, a kernel, and a rule for each layer (`fake=`, `vmap=`, ...)."""
    return complete(define(f"np::{text}", numpy, tags), **rules)


def complete(op: OpOverload, **rules: Any) -> OpOverload:
    """Register rules by the names of their layers; an operator without a gradient has no jvp rule either."""
    if isinstance(rules.get("autograd"), Constant):
        rules.setdefault("jvp", CONSTANT)
    for name, rule in rules.items():
        if isinstance(rule, Linear):
            rule = rule.pushforwards(op)
        find_layer(name).attach(op, Pure(rule) if name == "fake" and not isinstance(rule, Pure) else rule)
    note_own_rules(op)
    return op


class Linear(NamedTuple):
    """The jvp rule of a row that is linear in some arguments: it applies the row to the tangent."""

    arguments: tuple[str, ...]

    def pushforwards(self, op: OpOverload) -> Pushforwards:
        """Return the rule for one operator."""
        whole, names = op.whole, op.arguments.names
        found = {}
        for x in self.arguments:
            i = names.index(x)
            reads = (*names[:i], "t", *names[i + 1 :])
            if op.schema.arguments[i].type.parts:
                found[x] = Pushforward((x, *reads), _of_list(whole, i))
            else:
                found[x] = Pushforward(reads, whole)
        return Pushforwards(found)


def _of_list(whole: Callable[..., Any], i: int) -> Callable[..., Any]:
    """Run a row on the tangents of a list; a missing tangent is a bool zero, which promotes no other dtype."""

    def push(values: Any, *args: Any) -> Any:
        pairs = zip(values, args[i], strict=True)
        filled = [zeros((np.shape(x), np.dtype(bool)), x) if t is None else t for x, t in pairs]
        return whole(*args[:i], filled, *args[i + 1 :])

    return push


def linear(*arguments: str) -> Linear:
    """Return the rule `jvp=linear("x")`; with several arguments the row is linear in each while the others stay."""
    return Linear(arguments)


def undispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a function of NumPy's runs once no argument has `__array_function__`: a kernel gets arrays, and the search takes 0.1 us."""
    found: Callable[..., Any] = unwrap(function)
    return found


def kernel_of(op: OpOverload) -> Callable[..., Any]:
    """Return the NumPy kernel of a row."""
    return op.at(DispatchKey.CPU)


# -- pointwise -------------------------------------------------------------------------------------------------------------


def pointwise(name: str, kernel: np.ufunc, *partials: Partial) -> OpOverload:
    """Make a row of a ufunc with a partial derivative for each argument."""
    arguments = ", ".join(f"Tensor {x}" for x in ARGUMENTS[: kernel.nin])
    op = define(f"np::{name}({arguments}) -> Tensor", kernel, (Tag.pointwise,))
    return pointwise_rules(op, kernel, *partials)


def pointwise_rules(op: OpOverload, kernel: np.ufunc, *partials: Partial) -> OpOverload:
    """Return the rules that follow from a ufunc and its partial derivatives."""
    found = {x: partial for x, partial in zip(ARGUMENTS, partials, strict=False) if partial is not None}
    back = {x: pullback_of(partial) for x, partial in found.items()}
    complete(op, fake=fake_pointwise(kernel), autograd=Pullbacks(back) if back else CONSTANT, vmap=batched_pointwise(op))
    forward = {x: pushforward_of(partial) for x, partial in found.items() if not isinstance(partial, Pullback)}
    return complete(op, jvp=Pushforwards(forward)) if forward and len(forward) == len(back) else op


def of_numbers(name: str, infix: Rule, kernel: np.ufunc, *partials: Partial) -> OpOverload:
    """Make the row of an infix operator of numbers, what NumPy has as scalars, which may round otherwise than the ufunc does.

    Of arrays, such as a batch of numbers, and of Python's numbers alone it is the ufunc.
    """

    def run(*xs: Any) -> Any:
        if any(isinstance(x, np.ndarray) for x in xs) or not any(isinstance(x, np.generic) for x in xs):
            return kernel(*xs)
        found = infix(*xs)
        return np.complex128(found) if type(found) is complex else found  # Python divides a complex number by a float64

    arguments = ", ".join(f"Tensor {x}" for x in ARGUMENTS[: kernel.nin])
    op = define(f"np::{name}({arguments}) -> Tensor", run, (Tag.pointwise,))
    return pointwise_rules(op, kernel, *partials)


def comparison(name: str, kernel: np.ufunc) -> OpOverload:
    """Make a row of a ufunc without a derivative."""
    return pointwise(name, kernel)


def fake_pointwise(kernel: np.ufunc) -> Rule:
    """Return the shape rule of a ufunc."""

    def rule(*xs: Any) -> Any:
        if len(xs) == 2 and type(xs[0]) is type(xs[1]) is FakeTensor:  # the usual case, without the three lists
            return elementwise(ufunc_dtype(kernel, xs[0].dtype, xs[1].dtype), xs)
        fakes = [x for x in xs if isinstance(x, FakeTensor)]
        if not fakes:
            return kernel(*xs)  # numbers only
        return elementwise(ufunc_dtype(kernel, *[x.dtype if isinstance(x, FakeTensor) else kind(x) for x in xs]), fakes)

    return rule


def kind(x: Any) -> Any:
    """Return what promotion sees of a value: the type of a Python number; a bool counts as an array."""
    if isinstance(x, bool):
        return np.dtype(bool)
    found = type(weak(x))
    if found in (int, float, complex) or issubclass(found, np.generic):
        return found
    return float if found is TracedNumber else np.asarray(x).dtype  # a member of an IntEnum, say, is an array to NumPy


def batched_pointwise(op: OpOverload) -> Rule:
    """Return the batching rule of a pointwise operator: move each batch to the front, and call the operator once."""

    def rule(info: Any, in_dims: tuple[Any, ...], *xs: Any) -> tuple[Any, int]:
        operands = aligned(in_dims, xs)
        return op(*(operands if are_apart(in_dims, operands) else laid_alike(in_dims, operands))), 0

    return rule


def aligned(in_dims: tuple[Any, ...], xs: tuple[Any, ...]) -> list[Any]:
    """Return the operands with the batch first and then as many axes as the largest item has, so that they broadcast like the items."""
    ndims = [len(getattr(x, "shape", ())) - (dim is not None) for x, dim in zip(xs, in_dims, strict=True)]
    largest = max(ndims)
    found = []
    for x, dim, ndim in zip(xs, in_dims, ndims, strict=True):
        if dim is not None:
            x = in_front(x, dim)
            if ndim < largest:
                x = ops.np.reshape(x, (x.shape[0], *(1,) * (largest - ndim), *x.shape[1:]))
        found.append(x)
    return found


def laid_alike(in_dims: tuple[Any, ...], xs: list[Any]) -> list[Any]:
    """Return operands that have the batch in front with their items one after the other, where they are several.

    The layout of the result is what they agree on, and a batch that lies inside the items of one would have a say in it.
    """
    if sum([len(getattr(x, "shape", ())) > 1 for x in xs]) < 2:
        return xs
    pairs = zip(xs, in_dims, strict=True)
    return [x if dim is None or not lies_between(x, 0) else _apart(x) for x, dim in pairs]


def _apart(x: Any) -> Any:
    """Return a batch with its items one after the other; an axis along which memory repeats goes on doing so, and has no say."""
    few = tuple([slice(None) if stride or n < 2 else slice(1) for n, stride in zip(guesses(x.shape), guesses(x.strides), strict=True)])
    if all(part.stop is None for part in few):
        return apart(x, 0)
    part = ops.np.getitem(x, few)
    return ops.np.broadcast_to(apart(part, 0), x.shape)


def in_front(x: Any, dim: int | None) -> Any:
    """Move the batch of an operand to the first axis; without a batch return it as it is."""
    return moveaxis(x, dim, 0) if dim else x


# -- reductions ------------------------------------------------------------------------------------------------------------


def reduction(text: str, kernel: Rule, dtype_of: Rule, pullback: Rule, jvp: Any = None, *, strict: bool = False) -> OpOverload:
    """Make a row that reduces axes, with the schema `(Tensor x, int[1]? axis=None, ..., *, bool keepdims=False)`.

    `dtype_of` gives the dtype of the result for the dtype of `x`, where the call does not say it. A `strict` row has no axis 0 of a
    0-d array, which others let pass as NumPy does.
    """
    op = define(f"np::{text}", kernel, (Tag.reduction,))
    fake, vmap = fake_reduction(kernel, dtype_of, strict=strict), batched_reduction(op, strict=strict)
    complete(op, fake=fake, autograd=pullbacks(x=pullback), vmap=vmap)
    return op if jvp is None else complete(op, jvp=jvp)


def fake_reduction(kernel: Rule, dtype_of: Rule, *, strict: bool = False) -> Rule:
    """Return the shape rule of a reduction."""
    of_something = getattr(getattr(kernel, "__self__", None), "identity", 0) is None  # the largest of nothing is none

    def rule(x: Any, axis: Any, *options: Any) -> Any:
        *dtype, keepdims = options
        if not isinstance(x, FakeTensor):  # a Python number, which has no axes
            x = fake_tensor((), np.asarray(x).dtype)
        chosen = dtype_of(x.dtype) if not dtype or dtype[0] is None else np.dtype(dtype[0])
        if strict:
            check_axis(axis, len(x.shape))
        axes = axes_of_ufunc(axis, len(x.shape))
        if of_something and has_zero(tuple([x.shape[i] for i in axes])):
            kernel(np.empty(0), None, keepdims=False)  # raises NumPy's own error
        return fake_reduced(x, chosen.newbyteorder("="), axes, keepdims)

    return rule


def batched_reduction(op: OpOverload, *, strict: bool = False) -> Rule:
    """Return the batching rule of a reduction: the item's axes, counted with the batch."""

    def rule(info: Any, in_dims: tuple[Any, ...], x: Any, axis: Any, *options: Any) -> tuple[Any, int]:
        dim = in_dims[0]
        if strict:
            check_axis(axis, len(x.shape) - 1)
        axes = tuple([i + (i >= dim) for i in axes_of_ufunc(axis, len(x.shape) - 1)])
        before = 0 if options[-1] else sum(i < dim for i in axes)
        return op(x, axes, *options[:-1], keepdims=options[-1]), dim - before

    return rule


# -- views -----------------------------------------------------------------------------------------------------------------


def view(text: str, kernel: Rule, adjoint: Rule, batched: Rule, opened: Rule | None = None) -> OpOverload:
    """Make a row that returns a view of its first argument.

    `batched` gets the shape of `x` with the batch in front and the other arguments; it returns the arguments for the whole
    batch. `opened` gets a layout with symbolic sizes; without it the kernel only moves axes.
    """
    return view_rules(define(f"np::{text}", kernel, (Tag.view,)), adjoint, batched, opened)


def view_rules(op: OpOverload, adjoint: Rule | None, batched: Rule, opened: Rule | None = None) -> OpOverload:
    """Return the rules that follow from an operator being a view."""
    gradient, forward = (CONSTANT, CONSTANT) if adjoint is None else (pullbacks(x=adjoint), linear("x"))
    return complete(op, fake=fake_view(kernel_of(op), opened), autograd=gradient, jvp=forward, vmap=batched_in_front(op, batched))


def fake_view(kernel: Rule, opened: Rule | None = None) -> Rule:
    """Return the shape rule of a view: the kernel itself, on one element under the real shape and strides."""
    opened = opened or partial(rearranged, kernel)

    def rule(x: Any, *args: Any) -> Any:
        if not isinstance(x, FakeTensor):
            return kernel(x, *args)
        args = tuple(map(plain, args))
        if layout_is_open(x) or any(is_open(as_shape(arg)) for arg in args):
            found = opened(layout_of(x), *args)
        else:
            found = viewed(kernel, type(x.dtype), layout_of(x), *args)  # long and long long are equal
        return fake_tensor(found.shape, found.dtype, found.strides, x.device, x.mode, x if found.shared else None)

    return rule


def batched_in_front(op: OpOverload, batched: Rule) -> Rule:
    """Return the batching rule of an operator of one array: move the batch to the front and adapt the other arguments."""

    def rule(info: Any, in_dims: tuple[Any, ...], x: Any, *args: Any) -> tuple[Any, int]:
        x = in_front(x, in_dims[0])
        return op(x, *batched(x.shape, *args)), 0

    return rule


# -- creation --------------------------------------------------------------------------------------------------------------


def creation(text: str, kernel: Rule) -> OpOverload:
    """Make a row that creates an array of a shape and a dtype, its first and last argument."""
    return row(text, numpy=kernel, fake=fake_creation, autograd=CONSTANT)


def fake_creation(*args: Any) -> FakeTensor:
    """Return the fake result of a factory."""
    shape = as_shape(args[0])
    if any([n < 0 for n in shape]):
        np.empty(guesses(shape))  # raises NumPy's own error
    return fake_tensor(shape, np.dtype(args[-1]))


# -- composites ----------------------------------------------------------------------------------------------------------------


def composite(
    text: str, function: Rule, *, numpy: Rule | None = None, laid_out: Rule | bool = False, namespace: str = "np",
    tags: tuple[Tag, ...] = (), closed_for: Rule | None = None, **closed: Any,
) -> OpOverload:
    """Make a row of other rows: every layer runs the function and uses their rules; its result shapes are cached.

    Where the function does not end in the very bits of NumPy's own, `numpy` is the kernel for plain arrays: the tape, forward mode
    and vmap run the function, a trace records the row. `laid_out` says that NumPy lays the result out in another way than the
    function does; the shape rule and these layers then ask the kernel how, or the function that it is, on arrays of a few
    elements: the layout decides what np.ravel makes a view of. Where an argument has its bytes swapped they say whether results do.

    `closed` has rules by their layers' names, `autograd=` and `jvp=`, that stand in place of the function there: one recorded call
    for many. They need the kernel. With `closed_for`, a function of the call's arguments, they do so only where that is true.
    """
    op = define(f"{namespace}::{text}", function, tags, DispatchKey.CompositeImplicit)
    layout = numpy if laid_out is True else laid_out or None
    function = function if layout is None else in_byte_order(op, function, layout)
    complete(op, fake=function if layout is None else fake_laid_out(op, function, layout))
    if numpy is not None:
        op.register_at(DispatchKey.CPU, numpy)
        run = function if layout is None else with_layout(op, function, layout)
        for name in ("autograd", "jvp", "vmap"):
            layer = find_layer(name)
            if name not in closed:
                op.register_at(layer.key, run)
            elif closed_for is not None:
                op.register_at(layer.key, closed_where(closed_for, layer.lower(op, closed.pop(name)), run))
    return complete(op, **closed)
