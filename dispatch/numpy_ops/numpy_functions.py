"""Maps NumPy's functions to rows, and their parameters to the rows' parameters.

UFUNCS       np.add       -> the row whose kernel it is
REDUCTIONS   np.add       -> the row that np.add.reduce is
FUNCTIONS    np.sum       -> a function with NumPy's parameters, which calls the row by its own

More than 350 lines, because the last is one line a function.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import OpOverload, Tensor
from ..errors import ArgumentError, UnsupportedError
from ..operators import prims
from . import (
    creation,
    cumulative,
    data_dependent,
    diagonals,
    indexing,
    pointwise,
    pointwise_more,
    rearranging,
    reduction,
    shape,
    sorting,
    statistics,
)
from .assignment import ARRAYS, WRITES, result_into
from .families import kernel_of
from .index_parsing import ARRAY
from .linalg import decompositions, einsum, matmul, norms, solve
from .row_arguments import as_value, call, converted

Function = Callable[..., Any]
NO_VALUE = type(np._NoValue)  # noqa: SLF001 - how NumPy's functions spell a parameter that was left out

UFUNCS: dict[Any, OpOverload] = {
    kernel_of(op): op
    for table in (pointwise, pointwise_more, matmul)
    for op in vars(table).values()
    if isinstance(op, OpOverload) and isinstance(kernel_of(op), np.ufunc)
}
UFUNCS[np.vecdot] = einsum.vecdot
REDUCTIONS: dict[Any, OpOverload] = {
    np.add: reduction.sum, np.maximum: reduction.max, np.minimum: reduction.min, np.multiply: statistics.prod,
    np.logical_and: statistics.all, np.logical_or: statistics.any,
}  # fmt: skip

# What NumPy's functions take beside what a row does, and the values that ask for nothing.
_HARMLESS: dict[str, tuple[Any, ...]] = {
    "order": ("C", "K"), "subok": (True, False), "casting": ("same_kind",), "device": ("cpu",), "copy": (True, False),
    "where": (True,),
    "kind": ("quicksort", "stable", "mergesort", "heapsort"), "stable": (True, False), "mode": ("raise", "reduced"),
    "retstep": (False,), "hermitian": (False,), "overwrite_input": (True, False), "returned": (False,),
    "optimize": (True, False, "greedy", "optimal"),
}  # fmt: skip


def _is_harmless(name: str, value: Any) -> bool:
    known = _HARMLESS.get(name, ())
    return value in known if isinstance(value, str) else any(value is one for one in known)


def call_row(spelling: str, op: OpOverload, given: dict[str, Any]) -> Any:
    """Call a row with NumPy's parameters by name; a parameter that the row lacks must have its default."""
    names = op.arguments.names
    bound = {}
    out = None if given.get("out") is np._NoValue else given.get("out")  # noqa: SLF001
    for name, value in given.items():
        if value is np._NoValue:  # noqa: SLF001 - how NumPy's functions spell a parameter that was left out
            continue
        if name in names:
            bound[name] = value
        elif name != "out" and value is not None and not _is_harmless(name, value):
            raise UnsupportedError(
                f"{spelling}: {name}= is not a parameter of {op.name}({', '.join(names)}). "
                "Leave it out and write it as an operation of its own."
            )
    value = call(op, **bound)
    return value if out is None else result_into(spelling, value, out)


def spelling_of(function: Function) -> str:
    """Return how a function of NumPy is written: `np.linalg.norm`."""
    return f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"


SPELLED: dict[OpOverload, tuple[Function, dict[str, str]]] = {}  # a row's function of NumPy, and its parameters: theirs -> ours


def spelled(function: Function, parameters: str, op: OpOverload) -> tuple[Function, Function]:
    """Make an entry of FUNCTIONS from a function, its parameters in order (`a:x`: the row calls `a` `x`), and the row."""
    pairs = [text.partition(":") for text in parameters.split()]
    names = {theirs: ours or theirs for theirs, _, ours in pairs}
    order = tuple(names.values())
    spelling = spelling_of(function)
    SPELLED.setdefault(op, (function, names))
    ours = op.arguments.names[: op.arguments.positional]
    direct = next((i for i, (name, own) in enumerate(zip(order, ours, strict=False)) if name != own), min(len(order), len(ours)))
    known = {theirs for theirs, own in names.items() if theirs == own and own in op.arguments.names}

    def entry(*args: Any, **keywords: Any) -> Any:
        if len(args) <= direct and (not keywords or (keywords.keys() <= known and NO_VALUE not in map(type, keywords.values()))):
            try:
                return op(*args, **keywords)  # the usual call, spared 2 us
            except ArgumentError:
                found = converted(op, args, keywords)
                if found is None:
                    raise
            return op(*found[0], **found[1])
        if len(args) > len(order):
            raise ArgumentError(f"{spelling} takes {len(order)} arguments by position and was given {len(args)}.")
        given = dict(zip(order, args, strict=False))
        given.update({names.get(name, name): value for name, value in keywords.items()})
        return call_row(spelling, op, given)

    return function, entry


def getitem(x: Any, index: Any) -> Any:
    """Return `x[index]`. Arrays in the index are passed to the operator as arrays, so that the layers see them."""
    if not isinstance(index, tuple):
        if not isinstance(index, (np.ndarray, Tensor)):
            return indexing.getitem(x, index)
        return indexing.getitem(x, (ARRAY,), [index])
    arrays = [i for i in index if isinstance(i, (np.ndarray, Tensor))]
    if not arrays:
        return indexing.getitem(x, index)
    return indexing.getitem(x, tuple([ARRAY if isinstance(i, (np.ndarray, Tensor)) else i for i in index]), arrays)


def _take(a: Any, indices: Any, axis: int | None = None) -> Any:
    return call(indexing.take, a, indices, axis)


def _size(a: Any, axis: int | None = None) -> Any:
    return a.size if axis is None else a.shape[axis]


def _result_type(*values: Any) -> Any:
    return np.result_type(*[x.dtype if isinstance(x, Tensor) else x for x in values])


def ravel(a: Any, order: str = "C") -> Any:
    """Return all elements along one axis."""
    if order not in ("C", "F"):
        raise UnsupportedError(f"np.ravel: order={order!r} asks for the order in memory. Write order='C' or order='F'.")
    return shape.ravel(a if order == "C" else shape.transpose(a))


def _where(condition: Any, *choices: Any) -> Any:
    return call(indexing.where, condition, *choices) if choices else _nonzero(condition)


def _nonzero(a: Any) -> Any:
    return tuple(data_dependent.nonzero(a))


def _einsum(subscripts: Any, *operands: Any, **options: Any) -> Any:
    if not isinstance(subscripts, str):
        subscripts, *operands = _lettered(subscripts, *operands)  # type: ignore[assignment]
    return call_row("np.einsum", einsum.einsum, {"subscripts": subscripts, "operands": list(operands), **options})


def _lettered(*given: Any) -> list[Any]:
    """Return the text and the operands of `np.einsum(x, [0, 1], y, [1, 2], [0, 2])`, whose axes are numbers."""
    words = ["".join(["..." if i is Ellipsis else einsum.LETTERS[i] for i in axes]) for axes in given[1::2]]
    if len(given) % 2 == 0:
        return [",".join(words), *given[::2]]
    last = "".join(["..." if i is Ellipsis else einsum.LETTERS[i] for i in given[-1]])
    return [f"{','.join(words)}->{last}", *given[:-1:2]]


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        raise UnsupportedError("np.linalg.svd: hermitian=True has no row. Write np.linalg.eigh.")
    if not compute_uv:
        return decompositions.svdvals(a)
    if full_matrices and len(a.shape) > 1 and a.shape[-2] != a.shape[-1]:
        raise UnsupportedError(
            f"np.linalg.svd: full_matrices=True of matrices of shape {a.shape[-2:]} has no derivative: the further vectors are "
            "any that complete a basis. Write full_matrices=False."
        )
    return SVD(*decompositions.svd(a))


def _einsum_path(*args: Any, **options: Any) -> Any:
    return np.einsum_path(*[np.broadcast_to(0.0, x.shape) if isinstance(x, Tensor) else x for x in args], **options)


def _each(op: OpOverload) -> Function:
    def each(*arrays: Any) -> Any:
        return call(op, arrays[0]) if len(arrays) == 1 else tuple([call(op, x) for x in arrays])

    return each


def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    return tuple(call(rearranging.meshgrid, list(xi), indexing=indexing, sparse=sparse))


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    a1, a2 = as_value(a1), as_value(a2)
    if np.shape(a1) != np.shape(a2):
        return False
    same = pointwise_more.isclose(a1, a2, 0.0, 0.0, True) if equal_nan else pointwise.equal(a1, a2)
    return statistics.all(same)


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    return call(cumulative.trapezoid, y, x, None if isinstance(dx, float) and dx == 1 else dx, axis)


def _last_two(op: OpOverload) -> Function:
    """Return a function of diagonals as `np.linalg` has it, for the last two axes."""
    return lambda x, /, *, offset=0, dtype=None: op(x, offset, -2, -1, *([] if op is diagonals.diagonal else [dtype]))


EIGH, SVD, SLOGDET, QR = [
    type(function(np.eye(1))) for function in (np.linalg.eigh, np.linalg.svd, np.linalg.slogdet, np.linalg.qr)
]  # the named tuples that NumPy returns


def returning(made: type, entry: tuple[Function, Function]) -> tuple[Function, Function]:
    """Make an entry of FUNCTIONS that returns one of NumPy's named tuples."""
    function, call = entry
    return function, lambda *args, **keywords: made(*call(*args, **keywords))


FUNCTIONS: dict[Any, Function] = dict([
    spelled(np.sum, "a:x axis dtype out keepdims initial where", reduction.sum),
    spelled(np.mean, "a:x axis dtype out keepdims where", reduction.mean),
    spelled(np.max, "a:x axis out keepdims initial where", reduction.max),
    spelled(np.min, "a:x axis out keepdims initial where", reduction.min),
    spelled(np.amax, "a:x axis out keepdims initial where", reduction.max),
    spelled(np.amin, "a:x axis out keepdims initial where", reduction.min),
    spelled(np.reshape, "a:x shape order copy", shape.reshape),
    spelled(np.transpose, "a:x axes", shape.transpose),
    spelled(np.swapaxes, "a:x axis1 axis2", shape.swapaxes),
    spelled(np.moveaxis, "a:x source destination", prims.moveaxis),
    spelled(np.broadcast_to, "array:x shape subok", prims.broadcast_to),
    spelled(np.expand_dims, "a:x axis", shape.expand_dims),
    spelled(np.squeeze, "a:x axis", shape.squeeze),
    spelled(np.real, "val:x", shape.real),
    spelled(np.imag, "val:x", shape.imag),
    spelled(np.copy, "a:x order subok", shape.copy),
    spelled(np.concatenate, "arrays axis out dtype casting", shape.concatenate),
    spelled(np.stack, "arrays axis out dtype casting", prims.stack),
    (np.where, _where),
    spelled(np.empty_like, "prototype:x dtype order subok shape device", creation.empty_like),
    spelled(np.zeros_like, "a:x dtype order subok shape device", creation.zeros_like),
    spelled(np.ones_like, "a:x dtype order subok shape device", creation.ones_like),
    spelled(np.full_like, "a:x fill_value dtype order subok shape device", creation.full_like),
    spelled(np.empty, "shape dtype order device", creation.empty),
    spelled(np.zeros, "shape dtype order device", creation.zeros),
    spelled(np.ones, "shape dtype order device", creation.ones),
    spelled(np.full, "shape fill_value dtype order device", creation.full),
    spelled(np.dot, "a:x b:y out", matmul.dot),
    spelled(np.linalg.solve, "a b", solve.solve),
    spelled(np.linalg.inv, "a", solve.inv),
    spelled(np.linalg.pinv, "a rcond hermitian rtol", solve.pinv),
    spelled(np.linalg.matrix_power, "a n", solve.matrix_power),
    spelled(np.linalg.det, "a", solve.det),
    returning(SLOGDET, spelled(np.linalg.slogdet, "a", solve.slogdet)),
    spelled(np.linalg.cholesky, "a upper", decompositions.cholesky),
    returning(EIGH, spelled(np.linalg.eigh, "a UPLO", decompositions.eigh)),
    spelled(np.linalg.eigvalsh, "a UPLO", decompositions.eigvalsh),
    (np.linalg.svd, _svd),
    spelled(np.linalg.svdvals, "x:a", decompositions.svdvals),
    returning(QR, spelled(np.linalg.qr, "a mode", decompositions.qr)),
    spelled(np.linalg.norm, "x ord axis keepdims", norms.norm),
    spelled(np.linalg.vector_norm, "x axis keepdims ord", norms.vector_norm),
    spelled(np.linalg.matrix_norm, "x keepdims ord", norms.matrix_norm),
    spelled(np.linalg.multi_dot, "arrays out", einsum.multi_dot),
    spelled(np.linalg.matmul, "x1:x x2:y", matmul.matmul),
    spelled(np.linalg.outer, "x1:x x2:y", einsum.outer),
    spelled(np.linalg.tensordot, "x1:x x2:y axes", einsum.tensordot),
    spelled(np.linalg.vecdot, "x1:x x2:y axis", einsum.vecdot),
    spelled(np.linalg.cross, "x1:x x2:y axis", einsum.cross),
    (np.linalg.diagonal, _last_two(diagonals.diagonal)),
    (np.linalg.trace, _last_two(diagonals.trace)),
    (np.linalg.matrix_transpose, lambda x: shape.swapaxes(x, -1, -2)),
    (np.matrix_transpose, lambda x: shape.swapaxes(x, -1, -2)),
    (np.einsum, _einsum),
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
    spelled(np.diff, "a:x n axis prepend append", cumulative.diff),
    (np.trapezoid, _trapezoid),
    spelled(np.sort, "a:x axis kind order stable", sorting.sort),
    spelled(np.argsort, "a:x axis kind order stable", sorting.argsort),
    spelled(np.median, "a:x axis out overwrite_input keepdims", sorting.median),
    spelled(np.argmax, "a:x axis out keepdims", sorting.argmax),
    spelled(np.argmin, "a:x axis out keepdims", sorting.argmin),
    spelled(np.searchsorted, "a v side sorter", sorting.searchsorted),
    spelled(np.take_along_axis, "arr:x indices axis", sorting.take_along_axis),
    (np.nonzero, _nonzero), (np.unique, data_dependent.unique_with),
    spelled(np.flatnonzero, "a:x", data_dependent.flatnonzero),
    spelled(np.argwhere, "a:x", data_dependent.argwhere),
    spelled(np.compress, "condition a:x axis out", data_dependent.compress),
    spelled(np.extract, "condition arr:x", data_dependent.extract),
    spelled(np.prod, "a:x axis dtype out keepdims initial where", statistics.prod),
    spelled(np.all, "a:x axis out keepdims where", statistics.all),
    spelled(np.any, "a:x axis out keepdims where", statistics.any),
    spelled(np.var, "a:x axis dtype out ddof keepdims where mean correction:ddof", statistics.var),
    spelled(np.std, "a:x axis dtype out ddof keepdims where mean correction:ddof", statistics.std),
    spelled(np.average, "a:x axis weights returned keepdims", statistics.average),
    spelled(np.ptp, "a:x axis out keepdims", statistics.ptp),
    spelled(np.count_nonzero, "a:x axis keepdims", statistics.count_nonzero),
    spelled(np.nansum, "a:x axis dtype out keepdims initial where", statistics.nansum),
    spelled(np.nanmean, "a:x axis dtype out keepdims where", statistics.nanmean),
    spelled(np.clip, "a:x a_min:min a_max:max out", pointwise_more.clip),
    spelled(np.round, "a:x decimals out", pointwise_more.round),
    spelled(np.around, "a:x decimals out", pointwise_more.round),
    spelled(np.sinc, "x", pointwise_more.sinc),
    spelled(np.angle, "z:x deg", pointwise_more.angle),
    spelled(np.nan_to_num, "x copy nan posinf neginf", pointwise_more.nan_to_num),
    spelled(np.isposinf, "x out", pointwise_more.isposinf),
    spelled(np.isneginf, "x out", pointwise_more.isneginf),
    spelled(np.isclose, "a:x b:y rtol atol equal_nan", pointwise_more.isclose),
    (np.allclose, lambda *args, **options: statistics.all(FUNCTIONS[np.isclose](*args, **options))),
    (np.array_equal, _array_equal),
    spelled(np.vstack, "tup:arrays dtype casting", rearranging.vstack),
    spelled(np.hstack, "tup:arrays dtype casting", rearranging.hstack),
    spelled(np.dstack, "tup:arrays", rearranging.dstack),
    spelled(np.column_stack, "tup:arrays", rearranging.column_stack),
    spelled(np.append, "arr:x values axis", rearranging.append),
    spelled(np.delete, "arr:x obj axis", rearranging.delete),
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
    spelled(np.repeat, "a:x repeats axis", rearranging.repeat),
    spelled(np.flip, "m:x axis", rearranging.flip),
    spelled(np.fliplr, "m:x", rearranging.fliplr),
    spelled(np.flipud, "m:x", rearranging.flipud),
    spelled(np.roll, "a:x shift axis", rearranging.roll),
    spelled(np.rollaxis, "a:x axis start", rearranging.rollaxis),
    spelled(np.rot90, "m:x k axes", rearranging.rot90),
    spelled(np.pad, "array:x pad_width mode constant_values", rearranging.pad),
    spelled(np.linspace, "start stop num endpoint retstep dtype axis device", rearranging.linspace),
    (np.take, _take),
    spelled(np.astype, "x dtype copy device", prims.astype),
    (np.ravel, ravel),
    (np.shape, lambda a: a.shape),
    (np.ndim, lambda a: a.ndim),
    (np.size, _size),
    (np.result_type, _result_type),
    (np.iscomplexobj, lambda x: x.dtype.kind == "c"),
    (np.isrealobj, lambda x: x.dtype.kind != "c"),
])  # fmt: skip
FUNCTIONS.update(WRITES | ARRAYS)
if hasattr(np, "unstack"):  # NumPy 2.1
    FUNCTIONS[np.unstack] = lambda x, /, *, axis=0: tuple(rearranging.unstack(x, axis=axis))
