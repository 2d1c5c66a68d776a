"""A definition never changes, and cannot be made in parts."""

import gc
import weakref

import numpy as np
import pytest
from making import made

from dispatch.core import Arguments, Definition, Outputs

PARTS = ("a schema", Arguments((), (), ()), Outputs(()))


@pytest.mark.parametrize("name", ["schema", "arguments", "outputs", "tags", "table", "name"])
def test_a_definition_never_changes(name):
    definition = made("(Tensor x) -> Tensor").definition
    with pytest.raises(AttributeError):
        setattr(definition, name, getattr(definition, name))


@pytest.mark.parametrize("missing", range(4))
def test_a_definition_is_made_whole_or_not_at_all(missing):
    parts = [*PARTS, ()]
    parts[missing] = None
    with pytest.raises(TypeError):
        Definition(*parts)
    with pytest.raises(TypeError):
        Definition.__new__(Definition)


def test_an_operator_shows_what_its_definition_says():
    op = made("(Tensor x) -> Tensor")
    for name in ("schema", "arguments", "outputs", "table"):
        assert getattr(op, name) is getattr(op.definition, name)
    assert op.tags == list(op.definition.tags)
    assert op.name == op.definition.name == "making::op"


def test_a_definition_goes_with_the_last_call_that_is_held_to_it():
    def kernel(x):
        op.redefine(made("() -> ()"))
        gc.collect()
        alive.append(seen() is not None)
        return x + 1

    alive = []
    op = made("(Tensor x) -> Tensor", kernel)
    seen = weakref.ref(kernel)
    del kernel
    op(np.ones(2))
    gc.collect()
    assert alive == [True]
    assert seen() is None
