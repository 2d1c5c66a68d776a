"""Users' derivatives: what a backward may return, and residuals."""

import gc
import weakref

import making
import numpy as np
import pytest
from hint_table import Factors, State

import dispatch
from dispatch import grad, vmap
from dispatch.core import Tensor
from dispatch.errors import GradientError

A = np.array([0.5, 1.0, 2.0])
define, leaf = making.recorded, making.leaf


def said(call, error=GradientError):
    return making.said(call, error)


# -- what a backward returns -----------------------------------------------------------------------------------------------

THREE = "(Tensor x, Tensor y, float w=1.0) -> Tensor"


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda g: (g[:2], g, None), "its backward gave a gradient of shape (2,) for argument 'x', which has shape (3,). A gradient has the shape of its input, or one that broadcasting makes of it."),
        (lambda g: (g, np.ones(4), None), "its backward gave a gradient of shape (4,) for argument 'y', which has shape (3,). A gradient has the shape of its input, or one that broadcasting makes of it."),
        (lambda g: (g, np.ones((3, 2)), None), "its backward gave a gradient of shape (3, 2) for argument 'y', which has shape (3,). A gradient has the shape of its input, or one that broadcasting makes of it."),
        (lambda g: (g, "text", None), "its backward gave a str for argument 'y'. Return an array, or None where there is no gradient."),
        (lambda g: ([g], g, None), "its backward gave a list for argument 'x'. Return np.asarray(...) of it."),
    ],
)  # fmt: skip
def test_a_backward_that_returns_something_else(result, message):
    op = define(THREE, lambda x, y, w: x * y, lambda ctx, g: result(g))
    assert said(lambda: np.sum(op(leaf(), leaf())).backward()) == f"{op.name}: {message}"


def test_a_list_of_gradients_is_as_good_as_a_tuple():
    op = define(THREE, lambda x, y, w: x * y, lambda ctx, g: [g, g * 2, None])
    x, y = leaf(), leaf()
    np.sum(op(x, y)).backward()
    assert np.array_equal(y.grad, 2 * x.grad)


STATE, FACTORS = (f"{cls.__module__}.{cls.__qualname__}" for cls in (State, Factors))


@pytest.mark.parametrize(
    "result",
    [
        lambda g: State(g, g * 2, None),
        lambda g: (State(g, g * 2, None),),
        lambda g: {"velocity": g * 2, "position": g},
        lambda g: ({"position": g, "velocity": g * 2},),
    ],
)
def test_the_gradients_of_a_record_come_as_one_or_by_its_fields(result):
    op = define(f"({STATE} s) -> Tensor", lambda s: s.position + s.velocity, lambda ctx, g: result(g))
    x, y = leaf(), leaf()
    np.sum(op(State(x, y))).backward()
    assert np.array_equal(y.grad, 2 * x.grad)
    np.sum(op(State(A, x))).backward()
    assert np.array_equal(x.grad, [3, 3, 3])


def test_a_record_without_a_gradient():
    op = define(f"({STATE} s, Tensor z) -> Tensor", lambda s, z: s.position + z, lambda ctx, g: (None, g))
    x, z = leaf(), leaf()
    np.sum(op(State(x, None), z)).backward()
    assert x.grad is None
    assert np.array_equal(z.grad, [1, 1, 1])


@pytest.mark.parametrize("result", [lambda g: {"b": g * 2, "a": g}, lambda g: ({"b": g * 2, "a": g, "c": None},), lambda g: {"b": g * 2}])
def test_the_gradients_of_a_dict_are_found_by_key(result):
    op = define("(Dict(str, Tensor) d) -> Tensor", lambda d: d["a"] + d["b"] + d["c"], lambda ctx, g: result(g))
    x, y = leaf(), leaf()
    np.sum(op({"a": x, "b": y, "c": A})).backward()
    assert np.array_equal(y.grad, [2, 2, 2])
    assert x.grad is None or np.array_equal(x.grad, [1, 1, 1])


@pytest.mark.parametrize(
    ("schema", "value", "result", "message"),
    [
        (f"{STATE} s", lambda x: State(x), lambda g: g, ("is a State, and its backward returned an ndarray for it. Return a State or "
         "a dict of position, velocity, steps, note, None for those without.")),
        (f"{STATE} s", lambda x: State(x), lambda g: {"positon": g}, "is a State, and its backward returned a dict for it."),
        (f"{FACTORS} s", lambda x: Factors(x, x), lambda g: [g, g, g], "is a Factors, and its backward returned a list for it."),
        ("Dict(str, Tensor) s", lambda x: {"a": x}, lambda g: [g], ("is a dict of 1 array, and its backward returned a list for it. "
         "Return a dict of gradients by the same keys, None for those without.")),
        ("Dict(str, Tensor) s", lambda x: {"a": x}, lambda g: {"b": g}, "is a dict of 1 array, and its backward returned a dict"),
        ("Dict(str, Tensor[]) s", lambda x: {"a": [x]}, lambda g: {"a": [g, g]}, "is a list of 1 array, and its backward returned 2 in a"),
    ],
)  # fmt: skip
def test_gradients_that_do_not_fit_a_container(schema, value, result, message):
    op = define(f"({schema}) -> Tensor", lambda s: A * 2, lambda ctx, g: result(g))
    assert said(lambda: np.sum(op(value(leaf()))).backward()).startswith(f"{op.name}: argument 's' {message}")


def test_the_gradient_of_an_output_comes_in_the_container_it_has():
    got = []

    def backward(ctx, g, h):
        got.extend((g, h))
        return g.q + 2 * h["x"][0]

    op = define(f"(Tensor x) -> ({FACTORS}, Dict(str, Tensor[]))", lambda x: (Factors(x * 1, x * 3), {"x": [x * 2]}), backward)
    x = leaf()
    factors, named = op(x)
    assert (type(factors), factors.rank, list(named)) == (Factors, 2, ["x"])
    np.sum(factors.q + named["x"][0]).backward()
    assert np.array_equal(x.grad, [3, 3, 3])
    (g, h) = got
    assert (type(g), g.rank, list(h)) == (Factors, None, ["x"])
    assert np.array_equal(g.r, [0, 0, 0])  # the gradient of what nothing was made of


def test_needs_input_grad_is_a_list_in_the_order_of_the_fields():
    got = []
    op = define(
        f"({STATE} s, Dict(str, Tensor) d) -> Tensor", lambda s, d: A * 2, lambda ctx, g: (None, got.append(ctx.needs_input_grad))
    )
    np.sum(op(State(A, leaf()), {"x": leaf(), "y": A})).backward()
    assert got == [([False, True, False, False], [True, False])]


@pytest.mark.parametrize("result", [lambda g: [g, g * 2], lambda g: ([g, g * 2],), lambda g: ((g, g * 2),)])
def test_the_list_of_gradients_of_the_only_argument(result):
    op = define("(Tensor[] xs) -> Tensor", lambda xs: xs[0] + xs[1], lambda ctx, g: result(g))
    x, y = leaf(), leaf()
    np.sum(op([x, y])).backward()
    assert np.array_equal(y.grad, 2 * x.grad)
    np.sum(op([A, x])).backward()
    assert np.array_equal(x.grad, [3, 3, 3])


def test_no_gradients_for_a_list():
    op = define("(Tensor[] xs, Tensor y) -> Tensor", lambda xs, y: xs[0] + xs[1] + y, lambda ctx, g: (None, g))
    x, y = leaf(), leaf()
    np.sum(op([x, x], y)).backward()
    assert x.grad is None
    assert np.array_equal(y.grad, [1, 1, 1])


# -- definitions -----------------------------------------------------------------------------------------------------------


def test_an_exception_in_a_rule_is_raised_as_it_is():
    for backward, setup in ((lambda ctx, g: 1 / 0, None), (lambda ctx, g: g, lambda ctx, i, o: 1 / 0)):
        op = define("(Tensor x) -> Tensor", lambda x: x * 1, backward, setup)
        with pytest.raises(ZeroDivisionError):
            grad(lambda x: np.sum(op(x)))(A)  # noqa: B023


# -- residuals -------------------------------------------------------------------------------------------------------------


class Factor:
    """What a forward keeps: something with a life to watch."""


def test_a_residual_reaches_the_context_and_is_freed_with_its_node():
    kept = []

    def kernel(x):
        factor = Factor()
        kept.append(weakref.ref(factor))
        return x * 2, factor

    def setup(ctx, inputs, output):
        assert isinstance(output, Tensor)  # the residual is no output
        assert isinstance(ctx.residual, Factor)

    def backward(ctx, g):
        assert isinstance(ctx.residual, Factor)
        return g * 2

    op = define("(Tensor x) -> (Tensor, Residual)", kernel, backward, setup)
    gc.disable()
    try:
        x = leaf()
        y = op(x)
        assert kept[0]() is not None
        np.sum(y).backward()
        assert kept[0]() is None
        assert np.array_equal(x.grad, [2, 2, 2])
        z = op(x)
        del z
        assert kept[1]() is None
        assert np.array_equal(op(A), A * 2)
        assert kept[2]() is None
    finally:
        gc.enable()


def test_an_operator_takes_a_residual_back():
    calls = []
    back = define("(Tensor g, Residual factor) -> Tensor", lambda g, factor: calls.append(factor) or g * 2, lambda ctx, g: (g * 2, None))
    op = define("(Tensor x) -> (Tensor, Residual)", lambda x: (x * 2, Factor()), lambda ctx, g: back(g, ctx.residual))
    assert np.array_equal(grad(lambda x: np.sum(op(x) ** 2))(A), 8 * A)
    assert np.array_equal(grad(lambda x: np.sum(grad(lambda x: np.sum(op(x) ** 2))(x)))(A), [8, 8, 8])
    assert np.array_equal(vmap(grad(lambda x: np.sum(op(x) ** 2)))(np.stack([A, A])), [8 * A, 8 * A])
    assert all(isinstance(factor, Factor) for factor in calls)
    assert len(calls) == 1 + 2 + 2  # the second order calls it at both levels


def test_the_forward_runs_once_for_value_and_gradient():
    calls = []
    op = define("(Tensor x) -> (Tensor, Residual)", lambda x: (calls.append(1) or x * 2, "kept"), lambda ctx, g: g * 2)
    dispatch.value_and_grad(lambda x: np.sum(op(x)))(A)
    assert calls == [1]


# -- second order ----------------------------------------------------------------------------------------------------------


def squared(setup, factor):
    """x * x whose backward finds x where `setup` has put it."""
    return define("(Tensor x) -> Tensor", lambda x: x * x, lambda ctx, g: g * factor(ctx) * 2, setup)


def test_a_number_kept_in_setup_context_is_differentiated_once():
    kept = squared(lambda ctx, inputs, output: ctx.save_for_backward(*inputs), lambda ctx: ctx.saved_tensors[0])
    cut = squared(lambda ctx, inputs, output: setattr(ctx, "x", inputs[0].item()), lambda ctx: ctx.x)
    assert grad(grad(kept))(3.0) == 2.0
    assert grad(cut)(3.0) == 6.0
    said_of = (
        f"a second derivative was asked of {cut.name}, whose setup_context took a tracked value off the tape, by "
        "x.item(), x.value or dispatch.detach(x): the derivative of that would be lost in silence. Keep the value itself: "
        "ctx.save_for_backward(x)."
    )
    assert said(lambda: grad(grad(cut))(3.0)) == said_of
    x = leaf(3.0)
    assert said(lambda: cut(x).backward(create_graph=True)) == said_of
    cut(x).backward()
    assert x.grad == 6.0
    assert grad(lambda y: grad(cut)(3.0) * y)(2.0) == 6.0  # what does not depend on y is no second order of it
