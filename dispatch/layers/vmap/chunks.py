"""Cuts a batch into chunks and runs them one after another, which saves memory, or in several threads."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from typing import Any

import numpy as np

from ...core.optional import require
from ...core.pytree import items_of, rebuilt
from ...dispatcher.thread_context import carry
from ...errors import BatchingError, MissingExtraError
from ...operators.gufunc.spread import in_threads, ranges
from .axes import kind_and_size


def bounds_of(size: int, chunk_size: int | None, workers: int | None) -> list[tuple[int, int]] | None:
    """Return the begin and end of each chunk; None if there is only one.

    Examples
    --------
    >>> bounds_of(7, 3, None), bounds_of(7, None, 2)
    ([(0, 3), (3, 6), (6, 7)], [(0, 4), (4, 7)])
    """
    step = chunk_size if chunk_size is not None else -(-size // (workers or 1))
    return [(a, min(a + step, size)) for a in range(0, size, step)] if step < size else None


def chunk_of(x: Any, dim: Any, start: int, stop: int) -> Any:
    """Return some items of an argument."""
    if dim is None:
        return x
    if isinstance(dim, list):
        return rebuilt(x, [chunk_of(item, d, start, stop) for item, d in zip(items_of(x) or (), dim, strict=True)])
    return x[(slice(None),) * (dim % len(x.shape)) + (slice(start, stop),)]


def run_all(calls: Sequence[Callable[[], Any]], workers: int | None) -> list[Any]:
    """Return the results of the chunks, in order. If one raises, no further chunk begins, and the first error is raised."""
    if workers is None or workers == 1:
        return [call() for call in calls]
    # A context, in which np.errstate lives, can be run by one thread at a time: each chunk has its own.
    apart = [(copy_context(), carry(call)) for call in calls]
    results: dict[int, Any] = {}

    def run(k: int, _: int) -> None:
        context, call = apart[k]
        results[k] = context.run(call)

    with _one_thread_for_linear_algebra():
        in_threads(run, ranges(0, len(calls), len(calls)), workers, lambda k: None)
    return [results[k] for k in range(len(calls))]


def _one_thread_for_linear_algebra() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread, if threadpoolctl is installed: each worker would start as many as there are cores."""
    try:
        limited: AbstractContextManager[Any] = require("threadpoolctl", "threads").threadpool_limits(1, "blas")
    except MissingExtraError:
        return nullcontext()
    return limited


def joined(parts: list[Any], dim: Any) -> Any:
    """Return the results of the chunks as one, joined along the mapped axis of each; those without one are the first's."""
    first = parts[0]
    other = next((part for part in parts if _structure(part) != _structure(first)), None)
    if other is not None:
        raise BatchingError(
            f"vmap: the chunks gave results of different structure, {kind_and_size(first)} and {kind_and_size(other)}. "
            "Return the same for every size of the batch."
        )
    if isinstance(dim, list):
        columns = zip(*[items_of(part) or () for part in parts], strict=True)
        return rebuilt(first, [joined(list(column), d) for column, d in zip(columns, dim, strict=True)])
    return first if dim is None else np.concatenate(parts, axis=dim)


def _structure(x: Any) -> Any:
    """Return what two containers have in common if their items correspond; True for anything that is no container."""
    items = items_of(x)
    return items is None or (type(x), tuple(x) if isinstance(x, dict) else len(items))
