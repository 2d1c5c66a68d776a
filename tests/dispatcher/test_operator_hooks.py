"""The hooks of every operator: none is missing, and what they give is the operator's own."""

import inspect

from making import made

from dispatch.core import Hooks
from dispatch.dispatcher.layer import layers
from dispatch.dispatcher.operator_hooks import hooks


def test_no_hook_is_missing():
    slots = [name for name in dir(Hooks) if not name.startswith("_")]
    assert [name for name in slots if not callable(getattr(hooks, name))] == []
    assert made("() -> ()").hooks is hooks


def test_a_verb_is_named_after_its_layer_and_says_what_the_layer_s_says():
    register = made("(Tensor x) -> Tensor").register_vmap
    assert register.__name__ == "register_vmap"
    assert register.__doc__ == layers["vmap"].attach.__doc__


def test_an_operator_without_a_function_has_its_schema_s_signature():
    op = made("(Tensor x, /, int n=3, *, float y) -> Tensor")
    assert inspect.signature(op) == hooks.signature(op)
    assert str(hooks.signature(op)) == "(x, /, n=3, *, y)"
