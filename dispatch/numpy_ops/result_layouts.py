"""Computes shapes, dtypes and strides of results by running NumPy on small stand-ins.

NumPy chooses the layout of a result by undocumented rules. They depend on the order of the strides and on which axes have length 0
or 1, never on the other lengths, so a stand-in of a few elements has the same layout as the real array:

    seen       one element under the real shape and strides     for kernels that return a view and read nothing
    small      lengths of at most 2, strides in the same order   for advanced indices
    stand_in   one byte, lengths of at most 2, real strides     for nditer, which tells its iteration order
    hollow   elements of no size under the real shape           for NumPy's own shape errors

Every result is cached by the layouts that it depends on. The file has more than 350 lines, because all stand-ins and what reads them are here.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple
from numpy.lib.stride_tricks import as_strided

from ..core.pytree import arrays
from ..errors import DataDependentSizeError
from ..layers.fake import FakeTensor, fake_tensor
from ..symbolic import SymInt, broadcast, contiguous, guesses, has_zero, is_open, layout_is_open, same
from . import symbolic_layouts
from .symbolic_layouts import Seen, dense

Kernel = Callable[..., Any]
Shape = tuple[int, ...]
Order = tuple[int, ...]  # the axes, the one with the smallest stride first

REMEMBERED = 4096
INTEGERS = (int, np.integer)  # what an axis, a size or a shift may be


class Layout(NamedTuple):
    """What a result's layout depends on."""

    shape: Shape
    strides: Shape
    dtype: np.dtype[Any]


def layout_of(x: Any) -> Any:
    """Return the layout of a fake or an array, of each in a list; return any other value as it is."""
    if isinstance(x, (FakeTensor, np.ndarray, np.generic)):
        return Layout(x.shape, x.strides, x.dtype)
    return tuple([layout_of(item) for item in x]) if isinstance(x, (list, tuple)) else x


def seen(layout: Layout) -> Any:
    """Return an array of one element with the real shape and strides. Its elements must not be read."""
    return as_strided(np.zeros((), layout.dtype), layout.shape, layout.strides, writeable=False)


def hollow(shape: Shape) -> Any:
    """Return an array of this shape without data, which NumPy can reshape or raise an error about."""
    return np.empty(shape, "V0")


def small(layout: Any) -> Any:
    """Return zeros, at most 2 along each axis, with strides in the order of the real ones; lists item by item.

    A tuple without arrays stays one, for NumPy takes no list of axes. They are contiguous where the real ones are: np.pad and np.delete ask for that, and not for the order.
    """
    if not isinstance(layout, Layout):
        return [small(item) for item in layout] if isinstance(layout, tuple) and _has_layouts(layout) else layout
    itemsize = layout.dtype.itemsize or 1
    long = {abs(stride) for n, stride in zip(layout.shape, layout.strides, strict=True) if n > 1} - {0}
    first = itemsize if seen(layout).flags.forc else 2 * itemsize  # a gap behind each element
    # Powers of 2, so that what is contiguous stays contiguous.
    steps = {stride: first << k for k, stride in enumerate(sorted(long))}
    lengths = tuple(min(n, 2) for n in layout.shape)
    strides = tuple(steps.get(abs(stride), 0) if n > 1 else 0 for n, stride in zip(layout.shape, layout.strides, strict=True))
    reach = 1 + sum(stride // itemsize for stride in strides)
    return as_strided(np.zeros(reach, layout.dtype), lengths, strides)


def _has_layouts(x: Any) -> bool:
    return isinstance(x, Layout) or (isinstance(x, tuple) and any(map(_has_layouts, x)))


@lru_cache(REMEMBERED)
def viewed(kernel: Kernel, cls: type, layout: Layout, *args: Any) -> Seen:
    """Return the layout of a view, and whether it is one: a number, or `imag` of a real array, is not; `cls` is of the dtype."""
    found = kernel(seen(layout), *args)
    return Seen(found.shape, found.strides, found.dtype, isinstance(found, np.ndarray) and found.base is not None)


class ByAxis(dict[int, Any]):
    """What `np.pad` takes for some axes, as what can be hashed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


def orders_by(kernel: Kernel, args: tuple[Any, ...], keywords: tuple[tuple[str, Any], ...]) -> list[Order]:
    """Return the order of the axes of each result that a kernel gives for such layouts, from a run on arrays of a few elements."""
    return [order for order, _ in _results_by(kernel, *[_guessed(x) for x in (args, keywords)])]


def dtypes_by(kernel: Kernel, args: tuple[Any, ...], keywords: tuple[tuple[str, Any], ...]) -> list[np.dtype[Any]]:
    """Return the dtype of each result, from the same run."""
    return [dtype for _, dtype in _results_by(kernel, *[_guessed(x) for x in (args, keywords)])]


@lru_cache(REMEMBERED)
def _results_by(kernel: Kernel, args: tuple[Any, ...], keywords: tuple[tuple[str, Any], ...]) -> list[tuple[Order, np.dtype[Any]]]:
    made = map(np.asarray, arrays(kernel(*[small(x) for x in args], **dict(keywords))))
    return [(order_of(x), x.dtype) for x in made]


def _guessed(x: Any) -> Any:
    """Return a layout, a number or a container of such, which can be hashed, with the values of this run for symbolic sizes.

    Of a slice it tells that it is one: the class.
    """
    if isinstance(x, slice):
        return slice
    if isinstance(x, dict):
        return ByAxis(x)
    if isinstance(x, Layout):
        return Layout(guesses(x.shape), guesses(x.strides), x.dtype)
    return tuple([_guessed(item) for item in x]) if isinstance(x, (list, tuple)) else weak(x)


def order_of(x: Any) -> Order:
    """Return the axes of an array, the one with the smallest stride first."""
    return order_of_strides(x.strides)


def order_of_strides(strides: Shape) -> Order:
    """Return the axes, the one with the smallest stride first, and of equal ones the last first."""
    return tuple(sorted(range(len(strides)), key=lambda axis: (strides[axis], -axis)))


# -- elementwise -----------------------------------------------------------------------------------------------------------


@lru_cache(REMEMBERED, typed=True)  # for `long` and `long long` are equal
def ufunc_dtype(ufunc: np.ufunc, *kinds: Any) -> np.dtype[Any]:
    """Return the dtype of a ufunc's result; a Python number is given by its type, as in NEP 50."""
    return ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))[-1]


def broadcast_shape(shapes: tuple[Shape, ...]) -> Shape:
    """Return the shape that arrays of these shapes broadcast to."""
    if not any(map(is_open, shapes)):
        return _broadcast_shape(shapes)
    found = broadcast(shapes)
    if found is not None:
        return found
    check_broadcast_is_known(shapes)
    return _broadcast_shape(tuple(map(guesses, shapes)))  # raises in NumPy's words


def check_broadcast_is_known(shapes: tuple[Shape, ...]) -> None:
    """Raise where shapes that do not broadcast, as far as is known, have a size that depends on data: it may be 1."""
    if all([getattr(n, "hint", n) is not None for shape in shapes for n in shape]):
        return
    written = " and ".join([str(shape) for shape in shapes])
    raise DataDependentSizeError(
        f"shapes {written} broadcast where one of the sizes is 1, and that depends on data. Promise what is so before that line, "
        "dispatch.check(n == 1), of the size n that is; or give operands whose sizes are known to agree."
    )


@lru_cache(REMEMBERED)
def _broadcast_shape(shapes: tuple[Shape, ...]) -> Shape:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        operands: Any = [np.broadcast_to(np.uint8(0), shape) for shape in shapes]
        np.nditer(operands)  # raises in the words of NumPy's ufuncs
        raise


def stand_in(shape: Shape, strides: Shape) -> Any:
    """Return a one-byte array for nditer, at most 2 along each axis, with the real strides."""
    return as_strided(np.zeros((), np.uint8), tuple([min(n, 2) for n in shape]), strides)


@lru_cache(REMEMBERED)
def elementwise_order(layouts: tuple[tuple[Shape, Shape], ...]) -> Order:
    """Return the order of an elementwise result's axes, from nditer, which computes nothing."""
    operands = [stand_in(*layout) for layout in layouts]
    flags = [["readonly"]] * len(operands) + [["writeonly", "allocate"]]
    walk: Any = np.nditer  # whose stubs know of one operand only
    made = walk([*operands, None], ["zerosize_ok"], flags, op_dtypes=[None] * len(operands) + ["u1"]).operands[-1]
    return order_of(made)


@lru_cache(REMEMBERED)
def reduced_order(shape: Shape, strides: Shape, axes: Shape) -> Order:
    """Return the order of the axes that a reduction keeps, from nditer."""
    left = iter(range(len(shape)))
    places = [-1 if i in axes else next(left) for i in range(len(shape))]
    walk: Any = np.nditer
    made = walk(
        [stand_in(shape, strides), None],
        ["reduce_ok", "zerosize_ok"],
        [["readonly"], ["readwrite", "allocate"]],
        op_axes=[[*range(len(shape))], places],
        op_dtypes=["u1", "u1"],
    ).operands[-1]
    return order_of(made)


@lru_cache(REMEMBERED)
def joined_order(layouts: tuple[tuple[Shape, Shape], ...]) -> Order:
    """Return the order of the axes of several arrays together: an insertion sort by strides.

    An axis goes before another where some array has larger strides for it and none contradicts. Ties keep C order.
    """
    axes: list[int] = []
    for axis in range(len(layouts[0][0])):
        place = len(axes)
        for i in range(len(axes) - 1, -1, -1):
            said = [
                abs(strides[axis]) > abs(strides[axes[i]])
                for shape, strides in layouts
                if shape[axis] != 1 and shape[axes[i]] != 1
            ]
            if said and not all(said):
                break
            if said:
                place = i
        axes.insert(place, axis)
    return tuple(reversed(axes))


def fake_reduced(x: FakeTensor, dtype: np.dtype[Any], axes: Shape, keepdims: Any) -> FakeTensor:
    """Return the fake result of a reduction over these axes."""
    rest = tuple([n for i, n in enumerate(x.shape) if i not in axes])
    order = reduced_order(guesses(x.shape), guesses(x.strides), axes) if len(rest) > 1 else ()
    strides = dense(rest, dtype.itemsize, order) if order else None
    if keepdims:
        found = iter(contiguous(rest, dtype.itemsize) if strides is None else strides)
        strides = tuple([dtype.itemsize if i in axes else next(found) for i in range(len(x.shape))])
        rest = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
    return fake_tensor(rest, dtype, strides, x.device, x.mode)


def elementwise(dtype: np.dtype[Any], fakes: Sequence[FakeTensor]) -> FakeTensor:
    """Return the result of an elementwise operation on these operands, of the dtype given."""
    first = fakes[0]
    shape, strides = first.shape, first.strides
    for x in fakes:
        if not same(x.shape, shape) or not same(x.strides, strides):
            break
    else:  # the usual case: operands that are laid out alike, in C order
        if same(strides, contiguous(shape, first.dtype.itemsize)):
            return fake_tensor(shape, dtype, None, first.device, first.mode)
    shape = first.shape if len(fakes) == 1 else broadcast_shape(tuple([x.shape for x in fakes]))
    strides = contiguous(shape, dtype.itemsize)
    if not has_zero(shape) and not all(same(x.strides, contiguous(x.shape, x.dtype.itemsize)) for x in fakes):
        order = elementwise_order(tuple([(guesses(x.shape), guesses(x.strides)) for x in fakes]))
        strides = dense(shape, dtype.itemsize, order)
    return fake_tensor(shape, dtype, strides, first.device, first.mode)


@lru_cache(REMEMBERED)
def like_order(layout: Layout, shape: Shape) -> Order:
    """Return the order of the axes of an array made like another: a copy, or an `empty_like` of another shape."""
    flags = seen(layout).flags
    if flags.c_contiguous or len(shape) != len(layout.shape):
        return tuple(range(len(shape)))[::-1]
    if flags.f_contiguous:
        return tuple(range(len(shape)))
    few = as_strided(np.zeros((), np.uint8), tuple([min(n, 2) for n in layout.shape]), layout.strides)
    return order_of(np.empty_like(few, shape=tuple([min(n, 2) for n in shape])))


def fake_like(x: FakeTensor, dtype: np.dtype[Any], shape: Shape | None = None) -> FakeTensor:
    """Return the fake of an array made like another, with another dtype and perhaps another shape."""
    shape = x.shape if shape is None else shape
    if same(shape, x.shape) and same(x.strides, contiguous(shape, x.dtype.itemsize)):
        return fake_tensor(shape, dtype, None, x.device, x.mode)
    order = like_order(Layout(guesses(x.shape), guesses(x.strides), x.dtype), guesses(shape))
    strides = dense(shape, dtype.itemsize, order)
    return fake_tensor(shape, dtype, strides, x.device, x.mode)


# -- axes and shapes -------------------------------------------------------------------------------------------------------


def plain(x: Any) -> Any:
    """Return a list or range of numbers as a tuple, which NumPy's reductions take and which can be hashed."""
    return tuple(x) if isinstance(x, (list, range)) else x


def as_shape(shape: Any) -> Shape:
    """Return a shape as a tuple; a single number is one too."""
    return tuple(shape) if isinstance(shape, (tuple, list, range)) else (shape,)


@lru_cache(REMEMBERED)
def axes_of(axis: Any, ndim: int) -> Shape:
    """Return the axes of a reduction, counted from the front. A missing axis raises NumPy's AxisError."""
    if axis is None:
        return tuple(range(ndim))
    if ndim == 0 and axis in (0, -1):
        return ()  # NumPy lets a 0-d array be reduced along axis 0
    axes = normalize_axis_tuple(axis, ndim, allow_duplicate=True)
    if len(set(axes)) < len(axes):
        np.add.reduce(np.empty((0,) * ndim), axis)  # raises NumPy's own error
    return tuple(sorted(axes))


def reducing_dtype(ufunc: np.ufunc, x: np.dtype[Any], dtype: Any, out: Any = None) -> np.dtype[Any]:
    """Return the dtype in which a method of a ufunc computes; NumPy's own error where there is none."""
    options: dict[str, Any] = {} if dtype is None else {"signature": (np.dtype(dtype), None, None)}
    try:
        found: np.dtype[Any] = ufunc.resolve_dtypes((out, x, None), casting="unsafe", reduction=True, **options)[0]
    except TypeError:
        ufunc.reduce(np.ones(1, x), dtype=dtype)
        raise
    return found


def axes_of_ufunc(axis: Any, ndim: int) -> Shape:
    """Return the axes of a ufunc's reduction, which takes no list of them."""
    if isinstance(axis, (list, range)):
        np.add.reduce(np.empty((0,) * ndim), axis)  # raises NumPy's own error
    return axes_of(axis, ndim)


def check_axis(axis: Any, ndim: int) -> None:
    """Raise NumPy's AxisError for an axis of a 0-d array, which a sum lets pass and a mean does not."""
    if axis is not None and not ndim:
        normalize_axis_tuple(axis, 0)


def reduced(shape: Shape, axis: Any, keepdims: Any) -> Shape:
    """Return the shape without the axes, or with 1 in their place."""
    axes = axes_of(axis, len(shape))
    return tuple([1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes])


def with_axes(shape: Shape, axis: Any) -> Shape:
    """Return the shape with new axes of length 1, at these places of the result."""
    new = as_shape(axis)
    axes = normalize_axis_tuple(new, len(shape) + len(new))
    rest = iter(shape)
    return tuple([1 if i in axes else next(rest) for i in range(len(shape) + len(axes))])


def filled(shape: Shape, wanted: Any) -> Shape:
    """Return the shape of `reshape(wanted)`, with -1 computed. A shape that does not fit raises NumPy's own error."""
    if is_open(shape) or is_open(as_shape(wanted)):
        return symbolic_layouts.filled(shape, wanted)
    return _filled(shape, wanted)


@lru_cache(REMEMBERED)
def _filled(shape: Shape, wanted: Any) -> Shape:
    new: Shape = hollow(shape).reshape(wanted).shape
    return new


def reshaped(layout: Layout, shape: Shape) -> Shape | None:
    """Return the strides of a view of another shape; None where there is none, and a reshape copies."""
    return symbolic_layouts.reshaped(layout, shape) if layout_is_open(layout) or is_open(shape) else _reshaped(layout, shape)


@lru_cache(REMEMBERED)
def _reshaped(layout: Layout, shape: Shape) -> Shape | None:
    whole = as_strided(hollow(()), layout.shape, layout.strides)
    found = whole.reshape(shape)
    return found.strides if found.ctypes.data == whole.ctypes.data else None


def weak(x: Any) -> Any:
    """Return a value as NumPy's promotion sees it: a symbolic size is an int."""
    return x.guess if type(x) is SymInt else x
