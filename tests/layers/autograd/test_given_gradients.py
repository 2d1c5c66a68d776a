"""The gradient that a user's rule is given: nobody's array is changed through it, and none of it is lost."""

import making
import numpy as np
import pytest

import dispatch
from dispatch.errors import ArgumentError, GradientError

ONE = np.ones(3)


def doubling(ctx, g):
    g *= 2
    return g


def writing_a_view(ctx, g):
    g[1:] *= 2
    return g


def filling(ctx, g):
    np.multiply(g, 2, out=g)
    return g


def op_with(backward):
    return making.define("(Tensor x) -> Tensor", lambda x: x * 2, fake=lambda x: np.empty_like(x), autograd=backward)


def leaf():
    return dispatch.tensor(ONE, requires_grad=True)


def pulled(f, c):
    return dispatch.vjp(f, ONE)[1](c)[0]


def hooked(f, c):
    x = leaf()
    x.register_hook(lambda g: doubling(None, g))
    (x * 1.0).backward(c)


def hooked_node(f, c):
    y = leaf() * 1.0
    y.grad_fn.register_prehook(lambda grads: (doubling(None, grads[0]),))
    y.backward(c)


SPELLINGS = {
    "backward": lambda f, c: f(leaf()).backward(c),
    "autograd.backward": lambda f, c: dispatch.autograd.backward(f(leaf()), c),
    "autograd.grad": lambda f, c: (lambda x: dispatch.autograd.grad(f(x), x, c))(leaf()),
    "create_graph": lambda f, c: (lambda x: dispatch.autograd.grad(f(x), x, c, create_graph=True))(leaf()),
    "vjp": pulled,
    "vmap of vjp": lambda f, c: dispatch.vmap(dispatch.vjp(f, ONE)[1])(np.stack([c, c])),
    "vjp of vmap": lambda f, c: dispatch.vjp(dispatch.vmap(f), np.stack([ONE, ONE]))[1](np.stack([c, c])),
    "jvp of vjp": lambda f, c: dispatch.jvp(lambda c: pulled(f, c), (c,), (ONE,)),
    "grad of vjp": lambda f, c: dispatch.grad(lambda c: np.sum(pulled(f, c)))(c),
    "jvp": lambda f, c: dispatch.jvp(f, (ONE,), (c,)),
    "jacrev": lambda f, c: dispatch.jacrev(f)(c),
    "jacfwd": lambda f, c: dispatch.jacfwd(f)(c),
    "hessian": lambda f, c: dispatch.hessian(lambda x: np.sum(f(x) ** 2))(c),
    "a sum": lambda f, c: dispatch.grad(lambda x: np.sum(f(x) + f(x)))(c),
    "shared": lambda f, c: (f(leaf()) + f(leaf())).backward(c),
    "make_fx": lambda f, c: dispatch.make_fx(lambda c: pulled(f, c))(c)(c),
    "make_fx, fake": lambda f, c: dispatch.make_fx(lambda c: pulled(f, c), "fake")(c)(c),
    "compile": lambda f, c: dispatch.compile(lambda c: pulled(f, c))(c),
    "functionalize": lambda f, c: dispatch.functionalize(lambda c: pulled(f, c))(c),
    "hook": hooked,
    "node hook": hooked_node,
}


@pytest.mark.parametrize("write", [doubling, writing_a_view, filling])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_backward_changes_an_array_through_its_gradient(spelling, write):
    c = ONE.copy()
    with pytest.raises((ValueError, ArgumentError, GradientError), match=r"read-only|is a view of a leaf"):
        SPELLINGS[spelling](op_with(write), c)
    assert np.array_equal(c, ONE)


def test_what_is_said_of_a_write_to_a_gradient():
    op = op_with(doubling)
    with pytest.raises(ValueError, match="read-only") as caught:
        op(leaf()).backward(ONE)
    assert caught.value.__notes__ == [
        "What a backward is given, the gradient and ctx.saved_tensors, is read-only: others hold it too. Write to a copy.",
        f"in the backward of {op.name}",
    ]
    with pytest.raises(ArgumentError) as caught:
        dispatch.vmap(dispatch.vjp(op, ONE)[1])(np.ones((2, 3)))
    said = "that is read-only: the gradient that a backward is given others hold too, and x.imag of real numbers is nowhere."
    assert f"{said} Write to a copy, g.copy()." in str(caught.value)


def test_each_of_several_outputs_comes_with_a_gradient_that_cannot_be_written_to():
    seen = []

    def backward(ctx, g, parts):
        seen.extend([g, *parts])
        return g + parts[0]

    op = making.recorded("(Tensor x) -> (Tensor, Tensor[])", lambda x: (x * 2, [x * 3, x * 4]), backward)
    x = leaf()
    y, parts = op(x)
    dispatch.autograd.backward([y, parts[0]], [ONE.copy(), ONE.copy()])
    assert np.array_equal(x.grad, ONE * 2)
    assert [g.flags.writeable for g in seen] == [False] * 3


@pytest.mark.parametrize("given_back", [lambda g: g, lambda g: (g,), lambda g: g[::-1]])
def test_a_gradient_may_be_given_back(given_back):
    op = op_with(lambda ctx, g: given_back(g))
    x, c = leaf(), np.arange(3.0)
    op(x).backward(c)
    expected = given_back(c)[0] if isinstance(given_back(c), tuple) else given_back(c)
    assert np.array_equal(x.grad, expected)
    x.grad *= 2  # nobody else's
    assert np.array_equal(c, np.arange(3.0))
    found = dispatch.vmap(lambda c: np.negative(dispatch.vjp(op, ONE)[1](c)[0], out=np.zeros_like(c)))(np.stack([c, c]))
    assert np.array_equal(found, -np.stack([expected, expected]))
    made = dispatch.autograd.grad(op(x), x, leaf() * c, create_graph=True)[0]
    made *= 2
    assert np.array_equal(made.value, 2 * expected)


FORWARD = {
    "jvp": lambda f, c: dispatch.jvp(f, (ONE,), (c,)),
    "jacfwd": lambda f, c: dispatch.jacfwd(f)(c),
    "vmap of jvp": lambda f, c: dispatch.vmap(lambda c: dispatch.jvp(f, (c,), (c,)))(np.stack([c, c])),
}


@pytest.mark.parametrize("write", [doubling, writing_a_view, filling])
@pytest.mark.parametrize("what", ["tangent", "result"])
@pytest.mark.parametrize("spelling", FORWARD)
def test_no_jvp_rule_changes_a_tangent_or_the_result(spelling, what, write):
    def rule(tangents, output, x):
        return write(None, tangents[0] if what == "tangent" else output)

    c = ONE.copy()
    with pytest.raises((ValueError, ArgumentError), match="read-only"):
        FORWARD[spelling](making.define("(Tensor x) -> Tensor", lambda x: x * 2, jvp=rule), c)
    assert np.array_equal(c, ONE)


def test_a_tangent_may_be_given_back():
    op = making.define("(Tensor x) -> Tensor", lambda x: x * 1, jvp=lambda tangents, output, x: tangents[0])
    c = np.arange(3.0)
    assert np.array_equal(dispatch.jvp(op, (ONE,), (c,))[1], c)
    assert np.array_equal(dispatch.vmap(lambda c: dispatch.jvp(op, (c,), (c,))[1])(np.stack([c, c])), [c, c])


# -- what is complex, and what is read that was never kept ------------------------------------------------------------------

COMPLEX = {
    "backward": {"backward": lambda ctx, g: g * (2 + 1j)},
    "jvp": lambda tangents, output, x: tangents[0] * (2 + 1j),
    "elementwise": {"elementwise": lambda x: 2 + 1j},
    "number": {"elementwise": 2 + 1j},
    "jacobian": {"jacobian": lambda x: np.eye(3) * (2 + 1j)},
    "linear": {"backward": lambda ctx, g: g * (2 + 1j), "linear": True},
}
WAYS = {
    "grad": lambda f: dispatch.grad(lambda x: np.sum(f(x)))(ONE),
    "vjp": lambda f: dispatch.vjp(f, ONE)[1](ONE),
    "jvp": lambda f: dispatch.jvp(f, (ONE,), (ONE,)),
    "vmap of grad": lambda f: dispatch.vmap(dispatch.grad(lambda x: np.sum(f(x))))(np.stack([ONE, ONE])),
    "jacfwd": lambda f: dispatch.jacfwd(f)(ONE),
    "backward": lambda f: np.sum(f(leaf())).backward(),
}


def with_rule(schema, kernel, rule):
    op = making.define(schema, kernel)
    if callable(rule):
        op.register_jvp(rule)
    else:
        rest = dict(rule)
        backward = rest.pop("backward", None)
        op.register_autograd(*([backward] if backward else []), **rest)
    return op


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", COMPLEX)
def test_a_complex_derivative_of_real_values_is_refused(form, way):
    if (form, way) in (("linear", "jvp"), ("linear", "jacfwd")):
        return  # forward the operator itself is the derivative, which is real
    op = with_rule("(Tensor x) -> Tensor", lambda x: x * 2, COMPLEX[form])
    with pytest.raises(GradientError, match=r"The imaginary part would be lost in silence: write \.real where it has no meaning."):
        WAYS[way](op)


@pytest.mark.parametrize("form", ["jvp", "elementwise", "number", "jacobian"])
def test_of_a_complex_result_of_real_values_the_real_part_is_the_gradient(form):
    op = with_rule("(Tensor x) -> Tensor", lambda x: x * (2 + 1j), COMPLEX[form])
    weights = np.array([1 - 2j, 3j, 0.5])
    found = dispatch.grad(lambda x: np.sum(np.real(op(x) * weights)))(ONE)
    assert np.allclose(found, np.real((2 + 1j) * weights))


def test_the_gradient_that_a_backward_begins_with_is_real_where_its_value_is():
    op, message = op_with(lambda ctx, g: g * 2), (
        "the gradient is complex, and the value it is of has dtype float64. The imaginary part would be lost in silence: "
        "write .real where it has no meaning."
    )
    x = leaf()
    for call in (lambda: op(x).backward(ONE * 1j), lambda: dispatch.autograd.grad(op(x), x, ONE * 1j), lambda: op(x).backward([1j] * 3)):
        assert making.said(call, GradientError) == message


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("batched", [False, True])
def test_what_was_never_kept_is_named(batched, way):
    op = making.define("(Tensor x) -> Tensor", lambda x: x * 2)
    op.register_autograd(lambda ctx, g: g * ctx.fator, setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", 2.0), batched=batched)
    with pytest.raises(GradientError) as caught:
        WAYS[way](op)
    assert str(caught.value).startswith(
        f"{op.name}: its backward read ctx.fator, which was never set. Did you mean 'factor'? Set it in setup_context: "
    )
    op = making.define("(Tensor x) -> Tensor", lambda x: x * 2)
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0], batched=batched)
    with pytest.raises(GradientError) as caught:
        WAYS[way](op)
    assert str(caught.value).startswith(f"{op.name}: ctx.saved_tensors was read, and its setup_context saved nothing.")
    op = making.define("(Tensor x) -> Tensor", lambda x: x * 2)
    op.register_autograd(lambda ctx, g: g * getattr(ctx, "factor", 2.0), batched=batched)
    WAYS[way](op)
