"""What the tape and forward mode share: a rule's gradient or tangent gets the shape and dtype of the value that it is of."""

from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from making import define, said

import dispatch
from dispatch.errors import DefinitionError, GradientError
from dispatch.layers.derivatives import fitted, parts_like, zeros

F8, F4, C16 = np.dtype("f8"), np.dtype("f4"), np.dtype("c16")
Pair = namedtuple("Pair", "x y")


@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_a_sum_is_the_transpose_of_a_broadcast(shapes):
    small, large = shapes.input_shapes[0], shapes.result_shape
    x, g = np.random.default_rng(0).normal(size=small), np.random.default_rng(1).normal(size=large)
    spread, summed = fitted(x, (large, F8), summed=False), fitted(g, (small, F8), summed=True)
    assert np.array_equal(spread, np.broadcast_to(x, large))
    assert np.isclose(np.sum(spread * g), np.sum(x * summed))


@given(st.lists(st.integers(2, 4), max_size=3), st.lists(st.integers(2, 4), max_size=3))
def test_other_shapes_do_not_fit(given_shape, shape):
    shapes = tuple(given_shape), tuple(shape)
    for summed, (small, large) in ((False, shapes), (True, shapes[::-1])):
        broadcasts = len(small) <= len(large) and large[len(large) - len(small) :] == small
        assert (fitted(np.ones(shapes[0]), (shapes[1], F8), summed=summed) is not None) == broadcasts


@pytest.mark.parametrize(("x", "dtype", "expected"), [
    (2, F8, 2.0), (True, F4, 1.0), (1.5, F4, 1.5), (2j, C16, 2j), (1 + 2j, F8, 1.0), (2, C16, 2 + 0j),
    (np.float64(2.5), F4, 2.5), (np.array(1 + 2j), F8, 1.0), (np.array(3), F8, 3.0),
])  # fmt: skip
def test_numbers_and_arrays_are_cast_a_complex_one_to_its_real_part(x, dtype, expected):
    for summed in (False, True):
        made = fitted(x, ((), dtype), summed=summed)
        assert made.dtype == dtype
        assert made == expected


@pytest.mark.parametrize("x", ["text", None, [1.0], (1.0,), {}, object()])
def test_what_is_no_array_does_not_fit(x):
    assert fitted(x, ((), F8), summed=True) is None


def test_what_fits_already_is_handed_on():
    x = np.ones((2, 3))
    assert fitted(x, ((2, 3), F8), summed=True) is x


def test_zeros_are_of_the_kind_of_the_value():
    assert type(zeros(((2,), F4), np.ones(3))) is np.ndarray
    assert zeros(((2,), F4), np.ones(3)).dtype == F4
    x = dispatch.FakeTensorMode().from_array(np.ones(3))
    assert type(zeros(((2,), F4), x)) is type(x)
    assert zeros(((2,), F4), x).shape == (2,)


@pytest.mark.parametrize(("given", "like", "parts"), [
    ([7, 8], (1, 2), [7, 8]),
    ({"y": 7}, {"x": 1, "y": 2}, [None, 7]),
    ({"y": 7}, Pair(1, 2), [None, 7]),
    (Pair(7, 8), Pair(1, 2), [7, 8]),
    ((7, 8), Pair(1, 2), None),
    ({"z": 7}, Pair(1, 2), None),
    ({"x": 7}, [1], None),
    (7, [1], None),
])  # fmt: skip
def test_the_parts_of_what_a_rule_gave(given, like, parts):
    found = parts_like(given, like)
    assert (found if found is None else list(found)) == parts


X = np.array([3.0, 4.0])
NUMBERS = {
    "float": ("float", lambda x: float(np.linalg.norm(x))),
    "complex": ("complex", lambda x: complex(np.linalg.norm(x))),
    "Scalar": ("Scalar", lambda x: float(np.linalg.norm(x))),
    "float[]": ("float[]", lambda x: [float(v) for v in x]),
    "beside an array": ("(Tensor, float)", lambda x: (x * 2, float(np.linalg.norm(x)))),
}
SEEN = {
    "gradient": [lambda f: dispatch.grad(f)(X), lambda f: dispatch.jacrev(f)(X), lambda f: f(dispatch.tensor(X, requires_grad=True))],
    "tangent": [lambda f: dispatch.jvp(f, (X,), (X,)), lambda f: dispatch.jacfwd(f)(X)],
}


@pytest.mark.parametrize("lost", SEEN)
@pytest.mark.parametrize(("returns", "kernel"), NUMBERS.values(), ids=NUMBERS)
def test_a_number_that_was_made_of_a_value_with_a_derivative_is_refused(returns, kernel, lost):
    op = define(f"(Tensor x) -> {returns}", kernel)
    for see in SEEN[lost]:
        if (returns, lost) == ("(Tensor, float)", "tangent"):
            continue  # the array beside it is refused first
        assert said(lambda see=see: see(lambda x: np.sum(x) + np.sum(op(x)[-1] if returns[0] == "(" else op(x))), GradientError) == (
            f"{op.name} made a number of a value that has a {lost}, and a number has none: it would be lost in silence. Return a 0-d "
            "array, np.asarray(result), hint it np.ndarray, and give the operator a derivative; or write dispatch.detach(...) around "
            "its arguments, where the number alone is meant."
        )


def test_where_the_number_alone_is_meant_it_is_a_constant():
    norm = define("(Tensor x) -> float", lambda x: float(np.linalg.norm(x)))
    t = dispatch.tensor(X, requires_grad=True)
    with dispatch.no_grad():
        assert norm(t) == np.linalg.norm(X)
    f = lambda x: norm(dispatch.detach(x)) * np.sum(x)
    np.testing.assert_array_equal(dispatch.grad(f)(X), [5.0, 5.0])
    np.testing.assert_array_equal(dispatch.jvp(f, (X,), (X,))[1], 5.0 * 7.0)


@pytest.mark.parametrize(("returns", "kernel"), [("int", len), ("bool", lambda x: bool(np.all(x > 0))), ("str", lambda x: str(x.dtype))])
def test_what_has_no_derivative_comes_out_as_it_is(returns, kernel):
    op = define(f"(Tensor x) -> {returns}", kernel)
    assert op(dispatch.tensor(X, requires_grad=True)) == kernel(X)
    np.testing.assert_array_equal(dispatch.jvp(lambda x: (op(x), x)[1], (X,), (X,))[1], X)


def test_a_rule_says_what_comes_of_the_arrays_beside_a_number():
    op = define("(Tensor x) -> (Tensor, float)", lambda x: (x * 2, float(np.linalg.norm(x))))
    op.register_autograd(lambda ctx, g, of_the_number: g * 2)
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(op(x)[0]) * op(x)[1])(X), [10.0, 10.0])


def test_an_operator_that_returns_no_array_takes_no_derivative():
    op = define("(Tensor x) -> (float, int)", lambda x: (float(np.sum(x)), 1))
    advice = "Return a 0-d array, np.asarray(result), and hint it np.ndarray; or leave the"
    assert said(lambda: op.register_autograd(lambda ctx, g, h: g), DefinitionError) == (
        f"{op.name} returns no array, so that no gradient comes back to it. {advice} backward out."
    )
    assert said(lambda: op.register_jvp(lambda tangents, output, x: output), DefinitionError) == (
        f"{op.name} returns no array, so that no tangent comes of it. {advice} rule out."
    )
