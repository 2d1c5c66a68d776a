"""Makes a forward-mode rule of an autograd rule, and an autograd rule of a jvp rule.

Both use that a rule is linear: a backward in its cotangent, a jvp rule in its tangents. An autograd rule computes `J^T g` of a
cotangent `g`. It runs on a `g` that is recorded at a fresh level; the transpose of that record, applied to a tangent `t`, is
`J t`. A jvp rule computes `J t`; it runs on recorded tangents, and the transpose of that record, applied to `g`, is `J^T g`.
A rule that passes `g` or `t` to code that is no operator cannot be recorded. Such a rule runs once for each element: a backward
for each element of the outputs, a jvp for each element of the inputs.

The layers do not import this module. They find its functions in `Layer.derivations`.

Source: J. Townsend, "A new trick for calculating Jacobian vector products" (2017); A. Radul, A. Paszke, R. Frostig,
M. Johnson, D. Maclaurin, "You Only Linearize Once: Tangents Transpose to Gradients", POPL 2023.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from math import prod
from operator import index
from typing import Any

import numpy as np

from ...core import DispatchKey, Level, OpOverload, Registration, Tensor, conversions, split, wrap
from ...core.array_memory import inexact_layout
from ...core.pytree import items_of, leaves, mapped, rebuilt, unflatten
from ...dispatcher.layer import CONSTANT, Constant, Derived, Kernel, Layer
from ...layers.autograd import Rule, TrackedTensor, run_backward, track
from ...layers.autograd.derivative_sources import Form
from ...layers.autograd.layer import layer as tape_layer
from ...layers.derivatives import zeros
from ...layers.fake import FakeTensor
from ...layers.jvp import DualTensor, number_taken, rule_of, with_tangents
from ...layers.jvp.layer import layer as forward_layer
from ...layers.opaque_rules import Opacity, UserRule
from ...operators.functional_variant import origin_of
from ...operators.prims import add, astype, stack
from .by_columns import unit_array


def rule_at(op: OpOverload, layer: Layer) -> Registration | None:
    """Return the rule that an operator has at a layer; for a functional form that of the operator it was made of."""
    found = op.table.source(layer.key)
    origin = origin_of(op)
    if found is None and origin is not None:
        found = origin.table.source(layer.key)
    return found if found is not None and found.layer is layer else None


def jvp_from_vjp(op: OpOverload) -> Derived | None:
    """Return forward mode for an operator that has only an autograd rule."""
    source = rule_at(op, tape_layer)
    if source is None:
        return None
    if isinstance(source.rule, Constant):
        return Derived(source, lambda: forward_layer.lower(op, CONSTANT))
    rule = source.rule.rule if isinstance(source.rule, Form) else source.rule
    return Derived(source, lambda: _pulling(op, rule.opacity if isinstance(rule, Rule) else None))


def vjp_from_jvp(op: OpOverload) -> Derived | None:
    """Return the gradient of an operator that has only a jvp rule."""
    source = rule_at(op, forward_layer)
    if source is None:
        return None
    rule = source.rule
    opacity = rule.opacity if isinstance(rule, UserRule) else None
    made = CONSTANT if isinstance(rule, Constant) else _transposed(op.functional, rule, opacity)
    return Derived(source, lambda: tape_layer.lower(op, made))


# -- forward mode from an autograd rule ------------------------------------------------------------------------------------


def _pulling(op: OpOverload, opacity: Opacity | None) -> Kernel:
    """The kernel that records the operator, and pulls tangents back through what its autograd rule does to a cotangent."""
    whole, residual = op.whole, op.outputs.residual

    def kernel(*args: Any) -> Any:
        like, flat = split(args)[0], leaves(args)
        inputs: list[TrackedTensor] = []
        tangents: list[Any] = []
        with Level("jvp") as level:
            for i, x in enumerate(flat):
                if isinstance(x, Tensor) and x.rank == like.rank:
                    flat[i] = track(x.value, level)
                    inputs.append(flat[i])
                    tangents.append(x.kept)
            found = whole(*unflatten(args, flat))
            out, kept = (found[:-1], found[-1:]) if residual else (found, ())
            flat = leaves(out)
            places = [i for i, x in enumerate(flat) if isinstance(x, Tensor) and x.level is level]
            pushed = _pushed([flat[i] for i in places], inputs, tangents, level, opacity)
            for i, t in zip(places, pushed, strict=True):
                value = flat[i].value
                if t is not None:
                    value = wrap(DualTensor, value, like, t, True)
                elif type(value) is np.ndarray and not value.flags.writeable:  # the record protects what it saved
                    value = value.copy("K")
                flat[i] = value
            result = unflatten(out, flat)
            return (*result, *kept) if residual else result

    return kernel


def _pushed(
    outputs: list[TrackedTensor], inputs: list[TrackedTensor], tangents: list[Any], level: Level, opacity: Opacity | None
) -> list[Any]:
    """The tangent of each output of what was recorded at a level, None where it is zero."""
    edges, ends = [y.kept for y in outputs], [x.kept for x in inputs]

    def pulled_back() -> list[Any] | None:
        with Level("cotangent") as linear:
            cotangents = [track(zeros(y.kept.layout, y.value), linear) for y in outputs]
            found = run_backward(edges, cotangents, level, True, False)
            return _recorded_back(map(found.get, ends), tangents, linear, cotangents)

    def one_by_one(k: int, unit: Any) -> Any:
        found = run_backward([edges[k]], [unit], level, True, False)
        return _inner(zip(map(found.get, ends), tangents, strict=True))

    found = _unless_opaque(pulled_back, opacity) if outputs else []
    return [_by_elements(y.value, one_by_one, k) for k, y in enumerate(outputs)] if found is None else found


# -- gradients from a jvp rule ---------------------------------------------------------------------------------------------


def _transposed(op: OpOverload, given: Any, opacity: Opacity | None) -> Rule:
    """The autograd rule that records a jvp rule in its tangents, and pulls the cotangents back."""
    rule, by_row = rule_of(op, given), not callable(given)
    taking = [a.type.has_tensor for a in op.schema.arguments]
    single = len(op.schema.returns) == 1 + op.outputs.residual

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.given, ctx.gave = inputs, output

    def backward(ctx: Any, *grads: Any) -> Any:
        args, output = ctx.given, ctx.gave
        if op.outputs.residual:
            output = (*((output,) if single else output), ctx.residual)
        like: list[Any] = []  # the arrays that a gradient is asked for

        def place(x: Any, needed: Any) -> Any:
            """Return the structure of a tangent: for an array its number in `like`, or zeros, or None."""
            items = items_of(x)
            if items is not None:
                wanted = needed if isinstance(needed, list) else [False] * len(items)
                return rebuilt(x, [place(item, need) for item, need in zip(items, wanted, strict=True)])
            layout = inexact_layout(x)
            if layout is None:
                return None
            if needed is not True:
                return zeros(layout, x)
            like.append(x)
            return len(like) - 1

        needs = zip(args, ctx.needs_input_grad, taking, strict=True)
        places = tuple([place(x, needed) if takes else None for x, needed, takes in needs])
        cotangents = leaves(grads)

        def pushed(tangents: list[Any]) -> list[Any]:
            filled = tuple([mapped(lambda x: tangents[x] if isinstance(x, int) else x, x) for x in places])
            with Level("tangent") as level:
                dual = wrap(DualTensor, np.zeros(()), level)
                out = with_tangents(op, dual, output, rule(filled, output, *args), by_row=by_row)
                out = out[:-1] if op.outputs.residual else out
                return [x.kept if isinstance(x, Tensor) and x.level is level else None for x in leaves(out)]

        def pulled_back() -> list[Any] | None:
            with Level("tangent") as linear:
                tangents = [track(zeros((x.shape, x.dtype), x), linear) for x in like]
                return _recorded_back(pushed(tangents), cotangents, linear, tangents)

        def one_by_one(k: int, unit: Any) -> Any:
            before = conversions()
            found = pushed([unit if i == k else zeros((x.shape, x.dtype), x) for i, x in enumerate(like)])
            if conversions() != before:
                raise number_taken(op)
            return _inner(zip(cotangents, found, strict=True))

        found = _unless_opaque(pulled_back, opacity)
        if found is None:
            found = [_by_elements(x, one_by_one, k) for k, x in enumerate(like)]
        return tuple([mapped(lambda x: found[x] if isinstance(x, int) else None, x) for x in places])

    return Rule(backward, setup_context)


# -- what both share -------------------------------------------------------------------------------------------------------


def _recorded_back(
    roots: Iterable[Any], seeds: Iterable[Any], linear: Level, given: Iterable[TrackedTensor]
) -> list[Any] | None:
    """Apply the transpose of what a linear rule computed from `given`, and return the gradient of each; None if it cannot.

    A result that does not depend on `given` may be zero, or the rule may have taken it off the tape: that cannot be told apart.
    """
    edges, flowing = [], []
    for x, seed in zip(roots, seeds, strict=True):
        if x is not None:
            if not isinstance(x, Tensor) or x.level is not linear:
                return None
            edges.append(x.kept)
            flowing.append(seed)
    found = run_backward(edges, flowing, linear, False, False)
    return [found.get(x.kept) for x in given]


def _unless_opaque(recorded: Callable[[], list[Any] | None], opacity: Opacity | None) -> list[Any] | None:
    """What a rule gives that is recorded in what it carries; None where it turns that into something no operator sees.

    Such code may raise anything: a kernel in C TypeError, an operator without a rule NoRuleError, np.asarray our own. A rule
    that is wrong raises again when it runs on arrays, and that error is not caught.
    """
    if opacity is not None and opacity.ends_at(DispatchKey.AUTOGRAD):
        return None
    before = conversions()
    try:
        found = recorded()
    except Exception:
        return None
    return found if conversions() == before else None


def _by_elements(like: Any, product: Callable[[int, Any], Any], k: int) -> Any:
    """Return an array whose elements are products with unit arrays; imaginary parts come from imaginary units."""
    layout = shape, dtype = like.shape, like.dtype
    if not prod(shape):
        return None
    if type(like) is FakeTensor:  # has no elements, and the rule only to be asked whether it raises; where it is traced it has
        product(k, zeros(layout, like))
        return zeros(layout, like)
    found, shape = [], tuple(map(index, shape))  # of a symbolic size this leaves a guard: there is one product an element
    for i in range(prod(shape)):
        element = product(k, unit_array(shape, dtype, i, 1))
        if dtype.kind == "c":
            element = element + 1j * product(k, unit_array(shape, dtype, i, 1j))
        found.append(element)
    return astype(np.reshape(stack(found), shape), dtype)


def _inner(pairs: Iterable[tuple[Any, Any]]) -> Any:
    """Return the inner product of some arrays with as many others, `Re sum conj(x) y`; None counts as zero."""
    found = [np.sum(np.real(np.multiply(np.conjugate(x), y))) for x, y in pairs if x is not None and y is not None]
    return reduce(add, found) if found else np.zeros(())
