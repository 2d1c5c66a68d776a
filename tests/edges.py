"""Arguments at the edges of every row (zeros, ties, nan, infinities, singular matrices), and the derivatives of JAX and torch there.

`cases_at(op)` gives the cases of `samples.py` with their numbers replaced by each pattern of EDGES; pointwise rows meet every pair of
numbers of GRID. The functions of JAX and torch that take a row's cases have the row's name, or stand in JAX and TORCH.
"""

import importlib.util
from collections.abc import Callable, Iterator
from math import pi
from typing import Any

import numpy as np
from samples import ARRAY, Case, Make, cases, indexed, maker, padding

import dispatch
from dispatch import ops
from dispatch.core import OpOverload
from dispatch.schema.tags import Tag

inf, nan = np.inf, np.nan
NUMPY = np  # where JAX's and torch's stand under its name

GRID = [0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 0.5, -0.5, 2.0, -2.0, 3.0]
COMPLEX_GRID = [0j, 1 + 0j, -1 + 0j, 1j, -1j, 0.5 + 0.5j, 2 - 1j]
EDGES = {
    "zeros": [0.0],
    "negative zeros": [-0.0, 0.0, -0.0],
    "ones": [1.0],
    "two zeros": [0.0, 1.0, -1.0, 0.0, 2.0, 1.0],
    "one zero": [2.0, 0.0, 3.0, 1.0, 0.5, -1.0],
    "negative": [-1.0, -2.0, -1.0, -3.0],
    "nan": [1.0, 2.0, nan, 3.0, -1.0, 2.0],
    "nans": [nan],
    "inf": [1.0, inf, 2.0, 3.0, -1.0, 0.5],
    "-inf": [1.0, 2.0, -inf, 2.0, -1.0],
}
FINITE = ["zeros", "ones", "two zeros"]  # for complex values, of which each library has its own nan and infinities
# What they hold is nobody's business, or there is no derivative: of vectors that complete a basis, which any loss of all elements turns.
UNSET = {"empty", "empty_like", "linalg_full_svd", "linalg_full_qr", "linalg_tall_full_qr", "linalg_raw_qr", "linalg_inf_for_nan"}
UNSET |= {"roots", "polymul", "polynomial_remainder"}  # of which an edge, a zero in front, changes the size
LARGEST = 12  # elements of an argument: no more is needed for an edge

# -- arguments ---------------------------------------------------------------------------------------------------------


def edge_maker(values: list[float], dtype: Any) -> Make:
    """A function that makes arrays of a pattern, repeated; truth values and whole numbers are those of `samples.maker`."""
    others = maker(dtype)

    def make(shape: tuple[int, ...] = (2, 3), kind: Any = dtype) -> Any:
        kind = np.dtype(kind)
        return others(shape, kind) if kind.kind in "biu" else np.resize(np.asarray(values, kind), shape)

    return make


def singular(make: Make) -> list[Any]:
    """Matrices without an inverse, of equal eigenvalues, and of equal singular values."""
    kind = make(()).dtype
    made = [[[0, 0], [0, 0]], [[1, 1], [1, 1]], [[1, 0], [0, 1]], [[2, 0], [0, 0]], [[1, 2, 3], [2, 4, 6], [1, 0, 1]],
        [[0, 0, 0], [0, 0, 0], [0, 0, 1]], [[0, 1], [1, 0]]]  # fmt: skip
    return [np.asarray(a, kind) for a in made]


def tied(make: Make) -> Any:
    return np.asarray([1, 2, 2, 1], make(()).dtype)


EXTRA: dict[str, Callable[[Make], list[Case]]] = {
    **dict.fromkeys(["linalg_det", "linalg_slogdet", "linalg_svdvals", "linalg_cofactors"], lambda make: [(a,) for a in singular(make)]),
    "linalg_cond": lambda make: [(np.asarray([[0, 1], [2, 0]], make(()).dtype), order) for order in (1, -1, inf, -inf)],
    "linalg_eigvalsh": lambda make: [(a, "L") for a in singular(make) if np.array_equal(a, a.T)],
    "linalg_norm": lambda make: [(make((3,)), order, None, False) for order in (0.5, 1.5, 3, -1, -2.0, 0)]
    + [(np.asarray([0, 1, nan], make(()).dtype), 0.5, None, False)]
    + [(a, order, None, False) for a in singular(make) for order in ("fro", "nuc", 2, -2)],
    **dict.fromkeys(["var", "std"], lambda make: [(make((1,)), None, None, ddof, False) for ddof in (0, 1)]),
    **dict.fromkeys(["max", "min", "ptp"], lambda make: [(tied(make), None, False), (make((1,)), 0, True)]),
    "median": lambda make: [(tied(make), None, False), (make((1,)), 0, True)],
    "sort": lambda make: [(tied(make), 0, None)],
    "clip": lambda make: [(make((3,)), make((3,)), make((3,))), (make((3,)), 0.0, 1.0), (make((3,)), 2.0, 1.0)],
    "prod": lambda make: [(make((3,)), None, "c16", False), (make((1,)), None, None, False)],
    "cumprod": lambda make: [(make((4,)), 0, "c16")],
    "take": lambda make: [(make((3,)), np.array([1, 1, 0, 1]), 0)],
    "setitem": lambda make: [(make((3,)), (ARRAY,), make((3,)), [np.array([1, 1, 0])])],
    "where": lambda make: [(np.array([True, False, True]), make((3,)), np.sqrt(np.abs(make((3,)))))],
}


def cases_at(op: OpOverload, dtype: Any, patterns: Any = tuple(EDGES)) -> Iterator[tuple[str, list[Case]]]:
    """Each case of a row, and with every pattern; the items of a case differ in floating-point numbers alone."""
    found = []
    for name in patterns:
        make = edge_maker(EDGES[name], np.dtype(dtype))
        found.append([*cases(op, make), *EXTRA.get(op.schema.name, lambda make: [])(make)])
    for column in zip(*found, strict=True):
        if max((x.size for x in numbers(column[0])), default=0) <= LARGEST:
            yield described(column[0]), list(column)


def grid(op: OpOverload, values: list[Any]) -> list[Any]:
    """Every combination of some numbers, as one array for each argument of a pointwise row."""
    columns = np.meshgrid(*[np.asarray(values)] * len(op.schema.arguments), indexing="ij")
    return [np.ascontiguousarray(x.reshape(-1)) for x in columns]


def is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic))


def numbers(case: Case) -> list[Any]:
    return [x for item in case for x in (item if isinstance(item, (list, tuple)) else [item]) if is_array(x)]


def described(case: Case) -> str:
    return ", ".join(str(x.shape) if is_array(x) else str([y.shape for y in x]) if numbers((x,)) else repr(x) for x in case)


def places(case: Case) -> Iterator[tuple[int, int | None]]:
    """Where a case has an array that a derivative can be asked for: its argument, and its place in a list."""
    for at, x in enumerate(case):
        if is_array(x):
            if x.dtype.kind in "fc":
                yield at, None
        elif isinstance(x, (list, tuple)) and x and all(map(is_array, x)):
            yield from [(at, part) for part, y in enumerate(x) if y.dtype.kind in "fc"]


def at_place(case: Case, place: tuple[int, int | None]) -> Any:
    at, part = place
    return case[at] if part is None else case[at][part]


def replaced(case: Case, place: tuple[int, int | None], x: Any) -> Case:
    at, part = place
    return (*case[:at], x if part is None else [*case[at][:part], x, *case[at][part + 1 :]], *case[at + 1 :])


# -- derivatives -------------------------------------------------------------------------------------------------------


def weights(shape: Any) -> Any:
    """What the elements of a result count: numbers that differ, none of them 0, which times inf is nan."""
    return np.resize([1.0, 2.5, 0.75, 1.5, 3.0], shape) if np.prod(shape) else np.ones(shape)


def total(out: Any, np: Any) -> Any:
    """One number of all results that have a derivative."""
    parts = [y for y in (out if isinstance(out, (list, tuple)) else [out]) if y.dtype.kind in "fc"]
    return sum((np.sum(np.real(y) * weights(y.shape)) for y in parts), 0.0)


def run(op: OpOverload, case: Case) -> Any:
    count = op.arguments.positional
    return op(*case[:count], **dict(zip(op.arguments.keyword_names, case[count:], strict=True)))


def scalar(op: OpOverload, case: Case, place: tuple[int, int | None]) -> Callable[[Any], Any]:
    """One number of the result, as a function of one array."""
    return lambda x: total(run(op, replaced(case, place, x)), np)


def reverse(op: OpOverload, case: Case, place: tuple[int, int | None]) -> Any:
    return dispatch.grad(scalar(op, case, place))(np.asarray(at_place(case, place)))


def forward(op: OpOverload, case: Case, place: tuple[int, int | None]) -> tuple[Any, Any]:
    """The derivative along a direction without zeros, and the direction."""
    x = np.asarray(at_place(case, place))
    direction = np.asarray(np.resize([1.0, 0.5, 2.0, 1.25], x.shape), x.dtype)
    return dispatch.jvp(scalar(op, case, place), (x,), (direction,))[1], direction


def by_jax(op: OpOverload, case: Case, place: tuple[int, int | None]) -> Any:
    """The gradient by JAX, conjugated, as torch's and ours are."""
    jax = importlib.import_module("jax")
    function = in_jax(op, jax.numpy)
    with float64(jax):
        given = case
        for where in places(case):
            given = replaced(given, where, jax.numpy.asarray(at_place(case, where)))
        value, pull = jax.vjp(lambda x: total(function(*replaced(given, place, x)), jax.numpy), at_place(given, place))
        if not hasattr(value, "dtype"):  # no result that has a derivative
            return np.zeros(np.shape(at_place(case, place)))
        return np.conj(np.asarray(pull(jax.numpy.ones((), value.dtype))[0]))


def float64(jax: Any) -> Any:
    return jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()


def by_torch(op: OpOverload, case: Case, place: tuple[int, int | None]) -> Any:
    """The gradient by torch."""
    torch = importlib.import_module("torch")
    function = in_torch(op, torch)

    def converted(x: Any) -> Any:
        if is_array(x):
            return torch.tensor(np.asarray(x))
        return [converted(y) for y in x] if isinstance(x, (list, tuple)) and x and all(map(is_array, x)) else x

    given = tuple(map(converted, case))
    x = at_place(given, place).requires_grad_(True)
    out = function(*given)
    made = [y for y in (out if isinstance(out, (list, tuple)) else [out]) if y.is_floating_point() or y.is_complex()]
    value = sum(((torch.real(y) if y.is_complex() else y) * torch.tensor(weights(tuple(y.shape)))).sum() for y in made)
    if not (hasattr(value, "requires_grad") and value.requires_grad):
        return np.zeros(np.shape(at_place(case, place)))
    value.backward()
    return x.grad.resolve_conj().numpy() if x.grad is not None else np.zeros(tuple(x.shape))


# -- the functions of JAX and torch --------------------------------------------------------------------------------------------


def placed(index: Any, arrays: list[Any]) -> Any:
    queue = iter(arrays)
    return tuple([next(queue) if i is ARRAY else i for i in index]) if isinstance(index, tuple) else index


def _listed(name: str) -> Callable[..., Any]:
    return lambda np, arrays: getattr(np, name)(*arrays)


def difference_matrix(n: int, edge_order: int, points: Any = 1.0) -> Any:
    """What np.gradient makes of each element."""
    return np.gradient(np.eye(n), np.asarray(points), axis=0, edge_order=edge_order)


def by_matrix(jnp: Any, matrix: Any, x: Any, axis: int) -> Any:
    return jnp.moveaxis(jnp.tensordot(matrix, jnp.moveaxis(x, axis, 0), 1), 0, axis)


def running(f: Any, x: Any, starts: Any = (0,)) -> list[Any]:
    """The results of a ufunc's accumulate along the last axis, by a loop."""
    found: list[Any] = []
    for i in range(x.shape[-1]):
        found.append(x[..., i] if i in starts else f(found[-1], x[..., i]))
    return found


def flat(moveaxis: Any, x: Any, axis: Any) -> Any:
    """The axes of a reduction as one, the last."""
    axes = [i % x.ndim for i in (range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,))]
    x = moveaxis(x, tuple(axes), tuple(range(x.ndim - len(axes), x.ndim)))
    return x.reshape((*x.shape[: x.ndim - len(axes)], -1))


def reduced(np: Any, moveaxis: Any, x: Any, name: str, axis: Any, dtype: Any, keep: bool) -> Any:
    return running(getattr(np, name[4:]), flat(moveaxis, x, axis))[-1]


def accumulated(np: Any, moveaxis: Any, x: Any, name: str, axis: int, dtype: Any, starts: Any) -> Any:
    return moveaxis(np.stack(running(getattr(np, name[4:]), moveaxis(x, axis, -1), starts or (0,)), -1), -1, axis)


def reduced_at(np: Any, moveaxis: Any, x: Any, name: str, indices: Any, axis: int, dtype: Any) -> Any:
    x = moveaxis(x, axis, -1)
    ends = [j if i < j else i + 1 for i, j in zip(indices, [*indices[1:], x.shape[-1]], strict=True)]
    return moveaxis(np.stack([running(getattr(np, name[4:]), x[..., i:j])[-1] for i, j in zip(indices, ends, strict=True)], -1), -1, axis)


def reduced_where(np: Any, moveaxis: Any, x: Any, name: str, mask: Any, initial: Any, axis: Any, dtype: Any, keep: bool) -> Any:
    """Each result from its chosen elements."""
    chosen = flat(NUMPY.moveaxis, NUMPY.broadcast_to(True if mask is None else mask, tuple(x.shape)), axis)
    x, f = flat(moveaxis, x, axis), getattr(np, name[4:])
    found = []
    for place in NUMPY.ndindex(chosen.shape[:-1]):
        elements = [x[(*place, int(i))] for i in NUMPY.flatnonzero(chosen[place])]
        result = elements.pop(0) if initial is None else initial * np.ones_like(x.reshape(-1)[0])
        for element in elements:
            result = f(result, element)
        found.append(result)
    return np.stack(found).reshape(chosen.shape[:-1])


METHODS = {"ufunc_reduce": reduced, "ufunc_accumulate": accumulated, "ufunc_reduceat": reduced_at, "ufunc_reduce_where": reduced_where}

JAX: dict[str, Callable[..., Any]] = {  # what does not take a row's cases under its name; the first argument is jax.numpy
    **{name: lambda np, *case, method=method: method(np, np.moveaxis, *case) for name, method in METHODS.items()},
    "getitem": lambda np, x, index, arrays: indexed(x, index, arrays),
    "select_index": lambda np, x, axis, i: np.take(x, i, axis),
    "scatter_add": lambda np, x, index, shape, arrays: np.zeros(shape).at[placed(index, arrays)].add(x),
    "setitem": lambda np, x, index, v, arrays: x.at[placed(index, arrays)].set(v),
    "fabs": lambda np, x: np.abs(x),
    "fraction": lambda np, x: np.modf(x)[0],
    "whole": lambda np, x: np.modf(x)[1],
    "mantissa": lambda np, x: np.frexp(x)[0],
    "exponent": lambda np, x: np.frexp(x)[1],
    "i1": lambda np, x: importlib.import_module("jax").scipy.special.i1(x),
    "divide_no_nan": lambda np, x, y: np.divide(x, y),
    "scalar_multiply": lambda np, x, y: np.multiply(x, y),
    "scalar_power": lambda np, x, y: np.power(x, y),
    "scalar_divide": lambda np, x, y: np.divide(x, y),
    "scalar_absolute": lambda np, x: np.absolute(x),
    "root": lambda np, x, n: np.power(x, 1 / n),
    "product_of_others": lambda np, x, product: np.stack([np.prod(np.delete(x, i, -1), -1) for i in range(x.shape[-1])], -1),
    "zero_unless": lambda np, condition, x: np.where(condition, x, 0),
    "zero_unless_nan": lambda np, condition, x, out: np.where(np.isnan(out), np.nan, np.where(condition, x, 0)),
    "average": lambda np, x, axis, by, keep: np.average(x, axis, by, keepdims=keep),
    "broadcast_arrays": _listed("broadcast_arrays"),
    "einsum": lambda np, text, operands, optimize: np.einsum(text, *operands),
    "einsum_with": lambda np, text, operands, optimize, dtype, *_: np.einsum(text, *operands) if dtype is None else np.einsum(text, *operands).astype(dtype),
    "full_like": lambda np, x, fill, dtype, shape: np.full_like(x, fill, dtype, shape=shape),
    "linalg_svd": lambda np, x: np.linalg.svd(x, full_matrices=False),
    "linalg_svdvals": lambda np, x: np.linalg.svd(x, compute_uv=False),
    "linalg_cofactors": lambda np, x: np.linalg.det(x)[..., None, None] * np.swapaxes(np.linalg.inv(x), -1, -2),
    "linalg_inv_lower": lambda np, x: np.linalg.inv(np.tril(x)),
    "linalg_tall_qr": lambda np, x: np.linalg.qr(x),
    "linalg_pinv": lambda np, x, rcond, hermitian: np.linalg.pinv(x) if rcond is None else np.linalg.pinv(x, rcond),
    **dict.fromkeys(["linalg_lstsq", "linalg_solved"], lambda np, a, b, rcond: np.linalg.lstsq(a, b, rcond, numpy_resid=True)),
    "linalg_eig": lambda np, a, real: np.linalg.eig(a),
    "linalg_eigvals": lambda np, a, real: np.linalg.eigvals(a),
    "linalg_inverse": lambda np, a: np.linalg.inv(a),
    "vander": lambda np, x, N, increasing: np.stack([x**i for i in range(x.size if N is None else N)][:: 1 if increasing else -1], 1),
    "poly_from_roots": lambda np, zeros: np.poly(zeros),
    "linalg_vector_norm": lambda np, x, axis, order, keep: np.linalg.vector_norm(x, axis=axis, ord=order, keepdims=keep),
    "linalg_matrix_norm": lambda np, x, order, keep: np.linalg.matrix_norm(x, ord=order, keepdims=keep),
    "linspace": lambda np, a, b, n, end, dtype, axis: np.linspace(a, b, n, end, False, dtype, axis),
    "nan_to_num": lambda np, x, nan, above, below: np.nan_to_num(x, nan=nan, posinf=above, neginf=below),
    **{
        name: lambda np, x, axis, dtype, keep, name=name: getattr(np, name)(x, axis, dtype, keepdims=keep)
        for name in ("prod", "mean", "sum", "nansum", "nanmean", "nanprod")
    },
    **{
        name: lambda np, x, axis, dtype, ddof, keep, name=name: getattr(np, name)(x, axis, dtype, ddof=ddof, keepdims=keep)
        for name in ("var", "std", "nanvar", "nanstd")
    },
    **{
        f"{name}_where": lambda np, x, mask, initial, axis, dtype, keep, name=name: getattr(np, name)(
            x, axis, keepdims=keep, where=mask, initial=initial
        )
        for name in ("sum", "prod", "nansum", "max", "min", "nanprod", "nanmax", "nanmin")
    },
    **{
        f"{name}_where": lambda np, x, mask, axis, dtype, keep, name=name: getattr(np, name)(x, axis, keepdims=keep, where=mask)
        for name in ("mean", "nanmean")
    },
    **{
        f"{name}_where": lambda np, x, mask, mean, axis, dtype, ddof, keep, name=name: getattr(np, name)(
            x, axis, ddof=ddof, keepdims=keep, **{"where": mask, **({} if mean is None else {"mean": mean})}
        )
        for name in ("var", "std", "nanvar", "nanstd")
    },
    **{
        name: lambda np, x, q, axis, method, weights, keep, name=name: getattr(np, name)(x, q, axis, method=method, keepdims=keep)
        for name in ("quantile", "nanquantile")
    },
    "equal_differences": lambda np, x, step, axis, edge: by_matrix(np, difference_matrix(x.shape[axis], edge), x, axis) / step,
    "spread_differences": lambda np, x, step, axis, edge: by_matrix(np, difference_matrix(x.shape[axis], edge).T, x, axis) / step,
    "differences_at": lambda np, x, points, axis, edge: by_matrix(np, difference_matrix(x.shape[axis], edge, points), x, axis),
    "overlapping": lambda np, a, w: np.stack([sum([a[..., i] * w[..., i + w.shape[-1] - 1 - k] for i in range(a.shape[-1]) if 0 <= i + w.shape[-1] - 1 - k < w.shape[-1]], 0.0) for k in range(a.shape[-1] + w.shape[-1] - 1)], -1),
    "sliding": lambda np, x, w: sum([x[..., i : x.shape[-1] - w.shape[-1] + 1 + i] * w[..., i : i + 1] for i in range(w.shape[-1])], 0.0),
    "unwrap": lambda np, x, discont, axis, period: np.unwrap(x, discont, axis, 2 * pi if period is None else period),
    "histogramdd": lambda np, x, bins, ends, weights, density: _of_boxes(np.histogramdd(x, bins, ends, weights, density)),
    "histogram_counts": lambda np, x, edges, weights, uniform: np.histogram(x, edges, weights=weights)[0],
    "scaled": lambda np, x, y: x * y,
    "lerp": lambda np, a, b, part, weak: a + (b - a) * part,
    "pad": lambda np, x, width, mode, *options: np.pad(x, width, mode, **padding(mode, *options)),
    "trapezoid": lambda np, y, x, dx, axis: np.trapezoid(y, x, 1.0 if dx is None else dx, axis),
    "sort": lambda np, x, axis, kind: np.sort(x, axis),
    "unique": lambda np, x, axis, equal_nan, in_order: np.unique(x, axis=axis),
    "partition": lambda np, x, kth, axis, kind: np.partition(x, kth, axis),
    "choose": lambda np, a, choices, mode: np.choose(a, choices, mode="clip" if mode == "raise" else mode),
    "unstack": lambda np, x, axis: np.unstack(x, axis=axis),
    "vecdot": lambda np, x, y, axis: np.vecdot(x, y, axis=axis),
    "take": lambda np, x, i, axis: np.take(x, i, axis, mode="wrap"),
    "clip": lambda np, x, low, high: np.clip(x, low, high),
}


def in_jax(op: OpOverload, np: Any) -> Callable[..., Any]:
    """The function of JAX that takes a row's cases. Raises AttributeError where there is none."""
    name = op.schema.name
    if op.schema.namespace == SCIPY:
        return getattr(importlib.import_module("jax.scipy.special"), RENAMED.get(name, name))  # type: ignore[no-any-return]
    if name in ("nextafter", "spacing"):  # which JAX has no derivative of
        raise AttributeError(name)
    if name in JAX:
        return lambda *case: JAX[name](np, *case)
    function = getattr(np.linalg, name.removeprefix("linalg_")) if name.startswith("linalg_") else getattr(np, name)
    count = op.arguments.positional
    return lambda *case: function(*case[:count], **dict(zip(op.arguments.keyword_names, case[count:], strict=True)))


def _of_boxes(found: Any) -> Any:
    return found[0], *found[1]


def _axes(x: Any, axis: Any) -> Any:
    return tuple(range(x.ndim)) if axis is None else axis


def _columns_times_rows(torch: Any, g: Any, a: Any) -> Any:
    """The gradient of the singular values, as torch's own svd has it: its svdvals refuses a complex cotangent."""
    u, _, vh = torch.linalg.svd(a, full_matrices=False)
    return (u * g[..., None, :]).to(vh.dtype) @ vh


TORCH: dict[str, Callable[..., Any]] = {  # the first argument is torch
    **{name: lambda t, *case, method=method: method(t, t.movedim, *case) for name, method in METHODS.items()},
    "absolute": lambda t, x: t.abs(x),
    "fabs": lambda t, x: t.abs(x),
    "fraction": lambda t, x: t.frac(x),
    "whole": lambda t, x: t.trunc(x),
    "mantissa": lambda t, x: t.frexp(x)[0],
    "exponent": lambda t, x: t.frexp(x)[1],
    "divmod": lambda t, x, y: (t.floor_divide(x, y), t.remainder(x, y)),
    "i1": lambda t, x: t.special.i1(x),
    "linalg_svdvals_pulled": _columns_times_rows,
    "sign": lambda t, x: t.sgn(x),
    "conjugate": lambda t, x: t.conj(x),
    "power": lambda t, x, y: t.pow(x, y),
    "scalar_multiply": lambda t, x, y: t.mul(x, y),
    "scalar_power": lambda t, x, y: t.pow(x, y),
    "scalar_divide": lambda t, x, y: t.div(x, y),
    "scalar_absolute": lambda t, x: t.abs(x),
    "sum": lambda t, x, axis, dtype, keep: t.sum(x, _axes(x, axis), keep),
    "mean": lambda t, x, axis, dtype, keep: t.mean(x, _axes(x, axis), keep),
    "max": lambda t, x, axis, keep: t.amax(x, _axes(x, axis), keep) if axis != () else x * 1.0,
    "min": lambda t, x, axis, keep: t.amin(x, _axes(x, axis), keep) if axis != () else x * 1.0,
    "ptp": lambda t, x, axis, keep: t.amax(x, _axes(x, axis), keep) - t.amin(x, _axes(x, axis), keep),
    "prod": lambda t, x, axis, dtype, keep: _prod(t, x if dtype is None else x.to(t.complex128), axis, keep),
    "var": lambda t, x, axis, dtype, ddof, keep: t.var(x, axis, correction=ddof, keepdim=keep),
    "std": lambda t, x, axis, dtype, ddof, keep: t.std(x, axis, correction=ddof, keepdim=keep),
    "nansum": lambda t, x, axis, dtype, keep: t.nansum(x, axis, keep),
    "nanmean": lambda t, x, axis, dtype, keep: t.nanmean(x, axis, keep),
    "cumprod": lambda t, x, axis, dtype: t.cumprod(
        (x if dtype is None else x.to(t.complex128)).reshape((-1,) if axis is None else x.shape), axis or 0
    ),
    "sort": lambda t, x, axis, kind: t.sort(x.reshape(-1) if axis is None else x, dim=axis or 0, stable=True)[0],
    "linalg_norm": lambda t, x, order, axis, keep: t.linalg.norm(x, order, axis, keep),
    "linalg_vector_norm": lambda t, x, axis, order, keep: t.linalg.vector_norm(x, order, axis, keep),
    "linalg_matrix_norm": lambda t, x, order, keep: t.linalg.matrix_norm(x, order, keepdim=keep),
    "linalg_slogdet": lambda t, a: tuple(t.linalg.slogdet(a)),
    "linalg_svd": lambda t, a: tuple(t.linalg.svd(a, full_matrices=False)),
    "linalg_qr": lambda t, a: tuple(t.linalg.qr(a)),
    "linalg_tall_qr": lambda t, a: tuple(t.linalg.qr(a)),
    "linalg_eigh": lambda t, a, triangle: tuple(t.linalg.eigh((a + a.mH) / 2, triangle)),
    "linalg_eigvalsh": lambda t, a, triangle: t.linalg.eigvalsh((a + a.mH) / 2, triangle),
    "linalg_cholesky": lambda t, a, upper: t.linalg.cholesky((a + a.mH) / 2, upper=upper),
    "linalg_lstsq": lambda t, a, b, rcond: _lstsq(t, a, b, rcond),
    "linalg_solved": lambda t, a, b, rcond: _lstsq(t, a, b if b.ndim > 1 else b[:, None], rcond),
    "linalg_eig": lambda t, a, real: tuple(t.linalg.eig(a)),
    "linalg_eigvals": lambda t, a, real: t.linalg.eigvals(a),
    "linalg_inverse": lambda t, a: t.linalg.inv(a),
    "linalg_cond": lambda t, a, p: t.linalg.cond(a) if p is None else t.linalg.norm(a, p) * t.linalg.norm(t.linalg.inv(a), p),
    "linalg_pinv": lambda t, a, rcond, hermitian: t.linalg.pinv(a) if rcond is None else t.linalg.pinv(a, rtol=rcond),
    "linalg_cofactors": lambda t, a: t.linalg.det(a)[..., None, None] * t.linalg.inv(a).mT,
    "linalg_inv_lower": lambda t, a: t.linalg.inv(t.tril(a)),
    "average": lambda t, x, axis, by, keep: _average(t, x, axis, by, keep),
    "cross": lambda t, x, y, a, b, c, axis: t.linalg.cross(
        *t.broadcast_tensors(x.movedim(a if axis is None else axis, -1), y.movedim(b if axis is None else axis, -1))
    ).movedim(-1, c if axis is None else axis),
    "dot": lambda t, x, y: x * y if 0 in (x.ndim, y.ndim) else t.tensordot(x, y, ([-1], [max(y.ndim - 2, 0)])),
    "inner": lambda t, x, y: x * y if 0 in (x.ndim, y.ndim) else t.inner(x, y),
    "outer": lambda t, x, y: t.outer(x.reshape(-1), y.reshape(-1)),
    "vdot": lambda t, x, y: t.vdot(x.reshape(-1), y.reshape(-1)),
    "vecdot": lambda t, x, y, axis: t.linalg.vecdot(x, y, dim=axis),
    "tensordot": lambda t, x, y, axes: t.tensordot(x, y, axes if isinstance(axes, int) else [[i] if isinstance(i, int) else list(i) for i in axes]),
    "trapezoid": lambda t, y, x, dx, axis: t.trapezoid(y, dx=1.0 if dx is None else dx, dim=axis) if x is None else t.trapezoid(y, x, dim=axis),
    "einsum": lambda t, text, operands, optimize: t.einsum(text, *operands),
    "root": lambda t, x, n: t.pow(x, 1 / n),
    "sliding": lambda t, x, w: _slid(x, w),
    "overlapping": lambda t, a, w: _slid(t.nn.functional.pad(a, (w.shape[-1] - 1,) * 2), w),
    "convolve": lambda t, a, v, mode: _overlapping(t, a, v.flip(0), mode, np.convolve),
    "correlate": lambda t, a, v, mode: _overlapping(t, a, v.conj(), mode, np.correlate),
    "interp": lambda t, x, xp, fp, left, right: _interpolated(t, x, xp, fp, left, right),
    "quantile": lambda t, x, q, axis, method, weights, keep: _quantile(t.quantile, t, x, q, axis, method, weights, keep),
    "nanquantile": lambda t, x, q, axis, method, weights, keep: _quantile(t.nanquantile, t, x, q, axis, method, weights, keep),
    "nanmedian": lambda t, x, axis, keep: _quantile(t.nanquantile, t, x, 0.5, axis, "linear", None, keep),
    "histogram_counts": lambda t, x, edges, weights, uniform: _histogram(t, x, edges, weights),
    "median": lambda t, x, axis, keep: _median(t, x, axis, keep),
    "clip": lambda t, x, low, high: t.clamp(*_broadcast(t, x, low, high)),
    "angle": lambda t, x, deg: t.angle(x) * (180 / np.pi if deg else 1),
    "round": lambda t, x, decimals: t.round(x, decimals=decimals),
}


def _slid(x: Any, w: Any) -> Any:
    """The products of one sequence with another, at each place where it lies within."""
    return sum(x[..., i : x.shape[-1] - w.shape[-1] + 1 + i] * w[..., i : i + 1] for i in range(w.shape[-1]))


def _overlapping(t: Any, a: Any, w: Any, mode: str, function: Any) -> Any:
    n, m = len(a), len(w)
    ends = t.zeros(m - 1, dtype=a.dtype)
    places = function(np.arange(1, n + 1), 1000.0 ** np.arange(m), mode), function(np.arange(1, n + 1), 1000.0 ** np.arange(m), "full")
    first = places[1].tolist().index(places[0][0])
    return _slid(t.cat([ends, a, ends]), w)[first : first + len(places[0])]


def _interpolated(t: Any, x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    n = len(xp)
    x = x if t.is_tensor(x) else t.tensor(x, dtype=xp.dtype)
    before = (t.searchsorted(xp, x, right=True) - 1).clamp(0, max(n - 2, 0))
    after = (before + 1).clamp(max=n - 1)
    length = t.where(xp[after] == xp[before], 1.0, xp[after] - xp[before])
    found = fp[before] + (x - xp[before]) * (fp[after] - fp[before]) / length
    found = t.where(x < xp[0], fp[0] if left is None else left, found)
    return t.where(x > xp[-1], fp[-1] if right is None else right, found)


def _quantile(function: Any, t: Any, x: Any, q: Any, axis: Any, method: str, weights: Any, keep: bool) -> Any:
    """torch's own, which takes one axis and a row of q."""
    if weights is not None or isinstance(axis, tuple) or method not in ("linear", "lower", "higher", "midpoint", "nearest") or (t.is_tensor(q) and q.ndim > 1):
        raise AttributeError("quantile")
    return function(x, q, axis, keep, interpolation=method)


def _histogram(t: Any, x: Any, edges: Any, weights: Any) -> Any:
    n, x = len(edges) - 1, np.asarray(x.detach())
    at = [np.flatnonzero(np.histogram(value, edges)[0]) for value in x]
    place = t.tensor([int(i[0]) if len(i) else n for i in at], dtype=t.int64)
    return t.zeros(n + 1, dtype=weights.dtype).index_add(0, place, weights)[:n]


def _prod(t: Any, x: Any, axis: Any, keep: bool) -> Any:
    for i in sorted((i % x.ndim for i in ([axis] if isinstance(axis, int) else _axes(x, axis))), reverse=True):
        x = t.prod(x, i, keep)
    return x


def _average(t: Any, x: Any, axis: Any, by: Any, keep: bool) -> Any:
    by = t.ones_like(x) if by is None else by.broadcast_to(x.shape)
    return t.sum(x * by, _axes(x, axis), keep) / t.sum(by, _axes(x, axis), keep)


def _lstsq(t: Any, a: Any, b: Any, rcond: Any) -> Any:
    """The solution, the squares that are left where there are more rows than columns, and singular values: torch's own leaves some out."""
    x = t.linalg.lstsq(a, b, rcond=rcond, driver="gelsd").solution
    rest = (a @ x - b).abs().square().sum(-2)
    return x, rest if a.shape[-2] > a.shape[-1] else rest * 0, t.linalg.svdvals(a)


def _median(t: Any, x: Any, axis: Any, keep: bool) -> Any:
    """The mean of the middle two, of sorted elements: torch's own takes the lower of them."""
    if isinstance(axis, tuple):
        raise AttributeError("median")  # noqa: TRY004 - there is no such function
    x = t.sort(x.reshape(-1) if axis is None else x, dim=axis or 0, stable=True)[0]
    n = x.shape[axis or 0]
    return x.narrow(axis or 0, (n - 1) // 2, 2 - n % 2).mean(axis or 0)


def _broadcast(t: Any, x: Any, *bounds: Any) -> Any:
    shape = t.broadcast_shapes(x.shape, *[b.shape for b in bounds if t.is_tensor(b)])
    return [x.broadcast_to(shape), *[b.broadcast_to(shape) if t.is_tensor(b) else b for b in bounds]]


def in_torch(op: OpOverload, torch: Any) -> Callable[..., Any]:
    """The function of torch that takes a row's cases; of pointwise rows and of linear algebra it has NumPy's name.

    Raises AttributeError where there is none.
    """
    name = op.schema.name
    if op.schema.namespace == SCIPY:
        return getattr(torch.special, RENAMED.get(name, name))  # type: ignore[no-any-return]
    if name in TORCH:
        return lambda *case: TORCH[name](torch, *case)
    if name.startswith("linalg_"):
        return getattr(torch.linalg, name.removeprefix("linalg_"))  # type: ignore[no-any-return]
    if Tag.pointwise not in op.tags and name not in ("where", "matmul", "diff", "kron", "sinc", "nan_to_num"):
        raise AttributeError(name)
    return getattr(torch, name)  # type: ignore[no-any-return]


ROWS = {op.schema.name: op for op in ops.np if not op.schema.is_mutable and op.schema.name not in UNSET}
# SciPy's functions that JAX or torch has, save those whose gradient JAX compiles for seconds
SCIPY, RENAMED = "scipy_special", {"psi": "digamma"}
SPECIAL_NAMES = "beta betaln boxcox boxcox1p dawsn entr erf erfc erfcx erfinv expit gamma gammainc gammaincc gammaln i0e i1e kl_div log_ndtr loggamma logit ndtr ndtri poch psi rel_entr spence xlog1py xlogy"
SPECIAL = {name: getattr(ops.scipy_special, name) for name in SPECIAL_NAMES.split()} if importlib.util.find_spec("scipy") else {}
