"""Runs operators that draw random numbers in a batch: one draw for all items, one for each, or an error.

`info.randomness` is the option that was given to vmap. An operator draws even if no argument of the call is batched, and then
each item may need a draw of its own. So the kernel of an operator tagged `random` looks for the batches open in its thread.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial, wraps
from typing import Any

import numpy as np

from ...core import DispatchKey, Level, OpOverload, Setting, Tensor, open_levels, setting, split, wrap
from ...core.pytree import items_of, leaves, mapped, rebuilt
from ...core.random_states import has_drawn, is_generator, state_of
from ...core.source import innermost
from ...dispatcher.layer import Kernel
from ...errors import BatchingError
from ...operators.prims import stack
from ...schema.tags import Tag
from .tensor import Batch, BatchedTensor


def drawing(op: OpOverload, kernel: Kernel) -> Kernel:
    """Return the layer's kernel of an operator. If the operator draws and `randomness` is `"error"`, the kernel raises."""
    if Tag.random not in op.tags:
        return kernel

    def drawing(*args: Any) -> Any:
        own = split(args)[0].level
        above = [level for level in _unmet() if level.number > own.number]
        _check_decided(op.name, [own, *above])
        met = {own.number, *[level.number for level in above], *(setting(DispatchKey.VMAP) or ())}
        with Setting(DispatchKey.VMAP, met):
            return _drawn(partial(kernel, *args), above)

    return drawing


def _unmet() -> list[Level]:
    """Return the batches open in this thread that no argument of the call belongs to, the innermost last."""
    met = setting(DispatchKey.VMAP) or ()
    return [level for level in open_levels() if type(level.payload) is Batch and level.number not in met]


def check_decided(name: str) -> None:
    """Raise where something draws inside of batches, and one of them was not told for whom."""
    _check_decided(name, [level for level in open_levels() if type(level.payload) is Batch])


def undecided() -> bool:
    """Return whether one draw for all items of the batches that are open is not what was asked for."""
    return any(type(level.payload) is Batch and level.payload.randomness != "same" for level in open_levels())


def drawn_for_items(name: str, draw: Callable[[], Any]) -> Any:
    """Return what a function draws that takes no batched value: once, or for each item of the batches that ask for that."""
    unmet = _unmet()
    _check_decided(name, unmet)
    return _drawn(draw, unmet)


def watched(f: Callable[..., Any], generators: dict[str, Any], run: Callable[[list[Batch]], Any]) -> Any:
    """Run a function on batches, and raise if it has drawn from a generator by itself, once for all items.

    `run` puts the batches that it makes into its list.
    """
    batches: list[Batch] = []
    before = {name: state_of(x) for name, x in generators.items() if is_generator(x)}  # no stand-in of a trace
    out = run(batches)
    if batches[0].randomness == "error" or not any(batch.has_drawn for batch in batches):
        for name, state in before.items():
            if has_drawn(generators[name], state):
                where = name if name in ("numpy.random", "random") or " " in name else f"the Generator '{name}'"
                told = "" if batches[0].randomness == "different" else " and vmap(f, randomness='different')"
                who = getattr(innermost(f), "__name__", type(f).__name__)
                raise BatchingError(
                    f"{who} draws from {where} itself, which is one draw for all items of a "
                    f"vmap. Write dispatch.numpy.random.normal(rng, loc, scale, size) in it{told} for a draw for each item, or "
                    "vmap(f, randomness='same') where all shall have one."
                )
    return out


def _check_decided(name: str, levels: list[Level]) -> None:
    for level in levels:
        level.payload.has_drawn = True
    if any(level.payload.randomness == "error" for level in levels):
        raise BatchingError(
            f"{name} draws from a random generator, and vmap was not told whether for all items or for each. Write "
            "vmap(f, randomness='different') for a draw for each item, or 'same' for one that all have; jacfwd takes it too, "
            "and hessian(f) is jacfwd(jacrev(f), randomness='same').",
            operator=name,
        )


def around_kernel(op: OpOverload, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel of an operator that draws, inside batches that no argument of the call belongs to."""
    other = [r.type for r in op.schema.returns if not r.type.has_tensor]

    @wraps(kernel)
    def drawing(*args: Any, **keywords: Any) -> Any:
        unmet = _unmet()
        _check_decided(op.name, unmet)
        if other and any(level.payload.randomness == "different" for level in unmet):
            raise BatchingError(
                f"{op.name} returns {other[0]}, and a different one for each item was asked where no batched value reaches it. "
                "Let it return an array, np.ndarray, which can be a batch.",
                operator=op.name,
            )
        return _drawn(partial(kernel, *args, **keywords), unmet)

    return drawing


def _drawn(draw: Callable[[], Any], levels: list[Level]) -> Any:
    """Return a draw for each item of those batches that ask for one, the innermost batch last."""
    if not levels:
        return draw()
    *outer, level = levels
    if level.payload.randomness == "same":
        return _drawn(draw, outer)
    return _together([_drawn(draw, outer) for _ in range(level.payload.batch_size)] or [_drawn(draw, outer)], level)


def _together(column: list[Any], level: Level) -> Any:
    """Return the draws of all items as one batch."""
    first = column[0]
    if first is None:  # of what shuffles in place
        return None
    if (items := items_of(first)) is not None:
        columns = zip(*[items_of(x) or () for x in column], strict=True) if items else ()
        return rebuilt(first, [_together(list(inner), level) for inner in columns])
    arrays = [x if isinstance(x, Tensor) else np.asarray(x) for x in column]
    return wrap(BatchedTensor, stack(arrays, 0)[: level.payload.batch_size], level, 0)


def one_draw(op: OpOverload, values: tuple[Any, ...]) -> Any:
    """Return a function that gives every item the draws of the first: the first one uses the generator, the others copies."""
    if not any(is_generator(x) for value in values for x in leaves(value)):
        raise BatchingError(
            f"{op.name}: one draw for all items was asked, randomness='same', and its generator is none of its arguments, so "
            "that the loop over the items cannot wind it back. Pass it a NumPy Generator, or register a vmap rule, which reads "
            "info.randomness.",
            operator=op.name,
        )
    before = deepcopy([[x for x in leaves(value) if is_generator(x)] for value in values])

    def draw(args: list[Any], i: int) -> list[Any]:
        if i == 0:
            return args
        made = []
        for x, kept in zip(args, before, strict=True):
            copies = iter(deepcopy(kept))
            made.append(mapped(partial(_again, copies), x) if kept else x)
        return made

    return draw


def _again(copies: Iterator[Any], x: Any) -> Any:
    """Return the next copy in place of a generator; anything else as it is."""
    return next(copies) if is_generator(x) else x
