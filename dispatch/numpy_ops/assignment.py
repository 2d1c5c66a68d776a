"""NumPy's ways to write to a value, all done by the row `setitem_`: `y[i] = v`, `y += v`, `out=y`, `np.add.at`, `np.copyto`.

The new values are computed by a row first, so they have gradients, shape rules and batches like any other value.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..core import Tensor, note_request
from ..dispatcher.conversion_advice import library_advice
from ..errors import ArgumentError, UnsupportedError
from ..operators.prims import astype, clone
from ..operators.views import ARRAY, base_of, is_number, overlap
from . import cumulative, indexing, pointwise, shape
from .index_parsing import AS_IT_STANDS, as_array
from .item_assignment import setitem_
from .row_arguments import as_index, as_item, as_mask, as_value

Function = Callable[..., Any]


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`. Arrays in the index are passed to the operator as arrays, so that the layers see them.

    NumPy's numbers take no items, but the array API's results without axes do, and SciPy writes to them. Values of the layers that
    set `number_takes_items` do too; what stands in a graph for NumPy's number does not, or a graph would run where NumPy raises.
    """
    if not x.shape and not hasattr(type(x), "number_takes_items") and is_number(x):
        np.zeros((), x.dtype)[()][index] = value  # raises NumPy's own error
    setitem_(x, *parted(index, read_as(value, x.dtype) if isinstance(value, (list, tuple)) else value))


def read_as(value: Any, dtype: Any) -> Any:
    """Return what is written: a list, or a number of Python's, is read as of the array's dtype, which it has to fit; an array is cast."""
    found = value if isinstance(value, (Tensor, np.ndarray, np.generic)) else as_value(value)
    if isinstance(found, Tensor) and found is not value and found.dtype != dtype:  # a list with values of a layer in it
        np.asarray(np.zeros(1, found.dtype).tolist(), dtype)  # raises NumPy's own error for complex numbers
        return astype(found, dtype)
    return found if (found is value and hasattr(value, "dtype")) or isinstance(found, Tensor) else np.asarray(value, dtype)


def parted(index: Any, value: Any = None) -> tuple[Any, Any, list[Any]]:
    """Return the arguments of `setitem_` after the first, with arrays listed apart and lists made arrays."""
    index = as_index(index)
    items = index if isinstance(index, tuple) else (index,)
    arrays = [i for i in items if isinstance(i, (np.ndarray, Tensor))]
    if arrays or not all([isinstance(i, AS_IT_STANDS) for i in items]):
        index = tuple([ARRAY if isinstance(i, (np.ndarray, Tensor)) else as_array(i) for i in items])
    return index, value, arrays


# -- results into an array that is given -----------------------------------------------------------------------------------


def write_result(out: Any, value: Any, again: Function, casting: Any = "same_kind") -> Any:
    """Write a result into `out` by NumPy's casting rules; `again(value, out)` on arrays without data raises NumPy's error."""
    given = value if hasattr(value, "dtype") else np.asarray(value)
    if isinstance(value, np.generic) and given.dtype != out.dtype:
        value = np.asarray(value)  # is cast, and no number that has to fit
    if type(value) in (bool, int, float, complex):  # whose dtype is what it is written to, where NumPy lets it be
        held = np.empty((), out.dtype)
        np.copyto(held, value, casting)
        value = held[()] if casting == "unsafe" else value  # a complex number as a float, say, which no assignment makes of it
    elif not (fits(given.shape, out.shape) and (given.dtype is out.dtype or np.can_cast(given.dtype, out.dtype, casting))):
        again(hollow(given), np.empty(out.shape, out.dtype))
    if isinstance(out, Tensor):
        check_memory("out=", out)
        setitem_(out, Ellipsis, value)
    else:
        out[...] = value
    return out


def fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether broadcasting makes one shape of the other."""
    return shape == target or (
        len(shape) <= len(target) and all(n in (1, m) for n, m in zip(shape[::-1], target[::-1], strict=False))
    )


def hollow(x: Any) -> Any:
    """Return an array of the shape and dtype of `x` with one element in memory; return any other value as it is."""
    return np.broadcast_to(np.ones((), x.dtype), x.shape) if hasattr(x, "dtype") else x


def augmented(op: Function, ufunc: Any) -> Function:
    """Return the method for `x += other`. NumPy's scalars have none, and so where x is a number Python runs `x = x + other`."""

    def augment(self: Tensor, other: Any) -> Any:
        if not self.shape and is_number(self):
            return NotImplemented
        other = as_value(other)
        if ufunc is np.matmul:
            check_matmul_in_place(np.ndim(other))
        value = value_for(self, ufunc, op, (self, other))
        return value if value is NotImplemented else write_result(self, value, partial(as_ufunc, ufunc, (self, other)))

    return augment


# Ufuncs that round each result rightly, or not at all, and so give the same bits in each loop.
EXACT = {
    np.add, np.subtract, np.multiply, np.divide, np.sqrt, np.square, np.reciprocal, np.negative, np.positive, np.conjugate, np.maximum,
    np.minimum, np.fmax, np.fmin, np.floor, np.ceil, np.trunc, np.rint, np.sign, np.copysign, np.fabs, np.floor_divide, np.remainder, np.fmod,
}  # fmt: skip


def value_for(out: Any, ufunc: np.ufunc, op: Function, inputs: tuple[Any, ...]) -> Any:
    """Return `ufunc(*inputs)` with the bits that NumPy writes into `out`, by whose strides it chooses between loops that round otherwise.

    A result by columns is BLAS's product of the transposes. A result along a negative stride comes of the loop for such strides (that of
    `np.exp` is C's own, the other of the processor's vectors), and so do operands that are turned round, whose result is turned back.
    """
    strides: tuple[Any, ...] = getattr(out, "strides", None) or ()
    if not strides or out.dtype.kind not in "fc":
        return op(*inputs)
    if ufunc is np.matmul:
        x, y = inputs
        if min(np.ndim(x), np.ndim(y), len(strides)) < 2 or abs(strides[-2]) >= abs(strides[-1]):
            return op(x, y)
        return shape.swapaxes(op(shape.swapaxes(y, -1, -2), shape.swapaxes(x, -1, -2)), -1, -2)
    if ufunc in EXACT or ufunc.signature or ufunc.nout > 1:
        return op(*inputs)
    turned = [k for k, (n, stride) in enumerate(zip(out.shape[::-1], strides[::-1], strict=True), 1) if stride < 0 and n > 1]
    if not turned:
        return op(*inputs)
    value = op(*[_turned(x, turned) for x in inputs])
    return value if value is NotImplemented else _turned(value, turned)


def _turned(x: Any, axes: list[int]) -> Any:
    """Turn round axes that are counted from the last, 1; a broadcast operand has not all of them."""
    ndim = np.ndim(x)
    return x[tuple([slice(None, None, -1 if ndim - k in axes else None) for k in range(ndim)])] if ndim else x


def check_matmul_in_place(ndim: int) -> None:
    """Raise NumPy's error for `x @= other` where the other operand has fewer than two axes."""
    if ndim < 2:
        x = np.ones((1, 1))
        x @= np.ones((1,) * ndim)


def as_ufunc(ufunc: np.ufunc, inputs: tuple[Any, ...], value: Any, out: Any) -> None:
    """Run a ufunc on arrays without data, for its error."""
    ufunc(*map(hollow, inputs), out=out)


def result_into(spelling: str, value: Any, out: Any) -> Any:
    """Run `np.sum(x, out=out)`: write the result of a function that is no ufunc into an array of the same shape."""
    if isinstance(value, Tensor):
        check_target(f"{spelling}: out=", out)
    if value.shape != out.shape:
        raise ArgumentError(f"{spelling}: out= has shape {out.shape}, and the result {value.shape}. Give one of that shape.")
    if value.dtype != out.dtype:  # in which NumPy computes, or casts, or raises, each function in its own way
        raise UnsupportedError(f"{spelling}: out= has dtype {out.dtype}, and the result {value.dtype}. Give one of that dtype.")
    return write_result(out, value, lambda value, out: np.copyto(out, value))


def given_by_method(x: Any, written: Any) -> Any:
    """Return what a function with `out=` gives that calls the method of x: of a number NumPy's gives a number, not the array it wrote to."""
    return indexing.as_number(written) if isinstance(x, (Tensor, np.generic)) and not x.shape and is_number(x) else written


# -- functions that write ------------------------------------------------------------------------------------------------------


def fill(self: Tensor, value: Any) -> None:
    """`x.fill(value)`."""
    if np.shape(value):
        np.zeros(1).fill(np.zeros(np.shape(value)))  # raises NumPy's own error
    setitem_(_memory(self), Ellipsis, value)


def _memory(x: Any) -> Any:
    """Return what a method writes to: of a number NumPy makes an array first, and so the number stays what it is."""
    return clone(x) if is_number(x) else x


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """`np.copyto`."""
    check_target("np.copyto", dst)
    src = as_value(src)
    mask = as_mask(where)
    if mask.dtype != bool:
        ones = (1,) * len(mask.shape)
        np.copyto(np.zeros(ones), 0, where=np.zeros(ones, mask.dtype))  # raises NumPy's own error
    if where is not True and getattr(src, "dtype", None) != dst.dtype:  # else the two would meet in a third dtype
        held = np.zeros((), dst.dtype)
        np.copyto(held, np.zeros((), src.dtype) if hasattr(src, "dtype") else src, casting)  # raises NumPy's own error
        src = astype(src, dst.dtype) if hasattr(src, "dtype") else held
    value = src if where is True else indexing.where(mask, src, dst)
    write_result(dst, value, lambda value, out: np.copyto(out, value, casting=casting), casting)


def check_target(spelling: str, x: Any) -> None:
    """Raise for a tracked value that would be written to a plain array."""
    if not isinstance(x, Tensor):
        note_request()  # as `x[i] = value` does, for which NumPy asks the value for its array
        instead = library_advice("Make the array of a tracked one: np.zeros_like(x, shape=...).")  # in np.full_like another function
        raise UnsupportedError(f"{spelling} would write to an array of shape {np.shape(x)}, which cannot hold what a Tensor tracks. {instead}")
    check_memory(spelling, x)


def check_memory(spelling: str, x: Tensor) -> None:
    """Raise for a number, which NumPy has as a scalar that nobody can write to."""
    if not x.shape and is_number(x):
        raise TypeError(f"{spelling} would write to a number of dtype {x.dtype}, which is no array. Write to np.array(x).")


def check_apart(x: Any, y: Any, asked: str, instead: str) -> None:
    """Raise where y shares memory with x, for a write that NumPy does one element after the other."""
    if len(getattr(y, "shape", ())) and (overlap(x, y) or _of_one_family(x, y)):
        raise UnsupportedError(
            f"{asked}, where y shares memory with x: NumPy reads of y what it has just written to x, one element after the other. "
            f"Write {instead} for the values that y has before."
        )


def _of_one_family(x: Any, y: Any) -> bool:
    """Whether two values are views of one, also where they have no data."""
    while isinstance(x, Tensor) and isinstance(y, Tensor):
        if base_of(x) is base_of(y):
            return True
        x, y = x.value, y.value
    return False


def _flat(value: Any) -> Any:
    """Return the values to write as a flat array."""
    return shape.reshape(value, (-1,)) if isinstance(value, Tensor) else np.ravel(value)


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Run `np.put`: the index counts elements in C order; too few values are repeated."""
    a = _memory(a)
    check_target("np.put", a)
    ind = np.ravel(as_array(ind))
    value = _flat(read_as(v, a.dtype))
    if 0 < value.shape[0] != len(ind):
        value = indexing.getitem(value, (np.arange(len(ind)) % value.shape[0],))
    flat = np.take(np.arange(a.size), ind, mode=mode)  # raises NumPy's own error
    if not value.shape[0]:
        return  # as NumPy: of no values none is put
    if a.shape:
        setitem_(a, np.unravel_index(flat, a.shape), value)
    elif len(flat):
        setitem_(a, Ellipsis, indexing.getitem(value, -1))


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Run `np.place`: the values go to the elements where the mask holds, one after the other; too few are repeated."""
    check_target("np.place", arr)
    if getattr(vals, "dtype", None) == arr.dtype:  # else NumPy casts them, to memory of their own
        check_apart(arr, vals, "np.place(x, mask, y)", "np.place(x, mask, y.copy())")
    mask, values = _over(np.place, arr, mask, vals)
    n = values.shape[0]
    if not n:
        if bool(np.any(mask)):
            np.place(np.zeros(1), np.ones(1, bool), [])  # raises NumPy's own error
        return
    met = pointwise.subtract(cumulative.cumsum(mask), 1)
    _fill_where(arr, mask, indexing.getitem(values, (ARRAY,), [pointwise.remainder(met, n)]) if n > 1 else values)


def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Run `np.putmask`: an element gets the value that stands in its place; too few are repeated."""
    check_target("np.putmask", a)
    mask, values = _over(np.putmask, a, mask, values)
    n = values.shape[0]
    if n:
        _fill_where(a, mask, values if n in (1, a.size) else indexing.getitem(values, (np.arange(a.size) % n,)))


def _over(function: Function, a: Any, mask: Any, values: Any) -> tuple[Any, Any]:
    """Return a mask and values as flat arrays, the values of the dtype of the array; NumPy's error where they do not fit it."""
    mask = _flat(as_mask(mask))
    if isinstance(values, (Tensor, np.generic)) and is_number(values):  # which NumPy casts, whatever it is
        values = astype(values, a.dtype) if isinstance(values, Tensor) else np.asarray(values).astype(a.dtype)
    values = read_as(values, a.dtype)
    function(np.empty(1, a.dtype), np.zeros(1 if mask.shape[0] == a.size else 2, bool), np.zeros(1, values.dtype))
    mask, values = [x if x.dtype == dtype else astype(x, dtype) for x, dtype in ((mask, np.dtype(bool)), (_flat(values), a.dtype))]
    return mask, values


def _fill_where(a: Any, mask: Any, values: Any) -> None:
    """Write flat values to an array where a flat mask holds."""
    found = indexing.where(mask, values, shape.reshape(a, (-1,)))
    setitem_(_memory(a), Ellipsis, shape.reshape(found, a.shape))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    """`np.put_along_axis`."""
    check_target("np.put_along_axis", arr)
    if len(indices.shape) != (1 if axis is None else len(arr.shape)) or indices.dtype.kind not in "iu":
        places = np.zeros((1,) * len(indices.shape), indices.dtype)
        np.put_along_axis(np.zeros((1,) * len(arr.shape)), places, 0, axis)  # raises NumPy's own error
    if axis is None:
        flat = as_item(indices)
        apart = [pointwise.floor_divide(flat, prod(arr.shape[i + 1 :])) for i in range(len(arr.shape))]
        apart = [pointwise.remainder(place, n) if i else place for i, (place, n) in enumerate(zip(apart, arr.shape, strict=True))]
        setitem_(arr, (ARRAY,) * len(arr.shape), read_as(values, arr.dtype), apart)
        return
    axis = normalize_axis_index(axis, len(arr.shape))
    grid = [np.arange(n).reshape([-1 if k == i else 1 for k in range(len(arr.shape))]) for i, n in enumerate(arr.shape)]
    index = tuple([ARRAY if i == axis else grid[i] for i in range(len(grid))])
    setitem_(arr, index, read_as(values, arr.dtype), [as_item(indices)])


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """`np.fill_diagonal`."""
    check_target("np.fill_diagonal", a)
    if len(a.shape) < 2 or (len(a.shape) > 2 and len(set(a.shape)) > 1):
        np.fill_diagonal(np.empty(a.shape, "V0"), 0)  # raises NumPy's own error
    if wrap and len(a.shape) == 2:  # of a tall matrix the diagonal goes on, a row below its end
        places = np.unravel_index(np.arange(0, a.size, a.shape[1] + 1), a.shape)
    else:
        places = (np.arange(min(a.shape)),) * len(a.shape)
    value = _flat(read_as(val, a.dtype))
    if not value.shape[0]:
        return  # as NumPy: of no values none is written
    if value.shape[0] not in (1, len(places[0])):
        value = indexing.getitem(value, (np.arange(len(places[0])) % max(1, value.shape[0]),))
    setitem_(a, places, value)


WRITES: dict[Any, Function] = {
    np.copyto: copyto, np.put: put, np.put_along_axis: put_along_axis, np.fill_diagonal: fill_diagonal,
    np.place: place, np.putmask: putmask,
}  # fmt: skip
