"""Tells when a kernel writes to an argument, and its schema does not say so.

Two ask: the first calls that run a kernel on the CPU, for nobody else would notice a wrong `mutates_args` until a gradient or a
compiled function is wrong; and `validate("full")`, at every call.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from ..core import Definition, DispatchKey, share_memory
from ..core.pytree import field_names, leaves, paths
from ..errors import AliasError
from ..schema.schema import Argument
from ..schema.tags import Tag
from .call_errors import NUMPY
from .printing import place_of

MOST_BYTES = 1 << 20  # of each array, that the first calls look at: half a millisecond


class OnlyRead(NamedTuple):
    """An array that a kernel may only read."""

    argument: str
    path: str  # in the argument: "[2]" in a list
    array: np.ndarray[Any, Any]

    def fault(self, definition: Definition, key: DispatchKey) -> str:
        """Say that the kernel wrote to it."""
        live = definition.table.source(key)
        kernel = f"kernel {place_of(live)}" if live is not None else "kernel"
        copied = "a copy of it" if self.path else f"{self.argument}.copy()"
        return (
            f"the {kernel} writes to its argument {self.argument!r}{self.path}, and the schema does not say so. "
            f"Compute on {copied}, or declare it: mutates_args=({self.argument!r},)."
        )


def only_read(definition: Definition, args: tuple[Any, ...]) -> list[OnlyRead]:
    """Return the arrays that a call's kernel may only read, and that show nothing of one that it may write to."""
    arrays = [(a, path, x) for a, value in zip(definition.schema.arguments, args, strict=True) for path, x in _arrays(value)]
    written = [x for a, _, x in arrays if a.is_write]
    return [OnlyRead(a.name, path, x) for a, path, x in arrays if _is_only_read(a, x, written)]


def _is_only_read(argument: Argument, x: np.ndarray[Any, Any], written: list[np.ndarray[Any, Any]]) -> bool:
    return not (argument.is_write or x.dtype.hasobject or any([share_memory(x, other) for other in written]))


def _arrays(value: Any) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if _is_array(value):
        yield "", value
    elif type(value) in (list, tuple, dict) or field_names(type(value)) is not None:
        yield from [(path, x) for path, x in zip(paths(value), leaves(value), strict=True) if _is_array(x)]


def _is_array(x: Any) -> bool:
    return issubclass(type(x), np.ndarray)  # whatever `__class__` says, which is code of users


def checksum(x: np.ndarray[Any, Any], most: int | None = None) -> int:
    """Return a checksum of an array's bytes; with `most`, of about as many of its first ones."""
    x = np.ndarray.view(x, np.ndarray)  # a subclass may have code of its own
    while most is not None and x.nbytes > most:
        x = x[: max(1, len(x) * most // x.nbytes)] if len(x) > 1 else x[0]
    return crc32(x.tobytes())


def first_call(definition: Definition, args: tuple[Any, ...]) -> Callable[[], BaseException | None] | None:
    """Note what an operator's kernel may only read. What this returns tells, after the call, whether that has changed.

    Neither raises: the core calls both where nothing may, and raises what the second returns. Of what cannot be looked at,
    a list that holds itself say, nothing is told.
    """
    try:
        # of this package's own rows its tests know what they write to
        trusted = Tag.maybe_aliasing_or_mutating in definition.tags or definition.schema.namespace == NUMPY
        found = [] if trusted else only_read(definition, args)
        before = [checksum(x.array, MOST_BYTES) for x in found]
    except Exception:
        return None
    except BaseException as failure:  # Ctrl-C, which waits until the kernel has ended
        return partial(_itself, failure)
    return partial(_written, definition, found, before) if found else None


def _itself(failure: BaseException) -> BaseException:
    return failure


def _written(definition: Definition, found: list[OnlyRead], before: list[int]) -> BaseException | None:
    """The exception for an array that has changed, or None."""
    try:
        changed = (x for x, was in zip(found, before, strict=True) if checksum(x.array, MOST_BYTES) != was)
        if (x := next(changed, None)) is None:
            return None
        definition.table.reset()  # the next call looks again
        said = f"{definition.name}: {x.fault(definition, DispatchKey.CPU)}"
        return AliasError(said, operator=definition.name, argument=x.argument)
    except Exception:
        return None
    except BaseException as failure:
        return failure
