"""The kernels of the functionalizing layer: one that reads, one that runs the functional form in place of a write."""

from contextlib import nullcontext
from typing import Any

import numpy as np

from ...core import OpOverload, Tensor, Without, active_mode, split, unwrap
from ...core.array_memory import rewrite
from ...core.pytree import arrays, mapped
from ...dispatcher.call_errors import refused
from ...dispatcher.layer import Kernel
from ...dispatcher.printing import describe_value
from ...errors import MutationError
from ...operators.functional_variant import form_of
from ...operators.rule_operators import runs_as_ours
from ...operators.views import base_of, replace, with_views
from ...schema.tags import Tag
from ..inplace import Words, check_dicts, check_target, new_values, target_name, targets
from .run import FUNCTIONALIZE, Functional
from .tensor import FunctionalTensor

NO_MODE = nullcontext()  # one for all calls: making it takes longer than what it is for
WORDS = Words(MutationError, "functional value", "functionalize")


def kernel_of(op: OpOverload) -> Kernel:
    """Return the kernel of an operator."""
    made = _writing(op) if op.schema.is_mutable else _reading(op)
    return made if runs_as_ours(op) and not {Tag.effect, Tag.random}.intersection(op.tags) else _once(made)


def _once(made: Kernel) -> Kernel:
    """Return a kernel that notes the call: whatever it does beside returning values must not be done twice."""

    def kernel(*args: Any) -> Any:
        _state(args)[0].repeatable = False
        return made(*args)

    return kernel


def _state(args: tuple[Any, ...]) -> tuple[Functional, Any]:
    """Return the run that a call belongs to, and a block in which its mode is off."""
    guard, like = active_mode(FUNCTIONALIZE), split(args)[0]
    if type(like) is FunctionalTensor and (guard is None or like.rank > guard.rank):
        return like.level.payload, NO_MODE
    assert guard is not None
    return guard.mode, Without(guard)


def _reading(op: OpOverload) -> Kernel:
    """Return the kernel of an operator that does not write."""
    whole = op.whole
    if not op.schema.is_view:

        def kernel(*args: Any) -> Any:
            state, off = _state(args)
            values = unwrap(state.lifted(args), state.rank)
            with off:
                out = whole(*values)
            return state.given(out)

        return kernel

    places = [i for i, a in enumerate(op.schema.arguments) if a.alias is not None]

    def viewing(*args: Any) -> Any:  # `_noted` has lifted them
        state, off = _state(args)
        values = unwrap(args, state.rank)
        with off:
            out = whole(*values)
        if isinstance(out, Tensor):
            return state.given(out)
        plain = [x for i in places for x in arrays(args[i]) if isinstance(x, np.ndarray)]

        def given(x: Any) -> Any:
            """Return a view of a plain array as it is, since writes to it happen at once."""
            seen = isinstance(x, np.ndarray) and any(np.may_share_memory(x, y) for y in plain)
            return x if seen else state.given(x)

        return mapped(given, out)

    return _noted(op, viewing)


def _noted(op: OpOverload, kernel: Kernel) -> Kernel:
    """Return a kernel that records which results are views of which arguments."""
    noting = with_views(op, kernel, FunctionalTensor)

    def lifting(*args: Any) -> Any:
        return noting(*_state(args)[0].lifted(args))

    return lifting


def _writing(op: OpOverload) -> Kernel:
    """Return the kernel of an operator that writes. It runs the functional form; written tensors wrap the new values."""
    form, functional = form_of(op.schema), op.functional.whole
    single = len(op.functional.schema.returns) == 1
    accepted = [(i, op.arguments.checks[i]) for i in form.written]
    silent = single and not op.schema.returns

    def kernel(*args: Any) -> Any:
        state, off = _state(args)
        args = state.lifted(args)
        rank = state.rank
        values = unwrap(args, rank)
        for i, accept in accepted:
            if not accept(values[i]):
                raise refused(op.definition, values, {})
        written = targets(form, args)
        _check(op, state, args, written)
        with off:
            result = functional(*values)
            outputs = [result] if single else list(result)
            new = new_values(form, args, outputs)
            _check_plain(op, state, args, written, new)
            for x, value in zip(written, new, strict=True):
                if type(x) is FunctionalTensor:
                    replace(x, value, _put, lambda values: unwrap(values, rank))
                else:
                    x[...] = value
        return None if silent else form.given_back([state.given(x) for x in outputs], args)

    return _noted(op, kernel) if op.schema.is_view else kernel


def _put(x: FunctionalTensor, value: Any) -> None:
    rewrite(x, value, None, False)


def _check(op: OpOverload, state: Functional, args: tuple[Any, ...], written: list[Any]) -> None:
    """Raise if views could not follow the write."""
    for i, x in enumerate(written):
        if type(x) is not FunctionalTensor:
            continue
        check_target(op, args, x, written[:i], WORDS)
        outside = state.given_of(base_of(x))
        if outside is None:
            continue
        if Tag.inplace_view in op.tags:
            name = target_name(op, args, x)
            raise WORDS.refused(
                op,
                f"{name} was given to the function that is functionalized, and its shape would change, which cannot be written "
                "back. Write to a copy: x = x.copy().",
            )
        if state.overlaps(outside):
            name = target_name(op, args, x)
            raise WORDS.refused(
                op,
                f"{name} shares memory with another array that was given to the function that is functionalized, and the write "
                "would not show there. Give each its own.",
            )
    check_dicts(op, args, written, WORDS)


def _check_plain(op: OpOverload, state: Functional, args: tuple[Any, ...], written: list[Any], new: list[Any]) -> None:
    """Raise if a value of another transform would be written to a plain array."""
    for x, value in zip(written, new, strict=True):
        if not isinstance(value, Tensor):
            continue
        outside = state.given_of(base_of(x)) if type(x) is FunctionalTensor else x
        if outside is not None and not isinstance(outside, Tensor):
            raise WORDS.refused(
                op,
                f"{target_name(op, args, x)} is {describe_value(outside)}, which cannot hold the {type(value).__name__} that "
                "would be written to it. Make the array of such a value, np.empty_like(x, shape=...), or pass it to the "
                "function as an argument.",
            )
