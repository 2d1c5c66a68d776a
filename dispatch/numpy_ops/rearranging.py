"""Rows that join, split, repeat, roll and rotate arrays: composites of views, indices and `concatenate`.

Indices that depend on numbers only are computed with NumPy and are constants in the row. More than 350 lines, because the rows
are one table.
"""

from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..core import OpOverload, Tensor
from ..layers.autograd import pullbacks
from ..layers.jvp import pushforwards
from ..operators.prims import astype, broadcast_to, moveaxis
from ..operators.registry import ops
from ..operators.views import ARRAY, is_number
from ..symbolic import SymInt, agree, guesses, larger, same, smaller
from .families import composite, linear, undispatched
from .indexing import getitem, scatter_add
from .pointwise import add, divide, multiply, subtract
from .result_layouts import INTEGERS, broadcast_shape, plain, weak
from .shape import concatenate, expand_dims, reshape, swapaxes
from .symbolic_layouts import bounds, check_index

Shape = tuple[int, ...]
ALL = slice(None)
BACKWARDS = slice(None, None, -1)
MANY = 1000  # elements, of which a few calls of NumPy more cost nothing that shows


def shape_of(x: Any) -> Shape:
    """Return the shape of an array or a number."""
    return tuple(getattr(x, "shape", ()))


def along(axis: int, ndim: int, index: Any) -> tuple[Any, ...]:
    """Return an index along one axis."""
    return (*(ALL,) * normalize_axis_index(axis, ndim), index)


# -- more axes -------------------------------------------------------------------------------------------------------------


def _atleast_1d(x: Any) -> Any:
    return x if shape_of(x) else reshape(x, (1,))


def _atleast_2d(x: Any) -> Any:
    return x if len(shape_of(x)) > 1 else reshape(x, (1, -1))


def _atleast_3d(x: Any) -> Any:
    ndim = len(shape_of(x))
    return x if ndim > 2 else expand_dims(x, 2) if ndim == 2 else reshape(x, (1, -1, 1))


atleast_1d = composite("atleast_1d(Tensor(a) x) -> Tensor(a)", _atleast_1d)
atleast_2d = composite("atleast_2d(Tensor(a) x) -> Tensor(a)", _atleast_2d)
atleast_3d = composite("atleast_3d(Tensor(a) x) -> Tensor(a)", _atleast_3d)
def _broadcast_arrays(arrays: Any) -> list[Any]:
    shape = broadcast_shape(tuple(map(shape_of, arrays)))
    if not shape:  # nothing is broadcast, and of a number NumPy makes an array
        return [getitem(x, Ellipsis) for x in arrays]
    # A number is made an array first, of which the result is a view: its elements share memory, and a write to one of them is refused.
    arrays = [getitem(x, Ellipsis) if is_number(x) else x for x in arrays]
    return [x if same(shape_of(x), shape) else broadcast_to(x, shape) for x in arrays]


broadcast_arrays = composite("broadcast_arrays(Tensor(a)[] arrays) -> Tensor(a)[]", _broadcast_arrays)


def _meshgrid(arrays: Any, *, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> list[Any]:
    if indexing not in {"xy", "ij"}:
        np.meshgrid(indexing=indexing)  # type: ignore[call-overload] # raises NumPy's own error
    n = len(arrays)
    found = [reshape(x, (1,) * i + (-1,) + (1,) * (n - i - 1)) for i, x in enumerate(arrays)]
    if indexing == "xy" and n > 1:
        found = [swapaxes(x, 0, 1) for x in found]
    found = found if sparse else broadcast_arrays(found)
    return [ops.np.copy(x, "C") for x in found] if copy else list(found)


meshgrid = composite(
    "meshgrid(Tensor(a)[] arrays, *, str indexing='xy', bool sparse=False, bool copy=True) -> Tensor(a)[]", _meshgrid
)

# -- joined ----------------------------------------------------------------------------------------------------------------


def _column_stack(arrays: Any) -> Any:
    return concatenate([expand_dims(_atleast_1d(x), 1) if len(shape_of(x)) < 2 else x for x in arrays], 1)


vstack = composite("vstack(Tensor[] arrays) -> Tensor", lambda arrays: concatenate([_atleast_2d(x) for x in arrays], 0))
hstack = composite(
    "hstack(Tensor[] arrays) -> Tensor",
    lambda arrays: concatenate([_atleast_1d(x) for x in arrays], int(len(shape_of(arrays[0])) > 1)),
)
dstack = composite("dstack(Tensor[] arrays) -> Tensor", lambda arrays: concatenate([_atleast_3d(x) for x in arrays], 2))
column_stack = composite("column_stack(Tensor[] arrays) -> Tensor", _column_stack)
append = composite(  # of a Python number NumPy makes an array first, which is of float64 or int64
    "append(Tensor x, Tensor values, int? axis=None) -> Tensor",
    lambda x, values, axis=None: concatenate([a if hasattr(a, "dtype") else np.asarray(a) for a in (x, values)], axis),
)


def _delete(x: Any, obj: Any, axis: int | None = None) -> Any:
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    at = normalize_axis_index(axis, len(x.shape))
    n = x.shape[at]
    if type(n) is SymInt and isinstance(obj, (*INTEGERS, list, tuple)) and np.asarray(obj).dtype.kind == "i":
        return _without(x, at, sorted({i % n if i < 0 else i for i in np.ravel(obj).tolist()}))
    if type(n) is SymInt and isinstance(obj, slice) and obj.step in (None, 1):
        start, length = bounds(n, obj)
        return _between(x, at, [(0, start), (start + length, None)])
    return getitem(x, along(at, len(x.shape), np.delete(np.arange(n), plain_places(obj))))


def plain_places(places: Any) -> Any:
    """Return the places that np.delete or np.insert is given, which no layer follows: of a Tensor its error, or NumPy's for fractions."""
    if not isinstance(places, Tensor):
        return places
    if places.dtype.kind not in "iub":
        np.delete(np.zeros(2), np.zeros(2, places.dtype))  # raises NumPy's own error
    return np.asarray(places)


def _without(x: Any, axis: int, places: list[Any]) -> Any:
    """Delete some places of an axis of symbolic length: join the parts between them."""
    for i in places:
        check_index(x.shape, axis, i)
    return _between(x, axis, list(zip([0, *[i + 1 for i in places]], [*places, None], strict=True)))


def _between(x: Any, axis: int, pairs: list[tuple[Any, Any]]) -> Any:
    """Join some parts of an axis."""
    numbers = ops.np.arange(x.shape[axis])
    return getitem(x, along(axis, len(x.shape), ARRAY), [concatenate([getitem(numbers, slice(*pair)) for pair in pairs], 0)])


def _deleted_of_few(x: Any, obj: Any, axis: int | None = None) -> Any:
    """Return an array laid out as what np.delete leaves of `x`, a stand-in of a few elements: of one place or a slice it makes a new one."""
    if axis is None:
        return np.ravel(x)
    places = np.asarray(0 if obj is slice else obj)
    if places.size == 1 and places.dtype.kind in "iu":
        return np.empty((2,) * x.ndim, x.dtype, "F" if x.flags.fnc else "C")
    return x[along(normalize_axis_index(axis, x.ndim), x.ndim, np.arange(x.shape[axis]))]


delete = composite(
    "delete(Tensor x, Any obj, int? axis=None) -> Tensor", _delete, numpy=lambda x, obj, axis: np.delete(x, plain_places(obj), axis), laid_out=_deleted_of_few
)

# -- split -----------------------------------------------------------------------------------------------------------------


def _array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    indices_or_sections = _number_of_parts(indices_or_sections)
    n = x.shape[normalize_axis_index(axis, len(x.shape))]
    if isinstance(indices_or_sections, INTEGERS) and type(n) is SymInt and indices_or_sections > 0:
        each, more = divmod(n, indices_or_sections)  # the first have one more
        cuts = [i * each + smaller(i, more) for i in range(indices_or_sections)] + [n]
    elif isinstance(indices_or_sections, INTEGERS):
        lengths = [len(part) for part in np.array_split(np.empty(n, bool), indices_or_sections)]
        cuts = [0, *np.cumsum(lengths).tolist()]
    else:
        cuts = [None, *indices_or_sections, None]
    return [getitem(x, along(axis, len(x.shape), slice(*pair))) for pair in pairwise(cuts)]


def _number_of_parts(given: Any) -> Any:
    """Return the number of a symbolic size, which decides how many results there are, and of a float, as NumPy does; else what is given."""
    return int(given) if isinstance(given, (SymInt, float, np.floating)) else given


def _split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    n = x.shape[normalize_axis_index(axis, len(x.shape))]
    if isinstance(indices_or_sections, (float, np.floating)):
        np.split(np.zeros(guesses((n,))), indices_or_sections)  # type: ignore[call-overload] # raises NumPy's own error
    indices_or_sections = _number_of_parts(indices_or_sections)
    if isinstance(indices_or_sections, INTEGERS) and not agree(n % indices_or_sections, 0):
        np.split(np.zeros(guesses((n,))), indices_or_sections)  # raises NumPy's own error
    if isinstance(indices_or_sections, INTEGERS) and type(n) is SymInt:
        indices_or_sections = [i * (n // indices_or_sections) for i in range(1, indices_or_sections)]
    return _array_split(x, indices_or_sections, axis)


def _with_axes(x: Any, least: int, function: Any) -> Any:
    """Return the array, which has axes enough for a function that splits it; else raise NumPy's error."""
    if len(x.shape) < least:
        function(np.zeros((1,) * len(x.shape)), 1)
    return x


array_split = composite("array_split(Tensor(a) x, Any indices_or_sections, int axis=0) -> Tensor(a)[]", _array_split)
split = composite("split(Tensor(a) x, Any indices_or_sections, int axis=0) -> Tensor(a)[]", _split)
vsplit = composite(
    "vsplit(Tensor(a) x, Any indices_or_sections) -> Tensor(a)[]",
    lambda x, indices_or_sections: _split(_with_axes(x, 2, np.vsplit), indices_or_sections, 0),
)
hsplit = composite(
    "hsplit(Tensor(a) x, Any indices_or_sections) -> Tensor(a)[]",
    lambda x, indices_or_sections: _split(_with_axes(x, 1, np.hsplit), indices_or_sections, int(len(x.shape) > 1)),
)
dsplit = composite(
    "dsplit(Tensor(a) x, Any indices_or_sections) -> Tensor(a)[]",
    lambda x, indices_or_sections: _split(_with_axes(x, 3, np.dsplit), indices_or_sections, 2),
)
unstack = composite(
    "unstack(Tensor(a) x, *, int axis=0) -> Tensor(a)[]",
    lambda x, axis=0: [
        getitem(x, along(axis, len(x.shape), i)) for i in range(x.shape[normalize_axis_index(axis, len(x.shape))])
    ],
)

# -- repeated --------------------------------------------------------------------------------------------------------------


def _tile(x: Any, reps: Any) -> Any:
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    ndim = max(len(reps), len(shape_of(x)))
    if shape_of(x) and all([not isinstance(n, SymInt) and n == 1 for n in reps]):  # NumPy copies it as it lies
        return reshape(ops.np.copy(x, "K"), (1,) * (ndim - len(shape_of(x))) + shape_of(x))
    reps = (1,) * (ndim - len(reps)) + reps
    shape = (1,) * (ndim - len(shape_of(x))) + shape_of(x)
    x = reshape(x, tuple([n for pair in shape for n in (1, pair)]))
    x = broadcast_to(x, tuple([n for pair in zip(reps, shape, strict=True) for n in pair]))
    return ops.np.copy(reshape(x, tuple([k * n for k, n in zip(reps, shape, strict=True)])), "C")


def _repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    if axis is None or (not x.shape and axis in (0, -1)):  # np.repeat lets axis 0 of a 0-d array pass
        x, axis = reshape(x, (-1,)), 0
    at = normalize_axis_index(axis, len(x.shape))
    n = x.shape[at]
    counts = np.asarray(0 if type(repeats) is SymInt else repeats)
    if counts.size != 1:
        counts = counts if counts.size else counts.astype(np.intp)  # no counts are a list without a dtype
        return getitem(x, along(at, len(x.shape), np.repeat(np.arange(n), counts)))
    if isinstance(repeats, np.ndarray) and counts.dtype.kind not in "biu":
        np.repeat(np.zeros(1), counts)  # raises NumPy's own error
    count = repeats if type(repeats) is SymInt else int(counts.reshape(()))
    if count < 0:
        np.repeat(np.zeros(min(guesses((n,))[0], 1)), int(count))  # raises NumPy's own error, where there is something to repeat
        count = 0
    wide = broadcast_to(expand_dims(x, at + 1), (*x.shape[: at + 1], count, *x.shape[at + 1 :]))
    return ops.np.copy(reshape(wide, (*x.shape[:at], n * count, *x.shape[at + 1 :])), "C")


def _sum_of_few(x: Any) -> Any:
    kind, n = x.dtype.kind, x.shape[-1]
    if kind != "f" or x.dtype.itemsize not in (4, 8) or not 1 < n < 8 or not x.flags.c_contiguous:
        return np.sum(x, -1)
    found = x[..., 0] + 0  # of fewer than eight NumPy adds one after the other to 0, but calls its loop for each sum: 13 ns
    for i in range(1, n):
        found += x[..., i]
    return found


# Sums along the last axis, which is short.
sum_of_few = composite("sum_of_few(Tensor x) -> Tensor", lambda x: ops.np.sum(x, -1), numpy=_sum_of_few)


def _repeat_pullback(g: Any, x_shape: Shape, repeats: Any, axis: int | None) -> Any:
    shape, axis = ((prod(x_shape),), 0) if axis is None or not x_shape else (x_shape, axis)
    at = normalize_axis_index(axis, len(shape))
    counts = np.asarray(0 if type(repeats) is SymInt else repeats)
    if counts.size != 1:
        places = np.repeat(np.arange(shape[at]), counts if counts.size else counts.astype(np.intp))
        found = scatter_add(g, along(at, len(shape), places), shape)
    else:
        count = repeats if type(repeats) is SymInt else int(counts.reshape(()))
        g = reshape(g, (*shape[: at + 1], count, *shape[at + 1 :]))
        short = at + 1 == len(shape) and type(g.size) is int and g.size > MANY
        found = sum_of_few(g) if short else ops.np.sum(g, at + 1)
    return found if shape is x_shape else reshape(found, x_shape)


def _tile_pullback(g: Any, x_shape: Shape, reps: Any) -> Any:
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    ndim = max(len(reps), len(x_shape))
    pairs = zip((1,) * (ndim - len(reps)) + reps, (1,) * (ndim - len(x_shape)) + tuple(x_shape), strict=True)
    found = ops.np.sum(reshape(g, tuple([n for pair in pairs for n in pair])), tuple(range(0, 2 * ndim, 2)))
    return reshape(found, x_shape)


tile = composite(
    "tile(Tensor x, int[1] reps) -> Tensor",
    _tile,
    numpy=undispatched(np.tile),
    autograd=pullbacks(x=_tile_pullback),
    jvp=linear("x"),
)
repeat = composite(
    "repeat(Tensor x, Any repeats, int? axis=None) -> Tensor",
    _repeat,
    numpy=undispatched(np.repeat),
    laid_out=lambda x, repeats, axis: np.repeat(x, 1, axis),  # the counts are those of more elements
    autograd=pullbacks(x=_repeat_pullback),
    jvp=linear("x"),
)

# -- turned ----------------------------------------------------------------------------------------------------------------


def _flip(x: Any, axis: Any = None) -> Any:
    ndim = len(x.shape)
    axes = range(ndim) if axis is None else normalize_axis_tuple(plain(axis), ndim)
    return getitem(x, tuple([BACKWARDS if i in axes else ALL for i in range(ndim)]))


def _roll(x: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return reshape(_roll(reshape(x, (-1,)), shift, 0), x.shape)
    if not np.size(shift) or not np.size(axis):
        return ops.np.copy(x)
    shifts, axes = [plain(i) if isinstance(plain(i), tuple) else (i,) for i in (shift, axis)]
    for by, at in zip(*np.broadcast_arrays(np.arange(len(shifts)), np.arange(len(axes))), strict=True):
        by, at = shifts[by], normalize_axis_index(axes[at], len(x.shape))
        cut = _opposite(by) % larger(x.shape[at], 1)
        x = concatenate([getitem(x, along(at, len(x.shape), s)) for s in (slice(cut, None), slice(cut))], at)
    return x


_NUMPY_ROLL = undispatched(np.roll)


def _rolled(x: Any, shift: Any, axis: Any = None) -> Any:
    """Return `np.roll`, which takes 5 us to find that a vector has one axis."""
    if type(x) is np.ndarray and x.ndim == 1 and type(shift) is int and (axis is None or axis == 0) and x.size:
        found, cut = np.empty_like(x), shift % x.size
        found[cut:], found[:cut] = x[: x.size - cut], x[x.size - cut :]
        return found
    return _NUMPY_ROLL(x, shift, axis)


def _opposite(shift: Any) -> Any:
    """Return the way back; a number of NumPy's may have no sign."""
    if isinstance(shift, (list, tuple)):
        return [_opposite(by) for by in shift]
    return -int(shift) if isinstance(shift, np.integer) else -shift


def _rot90(x: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    if len(axes) != 2 or len(set(normalize_axis_tuple(tuple(axes), len(x.shape), allow_duplicate=True))) != 2:
        np.rot90(np.zeros((1,) * len(x.shape)), k, axes)  # raises NumPy's own error
    first, second = axes
    if k % 4 == 2:
        return _flip(x, (first, second))
    if k % 4 == 1:
        return swapaxes(_flip(x, second), first, second)
    return _flip(swapaxes(x, first, second), second) if k % 4 else getitem(x, Ellipsis)


def _rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    ndim = len(x.shape)
    at = normalize_axis_index(axis, ndim)
    start = start + ndim if start < 0 else start
    if not 0 <= start <= ndim:
        np.rollaxis(np.zeros((1,) * ndim), axis, start)  # raises NumPy's own error
    return moveaxis(x, at, start - (at < start))


flip = composite("flip(Tensor(a) x, int[1]? axis=None) -> Tensor(a)", _flip)
fliplr = composite("fliplr(Tensor(a) x) -> Tensor(a)", lambda x: _flip(x, 1))
flipud = composite("flipud(Tensor(a) x) -> Tensor(a)", lambda x: _flip(x, 0))
roll: OpOverload = composite(
    "roll(Tensor x, int[1] shift, int[1]? axis=None) -> Tensor",
    _roll,
    numpy=_rolled,
    laid_out=True,
    autograd=pullbacks(x=lambda g, shift, axis: roll(g, _opposite(shift), axis)),
    jvp=linear("x"),
)
rollaxis = composite("rollaxis(Tensor(a) x, int axis, int start=0) -> Tensor(a)", _rollaxis)
rot90 = composite("rot90(Tensor(a) x, int k=1, int[2] axes=[0, 1]) -> Tensor(a)", _rot90)

# -- from one number to another ------------------------------------------------------------------------------------------


def ends_and_step(start: Any, stop: Any, steps: Any) -> tuple[Any, Any, Any]:
    """Return what `np.linspace` makes of its ends, a difference of whole numbers might wrap, and the step between two numbers."""
    inexact = np.result_type(*[x.dtype if hasattr(x, "dtype") else weak(x) for x in (start, stop)], 1.0)
    start, stop = [(x if x.dtype == inexact else astype(x, inexact)) if hasattr(x, "dtype") else inexact.type(x) for x in (start, stop)]
    return start, stop, divide(subtract(stop, start), larger(steps, 1))


def _linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    start, stop, step = ends_and_step(start, stop, num - 1 if endpoint else num)
    shape = broadcast_shape((shape_of(start), shape_of(stop)))
    numbers = expand_dims(ops.np.arange(0, num, 1, step.dtype), tuple(range(1, 1 + len(shape))))
    found = add(multiply(numbers, step), start)
    if endpoint and num > 1:  # the last one exactly
        found = concatenate([getitem(found, slice(-1)), ops.np.full_like(getitem(found, slice(1)), stop)], 0)
    found = moveaxis(found, 0, axis)
    if dtype is None:
        return found
    return astype(ops.np.floor(found) if np.dtype(dtype).kind in "iu" else found, dtype)


def _share(num: Any, endpoint: bool, ndim: int, *, of_stop: bool) -> Any:
    """Return what of each number is the start's, or the stop's: along the first of so many axes."""
    far = divide(ops.np.arange(0, num, 1, np.float64), larger(num - 1 if endpoint else num, 1))
    return expand_dims(far if of_stop else subtract(1.0, far), tuple(range(1, ndim)))


def _pulled_to(g: Any, num: Any, endpoint: bool, axis: int, *, of_stop: bool) -> Any:
    return ops.np.sum(multiply(moveaxis(g, axis, 0), _share(num, endpoint, len(g.shape), of_stop=of_stop)), 0)


def _pushed_from(t: Any, start: Any, stop: Any, num: Any, endpoint: bool, axis: int, *, of_stop: bool) -> Any:
    ndim = 1 + max(len(shape_of(start)), len(shape_of(stop)))
    t = expand_dims(t, tuple(range(ndim - len(t.shape))))
    return moveaxis(multiply(t, _share(num, endpoint, ndim, of_stop=of_stop)), 0, axis)


linspace = composite(
    "linspace(Tensor start, Tensor stop, int num=50, bool endpoint=True, ScalarType? dtype=None, int axis=0) -> Tensor",
    _linspace,
    numpy=lambda start, stop, num, endpoint, dtype, axis: np.linspace(start, stop, num, endpoint, False, dtype, axis),
    laid_out=True,
    autograd=pullbacks(
        start=lambda g, num, endpoint, axis: _pulled_to(g, num, endpoint, axis, of_stop=False),
        stop=lambda g, num, endpoint, axis: _pulled_to(g, num, endpoint, axis, of_stop=True),
    ),
    jvp=pushforwards(
        start=lambda t, start, stop, num, endpoint, axis: _pushed_from(t, start, stop, num, endpoint, axis, of_stop=False),
        stop=lambda t, start, stop, num, endpoint, axis: _pushed_from(t, start, stop, num, endpoint, axis, of_stop=True),
    ),
)
