"""What data decide of a result, its dtype and its size: NumPy's choice, the statement of it in a graph, and what a shape rule says."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch import FakeTensorMode, make_fx, ops
from dispatch.errors import DataDependentError

REAL = np.array([[3.0, 1.0], [1.0, 2.0]])
TURNED = np.array([[1.0, 2.0], [-2.0, 1.0]])

# A function of a matrix, one for which NumPy's result is of one dtype or size, one for which it is of another, and what is said of a fake.
CHOICES: dict[str, tuple[Callable[[Any], Any], Any, Any, str]] = {
    "eigvals": (
        np.linalg.eigvals, REAL, TURNED,
        ("np.linalg.eigvals: whether the eigenvalues of real matrices are all real, and with them the dtype of the result, depends on the data, which a "
        "fake has not. Write np.linalg.eigvals(a.astype(complex)), whose result is complex; or call it on real arrays, outside the mode."),
    ),
    "eig": (
        lambda x: np.linalg.eig(x).eigenvalues, REAL, TURNED,
        ("np.linalg.eig: whether the eigenvalues of real matrices are all real, and with them the dtype of the result, depends on the data, which a "
        "fake has not. Write np.linalg.eig(a.astype(complex)), whose result is complex; or call it on real arrays, outside the mode."),
    ),
    "roots": (
        np.roots, np.array([1.0, -6.0, 11.0, -6.0]), np.array([1.0, 1.0, 2.0, 3.0]),
        ("np.roots: whether the roots of real coefficients are all real, and with them the dtype of the result, depends on the data, which a fake has not. "
        "Write np.roots(p.astype(complex)), whose result is complex; or call it on real arrays, outside the mode."),
    ),
    "power": (
        lambda x: np.emath.power(x, 0.5), np.array([1.0, 0.25]), np.array([1.0, -0.25]),
        ("np.emath.power: whether an element is below 0, and with it the dtype of the result, depends on the data, which a fake has not. "
        "Write np.emath.power(x + 0j), whose result is complex; or call it on real arrays, outside the mode."),
    ),
    "logn": (
        lambda x: np.emath.logn(x, 3.0), np.array([2.0, 0.25]), np.array([2.0, -0.25]),
        ("np.emath.logn: whether an element is below 0, and with it the dtype of the result, depends on the data, which a fake has not. "
        "Write np.emath.logn(x + 0j), whose result is complex; or call it on real arrays, outside the mode."),
    ),
    **{
        name: (
            getattr(np.emath, name), np.array([0.5, 0.25]), np.array([0.5, -0.25]),
            (f"np.emath.{name}: whether an element is below 0, and with it the dtype of the result, depends on the data, which a fake has not. "
            f"Write np.emath.{name}(x + 0j), whose result is complex; or call it on real arrays, outside the mode."),
        )
        for name in ("sqrt", "log", "log2", "log10")
    },
    **{
        name: (
            getattr(np.emath, name), np.array([0.5, 0.25]), np.array([0.5, -2.5]),
            (f"np.emath.{name}: whether an element is beyond 1, and with it the dtype of the result, depends on the data, which a fake has not. "
            f"Write np.emath.{name}(x + 0j), whose result is complex; or call it on real arrays, outside the mode."),
        )
        for name in ("arcsin", "arccos", "arctanh")
    },
}  # fmt: skip
if np.linalg.eigvals(REAL).dtype.kind == "c":  # NumPy 2.5: whatever the data are
    del CHOICES["eigvals"], CHOICES["eig"]
every_choice = pytest.mark.parametrize("name", CHOICES)


@every_choice
def test_values_that_are_followed_have_numpys_dtype_and_shape(name: str) -> None:
    f, *points, _ = CHOICES[name]
    for x in points:
        found = dispatch.detach(f(dispatch.tensor(x, requires_grad=True)))
        assert found.dtype == f(x).dtype
        np.testing.assert_allclose(found, f(x), rtol=1e-15)
        value, _ = dispatch.jvp(f, (x,), (x,))
        assert value.dtype == f(x).dtype


@every_choice
def test_a_batch_has_the_dtype_that_numpy_gives_the_whole_of_it(name: str) -> None:
    f, first, last, _ = CHOICES[name]
    for items in ([first, first], [first, last]):
        expected = np.stack([f(x) for x in items])
        found = dispatch.vmap(f)(np.stack(items))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected)


@every_choice
def test_a_fake_has_no_data_to_choose_by(name: str) -> None:
    f, x, _, said = CHOICES[name]
    for call in (lambda: FakeTensorMode().from_array(x), lambda: x):
        with pytest.raises(DataDependentError) as caught:
            if call() is x:
                make_fx(f, "fake")(x)
            else:
                f(call())
        assert str(caught.value).startswith(said)


@every_choice
@pytest.mark.parametrize("transform", [lambda f: f, lambda f: dispatch.grad(lambda x: np.sum(np.abs(f(x)) ** 2))], ids=["value", "gradient"])
def test_a_graph_holds_for_data_that_choose_alike_and_refuses_others(name: str, transform: Any) -> None:
    f, *points, _ = CHOICES[name]
    for x, other in (points, points[::-1]):
        graph = make_fx(transform(f))(x)
        np.testing.assert_allclose(graph(x * 1.25), transform(f)(x * 1.25))
        with pytest.raises(DataDependentError, match="np::settled: the graph was recorded where data made a result"):
            graph(other)


def test_the_statement_says_what_it_saw_and_what_it_sees() -> None:
    assert ops.np.settled(REAL, (2, 2), "f8") is REAL
    with pytest.raises(DataDependentError) as caught:
        ops.np.settled(REAL, (2, 3), "f8")
    assert str(caught.value) == (
        "np::settled: the graph was recorded where data made a result float64(2, 3), and here they make it float64(2, 2). Record it again with "
        "such data; or leave the function whose result it is out of the graph."
    )
