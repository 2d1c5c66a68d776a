"""Takes apart and puts together the containers of arrays that loops and branches are given."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import Tensor, active_mode, device_of
from ..core.pytree import leaves, leaves_like, paths, unflatten
from ..layers.trace import TRACE, TracedNumber
from ..operators.registry import ops
from .tracing import FAKE
from .words import carry_changed, kind_changed, path_to, result_refused

NUMBERS = (bool, int, float, complex)


class Given:
    """A container of arrays that a loop is given: its arrays, and the container with 0 for each and None for nothing."""

    def __init__(self, who: str, what: str, x: Any) -> None:
        each = zip(leaves(x), paths(x), strict=True)
        self.arrays = [as_array(who, f"{what}{path}", leaf) for leaf, path in each if leaf is not None]
        self.like = unflatten(x, [None if leaf is None else 0 for leaf in leaves(x)])
        self.what = what

    def filled(self, arrays: Sequence[Any]) -> Any:
        """The container with other arrays."""
        return filled(self.like, arrays)

    @property
    def names(self) -> list[str]:
        """Names for the inputs of a graph."""
        return ["_".join([self.what, *re.findall(r"\w+", path_to(self.like, i))]) for i in range(len(self.arrays))]


def filled(like: Any, arrays: Sequence[Any]) -> Any:
    """A container with arrays in the places of what is not None."""
    given = iter(arrays)
    return unflatten(like, [None if leaf is None else next(given) for leaf in leaves(like)])


def as_array(who: str, what: str, x: Any) -> Any:
    """An array of what a loop was given; a number of NumPy's, which nobody can write to, of what has no axes."""
    x = as_number(x)
    if not isinstance(x, Tensor) and device_of(x) is None:
        raise result_refused(who, x, what)
    return x


def as_number(x: Any) -> Any:
    """A number of NumPy's for Python's numbers and for an array without axes; anything else as it is."""
    if type(x) is TracedNumber:
        return ops.np.positive(x)
    return np.asarray(x)[()] if type(x) in NUMBERS or (type(x) is np.ndarray and not x.shape) else x


def frozen(x: Any) -> Any:
    """A read-only view of an array that a function is given: a write to it would show in the caller's."""
    if not isinstance(x, np.ndarray):
        return x
    view = x.view()
    view.flags.writeable = False
    return view


def run_plain(loop: Callable[..., Any], who: str, *args: Any) -> Any:
    """Run a loop on `frozen` arrays; where a function writes to one, say whose it is."""
    try:
        return loop(who, *args)
    except ValueError as error:
        if "read-only" in str(error):  # NumPy's words
            error.add_note(
                f"What {who} gives a function, the carry and the items, is read-only: others hold it too. Write c = c + x for "
                "c += x, or write to a copy."
            )
        raise


def is_plain(arrays: Sequence[Any]) -> bool:
    """Whether a loop may run as it is: no value of a transform goes in, and nothing is traced or computed without data."""
    return not any([isinstance(x, Tensor) for x in arrays]) and active_mode(TRACE) is None and active_mode(FAKE) is None


def returned(given: Given, carry: Any) -> Any:
    """The carry of the last step, of which nothing is the caller's own array."""
    return given.filled([owned(x) for x in leaves(alike(given.like, carry)) if x is not None])


def alike(like: Any, x: Any) -> Any:
    """A container with its items in the order of another, by the keys of dicts; as it is where it is of another kind."""
    found = leaves_like(x, like)
    return x if found is None else unflatten(like, found)


def owned(x: Any) -> Any:
    """A result as an operator gives it: a number of NumPy's, or an array in C order, which sums go by, and nobody else's."""
    return x.copy() if isinstance(x, Tensor) or (type(x) is np.ndarray and x.shape) else as_number(x)


def check_carry(who: str, given: Given, outputs: Sequence[Any], like: Any) -> None:
    """Raise where a traced step gives another carry than it takes."""
    if not same_structure(given.like, like):
        raise kind_changed(who, given.like, like)
    for i, (x, y) in enumerate(zip(given.arrays, outputs, strict=True)):
        if x.dtype != y.dtype or len(x.shape) != len(y.shape) or not all(a == b for a, b in zip(x.shape, y.shape, strict=True)):
            raise carry_changed(who, i, x, y, given.like)


def same_structure(x: Any, y: Any) -> bool:
    """Whether two containers of 0 and None are alike; a list and a tuple are."""
    found = leaves_like(y, x)
    return found is not None and [type(a) for a in found] == [type(a) for a in leaves(x)]
