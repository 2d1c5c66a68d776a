"""A Jacobian by its rows: one run of the function, and one walk back for all elements of its result."""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np

from ..core import Level
from ..core.array_memory import owned
from ..errors import BatchingError, ConversionError, GradientError, kind_of
from ..layers.autograd import Leaf, run_backward, zeros
from ..layers.vmap import vmap
from ..operators.prims import stack
from .argnums import checked_argnums, structured
from .function_outputs import left, real_layouts, result_and_aux
from .jacobian_basis import directions, spans, units
from .structures import Layout, flattened, refilled
from .taped_call import Recording
from .vjp import roots


def by_rows(who: str, f: Callable[..., Any], argnums: Any, has_aux: bool, chunk_size: Any) -> Callable[..., Any]:
    """What `jacrev` makes, under the name of a transform."""
    asked, alone = checked_argnums(who, argnums), not isinstance(argnums, tuple)
    if chunk_size is not None and not (isinstance(chunk_size, (int, np.integer)) and chunk_size > 0):
        given = chunk_size if isinstance(chunk_size, (int, np.integer)) else kind_of(chunk_size)
        raise GradientError(f"{who}: chunk_size is {given}. It is the number of rows in one batch, 1 or more; None for all.")

    @wraps(f)
    def jacobian(*args: Any, **keywords: Any) -> Any:
        with Level(who) as level:
            tape = Recording(who, level)
            args, keywords = tape.begin(f, asked, args, keywords)
            result, aux = result_and_aux(f(*args, **keywords), has_aux)
            layouts, edges = real_layouts(result, who), roots(result, level)
            begun = [None if edge is None else layout for edge, layout in zip(edges, layouts, strict=True)]
            met = flattened(result)
            rows = _pulled(tape, [edge for edge in edges if edge is not None], begun, met, chunk_size)
            blocks: list[Any] = []
            for layout, span in zip(layouts, spans(begun), strict=True):
                row = [end and _block(r, span, layout, *end) for r, end in zip(rows, tape.ends, strict=True)]
                blocks.append(None if layout is None else structured(alone, tape.arguments, row))
            jac, aux = refilled(result, iter(blocks)), left(aux, level)
        return (jac, aux) if has_aux else jac

    return jacobian


def _pulled(
    tape: Recording, edges: list[Any], layouts: Sequence[Layout | None], met: list[Any], chunk_size: Any
) -> list[Any]:
    """For each end of a tape the gradients there of all elements of a result, along a first axis; None where all are zero."""
    count = directions(layouts)
    if not count:
        return [None] * len(tape.ends)
    step = chunk_size or count
    reached: list[bool] = []

    def pull(*cotangents: Any, keep: bool) -> list[Any]:
        found = run_backward(edges, cotangents, tape.level, keep, False)
        reached[:] = [end is not None and end[0] in found for end in tape.ends]
        return [found.pop(end[0]) for end in tape.ends if end is not None and end[0] in found]

    chunks = []
    for start in range(0, count, step):
        block = units(layouts, start, min(start + step, count), met)
        pulled = partial(pull, keep=start + step < count)
        chunks.append(pulled(*[unit[0] for unit in block]) if step == 1 else _batched(pulled, block))
    parts = [list(part) for part in zip(*chunks, strict=True)]
    del chunks
    rows = iter([_joined(part, step == 1) for part in parts])
    return [next(rows) if there else None for there in reached]


def _batched(pull: Callable[..., Any], block: list[Any]) -> Any:
    try:
        return vmap(pull)(*block)
    except (BatchingError, ConversionError, TypeError) as error:
        error.add_note("a Jacobian pulls its rows back in one batch: jacrev(f, chunk_size=1) pulls back one at a time")
        raise


def _joined(parts: list[Any], single: bool) -> Any:
    if single:
        return stack(parts)
    return owned(parts.pop()) if len(parts) == 1 else np.concatenate(parts)


def _block(rows: Any, span: slice | None, layout: Layout | None, leaf: Leaf, value: Any) -> Any:
    """What belongs to one array of the result and one of the arguments."""
    if layout is None:
        return None
    shape = layout[0] + leaf.layout[0]
    return zeros((shape, leaf.layout[1]), value) if rows is None or span is None else np.reshape(rows[span], shape)
