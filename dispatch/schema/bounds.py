"""Reads the range of values that a hint names: `Annotated[float, Interval(gt=0, le=1)]`, `Annotated[int, range(1, 9)]`.

A bound is recognised by its attributes `gt`, `ge`, `lt`, `le`, so `annotated_types` (and with it pydantic's `Field`) is never
imported. As with annotated-types itself no call is refused for it: it is what samples of arguments keep to.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple


class Bounds(NamedTuple):
    """A range of numbers, which is open where `above` or `below` is true.

    Examples
    --------
    >>> 1.0 in Bounds(0.0, 1.0), 1.0 in Bounds(0.0, 1.0, below=True)
    (True, False)
    """

    low: Any = None
    high: Any = None
    above: bool = False  # low itself is outside
    below: bool = False  # high itself is outside

    def __contains__(self, value: Any) -> bool:
        from_low = self.low is None or value > self.low or (value == self.low and not self.above)
        return from_low and (self.high is None or value < self.high or (value == self.high and not self.below))

    def ends(self, low: float, high: float) -> tuple[float, float]:
        """Return the ends to draw numbers between: `low` and `high` where both are inside, or others of the same width.

        Examples
        --------
        >>> Bounds(0.0).ends(0.25, 2.0), Bounds(0.0, 1.0).ends(0.25, 2.0), Bounds(None, 0.0).ends(0.25, 2.0)
        ((0.25, 2.0), (0.125, 0.875), (-2.0, -0.25))
        """
        if low in self and high in self:
            return low, high
        if self.low is not None and self.high is not None:
            margin = (self.high - self.low) / 8  # a step of finite differences is to stay inside
            return self.low + margin, self.high - margin
        return (self.low + low, self.low + high) if self.low is not None else (self.high - high, self.high - low)

    def integers(self) -> list[int]:
        """Return two integers inside, or as many as there are: 0 and 1, or those beside a bound.

        Examples
        --------
        >>> Bounds().integers(), Bounds(3).integers(), Bounds(None, -1, below=True).integers()
        ([0, 1], [3, 4], [-3, -2])
        """
        if 0 in self and 1 in self:
            return [0, 1]
        if self.low is not None:
            first = math.ceil(self.low) + (self.above and self.low == math.ceil(self.low))
        else:
            first = math.floor(self.high) - 1 - (self.below and self.high == math.floor(self.high))
        return [n for n in (first, first + 1) if n in self]


def bounds_of(notes: Iterable[Any]) -> Bounds | None:
    """Return the range that the notes of an `Annotated` hint name, or None.

    Examples
    --------
    >>> bounds_of([range(1, 9)])
    Bounds(low=1, high=9, above=False, below=True)
    """
    found: dict[str, Any] = {}
    for note in notes:
        if isinstance(note, range):
            found |= {"ge": note.start, "lt": note.stop} if note.step > 0 else {"gt": note.stop, "le": note.start}
        for part in (note, *getattr(note, "metadata", ())):  # pydantic's Field has a list of them
            words = ((word, getattr(part, word, None)) for word in ("gt", "ge", "lt", "le"))
            found |= {word: value for word, value in words if isinstance(value, (int, float))}
    if not found:
        return None
    low, high = found.get("gt", found.get("ge")), found.get("lt", found.get("le"))
    return Bounds(low, high, "gt" in found, "lt" in found)
