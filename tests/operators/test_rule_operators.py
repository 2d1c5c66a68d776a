"""The operators of rules go by the operator that the rule is about: as attributes, in pickles, in graphs."""

import pickle

import numpy as np
import pytest

import dispatch
from dispatch import custom_op, make_fx
from dispatch.errors import DefinitionError, OperatorNotFoundError
from dispatch.graph import loads
from dispatch.operators.rule_operators import about, known_or_made, missing, origin_of_name, spelled

X = np.array([0.5, 1.0, 2.0])


@custom_op("ruleops::squared", mutates_args=())
def squared(x: np.ndarray) -> np.ndarray:
    return x**2


@squared.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs), opaque=True)
def _(ctx, g):
    return 2 * np.asarray(ctx.saved_tensors[0]) * np.asarray(g)


@squared.register_jvp(opaque=True)
def _(tangents, output, x):
    return 2 * np.asarray(x) * np.asarray(tangents[0])


@squared.register_vmap(opaque=True)
def _(info, in_dims, x):
    return squared(np.asarray(x)), in_dims[0]


WORDS = ["backward_rule", "jvp_rule", "vmap_rule"]


@pytest.mark.parametrize("word", WORDS)
def test_a_rule_s_operator_is_found_by_way_of_its_operator(word):
    made = getattr(squared, word)
    assert made is getattr(squared, word)
    assert made.name == f"ruleops::squared.{word}"
    assert spelled(made) == f"squared.{word}"
    assert about(made) is squared
    assert about(squared) is None
    assert known_or_made(made.name) is made
    assert origin_of_name(made) == (squared, word)
    assert "called as one operator" in made.__doc__


@pytest.mark.parametrize("word", WORDS)
def test_it_is_pickled_by_way_of_its_operator(word):
    made = getattr(squared, word)
    assert pickle.loads(pickle.dumps(made)) is made
    assert pickle.loads(pickle.dumps(made.whole)) is made.whole


def test_a_functional_form_is_pickled_by_way_of_its_operator():
    op = custom_op("ruleops::bump", lambda x: x.__iadd__(1) and None, mutates_args=("x",), schema="(Tensor(a!) x) -> ()")
    assert pickle.loads(pickle.dumps(op.functional)) is op.functional


def test_one_of_an_overload_has_its_name_too():
    op = dispatch.library.custom_op("ruleops::two.sided", lambda x: 2 * x, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(lambda ctx, g: 2 * g)
    made = op.backward_rule
    assert made.name == "ruleops::two.sided_backward_rule"
    assert spelled(made) == "two.sided.backward_rule"
    assert known_or_made(made.name) is made
    assert pickle.loads(pickle.dumps(made)) is made


def test_what_has_no_such_rule_has_no_such_operator():
    op = custom_op("ruleops::bare", lambda x: 2 * x, mutates_args=(), schema="(Tensor x) -> Tensor")
    for word in (*WORDS, "no_such_rule"):
        with pytest.raises(AttributeError, match=f"ruleops::bare has no attribute '{word}'"):
            getattr(op, word)
        assert known_or_made(f"ruleops::bare.{word}") is None
    op.register_autograd(linear=True)
    op.register_vmap("broadcast_all")
    assert not hasattr(op, "vmap_rule")
    assert known_or_made("ruleops::nowhere.backward_rule") is None


def test_an_old_rule_is_not_taken_for_the_new_one():
    op = custom_op("ruleops::anew", lambda x: 2 * x, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(lambda ctx, g: 2 * g)
    old = op.backward_rule
    op.register_autograd(lambda ctx, g: 3 * g)
    assert op.backward_rule is not old
    assert origin_of_name(old) is None
    with pytest.raises(OperatorNotFoundError, match="cannot be pickled"):
        pickle.dumps(old)


@pytest.mark.parametrize("word", WORDS)
def test_no_overload_takes_such_a_name(word):
    with pytest.raises(DefinitionError, match="attribute of every operator"):
        custom_op(f"ruleops::squared.{word}", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")


def test_a_graph_writes_and_reads_its_calls():
    graph = make_fx(dispatch.vmap(dispatch.grad(lambda x: np.sum(squared(x)))))(np.stack([X, X]))
    assert "ops.ruleops.squared.backward_rule(" in graph.code
    again = loads(graph.dumps())
    assert again == graph
    assert np.array_equal(again(np.stack([X, 2 * X])), 2 * np.stack([X, 2 * X]))
    assert np.array_equal(pickle.loads(pickle.dumps(graph))(np.stack([X, X])), 2 * np.stack([X, X]))


def test_what_is_missing_names_the_operator_to_give_it_to():
    assert missing(squared, "register_jvp(rule)", "or not.") == "Add one: squared.register_jvp(rule); or not."
    assert missing(squared.backward_rule, "register_jvp(rule)", "or not.") == (
        "It is a rule of ruleops::squared, called as one operator since it hands its values to code that takes arrays alone. "
        "Give that a derivative: squared.backward_rule.register_autograd(backward, setup_context=...); or write the rule with "
        "NumPy's functions and operators."
    )
