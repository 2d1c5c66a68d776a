"""A row that checks data gives its argument itself; what is written to that afterwards is nobody's business."""

from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch import ops
from dispatch.numpy_ops import histograms, quantiles, spacing  # noqa: F401  define some of them

CHECKED = sorted(name for name in dir(ops.np) if name.startswith("checked_"))


@pytest.mark.parametrize("name", CHECKED)
def test_what_is_written_to_a_checked_value_is_not_checked(name: str) -> None:
    check = getattr(ops.np, name)

    def f(x: Any) -> Any:
        y = check(x)
        y[0] = -3.0
        y[...] = -2.0  # neither rising nor positive
        y[1:] *= np.nan
        return x, y

    x = np.array([1.0, 2.0]) if name in ("checked_end", "checked_period", "checked_total", "checked_weights") else np.array([0.0, 1.0])
    ways = {
        "functionalize": dispatch.functionalize(f),
        "fake": dispatch.make_fx(f, "fake")(x.copy()),
        "symbolic": dispatch.make_fx(f, "symbolic")(x.copy()),
        "compile": dispatch.compile(f, fullgraph=True),
        "jvp": lambda x: dispatch.jvp(lambda x: f(dispatch.ops.np.copy(x)), (x,), (np.ones(2),))[0],
        "vjp": lambda x: dispatch.vjp(lambda x: f(dispatch.ops.np.copy(x)), x)[0],
        "vmap": lambda x: [r[1] for r in dispatch.vmap(f)(np.stack([x, x]))],
    }
    for way, run in ways.items():
        for found, expected in zip(run(x.copy()), f(x.copy()), strict=True):
            np.testing.assert_array_equal(found, expected, err_msg=way)


def test_edges_of_a_histogram_may_be_written() -> None:
    def f(x: Any) -> Any:
        edges = np.histogram(x, bins=3, range=(-1, 1))[1]
        edges[edges < 0] *= -1
        edges /= 2
        return edges

    x = np.array([0.2, 0.5, 0.9, -0.7])
    for way in (dispatch.functionalize(f), dispatch.compile(f, fullgraph=True), dispatch.make_fx(f, "fake")(x)):
        np.testing.assert_array_equal(way(x), f(x), strict=True)
