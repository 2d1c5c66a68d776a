"""What graphs are told of operators is looked up when a graph needs it, and holds of the kernel that was there when it was said."""

import numpy as np

import dispatch
from dispatch import make_fx
from dispatch.graph import PlainCall, register_spelling
from dispatch.graph.operator_facts import kernel_of, register_plain_calls
from dispatch.graph.plain_calls import plain_call
from dispatch.library import Library


def twice_of(name):
    @dispatch.custom_op(name, mutates_args=())
    def twice(x: np.ndarray) -> np.ndarray:
        return x * 2

    @twice.register_fake
    def _(x):
        return np.empty_like(x)

    return twice


def test_a_rule_is_asked_for_by_name_when_a_program_needs_it():
    twice, asked = twice_of("operator_facts::twice"), []

    def rule_of(name):
        asked.append(name)
        return lambda out, x: PlainCall(np.multiply, (x, 2))

    register_plain_calls([twice], rule_of)
    assert asked == []
    node = make_fx(twice, "fake")(np.ones(3)).nodes[-1]
    assert asked == []
    kernel, function, _, names = plain_call(node)
    assert asked == ["twice"]
    assert (kernel, function, names) == (kernel_of(twice), np.multiply, ())


def test_a_kernel_that_comes_before_the_rule_is_asked_for_has_none():
    twice = twice_of("operator_facts::covered")
    register_plain_calls([twice], lambda name: lambda out, x: PlainCall(np.multiply, (x, 2)))
    node = make_fx(twice, "fake")(np.ones(3)).nodes[-1]
    with Library("operator_facts", "IMPL") as lib:
        lib.impl("covered", lambda x: x * 10, "CPU")
        assert plain_call(node) is None
    assert plain_call(node)[1] is np.multiply


def test_a_spelling_may_leave_a_call_to_the_usual_one():
    twice = twice_of("operator_facts::spelled")
    register_spelling("operator_facts::spelled", lambda code, node: None)
    usual = str(make_fx(twice)(np.ones(3)))
    assert "ops.operator_facts.spelled(x)" in usual
    register_spelling("operator_facts::spelled", lambda code, node: f"= 2 * {code.spell(node.args[0])}")
    assert "= 2 * x" in str(make_fx(twice)(np.ones(3)))
