"""The laws of a function made of rows: its values are NumPy's under every layer, and its derivatives those of finite differences.

`hold(f, x)` asks reverse mode, forward mode, second order, vmap at either axis, a trace that is replayed on other values, a compiled
call, and fakes. The oracle is the function itself on plain arrays.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import dispatch
from dispatch import FakeTensorMode
from dispatch.core.pytree import arrays

Function = Callable[[Any], Any]
LAYERS = frozenset({"tape", "jvp", "second", "vmap", "trace", "compile", "fake"})


def hold(f: Function, x: Any, but: str = "", rtol: float = 1e-6) -> None:
    """Hold a function of one array to the laws, but for those of the layers that are named."""
    left_out = set(but.split())
    assert left_out <= LAYERS
    checks = {"tape": tape, "jvp": jvp, "second": second, "vmap": vmap, "trace": trace, "compile": compiled, "fake": fake}
    for name, check in checks.items():
        if name not in left_out:
            check(f, np.asarray(x), rtol)


def number(f: Function) -> Function:
    """All results as one number, in which each element counts otherwise."""

    def g(x: Any) -> Any:
        parts = [y for y in arrays(f(x)) if y.dtype.kind in "fc"]
        return sum([np.sum(np.real(y) * (1.0 + np.arange(y.size).reshape(y.shape) / 7)) for y in parts], 0.0 * np.sum(np.real(x)))

    return g


def same(found: Any, expected: Any, x: Any = None, rtol: float = 0.0) -> None:
    """The same arrays, of the same kind."""
    found, expected = [[*arrays(y)] for y in (found, expected)]
    assert len(found) == len(expected)
    for made, wanted in zip(found, expected, strict=True):
        made = dispatch.detach(made)
        assert (np.shape(made), made.dtype) == (np.shape(wanted), wanted.dtype)
        np.testing.assert_allclose(made, wanted, rtol=rtol, atol=rtol)


def differences(f: Function, x: Any, step: float = 1e-6) -> Any:
    """The gradient by central differences."""
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[place] += step
        below[place] -= step
        found[place] = (f(above) - f(below)) / (2 * step)
    return found


def tape(f: Function, x: Any, rtol: float) -> None:
    """Values and gradients on the tape."""
    same(f(dispatch.tensor(x, requires_grad=True) * 1), f(x * 1))
    expected = differences(number(f), x)
    np.testing.assert_allclose(dispatch.grad(number(f))(x), expected, rtol=rtol, atol=1e-8 * np.max(np.abs(expected), initial=10.0))


def jvp(f: Function, x: Any, rtol: float) -> None:
    """Forward mode says what the gradient says."""
    t = np.linspace(0.5, 1.5, x.size).reshape(x.shape)
    value, moved = dispatch.jvp(number(f), (x,), (t,))
    np.testing.assert_allclose(value, number(f)(x), rtol=1e-12)
    np.testing.assert_allclose(0.0 if moved is None else moved, np.sum(dispatch.grad(number(f))(x) * t), rtol=1e-10, atol=1e-12)


def second(f: Function, x: Any, rtol: float) -> None:
    """The derivative of the gradient."""
    w = np.linspace(1.0, 2.0, x.size).reshape(x.shape)

    def slope(x: Any) -> Any:
        return np.sum(dispatch.grad(lambda x: np.sin(number(f)(x) / 8))(x) * w)

    np.testing.assert_allclose(dispatch.grad(slope)(x), differences(slope, x), rtol=1e-4, atol=1e-6)


def vmap(f: Function, x: Any, rtol: float) -> None:
    """A batch is the loop over it, and its gradients those of the loop."""
    items = [x, x * 1.01, x[::-1].copy() if x.ndim else x + 0.5]
    expected = [np.stack(column) for column in zip(*[arrays(f(item)) for item in items], strict=True)]
    for dim in {0, x.ndim}:
        found = dispatch.vmap(f, dim)(np.stack(items, dim))
        same(found, expected, rtol=1e-12)
    slope = dispatch.grad(number(f))
    np.testing.assert_allclose(dispatch.vmap(slope)(np.stack(items)), [slope(item) for item in items], rtol=1e-9, atol=1e-12)


def trace(f: Function, x: Any, rtol: float) -> None:
    """A trace runs on other values of the same order."""
    graph = dispatch.make_fx(f)(x)
    for other in (x, x * 1.01):
        same(graph(other), f(other))


def compiled(f: Function, x: Any, rtol: float) -> None:
    """A compiled function gives the same values, the first time and the next."""
    run = dispatch.compile(f)
    for other in (x, x * 1.01, x):
        same(run(other), f(other))


def fake(f: Function, x: Any, rtol: float) -> None:
    """The shapes and dtypes without data."""
    expected = arrays(f(x))
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        found = arrays(f(mode.from_array(x)))
    assert [(y.shape, y.dtype) for y in found] == [(np.shape(y), y.dtype) for y in expected]
