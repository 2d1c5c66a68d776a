"""The methods of ufuncs as NumPy's users call them: `np.hypot.reduce(x, axis=0, where=mask)`, `accumulate`, `reduceat`, `outer`, `at`.

Each reads NumPy's keywords and calls rows: np.sum and its kin where they are what a method means, else those of `ufunc_reductions.py`.
`np.multiply.at` is made of reads, calls of the ufunc and writes: what an index meets several times is a running result of what is there
and its values, in order.
"""

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from ..core import DispatchKey, OpOverload, Tensor
from ..dispatcher.layer import Constant
from ..errors import UnsupportedError
from ..operators import prims
from ..operators.views import ARRAY
from . import flags, numpy_functions, reduction, statistics
from .assignment import check_target, parted, result_into
from .cumulative import cumprod, cumsum
from .indexing import add_at, getitem, subtract_at
from .item_assignment import setitem_
from .row_arguments import as_item, as_mask, as_value
from .shape import concatenate, reshape
from .ufunc_keywords import spelled, ufunc_with
from .ufunc_reductions import LEFT_OUT, cast, loop_dtype, ufunc_accumulate, ufunc_reduce, ufunc_reduce_where, ufunc_reduceat

Rule = Callable[..., Any]


def by_method(ufunc: np.ufunc, op: OpOverload, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Run `np.add.outer(x, y)`, or another method of a ufunc; `method` is its name."""
    out = options.pop("out", (None,))
    if method != "outer":
        options["out"] = out[0]
    elif any(x is not None for x in out):
        options["out"] = out
    return METHODS[method](ufunc, op, *inputs, **options)


def _outer(ufunc: np.ufunc, op: OpOverload, x: Any, y: Any, **options: Any) -> Any:
    x, y = as_item(as_value(x)), as_item(as_value(y))
    if ufunc.signature or ufunc.nin != 2:
        ufunc.outer(1.0, 1.0)  # raises NumPy's own error
    return ufunc_with(ufunc, op, (reshape(x, (*x.shape, *[1] * len(y.shape))), y), options)


def _checked(ufunc: np.ufunc, op: OpOverload, x: Any, method: str, *rest: Any) -> Any:
    """Return the operand of a method as a value; NumPy's own error where a ufunc has no such method."""
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature:
        getattr(ufunc, method)(np.ones(1), *rest)  # raises NumPy's own error
    x = as_item(as_value(x))
    return prims.detach(x) if isinstance(x, Tensor) and without_derivative(op) else x


def without_derivative(op: OpOverload) -> bool:
    """Whether the results of an operator are constants."""
    found = op.table.source(DispatchKey.AUTOGRAD)
    return found is not None and isinstance(found.rule, Constant)


def _reduced(
    ufunc: np.ufunc, op: OpOverload, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = LEFT_OUT,
    where: Any = True,
) -> Any:  # fmt: skip
    x, spelling = _checked(ufunc, op, x, "reduce"), f"{spelled(ufunc)}.reduce"
    if out is not None or (dtype is not None and ufunc in numpy_functions.REDUCTIONS):
        dtype = loop_dtype(op.name, x.dtype, dtype, getattr(out, "dtype", None))
    initial = LEFT_OUT if initial is None and ufunc.identity is None else flags.as_initial(spelling, initial)
    found = numpy_functions.REDUCTIONS.get(ufunc)
    if found in (statistics.all, statistics.any):
        found = None if initial is not LEFT_OUT or (dtype is not None and dtype != np.bool) else found
    elif found in (reduction.sum, statistics.prod):
        found = None if (initial is not LEFT_OUT and initial is not None) or (where is not True and where is not np.True_) else found
    if found is not None:
        given = {"x": x, "axis": axis, "dtype": dtype, "keepdims": bool(keepdims), "initial": initial, "where": where}
        if "dtype" not in found.arguments.names:
            given["x"] = x if dtype is None else cast(x, dtype)
            del given["dtype"]
        value = numpy_functions.call_row(spelling, found, given, flags.REDUCE_DEFAULTS)
    elif initial is None:
        raise flags.refused(spelling, "initial", None, "Leave it out.")
    else:
        mask = None if where is True or where is np.True_ else as_mask(where)
        if mask is None and initial is LEFT_OUT:
            value = ufunc_reduce(x, op.name, axis, dtype, keepdims=bool(keepdims))
        else:
            first = None if initial is LEFT_OUT else initial
            value = ufunc_reduce_where(x, op.name, mask, first, axis, dtype, keepdims=bool(keepdims))
    return value if out is None else result_into(spelling, value, out)


def _accumulated(ufunc: np.ufunc, op: OpOverload, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    x, spelling = _checked(ufunc, op, x, "accumulate"), f"{spelled(ufunc)}.accumulate"
    axis = _one_axis(ufunc.accumulate, x, axis)
    if out is not None:
        dtype = loop_dtype(op.name, x.dtype, dtype, out.dtype)
    found = RUNNING.get(ufunc)
    value = ufunc_accumulate(x, op.name, axis, dtype) if found is None else found(x, axis, dtype)
    return value if out is None else result_into(spelling, value, out)


def _reduced_at(ufunc: np.ufunc, op: OpOverload, x: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    x, spelling = _checked(ufunc, op, x, "reduceat", [0]), f"{spelled(ufunc)}.reduceat"
    if isinstance(indices, Tensor):
        raise UnsupportedError(
            f"{spelling}: the indices are a {type(indices).__name__}, and which elements belong to which result has to be known. "
            "Give indices that are the same for every item and every call."
        )
    axis = _one_axis(ufunc.reduceat, x, axis, [0])
    places = np.array(indices)
    if places.ndim != 1:
        ufunc.reduceat(np.ones(1), indices)  # raises NumPy's own error
    if out is not None:
        dtype = loop_dtype(op.name, x.dtype, dtype, out.dtype)
    value = ufunc_reduceat(x, op.name, places.astype(np.intp).tolist(), axis, dtype)
    return value if out is None else result_into(spelling, value, out)


def _one_axis(method: Rule, x: Any, axis: Any, *rest: Any) -> int:
    """Return the axis of a method that takes one; NumPy's own error where there is no such, or several."""
    if axis is None and len(x.shape) == 1:
        return 0
    if isinstance(axis, tuple) and len(axis) == 1:
        return int(axis[0])
    if axis is None or isinstance(axis, tuple) or not x.shape:
        method(np.ones((1,) * len(x.shape)), *rest, axis=axis)  # raises NumPy's own error
    return index(axis)


def _at(ufunc: np.ufunc, op: OpOverload, x: Any, places: Any, *values: Any, out: Any = None) -> None:
    """Run `np.multiply.at(x, places, values)`: an element that is met twice is changed twice, in order."""
    spelling = f"{spelled(ufunc)}.at"
    check_target(spelling, x)
    if ufunc.nin != 1 + len(values) or ufunc.nout != 1 or ufunc.signature:
        ufunc.at(np.ones(1), 0, *np.ones(len(values)))  # raises NumPy's own error
    if ufunc in (np.add, np.subtract):
        where, _, arrays = parted(places)
        value = prims.broadcast_to(as_item(as_value(values[0])), getitem(x, where, arrays).shape)
        _check_cast(ufunc, x, value)
        setitem_(x, Ellipsis, (add_at if ufunc is np.add else subtract_at)(x, where, value, arrays))
        return
    if any(isinstance(i, Tensor) for i in (places if isinstance(places, tuple) else (places,))):
        raise UnsupportedError(
            f"{spelling}: the index is a wrapped value, and which elements it meets twice has to be known. "
            "Give an index that is the same for every item."
        )
    met = np.arange(x.size).reshape(x.shape)[places]
    given = [reshape(prims.broadcast_to(as_item(as_value(value)), np.shape(met)), (-1,)) for value in values]
    _check_cast(ufunc, x, *given)
    met = np.ravel(met)
    order = np.argsort(met, kind="stable")
    chosen, first, counts = np.unique(met[order], return_index=True, return_counts=True)
    if not len(met):
        return
    if counts.max() > 1 and len(given) == 1 and given[0].dtype == x.dtype and runs_in(op, x.dtype):
        # the running result of what is there and its values, in order
        begin = first + np.arange(len(first))
        among = np.empty(len(met) + len(chosen), np.intp)
        among[begin] = np.arange(len(chosen))
        among[np.delete(np.arange(len(among)), begin)] = len(chosen) + order
        row = concatenate([_picked(x, chosen), given[0]], 0)
        running = ufunc_accumulate(getitem(row, (ARRAY,), [among]), op.name, 0, None, begin.tolist())
        _put(x, chosen, getitem(running, (ARRAY,), [np.append(begin[1:], len(among)) - 1]))
        return
    turn = np.empty_like(met)
    turn[order] = np.arange(len(met)) - np.repeat(first, counts)  # how often an element was met before
    for n in range(counts.max()):  # each step needs what the one before has rounded to the dtype of x
        now = np.flatnonzero(turn == n)
        _put(x, met[now], op(_picked(x, met[now]), *[getitem(value, (ARRAY,), [now]) for value in given]))


def runs_in(op: OpOverload, dtype: Any) -> bool:
    """Whether a ufunc of two operands of a dtype gives one of that dtype, as a running result does."""
    try:
        return bool(loop_dtype(op.name, dtype, None) == dtype)
    except (TypeError, ValueError):
        return False


def _check_cast(ufunc: np.ufunc, x: Any, *values: Any) -> None:
    ufunc.at(np.ones(1, x.dtype), np.empty(0, np.intp), *[np.ones(1, value.dtype) for value in values])  # raises NumPy's own error


def _indices(x: Any, flat: Any) -> tuple[Any, Any]:
    return tuple([ARRAY] * len(x.shape)), list(np.unravel_index(flat, x.shape)) if x.shape else []


def _picked(x: Any, flat: Any) -> Any:
    found = getitem(x, *_indices(x, flat))
    return found if x.shape else reshape(found, (1,))


def _put(x: Any, flat: Any, value: Any) -> None:
    where, arrays = _indices(x, flat)
    setitem_(x, where if x.shape else Ellipsis, value if x.shape else reshape(value, ()), arrays)


METHODS: dict[str, Rule] = {"reduce": _reduced, "accumulate": _accumulated, "reduceat": _reduced_at, "outer": _outer, "at": _at}
RUNNING: dict[Any, OpOverload] = {np.add: cumsum, np.multiply: cumprod}
