"""A rule's parameters: held against how it is called, and used to call it."""

import functools

import making
import numpy as np
import pytest

import dispatch
from dispatch import custom_op
from dispatch.dispatcher.rule_parameters import by_position, check_count, check_parameters, parameter_names
from dispatch.errors import DefinitionError


@custom_op("parametertests::scale", mutates_args=())
def scale(x: np.ndarray, factor: float = 2.0, *, shift: float = 0.0) -> np.ndarray:
    return x * factor + shift


class Callable:
    def __call__(self, x, factor, shift):
        return x

    def method(self, x, factor, shift):
        return x


def plain(x, factor, shift):
    return x


def keyword_only(x, factor, *, shift):
    return x


@functools.wraps(plain)
def wrapped(*args, **keywords):
    return plain(*args, **keywords)


WELL_NAMED = {
    "function": plain,
    "keyword-only": keyword_only,
    "method": Callable().method,
    "object": Callable(),
    "wrapped": wrapped,
    "partial": functools.partial(lambda first, x, factor, shift: x, 0),
    "takes anything": lambda *args: args[0],
}


@pytest.mark.parametrize("rule", WELL_NAMED.values(), ids=WELL_NAMED)
def test_a_rule_with_the_operators_names(rule):
    check_parameters(scale, rule)


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        (lambda x: x, "x"),
        (lambda: None, ""),
        (lambda x, shift, factor: x, "x, shift, factor"),
        (lambda x, factor, *, offset: x, "x, factor, offset"),
        (functools.partial(plain, 0), "factor, shift"),
        (Callable.method, "self, x, factor, shift"),
    ],
)
def test_a_rule_with_others(rule, names):
    with pytest.raises(DefinitionError) as caught:
        check_parameters(scale, rule, what="shape rule")
    assert str(caught.value) == (
        f"parametertests::scale: the shape rule takes ({names}), and the operator (x, factor, shift). "
        "Rules bind by parameter name: give the rule the operator's own names, in its order."
    )
    assert caught.value.operator == "parametertests::scale"


def test_a_layers_own_parameters_come_first():
    check_parameters(scale, lambda info, in_dims, x, factor, shift: x, leading=2)
    with pytest.raises(DefinitionError, match=r"the rule takes \(shift\)"):
        check_parameters(scale, plain, leading=2)


def test_a_builtin_without_a_signature_takes_whatever_it_is_given():
    assert parameter_names(type) is None or parameter_names(type) == ()
    assert parameter_names(getattr) is None or "name" in parameter_names(getattr)


@pytest.mark.parametrize("rule", WELL_NAMED.values(), ids=WELL_NAMED)
def test_every_argument_goes_by_position_whatever_the_rule_says(rule):
    result = by_position(scale, rule)(1, 2, 3)
    assert result == 1


def test_keyword_only_parameters_behind_a_wrapper():
    @functools.wraps(keyword_only)
    def outer(*args, **keywords):
        return keyword_only(*args, **keywords)

    assert by_position(scale, outer)("x", 2.0, 0.0) == "x"




# -- what is bound, and what is missing, is seen when a rule is registered --------------------------------------------------


def test_a_partial_leaves_its_own_keywords_behind():
    def rule(tangents, output, x, factor, shift, scale=0):
        return tangents, output, x, factor, shift, scale

    bound = functools.partial(rule, scale=7)
    check_parameters(scale, bound, leading=2)
    assert by_position(scale, bound, leading=2)(1, 2, 3, 4, 5) == (1, 2, 3, 4, 5, 7)
    inner = functools.partial(lambda info, in_dims, scale, x, factor, shift: (x, factor, shift, scale), scale=7)
    check_parameters(scale, inner, leading=2)  # what stands behind a bound name is by keyword alone
    assert by_position(scale, inner, leading=2)(1, 2, 3, 4, 5) == (3, 4, 5, 7)


def test_what_two_stars_take_goes_by_keyword():
    def rule(info, in_dims, x, **others):
        return x, others

    check_parameters(scale, rule, leading=2)
    assert by_position(scale, rule, leading=2)(1, 2, 3, 4, 5) == (3, {"factor": 4, "shift": 5})


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        (lambda *args, key: args, "*args, key"),
        (lambda *, info, in_dims, x, factor, shift: x, "info, in_dims, x, factor, shift"),
        (lambda info, in_dims, x, factor, shift, *, key: x, "x, factor, shift, key"),
    ],
)
def test_a_rule_that_no_call_can_reach(rule, names):
    with pytest.raises(DefinitionError) as caught:
        check_parameters(scale, rule, leading=2, what="vmap rule")
    assert str(caught.value) == (
        f"parametertests::scale: the vmap rule takes ({names}), and the operator (x, factor, shift). "
        "Rules bind by parameter name: give the rule the operator's own names, in its order."
    )


def test_a_rule_that_lacks_a_parameter_of_the_layer():
    with pytest.raises(DefinitionError) as caught:
        check_parameters(scale, lambda in_dims, x, factor, shift: x, leading=2, what="vmap rule")
    assert str(caught.value) == (
        "parametertests::scale: the vmap rule takes (in_dims, x, factor, shift), and is called with "
        "(info, in_dims, x, factor, shift). Take them all, in this order."
    )


class Counted:
    """Callables of every kind that take two arguments, and of some that take others."""

    def __call__(self, ctx, g):
        return g

    def method(self, ctx, g):
        return g

    @staticmethod
    def static(ctx, g):
        return g

    @classmethod
    def of_class(cls, ctx, g):  # noqa: ARG003
        return g


TWO = {
    "function": lambda ctx, g: g,
    "default": lambda ctx, g, scale=1: g,
    "stars": lambda ctx, *grads: grads,
    "all stars": lambda *args, **keywords: args,
    "keyword with a default": lambda ctx, g, *, scale=1: g,
    "object": Counted(),
    "method": Counted().method,
    "static": Counted.static,
    "class method": Counted.of_class,
    "partial": functools.partial(lambda scale, ctx, g: g, 2),
    "partial by keyword": functools.partial(lambda ctx, g, scale: g, scale=2),
    "builtin without a signature": getattr,
}
OTHERS = {
    "one": (lambda ctx: None, "ctx"),
    "three": (lambda ctx, g, h: g, "ctx, g, h"),
    "keyword": (lambda ctx, g, *, h: g, "ctx, g, h"),
    "keyword alone": (lambda ctx, *, g: g, "ctx, g"),
    "stars and a keyword": (lambda *args, h: args, "*args, h"),
    "two stars": (lambda ctx, **keywords: ctx, "ctx, **keywords"),
    "unbound": (Counted.method, "self, ctx, g"),
    "partial": (functools.partial(lambda ctx, g: g, 2), "g"),
}


@pytest.mark.parametrize("rule", TWO.values(), ids=TWO)
def test_what_can_be_called_with_two(rule):
    check_count(scale, rule, 2, "its backward", str)


@pytest.mark.parametrize(("rule", "names"), OTHERS.values(), ids=OTHERS)
def test_the_parameters_of_a_backward_are_counted_when_it_is_registered(rule, names):
    calls = custom_op(f"parametertests::b{abs(hash(names))}", lambda x: x * 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    before = repr(calls.kernels)
    with pytest.raises(DefinitionError) as caught:
        calls.register_autograd(rule)
    assert str(caught.value) == (
        f"{calls.name}: its backward takes ({names}). It is called with a gradient for one output: backward(ctx, g)."
    )
    with pytest.raises(DefinitionError, match=r"the dispatch rule takes"):
        calls.register_dispatch(dispatch.Mode, rule)
    assert repr(calls.kernels) == before


def test_setup_context_is_called_with_three():
    for good in (lambda ctx, inputs, output, more=1: None, lambda *args: None, functools.partial(lambda kept, *args: None, [])):
        scale.register_autograd(lambda ctx, g: (g, None, None), setup_context=good)
    with pytest.raises(DefinitionError) as caught:
        scale.register_autograd(lambda ctx, g: g, setup_context=lambda ctx, inputs, *, output: None)
    assert str(caught.value) == (
        "parametertests::scale: setup_context takes (ctx, inputs, output). It is called with three arguments: "
        "setup_context(ctx, inputs, output)."
    )


@pytest.mark.parametrize(
    ("schema", "called"),
    [
        ("(Tensor x) -> (Tensor, Tensor)", "for 2 outputs: backward(ctx, g0, g1)"),
        ("(Tensor x) -> Tensor[]", "for one output: backward(ctx, g)"),
        ("(Tensor x) -> (Tensor, Residual)", "for one output: backward(ctx, g)"),
        ("(Tensor(a!) x) -> ()", "for one output: backward(ctx, g)"),
        ("(Tensor(a!) x) -> Tensor(a!)", "for one output: backward(ctx, g)"),
        ("(Tensor(a!) x, Tensor(b!) y) -> Tensor", "for 3 outputs and values that it writes: backward(ctx, g0, g1, g2)"),
    ],
)
def test_a_backward_gets_a_gradient_of_each_output_and_of_what_is_written(schema, called):
    op = making.made(schema, lambda *args: None)
    count = called.count("g0") + called.count("g1") + called.count("g2") or 1
    op.register_autograd(functools.partial(lambda kept, ctx, *grads: grads, 0))
    op.register_autograd(eval(f"lambda ctx, {', '.join('abc'[:count])}: None"))
    with pytest.raises(DefinitionError) as caught:
        op.register_autograd(eval(f"lambda ctx, {', '.join('abcd'[:count + 1])}: None"))
    assert str(caught.value).endswith(f"It is called with a gradient {called}.")
