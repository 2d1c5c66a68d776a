"""Backend `jax`: runs the calls that JAX computes as NumPy does under `jax.jit`.

Arrays keep their dtypes, float64 too: each run turns on JAX's 64-bit numbers in its thread while it runs, and leaves the user's
setting as it is.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ...core.optional import require
from ...graph import Graph, Metadata
from .engine_rows import BOOLS, FLOATS, INTEGERS, REAL, Engine, Once, Row, basic_index, check_cast, is_root
from .lookup import register_backend

# Rows that JAX has under NumPy's name, by the dtypes for which the two compute the same.
SAME = {
    FLOATS: """
        sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh
        arctanh cbrt deg2rad rad2deg degrees radians
        floor ceil trunc rint fabs reciprocal divide fmax fmin arctan2 hypot logaddexp logaddexp2
        copysign fmod remainder floor_divide heaviside nextafter isnan isinf isfinite signbit
    """,
    FLOATS | INTEGERS: "absolute square negative positive sign subtract",
    REAL: """
        add multiply maximum minimum equal not_equal less less_equal greater greater_equal logical_and logical_or
        logical_xor logical_not
    """,
    INTEGERS | BOOLS: "bitwise_and bitwise_or bitwise_xor invert",
}  # fmt: skip


class Jax(Engine):
    """JAX, for one graph after the other."""

    name = "jax"
    dtypes = REAL

    def __init__(self) -> None:
        super().__init__()
        self.jax = require("jax", "jax", needed_by="compile(backend='jax')")
        self.jnp = self.jax.numpy
        self.ufuncs = {name: (kinds, getattr(self.jnp, name)) for kinds, names in SAME.items() for name in names.split()}
        self.ufuncs |= {
            "scalar_" + name: (FLOATS, getattr(self.jnp, name)) for name in ("multiply", "divide", "absolute")
        }
        self.rows = self._rows()
        self.loops = {"scan": self._scan, "while_loop": self._while, "cond": self._cond}

    def wide(self) -> AbstractContextManager[Any]:
        """Return a `with` block in which float64 stays float64, in this thread."""
        found: AbstractContextManager[Any]
        found = self.jax.enable_x64(True) if hasattr(self.jax, "enable_x64") else self.jax.experimental.enable_x64()
        return found

    def array(self, x: Any, dtype: np.dtype[Any]) -> Any:
        check_cast(x, dtype)
        return self.jnp.asarray(x, dtype)

    def constant(self, x: np.ndarray) -> Any:
        return self.jnp.asarray(x)

    def layout(self, f: Callable[..., Any], *planned: Metadata) -> tuple[tuple[int, ...], np.dtype[Any]]:
        with self.wide():
            found = self.jax.eval_shape(f, *[self.jax.ShapeDtypeStruct(x.shape, x.dtype) for x in planned])
        return found.shape, found.dtype

    def _rows(self) -> dict[str, tuple[frozenset[str], Row]]:
        found = {name: (FLOATS, f) for name, f in self._of_floats().items()}
        found |= {name: (REAL, f) for name, f in (self._of_numbers() | self._of_layouts()).items()}
        found["astype"] = (FLOATS, lambda out, x, dtype: x.astype(out.dtype))
        return found

    def _of_floats(self) -> dict[str, Row]:
        jnp, cast = self.jnp, self._cast

        def spread(function: Row) -> Row:
            return lambda out, x, axis, dtype, ddof, keepdims: function(
                self.array(x, out.dtype), axis, ddof=ddof, keepdims=keepdims
            )

        def power(out: Metadata, x: Any, y: Any) -> Any:
            if is_root(out, y):
                return jnp.sqrt(*cast(out, x))
            hidden = isinstance(y, float) and y == 0.5  # XLA would take a root
            x, y = cast(out, x, y)
            return jnp.power(x, self.jax.lax.optimization_barrier(y) if hidden else y)

        return {
            **dict.fromkeys(("power", "scalar_power"), power),
            "var": spread(jnp.var),
            "std": spread(jnp.std),
            "matmul": lambda out, x, y: jnp.matmul(*cast(out, x, y)),
            "dot": lambda out, x, y: jnp.dot(*cast(out, x, y)),
            "einsum": lambda out, subscripts, operands, optimize: jnp.einsum(subscripts, *cast(out, *operands)),
            "divide_no_nan": lambda out, x, y: self._quotient(*cast(out, x, y)),
            "root": lambda out, x, n: jnp.sqrt(x) if n == 2 else jnp.power(x, 1 / n),
            "mean": self._accumulated(jnp.mean),
        }

    def _of_numbers(self) -> dict[str, Row]:
        jnp, cast = self.jnp, self._cast

        def reduced(function: Row) -> Row:
            return lambda out, x, axis, keepdims: function(x, axis, keepdims=keepdims)

        def running(function: Row) -> Row:
            return lambda out, x, axis, dtype: function(self.array(x, out.dtype), axis)

        def limited(out: Metadata, x: Any, low: Any, high: Any) -> Any:
            x = self.array(x, out.dtype)
            x = x if low is None else jnp.maximum(x, self.array(low, out.dtype))
            return x if high is None else jnp.minimum(x, self.array(high, out.dtype))

        def summed_to(out: Metadata, x: Any, shape: Any) -> Any:
            extra = x.ndim - len(shape)
            axes = (*range(extra), *[extra + i for i, n in enumerate(shape) if n == 1 and x.shape[extra + i] != 1])
            return jnp.sum(x, axes, keepdims=True).reshape(shape)

        def filled(value: Any) -> Row:
            return lambda out, *args: jnp.full(out.shape, self.array(args[1] if value is None else value, out.dtype))

        def written(out: Metadata, x: Any, index: Any, value: Any, arrays: Any) -> Any:
            return x.at[basic_index(index, arrays)].set(self.array(value, out.dtype))

        def scattered(out: Metadata, x: Any, index: Any, shape: Any, arrays: Any) -> Any:
            return jnp.zeros(shape, out.dtype).at[basic_index(index, arrays)].add(x)

        return {
            **{name: reduced(getattr(jnp, name)) for name in ("max", "min", "any", "all", "argmax", "argmin")},
            **{name: self._accumulated(getattr(jnp, name)) for name in ("sum", "prod")},
            **{name: running(getattr(jnp, name)) for name in ("cumsum", "cumprod")},
            "clip": limited,
            "sum_to": summed_to,
            "scatter_add": scattered,
            "setitem": written,
            "concatenate": lambda out, arrays, axis: jnp.concatenate(cast(out, *arrays), axis),
            "stack": lambda out, arrays, axis: jnp.stack(cast(out, *arrays), axis),
            "where": lambda out, mask, x, y: jnp.where(mask.astype(bool), *cast(out, x, y)),
            "clone": lambda out, x: jnp.copy(x),
            "copy": lambda out, x, order: jnp.copy(x),
            "zeros": filled(0), "zeros_like": filled(0), "ones": filled(1), "ones_like": filled(1),
            "full": filled(None), "full_like": filled(None),
        }  # fmt: skip

    def _of_layouts(self) -> dict[str, Row]:
        names = ("reshape", "transpose", "swapaxes", "moveaxis", "broadcast_to", "expand_dims", "squeeze", "diagonal")

        def same(function: Row) -> Row:
            return lambda out, *args: function(*args)

        return {
            **{name: same(getattr(self.jnp, name)) for name in names},
            "ravel_from": lambda out, x, start: x.reshape(out.shape),
            "getitem": lambda out, x, index, arrays: x[basic_index(index, arrays)],
            "select_index": lambda out, x, axis, index: self.jnp.take(x, index, axis),
        }

    def _accumulated(self, function: Row) -> Row:
        return lambda out, x, axis, dtype, keepdims: function(self.array(x, out.dtype), axis, keepdims=keepdims)

    def _cast(self, out: Metadata, *arrays: Any) -> list[Any]:
        return [self.array(x, out.dtype) for x in arrays]

    def takes_loop(self, name: str, args: tuple[Any, ...]) -> bool:
        """Return whether JAX has it: with carries that are kept every k-th step it would keep all, and it raises in no loop."""
        if name == "scan":
            *_, checkpoint, keep, _ = args
            return not keep or checkpoint == 1
        if name == "while_loop":
            *_, most, keep = args
            return most is None and not keep
        return True

    def _scan(
        self, body: Any, carry: Any, xs: Any, captures: Any, length: int, reverse: bool, checkpoint: int, keep: bool, join: int
    ) -> Any:
        step = self.function(body.graph)

        def stepped(state: Any, x: Any) -> Any:
            out = step(*state, *x, *captures)
            return out[: len(state)], (out[len(state) :], state if keep else [])

        last, (ys, kept) = self.jax.lax.scan(stepped, list(carry), list(xs), length, reverse)
        return last, [y.reshape(length * join, *y.shape[2:]) for y in ys] if join else ys, kept

    def _while(self, test: Any, body: Any, carry: Any, captures: Any, most: Any, keep: bool) -> Any:
        goes_on, step = self.function(test.graph), self.function(body.graph)
        last, count = self.jax.lax.while_loop(
            lambda state: goes_on(*state[0], *captures)[0],
            lambda state: (step(*state[0], *captures), state[1] + 1),
            (list(carry), self.jnp.zeros((), np.int64)),
        )
        return last, count, []

    def _cond(self, pred: Any, true: Any, false: Any, operands: Any) -> Any:
        if_true, if_false = self.function(true.graph), self.function(false.graph)
        if not pred.shape:
            return self.jax.lax.cond(pred, if_true, if_false, *operands)
        pairs = zip(if_true(*operands), if_false(*operands), strict=True)
        return [self.jnp.where(pred.reshape(pred.shape + (1,) * (x.ndim - pred.ndim)), x, y) for x, y in pairs]

    def _quotient(self, x: Any, y: Any) -> Any:
        return self.jnp.where(y == 0, 0, x / y)


engine = Once(Jax)


def with_jax(graph: Graph, metadata: list[Metadata]) -> Callable[..., Any]:
    """Return the graph as a function under `jax.jit`."""
    made = engine()
    jitted = made.jax.jit(made.function(graph))

    def run(*values: Any) -> list[Any]:
        with made.wide():
            outputs = jitted(*map(np.asarray, values))
        return list(map(np.array, outputs))  # JAX's own memory is read-only

    return run


register_backend("jax", with_jax, claims=engine.claims)
