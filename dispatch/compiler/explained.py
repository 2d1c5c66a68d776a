"""The text of `explain()`: the kinds of calls that a compiled function met, what each depends on, which ran without a graph."""

import re
import types
from typing import Any

import numpy as np

from ..core import device_of
from ..core.pytree import items_of
from ..core.wrong_attributes import Fields
from .backends.lookup import pieces_of
from .cache import LIMIT, Entry
from .given import has_operations
from .trusted import answers_itself, is_listed_function

MOST_SAID = 8  # items of a container, one by one


class Explained(Fields):
    """The cache of a compiled function, printed as text; where entries are kept in files, why one is not."""

    _fields = ("entries", "in_files", "name", "note", "reasons", "traces")

    def __init__(
        self, name: str, traces: int, entries: list[Entry], reasons: dict[str, int], note: str, *, in_files: bool
    ) -> None:
        self.name, self.traces, self.entries, self.reasons, self.note = name, traces, entries, reasons, note
        self.in_files = in_files

    def __repr__(self) -> str:
        loaded = sum(bool(entry.place) for entry in self.entries)
        also = f", loaded {loaded} times" if loaded else ""
        lines = [f"{self.name}: traced {self.traces - loaded} times{also}, {LIMIT} at most"]
        for entry in self.entries:
            lines.append(f"\ncalls of {entry.call}")
            lines.append(f"    found {entry.hits} times")
            lines += [f"    {count} of them ran as they are: {reason}" for reason, count in entry.fallbacks.items()]
            if entry.traced is None:
                lines.append(f"    run as they are: {entry.reason}")
                continue
            traced = entry.traced
            lines += [f"    loaded from {entry.place}"] if entry.place else []
            lines += [f"    not kept for other processes: {entry.unkept}"] if entry.unkept and self.in_files else []
            lines += [f"    as long as these stay what they are: {', '.join(traced.places)}"] if traced.places else []
            lines += [f"    inputs of its own: {', '.join(traced.captured)}"] if traced.captured else []
            lines += [f"    stored after each run: {', '.join(place.path for place in traced.stores)}"] if traced.stores else []
            lines += [f"    for these values alone, by which it decides: {', '.join(traced.fixed)}"] if traced.fixed else []
            same = [other.traced.integers for other in self.entries if other.call == entry.call and other.traced is not None]
            changed = [f"{k} = {x}" for k, x in traced.integers.items() if any(other.get(k, x) != x for other in same)]
            also = "an integer that changes from call to call; pass it as an argument, as an array, to have one trace"
            lines += [f"    for {', '.join(changed)} alone, {also}"] if changed else []
            lines += [f"    where {guard}" for guard in traced.graph.guards]
            lines += [f"    {line}" for piece in pieces_of(entry.run) for line in piece.said()]
            lines += [f"    {line}" for line in str(traced.graph).splitlines()]
        for reason, count in self.reasons.items():
            lines.append(f"\n{'1 call ran as it is' if count == 1 else f'{count} calls ran as they are'}: {reason}")
        if self.note:
            lines.append(f"\nthat call would run as it is: {self.note}")
        return "\n".join(lines)


def described(args: tuple[Any, ...], keywords: dict[str, Any], dynamic: bool = False) -> str:
    """Return arguments as a phrase: arrays as `float64[3, 2]`, containers as what they hold, other values as they are.

    Examples
    --------
    >>> described((np.zeros((3, 2)), [0.5, 2]), {"mode": "a"})
    "float64[3, 2], [a float, 2], mode='a'"
    >>> described((np.zeros((3, 1)),), {}, dynamic=True)
    'float64[*, 1]'
    """
    said = ", ".join([*map(_phrase, args), *[f"{name}={_phrase(x)}" for name, x in keywords.items()]])
    return re.sub(r"(?<=\w)\[[\d, ]*\]", _opened, said) if dynamic else said


def _opened(shape: "re.Match[str]") -> str:
    """Return a shape with open lengths."""
    return re.sub(r"\d+", lambda n: n[0] if int(n[0]) < 2 else "*", shape[0])


def _phrase(x: Any) -> str:
    if type(x) is float:
        return "a float"
    if device_of(x) is not None:
        return f"{x.dtype}{list(x.shape)}" + ("" if type(x) is np.ndarray else f" ({type(x).__name__})")
    if has_operations(x):
        return f"a {type(x).__name__}"
    if (items := items_of(x)) is None:
        if answers_itself(type(x)):
            return "an object"
        written = type(x).__repr__
        yours = isinstance(written, types.FunctionType) and not is_listed_function(written)
        return f"a {type(x).__name__}" if yours else repr(x)
    if len(items) > MOST_SAID:
        return f"a {type(x).__name__} of {len(items)}"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k!r}: {_phrase(v)}" for k, v in x.items()) + "}"
    return f"{'' if type(x) in (list, tuple) else type(x).__name__}[{', '.join(map(_phrase, items))}]"
