"""Programs of the smooth kind as code of torch and of JAX: their values, gradients, derivatives along a direction, and second ones.

A program is run as it stands, with other things for the names `np`, `grad`, `vmap` and `jvp`: for JAX `jax.numpy`, for torch the table
below. `LACKS` says which lines a framework does not know, or does otherwise, and why; `kind(name)` makes programs without them. What is
refused nevertheless (torch, of a value that is written after it was saved for a derivative) is raised as `RefusedError` and counted.
"""

import ast
import functools
import importlib.util
import re
from collections.abc import Callable, Iterator
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy_grammar import literal
from numpy_programs import SMOOTH, Kind, Program
from program_values import DifferenceError

import dispatch

LACKS = {
    "torch": {
        "a step below zero": lambda line, made: "::-1" in line.text or ":-1," in line.text or (re.search(r":-1\]", line.text) is not None and "::" in line.text),
        "numbers beside arrays in an index, which NumPy counts as arrays": lambda line, made: any(_mixed(index) for index in indices(line.text)),
        "out= and where= of ufuncs": lambda line, made: "out=" in line.text or "where=" in line.text,
        "copies where NumPy has views, and views where it copies": lambda line, made: re.search(r"\.flatten\(|np\.(flip|fliplr|flipud|rot90|diag|conj|kron)\(|= \+", line.text) is not None,
        "gradients of values that one write puts at one place": lambda line, made: line.pattern.startswith("{x}[{f}] ="),
        "numbers out of arrays, which are views in torch": lambda line, made: (isinstance(made, np.generic) and line.family in ("indexing", "flow")) or line.pattern == "{x}[{i}][{i}]",
        "a second derivative of sinc and of copysign at 0, which is nan there": lambda line, made: re.search("sinc|copysign", line.text) is not None,
        "a second derivative of |x| ** 1.5 at 0, which is infinite: nan here and 0 there": lambda line, made: line.pattern == "np.abs({x}) ** 1.5",
        "a write of what overlaps the target, which torch reads while it writes": lambda line, made: line.writes and line.text.count(line.name) > 1,
        ".T of other than two axes": lambda line, made: ".T" in line.text,
        "functions without a twin": lambda line, made: re.search(r"np\.(pad|median|meshgrid|rollaxis|broadcast_arrays|cross|delete|apply)\b", line.text) is not None,
        "an axis None of methods": lambda line, made: re.search(r"\.(sum|mean|cumsum)\(None", line.text) is not None,
    },
    "jax": {
        "writes": lambda line, made: line.writes,
        "lists in an index": lambda line, made: any(isinstance(part, ast.List) for index in indices(line.text) for part in index),
        "out= and where= of ufuncs": lambda line, made: "out=" in line.text or line.family == "keywords",
        "another derivative of abs at 0: docs/conventions.md": lambda line, made: re.search(r"\babs\(|absolute|copysign|clip", line.text) is not None,
    },
}  # fmt: skip
CLOSE = 1e-9
MOST = 10  # lines


class RefusedError(Exception):
    """A framework does not run a program."""


class Derivatives(NamedTuple):
    """What is compared: a value, its gradient, its derivative along a direction, and that of the gradient."""

    value: Any
    gradient: list[Any]
    along: Any
    second: list[Any]


def indices(text: str) -> Iterator[list[ast.expr]]:
    """The parts of each index in a line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Subscript):
            yield node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _mixed(index: list[ast.expr]) -> bool:
    def is_number(part: ast.expr) -> bool:
        try:
            return isinstance(ast.literal_eval(part), int)
        except ValueError:
            return ast.unparse(part).startswith("np.int64") or re.match(r"np\.array\(-?\d", ast.unparse(part)) is not None

    return any(is_number(part) for part in index) and any(isinstance(part, (ast.List, ast.Call)) for part in index)


def installed() -> list[str]:
    """The frameworks that are here."""
    return [name for name in LACKS if importlib.util.find_spec(name) is not None]


def kind(name: str) -> Kind:
    """Smooth programs that a framework knows every line of."""
    return SMOOTH._replace(argument=small_argument, accepts=lambda line, made: not any(lacks(line, made) for lacks in LACKS[name].values()), most=MOST)


def small_argument(random: Random) -> str:
    """An argument in C order, as torch makes its own, of one of two shapes: JAX compiles every operator for every shape."""
    shape = random.choice(((3,), (2, 3)))
    return literal(np.array([round(random.gauss(0, 1.2), 5) for _ in range(int(np.prod(shape)))]).reshape(shape))


def agrees(program: Program, name: str) -> None:
    """Hold values and derivatives to a framework's."""
    xs = program.inputs()
    random = np.random.default_rng(program.seed % 2**32)
    ts = [random.normal(size=x.shape) for x in xs]
    ours = of_this_package(program.number(), xs, ts)
    theirs = {"torch": of_torch, "jax": of_jax}[name](program, xs, ts)
    if _same(ours.value, plain := program.number()(*[np.copy(x) for x in xs])) and not _same(theirs.value, plain):
        raise RefusedError("it computes another value than NumPy: it reads an element that the same line has written, say")
    for what, x, y in zip(Derivatives._fields, ours, theirs, strict=True):
        for a, b in zip(x if isinstance(x, list) else [x], y if isinstance(y, list) else [y], strict=True):
            if not _same(a, b):
                raise DifferenceError(f"{what}: {np.asarray(a)!r}, not {np.asarray(b)!r}")


def _same(a: Any, b: Any) -> bool:
    """Whether two results are one shape and near."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=CLOSE, atol=CLOSE * max(1.0, float(np.max(np.abs(b), initial=0.0))), equal_nan=True))


def of_this_package(f: Callable[..., Any], xs: list[Any], ts: list[Any]) -> Derivatives:
    """What is compared, by this package."""
    gradient = dispatch.grad(f, argnums=tuple(range(len(xs))))
    value, along = dispatch.jvp(f, tuple(xs), tuple(ts))
    return Derivatives(value, list(gradient(*xs)), along, list(dispatch.jvp(gradient, tuple(xs), tuple(ts))[1]))


def of_jax(program: Program, xs: list[Any], ts: list[Any]) -> Derivatives:
    """The same by JAX."""
    import jax

    constants = {name: getattr(np, name) for name in ("array", "int64", "uint8")}
    names = SimpleNamespace(**{name: getattr(jax.numpy, name) for name in dir(jax.numpy)} | constants)
    f = program.number({"np": names, "grad": jax.grad, "vmap": jax.vmap, "jvp": jax.jvp})
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        xs, ts = [jax.numpy.asarray(x) for x in xs], [jax.numpy.asarray(t) for t in ts]
        gradient = jax.grad(f, argnums=tuple(range(len(xs))))
        every = jax.jit(lambda xs, ts: (*jax.jvp(f, xs, ts), *jax.jvp(gradient, xs, ts)))  # compiled as one, or each operator is
        try:
            value, along, found, second = every(tuple(xs), tuple(ts))
        except (TypeError, NotImplementedError, ValueError) as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error
        return Derivatives(np.asarray(value), [np.asarray(x) for x in found], np.asarray(along), [np.asarray(x) for x in second])


def of_torch(program: Program, xs: list[Any], ts: list[Any]) -> Derivatives:
    """The same by torch, in reverse mode: the derivative along a direction is that of the gradient."""
    import torch

    f = program.number(in_torch())
    given = [torch.tensor(x.copy(), requires_grad=True) for x in xs]
    along = [torch.tensor(t) for t in ts]

    def gradients(y: Any) -> list[Any]:
        if not getattr(y, "requires_grad", False):
            return [torch.zeros_like(x) for x in given]
        found = torch.autograd.grad(y, given, create_graph=True, allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for x, g in zip(given, found, strict=True)]

    try:
        value = f(*given)
        gradient = gradients(value)
        slope = sum(torch.sum(g * t) for g, t in zip(gradient, along, strict=True))
        second = gradients(slope)
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError) as error:
        raise RefusedError(f"{type(error).__name__}: {error}") from error
    return Derivatives(*([x.detach().numpy(force=True) for x in y] if isinstance(y, list) else y.detach().numpy(force=True) for y in (value, gradient, slope, second)))


@functools.cache
def in_torch() -> dict[str, Any]:
    """What the names of a program stand for in torch."""
    import torch

    def tensor(x: Any) -> Any:
        return x if isinstance(x, torch.Tensor) else torch.as_tensor(x, dtype=torch.float64)

    def lifted(function: Any) -> Any:
        return lambda *args: function(*map(tensor, args))

    def along(function: Any) -> Any:
        """A function that takes the flat array where there is no axis."""
        return lambda x, axis=None: function(x.reshape(-1), 0) if axis is None else function(x, axis)

    def sums(function: Any) -> Any:
        """A reduction: no axis is all axes, and () is none."""

        def reduced(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
            return function(x, axes, keepdims) if axes else x * 1.0

        return reduced

    def dot(x: Any, y: Any) -> Any:
        return torch.tensordot(x, y, ([x.ndim - 1], [max(y.ndim - 2, 0)]))

    def array(values: Any, dtype: Any = None) -> Any:
        return torch.tensor(values, dtype=torch.bool if dtype is bool else torch.float64 if dtype is None and _has_floats(values) else torch.int64)

    def concatenate(xs: Any, axis: Any = 0) -> Any:
        return torch.cat([x.reshape(-1) for x in xs]) if axis is None else torch.cat(list(xs), axis)

    def flip(x: Any, axis: Any = None) -> Any:
        return torch.flip(x, tuple(range(x.ndim)) if axis is None else (axis,))

    def take(x: Any, places: Any, axis: Any = None) -> Any:
        x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        if isinstance(places, int):
            return x.select(axis, places) * 1.0
        return torch.index_select(x, axis, places % x.shape[axis])

    def maximal(function: Any) -> Any:
        return lambda x, axis=None, keepdims=False: function(x, tuple(range(x.ndim)) if axis is None else axis, keepdims)

    same = (
        "sin cos tanh exp sqrt abs square clip where log1p expm1 arctan sinh reciprocal exp2 sinc deg2rad cosh arcsin log real nan_to_num absolute conj log2"
        " arcsinh tan negative matmul inner vdot einsum kron reshape ravel moveaxis squeeze broadcast_to rot90 diag diagonal tril triu atleast_2d atleast_1d"
        " swapaxes column_stack fliplr flipud dstack vstack hstack argsort broadcast_shapes outer"
    ).split()  # fmt: skip
    names = {name: getattr(torch, name) for name in same} | {
        "hypot": lifted(torch.hypot), "arctan2": lifted(torch.atan2), "logaddexp": lifted(torch.logaddexp), "add": lifted(torch.add), "subtract": lifted(torch.sub),
        "multiply": lifted(torch.mul), "true_divide": lifted(torch.div), "divide": lifted(torch.div), "maximum": lifted(torch.maximum), "minimum": lifted(torch.minimum),
        "copysign": lifted(torch.copysign), "power": torch.pow, "sum": sums(torch.sum), "mean": sums(torch.mean), "nansum": sums(torch.nansum), "nanmean": sums(torch.nanmean),
        "average": sums(torch.mean), "prod": _prod, "var": _var, "trace": lambda x: torch.diagonal(x, 0, 0, 1).sum(-1), "trapezoid": lambda x: torch.trapezoid(x, dim=-1),
        "std": lambda x, axis: torch.sqrt(_var(x, axis)), "max": maximal(torch.amax), "amax": maximal(torch.amax), "min": maximal(torch.amin),
        "ptp": lambda x, axis=None: maximal(torch.amax)(x, axis) - maximal(torch.amin)(x, axis), "sort": lambda x, axis=-1: along(lambda x, axis: torch.sort(x, dim=axis, stable=True)[0])(x, axis),
        "cumsum": along(torch.cumsum), "cumprod": along(torch.cumprod), "dot": dot, "tensordot": lambda x, y, axes: dot(x, y) if axes == 1 and y.ndim < 2 else torch.tensordot(x, y, axes),
        "transpose": lambda x: x.permute(*reversed(range(x.ndim))), "expand_dims": torch.unsqueeze, "flip": flip, "roll": lambda x, n, axis=None: torch.roll(x, n, axis),
        "repeat": lambda x, n, axis=None: torch.repeat_interleave(x, n, axis), "concatenate": concatenate, "stack": lambda xs, axis=0: torch.stack(list(xs), axis),
        "tile": lambda x, n: torch.tile(x, (n,)), "split": torch.tensor_split, "array_split": torch.tensor_split, "append": lambda x, y: torch.cat([x.reshape(-1), y.reshape(-1)]), "copy": torch.clone, "zeros": lambda shape: torch.zeros(shape, dtype=torch.float64),
        "take": take, "take_along_axis": torch.take_along_dim, "arange": torch.arange, "eye": lambda n: torch.eye(n, dtype=torch.float64), "diff": lambda x, n=1, axis=-1: torch.diff(x, n, axis),
        "array": array, "int64": int, "uint8": torch.uint8,
    }  # fmt: skip
    names["add"].reduce = lambda x, axis=0: names["sum"](x, axis)
    linalg = SimpleNamespace(
        inv=torch.linalg.inv, solve=torch.linalg.solve, det=torch.linalg.det, slogdet=torch.linalg.slogdet, cholesky=torch.linalg.cholesky, multi_dot=torch.linalg.multi_dot,
        norm=lambda x, axis=None: torch.linalg.vector_norm(x, dim=axis),
    )  # fmt: skip
    return {"np": SimpleNamespace(linalg=linalg, **names), "grad": torch.func.grad, "vmap": torch.vmap, "jvp": torch.func.jvp}


def _prod(x: Any, axis: Any = None) -> Any:
    return x.prod() if axis is None else x.prod(axis)


def _var(x: Any, axis: Any = None) -> Any:
    return x.var(axis, correction=0)


def _has_floats(values: Any) -> bool:
    return any(map(_has_floats, values)) if isinstance(values, (list, tuple)) else isinstance(values, float)
