"""The operators that layers are built of; here they have kernels only.

A tape adds gradients and vmap moves axes, and both must do it with operators, so that the layers below see it. They stand
here, below the layers; `numpy_ops/` registers their rules.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..core import DispatchKey, OpOverload, freeze
from ..core.array_memory import broadcast
from ..schema.schema import Argument, Return, Schema
from ..schema.tags import Tag
from ..schema.types import split_name
from .registry import add as make_known
from .registry import build

Shape = tuple[int, ...]


def define(text: str, kernel: Callable[..., Any], tags: tuple[Tag, ...] = (), key: DispatchKey = DispatchKey.CPU) -> OpOverload:
    """An operator of the NumPy table, with its NumPy kernel and no rules yet.

    Its array arguments take Python numbers too, which pass through untouched, so that NumPy's own promotion decides.
    """
    name, bracket, rest = text.partition("(")
    schema = object.__new__(Schema)
    fields = (*split_name(name), *_signature(bracket + rest))
    for field, value in zip(Schema.__slots__, fields, strict=True):  # it has been checked, which takes 20 us
        object.__setattr__(schema, field, value)
    op = build(schema, tags)
    op.register_at(key, kernel)
    vars(op).update(__name__=schema.name, __qualname__=schema.name, __doc__=kernel.__doc__)
    return make_known(op, __name__, schema.full_name)


@cache
def _signature(text: str) -> tuple[tuple[Argument, ...], tuple[Return, ...]]:
    """Read the arguments and returns of a row's text: each is read once, and the 400 rows share them.

    Reading whole texts was a fifth of the time of the first wrapper. What is asked of arguments beside each other a test asks.
    """
    given, _, returned = text[1:].partition(") -> ")
    pieces = given.split(", ")
    if "!" in text or any([piece.count("[") != piece.count("]") for piece in pieces]):  # a list as a default has a comma
        whole = Schema.parse(text, "np::row")
        return tuple([_taking_numbers(argument) for argument in whole.arguments]), whole.returns
    positional = pieces.index("*") if "*" in pieces else len(pieces)
    arguments = [_argument(piece, i > positional) for i, piece in enumerate(pieces) if piece and i != positional]
    return tuple(arguments), _returns(returned)


@cache
def _argument(text: str, by_keyword: bool) -> Argument:
    (argument,) = Schema.parse(f"({'*, ' * by_keyword}{text}) -> ()", "np::row").arguments
    return _taking_numbers(argument)


@cache
def _returns(text: str) -> tuple[Return, ...]:
    return Schema.parse(f"(Tensor(a) x) -> {text}", "np::row").returns


def _taking_numbers(argument: Argument) -> Argument:
    if argument.type.has_tensor:
        object.__setattr__(argument, "numbers", True)
    return argument


def _sum_to(x: Any, shape: Shape) -> Any:
    axes, keepdims = summed_axes(x.shape, shape if type(shape) is tuple else tuple(shape))
    if not axes:
        return x
    return np.add.reduce(x, axes, keepdims=True).reshape(shape) if keepdims else np.add.reduce(x, axes)


@lru_cache(maxsize=4096)
def summed_axes(shape: Shape, wanted: Shape) -> tuple[Shape, bool]:
    """Which axes are summed, and whether they have to be kept for a reshape: half of the time of a small sum."""
    extra = len(shape) - len(wanted)
    axes = tuple(range(extra)) + tuple(extra + i for i, n in enumerate(wanted) if n == 1 and shape[extra + i] != 1)
    return axes, extra != len(axes)


def _select(x: Any, axis: int, index: int) -> Any:
    return x[(slice(None),) * normalize_axis_index(axis, x.ndim) + (index,)] if axis else x[index]


def _stack(arrays: Any, axis: int = 0) -> Any:
    kind = type(arrays[0]) if axis == 0 and arrays else None
    if kind is np.float64 or (kind is np.ndarray and arrays[0].ndim == 1 and arrays[0].dtype.isbuiltin == 1):
        dtype, shape = arrays[0].dtype, arrays[0].shape
        for x in arrays:
            if type(x) is not kind or x.dtype is not dtype or x.shape != shape:
                break
        else:
            return np.array(arrays)  # the same copy: np.stack makes arrays of numbers, and rows of arrays, first
    return np.stack(arrays, axis=axis)


def _astype(x: Any, dtype: Any) -> Any:
    """Cast, as NumPy does, a complex array's real part for a real dtype; the array itself where there is nothing to cast."""
    dtype = np.dtype(dtype)
    x = x if isinstance(x, (np.ndarray, np.generic)) else np.asarray(x)[()]
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        return x.real.astype(dtype)
    if dtype.kind == "O":  # of a number NumPy makes Python's own, which no operator returns
        x = np.asarray(x)
    return x.astype(dtype, copy=False)


def strides_of_copy(shape: Any, strides: Any, itemsize: int, guess: Callable[[Any], int] = int) -> Any:
    """Return the strides of a copy and the bytes before and from its first element on; None where its elements would overlap.

    They are those of the original, whatever lies between its elements, so that what is a view of the original is one of the
    copy. An axis along which all elements are one, as `np.broadcast_to` makes it, becomes an outer axis. `guess` gives the
    value of a size that stands for any.
    """
    long = [i for i, n in enumerate(shape) if guess(n) > 1]
    found, before, reach = list(strides), 0, itemsize
    for i in sorted([i for i in long if guess(strides[i])], key=lambda i: abs(guess(strides[i]))):
        step = strides[i] if guess(strides[i]) > 0 else -strides[i]
        if guess(step) < guess(before + reach):
            return None
        if step is strides[i]:
            reach += step * (shape[i] - 1)
        else:
            before += step * (shape[i] - 1)
    for i in [i for i in reversed(long) if not guess(strides[i])]:
        found[i] = before + reach
        reach += found[i] * (shape[i] - 1)
    return tuple(found), before, reach


def strided_copy(x: Any) -> Any:
    """Copy an array or a number into an array with the same strides; it is no operator, so that no mode sees it."""
    if not isinstance(x, np.ndarray):
        return np.array(x)
    if x.flags.forc or type(x) not in (np.ndarray, np.memmap):
        return x.copy("K")
    found = strides_of_copy(x.shape, x.strides, x.itemsize)
    if found is None or (x.dtype.hasobject and any(n % x.itemsize for n in x.strides)):
        return x.copy("K")
    strides, before, reach = found
    memory = np.empty((before + reach) // x.itemsize, x.dtype) if x.dtype.hasobject else np.empty(before + reach, np.uint8)
    made: Any = np.ndarray(x.shape, x.dtype, memory, before, strides)
    made[...] = x
    return made


def _detach(x: Any) -> Any:
    return freeze(np.asanyarray(x)[...])


def _seen(x: Any, dtype: Any, shape: Shape, strides: Shape, offset: int) -> Any:
    """View the memory of an array without gaps as another array; `strides` and `offset` count bytes."""
    return np.ndarray(shape, dtype, x.ravel("K"), offset, strides)


add = define("np::add(Tensor x, Tensor y) -> Tensor", np.add, (Tag.pointwise,))
multiply = define("np::multiply(Tensor x, Tensor y) -> Tensor", np.multiply, (Tag.pointwise,))
broadcast_to = define("np::broadcast_to(Tensor(a) x, int[1] shape) -> Tensor(a)", broadcast, (Tag.view,))
sum_to = define("np::sum_to(Tensor(a) x, int[] shape) -> Tensor(a)", _sum_to)
moveaxis = define("np::moveaxis(Tensor(a) x, int[1] source, int[1] destination) -> Tensor(a)", np.moveaxis, (Tag.view,))
select = define("np::select_index(Tensor(a) x, int axis, int index) -> Tensor(a)", _select, (Tag.view,))
stack = define("np::stack(Tensor[] arrays, int axis=0) -> Tensor", _stack)
# A copy with the strides of `x`, also where these leave gaps or go backwards, which no order of `np.copy` gives.
clone = define("np::clone(Tensor x) -> Tensor", strided_copy)
copy = define("np::copy(Tensor x, str order='K') -> Tensor", lambda x, order="K": np.array(x, order=order))
astype = define("np::astype(Tensor(a) x, ScalarType dtype) -> Tensor(a)", _astype)
memory_view = define(
    "np::memory_view(Tensor(a) x, ScalarType dtype, int[] shape, int[] strides, int offset) -> Tensor(a)", _seen, (Tag.view,)
)
detach = define("np::detach(Tensor(a) x) -> Tensor(a)", _detach, (Tag.view,))
