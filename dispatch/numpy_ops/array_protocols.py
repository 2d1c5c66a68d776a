"""Derives the kernels of the rows for arrays of registered classes: NumPy's own function, handed on by the class's protocols.

A row has one kernel, for NumPy's arrays, which may reach for what NumPy alone has. Of an array of another class it computes
what the NumPy function does that the row stands for; see `operators.registered_arrays` for how the class is asked.
"""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..core import DispatchKey, OpOverload, is_of_registered_class
from ..core.pytree import leaves
from ..dispatcher.layer import Derived, Kernel
from ..errors import UnsupportedError
from ..operators import prims
from ..operators.registered_arrays import check_writable, converted, filled, function_for
from ..operators.registry import ops
from . import creation, data_dependent, diagonals, indexing, nan_reductions, pointwise, pointwise_more, shape, statistics
from .data_checks import discarding
from .index_parsing import placed
from .item_assignment import setitem_
from .linalg import decompositions, matmul, solve
from .numpy_functions import SPELLED, ufunc_of_row

Function = Callable[..., Any]


def kernel_by_protocols(op: OpOverload) -> Derived | None:
    """Return the kernel of a row for arrays of every registered class, or None for an operator that is no such row."""
    source = op.table.source(DispatchKey.CPU)
    if source is None:
        return None
    if op in BY_THEMSELVES:
        return Derived(source, lambda: BY_THEMSELVES[op])
    if (ufunc := ufunc_of_row(op)) is not None:
        return Derived(source, partial(_of_ufunc, ufunc))
    return Derived(source, partial(_of_function, op, *SPELLED[op])) if op in SPELLED else None


def function_of(op: OpOverload) -> Function | None:
    """Return NumPy's function that a row hands on, or None where it does not."""
    if op in BY_THEMSELVES:
        return None
    return ufunc_of_row(op) or (SPELLED[op][0] if op in SPELLED else None)


def _first(args: Any) -> Any:
    """The first array of a registered class among the arguments."""
    return next(x for x in leaves(args) if is_of_registered_class(x))


def _number(x: Any) -> Any:
    """A 0-d array of NumPy's as a scalar, which goes with arrays of every class; an array would belong to the CPU."""
    return x[()] if type(x) is np.ndarray and not x.ndim else x


def _of_ufunc(ufunc: Any) -> Kernel:
    def kernel(*args: Any) -> Any:
        return function_for(_first(args), ufunc)(*[_number(x) for x in args])

    return kernel


def _is_default(x: Any, default: tuple[Any, ...]) -> bool:
    return bool(default) and (x is default[0] or (type(x) is type(default[0]) and not hasattr(x, "shape") and x == default[0]))


def _of_function(op: OpOverload, function: Function, names: dict[str, str]) -> Kernel:
    """A call by NumPy's parameters; those behind the last that was given are left out, since a class may not know them all."""
    places = {name: i for i, name in enumerate(op.arguments.names)}
    keyword_only = op.arguments.names[op.arguments.positional :]
    taken = [(theirs, places[ours], op.arguments.defaults[places[ours]]) for theirs, ours in names.items() if ours in places]

    def kernel(*args: Any, **keywords: Any) -> Any:
        args += tuple([keywords[name] for name in keyword_only])
        found = function_for(_first(args), function)
        given = [(theirs, _number(args[place]), default) for theirs, place, default in taken]
        while given and _is_default(*given[-1][1:]):
            given.pop()
        out = found(
            *[x for _, x, default in given if not default], **{theirs: x for theirs, x, default in given if default}
        )
        return tuple(out) if isinstance(out, tuple) else out  # a named one is a container of its own

    return kernel


# -- rows that no function of NumPy is, or that an array does by itself -------------------------------------------------------


def _select(x: Any, axis: int, index: int) -> Any:
    return x[(slice(None),) * (axis % len(x.shape)) + (index,)]


def _astype(x: Any, dtype: Any) -> Any:
    return (x.real if x.dtype.kind == "c" and dtype.kind != "c" else x).astype(dtype)


def _sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    axes, _ = prims.summed_axes(x.shape, tuple(shape))
    return ops.np.reshape(ops.np.sum(x, axes), tuple(shape)) if axes else x


def _where(condition: Any, x: Any, y: Any) -> Any:
    if type(condition) is np.ndarray and condition.ndim:
        condition = converted(condition, _first((x, y)))
    return function_for(_first((condition, x, y)), np.where)(condition, x, y)


def _divide_no_nan(x: Any, y: Any) -> Any:
    none = ops.np.equal(y, 0)
    return ops.np.where(none, 0.0, ops.np.divide(x, ops.np.where(none, 1.0, y)))


def _setitem(x: Any, index: Any, value: Any, arrays: Any = ()) -> None:
    check_writable(x)
    x[placed(index, arrays) if arrays else index] = value


def _clip(x: Any, low: Any, high: Any) -> Any:
    return function_for(_first((x, low, high)), np.clip)(x, low, high)  # by position: the standard has other names


def _full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    return ops.np.broadcast_to(fill_value if dtype is None else ops.np.astype(fill_value, dtype), shape)


def _cofactors(a: Any) -> Any:
    """The inverse times the determinant, transposed; of a singular matrix the class's own inverse raises."""
    inverse = ops.np.swapaxes(function_for(a, np.linalg.inv)(a), -1, -2)
    return ops.np.multiply(ops.np.reshape(ops.np.linalg_det(a), (*a.shape[:-2], 1, 1)), inverse)


def _ravel(x: Any, start: int = 0) -> Any:
    return function_for(x, np.reshape)(x, (*x.shape[:start], prod(x.shape[start:])))


def _like(value: float = 0) -> Function:
    def kernel(x: Any, *args: Any) -> Any:
        *fill, dtype, shape = args
        shape = x.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
        return filled(x, fill[0] if fill else value, shape, x.dtype if dtype is None else dtype)

    return kernel


def _scatter_add(x: Any, index: Any, shape: Any, arrays: Any = ()) -> Any:
    index, shape = placed(index, arrays) if arrays else index, tuple(shape)
    basic = indexing.is_basic(index)
    if basic and hasattr(type(x), "__setitem__"):
        made = filled(x, 0, shape, x.dtype)
        made[index] = x
        return made
    if any(is_of_registered_class(i) for i in leaves(index)):
        raise UnsupportedError(
            f"np::scatter_add, the gradient of x[index], was asked for with an index of class {type(_first(index)).__name__}, "
            "whose values are not known here. Index with NumPy's arrays."
        )
    places = np.arange(prod(shape)).reshape(shape)[index].ravel()
    if not basic and len(np.unique(places)) < len(places):
        raise UnsupportedError(
            f"np::scatter_add, the gradient of x[index], was asked for of a {type(x).__name__}, with an index that names an element "
            "twice. Take each element once, or register a kernel: dispatch.register_kernel('np::scatter_add', device, function)."
        )
    sources = np.full(prod(shape), len(places))  # for each element of the result, which of x it is; behind x stands a zero
    sources[places] = np.arange(len(places))
    behind = ops.np.concatenate([ops.np.reshape(x, (-1,)), filled(x, 0, (1,), x.dtype)])
    return ops.np.reshape(function_for(x, np.take)(behind, converted(sources, x), axis=0), shape)


BY_THEMSELVES: dict[OpOverload, Function] = {
    prims.select: _select,
    prims.astype: _astype,
    prims.sum_to: _sum_to,
    prims.detach: lambda x: x,
    indexing.getitem: lambda x, index, arrays=(): x[placed(index, arrays) if arrays else index],
    indexing.where: _where,
    indexing.scatter_add: _scatter_add,
    creation.full: _full,
    shape.ravel: _ravel,
    shape.copy: lambda x, order="K": x.copy() if hasattr(x, "copy") else x,
    prims.clone: lambda x: x.copy() if hasattr(x, "copy") else x,
    pointwise.divide_no_nan: _divide_no_nan,
    pointwise.scalar_multiply: pointwise.multiply,
    matmul.scaled: pointwise.multiply,
    pointwise.scalar_power: pointwise.power,
    pointwise.scalar_divide: pointwise.divide,
    pointwise.scalar_absolute: pointwise.absolute,
    pointwise_more.root: lambda x, n=2.0: ops.np.sqrt(x) if n == 2 else ops.np.power(x, 1 / n),
    setitem_: _setitem,
    data_dependent.nonzero: lambda x: list(function_for(x, np.nonzero)(x)),
    data_dependent.unique_places: lambda x, axis=None, equal_nan=True: tuple(
        function_for(x, np.unique)(x, True, True, True, axis, equal_nan=equal_nan)
    )[1:],
    data_dependent.value_places: lambda x, axis=None, equal_nan=True, **order: (
        function_for(x, np.unique)(x, True, axis=axis, equal_nan=equal_nan)[1]
    ),
    diagonals.writeable_diagonal: lambda x, axis1, axis2: function_for(x, np.diagonal)(x, 0, axis1, axis2),
    decompositions.svd: lambda a: tuple(function_for(a, np.linalg.svd)(a, full_matrices=False)),
    decompositions.tall_qr: lambda a: tuple(function_for(a, np.linalg.qr)(a)),
    solve.cofactors: _cofactors,
    solve.inv_lower: lambda a: function_for(a, np.linalg.inv)(ops.np.tril(a)),
    pointwise_more.clip: _clip,
    **dict.fromkeys((statistics.none_to_average, nan_reductions.none_but_nan, nan_reductions.none_free, discarding), lambda x: x),  # the class warns
    creation.zeros_like: _like(),
    creation.ones_like: _like(1),
    creation.empty_like: _like(),
    creation.full_like: _like(),
}
