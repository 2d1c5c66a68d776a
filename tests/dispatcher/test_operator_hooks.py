"""The hooks of every operator: none is missing, and what they give is the operator's own."""

import inspect
import re

import pytest
from making import made

from dispatch.core import DispatchKey, Hooks
from dispatch.dispatcher.layer import Layer, layers
from dispatch.dispatcher.operator_hooks import NOT_OF_METHODS, documented, hooks


def test_no_hook_is_missing():
    slots = [name for name in dir(Hooks) if not name.startswith("_")]
    assert [name for name in slots if not callable(getattr(hooks, name))] == []
    assert made("() -> ()").hooks is hooks


@pytest.mark.parametrize("name", sorted(layers.keys() - {"trace", "functionalize"}))
def test_help_of_a_verb_is_that_of_the_function_without_the_operator(name):
    register, function = getattr(made("(Tensor x) -> Tensor"), f"register_{name}"), documented[name]
    assert register.__name__ == f"register_{name}"
    parameters = list(inspect.signature(register).parameters)
    assert [p for p in inspect.signature(function).parameters if p not in NOT_OF_METHODS] == parameters
    said, whole = register.__doc__, function.__doc__
    described = re.findall(r"^(\w+) : ", inspect.cleandoc(said).partition("Returns\n")[0], flags=re.MULTILINE)
    assert described == parameters
    assert said.splitlines()[0] == whole.splitlines()[0]
    assert said.partition("Returns\n")[2] == whole.partition("Returns\n")[2]


def test_a_verb_that_no_function_describes_says_what_its_layer_says():
    class Own(Layer):
        def attach(self, op, rule=None, /, *args, **options):
            """Take a rule."""

    own = Own("own_verb", DispatchKey.LAYER)
    layers["own_verb"] = own
    try:
        assert made("(Tensor x) -> Tensor").register_own_verb.__doc__ == "Take a rule."
    finally:
        del layers["own_verb"]


def test_an_operator_without_a_function_has_its_schema_s_signature():
    op = made("(Tensor x, /, int n=3, *, float y) -> Tensor")
    assert inspect.signature(op) == hooks.signature(op)
    assert str(hooks.signature(op)) == "(x, /, n=3, *, y)"
