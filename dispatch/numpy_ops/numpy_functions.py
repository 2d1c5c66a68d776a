"""Maps NumPy's functions to rows, and their parameters to the rows' parameters.

UFUNCS       np.add       -> the row whose kernel it is
REDUCTIONS   np.add       -> the row that np.add.reduce is
FUNCTIONS    np.sum       -> a function with NumPy's parameters, which calls the row by its own

More than 350 lines, because the last is one line a function.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..core import OpOverload, Tensor
from ..core.lazy import LazyFunction, Loader
from ..core.wrong_calls import PARAMETERS_ELSEWHERE
from ..errors import ArgumentError, UnsupportedError, close_matches, how_many
from ..operators import prims
from ..operators.views import ARRAY, is_number
from . import (
    creation,
    cumulative,
    data_dependent,
    diagonals,
    flags,
    indexing,
    nan_reductions,
    pointwise,
    pointwise_more,
    rearranging,
    reduction,
    shape,
    sorting,
    statistics,
)
from .assignment import WRITES, given_by_method, result_into
from .families import kernel_of
from .infix import Entry
from .linalg import einsum, matmul
from .masked import CHOOSING, mean_into, mean_where, prod_where, sum_where
from .result_layouts import reducing_dtype
from .row_arguments import as_index, as_value, call

Function = Callable[..., Any]

UFUNCS: dict[Any, OpOverload] = {
    kernel_of(op): op
    for table in (pointwise, pointwise_more, matmul)
    for op in vars(table).values()
    if isinstance(op, OpOverload) and isinstance(kernel_of(op), np.ufunc)
}
UFUNCS[np.vecdot] = einsum.vecdot
UFUNCS[np._core.umath.clip] = pointwise_more.clip  # type: ignore[attr-defined]  # noqa: SLF001  which the method of an array runs
TOTALS = {
    reduction.sum: np.add, statistics.prod: np.multiply, cumulative.cumsum: np.add, cumulative.cumprod: np.multiply,
    sum_where: np.add, prod_where: np.multiply,
}  # fmt: skip
REDUCTIONS: dict[Any, OpOverload] = {
    np.add: reduction.sum, np.maximum: reduction.max, np.minimum: reduction.min, np.multiply: statistics.prod,
    np.logical_and: statistics.all, np.logical_or: statistics.any,
}  # fmt: skip


def ufunc_of_row(op: OpOverload) -> np.ufunc | None:
    """Return the ufunc whose row an operator is; rows that are imported later are in the table then."""
    return next((ufunc for ufunc, row in UFUNCS.items() if row is op), None)


def is_special(ufunc: np.ufunc) -> bool:
    """Return whether a ufunc is one of scipy.special's, whose private module has them all."""
    return ufunc is getattr(sys.modules.get("scipy.special._ufuncs"), ufunc.__name__, None)


special_row = LazyFunction(__package__, ".special_ufuncs", "row_of")  # of such a ufunc; SciPy is there already


def of_numpy(name: str) -> Any:
    """Return a function of NumPy by its name, `linalg.norm`; None if this NumPy has none."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


class Later:
    """An entry of FUNCTIONS whose module, with the rows, is imported when it is called first: the module's own then takes its place."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        LOADERS[self.function]()
        return FUNCTIONS[self.function](*args, **keywords)


def load_rest() -> None:
    """Import every module of LATER."""
    enter_rest()
    for loader in MODULES.values():
        loader()


def call_row(spelling: str, op: OpOverload, given: dict[str, Any], defaults: dict[str, Any]) -> Any:
    """Call a row with NumPy's parameters by name; a parameter that nothing honours must have NumPy's default."""
    names = op.arguments.names
    bound = {name: value for name, value in given.items() if name in names and value is not flags.NO_VALUE}
    out = None if given.get("out") is flags.NO_VALUE else given.get("out")
    of_method = out is not None and hasattr(np.True_, op.schema.name)  # np.generic of NumPy 2.0 names those that were removed
    honoured = {"out"}
    if op in CHOOSING and not given.keys().isdisjoint(("where", "initial", "mean")):
        op, bound = flags.chosen(op, bound, given)
        honoured |= {"where", "initial", "mean"} if op in CHOOSING.values() or "where" in defaults else set()
    if "device" in given:
        flags.check_device(given["device"])
        honoured.add("device")
    for name, value in given.items():
        if name in names or name in honoured or name in flags.UNREAD or flags.is_default(value, defaults.get(name, flags.NO_VALUE)):
            continue
        near = "axis" if name == "axes" else PARAMETERS_ELSEWHERE.get(name, "")
        if near in names or (near := next(iter(close_matches(name, names)), "")):
            raise UnsupportedError(f"{spelling}: {name}= is not a parameter of {op.name}({', '.join(names)}). Write {near}=.")
        raise UnsupportedError(
            f"{spelling}: {name}= is not a parameter of {op.name}({', '.join(names)}). "
            "Leave it out and write it as an operation of its own."
        )
    if out is None:
        return call(op, **bound)
    x = bound.get("x")
    if "x" in bound:
        bound["x"] = as_value(x)
    if op in TOTALS and hasattr(out, "dtype"):
        bound["dtype"] = _dtype_into(out, TOTALS[op], bound["x"], bound.get("dtype"))
    half = op in (reduction.mean, mean_where) and np.result_type(bound["x"]) == np.float16
    if half and bound.get("dtype") is None:
        return given_by_method(x, result_into(spelling, mean_into(out, **bound), out))
    if op is pointwise_more.round:
        bound["x"] = _rounded_into(out, **bound)
    if op is matmul.dot and _is_product_of_a_number(bound["x"], bound["y"]):
        return indexing.as_number(np.multiply(bound["x"], bound["y"], out=out))
    if op in (matmul.dot, einsum.multi_dot) and not flags.lying(out).flags.c_contiguous:
        np.dot(np.ones((2, 2)), 1.0, out=np.ones((2, 2), order="F"))  # raises NumPy's own error
    if op is matmul.dot:
        return indexing.as_number(result_into(spelling, call(op, **bound), out))
    written = result_into(spelling, call(op, **bound), out)
    return given_by_method(x, written) if of_method else written


def _is_product_of_a_number(x: Any, y: Any) -> bool:
    """Return whether `np.dot` is `np.multiply`, whose out= may have any layout: where BLAS has no such dtype, integers say."""
    if not hasattr(x, "dtype") or not hasattr(y, "dtype") or (x.shape and y.shape):
        return False
    return np.result_type(x.dtype, y.dtype).char not in "fdFD"


def _dtype_into(out: Any, ufunc: np.ufunc, x: Any, dtype: Any) -> Any:
    """Return the dtype in which NumPy adds up into `out`: that of `np.add.reduce(x, out=out)`."""
    given = np.result_type(x)
    return dtype if given == out.dtype and given.kind in "fc" else reducing_dtype(ufunc, given, dtype, out.dtype)


def _rounded_into(out: Any, x: Any, decimals: int = 0) -> Any:
    """Return what the row of `np.round(x, out=out)` takes: NumPy computes in `out`, and of whole numbers not always without."""
    dtype, made = np.result_type(x), getattr(out, "dtype", np.float64)
    if dtype.kind not in "biu":
        return x
    np.round(np.zeros(1, dtype), decimals, out=np.zeros(1, made))  # raises NumPy's own error
    return prims.astype(x, np.float64) if made == np.float64 or (dtype.kind == "b" and decimals) else x


def spelling_of(function: Function) -> str:
    """Return how a function of NumPy is written: `np.linalg.norm`."""
    module = function.__module__.replace("_scimath_impl", "scimath")  # as NumPy 2.0 has it
    return f"{module.replace('numpy', 'np', 1)}.{function.__name__}"


SPELLED: dict[OpOverload, tuple[Function, dict[str, str]]] = {}  # a row's function of NumPy, and its parameters: theirs -> ours


def _named(parameters: str) -> dict[str, str]:
    return {theirs: ours or theirs for theirs, _, ours in [text.partition(":") for text in parameters.split()]}


def spell(function: Function, parameters: str, op: OpOverload) -> None:
    """Say how a row is called in NumPy; the first function of several counts."""
    SPELLED.setdefault(op, (function, _named(parameters)))


def spelled(function: Function, parameters: str, op: OpOverload) -> tuple[Function, Function]:
    """Make an entry of FUNCTIONS from a function, its parameters in order (`a:x`: the row calls `a` `x`), and the row."""
    names = _named(parameters)
    order = tuple(names.values())
    spelling = spelling_of(function)
    spell(function, parameters, op)
    ours = op.arguments.names[: op.arguments.positional]
    direct = next((i for i, (name, own) in enumerate(zip(order, ours, strict=False)) if name != own), min(len(order), len(ours)))
    known = {theirs for theirs, own in names.items() if theirs == own and own in op.arguments.names}
    twice = {theirs: own for theirs, own in names.items() if theirs != own and own in names}  # two names of one parameter: `correction:ddof`

    def other(*args: Any, **keywords: Any) -> Any:
        if len(args) <= direct and keywords.keys() <= known and not any(x is flags.NO_VALUE for x in keywords.values()):
            return call(op, *args, **keywords)
        if len(args) > len(order):
            raise ArgumentError(f"{spelling} takes {how_many(len(order), 'argument')} by position and was given {len(args)}.")
        given = dict(zip(order, args, strict=False))
        for theirs, own in twice.items():
            if theirs in keywords and (own in keywords or own in given):
                both = {own: keywords.pop(own, given.get(own)), theirs: keywords[theirs]}
                if not flags.is_default(both[own], _defaults(function, parameters).get(own)):
                    function(np.zeros(3), **both)  # raises NumPy's own error
        given.update({names.get(name, name): value for name, value in keywords.items()})
        return call_row(spelling, op, given, _defaults(function, parameters))

    return function, Entry(op, other, direct, known=known)


@cache  # read when a call needs them: 13 us a function
def _defaults(function: Function, parameters: str) -> dict[str, Any]:
    names = _named(parameters)
    return {names.get(name, name): value for name, value in flags.defaults_of(function).items()}


def getitem(x: Any, index: Any) -> Any:
    """Return `x[index]`. Arrays in the index are passed to the operator as arrays, so that the layers see them."""
    index = as_index(index)
    if not isinstance(index, tuple):
        if not isinstance(index, (np.ndarray, Tensor)):
            return indexing.getitem(x, index)
        found = indexing.getitem(x, indexing.ALONE, [index])
        return found if index.shape else _of_arrays(found, [index])
    arrays = [i for i in index if isinstance(i, (np.ndarray, Tensor))]
    if not arrays:
        return indexing.getitem(x, index)
    places = tuple([ARRAY if isinstance(i, (np.ndarray, Tensor)) else i for i in index])
    return _of_arrays(indexing.getitem(x, places, arrays), arrays)


def _of_arrays(found: Any, arrays: list[Any]) -> Any:
    """Return a copy of what the row returns a view for: NumPy's view is of numbers, and of arrays without axes it makes a copy."""
    if not all([i.shape == () and i.dtype.kind in "iu" for i in arrays]) or all(map(is_number, arrays)):
        return found
    return found if found.shape == () and is_number(found) else shape.copy(found)


def _result_type(*values: Any) -> Any:
    return np.result_type(*[x.dtype if isinstance(x, Tensor) else x for x in values])


def _where(condition: Any, *choices: Any) -> Any:
    return call(indexing.where, condition, *choices) if choices else _nonzero(condition)


def _nonzero(a: Any) -> Any:
    return tuple(call(data_dependent.nonzero, a))


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0, *, device: Any = None
) -> Any:
    """`np.linspace`; the step is a result of its own."""
    flags.check_device(device)
    start, stop = as_value(start), as_value(stop)
    found = call(rearranging.linspace, start, stop, num, endpoint, dtype, axis)
    if not retstep:
        return found
    steps = num - 1 if endpoint else num
    return found, rearranging.ends_and_step(start, stop, steps)[2] if steps > 0 else np.nan


def _einsum_path(*args: Any, **options: Any) -> Any:
    return np.einsum_path(*[np.broadcast_to(0.0, x.shape) if isinstance(x, Tensor) else x for x in args], **options)


def _each(op: OpOverload) -> Function:
    def each(*arrays: Any) -> Any:
        return call(op, arrays[0]) if len(arrays) == 1 else tuple([call(op, x) for x in arrays])

    return each


def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    return tuple(call(rearranging.meshgrid, list(xi), indexing=indexing, sparse=sparse, copy=bool(copy)))


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    a1, a2 = as_value(a1), as_value(a2)
    if np.shape(a1) != np.shape(a2):
        return False
    same = pointwise_more.isclose(a1, a2, 0.0, 0.0, True) if equal_nan else pointwise.equal(a1, a2)
    return flags.of_python(statistics.all(same), bool, "np.array_equal", f"np.all({'np.isclose(a, b, 0, 0, True)' if equal_nan else 'a == b'})")


def _allclose(*args: Any, **options: Any) -> Any:
    return flags.of_python(statistics.all(FUNCTIONS[np.isclose](*args, **options)), bool, "np.allclose", "np.all(np.isclose(a, b))")


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    return call(cumulative.trapezoid, y, x, None if isinstance(dx, float) and dx == 1 else dx, axis)


def _last_two(op: OpOverload) -> Function:
    """Return a function of diagonals as `np.linalg` has it, for the last two axes."""
    return lambda x, /, *, offset=0, dtype=None: op(x, offset, -2, -1, *([] if op is diagonals.diagonal else [dtype]))


def returning(made: type, entry: tuple[Function, Function]) -> tuple[Function, Function]:
    """Make an entry of FUNCTIONS that returns one of NumPy's named tuples."""
    function, call = entry
    return function, lambda *args, **keywords: made(*call(*args, **keywords))


def of_numbers(entry: tuple[Function, Function]) -> tuple[Function, Function]:
    """Make an entry of FUNCTIONS whose arguments after the first say how large the result is: an array of them is a list, no data."""
    function, call = entry

    def listed(x: Any) -> Any:
        return x.tolist() if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biu" else x  # no other is one to NumPy

    return function, lambda *args, **keywords: call(
        *args[:1], *map(listed, args[1:]), **{name: listed(x) if name not in ("a", "arr", "array") else x for name, x in keywords.items()}
    )


FUNCTIONS: dict[Any, Function] = dict([
    spelled(np.sum, "a:x axis dtype out keepdims initial where", reduction.sum),
    spelled(np.mean, "a:x axis dtype out keepdims where", reduction.mean),
    spelled(np.max, "a:x axis out keepdims initial where", reduction.max),
    spelled(np.min, "a:x axis out keepdims initial where", reduction.min),
    spelled(np.amax, "a:x axis out keepdims initial where", reduction.max),
    spelled(np.amin, "a:x axis out keepdims initial where", reduction.min),
    (np.reshape, Entry(shape.reshape, flags.reshape, 2)),
    spelled(np.transpose, "a:x axes", shape.transpose),
    spelled(np.swapaxes, "a:x axis1 axis2", shape.swapaxes),
    spelled(np.moveaxis, "a:x source destination", prims.moveaxis),
    spelled(np.broadcast_to, "array:x shape subok", prims.broadcast_to),
    spelled(np.expand_dims, "a:x axis", shape.expand_dims),
    spelled(np.squeeze, "a:x axis", shape.squeeze),
    spelled(np.real, "val:x", shape.real),
    spelled(np.imag, "val:x", shape.imag),
    (np.copy, Entry(shape.copy, flags.copy, 1)),
    (np.concatenate, Entry(shape.concatenate, flags.joined(np.concatenate, shape.concatenate), 2)),
    (np.stack, Entry(prims.stack, flags.joined(np.stack, prims.stack), 2)),
    (np.where, Entry(indexing.where, _where, 3, 3)),
    (np.empty_like, flags.like(creation.empty_like)), (np.zeros_like, flags.like(creation.zeros_like)),
    (np.ones_like, flags.like(creation.ones_like)), (np.full_like, flags.like(creation.full_like)),
    (np.empty, flags.made(creation.empty)), (np.zeros, flags.made(creation.zeros)),
    (np.ones, flags.made(creation.ones)), (np.full, flags.made(creation.full)),
    spelled(np.dot, "a:x b:y out", matmul.dot),
    spelled(np.linalg.multi_dot, "arrays out", einsum.multi_dot),
    spelled(np.linalg.matmul, "x1:x x2:y", matmul.matmul),
    (np.linalg.outer, flags.outer),
    spelled(np.linalg.tensordot, "x1:x x2:y axes", einsum.tensordot),
    spelled(np.linalg.vecdot, "x1:x x2:y axis", einsum.vecdot),
    (np.linalg.cross, flags.cross),
    (np.linalg.diagonal, _last_two(diagonals.diagonal)),
    (np.linalg.trace, _last_two(diagonals.trace)),
    (np.linalg.matrix_transpose, lambda x: shape.swapaxes(x, -1, -2)),
    (np.matrix_transpose, lambda x: shape.swapaxes(x, -1, -2)),
    (np.einsum, flags.numpy_einsum),
    (np.einsum_path, _einsum_path),
    spelled(np.tensordot, "a:x b:y axes", einsum.tensordot),
    spelled(np.inner, "a:x b:y", einsum.inner),
    spelled(np.outer, "a:x b:y out", einsum.outer),
    spelled(np.vdot, "a:x b:y", einsum.vdot),
    spelled(np.kron, "a:x b:y", einsum.kron),
    spelled(np.cross, "a:x b:y axisa axisb axisc axis", einsum.cross),
    spelled(np.diagonal, "a:x offset axis1 axis2", diagonals.diagonal),
    spelled(np.diag, "v:x k", diagonals.diag),
    spelled(np.diagflat, "v:x k", diagonals.diagflat),
    spelled(np.trace, "a:x offset axis1 axis2 dtype out", diagonals.trace),
    spelled(np.tril, "m:x k", diagonals.tril),
    spelled(np.triu, "m:x k", diagonals.triu),
    spelled(np.cumsum, "a:x axis dtype out", cumulative.cumsum),
    spelled(np.cumprod, "a:x axis dtype out", cumulative.cumprod),
    (np.diff, Entry(cumulative.diff, flags.diff, 1)),
    (np.trapezoid, _trapezoid),
    (np.sort, Entry(sorting.sort, flags.ordered(sorting.sort), 2)), (np.argsort, Entry(sorting.argsort, flags.ordered(sorting.argsort), 2)),
    spelled(np.median, "a:x axis out overwrite_input keepdims", sorting.median),
    spelled(np.argmax, "a:x axis out keepdims", sorting.argmax),
    spelled(np.argmin, "a:x axis out keepdims", sorting.argmin),
    (np.searchsorted, flags.searchsorted),
    spelled(np.take_along_axis, "arr:x indices axis", sorting.take_along_axis),
    (np.nonzero, _nonzero), (np.unique, data_dependent.unique_with),
    spelled(np.flatnonzero, "a:x", data_dependent.flatnonzero),
    spelled(np.argwhere, "a:x", data_dependent.argwhere),
    (np.compress, flags.compress), (np.extract, flags.extract),
    spelled(np.prod, "a:x axis dtype out keepdims initial where", statistics.prod),
    spelled(np.all, "a:x axis out keepdims where", statistics.all),
    spelled(np.any, "a:x axis out keepdims where", statistics.any),
    spelled(np.var, "a:x axis dtype out ddof keepdims where mean correction:ddof", statistics.var),
    spelled(np.std, "a:x axis dtype out ddof keepdims where mean correction:ddof", statistics.std),
    (np.average, flags.average),
    spelled(np.ptp, "a:x axis out keepdims", statistics.ptp),
    spelled(np.count_nonzero, "a:x axis keepdims", statistics.count_nonzero),
    spelled(np.nanmax, "a:x axis out keepdims initial where", nan_reductions.nanmax),
    spelled(np.nanmin, "a:x axis out keepdims initial where", nan_reductions.nanmin),
    spelled(np.nanprod, "a:x axis dtype out keepdims initial where", nan_reductions.nanprod),
    spelled(np.nancumsum, "a:x axis dtype out", nan_reductions.nancumsum),
    spelled(np.nancumprod, "a:x axis dtype out", nan_reductions.nancumprod),
    spelled(np.nanvar, "a:x axis dtype out ddof keepdims where mean correction:ddof", nan_reductions.nanvar),
    spelled(np.nanstd, "a:x axis dtype out ddof keepdims where mean correction:ddof", nan_reductions.nanstd),
    spelled(np.nansum, "a:x axis dtype out keepdims initial where", statistics.nansum),
    spelled(np.nanmean, "a:x axis dtype out keepdims where", statistics.nanmean),
    (np.clip, Entry(pointwise_more.clip, flags.clip, 3, 3)),
    spelled(np.round, "a:x decimals out", pointwise_more.round),
    spelled(np.around, "a:x decimals out", pointwise_more.round),
    spelled(np.sinc, "x", pointwise_more.sinc),
    spelled(np.angle, "z:x deg", pointwise_more.angle),
    (np.nan_to_num, flags.nan_to_num),
    spelled(np.isposinf, "x out", pointwise_more.isposinf),
    spelled(np.isneginf, "x out", pointwise_more.isneginf),
    (np.isclose, Entry(pointwise_more.isclose, flags.isclose, 2, 2)),
    (np.allclose, _allclose),
    (np.array_equal, _array_equal),
    (np.vstack, flags.joined(np.vstack, rearranging.vstack)), (np.hstack, flags.joined(np.hstack, rearranging.hstack)),
    spelled(np.dstack, "tup:arrays", rearranging.dstack),
    spelled(np.column_stack, "tup:arrays", rearranging.column_stack),
    spelled(np.append, "arr:x values axis", rearranging.append),
    of_numbers(spelled(np.delete, "arr:x obj axis", rearranging.delete)),
    spelled(np.split, "ary:x indices_or_sections axis", rearranging.split),
    spelled(np.array_split, "ary:x indices_or_sections axis", rearranging.array_split),
    spelled(np.vsplit, "ary:x indices_or_sections", rearranging.vsplit),
    spelled(np.hsplit, "ary:x indices_or_sections", rearranging.hsplit),
    spelled(np.dsplit, "ary:x indices_or_sections", rearranging.dsplit),
    (np.atleast_1d, _each(rearranging.atleast_1d)),
    (np.atleast_2d, _each(rearranging.atleast_2d)),
    (np.atleast_3d, _each(rearranging.atleast_3d)),
    (np.broadcast_arrays, lambda *args, subok=False: tuple(call(rearranging.broadcast_arrays, list(args)))),
    (np.meshgrid, _meshgrid),
    spelled(np.tile, "A:x reps", rearranging.tile),
    of_numbers(spelled(np.repeat, "a:x repeats axis", rearranging.repeat)),
    spelled(np.flip, "m:x axis", rearranging.flip),
    spelled(np.fliplr, "m:x", rearranging.fliplr),
    spelled(np.flipud, "m:x", rearranging.flipud),
    spelled(np.roll, "a:x shift axis", rearranging.roll),
    spelled(np.rollaxis, "a:x axis start", rearranging.rollaxis),
    spelled(np.rot90, "m:x k axes", rearranging.rot90),
    (np.linspace, linspace),
    (np.take, Entry(indexing.take, flags.take, 3)),
    (np.astype, flags.numpy_astype),
    (np.ravel, Entry(shape.ravel, flags.ravel, 1)),
    (np.shape, lambda a: as_value(a).shape),
    (np.ndim, lambda a: as_value(a).ndim),
    (np.size, flags.size),
    (np.result_type, _result_type),
    (np.can_cast, lambda from_, to, casting="safe": np.can_cast(from_.dtype, to, casting)),
    (np.iscomplexobj, lambda x: as_value(x).dtype.kind == "c"),
    (np.isrealobj, lambda x: as_value(x).dtype.kind != "c"),
])  # fmt: skip
READ_BY_FLAGS: list[tuple[OpOverload, Function, str]] = [  # rows whose calls `flags` reads, and how they are called in NumPy
    (rearranging.linspace, np.linspace, "start stop num endpoint retstep dtype axis device"),
    (shape.reshape, np.reshape, "a:x shape"), (shape.copy, np.copy, "a:x order"), (shape.concatenate, np.concatenate, "arrays axis"),
    (prims.stack, np.stack, "arrays axis"), (rearranging.vstack, np.vstack, "tup:arrays"), (rearranging.hstack, np.hstack, "tup:arrays"),
    (creation.empty, np.empty, "shape dtype"), (creation.zeros, np.zeros, "shape dtype"), (creation.ones, np.ones, "shape dtype"),
    (creation.full, np.full, "shape fill_value dtype"),
    (cumulative.diff, np.diff, "a:x n axis"), (sorting.sort, np.sort, "a:x axis"), (sorting.argsort, np.argsort, "a:x axis"), (sorting.searchsorted, np.searchsorted, "a v side"),
    (data_dependent.compress, np.compress, "condition a:x axis"), (data_dependent.extract, np.extract, "condition arr:x"),
    (statistics.average, np.average, "a:x axis weights keepdims"), (pointwise_more.nan_to_num, np.nan_to_num, "x nan posinf neginf"),
    (pointwise_more.isclose, np.isclose, "a:x b:y rtol atol equal_nan"),
]  # fmt: skip
for _op, _function, _parameters in READ_BY_FLAGS:
    spell(_function, _parameters, _op)
FUNCTIONS.update(WRITES)
LATER = {  # by module, functions (ufuncs too) of NumPy that it has the rows of: it is imported when the first of them is called
    ".array_making": "array asarray asanyarray ascontiguousarray asfortranarray require arange from_dlpack "
    "fromiter eye identity tri frombuffer fromstring fromfunction",
    ".fourier": "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn "
    "fft.irfftn fft.fftshift fft.ifftshift",
    ".padding": "pad",
    ".covariances": "cov corrcoef",
    ".convolutions": "convolve correlate",
    ".differences": "gradient ediff1d unwrap",
    ".running_totals": "cumulative_sum cumulative_prod",
    ".histograms": "histogram histogram2d histogramdd histogram_bin_edges bincount digitize",
    ".interpolation": "interp",
    ".quantiles": "quantile percentile nanquantile nanpercentile nanmedian nanargmax nanargmin",
    ".assembling": "block insert resize",
    ".spacing": "logspace geomspace",
    ".applying": "apply_along_axis apply_over_axes",
    ".index_functions": "ravel_multi_index unravel_index diag_indices_from tril_indices_from triu_indices_from ix_",
    ".windows": "lib.stride_tricks.sliding_window_view",
    ".number_parts": "modf frexp ldexp divmod gcd lcm nextafter spacing isnat bitwise_count fix i0 isreal iscomplex real_if_close",
    ".ufunc_reductions": "",  # np.hypot.reduce and its kin
    ".linalg.solve": "linalg.solve linalg.inv linalg.matrix_power linalg.det linalg.slogdet",
    ".linalg.decompositions": "linalg.cholesky linalg.eigh linalg.eigvalsh linalg.svdvals",
    ".linalg.norms": "linalg.norm linalg.vector_norm linalg.matrix_norm",
    ".linalg.eigenvalues": "linalg.eig linalg.eigvals",
    ".linalg.least_squares": "linalg.lstsq linalg.pinv",
    ".linalg.bases": "linalg.svd linalg.qr",
    ".linalg.conditioning": "linalg.cond linalg.matrix_rank",
    ".linalg.tensors": "linalg.tensorinv linalg.tensorsolve",
    ".linalg.matvec": "matvec vecmat",
    ".polynomial_values": "vander polyval polyadd polysub polyder polyint polyfit polynomial.polynomial.polyval2d polynomial.polynomial.polygrid2d "
    "polynomial.polynomial.polyvalnd",
    ".polynomial_roots": "roots poly",
    ".polynomial_products": "polymul polydiv",
    ".scimath": "emath.sqrt emath.log emath.log2 emath.log10 emath.logn emath.power emath.arccos emath.arcsin emath.arctanh",
    ".choices": "select choose piecewise",
    ".partitions": "partition argpartition lexsort sort_complex",
    ".sets": "isin unique_all unique_counts unique_inverse unique_values intersect1d setxor1d union1d setdiff1d trim_zeros",
}
MODULES = {module: Loader(__package__, module) for module in LATER}
LOADERS: dict[Any, Loader] = {}  # by function


def enter(names: list[tuple[str, Loader]]) -> None:
    """Enter functions of NumPy, by their names, into LOADERS and FUNCTIONS."""
    for name, loader in names:
        if (found := of_numpy(name)) is not None:
            LOADERS[found] = loader
            if not isinstance(found, np.ufunc):
                FUNCTIONS.setdefault(found, Later(found))


# Those in modules that NumPy imports when somebody asks for them, `fft` and `polynomial`, wait until one of them is called.
_NAMED = [(name, MODULES[module]) for module, names in LATER.items() for name in names.split()]
_WAITING = [(name, loader) for name, loader in _NAMED if name.partition(".")[0] not in vars(np)]
enter([named for named in _NAMED if named not in _WAITING])


def enter_rest() -> None:
    """Enter what waits for a module that NumPy imports late."""
    enter(_WAITING)
    _WAITING.clear()
if hasattr(np, "unstack"):  # NumPy 2.1
    FUNCTIONS[np.unstack] = lambda x, /, *, axis=0: tuple(rearranging.unstack(x, axis=axis))
