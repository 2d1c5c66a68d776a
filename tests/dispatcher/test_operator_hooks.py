"""The hooks of every operator: none is missing, and what they give is the operator's own."""

import inspect
import pydoc
import re

import numpy as np
import pytest
from making import made

from dispatch import custom_op
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


def test_help_of_an_operator_is_its_functions_text_and_what_it_has_beside_the_call():
    def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
        """Scale an array.

        Every\titem.
        """
        return x * factor

    op = custom_op("hooktests::scale", scale, mutates_args=())
    assert op.__doc__ == scale.__doc__
    own, _, verbs = inspect.getdoc(op).partition("\n\nhelp(scale.register_fake)")
    assert own == inspect.getdoc(scale)
    shown = pydoc.plain(pydoc.render_doc(op))
    for name, function in documented.items():
        parameters = ", ".join(p.name for p in inspect.signature(getattr(op, f"register_{name}")).parameters.values() if p.kind is p.POSITIONAL_ONLY)
        line = next(line for line in verbs.splitlines() if line.startswith(f"scale.register_{name}("))
        assert re.findall(r"\w+", line.partition("(")[2])[0] == parameters.partition(",")[0]
        assert inspect.getdoc(function).partition("\n")[0] in verbs
        assert line in shown
    assert all(f"scale.{name}" in shown for name in ("explain(", "kernels", "redispatch(below", "schema", "set_kernel_enabled("))
    assert shown.index("Scale an array.") < shown.index("scale.register_autograd")
    assert op.__doc__.expandtabs(4) == scale.__doc__.expandtabs(4)  # as others ask, who show a text of their own


def test_help_of_an_operator_without_a_docstring_is_not_its_class():
    op = custom_op("hooktests::silent", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert op.__doc__ == ""
    assert "silent.register_fake(" in pydoc.render_doc(op)
    op.__doc__ = "Scale it."
    assert pydoc.plain(pydoc.render_doc(op)).index("Scale it.") < pydoc.plain(pydoc.render_doc(op)).index("silent.register_fake(")
    assert op.__doc__ == "Scale it."
    op.__doc__ = None
    assert op.__doc__ is None


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
