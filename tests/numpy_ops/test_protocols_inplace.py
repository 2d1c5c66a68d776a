"""`array /= tracked` raises, whoever holds the array: no reference count and no bytecode decides what a program means."""

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import making
import numpy as np
import pytest

import dispatch
from dispatch import grad, jvp, no_grad, vmap
from dispatch.errors import UnsupportedError

A, B = np.array([0.5, 1.0, 2.0]), np.array([1.5, -1.0, 0.25])


class Holder:
    """An object with an array, its own or its class's."""

    shared = np.ones(3)

    def __init__(self) -> None:
        self.h = np.ones(3)


def local(x: Any) -> Any:
    h = np.ones(3) + 1.0
    h *= x
    return h


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


WRITES = [
    local, captured, outer, generated, parameter, narrow, module, one_line, aliased, viewed, view, weakly, attribute, of_class, item,
    default, callers, names, kept_names, body, walrus, memory,
]  # fmt: skip
WORDS = (
    "a *= x would write a {} of shape (3,) into an array, which cannot hold what it tracks. Write a = a * x; or make the array of "
    "a tracked one: a = np.zeros_like(x, shape=...)."
)


@pytest.mark.parametrize("f", WRITES)
def test_a_write_into_a_plain_array_raises_whoever_holds_it(f: Callable[[Any], Any]) -> None:
    assert making.said(lambda: grad(f)(A), UnsupportedError) == WORDS.format("TrackedTensor")
    assert making.said(lambda: jvp(f, (A,), (B,)), UnsupportedError) == WORDS.format("DualTensor")
    assert making.said(lambda: vmap(f)(np.stack([A, B])), UnsupportedError) == WORDS.format("BatchedTensor")
    assert np.array_equal(Holder.shared, np.ones(3))


def test_the_line_to_write_names_the_operator() -> None:
    x = making.leaf(A)
    for symbol in ("+", "-", "*", "/", "%", "**"):
        scope = {"np": np, "x": x}
        text = making.said(lambda s=symbol, n=scope: exec(f"h = np.ones(3)\nh {s}= x", n), UnsupportedError)
        assert f"Write a = a {symbol} x;" in text
    square = making.leaf(np.eye(3)) * 2

    def multiplied() -> None:
        h = np.eye(3)
        h @= square

    assert "Write a = a @ x;" in making.said(multiplied, UnsupportedError)


def test_the_line_to_write_is_taken() -> None:
    def f(x: Any) -> Any:
        h = np.full(3, 2.0)
        h = h / x
        return np.sum(h * h)

    dispatch.autograd.gradcheck(f, (making.leaf(A),))


def test_a_product_with_a_vector_is_refused_in_numpys_words() -> None:
    def by_a_vector(x: Any) -> None:
        h = np.eye(3)
        h @= x

    def tracked_by_a_vector(x: Any) -> None:
        h = np.zeros_like(x, shape=(3, 3))
        h @= x

    with pytest.raises(ValueError, match="matrix multiplication") as plain:
        by_a_vector(A)
    x = making.leaf(A)
    assert making.said(lambda: by_a_vector(x), ValueError) == str(plain.value)
    assert making.said(lambda: tracked_by_a_vector(x), ValueError) == str(plain.value)


def test_constants_are_written_to_the_array() -> None:
    h = held = np.ones(3)
    with no_grad():
        h *= making.leaf(A)
    assert h is held
    assert np.array_equal(held, A)


def test_a_function_call_raises_in_the_same_words() -> None:
    h, x = np.ones(3), making.leaf(A)
    assert making.said(lambda: np.multiply(h, x, out=h), UnsupportedError) == WORDS.format("TrackedTensor")


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("shape", [(), (5,)])
@pytest.mark.parametrize("n", [2, -1, 0.5, 3])
def test_a_power_in_place_has_numpys_bits(dtype: str, shape: tuple[int, ...], n: Any) -> None:
    """Of complex arrays without axes NumPy squares otherwise in place than it does in `x ** 2`."""

    def f(x: Any) -> Any:
        x **= n
        return x

    made = np.random.default_rng(0)
    for _ in range(30):
        x = np.asarray(made.uniform(0.5, 2, shape) + 1j * made.normal(size=shape)).astype(dtype)
        assert np.array_equal(dispatch.functionalize(f)(x.copy()), f(x.copy()))
        assert np.array_equal(dispatch.jvp(f, (x,), (x,))[0], f(x.copy()))
    assert np.array_equal(dispatch.make_fx(f)(x.copy())(x.copy()), f(x.copy()))
