"""NumPy's spellings, each beside the row of `dispatch.ops.np` that it means; `tests/numpy_ops/test_protocols.py` tries them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatch import ops

A = np.array([[1.5, 0.5, 2.0], [0.25, 3.0, 1.0]])
B = np.array([[2.0, 0.5, 1.0], [1.25, 2.0, 3.0]])

# A spelling of NumPy's, and the row by its own name; x is the value under test, b a plain array.
SPELLINGS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "np.sum": (lambda x, b: np.sum(x), lambda x, b: ops.np.sum(x)),
    "np.sum axis": (lambda x, b: np.sum(x, axis=-1, keepdims=True), lambda x, b: ops.np.sum(x, -1, keepdims=True)),
    "np.sum dtype": (lambda x, b: np.sum(x, 0, np.float32), lambda x, b: ops.np.sum(x, 0, np.float32)),
    "np.sum a=": (lambda x, b: np.sum(a=x, axis=0), lambda x, b: ops.np.sum(x, 0)),
    "np.mean": (lambda x, b: np.mean(x, (0, 1)), lambda x, b: ops.np.mean(x, (0, 1))),
    "np.max": (lambda x, b: np.max(x, axis=0), lambda x, b: ops.np.max(x, 0)),
    "np.amax": (lambda x, b: np.amax(x), lambda x, b: ops.np.max(x)),
    "np.min": (lambda x, b: np.min(x, 1, keepdims=True), lambda x, b: ops.np.min(x, 1, keepdims=True)),
    "np.amin": (lambda x, b: np.amin(x), lambda x, b: ops.np.min(x)),
    "np.reshape": (lambda x, b: np.reshape(x, (3, 2)), lambda x, b: ops.np.reshape(x, (3, 2))),
    "np.transpose": (lambda x, b: np.transpose(x), lambda x, b: ops.np.transpose(x)),
    "np.swapaxes": (lambda x, b: np.swapaxes(x, 0, 1), lambda x, b: ops.np.swapaxes(x, 0, 1)),
    "np.moveaxis": (lambda x, b: np.moveaxis(x, 0, -1), lambda x, b: ops.np.moveaxis(x, 0, -1)),
    "np.broadcast_to": (lambda x, b: np.broadcast_to(x, (4, 2, 3)), lambda x, b: ops.np.broadcast_to(x, (4, 2, 3))),
    "np.expand_dims": (lambda x, b: np.expand_dims(x, axis=1), lambda x, b: ops.np.expand_dims(x, 1)),
    "np.squeeze": (lambda x, b: np.squeeze(x[:1]), lambda x, b: ops.np.squeeze(ops.np.getitem(x, slice(1)))),
    "np.concatenate": (lambda x, b: np.concatenate([x, b], axis=1), lambda x, b: ops.np.concatenate([x, b], 1)),
    "np.stack": (lambda x, b: np.stack((b, x)), lambda x, b: ops.np.stack((b, x))),
    "np.where": (lambda x, b: np.where(x > b, x, 0.0), lambda x, b: ops.np.where(ops.np.greater(x, b), x, 0.0)),
    "np.zeros_like": (lambda x, b: np.zeros_like(x), lambda x, b: ops.np.zeros_like(x)),
    "np.ones_like": (lambda x, b: np.ones_like(x, dtype="f4"), lambda x, b: ops.np.ones_like(x, "f4")),
    "np.full_like": (lambda x, b: np.full_like(x, 2.0, shape=(4,)), lambda x, b: ops.np.full_like(x, 2.0, shape=(4,))),
    "np.real": (lambda x, b: np.real(x), lambda x, b: ops.np.real(x)),
    "np.imag": (lambda x, b: np.imag(x * 1j), lambda x, b: ops.np.imag(ops.np.multiply(x, 1j))),
    "np.copy": (lambda x, b: np.copy(x), lambda x, b: ops.np.copy(x)),
    "np.take": (lambda x, b: np.take(x[0] * 1, 2, axis=0), lambda x, b: ops.np.take(ops.np.getitem(x, 0), 2, 0)),
    "np.take flat": (lambda x, b: np.take(x, 4), lambda x, b: ops.np.take(x, 4)),
    "np.ravel": (lambda x, b: np.ravel(x), lambda x, b: ops.np.reshape(x, -1)),
    "np.dot": (lambda x, b: np.dot(x, b.T), lambda x, b: ops.np.matmul(x, b.T)),
    "np.matmul": (lambda x, b: np.matmul(b.T, x), lambda x, b: ops.np.matmul(b.T, x)),
    "np.add": (lambda x, b: np.add(b, x), lambda x, b: ops.np.add(b, x)),
    "np.add.reduce": (lambda x, b: np.add.reduce(x), lambda x, b: ops.np.sum(x, 0)),
    "np.maximum.reduce": (lambda x, b: np.maximum.reduce(x, 1), lambda x, b: ops.np.max(x, 1)),
    "np.minimum.reduce": (
        lambda x, b: np.minimum.reduce(x, axis=None, keepdims=True),
        lambda x, b: ops.np.min(x, keepdims=True),
    ),
    "x + b": (lambda x, b: x + b, ops.np.add),
    "b + x": (lambda x, b: b + x, lambda x, b: ops.np.add(b, x)),
    "x - 1": (lambda x, b: x - 1, lambda x, b: ops.np.subtract(x, 1)),
    "1 - x": (lambda x, b: 1 - x, lambda x, b: ops.np.subtract(1, x)),
    "x * scalar": (lambda x, b: x * np.float32(2), lambda x, b: ops.np.multiply(x, np.float32(2))),
    "scalar * x": (lambda x, b: np.float64(2.0) * x, lambda x, b: ops.np.multiply(np.float64(2.0), x)),
    "0-d * x": (lambda x, b: b[0, 0] * x, lambda x, b: ops.np.multiply(b[0, 0], x)),
    "x / b": (lambda x, b: x / b, ops.np.divide),
    "2 / x": (lambda x, b: 2 / x, lambda x, b: ops.np.divide(2, x)),
    "x // b": (lambda x, b: x // b, ops.np.floor_divide),
    "b // x": (lambda x, b: b // x, lambda x, b: ops.np.floor_divide(b, x)),
    "x % b": (lambda x, b: x % b, ops.np.remainder),
    "5 % x": (lambda x, b: 5 % x, lambda x, b: ops.np.remainder(5, x)),
    "x ** 2": (lambda x, b: x**2, lambda x, b: ops.np.power(x, 2)),
    "2 ** x": (lambda x, b: 2**x, lambda x, b: ops.np.power(2, x)),
    "x @ b": (lambda x, b: x @ b.T, lambda x, b: ops.np.matmul(x, b.T)),
    "b @ x": (lambda x, b: b.T @ x, lambda x, b: ops.np.matmul(b.T, x)),
    "-x": (lambda x, b: -x, lambda x, b: ops.np.negative(x)),
    "+x": (lambda x, b: +x, lambda x, b: ops.np.positive(x)),
    "abs(x)": (lambda x, b: abs(x), lambda x, b: ops.np.absolute(x)),
    "x == b": (lambda x, b: x == b, ops.np.equal),
    "b != x": (lambda x, b: b != x, lambda x, b: ops.np.not_equal(b, x)),
    "x < b": (lambda x, b: x < b, ops.np.less),
    "1 <= x": (lambda x, b: x >= 1, lambda x, b: ops.np.greater_equal(x, 1)),
    "x > b": (lambda x, b: x > b, ops.np.greater),
    "x <= b": (lambda x, b: x <= b, ops.np.less_equal),
    "masks": (
        lambda x, b: ~((x > 1) & (x < b) | (x == 2) ^ (x > b)),
        lambda x, b: ops.np.invert(
            ops.np.bitwise_or(
                ops.np.bitwise_and(ops.np.greater(x, 1), ops.np.less(x, b)),
                ops.np.bitwise_xor(ops.np.equal(x, 2), ops.np.greater(x, b)),
            )
        ),
    ),
    "x.sum": (lambda x, b: x.sum(0), lambda x, b: ops.np.sum(x, 0)),
    "x.mean": (lambda x, b: x.mean(axis=1, keepdims=True), lambda x, b: ops.np.mean(x, 1, keepdims=True)),
    "x.max": (lambda x, b: x.max(), lambda x, b: ops.np.max(x)),
    "x.min": (lambda x, b: x.min(axis=0), lambda x, b: ops.np.min(x, 0)),
    "x.reshape": (lambda x, b: x.reshape(3, -1), lambda x, b: ops.np.reshape(x, (3, -1))),
    "x.reshape one": (lambda x, b: x.reshape((6,)), lambda x, b: ops.np.reshape(x, 6)),
    "x.transpose": (lambda x, b: x.transpose(), lambda x, b: ops.np.transpose(x)),
    "x.transpose axes": (lambda x, b: x.transpose(1, 0), lambda x, b: ops.np.transpose(x, (1, 0))),
    "x.transpose tuple": (lambda x, b: x.transpose((1, 0)), lambda x, b: ops.np.transpose(x, (1, 0))),
    "x.swapaxes": (lambda x, b: x.swapaxes(0, 1), lambda x, b: ops.np.swapaxes(x, 0, 1)),
    "x.squeeze": (lambda x, b: x[None].squeeze(0), lambda x, b: x),
    "x.dot": (lambda x, b: x.dot(b.T), lambda x, b: ops.np.matmul(x, b.T)),
    "x.take": (lambda x, b: x.take(1, 1), lambda x, b: ops.np.getitem(x, (slice(None), 1))),
    "x.astype": (lambda x, b: x.astype(np.float32), lambda x, b: ops.np.astype(x, np.float32)),
    "x.copy": (lambda x, b: x.copy(), lambda x, b: ops.np.copy(x)),
    "x.ravel": (lambda x, b: x.ravel(), lambda x, b: ops.np.reshape(x, -1)),
    "x.flatten": (lambda x, b: x.flatten(), lambda x, b: ops.np.reshape(x, -1)),
    "x.conj": (lambda x, b: x.conj(), lambda x, b: ops.np.conjugate(x)),
    "x.conjugate": (lambda x, b: x.conjugate(), lambda x, b: ops.np.conjugate(x)),
    "x.T": (lambda x, b: x.T, lambda x, b: ops.np.transpose(x)),
    "x.mT": (lambda x, b: x.mT, lambda x, b: ops.np.swapaxes(x, 0, 1)),
    "x.real": (lambda x, b: x.real, lambda x, b: ops.np.real(x)),
    "x.imag": (lambda x, b: (x * 2j).imag, lambda x, b: ops.np.multiply(x, 2.0)),
    "x[1]": (lambda x, b: x[1], lambda x, b: ops.np.getitem(x, 1)),
    "x[..., None]": (
        lambda x, b: x[..., None, ::2],
        lambda x, b: ops.np.getitem(x, (Ellipsis, None, slice(None, None, 2))),
    ),
    "x[[1, 0]]": (lambda x, b: x[[1, 0]], lambda x, b: ops.np.getitem(x, [1, 0])),
    "x[:, [1, 0]]": (lambda x, b: x[:, [1, 0]], lambda x, b: ops.np.getitem(x, (slice(None), [1, 0]))),
}


def same(spelled: Callable[..., Any], row: Callable[..., Any], *rest: Any, **keywords: Any) -> tuple[Any, Any]:
    """A spelling whose further arguments are the row's."""
    return lambda x, b: spelled(x, *rest, **keywords), lambda x, b: row(x, *rest, **keywords)


def of_square(spelled: Callable[..., Any], row: Callable[..., Any], *rest: Any, **keywords: Any) -> tuple[Any, Any]:
    """A spelling of what takes a square matrix."""
    return lambda x, b: spelled(x @ x.T, *rest, **keywords), lambda x, b: row(ops.np.matmul(x, x.T), *rest, **keywords)


def both(spelled: Callable[..., Any], row: Callable[..., Any], *rest: Any, **keywords: Any) -> tuple[Any, Any]:
    """A spelling of what takes two arrays."""
    return lambda x, b: spelled(x, b, *rest, **keywords), lambda x, b: row(x, b, *rest, **keywords)


def listed(spelled: Callable[..., Any], row: Callable[..., Any], *rest: Any, **keywords: Any) -> tuple[Any, Any]:
    """A spelling of what takes a list of arrays."""
    return lambda x, b: spelled([x, b], *rest, **keywords), lambda x, b: row([x, b], *rest, **keywords)


def nth(n: int, pair: tuple[Any, Any]) -> tuple[Any, Any]:
    """One of several results."""
    return lambda x, b: pair[0](x, b)[n], lambda x, b: pair[1](x, b)[n]


o, la = ops.np, np.linalg
PLACES = np.array([[2, 0], [1, 1]])
SPELLINGS |= {
    "np.linalg.solve": (lambda x, b: la.solve(x @ x.T, b), lambda x, b: o.linalg_solve(o.matmul(x, x.T), b)),
    "np.linalg.inv": of_square(la.inv, o.linalg_inv),
    "np.linalg.pinv": same(la.pinv, o.linalg_pinv),
    "np.linalg.matrix_power": of_square(la.matrix_power, o.linalg_matrix_power, 3),
    "np.linalg.det": of_square(la.det, o.linalg_det),
    "np.linalg.slogdet": nth(1, of_square(la.slogdet, o.linalg_slogdet)),
    "np.linalg.cholesky": of_square(la.cholesky, o.linalg_cholesky, upper=True),
    "np.linalg.eigh": nth(0, of_square(la.eigh, o.linalg_eigh)),
    "np.linalg.eigvalsh": of_square(la.eigvalsh, o.linalg_eigvalsh, "U"),
    "np.linalg.svd": (lambda x, b: la.svd(x, full_matrices=False).S, lambda x, b: o.linalg_svd(x)[1]),
    "np.linalg.svd values": (lambda x, b: la.svd(x, compute_uv=False), lambda x, b: o.linalg_svdvals(x)),
    "np.linalg.svdvals": same(la.svdvals, o.linalg_svdvals),
    "np.linalg.qr": (lambda x, b: la.qr(x.T).R, lambda x, b: o.linalg_qr(x.T)[1]),
    "np.linalg.norm": same(la.norm, o.linalg_norm, axis=1, keepdims=True),
    "np.linalg.vector_norm": same(la.vector_norm, o.linalg_vector_norm, axis=0, ord=1),
    "np.linalg.matrix_norm": same(la.matrix_norm, o.linalg_matrix_norm, ord=1),
    "np.linalg.multi_dot": (lambda x, b: la.multi_dot([x, b.T, x]), lambda x, b: o.linalg_multi_dot([x, b.T, x])),
    "np.linalg.matmul": (lambda x, b: la.matmul(x, b.T), lambda x, b: o.matmul(x, b.T)),
    "np.linalg.outer": (lambda x, b: la.outer(x[0], b[1]), lambda x, b: o.outer(x[0], b[1])),
    "np.linalg.tensordot": both(la.tensordot, o.tensordot, axes=2),
    "np.linalg.vecdot": both(la.vecdot, o.vecdot),
    "np.linalg.cross": both(la.cross, o.cross),
    "np.linalg.diagonal": (lambda x, b: la.diagonal(x, offset=1), lambda x, b: o.diagonal(x, 1)),
    "np.linalg.trace": (lambda x, b: la.trace(x), lambda x, b: o.trace(x)),
    "np.linalg.matrix_transpose": (lambda x, b: la.matrix_transpose(x), lambda x, b: o.swapaxes(x, 0, 1)),
    "np.matrix_transpose": (lambda x, b: np.matrix_transpose(x), lambda x, b: o.swapaxes(x, 0, 1)),
    "np.einsum": (lambda x, b: np.einsum("ij,kj->ik", x, b, optimize=True), lambda x, b: o.einsum("ij,kj->ik", [x, b])),
    "np.einsum_path": (lambda x, b: x * len(np.einsum_path("ij,kj->ik", x, b)), lambda x, b: o.multiply(x, 2)),
    "np.tensordot": both(np.tensordot, o.tensordot, ([0, 1], [0, 1])),
    "np.inner": both(np.inner, o.inner),
    "np.outer": both(np.outer, o.outer),
    "np.vdot": both(np.vdot, o.vdot),
    "np.vecdot": both(np.vecdot, o.vecdot),
    "np.kron": both(np.kron, o.kron),
    "np.cross": both(np.cross, o.cross),
    "np.diagonal": same(np.diagonal, o.diagonal, 1),
    "np.diag": same(np.diag, o.diag, -1),
    "np.diagflat": same(np.diagflat, o.diagflat),
    "np.trace": same(np.trace, o.trace, 1),
    "np.tril": same(np.tril, o.tril),
    "np.triu": same(np.triu, o.triu, 1),
    "np.cumsum": same(np.cumsum, o.cumsum, axis=1),
    "np.cumprod": same(np.cumprod, o.cumprod),
    "np.diff": same(np.diff, o.diff, axis=0),
    "np.trapezoid": (lambda x, b: np.trapezoid(x, dx=2.0), lambda x, b: o.trapezoid(x, None, 2.0)),
    "np.sort": same(np.sort, o.sort, axis=0),
    "np.argsort": (lambda x, b: np.argsort(x, kind="stable"), lambda x, b: o.argsort(x)),
    "np.median": same(np.median, o.median, 1, keepdims=True),
    "np.argmax": same(np.argmax, o.argmax),
    "np.argmin": same(np.argmin, o.argmin, axis=1, keepdims=True),
    "np.searchsorted": (lambda x, b: np.searchsorted(b[1], x, side="right"), lambda x, b: o.searchsorted(b[1], x, "right")),
    "np.prod": same(np.prod, o.prod, 0),
    "np.multiply.reduce": (lambda x, b: np.multiply.reduce(x, 1), lambda x, b: o.prod(x, 1)),
    "np.logical_and.reduce": (lambda x, b: np.logical_and.reduce(x), lambda x, b: o.all(x, 0)),
    "np.all": (lambda x, b: np.all(x > 1, axis=0), lambda x, b: o.all(o.greater(x, 1), 0)),
    "np.any": (lambda x, b: np.any(x > 2), lambda x, b: o.any(o.greater(x, 2))),
    "np.var": same(np.var, o.var, 0, ddof=1),
    "np.std": same(np.std, o.std, axis=1, keepdims=True),
    "np.average": (lambda x, b: np.average(x, weights=b), lambda x, b: o.average(x, None, b)),
    "np.ptp": same(np.ptp, o.ptp, 1),
    "np.count_nonzero": same(np.count_nonzero, o.count_nonzero, axis=0),
    "np.nansum": same(np.nansum, o.nansum, 1),
    **{f"np.{name}": same(getattr(np, name), getattr(o, name), 1) for name in ("nanmax", "nanmin", "nanprod", "nanvar", "nanstd", "nancumsum", "nancumprod")},
    "np.nanmean": same(np.nanmean, o.nanmean),
    "np.clip": same(np.clip, o.clip, 0.6, 1.2),
    "np.clip min=": (lambda x, b: np.clip(x, None, b), lambda x, b: o.clip(x, None, b)),
    "np.round": same(np.round, o.round, 1),
    "np.around": same(np.around, o.round),
    "np.sinc": same(np.sinc, o.sinc),
    "np.angle": same(np.angle, o.angle),
    "np.nan_to_num": (lambda x, b: np.nan_to_num(x, nan=2.0), lambda x, b: o.nan_to_num(x, 2.0)),
    "np.isposinf": same(np.isposinf, o.isposinf),
    "np.isneginf": same(np.isneginf, o.isneginf),
    "np.isclose": both(np.isclose, o.isclose, rtol=0.5),
    "np.allclose": (lambda x, b: np.logical_or(np.allclose(x, b), False), lambda x, b: o.all(o.isclose(x, b))),
    "np.array_equal": (lambda x, b: np.logical_or(np.array_equal(x, b), False), lambda x, b: o.all(o.equal(x, b))),
    "np.vstack": listed(np.vstack, o.vstack),
    "np.hstack": listed(np.hstack, o.hstack),
    "np.dstack": listed(np.dstack, o.dstack),
    "np.column_stack": listed(np.column_stack, o.column_stack),
    "np.append": both(np.append, o.append, axis=0),
    "np.delete": same(np.delete, o.delete, 1, axis=1),
    "np.split": nth(1, same(np.split, o.split, [1], axis=1)),
    "np.array_split": nth(1, same(np.array_split, o.array_split, 2, 1)),
    "np.vsplit": nth(0, same(np.vsplit, o.vsplit, 2)),
    "np.hsplit": nth(2, same(np.hsplit, o.hsplit, 3)),
    "np.dsplit": (lambda x, b: np.dsplit(x[None], 3)[1], lambda x, b: o.dsplit(x[None], 3)[1]),
    "np.atleast_1d": same(np.atleast_1d, o.atleast_1d),
    "np.atleast_2d": (lambda x, b: np.atleast_2d(x[0], b)[0], lambda x, b: o.atleast_2d(x[0])),
    "np.atleast_3d": same(np.atleast_3d, o.atleast_3d),
    "np.broadcast_arrays": (
        lambda x, b: np.broadcast_arrays(x[0], b)[0] * 1,
        lambda x, b: o.multiply(o.broadcast_arrays([x[0], b])[0], 1),
    ),
    "np.meshgrid": (lambda x, b: np.meshgrid(x[0], b[0])[0], lambda x, b: o.meshgrid([x[0], b[0]])[0]),
    "np.tile": same(np.tile, o.tile, (2, 1)),
    "np.repeat": same(np.repeat, o.repeat, 2, axis=0),
    "np.flip": same(np.flip, o.flip, axis=1),
    "np.fliplr": same(np.fliplr, o.fliplr),
    "np.flipud": same(np.flipud, o.flipud),
    "np.roll": same(np.roll, o.roll, 1, axis=1),
    "np.rollaxis": same(np.rollaxis, o.rollaxis, 1),
    "np.rot90": same(np.rot90, o.rot90),
    "np.pad": same(np.pad, o.pad, 1, constant_values=2.0),
    "np.linspace": both(np.linspace, o.linspace, 5),
    "x.prod": (lambda x, b: x.prod(), lambda x, b: o.prod(x)),
    "x.var": (lambda x, b: x.var(0), lambda x, b: o.var(x, 0)),
    "x.std": (lambda x, b: x.std(axis=1, ddof=1), lambda x, b: o.std(x, 1, ddof=1)),
    "x.all": (lambda x, b: x.all(0), lambda x, b: o.all(x, 0)),
    "x.any": (lambda x, b: x.any(), lambda x, b: o.any(x)),
    "x.argmax": (lambda x, b: x.argmax(1), lambda x, b: o.argmax(x, 1)),
    "x.argmin": (lambda x, b: x.argmin(), lambda x, b: o.argmin(x)),
    "x.argsort": (lambda x, b: x.argsort(0), lambda x, b: o.argsort(x, 0)),
    "x.cumsum": (lambda x, b: x.cumsum(1), lambda x, b: o.cumsum(x, 1)),
    "x.cumprod": (lambda x, b: x.cumprod(), lambda x, b: o.cumprod(x)),
    "x.clip": (lambda x, b: x.clip(0.5, max=b), lambda x, b: o.clip(x, 0.5, b)),
    "x.round": (lambda x, b: x.round(1), lambda x, b: o.round(x, 1)),
    "x.repeat": (lambda x, b: x.repeat(2, 1), lambda x, b: o.repeat(x, 2, 1)),
    "x.diagonal": (lambda x, b: x.diagonal(), lambda x, b: o.diagonal(x)),
    "x.trace": (lambda x, b: x.trace(1), lambda x, b: o.trace(x, 1)),
    "x.searchsorted": (lambda x, b: x[0, 1:].searchsorted(b), lambda x, b: o.searchsorted(x[0, 1:], b)),
}
