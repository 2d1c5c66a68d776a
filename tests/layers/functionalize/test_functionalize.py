"""functionalize leaves what the function leaves: in its results, in the arrays it was given, and in who shares memory with whom."""

import operator
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given, settings
from making import define, said
from numpy_programs import smooth_programs
from turns import in_turn
from writing_programs import PROGRAMS, assert_same, leaves_the_same, numpy_sin, scale_

import dispatch
from dispatch import FakeTensorMode, FunctionalTensor, Tag, custom_op, functionalize, grad, jvp, make_fx, ops, vjp, vmap
from dispatch.errors import ArgumentError, ConversionError, DefinitionError, EscapedValueError, MutationError, TracingError
from dispatch.layers.functionalize import run
from dispatch.library import register_opaque_type

A = np.array([0.5, 1.0, 2.0])
M = np.arange(6.0).reshape(2, 3) + 1


@pytest.mark.parametrize("f", PROGRAMS)
def test_every_way_to_write(f):
    leaves_the_same(f, A, A * 2)
    leaves_the_same(f, A, A * 2, how=lambda f: functionalize(functionalize(f)))


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("f", PROGRAMS[:-1])
def test_a_graph_writes_to_each_input_once_in_the_end(f, mode):
    graph = make_fx(functionalize(f), mode)(A * 3, A * 4)
    writes = [node for node in graph.nodes if node.op and node.op.schema.is_mutable]
    assert {node.args[0].kind for node in writes} == {"placeholder"}
    assert len({node.args[0] for node in writes}) == len(writes)
    first = graph.nodes.index(writes[0])
    assert all(node in writes or (node.op and node.op.schema.is_view) for node in graph.nodes[first:])
    leaves_the_same(f, A, A * 2, how=lambda f: graph)


@settings(max_examples=40)
@given(smooth_programs())
@pytest.mark.filterwarnings("ignore:Conversion of an array with ndim > 0:DeprecationWarning")  # which NumPy 2.0 says of v[1] *= v[1:]
def test_programs_at_random(program):
    """Inputs written, views of them, outputs that are either: as the program leaves them, functionalized and as a graph."""
    f, args = program.function(), program.inputs()

    leaves_the_same(f, *args)
    leaves_the_same(f, *args, how=lambda f: make_fx(functionalize(f))(*map(np.copy, args)))
    leaves_the_same(f, *args, how=lambda f: make_fx(functionalize(f), "fake")(*args))


def work(x):
    y = x * 1.0
    v = y[1:]
    v += y[:-1]
    y[0] = 4.0 * x[0]
    return np.sum(y * v[0])


def test_inside_and_outside_of_the_other_transforms():
    X = np.stack([A, A + 1])
    for how in (grad, lambda f: grad(lambda x: jvp(f, (x,), (x,))[1]), lambda f: lambda x: jvp(f, (x,), (A,))):
        assert_same(np.hstack(how(functionalize(work))(A)), np.hstack(how(work)(A)))
        assert_same(np.hstack(functionalize(how(work))(A)), np.hstack(how(work)(A)))
    for how in (vmap, lambda f: vmap(grad(f))):
        assert_same(how(functionalize(work))(X), how(work)(X))
        assert_same(functionalize(how(work))(X), how(work)(X))
        graph = make_fx(functionalize(how(work)), "fake")(X)
        assert not any(node.op and node.op.schema.is_mutable for node in graph.nodes)
        assert_same(graph(X * 2), how(work)(X * 2))


def test_a_batch_is_written_back():
    def f(x, y):
        y += x
        return y[0] * 1

    X, Y, Z = M, M.copy(), M.copy()
    assert_same(vmap(functionalize(f))(X, Y), vmap(f)(X, Z))
    assert_same(Y, Z)


def test_values_of_an_outer_transform_are_written_back():
    def f(x):
        y = x * 2
        v = y[1:]
        out = functionalize(lambda u: np.multiply(y, 3.0, out=y) * u)(x)
        return np.sum(y * out) + np.sum(v)

    assert_same(grad(f)(A), grad(lambda x: np.sum((x * 6) * (x * 6 * x)) + np.sum((x * 6)[1:]))(A))


def test_containers_and_keywords():
    def f(d, *, y):
        d["a"][0] = y[0]
        y *= 2
        return {"y": y, "v": (d["a"][1:],)}

    d, y = {"a": A.copy()}, A * 3
    out = functionalize(f)(d, y=y)
    assert out["y"] is y
    assert np.shares_memory(out["v"][0], d["a"])
    assert_same(d["a"], [1.5, 1.0, 2.0])
    assert_same(y, A * 6)


def test_one_array_given_twice_is_one():
    def f(x, y):
        x += 1
        y *= 2
        return x

    x = A.copy()
    assert functionalize(f)(x, x) is x
    assert_same(x, (A + 1) * 2)


def test_a_function_that_raises_has_written_nothing():
    def f(x):
        x += 1
        raise ValueError("enough")

    x = A.copy()
    with pytest.raises(ValueError, match=r"^enough$"):
        functionalize(f)(x)
    assert_same(x, A)


def test_plain_arrays_are_written_at_once():
    def f(x):
        buffer = np.empty(3)
        numpy_sin(x, buffer)
        numpy_sin(buffer * 1, buffer)
        view = ops.np.transpose(buffer)
        scale_(view, 2.0)
        return buffer + x

    leaves_the_same(f, A)


def test_plain_arrays_cannot_hold_what_is_followed():
    buffer = np.empty(3)

    def f(x):
        numpy_sin(x, buffer)
        return x

    advice = (
        "which cannot hold the {} that would be written to it. Make the array of such a value, np.empty_like(x, shape=...), or pass "
        "it to the function as an argument."
    )
    for how, kind in ((make_fx, "TracedTensor"), (vmap, "BatchedTensor"), (grad, "TrackedTensor")):
        assert said(lambda how=how: how(functionalize(f))(A if how is not vmap else M), MutationError) == (
            "writingprograms::numpy_sin: argument 'output' is an ndarray of shape (3,) and dtype float64, " + advice.format(kind)
        )


def test_arguments_that_share_memory_are_refused():
    def f(x, y):
        return scale_(x, 2.0) + y

    x = A.copy()
    assert said(lambda: functionalize(f)(x[1:], x[:2]), MutationError) == (
        "writingprograms::scale_: argument 'x' shares memory with another array that was given to the function that is "
        "functionalized, and the write would not show there. Give each its own."
    )
    assert_same(x, A)
    assert_same(functionalize(lambda x, y: x + y)(x[1:], x[:2]), x[1:] + x[:2])


def test_what_the_operator_refuses_is_refused():
    x = A.copy()
    x.flags.writeable = False
    words = "writingprograms::scale_: argument 'x' is written to, and was given a read-only ndarray of shape (3,) and dtype float64. "
    for f in (scale_, functionalize(scale_)):
        assert said(lambda f=f: f(x, 2.0), ArgumentError).startswith(words)
        assert "was given a NumPy scalar of dtype float64" in said(lambda f=f: f(np.float64(1.0), 2.0), ArgumentError)
    repeated = said(lambda: functionalize(lambda x: scale_(np.broadcast_to(x, (2, 3)), 1.0))(A.copy()), ArgumentError)
    assert "was given a read-only ndarray of shape (2, 3)" in repeated
    graph = make_fx(functionalize(lambda x: scale_(np.broadcast_to(x * 1, (2, 3)), 1.0)), "fake")(A)
    assert said(lambda: graph(A), ArgumentError).startswith("a write was asked of a view of shape (2, 3) that np::broadcast_to made of an array")


def test_views_that_cannot_be_followed_are_refused():
    op = define("(Tensor(a!) x, Tensor(b!) y) -> ()", lambda x, y: None)
    form = f"`x, y = {op.schema.name}.functional(x, y)`"
    for pair in (lambda x: (x, x), lambda x: (x[1:], x[:2])):
        assert said(lambda pair=pair: functionalize(lambda x: op(*pair(x * 1)))(A), MutationError) == (
            f"{op.name}: two arrays that are written share memory, argument 'x' among them. Give each its own, or write {form}."
        ).replace("'x'", "'x'" if pair(A)[0] is pair(A)[1] else "'y'")

    def wide(x):
        x *= 2
        return x[1:]

    seen = define("(Tensor(a!) x) -> Tensor(a)", wide)

    def twice(x):
        x = x * 1
        view = seen(x)
        return seen(x), view

    assert said(lambda: functionalize(twice)(A), MutationError) == (
        f"{seen.name}: argument 'x' shares memory with another functional value, and the write cannot be followed into it: an operator "
        "that changes a shape has no views, and a view that an operator made while it wrote is made only once. Write before the view "
        f"is taken or after it is gone, or write `result, x = {seen.schema.name}.functional(x)`."
    )
    in_dict = define("(Dict(str, Tensor(a!)) xs) -> ()", lambda xs: None)
    assert said(lambda: functionalize(lambda x: in_dict({"a": x}))(A), MutationError) == (
        f"{in_dict.name}: argument 'xs' is a dict that holds a functional value, and is written. functionalize follows writes to "
        "arrays and to lists of arrays: pass a list."
    )


def test_another_shape():
    @custom_op("functionalizetests::flatten_", mutates_args=("x",), tags=(Tag.inplace, Tag.inplace_view))
    def flatten_(x: np.ndarray) -> np.ndarray:
        x.resize(x.size, refcheck=False)
        return x

    assert_same(functionalize(lambda x: flatten_(x * 1))(M), M.ravel())
    assert said(lambda: functionalize(flatten_)(M.copy()), MutationError) == (
        "functionalizetests::flatten_: argument 'x' was given to the function that is functionalized, and its shape would change, which "
        "cannot be written back. Write to a copy: x = x.copy()."
    )


@register_opaque_type
class Counter:
    def __init__(self):
        self.count = 0


def test_handles_and_effects_stay_as_they_are():
    @custom_op("functionalizetests::bump", mutates_args=("out",), tags=Tag.effect)
    def bump(counter: Counter, out: np.ndarray) -> None:
        counter.count += 1
        out += counter.count

    counter = Counter()
    out = np.zeros(2)
    functionalize(lambda out: [bump(counter, out) for _ in range(2)])(out)
    assert counter.count == 2
    assert_same(out, [3.0, 3.0])


def test_layouts_that_a_kernel_asks_for():
    @custom_op("functionalizetests::first_", mutates_args=("x",))
    def first_(x: Annotated[np.ndarray, "C", "writeable"]) -> None:
        x.reshape(-1)[0] = 9.0

    leaves_the_same(lambda x: first_(x), M)


def test_what_a_functional_value_is():
    seen: list[Any] = []

    def f(x):
        seen.extend([x, repr(x), x.strides, f"{x[0]:.1f}", [0, 1, 2, 3][np.sum(x > 0)], x[0].item(), complex(x[0])])
        with pytest.raises(ConversionError, match=r"^a NumPy array was asked of a FunctionalTensor of shape"):
            np.asarray(x)
        return x

    assert functionalize(f)(A) is A
    assert type(seen[0]) is FunctionalTensor
    assert seen[1:] == [f"FunctionalTensor({A!r})", (8,), "0.5", 3, 0.5, 0.5 + 0j]
    with pytest.raises(TracingError, match=r"^a number, by float\(\) or by writing it into a plain array, was asked of a traced value"):
        make_fx(functionalize(lambda x: float(x[0])))(A)


def test_a_value_that_outlives_its_function():
    kept = []
    functionalize(lambda x: kept.append(x * 1))(A)
    with pytest.raises(EscapedValueError):
        scale_(kept[0], 2.0)


def test_no_rule_is_taken():
    assert said(lambda: scale_.register_functionalize(lambda x: x), DefinitionError) == (
        "writingprograms::scale_: functionalize runs the functional form of an operator that writes, and every other operator as it "
        "is. Leave the rule out."
    )


# -- view or copy ----------------------------------------------------------------------------------------------------------

LAYOUTS = {
    "C": lambda: np.arange(24.0).reshape(2, 3, 4),
    "F": lambda: np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
    "permuted": lambda: np.arange(24.0).reshape(4, 2, 3).transpose(1, 2, 0),
    "backwards": lambda: np.arange(24.0).reshape(2, 3, 4)[::-1],
    "last axis backwards": lambda: np.arange(24.0).reshape(2, 3, 4)[..., ::-1],
    "all backwards": lambda: np.arange(24.0)[::-1].reshape(2, 3, 4),
    "every second": lambda: np.arange(48.0).reshape(2, 3, 8)[..., ::2],
    "every second row": lambda: np.arange(48.0).reshape(4, 3, 4)[::2],
    "a corner": lambda: np.arange(80.0).reshape(4, 4, 5)[1:3, 1:, :4],
    "a column": lambda: np.arange(24.0).reshape(6, 4)[:, 1].reshape(2, 3, 1),
    "a field": lambda: np.zeros(24, [("a", "i4"), ("b", "f8")])["b"].reshape(2, 3, 4),
    "a real part": lambda: np.arange(24.0).astype(complex).reshape(2, 3, 4).real,
}
WRITES = {
    "all": lambda x: operator.imul(x, 2.0),
    "item": lambda x: x.__setitem__((0, 1), 7.0),
    "mask": lambda x: x.__setitem__(x > 5, 9.0),
    "view": lambda x: operator.iadd(x[1:], 1.0),
    "view of a view": lambda x: operator.iadd(x.T[0][:1], 1.0),
    "out": lambda x: np.add(x, 1.0, out=x),
    "sort": lambda x: x.sort(axis=0),
}
SEEN = {
    "ravel": lambda x: np.ravel(x),
    "ravel method": lambda x: x.ravel(),
    "ravel F": lambda x: np.ravel(x, "F"),
    "ravel of the transposed": lambda x: np.ravel(x.T),
    "reshape": lambda x: np.reshape(x, -1),
    "reshape F": lambda x: np.reshape(x, -1, order="F"),
    "two axes in one": lambda x: x.reshape(2, -1),
    "the other two in one": lambda x: x.reshape(6, -1),
    "an axis in two": lambda x: x.reshape(2, 3, -1, 1),
    "swapped and joined": lambda x: np.swapaxes(x, 0, 1).reshape(6, -1),
    "flipped": lambda x: np.ravel(x[::-1]),
}
HOW = {
    "functionalize": lambda f, x: functionalize(f),
    "a graph of it": lambda f, x: make_fx(functionalize(f))(x),
    "make_fx": lambda f, x: make_fx(f)(x),
    "make_fx fake": lambda f, x: make_fx(f, "fake")(x),
    "make_fx symbolic": lambda f, x: make_fx(f, "symbolic")(x),
    "compile": lambda f, x: dispatch.compile(f, fullgraph=True),
    "jvp": lambda f, x: lambda y: jvp(f, (y,), (np.ones_like(y),))[0],
    "vjp": lambda f, x: lambda y: vjp(lambda y: f(ops.np.clone(y)), y)[0],
}


def program(name, what):
    def f(x):
        WRITES[name](x)
        v = SEEN[what](x)
        v[...] = 3.0
        return x, v

    return f


def fits(layout, name, what):
    """Whether NumPy can do it: it has no view of a column's second element."""
    try:
        program(name, what)(LAYOUTS[layout]())
    except (IndexError, ValueError):
        return False
    return True


VIEWED = {layout: [(name, what) for name in WRITES for what in SEEN if fits(layout, name, what)] for layout in LAYOUTS}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("how", HOW)
def test_view_or_copy_is_decided_by_the_strides_of_the_original(how, layout):
    """After a write, too: a copy that lay in another order would write to what NumPy leaves, or leave what NumPy writes."""
    for number, (name, what) in enumerate(VIEWED[layout]):
        if how != "functionalize" and how not in in_turn([way for way in HOW if way != "functionalize"], number, 2):
            continue
        made = HOW[how](program(name, what), LAYOUTS[layout]())
        given, wanted = LAYOUTS[layout](), LAYOUTS[layout]()
        found, expected = made(given), program(name, what)(wanted)
        assert [np.array_equal(x, y) for x, y in zip(found, expected, strict=True)] == [True, True], (name, what)
        assert how in ("jvp", "vjp") or np.array_equal(given, wanted), (name, what)


def test_overlap_of_an_input_is_asked_once_for_each_other_one(monkeypatch):
    asked = []
    monkeypatch.setattr(run, "overlap", lambda x, y: asked.append((x, y)) or np.may_share_memory(x, y))
    x, y, z = np.ones(4), np.ones(4), np.ones(4)
    state = run.Functional()
    with state.level:
        state.root(x), state.root(y)
        assert [state.overlaps(x), state.overlaps(x)] == [False, False]
        assert [(a is y, b is x) for a, b in asked] == [(True, True)]
        state.root(z)
        assert not state.overlaps(x)
        assert [(a is z, b is x) for a, b in asked[1:]] == [(True, True)]
        view = x[1:]
        state.root(view)
        assert [state.overlaps(x), state.overlaps(x), state.overlaps(view)] == [True, True, True]


def test_a_fake_overlaps_nothing_and_is_not_asked(monkeypatch):
    monkeypatch.setattr(run, "overlap", None)
    with FakeTensorMode() as mode:
        fakes = [mode.from_array(np.ones(3)) for _ in range(2)]
        state = run.Functional()
        with state.level:
            assert [state.root(x) is state.root(x) for x in fakes] == [True, True]
            assert [state.overlaps(x) for x in fakes] == [False, False]
