"""What no plain array holds without data, in `make_fx`, `export` and `eval_shape`: traced on a copy, as a compiled function is."""

import contextlib
import dataclasses
import functools

import numpy as np
import pytest

import dispatch
from dispatch.errors import DispatchError, TracedDataError, TracingError
from tests.compiler.test_trace_function_rows import same

X, Y = np.array([0.5, -1.25, 2.0]), np.array([3.0, 0.25, -4.0])
RATE, W = 0.25, np.array([2.0, 3.0, 4.0])


def written(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = np.sin(x[i]) * RATE
    return out, out[::-1]


def recurrence(x):
    out = np.empty(x.shape[0])
    out[0] = x[0]
    for i in range(1, x.shape[0]):
        out[i] = out[i - 1] * 0.5 + x[i]
    return out


def by_columns(x):
    out = np.ones((2, x.size), order="F")
    out[1] = x
    out[:, -1] += x.sum()
    return out, np.eye(3)[:, 0]


def scaled(x, factor=2.0):
    out = np.full(x.shape, 1.5)
    out[1:] *= x[:-1] * factor
    return out + W


@dataclasses.dataclass
class Step:
    rate: float

    def __call__(self, x):
        out = np.zeros_like(W)
        out[...] = x * self.rate
        return out


FUNCTIONS = {
    "written": written,
    "recurrence": recurrence,
    "by columns": by_columns,
    "a list of values": lambda x: np.array([x[0], 1.0, np.max(x)]),
    "lists in lists": lambda x: np.array([[x[0], 0], [1, x[1]]], dtype=np.float32),
    "asarray": lambda x: np.asarray(x * 2, dtype=np.float32) + 1,
    "asarray is the array": lambda x: np.add(np.asarray(x), 1.0, out=np.asarray(x)),
    "full": lambda x: np.full((2, 3), x[0]) * np.full(3, np.sum(x)),
    "full of a row": lambda x: np.full((2, x.size), x),
    "a comprehension": lambda x: np.asarray([z * z for z in x]),
    "a helper": lambda x: scaled(x) - scaled(x, factor=0.5),
    "partial": functools.partial(scaled, factor=3.0),
    "an object": Step(0.125),
    "lists where NumPy asks none": lambda x: (np.max([x[0], x[1]]), np.median([x, x * 2.0], axis=0), np.lexsort([x, -x]), np.linalg.norm([x[0], 2.0])),
    "a list by keyword": lambda x: np.average([x[0], 2.0], weights=[1.0, x[1] ** 2]),
    "isinstance": lambda x: np.array([x[0]]) if isinstance(x, np.ndarray) else np.array([x[1]]),
    "identity written": lambda x: [made := np.identity(3), made.__setitem__((0, 2), x[1])][0],
}
WAYS = {
    "fake": lambda f, *args: dispatch.make_fx(f, "fake")(*args),
    "symbolic": lambda f, *args: dispatch.make_fx(f, "symbolic")(*args),
    "functionalized": lambda f, *args: dispatch.make_fx(dispatch.functionalize(f), "fake")(*args),
    "export": lambda f, *args: dispatch.export(f, args),
    "export, dynamic": lambda f, *args: dispatch.export(f, args, dynamic_shapes={"x": {0: True}}),
}


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_compile_takes_it_too(f):
    compiled = dispatch.compile(f, fullgraph=True)
    for x in (X, Y):
        same(given_and_found(compiled, x), given_and_found(f, x))


def given_and_found(f, *args):
    args = [x.copy() for x in args]
    return f(*args), args


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_graph_of_the_copy_gives_what_the_function_gives(f, way):
    graph = way(lambda x: f(x), X.copy())  # a dynamic axis is named by its parameter
    for x in (X, Y):
        same(given_and_found(graph, x), given_and_found(f, x))


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_shapes_of_the_copy_are_those_of_what_the_function_gives(f):
    found, expected = dispatch.eval_shape(f, X), f(X.copy())
    for x, y in zip(*[z if isinstance(z, tuple) else (z,) for z in (found, expected)], strict=True):
        assert (x.shape, x.dtype, x.strides) == (y.shape, y.dtype, y.strides)


def test_lengths_of_what_the_code_makes_are_open():
    def halves(x):
        out = np.zeros(x.shape)
        out[1:] = x[:-1] * 0.5
        return out

    graph = dispatch.make_fx(halves, "symbolic")(X)
    assert graph.symbols
    for n in (2, 3, 7):
        x = np.linspace(1.0, 2.0, n)
        same(graph(x), halves(x))


def test_one_array_given_twice_is_two_inputs_and_inputs_have_their_names():
    graph = dispatch.make_fx(lambda a, b: np.array([a[0], b[1]]), "fake")(X, X)
    assert [node.name for node in graph.find_nodes(kind="placeholder")] == ["a", "b"]
    same(graph(X, Y), np.array([X[0], Y[1]]))


def test_what_it_refers_to_is_constant():
    held = [np.ones(3)]
    graph = dispatch.make_fx(lambda x: np.array([x[0], 1.0, 2.0]) * held[0], "fake")(X)
    held[0][...] = 5.0
    same(graph(Y), np.array([Y[0], 1.0, 2.0]))


def test_a_function_in_a_function_that_is_traced():
    """Control flow traces bodies, a derivative the function in it."""

    def steps(x):
        out = np.zeros(2)
        out[0] = dispatch.grad(lambda z: np.sum(z * z))(x)[1]
        return dispatch.fori_loop(0, 3, lambda i, c: c * 0.5 + out, out)

    same(dispatch.make_fx(steps, "fake")(X)(Y), steps(Y))


def appending(x, log=[]):  # noqa: B006  what it is about
    log.append(len(log))
    return np.array([x[0], x[1]])


def counting(x, count=np.zeros(1)):  # noqa: B008
    count[0] += 1
    return np.array([x[0], x[1]])


def drawing(x, rng=np.random.default_rng(0)):  # noqa: B008
    return np.array([x[0], x[1]]) + rng.normal(size=2)


def hidden(x):
    with contextlib.suppress(TracingError):
        print("once")  # noqa: T201
    return np.array([x[0], x[1]])


@pytest.mark.parametrize("trace", [*list(WAYS.values())[:4], dispatch.eval_shape], ids=[*list(WAYS)[:4], "eval_shape"])
def test_what_the_copy_must_not_do_is_done_once_and_refused_in_the_words_of_the_first_run(trace, capsys):
    log, count, rng = appending.__defaults__[0], counting.__defaults__[0], drawing.__defaults__[0]
    log.clear()
    count[0] = 0
    expected = np.random.default_rng()
    expected.bit_generator.state = rng.bit_generator.state
    for f in (appending, counting, hidden):
        with pytest.raises(DispatchError, match="a NumPy array was asked of a"):
            trace(f, X)
    assert (log, count[0], capsys.readouterr().out) == ([0], 1, "once\n")
    with pytest.raises(DispatchError, match="a NumPy array was asked of a"):
        trace(drawing, X)  # before it draws
    assert rng.normal() == expected.normal()


def test_what_a_user_raises_is_raised_at_once():
    calls = []

    def f(x):
        calls.append(1)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        dispatch.make_fx(f, "fake")(X)
    assert calls == [1]


def test_with_real_arrays_the_function_runs_once_and_as_it_is():
    x = X.copy()

    def f(x):
        x += 1
        out = np.zeros(3)
        out[0] = x[0]
        return out

    with pytest.raises(TracingError, match=r"make that of a traced one: np\.zeros_like\(x, shape=\.\.\.\)"):
        dispatch.make_fx(f)(x)
    same(x, X + 1)


def test_what_python_decides_by_data_stays_refused():
    def f(x):
        out = np.zeros(3)
        if x[0] > 0:
            out[0] = x[0]
        return out

    for trace in WAYS.values():
        with pytest.raises(TracedDataError, match="the truth was asked of a traced value"):
            trace(f, X)


def test_checks_of_a_refused_trace_are_none_of_the_next():
    """A size that depends on data is another symbol in the trace of the copy."""

    def f(x):
        n = np.flatnonzero(x > 0).shape[0]
        dispatch.check(n > 0, "none above 0")
        return np.array([x[0], 2.0]) * n

    program = dispatch.export(f, (X,), dynamic_shapes={"x": {0: True}})
    same(program(Y), f(Y))
    with pytest.raises(dispatch.errors.CheckError, match="none above 0"):
        program(-np.ones(4))
