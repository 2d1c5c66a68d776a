"""What a compiled function says of itself: for which calls it has a graph, for which it has none, and why."""

from typing import Any

import numpy as np

from .cache import LIMIT, ByFloats, ByGuards


class Explained:
    """What a compiled function has in its cache; prints as text."""

    def __init__(self, name: str, traces: int, cache: dict[Any, Any], note: str) -> None:
        self.name, self.traces, self.cache, self.note = name, traces, cache, note

    def __repr__(self) -> str:
        lines = [f"{self.name}: traced {self.traces} times, {LIMIT} at most"]
        for key, found in self.cache.items():
            if type(found) is ByGuards:
                entries = [(entry.bits, entry) for entry in found.entries]
            else:
                entries = list(found.entries.items()) if type(found) is ByFloats else [(None, found)]
            for bits, entry in entries:
                lines.append(f"\ncalls of {', '.join(described(key))}")
                if bits is not None:
                    lines.append(f"    whose floats are {', '.join(str(x[0]) if type(x) is tuple else x for x in bits)}")
                lines.append(f"    found {entry.hits} times")
                if entry.recording is None:
                    lines.append(f"    run as they are: {entry.reason}")
                else:
                    watched = sorted({str(name) for _, name, _ in entry.recording.watched if type(name) is str})
                    lines += [f"    as long as these stay what they are: {', '.join(watched)}"] if watched else []
                    lines += [f"    where {guard}" for guard in entry.recording.graph.guards]
                    lines += [f"    {line}" for line in str(entry.recording.graph).splitlines()]
        if self.note:
            lines.append(f"\nthat call would run as it is: {self.note}")
        return "\n".join(lines)


def described(key: tuple[Any, ...]) -> list[str]:
    """The parts of a key in words: arrays as `float64[3, 2]`, what is no array by its value."""
    found, rest = [], list(key)
    while rest:
        part = rest.pop(0)
        if part is float:
            found.append("a float")
        elif isinstance(part, type) and rest:
            value = rest.pop(0)
            if isinstance(value, np.dtype) and rest:
                shape = rest.pop(0)
                if isinstance(shape, bytes):
                    numbers = np.frombuffer(shape, np.intp)
                    shape = tuple(numbers[: len(numbers) // 2].tolist())
                elif len(shape) == 3 and type(shape[0]) is tuple:  # of an open key
                    shape = ["*" if n == 2 else n for n in shape[0]]
                found.append(f"{value}{list(shape)}" + ("" if part is np.ndarray else f" ({part.__name__})"))
            elif part in (list, tuple, dict):
                found.append(f"a {part.__name__} of {len(value) if part is dict else value}")
            else:
                found.append(repr(value))
        else:
            found.append(repr(part))
    return found
