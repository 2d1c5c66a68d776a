"""A Jacobian by its columns: one run of the function, which carries a tangent for each element of the arguments."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..core import Level, Tensor, check_open
from ..errors import GradientError
from ..layers.jvp import zeros
from ..layers.vmap import vmap
from .argnums import checked_argnums, differentiable, located, replaced, structured, with_leaves
from .array_constants import beside
from .function_outputs import layouts_of, left, result_and_aux
from .jacobian_basis import directions, spans, units
from .jvp import dual, recorded, tangent_at
from .structures import Layout, flattened, layout_of, refilled


def by_columns(who: str, f: Callable[..., Any], argnums: Any, has_aux: bool, randomness: str) -> Callable[..., Any]:
    """What `jacfwd` makes, under the name of a transform."""
    asked, alone = checked_argnums(who, argnums), not isinstance(argnums, tuple)

    @wraps(f)
    def jacobian(*args: Any, **keywords: Any) -> Any:
        found = located(f, who, asked, args, keywords)
        places, arguments = [place for place, _ in found], [x for _, x in found]
        arrays = [_real(differentiable(x, who, place), who, place) for place, x in found]
        leaves = [x for flat in arrays for x in flat]
        layouts = [layout_of(x) for x in leaves]
        seen: list[Any] = []

        def push(*tangents: Any) -> list[Any]:
            moving = iter(tangents)
            with Level(who) as level:
                inside = [
                    with_leaves(x, [None if a is None else dual(a, next(moving), level) for a in flat])
                    for x, flat in zip(arguments, arrays, strict=True)
                ]
                given, named = replaced(args, keywords, places, inside)
                result, aux = result_and_aux(recorded(f(*given, **named), level), has_aux)
                moved = [tangent_at(x, level) for x in flattened(result)]
                seen[:] = result, layouts_of(result, who), [t is not None for t in moved], left(aux, level)
            return [t for t in moved if t is not None]

        count = directions(layouts)
        if count:
            columns = iter(vmap(push, 0, -1, randomness)(*units(layouts, 0, count, leaves)))
        else:  # the shapes are asked for, and no direction leads anywhere
            columns = iter(push(*[beside(np.zeros(*layout), leaves) for layout in layouts if layout is not None]))
        result, results, moved, aux = seen
        for leaf in flattened(aux):
            if isinstance(leaf, Tensor):
                check_open(leaf)
        blocks: list[Any] = []
        for layout, moves in zip(results, moved, strict=True):
            column = next(columns) if moves else None
            pairs = zip(leaves, spans(layouts), strict=True)
            row = [None if x is None else _block(column if count else None, span, layout, x) for x, span in pairs]
            blocks.append(None if layout is None else structured(alone, arguments, row))
        jac = refilled(result, iter(blocks))
        return (jac, aux) if has_aux else jac

    return jacobian


def _real(arrays: list[Any], who: str, place: int | str) -> list[Any]:
    """The arrays of an argument, each of them real."""
    for x in arrays:
        if x is not None and x.dtype.kind == "c":
            raise GradientError(
                f"{who} by argument {place!r} was asked for, which is complex: there is a derivative by its real part and "
                "one by its imaginary part. Make the function one of these two, or take jvp, or jacrev of a real result."
            )
    return arrays


def _block(columns: Any, span: slice | None, layout: Layout | None, x: Any) -> Any:
    """What belongs to one array of the result and one, x, of the arguments."""
    if layout is None:
        return None
    shape = layout[0] + x.shape
    if columns is None:
        return zeros((shape, layout[1]), x)
    block = columns[..., span]
    if isinstance(block, Tensor):
        return np.reshape(np.ravel(block), shape)
    made = np.empty(block.shape, block.dtype)  # in C order, where the batch may have any
    made[...] = block
    return np.reshape(made, shape)
