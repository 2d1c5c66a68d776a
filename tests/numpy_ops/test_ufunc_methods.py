"""The methods of ufuncs: every ufunc that has a row, each method, each keyword.

The oracles: NumPy's own method for values, bit for bit; a loop over `f` of two elements for derivatives; the loop over the items for
batches; the kernel for shapes.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch.errors import UnsupportedError
from dispatch.numpy_ops.numpy_functions import UFUNCS, load_rest
from dispatch.numpy_ops.ufunc_methods import without_derivative
from tests.numpy_ops.test_numpy_calls import bits, memory_order, told

load_rest()
NUMPYS = {f: op for f, op in UFUNCS.items() if op.schema.namespace == "np" and getattr(np, f.__name__, None) is f}
BINARY = [f for f in NUMPYS if f.nin == 2 and f.nout == 1 and not f.signature]
DTYPES = ["f8", "f4", "c16", "i8", "i2", "?", "u1"]
MASK = np.array([True, False, True])


def values(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return random.random(shape) < 0.6
    if kind.kind in "iu":
        return random.integers(0, 4, shape).astype(kind)
    found = random.uniform(0.6, 1.4, shape)
    return (found + 1j * random.uniform(-0.4, 0.4, shape) if kind.kind == "c" else found).astype(kind)


def laid_out(x: Any) -> list[Any]:
    return [x, np.asfortranarray(x), x[::-1, ..., ::-1]] if x.ndim > 1 else [x, np.repeat(x, 2)[::2], x[::-1]]


def calls(f: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Calls of the methods of a binary ufunc, of an array of three axes, the last of 3 elements."""
    for axis in (0, -1, 1, (1,), None, (0, 2), ()):
        for keepdims in (False, True):
            yield f"reduce axis={axis} keepdims={keepdims}", lambda x, a=axis, k=keepdims: f.reduce(x, a, keepdims=k)
    yield "reduce", f.reduce
    yield "reduce initial", lambda x: f.reduce(x, 1, initial=1)
    yield "reduce where initial", lambda x: f.reduce(x, -1, where=MASK, initial=2)
    yield "reduce where initial axis 0", lambda x: f.reduce(x, 0, None, None, True, 1, MASK)
    yield "reduce where", lambda x: f.reduce(x, 1, where=MASK)
    yield "reduce where, several axes", lambda x: f.reduce(x, (0, 1), where=MASK)
    for dtype in ("f8", "f4", "c16", "i4", "?"):
        yield f"reduce dtype={dtype}", lambda x, d=dtype: f.reduce(x, 1, dtype=d)
        yield f"reduce dtype={dtype} initial", lambda x, d=dtype: f.reduce(x, 1, dtype=d, initial=-1, where=MASK)
        yield f"accumulate dtype={dtype}", lambda x, d=dtype: f.accumulate(x, 1, dtype=d)
        yield f"reduceat dtype={dtype}", lambda x, d=dtype: f.reduceat(x, [0, 2], 1, dtype=d)
    for axis in (0, 1, -1, (0,), None, 7):
        yield f"accumulate axis={axis}", lambda x, a=axis: f.accumulate(x, a)
        yield f"reduceat axis={axis}", lambda x, a=axis: f.reduceat(x, [1, 0, 0], a)
    yield "reduceat", lambda x: f.reduceat(x, [0])
    yield "reduceat of nothing", lambda x: f.reduceat(x, [], 1)
    yield "reduceat out of bounds", lambda x: f.reduceat(x, [0, 9], 1)
    yield "reduceat of two axes", lambda x: f.reduceat(x, [[0], [1]], 1)
    yield "outer", lambda x: f.outer(x[0], x[:, 0])
    yield "outer of a list", lambda x: f.outer([1, 2], x[0])
    yield "outer dtype", lambda x: f.outer(x[0], x[0], dtype="f8")
    for name, given in [("reduce", (1,)), ("accumulate", (1,)), ("reduceat", ([0, 1], 1))]:
        for dtype in ("f8", "f4", "i8", "?"):
            yield f"{name} out={dtype}", lambda x, n=name, g=given, d=dtype: into(getattr(f, n), x, d, *g)


def into(method: Any, x: Any, dtype: str, *args: Any) -> Any:
    """Write the result of a method into an array of a dtype that is like `x`."""
    shape = np.shape(method(np.zeros(np.shape(x), x.dtype), *args))
    out = np.zeros_like(x, dtype, shape=shape)
    try:
        assert method(x, *args, out=out) is out
    except UnsupportedError as error:
        assert str(error).endswith((". Give one of that dtype.", *[": np.zeros_like(x, shape=...)."] * (out.dtype.kind not in "fc"))), error
        raise ValueError(*REFUSED) from error
    return out


REFUSED = ("refused",)  # of another dtype NumPy rounds to it at each step


def ran(call: Callable[[Any], Any], x: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            return call(x)
        except (TypeError, ValueError, IndexError) as error:
            return error


@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
def test_a_method_gives_what_numpys_own_gives(f: Any) -> None:
    """The value, its dtype and layout, or an error, of a fake and of a batch too."""
    for seed, dtype in enumerate(DTYPES):
        layouts = laid_out(values((2, 4, 3), dtype, seed))
        for number, (name, call) in enumerate(calls(f)):
            x = layouts[number % 3]
            expected, found = ran(call, x), ran(call, tracked(x))
            if isinstance(expected, Exception):
                assert isinstance(found, Exception), (name, dtype, expected, found)
                continue
            if isinstance(found, Exception) and found.args == REFUSED:
                continue
            assert not isinstance(found, Exception), (name, dtype, found)
            found = bare(found)
            assert told(expected) == told(found), (name, dtype)
            if not is_wrong_in_numpy(f) or x.dtype.kind in "iu":
                assert bits(expected) == bits(found), (name, dtype, expected, found)
            if "out=" in name:
                continue
            mode = dispatch.FakeTensorMode(allow_non_fake_inputs=True)
            shaped = ran(call, mode.from_array(x))
            assert not isinstance(shaped, Exception), (name, dtype, shaped)
            assert (shaped.shape, shaped.dtype) == (expected.shape, expected.dtype), (name, dtype)
            assert memory_order(shaped) == memory_order(expected), (name, dtype)


def is_wrong_in_numpy(f: Any) -> bool:
    """Whether NumPy's loop for AVX512 forgets the running result."""
    x = values((9,), "f8")
    return bool(f.reduce(x) != f.accumulate(x)[-1]) if f in (np.power, np.arctan2) else False


def tracked(x: Any) -> Any:
    return dispatch.tensor(x, requires_grad=x.dtype.kind in "fc")


def bare(x: Any) -> Any:
    return x.value if isinstance(x, dispatch.Tensor) else x


# -- derivatives -------------------------------------------------------------------------------------------------------------------


def folded(f: Any, x: Any) -> Any:
    """The running results along the first axis, by a loop over rows."""
    found = [x[0]]
    for i in range(1, len(x)):
        found.append(f(found[-1], x[i]))
    return found


INDICES = [0, 3, 1, 1]


def loops(f: Any) -> list[tuple[str, Any, Any]]:
    """Methods, and the same by loops, along the first axis, of 5 elements."""

    def reduced_at(x: Any) -> Any:
        return np.stack([folded(f, x[i:j])[-1] for i, j in [(0, 3), (3, 4), (1, 2), (1, 5)]])

    def chosen(x: Any) -> Any:
        found: Any = 1.25 * np.ones_like(x[0])
        for i in (0, 2, 4):
            found = f(found, x[i])
        return found

    mask = np.array([True, False, True, False, True])[:, None]
    return [
        ("reduce", f.reduce, lambda x: folded(f, x)[-1]),
        ("reduce keepdims", lambda x: f.reduce(x, 0, keepdims=True), lambda x: folded(f, x)[-1][None]),
        ("accumulate", f.accumulate, lambda x: np.stack(folded(f, x))),
        ("reduceat", lambda x: f.reduceat(x, INDICES), reduced_at),
        ("reduce where", lambda x: f.reduce(x, initial=1.25, where=mask), chosen),
        ("outer", lambda x: f.outer(x[:, 0], x[0]), lambda x: f(x[:, 0][:, None], x[0])),
    ]


def number(function: Any, g: Any) -> Any:
    return lambda x: np.sum(np.real(np.square(function(x)) * g))


WITH_DERIVATIVE = [f for f in BINARY if not without_derivative(NUMPYS[f]) and f is not np.ldexp]  # which has no method of floating-point numbers
COMPLEX = {"add", "subtract", "multiply", "divide", "power", "float_power"}


@pytest.mark.parametrize("f", WITH_DERIVATIVE, ids=lambda f: f.__name__)
def test_the_derivatives_of_a_method_are_those_of_a_loop(f: Any) -> None:
    """Backwards, forwards and of second order; of a batch along either axis, and of a graph."""
    for dtype in ("f8", "c16") if f.__name__ in COMPLEX else ("f8",):
        x, t = values((5, 2), dtype, 1), values((5, 2), dtype, 2)
        for name, method, loop in loops(f):
            label = (name, dtype)
            out, pull = dispatch.vjp(method, x)
            theirs, pulled = dispatch.vjp(loop, x)
            g = values(np.shape(out), dtype, 3)
            np.testing.assert_allclose(out, theirs, 1e-12, err_msg=str(label))
            np.testing.assert_allclose(pull(g)[0], pulled(g)[0], 1e-10, 1e-12, err_msg=str(label))
            np.testing.assert_allclose(dispatch.jvp(method, (x,), (t,))[1], dispatch.jvp(loop, (x,), (t,))[1], 1e-10, 1e-12, err_msg=str(label))
            second = [dispatch.jvp(dispatch.grad(number(function, g)), (x,), (t,))[1] for function in (method, loop)]
            np.testing.assert_allclose(*second, 1e-8, 1e-10, err_msg=str(label))
            if dtype == "f8":
                both = np.stack([x, x[::-1]], 1)
                batch = dispatch.vmap(dispatch.grad(number(method, g)), 1)(both)
                np.testing.assert_allclose(batch, [dispatch.grad(number(method, g))(y) for y in (x, x[::-1])], 1e-12, 1e-14, err_msg=str(label))
                graph = dispatch.make_fx(dispatch.grad(number(method, g)))(x)
                assert np.array_equal(graph(x[::-1]), dispatch.grad(number(method, g))(x[::-1])), label


@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_a_batch_is_the_loop_over_it_and_a_graph_replays(f: Any) -> None:
    for dtype in ("f8", "i8"):
        exact = not is_wrong_in_numpy(f)
        x = values((2, 4, 3, 2), dtype)
        for name, call in calls(f):
            if isinstance(ran(call, x[..., 0]), Exception) or "out=" in name:
                continue
            item = x[..., 0]
            items = [call(item), call(x[..., 1])]
            found = dispatch.vmap(call, -1)(x)
            assert found.dtype == items[0].dtype, name
            assert not exact or close(found, np.stack(items)), name
            graph = dispatch.make_fx(call)(item)
            again = np.ascontiguousarray(x[..., 1])
            assert not exact or bits(graph(again)) == bits(items[1]), name


def close(x: Any, y: Any) -> bool:
    """Whether two arrays are equal, but for the last bits: NumPy adds up in another order, and has other loops, for what lies otherwise."""
    if x.dtype.kind == "c":
        return close(x.real, y.real) and close(x.imag, y.imag)
    return bool(np.array_equal(x, y) if x.dtype.kind != "f" else np.allclose(x, y, 1e-14 if x.dtype == np.float64 else 1e-6, 1e-14, equal_nan=True))


# -- at ------------------------------------------------------------------------------------------------------------------------------

PLACES: list[Any] = [[0, 2, 0, 0, 1], np.array([[1, 1], [-1, 0]]), (slice(None), [0, 1, 1]), 1, [], np.array([True, False, True, True]), (1, 1), Ellipsis]


@pytest.mark.parametrize("f", [f for f in NUMPYS if f.nout == 1 and not f.signature], ids=lambda f: f.__name__)
@np.errstate(all="ignore")
def test_at_does_what_numpys_own_does(f: Any) -> None:
    """In place, with elements that are met more than once, of all dtypes; or an error, as NumPy's."""
    for dtype in DTYPES:
        for other in (dtype, "f8", "i8"):
            for places in PLACES:
                x = values((4, 2), dtype)
                value = [values(np.shape(x[places]), other, 1)] if f.nin == 2 else []
                expected, y = x.copy(), tracked(x.copy())
                made = np.zeros_like(y)
                made[...] = y
                error = ran(lambda x, rest=(places, *value): f.at(x, *rest), expected)
                if not isinstance(made, dispatch.Tensor):
                    continue
                found = ran(lambda x, rest=(places, *value): f.at(x, *rest), made)
                assert isinstance(error, Exception) == isinstance(found, Exception), (dtype, other, places, error, found)
                assert error is not None or close(made.detach(), expected), (dtype, other, places)


def test_the_derivatives_of_at_are_those_of_the_calls_one_by_one() -> None:
    x, v = values((3, 2), "f8"), values((5, 2), "f8", 1)
    places = [0, 2, 0, 0, 1]

    def by_method(f: Any) -> Any:
        def run(x: Any, v: Any) -> Any:
            y = np.copy(x)
            f.at(y, places, *([v] if f.nin == 2 else []))
            return y

        return run

    def one_by_one(f: Any) -> Any:
        def run(x: Any, v: Any) -> Any:
            rows = list(x)
            for i, place in enumerate(places):
                rows[place] = f(rows[place], *([v[i]] if f.nin == 2 else []))
            return np.stack(rows)

        return run

    for f in [*WITH_DERIVATIVE, np.sin, np.tanh, np.reciprocal]:
        (out, pull), (theirs, pulled) = [dispatch.vjp(made(f), x, v) for made in (by_method, one_by_one)]
        np.testing.assert_allclose(out, theirs, 1e-13, err_msg=f.__name__)
        for ours, expected in zip(pull(x), pulled(x), strict=True):
            np.testing.assert_allclose(ours, expected, 1e-10, 1e-12, err_msg=f.__name__)
        batch = dispatch.vmap(by_method(f))(np.stack([x, x + 1]), np.stack([v, v]))
        np.testing.assert_allclose(batch[1], by_method(f)(x + 1, v), 1e-13, err_msg=f.__name__)


def test_what_has_to_be_known_is_said() -> None:
    x, i = values((4,), "f8"), np.array([0, 2])
    with pytest.raises(UnsupportedError, match=r"np.hypot.reduceat: the indices are a BatchedTensor, and which elements belong to which"):
        dispatch.vmap(lambda i: np.hypot.reduceat(x, i))(i[None])
    with pytest.raises(UnsupportedError, match=r"np.hypot.at: the index is a wrapped value"):
        dispatch.vmap(lambda i, x: np.hypot.at(np.copy(x), i, 1.0))(i[None], x[None])
    with pytest.raises(UnsupportedError, match=r"np.hypot.reduce: initial=None has no row. Leave it out."):
        np.hypot.reduce(tracked(x), initial=None)
    with pytest.raises(UnsupportedError, match=r"np.hypot.accumulate: out= has dtype float32, and the result float64"):
        np.hypot.accumulate(tracked(x), out=np.zeros_like(tracked(x), "f4"))
