"""Numbers with equal ratios between values that are followed, under every layer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from function_laws import hold

import dispatch

X = np.array([0.5, 1.5, 2.25])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "linspace and its step": lambda x: np.linspace(x, 3.0, 4, retstep=True),
    "linspace and its step, of one axis": lambda x: np.linspace(x[0], x[1:], 4, endpoint=False, retstep=True, axis=-1)[1] * 2,
    "logspace": lambda x: np.logspace(x[0], x[1], 5),
    "logspace, another base": lambda x: np.logspace(0.0, x, 4, base=2.0, endpoint=False, axis=-1),
    "logspace, bases": lambda x: np.logspace(0.0, 1.5, 4, base=x),
    "geomspace": lambda x: np.geomspace(x[0], x[2], 5),
    "geomspace, downwards": lambda x: np.geomspace(-x, [-10.0, -3.0, -1.0], 4, axis=1),
    "geomspace, without its end": lambda x: np.geomspace(1, x, 3, endpoint=False),
    "geomspace, one": lambda x: np.geomspace(x, 2.0, 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_space(name: str) -> None:
    hold(FUNCTIONS[name], X)


def test_an_end_that_is_0_raises_numpys_error_also_where_a_trace_runs() -> None:
    said = "Geometric sequence cannot include zero"
    for f in (lambda x: np.geomspace(x, 2.0), lambda x: np.geomspace(1.0, x), lambda x: np.geomspace(0, x + 1)):
        for run in (f, dispatch.grad(lambda x, f=f: np.sum(f(x))), dispatch.vmap(f)):
            with pytest.raises(ValueError, match=said):
                run(X * 0.0)
    graph = dispatch.make_fx(lambda x: np.geomspace(x, 2.0))(X)
    with pytest.raises(ValueError, match=said):
        graph(X * 0.0)
