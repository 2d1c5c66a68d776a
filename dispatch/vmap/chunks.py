"""A batch in chunks: one after another, for memory, or in threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from typing import Any

import numpy as np

from ..carrying import carry
from ..containers import items_of, rebuilt
from ..errors import BatchingError, MissingExtraError
from ..extras import require
from .axes import kind_and_size


def bounds_of(size: int, chunk_size: int | None, workers: int | None) -> list[tuple[int, int]] | None:
    """Where the chunks begin and end, None where the batch is one.

    Examples
    --------
    >>> bounds_of(7, 3, None), bounds_of(7, None, 2)
    ([(0, 3), (3, 6), (6, 7)], [(0, 4), (4, 7)])
    """
    step = chunk_size if chunk_size is not None else -(-size // (workers or 1))
    return [(a, min(a + step, size)) for a in range(0, size, step)] if step < size else None


def chunk_of(x: Any, dim: Any, start: int, stop: int) -> Any:
    """Some items of an argument."""
    if dim is None:
        return x
    if isinstance(dim, list):
        return rebuilt(x, [chunk_of(item, d, start, stop) for item, d in zip(items_of(x) or (), dim, strict=True)])
    return x[(slice(None),) * (dim % len(x.shape)) + (slice(start, stop),)]


def run_all(calls: Sequence[Callable[[], Any]], workers: int | None) -> list[Any]:
    """The results of the chunks, in order; the first that fails raises, and those that wait are not begun."""
    if workers is None or workers == 1:
        return [call() for call in calls]
    with _one_thread_for_linear_algebra(), ThreadPoolExecutor(workers, "dispatch vmap") as pool:
        # A context, in which np.errstate lives, can be run by one thread at a time: each chunk has its own.
        futures = [pool.submit(copy_context().run, carry(call)) for call in calls]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _one_thread_for_linear_algebra() -> AbstractContextManager[Any]:
    """Keep each worker's BLAS to one thread, where the library that can is installed: they would be workers times cores."""
    try:
        limited: AbstractContextManager[Any] = require("threadpoolctl", "threads").threadpool_limits(1, "blas")
    except MissingExtraError:
        return nullcontext()
    return limited


def joined(parts: list[Any], dim: Any) -> Any:
    """The results of the chunks as one, along the mapped axis of each; what has none is that of the first chunk."""
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
    """What two containers have in common where their items stand for the same; True of everything that is none."""
    items = items_of(x)
    return items is None or (type(x), tuple(x) if isinstance(x, dict) else len(items))
