"""make_fx: functions as graphs, through every transform; what goes in and what comes out."""

import dataclasses
import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import dispatch
from dispatch import FakeTensorMode, grad, hessian, jacfwd, jacrev, jvp, make_fx, value_and_grad, vjp, vmap
from dispatch.errors import EscapedValueError, GraphError, TracingError
from dispatch.layers.autograd import TrackedTensor
from tests.compiler.test_trace_function_rows import same

X = np.array([0.3, 1.2])
in_each_mode = pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])


def written(x):
    y = x * 1
    y[0] = x[1]
    y += x
    np.add.at(y, [0, 0], 1.0)
    y[1:] *= 2
    return y


def into(x):
    y = np.zeros_like(x, shape=(3,))
    y[:2] = x
    np.sin(y, out=y)
    return y


def by_backward(x):
    leaf = dispatch.tensor(x, requires_grad=True)
    np.sum(np.sin(leaf) * leaf).backward()
    return leaf.grad


def by_autograd(x):
    leaf = dispatch.tensor(x, requires_grad=True)
    return dispatch.autograd.grad(np.sum(np.sin(leaf) * leaf), leaf)


def by_nested_tapes(x):
    leaf = dispatch.tensor(x, requires_grad=True)
    (slope,) = dispatch.autograd.grad(np.sum(leaf**3), leaf, create_graph=True)
    return dispatch.autograd.grad(np.sum(slope * x), leaf)


@grad
def partly(x):
    with dispatch.no_grad():
        y = np.sin(x)
    return np.sum(y * x * dispatch.detach(x))


PROGRAMS = {
    "infix": lambda x: 2 * x**2 - x / 3 + (-x) @ x,
    "methods": lambda x: x.sum() + x.reshape(2, 1).T.max() + x.astype("f4").mean(),
    "iteration": lambda x: sum(v * i for i, v in enumerate(x)),
    "choice": lambda x: np.where(x > 0.5, x, 0.0),
    "written": written,
    "into": into,
    "backward": by_backward,
    "autograd": by_autograd,
    "nested tapes": by_nested_tapes,
    "partly": partly,
    "checkpoint": grad(lambda x: np.sum(dispatch.checkpoint(lambda y: np.sin(y) * y)(x))),
    "vectorize": dispatch.vectorize(lambda a: a * a + 1),
    "grad": grad(lambda x: np.sum(np.tanh(x) * x)),
    "value_and_grad": value_and_grad(lambda x: np.sum(x**3)),
    "vjp": lambda x: vjp(np.sin, x)[1](x),
    "jvp": lambda x: jvp(np.sin, (x,), (x,)),
    "jacrev": jacrev(lambda x: np.sin(x) * x[0]),
    "jacfwd": jacfwd(lambda x: np.sin(x) * x[0]),
    "hessian": hessian(lambda x: np.sum(x**3)),
    "vmap": vmap(lambda x: np.sin(x) * x),
    "vmap of grad": vmap(grad(lambda x: np.sum(np.tanh(x) * x))),
    "grad of vmap": grad(lambda x: np.sum(vmap(np.tanh)(x) * x)),
}


@in_each_mode
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_trace_equals_eager(name, mode):
    f = PROGRAMS[name]
    graph = make_fx(f, mode)(X)
    graph.lint()
    for x in (X, X * 3):
        same(graph(x), f(x))


# -- arguments and results -------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Pair:
    a: Any
    n: int
    text: str = "text"


class Named(NamedTuple):
    x: Any
    others: list[Any]


@in_each_mode
def test_containers_go_in_and_out(mode):
    def f(pair, named, by_name):
        return {"pair": Pair(pair.a * pair.n, pair.n), "named": Named(named.x + named.others[0], [by_name["a b"], None, "c"])}

    args = Pair(X, 3), Named(X, [2 * X]), {"a b": 3 * X}
    graph = make_fx(f, mode)(*args)
    names = [node.name for node in graph.find_nodes(kind="placeholder")]
    assert names == ["pair_a", *(["pair_n"] if mode == "symbolic" else []), "named_x", "named_others_0", "by_name_a_b"]
    found, expected = graph(*args), f(*args)
    assert type(found["pair"]) is Pair
    assert type(found["named"]) is Named
    np.testing.assert_array_equal(found["pair"].a, expected["pair"].a)
    same(found["named"].x, expected["named"].x)
    assert (found["pair"].n, found["named"].others[1:]) == (3, [None, "c"])


@in_each_mode
@pytest.mark.parametrize("x", [2.0, 2.0j, np.float32(2), np.int64(3), np.array(2.0)], ids=lambda x: f"{type(x).__name__}")
def test_numbers_with_a_point_are_inputs(x, mode):
    graph = make_fx(lambda a, x: a * x, mode)(X, x)
    assert [node.name for node in graph.find_nodes(kind="placeholder")] == ["a", "x"]
    assert graph.nodes[1].value[:2] == ((), np.asarray(x).dtype)
    same(graph(X, x + 1), X * np.asarray(x + 1))


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("x", [3, True, "k", None, slice(1, 2)], ids=str)
def test_everything_else_is_held(x, mode):
    graph = make_fx(lambda a, x: a, mode)(X, x)
    assert [node.name for node in graph.nodes] == ["a"]
    same(graph(X, x), X)
    with pytest.raises(GraphError, match=r"^the graph was made with .* in its arguments, and an object was given\. What is no array is"):
        graph(X, object())


def test_an_int_takes_the_place_of_an_array_without_axes():
    graph = make_fx(lambda x: x / 2)(3.0)
    assert graph(5) == 2.5
    assert graph(5).dtype == np.float64


def test_one_object_given_twice_is_two_inputs():
    for mode in ("real", "fake", "symbolic"):
        graph = make_fx(lambda x, y: x - 2 * y, mode)(X, X)
        same(graph(X, 3 * X), X - 6 * X)


def test_what_is_returned_as_it_came():
    captured = np.array([5.0, 6.0])
    graph = make_fx(lambda x: (x, captured, 3, "s", None, x.shape, 1.5))(X)
    found = graph(2 * X)
    same(found[0], 2 * X)
    same(found[1], captured)
    assert found[1] is not captured
    assert found[2:] == (3, "s", None, (2,), 1.5)


def test_names_where_a_function_gives_none():
    assert [node.name for node in make_fx(lambda *args: args[0] + args[1])(X, X).nodes][:2] == ["x0", "x1"]


def test_a_tracked_argument_is_tracked_inside_and_an_array_of_the_graph():
    def f(w, x):
        assert type(w) is TrackedTensor
        return dispatch.autograd.grad(np.sum(w * w * x), w)[0]

    w = dispatch.tensor(X, requires_grad=True)
    for mode in ("real", "fake", "symbolic"):
        graph = make_fx(f, mode)(w, X)
        same(graph(2 * X, X), 4 * X * X)
        assert w.grad is None


# -- around and inside -----------------------------------------------------------------------------------------------------

AROUND = {
    "grad": (grad(lambda x: np.sum(make_fx(np.sin, AROUND_MODE[-1])(x)(x))), X, np.cos(X)),
    "vmap": (vmap(lambda x: make_fx(np.sin, AROUND_MODE[-1])(x)(x)), X, np.sin(X)),
    "jvp": (lambda x: jvp(lambda x: make_fx(np.sin, AROUND_MODE[-1])(x)(x), (x,), (x,))[1], X, np.cos(X) * X),
    "make_fx": (lambda x: make_fx(lambda x: make_fx(np.sin, AROUND_MODE[-1])(x)(x))(x)(x), X, np.sin(X)),
    "functionalize": (dispatch.functionalize(lambda x: make_fx(np.sin, AROUND_MODE[-1])(x)(x)), X, np.sin(X)),
} if (AROUND_MODE := ["real"]) else {}


@in_each_mode
@pytest.mark.parametrize("name", AROUND)
def test_a_graph_is_made_and_run_inside_a_transform(name, mode):
    f, x, expected = AROUND[name]
    AROUND_MODE.append(mode)
    try:
        np.testing.assert_allclose(f(x), expected, rtol=1e-15)
    finally:
        AROUND_MODE.pop()


@in_each_mode
def test_shapes_of_a_function_that_traces(mode):
    made = dispatch.eval_shape(lambda x: make_fx(np.sin, mode)(x)(x), X)
    assert (made.shape, made.dtype) == ((2,), np.float64)


@in_each_mode
def test_fakes_are_traced_in_their_mode(mode):
    with FakeTensorMode() as fakes:
        x = fakes.from_array(X)
    graph = make_fx(lambda x: np.sin(x) + 1, mode)(x)
    same(graph(X), np.sin(X) + 1)


def test_fakes_of_which_an_element_is_known_are_inputs_like_others():
    n = FakeTensorMode().constant(3.0)
    with pytest.raises(TracingError, match=r"^a number, by float"):
        make_fx(lambda n: float(n), "fake")(n)


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_without_data_arguments_are_left_alone(mode):
    def f(x):
        x += 1
        return x

    a = X.copy()
    graph = make_fx(f, mode)(a)
    same(a, X)
    same(graph(a), X + 1)
    same(a, X + 1)


def test_with_real_arrays_the_function_runs():
    a = X.copy()

    def f(x):
        x += 1

    make_fx(f)(a)
    same(a, X + 1)


def test_a_value_of_a_trace_that_has_ended_is_none_of_another():
    left = []
    make_fx(lambda x: left.append(x))(X)
    with pytest.raises(EscapedValueError, match=r"^a TracedTensor of make_fx \(level \d+\) is used after that transform has ended"):
        make_fx(lambda x: x * left[0])(X)
    with pytest.raises(EscapedValueError, match=r"^a TracedTensor of make_fx \(level \d+\) is used after that transform has ended"):
        make_fx(lambda x: left[0])(X)


# -- refused ---------------------------------------------------------------------------------------------------------------


def test_a_mode_that_is_none_is_refused():
    with pytest.raises(TracingError, match=r"^make_fx: tracing_mode is 'real', 'fake' or 'symbolic', and was given as 'eager'\.$"):
        make_fx(np.sin, "eager")


def test_what_is_no_function_is_refused():
    with pytest.raises(
        TracingError, match=r"^make_fx takes a function, and was given an ndarray\. Write make_fx\(f\)\(x\), not make_fx\(f\(x\)\)\.$"
    ):
        make_fx(np.sin(X))


def test_arguments_by_name_are_refused():
    with pytest.raises(
        TracingError,
        match=r"^a graph takes its arguments by position, and y came by name\. Trace a function of positions: "
        r"make_fx\(lambda x, y: f\(x, y=y\)\)\(x, y\)\.$",
    ):
        make_fx(lambda x, y: x + y)(X, y=X)


def test_a_size_that_nobody_can_read_is_refused():
    op = dispatch.custom_op("make_fx_tests::pieces", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_fake(lambda x: np.empty_like(x, shape=(dispatch.library.get_ctx().new_dynamic_size() + 1,)))
    with pytest.raises(
        TracingError,
        match=r"^the size u0 \+ 1 is used, and u0 is the length of no axis of an array that an operator gives, so that the graph could "
        r"not read it\. Let the operator return an array with such an axis\.$",
    ):
        make_fx(lambda x: dispatch.ops.np.arange(op(x).shape[0]), "symbolic")(X)


# -- constants that share memory ---------------------------------------------------------------------------------------------


def a_view(x: Any) -> Any:
    v = np.zeros(3) + 1
    return v, v.reshape(-1, 1)


def views_of_views(x: Any) -> Any:
    v = np.arange(6.0).reshape(2, 3)
    return v.T[::-1], v[1:], x + v[0], v[:, ::2]


def parts_of_numbers(x: Any) -> Any:
    z = np.arange(6).reshape(2, 3) * (1 + 1j)
    return z.real, z, z.imag[1], z.imag.astype("f4")


def a_repeated_row(x: Any) -> Any:
    z = np.arange(6).reshape(2, 3) * (1 + 1j)
    return z, np.broadcast_to(z[0], (2, 3))


def apart(x: Any) -> Any:
    v = np.arange(6.0)
    return v[:3], v[3:], v.copy(), v[::2], v[1::2]


def in_another_order(x: Any) -> Any:
    v = np.copy(np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2))
    return v, v[0, 1], v.reshape(-1)


def of_each_item(x: Any) -> Any:
    v = np.copy(np.arange(6.0).reshape(2, 3).T)
    return v, dispatch.vmap(lambda row: row[::-1])(v), dispatch.vmap(lambda row: row.reshape(1, -1))(v)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic", "compile", "export"])
@pytest.mark.parametrize("f", [a_view, views_of_views, parts_of_numbers, a_repeated_row, apart, in_another_order, of_each_item])
def test_constants_that_share_memory_share_it_in_the_results_of_a_graph(f: Any, mode: str) -> None:
    x = np.ones(3)
    if (f, mode) == (a_repeated_row, "compile"):  # a function that is compiled would return what may be written to
        with pytest.raises(TracingError, match="it returns an array that it made of no input, which is read-only: a graph would return another"):
            dispatch.compile(f, fullgraph=True)(x)
        return
    made = dispatch.compile(f, fullgraph=True) if mode == "compile" else dispatch.export(f, (x,)) if mode == "export" else make_fx(f, mode)(x)
    expected = f(x)
    for _ in range(2):  # each run has memory of its own
        found = made(x)
        shared = [[np.shares_memory(a, b) for a in some for b in some] for some in (found, expected)]
        assert shared[0] == shared[1]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            assert (a.dtype, a.strides) == (b.dtype, b.strides)
        found[0][...] = 7


def test_a_constant_and_a_view_of_it_that_a_call_gives_are_refused() -> None:
    def f(x: Any) -> Any:
        v = np.full(x.shape, 3)
        return dispatch.vmap(lambda row: row[::-1])(np.fliplr(v)), v

    x = np.ones((2, 3))
    assert np.shares_memory(*f(x))
    words = (
        "the function returns an ndarray that it made of no input, beside a view of the same memory, and a graph would return two "
        "arrays that share none. Return one of the two, or .copy() of one."
    )
    with pytest.raises(TracingError, match=re.escape(words)):
        make_fx(f)(x)
    for made in (dispatch.compile(f, fullgraph=True), make_fx(f, "fake")(x), make_fx(f, "symbolic")(x)):  # which see np.full
        assert np.shares_memory(*made(x))
        assert np.shares_memory(*made(x))
    first, second = make_fx(lambda x: (f(x)[0], f(x)[1].copy()))(x)(x)
    assert not np.shares_memory(first, second)
