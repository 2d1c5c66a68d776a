"""A row that checks data gives its argument itself; what is written to that afterwards is nobody's business."""

import warnings
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


NAN = np.nan
EDGES = [
    np.zeros(0), np.zeros((0, 3)), np.zeros((3, 0)), np.full(3, NAN), np.array([[1, NAN], [2, NAN]]), np.ones(1), np.array([1.0, NAN, 2.0]),
    np.array([np.inf, -np.inf, 1.0]), np.full(3, 1e308), np.full((2, 2), NAN),
]  # fmt: skip
REDUCTIONS: dict[str, Any] = {
    name: getattr(np, name)
    for name in "mean var std median sum prod nanmean nanvar nanstd nanmedian nanmax nanmin nansum nanprod nanargmax nanargmin nancumsum ptp".split()
}
REDUCTIONS |= {
    "nanquantile": lambda x, **more: np.nanquantile(x, 0.3, **more),
    "nanpercentile": lambda x, **more: np.nanpercentile(x, [30, 60], **more),
    "quantile": lambda x, **more: np.quantile(x, 0.3, **more),
}


def said(f: Any) -> tuple[set[tuple[type[Warning], str]], str, Any]:
    """What NumPy warns of, floating-point errors aside; the class of what it raises; the result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, raised = f(), ""
        except Exception as error:
            result, raised = None, type(error).__name__
    return {(w.category, str(w.message)) for w in caught if "encountered in " not in str(w.message)}, raised, result


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_a_reduction_warns_of_what_numpy_warns_of(name: str, axis: Any) -> None:
    for x in EDGES:
        f = lambda x: REDUCTIONS[name](x, axis=axis)
        warned, raised, expected = said(lambda: f(x))  # noqa: B023
        for way, run in {
            "tracked": lambda: dispatch.detach(f(dispatch.tensor(x, requires_grad=True))),  # noqa: B023
            "replayed": lambda: dispatch.make_fx(f, "real")(x)(x),  # noqa: B023
        }.items():
            found = said(run)
            assert found[:2] == (warned, raised), (way, x)
            np.testing.assert_array_equal(found[2], expected, f"{way} {x}")
