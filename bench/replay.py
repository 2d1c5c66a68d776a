"""What does a replayed node cost beside the call in plain Python, for every function of NumPy's that has a row?

The cost of a node is its share of a program: the difference of one with 40 of it and one with 20, on arrays of about ten
numbers. The call in plain Python is the same difference of two functions with as many lines. Functions of NumPy are called as
they are called in tests/numpy_ops/numpy_calls.py; methods and infix operators stand below. A function that is traced as several
nodes is listed with their number; the bound is on what is one.

    python -m bench replay                  every function; those above are listed, and how many are not
    python -m bench replay reshape "x["     those whose line has one of these texts, each with its figures
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import dispatch
from bench import table
from dispatch.compiler import program
from dispatch.core.pytree import leaves, mapped
from dispatch.graph import reinplace
from dispatch.layers.functionalize import functionalize
from dispatch.numpy_ops.numpy_functions import FUNCTIONS, UFUNCS, load_rest, spelling_of
from tests.numpy_ops.numpy_calls import calls_of, told

FEW, MANY = 20, 40
BATCH, ROUNDS = 1e-3, 7
ABOVE = 1.05  # of the call in plain Python; of less the clock says nothing
X, M = np.linspace(0.1, 2, 10), np.linspace(0.1, 2, 10).reshape(2, 5)
METHODS = (
    "m.T", "x.reshape(2, 5)", "x[::-1]", "x[2]", "x[1:3]", "x[None]", "x[:, None]", "x[...]", "m[0]", "m[:, 1]",
    "m[0, 1]", "x[[1, 2]]", "x[x > 0.5]", "x + x", "x + 1.0", "x * 2", "-x", "abs(x)", "x ** 2", "x ** 3", "x ** 0.5",
    "x // 2.0", "x % 2.0", "x > 0.5", "x @ x", "m @ m.T", "divmod(x, 2.0)", "np.maximum(x, 0.)", "np.clip(x, 0., 1.)",
    "x.clip(0.2, 1.0)", "x.sum()", "m.sum(0)", "x.mean()", "x.std()", "x.var()", "x.max()", "x.min()", "x.prod()",
    "x.any()", "x.argmax()", "x.cumsum()", "x.repeat(2)", "x.round(1)", "x.dot(x)", "x.astype('f4')", "x.copy()",
    "m.ravel()", "x.squeeze()", "m.transpose(1, 0)", "m.swapaxes(0, 1)", "x.real", "m.trace()", "np.stack([x, x])",
    "np.concatenate([x, x])", "np.linalg.norm(x)", "np.where(x > 0.5, x, 0.0)", "np.einsum('ij,kj->ik', m, m)",
)  # fmt: skip
WRITES = frozenset({np.copyto, np.put, np.put_along_axis, np.fill_diagonal, np.place, np.putmask})


class Line(NamedTuple):
    """A line of code, the names in it, and the arrays among these, which are given."""

    text: str
    code: str
    scope: dict[str, Any]
    arrays: dict[str, Any]


class Cost(NamedTuple):
    """Nanoseconds of a line replayed and in plain Python, and of how many nodes it is."""

    node: float
    call: float
    nodes: int

    @property
    def ratio(self) -> float:
        return self.node / self.call


def main(words: Sequence[str]) -> None:
    """Measure and print."""
    load_rest()
    warnings.simplefilter("ignore")
    rows, above, held, left = [], 0, 0, 0
    with np.errstate(all="ignore"):
        for line in (*methods(), *functions()):
            if words and not any(word in line.text for word in words):
                continue
            try:
                cost = costs(line)
            except Exception:  # there is no graph of it, or none for these arrays
                left += 1
                continue
            single = cost.nodes <= 1
            over = cost.ratio > ABOVE
            above, held = above + (over and single), held + (single and not over)
            if words or over:
                numbers = (table.number(cost.node), table.number(cost.call), f"{cost.ratio:.2f}", str(cost.nodes))
                rows.append((line.text[:80], *numbers))
    print(table.machine(["npdispatch", "numpy"]))
    print()
    print(table.columns(("ns", "a node", "a call", "ratio", "nodes"), rows))
    print()
    print(f"{held} of one node are at most {ABOVE} of the call; {left} calls have no graph of these arrays.")
    print()
    print(table.verdicts([table.Figure(f"functions of one node above {ABOVE} of the call", above, 0, "")]))


def methods() -> Iterator[Line]:
    """Methods and infix operators."""
    for code in METHODS:
        yield Line(code, code, {"np": np}, {"x": X, "m": M})


def functions() -> Iterator[Line]:
    """Two calls of each function, with float64 and without keywords."""
    named = [(spelling_of(f), f) for f in FUNCTIONS if f not in WRITES]
    for name, f in [*named, *[(f"np.{ufunc.__name__}", ufunc) for ufunc in UFUNCS]]:
        found = 0
        for call in calls_of(name, f, False):
            if found == 2 or call.dtype != "f8" or call.layout != "C" or call.flags:
                continue
            args, _, _ = call.arguments()
            args = mapped(_tame, args)
            flat = leaves(args)
            sizes = [np.size(x) for x in flat]
            if not sizes or min(sizes) < 1 or max(sizes) > 30 or not getattr(flat[0], "ndim", 1) or not any(map(np.ndim, flat)):
                continue
            try:
                f(*args)
            except Exception:  # NumPy does not take it
                continue
            names = {f"a{i}": x for i, x in enumerate(flat)}
            arrays = {key: x for key, x in names.items() if isinstance(x, np.ndarray)}
            rest = {key: x for key, x in names.items() if key not in arrays}
            code = f"{name}({', '.join(map(_spelled, args, [iter(names)] * len(args)))})"
            found += 1
            yield Line(f"{name}({', '.join(map(told, args))})", code, {"np": np, **rest}, arrays)


def _tame(x: Any) -> Any:
    return np.abs(x) % 1 + 0.1 if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def _spelled(x: Any, names: Iterator[str]) -> str:
    """An argument as code, with a name for each leaf."""
    if isinstance(x, list):
        return f"[{', '.join(_spelled(item, names) for item in x)}]"
    if isinstance(x, tuple):
        return f"({''.join(_spelled(item, names) + ', ' for item in x)})"
    return next(names)


def costs(line: Line) -> Cost:
    """What a line costs; the fastest of three, for what is above is mostly the machine."""
    few, many = unrolled(line, FEW), unrolled(line, MANY)
    args = tuple(line.arrays.values())
    graphs = [dispatch.make_fx(functionalize(f), "fake")(*args) for f in (few, many)]
    programs = [program(reinplace(graph)) for graph in graphs]
    nodes = (len(graphs[1].nodes) - len(graphs[0].nodes)) // (MANY - FEW)
    best = Cost(np.inf, 1.0, nodes)
    for _ in range(3):
        short, long, shorter, longer = (seconds(f, args) for f in (few, many, *programs))
        found = Cost((longer - shorter) / (MANY - FEW) * 1e9, (long - short) / (MANY - FEW) * 1e9, nodes)
        best = min(best, found, key=lambda cost: cost.ratio)
        if best.ratio <= 1:
            break
    return best


def unrolled(line: Line, count: int) -> Callable[..., Any]:
    """A function that has a line so many times, and returns the last result."""
    body = "".join(f"    y{i} = {line.code}\n" for i in range(count))
    scope = dict(line.scope)
    exec(f"def f({', '.join(line.arrays)}):\n{body}    return y{count - 1}", scope)
    made: Callable[..., Any] = scope["f"]
    return made


def seconds(f: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """The fastest call, of batches."""
    number, spent = 1, 0.0
    while spent < BATCH / 2:
        number *= 2
        spent = _batch(f, args, number)
    return min(_batch(f, args, number) for _ in range(ROUNDS)) / number


def _batch(f: Callable[..., Any], args: tuple[Any, ...], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        f(*args)
    return time.perf_counter() - start
