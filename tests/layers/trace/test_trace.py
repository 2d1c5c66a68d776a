"""Tracing: calls on traced values become nodes; what a graph cannot hold is refused, with the line that asked."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dispatch
from dispatch import Residual, custom_op, grad, jvp, make_fx, ops, vmap
from dispatch.core import turned_on
from dispatch.errors import DataDependentError, DefinitionError, EscapedValueError, TracingError
from dispatch.layers.trace import TracedTensor

X = np.array([0.3, 1.2])
OUT = "Compute with arrays; or leave this function out of the trace."


def written(x):
    a = np.zeros(2)
    a[0] = x[0]
    return a


READS = {
    "item": (lambda x: np.sum(x).item(), "a number", "()", OUT),
    "tolist": (lambda x: x.tolist(), "a list", "(2,)", OUT),
    "bool": (
        lambda x: 1 if np.sum(x) else 2, "the truth", "()",
        ("Write np.where(condition, a, b) for a choice of values, dispatch.cond(condition, f, g, x) for one of functions; or "
        "leave this function out of the trace."),
    ),
    "float": (
        lambda x: float(x[0]), "a number, by float() or by writing it into a plain array,", "()",
        "Return the value itself, not float() of it.",
    ),
    "write": (
        written, "a number, by float() or by writing it into a plain array,", "()",
        "To write it into an array, make that of a traced one: np.zeros_like(x, shape=...), or np.stack the pieces.",
    ),
    "bytes": (lambda x: x.tobytes(), "its bytes", "(2,)", OUT),
    "format": (lambda x: f"{x[0]:.3f}", "its text, in the format '.3f',", "()", OUT),
    "index": (
        lambda x: [1, 2][x[0]], "an index", "()",
        "Index with the traced value itself, x[i], or np.take(x, i); or leave this function out of the trace.",
    ),
    "contains": (lambda x: 1.0 in x, "whether something is in it", "(2,)", "Write np.any(x == y) for an array of it."),
    "array": (
        lambda x: np.asarray(x), "a NumPy array", "(2,)",
        ("Call an operator on it, or a NumPy function that has a row in dispatch.ops.np: dispatch.numpy.array([x, y]) for "
        "np.array([x, y]), and so for np.full and np.r_; np.dot(a, x) for a.dot(x) of an array. Make an operator of other code by dispatch.custom_op. To write it into an array, make that of a traced one: np.zeros_like(x, shape=...), or np.stack the "
        "pieces."),
    ),
}  # fmt: skip


def refusal(f, *args, mode="real"):
    with pytest.raises(TracingError) as caught:
        make_fx(f, mode)(*args)
    return str(caught.value)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("name", READS)
def test_what_a_traced_value_is_cannot_be_read(name, mode):
    asked, what, shape, instead = READS[name]

    def read(x, of=iter(())):  # noqa: B008  which nobody copies: of a copy some are taken without data, tests/compiler/test_other_ways.py
        return asked(x)

    shape = shape if mode != "symbolic" else shape.replace("2", "s0")
    with pytest.raises(TracingError if mode == "real" else DataDependentError):
        make_fx(read, mode)(X)
    said = refusal(read, X, mode=mode)
    assert said.startswith(f"{what} was asked of a traced value of shape {shape} and dtype float64, in test_trace.py:")
    assert said.endswith(f": a graph holds for every input, and would keep what this is for one. {instead}")


def test_a_number_that_an_operator_computed_is_noted():
    @custom_op("tracing_tests::count", mutates_args=())
    def count(x: np.ndarray, k: int = 1) -> int:
        return k * len(x)

    graph = make_fx(lambda x: x * count(x))(X)
    assert [node.name for node in graph.held] == ["count"]
    assert make_fx(np.sin)(X).held == []


def test_an_operator_without_arrays_is_recorded():
    @custom_op("tracing_tests::make", mutates_args=())
    def make(n: int) -> np.ndarray:
        return np.arange(float(n))

    graph = make_fx(lambda x: x + make(2))(X)
    assert [node.name for node in graph.nodes] == ["x", "make", "add"]
    np.testing.assert_array_equal(graph(X), X + np.arange(2.0))


def test_what_a_kernel_calls_is_not_recorded():
    @custom_op("tracing_tests::twice", mutates_args=())
    def twice(x: np.ndarray) -> np.ndarray:
        return ops.np.add(x, ops.np.full((2,), 1.0))

    assert [node.name for node in make_fx(twice)(X).nodes] == ["x", "twice"]


def test_a_captured_array_is_one_constant_until_it_changes():
    a = np.ones(2)

    def f(x):
        nonlocal a
        y = x + a + a
        a += 1
        return y + a

    graph = make_fx(f)(X)
    assert [node.kind for node in graph.nodes].count("constant") == 2
    np.testing.assert_array_equal(graph(X), X + 1 + 1 + 2)
    a[:] = 100
    np.testing.assert_array_equal(graph(X), X + 1 + 1 + 2)


def test_inputs_that_are_one_object_are_two_inputs():
    graph = make_fx(lambda x, y: x - y)(X, X)
    np.testing.assert_array_equal(graph(X, 2 * X), -X)


def test_a_value_of_another_transform_is_no_constant():
    said = "is used in a function that is traced, and is none of its arguments."
    with pytest.raises(TracingError, match=rf"^a TrackedTensor of .* {said}"):
        grad(lambda x: np.sum(make_fx(lambda y: y * x)(X)(X)))(X)
    with pytest.raises(TracingError, match=rf"^a BatchedTensor of .* {said}"):
        vmap(lambda x: make_fx(lambda y: y * x)(X)(X))(X)


def test_a_trace_inside_a_trace_is_a_graph_of_its_own():
    inner = []

    def f(x):
        inner.append(make_fx(lambda y: np.sin(y) + 1)(X))
        return inner[0](x) * 2

    graph = make_fx(f)(X)
    assert [node.name for node in inner[0].nodes] == ["y", "sin", "add"]
    assert [node.name for node in graph.nodes if node.kind == "call"] == ["sin", "add", "sin_1", "add_1", "multiply"]
    np.testing.assert_array_equal(graph(X), (np.sin(X) + 1) * 2)


def test_a_graph_goes_through_the_transforms():
    graph = make_fx(lambda x: np.sum(np.sin(x) * x))(X)
    np.testing.assert_array_equal(grad(graph)(X), grad(lambda x: np.sum(np.sin(x) * x))(X))
    np.testing.assert_array_equal(jvp(graph, (X,), (X,))[1], jvp(lambda x: np.sum(np.sin(x) * x), (X,), (X,))[1])


def test_a_traced_value_belongs_to_its_trace():
    left = []
    make_fx(lambda x: left.append(x) or x)(X)
    assert type(left[0]) is TracedTensor
    assert repr(left[0]) == "TracedTensor(x, shape=(2,), dtype=float64)"
    with pytest.raises(EscapedValueError):
        left[0] + 1


def test_a_trace_takes_no_rules():
    with pytest.raises(DefinitionError, match=r"^np::sin: a call is traced as what it is, and no rule says how\."):
        ops.np.sin.register_trace(lambda x: x)


def test_a_tape_inside_a_trace_is_traced_too():
    def f(x):
        w = dispatch.tensor([1.0, 2.0], requires_grad=True)
        np.sum(np.sin(x) * w).backward()
        return w.grad

    np.testing.assert_array_equal(make_fx(f)(X)(X), np.sin(X))


def test_a_python_float_is_an_input_without_axes():
    graph = make_fx(grad(lambda x: np.sin(x) * 2))(0.3)
    assert graph(0.5) == grad(lambda x: np.sin(x) * 2)(0.5)


def test_a_residual_stands_for_itself_while_shapes_alone_are_traced():
    @custom_op("tracing_tests::sine", mutates_args=())
    def sine(x: np.ndarray) -> tuple[np.ndarray, Residual]:
        return np.sin(x), np.cos(x)

    @sine.register_fake
    def _(x):
        return np.empty_like(x)

    @custom_op("tracing_tests::sine_back", mutates_args=())
    def sine_back(kept: Residual, g: np.ndarray) -> np.ndarray:
        return kept * g

    @sine_back.register_fake
    def _(kept, g):
        return np.empty_like(g)

    sine.register_autograd(lambda ctx, g: sine_back(ctx.residual, g))
    f = grad(lambda x: np.sum(sine(x)))
    np.testing.assert_array_equal(make_fx(f, "fake")(X)(2 * X), f(2 * X))
    sine.register_autograd(lambda ctx, g: ctx.residual.copy() * g)  # asks what is not there: it is called as one operator
    np.testing.assert_array_equal(make_fx(f, "fake")(X)(2 * X), f(2 * X))
    sine.register_autograd(lambda ctx, g: ctx.residual.copy() * g, opaque=False)
    with pytest.raises(AttributeError) as caught:
        make_fx(f, "fake")(X)
    assert str(caught.value) == (
        "tracing_tests::sine: what it keeps for its backward was asked for 'copy' while shapes alone are traced, and there is none. "
        "Hand it on to an operator that takes it, which is then traced; or trace real arrays, with tracing_mode='real'."
    )


def test_a_text_without_a_format_is_what_it_is():
    seen = []
    make_fx(lambda x: seen.append(f"{x}"))(X)
    assert seen == ["TracedTensor(x, shape=(2,), dtype=float64)"]


# -- what operators give and take ------------------------------------------------------------------------------------------


def define(schema, kernel, **options):
    options = {"mutates_args": (), **options}
    return custom_op(f"tracing_tests::op{next(COUNT)}", kernel, schema=schema, **options)


COUNT = itertools.count()


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_every_kind_of_output(mode):
    op = define(
        "(Tensor x) -> (Tensor, Tensor[], Tensor?, Tensor?, int)", lambda x: (x + 1, [x * 2, x * 3], None, x * 4, x.ndim)
    )
    op.register_fake(lambda x: (x * 1, [x * 1, x * 1], None, x * 1, x.ndim))

    def f(x):
        a, (b, c), none, d, n = op(x)
        assert none is None
        return a + b + c + d + n

    graph = make_fx(f, mode)(X)
    np.testing.assert_array_equal(graph(2 * X), f(2 * X))


def test_an_operator_that_returns_nothing_stays():
    seen = []
    op = define("(Tensor x, str word) -> ()", lambda x, word: seen.append((x.copy(), word)), tags=dispatch.Tag.effect)
    graph = make_fx(lambda x: (op(x * 2, "a"), x)[1])(X)
    assert [node.name for node in graph.nodes] == ["x", "multiply", op.schema.name]
    graph(3 * X)
    assert [word for _, word in seen] == ["a", "a"]
    np.testing.assert_array_equal(seen[1][0], 6 * X)


def test_a_number_that_depends_on_data_is_refused():
    op = define("(Tensor x) -> int", lambda x: int(np.sum(x > 1)))
    op.register_fake(lambda x: 0)
    with pytest.raises(
        TracingError,
        match=rf"^{op.name} gave a number that depends on data, in test_trace\.py:\d+, in <lambda>: .*, and the graph would hold "
        r"what it is this time\. Let the operator return a 0-d array: np\.asarray\(n\)\.$",
    ):
        make_fx(lambda x: x * op(x))(X)


def test_a_number_that_has_no_rule_without_data_is_refused():
    op = define("(Tensor x) -> int", lambda x: int(np.sum(x > 1)))
    op.register_fake(lambda x: int(x[0] > 1))
    with pytest.raises(TracingError, match="gave a number that depends on data"):
        make_fx(lambda x: x * op(x))(X)


def test_a_number_that_is_said_to_be_read_is_refused():
    op = define("(Tensor x) -> float", lambda x: float(np.sum(x)), tags=dispatch.Tag.data_dependent_output)
    with pytest.raises(TracingError, match="gave a number that depends on data"):
        make_fx(lambda x: x * op(x))(X)


def test_a_number_of_shapes_is_as_good_as_the_shapes():
    op = define("(Tensor x) -> int", lambda x: len(x))
    op.register_fake(lambda x: len(x))
    graph = make_fx(lambda x: x * op(x))(X)
    np.testing.assert_array_equal(graph(X), X * 2)


class Factors:
    """What a solver keeps."""

    def __init__(self, x):
        self.x = x


def test_a_residual_is_handed_on_by_the_node_that_gave_it():
    solve = define("(Tensor x) -> (Tensor, Residual)", lambda x: (x * 2, Factors(x.copy())))
    again = define("(Any factors, Tensor g) -> Tensor", lambda factors, g: g * factors.x)
    solve.register_autograd(lambda ctx, g: again(ctx.residual, g), setup_context=lambda ctx, inputs, output: None)
    gradient = grad(lambda x: np.sum(solve(x)))
    graph = make_fx(gradient)(X)
    np.testing.assert_array_equal(graph(5 * X), 5 * X)


def test_what_is_inside_a_residual_is_no_constant():
    solve = define("(Tensor x) -> (Tensor, Residual)", lambda x: (x * 2, Factors(x.copy())))
    solve.register_autograd(lambda ctx, g: g * ctx.residual.x, setup_context=lambda ctx, inputs, output: None)
    with pytest.raises(
        TracingError,
        match=rf"^an array inside what {solve.name} keeps for its backward was used by itself, in test_trace\.py:\d+, in <lambda>: "
        r".*: the graph would hold what it is this time\. Hand the whole on to an operator that takes it, or keep arrays in a "
        r"tuple\.$",
    ):
        make_fx(grad(lambda x: np.sum(solve(x))))(X)


def test_arrays_in_a_tuple_that_is_a_residual_are_traced():
    solve = define("(Tensor x) -> (Tensor, Residual)", lambda x: (x * 2, (x.copy(), "kept")))
    solve.register_autograd(lambda ctx, g: g * ctx.residual[0], setup_context=lambda ctx, inputs, output: None)
    graph = make_fx(grad(lambda x: np.sum(solve(x))))(X)
    np.testing.assert_array_equal(graph(5 * X), 5 * X)


def test_objects_stay_what_they_are():
    handle = Factors(X)
    op = define("(Any handle, Tensor x) -> Tensor", lambda handle, x: x * handle.x)
    graph = make_fx(lambda x: op(handle, x))(X)
    assert graph.nodes[1].args[0] is handle
    np.testing.assert_array_equal(graph(2 * X), 2 * X * X)


def test_a_composite_of_operators_is_looked_into():
    library = dispatch.library.Library("tracing_composites", "DEF")
    library.define("square_sum(Tensor x) -> Tensor")
    library.impl("square_sum", lambda x: np.sum(x * x), "CompositeImplicitAutograd")
    graph = make_fx(lambda x: ops.tracing_composites.square_sum(x))(X)
    assert [node.name for node in graph.nodes] == ["x", "multiply", "sum"]


# -- constants -------------------------------------------------------------------------------------------------------------

GLOBAL = np.array([1.0, 2.0])


def test_constants_are_named_as_their_variables():
    weights = np.array([3.0, 4.0])

    def f(x):
        local = np.array([5.0, 6.0])
        return x * weights + GLOBAL + local + np.array([7.0, 8.0])

    assert list(make_fx(f)(X).constants) == ["weights", "GLOBAL", "local", "constant"]


def test_bytes_tell_constants_apart():
    a = np.array([0.0, 1.0])

    def f(x):
        y = np.copysign(x, a)
        a[0] = -0.0
        z = np.copysign(x, a)
        a[0] = 0.0
        return y, z

    y, z = make_fx(f)(X)(X)
    np.testing.assert_array_equal(y, np.copysign(X, [0.0, 1.0]))
    np.testing.assert_array_equal(z, np.copysign(X, [-0.0, 1.0]))


@pytest.mark.parametrize("a", [np.full((40, 40), np.nan), np.ones((40, 80))[:, ::2], np.ones((40, 40), "f4").T, np.array(1.0)])
def test_an_array_that_does_not_change_is_one_constant(a):
    def f(x):
        return np.sum(a) * x + np.sum(x * ops.np.sum(a)) + ops.np.sum(a)

    assert len(make_fx(f)(X).constants) == 2  # the sum that NumPy computed is another


@pytest.mark.parametrize("mode", ["real", "fake"])
def test_a_constant_is_written_in_the_graph_alone(mode):
    fill = define("(Tensor(a!) x, Tensor y) -> ()", lambda x, y: np.copyto(x, y), mutates_args={"x"})
    a = np.zeros(2)

    def f(x):
        view = ops.np.reshape(a, (2,))
        fill(view, x)
        return ops.np.cos(a)

    graph = make_fx(f, mode)(X)
    np.testing.assert_array_equal(a, 0)
    for x in (X, 2 * X):
        np.testing.assert_array_equal(graph(x), np.cos(x))


def test_a_traced_value_is_not_written_into_a_plain_array():
    fill = define("(Tensor(a!) x, Tensor y) -> ()", lambda x, y: np.copyto(x, y), mutates_args={"x"})
    with pytest.raises(
        TracingError,
        match=rf"^{fill.name}: argument 'x' is written, and is a plain array in a function that is traced, in test_trace\.py:\d+, "
        r"in <lambda>: .*: the graph would write to a copy of its own\. Make it of a traced value, np\.zeros_like\(x, "
        r"shape=\.\.\.\), or give it to the function as an argument\.$",
    ):
        make_fx(lambda x: fill(np.zeros(2), x))(X)


def test_a_fake_is_no_constant():
    with dispatch.FakeTensorMode() as mode:
        fake = mode.from_array(X)
    with pytest.raises(TracingError, match=r"^a FakeTensor of ground level \(level 0\) is used in a function that is traced"):
        make_fx(lambda x: x * fake)(X)


# -- levels, threads, failures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_a_trace_that_fails_leaves_nothing(mode):
    def fails(x):
        np.sin(x)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        make_fx(grad(vmap(fails)), mode)(X)
    assert turned_on() == []
    assert np.sin(X) is not None


def test_threads_trace_by_themselves():
    def f(x, n):
        for _ in range(n):
            x = np.sin(x) + 1
        return x

    with ThreadPoolExecutor(4) as pool:
        graphs = list(pool.map(lambda n: make_fx(lambda x: f(x, n))(X), range(20)))
    assert [len(graph.nodes) for graph in graphs] == [1 + 2 * n for n in range(20)]


def test_a_trace_is_carried_into_threads():
    def f(x):
        with ThreadPoolExecutor(1) as pool:
            made = pool.submit(dispatch.carry(lambda y: y * ops.np.full((2,), 3.0)), x).result()
            return made + pool.submit(np.sin, x).result()

    graph = make_fx(f)(X)
    assert [node.name for node in graph.nodes] == ["x", "full", "multiply", "sin", "add"]
    np.testing.assert_array_equal(graph(2 * X), 6 * X + np.sin(2 * X))


def test_a_kernel_that_is_asked_for_by_itself_runs_what_is_below():
    np.testing.assert_array_equal(ops.np.sin.at(dispatch.DispatchKey.TRACE)(X), np.sin(X))
    assert repr(ops.np.sin.at(dispatch.DispatchKey.TRACE)) == "Recorded(np::sin)"


def test_lines_are_those_of_the_user():
    graph = make_fx(grad(lambda x: np.sum(np.sin(x))))(X)
    assert {node.source.file for node in graph.find_nodes(kind="call")} == {__file__}
    assert graph.find_nodes(op="np::sin")[0].source.text == "graph = make_fx(grad(lambda x: np.sum(np.sin(x))))(X)"


def written_behind(x):
    c = np.argsort(x)
    v = np.sum(c * x)
    c += 1
    return v


def mask_written_behind(x):
    c = x > 1.5
    v = np.sum(np.where(c, x, 0) * x)
    c[0] = False
    return v


def view_written_behind(x):
    c = np.argsort(x) * 1.0
    w = c[1:]
    v = np.sum(np.sin(c * x))
    w *= 5
    u = np.sum(c * x)
    c[:] = 0
    return u * v


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("f", [written_behind, mask_written_behind, view_written_behind])
def test_what_a_tape_has_saved_of_a_traced_value_outlives_a_write_to_it(f, mode):
    """The graph copies the value before the write, where the tape still holds it; what is written behind the gradient is not copied."""
    x = np.array([3.0, 1.0, 2.0])
    batch = np.stack([x, x[::-1]])
    for transform, given in ((grad(f), x), (dispatch.hessian(f), x), (vmap(grad(f)), batch), (lambda x: jvp(grad(f), (x,), (x,))[1], x)):
        graph = make_fx(transform, mode)(given.copy())
        np.testing.assert_allclose(graph(given.copy()), transform(given.copy()), 1e-12)

    def after(x):
        c = np.argsort(x)
        slope = grad(lambda x: np.sum(c * x))(x)
        c += 1
        return slope

    assert "clone" not in make_fx(after, mode)(x.copy()).code
