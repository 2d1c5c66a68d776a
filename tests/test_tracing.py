"""Tracing: calls on traced values become nodes; what a graph cannot hold is refused, with the line that asked."""

import numpy as np
import pytest

import dispatch
from dispatch import Residual, custom_op, grad, jvp, make_fx, ops, vmap
from dispatch.errors import DefinitionError, EscapedValueError, TracingError
from dispatch.tracing import TracedTensor

X = np.array([0.3, 1.2])
OUT = "Compute with arrays; or leave this function out of the trace."
READS = {
    "item": (lambda x: np.sum(x).item(), "a number", "()", OUT),
    "tolist": (lambda x: x.tolist(), "a list", "(2,)", OUT),
    "bool": (
        lambda x: 1 if np.sum(x) else 2, "the truth", "()",
        "Write np.where(condition, a, b) for a choice; or leave this function out of the trace.",
    ),
    "float": (
        lambda x: float(x[0]), "a number, by float() or by writing it into a plain array,", "()",
        "To write it into an array, make that of a traced one: np.zeros_like(x, shape=...), or np.stack the pieces.",
    ),
    "write": (
        lambda x: np.zeros(2).__setitem__(0, x[0]), "a number, by float() or by writing it into a plain array,", "()",
        "To write it into an array, make that of a traced one: np.zeros_like(x, shape=...), or np.stack the pieces.",
    ),
    "array": (
        lambda x: np.asarray(x), "a NumPy array", "(2,)",
        ("Call an operator on it, or a NumPy function that has a row in dispatch.ops.np; make an operator of other code by "
        "dispatch.custom_op."),
    ),
}  # fmt: skip


def refusal(f, *args, mode="real"):
    with pytest.raises(TracingError) as caught:
        make_fx(f, mode)(*args)
    return str(caught.value)


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("name", READS)
def test_what_a_traced_value_is_cannot_be_read(name, mode):
    read, what, shape, instead = READS[name]
    said = refusal(read, X, mode=mode)
    assert said.startswith(f"{what} was asked of a traced value of shape {shape} and dtype float64, in test_tracing.py:")
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
    sine.register_autograd(lambda ctx, g: ctx.residual.copy() * g)
    with pytest.raises(AttributeError) as caught:
        make_fx(f, "fake")(X)
    assert str(caught.value) == (
        "tracing_tests::sine: what it keeps for its backward was asked for 'copy' while shapes alone are traced, and there is none. "
        "Hand it on to an operator that takes it, which is then traced; or trace real arrays, with tracing_mode='real'."
    )
