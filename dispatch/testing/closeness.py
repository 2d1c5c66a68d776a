"""`assert_close`: compares arrays up to the precision of their dtype, and shows the worst element."""

from typing import Any, NamedTuple

import numpy as np

from ..core import Tensor
from ..core.pytree import items_of, steps
from ..core.wrong_calls import holding
from ..dispatcher.printing import describe_value
from ..errors import ArgumentError, how_many, kind_of
from ..layers.autograd import TrackedTensor

NUMBERS = (bool, int, float, complex)


class Tolerance(NamedTuple):
    """The largest difference allowed: `abs(actual - expected) <= atol + rtol * abs(expected)`."""

    rtol: float
    atol: float


# torch.testing's figures: about half the digits of the dtype
_BY_PRECISION = {"e": Tolerance(1e-3, 1e-5), "f": Tolerance(1.3e-6, 1e-5), "F": Tolerance(1.3e-6, 1e-5)}
_DOUBLE = Tolerance(1e-7, 1e-7)
_EXACT = Tolerance(0.0, 0.0)


def tolerance(*dtypes: np.dtype[Any], rtol: float | None = None, atol: float | None = None) -> Tolerance:
    """Return the tolerance for values of some dtypes, the largest of theirs, or the one that is given."""
    pairs: tuple[tuple[str, Any], ...] = (("rtol", rtol), ("atol", atol))
    for name, one in pairs:
        if one is not None and not (isinstance(one, (int, float, np.number)) and one >= 0):
            shown = one if isinstance(one, (int, float)) else kind_of(one)
            raise ArgumentError(f"{name} is a tolerance, a number from 0 up, and was given as {shown}.")
    if rtol is not None and atol is not None:
        return Tolerance(rtol, atol)
    if rtol is not None or atol is not None:
        given, missing = ("rtol", "atol") if atol is None else ("atol", "rtol")
        raise ArgumentError(f"{given} was given without {missing}. Give both or neither; 0 is a tolerance too.")
    return max(_BY_PRECISION.get(d.char, _DOUBLE) if d.kind in "fc" else _EXACT for d in dtypes)


@holding("equal_nan")
def assert_close(
    actual: Any, expected: Any, *, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True
) -> None:
    """Raise AssertionError unless two values are equal up to rounding.

    Arrays are compared by shape, dtype and values, lists and tuples item by item, dicts key by key, records field by field,
    and everything else with `==`. A Python number has no dtype; beside an array only its value counts.

    Parameters
    ----------
    actual, expected : array, number, or list, tuple or dict of these
        Tracked values are compared by the arrays they hold.
    rtol, atol : float, optional
        Both or neither; by default what the less precise dtype allows: 1.3e-6 and 1e-5 for float32, 1e-7 for float64,
        and equality for integers.
    equal_nan : bool
        Whether nan equals nan.

    Raises
    ------
    AssertionError
        With the place of the worst element, and how many differ.

    Examples
    --------
    >>> assert_close([np.float64(0.1) + 0.2, 1], [np.float64(0.3), 1])
    >>> assert_close(np.array([1.0, 2.0]), np.array([1.0, 2.5]))
    Traceback (most recent call last):
        ...
    AssertionError: the values differ in 1 of 2 elements.
    The greatest difference is 0.5 at [1]; 1e-07 + 1e-07 * abs(expected) is allowed.
    """
    tolerance(np.dtype(float), rtol=rtol, atol=atol)  # refuses one without the other
    found = difference(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if found is not None:
        raise AssertionError(found)


def difference(
    actual: Any, expected: Any, *, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, place: str = ""
) -> str | None:
    """Describe how two values differ, or return None if they are close; the arguments are those of `assert_close`."""
    options = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    at = f" at {place}" if place else ""
    actual, expected = _plain(actual), _plain(expected)
    if isinstance(expected, dict) and isinstance(actual, dict) and actual.keys() != expected.keys():
        unmatched = ", ".join(sorted(map(repr, actual.keys() ^ expected.keys())))
        return f"the keys differ{at}: {unmatched} is in one of the two only."
    mine, theirs = _items(actual), _items(expected)
    if mine is not None and theirs is not None and _same_kind(actual, expected):
        if len(mine) != len(theirs):
            return f"the lengths differ{at}: {len(mine)}, and expected is {len(theirs)}."
        theirs = [expected[key] for key in actual] if isinstance(expected, dict) else theirs
        pairs = zip(steps(actual), mine, theirs, strict=True)
        return next((d for step, x, y in pairs if (d := difference(x, y, place=place + step, **options))), None)  # type: ignore[arg-type]
    if not (_is_number(actual) and _is_number(expected)):
        same = type(actual) is type(expected) and actual == expected
        return None if same else f"the values differ{at}: {_described(actual)}, and expected is {_described(expected)}."
    return _array_difference(actual, expected, rtol, atol, equal_nan=equal_nan, place=place)


def _plain(x: Any) -> Any:
    while isinstance(x, TrackedTensor):
        x = x.value
    if isinstance(x, Tensor):
        raise ArgumentError(f"assert_close compares arrays, and was given {describe_value(x)}, which has none of its own.")
    return x


def _items(x: Any) -> Any:
    return None if isinstance(x, np.ndarray) else items_of(x)


def _same_kind(x: Any, y: Any) -> bool:
    """Whether both are lists or tuples, which may be mixed, or dicts, or records of one class."""
    if type(x) is type(y):
        return True
    plain = [isinstance(v, (list, tuple)) and not hasattr(v, "_fields") for v in (x, y)]
    return all(plain) or (isinstance(x, dict) and isinstance(y, dict))


def _is_number(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic, *NUMBERS))


def _described(x: Any) -> str:
    return repr(x) if isinstance(x, (str, *NUMBERS)) else describe_value(x)


def _array_difference(
    actual: Any, expected: Any, rtol: float | None, atol: float | None, *, equal_nan: bool, place: str
) -> str | None:
    at = f" at {place}" if place else ""
    typed = hasattr(actual, "dtype") and hasattr(expected, "dtype")
    x, y = np.asarray(actual), np.asarray(expected)
    if x.shape != y.shape:
        return f"the shapes differ{at}: {x.shape}, and expected is {y.shape}."
    if typed and x.dtype != y.dtype:
        return f"the dtypes differ{at}: {x.dtype!s}, and expected is {y.dtype!s}."
    if not (_is_numeric(x.dtype) and _is_numeric(y.dtype)):
        unequal = np.asarray(x != y)
        return None if not unequal.any() else f"the values differ{at} in {unequal.sum()} of {how_many(x.size, 'element')}."
    if (x == y).all():  # a sixth of what np.isclose takes
        return None
    allowed = tolerance(x.dtype, y.dtype, rtol=rtol, atol=atol)
    if allowed == _EXACT or (x.dtype.kind in "biu" and y.dtype.kind in "biu" and rtol is None):
        differ = x != y
    else:
        with np.errstate(all="ignore"):
            differ = ~np.isclose(x, y, rtol=allowed.rtol, atol=allowed.atol, equal_nan=equal_nan)
    if equal_nan and allowed == _EXACT and x.dtype.kind in "fc":
        differ &= ~(np.isnan(x) & np.isnan(y))
    if not differ.any():
        return None
    distance = np.where(differ, _distance(x, y), -1.0)
    worst = np.unravel_index(int(np.argmax(np.where(np.isnan(distance), np.inf, distance))), x.shape)
    index = f"[{', '.join(map(str, worst))}]" if worst else "the only element"
    limit = "equality is asked" if allowed == _EXACT else f"{allowed.atol:g} + {allowed.rtol:g} * abs(expected) is allowed"
    return (
        f"the values differ{at} in {int(differ.sum())} of {how_many(x.size, 'element')}.\n"
        f"The greatest difference is {float(distance[worst]):g} at {index}; {limit}."
    )


def _is_numeric(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biufc"


def _distance(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    wide: Any = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
    with np.errstate(all="ignore"):  # inf - inf, or float128 beyond float64
        return np.asarray(np.abs(x.astype(wide) - y.astype(wide)))
