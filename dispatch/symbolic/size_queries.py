"""Questions of shape rules about sizes, symbolic or not. They leave a guard only where the answer decides the shape."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .checks import check, guard_or_false, guard_or_true
from .sym_bool import SymBool
from .sym_int import SymInt

Shape = tuple[Any, ...]


def is_open(sizes: Any) -> bool:
    """Return whether some of the sizes are symbolic."""
    return any([type(n) is SymInt for n in sizes])


def guesses(sizes: Any) -> tuple[int, ...]:
    """Return the numbers of sizes in this run, with some number for each size that depends on data."""
    return tuple([n.guess if type(n) is SymInt else n for n in sizes])


def same(a: Shape, b: Shape) -> bool:
    """Return whether two shapes are the same expressions. It leaves no guard."""
    return len(a) == len(b) and all(
        [m is n or (type(m) is not SymInt and type(n) is not SymInt and m == n) for m, n in zip(a, b, strict=True)]
    )


def is_one(n: Any) -> bool:
    """Return whether a size is 1. A size that depends on data counts as not 1."""
    return guard_or_false(n == 1) if type(n) is SymInt else n == 1


def is_zero(n: Any) -> bool:
    """Return whether a size is 0. A size that depends on data counts as not 0."""
    return guard_or_false(n == 0) if type(n) is SymInt else n == 0


def larger(a: Any, b: Any) -> Any:
    """Return the larger of two sizes, as an expression if that is open."""
    if type(a) is SymInt:
        return a.env.expressions.made("max", a, b)
    return b.env.expressions.made("max", a, b) if type(b) is SymInt else max(a, b)


def smaller(a: Any, b: Any) -> Any:
    """Return the smaller of two sizes, as an expression if that is open."""
    if type(a) is SymInt:
        return a.env.expressions.made("min", a, b)
    return b.env.expressions.made("min", a, b) if type(b) is SymInt else min(a, b)


def sure(condition: Any) -> bool:
    """Return whether a condition holds that a kernel needs; it leaves a guard, or a check if the condition depends on data."""
    if not isinstance(condition, SymBool):
        return bool(condition)
    if guard_or_true(condition):
        check(condition)
        return True
    return False


def agree(a: Any, b: Any) -> bool:
    """Return whether two sizes are equal; it leaves a guard, or a check if that depends on data."""
    return a is b or sure(a == b)


def has_zero(shape: Shape) -> bool:
    """Return whether one of the sizes is the number 0."""
    return any([type(n) is int and not n for n in shape])


def layout_is_open(x: Any) -> bool:
    """Return whether the shape or the strides of an array are symbolic."""
    return is_open(x.shape) or is_open(x.strides)


def agreeing(shapes: Any) -> bool:
    """Return whether all shapes are equal."""
    first = shapes[0]
    return all([len(shape) == len(first) and all(map(agree, shape, first)) for shape in shapes[1:]])


def broadcast(shapes: Any) -> Shape | None:
    """Return the shape that shapes broadcast to; None if they do not."""
    found: list[Any] = []
    for axis in range(-max(map(len, shapes)), 0):
        lengths: list[Any] = []  # that are written differently; of one alone it need not be known whether it is 1
        for shape in shapes:
            if -axis <= len(shape) and not any([same((shape[axis],), (n,)) for n in lengths]):
                lengths.append(shape[axis])
        if len(lengths) > 1:
            lengths = [n for n in lengths if not is_one(n)] or [1]
            if not all([agree(lengths[0], n) for n in lengths[1:]]):
                return None
            lengths.sort(key=lambda n: type(n) is not int)  # a number says more than a symbol that equals it
        found.append(lengths[0])
    return tuple(found)


def contiguous(shape: Shape, itemsize: int) -> Shape:
    """Return the strides, in bytes, of a new array in C order."""
    for n in shape:
        if type(n) is not int:
            return _strides(shape, itemsize, larger)
    return _static_strides(shape, itemsize)


@lru_cache(maxsize=4096)
def _static_strides(shape: Shape, itemsize: int) -> Shape:
    return _strides(shape, itemsize, max)


def _strides(shape: Shape, itemsize: int, larger_of: Callable[[Any, Any], Any]) -> Shape:
    strides: list[Any] = []
    step: Any = itemsize
    for n in reversed(shape):
        strides.append(step)
        step = step * larger_of(n, 1)
    return tuple(strides[::-1])
