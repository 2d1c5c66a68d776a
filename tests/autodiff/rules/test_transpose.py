"""A jvp made of an autograd rule and a gradient made of a jvp rule: what both must give is what finite differences give, at
any order, and where neither can be made something raises. `tests/numpy_ops/test_table_forward.py` holds every row of the tables to it.
"""

from typing import NamedTuple

import numpy as np
import pytest
from custom_op_db import ENTRIES
from duals import push, slope, tangent
from making import define, made, said

import dispatch
from dispatch import DispatchKey, Residual, custom_op, grad, ops, vmap
from dispatch.core import Level
from dispatch.core.pytree import leaves, mapped
from dispatch.errors import GradientError, NoRuleError
from dispatch.layers.autograd import track

X = np.array([0.5, 1.0, 2.0])
T = np.array([1.0, -2.0, 0.5])
ONE = np.ones(3)


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def cube_back(ctx, g):
    (x,) = ctx.saved_tensors
    return 3 * x**2 * g


def cube_forward(tangents, output, x):
    return 3 * x**2 * tangents[0]


def reverse_cube(backward=cube_back):
    return define("(Tensor x) -> Tensor", lambda x: x**3, autograd=backward, setup=keep)


def forward_cube(rule=cube_forward):
    return define("(Tensor x) -> Tensor", lambda x: x**3, jvp=rule)


CUBES = pytest.mark.parametrize("made_of", [reverse_cube, forward_cube])

# -- every order, whichever rule there is ------------------------------------------------------------------------------------


def D(f):
    return lambda x: tangent(f, x, np.ones_like(x))


def G(f):
    return grad(lambda x: np.sum(f(x)))


@CUBES
@pytest.mark.parametrize("orders", [(D,), (G,), (D, D), (D, G), (G, D), (G, G), (D, D, D), (G, G, G), (D, G, D), (G, D, G)])
def test_derivatives_of_any_order_in_either_direction(made_of, orders):
    f, expected = made_of(), [3 * X**2, 6 * X, 6 * ONE][len(orders) - 1]
    for order in orders:
        f = order(f)
    np.testing.assert_allclose(f(X), expected, rtol=1e-14)


@CUBES
@pytest.mark.parametrize("order", [D, G])
def test_batches_of_derivatives_and_derivatives_of_batches(made_of, order):
    batch = np.stack([X, 2 * X])
    f = made_of()
    np.testing.assert_allclose(vmap(order(f))(batch), 3 * batch**2)
    np.testing.assert_allclose(order(vmap(f))(batch), 3 * batch**2)
    np.testing.assert_allclose(vmap(order(order(f)))(batch), 6 * batch)


@CUBES
def test_the_forward_runs_once(made_of):
    ran = []
    f = made_of()
    f.register_at(DispatchKey.CPU, lambda x: ran.append(1) or x**3)
    D(f)(X)
    assert ran == [1]
    G(f)(X)
    assert ran == [1, 1]


@CUBES
def test_outer_values_stay_apart(made_of):
    """Perturbation confusion: d/dx (x d/dy (x + y)) is 1."""
    f = made_of()
    found = D(lambda x: x * D(lambda y: f(x) * y)(ONE))(X)
    np.testing.assert_allclose(found, 4 * X**3)


# -- what is opaque in what it carries ---------------------------------------------------------------------------------------


def as_array(g):
    return np.asarray(g) * 1.0


def no_operator(g):
    if type(g) is not np.ndarray:
        raise TypeError("a kernel in C takes arrays")
    return g


without_rule = define("(Tensor x) -> Tensor", lambda x: x * 1.0)


def detached(g):
    return dispatch.detach(g)


def numbers(g):
    return np.array([g[i].item() for i in range(3)])


OPAQUE = [as_array, no_operator, without_rule, detached, numbers]


@pytest.mark.parametrize("opaque", OPAQUE, ids=lambda f: getattr(f, "__name__", "an operator without a rule"))
def test_a_rule_that_hides_what_it_carries_runs_once_for_each_element(opaque):
    carried = []

    def back(ctx, g):
        return cube_back(ctx, opaque(g)) if not carried.append(g) else None

    np.testing.assert_allclose(tangent(reverse_cube(back), X, T), 3 * X**2 * T)
    assert [type(g) for g in carried[-3:]] == [np.ndarray] * 3
    assert len(carried) == 4 + (opaque is as_array)  # which is found out by an attempt, as one operator

    def forward(tangents, output, x):
        return cube_forward((opaque(tangents[0]),), output, x)

    np.testing.assert_allclose(G(forward_cube(forward))(X), 3 * X**2)


def test_complex_values_that_are_hidden():
    def back(ctx, g):
        (x,) = ctx.saved_tensors
        return np.conj(3 * x**2) * np.asarray(g)

    z, t = X + 0.5j * T, T - 1j * X
    np.testing.assert_allclose(tangent(reverse_cube(back), z, t), 3 * z**2 * t)
    f = forward_cube(lambda tangents, output, x: 3 * x**2 * np.asarray(tangents[0]))
    expected = grad(lambda z: np.sum(np.real(ops.np.multiply(z, z) * z)))(z)
    np.testing.assert_allclose(grad(lambda z: np.sum(np.real(f(z))))(z), expected)


def only_batches(g):
    if isinstance(g, (dispatch.layers.autograd.TrackedTensor, dispatch.DualTensor)):
        raise TypeError("no kernel for these")
    return g


HIDDEN = [
    reverse_cube(lambda ctx, g: cube_back(ctx, only_batches(g))),
    forward_cube(lambda tangents, output, x: cube_forward((only_batches(tangents[0]),), output, x)),
]


@pytest.mark.parametrize("f", HIDDEN, ids=["backward", "forward"])
def test_what_is_hidden_in_batches_and_of_fakes(f):
    batch = np.stack([X, 2 * X])
    np.testing.assert_allclose(vmap(D(f))(batch), 3 * batch**2)
    np.testing.assert_allclose(vmap(G(f))(batch), 3 * batch**2)
    f.register_fake(lambda x: np.empty_like(x))
    with dispatch.FakeTensorMode() as mode:
        for derivative in (D(f), G(f)):
            found = derivative(mode.from_array(batch))
            assert isinstance(found, dispatch.FakeTensor)
            assert (found.shape, found.dtype) == (batch.shape, batch.dtype)


def test_an_empty_output_that_is_hidden():
    f = reverse_cube(lambda ctx, g: cube_back(ctx, np.asarray(g)))
    value, t = push(f, (np.ones(0),), (np.ones(0),))
    assert value.shape == (0,)
    assert t is None or t.shape == (0,)
    f = forward_cube(lambda tangents, output, x: cube_forward((np.asarray(tangents[0]),), output, x))
    assert G(f)(np.ones(0)).shape == (0,)


def test_a_rule_that_hides_the_arguments_too_has_no_second_derivative():
    f = reverse_cube(lambda ctx, g: 3 * np.asarray(ctx.saved_tensors[0]) ** 2 * np.asarray(g))
    np.testing.assert_allclose(D(f)(X), 3 * X**2)
    with pytest.raises(dispatch.errors.NoRuleError, match=r"backward_rule\.register_autograd"):
        D(D(f))(X)
    f = forward_cube(lambda t, out, x: 3 * np.asarray(x) ** 2 * np.asarray(t[0]))
    np.testing.assert_allclose(G(f)(X), 3 * X**2)
    with pytest.raises(dispatch.errors.NoRuleError, match=r"jvp_rule\.register_autograd"):
        G(G(f))(X)


def test_a_number_that_setup_context_kept_has_no_second_derivative():
    def setup(ctx, inputs, output):
        ctx.x = inputs[0].item()

    f = define("(Tensor x) -> Tensor", lambda x: x**3, autograd=lambda ctx, g: 3 * ctx.x**2 * g, setup=setup)
    x = np.array(2.0)
    np.testing.assert_allclose(D(f)(x), 12.0)
    for twice in (D(D(f)), D(G(f)), G(D(f)), G(G(f))):
        assert "a second derivative was asked of" in said(lambda twice=twice: twice(x), GradientError)


def test_a_number_that_a_jvp_rule_took_has_no_second_derivative():
    f = forward_cube(lambda tangents, output, x: 3 * x.item() ** 2 * tangents[0])
    x = np.array(2.0)
    np.testing.assert_allclose(D(f)(x), 12.0)
    np.testing.assert_allclose(G(f)(x), 12.0)
    for twice in (D(D(f)), D(G(f)), G(D(f)), G(G(f))):
        by_rule = (
            f"a second derivative was asked of {f.name}, whose jvp rule turned a value into a number by x.item(): the "
            "derivative of that number would be lost in silence. Compute with the array."
        )
        by_tape = (
            "x.item() was asked of a tracked value in a backward that is differentiated again: the derivative of that number "
            "would be lost in silence. Compute with the array; where a constant is meant, write dispatch.detach(x)."
        )
        assert said(lambda twice=twice: twice(x), GradientError) in (by_rule, by_tape)


# -- every schema ------------------------------------------------------------------------------------------------------------

SAMPLES = [
    pytest.param(entry.op, sample, id=f"{entry.op.schema.name}{i}")
    for entry in ENTRIES
    for i, sample in enumerate(entry.samples)
    if entry.differentiable and sample.floats
]


@pytest.mark.parametrize(("op", "sample"), SAMPLES)
def test_operators_of_every_schema(op, sample):
    """custom_op_db: tangents of every floating argument against finite differences, of outputs in lists and tuples."""

    def f(*arrays):
        called = sample.with_floats(arrays)
        return [x for x in leaves(op(*called.args, **called.kwargs)) if getattr(x, "dtype", np.dtype(int)).kind == "f"]

    xs = sample.floats
    ts = [np.random.default_rng(i).standard_normal(x.shape) for i, x in enumerate(xs)]
    values, found = push(f, xs, ts)
    h = 1e-6
    above, below = (f(*[x + s * h * t for x, t in zip(xs, ts, strict=True)]) for s in (1, -1))
    for value, plain, t, a, b in zip(values, f(*xs), found, above, below, strict=True):
        np.testing.assert_array_equal(value, plain)
        np.testing.assert_allclose(np.zeros_like(a) if t is None else t, (a - b) / (2 * h), rtol=1e-6, atol=1e-7)


class Pair(NamedTuple):
    a: np.ndarray
    b: np.ndarray


def test_lists_dicts_and_records_forward_from_a_gradient():
    @custom_op("derivetests::weighed", mutates_args=())
    def weighed(xs: list[np.ndarray], by: dict[str, np.ndarray], pair: Pair, n: int = 2) -> tuple[list[np.ndarray], np.ndarray]:
        return [x * by["a"] for x in xs], pair.a * pair.b * n

    def setup(ctx, inputs, output):
        ctx.xs, ctx.by, ctx.pair, ctx.n = inputs

    @weighed.register_autograd(setup_context=setup)
    def _(ctx, gs, g):
        a, b = ctx.pair
        over = sum(np.sum(x * h) for x, h in zip(ctx.xs, gs, strict=True))
        return [ctx.by["a"] * h for h in gs], {"a": over}, Pair(b * g * ctx.n, a * g * ctx.n), None

    xs, by, pair = [X, 2 * X], {"a": np.array(3.0)}, Pair(X, T)
    txs, tby, tpair = [T, ONE], {"a": np.array(0.5)}, Pair(ONE, X)
    (first, second), (t1, t2) = push(weighed, (xs, by, pair), (txs, tby, tpair))
    np.testing.assert_allclose(first, [3 * X, 6 * X])
    np.testing.assert_allclose(second, 2 * X * T)
    np.testing.assert_allclose(t1, [3 * T + 0.5 * X, 3 * ONE + X])
    np.testing.assert_allclose(t2, 2 * (ONE * T + X * X))
    (_, (t1, t2)) = push(lambda b: weighed(xs, {"a": b}, pair), (by["a"],), (tby["a"],))
    np.testing.assert_allclose(t1, [0.5 * X, X])
    assert t2 is None or not np.any(t2)


def test_lists_dicts_and_records_backward_from_a_jvp():
    @custom_op("derivetests::weighed_forward", mutates_args=())
    def weighed(xs: list[np.ndarray], by: dict[str, np.ndarray], pair: Pair, n: int = 2) -> tuple[list[np.ndarray], np.ndarray]:
        return [x * by["a"] for x in xs], pair.a * pair.b * n

    @weighed.register_jvp
    def _(tangents, output, xs, by, pair, n):
        ts, d, p, none = tangents
        assert none is None
        return [t * by["a"] + x * d["a"] for x, t in zip(xs, ts, strict=True)], (p.a * pair.b + pair.a * p.b) * n

    def f(x, y, a, b, c):
        (one, two), three = weighed([x, y], {"a": a}, Pair(b, c))
        return np.sum(one * two) + np.sum(three * three)

    args = (X, T, np.array(3.0), ONE, X)
    for i in range(5):
        got = grad(f, i)(*args)
        t = np.asarray(np.random.default_rng(i).standard_normal(np.shape(args[i])))
        expected = slope(lambda x, i=i: f(*args[:i], x, *args[i + 1 :]), args[i], t)
        np.testing.assert_allclose(np.sum(got * t), expected, rtol=1e-7)
        twice = grad(lambda x, i=i, t=t: np.sum(grad(f, i)(*args[:i], x, *args[i + 1 :]) * t))(args[i])
        assert np.all(np.isfinite(twice))


@pytest.mark.parametrize("rules", ["autograd", "jvp"])
def test_a_residual_and_an_output_without_a_derivative(rules):
    @custom_op(f"derivetests::with_residual_{rules}", mutates_args=())
    def kept(x: np.ndarray, *, k: float = 2.0) -> tuple[np.ndarray, np.ndarray, Residual]:
        return x**3 * k, np.argsort(x), ("slope", 3 * x**2 * k)

    if rules == "autograd":
        kept.register_autograd(lambda ctx, g, none: (ctx.residual[1] * g, None), setup_context=lambda ctx, inputs, output: None)
    else:
        kept.register_jvp(lambda tangents, output, x, k: (output[2][1] * tangents[0], None))
    (value, order), (t, none) = push(lambda x: kept(x, k=5.0), (X,), (T,))
    np.testing.assert_allclose(value, 5 * X**3)
    np.testing.assert_allclose(t, 15 * X**2 * T)
    assert order.dtype.kind == "i"
    assert none is None
    np.testing.assert_allclose(grad(lambda x: np.sum(kept(x, k=5.0)[0]))(X), 15 * X**2)


def test_optional_arguments():
    @custom_op("derivetests::optional", mutates_args=())
    def f(x: np.ndarray | None, y: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
        return y * (1 if x is None else x) * (1 if z is None else z)

    @f.register_jvp
    def _(tangents, output, x, y, z):
        assert [t is None for t in tangents] == [x is None, False, z is None]
        return tangents[1] * (1 if x is None else x) * (1 if z is None else z)

    np.testing.assert_allclose(grad(lambda y: np.sum(f(None, y)))(X), ONE)
    np.testing.assert_allclose(tangent(lambda y: f(None, y, T), X, ONE), T)


@pytest.mark.parametrize("rules", ["autograd", "jvp"])
def test_operators_that_write(rules):
    @custom_op(f"derivetests::scale_{rules}_", mutates_args={"x"})
    def scale_(x: np.ndarray, y: np.ndarray) -> None:
        x *= y

    if rules == "autograd":

        def back(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

        scale_.register_autograd(back, setup_context=keep)
    else:
        scale_.register_jvp(lambda tangents, output, x, y: tangents[0] * y + x * tangents[1])

    def f(x):
        y = x * x
        scale_(y, x)
        scale_(y, x)
        return y

    np.testing.assert_allclose(D(f)(X), 4 * X**3)
    np.testing.assert_allclose(G(f)(X), 4 * X**3)
    np.testing.assert_allclose(D(G(f))(X), 12 * X**2)
    np.testing.assert_allclose(G(D(f))(X), 12 * X**2)
    np.testing.assert_allclose(D(lambda x: scale_.functional(x, x))(X), 2 * X)
    np.testing.assert_allclose(G(lambda x: scale_.functional(x, x))(X), 2 * X)


# -- rules that come and go --------------------------------------------------------------------------------------------------


def test_a_derived_kernel_goes_with_the_rule_it_was_made_of():
    f = define("(Tensor x) -> Tensor", lambda x: x**3)
    assert "neither a jvp rule nor an autograd rule" in said(lambda: D(f)(X), NoRuleError)
    one = f.register(dispatch.dispatcher.layer.layers["autograd"], dispatch.layers.autograd.Rule(cube_back, keep))
    np.testing.assert_allclose(D(f)(X), 3 * X**2)
    two = f.register(dispatch.dispatcher.layer.layers["autograd"], dispatch.layers.autograd.Rule(lambda ctx, g: 7 * g, None))
    np.testing.assert_allclose(D(f)(X), 7 * ONE)
    f.unregister(two)
    np.testing.assert_allclose(D(f)(X), 3 * X**2)
    own = f.register(dispatch.dispatcher.layer.layers["jvp"], lambda tangents, output, x: 5 * tangents[0])
    np.testing.assert_allclose(D(f)(X), 5 * ONE)
    f.unregister(one)
    np.testing.assert_allclose(G(f)(X), 5 * ONE)
    f.unregister(own)
    assert "neither a jvp rule nor an autograd rule" in said(lambda: D(f)(X), NoRuleError)
    assert "which has no derivative" in said(lambda: G(f)(X), NoRuleError)


def test_a_functional_form_follows_the_rules_of_its_origin():
    op = made("(Tensor(a!) x) -> ()", lambda x: np.copyto(x, x**3))
    form = op.functional
    assert "neither a jvp rule nor an autograd rule" in said(lambda: D(form)(X), NoRuleError)
    forward = op.register(dispatch.dispatcher.layer.layers["jvp"], lambda tangents, output, x: 3 * x**2 * tangents[0])
    np.testing.assert_allclose(D(form)(X), 3 * X**2)
    np.testing.assert_allclose(G(form)(X), 3 * X**2)
    op.unregister(forward)
    assert "which has no derivative" in said(lambda: G(form)(X), NoRuleError)
    back = op.register(dispatch.dispatcher.layer.layers["autograd"], dispatch.layers.autograd.Rule(cube_back, keep))
    np.testing.assert_allclose(D(form)(X), 3 * X**2)
    op.unregister(back)
    assert "neither a jvp rule nor an autograd rule" in said(lambda: D(form)(X), NoRuleError)


# -- constants, and neither --------------------------------------------------------------------------------------------------


def test_an_operator_whose_rule_says_that_it_has_no_derivative_has_none_in_the_other_direction():
    for layer in ("autograd", "jvp"):
        f = define("(Tensor x) -> Tensor", np.floor, **{layer: dispatch.dispatcher.layer.CONSTANT})
        assert push(f, (X,), (T,))[1] is None
        np.testing.assert_array_equal(G(lambda x, f=f: f(x) * x)(X), np.floor(X))


def test_no_grad_does_not_touch_forward_mode():
    for f in (reverse_cube(), forward_cube()):
        with dispatch.no_grad():
            np.testing.assert_allclose(D(f)(X), 3 * X**2)
        with Level("open"), dispatch.no_grad():
            np.testing.assert_allclose(D(D(f))(X), 6 * X)


def test_gradients_of_some_arguments_alone():
    asked = []
    f = define(
        "(Tensor x, Tensor y) -> Tensor",
        np.multiply,
        jvp=lambda tangents, output, x, y: asked.append(tangents) or tangents[0] * y + x * tangents[1],
    )
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x, T)))(X), T)
    assert type(asked[0][1]) is np.ndarray  # zeros: nothing is recorded for it
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x, X)))(T), X)


def test_a_leaf_at_the_ground_has_its_derived_gradient():
    x = dispatch.tensor(X, requires_grad=True)
    np.sum(forward_cube()(x)).backward()
    np.testing.assert_allclose(x.grad, 3 * X**2)
    with Level("t") as level:
        assert type(forward_cube()(track(X, level))).__name__ == "TrackedTensor"


# -- what explains it --------------------------------------------------------------------------------------------------------


def test_listings_name_the_rule():
    place = f"{cube_back.__code__.co_filename.rpartition('/')[2]}:{cube_back.__code__.co_firstlineno}"
    f = reverse_cube()
    assert ("JVP", "derived from the autograd rule", place) in f.kernels.rows
    step = next(step for step in f.explain().steps if step.name == "JVP")
    assert (step.runs, step.place) == ("derived from the autograd rule", place)
    place = f"{cube_forward.__code__.co_filename.rpartition('/')[2]}:{cube_forward.__code__.co_firstlineno}"
    f = forward_cube()
    assert ("AUTOGRAD", "derived from the jvp rule", place) in f.kernels.rows
    found = f.explain(dispatch.tensor(X, requires_grad=True)).steps[0]
    assert (found.runs, found.place) == ("derived from the jvp rule", place)
    seen = []
    push(lambda x: seen.append(reverse_cube().explain(x)), (X,), (T,))
    assert seen[0].steps[0].runs == "derived from the autograd rule"
    assert seen[0].steps[0].reason.startswith("argument 'x' is a DualTensor of jvp")


def test_values_of_containers_stay_what_they_are():
    value, t = push(lambda x: mapped(lambda y: reverse_cube()(y), [x, (x,)]), (X,), (T,))
    assert isinstance(value, list)
    assert isinstance(value[1], tuple)
    np.testing.assert_allclose(t[1][0], 3 * X**2 * T)


def test_an_output_without_a_tangent_is_written_to_as_numpys():
    """The record that a tangent is pulled back through protects what the rule saved; the caller gets an array that is its own."""

    def f(a):
        sign, log = np.linalg.slogdet(a)
        np.copyto(sign, 3.0)
        sign += 1
        return np.sum(sign * log)

    a, t = np.array([[[2.0, 1.0], [0.5, 3.0]]] * 2), np.array([[[1.0, -1.0], [0.5, 2.0]]] * 2)
    value, slope = dispatch.jvp(f, (a,), (t,))
    np.testing.assert_array_equal(value, f(a))
    np.testing.assert_allclose(slope, (f(a + 1e-6 * t) - f(a - 1e-6 * t)) / 2e-6, rtol=1e-8)
    np.testing.assert_allclose(slope, np.sum(dispatch.grad(f)(a) * t), rtol=1e-12)
