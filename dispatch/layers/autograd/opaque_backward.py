"""Backwards that are called as one operator: `solve.backward_rule` is the backward of `solve`. See layers/opaque_rules.py.

    ns::solve.backward_rule(Any rest, Tensor[] grads, Tensor[] kept, Residual residual, int leading=0) -> Tensor[]

`grads` are the gradients that came in; `kept` the arrays that setup_context kept, those of `save_for_backward` first, then
those among the attributes of ctx, and, where it is recorded, a number for what a residual hides; `rest` says in plain data
where these belong, and has what is no array. It gives a gradient for each array that one is asked for, of the shape and dtype
of that, zeros where the backward gave None. A backward of all cotangents at once takes them along `leading` axes more.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core import OpOverload
from ...dispatcher.layer import find_layer
from ...errors import ConversionError
from ...operators.functional_variant import origin_of
from ...operators.rule_operators import make
from ..derivatives import Layout
from ..opaque_rules import add_advice, apart, asks_stand_ins, fresh, take_back, together
from .backward_graph import edges_of
from .batched_backward import Call, batching_rule_of, handed, pull_all, refused, rest_of
from .context import Context, saved_of
from .cotangents import fitted
from .residuals import secrets
from .user_rules import Rule, checked, unset
from .wrong_contexts import misread

WORD = "backward_rule"
SCHEMA = "(Any rest, Tensor[] grads, Tensor[] kept, Residual residual, int leading=0) -> Tensor[]"


class Target(NamedTuple):
    """Stands for an edge of the node whose backward it is: what a gradient has to be like."""

    layout: Layout


class Stand(NamedTuple):
    """Stands for the node of a user's rule, whose backward it is."""

    op: OpOverload
    inputs: Any
    save_for_backward: None = None


def operator_of(op: OpOverload, rule: Rule) -> OpOverload:
    """The operator of a rule, made when it is first needed."""
    return rule.opacity.operator_made_by(lambda: _made(op, rule))


def kept_by(ctx: Context) -> tuple[Any, ...]:
    """All that a rule finds on its context."""
    return saved_of(ctx), ctx.residual, vars(ctx)


def asks(op: OpOverload, rule: Rule, ctx: Context, grads: tuple[Any, ...], more: frozenset[int]) -> bool:
    """Whether a backward asks for data of its context or of its gradients that are not computed yet; see opaque_rules.py."""

    def on(grads: Any, held: Any) -> Any:
        flowing, *of_grads = apart(grads)
        kept, *of_kept = apart((held[0], dict(held[2])))
        rest = {**rest_of(ctx, grads)[2], "grads": of_grads, "kept": of_kept}
        return _handed(Call(op, rule.backward, rest), rule, flowing, kept, ctx.residual, 0)

    return asks_stand_ins(rule.opacity, (grads, kept_by(ctx)), on, more=more)


def taken_back(ctx: Context, undo: list[Callable[[], None]], before: int, were: dict[str, Any] | None) -> None:
    """Take back what an attempt has recorded, its requests, and what it has set on its context."""
    take_back(undo, before)
    vars(ctx).clear()
    vars(ctx).update(were or {})


def explained(op: OpOverload, error: Exception, ctx: Context, grads: Any, batched: bool) -> Exception:
    """What to raise where a backward has raised: that, with a note perhaps, or what says more."""
    if isinstance(error, ConversionError):
        return refused(op, error, batched=batched)
    if isinstance(error, AttributeError) and error.obj is ctx and error.name:
        return unset(op, "backward", error.name, vars(ctx))
    if told := misread(op, "backward", error, len(saved_of(ctx) or ())):
        return told
    if isinstance(error, ValueError) and "read-only" in str(error):  # NumPy's words
        error.add_note(
            "What a backward is given, the gradient and ctx.saved_tensors, is read-only: others hold it too. Write to a copy."
        )
    add_advice(error, op, "backward", (grads, *kept_by(ctx)))
    return error


def as_one(op: OpOverload, rule: Rule) -> Callable[..., Any]:
    """The backward of a rule by way of its operator; it gives a gradient for each edge of the node."""

    def pull(ctx: Context, *grads: Any) -> Any:
        flowing, kept, rest = rest_of(ctx, grads)
        found = iter(operator_of(op, rule)(rest, flowing, [*kept, *secrets(ctx)], ctx.residual))
        return tuple([None if edge is None else next(found) for edge in ctx.edges])

    return pull


def _made(op: OpOverload, rule: Rule) -> OpOverload:
    named = origin_of(op) or op

    def kernel(rest: Any, grads: Any, kept: Any, residual: Any, leading: int) -> Any:
        found = _handed(Call(op, rule.backward, rest), rule, grads, kept, residual, leading)
        batch = tuple(grads[0].shape[:leading])
        targets = _structured(rest["needs_input_grad"], iter([Target(((*batch, *shape), t)) for shape, t in rest["layouts"]]))
        stand, made = Stand(op, targets), []
        flat = checked(op, stand, found, rest["skeletons"], lists=True)  # type: ignore[arg-type]
        for target, grad in zip(edges_of(targets), flat, strict=True):
            made.append(np.zeros(*target.layout) if grad is None else fitted(stand, targets, target, grad))
        return list(fresh(made, (grads, kept)))

    def fake(rest: Any, grads: Any, kept: Any, residual: Any, leading: int) -> Any:
        batch = tuple(grads[0].shape[:leading])
        return [np.zeros_like(grads[0], shape=(*batch, *shape), dtype=dtype, order="C") for shape, dtype in rest["layouts"]]

    made = make(named, WORD, SCHEMA, kernel, fake, f"The backward of {named.name}, called as one operator.")
    if rule.batched or rule.opacity.declared:  # a loop that nobody asked for warns
        made.register(find_layer("vmap"), batching_rule_of(made) if rule.batched else "sequential")
    return made


def _handed(call: Call, rule: Rule, grads: Any, kept: Any, residual: Any, leading: int) -> Any:
    if rule.batched:
        return pull_all(call, grads, kept, residual, leading)
    return handed(call, kept, residual, together(grads, *call.rest["grads"]))


def _structured(needs: Any, targets: Any) -> tuple[Any, ...]:
    """A target for each gradient that is needed, in the structure of `needs_input_grad`, None for the others."""
    return tuple([list(_structured(x, targets)) if isinstance(x, list) else next(targets) if x else None for x in needs])
