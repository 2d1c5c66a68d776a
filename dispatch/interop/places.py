"""Takes the arrays out of arguments, results and containers, with a `Place` where each was, and puts arrays back."""

from collections.abc import Callable, Sequence
from typing import Any

from ..core.pytree import mapped


class Place:
    """Stands for an array, by its number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"array{self.number}"

    def __eq__(self, other: object) -> bool:
        return type(other) is Place and self.number == other.number

    def __hash__(self) -> int:
        return hash(("Place", self.number))


def put(x: Any, arrays: Sequence[Any]) -> Any:
    """A value with arrays in their places.

    Examples
    --------
    >>> put([Place(1), "and", (Place(0),)], ["x", "y"])
    ['y', 'and', ('x',)]
    """
    return mapped(lambda y: arrays[y.number] if type(y) is Place else y, x)


def apart(x: Any, arrays: list[Any], is_array: Callable[[Any], bool]) -> Any:
    """A value with a `Place` for each array, which are added to a list; a place has the array's number in that list.

    Examples
    --------
    >>> found = ["x"]
    >>> apart([1.5, {"a": "y"}], found, lambda x: isinstance(x, str))
    [1.5, {'a': array1}]
    >>> found
    ['x', 'y']
    """

    def taken(y: Any) -> Any:
        if not is_array(y):
            return y
        arrays.append(y)
        return Place(len(arrays) - 1)

    return mapped(taken, x)
