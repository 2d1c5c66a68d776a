"""NumPy's flags that a row lacks, done by further rows: `order=`, `copy=`, `dtype=`, `casting=`, `where=`, `initial=` and others.

A flag is honoured or refused by name. One that a row lacks, and nothing here knows, may have NumPy's own default only. The file has
more than 350 lines, because each function of NumPy's with such flags has a short one here.
"""

from collections.abc import Callable
from inspect import Parameter, signature
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..core import DispatchKey, OpOverload, Tensor
from ..core.wrong_calls import named_dtype
from ..errors import ArgumentError, UnsupportedError, did_you_mean, kind_of
from ..operators import prims
from ..operators.registry import ops
from ..operators.views import is_number
from ..symbolic import guesses, larger
from . import (
    cumulative,
    data_dependent,
    indexing,
    nan_reductions,
    pointwise,
    pointwise_more,
    reduction,
    shape,
    sorting,
    statistics,
)
from .assignment import given_by_method, result_into, write_result
from .composite_layouts import item_layout
from .data_checks import as_real
from .families import composite, undispatched
from .linalg import einsum
from .masked import CHOOSING
from .result_layouts import Layout, as_shape, seen
from .row_arguments import as_item, as_mask, as_places, as_value, call

Function = Callable[..., Any]
NO_VALUE = np._NoValue  # noqa: SLF001 - how NumPy's functions spell a parameter that was left out
# What has no meaning for a Tensor: it is of no subclass of ndarray; what is left in an input that may be overwritten, NumPy does not say.
UNREAD = frozenset({"subok", "overwrite_input"})
REDUCE_DEFAULTS = {"where": True, "initial": NO_VALUE, "dtype": None, "keepdims": False}
ORDERS = ("C", "F", "A", "K", None)


def defaults_of(function: Any) -> dict[str, Any]:
    """Return NumPy's defaults of a function's parameters."""
    try:
        parameters = signature(function).parameters.values()
    except ValueError:  # before NumPy 2.4 functions in C say nothing: np.dot, np.inner, np.vdot
        return {"out": None}
    return {p.name: p.default for p in parameters if p.default is not Parameter.empty}


def is_default(value: Any, default: Any) -> bool:
    """Whether a flag asks for what NumPy does without it."""
    return value is NO_VALUE or value is default or (type(value) is type(default) and isinstance(value, (str, float, int)) and value == default)


def refused(spelling: str, name: str, value: Any, instead: str) -> UnsupportedError:
    """Return the error for a flag that no row honours."""
    shown = repr(value) if isinstance(value, (str, bool, int, float, type(None))) else f"a {type(value).__name__}"
    return UnsupportedError(f"{spelling}: {name}={shown} has no row. {instead}")


# -- reductions ------------------------------------------------------------------------------------------------------------------


def chosen(op: OpOverload, bound: dict[str, Any], given: dict[str, Any]) -> tuple[OpOverload, dict[str, Any]]:
    """Return the row that reduces chosen elements, with its arguments, where a call has `where=`, `initial=` or `mean=`."""
    initial, mask, mean = [given.get(name, NO_VALUE) for name in ("initial", "where", "mean")]
    if mask is True or mask is None or (mask is np.True_ and np.ndim(bound["x"])):  # of a number NumPy's np.True_ is a mask
        mask = NO_VALUE
    initial = as_initial(op.name, initial)
    if initial is None and op in (reduction.sum, statistics.prod, statistics.nansum, nan_reductions.nanprod):
        raise refused(op.name, "initial", None, "Leave it out.")
    if initial is None:
        initial = NO_VALUE
    options = {name: value for name, value in (("initial", initial), ("mask", mask), ("mean", mean)) if value is not NO_VALUE}
    if not options:
        return op, bound
    found = CHOOSING[op]
    if "mask" in options:
        options["mask"] = as_mask(mask)
    return found, bound | options


def as_initial(spelling: str, initial: Any) -> Any:
    """Return the number that a reduction begins with; an array without axes is one."""
    if isinstance(initial, Tensor):
        raise refused(spelling, "initial", initial, "Leave it out, and add it or compare it with the result.")
    return initial[()] if isinstance(initial, np.ndarray) and not initial.ndim else initial


# -- casts and layouts ------------------------------------------------------------------------------------------------------------


def core_ndims(ufunc: np.ufunc) -> list[int]:
    """Return how many axes an item of each operand has: of `(m,n),(n)->(m)` two and one. Of an elementwise function, one is no fewer than it takes."""
    cores = (ufunc.signature or ",".join(["(n)"] * ufunc.nin)).partition("->")[0]
    return [len(core.split(",")) for core in cores.strip("()").split("),(")]


def cast(x: Any, dtype: Any) -> Any:
    """Return an operand in the dtype of a loop."""
    if not hasattr(x, "dtype"):
        return np.asarray(x).astype(dtype)[()] if isinstance(x, complex) and dtype.kind != "c" else dtype.type(x)
    return x if x.dtype == dtype else prims.astype(x, dtype)


def spelled(order: Any) -> Any:
    """An `order=` as a capital letter: NumPy takes a small one, and bytes, too."""
    text = order.decode("latin1") if isinstance(order, bytes) else order
    return text.upper() if isinstance(text, str) and len(text) == 1 else order


def in_order(x: Any, order: Any) -> Any:
    """Return a result laid out in an order; NumPy's error for no order."""
    order = spelled(order)
    if order not in ORDERS:
        np.copy(np.zeros(1), order)
    return x if order in ("K", None) or len(x.shape) < 2 else shape.copy(x, order)


def named_order(order: Any, default: str, *operands: Any) -> Any:
    """The order that a flag means for operands: of None the default; of "A" Fortran's, where one lies so or all of several may."""
    order = spelled(order)
    if order != "A":
        return default if order is None else order
    flags = [lying(x).flags for x in operands if hasattr(x, "shape")]
    alone = len(operands) == 1
    return "F" if all(x.f_contiguous for x in flags) and not (alone and flags[0].c_contiguous) else "C"


def lying(x: Any) -> Any:
    """An array that lies in memory as a value does below all wrappers, and must not be read."""
    layout = item_layout(x)
    return seen(Layout(guesses(layout.shape), guesses(layout.strides), layout.dtype))


def read_in(x: Any, order: Any, default: str = "C") -> Any:
    """Return a value with its axes in the order in which NumPy reads it for an `order=`."""
    order = named_order(order, default, x)
    if order == "C" or len(x.shape) < 2:
        return x
    if order == "F":
        return shape.transpose(x)
    return shape.transpose(x, axes_in_memory(guesses(item_layout(x).strides)))


def axes_in_memory(strides: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes as NumPy's iterator walks them, the slowest first; one along which memory repeats stays where it is."""
    order: list[int] = []
    for axis in reversed(range(len(strides))):
        at = len(order)
        for i in reversed(range(len(order))):
            if strides[axis] and strides[order[i]]:
                if abs(strides[axis]) >= abs(strides[order[i]]):
                    break
                at = i
        order.insert(at, axis)
    return tuple(order[::-1])


def reshape(a: Any, /, shape_: Any = None, order: Any = "C", *, copy: Any = None, **named: Any) -> Any:
    """`np.reshape`."""
    wanted = named.pop("shape", shape_)
    if named or wanted is None:
        np.reshape(np.zeros(1), wanted, **named)  # raises NumPy's own error
    if isinstance(order, (int, np.integer)):
        raise ArgumentError(f"np.reshape: order= is 'C', 'F' or 'A', and was given {kind_of(order)}. The sizes go into a tuple: np.reshape(x, (n, m)).")
    order = spelled(order)
    if order not in ("C", "F", "A", None):
        np.reshape(np.zeros(1), 1, order=order)  # raises NumPy's own error
    if copy is False:
        np.reshape(lying(a), guesses(as_shape(wanted)), order, copy=False)  # raises NumPy's own error where a view has no such shape
    read = read_in(a, order)
    if order == "F" or read is not a:
        sizes = tuple(wanted) if isinstance(wanted, (tuple, list)) else (wanted,)
        found = shape.transpose(call(shape.reshape, read, sizes[::-1]))
        return shape.copy(found, "F") if copy else found
    found = call(shape.reshape, a, wanted)
    return shape.copy(found, "C") if copy else found


def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """`np.copy`."""
    return shape.copy(as_value(a), "K" if order is None else spelled(order))


def ravel(a: Any, order: str = "C") -> Any:
    """`np.ravel`."""
    if spelled(order) not in ORDERS:
        np.ravel(np.zeros(1), order)  # type: ignore[call-overload] # raises NumPy's own error
    return shape.ravel(read_in(as_value(a), order))


def flatten(self: Any, order: str = "C") -> Any:
    """`x.flatten()`: a copy always."""
    if spelled(order) not in ORDERS:
        np.zeros(1).flatten(order)  # type: ignore[arg-type] # raises NumPy's own error
    return shape.copy(shape.reshape(read_in(self, order), (-1,)), "C")


def astype(self: Any, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True) -> Any:
    """`x.astype(dtype)`."""
    dtype = np.dtype(dtype) if isinstance(dtype, (np.dtype, type)) else named_dtype("x.astype", dtype)
    order = named_order(order, "K", self)
    if casting != "unsafe" and not np.can_cast(self.dtype, dtype, casting):
        np.empty(0, self.dtype).astype(dtype, casting=casting)  # raises NumPy's own error
    if self.dtype == dtype:
        if not self.shape and is_number(self):
            return indexing.as_number(shape.copy(self)) if copy else self
        return shape.copy(self, order) if copy else in_order(self, order)
    return in_order(prims.astype(as_real(self, dtype), dtype), order)


def numpy_astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """`np.astype`."""
    check_device(device)
    return astype(x, dtype, copy=copy)


def check_device(device: Any) -> None:
    """Raise NumPy's error for a device that is none of its own."""
    np.empty(0, device=device)


_OF_ROWS = {"dtype", "shape", "fill_value"}


def like(op: OpOverload) -> Function:
    """Return `np.zeros_like` and its kin, of a row that keeps the order of the other array."""

    def made_like(a: Any, *args: Any, **keywords: Any) -> Any:
        if not args and (not keywords or (keywords.keys() <= _OF_ROWS and not hasattr(keywords.get("fill_value"), "shape"))):
            try:
                return op(a, **keywords)  # the usual call
            except ArgumentError:
                pass
        names = [*op.arguments.names[1:-2], "dtype", "order", "subok", "shape"]
        given = dict(zip(names, args, strict=False)) | keywords
        check_device(given.pop("device", None))
        given.pop("subok", None)
        order, sizes = spelled(given.pop("order", "K")), given.get("shape")
        fill: Any = given.get("fill_value")
        ndim = len(a.shape) if sizes is None else len(sizes) if isinstance(sizes, (tuple, list)) else 1
        if (more := len(getattr(fill, "shape", ())) - ndim) > 0 and all(n == 1 for n in fill.shape[:more]):  # which NumPy leaves out
            given["fill_value"] = shape.reshape(fill, fill.shape[more:])
        if order != "K" and sizes is not None:
            return in_order(call(op, a, **given), named_order(order, "K", a))
        return call(op, a if order == "K" else in_order(a, order), **given)

    return made_like


def made(op: OpOverload) -> Function:
    """Return `np.zeros` and its kin."""

    def made_new(*args: Any, **keywords: Any) -> Any:
        names = op.arguments.names
        given = dict(zip([*names, "order"], args, strict=False)) | keywords
        check_device(given.pop("device", None))
        order = spelled(given.pop("order", "C"))
        given.pop("like", None)
        if order not in ("C", "F"):
            np.empty(0, order=order)  # raises NumPy's own error
        if order == "F" and isinstance(given["shape"], (tuple, list)) and len(given["shape"]) > 1:
            return in_order(call(op, **given), "F")
        return call(op, **given)

    return made_new


def joined(function: Function, op: OpOverload) -> Function:
    """Return `np.concatenate` and its kin, with `dtype=` and `casting=`."""
    spelling, own = f"np.{function.__name__}", op.arguments.names

    def join(arrays: Any, *args: Any, dtype: Any = None, casting: Any = "same_kind", **keywords: Any) -> Any:
        if dtype is None and casting == "same_kind" and len(args) < len(own) and "out" not in keywords:
            try:
                return op(arrays, *args, **keywords)  # the usual call
            except ArgumentError:
                pass
        given = dict(zip([*own[1:], "out"], args, strict=False)) | keywords
        out = given.pop("out", None)
        arrays = [as_value(x) for x in arrays]
        if dtype is not None or casting != "same_kind":
            parts = [np.zeros(0, x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype) for x in arrays]
            kind = np.concatenate(parts, dtype=dtype, casting=casting).dtype  # raises NumPy's own error
            if out is not None and dtype is not None:
                np.concatenate(parts, out=np.zeros(0), dtype=dtype)  # raises NumPy's own error
            arrays = [cast(x, kind) if hasattr(x, "dtype") else np.asarray(x, kind) for x in arrays]
        found = call(op, arrays, **given)
        found = found if dtype is None or found.dtype == kind else prims.astype(found, kind)  # in another byte order
        return found if out is None else result_into(spelling, found, out)

    return join


# -- of single functions -----------------------------------------------------------------------------------------------------------


KINDS = ("stable", "quicksort", "mergesort", "heapsort")


def ordered(op: OpOverload) -> Function:
    """Return `np.sort` or `np.argsort`."""

    def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None) -> Any:
        function = getattr(np, op.schema.name)
        given = {} if descending is None else {"descending": descending}  # NumPy 2.5
        if given or order is not None or (kind is not None and stable is not None) or kind not in (None, *KINDS):
            function(np.zeros(1), -1, kind, order, stable=stable, **given)  # raises NumPy's own error
        kind = "stable" if stable else None if kind == "quicksort" else kind
        if descending:
            return call(op, a, axis, kind, True)
        return call(op, a, axis) if kind is None else call(op, a, axis, kind)

    return sort


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """`np.searchsorted`."""
    if sorter is not None:
        a = call(indexing.take, a, sorter, 0)
    return call(sorting.searchsorted, a, v, side)


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """`np.take`."""
    of, a, indices = a, as_value(a), as_places(indices)
    if mode != "raise":
        np.take(np.zeros(1), 0, mode=mode)  # raises NumPy's own error
        n = prod(a.shape) if axis is None or not a.shape else a.shape[normalize_axis_index(axis, len(a.shape))]
        if mode == "wrap":
            indices = pointwise.remainder(indices, larger(n, 1))
        else:
            indices = pointwise.minimum(pointwise.maximum(indices, 0), n - 1)
    found = call(indexing.take, a, indices, axis)
    return found if out is None else given_by_method(of, result_into("np.take", found, out))


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """`np.compress`."""
    found = call(data_dependent.compress, as_truths(condition), a, axis)
    return found if out is None else result_into("np.compress", found, out)


def extract(condition: Any, arr: Any) -> Any:
    """`np.extract`."""
    return call(data_dependent.extract, as_truths(condition), arr)


def as_truths(condition: Any) -> Any:
    """Return truth values for numbers that are no Tensor's: of a mask a fake knows how many elements it selects."""
    found = as_value(condition)
    return found.astype(bool) if isinstance(found, np.ndarray) and found.dtype.kind in "iufc" else found


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """`np.nan_to_num`; without a copy the array itself gets the numbers."""
    if copy:
        return call(pointwise_more.nan_to_num, x, nan, posinf, neginf)
    if x.dtype.kind in "fc":
        write_result(x, pointwise_more.nan_to_num(x, nan, posinf, neginf), lambda value, out: np.copyto(out, value))
    return indexing.as_number(x)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NO_VALUE, append: Any = NO_VALUE) -> Any:
    """`np.diff`."""
    a = as_value(a)
    if n == 0:
        return a
    if not a.shape or n < 0:
        np.diff(np.zeros((1,) * len(a.shape)), n)  # raises NumPy's own error
    at = normalize_axis_index(axis, len(a.shape))

    def beside(x: Any) -> Any:
        x = as_item(as_value(x))
        return x if x.shape else prims.broadcast_to(x, (*a.shape[:at], 1, *a.shape[at + 1 :]))

    parts = [*[beside(x) for x in (prepend,) if x is not NO_VALUE], a, *[beside(x) for x in (append,) if x is not NO_VALUE]]
    return call(cumulative.diff, shape.concatenate(parts, at) if len(parts) > 1 else a, n, axis)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NO_VALUE) -> Any:
    """`np.average`."""
    keep = False if keepdims is NO_VALUE else keepdims
    axis = tuple(axis) if isinstance(axis, list) else axis  # which np.mean does not take
    a, weights = as_value(a), None if weights is None else as_item(as_value(weights))
    found = call(statistics.average, a, axis, weights, keepdims=keep)
    if not returned:
        return found
    if weights is None:
        return found, indexing.as_number(ops.np.full_like(found, prod(a.shape) / max(1, prod(found.shape))))
    ones = ops.np.ones_like(a, np.result_type(a.dtype, weights.dtype, *([np.float64] if a.dtype.kind in "iub" else [])))
    if weights.shape == a.shape:
        total = ops.np.sum(weights, axis, ones.dtype, keepdims=keep)
    else:  # the sum is that of the average of ones, undivided
        total = ops.np.sum(weights, None, ones.dtype)
        total = ops.np.copy(prims.broadcast_to(total, found.shape)) if found.shape else total
    return found, total


def clip(a: Any, a_min: Any = NO_VALUE, a_max: Any = NO_VALUE, out: Any = None, *, min: Any = NO_VALUE, max: Any = NO_VALUE, **more: Any) -> Any:
    """`np.clip`."""
    if out is None and not more and min is NO_VALUE and max is NO_VALUE and a_min is not NO_VALUE and a_max is not NO_VALUE:
        return call(pointwise_more.clip, a, a_min, a_max)  # the usual call
    order = more.pop("order", None)
    if more:
        name = next(iter(more))
        if name not in ("casting", "dtype", "signature", "subok", "where"):
            raise ArgumentError(f"np.clip has no parameter {name!r}.{did_you_mean(name, signature(np.clip).parameters)}")
        raise refused("np.clip", name, more[name], "Leave it out and write it as an operation of its own.")
    if (a_min is not NO_VALUE or a_max is not NO_VALUE) and (min is not NO_VALUE or max is not NO_VALUE):
        np.clip(np.zeros(1), 0, 1, min=0)  # raises NumPy's own error
    low, high = [next((x for x in pair if x is not NO_VALUE), None) for pair in ((a_min, min), (a_max, max))]
    if (a_min is NO_VALUE) != (a_max is NO_VALUE):
        np.clip(np.zeros(1), *[0 for x in (a_min,) if x is not NO_VALUE], **({"a_max": 0} if a_max is not NO_VALUE else {}))  # type: ignore[call-overload] # raises NumPy's own error
    found = in_order(call(pointwise_more.clip, a, low, high), named_order(order, "K", a, low, high))
    return found if out is None else given_by_method(a, write_result(out, found, lambda value, out: np.clip(value, None, None, out=out)))


def outer(x1: Any, x2: Any, /) -> Any:
    """`np.linalg.outer`, of vectors alone."""
    x1, x2 = as_item(as_value(x1)), as_item(as_value(x2))
    if len(x1.shape) != 1 or len(x2.shape) != 1:
        np.linalg.outer(*[np.zeros((1,) * len(x.shape)) for x in (x1, x2)])  # raises NumPy's own error
    return einsum.outer(x1, x2)


def cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    """`np.linalg.cross`, of vectors of three components."""
    x1, x2 = as_item(as_value(x1)), as_item(as_value(x2))
    if axis is None or not all(len(x.shape) and x.shape[axis] == 3 for x in (x1, x2)):
        np.linalg.cross(*[np.broadcast_to(0.0, x.shape) for x in (x1, x2)], axis=axis)  # raises NumPy's own error
    return einsum.cross(x1, x2, axis=axis)


def numpy_einsum(*args: Any, out: Any = None, dtype: Any = None, order: Any = "K", casting: Any = "safe", optimize: Any = False) -> Any:
    """`np.einsum`, with letters or with lists of axes. Where it has a view of its one operand, it asks for no dtype, order or casting."""
    text, *operands = args
    if out is None and dtype is None and order == "K" and casting == "safe" and isinstance(text, str):
        operands = [x if isinstance(x, (Tensor, np.ndarray)) else as_item(as_value(x)) for x in operands]
        return einsum.einsum(text, operands) if optimize is False else einsum.einsum(text, operands, optimize=optimize)  # the usual call
    if not isinstance(text, str):
        text, operands = lettered(args)
    operands = [as_item(as_value(x)) for x in operands]
    if spelled(order) not in ORDERS:
        np.einsum("i", np.zeros(1), order=order)  # raises NumPy's own error
    if out is None and len(operands) == 1 and einsum.adds_nothing(text, tuple(operands[0].shape)):
        return einsum.einsum(text, operands, optimize=optimize)
    if dtype is None and order == "K" and casting == "safe":
        found = einsum.einsum(text, operands, optimize=optimize)
    else:
        found = einsum_with(text, operands, optimize=optimize, dtype=dtype, order=order.upper() if isinstance(order, str) else order, casting=casting)
    return found if out is None else result_into("np.einsum", found, out)


def _einsum_with(subscripts: str, operands: Any, *, optimize: Any = False, dtype: Any = None, order: Any = "K", casting: Any = "safe") -> Any:
    operands = [np.asarray(x)[()] if np.isscalar(x) else x for x in operands]
    if dtype is not None or casting != "safe":
        kind = np.dtype(dtype) if dtype is not None else np.result_type(*operands_dtypes(operands))
        wrong = next((x for x in operands if not np.can_cast(x.dtype, kind, casting)), None)
        if wrong is not None:
            np.einsum("i->", np.zeros(1, wrong.dtype), dtype=kind, casting=casting)  # raises NumPy's own error
        operands = [cast(x, kind) for x in operands]
    found = einsum.einsum(subscripts, operands, optimize=optimize)
    return in_order(found, named_order(order, "K", *operands))


_NUMPY_EINSUM = undispatched(np.einsum)
einsum_with = composite(
    "einsum_with(str subscripts, Tensor[] operands, *, Any optimize=False, ScalarType? dtype=None, str? order='K', str casting='safe') -> Tensor",
    _einsum_with,
    numpy=lambda subscripts, operands, *, optimize, dtype, order, casting: _NUMPY_EINSUM(
        subscripts, *operands, optimize=optimize, dtype=dtype, order=order or "K", casting=casting
    ),
    laid_out=True,
)


def operands_dtypes(operands: list[Any]) -> list[Any]:
    """Return the dtypes of some arrays."""
    return [x.dtype for x in operands]


def lettered(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Return subscripts as text, and the operands, of `np.einsum(x, [0, 1], y, [1, 2], [0, 2])`."""
    last = len(args) - 1  # where the axes of the result are, if they are given
    args = tuple([x.tolist() if type(x) is np.ndarray and x.dtype.kind in "iu" and (i % 2 or i == last) else x for i, x in enumerate(args)])
    operands, lists = list(args[0 : len(args) - 1 : 2]), list(args[1::2])
    out = args[-1] if len(args) % 2 else None

    def letters(axes: Any) -> str:
        return "".join(["..." if i is Ellipsis else einsum.LETTERS[int(i)] for i in axes])

    known = {Ellipsis, *range(len(einsum.LETTERS))}
    if not all(isinstance(axes, (list, tuple)) and known.issuperset(axes) for axes in (*lists, out or ())) or not operands:
        np.einsum(*[np.broadcast_to(0.0, x.shape) if hasattr(x, "shape") else x for x in args])  # raises NumPy's own error
    text = ",".join(map(letters, lists))
    if out is not None:
        return f"{text}->{letters(out)}", operands
    if any(Ellipsis in axes for axes in lists):
        return text, operands
    counts: dict[int, int] = {}
    for i in (i for axes in lists for i in axes):
        counts[int(i)] = counts.get(int(i), 0) + 1
    return f"{text}->{letters(sorted(i for i, n in counts.items() if n == 1))}", operands


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """`np.isclose`, whose tolerances may be arrays."""
    if np.shape(rtol) or np.shape(atol) or isinstance(rtol, Tensor) or isinstance(atol, Tensor):
        x, y, by, plus = [as_item(as_value(x)) for x in (a, b, rtol, atol)]
        return pointwise_more.closeness(x, y, by, plus, equal_nan)
    return call(pointwise_more.isclose, a, b, rtol, atol, equal_nan)


def size(a: Any, axis: Any = None) -> Any:
    """`np.size`."""
    a = as_value(a)
    axes = range(len(a.shape)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if axis is not None and not isinstance(axis, (int, np.integer)):
        np.size(np.zeros((1,) * len(a.shape)), axis)  # raises NumPy's own error
    return prod([a.shape[normalize_axis_index(i, len(a.shape))] for i in axes])


def of_python(found: Any, cls: type, call: str, instead: str) -> Any:
    """Return an answer that NumPy gives as a number of Python's, a bool say: as that, unless each item has its own or there is no data.

    A graph has only NumPy's numbers, with which other sums are made: True + True is 2, and of NumPy's it is True.
    """
    below = found
    while isinstance(below, Tensor):
        if below.key in WITHOUT_ANSWER:
            return found
        if below.key == DispatchKey.TRACE:
            if cls is bool and (make := below.level.payload.python_bool) is not None:
                return make(found)
            raise UnsupportedError(
                f"{call} gives Python's {cls.__name__} in NumPy, which a graph cannot work out anew for other arrays. Write {instead}, "
                "whose result is NumPy's own in a graph as outside; or leave this function out of the trace."
            )
        below = below.value
    return cls(below)


WITHOUT_ANSWER = frozenset({DispatchKey.VMAP, DispatchKey.FAKE})
