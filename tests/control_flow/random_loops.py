"""Random programs of loops and branches, nested, written with any loops: those of dispatch, or Python's."""

from collections.abc import Callable
from typing import Any

import numpy as np

import dispatch

ONE = [
    np.sin, np.tanh, np.abs, np.cumsum, np.sort, lambda x: -x, lambda x: x[::-1], lambda x: np.exp(-x * x),
    lambda x: np.concatenate([x[1:], x[:1]]), lambda x: np.where(x > 0.3, x, x * x),
]  # fmt: skip
TWO = [np.add, np.multiply, np.subtract, np.maximum, lambda a, b: a * np.sum(b), lambda a, b: np.outer(a, b) @ b, lambda a, b: a + b[0]]


def expression(rng: np.random.Generator) -> Callable[[list[Any]], Any]:
    """A few functions, each of values before it."""
    made = [(rng.random() < 0.5, rng.integers(99, size=3)) for _ in range(rng.integers(1, 4))]

    def run(values: list[Any]) -> Any:
        values = list(values)
        for single, (k, i, j) in made:
            x, y = values[i % len(values)], values[j % len(values)]
            values.append(ONE[k % len(ONE)](x) if single else TWO[k % len(TWO)](x, y))
        return np.tanh(values[-1])

    return run


def program(rng: np.random.Generator, depth: int = 2) -> Callable[[Any, Any], Any]:
    """A loop or a branch of a vector of three, perhaps with another in its body."""
    kind = rng.choice(["scan", "fori_loop", "while_loop", "cond"])
    first, second = expression(rng), expression(rng)
    inner = program(rng, depth - 1) if depth and rng.random() < 0.6 else None
    n, reverse, writes, by_data = int(rng.integers(1, 6)), bool(rng.random() < 0.3), rng.random() < 0.3, rng.random() < 0.5
    checkpoint, bound = [False, True, 2, 3][rng.integers(4)], rng.normal()
    matrix, table = rng.normal(size=(3, 3)) * 0.4, rng.normal(size=(n, 3))

    def step(by: Any, x: Any, c: Any, row: Any) -> Any:
        value = first([c, row, x, matrix @ c])
        if inner is not None:
            value = inner(by, value * 0.7 + row * 0.3)
        if writes:
            made = np.zeros_like(value)
            made[0] = value[1]
            made[1:] = value[:-1] * 2
            made += x
            value = np.tanh(made)
        return value

    def run(by: Any, x: Any) -> Any:
        if kind == "scan":
            f = lambda c, i: ((step(by, x, c[0], i["row"]), c[1] + np.sum(c[0])), {"y": second([c[0], x]), "z": None})
            rows = {"row": table * x if by_data else table}
            (a, b), ys = by.scan(f, (x, 0.0), rows, reverse=reverse, checkpoint=checkpoint)
            return a * b + np.sum(ys["y"] * table, 0)
        if kind == "fori_loop":
            return by.fori_loop(0, n, lambda i, c: step(by, x, c, dispatch.numpy.take(table, i, axis=0)), x)
        if kind == "while_loop":
            going = lambda c: (np.sum(c[0] * c[0]) > abs(bound) * 0.3) & (c[1] < n) if by_data else c[1] < n
            return by.while_loop(going, lambda c: (step(by, x, c[0], x) * 0.8, c[1] + 1), (x, 0), max_steps=n + 1)[0]
        return by.cond(np.sum(x) > bound, lambda y: step(by, x, y, x), lambda y: second([y, x]), x * 2.0)

    return run
