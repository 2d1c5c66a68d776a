"""Piecewise linear interpolation: `np.interp`.

The result is linear in the values of the table and in those beyond its ends, and by the points it is a slope. At a point of the table
the derivative is that of the interval after it, and at the last one that of the interval before it, as JAX has it.
"""

from typing import Any

import numpy as np

from ..autodiff.rules.partials import conjugated
from ..core import OpOverload
from ..layers.autograd import pullbacks
from ..layers.fake import FakeTensor, fake_tensor
from ..layers.jvp import pushforwards
from ..operators.registry import ops
from ..operators.views import ARRAY, is_number
from ..symbolic import agree, guesses, is_zero, larger
from . import numpy_functions
from .data_checks import checked
from .families import attach_plain_forms, in_front, row
from .indexing import getitem, scatter_add, where
from .numpy_functions import spelled
from .pointwise import (
    absolute,
    add,
    divide,
    equal,
    greater,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    not_equal,
    remainder,
    subtract,
)
from .reduction import sum
from .row_arguments import as_item, as_value
from .shape import concatenate, expand_dims, reshape
from .sorting import INDEX, argsort, searchsorted, take_along_axis

DOUBLE, COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    left, right = [a[()] if isinstance(a, np.ndarray) else a for a in (left, right)]  # it takes no complex number out of an array
    return np.interp(x, xp, fp, left, right)


def _fits(xp: Any, fp: Any) -> bool:
    return len(xp.shape) == 1 and len(fp.shape) == 1 and agree(xp.shape[0], fp.shape[0])


def _fake_interp(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> FakeTensor:
    if not _fits(xp, fp) or is_zero(xp.shape[0]):
        _interp(np.zeros(1), *[np.broadcast_to(0.0, guesses(a.shape)) for a in (xp, fp)])  # raises NumPy's own error
    table = [np.zeros(1, a.dtype if hasattr(a, "dtype") else type(a)) for a in (x, xp, fp)]
    if not getattr(x, "shape", ()) and is_number(x):
        table[0] = table[0][0]  # of a complex number NumPy takes the real part, and warns, and refuses an array of it
    ends = [a if a is None else np.zeros(getattr(a, "shape", ()), a.dtype if hasattr(a, "dtype") else type(a)) for a in (left, right)]
    dtype = _interp(*table, *ends).dtype
    like = next(a for a in (x, xp, fp, left, right) if isinstance(a, FakeTensor))
    return fake_tensor(tuple(getattr(x, "shape", ())), dtype, None, like.device, like.mode)


# -- where a point lies ----------------------------------------------------------------------------------------------------


def as_double(x: Any) -> Any:
    """Return an array of the table or of points as `np.interp` reads it."""
    dtype = getattr(x, "dtype", None)
    wanted = COMPLEX if dtype is not None and dtype.kind == "c" else DOUBLE
    return x if dtype == wanted else np.asarray(x, DOUBLE) if dtype is None else ops.np.astype(x, wanted)


def as_place(x: Any) -> Any:
    """Return points, or those of the table, as `np.interp` reads them: it casts them, and of complex numbers that takes the real part."""
    return as_double(ops.np.real(x) if getattr(x, "dtype", DOUBLE).kind == "c" else x)


def at(table: Any, place: Any) -> Any:
    """Return the elements of a table, or of the table of each item, at some places."""
    if len(table.shape) == 1 or not len(getattr(place, "shape", ())) or len(place.shape) < len(table.shape):
        return getitem(table, (Ellipsis, ARRAY), [place])
    return take_along_axis(table, place, -1)


def found_in(x: Any, xp: Any) -> tuple[Any, Any, Any, Any]:
    """Return the places before and after each point, and whether it is before the first and behind the last."""
    n = xp.shape[-1]
    if len(xp.shape) == 1:
        count = searchsorted(xp, x, "right")
    else:
        count = sum(less_equal(expand_dims(xp, -2), expand_dims(x, -1)), -1, INDEX)
    before = minimum(maximum(subtract(count, 1), 0), larger(n - 2, 0))
    first, last = [getitem(xp, (Ellipsis, i)) for i in (slice(0, 1), slice(n - 1, n))]
    first, last = (reshape(first, ()), reshape(last, ())) if len(xp.shape) == 1 else (first, last)
    return before, minimum(add(before, 1), n - 1), less(x, first), greater(x, last)


def within(x: Any, xp: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Return the same, with the part of its interval that each point is behind the place before, and the length of the interval."""
    before, after, below, above = found_in(x, xp)
    start = at(xp, before)
    length = subtract(at(xp, after), start)
    none = equal(length, 0)  # at the last point, which stands in the table twice or alone
    length = where(none, 1.0, length)
    none = logical_and(none, logical_or(equal(before, after), equal(x, x)))  # nan has no place among several
    part = where(none, 1.0, divide(subtract(x, start), length))
    return before, after, below, above, where(below, 0.0, where(above, 1.0, part)), length


def slope(x: Any, xp: Any, fp: Any) -> Any:
    """Return the slope of each interval that a point is in; 0 outside."""
    before, after, below, above, _, length = within(x, xp)
    return where(logical_or(below, above), 0.0, divide(subtract(at(fp, after), at(fp, before)), length))


# -- derivatives -----------------------------------------------------------------------------------------------------------


def _by_x(g: Any, x: Any, xp: Any, fp: Any) -> Any:
    return multiply(g, conjugated(slope(as_double(x), as_double(xp), as_double(fp))))


def _by_xp(g: Any, x: Any, xp: Any, fp: Any) -> Any:
    x, xp, fp = map(as_double, (x, xp, fp))
    before, after, _, _, part, _ = within(x, xp)
    moved = multiply(g, conjugated(slope(x, xp, fp)))
    return gathered(multiply(moved, subtract(part, 1.0)), ops.np.negative(multiply(moved, part)), before, after, xp.shape[0])


def _by_fp(g: Any, x: Any, xp: Any, left: Any, right: Any) -> Any:
    x, xp = map(as_double, (x, xp))
    before, after, below, above, part, _ = within(x, xp)
    for outside, value in ((below, left), (above, right)):
        g = g if value is None else where(outside, 0.0, g)
    return gathered(multiply(g, subtract(1.0, part)), multiply(g, part), before, after, xp.shape[0])


def gathered(low: Any, high: Any, before: Any, after: Any, n: Any) -> Any:
    """Return what each place gets of gradients at it and at the place after."""
    values, places = [concatenate([reshape(as_item(a), (-1,)) for a in pair], 0) for pair in ((low, high), (before, after))]
    return scatter_add(values, (ARRAY,), (n,), [places])


def _by_left(g: Any, x: Any, xp: Any) -> Any:
    return sum(where(less(as_double(x), getitem(as_double(xp), 0)), g, 0.0))


def _by_right(g: Any, x: Any, xp: Any) -> Any:
    return sum(where(greater(as_double(x), getitem(as_double(xp), -1)), g, 0.0))


def _along_fp(t: Any, x: Any, xp: Any, left: Any, right: Any) -> Any:
    return interp(x, xp, t, None if left is None else 0.0, None if right is None else 0.0)


def _along_xp(t: Any, x: Any, xp: Any, fp: Any) -> Any:
    x, xp, fp = map(as_double, (x, xp, fp))
    before, after, _, _, part, _ = within(x, xp)
    moved = add(multiply(at(t, before), subtract(1.0, part)), multiply(at(t, after), part))
    return ops.np.negative(multiply(slope(x, xp, fp), moved))


# -- batches ---------------------------------------------------------------------------------------------------------------


def _as_numpy(x: Any, xp: Any, fp: Any) -> tuple[Any, Any, Any]:
    """Return what NumPy's loop gives, in its steps, and whether each point is before the first and behind the last."""
    before, after, below, above = found_in(x, xp)
    start, end, low, high = at(xp, before), at(xp, after), at(fp, before), at(fp, after)
    x = where(below, start, where(above, end, x))
    length = subtract(end, start)
    rise = divide(subtract(high, low), where(equal(length, 0), 1.0, length))
    found = add(multiply(rise, subtract(x, start)), low)
    other = add(multiply(rise, subtract(x, end)), high)  # where an infinity is at one side
    other = where(logical_and(isnan(other), equal(low, high)), low, other)
    found = where(isnan(found), other, found)
    found = where(logical_and(isnan(x), not_equal(before, after)), x, found)  # a table of one point gives its value
    found = where(logical_or(equal(before, after), equal(x, start)), low, found)
    return where(below, low, where(equal(x, end), high, found)), below, above


def _batched_interp(info: Any, in_dims: Any, x: Any, xp: Any, fp: Any, left: Any, right: Any) -> tuple[Any, int]:
    if not any([dim is not None for dim in in_dims[1:]]):
        return interp(in_front(x, in_dims[0]), xp, fp, left, right), 0
    x, xp, fp, left, right = [
        a if dim is None else in_front(a, dim) for a, dim in zip((x, xp, fp, left, right), in_dims, strict=True)
    ]
    if "c" in [a.dtype.kind for a in (x, xp) if hasattr(a, "dtype")]:  # NumPy casts a number, and no array
        points, table = [np.zeros((1,) * (np.ndim(a) - (dim is not None)), getattr(a, "dtype", float)) for a, dim in zip((x, xp), in_dims, strict=False)]
        np.interp(points[()], table, np.zeros(1))  # raises NumPy's own error
    batch, shape = (info.batch_size,), tuple(getattr(x, "shape", ()))[0 if in_dims[0] is None else 1 :]
    xp, fp, x = as_place(xp), as_double(fp), as_place(x)
    if in_dims[0] is None and in_dims[1] is None:
        points = reshape(x, (-1,))
    else:
        points = reshape(x, (-1,) if in_dims[0] is None else (*batch, -1 if not shape else _product(shape)))
        points = points if in_dims[0] is not None else ops.np.broadcast_to(points, (*batch, *points.shape))
    found, below, above = _as_numpy(points, xp, fp)
    for outside, value in ((below, left), (above, right)):
        if value is not None:
            value = reshape(value, (value.shape[0], 1)) if len(getattr(value, "shape", ())) else value
            found = where(outside, value, found)
    found = found if len(found.shape) > 1 else ops.np.broadcast_to(found, (*batch, *found.shape))
    return reshape(found, (*batch, *shape)), 0


def _product(shape: Any) -> Any:
    found: Any = 1
    for n in shape:
        found = found * n
    return found


interp: OpOverload = row(
    "interp(Tensor x, Tensor xp, Tensor fp, Tensor? left=None, Tensor? right=None) -> Tensor",
    numpy=_interp,
    fake=_fake_interp,
    autograd=pullbacks(x=_by_x, xp=_by_xp, fp=_by_fp, left=_by_left, right=_by_right),
    jvp=pushforwards(
        x=lambda t, x, xp, fp: multiply(t, slope(as_double(x), as_double(xp), as_double(fp))),
        xp=_along_xp,
        fp=_along_fp,
        left=lambda t, x, xp: where(less(as_double(x), getitem(as_double(xp), 0)), t, 0.0),
        right=lambda t, x, xp: where(greater(as_double(x), getitem(as_double(xp), -1)), t, 0.0),
    ),
    vmap=_batched_interp,
)

# -- with a period -----------------------------------------------------------------------------------------------------------


def _check_period(period: Any) -> None:
    if np.any(period == 0):
        raise ValueError("period must be a non-zero value")  # np.interp's own


checked_period = checked("checked_period", _check_period)


_, without_period = spelled(np.interp, "x xp fp left right", interp)


def numpy_interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """`np.interp`; with a period the table goes on at both ends."""
    if period is None:
        return without_period(x, xp, fp, left, right)
    x, xp, fp = [as_item(as_value(a)) for a in (x, xp, fp)]
    x, xp, fp = as_place(x), as_place(xp), as_double(fp)
    if not _fits(xp, fp):
        table: Any = [np.zeros(guesses(a.shape)) for a in (xp, fp)]
        np.interp(np.zeros(1), table[0], table[1], period=1.0)  # raises NumPy's own error
    period = absolute(checked_period(as_item(as_value(period))))
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(xp)
    xp, fp = [getitem(a, (ARRAY,), [order]) for a in (xp, fp)]
    n = xp.shape[0]
    end, start = slice(n - 1, n), slice(0, 1)
    xp = concatenate([subtract(getitem(xp, end), period), xp, add(getitem(xp, start), period)], 0)
    fp = concatenate([getitem(fp, end), fp, getitem(fp, start)], 0)
    return interp(x, xp, fp)


FUNCTIONS = {np.interp: numpy_interp}


def install() -> None:
    """Put the function into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(interp)
