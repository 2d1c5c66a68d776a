"""Forward mode: values with a tangent, users' rules and rows', what is written, and what is refused."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from duals import push, slope, tangent
from making import define, made, said

import dispatch
from dispatch import DispatchKey, DualTensor, Residual, custom_op, grad, ops, register_jvp, vmap
from dispatch.core import Level, wrap
from dispatch.dispatcher.layer import CONSTANT
from dispatch.errors import ConversionError, DefinitionError, EscapedValueError, GradientError, NoRuleError, UnsupportedError
from dispatch.layers.jvp import pushforwards
from dispatch.library import Library
from dispatch.operators.functional_variant import instead

X = np.array([0.5, 1.0, 2.0])
Y = np.array([3.0, -1.0, 0.25])
T = np.array([1.0, -2.0, 0.5])
ONE = np.ones(3)


def product_rule(tangents, output, x, y):
    return tangents[0] * y + x * tangents[1]


def product(rule=product_rule):
    return define("(Tensor x, Tensor y) -> Tensor", np.multiply, jvp=rule)


def ruled(rule, schema="(Tensor x) -> Tensor", kernel=np.square):
    return define(schema, kernel, jvp=rule)


# -- a rule of a user --------------------------------------------------------------------------------------------------------


def test_a_rule_gives_the_tangent():
    f = product()
    value, t = push(f, (X, Y), (T, ONE))
    np.testing.assert_array_equal(value, X * Y)
    np.testing.assert_array_equal(t, T * Y + X)
    np.testing.assert_allclose(tangent(lambda x: f(x, f(x, x)), X, T), 3 * X**2 * T)


def test_a_rule_sees_zeros_for_a_constant_and_none_for_what_has_no_tangent():
    seen = []

    @custom_op("forwardtests::many", mutates_args=())
    def many(
        x: np.ndarray, i: np.ndarray, xs: list[np.ndarray], n: int, z: np.ndarray | None = None, *, w: np.ndarray
    ) -> np.ndarray:
        return x * w

    @many.register_jvp
    def _(tangents, output, x, i, xs, n, z, *, w):
        seen.append(tangents)
        return tangents[0] * w + x * tangents[-1]

    np.testing.assert_allclose(tangent(lambda x: many(x, np.arange(3), [Y, np.arange(2), x], 2, w=Y), X, T), T * Y)
    (own, integers, listed, number, missing, constant) = seen[0]
    np.testing.assert_array_equal(own, T)
    assert integers is number is missing is None
    assert type(listed) is list
    assert listed[1] is None
    np.testing.assert_array_equal(listed[0], np.zeros(3))
    np.testing.assert_array_equal(listed[2], T)
    np.testing.assert_array_equal(constant, np.zeros(3))
    np.testing.assert_allclose(tangent(lambda w: many(X, np.arange(3), [], 2, w=w), Y, T), X * T)


def test_the_forward_runs_once_and_the_rule_gets_its_output():
    ran = []
    f = define(
        "(Tensor x) -> Tensor", lambda x: ran.append(1) or np.exp(x), jvp=lambda tangents, output, x: output * tangents[0]
    )
    np.testing.assert_allclose(tangent(f, X, T), np.exp(X) * T)
    assert ran == [1]


def test_several_outputs_in_containers():
    class Named(NamedTuple):
        a: np.ndarray
        b: np.ndarray

    def rule(tangents, output, x):
        (t,) = tangents
        return [t, None], {"twice": 2 * t}, Named(3 * t, None), {"a": 4 * t}, None

    f = made("(Tensor x) -> (Tensor[], Dict(str, Tensor), Any, Any, Tensor)")

    def kernel(x):
        return [x * 1, x * 0], {"twice": 2 * x, "more": x * 0}, Named(3 * x, x * 1), Named(4 * x, 5 * x), x > 0

    f.register_at(DispatchKey.CPU, kernel)
    f.register_jvp(rule)
    values, ts = push(f, (X,), (T,))
    np.testing.assert_allclose(ts[0][0], T)
    assert ts[0][1] is ts[1]["more"] is ts[2].b is ts[3].b is ts[4] is None
    np.testing.assert_allclose(ts[1]["twice"], 2 * T)
    np.testing.assert_allclose(ts[2].a, 3 * T)
    np.testing.assert_allclose(ts[3].a, 4 * T)
    np.testing.assert_allclose(values[2].a, 3 * X)


@dataclass
class Model:
    weight: np.ndarray
    name: str
    bias: np.ndarray


def test_a_record_as_an_argument():
    @custom_op("forwardtests::model", mutates_args=())
    def apply(model: Model, x: np.ndarray) -> np.ndarray:
        return model.weight * x + model.bias

    @apply.register_jvp
    def _(tangents, output, model, x):
        m, t = tangents
        assert isinstance(m, Model)
        assert m.name is None
        return m.weight * x + model.weight * t + m.bias

    def f(w):
        return apply(Model(w, "a model", Y), X)

    np.testing.assert_allclose(tangent(f, ONE, T), T * X)


def test_a_residual_goes_to_the_rule_and_not_to_callers():
    @custom_op("forwardtests::residual", mutates_args=())
    def f(x: np.ndarray) -> tuple[np.ndarray, Residual]:
        return np.exp(x), {"kept": x}

    @f.register_jvp
    def _(tangents, output, x):
        out, kept = output
        assert kept["kept"] is x
        return out * tangents[0]

    np.testing.assert_allclose(tangent(f, X, T), np.exp(X) * T)


def test_what_is_no_float_comes_out_plain():
    f = ruled(lambda tangents, output, x: pytest.fail("a rule for integers"), kernel=np.argsort)
    value, t = push(f, (X,), (T,))
    assert type(value) is np.ndarray
    assert t is None


def test_a_rule_that_returns_nothing_is_refused_as_one_without_a_return_statement():
    begins = "its jvp rule returned None, as a function without a return statement does. Return "
    forgets = ruled(lambda tangents, output, x: None)
    assert said(lambda: push(forgets, (X,), (T,)), GradientError) == (
        f"{forgets.name}: {begins}the tangent, np.zeros_like(output) for one without."
    )
    pair = define("(Tensor x) -> (Tensor, Tensor)", lambda x: (x + 1, x + 2))
    pair.register_jvp(lambda tangents, output, x: None)
    assert said(lambda: push(pair, (X,), (T,)), GradientError) == (
        f"{pair.name}: {begins}a tangent for each output, None in its place for one without."
    )
    pair.register_jvp(lambda tangents, output, x: (tangents[0], None))
    assert push(pair, (X,), (T,))[1][1] is None
    order = define("(Tensor x) -> Tensor", np.argsort)
    order.register_jvp(lambda tangents, output, x: None)
    assert push(order, (X,), (T,))[1] is None


@pytest.mark.parametrize(("gives", "expected"), [
    (2.0, np.full(3, 2.0)), (3, np.full(3, 3.0)), (True, ONE), (np.float64(2.0), np.full(3, 2.0)),
    (np.array([5.0]), np.full(3, 5.0)), (np.ones(3, "f4"), ONE), (np.ones(3, "i8"), ONE),
])  # fmt: skip
def test_a_tangent_is_broadcast_and_cast_to_its_output(gives, expected):
    found = tangent(ruled(lambda tangents, output, x: gives), X, T)
    assert (found.shape, found.dtype) == (X.shape, X.dtype)
    np.testing.assert_array_equal(found, expected)


def test_numbers_and_scalars():
    found = tangent(np.sin, np.array(0.5), np.array(2.0))
    np.testing.assert_allclose(found, 2 * np.cos(0.5))
    np.testing.assert_allclose(tangent(lambda x: np.sum(x) * 2.0, X, T), 2 * T.sum())


# -- nesting -----------------------------------------------------------------------------------------------------------------


def test_tangents_nest_with_each_other_with_gradients_and_with_batches():
    f = product()

    def cube(x):
        return f(x, f(x, x))

    def along(g):
        return lambda x: tangent(g, x, np.ones_like(x))

    np.testing.assert_allclose(along(along(cube))(X), 6 * X)
    np.testing.assert_allclose(along(along(along(cube)))(X), 6 * ONE)
    np.testing.assert_allclose(grad(lambda x: np.sum(along(cube)(x)))(X), 6 * X)
    np.testing.assert_allclose(along(grad(lambda x: np.sum(cube(x))))(X), 6 * X)
    np.testing.assert_allclose(vmap(along(cube))(np.stack([X, Y])), 3 * np.stack([X, Y]) ** 2)
    np.testing.assert_allclose(along(vmap(cube))(np.stack([X, Y])), 3 * np.stack([X, Y]) ** 2)


def test_outer_tangents_stay_apart_from_inner_ones():
    found = tangent(lambda x: x * tangent(lambda y: x + y, ONE, ONE), X, ONE)
    np.testing.assert_array_equal(found, ONE)


def test_a_composite_runs_its_parts():
    np.testing.assert_allclose(tangent(lambda x: ops.np.dot(x, Y), X, T), T @ Y)


def test_no_grad_and_detach():
    with dispatch.no_grad():
        np.testing.assert_allclose(tangent(lambda x: x * x, X, T), 2 * X * T)
    np.testing.assert_allclose(tangent(lambda x: x * dispatch.detach(x), X, T), X * T)
    assert type(push(dispatch.detach, (X,), (T,))[0]) is np.ndarray


def test_a_direction_of_complex_values():
    z, t = X + 1j * Y, T - 0.5j
    for f in (np.conjugate, np.abs, np.sign, np.real, np.imag, np.exp, lambda z: np.abs(z) * np.conj(z) + z.real):
        np.testing.assert_allclose(tangent(f, z, t), slope(f, z, t), rtol=1e-7)


# -- values with a tangent ---------------------------------------------------------------------------------------------------


def dual(value, t, level):
    return wrap(DualTensor, value, level, t)


def test_a_value_with_a_tangent_reads_as_its_value():
    with Level("jvp") as level:
        x, y = dual(np.array(2.0), np.array(1.0), level), dual(X, T, level)
        assert repr(x) == "DualTensor(array(2.), tangent=array(1.))"
        assert (f"{x:.2f}", x.item(), bool(x)) == ("2.00", 2.0, True)
        assert f"{y}" == f"{X}"
        assert y.tangent is T
        for number in (float, int, complex):
            assert said(lambda number=number: number(x), ConversionError) == (
                "a number was asked of a value with a tangent, of shape () and dtype float64, by float() or by writing it into "
                "a plain array: its tangent would be lost in silence. Return the value itself, not float() of it; write np.sin(x) for math.sin(x), and so for all of math; x.item() where the number is meant; to write it "
                "into an array, make that of such a value: np.zeros_like(x, shape=...), or np.stack the pieces."
            )
        read = np.asarray
        assert said(lambda: read(y), ConversionError) == (
            "a NumPy array was asked of a value with a tangent, of shape (3,) and dtype float64: the tangent would be lost in "
            "silence. Write dispatch.detach(x) where a constant is meant; dispatch.numpy.array([x, y]) for np.array([x, y]), and so for np.full, np.arange and np.r_; np.dot(a, x) for a.dot(x) of an array; "
            "x.astype(np.float32) for np.float32(x); dispatch.numpy.random for draws of a Generator, normal(rng, x) for rng.normal(x); an operator, dispatch.custom_op, for other code; to write it into an array, make that of such a value: np.zeros_like(x, shape=...)."
        )


# -- registering -------------------------------------------------------------------------------------------------------------


def test_rules_are_registered_by_every_verb():
    f = made("(Tensor x) -> Tensor", np.square)

    def square_rule(tangents, output, x):
        return 2 * x * tangents[0]

    assert f.register_jvp()(square_rule) is square_rule
    np.testing.assert_allclose(tangent(f, X, T), 2 * X * T)
    g = custom_op("forwardtests::by_name", np.square, mutates_args=(), schema="(Tensor x) -> Tensor")
    register_jvp("forwardtests::by_name", square_rule)
    np.testing.assert_allclose(tangent(g, X, T), 2 * X * T)
    h = custom_op("forwardtests::by_library", np.square, mutates_args=(), schema="(Tensor x) -> Tensor")
    lib = Library("forwardtests", "FRAGMENT")
    dispatch.library.register_jvp(h, lib=lib)(square_rule)
    np.testing.assert_allclose(tangent(h, X, T), 2 * X * T)
    lib.destroy()
    with pytest.raises(NoRuleError):
        tangent(h, X, T)


def test_a_rule_that_cannot_be_one_is_refused():
    f = made("(Tensor x, Tensor y) -> Tensor", np.multiply)
    assert said(lambda: f.register_jvp(3), DefinitionError) == f"{f.name}: a jvp rule is a function, and an int was given."
    assert said(lambda: f.register_jvp(lambda tangents, output, y, x: None), DefinitionError) == (
        f"{f.name}: the jvp rule takes (y, x), and the operator (x, y). Rules bind by parameter name: give the rule the "
        "operator's own names, in its order."
    )
    f.register_jvp(lambda *anything: ONE)
    np.testing.assert_array_equal(tangent(lambda x: f(x, x), X, T), ONE)
    nothing = made("(Tensor x) -> ()", lambda x: None)
    assert said(lambda: nothing.register_jvp(lambda tangents, output, x: None), DefinitionError) == (
        f"{nothing.name} returns nothing and writes to nothing, so that no tangent comes of it. Leave the rule out."
    )
    with pytest.raises(TypeError):
        f.register_jvp(product_rule, setup_context=lambda ctx, inputs, output: None)


def test_pushforwards_name_what_they_read():
    assert said(lambda: pushforwards(x=lambda *names: names), DefinitionError) == (
        "a pushforward names what it reads; *args and **kwargs name nothing."
    )
    f = made("(Tensor x, Tensor y) -> Tensor", np.multiply)
    for wrong in (pushforwards(x=lambda t, w: t), pushforwards(w=lambda t: t)):
        assert said(lambda wrong=wrong: f.register_jvp(wrong), DefinitionError) == (
            f"{f.name}: a pushforward is for, or reads, 'w'. It may read t, out, or an argument (x, y)."
        )


def test_pushforwards_are_added_up_and_none_is_zero():
    f = define(
        "(Tensor x, Tensor y, Tensor z) -> Tensor",
        lambda x, y, z: x * y,
        jvp=pushforwards(x=lambda t, y: t * y, y=lambda t, out, x: t * x, z=lambda t: None),
    )
    np.testing.assert_allclose(push(f, (X, Y, X), (T, ONE, T))[1], T * Y + X)
    np.testing.assert_allclose(push(f, (X, Y, X), (T, None, None))[1], T * Y)
    assert push(f, (X, Y, X), (None, None, T))[1] is None
    assert push(lambda x: f(X, Y, x), (X,), (T,))[1] is None


def test_the_pushforward_of_a_list_reads_which_items_have_a_tangent():
    seen = []
    f = define(
        "(Tensor[] xs, Tensor y) -> Tensor",
        lambda xs, y: xs[0] * xs[1] * y,
        jvp=pushforwards(xs=lambda t, xs, xs_needed, y: seen.append(xs_needed) or t[0] * xs[1] * y),
    )
    np.testing.assert_allclose(push(lambda x: f([x, Y], Y), (X,), (T,))[1], T * Y * Y)
    assert seen == [[True, False]]
    wrong = pushforwards(xs=lambda t, y_needed: t)
    assert said(lambda: f.register_jvp(wrong), DefinitionError).startswith(f"{f.name}: a pushforward is for, or reads, 'y_needed'.")


def test_pushforwards_of_several_outputs():
    f = define(
        "(Tensor x, Tensor y) -> (Tensor, Tensor)",
        lambda x, y: (x * y, x + y),
        jvp=pushforwards(x=lambda t, y: (t * y, t), y=lambda t, x: (t * x, t)),
    )
    (one, two) = push(f, (X, Y), (T, ONE))[1]
    np.testing.assert_allclose(one, T * Y + X)
    np.testing.assert_allclose(two, T + 1)
    np.testing.assert_allclose(push(f, (X, Y), (None, T))[1][1], T)


def test_listings_say_where_a_rule_is():
    f = product()
    file = product_rule.__code__.co_filename.rpartition("/")[2]
    assert ("JVP", "jvp rule", f"{file}:{product_rule.__code__.co_firstlineno}") in f.kernels.rows
    f.register_jvp(CONSTANT)
    assert ("JVP", "jvp rule", "no derivative") in f.kernels.rows
    assert any(row[:2] == ("JVP", "jvp rule") and row[2] for row in ops.np.sin.kernels.rows)


# -- what a rule gives that is no tangent ------------------------------------------------------------------------------------


OTHER_SHAPE = "its output, which has shape (3,). A tangent has the shape of its output, or one that broadcasts to it."


@pytest.mark.parametrize(("gives", "message"), [
    (np.ones((2, 3)), f"a tangent of shape (2, 3) for {OTHER_SHAPE}"),
    (np.ones(2), f"a tangent of shape (2,) for {OTHER_SHAPE}"),
    ("no tangent", "a str for its output. Return an array, or None where there is no tangent."),
    ((ONE,), "a tuple for its output. Return an array, or None where there is no tangent; the rule is given the tangents as a tuple, one for each argument: tangents[0]."),
])  # fmt: skip
def test_what_is_no_tangent_of_one_output(gives, message):
    f = ruled(lambda tangents, output, x: gives)
    assert said(lambda: tangent(f, X, T), GradientError) == f"{f.name}: its jvp rule returned {message}"


TWO = "and the operator has 2 outputs. Return a tuple of one for each, None for those without."
AN_INTEGER = (
    "a tangent for output 1, which is an ndarray of shape (3,) and dtype int64 and has none: only floating-point and complex "
    "values do. Return None for it."
)


@pytest.mark.parametrize(("gives", "message"), [
    ((ONE,), f"1 tangent, {TWO}"),
    (ONE, f"an ndarray, {TWO}"),
    ((ONE, ONE), AN_INTEGER),
    ((np.ones(2), None), f"a tangent of shape (2,) for {OTHER_SHAPE.replace('its output,', 'output 0,', 1)}"),
])  # fmt: skip
def test_what_are_no_tangents_of_two_outputs(gives, message):
    f = ruled(lambda tangents, output, x: gives, "(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 1, np.argsort(x)))
    assert said(lambda: push(f, (X,), (T,)), GradientError) == f"{f.name}: its jvp rule returned {message}"


def test_what_is_no_tangent_of_a_list():
    f = ruled(lambda tangents, output, x: [ONE], "(Tensor x) -> Tensor[]", lambda x: [x * 1, x * 2])
    assert said(lambda: push(f, (X,), (T,)), GradientError) == (
        f"{f.name}: its jvp rule returned a list of length 1 for its output, which is a list of length 2. Return the same of "
        "tangents, None for those without."
    )


def test_a_rule_that_gives_a_value_from_outside():
    with Level("jvp") as level:
        x = dual(X, T, level)
        f = ruled(lambda *given: x)
        assert said(lambda: f(x), EscapedValueError) == (
            f"{f.name}: its jvp rule returned a DualTensor of {level!r}, which stands above the tangents it was given. Compute "
            "the tangent of what the rule is given, not of values from outside."
        )


def test_an_operator_without_a_rule():
    f = made("(Tensor x) -> Tensor", np.square)
    assert said(lambda: tangent(f, X, T), NoRuleError) == (
        "a tangent was asked of making::op's output, and it has neither a jvp rule nor an autograd rule to derive one from. "
        "Add one: op.register_jvp(rule), where rule(tangents, output, *args) returns the tangent of the output; or pass "
        "dispatch.detach(...) of its arguments, where constants are meant."
    )
    assert push(made("(Tensor x) -> Tensor", np.argsort), (X,), (T,))[1] is None
    assert push(made("(Tensor x) -> int", lambda x: len(x)), (X,), (T,)) == (3, None)
    with_residual = made("(Tensor x) -> (Tensor, Residual)", lambda x: (np.argsort(x), X))
    assert push(with_residual, (X,), (T,))[1] is None


# -- what is written ---------------------------------------------------------------------------------------------------------


@custom_op("forwardtests::multiply_", mutates_args={"x"})
def multiply_(x: np.ndarray, y: np.ndarray) -> None:
    x *= y


multiply_.register_jvp(product_rule)


@custom_op("forwardtests::count_", mutates_args={"n", "xs"})
def count_(n: np.ndarray, xs: list[np.ndarray], y: np.ndarray) -> np.ndarray:
    n += 1
    for x in xs:
        x += y
    return y * 2


@count_.register_jvp
def _(tangents, output, n, xs, y):
    return 2 * tangents[2], None, [t + tangents[2] for t in tangents[1]]


def test_what_is_written_stands_for_the_new_value_and_tangent():
    def f(x):
        y = x * x
        same = y
        multiply_(y, x)
        assert same is y
        multiply_(y, Y)
        return y

    given = X.copy()
    np.testing.assert_allclose(tangent(f, given, T), 3 * X**2 * Y * T)
    np.testing.assert_array_equal(given, X)


def test_what_was_computed_before_a_write_keeps_its_tangent():
    def f(x):
        y = x * 1.0
        z = y * y
        multiply_(y, y)
        return y + z

    np.testing.assert_allclose(tangent(f, X, T), 4 * X * T)


def test_integers_and_lists_that_are_written():
    n = np.zeros(2, int)

    def f(x):
        ys = [x * 1.0, x * x]
        out = count_(n, ys, x)
        return [out, *ys]

    (values, ts) = push(f, (X,), (T,))
    assert n.tolist() == [1, 1]
    np.testing.assert_allclose(ts, [2 * T, 2 * T, 2 * X * T + T])
    np.testing.assert_allclose(values, [2 * X, 2 * X, X * X + X])


def test_a_write_that_says_it_has_no_derivative_leaves_a_tangent_of_zeros():
    op = define("(Tensor(a!) x) -> ()", lambda x: np.copyto(x, 1.0), jvp=CONSTANT)

    def f(x):
        y = x * x
        op(y)
        return y

    value, t = push(f, (X,), (T,))
    np.testing.assert_array_equal(value, ONE)
    np.testing.assert_array_equal(t, np.zeros(3))


def test_writes_that_would_lose_a_tangent_are_refused():
    plain = np.ones(3)
    message = said(lambda: tangent(lambda x: multiply_(plain, x), X, T), GradientError)
    assert message.startswith(
        "forwardtests::multiply_: argument 'x' is an ndarray of shape (3,) and dtype float64, and values "
    )
    assert "the tangent would be lost in silence" in message
    np.testing.assert_array_equal(plain, np.ones(3))
    message = said(lambda: tangent(lambda x: count_(np.zeros(2, int), [y := x * 1, y], x), X, T), GradientError)
    assert message == (
        "forwardtests::count_: two arrays that are written share memory, argument 'xs' among them. Give each its own, or write "
        f"{instead(count_)}."
    )
    op = define("(Tensor(a!) x, Dict(str, Tensor(b!)) d) -> ()", lambda x, d: None, jvp=lambda tangents, output, x, d: tangents)
    message = said(lambda: tangent(lambda x: op(x * 1, {"a": x * 2}), X, T), GradientError)
    assert message == (
        f"{op.name}: argument 'd' is a dict that holds a value with a tangent, and is written. Forward mode follows writes to "
        "arrays and to lists of arrays: pass a list."
    )


def test_gradients_of_tangents_of_what_is_written():
    def f(x):
        y = x * x
        multiply_(y, x)
        return y

    np.testing.assert_allclose(grad(lambda x: np.sum(tangent(f, x, ONE)))(X), 6 * X)
    np.testing.assert_allclose(tangent(lambda x: tangent(f, x, ONE), X, T), 6 * X * T)
    np.testing.assert_allclose(vmap(lambda x: tangent(f, x, np.ones_like(x)))(np.stack([X, Y])), 3 * np.stack([X, Y]) ** 2)


def doubles_objects(x):
    return np.frompyfunc(lambda v: 2 * v, 1, 1)(x)


@pytest.mark.parametrize("rule", ["none", "autograd", "jvp"])
def test_a_tangent_that_would_go_through_python_objects_is_refused(rule):
    op = define("(Tensor x) -> Tensor", doubles_objects)
    if rule == "autograd":
        op.register_autograd(lambda ctx, g: 2 * g)
    elif rule == "jvp":
        op.register_jvp(lambda tangents, output, x: 2 * tangents[0])
    assert said(lambda: push(lambda x: np.sum(op(x).astype(float)), (X,), (T,)), UnsupportedError) == (
        f"{op.name}: the result is an array of Python objects, and no derivative goes through one. Give arrays of numbers alone: "
        "x.astype(float). A ufunc of np.frompyfunc gives objects of any: make an operator of its function instead, "
        "custom_op(name, f, mutates_args=(), signature='()->()')."
    )
