"""Calls of every function, method and operator of the array API standard, generated: `calls()` lists them.

A call is made twice with the same numbers, by array_api_strict and by the namespace that is tested: `run(xp, array)` gets the namespace
and what makes an array of it from NumPy's.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import array_api_strict as strict
import numpy as np

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128"]
SPECIAL = [0.5, -0.0, np.nan, 2.0, np.inf, -1.0, -np.inf, 3.5, 0.0, 1.0, -2.5, 7.0]
WHOLE = [3, 1, 0, 2, 5, 1, 7, 4, 6, 2, 1, 0]
SHAPES: list[tuple[int, ...]] = [(), (0,), (3,), (2, 3), (2, 0, 3)]
PAIRS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((2, 3), (3,)), ((), (4,)), ((2, 1), (1, 3))]

UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj", "cos", "cosh", "exp", "expm1", "floor",
    "imag", "isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10", "logical_not", "negative", "positive", "real", "reciprocal",
    "round", "sign", "signbit", "sin", "sinh", "square", "sqrt", "tan", "tanh", "trunc",
]  # fmt: skip
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal floor_divide greater
    greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow
    remainder subtract""".split()
OPERATORS = "add and eq floordiv ge gt le lshift lt mod mul ne or pow rshift sub truediv xor".split()


class Call(NamedTuple):
    """One call. `run(xp, array)` makes it."""

    name: str
    run: Callable[[Any, Callable[[Any], Any]], Any]

    def __str__(self) -> str:
        return self.name

    @property
    def function(self) -> str:
        return self.name.partition("(")[0].partition(" ")[0]


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0, *, tame: bool = False) -> Any:
    n, kind = int(np.prod(shape)), np.dtype(dtype).kind
    values = SPECIAL if kind in "fc" and not tame else [0.5, 2.0, 1.25, 3.5, 0.75] if kind in "fc" else WHOLE if not tame else [1, 3, 2, 5]
    flat = np.array([values[(seed + (2 * seed + 1) * i) % len(values)] for i in range(n)])
    if kind == "c":
        flat = flat + 1j * flat[::-1]
    return flat.astype(dtype).reshape(shape)


def elementwise() -> Iterator[Call]:
    for name in UNARY:
        for dtype in DTYPES:
            for shape in SHAPES:
                yield Call(f"{name}({dtype}{list(shape)})", lambda xp, a, n=name, d=dtype, s=shape: getattr(xp, n)(a(numbers(s, d))))
    for name in BINARY:
        for first in DTYPES:
            for second in DTYPES:
                shapes = PAIRS[(DTYPES.index(first) + DTYPES.index(second)) % len(PAIRS)]
                tame = name in ("bitwise_left_shift", "bitwise_right_shift", "floor_divide", "remainder", "pow")
                yield Call(
                    f"{name}({first}{list(shapes[0])}, {second}{list(shapes[1])})",
                    lambda xp, a, n=name, f=first, s=second, p=shapes, t=tame: getattr(xp, n)(
                        a(numbers(p[0], f, tame=t)), a(numbers(p[1], s, 1, tame=t))
                    ),
                )
        for dtype in DTYPES:
            for scalar in (2, 1.5, True, 1j):
                yield Call(f"{name}({dtype}, {scalar})", lambda xp, a, n=name, d=dtype, s=scalar: getattr(xp, n)(a(numbers((3,), d, tame=True)), s))
                yield Call(f"{name}({scalar}, {dtype})", lambda xp, a, n=name, d=dtype, s=scalar: getattr(xp, n)(s, a(numbers((3,), d, tame=True))))


def operators() -> Iterator[Call]:
    def inplace(x: Any, name: str, y: Any) -> Any:
        x = x + x - x if x.dtype != bool else x
        return getattr(x, f"__i{name}__")(y)

    for name in OPERATORS:
        for dtype in DTYPES:
            other = {"b": "bool", "i": "int8", "u": "uint8", "f": "float32", "c": "complex64"}[np.dtype(dtype).kind]
            for second in (dtype, other):
                pair = f"({dtype}, {second})"
                x, y = numbers((2, 3), dtype, tame=True), numbers((3,), second, 1, tame=True)
                yield Call(f"__{name}__{pair}", lambda xp, a, n=name, x=x, y=y: getattr(a(x), f"__{n}__")(a(y)))
                if name not in ("eq", "ge", "gt", "le", "lt", "ne"):
                    yield Call(f"__r{name}__{pair}", lambda xp, a, n=name, x=x, y=y: getattr(a(x), f"__r{n}__")(a(y)))
                    yield Call(f"__i{name}__{pair}", lambda xp, a, n=name, x=x, y=y: inplace(a(x), n, a(y)))
            for scalar in (2, 0.5, True, 1j):
                yield Call(f"__{name}__({dtype}, {scalar})", lambda xp, a, n=name, x=x, s=scalar: getattr(a(x), f"__{n}__")(s))
                if name not in ("eq", "ge", "gt", "le", "lt", "ne"):
                    yield Call(f"__r{name}__({dtype}, {scalar})", lambda xp, a, n=name, x=x, s=scalar: getattr(a(x), f"__r{n}__")(s))
    for dtype in DTYPES:
        for name in ("abs", "invert", "neg", "pos"):
            yield Call(f"__{name}__({dtype})", lambda xp, a, n=name, d=dtype: getattr(a(numbers((2, 3), d)), f"__{n}__")())
        for name in ("T", "mT", "shape", "ndim", "size", "dtype", "device"):
            yield Call(f"x.{name} of {dtype}", lambda xp, a, n=name, d=dtype: getattr(a(numbers((2, 3), d)), n))
        yield Call(f"x.mT of stacks of {dtype}", lambda xp, a, d=dtype: a(numbers((2, 1, 3), d)).mT)
        yield Call(f"__matmul__({dtype})", lambda xp, a, d=dtype: a(numbers((2, 3), d, tame=True)) @ a(numbers((3, 2), d, 1, tame=True)))
        yield Call(f"__bool__({dtype})", lambda xp, a, d=dtype: bool(a(numbers((), d))))
        yield Call(f"to_device({dtype})", lambda xp, a, d=dtype: a(numbers((3,), d)).to_device(a(numbers((3,), d)).device))
        for index in [0, -1, slice(None), slice(None, None, -1), (0, 1), (slice(None), 1), (..., 0), None, (None, 0, ...), (slice(1, 0), slice(0, 2))]:
            yield Call(f"{dtype}[{index}]", lambda xp, a, d=dtype, i=index: a(numbers((2, 3), d))[i])
        yield Call(f"{dtype}[mask]", lambda xp, a, d=dtype: a(numbers((2, 3), d))[a(np.array([[True, False, True], [False, True, False]]))])
        yield Call(f"{dtype}[indices]", lambda xp, a, d=dtype: a(numbers((2, 3), d))[a(np.array([1, 0, 1])), a(np.array([0, 0, 2]))])
        yield Call(f"{dtype}[()] of no axes", lambda xp, a, d=dtype: a(numbers((), d))[()])


X, V, M, S = (2, 3), (4,), (3, 3), (2, 2, 2)
SQUARE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])


def others() -> Iterator[Call]:
    """Every further function: `f(xp, x, y)`, where `x` makes an array of a shape, and `array` one of NumPy's."""
    table: dict[str, list[Callable[..., Any]]] = {
        "all any": [lambda f, x: f(x(X)), lambda f, x: f(x(X), axis=1), lambda f, x: f(x(X), axis=(0, 1), keepdims=True), lambda f, x: f(x((0, 3)), axis=0)],
        "max min": [lambda f, x: f(x(X)), lambda f, x: f(x(X), axis=1), lambda f, x: f(x(X), axis=(0, 1), keepdims=True)],
        "sum prod": [
            lambda f, x: f(x(X)), lambda f, x: f(x(X), axis=1), lambda f, x: f(x(X), axis=(0, 1), keepdims=True), lambda f, x: f(x((0, 3)), axis=0),
            lambda f, x: f(x(X), dtype=x.xp.float64), lambda f, x: f(x(X), axis=-1, dtype=x.xp.complex128),
        ],
        "mean": [lambda f, x: f(x(X)), lambda f, x: f(x(X), axis=1), lambda f, x: f(x(X), axis=(0, 1), keepdims=True)],
        "std var": [lambda f, x: f(x(X)), lambda f, x: f(x(X), axis=1, correction=1), lambda f, x: f(x(X), axis=(0, 1), keepdims=True, correction=0.5)],
        "cumulative_sum cumulative_prod": [
            lambda f, x: f(x(V)), lambda f, x: f(x(X), axis=1), lambda f, x: f(x(X), axis=0, include_initial=True), lambda f, x: f(x(V), dtype=x.xp.float64),
        ],
        "argmax argmin": [lambda f, x: f(x(X)), lambda f, x: f(x(X), axis=1), lambda f, x: f(x(X), axis=0, keepdims=True)],
        "count_nonzero": [lambda f, x: f(x(X)), lambda f, x: f(x(X), axis=1), lambda f, x: f(x(X), axis=(0, 1), keepdims=True)],
        "nonzero": [lambda f, x: f(x(X)), lambda f, x: f(x((0,)))],
        "searchsorted": [lambda f, x: f(x.sorted(V), x(X)), lambda f, x: f(x.sorted(V), x(V, 1), side="right"), lambda f, x: f(x(V), x(X), sorter=x.xp.argsort(x(V)))],
        "where": [lambda f, x: f(x.of([True, False, True]), x((3,)), x((3,), 1)), lambda f, x: f(x.of([True, False, True]), x((3,)), 2), lambda f, x: f(x.of([True, False, True]), 1, x((3,)))],
        "sort argsort": [
            lambda f, x: f(x(V)), lambda f, x: f(x(X), axis=0), lambda f, x: f(x(X), descending=True), lambda f, x: f(x((12,)), descending=True, stable=True),
            lambda f, x: f(x((30,))), lambda f, x: f(x(X), stable=False),
        ],
        "unique_all unique_counts unique_inverse unique_values": [lambda f, x: f(x((12,))), lambda f, x: f(x(X))],
        "isin": [lambda f, x: f(x(X), x(V)), lambda f, x: f(x(X), x(V), invert=True), lambda f, x: f(x(X), 1)],
        "diff": [lambda f, x: f(x(V)), lambda f, x: f(x(X), axis=0), lambda f, x: f(x(V), n=2), lambda f, x: f(x(V), prepend=x((1,)), append=x((2,), 1))],
        "clip": [lambda f, x: f(x(X), 1, 2), lambda f, x: f(x(X), min=x((3,), 1)), lambda f, x: f(x(X), max=1), lambda f, x: f(x(X)), lambda f, x: f(x(X), None, x((), 1))],
        "take": [lambda f, x: f(x(V), x.of([1, 0, 3])), lambda f, x: f(x(X), x.of([1, 0]), axis=1)],
        "take_along_axis": [lambda f, x: f(x(X), x.of([[1], [0]]), axis=1), lambda f, x: f(x(X), x.of([[1], [0]]))],
        "expand_dims": [lambda f, x: f(x(X)), lambda f, x: f(x(X), axis=1), lambda f, x: f(x(X), axis=-1)],
        "squeeze": [lambda f, x: f(x((1, 3)), axis=0), lambda f, x: f(x((1, 3, 1)), axis=(0, 2)), lambda f, x: f(x((1, 3)), 0)],
        "flip": [lambda f, x: f(x(X)), lambda f, x: f(x(X), axis=0)],
        "roll": [lambda f, x: f(x(X), 1), lambda f, x: f(x(X), shift=(1, 2), axis=(0, 1))],
        "moveaxis": [lambda f, x: f(x(S), 0, 2), lambda f, x: f(x(S), (0, 1), (1, 2))],
        "permute_dims": [lambda f, x: f(x(S), (2, 0, 1)), lambda f, x: f(x(X), axes=(1, 0))],
        "matrix_transpose linalg.matrix_transpose": [lambda f, x: f(x(S)), lambda f, x: f(x(X))],
        "reshape": [lambda f, x: f(x(X), (3, 2)), lambda f, x: f(x(X), shape=(-1,)), lambda f, x: f(x(X), (6,), copy=True)],
        "repeat": [lambda f, x: f(x(V), 2), lambda f, x: f(x(X), x.of([1, 0, 2]), axis=1)],
        "tile": [lambda f, x: f(x(V), (2,)), lambda f, x: f(x(X), (2, 1, 2))],
        "broadcast_to": [lambda f, x: f(x((3,)), (2, 3)), lambda f, x: f(x((3,)), shape=(2, 3))],
        "broadcast_arrays": [lambda f, x: f(x((3,)), x((2, 1)))],
        "broadcast_shapes": [lambda f, x: f((3,), (2, 1))],
        "concat": [lambda f, x: f([x(X), x(X, 1)]), lambda f, x: f((x(X), x((2, 1))), axis=1), lambda f, x: f([x(X), x(V)], axis=None)],
        "stack": [lambda f, x: f([x(X), x(X, 1)]), lambda f, x: f((x(X), x(X)), axis=-1)],
        "unstack": [lambda f, x: f(x(X)), lambda f, x: f(x(X), axis=1)],
        "meshgrid": [lambda f, x: f(x(V), x((2,))), lambda f, x: f(x(V), x((2,)), indexing="ij"), lambda f, x: f(x(V))],
        "tril triu": [lambda f, x: f(x(M)), lambda f, x: f(x(M), k=1), lambda f, x: f(x(S), k=-1)],
        "astype": [*[lambda f, x, d=d: f(x(X), getattr(x.xp, d)) for d in DTYPES], lambda f, x: f(x(X), x(X).dtype, copy=False), lambda f, x: f(x(X), x.xp.float64, device=x(X).device)],
        "can_cast": [lambda f, x, d=d: f(x(X), getattr(x.xp, d)) for d in DTYPES],
        "result_type": [*[lambda f, x, d=d: f(x(X), getattr(x.xp, d)) for d in DTYPES], lambda f, x: f(x(X), x(V)), lambda f, x: f(x(X), 1), lambda f, x: f(1.5, x(X))],
        "isdtype": [lambda f, x, k=k: f(x(X).dtype, k) for k in ("bool", "integral", "real floating", "complex floating", "numeric", "signed integer", "unsigned integer", ("bool", "numeric"))],
        "finfo": [lambda f, x, n=n: getattr(f(x(X).dtype), n) for n in ("bits", "eps", "max", "min", "smallest_normal", "dtype")] + [lambda f, x: f(x(X)).eps],
        "iinfo": [lambda f, x, n=n: getattr(f(x(X).dtype), n) for n in ("bits", "max", "min", "dtype")] + [lambda f, x: f(x(X)).bits],
        "zeros_like ones_like": [lambda f, x: f(x(X)), lambda f, x: f(x(X), dtype=x.xp.float32), lambda f, x: f(x(X), device=x(X).device)],
        "empty_like": [lambda f, x: f(x(X)).shape, lambda f, x: f(x(X), dtype=x.xp.float32).dtype],
        "full_like": [lambda f, x: f(x(X), 1), lambda f, x: f(x(X), 2.5, dtype=x.xp.float64), lambda f, x: f(x(X), fill_value=1)],
        "asarray": [
            lambda f, x: f(x(X)), lambda f, x: f(x(X), dtype=x.xp.complex128), lambda f, x: f(x(X), copy=True), lambda f, x: f(x(X), copy=False),
            lambda f, x: f([[1, 2], [3, 4]], dtype=x(X).dtype), lambda f, x: f(2.5), lambda f, x: f([True]), lambda f, x: f(x(X), device=x(X).device),
            lambda f, x: f([x(()), x((), 1)]),
        ],
        "from_dlpack": [lambda f, x: f(x(X)), lambda f, x: f(x(X), copy=True)],
        "arange": [lambda f, x: f(5), lambda f, x: f(1, 7, 2), lambda f, x: f(0.5, 3.0, 0.25), lambda f, x: f(5, dtype=x(X).dtype), lambda f, x: f(1, stop=4, step=2, device=x(X).device)],
        "zeros ones": [lambda f, x: f(3), lambda f, x: f((2, 3), dtype=x(X).dtype), lambda f, x: f(shape=(2,), device=x(X).device)],
        "empty": [lambda f, x: f((2, 3), dtype=x(X).dtype).shape, lambda f, x: f(3).dtype],
        "full": [lambda f, x: f(3, 1), lambda f, x: f((2, 3), 1, dtype=x(X).dtype), lambda f, x: f(shape=(2,), fill_value=True)],
        "eye": [lambda f, x: f(3), lambda f, x: f(2, 3, k=1, dtype=x(X).dtype), lambda f, x: f(3, 2, device=x(X).device)],
        "linspace": [lambda f, x: f(0.0, 1.0, 5), lambda f, x: f(0, 3, num=4, dtype=x(X).dtype), lambda f, x: f(0.0, 1.0, 4, endpoint=False)],
        "matmul linalg.matmul": [lambda f, x: f(x(X), x((3, 2), 1)), lambda f, x: f(x((3,)), x((3,))), lambda f, x: f(x(S), x(S, 1))],
        "tensordot linalg.tensordot": [lambda f, x: f(x(X), x((3, 2)), axes=1), lambda f, x: f(x(S), x(S), axes=((0, 1), (1, 0))), lambda f, x: f(x(S), x(S))],
        "vecdot linalg.vecdot": [lambda f, x: f(x(X), x(X, 1)), lambda f, x: f(x(X), x(X, 1), axis=-2)],
        "linalg.outer": [lambda f, x: f(x((3,)), x(V))],
        "linalg.cross": [lambda f, x: f(x((3,)), x((3,), 1)), lambda f, x: f(x((3, 2)), x((3, 2), 1), axis=0)],
        "linalg.diagonal linalg.trace": [lambda f, x: f(x(M)), lambda f, x: f(x((2, 3, 3)), offset=1)],
        "linalg.det linalg.inv linalg.slogdet linalg.eigh linalg.eigvalsh linalg.cholesky linalg.svdvals linalg.svd linalg.qr linalg.pinv linalg.matrix_rank": [
            lambda f, x: f(x.square()), lambda f, x: f(x.xp.stack([x.square(), 2 * x.square()])),
        ],
        "linalg.cholesky": [lambda f, x: f(x.square(), upper=True)],
        "linalg.qr": [lambda f, x: f(x((3, 2)), mode="reduced"), lambda f, x: f(x((3, 2)), mode="complete")],
        "linalg.svd": [lambda f, x: f(x((3, 2)), full_matrices=False), lambda f, x: f(x((3, 2)))],
        "linalg.pinv linalg.matrix_rank": [lambda f, x: f(x((3, 2)), rtol=1e-3)],
        "linalg.solve": [lambda f, x: f(x.square(), x((3,))), lambda f, x: f(x.square(), x((3, 2)))],
        "linalg.matrix_power": [lambda f, x: f(x.square(), 2), lambda f, x: f(x.square(), -1), lambda f, x: f(x.square(), 0)],
        "linalg.matrix_norm": [lambda f, x, o=o: f(x(X), ord=o) for o in ("fro", "nuc", 1, 2, -1, -2, np.inf, -np.inf)] + [lambda f, x: f(x(S), keepdims=True)],
        "linalg.vector_norm": [lambda f, x, o=o: f(x(X), ord=o, axis=1) for o in (0, 1, 2, 3, -1, np.inf, -np.inf)] + [lambda f, x: f(x(S), keepdims=True, axis=(0, 2)), lambda f, x: f(x(S))],
        "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft": [
            *[lambda f, x, n=n: f(x(V), norm=n) for n in ("backward", "ortho", "forward")], lambda f, x: f(x(X), axis=0), lambda f, x: f(x(V), n=3), lambda f, x: f(x(V), n=6),
        ],
        "fft.fftn fft.ifftn fft.rfftn fft.irfftn": [lambda f, x: f(x(X)), lambda f, x: f(x(S), axes=(0, 1), norm="ortho"), lambda f, x: f(x(S), s=(2, 3), axes=(1, 2))],
        "fft.fftshift fft.ifftshift": [lambda f, x: f(x(X)), lambda f, x: f(x(X), axes=0), lambda f, x: f(x(X), axes=(0, 1))],
        "fft.fftfreq fft.rfftfreq": [lambda f, x: f(5), lambda f, x: f(4, d=0.5), lambda f, x: f(4, dtype=x(X).dtype, device=x(X).device)],
    }
    for names, uses in table.items():
        for name in names.split():
            for number, use in enumerate(uses):
                for dtype in DTYPES:

                    def run(xp: Any, a: Any, name: str = name, use: Any = use, dtype: str = dtype) -> Any:
                        found = xp
                        for part in name.split("."):
                            found = getattr(found, part)
                        return use(found, Arrays(xp, a, dtype, tame=name.startswith(("linalg", "fft", "cumu")) or name in ("mean", "std", "var", "matmul")))

                    yield Call(f"{name} {number} {dtype}", run)


class Arrays:
    """Makes the arrays of a call: `x(shape)`, and with another number other elements."""

    def __init__(self, xp: Any, array: Any, dtype: str, *, tame: bool) -> None:
        self.xp, self.array, self.dtype, self.tame = xp, array, dtype, tame

    def __call__(self, shape: tuple[int, ...], seed: int = 0) -> Any:
        return self.array(numbers(shape, self.dtype, seed, tame=self.tame))

    def of(self, values: Any) -> Any:
        return self.array(np.array(values))

    def sorted(self, shape: tuple[int, ...]) -> Any:
        return self.array(np.sort(numbers(shape, self.dtype, tame=True)))

    def square(self) -> Any:
        return self.array(SQUARE.astype(self.dtype))


def calls() -> Iterator[Call]:
    yield from elementwise()
    yield from operators()
    yield from others()


def named() -> set[str]:
    """The functions of the standard, with their extensions: what array_api_strict has, but for what is about itself."""
    own = {"Device", "ArrayAPIStrictFlags", "__version__"} | {name for name in strict.__all__ if name.endswith("_strict_flags")}
    functions = {name for name in strict.__all__ if name not in own and callable(getattr(strict, name)) and not name.startswith("__")}
    extensions = {f"{part}.{name}" for part in ("linalg", "fft") for name in getattr(strict, part).__all__}
    return {name for name in functions | extensions if not hasattr(getattr(strict, name, None), "_np_dtype")}
