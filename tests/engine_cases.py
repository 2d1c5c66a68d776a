"""Calls of every row that an engine claims, on corner cases: 0, -0.0, inf, nan, the ends of integers, empty arrays, lengths of 1."""

import numpy as np

import dispatch
from dispatch import ops


def corners(dtype):
    """Numbers at which libraries differ."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 3, 7, info.min, info.max, info.max - 1, info.min + 1], dtype)
    tiny = np.finfo(dtype)
    ordinary = [0.25, -0.75, 1.5, -2.5, 3.0, 1e-3, -20.0, 100.0]
    return np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, tiny.max, -tiny.max, tiny.tiny, 0.5, -0.5, *ordinary], dtype)


def pairs(dtype):
    """All pairs of corners, as two arrays."""
    x, y = np.meshgrid(corners(dtype), corners(dtype))
    return x.ravel().copy(), y.ravel().copy()


def square(dtype):
    """A small matrix of corners that sums do not overflow."""
    dtype = np.dtype(dtype)
    values = corners(dtype)
    if dtype.kind == "f":
        values = values[np.abs(values) < 1e3]
    return np.resize(values, (4, 5)).astype(dtype)


def ufunc_calls(name):
    """Calls of a row with the signature of a ufunc, on pairs."""
    op = getattr(ops.np, name)
    if len(op.schema.arguments) == 1:
        return [lambda x, y: op(x)]
    return [op, lambda x, y: op(x, 2), lambda x, y: op(x, 0.5), lambda x, y: op(-1.5, y)]


POWERS = ("power", "scalar_power")
AXES = [(None, False), (0, False), (1, True), ((0, 1), True)]
ROWS = {
    **{
        name: [
            lambda x, a=a, k=k, n=name: getattr(ops.np, n)(x, axis=a, keepdims=k) for a, k in AXES
        ]
        for name in ("sum", "prod", "mean", "max", "min", "any", "all", "var", "std")
    },
    **{
        name: [lambda x, a=a, n=name: getattr(ops.np, n)(x, axis=a) for a in (None, 0, -1)]
        for name in ("argmax", "argmin", "cumsum", "cumprod")
    },
    "sum_to": [lambda x, s=s: ops.np.sum_to(x, s) for s in ((5,), (1, 5), (4, 1), ())],
    "clip": [lambda x: np.clip(x, 0, 1), lambda x: np.clip(x, x[0], None), lambda x: np.clip(x, None, 1), lambda x: np.clip(x, x[:, :1], x[0])],
    "where": [lambda x: np.where(x > 0, x, 1), lambda x: np.where(x[0] != 0, x[:1], x), lambda x: np.where(x == 0, 0, 1)],
    "reshape": [lambda x: x.reshape(2, -1), lambda x: x.reshape(-1)],
    "ravel_from": [np.ravel],
    "transpose": [np.transpose, lambda x: x.reshape(2, 2, 5).transpose(2, 0, 1)],
    "swapaxes": [lambda x: np.swapaxes(x, 0, -1)],
    "moveaxis": [lambda x: np.moveaxis(x.reshape(2, 2, 5), 0, -1), lambda x: np.moveaxis(x.reshape(2, 2, 5), (0, 1), (1, 2))],
    "broadcast_to": [lambda x: np.broadcast_to(x, (2, 4, 5)), lambda x: np.broadcast_to(x[:, :1], (4, 3))],
    "expand_dims": [lambda x: np.expand_dims(x, 1), lambda x: np.expand_dims(x, (0, -1))],
    "squeeze": [lambda x: np.squeeze(x[:1]), lambda x: np.squeeze(x[:, None], 1)],
    "diagonal": [np.diagonal, lambda x: np.diagonal(x, -1), lambda x: np.diagonal(x, 2, 1, 0)],
    "concatenate": [lambda x: np.concatenate([x, x[:2]]), lambda x: np.concatenate([x, x], 1), lambda x: np.concatenate([x, x], None)],
    "stack": [lambda x: np.stack([x, x]), lambda x: np.stack([x, x], -1)],
    "getitem": [lambda x: x[1], lambda x: x[::-1], lambda x: x[-1, ..., None, 3:0:-2], lambda x: x[4:], lambda x: x[:, -3:100:2], lambda x: x[..., 0]],
    "select_index": [lambda x: ops.np.select_index(x, 1, 2), lambda x: ops.np.select_index(x, 0, -1)],
    "setitem": [lambda x: ops.np.setitem(x, slice(1, 3), x[0]), lambda x: ops.np.setitem(x, (Ellipsis, 2), 1), lambda x: ops.np.setitem(x, (0, slice(None, None, -1)), x[1])],
    "scatter_add": [lambda x: ops.np.scatter_add(x, (Ellipsis, slice(0, 10, 2)), (4, 10)), lambda x: ops.np.scatter_add(x[0], 1, (3, 5))],
    "clone": [lambda x: ops.np.clone(x)],
    "copy": [np.copy, lambda x: x.T.copy()],
    "zeros": [lambda x: ops.np.zeros((3,), x.dtype)],
    "ones": [lambda x: ops.np.ones((3,), x.dtype)],
    "zeros_like": [np.zeros_like], "ones_like": [np.ones_like],
    "full": [lambda x: np.full((3,), x[0, 0]), lambda x: ops.np.full((2, 5), x[0], x.dtype)], "full_like": [lambda x: np.full_like(x, 1)],
    "astype": [lambda x: x.astype(np.float32), lambda x: x.astype(np.float64), lambda x: x.astype(np.int8), lambda x: x.astype(bool)],
    "matmul": [lambda x: x @ x.T, lambda x: x @ x[0], lambda x: np.matmul(x.reshape(2, 2, 5), x.T)],
    "dot": [lambda x: np.dot(x, x.T), lambda x: np.dot(x[0], x[1])],
    "einsum": [lambda x: np.einsum("ij,kj->ik", x, x), lambda x: np.einsum("ij,ij->", x, x), lambda x: np.einsum("ij->j", x)],
    **{name: [lambda x, n=n, name=name: getattr(ops.np, name)(x, n) for n in (0.5, 2, 3.0, -1)] for name in POWERS},
    "divide_no_nan": [lambda x: ops.np.divide_no_nan(x, x), lambda x: ops.np.divide_no_nan(x, x[0])],
    "root": [lambda x: ops.np.root(x, 2.0), lambda x: ops.np.root(np.absolute(x), 3.0)],
}  # fmt: skip


def alike(found, expected, scale=0.0):
    """Whether each number is NumPy's: to 1e-11 of itself, in single precision to 1e-5, others to the bit. Sums may be off by
    1e-13 of `scale`, the largest of their terms."""
    if isinstance(expected, np.generic):
        found = found[()]  # engines have no numbers; what runs them makes these
    if type(found) is not type(expected) or (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return False
    if expected.dtype.kind != "f":
        return np.array_equal(found, expected)
    rtol, atol = (1e-11, 1e-14) if expected.dtype == np.float64 else (1e-5, 1e-6)
    return np.allclose(found, expected, rtol, atol + 1e-13 * scale, equal_nan=True)


def calls(engine, dtype, thorough=True):
    """The calls of the tables for one dtype that an engine claims: row, function, arguments. Of a row one, if not `thorough`."""
    x, y = pairs(dtype)
    given = [(name, lambda x, y, n=name: getattr(ops.np, n)(x, y), (x, y)) for name in POWERS if name in engine.rows]
    given += [(name, lambda x, y, n=name: getattr(ops.np, n)(x, 0.5), (x, y)) for name in POWERS if name in engine.rows]
    given += [(name, f, (x, y)) for name in engine.ufuncs for f in ufunc_calls(name)[: None if thorough else 1]]
    given += [(name, f, (square(dtype),)) for name in engine.rows for f in ROWS[name][: None if thorough else 1]]
    given += [(name, f, (square(dtype)[:0],)) for name in engine.rows for f in ROWS[name][:1] if thorough]
    for name, f, args in given:
        try:
            nodes = [node for node in dispatch.make_fx(f, "fake")(*args).nodes if node.op is not None]
        except (TypeError, ValueError, OverflowError, IndexError):  # NumPy refuses it
            continue
        if all(map(engine.claims, nodes)):
            yield name, f, args
