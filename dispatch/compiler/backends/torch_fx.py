"""Backend `torch`: hands the calls that torch computes as NumPy does to its compiler, which makes C++ of them.

The calls become a `torch.fx.GraphModule`, and that goes to Inductor, as `torch.compile` would hand it there. Dynamo, the part
of `torch.compile` that reads Python, is left out: the graph is known, and what Dynamo would compare at each call, in 30 us, has
been compared.
"""

import warnings
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...core.optional import require
from ...errors import GraphError
from ...graph import Graph, Metadata
from .engine_rows import BOOLS, FLOATS, SIGNED, Engine, Once, Row, basic_index, check_cast, is_root
from .lookup import register_backend
from .verification import empty

INTEGERS = SIGNED | {"u1"}  # torch computes with few of the others
NUMBERS = FLOATS | INTEGERS | BOOLS
# Rows by the dtypes for which torch's function computes what NumPy's does; another name stands behind the colon.
SAME = {
    FLOATS: """
        sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh
        deg2rad rad2deg degrees:rad2deg radians:deg2rad
        floor ceil trunc rint:round fabs:abs reciprocal divide fmax fmin arctan2 hypot
        logaddexp logaddexp2 copysign nextafter isnan isinf isfinite signbit
    """,
    FLOATS | INTEGERS: "absolute:abs square negative:neg subtract",
    NUMBERS: """
        add multiply maximum minimum equal:eq not_equal:ne less:lt less_equal:le greater:gt greater_equal:ge
        logical_and logical_or logical_xor logical_not
    """,
    INTEGERS | BOOLS: "bitwise_and bitwise_or bitwise_xor invert:bitwise_not",
}  # fmt: skip


# A second thread pays from here on; torch would wake it for 512 elements, and wait for it.
OPTIONS = {"cpp.min_chunk_size": 16_384}


Layout = tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...]]


class Torch(Engine):
    """Torch, for one graph after the other."""

    name = "torch"
    dtypes = NUMBERS

    def __init__(self) -> None:
        super().__init__()
        torch = self.torch = require("torch", "torch", needed_by="compile(backend='torch')")
        self.from_numpy = torch.from_numpy
        self.fx = require("torch.fx.experimental.proxy_tensor", "torch")
        self.inductor = require("torch._inductor", "torch")
        self.kinds = {word: getattr(torch, name) for word, name in NAMES.items()}
        self.words = {dtype: np.dtype(word) for word, dtype in self.kinds.items()}
        self.ufuncs = {}
        for kinds, names in SAME.items():
            for row in names.split():
                ours, _, theirs = row.partition(":")
                self.ufuncs[ours] = kinds, getattr(torch, theirs or ours)
        self.ufuncs |= {
            "scalar_" + name: (FLOATS, f)
            for name, f in (("multiply", torch.mul), ("divide", torch.div), ("absolute", torch.abs))
        }
        self.ufuncs |= {"positive": (FLOATS | INTEGERS, torch.clone), "sign": (FLOATS | INTEGERS, self._sign)}
        self.rows = self._rows()

    def array(self, x: Any, dtype: np.dtype[Any]) -> Any:
        check_cast(x, dtype)
        wanted = self.kinds[dtype.str[1:]]
        if isinstance(x, self.torch.Tensor):
            return x if x.dtype is wanted else x.to(wanted)
        return self.torch.full((), x.item() if isinstance(x, np.generic) else x, dtype=wanted)

    def constant(self, x: np.ndarray) -> Any:
        return self.array(x[()], x.dtype)  # one with axes is an input of the module

    def tensor(self, x: Any, planned: Layout) -> Any:
        """Return an array, or a Python number, as a tensor that shares its memory, or as a copy with the strides planned."""
        x = np.asarray(x)
        dtype, shape, strides = planned
        if x.dtype != dtype or x.shape != shape:  # code in C++ would read it as what it is not
            raise GraphError(
                f"the graph was made for {dtype} of shape {shape}, and was given {x.dtype} of shape {x.shape}. An operator "
                "before it gives another layout than its fake rule says: try opcheck."
            )
        if x.strides != strides and any(s != t for s, t, n in zip(x.strides, strides, x.shape, strict=True) if n > 1):
            x, given = empty(x.shape, x.dtype, strides), x
            x[...] = given
        return self.from_numpy(x if x.flags.behaved else x.copy("K"))

    def compiled(self, f: Callable[..., Any], tensors: list[Any]) -> Callable[..., Any]:
        """Return a function of tensors as code that torch's compiler made for tensors like these."""
        with self.torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what torch says of itself while it compiles is nothing to the user
            module = self.fx.make_fx(f, tracing_mode="fake")(*tensors)
            found: Callable[..., Any] = self.inductor.compile(module, tensors, options=OPTIONS)
        return found

    def layout(self, f: Callable[..., Any], *planned: Metadata) -> tuple[tuple[int, ...], np.dtype[Any]]:
        empty = [self.torch.empty(x.shape, dtype=self.kinds[x.dtype.str[1:]], device="meta") for x in planned]
        with self.torch.device("meta"):
            found = f(*empty)
        return tuple(found.shape), self.words[found.dtype]

    def _sign(self, x: Any) -> Any:
        return self.torch.where(self.torch.isnan(x), x, self.torch.sign(x)) if x.is_floating_point() else self.torch.sign(x)

    def _rows(self) -> dict[str, tuple[frozenset[str], Row]]:
        found = {name: (FLOATS, f) for name, f in self._of_floats().items()}
        found |= {name: (NUMBERS, f) for name, f in (self._of_numbers() | self._of_layouts()).items()}
        found["astype"] = (FLOATS, lambda out, x, dtype: self.array(x, out.dtype))
        return found

    def _of_floats(self) -> dict[str, Row]:
        torch, cast = self.torch, self._cast

        def spread(function: Row) -> Row:
            return lambda out, x, axis, dtype, ddof, keepdims: function(
                self.array(x, out.dtype), dim=_all_axes(x, axis), correction=ddof, keepdim=keepdims
            )

        def running(function: Row) -> Row:
            def ran(out: Metadata, x: Any, axis: Any, dtype: Any) -> Any:
                x = self.array(x, out.dtype)
                return function(x.reshape(-1), 0) if axis is None else function(x, axis)

            return ran

        def limited(out: Metadata, x: Any, low: Any, high: Any) -> Any:
            x = self.array(x, out.dtype)
            x = x if low is None else torch.maximum(x, self.array(low, out.dtype))
            return x if high is None else torch.minimum(x, self.array(high, out.dtype))

        def power(out: Metadata, x: Any, y: Any) -> Any:
            if is_root(out, y):
                return torch.sqrt(*cast(out, x))
            # torch multiplies where it sees the exponent
            return torch.pow(*cast(out, x), int(y)) if type(y) in (int, float) and y in (2, 3) else torch.pow(*cast(out, x, y))

        return {
            **dict.fromkeys(("power", "scalar_power"), power),
            "mean": self._accumulated(torch.mean),
            "var": spread(torch.var),
            "std": spread(torch.std),
            "matmul": lambda out, x, y: torch.matmul(*cast(out, x, y)),
            "einsum": lambda out, subscripts, operands, optimize: torch.einsum(subscripts, *cast(out, *operands)),
            "divide_no_nan": lambda out, x, y: self._quotient(*cast(out, x, y)),
            "root": lambda out, x, n: torch.sqrt(x) if n == 2 else torch.pow(x, 1 / n),
            "clip": limited,
            "cumsum": running(torch.cumsum),
            "cumprod": running(torch.cumprod),
        }

    def _of_numbers(self) -> dict[str, Row]:
        torch, cast = self.torch, self._cast

        def reduced(function: Row) -> Row:
            return lambda out, x, axis, keepdims: function(x, dim=_all_axes(x, axis), keepdim=keepdims)

        def multiplied(out: Metadata, x: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
            x = self.array(x, out.dtype)
            axes = {i % x.ndim for i in ((axis,) if isinstance(axis, int) else _all_axes(x, axis))}
            for i in sorted(axes, reverse=True):
                x = torch.prod(x, i, keepdim=keepdims)
            return x

        def chosen(out: Metadata, mask: Any, x: Any, y: Any) -> Any:
            return torch.where(mask.bool(), *cast(out, x, y))

        def filled(value: Any) -> Row:
            return lambda out, *args: self.array(args[1] if value is None else value, out.dtype).broadcast_to(out.shape).clone()

        def written(out: Metadata, x: Any, index: Any, value: Any, arrays: Any) -> Any:
            x = x.clone()
            x[_forwards(index, arrays)] = self.array(value, out.dtype)
            return x

        def scattered(out: Metadata, x: Any, index: Any, shape: Any, arrays: Any) -> Any:
            made = torch.zeros(tuple(shape), dtype=self.kinds[out.dtype.str[1:]])
            made[_forwards(index, arrays)] = x  # no place occurs twice in such an index
            return made

        return {
            "sum": self._accumulated(torch.sum),
            "prod": multiplied,
            "sum_to": lambda out, x, shape: x.sum_to_size(shape),
            "max": reduced(torch.amax), "min": reduced(torch.amin), "any": reduced(torch.any), "all": reduced(torch.all),
            "concatenate": lambda out, arrays, axis: torch.cat(cast(out, *arrays), axis),
            "stack": lambda out, arrays, axis: torch.stack(cast(out, *arrays), axis),
            "where": chosen,
            "setitem": written,
            "scatter_add": scattered,
            "clone": lambda out, x: x.clone(),
            "copy": lambda out, x, order: x.clone(),
            "zeros": filled(0), "zeros_like": filled(0), "ones": filled(1), "ones_like": filled(1),
            "full": filled(None), "full_like": filled(None),
        }  # fmt: skip

    def _of_layouts(self) -> dict[str, Row]:
        return {
            "reshape": lambda out, x, shape: x.reshape(shape),
            "ravel_from": lambda out, x, start: x.reshape(out.shape),
            "transpose": lambda out, x, axes: x.permute(tuple(range(x.ndim))[::-1] if axes is None else axes),
            "swapaxes": lambda out, x, a, b: x.swapaxes(a, b),
            "moveaxis": lambda out, x, a, b: x.movedim(a, b),
            "broadcast_to": lambda out, x, shape: x.broadcast_to(shape),
            "expand_dims": lambda out, x, axis: x.reshape(out.shape),
            "squeeze": lambda out, x, axis: x.reshape(out.shape),
            "diagonal": lambda out, x, offset, a, b: self.torch.diagonal(x, offset, a, b),
            "getitem": lambda out, x, index, arrays: indexed(x, basic_index(index, arrays)),
            "select_index": lambda out, x, axis, index: x.select(axis, index),
        }

    def _accumulated(self, function: Row) -> Row:
        return lambda out, x, axis, dtype, keepdims: function(
            self.array(x, out.dtype), dim=_all_axes(x, axis), keepdim=keepdims
        )

    def _cast(self, out: Metadata, *arrays: Any) -> list[Any]:
        return [self.array(x, out.dtype) for x in arrays]

    def _quotient(self, x: Any, y: Any) -> Any:
        return self.torch.where(y == 0, 0.0, x / y)


NAMES = {
    "f8": "float64", "f4": "float32", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8", "u1": "uint8", "b1": "bool",
}  # fmt: skip


def _all_axes(x: Any, axis: Any) -> Any:
    return tuple(range(x.ndim)) if axis is None else axis


def _forwards(index: Any, arrays: Any) -> Any:
    index = basic_index(index, arrays)
    if any(isinstance(i, slice) and (i.step or 1) < 0 for i in (index if isinstance(index, tuple) else (index,))):
        raise NotImplementedError("a write to a slice backwards")
    return index


def indexed(x: Any, index: Any) -> Any:
    """Return `x[index]`; torch has no slices backwards, which are flips of slices forwards."""
    items = index if isinstance(index, tuple) else (index,)
    if Ellipsis in items:
        at = items.index(Ellipsis)
        count = x.ndim - sum(i is not None and i is not Ellipsis for i in items)
        items = (*items[:at], *[slice(None)] * count, *items[at + 1 :])
    axis, made, made_axis, flipped = 0, [], 0, []
    for item in items:
        if isinstance(item, slice) and (item.step or 1) < 0:
            steps = range(*item.indices(x.shape[axis]))
            made.append(slice(steps[-1], steps[0] + 1, -steps.step) if steps else slice(0, 0))
            flipped.append(made_axis)
        else:
            made.append(item)
        axis += item is not None
        made_axis += not isinstance(item, int)
    out = x[tuple(made)]
    return out.flip(flipped) if flipped else out


engine = Once(Torch)


def with_torch(graph: Graph, metadata: list[Metadata]) -> Callable[..., Any]:
    """Return the graph as a function of torch's compiler, which runs when the function is first called."""
    library = engine()
    lifted = [node for node in graph.nodes if node.kind == "constant" and node.value.shape]
    traced = library.function(graph, lifted)
    constants = [graph.constants[node.name] for node in lifted]
    planned = [(x.dtype, x.shape, _taken_strides(x)) for x in (*metadata, *[node.value for node in lifted])]
    kept = [library.tensor(x, layout) for x, layout in zip(constants, planned[len(metadata) :], strict=True)]
    planned = planned[: len(metadata)]
    made: list[Callable[..., Any]] = []

    def run(*values: Any) -> list[Any]:
        tensors = [*map(library.tensor, values, planned), *kept]
        if not made:
            made.append(library.compiled(traced, tensors))
        return [x.numpy() for x in made[0](*tensors)]

    return run


def _taken_strides(x: Metadata) -> tuple[int, ...]:
    """Return the strides that torch can take for an array: its own, or those of an array in C order."""
    size = x.dtype.itemsize
    if all(n < 2 or (s > 0 and s % size == 0) for n, s in zip(x.shape, x.strides, strict=True)):
        return x.strides
    return tuple([size * prod(x.shape[i + 1 :]) for i in range(len(x.shape))])


register_backend("torch", with_torch, claims=engine.claims)
