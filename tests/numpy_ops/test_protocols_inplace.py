"""`array /= tracked`: taken where a variable alone holds the array, so that its next value cannot be told from a write; else refused."""

import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import making
import numpy as np
import pytest

import dispatch
from dispatch import grad, jvp, no_grad, vmap
from dispatch.core.source import assigns_anew
from dispatch.errors import UnsupportedError

A, B = np.array([0.5, 1.0, 2.0]), np.array([1.5, -1.0, 0.25])


class Holder:
    """An object with an array, its own or its class's."""

    shared = np.ones(3)

    def __init__(self) -> None:
        self.h = np.ones(3)


def local(x: Any) -> Any:
    h, k = np.ones(3) + 1.0, np.ones(3)
    h /= x
    k -= x * k
    k *= h
    return np.sum(h * k)


def operators(x: Any) -> Any:
    h = np.full(3, 5.0)
    h += x
    total = h
    for write in range(6):
        h = np.full(3, 5.0)
        if write == 0:
            h -= x
        elif write == 1:
            h *= x
        elif write == 2:
            h **= x
        elif write == 3:
            h //= x * 0.3
        elif write == 4:
            h %= x * 0.3
        else:
            h /= x
        total = total + h
    return np.sum(total)


def captured(x: Any) -> Any:
    h = np.ones(3)

    def read() -> Any:
        return np.sum(h * h)

    h *= x
    return read()


def outer(x: Any) -> Any:
    h = np.ones(3)

    def write() -> None:
        nonlocal h
        h *= x

    write()
    return np.sum(h * h)


def generated(x: Any) -> Any:
    def rows() -> Iterator[Any]:
        for n in range(1, 4):
            h = np.full(3, float(n))
            h *= x
            yield h

    return sum(np.sum(row * row) for row in rows())


def parameter(x: Any) -> Any:
    def write(h: Any) -> Any:
        h *= x
        return np.sum(h * h)

    return write(np.ones(3))


def narrow(x: Any) -> Any:
    h = np.ones((2, 3), np.float32)
    h *= x
    assert h.dtype == np.float32
    return np.sum(h.astype(float))


def module(x: Any) -> Any:
    names = {"np": np, "x": x}
    exec("h = np.ones(3); h *= x; total = np.sum(h * h)\ndef f():\n    global h\n    h *= x\nh = h * 0 + 1 if 0 else np.ones(3)\nf()", names)
    return names["total"] + np.sum(names["h"])


def one_line(x: Any) -> Any:
    h = np.ones(3)
    h *= x * sum(np.sum(h) for h in [h]); k = h  # noqa: E702 - the store and the next load are one instruction
    return np.sum(k)


TAKEN = [local, operators, captured, outer, generated, parameter, narrow, module, one_line]


@pytest.mark.parametrize("f", TAKEN)
def test_where_a_variable_alone_holds_the_array(f: Callable[[Any], Any]) -> None:
    dispatch.autograd.gradcheck(f, (making.leaf(A),)) if f is not narrow else None
    h = 1e-6
    slope = (f(A + h * B) - f(A - h * B)) / (2 * h)
    close = {"atol": 0.2} if f is narrow else {"atol": 1e-6}
    assert np.allclose(grad(f)(A) @ B, slope, **close)
    assert np.allclose(jvp(f, (A,), (B,))[1], slope, **close)
    assert np.allclose(vmap(f)(np.stack([A, A + 1])), [f(A), f(A + 1)])


def aliased(x: Any) -> Any:
    h = np.ones(3)
    held = h
    h *= x
    return held


def viewed(x: Any) -> Any:
    h = np.ones(3)
    held = h[1:]
    h *= x
    return held


def view(x: Any) -> Any:
    held = np.ones(4)
    h = held[1:]
    h *= x
    return held


def weakly(x: Any) -> Any:
    h = np.ones(3)
    held = weakref.ref(h)
    h *= x
    return held


def attribute(x: Any) -> Any:
    held = Holder()
    held.h *= x
    return held


def of_class(x: Any) -> Any:
    held = Holder()
    held.shared *= x
    return held


def item(x: Any) -> Any:
    held = [np.ones(3)]
    held[0] *= x
    return held


def default(x: Any, h: Any = np.ones(3)) -> Any:  # noqa: B008 - what the function holds is the point
    h *= x
    return h


def callers(x: Any) -> Any:
    held = np.ones(3)
    return default(x, held)


def names(x: Any) -> Any:
    held = np.ones(3)

    def f() -> Any:
        locals()
        h = held
        h *= x
        return h

    return f()


def kept_names(x: Any) -> Any:
    h = np.ones(3)
    held = locals()
    h *= x
    return held


def body(x: Any) -> Any:
    class Body:
        h = np.ones(3)
        h *= x

    return Body


def walrus(x: Any) -> Any:
    h = np.ones(3)
    held = [h]
    h *= (h := x)
    return held


def memory(x: Any) -> Any:
    h = np.ones(3)
    held = memoryview(h)
    h *= x
    return held


REFUSED = [
    aliased, viewed, view, weakly, attribute, of_class, item, default, callers, names, kept_names, body, walrus, memory,
]  # fmt: skip
WORDS = (
    "a *= x would write a {} of shape (3,) into an array, which cannot hold what it tracks. Write a = a * x; or make the array of "
    "a tracked one: a = np.zeros_like(x, shape=...)."
)


@pytest.mark.parametrize("f", REFUSED)
def test_where_somebody_else_may_see_the_array(f: Callable[[Any], Any]) -> None:
    assert making.said(lambda: grad(f)(A), UnsupportedError) == WORDS.format("TrackedTensor")
    assert making.said(lambda: jvp(f, (A,), (B,)), UnsupportedError) == WORDS.format("DualTensor")
    assert np.array_equal(Holder.shared, np.ones(3))


def test_every_operator_is_refused_where_the_array_has_another_name() -> None:
    x = making.leaf(A)
    for symbol in ("+", "-", "*", "/", "%", "**"):
        scope = {"np": np, "x": x}
        text = making.said(lambda s=symbol, n=scope: exec(f"h = held = np.ones(3)\nh {s}= x", n), UnsupportedError)
        assert f"Write a = a {symbol} x;" in text
    square = making.leaf(np.eye(3)) * 2

    def multiplied() -> None:
        h = np.eye(3)
        h @= square

    assert "Write a = a @ x;" in making.said(multiplied, UnsupportedError)


def test_what_numpy_refuses_is_refused_in_its_words() -> None:
    x = making.leaf(A)

    def growing(x: Any) -> None:
        h = np.ones(1)
        h *= x

    def of_integers(x: Any) -> None:
        h = np.ones(3, int)
        h *= x

    def readonly(x: Any) -> None:
        h = np.ones(3)
        h.flags.writeable = False
        h *= x

    def by_a_vector(x: Any) -> None:
        h = np.eye(3)
        h @= x

    def tracked_by_a_vector(x: Any) -> None:
        h = np.zeros_like(x, shape=(3, 3))
        h @= x

    for f in (growing, of_integers, by_a_vector):
        with pytest.raises((ValueError, TypeError)) as plain:
            f(A)
        assert making.said(lambda f=f: f(x), type(plain.value)) == str(plain.value)
    assert making.said(lambda: tracked_by_a_vector(x), ValueError) == making.said(lambda: by_a_vector(A), ValueError)
    assert making.said(lambda: readonly(x), UnsupportedError) == WORDS.format("TrackedTensor")


def test_constants_are_written_to_the_array() -> None:
    h = held = np.ones(3)
    with no_grad():
        h *= making.leaf(A)
    assert h is held
    assert np.array_equal(held, A)


def test_a_look_at_a_variable_leaves_no_reference() -> None:
    other = np.ones(3)
    before = sys.getrefcount(other)
    h = np.ones(3)
    h *= making.leaf(A)
    assert sys.getrefcount(other) == before


def test_a_function_call_assigns_nothing() -> None:
    h = np.ones(3)
    assert not assigns_anew(h, "*=")
    x = making.leaf(A)

    def called() -> None:
        h = np.ones(3)
        np.multiply(h, x, out=h)

    assert making.said(called, UnsupportedError) == WORDS.format("TrackedTensor")
