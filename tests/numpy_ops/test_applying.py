"""Python functions applied along axes, under every layer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from function_laws import hold

import dispatch

X = np.array([[0.5, -1.5, 2.25], [3.5, 1.25, -0.5]])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a number of a line": lambda x: np.apply_along_axis(lambda line: line[0] * line[-1], 1, x),
    "a line of a line": lambda x: np.apply_along_axis(np.sort, 0, x * x),
    "a matrix of a line": lambda x: np.apply_along_axis(lambda line, y: np.outer(line, y), 1, x, np.array([1.0, 2.0])),
    "one line": lambda x: np.apply_along_axis(lambda line, scale=1.0: np.sum(line) * scale, 0, x[0], scale=3.0),
    "sums over axes": lambda x: np.apply_over_axes(np.sum, x * x, (0, 1)),
    "another function over axes": lambda x: np.apply_over_axes(np.cumprod, x, [1]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function(name: str) -> None:
    hold(FUNCTIONS[name], X)


def test_what_cannot_be_applied_raises_numpys_errors() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    for call, said in [
        (lambda x: np.apply_along_axis(np.sum, 1, x[:0]), "Cannot apply_along_axis when any iteration dimensions are 0"),
        (lambda x: np.apply_along_axis(np.sum, 2, x), "axis 2 is out of bounds"),
        (lambda x: np.apply_over_axes(lambda x, axis: x[0, 0], x, 0), "function is not returning an array of the correct shape"),
    ]:
        for value in (x, X):
            with pytest.raises(ValueError, match=said):
                call(value)
